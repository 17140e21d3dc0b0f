"""The gallery: every chart there is, drawn on bundled data, with the line that draws it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tools.site.measure_pages import FAMILIES
from tools.site.measured import drawn, result_of
from tools.site.writing import code, figure, heading, plain

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.charts import kinds

MAKE = {
    "map": 'study = gh.data.load("case_study")\nmap = gh.compare(study.original, study.releases, keys=study.keys,\n'
    "                 target=study.target, holdout=study.holdout)",
    "audit": "audit = gh.audit(pair, gh.Risk.from_epsilon_delta(1, 1e-6))",
    "risk": "risk = gh.Risk.from_advantage(0.1)",
    "folds": "folds = gh.rapid_cv(health.original, gh.synthesis.Cart(), keys=health.keys,\n"
    "                    target=health.target)",
}
WORDS = {
    "map": "How risky and how useful each release is; the front holds those that no other beats in both.",
    "heatmap": "Every measure of every release, on the common scale.",
    "dots": "Releases along each measure.",
    "parallel": "A line per release over all measures.",
    "radial": "A star per release.",
    "biplot": "Which measures go together, and which releases they tell apart.",
    "blocks": "Measures in the order in which they agree.",
    "tradeoff": "What a test of membership can reach at most, under a formal guarantee.",
    "log": "The same at low rates of false alarm.",
    "ceiling": "Measured attacks beside the formal ceiling.",
    "folds": "RAPID of the synthesiser by folds of people who were left out.",
}


@cache
def _things() -> dict[str, Any]:
    names: dict[str, Any] = {"gh": gh, "health": gh.data.load("health")}
    names["pair"] = names["health"].pair()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a run warns of is told by the run, and this is a picture
        for lines in MAKE.values():
            exec(lines, names)
    return names


def page() -> str:
    """The page with every chart."""
    parts = [
        ":html_theme.sidebar_secondary.remove:\n",
        heading("Gallery of charts"),
        "The charts of releases, guarantees and measures, drawn by the build of this site on bundled data, by the "
        "functions that draw the report. (The way of a search is on the page :doc:`repair a release "
        "</tutorials/repair>`.) They are Altair charts: ``chart.save(\"figure.svg\")`` keeps one, in a notebook they "
        "show themselves. The charts of a measure, with all kinds and options, are on its page.\n",
        heading("Several releases", "-"),
        code('import glasshouse as gh\n\n' + MAKE["map"] + '\nmap.plot("map")'),
        *_several(_things()["map"], "map", "rumap"),
        heading("Formal guarantees", "-"),
        code('import glasshouse as gh\n\n' + MAKE["risk"] + '\nrisk.plot("tradeoff")\n\n'
             'pair = gh.data.load("health").pair()\n' + MAKE["audit"] + "\naudit.plot()"),
        *_several(_things()["risk"], "risk", "risk"),
        *_several(_things()["audit"], "audit", "audit"),
        heading("A synthesiser, by folds", "-"),
        code('import glasshouse as gh\n\nhealth = gh.data.load("health")\n' + MAKE["folds"] + "\nfolds.plot()"),
        *_several(_things()["folds"], "folds", "rapid_cv"),
        *_measures(),
    ]  # fmt: skip
    return "\n".join(parts)


def _several(thing: Any, name: str, registered: str) -> Iterator[str]:
    for kind in kinds(registered):
        yield heading(f'``{name}.plot("{kind}")``', "~")
        yield f"{WORDS.get(kind, '')}\n"
        svg = drawn(thing, kind)
        yield figure(svg, f"{name}, {kind}") if svg else "Too large to be shown here.\n"


def _measures() -> Iterator[str]:
    known = all_measures()
    for family, question in FAMILIES.items():
        chosen = [m for m in sorted(known.values(), key=lambda m: m.name) if m.family == family and kinds(m.name)]
        if chosen:
            yield heading(question, "-")
        for measure in chosen:
            kind = kinds(measure.name)[0]
            yield heading(plain(measure.title), "~")
            yield f':doc:`{measure.name} </measure/{measure.name}>`, ``plot("{kind}")``\n'
            svg = drawn(result_of(measure.name), kind)
            yield figure(svg, f"{measure.title}, {kind}") if svg else "Too large to be shown here.\n"


def write(target: Path) -> None:
    """Write the page, if it is not there as it is."""
    text = page()
    if not target.is_file() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")
