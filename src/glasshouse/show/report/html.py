"""One self-contained page: no script, no font, no request.

Every label from the data is escaped by the template engine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from glasshouse.core.plain import Content
from glasshouse.core.result import Result
from glasshouse.core.words import MARKS, THREATS
from glasshouse.judgement.rumap.map import RUMap
from glasshouse.show.report import drawing, sections
from glasshouse.show.report.sheet import sheet, to_do
from glasshouse.show.report.templating import environment
from glasshouse.show.report.view import (
    LIMIT_WORDS,
    VERDICT_WORDS,
    WORDS,
    MeasureView,
    ThreatView,
    clip,
    first_findings,
    views_of,
)

FAMILY_ORDER = ("identity", "linkage", "gdpr", "attribution", "prediction", "information", "membership", "copying")


def render(
    content: Content,
    *,
    results: Mapping[str, Result],
    ru_map: RUMap | None = None,
    title: str | None = None,
    timing: dict[str, float] | None = None,
    whole: bool = False,
    way: Content | None = None,
) -> str:
    """The page as text.

    Parameters
    ----------
    content
        What the gate lets through for the audience of this page.
    results
        The results behind it, for their charts; empty for an external page, which has none.
    ru_map
        A comparison of releases to show beside the verdict.
    title
        The heading; by default the released file's name inside the house.
    timing
        Seconds per measure.
    whole
        Whether the long part is open, and printed; otherwise it is folded and the first page prints alone.
    way
        What was done to the release before it was assessed, as ``show.report.mitigation`` tells it.
    """
    shown = parts(content, results=results, ru_map=ru_map, title=title, timing=timing, whole=whole, way=way)
    text: str = environment().get_template("page.html.j2").render(**shown)
    return text


def parts(
    content: Content,
    *,
    results: Mapping[str, Result],
    ru_map: RUMap | None = None,
    title: str | None = None,
    timing: dict[str, float] | None = None,
    whole: bool = False,
    way: Content | None = None,
) -> Content:
    """What the template of the page draws, with the arguments of :func:`render`; the workbench draws it in its own
    frame."""
    views = views_of(content, timing)
    threats = [ThreatView(name, content["threats"][name], views) for name in THREATS]
    external = content["audience"] == "external"
    lead = next(t for t in threats if t.name == content["leading"])
    return {
        "title": clip(title or _title(content), 90),
        "date": dt.datetime.now(dt.UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0"),
        "content": content,
        "external": external,
        "verdict": content["verdict"],
        "verdict_word": VERDICT_WORDS[content["verdict"]],
        "policy": content["policy"],
        "marks": MARKS,
        "words": WORDS,
        "limit_words": LIMIT_WORDS,
        "threats": threats,
        "lead": lead,
        "whole": whole,
        "sheet": sheet(content, threats, lead, first_findings(content)),
        "advice": to_do(content),
        "outcomes": content["outcomes"],
        "views": views,
        "people": sections.people(content, views),
        "population": sections.population(content, views),
        "utility": sections.utility(views),
        "distributions": sections.drawn(content["distributions"]),
        "copying": [v for v in views.values() if v.threat == "copying"],
        "structure": [v for v in views.values() if v.role == "structure"],
        "families": _families(views),
        "pictures": drawing.pictures(content, results),
        "no_charts": None if external else drawing.cannot_draw(),
        "ru": None if ru_map is None else drawing.map_of(ru_map, content["audience"]),
        "way": way,
        "data": sections.data(content),
        "run": content["run"],
        "call": clip(content["run"]["call"], 2000),
        "seconds": None if timing is None else sum(timing.values()),
        "counts": content["counts"],
    }


def _title(content: Content) -> str:
    source = content["data"]["tables"][1]["source"]
    generic = source is None or source.endswith("frame") or source in ("pandas", "polars")
    return "Disclosure report" if generic else str(source)


def _families(views: dict[str, MeasureView]) -> list[tuple[str, list[MeasureView]]]:
    """All disclosure measures by family, then utility; within a family by name."""
    groups = []
    for side in ("disclosure", "utility"):
        own = [v for v in views.values() if v.side == side]
        names = sorted({v.family for v in own})
        ordered = [f for f in FAMILY_ORDER if f in names] + [f for f in names if f not in FAMILY_ORDER]
        groups += [(f, sorted((v for v in own if v.family == f), key=lambda v: v.name)) for f in ordered]
    return groups
