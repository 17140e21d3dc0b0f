"""From judged measures to threats, and from threats to one verdict. A count of warnings never decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glasshouse.core.measure import Measure
from glasshouse.core.result import Result
from glasshouse.judgement.policy.outcomes import SEVERITY, Outcome
from glasshouse.judgement.policy.policy import THREATS, Policy

QUESTIONS = {
    "identity": "Can a released record be tied to a real person?",
    "attribute": "Does the release tell an attacker something about a real person?",
    "membership": "Can an attacker tell who was in the data?",
    "copying": "Does the release contain the original records, or near copies of them?",
}
STRUCTURE = (
    "counts classes in the released file alone. Records of a fully synthetic file belong to nobody, so this "
    "describes the file and does "
    "not decide; declare row_paired=True, or name the measure in the policy, if released records are real people"
)


@dataclass(frozen=True)
class Judged:
    """One result under one policy: its status, and whether it takes part in the verdict."""

    result: Result
    status: str
    decides: bool
    role: str
    outcomes: tuple[Outcome, ...] = ()

    @property
    def name(self) -> str:
        return self.result.name

    @property
    def measure(self) -> Measure:
        assert self.result.measure is not None
        return self.result.measure

    @property
    def limits(self) -> str:
        """The limits in force, as a phrase."""
        if self.outcomes:
            return "; ".join(o.rule.text() for o in self.outcomes)
        bands = self.result.bands
        if bands is None:
            return ""
        sign = "<=" if bands.better == "lower" else ">="
        ends = {"high": "upper end", "low": "lower end"}
        limits = [f"{v:g} ({k})" for k, v in (("warn", bands.warn), ("fail", bands.fail)) if v is not None]
        return f"{ends.get(bands.on, bands.on)} {sign} {', '.join(limits)}" if limits else ""


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
        return QUESTIONS[self.name]

    def to_dict(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "worst": self.worst,
            "sentence": self.sentence,
            "required": self.required,
            "deciding": list(self.deciding),
            "findings": list(self.findings),
            "missing": list(self.missing),
        }

    def __str__(self) -> str:
        return f"{self.name}: {self.status.replace('_', ' ')}. {self.sentence}"


def judge(result: Result, policy: Policy, row_paired: bool) -> Judged:
    """Status of a result under a policy.

    Rules come first, then the limits the measure declares, if the policy lets them count.
    """
    measure = result.measure
    assert measure is not None
    outcomes = tuple(rule.judge(result) for rule in policy.rules_for(result.name))
    if measure.side == "utility":
        status = _worst(o.status for o in outcomes) if outcomes else _declared(result)
        return Judged(result, status, bool(outcomes), "utility", outcomes)
    if outcomes:
        return Judged(result, _worst(o.status for o in outcomes), True, "decides", outcomes)
    if measure.table == "single" and not row_paired:
        return Judged(result, _declared(result), False, "structure")
    judged = _declared(result) != "no_limit" and (result.status == "ok" or result.bands is not None)
    decides = policy.others == "declared" and measure.threat is not None and judged
    return Judged(result, _declared(result), decides, "decides" if decides else "informs")


def _declared(result: Result) -> str:
    if result.status != "ok":
        return "failed" if result.status == "failed" else "not_assessed"
    bands = result.bands
    if result._verdict is None and bands is not None and bands.warn is None and bands.fail is None:
        return "no_limit"  # a measure that could not fail has not passed anything
    return result.verdict or "no_limit"


def _worst(statuses: Any) -> str:
    return max(statuses, key=lambda status: SEVERITY[status])  # type: ignore[no-any-return]


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


def nothing_to_learn(pair: Any) -> str | None:
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
    deciding = [j for j in members if j.decides and j.status in ("pass", "warn", "fail")]
    open_ = [j for j in members if j.decides and j.status in ("not_assessed", "failed")]
    missing = tuple(dict.fromkeys(_reason(j) for j in open_))
    if untestable is not None and not any(j.status in ("warn", "fail") for j in deciding):
        return Threat(
            name, "not_assessed", None, f"Not assessed: {untestable}.", (), (), (untestable, *missing), required
        )
    if not deciding:
        return Threat(name, "not_assessed", None, _not_assessed(members, open_), (), (), missing, required)
    # Measures of one group are functions of the same counts: the group speaks once, through its worst member.
    groups: dict[str, Judged] = {}
    for j in deciding:
        held = groups.get(j.measure.group)
        if held is None or _rank(j) > _rank(held):
            groups[j.measure.group] = j
    ordered = sorted(groups.values(), key=_rank, reverse=True)
    worst = ordered[0]
    findings = tuple(j.name for j in ordered if j.status in ("warn", "fail"))
    return Threat(
        name,
        worst.status,
        worst.name,
        worst.result.sentence,
        tuple(j.name for j in deciding),
        findings,
        missing,
        required,
    )


def _rank(j: Judged) -> tuple[int, bool, float, str]:
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
    difference = result.details.get("difference_interval")
    if difference:
        return bool(difference[0] > 0)
    reference = result.baseline
    return result.interval is None or reference is None or result.interval[0] is None or result.interval[0] > reference


def _reason(j: Judged) -> str:
    text = why_open(j)
    return text if text.startswith(j.name) else f"{j.name}: {text}"


def why_open(j: Judged) -> str:
    """Why a measure decides nothing: it did not apply, or the policy's statistic does not exist for it here."""
    ruled = next((o.comparison for o in j.outcomes if o.status == "not_assessed"), None)
    return str(j.result.reason or ruled or "no figure")


def _not_assessed(members: list[Judged], open_: list[Judged]) -> str:
    if not members:
        return 'Not assessed: no measure of this threat was among those run; measures="default" has some.'
    reasons = " ".join(why_open(j) for j in open_)
    ways = []
    if "holdout" in reasons:
        ways.append("No holdout was supplied. Withhold 20 to 50 % of the records before synthesis and run again.")
    if "needs keys" in reasons:
        ways.append("No keys were named: say what an attacker may know, e.g. keys=['age', 'sex'].")
    if "needs a target" in reasons:
        ways.append("No target was named: say what an attacker wants to learn.")
    if any(j.status == "failed" for j in open_):
        ways.append(f"{sum(j.status == 'failed' for j in open_)} measure(s) failed; the reasons are in the table.")
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
