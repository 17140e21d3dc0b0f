"""A case of the calibration study: one kind of data, one leak, one seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from studies.kinds import KINDS, World, world
from studies.leaks import LEAKS


@dataclass(frozen=True)
class Case:
    """What is assessed; everything about it follows from these four."""

    kind: str
    leak: str
    seed: int
    n: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What tells cases apart."""
        return self.kind, self.leak, self.seed, self.n

    def build(self) -> World:
        """Original, release and holdout. One seed gives the same people for every leak, so leaks are compared on the
        same release."""
        leak, kind = LEAKS[self.leak], KINDS[self.kind]
        drawn = world(kind, self.n, np.random.default_rng([self.seed, crc32(self.kind.encode())]), leak.holdout or 1.0)
        return leak.plant(drawn, np.random.default_rng([self.seed, crc32(self.kind.encode()), 1]))


def cases(runs: Mapping[str, int], kinds: Iterable[str], n: int, first: int = 0) -> Iterator[Case]:
    """Every case, seeds outermost, so that an interrupted study is balanced. ``runs``: how many seeds per leak.

    A leak with fewer seeds is spread over the whole study.
    """
    kinds = list(kinds)
    longest = max(runs.values())
    for seed in range(longest):
        for leak, count in runs.items():
            # a leak with few runs has its turn every so many rounds, not in the first ones only
            turn = (seed + 1) * count // longest - seed * count // longest
            if not turn:
                continue
            number = seed * count // longest
            for kind in kinds:
                if LEAKS[leak].where(KINDS[kind]):
                    yield Case(kind, leak, first + number, n)
