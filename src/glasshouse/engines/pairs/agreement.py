"""How strongly a person agrees with a released record, each column weighed by how rare the agreement is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.pair import Pair
from glasshouse.engines.workers import in_threads

PART = 256  # people who are asked about in one go
FINE = 20  # a number with more values than this is compared by rank, else value by value


@dataclass(frozen=True)
class Standing:
    """Best and second best agreement of each person with the release.

    Parameters
    ----------
    best, second : array of float
        Agreement with the released record that fits best, and with the next one.
    row : array of int
        Position of the best one in the release.
    """

    best: Floats
    second: Floats
    row: Ints

    @property
    def gap(self) -> Floats:
        """How far the best agreement stands out from everything else in the release."""
        return self.best - self.second


@dataclass(frozen=True)
class _Column:
    """One column over original, holdout and release: codes or doubled mid-ranks, and how many share a value."""

    ranked: bool
    people: Ints
    released: Ints
    shared: Ints


def rarity_agreement(pair: Pair, columns: Sequence[str], people: Ints) -> Standing:
    """Agreement with the release, weighed by rarity, for some people of original and holdout together.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str
        The columns compared.
    people : array of int
        Positions in original and holdout laid end to end.

    Returns
    -------
    Standing
        One entry per person.

    Notes
    -----
    For a person j and a released record i the agreement is the sum over columns of -log(share of real people who agree
    with j at least as closely as i does): -log(n_v / N) where a category v is equal, 0 where it is not, and for a
    number -log of the share of values at least as near, by rank. It approximates the log-likelihood ratio of "i is a
    copy of j" against "i is somebody else", needs no distance scale, and one redrawn or noisy column costs little.
    """
    from glasshouse.engines.pairs.agreement_kernel import two_best

    made = [_column(pair, name) for name in columns]
    size = pair.n("original") + (pair.n("holdout") if pair.has_holdout else 0)
    # -log(k / N) for every count k that can occur
    table = -np.log(np.arange(1, size + 1) / size)
    own = np.column_stack([c.people[people] for c in made]).astype(np.int32)
    shared = np.column_stack([c.shared[people] for c in made]).astype(np.int32)
    released = np.stack([c.released for c in made]).astype(np.int32)
    ranked = np.array([c.ranked for c in made])
    parts = [slice(i, i + PART) for i in range(0, max(len(own), 1), PART)]
    found = in_threads(lambda part: two_best(own[part], shared[part], released, ranked, table), parts)
    best, second, row = (np.concatenate(column) for column in zip(*found, strict=True))
    return Standing(best, second, row)


def _column(pair: Pair, name: str) -> _Column:
    codes = pair.codes(name)
    tables = ["original", *(["holdout"] if pair.has_holdout else [])]
    people = np.concatenate([codes.of(t) for t in tables])
    released = codes.of("released")
    counts = np.bincount(people + 1, minlength=codes.n_levels + 1)
    shared = np.maximum(counts[people + 1], 1)
    if not pair.is_numeric(name) or codes.n_levels <= FINE:
        return _Column(False, people, released, shared)
    # doubled mid-rank of each level among real people: values between two levels then differ by twice their number
    below = np.concatenate([[0], np.cumsum(counts[1:])])
    middle = below[:-1] + below[1:]
    far = -4 * len(people)  # missing agrees with missing and is far from every number

    def ranks(array: Ints) -> Ints:
        return np.where(array >= 0, middle[np.maximum(array, 0)], far)

    return _Column(True, ranks(people), ranks(released), shared)
