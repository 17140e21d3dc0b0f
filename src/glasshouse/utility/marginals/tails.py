"""Extremes: are the tails of numeric columns and the share of outlying records kept? A good score here can be a
disclosure problem.
"""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import ColumnFigures, Columns, chosen, require_numeric, small, with_columns
from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.counts import Counted, counted, evaluate, mean_null
from glasshouse.utility.nulls import Band, judged

POINTS = 50
BEYOND = 5


@measure(
    side="utility",
    family="marginals",
    better="higher",
    needs=("numeric",),
    cite="riskutility tail_fidelity; Hill (1975)",
    caveats="the most extreme values dominate; real extremes that are released raise both this score and the risk "
    "of their owners",
    tier="fast",
    wide="numeric",
    grows="values",
)
def tail_fidelity(
    pair: Pair,
    *,
    columns: Columns = None,
    percentile: float = 95,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Are the largest and smallest values of numeric columns kept?

    A score near 1 is good for analysts of extremes and a reason to look at the risk of the people who have them.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns; default: all of them.
    percentile : float, default 95
        Where the upper tail begins; the lower one ends at 100 minus it. Between 50 and 100.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: exp(-d), 1 when the tails agree. ``details["tail_qq"]`` is d; ``details["columns"]`` has per column
        both tails, ``tail_qq_trimmed`` (without the extreme quantiles 0 and 1) and Hill's indices ``hill_x`` and
        ``hill_y`` of the upper tail (None below 20 values in it).

    Notes
    -----
    Per tail the mean of |Q_X(u) - Q_Y(u)| over 50 equally spaced u in [P, 1] (upper) or [0, 1 - P] (lower), divided
    by the IQR of the original (standard deviation where that is 0, then the range); both tails averaged, then averaged
    over columns, give d. Hill: alpha = k / sum log(x_(i) / x_(k+1)) over the k = floor(sqrt(n_tail)) largest
    values.

    References
    ----------
    tail_fidelity of the R package riskutility. Hill (1975), A simple general approach to inference about the tail of
    a distribution.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.utility.tail_fidelity(pair, replicates=20).value, 3)
    0.883
    """
    if not 50 < percentile < 100:
        raise InputError(f"percentile must lie between 50 and 100, not {percentile}")
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    made = [c for c in (counted(pair, name) for name in names) if c.x.sum() and c.y.sum()]
    if not made:
        return Result(None, reason="no numeric column has a value in both tables")
    scales = {c.name: distances.spread(c.x, c.numbers, c.n_x) for c in made}

    def divergence(column: Counted, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        scale = scales[column.name][1]
        return np.array(
            [
                np.mean([np.abs(a - b).mean() for a, b in _tails(column, cx, cy, percentile)]) / scale
                for cx, cy in zip(x, y, strict=True)
            ]
        )

    values = evaluate(made, divergence)
    null, each = mean_null(
        pair, made, divergence, replicates=replicates, random_state=random_state, through=lambda d: np.exp(-d)
    )
    table: ColumnFigures = {}
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for column, value, own in zip(made, values.tolist(), each, strict=True):
        iqr, scale = scales[column.name]
        upper, lower = _tails(column, column.x, column.y, percentile)
        trimmed = [np.abs(upper[0] - upper[1])[:-1].mean(), np.abs(lower[0] - lower[1])[1:].mean()]
        table[column.name] = (
            value,
            {
                "tail_upper": np.abs(upper[0] - upper[1]).mean() / scale,
                "tail_lower": np.abs(lower[0] - lower[1]).mean() / scale,
                "tail_qq_both": value,
                "tail_qq_trimmed": float(np.mean(trimmed)) / scale,
                "iqr_x": iqr,
                "scale": scale,
                "hill_x": _hill(column, column.x, percentile),
                "hill_y": _hill(column, column.y, percentile),
                **_ends(own, value),
            },
        )
        # aggregates only: quantiles with at least a handful of records beyond them, never the extreme records
        # themselves
        beyond = np.linspace(1 - percentile / 100, 0, POINTS) * min(column.n_x, column.n_y) >= BEYOND
        curves[column.name] = {
            side: [(float(a) / scale, float(b) / scale) for a, b, shown in zip(*values, keep, strict=True) if shown]
            for side, values, keep in (("upper", upper, beyond), ("lower", lower, beyond[::-1]))
        }
    mean = float(values.mean())
    result = judged(
        float(np.exp(-mean)),
        null,
        "higher",
        utility=float(np.exp(-mean)),
        warnings=notes,
        details={"tail_qq": mean, "tail_utility": float(np.exp(-mean)), "n_columns": len(made)},
        sentence=f"Tail quantiles are {small(mean)} IQRs apart on average (fidelity {number(float(np.exp(-mean)), 3)})",
        plot_data={"tails": curves},
    )
    tail = (1 - percentile / 100) * min(min(c.n_x, c.n_y) for c in made)
    return with_columns(result, table)._copy(of=tail)


def _ends(own: Band | None, value: float) -> dict[str, object]:
    """The ends of a column's own band under the names they have in the details."""
    if own is None:
        return {}
    found = own.read(value, "lower")
    return {"null_low": found.low, "null_high": found.high}


def _tails(column: Counted, x: np.ndarray, y: np.ndarray, percentile: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """(quantiles of X, quantiles of Y) in the upper and in the lower tail."""
    share = percentile / 100
    made = []
    for at in (np.linspace(share, 1, POINTS), np.linspace(0, 1 - share, POINTS)):
        made.append(
            (
                distances.quantiles(x, column.numbers, at, column.n_x),
                distances.quantiles(y, column.numbers, at, column.n_y),
            )
        )
    return made


def _hill(column: Counted, counts: np.ndarray, percentile: float) -> float | None:
    """alpha = k / sum log(x_(i) / x_(k+1)) over the k = floor(sqrt(n_tail)) largest exceedances; None below 20
    exceedances.
    """
    n = column.n_x if counts is column.x else column.n_y
    threshold = distances.quantiles(counts, column.numbers, np.array([percentile / 100]), n)[0]
    above = column.numbers > threshold
    whole = np.round(counts[above] * (n / counts.sum())).astype(int)
    exceedances = np.repeat(column.numbers[above], whole)[::-1]
    if exceedances.size < 20 or exceedances[-1] <= 0:
        return None
    k = int(np.sqrt(exceedances.size))
    total = float(np.log(exceedances[:k] / exceedances[k]).sum())
    return k / total if total > 0 else None


@measure(
    side="utility",
    family="marginals",
    better="lower",
    needs=("numeric",),
    unit="share",
    cite="Tukey (1977); fences of the original for both tables",
    caveats="counts outlying values, not which records they belong to",
    tier="fast",
    influence="share",
    wide="numeric",
    grows="values",
)
def outliers(
    pair: Pair,
    *,
    columns: Columns = None,
    fence: float = 1.5,
    z: float = 3.0,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Does the release hold as many outlying values as the original?

    Fences are set on the original and applied to both tables, so that a release whose tails were cut cannot hide it.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns; default: all of them.
    fence : float, default 1.5
        Multiple of the IQR beyond the quartiles at which a value is outlying.
    z : float, default 3.0
        Number of standard deviations from the mean at which a value is outlying, for the figures ``z_share_*``.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean over columns of the gap between the shares outside the fences. ``details["columns"]`` has the
        shares of both tables, ``share_y_own_fences`` by the release's own fences, and the shares beyond ``z``.

    Notes
    -----
    value = mean over columns of |share_Y - share_X|, share the part of values below Q1 - 1.5 IQR or above
    Q3 + 1.5 IQR of the original. Missing values and special codes are dropped per column.

    References
    ----------
    Tukey (1977), Exploratory Data Analysis; here the fences of the original serve both tables.

    Examples
    --------
    >>> import glasshouse as gh
    >>> import polars as pl
    >>> original = pl.DataFrame({"v": [*range(9), 100]})
    >>> released = pl.DataFrame({"v": [*range(9), 9]})
    >>> found = gh.utility.outliers(original, released, replicates=0)
    >>> found.value, found.details["columns"]["v"]["share_x"]
    (0.1, 0.1)
    """
    if not (0 <= fence < np.inf and 0 <= z < np.inf):
        raise InputError("fence and z are multiples of a spread: give numbers of 0 or more")
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    made = [c for c in (counted(pair, name) for name in names) if c.x.sum() and c.y.sum()]
    if not made:
        return Result(None, reason="no numeric column has a value in both tables")

    def outside(column: Counted, counts: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
        levels = column.numbers
        made: np.ndarray = distances.shares(counts)[..., (levels < limits[0]) | (levels > limits[1])].sum(axis=-1)
        return made

    def tukey(column: Counted, counts: np.ndarray, n: float) -> tuple[float, float]:
        low, high = distances.quantiles(counts, column.numbers, np.array([0.25, 0.75]), n)
        return float(low - fence * (high - low)), float(high + fence * (high - low))

    def scores(column: Counted, counts: np.ndarray, n: float) -> tuple[float, float]:
        mean, sd = distances.mean_and_sd(counts[None, :], column.numbers, n)
        return float(mean[0] - z * sd[0]), float(mean[0] + z * sd[0])

    fences = {c.name: tukey(c, c.x, c.n_x) for c in made}

    def gap(column: Counted, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        made: np.ndarray = np.round(
            np.abs(outside(column, y, fences[column.name]) - outside(column, x, fences[column.name])), 15
        )
        return made

    values = evaluate(made, gap)
    null, each = mean_null(pair, made, gap, replicates=replicates, random_state=random_state)
    table: ColumnFigures = {}
    for column, value, own in zip(made, values.tolist(), each, strict=True):
        limits = scores(column, column.x, column.n_x)
        table[column.name] = (
            value,
            {
                "share_x": float(outside(column, column.x, fences[column.name])),
                "share_y": float(outside(column, column.y, fences[column.name])),
                "share_y_own_fences": float(outside(column, column.y, tukey(column, column.y, column.n_y))),
                "z_share_x": float(outside(column, column.x, limits)),
                "z_share_y": float(outside(column, column.y, limits)),
                **_ends(own, value),
            },
        )
    mean = float(values.mean())
    result = judged(
        mean,
        null,
        "lower",
        utility=1 - mean,
        warnings=notes,
        details={"outlier_gap": mean, "n_columns": len(made)},
        sentence=f"The share of outlying values differs by {percent(mean, 2)} on average",
    )
    return with_columns(result, table)
