"""Would an analyst who estimates a median or any other single figure reach the same interval on the release?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import ColumnFigures, Columns, chosen, require_numeric, with_columns
from glasshouse.utility.marginals.counts import effective_size
from glasshouse.utility.marginals.means import overlaps
from glasshouse.utility.nulls import band, judged

Estimate: TypeAlias = Callable[[np.ndarray], float]
Sample: TypeAlias = "tuple[np.ndarray, np.ndarray | None]"  # values in order, and their weights

ESTIMATORS: dict[str, Estimate] = {
    "median": lambda v: float(np.median(v)),
    "mean": lambda v: float(v.mean()),
    "sd": lambda v: float(v.std(ddof=1)),
    "iqr": lambda v: float(np.subtract(*np.quantile(v, [0.75, 0.25]))),
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
        Draws behind the band of a perfect synthesiser; 0 for no band.
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
    proportion to their weights, at the effective sample size.

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
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    statistic = _estimator(estimator)
    table: ColumnFigures = {}
    found: list[float] = []
    intervals: list[dict[str, object]] = []
    null_draws = []
    for name in names:
        x, y = (_sample(pair, name, which) for which in ("original", "released"))
        if min(x[0].size, y[0].size) < 2:
            continue
        draws_x, draws_y = (
            _bootstrap(*side, statistic, n_boot, generator(random_state, "ci_overlap", len(table))) for side in (x, y)
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
        null_draws.append(
            _overlap_null(
                draws_x,
                (len(x[0]), len(y[0])),
                confidence,
                replicates,
                generator(random_state, "ci_overlap null", len(table)),
            )
        )
    if not table:
        return Result(None, reason="no numeric column has two values in both tables")
    mean = float(np.mean(found))
    null = None
    if replicates:
        fresh, correct = (np.mean([drawn[i] for drawn in null_draws], axis=0) for i in range(2))
        null = band(fresh, correct, f"{replicates} resamples of the original")
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
    statistic: Estimate,
    n_boot: int,
    rng: np.random.Generator,
) -> np.ndarray:
    base = _weighted_copy(values, weights)
    return np.array([statistic(base[rng.integers(0, len(base), len(base))]) for _ in range(n_boot)])


def _overlap_null(
    draws: np.ndarray,
    sizes: tuple[int, int],
    confidence: float,
    replicates: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps a perfect synthesiser would show: its interval is the original's, moved by the sampling error of the
    estimate.

    The bootstrap draws are that error; the release's is scaled by sqrt(n/m). Fresh: both intervals move; correct: one
    does.
    """
    n, m = sizes
    centre = float(np.mean(draws))
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2]) - centre
    scale = float(np.sqrt(n / m))
    shift_x = draws[rng.integers(0, len(draws), replicates)] - centre
    shift_y = scale * (draws[rng.integers(0, len(draws), replicates)] - centre)
    fresh = overlaps(low + shift_x, high + shift_x, scale * low + shift_y, scale * high + shift_y)["karr"]
    correct = overlaps(low, high, scale * low + shift_y, scale * high + shift_y)["karr"]
    return fresh, correct
