"""What being in the data adds: the exchange tests of all measures put together, per threat and over threats.

A release fails when a leak is shown (combined p below the policy's level, or verbatim copies on their own) and is
larger than the policy tolerates; it is warned about when a leak is likely, or shown and tolerable. Where nothing was
seen, the detection limit says how large a leak would have been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from glasshouse.core.evidence import Exposure
from glasshouse.core.intervals import Interval
from glasshouse.core.measure import AnyMeasure
from glasshouse.core.plain import p_value as spoken_p
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.words import SEVERITY, THREATS, plural, worst
from glasshouse.engines.exchange import detection_limit
from glasshouse.judgement.policy.leak import LeakLevels
from glasshouse.judgement.verdict.combination import combined

POWER = 0.8
# Seeing nothing is no evidence where a leak of half of the people would not have been seen; policies ask for more.
BLIND = 0.5
HARDLY = 0.002  # a share of people that no sentence puts a figure to
# a file whose rows are those of the original is a changed copy by design: nobody asks it these
NOT_OF_PAIRED = ("membership", "copying")


@dataclass(frozen=True)
class LeakTest:
    """The exchange test of one measure, as it enters the decision."""

    measure: AnyMeasure
    threat: str
    p: float
    exposure: Exposure | None
    alone: str = ""

    @property
    def name(self) -> str:
        """The measure's name."""
        return self.measure.name

    @property
    def group(self) -> str:
        """Measures of one group are functions of the same counts and speak once."""
        return self.measure.group

    @property
    def plainest(self) -> bool:
        """Whether its group is named after it: of several that see the same, it speaks."""
        return self.measure.title.lower() == self.group


@dataclass(frozen=True)
class ThreatLeak:
    """The leak axis of one threat.

    ``status`` is pass, warn or fail; ``rule`` says in words which rule gave it, ``tolerated`` is the largest leak
    not excluded where one is shown and tolerable, of 1,000. ``effect`` and ``interval`` are members exposed beyond
    strangers, of 1,000; ``detection_limit`` is the smallest share of members whose exposure would have
    been seen with 80 % power, None when even a leak of everybody would not.
    """

    threat: str
    tests: tuple[LeakTest, ...]
    p_value: float
    status: str
    rule: str
    decided_by: tuple[str, ...]
    decided_alone: bool
    shown_by: LeakTest | None
    detection_limit: float | None
    tolerated: float | None = None

    @property
    def finding(self) -> str:
        """The status in words."""
        if self.tolerated is not None:
            return "a leak is shown, and tolerable"
        return {"pass": "no leak was seen", "warn": "a leak is likely", "fail": "a leak is shown"}[self.status]

    @property
    def seen(self) -> Exposure | None:
        """Members exposed beyond strangers."""
        return None if self.shown_by is None else self.shown_by.exposure

    @property
    def effect(self) -> float | None:
        """Members exposed beyond strangers, of 1,000."""
        return None if self.seen is None else 1000 * self.seen.share

    @property
    def interval(self) -> Interval | None:
        """Its confidence interval."""
        return None if self.seen is None else (1000 * self.seen.interval[0], 1000 * self.seen.interval[1])

    def sees(self, share: float) -> bool:
        """Whether no leak of more than this share of the people can have gone unseen: the tests would have seen it,
        or so many cannot be exposed."""
        seen = self.detection_limit is not None and self.detection_limit <= share
        return seen or (self.reach is not None and self.reach < share)

    @property
    def reach(self) -> float | None:
        """Share of people whom at least one of the tests could find exposed; None where none of them counts people."""
        return max((_exposable(t.exposure) for t in _general(self.tests) if t.exposure is not None), default=None)

    def status_of(self, name: str, levels: LeakLevels) -> str:
        """What one test says at these levels, never more than its threat."""
        test = next(t for t in self.tests if t.name == name)
        return _less_grave(_alone(test, levels), self.status)


@dataclass(frozen=True)
class LeakDecision:
    """The leak axis of an assessment: one p value over all threats, and each threat's own."""

    p_value: float | None
    threats: Mapping[str, ThreatLeak]

    @property
    def status(self) -> str:
        """The gravest threat; "no_limit" when nothing was tested."""
        return worst(t.status for t in self.threats.values())


def _exposable(seen: Exposure) -> float:
    """Share of people who are not exposed as things are, and would be if their record were published."""
    return seen.reach * (1.0 - seen.strangers)


def leak_tests(results: Iterable[Result], row_paired: bool = False) -> list[LeakTest]:
    """The exchange tests among the results, and the alarms of utility measures that only a copy sets off.

    A row-paired release is a changed copy by design, so copying and membership are not asked. Of several releases the
    worst was taken, so its p value is multiplied by how many there were to choose from.
    """
    tests = []
    for result in results:
        measure = result.measure
        if measure is None or result.status != "ok":
            continue
        if measure.side == "disclosure" and measure.threat is not None and result.p_value is not None:
            # a measure that sees all releases at once has paid for the choice itself
            several = len(result.replicates) if measure.replicates == "each" else 1
            looks = max(several, 1) + (measure.joins and several > 1)
            p = min(1.0, looks * result.p_value)
            tests.append(LeakTest(measure, measure.threat, p, result.exposure, measure.alone))
        elif measure.alarm and result.null is not None and result.null.p_copied is not None:
            tests.append(LeakTest(measure, "copying", result.null.p_copied, None, "warn"))
    return [t for t in tests if not (row_paired and t.threat in NOT_OF_PAIRED)]


def decide(tests: Sequence[LeakTest], levels: LeakLevels) -> LeakDecision:
    """Combine the tests inside their groups, the groups inside their threats, and the threats.

    A threat is never graver than the threats together make it, and a test never graver than its threat, so that nothing
    on the page contradicts the verdict. Tests that decide alone are the exception: they lift their threat.
    """
    by_threat: dict[str, list[LeakTest]] = {name: [t for t in tests if t.threat == name] for name in THREATS}
    p_values = {name: _together(members) for name, members in by_threat.items() if members}
    overall = combined(p_values.values())
    if overall is None:
        return LeakDecision(None, {})
    together = _level(overall, levels.warn, levels.fail)
    threats = {
        name: _threat(name, by_threat[name], p, together, overall, levels, len(p_values))
        for name, p in p_values.items()
    }
    return LeakDecision(overall, threats)


def _general(tests: Sequence[LeakTest]) -> Sequence[LeakTest]:
    """Tests whose power speaks for their threat; those of one particular kind of leak only where they are alone."""
    found = [t for t in tests if t.exposure is not None and not t.exposure.particular]
    return found or tests


def _groups(tests: Sequence[LeakTest]) -> dict[str, list[LeakTest]]:
    groups: dict[str, list[LeakTest]] = {}
    for test in tests:
        groups.setdefault(test.group, []).append(test)
    return groups


def _together(tests: Sequence[LeakTest]) -> float:
    """One p value for the tests of a threat; measures of one group count once."""
    return combined(combined(t.p for t in group) or 1.0 for group in _groups(tests).values()) or 1.0


def _level(p: float, warn: float, fail: float) -> str:
    return "fail" if p < fail else "warn" if p < warn else "pass"


def _alone(test: LeakTest, levels: LeakLevels) -> str:
    """What a test says by itself."""
    return _level(test.p, _own_level(test, levels), levels.fail)


def _own_level(test: LeakTest, levels: LeakLevels) -> float:
    """The level at which a test warns by itself: there are several tests for few copies, so each has a smaller one."""
    return levels.copy_warn if test.alone == "warn" else levels.warn


def _less_grave(one: str, other: str) -> str:
    return min(one, other, key=SEVERITY.__getitem__)


def _threat(
    name: str,
    tests: Sequence[LeakTest],
    p: float,
    together: str,
    overall: float,
    levels: LeakLevels,
    threats: int,
) -> ThreatLeak:
    ordered = _spoken_for(tests, levels)
    status = _less_grave(_level(p, levels.warn, levels.fail), together)
    single = next((t for t in ordered if _fires_alone(t, levels, "fail")), None)
    if single is None and status == "pass":
        single = next((t for t in ordered if _fires_alone(t, levels, "warn")), None)
        alone = "pass" if single is None else "warn"
    else:
        alone = "pass" if single is None else "fail"
    limit = limit_of_tests(tests, levels, threats)
    count = f"{len(tests)} {plural(len(tests), 'test')}"
    if single is not None:
        level = levels.fail if alone == "fail" else _own_level(single, levels)
        by_itself = f"{single.measure.title} alone: {spoken_p(single.p)}, below {level:g}"
        decided = (single.name, *(t.name for t in ordered if t is not single and t.p < level))
        return ThreatLeak(name, tuple(ordered), p, alone, by_itself, decided, True, _effect(ordered, decided), limit)
    if status == "pass":
        joint = f"; all threats together {spoken_p(overall)}" if p < levels.warn else ""
        not_seen = f"{spoken_p(p)} over {count}{joint}, not below {levels.warn:g}"
        return ThreatLeak(name, tuple(ordered), p, status, not_seen, (), False, _effect(ordered, ()), limit)
    beyond = levels.fail if status == "fail" else levels.warn
    # what one threat alone would fail for may be chance among several
    joint = f"; all threats together {spoken_p(overall)}" if status == "warn" and p < levels.fail else ""
    shown = f"{spoken_p(p)} over {count}, below {beyond:g}{joint}"
    decided = tuple(t.name for t in ordered if t.p < beyond)
    shown_by = _effect(ordered, decided)
    sizes = [1000 * t.exposure.interval[1] for t in ordered if t.name in decided and t.exposure is not None]
    if status == "fail" and sizes:
        most = max(sizes)
        if most <= levels.tolerance:
            return ThreatLeak(name, tuple(ordered), p, "warn", shown, decided, False, shown_by, limit, most)
    return ThreatLeak(name, tuple(ordered), p, status, shown, decided, False, shown_by, limit)


def _spoken_for(tests: Sequence[LeakTest], levels: LeakLevels) -> list[LeakTest]:
    """Tests in the order in which they speak for a threat: those made for copies first, so that the finding is named by
    what it is; of one group the test it is named after, which is the plainest; then the smallest p value."""
    groups = {name: min(t.p for t in group) for name, group in _groups(tests).items()}

    def order(test: LeakTest) -> tuple[bool, bool, float, bool, float, str]:
        unseen = _level(test.p, levels.warn, levels.fail) == "pass"
        return unseen, not test.alone, groups[test.group], not test.plainest, test.p, test.name

    return sorted(tests, key=order)


def _fires_alone(test: LeakTest, levels: LeakLevels, status: str) -> bool:
    if status == "fail":
        return test.alone == "fail" and test.p < levels.fail
    return bool(test.alone) and test.p < _own_level(test, levels)


def _effect(tests: Sequence[LeakTest], decided: Sequence[str]) -> LeakTest | None:
    """The test whose figure is told: the first that decided and counts people; where none did, the first that does.

    The largest of several would exaggerate, and would not be the one the sentence speaks of.
    """
    seen = [t for t in tests if t.exposure is not None]
    return next((t for name in decided for t in seen if t.name == name), seen[0] if seen else None)


def limit_of_tests(tests: Sequence[LeakTest], levels: LeakLevels, threats: int) -> float | None:
    """The smallest leak that at least one test would have seen at the level that counts for it.

    A single small p value p enters the combination as p divided by its weight, so its level is the weight times that
    of the policy; tests that decide alone have a level of their own.
    """
    groups = _groups(tests)
    general = _general(tests)
    limits = []
    for group in groups.values():
        level = levels.warn / (threats * len(groups) * len(group))
        for test in group:
            if test.exposure is not None and test in general:
                own = max(level, _own_level(test, levels)) if test.alone else level
                limits.append(detection_limit(test.exposure, own, POWER))
    return min((limit for limit in limits if limit is not None), default=None)


def _unseen(found: ThreatLeak, size: Callable[[float], float], tells_reach: bool) -> str:
    """How large a leak would have been seen; where the tests reach few people, how many could be exposed at all."""
    limit, reach = found.detection_limit, found.reach
    if limit is not None and limit <= BLIND:
        about = percent(size(limit))
        return f"Of the kinds these tests look for, one that exposes {about} of the people would have been seen."
    if not tells_reach:
        return "Too few people can be exposed in the ways these tests look for, or too few were asked, to be seen."
    if reach is None or reach > BLIND:
        return ""
    if reach < HARDLY:
        return (
            "Hardly anybody here can be told from others: a copied record exposes nobody in particular, and would not "
            "be seen."
        )
    most = percent(size(reach))
    return f"At most {most} of the people can be exposed in the ways these tests look for; that could have gone unseen."


def sentence(
    found: ThreatLeak,
    tells_effect: bool = True,
    size: Callable[[float], float] = float,
    tells_reach: bool = True,
) -> str:
    """The leak of one threat in words: the rule that fired, how many people, or what would have been seen.

    ``tells_effect``, ``size`` and ``tells_reach`` are what the reader may know of a leak's size, a detection limit, and
    of how many people can be exposed.
    """
    text = f"{found.finding[0].upper()}{found.finding[1:]} ({found.rule})."
    if found.status == "pass":
        return f"{text} {_unseen(found, size, tells_reach)}".rstrip()
    if tells_effect and found.seen is not None and found.interval is not None and found.seen.share > 0:
        low, high = (max(round(end), 0) for end in found.interval)
        about = max(round(found.seen.people), 1)
        by = "" if found.shown_by is None else f" by {found.shown_by.measure.title}"
        text += (
            f" About {about:,} {plural(about, 'person', 'people')} more than expected{by} "
            f"({round(found.effect or 0):,} of 1,000, {low:,} to {high:,})."
        )
    if tells_effect and found.tolerated is not None:
        most = f"{found.tolerated:.2g}" if found.tolerated < 10 else f"{found.tolerated:,.0f}"
        text += f" That is at most {most} of 1,000, which the policy tolerates."
    return text
