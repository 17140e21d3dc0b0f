"""Extremes: are the tails of numeric columns and the share of outlying records kept? A good score here can be a
disclosure problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import chosen, require_numeric, small, with_columns
from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.counts import Counted, counted, evaluate, mean_null
from glasshouse.utility.nulls import judged

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
)
def tail_fidelity(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    percentile: float = 95,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Are the largest and smallest values of numeric columns kept?

    Per tail the mean of |Q_X(u) - Q_Y(u)| over 50 equally spaced u in [P, 1] (upper) or [0, 1 - P] (lower), divided
    by the IQR of the original; both tails averaged give d, and the score is exp(-mean over columns of d).
    ``tail_qq_trimmed`` leaves the extreme quantiles 0 and 1 out, ``hill_x`` and ``hill_y`` are Hill's indices of the
    upper tail.
    """
    if not 50 < percentile < 100:
        raise InputError(f"percentile must lie between 50 and 100, not {percentile}")
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    made = [c for c in (counted(pair, name) for name in names) if c.x.sum() and c.y.sum()]
    if not made:
        return Result(None, reason="no numeric column has a value in both tables")
    scales = {c.name: distances.spread(c.x, _numbers(c), c.n_x) for c in made}

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
        pair, made, divergence, replicates=replicates, random_state=random_state, name="tail_fidelity", disjoint=True
    )
    table: dict[str, Any] = {}
    curves: dict[str, Any] = {}
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
                **({} if own is None else {"null_low": own.low, "null_high": own.high}),
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
    score = (
        None
        if null is None
        else type(null)(float(np.exp(-null.high)), float(np.exp(-null.low)), float(np.exp(-null.centre)), null.how)
    )
    result = judged(
        float(np.exp(-mean)),
        score,
        "higher",
        utility=float(np.exp(-mean)),
        warnings=notes,
        details={"tail_qq": mean, "tail_utility": float(np.exp(-mean)), "n_columns": len(made)},
        sentence=f"Tail quantiles are {small(mean)} IQRs apart on average (fidelity {number(float(np.exp(-mean)), 3)})",
        plot_data={"tails": curves},
    )
    return with_columns(result, table)


def _numbers(column: Counted) -> np.ndarray:
    assert column.levels is not None
    return column.levels


def _tails(column: Counted, x: np.ndarray, y: np.ndarray, percentile: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """(quantiles of X, quantiles of Y) in the upper and in the lower tail."""
    share = percentile / 100
    made = []
    for at in (np.linspace(share, 1, POINTS), np.linspace(0, 1 - share, POINTS)):
        made.append(
            (
                distances.quantiles(x, _numbers(column), at, column.n_x),
                distances.quantiles(y, _numbers(column), at, column.n_y),
            )
        )
    return made


def _hill(column: Counted, counts: np.ndarray, percentile: float) -> float | None:
    """alpha = k / sum log(x_(i) / x_(k+1)) over the k = floor(sqrt(n_tail)) largest exceedances; None below 20
    exceedances.
    """
    n = column.n_x if counts is column.x else column.n_y
    threshold = distances.quantiles(counts, _numbers(column), np.array([percentile / 100]), n)[0]
    above = _numbers(column) > threshold
    whole = np.round(counts[above] * (n / counts.sum())).astype(int)
    exceedances = np.repeat(_numbers(column)[above], whole)[::-1]
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
)
def outliers(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    fence: float = 1.5,
    z: float = 3.0,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Does the release hold as many outlying values as the original?

    Fences (quartiles -+ 1.5 IQR, and |z| > 3) are set on the original and applied to both tables, so that a release
    whose tails were cut cannot hide it. The headline is the mean over columns of |share_Y - share_X| outside the
    Tukey fences; ``own`` figures use the release's own fences.
    """
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    made = [c for c in (counted(pair, name) for name in names) if c.x.sum() and c.y.sum()]
    if not made:
        return Result(None, reason="no numeric column has a value in both tables")

    def outside(column: Counted, counts: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
        levels = _numbers(column)
        made: np.ndarray = distances.shares(counts)[..., (levels < limits[0]) | (levels > limits[1])].sum(axis=-1)
        return made

    def tukey(column: Counted, counts: np.ndarray, n: float) -> tuple[float, float]:
        low, high = distances.quantiles(counts, _numbers(column), np.array([0.25, 0.75]), n)
        return float(low - fence * (high - low)), float(high + fence * (high - low))

    def scores(column: Counted, counts: np.ndarray, n: float) -> tuple[float, float]:
        mean, sd = distances.mean_and_sd(counts[None, :], _numbers(column), n)
        return float(mean[0] - z * sd[0]), float(mean[0] + z * sd[0])

    fences = {c.name: tukey(c, c.x, c.n_x) for c in made}

    def gap(column: Counted, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        made: np.ndarray = np.round(
            np.abs(outside(column, y, fences[column.name]) - outside(column, x, fences[column.name])), 15
        )
        return made

    values = evaluate(made, gap)
    null, each = mean_null(pair, made, gap, replicates=replicates, random_state=random_state, name="outliers")
    table: dict[str, Any] = {}
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
                **({} if own is None else {"null_low": own.low, "null_high": own.high}),
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
