"""Identity disclosure by counting: who stands alone on the keys, in the original, in the release, in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import narwhals as nw
import numpy as np

from glasshouse.core.advice import STANDS_ALONE
from glasshouse.core.errors import InputError
from glasshouse.core.evidence import Counts
from glasshouse.core.intervals import Interval, wilson
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.tables import (
    STRUCTURE,
    missing_notes,
    sizes_of,
    spoken,
    spoken_keys,
    structure_note,
)
from glasshouse.engines.cells.classes import groupings
from glasshouse.engines.cells.counting import Cells, count_cells

RAAB = "Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data (repU)"
D, S = nw.col("d"), nw.col("s")
CLASS_SIZES = (*(str(j) for j in range(1, 10)), "10+")


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="lower",
    needs=("keys",),
    limit=Limit(
        "value",
        warn=0.05,
        fail=0.20,
        why="warn above 0.05: glasshouse proposal beside UiO; fail above 0.20: glasshouse default",
    ),
    cite=RAAB,
    attacker="the keys of real people, and that nobody else shares them",
    group="uniques",
    caveats="a replicated unique need not be the same person; the figure grows with every key added",
    tier="fast",
    on_map=True,
    advice=STANDS_ALONE,
)
def uniques(pair: Pair, *, key_groups: Any = None, confidence: float = 0.95) -> Result:
    """Share of original records that are alone on the keys in the original and in the release (replicated uniques,
    repU).

    With d_q and s_q records of key combination q in the original and in the release: UiO = sum [d_q = 1] / Nd, UiS =
    sum [s_q = 1] / Ns, UiOiS = sum [d_q = 1, s_q > 0] / Nd, repU = sum [d_q = 1, s_q = 1] / Nd; repU <= UiOiS <= UiO.
    The baseline is what a release of independent columns with the same margins would replicate: a key combination then
    turns up Poisson(Ns x product of its key shares) times.
    """
    groups = groupings(pair, key_groups)
    figures = _unique_figures(count_cells(pair, key_groups=groups))
    held = _unique_figures(count_cells(pair, key_groups=groups, people="holdout")) if pair.has_holdout else None
    gap = None if held is None else Counts(figures["n_replicated"], figures["n"], held["n_replicated"], held["n"])
    n, replicated = figures["n"], figures["n_replicated"]
    share = figures["repU"] / figures["UiO"] if figures["UiO"] else None
    warnings = []
    if pair.missing == "wildcard":
        warnings.append(
            "missing='wildcard' has no meaning when two tables are matched; missing was treated as a value of its own"
        )
    if share is not None and share > 0.5:
        warnings.append(f"{percent(share)} of the people who are unique in the original are unique in the release too")

    def records() -> Mapping[str, np.ndarray]:
        local = count_cells(pair, key_groups=groups, in_memory=True)
        return local.records(
            unique_original=D == 1,
            found=S > 0,
            replicated_unique=(D == 1) & (S == 1),
            original_class=D,
            released_class=S,
        )

    return Result(
        value=figures["repU"],
        baseline=figures["expected"],
        holdout=None if held is None else held["repU"],
        interval=wilson(replicated, n, confidence),
        counts=gap,
        **_leak(gap, confidence),
        details={**figures, "share_of_uniques": share},
        sentence=(
            f"Of {n:,} people {percent(figures['UiO'])} are alone on {spoken_keys(pair)}; "
            f"{percent(figures['repU'])} of all people are alone in the release too ({replicated:,}); unrelated "
            f"columns would give {percent(figures['expected'])}."
        ),
        warnings=warnings,
        records=records,
        flag="replicated_unique",
    )


class Leak(TypedDict):
    """Members minus strangers, as a Result takes it."""

    difference: float | None
    difference_interval: Interval | None


def _leak(counts: Counts | None, confidence: float) -> Leak:
    found = None if counts is None else counts.difference(confidence)
    return Leak(difference=None if found is None else found[0], difference_interval=None if found is None else found[1])


def _unique_figures(cells: Cells) -> dict[str, Any]:
    """Sums over the key classes; the expected share needs each key's released margin, which is a window over the same
    table.
    """
    n, m = cells.n_original, cells.n_released
    levelled = cells.extended(**{f"level{i}": part.value for i, part in enumerate(cells.keys)})
    rate: nw.Expr = nw.lit(float(m))
    for i in range(len(cells.keys)):
        rate = rate * (S.sum().over(f"level{i}").cast(nw.Float64) / float(m))
    sums = levelled.extended(rate=rate).totals(
        uio=(D == 1).cast(nw.Int64).sum(),
        uis=(S == 1).cast(nw.Int64).sum(),
        uiois=((D == 1) & (S > 0)).cast(nw.Int64).sum(),
        repu=((D == 1) & (S == 1)).cast(nw.Int64).sum(),
        expected=nw.when(D == 1).then(nw.col("rate") * (-nw.col("rate")).exp()).otherwise(nw.lit(0.0)).sum(),
    )
    return {
        "UiO": sums["uio"] / n,
        "UiS": sums["uis"] / m,
        "UiOiS": sums["uiois"] / n,
        "repU": sums["repu"] / n,
        "expected": float(sums["expected"]) / n,
        "n": n,
        "n_unique_original": sums["uio"],
        "n_unique_released": sums["uis"],
        "n_found": sums["uiois"],
        "n_replicated": sums["repu"],
        "n_dropped": cells.dropped,
    }


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="higher",
    range=(1, None),
    needs=("keys",),
    table="single",
    unit="records",
    limit=Limit(
        "value",
        warn=5,
        fail=2,
        why="k = 1 high, 2 elevated, 3-4 moderate, 5 and more low (riskutility; sdcMicro reports 2, 3 and 5)",
    ),
    cite="Samarati and Sweeney (1998), k-anonymity; Franconi and Polettini (2004) for missing keys as wildcards",
    attacker="the keys of somebody in the file",
    caveats=f"one record decides k, so read the share below it too; {STRUCTURE}",
    group="classes",
    title="k-anonymity",
    tier="fast",
    advice=STANDS_ALONE,
    riskutility=("k-Anonymity", lambda r: {"k": r.value}),
)
def k_anonymity(
    pair: Pair,
    *,
    table: str = "released",
    k: int = 5,
    alpha: float = 1.0,
    compat: str | None = None,
    key_groups: Any = None,
) -> Result:
    """Size of the smallest group of records with equal keys, and the share of records in groups smaller than k.

    f_i is the number of records of the file that share the keys of record i; k = min f, n_violating(k) = #{i: f_i <
    k}. A missing key fits every value unless the pair was given a rule: complete records then count f_i = #{equal} +
    alpha #{compatible incomplete}, incomplete ones #{identical} + #{compatible complete} + alpha #{other compatible
    incomplete}. F_i is the same sum over survey weights. ``compat="sdcmicro"`` leaves records without any key out of
    the counts of the others, as sdcMicro does.
    """
    if k < 1:
        raise InputError(f"k={k}: a group holds at least 1 record")
    sizes = sizes_of(pair, table, "wildcard", alpha, compat, key_groups)
    f, number_of = sizes.f, sizes.number
    smallest = float(f.min())
    violating = sizes.records_below(k)
    n = sizes.n
    histogram = dict.fromkeys(CLASS_SIZES, 0)
    for size, classes in zip(f, sizes.counts["classes"].to_list(), strict=True):
        histogram[CLASS_SIZES[min(int(size), 10) - 1]] += classes

    def records() -> Mapping[str, np.ndarray]:
        found = sizes.records()
        fk = found["fk"]  # masked where dropped, and a masked division stays masked
        return {**found, "violating": fk < k - 1e-12, "prosecutor": 1.0 / fk}

    return Result(
        value=round(smallest) if smallest == round(smallest) else smallest,
        details={
            "k_level": round(smallest) if smallest == round(smallest) else smallest,
            "share_violating": violating / n,
            "k": k,
            "n1": sizes.records_of(1),
            "n2": sizes.records_of(2),
            **{f"n_violating_{j}": sizes.records_below(j) for j in sorted({2, 3, 5, int(k)})},
            "violating": {str(j): sizes.records_below(j) for j in sorted({2, 3, 5, int(k)})},
            "share_unique": sizes.records_of(1) / n,
            "n_classes": sizes.classes,
            "prosecutor_mean": float((sizes.number / f).sum()) / n,
            "prosecutor_max": 1.0 / smallest,
            "n": n,
            "n_dropped": sizes.dropped,
            "n_incomplete": sizes.incomplete,
            "mean_class_size": n / sizes.classes,
            "median_class_size": weighted_median(f, sizes.counts["classes"].to_numpy()),
            "histogram": histogram,
            "missing": sizes.rule,
            "table": table,
        },
        sentence=(
            f"In {spoken(pair, table)} the smallest group with equal {spoken_keys(pair)} has {number(smallest)} "
            f"record{'' if smallest == 1 else 's'}; {percent(violating / n)} of the records ({violating:,} of "
            f"{n:,}) are in groups of fewer than {k}."
        ),
        warnings=[*structure_note(pair, table), *missing_notes(sizes)],
        records=records,
        flag="violating",
        rank="prosecutor",
        plot_data={
            "sizes": {
                "size": list(CLASS_SIZES),
                "classes": list(histogram.values()),
                "records": _records_by_size(f, number_of),
            }
        },
    )


def _records_by_size(f: np.ndarray, records: np.ndarray) -> list[int]:
    bins = np.minimum(np.floor(f + 1e-12), 10).astype(int) - 1
    return [int(c) for c in np.bincount(bins, weights=records, minlength=10)]


def weighted_median(values: np.ndarray, counts: np.ndarray) -> float | None:
    """Median of values given with counts: the mean of the two middle ones when their number is even."""
    total = int(counts.sum())
    if total == 0:
        return None
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(counts[order])
    low = values[order][np.searchsorted(ends, (total - 1) // 2, side="right")]
    high = values[order][np.searchsorted(ends, total // 2, side="right")]
    return float(low + high) / 2
