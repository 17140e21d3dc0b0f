"""The verdict in one sentence: what decided, how large a leak would have been seen, what was not asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from glasshouse.core.plain import percent
from glasshouse.core.words import SEVERITY, plural, spoken
from glasshouse.judgement.selection import left_out
from glasshouse.judgement.verdict.leak import BLIND
from glasshouse.judgement.verdict.threats import Threat

if TYPE_CHECKING:
    from glasshouse.judgement.verdict.assessment import Assessment

HEADLINES = {
    "pass": "No leak was seen, and every threat the policy requires was assessed.",
    "warn": "Review before release:",
    "fail": "Do not release:",
    "incomplete": "No verdict: not every threat could be assessed, and what was not assessed does not count as safe.",
}
# without people never in the data nothing is tested; only limits are kept
KEPT = "Every limit is kept, and every threat the policy requires was assessed."


def headline(found: Assessment, size: Callable[[float], float] = float, inside: bool = True) -> str:
    """The verdict in plain words, with what decided it; ``size`` tells a detection limit. Which tests stopped is said
    inside: a single odd value may stop one."""
    tested = found.leak is not None and found.leak.threats
    text = HEADLINES[found.verdict] if tested or found.verdict != "pass" else KEPT
    if found.verdict in ("warn", "fail"):
        text += f" {_why(found)}"
    if found.verdict == "pass":
        text += _would_have_been_seen([t for t in found.threats.values() if t.status == "pass"], size)
    stopped = [j.name for j in found.judged if j.decides and j.status == "failed"]
    if inside and stopped and found.verdict in ("pass", "warn"):
        text += f" {len(stopped)} {plural(len(stopped), 'test')} could not be run: {spoken(stopped)}."
    if found.verdict == "incomplete" and found.at_least:
        statuses = [*(t.status for t in found.threats.values()), *(o.status for o in found.outcomes.outcomes)]
        likely = " What there is makes a leak likely all the same."
        text += " What was assessed already calls for review." if "warn" in statuses else likely
    apart = [t for t in found.threats.values() if t.status == "not_applicable"]
    if apart:
        text += f" {spoken(t.name for t in apart).capitalize()} {plural(len(apart), 'does', 'do')} not apply."
    waived = [t.name for t in found.threats.values() if t.status == "not_assessed" and not t.required]
    if waived:
        text += f" The policy does not ask about {spoken(waived)}; this was not assessed."
    left = left_out(found.measures, [j.measure for j in found.judged])
    if left and found.verdict != "fail":
        text += f" Only the {found.measures} measures were run: what {spoken(left)} would see is open."
    return text


def _would_have_been_seen(threats: Sequence[Threat], size: Callable[[float], float]) -> str:
    """The largest of the detection limits, and the threats by which hardly anybody can be exposed."""
    limits = [t.detection_limit for t in threats if t.detection_limit is not None and t.detection_limit <= BLIND]
    few = [t.name for t in threats if t.leak is not None and (t.detection_limit is None or t.detection_limit > BLIND)]
    text = (
        f" Of the kinds tested, a leak of {percent(size(max(limits)))} of the people would have been seen."
        if limits
        else ""
    )
    return text + (f" For {spoken(few)}, too few people can be exposed to be seen." if few else "")


def _why(found: Assessment) -> str:
    """What decided: the rule that fired, of the gravest threat or of the policy."""
    if found.policy.verdict_rule == "riskutility":
        return "by the rule of riskutility 0.1.0."
    leading = found.leading
    if leading.status == found.verdict and leading.leak is not None and leading.by_leak:
        return f"{leading.leak.finding} ({leading.name}: {leading.leak.rule})."
    if leading.status == found.verdict:
        return f"{leading.name}, by the limit on {spoken(leading.decided_by)}."
    rule = next(o for o in found.outcomes.outcomes if o.status == found.verdict)
    return f"by the policy's limit on {rule.limit.measure}."


def ranked(threats: Iterable[Threat]) -> list[Threat]:
    """Threats, the deciding one first: the gravest, then what decides alone, then the smallest p value."""

    def rank(threat: Threat) -> tuple[int, bool, float]:
        open_ = threat.status == "not_assessed" and not threat.required
        severity = -1 if open_ else SEVERITY[threat.status]
        alone = threat.leak is not None and threat.leak.decided_alone and threat.status == "fail"
        # what decides alone keeps the order of the threats: a name or number published comes before all else
        p = 1.0 if threat.p_value is None or alone else threat.p_value
        return severity, alone, -p

    return sorted(threats, key=rank, reverse=True)
