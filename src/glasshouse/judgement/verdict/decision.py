"""From results and a policy to everything that is decided: the leak, every result, every threat, every rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from glasshouse.core.calling import gravity
from glasshouse.core.limits import Limit
from glasshouse.core.result import Result
from glasshouse.core.words import THREATS, worst
from glasshouse.data.pair import Pair
from glasshouse.judgement.policy.outcomes import PolicyReport
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.verdict import compat
from glasshouse.judgement.verdict.judged import Judged, judge
from glasshouse.judgement.verdict.leak import LeakDecision, decide, leak_tests
from glasshouse.judgement.verdict.threats import Threat, assess_threats, nothing_to_learn, overall
from glasshouse.utility.family import utility_family


@dataclass(frozen=True)
class Decision:
    """Results under one policy."""

    results: dict[str, Result]
    leak: LeakDecision | None
    judged: tuple[Judged, ...]
    threats: dict[str, Threat]
    outcomes: PolicyReport

    def verdict(self, policy: Policy) -> str:
        """ "pass", "warn", "fail" or "incomplete"."""
        return verdict_of(policy, self.results, self.threats, self.outcomes)


def verdict_of(
    policy: Policy, results: Mapping[str, Result], threats: Mapping[str, Threat], outcomes: PolicyReport
) -> str:
    """The verdict that threats and rules give together under a policy."""
    if policy.verdict_rule == "riskutility":
        return compat.VERDICT[compat.level(list(compat.statuses(results).values()))]
    required = THREATS if policy.require is None else policy.require
    return worst((overall({name: t.status for name, t in threats.items()}, required), outcomes.status))


def decision(pair: Pair, policy: Policy, results: Mapping[str, Result]) -> Decision:
    """Judge results by a policy; nothing is computed again.

    Parameters
    ----------
    pair
        What the results are about.
    policy
        A validated policy.
    results
        By measure.

    Returns
    -------
    Decision
        A pure function of its arguments.
    """
    # a result judged by the policy says so wherever it is printed
    results = {name: result.guarded(policy.min_count) for name, result in _as_a_family(results).items()}
    under = {name: _under(policy.rules_for(name), result) for name, result in results.items()}
    leak = None if policy.leak is None else decide(leak_tests(under.values(), pair.row_paired), policy.leak)
    judged = tuple(judge(result, policy, pair.row_paired, leak) for result in under.values())
    for j in judged:
        if j.role == "evidence":
            under[j.name] = j.result.judged_together(j.status)
    unlearnable = nothing_to_learn(pair)
    untestable = {} if unlearnable is None else {"attribute": unlearnable}
    threats = assess_threats(judged, policy, leak, untestable, pair.row_paired, bool(pair.void_holdout))
    return Decision(under, leak, judged, threats, policy.evaluate(under))


def _as_a_family(results: Mapping[str, Result]) -> Mapping[str, Result]:
    """Losses of utility that stand when all utility measures are read together; each alone may be wrong in 5 % of clean
    releases, and there are many."""
    utility = {name: r for name, r in results.items() if r.measure is not None and r.measure.side == "utility"}
    read = dict(results)
    for name, loss in utility_family(utility).items():
        result = results[name]
        if result.null is None or not result.null.lost or loss.lost:
            continue
        said = (
            f"Among {len(utility)} utility measures one this far out is expected by chance (p = {loss.p:.2g}, read "
            f"together {loss.adjusted:.2g}), so no loss is counted."
        )
        read[name] = result._copy(null=replace(result.null, lost=False), warnings=[*result.warnings, said])
    return read


def _under(rules: Sequence[Limit], result: Result) -> Result:
    """A result judged by the rules of a policy; of several releases the one these rules judge worst."""
    if not rules:
        return result
    judged = result.with_limits(*rules)
    if result.measure is None or result.measure.side != "disclosure":
        return judged
    # a measure that joins its releases itself has multiplied its p value already; a single release's has not been
    many = len(result.replicates) if result.measure.replicates == "own" else 1
    singles = [
        r._copy(p_value=None if r.p_value is None else min(1.0, r.p_value * many)).with_limits(*rules)
        for r in result.replicates
        if r.value is not None
    ]
    gravest = max([judged, *singles], key=gravity)
    if gravest is judged:
        return judged
    sentence = f"Worst of {len(result.replicates)} releases: {gravest.sentence}"
    return gravest._copy(over="worst", replicates=result.replicates, sentence=sentence, warnings=result.warnings)
