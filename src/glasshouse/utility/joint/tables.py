"""Are the cross-tabulations of the original kept? The most telling single picture of what a synthesis lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.intervals import check_draws
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.margins import Coded, coded, complete_rows, count_both
from glasshouse.utility.deals import POOL, Deal, in_deals, pool, pooled
from glasshouse.utility.figures import Columns, chosen, small
from glasshouse.utility.joint.table_statistics import every_ratio, every_table
from glasshouse.utility.nulls import Band, affordable, band, judged

Which: TypeAlias = "tuple[int, ...]"  # columns of one table, by position

WAYS = {1: "oneway", 2: "twoway", 3: "threeway"}
MODERATE, POOR = 3.0, 10.0  # S_pMSE above which a table is called so


@measure(
    side="utility",
    family="dependence",
    better="lower",
    range=(0, None),
    unit="S_pMSE",
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
    columns: Columns = None,
    groups: int = 5,
    missing: str = "level",
    worst: int = 5,
    max_tables: int = 50_000,
    replicates: int = 50,
    random_state: RandomState = 0,
) -> Result:
    """How well all one-, two- or three-way tables of the original are kept; the headline is the worst table.

    The score of a table is near 1 for correct synthesis, near 2 for a fresh sample, far above when a relation is lost
    and far below when the release copies the original.

    Parameters
    ----------
    pair : Pair
        Original and release.
    order : {1, 2, 3}, default 2
        Columns per table.
    columns : list of str or str, optional
        Columns to tabulate, at least ``order``; default: all shared ones.
    groups : int, default 5
        Groups of equal size, by pooled quantiles, into which numbers are cut.
    missing : {"level", "drop"}, default "level"
        Missing values are a level of their own, or their records are dropped.
    worst : int, default 5
        How many of the worst tables ``details["worst"]`` names.
    max_tables : int, default 50,000
        With more tables than this, so many are drawn at random.
    replicates : int, default 50
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is
        none. Fewer with very many tables.
    random_state : int, Generator or None, default 0
        Seed of the deals, and of the draw of tables.

    Returns
    -------
    Result
        ``value``: S_pMSE of the worst table. ``details`` has the median, all statistics of every table (``tables``),
        the names of the worst ones (``worst``), the cells of the very worst that differ most (``worst_cells``), each
        column's mean (``by_column``) and the shares of tables above 3 and above 10. With one table its statistics
        stand in ``details`` themselves. ``to_frame`` has one row per table.

    Notes
    -----
    Cells hold d records of the original and s of the release, c = sum(s) / (sum(s) + sum(d)). Over the cells that are
    not empty in both, VW = sum (s - d c/(1-c))^2 / ((s + d) c), and S_pMSE = VW / df with df their number minus 1. The
    other statistics of synthpop's utility tables (FT, JSD, SPECKS, MabsDD, WMabsDD, U, G, PO50, dBhatt) stand beside
    it.

    References
    ----------
    Raab, Nowok & Dibben (2021), Assessing, visualizing and improving the utility of synthetic data. Voas & Williamson
    (2001), Evaluating goodness-of-fit measures for synthetic microdata.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.table_utility(pair, replicates=10)
    >>> round(found.value, 2), found.details["worst"][0]
    (2.1, 'education:disease_status')
    """
    if order not in WAYS:
        raise InputError(f"order must be 1, 2 or 3 (one-, two- or three-way tables), not {order}")
    if missing not in ("level", "drop"):
        raise InputError(f"missing={missing!r} is no rule here; use 'level' or 'drop'")
    check_draws("worst", worst)
    warnings: list[str] = []
    names = chosen(pair, columns, pair.columns, "shared", order, notes=warnings, valued="one")
    wanted, fewer = _wanted(len(names), order, max_tables, random_state)
    warnings += fewer
    x, y = (coded(pair, names, table, groups, missing) for table in ("original", "released"))
    if not x.n or not y.n:
        raise NotApplicable("no record has a value in all of these columns; use missing='level'")
    found = every_table(x, y, wanted)
    labels = [":".join(names[j] for j in which) for which in wanted]
    shown = [
        {**figures, "empty_cells": math.prod(x.sizes[j] for j in which) - int(figures["df"] or 0) - 1}
        for which, figures in zip(wanted, found, strict=True)
    ]
    scores = np.array([np.nan if f["S_pMSE"] is None else f["S_pMSE"] for f in found], float)
    if not np.isfinite(scores).any():
        raise NotApplicable("every column has one level only, so there is nothing to tabulate")
    replicates, fewer = affordable(replicates, len(wanted), "tables")
    warnings += fewer
    keep = pooled([complete_rows(pair, names, table) for table in POOL]) if missing == "drop" else None
    null, null_median = _table_null(pair, x, y, wanted, replicates, random_state, keep)
    ranked = np.argsort(-np.nan_to_num(scores, nan=-1.0), kind="stable")[:worst]
    way = WAYS[order]
    top, middle = float(np.nanmax(scores)), float(np.nanmedian(scores))
    details: dict[str, object] = {
        f"{way}_S_pMSE_max": top,
        f"{way}_S_pMSE_median": middle,
        "mean": float(np.nanmean(scores)),
        "n_tables": len(labels),
        "null_replicates": replicates,
        "worst": [labels[i] for i in ranked],
        "by_column": _by_column(wanted, scores, names),
        "share_above_3": float(np.nanmean(scores > MODERATE)),
        "share_above_10": float(np.nanmean(scores > POOR)),
        "tables": dict(zip(labels, shown, strict=True)),
        "worst_cells": _worst_cells(pair, x, y, wanted[int(np.nanargmax(scores))], groups),
    }
    if null_median is not None:
        between = null_median.read(middle, "lower")
        details |= {"median_null_low": between.low, "median_null_high": between.high}
    if len(labels) == 1:
        details |= shown[0] | {"JSD_bits": shown[0]["JSD"]}
        details |= _on_original_support(x, y, wanted[0])
        sentence = f"The {order}-way table {labels[0]} has S_pMSE {small(top)}"
    else:
        sentence = (
            f"The worst of {len(labels)} {order}-way tables, {labels[int(ranked[0])]}, has S_pMSE {small(top)} (median "
            f"table {small(middle)})"
        )
    return judged(
        top,
        null,
        "lower",
        utility=1 / max(1.0, top / 2),
        details=details,
        sentence=sentence,
        warnings=warnings,
        table=[
            {"table": label, **{f"column{k + 1}": names[j] for k, j in enumerate(which)}, **figures}
            for label, which, figures in zip(labels, wanted, shown, strict=True)
        ],
        plot_data={
            "order": order,
            "scores": [
                {"columns": [names[j] for j in which], "S_pMSE": f["S_pMSE"]}
                for which, f in zip(wanted, found, strict=True)
            ],
        },
    )


def _wanted(n: int, order: int, limit: int, random_state: RandomState) -> tuple[list[Which], list[str]]:
    if limit < 1:
        raise InputError(f"max_tables must be a positive number of tables, not {limit}")
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
    wanted: Sequence[Which],
    replicates: int,
    random_state: RandomState,
    keep: np.ndarray | None,
) -> tuple[Band | None, Band | None]:
    """Bands of the largest and of the median S_pMSE; all tables of a replicate come from the same deal."""
    if not replicates:
        return None, None
    both, weigh_y = x.beside(y), y.weights is not None
    place = np.arange(both.n) if keep is None else np.cumsum(keep) - 1
    tables = np.asarray(wanted, np.int64)

    def largest(one: Coded, other: Coded) -> tuple[float, float]:
        found = every_ratio(one, other, tables)
        found = found[np.isfinite(found)]
        return (float(found.max()), float(np.median(found))) if found.size else (np.nan, np.nan)

    def drawn(dealt: Deal) -> tuple[tuple[float, float], tuple[float, float]]:
        sides = [both.take(place[rows]) for rows in (dealt.x, dealt.y, dealt.again)]
        if not weigh_y:
            sides[1:] = [side.unweighted() for side in sides[1:]]
        return largest(sides[0], sides[1]), largest(x, sides[2])

    fresh, correct = zip(*in_deals(pair, drawn, range(replicates), random_state, keep), strict=True)
    how = f"{replicates} {pool(pair, keep).how}"
    top, median = (band([f[i] for f in fresh], [c[i] for c in correct], how) for i in range(2))
    return top, median


def _on_original_support(x: Coded, y: Coded, which: Which) -> dict[str, float | int]:
    """Goodness of fit of the release to the original's shares on the original's cells, and the invented cells."""
    d, s = count_both(x, y, which)
    seen = d > 0
    expected = d[seen] / d.sum() * s.sum()
    return {
        "pearson_chi2_on_original_support": float(((s[seen] - expected) ** 2 / expected).sum()),
        "df_pearson": int(seen.sum()) - 1,
        "n_cells_new": int((~seen).sum()),
    }


def _by_column(wanted: Sequence[Which], scores: np.ndarray, names: Sequence[str]) -> dict[str, float | None]:
    """Mean score of the tables each column stands in."""
    known = np.isfinite(scores)
    members = np.asarray(wanted, np.int64)[known]
    repeated = np.repeat(scores[known], members.shape[1])
    totals = np.bincount(members.ravel(), weights=repeated, minlength=len(names))
    counts = np.bincount(members.ravel(), minlength=len(names))
    return {name: float(totals[j] / counts[j]) if counts[j] else None for j, name in enumerate(names)}


def _worst_cells(pair: Pair, x: Coded, y: Coded, which: Which, groups: int, top: int = 10) -> list[dict[str, object]]:
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
