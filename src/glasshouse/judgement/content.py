"""The gate: everything a reader may see. Every output draws this and nothing else.

``content(assessment, audience)`` is plain data with a versioned schema (``docs/content.md``). Inside the house it
holds figures about groups of the original. For an external audience nothing of that is cleaned: a content of its own is
built in :mod:`glasshouse.judgement.outside`, of typed figures that each know how they are told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glasshouse.core.evidence import Exposure
from glasshouse.core.forking import entering
from glasshouse.core.limits import Outcome
from glasshouse.core.outside import AUDIENCES as AUDIENCES
from glasshouse.core.outside import check_audience
from glasshouse.core.plain import Content
from glasshouse.core.plain import p_value as spoken_p
from glasshouse.core.words import QUESTIONS
from glasshouse.judgement import outside
from glasshouse.judgement.distributions import distributions
from glasshouse.judgement.parts import COVERS, counts, declaration, limit_of, population
from glasshouse.judgement.verdict.headline import headline

if TYPE_CHECKING:
    from glasshouse.judgement.verdict.assessment import Assessment
    from glasshouse.judgement.verdict.judged import Judged
    from glasshouse.judgement.verdict.threats import Threat

SCHEMA = "glasshouse.assessment"
SCHEMA_VERSION = 5


def content(assessment: Assessment, audience: str) -> Content:
    """Everything a reader of ``audience`` may see, as plain data.

    Parameters
    ----------
    assessment
        What was found.
    audience
        "internal", or "external": no original value, no record, no count below the policy's minimum, and no figure such
        a count follows from.

    Returns
    -------
    dict
        Numbers, text, lists and mappings only; the same bytes as JSON for the same inputs and seed.
    """
    check_audience(audience)
    entering()
    told = _inside(assessment) if audience == "internal" else outside.content(assessment)
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "audience": audience,
        "verdict": assessment.verdict,
        "at_least": assessment.at_least,
        "covers": COVERS,
        "exit_code": assessment.exit_code,
        **told,
    }


def _inside(assessment: Assessment) -> Content:
    people = assessment.people
    return {
        "headline": headline(assessment),
        "leading": assessment.leading.name,
        "population": population(assessment, assessment.population),
        "counts": counts(assessment),
        "p_value": None if assessment.leak is None else assessment.leak.p_value,
        "threats": {name: _threat(t, assessment) for name, t in assessment.threats.items()},
        "policy": {
            **assessment.policy.to_dict(),
            "fingerprint": assessment.policy.fingerprint,
            "explicit": assessment.explicit,
        },
        "outcomes": [_outcome(o) for o in assessment.outcomes.outcomes],
        "results": {j.name: _result(j) for j in assessment.judged},
        "recommendations": [r.to_dict() for r in assessment.recommendations],
        "drivers": None if assessment.drivers is None else assessment.drivers.to_dict(),
        "people": None if people is None else people.to_dict(),
        "distributions": distributions(assessment.pair),
        "notes": list(assessment.notes),
        "data": dict(assessment.overview),
        "run": {
            "seed": assessment.seed,
            "measures": assessment.measures if isinstance(assessment.measures, str) else list(assessment.measures),
            "call": assessment.call,
            "versions": assessment.pair.describe()["versions"],
        },
    }


def _threat(threat: Threat, assessment: Assessment) -> Content:
    return {
        "status": threat.status,
        "question": QUESTIONS[threat.name],
        "worst": threat.worst,
        "sentence": threat.sentence,
        "p_value": threat.p_value,
        "p_shown": None if threat.p_value is None else spoken_p(threat.p_value),
        "effect": threat.effect,
        "interval": None if threat.interval is None else list(threat.interval),
        "detection_limit": threat.detection_limit,
        "decided_by": list(threat.decided_by),
        "limit": _limit(threat, assessment),
        "comparison": _comparison(threat, assessment),
        "required": threat.required,
        "deciding": list(threat.deciding),
        "findings": list(threat.findings),
        "missing": list(threat.missing),
    }


def _limit(threat: Threat, assessment: Assessment) -> str:
    """The limit that decided: that of the test itself where it decided alone."""
    own = "" if threat.worst is None else assessment.judgement_of(threat.worst).limits
    alone = threat.by_leak and threat.leak is not None and threat.leak.decided_alone
    return own if alone else limit_of(threat, assessment, own)


def _comparison(threat: Threat, assessment: Assessment) -> str:
    if threat.worst is None:
        return ""
    if threat.by_leak and threat.leak is not None:
        return threat.leak.rule
    return assessment.judgement_of(threat.worst).comparison


def _outcome(outcome: Outcome) -> Content:
    return {**outcome.to_dict(), "warn": outcome.limit.warn, "fail": outcome.limit.fail}


def _result(judged: Judged) -> Content:
    result = judged.result
    options = dict(result.settings.get("options", {}))
    return {
        **declaration(judged),
        "value": result.value,
        "shown": None,
        "baseline": result.baseline,
        "baseline_shown": None,
        "excess": result.excess,
        "holdout": result.holdout,
        "holdout_shown": None,
        "interval": None if result.interval is None else list(result.interval),
        "difference": result.difference,
        "difference_interval": None if result.difference_interval is None else list(result.difference_interval),
        "p_value": result.p_value,
        "exposure": None if result.exposure is None else _exposure(result.exposure),
        "utility": result.utility,
        "columns": {
            name: {"figure": c.figure, "lost": c.lost, "of_tolerable": c.of_tolerable}
            for name, c in result.columns.items()
        },
        "sentence": result.sentence,
        "reason": result.reason,
        "comparison": judged.comparison,
        "details": result.details,
        "warnings": list(result.warnings),
        "settings": {"options": options},
        "replicates": [{"value": r.value, "status": r.status} for r in result.replicates],
    }


def _exposure(found: Exposure) -> Content:
    return {
        "share": found.share,
        "interval": list(found.interval),
        "strangers": found.strangers,
        "people": found.people,
    }
