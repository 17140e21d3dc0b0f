"""Are the relations between pairs of columns kept? Correlations, Cramér's V and correlation ratios side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.margins import complete_rows
from glasshouse.engines.models.design import as_numbers
from glasshouse.utility.deals import POOL, Rows, pooled, resampled
from glasshouse.utility.figures import PRACTICALLY_ZERO, Columns, chosen, small
from glasshouse.utility.nulls import affordable, judged


@dataclass(frozen=True)
class Mixed:
    """Columns of one table: level codes [columns, records] (-1 missing), the numbers behind numeric ones, and
    weights.
    """

    names: tuple[str, ...]
    codes: np.ndarray
    levels: tuple[np.ndarray | None, ...]
    sizes: tuple[int, ...]
    weights: np.ndarray | None

    def take(self, rows: Rows) -> Mixed:
        """Some of the records."""
        if rows is None:
            return self
        weights = None if self.weights is None else self.weights[rows]
        return Mixed(self.names, np.take(self.codes, rows, axis=1), self.levels, self.sizes, weights)

    def beside(self, other: Mixed) -> Mixed:
        """The records of both; those without a weight count once."""
        weights = None
        if self.weights is not None:
            others = np.ones(other.codes.shape[1]) if other.weights is None else other.weights
            weights = pooled([self.weights, others])
        return Mixed(self.names, pooled([self.codes, other.codes], axis=1), self.levels, self.sizes, weights)

    def unweighted(self) -> Mixed:
        """The same records, each counting once."""
        return Mixed(self.names, self.codes, self.levels, self.sizes, None)

    def only(self, columns: Sequence[int]) -> Mixed:
        """Some of the columns."""
        return Mixed(
            tuple(self.names[j] for j in columns),
            self.codes[list(columns)],
            tuple(self.levels[j] for j in columns),
            tuple(self.sizes[j] for j in columns),
            self.weights,
        )


def mixed(pair: Pair, names: Sequence[str], table: str) -> Mixed:
    """Codes of the columns; special codes of numeric columns are missing values here."""
    codes, levels, sizes = [], [], []
    for name in names:
        found = pair.codes(name)
        array = found.of(table)
        codes.append(np.where(pair.special_mask(name, table), -1, array) if name in pair.special_codes else array)
        levels.append(as_numbers(found.levels) if pair.is_numeric(name) else None)
        sizes.append(found.n_levels)
    return Mixed(tuple(names), np.stack(codes), tuple(levels), tuple(sizes), pair.weight_values(table))


def associations(data: Mixed, method: str = "spearman", corrected: bool = False) -> np.ndarray:
    """Association of every pair of columns over the records that have both values, in the order of ``combinations``;
    NaN where it is undefined.

    Numbers: Pearson's or Spearman's r (signed). Categories: Cramér's V = sqrt(chi2 / (n (min(r, c) - 1))) without
    continuity correction; ``corrected`` removes its bias (Bergsma 2013). Mixed: correlation ratio eta, for two classes
    the absolute point-biserial correlation. With the Spearman method mixed pairs use ranks as well.
    """
    from glasshouse.engines.cells.margins_kernel import pair_moments
    from glasshouse.engines.cells.margins_tables import LARGEST, correlation_ratios, cramers_vs

    weights = np.ones(data.codes.shape[1]) if data.weights is None else data.weights
    numeric = np.array([j for j, levels in enumerate(data.levels) if levels is not None], np.int64)
    classes = np.array([j for j, levels in enumerate(data.levels) if levels is None], np.int64)
    columns = len(data.names)
    found = np.full((columns, columns), np.nan)
    if numeric.size:
        scales = [(data.codes[j], levels) for j, levels in enumerate(data.levels) if levels is not None]
        scores = np.stack([_scores(codes, levels, weights, method) for codes, levels in scales])
        first, second = np.triu_indices(numeric.size, 1)
        found[numeric[first], numeric[second]] = _correlations(pair_moments(scores, weights))
        for c in classes:
            etas = correlation_ratios(data.codes[c], data.sizes[c], scores, weights)
            found[np.minimum(c, numeric), np.maximum(c, numeric)] = etas
    if classes.size > 1:
        first, second = np.triu_indices(classes.size, 1)
        own = np.ascontiguousarray(data.codes[classes], dtype=np.int32)
        sizes = np.array([data.sizes[c] for c in classes], np.int64)
        cells = sizes[first] * sizes[second]
        most = max(1, min(LARGEST, int(cells.max())))
        values = cramers_vs(own, sizes, weights, corrected, most)
        for i in np.flatnonzero(cells > most):
            values[i] = _sparse_v(own[first[i]], own[second[i]], weights, corrected)
        found[classes[first], classes[second]] = values
    made: np.ndarray = found[np.triu_indices(columns, 1)]
    return made


def _sparse_v(a: np.ndarray, b: np.ndarray, weights: np.ndarray, corrected: bool) -> float:
    """Cramér's V of two columns of very many levels, over the levels that occur."""
    from glasshouse.engines.cells.margins_tables import v_from_phi2

    both = (a >= 0) & (b >= 0)
    _, j = np.unique(a[both], return_inverse=True)
    _, k = np.unique(b[both], return_inverse=True)
    if not j.size:
        return float("nan")
    width = int(k.max()) + 1
    cells, at = np.unique(j.astype(np.int64) * width + k, return_inverse=True)
    rows, columns, table = (np.bincount(codes, weights=weights[both]) for codes in (j, k, at))
    r, c, total = float((rows > 0).sum()), float((columns > 0).sum()), float(table.sum())
    if min(r, c) < 2 or total <= 1:
        return float("nan")
    seen = table > 0
    phi2 = float((table[seen] ** 2 / (rows[cells[seen] // width] * columns[cells[seen] % width])).sum()) - 1
    return float(v_from_phi2(phi2, r, c, total, corrected))


def _scores(codes: np.ndarray, scale: np.ndarray, weights: np.ndarray, method: str) -> np.ndarray:
    """The numbers of a column, or their average ranks, centred (sums of squares then lose no digits); NaN where
    missing.
    """
    present = codes >= 0
    counts = np.bincount(codes[present], weights=weights[present], minlength=len(scale))
    if method == "spearman":
        scale = np.cumsum(counts) - 0.5 * counts
    if not counts.sum() > 0:
        return np.full(len(codes), np.nan)
    made: np.ndarray = np.append(scale - (counts @ scale) / counts.sum(), np.nan)[codes]
    return made


def _correlations(sums: np.ndarray) -> np.ndarray:
    """r from rows of (w, wa, wb, waa, wbb, wab); NaN for a constant column."""
    total = np.where(sums[:, 0] > 0, sums[:, 0], 1.0)
    spread = (sums[:, 3] - sums[:, 1] ** 2 / total) * (sums[:, 4] - sums[:, 2] ** 2 / total)
    known = (sums[:, 0] > 0) & (spread > 1e-24 * sums[:, 3] * sums[:, 4])
    shared = sums[:, 5] - sums[:, 1] * sums[:, 2] / total
    made: np.ndarray = np.divide(shared, np.sqrt(np.maximum(spread, 0.0)), out=np.full(len(sums), np.nan), where=known)
    return made


class PairRow(TypedDict):
    """Two columns and how strongly they go together in each table; None where that is undefined."""

    a: str
    b: str
    kind: str
    original: float | None
    released: float | None
    difference: float


@measure(
    side="utility",
    family="dependence",
    better="lower",
    range=(0, 2),
    unit="correlation",
    group="joint",
    cite="Pearson (1895); Spearman (1904); Cramér (1946); Bergsma (2013) for the bias correction",
    caveats="pairs of columns only",
    tier="fast",
    wide="columns",
    on_map=True,
)
def association(
    pair: Pair,
    *,
    columns: Columns = None,
    method: str = "spearman",
    corrected: bool = False,
    missing: str = "pairwise",
    replicates: int = 30,
    random_state: RandomState = 0,
) -> Result:
    """Mean absolute difference between the association matrices of the original and of the release, for mixed
    columns.

    Numbers are compared by a correlation, categories by Cramér's V, a number and a category by the correlation ratio.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Columns to compare, at least two; default: all shared ones.
    method : {"spearman", "pearson"}, default "spearman"
        Correlation of numbers; with "spearman" mixed pairs use ranks as well.
    corrected : bool, default False
        Remove the bias of Cramér's V.
    missing : {"pairwise", "complete"}, default "pairwise"
        Use the records that have both values, or those with a value in every column.
    replicates : int, default 30
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is
        none. Fewer with very many pairs.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean over pairs of columns of the absolute difference, 0 is equal. ``details`` has ``pairs`` (the
        difference of each), the largest and the median one, ``frobenius`` (root of the sum of squares), Cramér's V of
        both tables and the mean differences of Pearson's and Spearman's r. ``to_frame`` has one row per pair.

    Notes
    -----
    Numbers: r (signed). Categories: V = sqrt(chi2 / (n (min(r, c) - 1))) without continuity correction. Mixed: the
    correlation ratio eta = sqrt(SS_between / SS_total), for two classes the absolute point-biserial correlation. A
    pair that is undefined in one table only (a column became constant) counts with the full association of the other.
    Weights are respected.

    References
    ----------
    Pearson (1895), Notes on regression and inheritance. Spearman (1904), The proof and measurement of association
    between two things. Cramér (1946), Mathematical Methods of Statistics. Bergsma (2013), A bias-correction for
    Cramér's V and Tschuprow's T.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.association(pair, replicates=10)
    >>> round(found.value, 3), found.details["n_pairs"]
    (0.029, 15)
    """
    if method not in ("spearman", "pearson"):
        raise InputError(f"method {method!r} is not known; use 'spearman' or 'pearson'")
    if missing not in ("pairwise", "complete"):
        raise InputError(f"missing={missing!r} is no rule here; use 'pairwise' or 'complete'")
    warnings: list[str] = []
    names = chosen(pair, columns, pair.columns, "shared", 2, notes=warnings, valued="one")
    x, y = (mixed(pair, names, table) for table in POOL)
    keep = None
    if missing == "complete":
        whole = [complete_rows(pair, names, table) for table in POOL]
        x, y = (side.take(np.flatnonzero(kept)) for side, kept in zip((x, y), whole, strict=True))
        keep = pooled(whole)
    if x.codes.shape[1] < 3 or y.codes.shape[1] < 3:
        raise NotApplicable(
            "fewer than three records are complete in these columns; use missing='pairwise'"
            if missing == "complete"
            else "an association needs at least three records in both tables"
        )
    found_x, found_y = associations(x, method, corrected), associations(y, method, corrected)
    gaps = _gaps(found_x, found_y)
    defined = np.isfinite(gaps)
    if not defined.any():
        raise NotApplicable("no pair of columns varies in both, so no association is defined")
    both, weigh_y = x.beside(y), y.weights is not None

    def mean_gap(rows_x: Rows, rows_y: Rows) -> float | None:
        sides = [
            found_x
            if rows is None
            else associations(both.take(rows) if weigh else both.take(rows).unweighted(), method, corrected)
            for rows, weigh in ((rows_x, True), (rows_y, weigh_y))
        ]
        between = _gaps(*sides)
        between = between[np.isfinite(between)]
        return float(between.mean()) if between.size else None

    replicates, fewer = affordable(replicates, len(gaps), "pairs of columns")
    warnings += fewer
    null = resampled(pair, mean_gap, replicates=replicates, random_state=random_state, keep=keep)
    first, second = np.triu_indices(len(names), 1)
    rows: list[PairRow] = [
        {
            "a": names[first[i]],
            "b": names[second[i]],
            "kind": _kind(x, int(first[i]), int(second[i]), method),
            "original": _known(found_x[i]),
            "released": _known(found_y[i]),
            "difference": float(gaps[i]),
        }
        for i in np.flatnonzero(defined)
    ]
    values = gaps[defined]
    mean = float(values.mean())
    details: dict[str, object] = {
        "mean_abs_diff": mean,
        "max_abs_diff": float(values.max()),
        "median_abs_diff": float(np.median(values)),
        "frobenius": float(np.sqrt((values**2).sum())),
        "n_pairs": len(rows),
        "null_replicates": replicates,
        "cramers_v": {f"{r['a']}|{r['b']}": [r["original"], r["released"]] for r in rows if r["kind"] == "cramers_v"},
        "pairs": {f"{r['a']}|{r['b']}": r["difference"] for r in rows},
    }
    numeric = [j for j, levels in enumerate(x.levels) if levels is not None]
    for kind in ("pearson", "spearman") if len(numeric) > 1 else ():
        own = _gaps(*(associations(d.only(numeric), kind) for d in (x, y)))
        own = own[np.isfinite(own)]
        details[f"{kind}_absdiff"] = float(own.mean()) if own.size else None
    worst = max(rows, key=lambda r: r["difference"])
    most = (
        ""
        if worst["difference"] < PRACTICALLY_ZERO
        else f", most for {worst['a']} and {worst['b']} ({small(worst['difference'])})"
    )
    return judged(
        mean,
        null,
        "lower",
        utility=1 - min(1.0, mean),
        details=details,
        table=rows,
        plot_data={"pairs": rows},
        warnings=warnings,
        sentence=f"Associations between columns differ by {small(mean)} on average{most}",
    )


def _gaps(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Absolute differences; an association that only one table has counts in full, NaN where neither has one."""
    gaps: np.ndarray = np.abs(np.nan_to_num(x, nan=0.0) - np.nan_to_num(y, nan=0.0))
    gaps[np.isnan(x) & np.isnan(y)] = np.nan
    return gaps


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _kind(data: Mixed, a: int, b: int, method: str) -> str:
    numeric = sum(data.levels[j] is not None for j in (a, b))
    return {0: "cramers_v", 1: "eta", 2: method}[numeric]
