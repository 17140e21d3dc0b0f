"""Several releases side by side: each with its verdict, and all on the map; a point leads to the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content
from glasshouse.core.words import MARKS
from glasshouse.data.files import SUFFIXES
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.rumap.candidates import axes, run_for_verdict
from glasshouse.judgement.rumap.compare import compare
from glasshouse.show.app.desk import Desk, Form, Made
from glasshouse.show.app.pages.files import forget, missed, one, spoken_size, table_file
from glasshouse.show.report.drawing import map_of
from glasshouse.show.report.view import VERDICT_WORDS, ThreatView, after_word, clip, views_of

OWN = "release"


def view(desk: Desk, query: Form) -> Content:
    """The releases named, and the map where they were compared."""
    releases = _releases(desk)
    made = desk.compared
    shown: Content = {
        "releases": [
            {"name": name, "file": Path(path).name, "size": spoken_size(Path(path).stat().st_size), "own": name == OWN}
            for name, path in releases.items()
        ],
        "accept": ",".join(SUFFIXES),
        "free": _free(releases),
        "ru": None,
        "why": [],
    }
    if made is None:
        return shown
    links = {name: f"#why-{i}" for i, name in enumerate(made.found.releases)}
    return {
        **shown,
        "ru": map_of(made.found, links=links),
        "why": [_why(made, name, i) for i, name in enumerate(links)],
    }


def _why(made: Made, name: str, at: int) -> Content:
    """What the assessment of one release says."""
    content = made.found.assessments[name].content()
    views = views_of(content)
    return {
        "id": f"why-{at}",
        "name": name,
        "verdict": content["verdict"],
        "mark": MARKS[content["verdict"]],
        "word": VERDICT_WORDS[content["verdict"]],
        "headline": clip(after_word(content)),
        "threats": [ThreatView(t, shown, views) for t, shown in content["threats"].items()],
    }


def _releases(desk: Desk) -> dict[str, str]:
    return {OWN: desk.said["released"], **desk.said.get("releases", {})}


def _free(taken: Mapping[str, str]) -> str:
    """The first name of a release that none has."""
    return next(name for number in range(2, len(taken) + 3) if (name := f"{OWN} {number}") not in taken)


# -- acts --------------------------------------------------------------------------------------------------------------


def add(desk: Desk, form: Form) -> Content:
    """Add releases to compare with, by their files; one has a number unless a name is given, for names of releases are
    told outside, and a file may be called after a person."""
    problems = missed(form)
    for given in form.get("path", []):
        try:
            path, others = table_file(given), _releases(desk)
            name = one(form, "name") or _free(others)
            if name in others:
                raise InputError(f"two releases are called {name!r}; give one of them another name")
            desk.say(releases={**desk.said.get("releases", {}), name: str(path)})
        except InputError as problem:
            problems.append(str(problem))
    return {"go": "compare", "problem": ". ".join(problems) or None}


def remove(desk: Desk, form: Form) -> Content:
    """Take a release away again."""
    name = one(form, "name")
    others = dict(desk.said.get("releases", {}))
    if (path := others.pop(name, None)) is not None:
        desk.say(releases=others)
        forget(desk, path)
    return {"go": "compare"}


def run(desk: Desk, form: Form) -> Content:
    """Compare the releases, as the command line does."""
    releases = _releases(desk)
    if len(releases) < 2:
        raise InputError("bring at least one other release to compare with")
    said, asked = dict(desk.said), desk.asked
    policy = Policy.of(asked.policy)
    placed = axes(None, None, asked.measures)
    running = asked.running([*placed.values(), *run_for_verdict(placed, None, asked.measures, policy)])
    with desk.telling() as step:
        found = compare(desk.pair, releases, measures=asked.measures, progress=step, **running)
    desk.compared = Made(said, found)
    return {"go": "compare#map"}


ACTS = {"add": add, "remove": remove, "run": run}
