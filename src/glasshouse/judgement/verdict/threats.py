"""From judged measures to threats, and from threats to one verdict. A count of warnings never decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.intervals import Interval
from glasshouse.core.plain import percent
from glasshouse.core.words import QUESTIONS, SEVERITY, THREATS, plural, spoken
from glasshouse.data.pair import Pair
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.verdict.judged import Judged, rank
from glasshouse.judgement.verdict.leak import BLIND, LeakDecision, ThreatLeak
from glasshouse.judgement.verdict.leak import sentence as leak_sentence

# What to say about a threat that could not be assessed, by the input that was missing.
WAYS_OUT: Mapping[str, str] = {
    "holdout": "No holdout was supplied, so members cannot be compared with people never in the data.",
    "keys": "No keys were named: say what an attacker may know, e.g. keys=['age', 'sex'].",
    "target": "No target was named: say what an attacker wants to learn, e.g. target='income'.",
}
NO_STRANGERS = (
    "The holdout that was given holds members, or people who stand in the release, so it cannot stand for people never "
    "in the data."
)
# A file whose rows are those of the original, perturbed, is a copy by design: these two questions have no other answer.
NOT_ASKED_OF_PAIRED: Mapping[str, str] = {
    "membership": "Does not apply: every row of the release is a person of the original, changed, so who was in the "
    "data is no secret of this file. Identity and attribute say what it gives away.",
    "copying": "Does not apply: the release is the original, changed row by row. How well the rows can be tied to "
    "people is the question of identity.",
}


@dataclass(frozen=True)
class Threat:
    """One threat: its status, the measure that speaks for it, the sentence that matters, and its leak axis.

    Attributes
    ----------
    name, status
        "pass", "warn", "fail", "not_assessed" or "not_applicable".
    worst, sentence
        The measure that speaks for the threat, and what it means in words.
    deciding, findings, missing, required
        Measures that took part, those that warn or fail, what was missing, and whether the policy asks for the threat.
    leak
        The exchange tests together; None where there were none.
    """

    name: str
    status: str
    worst: str | None
    sentence: str
    deciding: tuple[str, ...]
    findings: tuple[str, ...]
    missing: tuple[str, ...]
    required: bool = True
    leak: ThreatLeak | None = None
    decided_by: tuple[str, ...] = ()

    @property
    def by_leak(self) -> bool:
        """Whether the exchange tests gave the status, and no single limit did."""
        return self.leak is not None and self.leak.status == self.status

    @property
    def question(self) -> str:
        """The question behind the threat."""
        return QUESTIONS[self.name]

    @property
    def p_value(self) -> float | None:
        """p value of the exchange tests together; None without a holdout."""
        return None if self.leak is None else self.leak.p_value

    @property
    def effect(self) -> float | None:
        """Members exposed beyond strangers, of 1,000."""
        return None if self.leak is None else self.leak.effect

    @property
    def interval(self) -> Interval | None:
        """Confidence interval of the effect."""
        return None if self.leak is None else self.leak.interval

    @property
    def detection_limit(self) -> float | None:
        """The smallest share of members whose exposure would have been seen with 80 % power."""
        return None if self.leak is None else self.leak.detection_limit

    def __str__(self) -> str:
        return f"{self.name}: {self.status.replace('_', ' ')}. {self.sentence}"


def assess_threats(
    judged: Sequence[Judged],
    policy: Policy,
    leak: LeakDecision | None = None,
    untestable: Mapping[str, str] | None = None,
    row_paired: bool = False,
    void_holdout: bool = False,
) -> dict[str, Threat]:
    """All four threats, always: one that nothing could assess is said to be open.

    ``untestable``: threats these data cannot put to the test, with the reason. They never pass; a warning stays one.
    """
    required = THREATS if policy.require is None else policy.require
    ways_out = ways_out_of(void_holdout)
    threats: dict[str, Threat] = {}
    for name in THREATS:
        members = [j for j in judged if (j.test.threat if j.test is not None else j.measure.threat) == name]
        if row_paired and name in NOT_ASKED_OF_PAIRED and not any(j.ruled for j in members):
            why = NOT_ASKED_OF_PAIRED[name]
            threats[name] = Threat(name, "not_applicable", None, why, (), (), (), required=False)
            continue
        found = None if leak is None else leak.threats.get(name)
        if found is not None and found.status == "pass" and all(t.measure.side == "utility" for t in found.tests):
            found = None  # an alarm that does not ring tells nothing about people
        threats[name] = _threat(name, members, name in required, policy, found, ways_out, (untestable or {}).get(name))
    return threats


def ways_out_of(void_holdout: bool) -> Mapping[str, str]:
    """What to say about a threat that could not be assessed, by the input that was missing or could not be used."""
    return {**WAYS_OUT, "holdout": NO_STRANGERS} if void_holdout else WAYS_OUT


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


def _threat(
    name: str,
    members: list[Judged],
    required: bool,
    policy: Policy,
    leak: ThreatLeak | None,
    ways_out: Mapping[str, str],
    untestable: str | None = None,
) -> Threat:
    # a limit of the policy or of a declaration speaks for itself; the tests speak together, through the leak
    limited = [j for j in members if (j.role == "decides" or j.ruled) and j.status in ("pass", "warn", "fail")]
    open_ = [j for j in members if j.decides and j.status in ("not_assessed", "failed")]
    missing = _reasons(open_)
    blind = None if leak is None else too_little(leak, policy)
    statuses = [j.status for j in limited] + ([] if leak is None or blind else [leak.status])
    seen = [s for s in statuses if s in ("warn", "fail")]
    base = Threat(name, "not_assessed", None, "", (), (), missing, required, leak)
    if untestable is not None and not seen:
        return _open(base, f"Not assessed: {untestable}.", (untestable, *missing))
    if leak is not None and blind and "fail" not in statuses:
        return _open(base, blind_sentence(blind, leak), (blind, *missing))
    if not statuses:
        return _open(base, _not_assessed(members, open_, ways_out), missing)
    status = max(statuses, key=SEVERITY.__getitem__)
    deciding = [j for j in members if j in limited or j.test is not None]
    ordered = sorted(deciding, key=rank, reverse=True)
    by_leak = leak is not None and leak.status == status
    if by_leak and leak is not None:
        speaker = leak.decided_by[0] if leak.decided_by else leak.tests[0].name
        own = "" if status == "pass" else next(j.result.sentence for j in members if j.name == speaker)
        said, decided = f"{leak_sentence(leak)} {own}".rstrip(), leak.decided_by
    else:
        worst = next(j for j in ordered if j in limited and j.status == status)
        speaker, decided = worst.name, (worst.name,)
        said = f"{limit_sentence(worst)} {worst.result.sentence}"
    return Threat(
        name,
        status,
        speaker,
        said,
        tuple(j.name for j in deciding),
        _findings(ordered),
        missing,
        required,
        leak,
        decided if status != "pass" else (),
    )


def blind_sentence(blind: str, leak: ThreatLeak) -> str:
    """A threat that the tests see too little of, in words; a warning is not lost behind that."""
    likely = " What there is makes a leak likely all the same." if leak.status == "warn" else ""
    return f"Not enough data: {blind}.{likely}"


def unseen_sentence(share: float, warned: bool) -> str:
    """A threat whose tests see too little, or have nobody to ask, in the same words."""
    likely = " What there is makes a leak likely all the same." if warned else ""
    return (
        f"Not enough data: the tests had nobody to ask, or would have missed a leak of {percent(share)} of the "
        f"people; a larger holdout (20 to 50 % of the records, set aside before synthesis) can tell.{likely}"
    )


def limit_sentence(j: Judged, tells_figure: bool = True) -> str:
    """A threat that a limit decides, in words: which limit, why it is there, and what it saw."""
    found = j.decided_by
    head = {"fail": "A limit is broken", "warn": "A limit calls for review"}.get(j.status, "Within the limits")
    if found is None or j.status not in ("warn", "fail"):
        return f"{head}."
    seen = f"; found {found.comparison}" if tells_figure and found.comparison else ""
    # the measure's own sentence may go on to say that members fare no worse than strangers: both are true
    of_everybody = j.result.p_value is not None and not found.statistic.startswith(("difference", "p_value"))
    about = " It is a limit on the figure itself, whether or not being in the data adds to it." if of_everybody else ""
    limit = f"{j.name}: {found.limit.why}" if found.limit.why else found.limit.text()
    return f"{head} ({limit}{seen}).{about}"


def _findings(ordered: Sequence[Judged]) -> tuple[str, ...]:
    """Measures that warn or fail; those of one group are functions of the same counts and speak once, through the
    worst."""
    groups: dict[str, str] = {}
    for j in ordered:
        if j.status in ("warn", "fail"):
            groups.setdefault(j.measure.group, j.name)
    return tuple(groups.values())


def _open(threat: Threat, sentence: str, missing: tuple[str, ...]) -> Threat:
    return Threat(threat.name, "not_assessed", None, sentence, (), (), missing, threat.required, threat.leak)


def too_little(leak: ThreatLeak, policy: Policy) -> str | None:
    """Why seeing nothing means nothing here: the tests could not have seen a leak, or not one the policy asks about."""
    if leak.status == "fail":
        return None
    if leak.status == "pass" and not leak.sees(BLIND):
        return (
            f"a leak of {percent(BLIND, 0)} of the people would have been missed; a larger holdout (20 to 50 % of "
            "the records, set aside before synthesis) can tell"
        )
    asked = None if policy.leak is None else policy.leak.must_detect(leak.threat)
    if asked is not None and not leak.sees(asked):
        return (
            f"the policy asks that a leak of {percent(asked)} of the people is seen, and with so few people only a "
            "larger one is; use a larger holdout"
        )
    return None


def _reasons(open_: Sequence[Judged]) -> tuple[str, ...]:
    """Why measures stayed open; a reason that several share is said once, with their names."""
    shared: dict[str, list[str]] = {}
    for j in open_:
        shared.setdefault(j.why_open.removeprefix(j.name).removeprefix(":").strip(), []).append(j.name)
    return tuple(f"{spoken(names)}: {why}" for why, names in shared.items())


def _not_assessed(members: list[Judged], open_: list[Judged], ways_out: Mapping[str, str]) -> str:
    if all(j.measure.side == "utility" for j in members):
        return 'Not assessed: no measure of this threat was among those run; measures="default" has some.'
    lacking = {j.missing for j in open_}
    ways = [text for need, text in ways_out.items() if need in lacking]
    stopped = sum(j.status == "failed" for j in open_)
    if stopped:
        ways.append(f"{stopped} {plural(stopped, 'measure')} failed; the reasons are in the table.")
    if not ways and open_:
        ways.append(" ".join(f"{reason.rstrip('.')}." for reason in _reasons(open_)))
    if not open_:
        ways.append(
            "The policy sets no limit for what was measured."
            if any(j.status in ("pass", "warn", "fail") for j in members)
            else "What was measured has no limit and decides nothing."
        )
    return "Not assessed: " + " ".join(ways)


def overall(threats: Mapping[str, str], required: Sequence[str] = THREATS) -> str:
    """fail > incomplete > warn > pass.

    A threat that was not assessed never passes; a failed one fails, required or not. One that does not apply counts
    nowhere.
    """
    statuses = list(threats.values())
    if "fail" in statuses:
        return "fail"
    if any(threats.get(name, "not_assessed") == "not_assessed" for name in required):
        return "incomplete"
    return "warn" if "warn" in statuses else "pass"
