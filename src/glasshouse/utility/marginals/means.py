"""Would an analyst who estimates a mean, a median or any other single figure reach the same interval on the release?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import chosen, require_numeric, with_columns
from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.counts import Counted, counted, effective_size, evaluate, mean_null
from glasshouse.utility.nulls import band, judged

ESTIMATORS: dict[str, Callable[[np.ndarray], float]] = {
    "median": lambda v: float(np.median(v)),
    "mean": lambda v: float(v.mean()),
    "sd": lambda v: float(v.std(ddof=1)),
    "iqr": lambda v: float(np.subtract(*np.quantile(v, [0.75, 0.25]))),
}


def overlaps(low_x: Any, high_x: Any, low_y: Any, high_y: Any) -> dict[str, np.ndarray]:
    """Three notions of interval overlap used in the field, and the signed one of Karr et al. (2006) that keeps the
    distance.

    union: |I_X n I_Y| / length of their hull. karr: mean of |n| / |I_X| and |n| / |I_Y|. avgwidth: |n| / mean length.
    """
    low_x, high_x, low_y, high_y = (np.asarray(v, float) for v in (low_x, high_x, low_y, high_y))
    signed = np.minimum(high_x, high_y) - np.maximum(low_x, low_y)
    shared = np.maximum(signed, 0.0)
    hull = np.maximum(high_x, high_y) - np.minimum(low_x, low_y)
    long_x, long_y = high_x - low_x, high_y - low_y
    same = (low_x == low_y) & (high_x == high_y)

    def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        return np.where(
            same, 1.0, np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)
        )

    return {
        "union": share(shared, hull),
        "karr": 0.5 * (share(shared, long_x) + share(shared, long_y)),
        "avgwidth": np.minimum(share(shared, 0.5 * (long_x + long_y)), 1.0),
        "signed": 0.5 * (share(signed, long_x) + share(signed, long_y)),
    }


@measure(
    side="utility",
    family="marginals",
    better="higher",
    needs=("numeric",),
    cite="Karr et al. (2006); proximity as in riskutility",
    caveats="blind to relations; the proximity part is not invariant to a shift of both tables (Karr's overlap "
    "beside it is)",
    title="CI proximity",
    tier="fast",
)
def ci_proximity(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    confidence: float = 0.95,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Do the confidence intervals of column means agree, and are the means themselves close?

    t intervals of the mean in both tables; proximity = (hull overlap + 1 / (1 + |mean_Y - mean_X| / |mean_X|)) / 2,
    averaged over numeric columns. Per column also Karr's overlap, its signed version (negative: how far disjoint
    intervals are apart) and the standardised difference of means. Weights: weighted means, standard errors at the
    effective sample size.
    """
    from scipy.stats import t

    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    made = [counted(pair, c) for c in names]

    def parts(column: Counted, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        levels = column.levels
        assert levels is not None
        (mean_x, sd_x), (mean_y, sd_y) = (
            distances.mean_and_sd(c, levels, n) for c, n in ((x, column.n_x), (y, column.n_y))
        )
        se_x, se_y = sd_x / np.sqrt(column.n_x), sd_y / np.sqrt(column.n_y)
        half_x = t.ppf(0.5 + confidence / 2, max(column.n_x - 1, 1)) * se_x
        half_y = t.ppf(0.5 + confidence / 2, max(column.n_y - 1, 1)) * se_y
        shared = overlaps(mean_x - half_x, mean_x + half_x, mean_y - half_y, mean_y + half_y)
        pooled = np.sqrt(0.5 * (se_x**2 + se_y**2))
        unit = np.where(np.abs(mean_x) < 1e-10, np.where(pooled > 0, pooled, 1.0), np.abs(mean_x))
        error = np.abs(mean_y - mean_x) / unit
        sd = np.sqrt(0.5 * (sd_x**2 + sd_y**2))
        return {
            "mean_x": mean_x,
            "mean_y": mean_y,
            "ci_x": (mean_x - half_x, mean_x + half_x),
            "ci_y": (mean_y - half_y, mean_y + half_y),
            "ci_overlap_union": shared["union"],
            "ci_overlap_karr": shared["karr"],
            "ci_overlap_avgwidth": shared["avgwidth"],
            "ci_overlap_signed": shared["signed"],
            "rel_error": error,
            "std_difference": np.divide(mean_y - mean_x, sd, out=np.zeros_like(sd), where=sd > 0),
            "ci_proximity": (shared["union"] + 1 / (1 + error)) / 2,
        }

    values = evaluate(made, lambda c, x, y: parts(c, x, y)["ci_proximity"])
    usable = [c for c, v in zip(made, values, strict=True) if np.isfinite(v) and min(c.n_x, c.n_y) >= 2]
    if not usable:
        return Result(None, reason="no numeric column has two values in both tables")
    null, _ = mean_null(
        pair,
        usable,
        lambda c, x, y: parts(c, x, y)["ci_proximity"],
        replicates=replicates,
        random_state=random_state,
        name="ci_proximity",
    )
    table: dict[str, Any] = {}
    for column in usable:
        found = parts(column, column.x[None, :], column.y[None, :])
        plain = {k: [float(e[0]) for e in v] if isinstance(v, tuple) else float(v[0]) for k, v in found.items()}
        table[column.name] = (plain["ci_proximity"], plain | {"n_x": column.n_x, "n_y": column.n_y})
    mean = float(np.mean([figure for figure, _ in table.values()]))
    karr = float(np.mean([p["ci_overlap_karr"] for _, p in table.values()]))
    hull = float(np.mean([p["ci_overlap_union"] for _, p in table.values()]))
    result = judged(
        mean,
        null,
        "higher",
        utility=mean,
        warnings=notes,
        details={
            "ci_proximity_mean": mean,
            "ci_overlap_karr_mean": karr,
            "ci_overlap_hull": hull,
            "n_columns": len(table),
        },
        sentence=f"Means and their {100 * confidence:g} % intervals agree to {number(mean, 3)} on average (Karr "
        f"overlap {number(karr, 3)})",
        plot_data={
            "intervals": [
                {"column": c, "table": who, "mean": p[f"mean_{s}"], "low": p[f"ci_{s}"][0], "high": p[f"ci_{s}"][1]}
                for c, (_, p) in table.items()
                for who, s in (("original", "x"), ("released", "y"))
            ]
        },
    )
    return with_columns(result, table)


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
    columns: Sequence[str] | None = None,
    estimator: str | Callable[[np.ndarray], float] = "median",
    confidence: float = 0.95,
    n_boot: int = 500,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Overlap of bootstrap intervals of any single figure ("median", "mean", "sd", "iqr" or a function), original
    against release.

    Percentile intervals from ``n_boot`` resamples of each table; the headline is Karr's overlap, the mean of
    |n|/|I_X| and |n|/|I_Y|, averaged over numeric columns. Per column also the hull overlap and ``ratioSE`` =
    |difference| / half the original's interval.
    """
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    statistic = _estimator(estimator)
    table: dict[str, Any] = {}
    fresh_bands = []
    for name in names:
        values = {}
        for which in ("original", "released"):
            present = pair.values(name, which)
            usable = np.isfinite(present) & ~pair.special_mask(name, which)
            weights = pair.weight_values(which)
            order = np.argsort(present[usable], kind="stable")
            values[which] = (present[usable][order], None if weights is None else weights[usable][order])
        if any(v.size < 2 for v, _ in values.values()):
            continue
        draws = {
            w: _bootstrap(*values[w], statistic, n_boot, generator(random_state, "ci_overlap", len(table)))
            for w in values
        }
        point = {w: statistic(_weighted_copy(*values[w])) for w in values}
        ends = {w: np.quantile(draws[w], [(1 - confidence) / 2, (1 + confidence) / 2]) for w in values}
        shared = {k: float(v) for k, v in overlaps(*ends["original"], *ends["released"]).items()}
        half = float(np.ptp(ends["original"])) / 2
        table[name] = (
            shared["karr"],
            {
                "ci_overlap_karr": shared["karr"],
                "ci_overlap_union": shared["union"],
                "ci_overlap_signed": shared["signed"],
                "estimate_x": point["original"],
                "estimate_y": point["released"],
                "ci_x": ends["original"],
                "ci_y": ends["released"],
                "ratioSE": abs(point["released"] - point["original"]) / half if half > 0 else None,
            },
        )
        fresh_bands.append(
            _overlap_null(
                draws["original"],
                values,
                confidence,
                replicates,
                generator(random_state, "ci_overlap null", len(table)),
            )
        )
    if not table:
        return Result(None, reason="no numeric column has two values in both tables")
    mean = float(np.mean([figure for figure, _ in table.values()]))
    null = (
        band(
            np.mean([f for f, _ in fresh_bands], axis=0),
            np.mean([c for _, c in fresh_bands], axis=0),
            f"{replicates} resamples of the original",
        )
        if replicates
        else None
    )
    spoken = estimator if isinstance(estimator, str) else getattr(estimator, "__name__", "estimate")
    result = judged(
        mean,
        null,
        "higher",
        utility=mean,
        warnings=notes,
        details={"ci_overlap_karr_mean": mean, "n_columns": len(table)},
        sentence=f"Intervals of the {spoken} overlap by {number(mean, 3)} on average",
        plot_data={
            "intervals": [
                {
                    "column": c,
                    "table": who,
                    "mean": p[f"estimate_{s}"],
                    "low": float(p[f"ci_{s}"][0]),
                    "high": float(p[f"ci_{s}"][1]),
                }
                for c, (_, p) in table.items()
                for who, s in (("original", "x"), ("released", "y"))
            ]
        },
    )
    return with_columns(result, table)


def _estimator(estimator: str | Callable[[np.ndarray], float]) -> Callable[[np.ndarray], float]:
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
    statistic: Callable[[np.ndarray], float],
    n_boot: int,
    rng: np.random.Generator,
) -> np.ndarray:
    base = _weighted_copy(values, weights)
    return np.array([statistic(base[rng.integers(0, len(base), len(base))]) for _ in range(n_boot)])


def _overlap_null(
    draws: np.ndarray,
    values: dict[str, tuple[np.ndarray, np.ndarray | None]],
    confidence: float,
    replicates: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps a perfect synthesiser would show: its interval is the original's, moved by the sampling error of the
    estimate.

    The bootstrap draws are that error; the release's is scaled by sqrt(n/m). Fresh: both intervals move; correct: one
    does.
    """
    n, m = len(values["original"][0]), len(values["released"][0])
    centre = float(np.mean(draws))
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2]) - centre
    scale = float(np.sqrt(n / m))
    shift_x = draws[rng.integers(0, len(draws), replicates)] - centre
    shift_y = scale * (draws[rng.integers(0, len(draws), replicates)] - centre)
    fresh = overlaps(low + shift_x, high + shift_x, scale * low + shift_y, scale * high + shift_y)["karr"]
    correct = overlaps(low, high, scale * low + shift_y, scale * high + shift_y)["karr"]
    return fresh, correct
