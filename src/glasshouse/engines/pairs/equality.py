"""Records equal in every column, or in all columns but one, and how surprising that is. Linear in the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.streams import generator
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.pair import Pair
from glasshouse.engines.exchange import people_clusters
from glasshouse.engines.workers import by_turns, in_threads

EXPECTED = 0.01  # the share of members copied that the weights are made for
CERTAIN = 30.0  # a surprise beyond this is certainty, and would only drown the rest


@dataclass(frozen=True)
class Equals:
    """Original, then holdout people: who equals a released record and nobody else, in all columns but at most one.

    Attributes
    ----------
    information : array of float
        How surprising the whole record is: the sum over columns of -log(share of real people with that value).
    whole : array of bool
        Whether a released record equals it, and no other real person does.
    partial : array of float
        The information in the columns that agree, where a released record equals the person in all columns but one and
        no other real person does; the largest over the columns left out, 0 where there is none.
    row : array of int
        The first such released record; -1 for none.
    alone : array of bool
        Whether no other real person equals the record in all columns but some one: who could be found at all.
    single : array of bool
        Whether no other real person equals the record in every column.
    """

    information: Floats
    whole: Bools
    partial: Floats
    row: Ints
    alone: Bools
    single: Bools


def weight_of(information: Floats, released: int) -> Floats:
    """log(1 + 0.01 e^information / m): the log-likelihood ratio of "one in a hundred was copied" against chance.

    Parameters
    ----------
    information : array of float
        How surprising the agreement with a released record is; 0 where there is none.
    released : int
        m, the number of released records: that many chances to agree by luck.

    Returns
    -------
    array of float
    """
    surprise = np.minimum(information - np.log(max(released, 1)), CERTAIN)
    return np.where(information > 0, np.log1p(EXPECTED * np.exp(surprise)), 0.0)


def information(pair: Pair, columns: Sequence[str]) -> Floats:
    """How surprising each real person's record is, if columns were independent.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str
        The columns compared.

    Returns
    -------
    array of float
        Original, then holdout people: the sum over columns of -log(share of real people with that value).
    """
    return np.asarray(sum(_rarity(_codes(pair, name)[0]) for name in columns))


def equals(pair: Pair, columns: Sequence[str]) -> Equals:
    """Who equals a released record in every column, and in all columns but one.

    Parameters
    ----------
    pair : Pair
        The tables. With clusters, records of one cluster are one person.
    columns : sequence of str
        The columns compared; missing is a value of its own.

    Returns
    -------
    Equals

    Notes
    -----
    Every value gets a random number of 64 bits, every record their sum, so that leaving a column out is a subtraction;
    two different records share a sum with a chance of 2^-64. Leaving one column out finds copies with one cell redrawn,
    and copies beside a column of pure noise.
    """
    chosen = tuple(columns)
    return pair.memo(("equals", chosen), lambda: _equals(pair, chosen))


@dataclass(frozen=True)
class Chance:
    """Released records that equal an original, and real people who equal another one: how surprising each is.

    Attributes
    ----------
    matched, met : array of float
        The information in the columns that agree, of released records and of real people; 0 where nothing does.
    units : tuple of array
        What is one unit on either side: records that are matched together, by the same columns.
    """

    matched: Floats
    met: Floats
    units: tuple[np.ndarray, np.ndarray]


def by_chance(pair: Pair, columns: Sequence[str], but_one: bool = False) -> Chance:
    """Do released records equal an original as real people equal each other? Every record's best match.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str
        The columns compared; missing is a value of its own.
    but_one : bool, default False
        Whether one column may differ.

    Returns
    -------
    Chance
        The information of a match is counted among the other people, because it is asked about somebody else's record.
    """
    total, full = _sums(pair, columns)
    n = pair.n("original")
    matched, met = np.zeros(len(total[1])), np.zeros(len(total[0]))
    units = total[1].copy(), total[0].copy()
    left_out = [None, *_equal_without(pair, tuple(columns), total)] if but_one and len(columns) > 1 else [None]

    def without(at: str | None) -> tuple[np.ndarray, ...]:
        """The information of matches of the release and among people with a column left out, and what is equal."""
        own, released = total
        if at is not None:
            people = _codes(pair, at)
            less = _hashed(*people, at)
            own, released = own - less[0], released - less[1]
        seen, other = full if at is None else (full[0] - _rarity(people[0]), full[1] - _rarity(people[0], 1))
        _, back, counts = np.unique(own, return_inverse=True, return_counts=True)
        twin = np.where(counts[back.reshape(-1)] > 1, other, 0.0)
        values, first = np.unique(own[:n], return_index=True)
        place = np.minimum(np.searchsorted(values, released), len(values) - 1)
        return np.where(values[place] == released, seen[first[place]], 0.0), twin, released, own

    for equal, twin, released, own in by_turns(without, left_out):
        for best, new, unit, key in ((matched, equal, units[0], released), (met, twin, units[1], own)):
            better = new > best
            best[better], unit[better] = new[better], key[better]
    return Chance(matched, met, units)


def _equals(pair: Pair, columns: tuple[str, ...]) -> Equals:
    total, (full, _) = _sums(pair, columns)
    clusters = people_clusters(pair)
    kin = None if clusters is None else np.concatenate(clusters)
    lonely, row = _matched(total[0], total[1], kin)
    whole = row >= 0
    best, at, alone = np.zeros(len(full)), row.copy(), lonely.copy()
    best[whole] = full[whole]
    without = _equal_without(pair, columns, total) if len(columns) > 1 else ()
    if len(columns) > 1 and len(without) < len(columns):
        alone[:] = True  # with a column left out nobody equals anybody

    def but(name: str) -> tuple[Bools, Ints, Floats]:
        """Who is alone and found with a column left out, and the information in the others."""
        codes = _codes(pair, name)
        less = _hashed(*codes, name)
        return *_matched(total[0] - less[0], total[1] - less[1], kin), full - _rarity(codes[0])

    for single, found, rest in by_turns(but, without):
        alone |= single
        better = (found >= 0) & (rest > np.where(at >= 0, best, -1.0))
        best[better], at[better] = rest[better], found[better]
    return Equals(full, whole, np.maximum(best, 0.0), at, alone, lonely)


def _sums(pair: Pair, columns: Sequence[str]) -> tuple[tuple[np.ndarray, np.ndarray], tuple[Floats, Floats]]:
    """The hash of every record, of people and of the release; the information of people's, and without oneself.

    Column by column: of two thousand columns at once the parts would fill the memory.
    """
    people, released = pair.n("original") + (pair.n("holdout") if pair.has_holdout else 0), pair.n("released")
    total = np.zeros(people, np.uint64), np.zeros(released, np.uint64)
    full = np.zeros(people), np.zeros(people)
    for name in columns:
        codes = _codes(pair, name)
        for side, part in zip(total, _hashed(*codes, name), strict=True):
            side += part
        for less in (0, 1):
            full[less][:] += _rarity(codes[0], less)
    return total, full


def _equal_without(pair: Pair, columns: tuple[str, ...], total: tuple[np.ndarray, np.ndarray]) -> tuple[str, ...]:
    """The columns without which any two records, of people or of the release, are equal; in wide tables mostly none,
    and then there is no more to ask."""

    def compute() -> tuple[str, ...]:
        def some(name: str) -> bool:
            less = _hashed(*_codes(pair, name), name)
            ordered = np.sort(np.concatenate([total[0] - less[0], total[1] - less[1]]))
            return bool((ordered[1:] == ordered[:-1]).any())

        return tuple(name for name, equal in zip(columns, in_threads(some, columns), strict=True) if equal)

    return pair.memo(("equal without", columns), compute)


def _codes(pair: Pair, name: str) -> tuple[Ints, Ints]:
    """Codes of a column for real people and for the release, 0 for missing."""
    codes = pair.codes(name)
    tables = ["original", *(["holdout"] if pair.has_holdout else [])]
    people = np.concatenate([codes.of(t) for t in tables]).astype(np.int64) + 1
    return people, codes.of("released").astype(np.int64) + 1


def _rarity(people: Ints, less: int = 0) -> Floats:
    """-log(share of real people with the same value), oneself left out with ``less`` = 1."""
    shares = np.maximum(np.bincount(people)[people] - less, 1) / max(len(people) - less, 1)
    return np.asarray(-np.log(shares))


def _hashed(people: Ints, released: Ints, name: str) -> tuple[np.ndarray, np.ndarray]:
    size = 1 + int(max(people.max(initial=0), released.max(initial=0)))
    numbers = generator(0, "equality", name).integers(0, 2**64, size, dtype=np.uint64)
    return numbers[people], numbers[released]


def _matched(people: np.ndarray, released: np.ndarray, kin: Ints | None) -> tuple[Bools, Ints]:
    """Who has a value no other person has, and the first released record with it; -1 for none."""
    distinct, own, counts = np.unique(people, return_inverse=True, return_counts=True)
    own = own.reshape(-1)
    if kin is not None:  # several records of one person are one person
        units = np.unique(kin, return_inverse=True)[1].reshape(-1)
        pairs = np.unique(own * (int(units.max()) + 1) + units) // (int(units.max()) + 1)
        counts = np.bincount(pairs, minlength=len(distinct))
    lonely = counts[own] == 1
    values, first = np.unique(released, return_index=True)
    place = np.minimum(np.searchsorted(values, distinct), len(values) - 1)
    row = np.where(values[place] == distinct, first[place], -1)[own]
    return lonely, np.where(lonely, row, -1)
