"""Are the relations between pairs of columns kept? Correlations, Cramér's V and correlation ratios side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.engines.design import as_numbers
from glasshouse.engines.margins import Coded, complete_rows, count
from glasshouse.utility.figures import chosen
from glasshouse.utility.nulls import Rows, canonical_rows, judged, resampled


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
        if rows is None:
            return self
        weights = None if self.weights is None else self.weights[rows]
        return Mixed(self.names, self.codes[:, rows], self.levels, self.sizes, weights)


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


def cramers_v(table: np.ndarray, corrected: bool = False) -> float | None:
    """V = sqrt(chi2 / (n (min(r, c) - 1))), no continuity correction; ``corrected`` removes the bias (Bergsma 2013)."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    r, c = table.shape
    n = table.sum()
    if min(r, c) < 2 or n <= 1:
        return None
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    phi2 = float(((table - expected) ** 2 / expected).sum() / n)
    if not corrected:
        return float(np.sqrt(phi2 / (min(r, c) - 1)))
    phi2 = max(0.0, phi2 - (r - 1) * (c - 1) / (n - 1))
    r, c = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    return float(np.sqrt(phi2 / max(min(r, c) - 1, 1e-12)))


def associations(data: Mixed, method: str = "spearman", corrected: bool = False) -> dict[tuple[int, int], float | None]:
    """Association of every pair of columns over the records that have both values.

    Numbers: Pearson's or Spearman's r (signed). Categories: Cramér's V. Mixed: correlation ratio eta, for two classes
    the absolute point-biserial correlation. With the Spearman method mixed pairs use ranks as well.
    """
    from glasshouse.engines.margins_kernel import class_moments, pair_moments

    weights = np.ones(data.codes.shape[1]) if data.weights is None else data.weights
    numeric = [j for j, levels in enumerate(data.levels) if levels is not None]
    classes = [j for j, levels in enumerate(data.levels) if levels is None]
    found: dict[tuple[int, int], float | None] = dict.fromkeys(combinations(range(len(data.names)), 2))
    if numeric:
        scores = np.stack([_scores(data, j, weights, method) for j in numeric])
        for (a, b), sums in zip(combinations(numeric, 2), pair_moments(scores, weights), strict=True):
            found[a, b] = _correlation(sums)
        for c in classes:
            for j, sums in zip(numeric, class_moments(data.codes[c], data.sizes[c], scores, weights), strict=True):
                found[min(c, j), max(c, j)] = _eta(sums)
    if len(classes) > 1:
        # row and column 0 of each table take the missing values
        shifted = np.ascontiguousarray(data.codes[classes] + 1, dtype=np.int32)
        sizes = tuple(data.sizes[c] + 1 for c in classes)
        coded = Coded(tuple(data.names[c] for c in classes), shifted, sizes, data.weights)
        for a, b in combinations(range(len(classes)), 2):
            table = count(coded, (a, b)).reshape(sizes[a], sizes[b])[1:, 1:]
            found[classes[a], classes[b]] = cramers_v(table, corrected)
    return found


def _scores(data: Mixed, j: int, weights: np.ndarray, method: str) -> np.ndarray:
    """The numbers of a column, or their average ranks, centred (sums of squares then lose no digits); NaN where
    missing.
    """
    codes, scale = data.codes[j], data.levels[j]
    assert scale is not None
    present = codes >= 0
    counts = np.bincount(codes[present], weights=weights[present], minlength=len(scale))
    if method == "spearman":
        scale = np.cumsum(counts) - 0.5 * counts
    if not counts.sum() > 0:
        return np.full(len(codes), np.nan)
    return np.append(scale - (counts @ scale) / counts.sum(), np.nan)[codes]


def _correlation(sums: np.ndarray) -> float | None:
    """r from (w, wa, wb, waa, wbb, wab); None for a constant column."""
    total = sums[0]
    if total <= 0:
        return None
    spread = (sums[3] - sums[1] ** 2 / total) * (sums[4] - sums[2] ** 2 / total)
    small = 1e-24 * sums[3] * sums[4]
    return float((sums[5] - sums[1] * sums[2] / total) / np.sqrt(spread)) if spread > small else None


def _eta(sums: np.ndarray) -> float | None:
    """eta = sqrt(between / total sum of squares) from (w, wa, waa) per class; None for a constant column or one
    class.
    """
    sums = sums[sums[:, 0] > 0]
    if len(sums) < 2:
        return None
    middle = sums[:, 1].sum() ** 2 / sums[:, 0].sum()
    between = float((sums[:, 1] ** 2 / sums[:, 0]).sum() - middle)
    whole = float(sums[:, 2].sum() - middle)
    return float(np.sqrt(min(1.0, max(0.0, between) / whole))) if whole > 1e-12 * sums[:, 2].sum() else None


@measure(
    side="utility",
    family="dependence",
    better="lower",
    range=(0, 2),
    unit="correlation",
    group="joint",
    cite="Pearson (1895); Spearman (1904); Cramér (1946); Bergsma (2013) for the bias correction",
    limits="pairs of columns only",
)
def association(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    method: str = "spearman",
    corrected: bool = False,
    missing: str = "pairwise",
    replicates: int = 30,
    random_state: RandomState = 0,
) -> Result:
    """Mean absolute difference between the association matrices of the original and of the release, for mixed
    columns.

    Numbers: Spearman's or Pearson's r; categories: Cramér's V (``corrected=True``: bias-corrected); mixed:
    correlation ratio. ``missing="pairwise"`` uses the records that have both values, "complete" those with a value in
    every column. A pair that is undefined in one table only (a column became constant) counts with the full
    association of the other.
    """
    if method not in ("spearman", "pearson"):
        raise InputError(f"method {method!r} is not known; use 'spearman' or 'pearson'")
    if missing not in ("pairwise", "complete"):
        raise InputError(f"missing={missing!r} is no rule here; use 'pairwise' or 'complete'")
    names = chosen(pair, columns, pair.columns, "shared", 2)
    x, y = (mixed(pair, names, table) for table in ("original", "released"))
    keep = np.ones(pair.n("original"), bool)
    if missing == "complete":
        keep = complete_rows(pair, names)
        x, y = x.take(np.flatnonzero(keep)), y.take(np.flatnonzero(complete_rows(pair, names, "released")))
    position, base = np.cumsum(keep) - 1, canonical_rows(pair, keep)
    if len(base) < 3 or y.codes.shape[1] < 3:
        raise NotApplicable("fewer than three records are complete in these columns; use missing='pairwise'")
    found_x, found_y = associations(x, method, corrected), associations(y, method, corrected)
    gaps = _gaps(found_x, found_y)
    if not gaps:
        raise NotApplicable("no pair of columns varies in both, so no association is defined")
    ready = position if missing == "complete" else np.arange(len(keep))

    def mean_gap(rows_x: Rows, rows_y: Rows) -> float | None:
        sides = [
            found_x if rows is base else associations(x.take(ready[rows]), method, corrected)
            for rows in (rows_x, rows_y)
        ]
        between = _gaps(*sides)
        return float(np.mean(list(between.values()))) if between else None

    null = resampled(
        pair,
        mean_gap,
        replicates=replicates,
        random_state=random_state,
        name="association",
        rows=base,
        m=y.codes.shape[1],
    )
    rows: list[dict[str, Any]] = [
        {
            "a": names[a],
            "b": names[b],
            "kind": _kind(x, a, b, method),
            "original": found_x[a, b],
            "released": found_y[a, b],
            "difference": gap,
        }
        for (a, b), gap in gaps.items()
    ]
    values = np.array(list(gaps.values()))
    details: dict[str, Any] = {
        "mean_abs_diff": float(values.mean()),
        "max_abs_diff": float(values.max()),
        "median_abs_diff": float(np.median(values)),
        "frobenius": float(np.sqrt((values**2).sum())),
        "n_pairs": len(rows),
        "cramers_v": {f"{r['a']}|{r['b']}": [r["original"], r["released"]] for r in rows if r["kind"] == "cramers_v"},
        "pairs": {f"{r['a']}|{r['b']}": r["difference"] for r in rows},
    }
    numeric = [j for j, levels in enumerate(x.levels) if levels is not None]
    for kind in ("pearson", "spearman") if len(numeric) > 1 else ():
        both = [
            associations(
                Mixed(
                    tuple(names[j] for j in numeric),
                    d.codes[numeric],
                    tuple(d.levels[j] for j in numeric),
                    tuple(d.sizes[j] for j in numeric),
                    d.weights,
                ),
                kind,
            )
            for d in (x, y)
        ]
        own = list(_gaps(*both).values())
        details[f"{kind}_absdiff"] = float(np.mean(own)) if own else None
    worst = max(rows, key=lambda r: r["difference"])
    mean = details["mean_abs_diff"]
    return judged(
        mean,
        null,
        "lower",
        utility=1 - min(1.0, mean),
        details=details,
        table=rows,
        plot_data={"pairs": rows},
        sentence=f"Associations between columns differ by {number(mean, 3)} on average, most for {worst['a']} and "
        f"{worst['b']} ({number(worst['difference'], 3)})",
    )


def _gaps(
    x: dict[tuple[int, int], float | None], y: dict[tuple[int, int], float | None]
) -> dict[tuple[int, int], float]:
    made = {}
    for key, first in x.items():
        second = y[key]
        if first is not None or second is not None:
            made[key] = abs((first or 0.0) - (second or 0.0))
    return made


def _kind(data: Mixed, a: int, b: int, method: str) -> str:
    numeric = sum(data.levels[j] is not None for j in (a, b))
    return {0: "cramers_v", 1: "eta", 2: method}[numeric]
