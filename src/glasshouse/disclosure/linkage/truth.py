"""Who is who: the true matches of a release of changed records, the columns compared, and blocks of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, closest, listed
from glasshouse.data.pair import Pair

# "row", the name of an identifier column in both tables, or one row number of the release per original (-1: none)
Truth: TypeAlias = str | Sequence[int] | np.ndarray
NO_TRUTH = (
    "record_linkage asks how often a person's own record is found, and a fully synthetic release has no own record of "
    "anybody: no row truth exists, and pairing row i with row i would measure chance (1/n) and look like a pass. If "
    "row i of the release is row i of the original, perturbed, say Pair(..., row_paired=True); if a column names the "
    "record, say truth='that column'; for synthetic data use singling_out, linkability, dcr or membership measures"
)


class Blocks(NamedTuple):
    """Queries and searched records of every block (None: no blocking), and the share of true pairs torn apart."""

    parts: list[tuple[np.ndarray, np.ndarray]] | None
    split: float | None


def true_matches(pair: Pair, truth: Truth) -> np.ndarray:
    """Which released record is whose.

    Parameters
    ----------
    pair : Pair
        The tables.
    truth : str or sequence of int
        "row", the name of an identifier column in both tables, or one row number of the release per original.

    Returns
    -------
    ndarray
        For every original the number of its own record in the release, -1 where it has none.
    """
    n, m = pair.n("original"), pair.n("released")
    if isinstance(truth, str) and truth == "row":
        if not pair.row_paired:
            raise NotApplicable(NO_TRUTH)
        return np.arange(n)
    if isinstance(truth, str):
        tables = [pair.local(t) for t in ("original", "released")]
        lacking = [t for t, frame in zip(("original", "release"), tables, strict=True) if truth not in frame.columns]
        if lacking:
            raise InputError(f"truth column {truth!r} is not in the {lacking[0]}{closest(truth, tables[0].columns)}")
        mine, theirs = (frame.select(key=truth).with_row_index("at") for frame in tables)
        if theirs["key"].drop_nulls().n_unique() < theirs["key"].drop_nulls().len():
            raise InputError(
                f"truth column {truth!r} names some released records twice; a true match must be one record"
            )
        found = mine.join(theirs, on="key", how="left", suffix="_released", maintain_order="left")["at_released"]
        return found.cast(int).fill_null(-1).to_numpy().astype(np.int64)
    given = np.asarray(truth)
    if given.shape != (n,) or given.dtype.kind not in "iu" or given.min(initial=0) < -1 or given.max(initial=-1) >= m:
        raise InputError("truth must be 'row', a column name, or one row number of the release per original (-1: none)")
    return given.astype(np.int64)


def turned(true: np.ndarray, pair: Pair) -> np.ndarray:
    """The same truth seen from the release.

    Parameters
    ----------
    true : ndarray
        For every original the number of its own record in the release.
    pair : Pair
        The tables.

    Returns
    -------
    ndarray
        For every released record the number of its original, -1 for none.
    """
    back = np.full(pair.n("released"), -1, np.int64)
    known = np.flatnonzero(true >= 0)
    back[true[known]] = known
    return back


def columns_compared(pair: Pair, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, else the keys, else every column in common.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str or None
        Names as the user gave them.

    Returns
    -------
    tuple of str
    """
    chosen = tuple(dict.fromkeys(columns)) if columns is not None else pair.keys or pair.columns
    unknown = [c for c in chosen if c not in pair.columns]
    if unknown:
        raise InputError(
            f"columns {listed(unknown)} are not in both tables (or are identifiers); choose from {listed(pair.columns)}"
        )
    if not chosen:
        raise NotApplicable("there is no column in common to link on; release at least one column of the original")
    return chosen


def blocked(pair: Pair, block: Sequence[str] | str, direction: str, true: np.ndarray) -> Blocks:
    """Records that agree on the blocking columns, which alone are compared.

    Parameters
    ----------
    pair : Pair
        The tables.
    block : str or sequence of str
        The blocking columns; none compares everybody with everybody.
    direction : {"forward", "reverse"}
        Whether originals are looked for in the release, or released records in the original.
    true : ndarray
        The true match of every query.

    Returns
    -------
    Blocks
    """
    names = (block,) if isinstance(block, str) else tuple(block)
    if not names:
        return Blocks(None, None)
    unknown = [c for c in names if c not in pair.columns]
    if unknown:
        raise InputError(
            f"block names {listed(unknown)}, which are not in both tables; choose from {listed(pair.columns)}"
        )
    tables = ("original", "released") if direction == "forward" else ("released", "original")
    stacked = np.concatenate([np.column_stack([pair.codes(c).of(t) for c in names]) for t in tables])
    labels = np.unique(stacked, axis=0, return_inverse=True)[1].reshape(-1)
    mine, theirs = labels[: pair.n(tables[0])], labels[pair.n(tables[0]) :]
    known = np.flatnonzero(true >= 0)
    split = float((mine[known] != theirs[true[known]]).mean()) if len(known) else None
    order_mine, order_theirs = np.argsort(mine, kind="stable"), np.argsort(theirs, kind="stable")
    edges = np.arange(labels.max() + 2)
    cut_mine, cut_theirs = np.searchsorted(mine[order_mine], edges), np.searchsorted(theirs[order_theirs], edges)
    parts = [
        (order_mine[cut_mine[b] : cut_mine[b + 1]], order_theirs[cut_theirs[b] : cut_theirs[b + 1]])
        for b in range(len(edges) - 1)
    ]
    return Blocks([part for part in parts if len(part[0]) and len(part[1])], split)
