"""What leaves the house, built of typed figures and of sentences of our own.

Nothing here is a text that was searched for labels. Static text (what a measure declares, our templates), the names of
columns, and figures through :class:`glasshouse.core.outside.Gate` are all there is; whatever has no typed field (a
measure's own sentence, details, warnings, notes, drivers, findings, file names, remarks, options that hold values, the
free text of a policy) has no way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from glasshouse.catalogue import all_measures
from glasshouse.core.limits import Limit, Outcome
from glasshouse.core.outside import NOTHING, Gate, size, told_options
from glasshouse.core.plain import Content, percent
from glasshouse.core.told import (
    HIDDEN,
    SAID_INSIDE,
    ToldResult,
    fewest_asked,
    given_need,
    influence,
    of_original,
    people_asked,
    tell,
)
from glasshouse.core.words import QUESTIONS
from glasshouse.judgement import declared
from glasshouse.judgement.overview import call
from glasshouse.judgement.parts import declaration, limit_of, population
from glasshouse.judgement.policy.leak import LeakLevels
from glasshouse.judgement.policy.policy import DECLARED, PRESETS, Policy
from glasshouse.judgement.verdict.advice import recommend
from glasshouse.judgement.verdict.headline import headline
from glasshouse.judgement.verdict.leak import BLIND, ThreatLeak, limit_of_tests
from glasshouse.judgement.verdict.leak import sentence as leak_sentence
from glasshouse.judgement.verdict.threats import (
    NOT_ASKED_OF_PAIRED,
    limit_sentence,
    unseen_sentence,
    ways_out_of,
)
from glasshouse.judgement.wide import outside_note

if TYPE_CHECKING:
    from glasshouse.core.evidence import Exposure
    from glasshouse.core.measure import Influence
    from glasshouse.core.result import Result
    from glasshouse.judgement.verdict.assessment import Assessment
    from glasshouse.judgement.verdict.judged import Judged
    from glasshouse.judgement.verdict.threats import Threat

OWN_POLICY = "the custodian's own policy"
GIVEN_ROLES = ("key", "target", "weights", "cluster")


def gate_of(policy: Policy) -> Gate:
    """What a policy lets out."""
    return Gate(policy.min_count)


def content(assessment: Assessment) -> Content:
    """The fields of the content that differ by audience, for readers outside."""
    gate = gate_of(assessment.policy)
    told = {j.name: tell(j.result, gate) for j in assessment.judged}
    leak = assessment.leak
    threats = {name: _told_threat(t, assessment, told, gate) for name, t in assessment.threats.items()}
    shown = replace(assessment, threats=threats)
    return {
        "headline": headline(shown, size=gate.limit, inside=False),
        "leading": shown.leading.name,
        "population": population(assessment, _facts(assessment)),
        "p_value": None if leak is None else _level(leak.status, assessment),
        "threats": {name: _threat(t, assessment, told, gate) for name, t in threats.items()},
        "policy": {**policy(assessment.policy), "explicit": assessment.explicit},
        "outcomes": [_outcome(o, told.get(o.limit.measure), gate) for o in assessment.outcomes.outcomes],
        "results": {j.name: _result(j, assessment, told[j.name], gate) for j in assessment.judged},
        "recommendations": _advice(assessment, told),
        "counts": _counts(told),
        "drivers": None,
        "people": _people(assessment, told),
        "distributions": [],
        "notes": _notes(assessment),
        "data": _data(assessment, gate),
        "run": _run(assessment),
    }


# -- threats -----------------------------------------------------------------------------------------------------------


def _told_threat(threat: Threat, assessment: Assessment, told: Mapping[str, ToldResult], gate: Gate) -> Threat:
    """A threat with rounded figures, and the measures that ran in the place of those that found something.

    An alarm is spoken for by the measure that rang it. Where nothing was found, that would be the one with the smallest
    p value, or the only one with a figure; outside it is the first that tells one.
    """
    ran = [j.name for j in declared.deciding(threat.name, assessment)]
    first = next((name for name in ran if told[name].status == "ok"), None)
    leak = None if threat.leak is None else told_leak(threat.leak, gate, assessment, told)
    worst = first if threat.status == "pass" else threat.worst
    return replace(threat, leak=leak, worst=worst, deciding=tuple(ran))


def _threat(threat: Threat, assessment: Assessment, told: Mapping[str, ToldResult], gate: Gate) -> Content:
    # of a threat without an answer, whether a test could be run at all is not told
    leak = None if threat.status == "not_assessed" else threat.leak
    return {
        "status": threat.status,
        "question": QUESTIONS[threat.name],
        "worst": threat.worst,
        "sentence": _sentence(threat, leak, assessment, told, gate),
        "p_value": None if leak is None else leak.p_value,
        "p_shown": None if leak is None else _level_words(leak.status, assessment),
        "effect": None if leak is None else leak.effect,
        "interval": None if leak is None or leak.interval is None else list(leak.interval),
        "detection_limit": None if leak is None or leak.detection_limit is None else gate.limit(leak.detection_limit),
        "decided_by": _speaks(threat),
        "limit": _limit(threat, assessment),
        "comparison": _comparison(threat, assessment, told, gate),
        "required": threat.required,
        "deciding": list(threat.deciding),
        "findings": _speaks(threat),
        "missing": _missing(threat, assessment),
    }


def _level(status: str, assessment: Assessment) -> float:
    """The level a p value lies below by the status it led to; each test's own level would be a ladder of counts."""
    levels = assessment.policy.leak or LeakLevels()
    return {"fail": levels.fail, "warn": levels.warn}.get(status, 1.0)


def _level_words(status: str, assessment: Assessment) -> str:
    level = _level(status, assessment)
    return f"p < {level:g}" if level < 1 else f"p >= {_level('warn', assessment):g}"


def _speaks(threat: Threat) -> list[str]:
    """The measure that speaks for an alarm. Which others are beyond their levels as well tells how many people are."""
    return [threat.worst] if threat.status in ("warn", "fail") and threat.worst is not None else []


def _limit(threat: Threat, assessment: Assessment) -> str:
    if threat.status not in ("pass", "warn", "fail"):
        return ""
    own = "" if threat.worst is None else declared.limits(assessment.judgement_of(threat.worst), assessment)
    return limit_of(threat, assessment, own)


def told_leak(leak: ThreatLeak, gate: Gate, assessment: Assessment, told: Mapping[str, ToldResult]) -> ThreatLeak:
    """The leak of a threat with its figures rounded, so that the sentences about it are those of the house.

    What would have been seen is worked out anew from rounded shares: from exact ones it would follow few people. Tests
    that gave nothing are counted among the others, and where nothing was seen the first figure that is told is: neither
    which tests could be run nor their order by p value is told.
    """
    levels = assessment.policy.leak or LeakLevels()
    test = leak.shown_by
    if leak.status == "pass":
        ran = {t.name: t for t in leak.tests}
        test = next((ran[name] for name, one in told.items() if name in ran and one.exposure is not None), None)
    seen = None if test is None else told[test.name].exposure
    tolerated = leak.tolerated if leak.tolerated is None or seen is None else 1000 * seen.interval[1]
    rounded = [replace(t, exposure=_rounded(t.exposure, gate, told[t.name].result)) for t in leak.tests]
    rounded += declared.silent(leak.threat, assessment, leak.tests)
    level = levels.fail if leak.status == "fail" else levels.warn
    rule = f"the tests of members against strangers lie {'not ' if leak.status == 'pass' else ''}below {level:g}"
    return replace(
        leak,
        p_value=_level(leak.status, assessment),
        rule=rule,
        tests=tuple(rounded),
        shown_by=None if test is None else replace(test, exposure=seen),
        tolerated=tolerated,
        detection_limit=limit_of_tests(rounded, levels, declared.tested(assessment)),
    )


def _rounded(seen: Exposure | None, gate: Gate, result: Result) -> Exposure | None:
    """Sizes and shares that a detection limit follows from, on the grid; a few people count as nobody."""
    if seen is None:
        return None
    people = fewest_asked(seen, result, gate)
    moved: Influence = "root" if influence(result) == "root" else "share"
    near = [gate.bounded(share, people, influence=moved).near for share in (seen.strangers, seen.reach)]
    members, controls = (size(n) for n in people_asked(seen, result, gate))
    if near[0] is None or near[1] is None or not (members and controls):
        return None
    return replace(seen, strangers=near[0], reach=near[1], members=members, controls=controls)


def _sentence(
    threat: Threat, leak: ThreatLeak | None, assessment: Assessment, told: Mapping[str, ToldResult], gate: Gate
) -> str:
    """The rule that fired and the figure of the measure that speaks for the threat."""
    if threat.status not in ("pass", "warn", "fail"):
        return _open(threat, assessment)
    own = "" if threat.worst is None else told[threat.worst].sentence
    if leak is not None and threat.by_leak:
        said = leak_sentence(leak, leak.seen is not None, size=gate.limit, tells_reach=False)
        return said if threat.status == "pass" else f"{said} {own}"
    if threat.worst is None:
        return "Within the limits."
    return f"{limit_sentence(_judged(assessment.judgement_of(threat.worst), told, gate))} {own}"


def _open(threat: Threat, assessment: Assessment) -> str:
    """Why a threat has no answer, from what was asked and given: it does not apply, lacks an input, or its tests see
    too little or nobody, and which of these two is not told."""
    if threat.status == "not_applicable":
        return NOT_ASKED_OF_PAIRED[threat.name]
    missing = _missing(threat, assessment)
    if missing or not any(declared.tests(j.measure, assessment) for j in declared.deciding(threat.name, assessment)):
        return f"Not assessed: {' '.join(missing) or f'{SAID_INSIDE}.'}"
    asked = None if assessment.policy.leak is None else assessment.policy.leak.must_detect(threat.name)
    warned = threat.leak is not None and threat.leak.status == "warn"
    return unseen_sentence(BLIND if asked is None else asked, warned)


def _missing(threat: Threat, assessment: Assessment) -> list[str]:
    lacking = declared.lacking(declared.deciding(threat.name, assessment), assessment)
    return [text for need, text in ways_out_of(bool(assessment.pair.void_holdout)).items() if need in lacking]


def _comparison(threat: Threat, assessment: Assessment, told: Mapping[str, ToldResult], gate: Gate) -> str:
    if threat.worst is None:
        return ""
    if threat.by_leak and threat.leak is not None:
        return threat.leak.rule
    return _seen(_judged(assessment.judgement_of(threat.worst), told, gate), gate)


# -- limits ------------------------------------------------------------------------------------------------------------


def _judged(judged: Judged, told: Mapping[str, ToldResult], gate: Gate) -> Judged:
    return replace(judged, outcomes=tuple(_told_outcome(o, told.get(judged.name), gate) for o in judged.outcomes))


def _seen(judged: Judged, gate: Gate) -> str:
    """What decided about one result, in words; a p value of its own is not told."""
    if judged.test is not None and not judged.ruled:
        return ""
    return "" if judged.decided_by is None else judged.decided_by.comparison


def _outcome(outcome: Outcome, told: ToldResult | None, gate: Gate) -> Content:
    shown = _told_outcome(outcome, told, gate)
    return {**shown.to_dict(), "warn": outcome.limit.warn, "fail": outcome.limit.fail}


def _told_outcome(outcome: Outcome, told: ToldResult | None, gate: Gate) -> Outcome:
    """The same outcome with the figure as it is told, and words of our own about it."""
    figure = None if told is None else _figure(outcome, told, gate)
    side = {"pass": "within the limit", "warn": "beyond the limit that warns", "fail": "beyond the limit that fails"}
    if outcome.status == "not_assessed":
        said = f"not assessed; {SAID_INSIDE}"
    else:
        said = side[outcome.status] if figure is None else f"about {figure:g}, {side[outcome.status]}"
    return Outcome(told_limit(outcome.limit), figure, outcome.statistic, outcome.status, said)


def _figure(outcome: Outcome, told: ToldResult, gate: Gate) -> float | None:
    """The figure a limit looked at, where it is one of those that are told."""
    interval, difference = told.interval, told.difference_interval
    known = {
        "value": told.value.value,
        "lower": None if interval is None else interval[0],
        "upper": None if interval is None else interval[1],
        "excess": told.excess,
        "difference": told.difference,
        "difference_lower": None if difference is None else difference[0],
        "difference_upper": None if difference is None else difference[1],
    }
    if outcome.statistic in ("lost", "copied"):
        return outcome.figure
    return known.get(outcome.statistic)


def told_limit(limit: Limit) -> Limit:
    """A limit without free text that is not ours, and without options that may hold values."""
    measure = all_measures().get(limit.measure)
    given = {} if measure is None else told_options(limit.options, measure)
    return replace(limit, why=limit.why if limit.why in _own_texts() else "", options=given)


def _own_texts() -> set[str]:
    """Free text that the house itself wrote: that of the presets, and of the limits measures declare."""
    presets = [DECLARED, *(Policy.preset(name) for name in (*PRESETS, "riskutility"))]
    limits = [limit for one in presets for limit in one.limits]
    limits += [limit for measure in all_measures().values() for limit in measure.limits]
    limits += [limit.without_holdout for limit in limits if limit.without_holdout is not None]
    levels = [one.leak.why for one in presets if one.leak is not None]
    return {*(text for one in presets for text in (one.name, one.title, one.why)), *(o.why for o in limits), *levels}


def policy(chosen: Policy) -> Content:
    """A policy as it is told: its numbers, and text only where it is that of a preset."""
    ours = _own_texts()
    own = chosen.name in ours and chosen.title in ours and chosen.why in ours
    shown = chosen.to_dict()
    leak = shown["leak"]
    told = {
        **shown,
        "name": chosen.name if own else OWN_POLICY,
        "title": chosen.title if own else "",
        "why": chosen.why if own else "",
        "run": {},
        "leak": None if leak is None else {**leak, "why": leak["why"] if leak["why"] in ours else ""},
        "population": [told_limit(limit).to_dict() for limit in chosen.population],
        "rules": [told_limit(limit).to_dict() for limit in chosen.rules],
    }
    # of a policy that is not told whole, a hash would confirm guesses at the rest; seed and measures are told elsewhere
    whole = {**told, "run": shown["run"]} == shown and set(shown["run"]) <= {"measures", "seed"}
    return {**told, "fingerprint": chosen.fingerprint if whole else None}


# -- results, people, advice -------------------------------------------------------------------------------------------


def _result(judged: Judged, assessment: Assessment, told: ToldResult, gate: Gate) -> Content:
    # whether a figure that is not told was there at all, a few people may decide; and what single tests say is a
    # ladder of counts, so that only the threat's alarm is told; so is which limit a class of the original breaks. One
    # of few people decides alone whether utility is lost
    measure, result = judged.measure, judged.result
    ruled = bool(assessment.policy.rules_for(measure.name))
    alone = (declared.tests(measure, assessment) or of_original(result) or told.few) and not ruled
    untold = told.status == HIDDEN and judged.status not in ("warn", "fail")
    quiet = told.status in ("ok", HIDDEN) and (alone or untold)
    return {
        **declaration(judged),
        "status": told.status,
        "role": declared.role(measure, assessment),
        "decides": declared.decides(measure, assessment),
        "limits": declared.limits(judged, assessment),
        **({"judgement": "no_limit", "verdict": None} if quiet else {}),
        **told.to_dict(),
        "comparison": "" if quiet else _seen(_judged(judged, {judged.name: told}, gate), gate),
        "details": {},
        "warnings": [],
        "settings": {"options": dict(told.options)},
        "replicates": [],
    }


def _facts(assessment: Assessment) -> list[str]:
    """The measures that ran and are facts about the population, whether or not they have a figure."""
    return [j.name for j in assessment.judged if j.measure.population and given_need(j.result) is None]


def _counts(told: Mapping[str, ToldResult]) -> dict[str, int]:
    """How many measures ran, tell a figure, and lack an input; whether one stopped stays in the house."""
    statuses = [t.status for t in told.values()]
    lacking = sum(s not in ("ok", HIDDEN) for s in statuses)
    return {"run": len(statuses), "assessed": len(statuses) - lacking, "open": lacking, "failed": 0}


def _advice(assessment: Assessment, told: Mapping[str, ToldResult]) -> list[Content]:
    """The advice the measures declare, around told figures; which key matters most is not told."""
    limits = assessment.policy.population
    broken = {o.limit.measure: o.status for o in assessment.outcomes.outcomes if o.limit in limits}

    def figures(judged: Judged) -> dict[str, str]:
        return _spoken(told[judged.name])

    alarms = {name for threat in assessment.threats.values() for name in _speaks(threat)}
    quiet = [
        j for j in assessment.judged if j.name in alarms or j.ruled or (j.test is None and not of_original(j.result))
    ]
    lacking = declared.lacking(assessment.judged, assessment)
    found = recommend(assessment.pair, quiet, None, broken, figures, lacking)
    return [{**r.to_dict(), "text": f"{r.text[:1].upper()}{r.text[1:]}"} for r in found]


def _spoken(told: ToldResult) -> dict[str, str]:
    measure = told.result.measure
    value = told.value.text(told.write)
    share = "a part" if told.value is NOTHING else value

    def phrase(words: str, figure: Any) -> str:
        return "" if figure is NOTHING else words.format(figure.text(told.write))

    return {
        "title": "" if measure is None else measure.title,
        "value": share,
        "figure": value,
        "excess": value if told.excess is None else percent(told.excess),
        "guessing": phrase(" (guessing: {})", told.baseline),
        "expected": phrase(", where {} is expected", told.baseline),
        "strangers": phrase(" ({} for people the synthesiser never saw)", told.holdout),
        "rate": "",
    }


def _people(assessment: Assessment, told: Mapping[str, ToldResult]) -> Content | None:
    """The share of people a measure flags, as it is told there: that which speaks for attribute (or identity) if it
    alarms, else the first that tells a figure."""
    flags = {name for name, one in told.items() if one.status == "ok" and one.result.flag is not None}
    threats = [assessment.threats[name] for name in ("attribute", "identity")]
    names = [name for t in threats for name in (*_speaks(t), *(j.name for j in declared.deciding(t.name, assessment)))]
    chosen = next((name for name in names if name in flags), None)
    if chosen is None:
        return None
    result = told[chosen]
    seen = result.exposure
    return {
        "measure": chosen,
        "flagged": None,
        "share": result.value.value,
        "shown": result.value.text(percent),
        "of": size(assessment.pair.n("original")),
        "beyond": None if seen is None else float(size(seen.people)),
        "strangers": None if seen is None else seen.strangers,
    }


# -- data and run ------------------------------------------------------------------------------------------------------


def _data(assessment: Assessment, gate: Gate) -> Content:
    """Tables, roles and columns. What is in the release anybody can count or read, so its variable labels are told; of
    the others sizes are rounded. A release that is a confidential table is none: nobody has it."""
    overview, pair = assessment.overview, assessment.pair
    sizes = {t["table"]: t["records"] for t in overview["tables"]}
    hidden = {t["fingerprint"] for t in overview["tables"] if not public(t["table"])}
    tables = [
        {
            "table": t["table"],
            "source": None,
            "records": size(t["records"]) if t["fingerprint"] in hidden else t["records"],
            "fingerprint": None if t["fingerprint"] in hidden else t["fingerprint"],
        }
        for t in overview["tables"]
    ]
    columns = [
        {
            "name": c["name"],
            # read off the values, kind and the role of an identifier follow a single odd one
            "kind": "",
            "role": c["role"] if c["role"] in GIVEN_ROLES else "",
            "label": next((said for t in pair.releases if (said := pair.label(c["name"], t))), None),
            "missing": {
                t: gate.bounded(n / sizes[t] if sizes[t] else None, pair.people(t)).text(percent)
                for t, n in c["missing"].items()
            },
        }
        for c in overview["columns"]
    ]
    roles = ("keys", "target", "weights", "cluster", "missing", "row_paired", "releases", "holdout")
    told = {k: overview[k] for k in roles}
    told["reading"] = {k: [] for k in overview["reading"]}  # whether a column has ten values or eleven is one person
    return {**told, "tables": tables, "columns": columns, "remarks": {}, "findings": []}


def public(table: str) -> bool:
    """Whether a table is (one of) the released."""
    return table not in ("original", "holdout")


def _notes(assessment: Assessment) -> list[str]:
    """Which measures looked at some of the columns only; what else was noted stays in the house."""
    policy, options = assessment.policy, assessment.options
    asked = {j.name: {**policy.options_for(j.name), **options.get(j.name, {})} for j in assessment.judged}
    said = outside_note([j.measure for j in assessment.judged], assessment.pair, asked)
    return [] if said is None else [said]


def _run(assessment: Assessment) -> Content:
    measures = all_measures()
    options = {
        name: told_options(given, measures[name]) for name, given in assessment.options.items() if name in measures
    }
    chosen = policy(assessment.policy)["name"] if assessment.explicit else None
    return {
        "seed": assessment.seed,
        "measures": assessment.measures if isinstance(assessment.measures, str) else list(assessment.measures),
        "call": call(assessment.pair, chosen, assessment.measures, assessment.seed, options, assessment.results),
        "versions": assessment.pair.describe()["versions"],
    }
