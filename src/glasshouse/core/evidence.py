"""Typed evidence: what a result tells other rooms. Everything a decision may rest on has a field; a misspelt one is an
error and cannot change a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypedDict

from glasshouse.core.intervals import Interval, difference_of_shares

Better: TypeAlias = Literal["lower", "higher"]
NULL_LEVEL = 0.05  # share of honest syntheses that leave their band on one side


def behind(*numbers: float | None) -> float | None:
    """How many people stand behind a figure: the first number that is known."""
    return next((float(number) for number in numbers if number is not None), None)


@dataclass(frozen=True)
class Counts:
    """Counts of an attack: how often it was right about members, and about people never in the data.

    Parameters
    ----------
    successes, attempts
        Guesses about original records that were right, and all of them. Fractions where ties are shared.
    control_successes, control_attempts
        The same for holdout people; None without a holdout.
    label
        Which of several operating points these counts belong to.
    aims
        How many people one guess may be about; more than 1 for a description that may fit anybody.
    """

    successes: float
    attempts: float
    control_successes: float | None = None
    control_attempts: float | None = None
    label: str = ""
    aims: int = 1

    @property
    def rate(self) -> float:
        """Share of attempts that were right."""
        return self.successes / self.attempts

    @property
    def control_rate(self) -> float | None:
        """Share of attempts on holdout people that were right; None without any."""
        if self.control_successes is None or not self.control_attempts:
            return None
        return self.control_successes / self.control_attempts

    def difference(self, confidence: float = 0.95) -> tuple[float, Interval] | None:
        """Members minus strangers with Newcombe's interval; None without a holdout."""
        control = self.control_rate
        if control is None or self.control_successes is None or self.control_attempts is None:
            return None
        limits = difference_of_shares(
            self.successes, self.attempts, self.control_successes, self.control_attempts, confidence
        )
        return self.rate - control, limits

    def exposure(self, confidence: float = 0.95) -> Exposure | None:
        """The same as an Exposure; None without a holdout."""
        gap, control = self.difference(confidence), self.control_rate
        if gap is None or control is None or self.control_attempts is None:
            return None
        return Exposure(*gap, control, round(self.attempts), round(self.control_attempts))


@dataclass(frozen=True)
class Exposure:
    """Members exposed beyond strangers: the unit in which all threats are compared.

    Parameters
    ----------
    share, interval
        Share of members exposed minus share of strangers exposed, and its interval.
    strangers
        Share of strangers exposed.
    members, controls
        How many people were asked about; with clusters, how many clusters.
    reach
        Share of members who could be seen at all: a copy of somebody whose record several people share cannot.
    looks
        How many p values that of the test is the smallest of, multiplied by as many.
    alarms
        Share of strangers whom the test lets through whatever occurs, at least one of them; 0 where it counts those who
        occur.
    particular
        Whether the test knows one kind of leak only, such as published names, so that what it would have seen says
        nothing about the others of its threat.
    """

    share: float
    interval: Interval
    strangers: float
    members: int
    controls: int
    reach: float = 1.0
    looks: int = 1
    alarms: float = 0.0
    particular: bool = False

    @property
    def people(self) -> float:
        """Members exposed beyond strangers, as a number of people."""
        return self.share * self.members


class Leak(TypedDict):
    """Members minus people never in the data, as a Result takes it: ``Result(..., **leak)``."""

    difference: float | None
    difference_interval: Interval | None
    p_value: float | None
    counts: Counts | None


class HeldLeak(Leak):
    """The same, with the figure of people never in the data."""

    holdout: float | None


class ToldLeak(HeldLeak):
    """The same, with the members exposed beyond strangers where the counts alone do not tell them."""

    exposure: Exposure | None


@dataclass(frozen=True)
class Null:
    """What a perfect synthesiser would score at these sizes, and how a value compares with it.

    Parameters
    ----------
    low, high
        The band of a perfect synthesiser.
    centre
        Its middle.
    how
        How it was found, in words.
    lost
        Whether the value lies beyond the band on the worse side: ``p_lost`` is at most 0.05.
    copied
        Whether it lies beyond the band on the better side, where no honest synthesis comes: ``p_copied`` is at most
        0.05.
    p_lost
        Chance that a fresh sample of the population scores at least as badly; None where no law is known. At the level
        of this measure alone: :func:`glasshouse.utility.family.utility_family` adjusts over many.
    p_copied
        Chance that an honest synthesis comes at least as close; None where a copy does not stand out.
    """

    low: float | None
    high: float | None
    centre: float | None
    how: str
    lost: bool = False
    copied: bool = False
    p_lost: float | None = None
    p_copied: float | None = None

    def among(self, others: Sequence[Null]) -> Null:
        """The same band read for several releases at once: the worst of them, its p values times their number."""
        every = (self, *others)
        p_lost, p_copied = (_least(ps) for ps in ([n.p_lost for n in every], [n.p_copied for n in every]))
        return replace(
            self,
            p_lost=p_lost,
            p_copied=p_copied,
            lost=any(n.lost for n in every) if p_lost is None else p_lost <= NULL_LEVEL,
            copied=any(n.copied for n in every) if p_copied is None else p_copied <= NULL_LEVEL,
        )


def _least(ps: Sequence[float | None]) -> float | None:
    """The smallest of some p values times their number (Bonferroni); None where none is known."""
    known = [p for p in ps if p is not None]
    return min(1.0, len(known) * min(known)) if known else None


@dataclass(frozen=True)
class ColumnReading:
    """One column of a measure that looks at columns one by one: its figure, and its share of the tolerable."""

    figure: float
    lost: bool = False
    of_tolerable: float | None = None
