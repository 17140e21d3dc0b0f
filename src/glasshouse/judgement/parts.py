"""Parts of a report that every audience sees alike: what measures declare, and how many of them gave a figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from glasshouse.catalogue import sections
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.plain import Content

if TYPE_CHECKING:
    from glasshouse.judgement.verdict.assessment import Assessment
    from glasshouse.judgement.verdict.judged import Judged
    from glasshouse.judgement.verdict.threats import Threat

COVERS = (
    "Figures hold for the stated keys, target and attackers. They are measurements on this release, not a formal "
    "guarantee: an attacker who knows more, or attacks otherwise, may learn more."
)


def declaration(judged: Judged) -> Content:
    """What a measure declares, and what the policy says about its result."""
    result, measure = judged.result, judged.measure
    return {
        "name": result.name,
        "title": measure.title,
        "side": measure.side,
        "family": measure.family,
        "threat": measure.threat,
        "status": result.status,
        "judgement": judged.status,
        "role": judged.role,
        "decides": judged.decides,
        "verdict": judged.status if judged.status in ("pass", "warn", "fail") else None,
        "limits": judged.limits,
        "direction": f"{measure.better} is better",
        "unit": measure.unit,
        "is_share": measure.is_share,
        "range": list(measure.range),
        "how": _how(measure),
        "attacker": measure.attacker,
        "caveats": measure.caveats,
        "citation": measure.cite,
    }


def _how(measure: AnyMeasure) -> str:
    """What is counted and the formula, in paragraphs; options are listed with the settings."""
    parts = sections(measure.__doc__)
    return "\n\n".join(text for text in (parts[""], parts.get("Notes", "")) if text.strip())


def limit_of(threat: Threat, assessment: Assessment, limits: str) -> str:
    """The limit that decides about a threat, in words; ``limits`` are those of the measure that speaks for it."""
    if threat.worst is None:
        return ""
    levels = assessment.policy.leak
    if not threat.by_leak or levels is None:
        return limits
    return f"p >= {levels.warn:g} (warn), {levels.fail:g} (fail) over all tests of members against strangers"


def population(assessment: Assessment, names: Iterable[str]) -> dict[str, Content]:
    """What anybody can infer about anybody: which results say it, and what the policy says about them."""
    limits = {o.limit.measure: o for o in assessment.outcomes.outcomes if o.limit in assessment.policy.population}
    found: dict[str, Content] = {}
    for name in names:
        ruled = limits.get(name)
        status = "no_limit" if ruled is None else ruled.status
        found[name] = {"status": status, "limit": "" if ruled is None else ruled.limit.text()}
    return found


def counts(assessment: Assessment) -> dict[str, int]:
    """How many measures ran, gave a figure, stayed open, stopped."""
    statuses = [j.status for j in assessment.judged]
    return {
        "run": len(statuses),
        "assessed": sum(s in ("pass", "warn", "fail", "no_limit") for s in statuses),
        "open": statuses.count("not_assessed"),
        "failed": statuses.count("failed"),
    }
