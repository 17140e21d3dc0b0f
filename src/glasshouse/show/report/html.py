"""One self-contained page: no script, no font, no request.

Every label from the data is escaped by the template engine.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from glasshouse.judgement.policy.policy import THREATS
from glasshouse.judgement.verdict.assessment import MARKS, NOT_COVERED, Assessment
from glasshouse.show.report import drawing, sections
from glasshouse.show.report.templating import environment
from glasshouse.show.report.view import CAVEAT, VERDICT_WORDS, WORDS, MeasureView, ThreatView, clip

FAMILY_ORDER = ("identity", "linkage", "gdpr", "attribution", "prediction", "information", "membership", "copying")


def render(assessment: Assessment, *, audience: str = "internal", ru_map: Any = None, title: str | None = None) -> str:
    """The page as text."""
    external = audience == "external"
    views = {j.name: MeasureView(assessment, j, external) for j in assessment.judged}
    threats = [ThreatView(assessment, name, views, external) for name in THREATS]
    lead = next(t for t in threats if t.name == assessment.leading.name)
    page = environment().get_template("page.html.j2")
    advice = [r for r in assessment.recommendations if not external or assessment.safe(r.text)]
    return page.render(
        title=clip(title or _title(assessment, external), 120),
        date=dt.datetime.now(dt.UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0"),
        external=external,
        audience=audience,
        a=assessment,
        verdict=assessment.verdict,
        verdict_word=VERDICT_WORDS[assessment.verdict],
        headline=assessment.headline,
        covers=NOT_COVERED,
        caveat=CAVEAT,
        marks=MARKS,
        words=WORDS,
        threats=threats,
        lead=lead,
        advice=[{"status": r.status, "text": clip(r.text), "measure": r.measure} for r in advice],
        outcomes=[] if external else assessment.outcomes.outcomes,
        views=views,
        people=sections.people(assessment, views, external),
        utility=sections.utility(assessment, views),
        distributions=[] if external else sections.distributions(assessment),
        copying=[v for v in views.values() if v.measure.threat == "copying"],
        structure=[v for v in views.values() if v.role == "structure"],
        families=_families(views),
        pictures={} if external else drawing.pictures(assessment),
        ru=None if ru_map is None else drawing.map_of(ru_map),
        data=sections.data(assessment, external),
        versions=assessment.pair.describe()["versions"],
        call=clip(assessment.call, 2000),
        seconds=sum(assessment.timing.values()),
        counts=_counts(assessment),
        min_count=assessment.policy.min_count,
    )


def _title(assessment: Assessment, external: bool) -> str:
    source = assessment.overview["tables"][1]["source"]
    generic = source.endswith("frame") or source in ("pandas", "polars")
    return "Disclosure report" if external or generic else source


def _families(views: dict[str, MeasureView]) -> list[tuple[str, list[MeasureView]]]:
    """All disclosure measures by family, then utility; within a family by name."""
    names = {v.measure.family for v in views.values() if v.measure.side == "disclosure"}
    ordered = [f for f in FAMILY_ORDER if f in names] + sorted(names - set(FAMILY_ORDER))
    groups = [
        (
            f,
            sorted(
                (v for v in views.values() if v.measure.family == f and v.measure.side == "disclosure"),
                key=lambda v: v.name,
            ),
        )
        for f in ordered
    ]
    useful = sorted({v.measure.family for v in views.values() if v.measure.side == "utility"})
    groups += [
        (
            f,
            sorted(
                (v for v in views.values() if v.measure.family == f and v.measure.side == "utility"),
                key=lambda v: v.name,
            ),
        )
        for f in useful
    ]
    return [(f, g) for f, g in groups if g]


def _counts(assessment: Assessment) -> dict[str, int]:
    statuses = [j.status for j in assessment.judged]
    return {
        "run": len(statuses),
        "assessed": sum(s in ("pass", "warn", "fail", "no_limit") for s in statuses),
        "open": statuses.count("not_assessed"),
        "failed": statuses.count("failed"),
    }
