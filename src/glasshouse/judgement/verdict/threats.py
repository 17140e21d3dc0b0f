"""From judged measures to threats, and from threats to one verdict. A count of warnings never decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.limits import Outcome, deciding, status_of
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.result import Result
from glasshouse.core.words import HOLDOUT_ADVICE, QUESTIONS, SEVERITY, THREATS
from glasshouse.data.pair import Pair
from glasshouse.judgement.policy.policy import Policy

# What to say about a threat that could not be assessed, by the input that was missing.
WAYS_OUT: Mapping[str, str] = {
    "holdout": f"No holdout was supplied. {HOLDOUT_ADVICE}",
    "keys": "No keys were named: say what an attacker may know, e.g. keys=['age', 'sex'].",
    "target": "No target was named: say what an attacker wants to learn, e.g. target='income'.",
}


@dataclass(frozen=True)
class Judged:
    """One result under one policy: its status, the limits behind it, and whether it takes part in the verdict.

    ``role`` is "decides", "informs" (no limit counts), "structure" (describes the released file alone) or "utility".
    """

    result: Result
    measure: AnyMeasure
    status: str
    role: str
    outcomes: tuple[Outcome, ...] = ()

    @property
    def name(self) -> str:
        """The measure's name."""
        return self.measure.name

    @property
    def decides(self) -> bool:
        """Whether the result takes part in the verdict."""
        return self.role == "decides" or (self.role == "utility" and any(o.limit.measure for o in self.outcomes))

    @property
    def decided_by(self) -> Outcome | None:
        """The limit that gave the status."""
        return deciding(self.outcomes)

    @property
    def limits(self) -> str:
        """The limit that decided, as a phrase; the limits that were not met by any figure when none did."""
        found = self.decided_by
        limits = [o.limit for o in self.outcomes] if found is None else [found.limit]
        return "; ".join(limit.text() for limit in limits or self.result.limits)

    @property
    def comparison(self) -> str:
        """What the deciding limit saw, in words."""
        return "" if self.decided_by is None else self.decided_by.comparison

    @property
    def missing(self) -> str | None:
        """The input that was missing where the measure or its limit needed one: "holdout", "keys", "target"."""
        if self.result.needs is not None:
            return "target" if self.result.needs == "targets" else self.result.needs
        open_ = [o for o in self.outcomes if o.status == "not_assessed"]
        if self.result.status == "ok" and self.result.holdout is None and any(_wants_strangers(o) for o in open_):
            return "holdout"
        return None

    @property
    def why_open(self) -> str:
        """Why a measure decides nothing: it did not apply, or the limit's statistic does not exist for it here."""
        ruled = next((o.comparison for o in self.outcomes if o.status == "not_assessed"), None)
        return str(self.result.reason or ruled or "no figure")


def _wants_strangers(outcome: Outcome) -> bool:
    """Whether a limit stayed open for want of people never in the data."""
    limit = outcome.limit
    tests = limit.evidence is not None and limit.evidence.p is not None
    return outcome.statistic.startswith("difference") or not limit.passes or tests


@dataclass(frozen=True)
class Threat:
    """One threat: pass, warn, fail or not_assessed, the measure that decides it, and the sentence that matters."""

    name: str
    status: str
    worst: str | None
    sentence: str
    deciding: tuple[str, ...]
    findings: tuple[str, ...]
    missing: tuple[str, ...]
    required: bool = True

    @property
    def question(self) -> str:
        """The question behind the threat."""
        return QUESTIONS[self.name]

    def __str__(self) -> str:
        return f"{self.name}: {self.status.replace('_', ' ')}. {self.sentence}"


def judge(result: Result, policy: Policy, row_paired: bool) -> Judged:
    """Status of a result under a policy.

    Rules come first, then the limits the measure declares, if the policy lets them count.
    """
    measure = result.measure
    if measure is None:
        raise ValueError("a result is judged after its measure made it")
    ruled = tuple(rule.judge(result) for rule in policy.rules_for(result.name))
    outcomes = ruled or result.outcomes
    status = _status(result, outcomes, bool(ruled))
    if measure.side == "utility":
        role = "utility"
    elif ruled:
        role = "decides"
    elif measure.table == "single" and not row_paired:
        role = "structure"
    else:
        counts = policy.others == "declared" and measure.threat is not None and status != "no_limit"
        role = "decides" if counts and (result.status == "ok" or result.limits) else "informs"
    return Judged(result, measure, status, role, outcomes)


def _status(result: Result, outcomes: Sequence[Outcome], ruled: bool) -> str:
    """The gravest outcome. A declared limit without a figure leaves nothing to judge; a policy's leaves it open."""
    if result.status != "ok":
        return "failed" if result.status == "failed" else "not_assessed"
    limited = [o for o in outcomes if o.limit.warn is not None or o.limit.fail is not None]
    status = status_of(limited)
    return "no_limit" if status == "not_assessed" and not ruled else status


def assess_threats(
    judged: Sequence[Judged], policy: Policy, untestable: Mapping[str, str] | None = None
) -> dict[str, Threat]:
    """All four threats, always: one that nothing could assess is said to be open.

    ``untestable``: threats these data cannot put to the test, with the reason. They never pass; a warning stays one.
    """
    required = THREATS if policy.require is None else policy.require
    return {
        name: _threat(
            name,
            [j for j in judged if j.measure.threat == name],
            name in required,
            (untestable or {}).get(name),
        )
        for name in THREATS
    }


def nothing_to_learn(pair: Pair) -> str | None:
    """Why attribute disclosure cannot be tested on this pair: everybody has the same target value, or nobody has one.

    An attacker who is right because there is one answer learns nothing, and that is no sign of a safe release.
    """
    levels = [np.unique(codes[codes >= 0]).size for codes in (pair.codes(t).of("original") for t in pair.targets)]
    if not levels or max(levels) > 1:
        return None
    names = ", ".join(repr(str(t)) for t in pair.targets)
    state = "no value" if max(levels) == 0 else "one and the same value for everybody who has one"
    return (
        f"the target {names} has {state} in the original, so there is nothing to learn and nothing was tested; name "
        "another target"
    )


def _threat(name: str, members: list[Judged], required: bool, untestable: str | None = None) -> Threat:
    found = [j for j in members if j.decides and j.status in ("pass", "warn", "fail")]
    open_ = [j for j in members if j.decides and j.status in ("not_assessed", "failed")]
    missing = tuple(dict.fromkeys(_reason(j) for j in open_))
    if untestable is not None and not any(j.status in ("warn", "fail") for j in found):
        return Threat(
            name, "not_assessed", None, f"Not assessed: {untestable}.", (), (), (untestable, *missing), required
        )
    if not found:
        return Threat(name, "not_assessed", None, _not_assessed(members, open_), (), (), missing, required)
    # Measures of one group are functions of the same counts: the group speaks once, through its worst member.
    groups: dict[str, Judged] = {}
    for j in found:
        held = groups.get(j.measure.group)
        if held is None or rank(j) > rank(held):
            groups[j.measure.group] = j
    ordered = sorted(groups.values(), key=rank, reverse=True)
    worst = ordered[0]
    return Threat(
        name,
        worst.status,
        worst.name,
        worst.result.sentence,
        tuple(j.name for j in found),
        tuple(j.name for j in ordered if j.status in ("warn", "fail")),
        missing,
        required,
    )


def rank(j: Judged) -> tuple[int, bool, float, str]:
    """Order of judged measures: severity, then what is established, then the size of the figure."""
    excess = j.result.excess
    figure = (
        excess
        if excess is not None
        else float(j.result.value or 0)
        if j.measure.better == "lower" and j.measure.range == (0, 1)
        else 0.0
    )
    return SEVERITY[j.status], established(j.result), figure, j.name


def established(result: Result) -> bool:
    """Whether the release does worse than its reference beyond doubt; a limit may also be broken because too little
    was seen to rule it out.
    """
    if result.difference_interval is not None:
        return result.difference_interval[0] > 0
    return result.excess_interval is None or result.excess_interval[0] > 0


def _reason(j: Judged) -> str:
    return j.why_open if j.why_open.startswith(j.name) else f"{j.name}: {j.why_open}"


def _not_assessed(members: list[Judged], open_: list[Judged]) -> str:
    if not members:
        return 'Not assessed: no measure of this threat was among those run; measures="default" has some.'
    lacking = {j.missing for j in open_}
    ways = [text for need, text in WAYS_OUT.items() if need in lacking]
    stopped = sum(j.status == "failed" for j in open_)
    if stopped:
        ways.append(f"{stopped} measure(s) failed; the reasons are in the table.")
    if not ways and open_:
        ways.append(" ".join(dict.fromkeys(_reason(j).rstrip(".") + "." for j in open_)))
    if not open_:
        ways.append(
            "The policy sets no limit for what was measured."
            if any(j.status in ("pass", "warn", "fail") for j in members)
            else "What was measured has no limit and decides nothing."
        )
    return "Not assessed: " + " ".join(ways)


def overall(threats: Mapping[str, str], required: Sequence[str] = THREATS) -> str:
    """fail > incomplete > warn > pass.

    A threat that was not assessed never passes; a failed one fails, required or not.
    """
    statuses = list(threats.values())
    if "fail" in statuses:
        return "fail"
    if any(threats.get(name, "not_assessed") == "not_assessed" for name in required):
        return "incomplete"
    return "warn" if "warn" in statuses else "pass"
