"""Which figure of a result stands on the map.

Risk is what being in the data adds: members minus people never in the data, as a share of members exposed where the
measure counts people. Only without a holdout is it the measure's own value, which also holds what anybody can infer
about anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from glasshouse.core.intervals import Interval
from glasshouse.core.result import Result

Kind: TypeAlias = Literal["leak", "value"]


class Figure(NamedTuple):
    """A figure and its interval."""

    value: float
    interval: Interval | None

    @property
    def noise(self) -> float:
        """Half the width of the interval; 0 where there is none."""
        return 0.0 if self.interval is None else (self.interval[1] - self.interval[0]) / 2


def leak(result: Result) -> Figure | None:
    """Members minus strangers: people exposed where the measure counts people, else the difference of its figure."""
    if result.status != "ok":
        return None
    if result.exposure is not None:
        return Figure(result.exposure.share, result.exposure.interval)
    if result.difference is not None:
        return Figure(float(result.difference), result.difference_interval)
    if result.value is None or result.holdout is None:
        return None
    turned = -1.0 if result.measure is not None and result.measure.better == "higher" else 1.0
    return Figure(turned * (float(result.value) - result.holdout), None)


def value(result: Result) -> Figure | None:
    """The measure's own figure; the width of its null band stands in for an interval it does not have."""
    if result.value is None:
        return None
    own = float(result.value)
    if result.interval is not None:
        return Figure(own, result.interval)
    null = result.null
    if null is None or null.low is None or null.high is None:
        return Figure(own, None)
    half = (null.high - null.low) / 2
    return Figure(own, (own - half, own + half))


def figure(result: Result, kind: Kind) -> Figure | None:
    """The figure of one kind."""
    return leak(result) if kind == "leak" else value(result)


def kind_of(results: Sequence[Result], side: str, has_holdout: bool) -> Kind:
    """The leak where any release has one, so that all are read alike; utility has only values."""
    return "leak" if side == "disclosure" and has_holdout and any(leak(r) is not None for r in results) else "value"


def single_results(results: Mapping[str, Result], m: int) -> list[dict[str, Result]]:
    """The results of each replicate of one release; a measure that has none of its own stands for all of them."""
    return [{name: r.replicates[i] if len(r.replicates) == m else r for name, r in results.items()} for i in range(m)]


def point(replicates: Sequence[Result], joint: Result, kind: Kind) -> float | None:
    """The figure of a release over its replicates, as the runner gives it: the mean of a utility, the worst of a risk;
    None as soon as one replicate has no value."""
    found = figure(joint, kind)
    if found is None or any(figure(r, kind) is None for r in replicates):
        return None
    return found.value


def spread(replicates: Sequence[Result], kind: Kind) -> Interval | None:
    """Range over replicates; for one release the interval of its figure."""
    known = [f for f in (figure(r, kind) for r in replicates) if f is not None]
    if len(known) > 1:
        return min(f.value for f in known), max(f.value for f in known)
    return known[0].interval if known else None
