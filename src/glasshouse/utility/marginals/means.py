"""Would an analyst who estimates a mean reach the same interval on the release?"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from glasshouse.core.intervals import normal_quantile
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.arrays import LARGEST
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import ColumnFigures, Columns, chosen, require_numeric, with_columns
from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.counts import Counted, counted, evaluate, mean_null
from glasshouse.utility.nulls import judged

Ends: TypeAlias = "float | np.ndarray"


def overlaps(low_x: Ends, high_x: Ends, low_y: Ends, high_y: Ends) -> dict[str, np.ndarray]:
    """Notions of interval overlap used in the field.

    Parameters
    ----------
    low_x, high_x, low_y, high_y
        Ends of the intervals in original (x) and release (y), numbers or arrays of one shape.

    Returns
    -------
    dict
        ``union``: |I_X n I_Y| / length of their hull. ``karr``: mean of |n| / |I_X| and |n| / |I_Y|. ``avgwidth``:
        |n| / mean length. ``signed``: Karr's version with the gap of disjoint intervals as a negative length (Karr et
        al. 2006).
    """
    low_x, high_x, low_y, high_y = (np.asarray(v, float) for v in (low_x, high_x, low_y, high_y))
    signed = np.minimum(high_x, high_y) - np.maximum(low_x, low_y)
    shared = np.maximum(signed, 0.0)
    hull = np.maximum(high_x, high_y) - np.minimum(low_x, low_y)
    long_x, long_y = high_x - low_x, high_y - low_y
    same = (low_x == low_y) & (high_x == high_y)

    def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # a gap of so many times a tiny length that no number tells it
            found = np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)
        return np.where(same, 1.0, np.maximum(found, -LARGEST))

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
    influence="free",
    wide="numeric",
    grows="values",
)
def ci_proximity(
    pair: Pair,
    *,
    columns: Columns = None,
    confidence: float = 0.95,
    replicates: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Do the confidence intervals of column means agree, and are the means themselves close?

    Half of the score is how far the two intervals overlap, half how small the relative error of the mean is.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns; default: all of them.
    confidence : float, default 0.95
        Level of the t intervals.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean proximity over columns, 0 to 1, 1 is equal. ``details["columns"]`` has per column the means and
        intervals of both tables, the overlaps of :func:`overlaps`, the relative error and the standardised difference
        of means; ``ci_overlap_karr_mean`` is the mean of Karr's overlap.

    Notes
    -----
    proximity = (|I_X n I_Y| / hull + 1 / (1 + |mean_Y - mean_X| / |mean_X|)) / 2. A mean of 0 is replaced as the unit
    by the pooled standard error. Weights: weighted means, standard errors at the effective sample size.

    References
    ----------
    Karr, Kohnen, Oganian, Reiter & Sanil (2006), A framework for evaluating the utility of data altered to protect
    confidentiality. The proximity is that of the R package riskutility.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.ci_proximity(pair, replicates=20)
    >>> round(found.value, 3), round(found.details["ci_overlap_karr_mean"], 3)
    (0.765, 0.678)
    """
    notes: list[str] = []
    names = chosen(pair, columns, pair.numeric, "numeric", notes=notes, valued="both")
    require_numeric(pair, names)
    made = [counted(pair, c) for c in names]

    def proximity(column: Counted, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return _compared_means(column, x, y, confidence)["ci_proximity"]

    values = evaluate(made, proximity)
    usable = [c for c, v in zip(made, values, strict=True) if np.isfinite(v) and min(c.n_x, c.n_y) >= 2]
    if not usable:
        return Result(None, reason="no numeric column has two values in both tables")
    null, _ = mean_null(pair, usable, proximity, replicates=replicates, random_state=random_state)
    found: dict[str, dict[str, float]] = {}
    table: ColumnFigures = {}
    for column in usable:
        arrays = _compared_means(column, column.x[None, :], column.y[None, :], confidence)
        own = found[column.name] = {name: float(array[0]) for name, array in arrays.items()}
        ends = {f"ci_{s}": [own[f"low_{s}"], own[f"high_{s}"]] for s in ("x", "y")}
        others = {name: figure for name, figure in own.items() if not name.startswith(("low_", "high_"))}
        table[column.name] = (own["ci_proximity"], {**others, **ends, "n_x": column.n_x, "n_y": column.n_y})

    def mean_of(name: str) -> float:
        return float(np.mean([own[name] for own in found.values()]))

    mean, karr = mean_of("ci_proximity"), mean_of("ci_overlap_karr")
    result = judged(
        mean,
        null,
        "higher",
        utility=mean,
        warnings=notes,
        details={
            "ci_proximity_mean": mean,
            "ci_overlap_karr_mean": karr,
            "ci_overlap_hull": mean_of("ci_overlap_union"),
            "n_columns": len(table),
        },
        sentence=f"Means and their {100 * confidence:g} % intervals agree to {number(mean, 3)} on average (Karr "
        f"overlap {number(karr, 3)})",
        plot_data={
            "intervals": [
                {"column": c, "table": who, "mean": p[f"mean_{s}"], "low": p[f"low_{s}"], "high": p[f"high_{s}"]}
                for c, p in found.items()
                for who, s in (("original", "x"), ("released", "y"))
            ]
        },
    )
    return with_columns(result, table)


def _compared_means(column: Counted, x: np.ndarray, y: np.ndarray, confidence: float) -> dict[str, np.ndarray]:
    """Means, t intervals, overlaps and errors for counts [r, K] of both tables, one entry per row."""
    from scipy.stats import t

    (mean_x, sd_x), (mean_y, sd_y) = (
        distances.mean_and_sd(c, column.numbers, n) for c, n in ((x, column.n_x), (y, column.n_y))
    )
    se_x, se_y = sd_x / np.sqrt(column.n_x), sd_y / np.sqrt(column.n_y)
    normal_quantile(confidence)  # refuses a level that is none
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
        "low_x": mean_x - half_x,
        "high_x": mean_x + half_x,
        "low_y": mean_y - half_y,
        "high_y": mean_y + half_y,
        "ci_overlap_union": shared["union"],
        "ci_overlap_karr": shared["karr"],
        "ci_overlap_avgwidth": shared["avgwidth"],
        "ci_overlap_signed": shared["signed"],
        "rel_error": error,
        "std_difference": np.divide(mean_y - mean_x, sd, out=np.zeros_like(sd), where=sd > 0),
        "ci_proximity": (shared["union"] + 1 / (1 + error)) / 2,
    }
