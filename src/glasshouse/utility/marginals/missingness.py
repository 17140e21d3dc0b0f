"""Are values missing as often, and together, as in the original?"""

from __future__ import annotations

import numpy as np

from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.deals import POOL, Rows, pooled_weights, resampled
from glasshouse.utility.figures import ColumnFigures, Columns, chosen, with_columns
from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.counts import SideBySide, effective_size
from glasshouse.utility.nulls import judged

WORST_PATTERNS = 10
BITS = 32  # columns whose missing values become one number; ranks of as many records as there may be fit beside them


@measure(
    side="utility",
    family="marginals",
    better="lower",
    unit="share",
    cite="synthpop compare(); pattern comparison after Rubin (1976)",
    caveats="says that values are missing alike, not that they are missing for the same people",
    tier="fast",
    on_map=True,
    influence="share",
    wide="columns",
    grows="values",
)
def missingness(pair: Pair, *, columns: Columns = None, replicates: int = 200, random_state: RandomState = 0) -> Result:
    """Do the same columns have missing values, as often and in the same combinations?

    Two tables can agree column by column and still differ in which values are missing together, so the headline
    compares whole patterns.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Columns to look at; default: all.
    replicates : int, default 200
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the draws.

    Returns
    -------
    Result
        ``value``: share of records whose pattern would have to change, 0 to 1. ``details["columns"]`` has per column
        the shares of missing values (``missing_x``, ``missing_y``) and their gap; ``patterns`` the patterns that
        differ most; ``expected_tv`` what is expected of a fresh sample.

    Notes
    -----
    A pattern is the set of columns in which a record has no value. value = 1/2 sum |p - q| over patterns, p and q
    their shares in original and release (total variation distance). Special codes are missing values here. Weights
    are respected.

    References
    ----------
    The column shares are those of synthpop's compare(). Rubin (1976), Inference and missing data, on patterns.

    Examples
    --------
    >>> import glasshouse as gh
    >>> import polars as pl
    >>> original = pl.DataFrame({"age": [30, None, 40, 50], "income": [1, None, None, 4]})
    >>> released = pl.DataFrame({"age": [30, None, 40, 50], "income": [None, 2, None, 4]})
    >>> found = gh.utility.missingness(original, released, replicates=0)
    >>> found.value, found.details["columns"]["income"]["figure"]
    (0.5, 0.0)
    """
    names = chosen(pair, columns, pair.columns, "shared")
    absent, weights = {}, {}
    for which in POOL:
        parts = []
        for name in names:
            gone = pair.codes(name).of(which) < 0
            parts.append(gone | pair.special_mask(name, which) if name in pair.special_codes else gone)
        absent[which] = np.stack(parts, axis=1)
        given = pair.weight_values(which)
        weights[which] = np.ones(pair.n(which)) if given is None else given
    involved = [j for j in range(len(names)) if any(absent[w][:, j].any() for w in absent)]
    patterns, at, counts = _patterns({w: absent[w][:, involved] for w in absent}, weights)
    value = float(distances.total_variation(counts["original"], counts["released"]))
    n, m = (effective_size(weights[w]) for w in ("original", "released"))
    shares = counts["original"] / counts["original"].sum()
    side = SideBySide(at[:, None].astype(np.int32), np.array([len(patterns)]), pooled_weights(pair))

    def between(rows_x: Rows, rows_y: Rows) -> float:
        sides = [
            counts["original"] if rows is None else side.count(rows, weigh)
            for rows, weigh in ((rows_x, True), (rows_y, pair.weight_values("released") is not None))
        ]
        return float(distances.total_variation(*sides))

    null = resampled(pair, between, replicates=replicates, random_state=random_state)
    table: ColumnFigures = {}
    gaps = []
    for j, name in enumerate(names):
        sides = {w: float(np.average(absent[w][:, j], weights=weights[w])) for w in absent}
        gap = abs(sides["released"] - sides["original"])
        gaps.append(gap)
        table[name] = (gap, {"missing_x": sides["original"], "missing_y": sides["released"], "similarity": 1 - gap})
    order = np.argsort(-np.abs(shares - counts["released"] / counts["released"].sum()), kind="stable")[:WORST_PATTERNS]
    worst = [
        {
            "missing": [names[involved[j]] for j in np.flatnonzero(patterns[i])],
            "share_x": float(shares[i]),
            "share_y": float(counts["released"][i] / counts["released"].sum()),
        }
        for i in order
    ]
    details = {
        "pattern_tv": value,
        "mean_difference": float(np.mean(gaps)),
        "n_patterns": len(patterns),
        "columns_with_missing": len(involved),
        "expected_tv": distances.expected_tv(shares, n, m),
        "patterns": worst,
    }
    result = judged(
        value,
        null,
        "lower",
        utility=1 - value,
        details=details,
        sentence=f"Missing-value patterns differ for {percent(value, 2)} of the records",
    )
    return with_columns(result, table)._copy(
        of=min(pair.n(w) for w in POOL)
    )  # a missing value counts here like any other


def _patterns(
    absent: dict[str, np.ndarray], weights: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Distinct patterns over both tables, the pattern of every record of the pool, and (weighted) counts in each."""
    if absent["original"].shape[1] == 0:
        records = sum(len(table) for table in absent.values())
        return np.zeros((1, 0), bool), np.zeros(records, np.int64), {w: np.array([weights[w].sum()]) for w in absent}
    stacked = np.concatenate([absent["original"], absent["released"]])
    # a pattern as a number: bits of a few columns at a time, ranked where the next ones would not fit
    at = np.zeros(len(stacked), np.int64)
    for begin in range(0, stacked.shape[1], BITS):
        some = stacked[:, begin : begin + BITS]
        at = np.unique((at << some.shape[1]) | (some @ (1 << np.arange(some.shape[1])[::-1])), return_inverse=True)[1]
    first = np.zeros(int(at.max(initial=-1)) + 1, np.int64)
    first[at[::-1]] = np.arange(len(at))[::-1]
    n = len(absent["original"])
    counts = {
        "original": np.bincount(at[:n], weights=weights["original"], minlength=len(first)),
        "released": np.bincount(at[n:], weights=weights["released"], minlength=len(first)),
    }
    return stacked[first], at, counts
