"""Local suppression: few cells of the keys are set missing so that everybody is one of at least k."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest, listed, names_known
from glasshouse.core.words import counted, plural, spoken
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.frames import Frame
from glasshouse.data.split import group_codes
from glasshouse.protection.held import Held, held
from glasshouse.protection.keyed import READINGS, Keys, Readings, keys_of, readings, value_codes
from glasshouse.protection.operation import Protected, operation, protected
from glasshouse.protection.suppress_classes import Placed, cover
from glasshouse.protection.suppress_patterns import loosened, pattern_marks

Definition: TypeAlias = Literal["category", "pattern", "wildcard"]
TIE = 1e-6  # what a rank of importance weighs against a cell: it decides between equal numbers of cells
TRIVIAL = (
    "Under the wildcard reading a missing cell fits everything, and few cells make any table k-anonymous: look at the "
    "records that fewer than k fit under the other readings."
)


@dataclass(frozen=True)
class Task:
    """What is asked of the keys.

    Parameters
    ----------
    names : tuple of str
        The keys.
    k : int
        Size of the smallest class.
    sizes : dict of int to int
        By number of keys an attacker may know, how many records must be alike.
    definition : {"category", "pattern", "wildcard"}
        What a missing cell is like.
    costs : array of float
        What blanking a cell of each key costs.
    allowed : int
        Keys whose cells may be blanked, as bits.
    weak : int
        Records that may end in a pattern that fewer than k originals fit.
    """

    names: tuple[str, ...]
    k: int
    sizes: dict[int, int]
    definition: Definition
    costs: Floats
    allowed: int
    weak: int

    def solved(self, keys: Keys) -> tuple[Placed, int]:
        """Which cells of which keys to blank, and how many records nothing puts right."""
        if self.definition == "category":
            return cover(keys, self.k, self.costs, self.allowed)
        marks, open_ = pattern_marks(keys, self.sizes, self.costs, self.allowed)
        left = int(keys.counts[open_].sum())
        if self.definition == "pattern" or not self.weak or left:
            return Placed().plus(np.arange(len(marks)), marks, keys.counts), left
        return Placed().plus(*loosened(keys, marks, self.sizes, self.weak, self.costs)), left


@operation(title="suppress single cells", acts_on=("identity", "attribute"), touches="columns", cost=4)
def suppress_locally(
    table: Frame,
    keys: Sequence[str],
    k: int = 3,
    *,
    definition: Definition = "category",
    importance: Sequence[float] | Mapping[str, float] | None = None,
    never: Sequence[str] = (),
    combs: Mapping[int, int] | None = None,
    by: Sequence[str] | None = None,
    weak: int = 0,
) -> Protected:
    """Set few cells of the keys missing, so that every record is like at least k.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    keys : str or sequence of str
        The columns an attacker may know, up to 12.
    k : int, default 3
        How many records must be alike, the person among them.
    definition : {"category", "pattern", "wildcard"}, default "category"
        What a missing cell is like. "category": another missing cell, so that k released records are equal; whoever
        counts equal keys finds it so. "pattern": everything, and k original records fit every released one.
        "wildcard": everything, and k released records agree with every other wherever both have a value (sdcMicro).
    importance : sequence or mapping, optional
        A rank per key, 1 for the one to be touched last: it decides between equal numbers of cells. Or
        ``{"age": 3.0}``: what one cell of a key costs, 1 where nothing is said. Default: ranks by number of
        distinct values, so that the key with most loses cells first.
    never : str or sequence of str, default empty
        Keys that must stay complete.
    combs : mapping, optional
        In place of k: ``{3: 5, 4: 3}`` asks that any three keys are shared by five records and any four by three.
        Not for "category".
    by : str or sequence of str, optional
        Strata: records are alike within their stratum only.
    weak : int, default 0
        With "wildcard": how many records may be released in a pattern that fewer than k originals fit. With 0,
        "wildcard" is "pattern".

    Returns
    -------
    Protected
        ``details["below_k"]`` counts the records that are like fewer than k, before and after, by four readings of a
        missing cell: "category", "pattern", "wildcard", and "candidates" (released records that fit the full key of
        the person: what somebody who knows all keys finds). ``columns`` has the cells per key.

    Raises
    ------
    InputError
        For k below 2 or above the number of records, strata smaller than k, ranks that do not fit the keys, and where
        k cannot be met because keys must stay complete.

    Notes
    -----
    "category" implies the three other readings, "pattern" and "candidates" imply "wildcard". The least number of
    cells is NP-hard to find for "category"; on random tables of 8 to 12 records the greedy cover with repair used
    here blanked 2 % more cells than the exhaustive search, and as few in nine tables of ten. For "pattern" every
    key is a task of its own and the answer is exact: the cheapest subset of its cells, of 2^m. Missing values that
    were there count as missing cells and cost nothing.

    k-anonymity says nothing about attributes that all k share, nor about keys that were not named. Survey weights do
    not enter: they speak of the population, not of the file.

    References
    ----------
    Meyerson & Williams (2004), On the complexity of optimal k-anonymity. Templ, Kowarik & Meindl (2015), Statistical
    disclosure control for micro-data using the R package sdcMicro.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"age": [30, 30, 30, 40, 40, 50], "sex": list("fffmmm")})
    >>> safer = gh.protection.suppress_locally(people, ["age", "sex"], k=3)
    >>> safer
    Blanked 3 cells of 3 records in age.
    >>> safer.details["below_k"]["category"]
    {'before': 3, 'after': 0}
    """
    before = held(table)
    names = before.columns(keys, "keys")
    task = _task(before, names, k, definition, importance, never, combs, weak)
    strata = _strata(before, by, names, max(task.sizes.values()))
    blanked = np.zeros((before.n, len(names)), np.bool_)
    left = 0
    for rows in _groups(strata):
        inside = keys_of(before, names, rows)
        placed, unsolved = task.solved(inside)
        left += unsolved
        if unsolved:
            continue
        marks = _dealt(before, rows, inside, placed)
        blanked[rows] = ((marks & ~inside.blank[inside.of])[:, None] >> np.arange(len(names))) & 1 == 1
    if left:
        stay = spoken(never if isinstance(never, (list, tuple)) else [never])
        raise InputError(
            f"k = {max(task.sizes.values())} cannot be met for {counted(left, 'record')} while {stay} "
            f"{plural(len(never), 'stays', 'stay')} complete; take a smaller k, or fewer columns in never"
        )
    new = {name: _without(before[name], blanked[:, j]) for j, name in enumerate(names)}
    found = _readings(before, names, strata, blanked)
    below = [one.below(max(task.sizes.values())) for one in found]
    notes = [TRIVIAL] if definition == "wildcard" and weak else []
    if definition != "category" and below[1]["candidates"]:
        notes.append(
            f"{counted(below[1]['candidates'], 'person', 'people')} whose full key is known still "
            f"{plural(below[1]['candidates'], 'has', 'have')} fewer than {max(task.sizes.values())} candidates."
        )
    details = {
        "definition": definition,
        "below_k": {one: {"before": below[0][one], "after": below[1][one]} for one in READINGS},
        "least": {one: {"before": found[0].least()[one], "after": found[1].least()[one]} for one in READINGS},
        "costs": dict(zip(names, task.costs.round(6), strict=True)),
    }
    return protected(before, new, did="blanked", notes=notes, details=details)


# -- what is asked -----------------------------------------------------------------------------------------------------


def _task(
    before: Held,
    names: list[str],
    k: int,
    definition: Definition,
    importance: Sequence[float] | Mapping[str, float] | None,
    never: Sequence[str],
    combs: Mapping[int, int] | None,
    weak: int,
) -> Task:
    sizes = {len(names): k} if combs is None else _sizes(combs, len(names))
    if combs is not None and definition == "category":
        raise InputError("combs asks about subsets of the keys, which definition='pattern' or 'wildcard' can answer")
    for least in sizes.values():
        if not 2 <= least <= before.n:
            raise InputError(f"k must lie between 2 and the number of records ({before.n:,}), not {least}")
    if weak and definition != "wildcard":
        raise InputError("weak speaks of records that only definition='wildcard' would let pass")
    if weak < 0:
        raise InputError("weak is a number of records, 0 or more")
    stay = before.columns(never, "never") if len(never) else []
    for name in stay:
        if name not in names:
            raise InputError(f"never names {name!r}, which is no key{closest(name, names)}")
    allowed = sum(1 << j for j, name in enumerate(names) if name not in stay)
    return Task(tuple(names), k, sizes, definition, _costs(before, names, importance), allowed, weak)


def _sizes(combs: Mapping[int, int], m: int) -> dict[int, int]:
    whole = all(re.fullmatch("[0-9]{1,9}", str(n)) for one in combs.items() for n in one)  # keys of TOML are texts
    found = {int(size): int(least) for size, least in combs.items()} if whole else {}
    if not found or not all(1 <= size <= m for size in found):
        raise InputError(f"combs takes {{number of keys: k}}, with numbers between 1 and {m}, such as {{3: 5}}")
    return found


def _costs(before: Held, names: list[str], importance: Sequence[float] | Mapping[str, float] | None) -> Floats:
    """What blanking a cell of each key costs."""
    if isinstance(importance, Mapping):
        names_known("importance", importance, names, "names {name}, which is no key")
        costs = np.array([float(importance.get(name, 1.0)) for name in names])
        if not (np.isfinite(costs).all() and (costs > 0).all()):
            raise InputError("importance must be above 0 for every key; never= keeps a key complete")
        return costs
    if importance is None:
        levels = np.array([before[name].n_unique() for name in names])
        ranks = np.argsort(np.argsort(levels, kind="stable"), kind="stable") + 1.0
    else:
        ranks = np.asarray(list(importance), np.float64)
        if len(ranks) != len(names) or not np.isfinite(ranks).all():
            raise InputError(f"importance takes a rank for each of the {len(names)} keys: {listed(names)}")
        ranks = np.unique(ranks, return_inverse=True)[1] + 1.0
    return np.asarray(1.0 - TIE * ranks, np.float64)


def _strata(before: Held, by: Sequence[str] | None, names: list[str], k: int) -> Ints:
    """Number of the stratum of every record."""
    if by is None:
        return np.zeros(before.n, np.int64)
    columns = before.columns(by, "by")
    both = [name for name in columns if name in names]
    if both:
        raise InputError(
            f"{both[0]!r} is a key and in by; within its strata it tells nobody apart: leave it out of keys"
        )
    strata = group_codes(before.frame, columns)
    sizes = np.bincount(strata)
    if int(sizes.min()) < k:
        raise InputError(
            f"{counted(int((sizes < k).sum()), 'stratum', 'strata')} of {spoken(columns)} have fewer than {k} records "
            f"(the smallest has {int(sizes.min())}); merge levels, or take a smaller k"
        )
    return strata


def _groups(strata: Ints) -> Iterator[Ints]:
    order = np.argsort(strata, kind="stable")
    edges = np.searchsorted(strata[order], np.arange(int(strata.max()) + 2))
    for first, last in pairwise(edges):
        yield order[first:last]


# -- who is blanked ----------------------------------------------------------------------------------------------------


def _dealt(before: Held, rows: Ints, keys: Keys, placed: Placed) -> Ints:
    """Blank cells of every record: where records of one key are released in several ways, the order of their other
    values decides who is who, so that the order of the file does not.
    """
    order = np.lexsort((placed.marks, placed.key))
    entries = Placed(placed.key[order], placed.marks[order], placed.count[order])
    several = np.bincount(entries.key, minlength=len(keys.counts)) > 1
    place = np.zeros(len(rows), np.int64)
    torn = np.flatnonzero(several[keys.of])
    if torn.size:
        place[torn] = _content_order(before.frame[rows[torn]])
    by_key = np.lexsort((place, keys.of))
    marks = np.empty(len(rows), np.int64)
    marks[by_key] = np.repeat(entries.marks, entries.count)
    return marks


def _content_order(frame: pl.DataFrame) -> Ints:
    """Place of every record when all are sorted by all their values."""
    codes = np.stack([value_codes(frame[name]) for name in sorted(frame.columns)])
    place = np.empty(frame.height, np.int64)
    place[np.lexsort(codes[::-1])] = np.arange(frame.height)
    return place


def _without(values: pl.Series, blank: Bools) -> pl.Series:
    return pl.select(pl.when(pl.Series(~blank)).then(values)).to_series().alias(values.name)


def _readings(before: Held, names: list[str], strata: Ints, blanked: Bools) -> tuple[Readings, Readings]:
    """How many records are like each, before and after."""
    codes = np.stack([value_codes(before[name]) for name in names], axis=1)
    home = strata[:, None] + 1
    old = np.concatenate([codes, home], axis=1)
    new = np.concatenate([np.where(blanked, 0, codes), home], axis=1)
    return readings(old, old), readings(old, new)
