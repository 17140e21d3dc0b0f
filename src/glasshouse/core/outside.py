"""How a figure is shown outside the house: each kind of figure knows its own form, and nothing else leaves.

One grid per figure. Its step is the smallest of 1, 2, 5 times a power of ten that is at least t / n and at least half a
percent, where n is the number of people behind the figure, rounded as a report tells it (a step of the exact number
would tell that number), and t the threshold of the policy. A figure within one step of an end of its range is told as a
bound, so that nobody, one person and t - 1 people look alike, and so do everybody
and all but a few: whatever is divided or subtracted, no count below t comes out, however many figures there are.
A figure that a few people can move further than their share has steps of at least the root of t / n. Figures without a
range are told with two significant digits. What one person's value can move as far as the value goes, or as far as
released records resemble that person, is not told (:attr:`Measure.influence`). Counts are told in multiples of t, p
values of threats as the level of the policy they lie below, those of single measures not at all. Where there may be
fewer than 2 t people, or nobody knows how many there are, nothing is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, copysign, floor, isfinite, log10, sqrt
from typing import TYPE_CHECKING, Any

from glasshouse.core.errors import InputError
from glasshouse.core.plain import percent

if TYPE_CHECKING:
    from glasshouse.core.measure import Influence, Measure

AUDIENCES = ("internal", "external")
THRESHOLD = 5  # counts below it are not told, where no policy says otherwise
LEAST_THRESHOLD = 3  # with 2, "<2" would be one person
FINEST = 0.005
MISSING = 0.1  # share of a table without a value up to which steps are those of the table
UNTOLD = "not told"
WITHHELD = "given, not shown"
_FUZZ = 1e-9  # 3 * 0.02 is a little more than 0.06


def check_audience(audience: str) -> None:
    """Refuse an audience that does not exist."""
    if audience not in AUDIENCES:
        raise InputError(f"audience={audience!r} is not known; it is 'internal' or 'external'")


@dataclass(frozen=True)
class Told:
    """A figure as it is told.

    Parameters
    ----------
    value
        The number, rounded; None where only a bound is told, or nothing.
    shown
        What is written in its place; None where the number itself is.
    near
        The number other figures may be made of: the rounded one, or the end of the range a bound speaks of. None where
        nothing is told.
    edge
        The number a bound names; None where the figure itself is told, or nothing.
    """

    value: float | int | None = None
    shown: str | None = UNTOLD
    near: float | None = None
    edge: float | None = None

    def text(self, write: Callable[[float], str]) -> str:
        """The figure as a reader sees it."""
        return self.shown if self.shown is not None else "–" if self.value is None else write(float(self.value))


NOTHING = Told()


def _decades(value: float) -> list[float]:
    power = floor(log10(value))
    return [float(f"{lead}e{power + more}") for more in (0, 1) for lead in (1, 2, 5)]


def raised(value: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below ``value``; 0 for 0."""
    return 0.0 if value <= 0 else next(step for step in _decades(value) if step >= value * (1 - _FUZZ))


def digits(value: float, significant: int = 2) -> float:
    """A number with a few significant digits."""
    return float(f"{value:.{significant}g}")


def size(count: float) -> int:
    """The number of records of a confidential table: two significant digits, and tens below a hundred. A number of
    people more than expected may be negative, and stays so."""
    if count < 0:
        return -size(-count)
    return int(digits(count)) if count >= 100 or not count else max(10, 10 * round(count / 10))


def fewest(told: int) -> float:
    """The smallest number that :func:`size` tells as ``told``."""
    return told - max(5.0, 10 ** floor(log10(told - 1)) / 20) if told > 10 else min(told, 1)


@dataclass(frozen=True)
class Gate:
    """What may leave under one policy.

    Parameters
    ----------
    threshold
        Counts below it are not told.
    """

    threshold: int = THRESHOLD

    # -- figures of people ---------------------------------------------------------------------------------------------

    def step(self, n: float | None, influence: Influence = "share") -> float | None:
        """The step of the grid for a figure with ``n`` people behind it; None where nothing may be told.

        A figure that is not linear in the people (a distance of square roots, an interval that shrinks with the root of
        n) moves by up to the root of k / n with k of them, and so has a wider grid. The step follows the number as it
        is told, and with the fewest values that a table told so may have, one person less than the threshold is less
        than a step.
        """
        if n is None or not isfinite(n) or influence == "free" or fewest(size(n)) < 2 * self.threshold:
            return None
        valued = fewest(size(n)) - self._few(fewest(size(n)))
        few = (self.threshold - 1) / valued * (1 + 1e-6)  # a step is more than that
        part = max(self.threshold / size(n), few)
        return raised(max(part if influence == "share" else sqrt(part), FINEST))

    def settled(self, n: float, whole: float) -> float:
        """The number of people a step follows: that of the whole table, unless many of them have no value. A table of
        126 people has steps of 5 in 130, one of 125 those of 5 in 120; whoever leaves a question open must not show."""
        return whole if whole - n <= self._few(whole) else n

    def _few(self, people: float) -> float:
        """So many people without a value change no step."""
        return max(self.threshold - 1, MISSING * people)

    def bounded(
        self,
        value: float | None,
        n: float | None,
        low: float = 0.0,
        high: float = 1.0,
        write: Callable[[float], str] = percent,
        influence: Influence = "share",
        centre: float | None = None,
    ) -> Told:
        """A share, or another figure between two known ends, with ``n`` people behind it. ``centre``: a value that the
        grid holds whatever its step, where one stands for chance."""
        step = self.step(n, influence)
        if value is None or step is None or 2 * step >= high - low:
            return NOTHING
        if value < low + step * (1 - _FUZZ):
            edge = digits(low + step, 6)
            return Told(None, f"< {write(edge)}", low, edge)
        if value > high - step * (1 - _FUZZ):
            edge = digits(high - step, 6)
            return Told(None, f"> {write(edge)}", high, edge)
        origin = low if centre is None else centre
        first, last = ceil((low - origin) / step + 1 - _FUZZ), floor((high - origin) / step - 1 + _FUZZ)
        rounded = digits(origin + step * min(max(round((value - origin) / step), first), last), 6)
        return Told(rounded, None, rounded)

    def count(self, count: float | None) -> Told:
        """A number of people or records: multiples of the threshold, and "<5" below it."""
        if count is None:
            return NOTHING
        if count < self.threshold:
            return Told(None, f"<{self.threshold}", 0.0, float(self.threshold))
        rounded = self.threshold * round(count / self.threshold)
        return Told(rounded, f"about {rounded:,}", float(rounded))

    def unbounded(self, value: float | None, n: float | None, influence: Influence = "share") -> Told:
        """A ratio, a distance, bits: two significant digits, where one person moves it by one person's share."""
        if value is None or self.step(n) is None or influence != "share":
            return NOTHING
        rounded = digits(value)
        return Told(rounded, None, rounded)

    def gap(self, difference: float, n: float | None, influence: Influence = "share") -> float | None:
        """A difference of two shares that are not told themselves, cut to the grid towards 0; within one step of 1 it
        is 1, so that everybody and all but a few look alike."""
        step, told = self.step(n, influence), self.bounded(abs(difference), n, influence=influence)
        if step is None or told is NOTHING:
            return None
        cut = step * int(abs(difference) / step * (1 + _FUZZ)) if told.edge is None else told.near or 0.0
        return digits(copysign(cut, difference), 6) if cut else 0.0

    def tells(self, n: float | None) -> bool:
        """Whether a share of so many people could be told at all."""
        return self.bounded(0.5, n) is not NOTHING

    # -- figures beside them -------------------------------------------------------------------------------------------

    def interval(
        self,
        told: float | None,
        exact: Sequence[float | None] | None,
        low: float | None = None,
        high: float | None = None,
    ) -> tuple[float, float] | None:
        """The told figure -/+ half the width of its interval, raised: the ends themselves would be further roundings of
        the same count."""
        if told is None or exact is None or exact[0] is None or exact[1] is None:
            return None
        half = raised((exact[1] - exact[0]) / 2)
        ends = told - half, told + half
        lower = ends[0] if low is None else max(low, ends[0])
        upper = ends[1] if high is None else min(high, ends[1])
        return digits(lower, 6), digits(upper, 6)

    @staticmethod
    def limit(share: float) -> float:
        """A detection limit, raised: it follows from the share of strangers exposed."""
        return min(raised(share), 1.0)


def told_options(given: Mapping[str, object], measure: Measure[Any]) -> dict[str, object]:
    """Options as they are told: booleans, numbers, defaults and words among the declared choices by their value, any
    other by its name only.

    Parameters
    ----------
    given
        Options by name.
    measure
        The measure that declares them.

    Returns
    -------
    dict
        By name the value, or that one was given.
    """
    return {
        name: value if _harmless(name, value, measure) else WITHHELD
        for name, value in given.items()
        if name in measure.options
    }


def _harmless(name: str, value: object, measure: Measure[Any]) -> bool:
    if value is None or isinstance(value, (bool, int, float)):
        return True
    default, words = measure.options[name], measure.choices.get(name, ())
    if isinstance(value, (list, tuple)):
        same = isinstance(default, (list, tuple)) and list(value) == list(default)
        return same or (len(value) > 0 and all(isinstance(one, str) and one in words for one in value))
    return isinstance(value, str) and (value == default or value in words)
