"""A result as it is told outside: typed figures through the gate, and sentences of our own around them.

What a measure says in its own words, its details, warnings, records and replicates stay in the house: they may name a
person's value or count a few people, and no search of a text finds every way of doing so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isclose
from typing import TYPE_CHECKING

from glasshouse.core.evidence import Exposure
from glasshouse.core.intervals import Interval
from glasshouse.core.outside import NOTHING, Gate, Told, digits, size, told_options
from glasshouse.core.plain import Content, number, percent
from glasshouse.core.words import NEEDS, Verdict

if TYPE_CHECKING:
    from glasshouse.core.measure import Influence
    from glasshouse.core.result import Result

COUNTED = ("records", "values")  # units of figures that are counts
SAID_INSIDE = "the internal report says more"
GIVEN = tuple(need for need in NEEDS if need not in ("numeric", "categorical"))  # inputs that a caller names
HIDDEN = "not_told"  # the status of a result whose figure is not told
WHY_UNTOLD = "one person could move it far, or too few people may stand behind it"


@dataclass(frozen=True)
class ToldResult:
    """The figures of one result as an external reader sees them."""

    result: Result
    value: Told
    baseline: Told
    holdout: Told
    excess: float | None
    interval: Interval | None
    difference: float | None
    difference_interval: Interval | None
    exposure: Exposure | None
    utility: float | None
    few: bool = False  # a figure of utility that too few people may stand behind

    @property
    def write(self) -> Callable[[float], str]:
        """How a figure of this measure is written."""
        return writer(self.result)

    @property
    def reason(self) -> str | None:
        """Why there is no figure: the input that was missing, or that the internal report says it."""
        result = self.result
        need = given_need(result)
        if need is not None:
            return f"{result.name} {NEEDS[need]}"
        if self.status == HIDDEN:
            return f"{result.name} is not told: {WHY_UNTOLD}; {SAID_INSIDE}"
        return None

    @property
    def status(self) -> str:
        """Whether there is a figure. One that does not apply, stopped or has too few people behind it is not told, and
        which of these it is neither: that nobody can be asked about, or one person, would tell them apart."""
        result = self.result
        if given_need(result) is not None:
            return result.status
        return HIDDEN if self.nothing else "ok"

    @property
    def nothing(self) -> bool:
        """Whether no figure is told."""
        return self.result.status != "ok" or self.value is NOTHING

    @property
    def judgement(self) -> Verdict | None:
        """What the limits say, where that may be told. Of the original alone it may not: the limits of a smallest class
        are counts of people, and so is which of them is broken. Neither may that of a single test be, nor whether there
        was a figure to judge; and of utility with few people behind it one of them decides alone."""
        result = self.result
        untold = self.few or (self.nothing and result.verdict == "pass")
        return None if of_original(result) or untold or result.p_value is not None else result.verdict

    @property
    def sentence(self) -> str:
        """What the measure counts and what it found, around told figures only."""
        if self.status not in ("ok", HIDDEN):
            return "Not assessed."
        summary = "" if self.result.measure is None else self.result.measure.summary.rstrip(".")
        if self.nothing:
            return f"{summary}. The figure is not told: {WHY_UNTOLD}."
        beside = [
            f" {label}: {told.text(self.write)}."
            for label, told in (("Without the release", self.baseline), ("People never in the data", self.holdout))
            if told is not NOTHING
        ]
        found = "" if summary.endswith("?") else ":"
        return f"{summary}{found} {self.value.text(self.write)}.{''.join(beside)}"

    @property
    def options(self) -> Content:
        """The options it ran with, as they are told."""
        measure = self.result.measure
        return {} if measure is None else told_options(self.result.settings.get("options", {}), measure)

    def to_dict(self) -> Content:
        """The told figures as plain data, under the names the content of a report has for them."""
        seen = self.exposure
        return {
            "value": self.value.value,
            "shown": self.value.shown if self.status in ("ok", HIDDEN) else None,
            "baseline": self.baseline.value,
            "baseline_shown": None if self.baseline is NOTHING else self.baseline.shown,
            "excess": self.excess,
            "holdout": self.holdout.value,
            "holdout_shown": None if self.holdout is NOTHING else self.holdout.shown,
            "interval": None if self.interval is None else list(self.interval),
            "difference": self.difference,
            "difference_interval": None if self.difference_interval is None else list(self.difference_interval),
            "p_value": None,
            "exposure": None
            if seen is None
            else {
                "share": seen.share,
                "interval": list(seen.interval),
                "strangers": seen.strangers,
                "people": digits(seen.people),
            },
            "utility": self.utility,
            "columns": {},  # which columns a measure looks at follows their kinds, and those a single odd value
            "sentence": self.sentence,
            "reason": self.reason,
        }


def writer(result: Result) -> Callable[[float], str]:
    """How figures of a result are written: a share of people as a percentage, anything else as a number."""
    share = result.measure is not None and result.measure.is_share
    return percent if share else number


def tell(result: Result, gate: Gate) -> ToldResult:
    """A result through the gate.

    Parameters
    ----------
    result
        Of any measure.
    gate
        What the policy lets out.

    Returns
    -------
    ToldResult
        Figures that no count below the threshold can be made of.
    """
    n, strangers = people_behind(result, gate) if result.status == "ok" else (None, None)
    beside = None if n is None else min(n, n if strangers is None else strangers)
    value = figure(result, result.value, n, gate)
    baseline = _baseline(result, value, beside, gate)
    holdout = figure(result, result.holdout, beside, gate)
    low, high = (None, None) if result.measure is None else result.measure.range
    free = influence(result) == "free"
    exposure = None if free or n is None else told_exposure(result, gate)
    difference = _difference(result, value, holdout, exposure)
    return ToldResult(
        result,
        value,
        baseline,
        holdout,
        _excess(result, value, baseline),
        gate.interval(value.value, result.interval, low, high),
        difference,
        gate.interval(difference, result.difference_interval, -1.0, 1.0),
        exposure,
        None if _without_end(result) else gate.bounded(result.utility, n, influence=influence(result)).near,
        result.measure is not None and result.measure.side == "utility" and not gate.tells(n),
    )


def people_behind(result: Result, gate: Gate) -> tuple[float | None, float | None]:
    """How many people a step of a result's figures follows, and of those about people never in the data."""
    return _settled(result, result.of, "original", gate), _settled(result, result.of_holdout, "holdout", gate)


def _settled(result: Result, n: float | None, table: str, gate: Gate) -> float | None:
    pair, single = result._source, result.measure is not None and result.measure.table == "single"
    if n is None or pair is None or single or not (table == "original" or pair.has_holdout):
        return n
    return gate.settled(n, pair.people(table))


def figure(result: Result, value: float | None, n: float | None, gate: Gate) -> Told:
    """One figure on the scale of a measure, with ``n`` people behind it."""
    measure = result.measure
    if measure is None or value is None or n is None:
        return NOTHING
    if measure.unit in COUNTED:
        return NOTHING if measure.influence == "free" else gate.count(value)
    low, high = measure.range
    if low is None or high is None:
        return gate.unbounded(value, n, measure.influence)
    return gate.bounded(value, n, low, high, writer(result), measure.influence, measure.chance)


def _baseline(result: Result, value: Told, n: float | None, gate: Gate) -> Told:
    """What is reached without the release; one that the measure declares is nobody's, and told as it is."""
    constant = None if result.measure is None else result.measure.chance
    if constant is None:
        return figure(result, result.baseline, n, gate)
    return NOTHING if value is NOTHING or result.baseline is None else Told(constant, None, constant)


def of_original(result: Result) -> bool:
    """Whether a result is about a confidential table alone, so that a single person in it may be all it speaks of."""
    single = result.measure is not None and result.measure.table == "single"
    return single and result.settings.get("options", {}).get("table", "") != "released"


def given_need(result: Result) -> str | None:
    """The input whose lack left a result open, where whoever called gives or keeps it: whether a column is numeric
    follows the values."""
    return result.needs if result.status != "ok" and result.needs in GIVEN else None


def influence(result: Result) -> Influence:
    """How far one person moves the figure of a result."""
    return "free" if result.measure is None else result.measure.influence


def _without_end(result: Result) -> bool:
    """Whether the figure has no range and one person moves it further than by a share; nothing made of it is told."""
    return result.measure is not None and None in result.measure.range and result.measure.influence != "share"


def fewest_asked(seen: Exposure, result: Result, gate: Gate) -> float:
    """The fewest people behind members and strangers exposed, or whom the figure is worth where some count for more."""
    return min(n for n in (*people_asked(seen, result, gate), *people_behind(result, gate)) if n is not None)


def people_asked(seen: Exposure, result: Result, gate: Gate) -> tuple[float, float]:
    """Members and strangers who were asked about, as far as a told number follows them."""
    members = _settled(result, float(seen.members), "original", gate)
    return members or 0.0, _settled(result, float(seen.controls), "holdout", gate) or 0.0


def told_exposure(result: Result, gate: Gate) -> Exposure | None:
    """Members exposed beyond strangers, of shares rounded to the coarser of their grids; None where few members are
    exposed at all."""
    seen = result.exposure
    if seen is None:
        return None
    members, strangers = _exposed(seen, gate, fewest_asked(seen, result, gate), influence(result))
    if members.near is None or strangers.near is None or members.near == 0:
        return None
    share = digits(members.near - strangers.near, 6)
    ends = gate.interval(share, seen.interval, -1.0, 1.0)
    people, controls = people_asked(seen, result, gate)
    return replace(
        seen,
        share=share,
        interval=(share, share) if ends is None else ends,
        strangers=strangers.near,
        members=size(people),
        controls=size(controls),
    )


def _exposed(seen: Exposure, gate: Gate, n: float, moved: Influence) -> tuple[Told, Told]:
    """The shares of members and of strangers exposed."""
    members = min(max(seen.share + seen.strangers, 0.0), 1.0)
    return gate.bounded(members, n, influence=moved), gate.bounded(seen.strangers, n, influence=moved)


def leak(result: Result, gate: Gate) -> Told:
    """Members minus strangers as a place on a map needs it: where few members are exposed, that it is less than a
    step, and what it is near to."""
    if result.status != "ok" or result.of is None or influence(result) == "free":
        return NOTHING
    if result.exposure is not None:
        n = fewest_asked(result.exposure, result, gate)
        members, strangers = _exposed(result.exposure, gate, n, influence(result))
    else:
        behind = people_behind(result, gate)
        n = min(n for n in behind if n is not None)
        members, strangers = figure(result, result.value, behind[0], gate), figure(result, result.holdout, n, gate)
    if members.near is None or strangers.near is None:
        return NOTHING
    told = digits(members.near - strangers.near, 6)
    if members.edge is None:
        return Told(told, None, told)
    return Told(None, members.shown, told, digits(members.edge - strangers.near, 6))


def _difference(result: Result, value: Told, holdout: Told, exposure: Exposure | None) -> float | None:
    """Members minus strangers, made of what is told of them."""
    if result.difference is None:
        return None
    # which figure is told follows from what the measure has, never from the numbers: a rule that looked at them would
    # tell nobody from one person
    if result.exposure is not None:
        return None if exposure is None else exposure.share
    if result.holdout is None or value.value is None or holdout.near is None:
        return None
    return digits(value.value - holdout.near, 6)


def _excess(result: Result, value: Told, baseline: Told) -> float | None:
    """The excess of the told figures; None where the measure means another one."""
    if result.excess is None or result.value is None or result.baseline is None or result.baseline >= 1:
        return None
    own = isclose(result.excess, (result.value - result.baseline) / (1 - result.baseline), abs_tol=1e-9)
    if not own or value.value is None or baseline.near is None or baseline.near >= 1:
        return None
    return digits((value.value - baseline.near) / (1 - baseline.near))
