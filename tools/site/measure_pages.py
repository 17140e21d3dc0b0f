"""A page per measure, from its declaration, its docstring, the calibration study and a run on bundled data."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

from numpydoc.docscrape_sphinx import SphinxDocString
from tools.site.measured import case_of, charts, result_of
from tools.site.running import ROOT
from tools.site.writing import code, figure, heading, plain, safe, table

from glasshouse.catalogue import all_measures, sections
from glasshouse.core.charts import described
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.pointing import known_elsewhere
from glasshouse.core.words import QUESTIONS

FAMILIES = {
    "identity": "Who stands out?",
    "linkage": "Who can be found again?",
    "attribution": "What can be read off?",
    "prediction": "What can be predicted?",
    "gdpr": "Singling out, linkability, inference",
    "information": "How much do the keys say?",
    "membership": "Who was in the data?",
    "copying": "Was anybody copied?",
    "propensity": "Can the tables be told apart?",
    "marginals": "Is every column right?",
    "dependence": "Are the relations right?",
    "predictive": "Do models and analyses come out alike?",
    "subgroups": "For whom is it less useful?",
}
TIERS = {
    "fast": "in every set of measures",
    "default": "in the sets ``default`` and ``full``",
    "full": "in the set ``full``, or asked for by name",
}


def pages() -> Iterator[tuple[str, str]]:
    """File names and their text: the index, and a page per measure."""
    known = all_measures()
    yield "index.rst", index(known)
    for name in sorted(known):
        yield f"{name}.rst", page(known[name])


def index(known: dict[str, AnyMeasure]) -> str:
    """All measures by the question they answer."""
    parts = [
        ":html_theme.sidebar_secondary.remove:\n",
        heading("Measures"),
        "Made from the declarations of the measures, which the report, the command line and the map read, too. Each "
        "page says which threat a measure speaks of, what the attacker is assumed to know, how the figure is made, "
        "how to read it, what it cannot tell, how often it was right in the calibration study, and shows its charts "
        "on bundled data. ``gh.explain(name)`` prints the same in a terminal.\n",
    ]
    for side, title in (("disclosure", "Risk"), ("utility", "Utility")):
        parts.append(heading(title, "-"))
        chosen = sorted((m for m in known.values() if m.side == side), key=_place)
        for family, group in groupby(chosen, key=lambda m: m.family):
            parts.append(heading(FAMILIES.get(family, family.capitalize()), "~"))
            rows = [(f":doc:`{plain(m.title)} <{m.name}>`", f"``{m.name}``", plain(m.summary)) for m in group]
            parts.append(table(rows, ("measure", "name", "what it says"), "22 18 60"))
    names = "\n   ".join(m.name for m in sorted(known.values(), key=lambda m: m.title.lower()))
    parts.append(f".. toctree::\n   :hidden:\n\n   On one page </measures>\n   {names}\n")
    return "\n".join(parts)


def _place(measure: AnyMeasure) -> tuple[int, str, str]:
    order = list(FAMILIES)
    return (order.index(measure.family) if measure.family in order else len(order), measure.family, measure.name)


def page(measure: AnyMeasure) -> str:
    """The page of one measure."""
    name = measure.name
    said = {title: safe(body, title == "Notes") for title, body in sections(inspect.getdoc(measure.function)).items()}
    more = said[""].split("\n\n")[1:]
    result = result_of(name)
    return (
        "\n".join(
            part
            for part in (
                heading(measure.title),
                said[""].split("\n\n")[0] + "\n",
                _declared(measure),
                *(f"{one}\n" for one in more),
                heading("Formula", "-"),
                said["Notes"] + "\n",
                heading("How to read it", "-"),
                _reading(measure),
                _example(measure),
                heading("What it cannot tell", "-"),
                _limits(measure),
                _power(name),
                heading("Charts", "-"),
                f"``result.plot()`` draws the first, ``result.plot(kind)`` the others. On {case_of(name).words}:\n",
                *(
                    _chart(kind, svg, words)
                    for (kind, svg), words in zip(charts(name).items(), described(name), strict=False)
                ),
                heading("Call", "-"),
                _signature(measure),
                heading("Source", "-"),
                f"{plain(measure.cite)}.\n",
                said.get("References", "") + "\n",
                _elsewhere(name),
            )
            if part
        )
        + (f"\n{heading('Example', '-')}\n{said['Examples']}\n" if "Examples" in said else "")
        + ("" if result.status == "ok" else f"\n.. {result.reason}\n")
    )


def _declared(measure: AnyMeasure) -> str:
    record = measure.record()
    threat = measure.threat
    rows = [
        ("Question", plain(QUESTIONS[threat]) if threat else "Is the release still good for analysis?"),
        ("Threat", f"{threat}" if threat else "none: a utility measure"),
        ("The attacker knows", plain(measure.attacker) if measure.attacker else ""),
        ("Range", f"{record['range']}; {record['direction']}"),
        ("Needs", plain(str(record["needs"] or "nothing but the two tables"))),
        ("When it runs", TIERS[measure.tier]),
        ("Family", plain(measure.family)),
    ]
    return table([(f"**{head}**", cell) for head, cell in rows if cell], widths="22 78")


def _reading(measure: AnyMeasure) -> str:
    better = "Lower is better." if measure.better == "lower" else "Higher is better."
    lines = [better]
    if measure.side == "disclosure" and measure.limits and measure.limits[0].statistic == "p_value":
        lines.append(
            "It is judged by a leak test: people of the original are exchanged with people who were never in the data, "
            "and the p value says how often chance alone gives a difference as large. In an assessment the tests of a "
            "threat are judged together (:doc:`reading a verdict </start/verdict>`)."
        )
    elif measure.side == "utility" and measure.limits:
        lines.append(
            "It is read against a band: what a perfect synthesiser, which draws new people of the same population, "
            "would reach at these sizes. Worse than the band is lost utility, better than it is what a copy looks like."
        )
    if measure.population:
        lines.append(
            "It is also reported as a fact about the population: what anybody can infer about anybody. That decides "
            "only where a policy has a limit for it."
        )
    if measure.alone:
        lines.append(f"Its test can {measure.alone} a release on its own, whatever the other measures say.")
    bands = measure.record()["bands"]
    limits = f"\nLimits where no policy sets others: {plain(bands)}.\n" if bands else ""
    return " ".join(lines) + "\n" + limits


def _example(measure: AnyMeasure) -> str:
    case = case_of(measure.name)
    result = result_of(measure.name)
    room = f"gh.{measure.side}.{measure.name}"
    lines = f"import glasshouse as gh\n\n{case.lines}\nprint({room}(pair{case.call}))"
    said = str(result.sentence or result.reason or "")
    return f"On {case.words}:\n\n{code(lines)}\n{code(str(result), 'text')}\n{plain(said)}\n"


def _limits(measure: AnyMeasure) -> str:
    if not measure.caveats:
        return "Its declaration does not say.\n"
    return plain((measure.caveats[0].upper() + measure.caveats[1:]).rstrip(".")) + ".\n"


@cache
def _tests() -> tuple[list[str], dict[str, list[str]]]:
    """The table of single tests in the calibration study, as it is published."""
    text = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    part = text.split("## Single tests", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line[:1] == "|"]
    return rows[0], {row[0].strip("`"): row for row in rows[2:]}


def _power(name: str) -> str:
    head, rows = _tests()
    if name not in rows:
        return ""
    row = rows[name]
    said = [(plain(leak), plain(power)) for leak, power in zip(head[5:], row[5:], strict=True)]
    intro = (
        f"On {row[1]} clean releases of twelve kinds of data (1,000 records) its test was below 0.05 in {row[2]} % "
        f"and below 0.01 in {row[3]} %. Alone, at 0.05, it saw of planted leaks:"
    )
    return "\n".join(
        [
            heading("Power", "-"),
            intro + "\n",
            table(said, ("leak", "seen, % of runs"), "70 30"),
            "From the :doc:`calibration study </calibration>`. A verdict combines the tests, and sees more than any "
            "one.\n",
        ]
    )


def _chart(kind: str, svg: str, words: str) -> str:
    title = f"{heading(plain(kind), '~')}\n``{words}``\n"
    return f"{title}\n{figure(svg, f'chart {kind}') if svg else 'Too large to be shown here.'}\n"


def _signature(measure: AnyMeasure) -> str:
    signature = str(inspect.signature(measure.function)).replace("glasshouse.core.result.", "")
    signature = re.sub(r"glasshouse(\.\w+)+\.", "", signature)
    kept = {"Parameters", "Returns", "Other Parameters", "Raises", "See Also"}
    text = [""]
    for title, body in sections(inspect.getdoc(measure.function)).items():
        if title in kept:
            text += [title, "-" * len(title), safe(body), ""]
    described = str(SphinxDocString("\n".join(text), config={"class_members_toctree": False}))
    body = "\n".join(f"   {line}" if line.strip() else "" for line in described.splitlines())
    also = (
        f"A pair goes in, or the frames themselves: ``gh.{measure.side}.{measure.name}(original, released, keys=..., "
    )
    return (
        f"{also}target=..., holdout=...)``.\n\n"
        f".. py:function:: glasshouse.{measure.side}.{measure.name}{signature}\n\n{body}\n"
    )


def _elsewhere(name: str) -> str:
    names = known_elsewhere(name)
    return f"Elsewhere it is called: {plain(', '.join(names))}. :doc:`All names </names>`.\n" if names else ""


def write(folder: Path) -> list[str]:
    """Write all pages into a folder; a file that is right already is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    written = dict(pages())
    for file in folder.glob("*.rst"):
        if file.name not in written:
            file.unlink()
    for name, text in written.items():
        target = folder / name
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    return list(written)
