"""Are the cross-tabulations of the original kept? The most telling single picture of what a synthesis lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.margins import Coded, coded, complete_rows, count_both
from glasshouse.utility.figures import chosen, small
from glasshouse.utility.joint.table_statistics import every_ratio, every_table
from glasshouse.utility.marginals import distances
from glasshouse.utility.nulls import Band, Rows, affordable, band, canonical_rows, draw, judged, resampled

WAYS = {1: "oneway", 2: "twoway", 3: "threeway"}
MEMORISED, MODERATE, POOR = 0.3, 3.0, 10.0


@measure(
    side="utility",
    family="dependence",
    better="lower",
    range=(0, None),
    unit="S_pMSE",
    private=("worst_cells",),
    group="joint",
    cite="Raab, Nowok & Dibben (2021), Assessing, visualizing and improving the utility of synthetic data; Voas & "
    "Williamson (2001)",
    caveats="sees relations of up to three columns; numbers only in coarse groups",
    tier="fast",
    wide="columns",
    on_map=True,
)
def table_utility(
    pair: Pair,
    *,
    order: int = 2,
    columns: Sequence[str] | None = None,
    groups: int = 5,
    missing: str = "level",
    worst: int = 5,
    max_tables: int = 50_000,
    replicates: int = 50,
    random_state: RandomState = 0,
) -> Result:
    """How well all one-, two- or three-way tables of the original are kept; the headline is the worst table.

    For each table the statistics of synthpop's utility tables; numbers are cut at pooled quantiles into ``groups``,
    missing is a level of its own. S_pMSE = VW / df is near 1 for correct synthesis, near 2 for a fresh sample, far
    above when a relation is lost and far below when the release copies the original. ``details["tables"]`` has one
    entry per table, ``worst`` the worst of them, ``by_column`` each column's mean. With one table its statistics
    stand in ``details`` themselves.
    """
    if order not in WAYS:
        raise InputError(f"order must be 1, 2 or 3 (one-, two- or three-way tables), not {order}")
    if missing not in ("level", "drop"):
        raise InputError(f"missing={missing!r} is no rule here; use 'level' or 'drop'")
    warnings: list[str] = []
    names = chosen(pair, columns, pair.columns, "shared", order, notes=warnings, valued="one")
    wanted, fewer = _wanted(len(names), order, max_tables, random_state)
    warnings += fewer
    x, y = (coded(pair, names, table, groups, missing) for table in ("original", "released"))
    if not x.n or not y.n:
        raise NotApplicable("no record has a value in all of these columns; use missing='level'")
    rows: list[dict[str, Any]] = [
        {
            "table": ":".join(names[j] for j in which),
            **{f"column{k + 1}": names[j] for k, j in enumerate(which)},
            **found,
            "empty_cells": math.prod(x.sizes[j] for j in which) - int(found["df"] or 0) - 1,
        }
        for which, found in zip(wanted, every_table(x, y, wanted), strict=True)
    ]
    scores = np.array([np.nan if r["S_pMSE"] is None else r["S_pMSE"] for r in rows], float)
    if not np.isfinite(scores).any():
        raise NotApplicable("every column has one level only, so there is nothing to tabulate")
    replicates, fewer = affordable(replicates, len(wanted), "tables")
    warnings += fewer
    null, null_median = _table_null(pair, x, y, wanted, replicates, random_state, names, missing)
    ranked = np.argsort(-np.nan_to_num(scores, nan=-1.0), kind="stable")[:worst]
    way = WAYS[order]
    top, middle = float(np.nanmax(scores)), float(np.nanmedian(scores))
    details: dict[str, Any] = {
        f"{way}_S_pMSE_max": top,
        f"{way}_S_pMSE_median": middle,
        "mean": float(np.nanmean(scores)),
        "n_tables": len(rows),
        "null_replicates": replicates,
        "worst": [rows[i]["table"] for i in ranked],
        "by_column": _by_column(wanted, scores, names),
        "share_above_3": float(np.nanmean(scores > MODERATE)),
        "share_above_10": float(np.nanmean(scores > POOR)),
        "tables": {
            r["table"]: {k: v for k, v in r.items() if k != "table" and not k.startswith("column")} for r in rows
        },
        "worst_cells": _worst_cells(pair, x, y, wanted[int(ranked[0])], groups),
    }
    if null_median is not None:
        details |= {"median_null_low": null_median.low, "median_null_high": null_median.high}
    if len(rows) == 1:
        details |= {k: v for k, v in rows[0].items() if not k.startswith(("table", "column"))} | {
            "JSD_bits": rows[0]["JSD"]
        }
        details |= _on_original_support(x, y, wanted[0])
    return judged(
        top,
        null,
        "lower",
        utility=1 / max(1.0, top / 2),
        details=details,
        sentence=f"The worst of {len(rows)} {order}-way tables, {rows[int(ranked[0])]['table']}, has S_pMSE "
        f"{small(top)} (median table {small(middle)})"
        if len(rows) > 1
        else f"The {order}-way table {rows[0]['table']} has S_pMSE {small(top)}",
        warnings=warnings,
        table=rows,
        plot_data={
            "order": order,
            "scores": [
                {"a": r["column1"], "b": r.get("column2", r["column1"]), "c": r.get("column3"), "S_pMSE": r["S_pMSE"]}
                for r in rows
            ],
        },
    )


def _wanted(n: int, order: int, limit: int, random_state: RandomState) -> tuple[list[tuple[int, ...]], list[str]]:
    every = list(combinations(range(n), order))
    if len(every) <= limit:
        return every, []
    picked = np.sort(generator(random_state, "table_utility", "tables").choice(len(every), limit, replace=False))
    return [every[i] for i in picked], [
        f"{limit:,} of {len(every):,} tables were drawn at random; raise max_tables for all of them"
    ]


def _table_null(
    pair: Pair,
    x: Coded,
    y: Coded,
    wanted: Sequence[tuple[int, ...]],
    replicates: int,
    random_state: RandomState,
    names: Sequence[str],
    missing: str,
) -> tuple[Band | None, Band | None]:
    """Bands of the largest and of the median S_pMSE; all tables of a replicate come from the same resample."""
    if not replicates:
        return None, None
    weighted = y.weights is not None
    keep = complete_rows(pair, names) if missing == "drop" else np.ones(pair.n("original"), bool)
    position = np.cumsum(keep) - 1
    base = canonical_rows(pair, keep)
    tables = np.asarray(wanted, np.int64)

    def largest(one: Coded, other: Coded) -> tuple[float, float]:
        found = every_ratio(one, other, tables)
        found = found[np.isfinite(found)]
        return (float(found.max()), float(np.median(found))) if found.size else (np.nan, np.nan)

    fresh, correct = [], []
    for r in range(replicates):
        rng = generator(random_state, "null", "table_utility", r)
        plain = base[rng.integers(0, len(base), x.n)]
        sides = [x.take(position[draw(pair, base, y.n, rng)]) for _ in range(2)]
        sides = sides if weighted else [side.unweighted() for side in sides]
        fresh.append(largest(x.take(position[plain]), sides[0]))
        correct.append(largest(x, sides[1]))
    how = f"{replicates} resamples of the original"
    return tuple(band([f[i] for f in fresh], [c[i] for c in correct], how) for i in range(2))  # type: ignore[return-value]


def _on_original_support(x: Coded, y: Coded, which: tuple[int, ...]) -> dict[str, float | int]:
    """Goodness of fit of the release to the original's shares on the original's cells, and the invented cells."""
    d, s = count_both(x, y, which)
    seen = d > 0
    expected = d[seen] / d.sum() * s.sum()
    return {
        "pearson_chi2_on_original_support": float(((s[seen] - expected) ** 2 / expected).sum()),
        "df_pearson": int(seen.sum()) - 1,
        "n_cells_new": int((~seen).sum()),
    }


def _by_column(wanted: Sequence[tuple[int, ...]], scores: np.ndarray, names: Sequence[str]) -> dict[str, float | None]:
    """Mean score of the tables each column stands in."""
    known = np.isfinite(scores)
    members = np.asarray(wanted, np.int64)[known]
    repeated = np.repeat(scores[known], members.shape[1])
    totals = np.bincount(members.ravel(), weights=repeated, minlength=len(names))
    counts = np.bincount(members.ravel(), minlength=len(names))
    return {name: float(totals[j] / counts[j]) if counts[j] else None for j, name in enumerate(names)}


def _worst_cells(
    pair: Pair, x: Coded, y: Coded, which: tuple[int, ...], groups: int, top: int = 10
) -> list[dict[str, Any]]:
    """Cells of one table with the largest |zdiff|, z = (s - d c/(1-c)) / sqrt((s+d) c)."""
    from glasshouse.engines.cells.grouping import quantile_groups
    from glasshouse.engines.cells.margins import DENSE, count

    sizes = [x.sizes[j] for j in which]
    if int(np.prod(sizes, dtype=np.int64)) > DENSE:
        return []
    d, s = count(x, which), count(y, which)
    c = s.sum() / (s.sum() + d.sum())
    expect = (s + d) * c
    z = np.divide(s - d * c / (1 - c), np.sqrt(expect), out=np.zeros_like(expect), where=expect > 0)
    labels = []
    for j in which:
        name = x.names[j]
        cut = pair.is_numeric(name) and pair.codes(name).n_levels > 0
        levels = quantile_groups(pair, name, groups).levels if cut else pair.codes(name).levels
        labels.append([*[str(v) for v in levels], "missing"])
    made = []
    for at in np.argsort(-np.abs(z), kind="stable")[:top]:
        if expect[at] == 0:
            break
        place = np.unravel_index(int(at), sizes)
        made.append(
            {
                **{x.names[j]: labels[k][place[k]] for k, j in enumerate(which)},
                "original": float(d[at]),
                "released": float(s[at]),
                "zdiff": float(z[at]),
            }
        )
    return made


@measure(
    side="utility",
    family="dependence",
    better="higher",
    needs=("categorical",),
    group="joint",
    cite="SDMetrics ContingencySimilarity; mostlyai-qa (expected value)",
    caveats="a perfect synthesis scores below 1, the more so the more cells a table has: read it against its band",
    tier="fast",
    wide="categorical",
)
def contingency_fidelity(
    pair: Pair, *, columns: Sequence[str] | None = None, replicates: int = 50, random_state: RandomState = 0
) -> Result:
    """Agreement of all pairwise tables of the categorical columns: 1 minus the mean total variation distance.

    TV = 1/2 sum |p - q| of each joint table, over records complete in the chosen columns. ``expected_tv`` is the
    closed form for a fresh sample, 1/2 sum sqrt(2/pi p(1-p)(1/n+1/m)); divide it by sqrt 2 for correct synthesis.
    """
    warnings: list[str] = []
    names = chosen(pair, columns, pair.categorical, "categorical", 2, notes=warnings, valued="both")
    x, y = (coded(pair, names, table, 5, "drop") for table in ("original", "released"))
    if not x.n or not y.n:
        raise NotApplicable("no record is complete in these columns; choose fewer with columns=[...]")
    pairs = [w for w in combinations(range(len(names)), 2) if max(x.sizes[w[0]], 1) > 1 and x.sizes[w[1]] > 1]
    if not pairs:
        raise NotApplicable("the categorical columns have one level each, so there is no table to compare")

    def distance(one: Coded, other: Coded, which: tuple[int, ...]) -> float:
        return float(distances.total_variation(*count_both(one, other, which)))

    found = {f"{names[a]}|{names[b]}": distance(x, y, (a, b)) for a, b in pairs}
    expected = {}
    for a, b in pairs:
        d, _ = count_both(x, x, (a, b))
        expected[f"{names[a]}|{names[b]}"] = distances.expected_tv(
            d / d.sum(), float(d.sum()), float(y.n if y.weights is None else y.weights.sum())
        )
    keep = complete_rows(pair, names)
    position, base = np.cumsum(keep) - 1, canonical_rows(pair, keep)

    def mean_tv(rows_x: Rows, rows_y: Rows) -> float:
        sides = [x.take(position[rows]) if rows is not None else x for rows in (rows_x, rows_y)]
        return float(
            np.mean(
                [distance(sides[0], sides[1] if y.weights is not None else sides[1].unweighted(), w) for w in pairs]
            )
        )

    tv_null = resampled(
        pair, mean_tv, replicates=replicates, random_state=random_state, name="contingency", rows=base, m=y.n
    )
    null = None if tv_null is None else Band(1 - tv_null.high, 1 - tv_null.low, 1 - tv_null.centre, tv_null.how)
    mean = float(np.mean(list(found.values())))
    return judged(
        1 - mean,
        null,
        "higher",
        utility=1 - mean,
        details={
            "mean_tv": mean,
            "contingency_mean_tv": mean,
            "pairwise_tv": found,
            "expected_tv": expected,
            "mean_expected_tv": float(np.mean(list(expected.values()))),
            "n_x": x.n,
            "n_y": y.n,
            "dropped_x": pair.n("original") - x.n,
            "dropped_y": pair.n("released") - y.n,
        },
        warnings=warnings,
        sentence=f"Pairwise tables of categories agree to {100 * (1 - mean):.3g} % on average",
        plot_data={"matrix": [{"a": k.split("|")[0], "b": k.split("|")[1], "value": v} for k, v in found.items()]},
        table=[{"pair": k, "tv": v, "expected_tv": expected[k]} for k, v in found.items()],
    )
