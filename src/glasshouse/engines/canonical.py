"""One order of records and of categories for all draws: it depends on neither rows, columns, units nor labels.

Whatever is drawn at random (folds, halves, samples, trees) is drawn from records in some order. If that order came from
the table, or from the alphabet, a reshuffled or translated table would give another answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.workers import share_out

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.engines.models.design import Design

ROUNDS = 3
BLOCK = 4096  # rows whose fingerprints are made while they are in a cache


@dataclass(frozen=True)
class Canonical:
    """Fingerprints of the content of records, and the order of categories that follows from them.

    Attributes
    ----------
    columns : tuple of str
        The columns, by name.
    records : dict of str to array of uint64
        Per table, a fingerprint per record: equal for equal records.
    levels : dict of str to array of int
        Per categorical column, the position of each level in the order.
    contents : dict of str to array of uint64
        Per table, a fingerprint per record that also knows labels, for records that only their labels tell apart.
    """

    columns: tuple[str, ...]
    records: dict[str, np.ndarray]
    levels: dict[str, Ints]
    contents: dict[str, np.ndarray]
    _orders: dict[tuple[str, ...], Ints] = field(default_factory=dict, repr=False, compare=False)

    def order(self, *tables: str) -> Ints:
        """Records of the tables, laid end to end, in the order of their fingerprints."""
        if tables not in self._orders:
            first, second = (np.concatenate([of[t] for t in tables]) for of in (self.records, self.contents))
            self._orders[tables] = _ordered(first, second)
        return self._orders[tables]


def canonical(pair: Pair, columns: Sequence[str]) -> Canonical:
    """Fingerprints that renamed categories, other units and other orders of rows and columns leave alone.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str
        The columns that count.

    Returns
    -------
    Canonical

    Notes
    -----
    A number is known by its rank, a category by how often it occurs among real people and in the release; a record by
    the sum of what its values are known by; a category then anew by the sum over its records, and so on for three
    rounds (colour refinement, Weisfeiler & Leman 1968). Categories that even that cannot tell apart play the same part.
    """
    names = tuple(sorted(columns))
    return pair.memo(("canonical", names), lambda: _refined(pair, names))


class Alike(NamedTuple):
    """Rows of numbers in an order that follows from what they hold, for sums that must not know the order of a file.

    Attributes
    ----------
    order : array of int
        Rows in the order of a fingerprint of 64 bits: hundreds of columns are sorted by one number.
    number : array of int
        In that order, which rows are equal: the number of their run.
    rows : array of float
        The rows in that order.
    """

    order: Ints
    number: Ints
    rows: Floats

    @classmethod
    def of(cls, table: np.ndarray) -> Alike:
        """From a table [rows, columns]."""
        prints = np.zeros(len(table), np.uint64)
        salts = _mixed(np.arange(1, table.shape[1] + 1, dtype=np.uint64))

        def add(start: int, stop: int) -> None:
            for column, salt in zip(table[start:stop].T, salts, strict=True):
                prints[start:stop] += _mixed((np.asarray(column, float) + 0.0).view(np.uint64) + salt)

        share_out(add, len(table), BLOCK)
        order = np.argsort(prints)
        rows = table[order]
        new = np.zeros(len(rows), np.bool_)

        def compare(start: int, stop: int) -> None:
            before = max(start, 1) - 1
            new[before + 1 : stop] = (rows[before + 1 : stop] != rows[before : stop - 1]).any(axis=1)

        share_out(compare, len(rows), BLOCK)
        return cls(order, np.cumsum(new, dtype=np.int32 if len(rows) < 2**31 else np.int64), rows)

    def by(self, *last: np.ndarray) -> Ints:
        """The order in which these columns decide among equal rows, the last one first."""
        return self.order[np.lexsort((*(column[self.order] for column in last), self.number))]

    def bare(self) -> Alike:
        """Without the rows."""
        return self._replace(rows=self.rows[:0])


def drawn_records(pair: Pair, table: str, wanted: int | None, rng: np.random.Generator) -> Ints | None:
    """Record numbers drawn without replacement, in order: the same people whatever the order of the rows.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : str
        The table drawn from.
    wanted : int or None
        How many; None for all.
    rng : numpy.random.Generator
        Draws them.

    Returns
    -------
    array of int or None
        None where nobody is left out.
    """
    n = pair.n(table)
    if wanted is None or wanted >= n:
        return None
    return np.sort(canonical(pair, pair.columns).order(table)[np.sort(rng.choice(n, wanted, replace=False))])


def canonical_designs(pair: Pair, columns: Sequence[str], tables: Sequence[str]) -> dict[str, Design]:
    """Coded columns for a model, columns by name and categories in the order of :func:`canonical`.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str
        The columns the model knows; missing numbers become the median of the release plus a yes/no column.
    tables : sequence of str
        The tables asked for.

    Returns
    -------
    dict of str to Design
    """
    from glasshouse.engines.models.design import design

    found = canonical(pair, columns)
    return {t: _recoded(design(pair, found.columns, t, numeric_key_na="median+flag"), found) for t in tables}


def _recoded(table: Design, found: Canonical) -> Design:
    codes, levels = table.codes.copy(), list(table.levels)
    for j, name in enumerate(table.names):
        if name not in found.levels or table.kinds[j] != "categorical":
            continue
        place = found.levels[name]
        if len(levels[j]) > len(place):  # missing is a level of its own, last
            place = np.append(place, len(place))
        codes[:, j] = place[codes[:, j]]
        levels[j] = [levels[j][at] for at in np.argsort(place)]
    return replace(table, codes=codes, levels=tuple(levels))


def _refined(pair: Pair, names: tuple[str, ...]) -> Canonical:
    tables = ["original", "released", *(["holdout"] if pair.has_holdout else [])]
    edges = np.cumsum([0, *(pair.n(t) for t in tables)])
    # real or released; original and holdout people must not be told apart, else draws would look at the label
    home = np.repeat(np.array([t == "released" for t in tables], np.uint64), np.diff(edges))
    coded, known, labelled = [], [], []
    for name in names:
        codes = pair.codes(name)
        own = np.concatenate([codes.of(t) for t in tables]).astype(np.int64) + 1  # 0: missing
        coded.append(own)
        ordered = pair.is_numeric(name) or codes.ordered
        labelled.append(not ordered)
        levels = np.arange(codes.n_levels + 1, dtype=np.uint64)
        # the missing value is known by name, everything else by what it does
        known.append(_mixed(levels) if ordered else _summed(own, _mixed(home), codes.n_levels + 1))
    salts = _mixed(np.arange(1, len(names) + 1, dtype=np.uint64))
    records = np.zeros(int(edges[-1]), np.uint64)
    for _ in range(ROUNDS):
        records = np.zeros(int(edges[-1]), np.uint64)
        for own, by, salt in zip(coded, known, salts, strict=True):
            records += _mixed(by[own] + salt)
        seen = _mixed(records ^ _mixed(home))
        for c, free in enumerate(labelled):
            if free:
                known[c] = _mixed(_summed(coded[c], seen, len(known[c])))
                known[c][0] = np.uint64(0)
    places: dict[str, Ints] = {
        name: np.argsort(np.argsort(known[c][1:], kind="stable"), kind="stable")
        for c, name in enumerate(names)
        if labelled[c]
    }
    contents = np.zeros(int(edges[-1]), np.uint64)
    for own, salt in zip(coded, salts, strict=True):
        contents += _mixed(own.astype(np.uint64) + salt)
    split = [{t: of[edges[i] : edges[i + 1]] for i, t in enumerate(tables)} for of in (records, contents)]
    return Canonical(names, split[0], places, split[1])


def _ordered(first: np.ndarray, second: np.ndarray) -> Ints:
    """The order by one fingerprint, then by another, then as they stand; few records share one, and only those are
    looked at twice."""
    order = np.argsort(first)
    prints = first[order]
    tied = np.zeros(len(order) + 1, np.bool_)
    tied[1:-1] = prints[1:] == prints[:-1]
    among = np.flatnonzero(tied[1:] | tied[:-1])
    some = order[among]
    order[among] = some[np.lexsort((some, second[some], prints[among]))]
    return order


def _summed(at: Ints, what: np.ndarray, size: int) -> np.ndarray:
    """Sums of fingerprints per level, modulo 2^64, so that their order does not matter."""
    total = np.zeros(size, np.uint64)
    np.add.at(total, at, what)
    return total


def _mixed(x: np.ndarray) -> np.ndarray:
    """The output function of splitmix64 (Steele, Lea & Flood 2014)."""
    z = x.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
