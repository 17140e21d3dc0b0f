"""Microaggregation: numbers replaced by the means of small groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.plain import percent
from glasshouse.core.words import counted, spoken
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.frames import Frame
from glasshouse.engines.workers import in_threads
from glasshouse.protection import mdav
from glasshouse.protection.held import Held, held
from glasshouse.protection.operation import Protected, operation, protected
from glasshouse.protection.ranking import ranked_groups
from glasshouse.protection.rounding import all_whole, whole_numbers
from glasshouse.protection.strata import Stratum, refuse_small, strata_of


@operation(
    title="average small groups",
    acts_on=("identity", "attribute", "membership", "copying"),
    touches="columns",
    cost=4,
    needs=("numeric",),
)
def microaggregate(
    table: Frame,
    columns: Sequence[str],
    k: int = 3,
    method: Literal["mdav", "single", "blocks"] = "mdav",
    by: Sequence[str] | None = None,
    weights: str | None = None,
    round: bool = False,
) -> Protected:
    """Replace numbers by the means of groups of at least k records that are near each other.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        Numeric columns.
    k : int, default 3
        Least number of records in a group, at least 2.
    method : {"mdav", "single", "blocks"}, default "mdav"
        "mdav": one grouping for all columns together, so that every record shares all of them with k - 1 others.
        "single": each column by itself, groups of k to 2k - 1 in sorted order with the least loss there is. "blocks":
        each column by itself in sorted blocks of k.
    by : str or sequence of str, optional
        Columns that make strata; groups lie within one. Default: none.
    weights : str, optional
        Column of survey weights: means are weighted, so weighted totals stay. The size of a group counts records.
        Default: none.
    round : bool, default False
        Whether columns of whole numbers get whole numbers again.

    Returns
    -------
    Protected
        ``details``: SSE and SST (every column divided by its variance), their ratio ``loss``, how many ``groups`` of
        which ``sizes``, ``totals`` before and after, and the columns that some groups do not protect.

    Raises
    ------
    InputError
        For k below 2 or above the number of records, strata of fewer than k records, and columns that are not there,
        hold no numbers or infinite ones.

    Notes
    -----
    MDAV: while at least 3k records are left, r is farthest from their centroid and s is farthest from r; r and its
    k - 1 nearest are a group, then s and its k - 1 nearest of the rest. Of the last 2k to 3k - 1 one group is made
    round the record farthest from the centroid, the others are the last. All groups hold k records but the last one of
    a stratum, which holds up to 2k - 1. The distance is the sum of (x - y)^2 / variance over the columns, in float64,
    with the variance of the stratum; among records equally far or equally near the first in the file comes first, and
    nothing depends on how a frame is cut into chunks. A pair of which one value is missing costs
    (range)^2 / variance, two missing ones nothing. A missing cell stays missing, and a group with fewer than k observed
    values of a column does not protect it, which is reported.

    The time grows with n^2 / k. Beyond 100,000 records a k-d tree cuts the table into blocks of at most 5,000
    neighbours, and a note says so.

    Means stay as they are; variances shrink by the share of the loss and correlations between averaged columns rise.
    After "single" and "blocks" statistics of one column hardly change, but a record is not one of k over several
    columns together: its combination of means is often its own.

    References
    ----------
    Domingo-Ferrer & Mateo-Sanz (2002), Practical data-oriented microaggregation for statistical disclosure control.
    Hansen & Mukherjee (2003), A polynomial algorithm for optimal univariate microaggregation.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"age": [20, 21, 22, 60, 62, 64], "income": [10.0, 12, 14, 30, 34, 38]})
    >>> safer = gh.protection.microaggregate(people, ["age", "income"], k=3)
    >>> safer.table["income"].to_list(), round(safer.details["loss"], 3)
    ([12.0, 12.0, 12.0, 34.0, 34.0, 34.0], 0.028)
    """
    before = held(table)
    names = before.columns(columns, kind="numeric")
    if k < 2:
        raise InputError(f"k={k} is a group of one record, which hides nobody; choose at least 2")
    strata = strata_of(before, by, names)
    refuse_small(strata, k, by)
    values = np.column_stack([before.numbers(name, summed=True) for name in names])
    weighing = _weights(before, weights, names)
    groups, blocks = _joint(values, strata, k) if method == "mdav" else (_each(values, strata, k, method), 0)
    released = np.column_stack(
        [mdav.group_means(values[:, [j]], groups[:, j], weighing)[:, 0] for j in range(len(names))]
    )
    whole = [name for name, one in zip(names, values.T, strict=True) if round and all_whole(one)]
    for name in whole:
        released[:, names.index(name)] = np.rint(released[:, names.index(name)])
    lost = mdav.loss_of(values, released, mdav.scales_of(values))
    thin = {name: mdav.thin_groups(values[:, [j]], groups[:, j], k)[0] for j, name in enumerate(names)}
    counts = [_sizes(groups[~np.isnan(values[:, j]) | (method == "mdav"), j]) for j in range(len(names))]
    totals = {
        name: [float(np.nansum(one[:, j] * (1.0 if weighing is None else weighing))) for one in (values, released)]
        for j, name in enumerate(names)
    }
    apart = method != "mdav" and len(names) > 1
    return protected(
        before,
        {name: whole_numbers(column) if name in whole else column
         for name, column in zip(names, released.T, strict=True)},
        did="averaged",
        notes=_notes(names, k, apart, blocks, thin, {name: totals[name] for name in whole}),
        details={
            "k": k,
            "groups": dict(zip(names, (sum(one.values()) for one in counts), strict=True)) if apart
            else sum(counts[0].values()),
            "sizes": dict(zip(names, counts, strict=True)) if apart else counts[0],
            "SSE": lost.sse,
            "SST": lost.sst,
            "loss": lost.share,
            "blocks": blocks,
            "unprotected": {name: count for name, count in thin.items() if count},
            "totals": totals,
        },
    )  # fmt: skip


def _joint(values: Floats, strata: Sequence[Stratum], k: int) -> tuple[Ints, int]:
    """MDAV within strata, those too large in blocks; and the number of blocks."""
    parts: list[tuple[Ints, mdav.Scales]] = []
    blocks = 0
    for one in strata:
        scales = mdav.scales_of(values[one.rows])
        if len(one.rows) > mdav.WHOLE:
            cut = [one.rows[rows] for rows in mdav.blocks_of(values[one.rows], k, scales)]
            blocks += len(cut)
        else:
            cut = [one.rows]
        parts += [(rows, scales) for rows in cut]
    found = in_threads(lambda part: mdav.mdav_groups(values[part[0]], k, part[1]), parts)
    group = _numbered(len(values), ((rows, own) for (rows, _), own in zip(parts, found, strict=True)))
    return np.repeat(group[:, None], values.shape[1], axis=1), blocks


def _each(values: Floats, strata: Sequence[Stratum], k: int, method: str) -> Ints:
    """Groups of each column by itself; missing values are set aside, in a group of their own."""
    columns = []
    for column in values.T:
        known = [one.rows[~np.isnan(column[one.rows])] for one in strata]
        made = [(rows, ranked_groups(column[rows], k, optimal=method == "single")) for rows in known if len(rows)]
        columns.append(_numbered(len(values), made))
    return np.column_stack(columns)


def _numbered(n: int, parts: Iterable[tuple[Ints, Ints]]) -> Ints:
    """Group numbers of parts that each count from 0; the first number beyond them for records in no part."""
    group, first = np.full(n, -1, np.int64), 0
    for rows, own in parts:
        group[rows] = own + first
        first += int(own.max()) + 1
    group[group < 0] = first
    return group


def _weights(before: Held, weights: str | None, names: Sequence[str]) -> Floats | None:
    if weights is None:
        return None
    name = before.columns(weights, "weights", "numeric")[0]
    if name in names:
        raise InputError(f"weights and columns both name column {name!r}; weights must stay as they are")
    found = before.numbers(name)
    if np.isnan(found).any() or (found < 0).any():
        raise InputError(f"weights column {name!r} holds missing values or numbers below 0; complete it first")
    return found


def _sizes(group: Ints) -> dict[int, int]:
    """Groups by size."""
    members = np.bincount(group)
    sizes, counts = np.unique(members[members > 0], return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


def _notes(
    names: Sequence[str], k: int, apart: bool, blocks: int, thin: dict[str, int], totals: dict[str, list[float]]
) -> list[str]:
    notes = []
    if apart:
        notes.append(
            f"Each column was averaged by itself: together {spoken(names)} may still single out a record. "
            'method="mdav" makes every record one of k over all of them.'
        )
    if blocks:
        notes.append(
            f"Beyond {mdav.WHOLE:,} records groups are looked for in {blocks:,} blocks of neighbours, not in the whole "
            "table; the loss is a little higher."
        )
    notes += [
        f"In {counted(count, 'group')} fewer than {k} values of {name!r} are observed: their mean does not hide them."
        for name, count in thin.items()
        if count
    ]
    changes = [
        f"{name!r} by {percent(abs(after - start) / abs(start), 3)}" if start else f"{name!r}"
        for name, (start, after) in totals.items()
        if after != start
    ]
    if changes:
        notes.append(f"Rounding to whole numbers changed the total of {spoken(changes)}.")
    return notes
