"""Null bands: what a perfect synthesiser would score at these sizes, so that a value can be read in both directions.

A perfect synthesiser draws from the population (a *fresh sample*) or from a model that equals the original's own
distribution (*correct synthesis*, a bootstrap of the original). The band runs from the 5 % to the 95 % point over
both:

    fresh    statistic(X*, Y*)    X* and Y* drawn independently from the original
    correct  statistic(X, Y*)     Y* drawn from the original

Worse than the band is lost utility. Better than the band is a copy alarm: no honest synthesis comes that close to the
original (Raab, Nowok & Dibben 2021 on expected values of utility measures; Snoke et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from glasshouse.core.evidence import Better, Null
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import small

Rows: TypeAlias = np.ndarray | None  # None: every row, as it stands
TAIL = 0.05
NULL_WORK = 500_000  # tables or pairs of columns compared in all resamples of a null band together
FEWEST = 10


@dataclass(frozen=True)
class Band:
    """The band of a perfect synthesiser, its middle, and how it was found."""

    low: float
    high: float
    centre: float
    how: str

    def read(self, value: float, better: Better, alarm: bool = True) -> Null:
        """How a value compares with the band; ``alarm=False`` where a copy does not stand out."""
        slack = 1e-12 * max(1.0, abs(self.low), abs(self.high))
        below, above = value < self.low - slack, value > self.high + slack
        copied, lost = (below, above) if better == "lower" else (above, below)
        return Null(self.low, self.high, self.centre, self.how, lost=lost, copied=copied and alarm)

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
    """Replicates of a null band within ``NULL_WORK`` comparisons, at least 10, and the warning when they are fewer
    than asked for.
    """
    allowed = max(FEWEST, NULL_WORK // max(comparisons, 1))
    if replicates <= allowed:
        return replicates, []
    return allowed, [
        f"null band from {allowed} instead of {replicates} resamples: each compares {comparisons:,} {what}; name fewer "
        "columns for a finer band"
    ]


def band(fresh: Iterable[float | None], correct: Iterable[float | None], how: str) -> Band | None:
    """The band from simulated values of both kinds; None when too few of them are defined."""
    draws = [np.asarray([v for v in group if v is not None and np.isfinite(v)], float) for group in (fresh, correct)]
    draws = [d for d in draws if d.size >= 5]
    if not draws:
        return None
    low = min(float(np.quantile(d, TAIL)) for d in draws)
    high = max(float(np.quantile(d, 1 - TAIL)) for d in draws)
    return Band(low, high, float(draws[0].mean()), how)


def resampled(
    pair: Pair,
    statistic: Callable[[Rows, Rows], float | None],
    *,
    replicates: int,
    random_state: RandomState,
    name: str,
    n: int | None = None,
    m: int | None = None,
    rows: np.ndarray | None = None,
) -> Band | None:
    """Band of a statistic from resamples of the original.

    Parameters
    ----------
    pair
        The tables.
    statistic
        Figure of two sets of rows, both of the original; None where it is undefined.
    replicates, random_state, name
        How many resamples, and the seed and name of their random stream.
    n, m
        Sizes the statistic really has; default: the usable rows, and the size of the release.
    rows
        The original's usable rows in canonical order; default: all.

    Returns
    -------
    Band or None
        None without replicates, or where too few of them are defined.
    """
    if replicates < 1:
        return None
    base = canonical_rows(pair) if rows is None else rows
    n = len(base) if n is None else n
    m = pair.n("released") if m is None else m
    fresh, correct = [], []
    for r in range(replicates):
        rng = generator(random_state, "null", name, r)
        fresh.append(statistic(draw(pair, base, n, rng), draw(pair, base, m, rng)))
        correct.append(statistic(base, draw(pair, base, m, rng)))
    return band(fresh, correct, f"{replicates} resamples of the original")


def draw(pair: Pair, rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """``size`` of the rows with replacement. An unweighted release of a weighted original stands for the weighted
    population.
    """
    weights = pair.weight_values("original")
    if weights is None or pair.weight_values("released") is not None:
        return rows[rng.integers(0, len(rows), size)]
    steps = np.cumsum(weights[rows])
    return rows[np.minimum(np.searchsorted(steps, rng.random(size) * steps[-1], side="right"), len(rows) - 1)]


def canonical_rows(pair: Pair, keep: np.ndarray | None = None) -> np.ndarray:
    """Rows of the original sorted by content, so that resamples depend neither on the order of the file nor on what
    categories are called.

    Categories are ranked by how often they occur; equally frequent ones fall back on their order.
    """

    def ranked(column: str) -> np.ndarray:
        codes = pair.codes(column)
        array = codes.of("original")
        if pair.is_numeric(column) or codes.ordered:
            return array
        counts = np.bincount(array[array >= 0], minlength=codes.n_levels)
        place = np.empty(codes.n_levels + 1, np.int64)
        place[np.argsort(-counts, kind="stable")] = np.arange(codes.n_levels)
        place[-1] = -1
        return place[array]

    def compute() -> np.ndarray:
        columns = [ranked(c) for c in reversed(pair.columns)]
        weights = pair.weight_values("original")
        return np.lexsort([*columns] if weights is None else [weights, *columns])

    order = pair.memo(("canonical_rows",), compute)
    return order if keep is None else order[keep[order]]


def judged(
    value: float | None,
    null: Band | None,
    better: Better,
    *,
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
        reading = null.read(float(value), better, alarm)
        figures |= in_details(reading)
        said = f"{sentence}; {_compared(null, reading)}"
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


def _compared(null: Band, reading: Null) -> str:
    reach = f"a perfect synthesiser would reach {small(null.low)} to {small(null.high)}"
    if reading.copied:
        return f"{reach}: closer to the original than honest synthesis comes, which is what a copy looks like."
    return f"{reach}: utility is lost." if reading.lost else f"{reach}: no loss beyond sampling noise."
