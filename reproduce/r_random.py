"""R's random numbers, so that a paper's listing gives the paper's own data: Mersenne Twister, inversion, rejection.

Written from the published algorithms (Matsumoto & Nishimura 1998, MT19937; R's help page on random numbers for the
seeding, for normal numbers by inversion of 54 bits and for `sample` by rejection, the default since R 3.6.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TINY = 2.328306437080797e-10  # 1 / (2^32 - 1): the ends 0 and 1 are moved in by half of it
BIG = 134_217_728  # 2^27


class RRandom:
    """The stream after `set.seed(seed)`.

    Parameters
    ----------
    seed : int
        What `set.seed` is given.
    """

    def __init__(self, seed: int) -> None:
        self.set_seed(seed)

    def set_seed(self, seed: int) -> None:
        """Start anew: a linear congruential generator, warmed up 50 times, fills the state.

        Parameters
        ----------
        seed : int
            What `set.seed` is given.
        """
        filled = []
        for step in range(50 + 625):
            seed = (69_069 * seed + 1) % 2**32
            if step > 50:  # the first of the 625 is R's place in the state, which is overwritten
                filled.append(seed)
        self._twister = np.random.MT19937()
        self._twister.state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(filled, np.uint32), "pos": 624},
        }

    def uniform(self) -> float:
        """One number between 0 and 1, both ends left out."""
        drawn = int(self._twister.random_raw()) * 2.3283064365386963e-10
        return min(max(drawn, 0.5 * TINY), 1 - 0.5 * TINY)

    def normal(self, n: int, mean: float = 0.0, sd: float = 1.0) -> Floats:
        """`rnorm(n, mean, sd)`: the inverse distribution function of a number with 54 random bits.

        Parameters
        ----------
        n : int
            How many.
        mean, sd : float
            Of the distribution.

        Returns
        -------
        array
        """
        from scipy.special import ndtri

        shares = np.array([(int(BIG * self.uniform()) + self.uniform()) / BIG for _ in range(n)])
        drawn: Floats = mean + sd * ndtri(shares)
        return drawn

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1: as many random bits as n has, again until they are below n.

        Parameters
        ----------
        n : int
            At least 1.

        Returns
        -------
        int
        """
        bits = ceil(log2(n))
        while True:
            drawn = 0
            for _ in range(0, bits + 1, 16):
                drawn = 65_536 * drawn + int(self.uniform() * 65_536)
            drawn &= (1 << bits) - 1
            if drawn < n:
                return drawn

    def sample(
        self, values: Sequence[Any], n: int, replace: bool = False, prob: Sequence[float] | None = None
    ) -> list[Any]:
        """`sample(values, n, replace, prob)`.

        Parameters
        ----------
        values : sequence
            What is drawn from.
        n : int
            How many.
        replace : bool, default False
            With replacement.
        prob : sequence of float, optional
            Probabilities of the values; only with replacement here.

        Returns
        -------
        list
        """
        if prob is not None:
            if not replace:
                raise ValueError("probabilities without replacement are not needed here")
            order = _descending(prob)
            limits = np.cumsum(np.asarray(prob, float)[order] / sum(prob))[:-1]
            return [values[order[int(np.searchsorted(limits, self.uniform(), side="left"))]] for _ in range(n)]
        if replace:
            return [values[self.below(len(values))] for _ in range(n)]
        left = list(range(len(values)))
        drawn = []
        for _ in range(n):
            place = self.below(len(left))
            drawn.append(values[left[place]])
            left[place] = left[-1]
            left.pop()
        return drawn


def _descending(weights: Sequence[float]) -> list[int]:
    """Positions in the order a heap sort leaves them, the largest first: it decides which of two equals comes first."""
    heap = [*zip(weights, range(len(weights)), strict=True)]

    def sink(start: int, end: int) -> None:
        moved, hole = heap[start], start
        while (child := 2 * hole + 1) < end:
            if child + 1 < end and heap[child][0] > heap[child + 1][0]:
                child += 1
            if moved[0] <= heap[child][0]:
                break
            heap[hole] = heap[child]
            hole = child
        heap[hole] = moved

    for start in reversed(range(len(heap) // 2)):
        sink(start, len(heap))
    for end in reversed(range(1, len(heap))):
        heap[0], heap[end] = heap[end], heap[0]
        sink(0, end)
    return [place for _, place in heap]
