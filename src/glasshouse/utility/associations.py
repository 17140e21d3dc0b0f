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
    scores: list[np.ndarray | None] = []
    weights = np.ones(data.codes.shape[1]) if data.weights is None else data.weights
    for j, numbers in enumerate(data.levels):
        if numbers is None:
            scores.append(None)
            continue
        present = data.codes[j] >= 0
        scale = _midranks(data.codes[j], weights, len(numbers)) if method == "spearman" else numbers
        scores.append(np.where(present, scale[np.maximum(data.codes[j], 0)] if len(scale) else 0.0, np.nan))
    found: dict[tuple[int, int], float | None] = {}
    for a, b in combinations(range(len(data.names)), 2):
        first, second = scores[a], scores[b]
        if first is not None and second is not None:
            found[a, b] = _correlation(first, second, weights)
        elif first is None and second is None:
            found[a, b] = _cramer_of(data, a, b, corrected)
        else:
            number_of, class_of = (first, b) if first is not None else (second, a)
            assert number_of is not None
            found[a, b] = _eta(number_of, data.codes[class_of], data.sizes[class_of], weights)
    return found


def _midranks(codes: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Average rank of every level, from its (weighted) count."""
    present = codes >= 0
    counts = np.bincount(codes[present], weights=weights[present], minlength=size)
    made: np.ndarray = np.cumsum(counts) - 0.5 * counts
    return made


def _correlation(a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> float | None:
    known = ~(np.isnan(a) | np.isnan(b))
    if not known.all():
        a, b, weights = a[known], b[known], weights[known]
    total = weights.sum()
    if total <= 0 or a.size < 3:
        return None
    a, b = a - (weights @ a) / total, b - (weights @ b) / total
    spread = np.sqrt((weights @ (a * a)) * (weights @ (b * b)))
    return float((weights @ (a * b)) / spread) if spread > 1e-300 else None


def _eta(numbers: np.ndarray, classes: np.ndarray, size: int, weights: np.ndarray) -> float | None:
    known = (classes >= 0) & ~np.isnan(numbers)
    if not known.all():
        numbers, classes, weights = numbers[known], classes[known], weights[known]
    total = weights.sum()
    if total <= 0 or numbers.size < 3:
        return None
    numbers = numbers - (weights @ numbers) / total
    mass = np.bincount(classes, weights=weights, minlength=size)
    sums = np.bincount(classes, weights=weights * numbers, minlength=size)
    whole = float(weights @ (numbers * numbers))
    if whole <= 1e-300 or (mass > 0).sum() < 2:
        return None
    between = float((sums[mass > 0] ** 2 / mass[mass > 0]).sum())
    return float(np.sqrt(min(1.0, between / whole)))


def _cramer_of(data: Mixed, a: int, b: int, corrected: bool) -> float | None:
    shifted = np.ascontiguousarray(data.codes[[a, b]] + 1).astype(np.int32)  # row and column 0 take the missing values
    table = count(Coded(("a", "b"), shifted, (data.sizes[a] + 1, data.sizes[b] + 1), data.weights), (0, 1))
    return cramers_v(table.reshape(data.sizes[a] + 1, data.sizes[b] + 1)[1:, 1:], corrected)


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
