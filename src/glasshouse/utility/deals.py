"""Honest samples like the two tables: original and released records dealt anew.

If the release is a fresh sample of the population behind the original, nobody can tell which of the pooled records
belongs to which table, and every way to deal them out is equally likely (Fisher 1935; Lehmann & Romano 2005, chapter
15). So the statistic of a random deal is a draw from its law under that hypothesis, exactly and whatever the sizes: it
contains the rare levels and extreme values one table has and the other lacks, which a bootstrap of the original cannot
show. A holdout is not needed, and would add nothing to the size of the test.

    fresh    statistic(X*, Y*)    the pooled records dealt at random to two tables of these sizes
    correct  statistic(X, Y*)     Y* drawn with replacement from the original: a model that equals the original's own
                                  distribution

With clusters (households, several rows of a person) whole clusters are dealt and drawn. A weighted original beside an
unweighted release is the exception: their records are not alike, so both tables are drawn from the original, the
release's with chances in proportion to the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState, generator
from glasshouse.core.threads import one_blas_thread
from glasshouse.data.pair import Pair
from glasshouse.engines.workers import in_threads
from glasshouse.utility.contents import units_by_content
from glasshouse.utility.nulls import Band, band

Rows: TypeAlias = np.ndarray | None  # rows of the pool, the original's first; None: the original as it stands
POOL = ("original", "released")
KEPT = 256 * 2**20  # bytes of deals that stay with a pair: its measures look at the same ones
Found = TypeVar("Found")


class Times(NamedTuple):
    """How often each row was drawn, as small as that can be said: a bit where nobody is there twice.

    Parameters
    ----------
    times
        Packed bits, or counts.
    size
        Number of rows.
    once
        Whether ``times`` are bits.
    """

    times: np.ndarray
    size: int
    once: bool

    @classmethod
    def of(cls, rows: np.ndarray) -> Times:
        """From the rows themselves, in any order."""
        times = np.bincount(rows)
        size = len(times)
        most = int(times.max(initial=0))
        if most <= 1:
            return cls(np.packbits(times.astype(bool)), size, True)
        return cls(times.astype(np.min_scalar_type(most)), size, False)

    @classmethod
    def once_each(cls, rows: np.ndarray) -> Times:
        """From rows of which none is there twice: flags are written sooner than counts are raised."""
        there = np.zeros(int(rows.max(initial=-1)) + 1, bool)
        there[rows] = True
        return cls(np.packbits(there), len(there), True)

    def rows(self) -> np.ndarray:
        """The rows in the order of the file, so that whoever reads them walks through memory once."""
        if self.once:
            return np.flatnonzero(np.unpackbits(self.times, count=self.size).view(bool))
        return np.repeat(np.arange(self.size), self.times)


class Deal(NamedTuple):
    """Rows of the pool in place of the original and of the release, and rows of the original in place of the release
    (``again``).
    """

    x: np.ndarray
    y: np.ndarray
    again: np.ndarray


@dataclass(frozen=True)
class Pool:
    """The records that may be dealt, in an order that depends on their content alone.

    Parameters
    ----------
    rows
        Usable rows of the pool, sorted by unit.
    unit
        The unit (cluster, or record) of each of them, from 0 without gaps.
    own
        Which of them are original ones.
    n, m
        Usable rows of either table.
    chances
        Chance of every original row to be drawn for an unweighted release of a weighted original; None: they are dealt.
    """

    rows: np.ndarray
    unit: np.ndarray
    own: np.ndarray
    n: int
    m: int
    chances: np.ndarray | None

    @property
    def how(self) -> str:
        """How the tables of the null are made, in words."""
        if self.chances is not None:
            return "weighted resamples of the original"
        whole = "" if len(self.rows) == self.unit[-1] + 1 else ", whole clusters"
        return f"random deals of original and released records{whole}"

    @cached_property
    def originals(self) -> tuple[np.ndarray, np.ndarray]:
        """The original rows, sorted by unit, and where each unit starts."""
        unit = self.unit[self.own]
        return self.rows[self.own], np.flatnonzero(np.diff(unit, prepend=-1))

    def deal(self, rng: np.random.Generator) -> Deal:
        """One deal, its rows as they were drawn."""
        mine, starts = self.originals
        if self.chances is not None:
            drawn = [_by_chance(mine, self.chances, self.m, rng) for _ in range(2)]
            return Deal(_whole(mine, starts, self.n, rng), drawn[0], drawn[1])
        x, y = self._dealt(rng)
        return Deal(x, y, _whole(mine, starts, self.m, rng))

    def by_content(self, rows: np.ndarray) -> np.ndarray:
        """The rows in an order that the file has no say in, for those who add up decimals to the last digit."""
        times = np.bincount(rows, minlength=int(self.rows.max(initial=-1)) + 1)
        return np.repeat(self.rows, times[self.rows])

    def labels(self, replicates: int, random_state: RandomState) -> np.ndarray:
        """Labels 0 (original) and 1 (release) of the rows, lowest row first, in so many deals: [rows, replicates]."""
        if replicates < 0:
            raise InputError(f"the number of deals is {replicates}; it is 0 (no band) or more")
        place = np.empty(int(self.rows.max(initial=-1)) + 1, np.int64)
        place[np.sort(self.rows)] = np.arange(len(self.rows))
        made = np.zeros((replicates, len(self.rows)), np.int8)

        def deal(r: int) -> None:
            rng = generator(random_state, "null", r)
            dealt = self._dealt(rng)[1] if self.chances is None else rng.permutation(self.rows)[: self.m]
            made[r, place[dealt]] = 1

        if isinstance(random_state, np.random.Generator):  # it changes with every draw
            for r in range(replicates):
                deal(r)
        else:
            in_threads(deal, range(replicates))
        return made.T

    def sample(self, most: int, rng: np.random.Generator) -> Pool:
        """About so many records drawn at random, in whole units, to be dealt in place of all.

        The smaller table keeps its size up to half of them, so that the law of a deal keeps the shape it has with few
        records.
        """
        if most >= len(self.rows):
            return self
        order = rng.permutation(self.unit[-1] + 1)
        ends = np.cumsum(np.bincount(self.unit)[order])
        taken = np.zeros(len(order), bool)
        taken[order[: int(np.searchsorted(ends, most)) + 1]] = True
        chosen = taken[self.unit]
        rows, unit = self.rows[chosen], np.unique(self.unit[chosen], return_inverse=True)[1].reshape(-1)
        few = min(self.n, self.m, len(rows) // 2)
        n = few if self.n <= self.m else len(rows) - few
        chances = None if self.chances is None else self.chances[chosen[self.own]]
        return Pool(rows, unit, self.own[chosen], n, len(rows) - n, chances)

    def _dealt(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The rows of either table, dealt at random in whole units."""
        place = rng.permutation(self.unit[-1] + 1)
        if len(place) == len(self.rows):
            order, cut = place, self.n
        else:
            order = np.argsort(place[self.unit], kind="stable")
            ends = np.flatnonzero(np.diff(self.unit[order])) + 1  # a cut after the last one would leave nobody
            ends = ends if ends.size else np.array([len(order)])
            cut = int(ends[np.argmin(np.abs(ends - self.n))])
        return self.rows[order[:cut]], self.rows[order[cut:]]


def _whole(rows: np.ndarray, starts: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """About ``size`` rows in whole units, drawn with replacement; exactly so many where every row is a unit."""
    drawn = rng.integers(0, len(starts), size)
    if len(starts) == len(rows):
        return rows[drawn]
    sizes = np.diff(np.append(starts, len(rows)))
    ends = np.cumsum(sizes[drawn])
    drawn = drawn[: int(np.argmin(np.abs(ends - size))) + 1]
    taken = sizes[drawn]
    inside = np.arange(int(taken.sum())) - np.repeat(np.cumsum(taken) - taken, taken)
    return rows[np.repeat(starts[drawn], taken) + inside]


def _by_chance(rows: np.ndarray, chances: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    steps = np.cumsum(chances)
    return rows[np.minimum(np.searchsorted(steps, rng.random(size) * steps[-1], side="right"), len(rows) - 1)]


def pool(pair: Pair, keep: np.ndarray | None = None) -> Pool:
    """The pool of original and release; ``keep`` flags the rows of it that a measure can use."""
    order, unit = pair.memo(("pool",), lambda: units_by_content(pair, POOL))
    n = pair.n("original")
    if keep is not None:
        order, unit = order[keep[order]], unit[keep[order]]
        unit = np.unique(unit, return_inverse=True)[1]
    weights = pair.weight_values("original")
    chances = None
    if weights is not None and pair.weight_values("released") is None:
        chances = weights[order[order < n]]
    own = order < n
    return Pool(order, unit, own, int(own.sum()), int((~own).sum()), chances)


def in_deals(
    pair: Pair,
    work: Callable[[Deal], Found],
    numbers: range,
    random_state: RandomState,
    keep: np.ndarray | None = None,
) -> list[Found]:
    """What is found in numbered deals; the deals are the same for every measure with the same seed and usable rows.

    Parameters
    ----------
    pair
        The tables.
    work
        What is done with a deal. Deals are shared out among threads, each of which has one of BLAS.
    numbers
        Which deals.
    random_state
        Their seed. A Generator changes with every draw, so its deals come one after the other.
    keep
        Which rows of the pool are usable; default: all.

    Returns
    -------
    list
        In the order of the deals.
    """
    made = _deals(pair, random_state, keep)

    def found(r: int) -> Found:
        return work(made.number(r))

    if not isinstance(random_state, np.random.Generator):
        return in_threads(found, numbers)
    with one_blas_thread():
        return [found(r) for r in numbers]


@dataclass
class _Room:
    """Bytes that deals of one pair may still take, whoever asks for them."""

    left: int


class _Deals:
    """Numbered deals of one pool, rows in the order of the file; the first ones are kept, because the next measure asks
    for the same. Without room none are.
    """

    def __init__(self, made: Pool, random_state: RandomState, room: _Room) -> None:
        self.pool, self.random_state, self.room = made, random_state, room
        self.kept: dict[int, list[Times]] = {}

    def number(self, r: int) -> Deal:
        """Deal number r."""
        made = self.kept.get(r)
        if made is None:
            x, y, again = self.pool.deal(generator(self.random_state, "null", r))
            # a row is dealt to one table, once; only what is drawn from chances may be there twice
            of = Times.once_each if self.pool.chances is None else Times.of
            made = [of(x), of(y), Times.of(again)]
            size = sum(side.times.nbytes for side in made)
            if size <= self.room.left:
                self.room.left -= size
                self.kept[r] = made
        return Deal(*(side.rows() for side in made))


def _deals(pair: Pair, random_state: RandomState, keep: np.ndarray | None) -> _Deals:
    """The deals of a seed and of usable rows; those of a Generator, or of no seed, are new each time."""
    if not isinstance(random_state, (int, np.integer)):
        return _Deals(pool(pair, keep), random_state, _Room(0))
    which = None if keep is None or keep.all() else blake2b(np.packbits(keep).tobytes()).digest()
    room = pair.memo(("room for deals",), lambda: _Room(KEPT))
    return pair.memo(("deals", int(random_state), which), lambda: _Deals(pool(pair, keep), random_state, room))


def labels(pair: Pair, replicates: int, random_state: RandomState, rows: np.ndarray) -> np.ndarray:
    """Labels 0 (original) and 1 (release) of these rows of the pool, [1 + replicates, rows]: the true ones first, then
    those of the deals.
    """
    dealt = pool(pair).labels(replicates, random_state).T
    made = np.empty((1 + replicates, len(rows)), np.int8)
    made[0] = rows >= pair.n("original")

    def put(r: int) -> None:
        made[r + 1] = dealt[r][rows]

    in_threads(put, range(replicates))
    return made


def resampled(
    pair: Pair,
    statistic: Callable[[Rows, Rows], float | None],
    *,
    replicates: int,
    random_state: RandomState,
    keep: np.ndarray | None = None,
) -> Band | None:
    """Band of a statistic from deals of the pooled records.

    Parameters
    ----------
    pair
        The tables.
    statistic
        Figure of two sets of rows of the usable pool; None where it is undefined.
    replicates, random_state
        How many deals, and their seed.
    keep
        Which rows of the pool are usable; default: all. Rows given to the statistic count those.

    Returns
    -------
    Band or None
        None without replicates, or where too few of them are defined.
    """
    if replicates < 1:
        return None
    place = None if keep is None else np.cumsum(keep) - 1

    def both(dealt: Deal) -> tuple[float | None, float | None]:
        x, y, again = (rows if place is None else place[rows] for rows in (dealt.x, dealt.y, dealt.again))
        return statistic(x, y), statistic(None, again)

    fresh, correct = zip(*in_deals(pair, both, range(replicates), random_state, keep), strict=True)
    return band(fresh, correct, f"{replicates} {pool(pair, keep).how}")


def pooled(parts: Sequence[np.ndarray], axis: int = 0) -> np.ndarray:
    """The arrays of original and release as one."""
    made: np.ndarray = np.concatenate(list(parts), axis=axis)
    return made


def pooled_weights(pair: Pair) -> np.ndarray | None:
    """Weights of the pool; records of an unweighted release count once, and None without weights."""
    weights = pair.weight_values("original")
    if weights is None:
        return None
    others = pair.weight_values("released")
    return pooled([weights, np.ones(pair.n("released")) if others is None else others])
