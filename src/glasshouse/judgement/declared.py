"""Which part a measure plays by its declaration, the policy and the inputs alone, whatever it found.

Inside, a role follows the result: a test that could not be run is no evidence. Outside, that would tell whether a
figure exists that is not told, which is one person more or less; so what is said there of roles and limits is read off
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glasshouse.core.measure import AnyMeasure
from glasshouse.core.told import given_need
from glasshouse.judgement.verdict.judged import levels_of_test, wants_strangers
from glasshouse.judgement.verdict.leak import NOT_OF_PAIRED, LeakTest

if TYPE_CHECKING:
    from glasshouse.judgement.verdict.assessment import Assessment
    from glasshouse.judgement.verdict.judged import Judged

ALARM_OF = "copying"  # the threat for which copy alarms of utility measures speak


def threat_of(measure: AnyMeasure, assessment: Assessment) -> str | None:
    """The threat a measure speaks for; that of copies for a utility measure whose alarm only copies set off."""
    return ALARM_OF if measure.alarm and measure.side == "utility" and assessment.policy.leak else measure.threat


def tests(measure: AnyMeasure, assessment: Assessment) -> bool:
    """Whether it is a test of members against strangers, or an alarm that rings for copies."""
    threat = threat_of(measure, assessment)
    pair = assessment.pair
    if assessment.policy.leak is None or threat is None or (pair.row_paired and threat in NOT_OF_PAIRED):
        return False
    return measure.side == "utility" or (measure.table == "pair" and pair.has_holdout)


def role(measure: AnyMeasure, assessment: Assessment) -> str:
    """The role of :class:`~glasshouse.judgement.verdict.judged.Judged`, whether or not there is a figure."""
    policy, paired = assessment.policy, assessment.pair.row_paired
    if measure.side == "utility":
        return "utility"
    if tests(measure, assessment):
        return "evidence"
    if policy.rules_for(measure.name):
        return "decides"
    if measure.table == "single" and not paired:
        return "structure"
    asked = measure.threat is not None and not (paired and measure.threat in NOT_OF_PAIRED)
    return "decides" if asked and policy.others == "declared" and measure.limits else "informs"


def decides(measure: AnyMeasure, assessment: Assessment) -> bool:
    """Whether it takes part in the verdict."""
    if measure.side == "utility":
        return tests(measure, assessment) or bool(assessment.policy.rules_for(measure.name))
    return role(measure, assessment) in ("evidence", "decides")


def limits(judged: Judged, assessment: Assessment) -> str:
    """What decides about it, as a phrase."""
    measure, levels = judged.measure, assessment.policy.leak
    if levels is not None and tests(measure, assessment) and not assessment.policy.rules_for(measure.name):
        return levels_of_test(levels, "warn" if measure.side == "utility" else measure.alone)
    return "; ".join(limit.text() for limit in judged.result.limits)


def deciding(threat: str, assessment: Assessment) -> list[Judged]:
    """The measures of a threat that ran and take part in the verdict, in the order they ran."""
    return [
        j for j in assessment.judged if threat_of(j.measure, assessment) == threat and decides(j.measure, assessment)
    ]


def silent(threat: str, assessment: Assessment, spoken: tuple[LeakTest, ...]) -> list[LeakTest]:
    """Tests of a threat that ran and gave nothing: they count where tests are counted, and see nobody."""
    names = {test.name for test in spoken}
    ran = [j.measure for j in deciding(threat, assessment) if tests(j.measure, assessment)]
    return [LeakTest(m, threat, 1.0, None, m.alone) for m in ran if m.name not in names]


def tested(assessment: Assessment) -> int:
    """How many threats there are tests for."""
    found = {threat_of(j.measure, assessment) for j in assessment.judged if tests(j.measure, assessment)}
    return max(len(found), 1)


def lacking(members: Sequence[Judged], assessment: Assessment) -> set[str]:
    """The inputs that measures which take part would need and nobody gave: "holdout", "keys", "target"."""
    found = [j for j in members if decides(j.measure, assessment)]
    needs = {given_need(j.result) for j in found}
    strangers = any(wants_strangers(limit) for j in found for limit in j.result.limits)
    inputs = {"target" if need == "targets" else need for need in needs if need is not None}
    return (inputs | {"holdout"} if strangers else inputs) - ({"holdout"} if assessment.pair.has_holdout else set())
