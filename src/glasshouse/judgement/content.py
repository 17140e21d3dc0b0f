"""The gate: everything a reader may see, redacted once. Every output draws this and nothing else.

``content(assessment, audience)`` is plain data with a versioned schema (``docs/content.md``). Inside the house it
holds figures about groups of the original; for an external audience it passes through the redactor of
:mod:`glasshouse.judgement.redaction`: no original value, no record, no count below the policy's minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from glasshouse.catalogue import sections
from glasshouse.core.errors import InputError
from glasshouse.core.evidence import Exposure
from glasshouse.core.limits import Outcome
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.plain import Content
from glasshouse.core.plain import p_value as spoken_p
from glasshouse.core.result import Result
from glasshouse.core.words import QUESTIONS
from glasshouse.judgement.distributions import distributions
from glasshouse.judgement.redaction import Redactor
from glasshouse.judgement.verdict.headline import headline
from glasshouse.judgement.verdict.leak import sentence as leak_sentence
from glasshouse.judgement.verdict.threats import limit_sentence

if TYPE_CHECKING:
    from glasshouse.judgement.verdict.assessment import Assessment
    from glasshouse.judgement.verdict.judged import Judged
    from glasshouse.judgement.verdict.leak import ThreatLeak
    from glasshouse.judgement.verdict.threats import Threat

SCHEMA = "glasshouse.assessment"
SCHEMA_VERSION = 3
AUDIENCES = ("internal", "external")
COVERS = (
    "Figures hold for the stated keys, target and attackers. They are measurements on this release, not a formal "
    "guarantee: an attacker who knows more, or attacks otherwise, may learn more."
)


class Reader(Protocol):
    """What a reader may see of a text, a figure and a measure's details."""

    def text(self, text: str | None) -> str | None: ...
    def may_hold(self, text: str) -> bool: ...
    def sentence(self, result: Result) -> str: ...
    def value(self, result: Result) -> tuple[float | int | None, str | None]: ...
    def details(self, result: Result) -> Content: ...
    def options(self, result: Result) -> Content: ...
    def count(self, count: int) -> int | str: ...
    def replicates(self, result: Result) -> list[Content]: ...
    def tells_leak(self, result: Result) -> bool: ...
    def columns(self, result: Result) -> dict[str, Content]: ...
    def p(self, p: float) -> float: ...
    def p_words(self, p: float) -> str: ...
    def size(self, share: float) -> float: ...


class Insider:
    """The custodian: sees everything but the records, which are asked for one by one."""

    def text(self, text: str | None) -> str | None:
        return text

    def may_hold(self, text: str) -> bool:
        return True

    def sentence(self, result: Result) -> str:
        return result.sentence

    def value(self, result: Result) -> tuple[float | int | None, str | None]:
        return result.value, None

    def details(self, result: Result) -> Content:
        return result.details

    def options(self, result: Result) -> Content:
        return dict(result.settings.get("options", {}))

    def count(self, count: int) -> int | str:
        return count

    def replicates(self, result: Result) -> list[Content]:
        return [{"value": r.value, "status": r.status} for r in result.replicates]

    def tells_leak(self, result: Result) -> bool:
        return True

    def p(self, p: float) -> float:
        return p

    def p_words(self, p: float) -> str:
        return spoken_p(p)

    def size(self, share: float) -> float:
        return share

    def columns(self, result: Result) -> dict[str, Content]:
        return {
            name: {"figure": c.figure, "lost": c.lost, "of_tolerable": c.of_tolerable}
            for name, c in result.columns.items()
        }


def content(assessment: Assessment, audience: str) -> Content:
    """Everything a reader of ``audience`` may see, as plain data.

    Parameters
    ----------
    assessment
        What was found.
    audience
        "internal", or "external": no original value, no record, no small count.

    Returns
    -------
    dict
        Numbers, text, lists and mappings only; the same bytes as JSON for the same inputs and seed.
    """
    if audience not in AUDIENCES:
        raise InputError(f"audience={audience!r} is not known; it is 'internal' or 'external'")
    inside = audience == "internal"
    reader: Reader = Insider() if inside else Redactor(assessment.pair, assessment.policy.min_count)
    statuses = [j.status for j in assessment.judged]
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "audience": audience,
        "verdict": assessment.verdict,
        "at_least": assessment.at_least,
        "headline": headline(assessment, reader.p_words, reader.size),
        "covers": COVERS,
        "leading": assessment.leading.name,
        "exit_code": assessment.exit_code,
        "p_value": _told(reader.p, None if assessment.leak is None else assessment.leak.p_value),
        "threats": {name: _threat(t, assessment, reader) for name, t in assessment.threats.items()},
        "population": _population(assessment, reader),
        "policy": {**assessment.policy.to_dict(), "explicit": assessment.explicit},
        "outcomes": [_outcome(o, assessment, reader) for o in assessment.outcomes.outcomes],
        "results": {j.name: _result(j, reader) for j in assessment.judged},
        "recommendations": [r.to_dict() for r in assessment.recommendations if reader.may_hold(r.text)],
        "drivers": assessment.drivers.to_dict() if inside and assessment.drivers is not None else None,
        "people": _people(assessment, reader, inside),
        "distributions": distributions(assessment.pair) if inside else [],
        "notes": [reader.text(n) for n in assessment.notes],
        "counts": {
            "run": len(statuses),
            "assessed": sum(s in ("pass", "warn", "fail", "no_limit") for s in statuses),
            "open": statuses.count("not_assessed"),
            "failed": statuses.count("failed"),
        },
        "data": _data(assessment.overview, reader, inside),
        "run": {
            "seed": assessment.seed,
            "measures": assessment.measures if isinstance(assessment.measures, str) else list(assessment.measures),
            "call": assessment.call,
            "versions": assessment.pair.describe()["versions"],
        },
    }


def _threat(threat: Threat, assessment: Assessment, reader: Reader) -> Content:
    told = threat.leak is None or _tells_effect(threat.leak, assessment, reader)
    return {
        "status": threat.status,
        "question": QUESTIONS[threat.name],
        "worst": threat.worst,
        "sentence": _sentence(threat, assessment, reader, told),
        "p_value": _told(reader.p, threat.p_value),
        "effect": threat.effect if told else None,
        "interval": list(threat.interval) if told and threat.interval is not None else None,
        "detection_limit": _told(reader.size, threat.detection_limit),
        "decided_by": list(threat.decided_by),
        "limit": _limit(threat, assessment),
        "comparison": _comparison(threat, assessment, reader, told),
        "required": threat.required,
        "deciding": list(threat.deciding),
        "findings": list(threat.findings),
        "missing": [reader.text(m) for m in threat.missing],
    }


def _sentence(threat: Threat, assessment: Assessment, reader: Reader, told: bool) -> str | None:
    """The rule that fired and the sentence of the measure that speaks for the threat."""
    if threat.worst is None:
        return reader.text(threat.sentence)
    own = reader.sentence(assessment.results[threat.worst])
    if threat.leak is None or not threat.by_leak:
        tells = bool(_comparison(threat, assessment, reader, told))
        return f"{limit_sentence(assessment.judgement_of(threat.worst), tells)} {own}"
    said = leak_sentence(threat.leak, told, reader.p_words, reader.size)
    return said if threat.status == "pass" else f"{said} {own}"


def _limit(threat: Threat, assessment: Assessment) -> str:
    if threat.worst is None:
        return ""
    levels = assessment.policy.leak
    if not threat.by_leak or levels is None:
        return assessment.judgement_of(threat.worst).limits
    return f"p >= {levels.warn:g} (warn), {levels.fail:g} (fail) over all tests of members against strangers"


def _comparison(threat: Threat, assessment: Assessment, reader: Reader, told: bool) -> str:
    name = threat.worst
    if name is None:
        return ""
    if threat.by_leak and threat.leak is not None:
        return threat.leak.rule_in(reader.p_words) if told else ""
    if reader.value(assessment.results[name])[1] is not None:
        return ""
    judged = assessment.judgement_of(name)
    return "" if _tells_too_much(judged.decided_by, judged.result, reader) else judged.comparison


def _tells_effect(leak: ThreatLeak, assessment: Assessment, reader: Reader) -> bool:
    """Whether the size of a leak may be told: not where it stands for few people."""
    source = leak.shown_by
    if source is None:
        return True
    result = assessment.results[source.name]
    return reader.value(result)[1] is None and reader.tells_leak(result)


def _population(assessment: Assessment, reader: Reader) -> dict[str, Content]:
    """What anybody can infer about anybody: which results say it, and what the policy says about them."""
    limits = {o.limit.measure: o for o in assessment.outcomes.outcomes if o.limit in assessment.policy.population}
    found: dict[str, Content] = {}
    for name in assessment.population:
        ruled = limits.get(name)
        status = "no_limit" if ruled is None else ruled.status
        found[name] = {"status": status, "limit": "" if ruled is None else ruled.limit.text()}
    return found


def _tells_too_much(outcome: Outcome | None, result: Result, reader: Reader) -> bool:
    """Whether the figure a limit saw is a difference that gives a small count away."""
    return outcome is not None and outcome.statistic.startswith("difference") and not reader.tells_leak(result)


def _outcome(outcome: Outcome, assessment: Assessment, reader: Reader) -> Content:
    shown = {**outcome.to_dict(), "warn": outcome.limit.warn, "fail": outcome.limit.fail}
    result = assessment.results.get(outcome.limit.measure)
    few = result is not None and (reader.value(result)[1] is not None or _tells_too_much(outcome, result, reader))
    if few and outcome.figure is not None:
        shown |= {"figure": None, "end": None, "comparison": "figure left out: it stands for few people"}
    return {**shown, "comparison": reader.text(str(shown["comparison"]))}


def _result(judged: Judged, reader: Reader) -> Content:
    result, measure = judged.result, judged.measure
    value, instead = reader.value(result)
    hidden = instead is not None
    untold = hidden or not reader.tells_leak(result)
    options = reader.options(result)
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
        "value": value,
        "shown": instead,
        "baseline": None if hidden else result.baseline,
        "excess": None if hidden else result.excess,
        "holdout": None if hidden else result.holdout,
        "interval": None if hidden or result.interval is None else list(result.interval),
        "difference": None if untold else result.difference,
        "difference_interval": None if untold or not result.difference_interval else list(result.difference_interval),
        "p_value": _told(reader.p, result.p_value),
        "exposure": None if untold or result.exposure is None else _exposure(result.exposure),
        "utility": result.utility,
        "columns": reader.columns(result),
        "sentence": reader.sentence(result),
        "reason": reader.text(result.reason),
        "limits": judged.limits,
        "comparison": _seen(judged, reader, hidden),
        "direction": f"{measure.better} is better",
        "unit": measure.unit,
        "is_share": measure.is_share,
        "range": list(measure.range),
        "how": _how(measure),
        "attacker": measure.attacker,
        "caveats": measure.caveats,
        "citation": measure.cite,
        "details": reader.details(result),
        "warnings": [reader.text(w) for w in result.warnings],
        "settings": {"options": options},
        "replicates": reader.replicates(result),
    }


def _told(tell: Callable[[float], float], figure: float | None) -> float | None:
    return None if figure is None else tell(figure)


def _seen(judged: Judged, reader: Reader, hidden: bool) -> str | None:
    """What decided about one result, in words; the p value of a test as the reader may know it."""
    if judged.test is not None and not judged.ruled:
        return reader.p_words(judged.test.p)
    too_much = hidden or _tells_too_much(judged.decided_by, judged.result, reader)
    return "" if too_much else reader.text(judged.comparison)


def _exposure(found: Exposure) -> Content:
    return {
        "share": found.share,
        "interval": list(found.interval),
        "strangers": found.strangers,
        "people": found.people,
    }


def _how(measure: AnyMeasure) -> str:
    """What is counted and the formula, in paragraphs; options are listed with the settings."""
    parts = sections(measure.__doc__)
    return "\n\n".join(text for text in (parts[""], parts.get("Notes", "")) if text.strip())


def _people(assessment: Assessment, reader: Reader, inside: bool) -> Content | None:
    found = assessment.people
    if found is None:
        return None
    shown: Content = found.to_dict()
    if not inside:
        del shown["groups"], shown["known"]
    if found.beyond is not None and not reader.tells_leak(assessment.results[found.measure]):
        shown |= {"beyond": None, "strangers": None}
    return {**shown, "flagged": reader.count(found.flagged)}


def _data(overview: Mapping[str, Any], reader: Reader, inside: bool) -> Content:
    if inside:
        return dict(overview)
    columns = [
        {
            **{k: c[k] for k in ("name", "kind", "role")},
            "missing": {t: reader.count(n) for t, n in c["missing"].items()},
        }
        for c in overview["columns"]
    ]
    tables = [{**t, "source": None} for t in overview["tables"]]
    return {**overview, "tables": tables, "columns": columns, "findings": [], "remarks": {}}
