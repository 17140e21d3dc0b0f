"""Would an analyst who estimates a median or any other single figure reach the same interval on the release?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from zlib import crc32

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.intervals import check_draws, normal_quantile
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.deals import Rows, pooled_weights, resampled
from glasshouse.utility.figures import ColumnFigures, Columns, chosen, require_numeric, with_columns
from glasshouse.utility.marginals.counts import SideBySide, counted, effective_size
from glasshouse.utility.marginals.means import overlaps
from glasshouse.utility.nulls import Band, judged

Estimate: TypeAlias = Callable[[np.ndarray], float]
Sample: TypeAlias = "tuple[np.ndarray, np.ndarray | None]"  # values in order, and their weights
# which values in order stand below and above a quantile in each bootstrap sample, and the share of the latter
Ranks: TypeAlias = "list[tuple[np.ndarray, np.ndarray, float]]"
IntervalOf: TypeAlias = "Callable[[Repeated], np.ndarray]"  # the two ends


@dataclass(frozen=True)
class Repeated:
    """Values in order, each as often as it occurs, or in proportion to its weight, without writing them out.

    ``steps`` are the cumulative counts, or sums of weights, of the ``levels``; ``size`` is how many values there are.
    """

    levels: np.ndarray
    steps: np.ndarray
    size: int

    def __len__(self) -> int:
        return self.size

    def at(self, ranks: np.ndarray) -> np.ndarray:
        """The values that stand at some places, from 0."""
        at = np.searchsorted(self.steps, (ranks + 0.5) / self.size * self.steps[-1], side="right")
        found: np.ndarray = self.levels[np.minimum(at, len(self.levels) - 1)]
        return found

    def written(self) -> np.ndarray:
        """All of them."""
        return self.at(np.arange(self.size))


ESTIMATORS: dict[str, Estimate] = {
    "median": lambda v: float(np.median(v)),
    "mean": lambda v: float(v.mean()),
    "sd": lambda v: float(v.std(ddof=1)),
    "iqr": lambda v: float(np.subtract(*np.quantile(v, [0.75, 0.25]))),
}
# estimators that are sums of quantiles: probabilities and factors
QUANTILES: dict[object, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "median": ((0.5,), (1.0,)),
    "iqr": ((0.25, 0.75), (-1.0, 1.0)),
}


@measure(
    side="utility",
    family="marginals",
    better="higher",
    needs=("numeric",),
    cite="Karr et al. (2006); Efron & Tibshirani (1993)",
    caveats="blind to relations; percentile intervals of extreme estimators are too short",
    title="CI overlap",
    tier="fast",
    influence="free",
    wide="numeric",
    grows="values",
)
def ci_overlap(
    pair: Pair,
    *,
    columns: Columns = None,
    estimator: str | Estimate = "median",
    confidence: float = 0.95,
    n_boot: int = 500,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Overlap of bootstrap intervals of any single figure ("median", "mean", "sd", "iqr" or a function), original
    against release.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns; default: all of them.
    estimator : {"median", "mean", "sd", "iqr"} or callable, default "median"
        The figure that is estimated; a function takes an array of values and returns a number.
    confidence : float, default 0.95
        Level of the percentile intervals.
    n_boot : int, default 500
        Bootstrap resamples of each table.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of all resamples.

    Returns
    -------
    Result
        ``value``: mean over columns of Karr's overlap, 1 equal, 0 disjoint. ``details["columns"]`` has per column the
        estimates and intervals of both tables, the hull overlap, the signed overlap and ``ratioSE``.

    Notes
    -----
    overlap = (|I_X n I_Y| / |I_X| + |I_X n I_Y| / |I_Y|) / 2, I_X and I_Y the percentile intervals of original and
    release. ratioSE = |estimate_Y - estimate_X| / half the original's interval. Weights: values are repeated in
    proportion to their weights, at the effective sample size. Bootstrap figures of the median and the IQR are drawn
    from the law of order statistics, here and in every deal of the band; there other estimators have the original's
    interval around the estimate of the deal.

    References
    ----------
    Karr, Kohnen, Oganian, Reiter & Sanil (2006), A framework for evaluating the utility of data altered to protect
    confidentiality. Efron & Tibshirani (1993), An Introduction to the Bootstrap.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.ci_overlap(pair, columns="age", estimator="mean", n_boot=200)
    >>> round(found.value, 2)
    0.74
    """
    notes: list[str] = []
    normal_quantile(confidence)  # refuses a level that is none
    check_draws("n_boot", n_boot)
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    statistic = _estimator(estimator)
    table: ColumnFigures = {}
    found: list[float] = []
    intervals: list[dict[str, object]] = []
    compared: list[tuple[str, IntervalOf]] = []
    for name in names:
        x, y = (_sample(pair, name, which) for which in ("original", "released"))
        if min(x[0].size, y[0].size) < 2:
            continue
        # draws of a column go by how often its values occur, whatever its name, place and unit
        known_by = crc32(np.unique(x[0], return_counts=True)[1].astype("<i8").tobytes())
        draws_x, draws_y = (
            _bootstrap(*side, estimator, n_boot, generator(random_state, "ci_overlap", known_by)) for side in (x, y)
        )
        at_x, at_y = (statistic(_weighted_copy(*side)) for side in (x, y))
        levels = [(1 - confidence) / 2, (1 + confidence) / 2]
        (low_x, high_x), (low_y, high_y) = (np.quantile(d, levels).tolist() for d in (draws_x, draws_y))
        shared = {k: float(v) for k, v in overlaps(low_x, high_x, low_y, high_y).items()}
        half = (high_x - low_x) / 2
        found.append(shared["karr"])
        table[name] = (
            shared["karr"],
            {
                "ci_overlap_karr": shared["karr"],
                "ci_overlap_union": shared["union"],
                "ci_overlap_signed": shared["signed"],
                "estimate_x": at_x,
                "estimate_y": at_y,
                "ci_x": [low_x, high_x],
                "ci_y": [low_y, high_y],
                "ratioSE": abs(at_y - at_x) / half if half > 0 else None,
            },
        )
        intervals += [
            {"column": name, "table": "original", "mean": at_x, "low": low_x, "high": high_x},
            {"column": name, "table": "released", "mean": at_y, "low": low_y, "high": high_y},
        ]
        own = np.array([low_x, high_x]) - float(np.mean(draws_x))
        compared.append((name, _interval_maker(estimator, statistic, levels, n_boot, own, len(x[0]), random_state)))
    if not table:
        return Result(None, reason="no numeric column has two values in both tables")
    mean = float(np.mean(found))
    null = _overlap_null(pair, compared, replicates, random_state)
    spoken = estimator if isinstance(estimator, str) else getattr(estimator, "__name__", "estimate")
    result = judged(
        mean,
        null,
        "higher",
        utility=mean,
        warnings=notes,
        details={"ci_overlap_karr_mean": mean, "n_columns": len(table)},
        sentence=f"Intervals of the {spoken} overlap by {number(mean, 3)} on average",
        plot_data={"intervals": intervals},
    )
    return with_columns(result, table)


def _sample(pair: Pair, name: str, which: str) -> Sample:
    """The values of a column in order, without missing ones and special codes, and their weights."""
    present = pair.values(name, which)
    usable = np.isfinite(present) & ~pair.special_mask(name, which)
    weights = pair.weight_values(which)
    order = np.argsort(present[usable], kind="stable")
    return present[usable][order], None if weights is None else weights[usable][order]


def _estimator(estimator: str | Estimate) -> Estimate:
    if callable(estimator):
        return estimator
    if estimator not in ESTIMATORS:
        raise InputError(
            f"estimator {estimator!r} is not known; use one of {listed(ESTIMATORS)} or a function of an array"
        )
    return ESTIMATORS[estimator]


def _weighted_copy(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Values in proportion to their weights, so that an unweighted estimator sees the weighted distribution."""
    if weights is None:
        return values
    size = max(2, round(effective_size(weights)))
    steps = np.cumsum(weights)
    at = np.searchsorted(steps, (np.arange(size) + 0.5) / size * steps[-1], side="right")
    return values[np.minimum(at, len(values) - 1)]


def _bootstrap(
    values: np.ndarray,
    weights: np.ndarray | None,
    estimator: str | Estimate,
    n_boot: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Estimates of so many bootstrap samples; those made of quantiles come from the law of order statistics."""
    base = _weighted_copy(values, weights)
    if estimator in QUANTILES:
        probabilities, factors = QUANTILES[estimator]
        return _at_ranks(base.__getitem__, _bootstrap_ranks(len(base), probabilities, n_boot, rng), factors)
    statistic = _estimator(estimator)
    return np.array([statistic(base[rng.integers(0, len(base), len(base))]) for _ in range(n_boot)])


def _interval_maker(
    estimator: object,
    statistic: Estimate,
    levels: list[float],
    n_boot: int,
    own: np.ndarray,
    size: int,
    random_state: RandomState,
) -> IntervalOf:
    """How the interval of a dealt table is found: from order statistics where the estimator is made of quantiles, else
    as the original's interval (``own``, around 0, of ``size`` values) around the estimate.
    """
    if estimator not in QUANTILES:
        return lambda values: statistic(values.written()) + own * np.sqrt(size / len(values))
    probabilities, factors = QUANTILES[estimator]
    known: dict[int, Ranks] = {}

    def interval(values: Repeated) -> np.ndarray:
        n = len(values)
        if n not in known:
            known[n] = _bootstrap_ranks(n, probabilities, n_boot, generator(random_state, "ci_overlap null", n))
        return _quantiles(np.sort(_at_ranks(values.at, known[n], factors)), levels)

    return interval


def _at_ranks(at: Callable[[np.ndarray], np.ndarray], ranks: Ranks, factors: Sequence[float]) -> np.ndarray:
    """Weighted sums of values in order at the ranks that quantiles have in every bootstrap sample."""
    parts = [
        factor * ((1 - share) * at(below) + share * at(above))
        for (below, above, share), factor in zip(ranks, factors, strict=True)
    ]
    return np.asarray(sum(parts))


def _quantiles(values: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Type-7 quantiles of values in order."""
    at = np.asarray(levels) * (len(values) - 1)
    below = at.astype(np.int64)
    low, high = values[below], values[np.minimum(below + 1, len(values) - 1)]
    made: np.ndarray = low + (at - below) * (high - low)
    return made


def _bootstrap_ranks(n: int, probabilities: tuple[float, ...], n_boot: int, rng: np.random.Generator) -> Ranks:
    """For ascending probabilities: which of n values in order stand below and above that quantile in each bootstrap
    sample, and the share of the latter (type 7).

    The k-th smallest of n bootstrap values is value number ceil(n U) with U the k-th smallest of n uniform numbers:
    Beta(k, n + 1 - k), and the next ones follow from it in turn.
    """
    made = []
    last, at = 0, np.zeros(n_boot)
    for probability in probabilities:
        position = probability * (n - 1)
        ranks = []
        for k in (int(position) + 1, min(int(position) + 2, n)):
            if k > last:
                at = at + (1 - at) * rng.beta(k - last, n - k + 1, n_boot)
                last = k
            ranks.append(np.minimum((at * n).astype(np.int64), n - 1))
        made.append((ranks[0], ranks[1], position - int(position)))
    return made


def _overlap_null(
    pair: Pair, compared: list[tuple[str, IntervalOf]], replicates: int, random_state: RandomState
) -> Band | None:
    """Band of the mean overlap over columns."""
    columns = [counted(pair, name) for name, _ in compared]
    side = SideBySide.of(columns, pooled_weights(pair))
    squares = None if side.weights is None else replace(side, weights=side.weights**2)

    def ends(rows: np.ndarray, weigh: bool) -> np.ndarray:
        """Ends of the interval [2, columns] in some rows, NaN for a column with fewer than two values there."""
        weigh = weigh and squares is not None
        times, mass = side.count(rows), side.count(rows, weigh)
        square = squares.count(rows, weigh) if squares is not None else mass
        made = np.full((2, len(compared)), np.nan)
        for j, (column, (_, interval)) in enumerate(zip(columns, compared, strict=True)):
            cut = slice(side.ends[j] - len(column.x), side.ends[j])
            known = np.isfinite(column.numbers)
            size, squared = round(times[cut][known].sum()), float(square[cut][known].sum())
            if size < 2 or (weigh and not squared > 0):  # all of them may weigh nothing
                continue
            if weigh:
                size = max(2, round(float(mass[cut][known].sum()) ** 2 / squared))
            made[:, j] = interval(Repeated(column.numbers[known], np.cumsum(mass[cut][known]), size))
        return made

    original = ends(np.arange(pair.n("original")), True)
    weigh_y = pair.weight_values("released") is not None

    def mean_overlap(rows_x: Rows, rows_y: Rows) -> float | None:
        one = original if rows_x is None else ends(rows_x, True)
        other = original if rows_y is None else ends(rows_y, weigh_y)
        known = np.isfinite(one[0]) & np.isfinite(other[0])
        found = overlaps(one[0, known], one[1, known], other[0, known], other[1, known])["karr"]
        return float(found.mean()) if found.size else None

    return resampled(pair, mean_overlap, replicates=replicates, random_state=random_state)
