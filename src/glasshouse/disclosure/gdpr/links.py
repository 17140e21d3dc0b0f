"""Do two halves of a record lead to the same record of another table? Exact over ties at the k-th place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from glasshouse.engines.neighbours.search import TOL, Space, Tied

Spaces: TypeAlias = tuple[Space, Space]  # the same tables by the first and by the second set of columns


@dataclass(frozen=True)
class Links:
    """Outcome per attacked record: probability of a link over random ties, sizes of the tied sets, other tie rules, and
    the probability that a copy of the record would be met by both halves.
    """

    probability: np.ndarray
    tied: tuple[np.ndarray, np.ndarray]
    lowest: np.ndarray
    inclusive: np.ndarray
    unambiguous: np.ndarray
    if_copied: np.ndarray

    def counts(self, splits: int = 1) -> dict[str, object]:
        """Links under other tie rules, for comparison with other packages; only for one given pair of column sets."""
        if splits > 1:
            return {}
        return {
            "expected_random_tie": float(self.probability.sum()),
            "lowest_index": int(self.lowest.sum()),
            "tie_inclusive": int(self.inclusive.sum()),
            "unambiguous": int(self.unambiguous.sum()),
            "tie_set_size": {
                f"aux{side}_{name}": figure
                for side, ties in enumerate(self.tied)
                for name, figure in (("mean", float(ties.mean())), ("max", int(ties.max())))
            },
        }


def linked(
    spaces: Spaces,
    queried: str,
    targets: np.ndarray | None,
    searched: str,
    part: np.ndarray | None,
    k: int,
    n_jobs: int | None,
) -> Links:
    """Ask ``queried`` records (``targets`` of them) for their k nearest records of ``searched`` by each half."""
    from glasshouse.disclosure.gdpr.kernel import overlaps

    lists, references, queries, equal = [], [], [], []
    for given in spaces:
        space = given if part is None else thinned(given, searched, part, "thinned")
        table = searched if part is None else "thinned"
        query = space.rows(queried, targets)
        reference = space.rows(table)
        most = min(k, reference.n)
        radius = space.nearest(query, table, most, n_jobs).distance[:, most - 1]
        every = space.tied(query, table, radius, n_jobs)
        close = space.tied(query, table, radius - 2 * TOL, n_jobs) if most > 1 else _nothing(every)
        lists.append((every.offsets, every.row, close.offsets, close.row))
        references.append((reference.inverse, reference.starts, reference.counts, reference.members))
        queries.append(query)
        equal.append(radius <= TOL)
    pairs = queries[0].inverse * np.int64(queries[1].size) + queries[1].inverse
    distinct, back = np.unique(pairs, return_inverse=True)
    first, second = np.divmod(distinct, queries[1].size)
    found = overlaps(first, second, lists[0], lists[1], references[0], references[1], most)[back.reshape(-1)]
    near, tied0, tied1, both, sure0, ties0, sure1, ties1, lowest = found.T
    probability = chance_of_overlap(near, tied0, tied1, both, ties0, ties1, most - sure0, most - sure1)
    inclusive = near + tied0 + tied1 + both > 0
    unambiguous = (both == 1) & (ties0 == 1) & (ties1 == 1) & (most == 1)
    # a copy shares the k places with the records that equal the person in that half
    places = [
        np.where(same, most / (1.0 + sure + ties), 1.0)
        for same, sure, ties in zip(equal, (sure0, sure1), (ties0, ties1), strict=True)
    ]
    if_copied = np.maximum(probability, places[0] * places[1])
    return Links(probability, (ties0, ties1), lowest > 0, inclusive, unambiguous, if_copied)


def chance_of_overlap(
    near: np.ndarray,
    tied0: np.ndarray,
    tied1: np.ndarray,
    both: np.ndarray,
    ties0: np.ndarray,
    ties1: np.ndarray,
    take0: np.ndarray,
    take1: np.ndarray,
) -> np.ndarray:
    """Probability that two sets of k records meet when the last places are drawn at random from the ties.

    ``take`` of ``ties`` records are drawn on each side; ``tied0`` of the first ties are surely in the second set,
    ``tied1`` of the second surely in the first, ``both`` are ties on both sides, and ``near`` records are surely in
    both.
    """
    from scipy.special import gammaln

    def log_choose(n: np.ndarray, r: np.ndarray) -> np.ndarray:
        valid = (r >= 0) & (r <= n)
        n, r = np.where(valid, n, 0), np.where(valid, r, 0)
        return np.where(valid, gammaln(n + 1) - gammaln(r + 1) - gammaln(n - r + 1), -np.inf)

    apart = np.zeros(len(near))
    for j in range(int(np.max(np.minimum(take0, both), initial=0)) + 1):
        terms = (
            log_choose(both, np.full_like(both, j))
            + log_choose(ties0 - tied0 - both, take0 - j)
            - log_choose(ties0, take0)
        )
        terms = terms + log_choose(ties1 - tied1 - j, take1) - log_choose(ties1, take1)
        apart += np.exp(terms)
    return np.where(near > 0, 1.0, np.clip(1.0 - apart, 0.0, 1.0))


def _nothing(every: Tied) -> Tied:
    return Tied(np.zeros_like(every.offsets), every.row[:0], every.query, every.reference)


def thinned(space: Space, table: str, part: np.ndarray, name: str) -> Space:
    """The space with one more table: some records of another one."""
    encoded = space.encoded
    return Space(
        replace(
            encoded,
            numbers={**encoded.numbers, name: encoded.numbers[table][part]},
            codes={**encoded.codes, name: encoded.codes[table][part]},
            ids={**encoded.ids, name: encoded.ids[table][part]},
        )
    )
