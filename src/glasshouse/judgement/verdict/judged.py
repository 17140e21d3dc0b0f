"""One result under one policy: what its limits or its exchange test say, and which part it plays in the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glasshouse.core.limits import Limit, Outcome, deciding, status_of
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.plain import p_value as spoken_p
from glasshouse.core.result import Result
from glasshouse.core.words import SEVERITY, worst
from glasshouse.judgement.policy.leak import LeakLevels
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.verdict.leak import NOT_OF_PAIRED, LeakDecision, LeakTest


@dataclass(frozen=True)
class Judged:
    """One result under one policy: its status, what is behind it, and whether it takes part in the verdict.

    ``role`` is "evidence" (its exchange test enters the leak of its threat), "decides" (a limit of the policy or of its
    declaration), "informs" (nothing counts), "structure" (describes the released file alone) or "utility".
    """

    result: Result
    measure: AnyMeasure
    status: str
    role: str
    outcomes: tuple[Outcome, ...] = ()
    test: LeakTest | None = None
    levels: LeakLevels | None = None

    @property
    def name(self) -> str:
        """The measure's name."""
        return self.measure.name

    @property
    def decides(self) -> bool:
        """Whether the result takes part in the verdict."""
        if self.role == "utility":
            return self.test is not None or any(o.limit.measure for o in self.outcomes)
        return self.role in ("evidence", "decides")

    @property
    def ruled(self) -> bool:
        """Whether a rule of the policy speaks of it."""
        return any(o.limit.measure for o in self.outcomes)

    @property
    def decided_by(self) -> Outcome | None:
        """The limit that gave the status; None where the exchange test did."""
        found = deciding(self.outcomes)
        return found if found is not None and (self.test is None or found.status == self.status) else None

    @property
    def limits(self) -> str:
        """What decides about it, as a phrase."""
        if self.test is not None and self.levels is not None and not self.ruled:
            return levels_of_test(self.levels, self.test.alone)
        found = self.decided_by
        limits = [o.limit for o in self.outcomes] if found is None else [found.limit]
        return "; ".join(limit.text() for limit in limits or self.result.limits)

    @property
    def comparison(self) -> str:
        """What the test or the deciding limit saw, in words."""
        if self.test is not None and not self.ruled:
            return spoken_p(self.test.p)
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


def levels_of_test(levels: LeakLevels, alone: str) -> str:
    """What decides about an exchange test, as a phrase; ``alone`` is what it decides without the others."""
    together = f"p >= {levels.warn:g} (warn), {levels.fail:g} (fail)"
    if alone == "warn":
        return f"p >= {levels.copy_warn:g} alone (warn); together with the other tests {together}"
    return together if alone else f"{together}, together with the other tests"


def _wants_strangers(outcome: Outcome) -> bool:
    """Whether a limit stayed open for want of people never in the data."""
    return wants_strangers(outcome.limit, outcome.statistic)


def wants_strangers(limit: Limit, statistic: str | None = None) -> bool:
    """Whether a limit looks at people never in the data; ``statistic`` where it looked at another than its own."""
    looked = str(statistic or limit.statistic)
    tests = limit.evidence is not None and limit.evidence.p is not None
    return looked.startswith("difference") or looked == "p_value" or not limit.passes or tests


def judge(result: Result, policy: Policy, row_paired: bool, leak: LeakDecision | None = None) -> Judged:
    """Status of a result under a policy.

    Rules come first; then the exchange test, where the policy judges leaks; then the limits the measure declares, if
    the policy lets them count.
    """
    measure = result.measure
    if measure is None:
        raise ValueError("a result is judged after its measure made it")
    ruled = tuple(rule.judge(result) for rule in policy.rules_for(result.name))
    threat = None if leak is None else next((t for t in leak.threats.values() if _tests(t.tests, measure)), None)
    test = None if threat is None else next(t for t in threat.tests if t.measure is measure)
    if measure.side == "utility":
        outcomes = ruled or result.outcomes
        return Judged(result, measure, _status(result, outcomes, bool(ruled)), "utility", outcomes, test, policy.leak)
    if threat is not None and policy.leak is not None:
        status = worst((threat.status_of(measure.name, policy.leak), *(o.status for o in ruled)))
        return Judged(result, measure, status, "evidence", ruled, test, policy.leak)
    outcomes = ruled or result.outcomes
    status = _status(result, outcomes, bool(ruled))
    if ruled:
        role = "decides"
    elif measure.table == "single" and not row_paired:
        role = "structure"
    else:
        asked = not (row_paired and measure.threat in NOT_OF_PAIRED)
        counts = asked and policy.others == "declared" and measure.threat is not None and status != "no_limit"
        role = "decides" if counts and (result.status == "ok" or result.limits) else "informs"
    return Judged(result, measure, status, role, outcomes)


def _tests(tests: Sequence[LeakTest], measure: AnyMeasure) -> bool:
    return any(test.measure is measure for test in tests)


def _status(result: Result, outcomes: Sequence[Outcome], ruled: bool) -> str:
    """The gravest outcome. A declared limit without a figure leaves nothing to judge; a policy's, or one that waits for
    people never in the data, leaves it open."""
    if result.status != "ok":
        return "failed" if result.status == "failed" else "not_assessed"
    limited = [o for o in outcomes if o.limit.warn is not None or o.limit.fail is not None]
    status = status_of(limited)
    waits = ruled or any(_wants_strangers(o) for o in limited if o.status == "not_assessed")
    return "no_limit" if status == "not_assessed" and not waits else status


def rank(j: Judged) -> tuple[int, bool, float, float, str]:
    """Order of judged measures: severity, then what decides alone, then the smallest p value, then the size of the
    figure."""
    excess = j.result.excess
    share = j.measure.better == "lower" and j.measure.range == (0, 1)
    figure = excess if excess is not None else float(j.result.value or 0) if share else 0.0
    p = 1.0 if j.test is None else j.test.p
    return SEVERITY[j.status], j.measure.alone == "fail" and j.status == "fail", -p, figure, j.name
