"""Class sizes when a missing key fits every value: one count per pair of missingness patterns that occur.

A record is compatible with another when they are equal on every key that both have. Written on classes (records with
identical keys, missing included), so that its cost follows the number of different key combinations, not the number of
records.
"""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Floats, Ints

LARGEST_ID = 2**62


def dense_ids(codes: Ints) -> Ints:
    """Equal integers for equal rows, whatever the number of columns.

    Parameters
    ----------
    codes : array of int
        [rows, columns], never negative.

    Returns
    -------
    array of int
        One per row.
    """
    identity = np.zeros(len(codes), np.int64)
    size = 1
    for column in codes.T:
        levels = int(column.max(initial=0)) + 1
        if size * levels >= LARGEST_ID:
            _, identity = np.unique(identity, return_inverse=True)
            size = int(identity.max(initial=0)) + 1
        identity = identity * levels + column
        size *= levels
    return identity


def compatible_counts(
    codes: Ints, sizes: Ints, weights: Floats, alpha: float = 1.0, count_empty: bool = True
) -> tuple[Floats, Floats]:
    """For each class how many records (fk) and how much weight (Fk) its records may be confused with.

    Parameters
    ----------
    codes : array of int
        One row per class, one column per key; -1 is missing.
    sizes : array of int
        Records of each class.
    weights : array of float
        Weight of each class.
    alpha : float, default 1.0
        How much a record counts that fits only because of a missing key.
    count_empty : bool, default True
        False leaves records without any key out of the counts of the others, as sdcMicro's freqCalc does for two or
        more keys.

    Returns
    -------
    (fk, Fk) : tuple of arrays of float
        One value per class.

    Notes
    -----
    With C complete, I incomplete and M(i) the records compatible with i:

        complete i     fk = #{equal to i} + alpha #{I in M(i)}
        incomplete i   fk = #{identical to i, gaps included} + #{C in M(i)} + alpha #{other I in M(i)}
        no key at all  fk = N
    """
    keys = codes.shape[1]
    gaps = (codes < 0) @ (1 << np.arange(keys, dtype=np.int64))
    patterns = np.unique(gaps)
    empty = (1 << keys) - 1
    fk, Fk = sizes.astype(float), weights.astype(float)
    rows = {int(p): np.flatnonzero(gaps == p) for p in patterns}
    for mine, own in rows.items():
        if mine == empty:
            fk[own], Fk[own] = sizes.sum(), weights.sum()
            continue
        for theirs, other in rows.items():
            if theirs == mine or (theirs == empty and not count_empty):
                continue
            share = 1.0 if theirs == 0 else alpha
            common = [k for k in range(keys) if not (mine | theirs) >> k & 1]
            records, weight = _totals(codes[own][:, common], codes[other][:, common], sizes[other], weights[other])
            fk[own] += share * records
            Fk[own] += share * weight
    return fk, Fk


def fitting_counts(own: Ints, other: Ints, sizes: Ints) -> Floats:
    """For each row how many records of another table agree with it wherever both have a value.

    Parameters
    ----------
    own, other : array of int
        One row per class, one column per key, joint codes; -1 is missing.
    sizes : array of int
        Records of each class of ``other``.

    Returns
    -------
    array of float
        One per row of ``own``.
    """
    keys = own.shape[1]
    bits = 1 << np.arange(keys, dtype=np.int64)
    mine, theirs = (own < 0) @ bits, (other < 0) @ bits
    found = np.zeros(len(own))
    weights = sizes.astype(float)
    groups = {int(p): np.flatnonzero(theirs == p) for p in np.unique(theirs)}
    for pattern in np.unique(mine):
        rows = np.flatnonzero(mine == pattern)
        for gaps, there in groups.items():
            common = [k for k in range(keys) if not (int(pattern) | gaps) >> k & 1]
            if not common:
                found[rows] += weights[there].sum()
                continue
            found[rows] += _totals(own[rows][:, common], other[there][:, common], sizes[there], weights[there])[0]
    return found


def _totals(own: Ints, other: Ints, sizes: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """For each row of ``own`` the records and weight of the rows of ``other`` equal to it. Only the shorter side is
    sorted.
    """
    identity = dense_ids(np.concatenate([own, other]))
    mine, theirs = identity[: len(own)], identity[len(own) :]
    groups = np.unique(mine if len(mine) <= len(theirs) else theirs)
    at = np.minimum(np.searchsorted(groups, theirs), len(groups) - 1)
    hit = groups[at] == theirs
    records = np.bincount(at[hit], weights=sizes[hit], minlength=len(groups))
    weight = np.bincount(at[hit], weights=weights[hit], minlength=len(groups))
    place = np.minimum(np.searchsorted(groups, mine), len(groups) - 1)
    found = groups[place] == mine
    return np.where(found, records[place], 0.0), np.where(found, weight[place], 0.0)
