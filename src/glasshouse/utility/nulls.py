"""Null bands: what a perfect synthesiser would score at these sizes, so that a value can be read in both directions.

A perfect synthesiser draws from the population (a *fresh sample*) or from a model that equals the original's own
distribution (*correct synthesis*); :mod:`glasshouse.utility.deals` makes samples of both kinds. The band is left

    on the worse side by 5 % of fresh samples: utility is lost (``p_lost``, one-sided)
    on the better side by at most 5 % of fresh samples and of correct syntheses: a copy alarm (``p_copied``), since no
    honest synthesis comes that close to the original

(Raab, Nowok & Dibben 2021 on expected values of utility measures; Snoke et al. 2018). These are levels of one measure;
:func:`glasshouse.utility.family.utility_family` reads many together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.evidence import NULL_LEVEL, Better, Null
from glasshouse.core.result import Result
from glasshouse.utility.figures import small

NULL_WORK = 500_000  # tables or pairs of columns compared in all resamples of a null band together
FEWEST = round(1 / NULL_LEVEL) - 1  # draws a test at the level of the band takes; fewer make no law


class Law(Protocol):
    """The law of a figure under honest synthesis; ``side`` is 1 for its upper and -1 for its lower tail."""

    @property
    def centre(self) -> float:
        """Its mean."""

    def tail(self, value: float, side: int) -> float:
        """Chance of a figure at least as far out."""

    def end(self, side: int) -> float:
        """Where the tail beyond which a figure is called starts."""


@dataclass(frozen=True)
class Drawn:
    """A law known by draws from it.

    Notes
    -----
    The p value of a figure is (1 + draws at least as far out) / (1 + draws): exact for draws that are exchangeable with
    the figure. It cannot be smaller than 1 / (1 + draws), too coarse for a family of measures, so beyond the level of
    the band the tail of a Pearson type III law with the draws' mean, spread and skewness is taken where it is smaller
    (Winkler, Ridgway, Douaud, Nichols & Smith 2016, Faster permutation inference). Its parameters are estimates
    themselves: the skewness is taken one standard error, sqrt(6 / draws), higher, and the tail, turned into a normal
    score, is read from Student's law with one degree of freedom less than draws at sqrt(1 + 1 / draws) times the
    spread. Over normal, gamma, Gumbel and lognormal laws 0.1 to 0.7 % of honest figures then have p <= 0.0025 with 100
    draws.
    """

    draws: np.ndarray

    @property
    def centre(self) -> float:
        """Mean of the draws."""
        return float(self.draws.mean())

    def tail(self, value: float, side: int) -> float:
        """Chance of a figure at least as far out as ``value``."""
        slack = 1e-12 * max(1.0, float(np.abs(self.draws).max()))
        beyond = int((side * self.draws >= side * value - slack).sum())
        p = (1 + beyond) / (1 + len(self.draws))
        return min(p, self._smooth(value, side)) if p <= NULL_LEVEL else p

    def end(self, side: int) -> float:
        """The figure beyond which the tail is at most the level of the band."""
        allowed = int(NULL_LEVEL * (1 + len(self.draws)) + 1e-9)
        return float(side * np.sort(side * self.draws)[-allowed])

    def _smooth(self, value: float, side: int) -> float:
        from scipy.special import gammaincc, ndtri, stdtr

        count = len(self.draws)
        spread = float(self.draws.std(ddof=1))
        if spread <= 1e-12 * max(1.0, float(np.abs(self.draws).max())):
            return 1 / (1 + count)  # all draws are alike: no spread to measure the distance by
        x = side * (value - self.centre) / spread
        skew = max(side * float(((self.draws - self.centre) ** 3).mean()) / spread**3, 0.0) + np.sqrt(6 / count)
        shape = 4 / skew**2
        x = -float(ndtri(max(gammaincc(shape, max(shape + x * np.sqrt(shape), 0.0)), 1e-300)))
        return float(stdtr(count - 1, -x / np.sqrt(1 + 1 / count)))


@dataclass(frozen=True)
class ChiSquare:
    """A law in closed form: ``unit`` times a chi-square of ``df`` degrees of freedom."""

    df: float
    unit: float

    @property
    def centre(self) -> float:
        """df times unit."""
        return self.df * self.unit

    def tail(self, value: float, side: int) -> float:
        """Chance of a figure at least as far out as ``value``."""
        from scipy.special import chdtr, chdtrc

        found = chdtrc if side > 0 else chdtr
        return float(found(self.df, max(value, 0.0) / self.unit))

    def end(self, side: int) -> float:
        """The figure beyond which the tail is at most the level of the band."""
        from scipy.special import chdtri

        return float(chdtri(self.df, NULL_LEVEL if side > 0 else 1 - NULL_LEVEL)) * self.unit


@dataclass(frozen=True)
class Band:
    """The laws of a figure under both kinds of perfect synthesis, and how they were found.

    ``correct`` is None for a figure in which a copy does not stand out.
    """

    fresh: Law
    correct: Law | None
    how: str

    def read(self, value: float, better: Better, alarm: bool = True) -> Null:
        """How a value compares with the band; ``alarm=False`` where a copy does not stand out."""
        worse = 1 if better == "lower" else -1
        close = [law for law in (self.fresh, self.correct) if law is not None]
        near = -worse * max(-worse * law.end(-worse) for law in close)
        low, high = sorted((near, self.fresh.end(worse)))
        p_lost = self.fresh.tail(value, worse)
        p_copied = max(law.tail(value, -worse) for law in close) if alarm else None
        return Null(
            low,
            high,
            self.fresh.centre,
            self.how,
            lost=p_lost <= NULL_LEVEL,
            copied=p_copied is not None and p_copied <= NULL_LEVEL,
            p_lost=p_lost,
            p_copied=p_copied,
        )

    def reading(self, value: float, better: Better) -> dict[str, object]:
        """The entries every utility result carries in its details."""
        return in_details(self.read(value, better))


def in_details(null: Null) -> dict[str, object]:
    """A reading under the names it has in the details."""
    return {
        "null": null.centre,
        "null_low": null.low,
        "null_high": null.high,
        "null_how": null.how,
        "copy_alarm": null.copied,
        "lost": null.lost,
    }


def affordable(replicates: int, comparisons: int, what: str) -> tuple[int, list[str]]:
    """Replicates of a null band within ``NULL_WORK`` comparisons, at least 19, and the warning when they are fewer
    than asked for.
    """
    if replicates < 0:
        raise InputError(f"the number of deals is {replicates}; it is 0 (no band) or more")
    allowed = max(FEWEST, NULL_WORK // max(comparisons, 1))
    if replicates <= allowed:
        return replicates, []
    return allowed, [
        f"null band from {allowed} instead of {replicates} resamples: each compares {comparisons:,} {what}; name fewer "
        "columns for a finer band"
    ]


def shared_out(replicates: int, fits: int) -> int:
    """Replicates of a band when each takes several fits: they share them, with no fewer than a test at 5 % needs."""
    return min(replicates, max(FEWEST, replicates // max(fits, 1)))


def band(
    fresh: Iterable[float | None],
    correct: Iterable[float | None],
    how: str,
    through: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Band | None:
    """The band from simulated values of both kinds; None when too few fresh ones are defined.

    ``through`` turns the simulated values into the figure that is read.
    """
    laws: list[Drawn | None] = []
    for group in (fresh, correct):
        draws = np.asarray([v for v in group if v is not None and np.isfinite(v)], float)
        laws.append(Drawn(draws if through is None else through(draws)) if draws.size >= FEWEST else None)
    return None if laws[0] is None else Band(laws[0], laws[1], how)


def judged(
    value: float | None,
    null: Band | None,
    better: Better,
    *,
    asked: float | None = None,
    utility: float | None,
    details: Mapping[str, object],
    sentence: str,
    warnings: Sequence[str] = (),
    alarm: bool = True,
    table: Sequence[Mapping[str, object]] | None = None,
    plot_data: Mapping[str, object] | None = None,
) -> Result:
    """A utility result read against its null band.

    Parameters
    ----------
    value, null, better
        The figure, the band of a perfect synthesiser (None: none is known) and the good direction.
    asked
        The figure as the draws of the band were computed, where ``value`` took another way; default: ``value``.
    utility
        The figure as a score; cut to 0 to 1.
    details, warnings, table, plot_data
        As in :class:`Result`.
    sentence
        What was found, without a full stop; how it compares with the band is added.
    alarm
        False for a measure in which a copy does not stand out, so that better than the band means nothing bad.

    Returns
    -------
    Result
        With ``null`` set and the band also in ``details``.
    """
    score = None if utility is None else min(1.0, max(0.0, utility))
    figures: dict[str, object] = {"utility": score, **details}
    if value is None or not np.isfinite(value):
        value, reading, said = None, None, sentence
    elif null is None:
        reading, said = None, f"{sentence}."
    else:
        reading = null.read(float(value if asked is None else asked), better, alarm)
        figures |= in_details(reading)
        said = f"{sentence}; {_compared(reading)}"
    return Result(
        value,
        null=reading,
        utility=score,
        details=figures,
        sentence=said,
        warnings=warnings,
        table=table,
        plot_data=plot_data,
    )


def _compared(reading: Null) -> str:
    reach = f"a perfect synthesiser would reach {small(reading.low)} to {small(reading.high)}"
    if reading.copied:
        return f"{reach}: closer to the original than honest synthesis comes, which is what a copy looks like."
    return f"{reach}: utility is lost." if reading.lost else f"{reach}: no loss beyond sampling noise."
