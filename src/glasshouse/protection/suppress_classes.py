"""Local suppression to classes of k equal released keys, missing equal to missing.

The least number of blanked cells is NP-hard to find (Meyerson & Williams 2004). This is a greedy cover with repair: it
works on distinct keys with counts and never on records, and tries subsets of cells, of which there are few.

1. A group is what becomes equal when the cells of a subset S are blanked. Groups are closed in ascending order of cost
   per record that is put right; where fewer than k such records are in a group, records of classes that are larger
   than k are blanked too (donors).
2. Whoever is left joins the class that grows dearer by the least.
3. Repair, until nothing changes: whole classes get back what all their members share; classes split; records move to
   cheaper classes where their own keeps k; classes are given up where every member finds a cheaper place.
4. In other tries some classes are given up and built anew in a shaken order; the best try counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from glasshouse.core.streams import generator
from glasshouse.data.arrays import Floats, Ints
from glasshouse.protection.keyed import Keys, Marks, subsets, weight_of

ROUNDS = 30
NOISE = 1.5  # by how much the order of closing groups is shaken in another try
WORK, TRIES = 300_000, 40  # more tries where there is less to do
EPS = 1e-9


@dataclass
class Placed:
    """Records of a key that are released with the same cells blank.

    Parameters
    ----------
    key : array of int
        Number of the key.
    marks : array of int
        Blank cells, as bits, those that were missing before included.
    count : array of int
        Records.
    """

    key: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    marks: Marks = field(default_factory=lambda: np.empty(0, np.int64))
    count: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def plus(self, key: Ints, marks: Marks, count: Ints) -> Placed:
        """The same and others, equal ones added up."""
        keys, masks = np.concatenate([self.key, key]), np.concatenate([self.marks, marks])
        counts = np.concatenate([self.count, count])
        both = np.stack([keys, masks], axis=1)
        _, first, of = np.unique(keys << 12 | masks, return_index=True, return_inverse=True)
        total = np.bincount(of, weights=counts, minlength=len(first)).astype(np.int64)
        stays = total > 0
        return Placed(both[first, 0][stays], both[first, 1][stays], total[stays])


class Cover:
    """Keys on their way into classes of at least k."""

    def __init__(self, keys: Keys, k: int, costs: Floats, allowed: int) -> None:
        self.keys, self.k, self.costs, self.allowed = keys, k, costs, allowed
        self.subsets = subsets(allowed, costs)
        size = 1 << keys.m
        self.weight = np.array([weight_of(s, costs) for s in range(size)])
        self.blank = keys.blank.astype(np.int64)

    # -- 1: groups, cheapest per record first --------------------------------------------------------------------

    def start(self) -> tuple[Placed, Ints]:
        """Keys that k records have stay whole; all others are left over."""
        full = self.keys.counts >= self.k
        whole = Placed().plus(np.flatnonzero(full), self.blank[full], self.keys.counts[full])
        return whole, np.where(full, 0, self.keys.counts)

    def closed(self, placed: Placed, left: Ints, rng: np.random.Generator | None = None) -> tuple[Placed, Ints]:
        """Groups of those left over, cheapest per record first; with a generator, not quite in that order."""
        keys, k, left = self.keys, self.k, left.copy()
        whole = placed.marks == self.blank[placed.key]
        surplus = np.zeros(len(keys.counts), np.int64)
        surplus[placed.key[whole]] = np.maximum(placed.count[whole] - k, 0)
        classes = np.unique(self.codes(placed))
        steps = [
            (self.weight[s] * k / u, s.bit_count(), order, u)
            for order, s in enumerate(self.subsets)
            for u in range(1, k + 1)
        ]
        if rng is not None:
            luck = rng.uniform(1, NOISE, len(steps))
            steps = [(ratio * by, *rest) for (ratio, *rest), by in zip(steps, luck, strict=True)]
        steps.sort()
        largest = np.full(len(self.subsets), np.iinfo(np.int64).max)
        for ratio, _, order, u in steps:
            if largest[order] < u:
                continue
            waiting = np.flatnonzero(left)
            if not waiting.size:
                break
            s = self.subsets[order]
            codes = keys.code(s, waiting)
            groups, of = np.unique(codes, return_inverse=True)
            people = np.bincount(of, weights=left[waiting])
            there = np.isin(groups, classes)
            largest[order] = k if there.any() else int(people.max())
            need = np.where(there, 0, np.maximum(k - people, 0)).astype(np.int64)
            spent = np.bincount(of, weights=left[waiting] * self.weight[s & ~self.blank[waiting]])
            donors: Ints = np.empty(0, np.int64)
            givers, taken = donors, donors
            if (need > 0).any() and surplus.any():
                donors, givers, taken = self._donors(s, groups, need, surplus)
                spent = spent + np.bincount(
                    givers, weights=taken * self.weight[s & ~self.blank[donors]], minlength=len(groups)
                )
                need = need - np.bincount(givers, weights=taken, minlength=len(groups)).astype(np.int64)
            chosen = (need <= 0) & (spent <= (ratio + EPS) * people)
            if not chosen.any():
                continue
            rows = waiting[chosen[of]]
            placed = placed.plus(rows, s | self.blank[rows], left[rows])
            left[rows] = 0
            if donors.size:
                giving = chosen[givers]
                donors, taken = donors[giving], taken[giving]
                placed = placed.plus(donors, s | self.blank[donors], taken).plus(donors, self.blank[donors], -taken)
                np.subtract.at(surplus, donors, taken)
            classes = np.union1d(classes, groups[chosen])
        return placed, left

    def _donors(self, s: int, groups: np.ndarray, need: Ints, surplus: Ints) -> tuple[Ints, Ints, Ints]:
        """Keys that can spare records for the groups that lack some, the groups, and how many records."""
        able = np.flatnonzero(surplus)
        codes = self.keys.code(s, able)
        at = np.minimum(np.searchsorted(groups, codes), len(groups) - 1)
        fits = (groups[at] == codes) & (need[at] > 0)
        able, at = able[fits], at[fits]
        order = np.lexsort((able, -surplus[able], at))
        able, at = able[order], at[order]
        offered = surplus[able]
        start = np.searchsorted(at, at, side="left")
        run = np.cumsum(offered)
        before = run - offered - (run - offered)[start] if len(run) else run
        taken = np.clip(need[at] - before, 0, offered)
        some = taken > 0
        return able[some], at[some], taken[some]

    # -- 2: whoever is left ----------------------------------------------------------------------------------------

    def absorbed(self, placed: Placed, left: Ints) -> Placed:
        """Those left over join the class whose members lose the least by it."""
        keys = self.keys
        for row in np.flatnonzero(left):
            codes = self.codes(placed)
            _, first, of = np.unique(codes, return_index=True, return_inverse=True)
            released = keys.released(placed.key[first], placed.marks[first])
            own = keys.rows[row]
            differ = (released != own) @ (1 << np.arange(keys.m, dtype=np.int64))
            possible = differ & ~self.allowed & ~(placed.marks[first] | self.blank[row]) == 0
            # a cell that is missing in one and may not be blanked in the other keeps them apart
            possible &= differ & ~self.allowed == 0
            loss = np.bincount(of, weights=placed.count * self.weight[(differ[of] | placed.marks) & ~placed.marks])
            own_loss = self.weight[(differ | placed.marks[first]) & ~self.blank[row]] * left[row]
            total = np.where(possible, loss + own_loss, np.inf)
            best = int(np.argmin(total))
            if not np.isfinite(total[best]):
                continue
            members = np.flatnonzero(of == best)
            marks = placed.marks[members] | differ[best]
            old_key, old_marks, old_count = placed.key[members], placed.marks[members], placed.count[members]
            placed = placed.plus(old_key, old_marks, -old_count).plus(old_key, marks, old_count)
            placed = placed.plus(np.array([row]), np.array([marks[0] | self.blank[row]]), np.array([left[row]]))
            left[row] = 0
        return placed

    # -- 4: other tries ----------------------------------------------------------------------------------------------

    def searched(self, placed: Placed) -> Placed:
        """The best of several tries, each of which gives up some classes and builds them anew (large neighbourhood
        search, Shaw 1998). How many follows from the size of the task, never from the clock.
        """
        rng = generator(0, "suppress_locally")
        best, least = placed, self.cost(placed)
        tries = min(TRIES, WORK // (1 + int((placed.marks != self.blank[placed.key]).sum()) * len(self.subsets)))
        for _ in range(tries):
            codes = self.codes(best)
            classes, of = np.unique(codes, return_inverse=True)
            size = np.bincount(of, weights=best.count)
            touched = np.bincount(of, weights=best.marks != self.blank[best.key]) > 0
            odds = np.where(touched, rng.choice((0.2, 0.5, 1.0)), np.where(size < 2 * self.k, 0.1, 0.0))
            gone = (rng.random(len(classes)) < odds)[of]
            left = np.zeros(len(self.keys.counts), np.int64)
            np.add.at(left, best.key[gone], best.count[gone])
            kept = Placed(best.key[~gone], best.marks[~gone], best.count[~gone])
            made, over = self.closed(kept, left, rng)
            made = self.repaired(self.absorbed(made, over))
            if over.sum() == 0 and self.cost(made) < least - EPS:
                best, least = made, self.cost(made)
        return best

    # -- 3: repair ---------------------------------------------------------------------------------------------------

    def codes(self, placed: Placed) -> np.ndarray:
        """Code of the released key of each entry."""
        found = self.keys.whole[placed.key].copy()
        for j in range(self.keys.m):
            found -= np.where(placed.marks >> j & 1 == 1, self.keys.parts[placed.key, j], np.uint64(0))
        return found

    def cost(self, placed: Placed) -> float:
        """What is blanked, in costs."""
        return float((placed.count * self.weight[placed.marks & ~self.blank[placed.key]]).sum())

    def repaired(self, placed: Placed) -> Placed:
        """The same with less blanked."""
        best = self.cost(placed)
        for _ in range(ROUNDS):
            placed = self.moved(self.split(self.restored(placed)))
            now = self.cost(placed)
            if now >= best - EPS:
                break
            best = now
        return placed

    def restored(self, placed: Placed) -> Placed:
        """Whole classes get back the cells in which all members have the same value."""
        codes = self.codes(placed)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) != 0]) if len(order) else np.empty(0, np.int64)
        rows = self.keys.rows[placed.key[order]]
        same = (np.minimum.reduceat(rows, starts) == np.maximum.reduceat(rows, starts)) @ (
            1 << np.arange(self.keys.m, dtype=np.int64)
        )
        members = np.diff(np.r_[starts, len(order)])
        marks = placed.marks.copy()
        marks[order] &= ~np.repeat(same, members) | self.blank[placed.key[order]]
        return Placed().plus(placed.key, marks, placed.count)

    def split(self, placed: Placed) -> Placed:
        """Classes of 2k and more split where k members share a value of a blank cell and k others stay."""
        for j in sorted(range(self.keys.m), key=lambda j: -self.costs[j]):
            marked = placed.marks & ~self.blank[placed.key]
            _, of = np.unique(self.codes(placed), return_inverse=True)
            size = np.bincount(of, weights=placed.count)
            able = (marked >> j & 1 == 1) & (size[of] >= 2 * self.k)
            if not able.any():
                continue
            which = np.flatnonzero(able)
            value = self.keys.rows[placed.key[which], j]
            pairs, part = np.unique(np.stack([of[which], value]), axis=1, return_inverse=True)
            part = part.ravel()
            people = np.bincount(part, weights=placed.count[which])
            home = pairs[0]
            marks = placed.marks.copy()
            order = np.lexsort((-people, home))
            spare = size.copy()
            for p in order[people[order] >= self.k]:  # few: classes that can be split at all
                if spare[home[p]] - people[p] >= self.k:
                    spare[home[p]] -= people[p]
                    marks[which[part == p]] &= ~(1 << j)
            placed = Placed().plus(placed.key, marks, placed.count)
        return placed

    def moved(self, placed: Placed) -> Placed:
        """Records go to cheaper classes that exist, where their own class keeps k or is given up as a whole."""
        codes = self.codes(placed)
        classes, of = np.unique(codes, return_inverse=True)
        size = np.bincount(of, weights=placed.count).astype(np.int64)
        movable = placed.marks != self.blank[placed.key]
        rows = np.flatnonzero(movable)
        if not rows.size:
            return placed
        key = placed.key[rows]
        now = self.weight[placed.marks[rows] & ~self.blank[key]]
        to, price = np.full(len(rows), -1, np.int64), np.full(len(rows), np.inf)
        marks = np.zeros(len(rows), np.int64)
        for s in self.subsets:
            cost = self.weight[s & ~self.blank[key]]
            open_ = cost < price - EPS
            if not open_.any():
                continue
            code = self.keys.code(s, key)
            at = np.minimum(np.searchsorted(classes, code), len(classes) - 1)
            hit = open_ & (classes[at] == code) & (at != of[rows])
            to[hit], price[hit], marks[hit] = at[hit], cost[hit], s | self.blank[key[hit]]
        gain = now - price
        counts = placed.count[rows]
        gone = np.zeros(len(rows), np.int64)
        locked = np.zeros(len(classes), np.bool_)  # somebody moved in: it must stay
        closed = np.zeros(len(classes), np.bool_)
        home = of[rows]
        everybody = np.bincount(home, weights=counts, minlength=len(classes)) == size
        whole = np.where(np.isfinite(gain), gain * counts, -np.inf)  # nowhere to go: the class stays
        total = np.bincount(home, weights=whole, minlength=len(classes))
        by_home = np.argsort(home, kind="stable")
        edges = np.searchsorted(home[by_home], np.arange(len(classes) + 1))
        for c in np.argsort(-total, kind="stable"):
            if not total[c] > EPS:
                break
            if not everybody[c] or locked[c]:
                continue
            members = by_home[edges[c] : edges[c + 1]]
            if closed[to[members]].any():
                continue
            closed[c] = True
            locked[to[members]] = True
            gone[members] = counts[members]
        better = np.flatnonzero((gain > EPS) & (gone == 0))
        for i in better[np.argsort(-gain[better], kind="stable")]:
            spare = size[home[i]] - self.k
            if spare > 0 and not closed[home[i]] and not closed[to[i]]:
                gone[i] = min(spare, counts[i])
                size[home[i]] -= gone[i]
        some = np.flatnonzero(gone)
        without = placed.plus(key[some], placed.marks[rows[some]], -gone[some])
        return without.plus(key[some], marks[some], gone[some])


def cover(keys: Keys, k: int, costs: Floats, allowed: int) -> tuple[Placed, int]:
    """Blank cells of the keys so that every released key occurs at least k times.

    Parameters
    ----------
    keys : Keys
        The keys.
    k : int
        Size of the smallest class.
    costs : array of float
        What blanking a cell of each key costs.
    allowed : int
        Keys whose cells may be blanked, as bits.

    Returns
    -------
    (placed, left) : tuple of Placed and int
        Where the records go, and how many could not be put into a class.
    """
    _, of = np.unique(keys.code(allowed), return_inverse=True)
    apart = np.bincount(of, weights=keys.counts)[of] < k  # what must stay complete keeps them apart
    if apart.any():
        return Placed(), int(keys.counts[apart].sum())
    work = Cover(keys, k, costs, allowed)
    placed, left = work.closed(*work.start())
    placed = work.repaired(work.absorbed(placed, left))
    return work.searched(placed), int(left.sum())
