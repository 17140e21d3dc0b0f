"""Do two halves of a record lead to the same record of another table? Exact over ties at the k-th place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.engines.neighbours.encoding import Rows, as_seen_by
from glasshouse.engines.neighbours.search import SPARE, TOL, Space

if TYPE_CHECKING:
    from glasshouse.engines.neighbours.crowds import Crowds

Spaces: TypeAlias = tuple[Space, Space]  # the same tables by the first and by the second set of columns
Lists: TypeAlias = tuple[np.ndarray, np.ndarray]  # where each list begins, and the rows of all of them


@dataclass(frozen=True)
class Links:
    """Outcome per attacked record: probability of a link over random ties, sizes of the tied sets, other tie rules, and
    the probability that a copy of the record would be met by both halves.
    """

    probability: np.ndarray
    tied: tuple[np.ndarray, np.ndarray]
    lowest: np.ndarray | None  # where it was asked for
    inclusive: np.ndarray
    unambiguous: np.ndarray
    if_copied: np.ndarray

    def counts(self, splits: int = 1) -> dict[str, object]:
        """Links under other tie rules, for comparison with other packages; only for one given pair of column sets."""
        if splits > 1 or self.lowest is None:
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
    by_number: bool = False,
) -> Links:
    """Ask ``queried`` records (``targets`` of them) for their k nearest records of ``searched`` by each half."""
    from glasshouse.disclosure.gdpr.overlaps import Half, half, overlaps

    halves, queries, equal = list[Half](), list[Rows](), list[np.ndarray]()
    for given in spaces:
        space = given if part is None else thinned(given, searched, part, "thinned")
        table = searched if part is None else "thinned"
        reference = space.rows(table)
        query = as_seen_by(space.rows(queried, targets), reference)
        most = min(k, reference.n)
        radius, near, close = _near(space, query, table, most, n_jobs)
        halves.append(half(near, close, reference, most))
        queries.append(query)
        equal.append(radius <= TOL)
    pairs = queries[0].inverse * np.int64(queries[1].size) + queries[1].inverse
    distinct, back = np.unique(pairs, return_inverse=True)
    first, second = np.divmod(distinct, queries[1].size)
    found = overlaps(first, second, halves[0], halves[1], most, by_number)[back.reshape(-1)]
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
    return Links(probability, (ties0, ties1), lowest > 0 if by_number else None, inclusive, unambiguous, if_copied)


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

    logs = gammaln(np.arange(max(ties0.max(initial=0), ties1.max(initial=0)) + 1) + 1)  # of factorials, each once

    def log_choose(n: np.ndarray, r: np.ndarray) -> np.ndarray:
        valid = (r >= 0) & (r <= n)
        n, r = np.where(valid, n, 0), np.where(valid, r, 0)
        return np.where(valid, logs[n] - logs[r] - logs[n - r], -np.inf)

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


def _near(space: Space, query: Rows, table: str, k: int, n_jobs: int | None) -> tuple[np.ndarray, Crowds, Lists]:
    """Distance of each record to its k-th nearest one; the distinct rows that near to each distinct record, and those
    clearly nearer.

    One search finds a few rows more than k, so that only who has more ties than that is asked again. Fewer than k
    records are nearer than the k-th, so that search has found them.
    """
    reference = space.rows(table)
    found = space.nearest(query, table, min(k + SPARE, reference.n), n_jobs)
    radius = found.distance[:, k - 1]
    near = space.tied_in_crowds(found, query, table, radius, n_jobs)
    distance, row = found.distinct[query.firsts], found.row[query.firsts]
    close = (row >= 0) & (distance <= (radius[query.firsts] - TOL)[:, None])
    return radius, near, (np.concatenate([[0], np.cumsum(close.sum(axis=1))]), row[close])


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
