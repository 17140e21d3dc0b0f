"""Members against strangers: exact on tables small enough to enumerate, of the stated size, blind to order."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from glasshouse.core.streams import integer_seed
from glasshouse.engines.exchange import exchange, exchange_counts, exchange_scores
from glasshouse.engines.exchange_kernel import dealt_differences


def enumerated(sums: np.ndarray, sizes: np.ndarray, members: int, seen: float) -> float:
    """Share of all assignments whose difference is at least the one seen."""
    found = []
    for chosen in combinations(range(len(sums)), members):
        at = np.zeros(len(sums), bool)
        at[list(chosen)] = True
        found.append(sums[at].sum() / sizes[at].sum() - sums[~at].sum() / sizes[~at].sum())
    return float(np.mean(np.array(found) >= seen - 1e-12))


@pytest.mark.parametrize("seed", range(4))
def test_all_assignments_of_a_small_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    members, strangers = rng.exponential(size=6) * (rng.random(6) < 0.7), rng.exponential(size=5)
    tested = exchange_scores(members, strangers)
    every = enumerated(np.concatenate([members, strangers]), np.ones(11), 6, tested.difference)
    assert tested.p == pytest.approx(every, abs=3 * np.sqrt(0.25 / tested.deals) + 1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_exchanged_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.array([1, 3, 2, 1, 4, 2, 1, 2, 3])
    own = np.repeat(np.arange(9), sizes)
    scores = rng.exponential(size=len(own))
    member = own < 5
    tested = exchange_scores(scores[member], scores[~member], clusters=(own[member], own[~member]))
    sums = np.bincount(own, weights=scores)
    every = enumerated(sums, sizes.astype(float), 5, tested.difference)
    assert tested.p == pytest.approx(every, abs=3 * np.sqrt(0.25 / tested.deals) + 1e-4)


def test_flags_agree_with_the_exact_test() -> None:
    members, strangers = np.arange(400) < 31, np.arange(300) < 12
    exact = exchange(members, strangers)
    dealt = exchange_scores(members.astype(float), strangers.astype(float))
    assert dealt.p == pytest.approx(exact.p, abs=0.01) and dealt.difference == pytest.approx(exact.difference)
    assert exchange_counts(3, 3, 0, 3).p == pytest.approx(1 / 20)


def test_the_size_is_the_stated_one_and_clusters_keep_it() -> None:
    """Households share one score; without their clusters the test would reject far too often."""
    rng = np.random.default_rng(0)
    rejected = {"records": 0, "clusters": 0}
    for _ in range(300):
        household = np.repeat(np.arange(60), 5)
        scores = np.repeat(rng.normal(size=60), 5)
        member = household < 30
        halves = scores[member], scores[~member]
        rejected["records"] += exchange_scores(*halves).p < 0.05
        rejected["clusters"] += exchange_scores(*halves, clusters=(household[member], household[~member])).p < 0.05
    assert 0.02 < rejected["clusters"] / 300 < 0.09
    assert rejected["records"] / 300 > 0.15


def test_order_and_threads_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    members, strangers = rng.exponential(size=200), rng.exponential(size=150)
    first = exchange_scores(members, strangers)
    again = exchange_scores(rng.permutation(members), rng.permutation(strangers))
    assert first.p == again.p and first.difference == pytest.approx(again.difference)


def test_nothing_to_tell_is_no_finding() -> None:
    assert exchange_scores(np.zeros(10), np.zeros(8)).p == 1.0
    assert exchange_scores(np.ones(10), np.ones(8)).p == 1.0


def test_dealing_ends_when_more_of_it_would_only_add_digits() -> None:
    """As many extreme deals as a p value of 5 % has among all of them, counted where the last of these was dealt."""
    rng = np.random.default_rng(2)
    scores = rng.normal(size=90)
    seen = float(scores[:50].mean() - scores[50:].mean())
    tested = exchange_scores(scores[:50], scores[50:])
    order, seed = np.argsort(scores), integer_seed(0, "exchange", "labels")
    groups = (90, 50, float(scores.sum()), 90.0)
    every = dealt_differences(scores[order], np.ones(90), *groups, seed, range(9_999))
    last = int(np.flatnonzero(every >= seen - 1e-12)[499])
    assert tested.p == 500 / (last + 1) and tested.deals < 9_999
    later = dealt_differences(scores[order], np.ones(90), *groups, seed, range(100, 200))
    assert np.array_equal(later, every[100:200])
    # a small p value takes all deals, and the spread is that of the null whenever dealing ended
    assert exchange_scores(np.arange(40.0) + 9, np.arange(40.0)).deals == 9_999
    assert tested.null_sd == pytest.approx(every.std(), rel=0.03)


def test_p_values_that_end_early_are_no_smaller_than_they_may_be() -> None:
    """Under exchange P(p <= a) <= a, also just above 5 %, where dealing begins to end early."""
    rng = np.random.default_rng(3)
    p = np.array([exchange_scores(*np.split(rng.exponential(size=40), [22])).p for _ in range(2_000)])
    for level in (0.04, 0.06, 0.1, 0.3):
        assert (p <= level).mean() < level + 3 * np.sqrt(level * (1 - level) / 2_000)


def test_the_fewest_that_reject_are_those_a_search_one_by_one_finds():
    from scipy.stats import hypergeom

    from glasshouse.engines.exchange import _fewest

    rng = np.random.default_rng(0)
    for _ in range(200):
        n, m = (int(size) for size in rng.choice([1, 2, 5, 30, 200], 2))
        strangers, level = int(rng.integers(0, m + 1)), float(rng.choice([0.4, 0.05, 1e-3, 1e-8]))
        tail = hypergeom.sf(np.arange(n + 1) - 1, n + m, np.arange(n + 1) + strangers, n)
        below = np.flatnonzero(tail < level)
        assert _fewest(n, m, strangers, level, hypergeom) == (below[0] if below.size else n + 1)
