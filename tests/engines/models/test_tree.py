"""The tree's rules on hand examples, against brute force, and on more levels than can be searched."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from glasshouse.core.errors import InputError
from glasshouse.engines.models.tree import tree


def _grow(
    codes: np.ndarray, y: np.ndarray, n_classes: int | None, ordered: list[bool], **options: object
) -> tree.CartTree:
    codes = np.asarray(codes, np.int32)
    levels = [int(codes[:, j].max()) + 1 for j in range(codes.shape[1])]
    return tree.grow(
        codes,
        np.asarray(y),
        n_classes=n_classes,
        ordered=ordered,
        values=[None] * len(levels),
        n_levels=levels,
        **options,
    )


def _gini(y: np.ndarray) -> float:
    return len(y) - (np.bincount(y) ** 2).sum() / max(len(y), 1)


def test_one_clean_split_by_hand() -> None:
    x = np.repeat([0, 1, 2], [10, 10, 20])[:, None]
    y = np.repeat([0, 0, 1], [10, 10, 20])
    grown = _grow(x, y, 2, [True])
    assert grown.n_leaves == 2 and grown.cuts[0] == 1.5
    np.testing.assert_array_equal(grown.leaf_sizes, [20, 20])
    np.testing.assert_allclose(grown.predict(np.array([[0], [1], [2]])), [[1, 0], [1, 0], [0, 1]])
    assert grown.importance[0] == pytest.approx(20.0)  # n * Gini: 40 * 0.5 before, 0 after


def test_limits_on_node_sizes() -> None:
    x = np.repeat([0, 1], [6, 30])[:, None]
    y = np.repeat([1, 0], [6, 30])
    assert _grow(x, y, 2, [True]).n_leaves == 1  # six records are fewer than minbucket
    assert _grow(x, y, 2, [True], minbucket=6).n_leaves == 2
    assert _grow(x, y, 2, [True], minbucket=6, minsplit=37).n_leaves == 1
    assert _grow(x, y, 2, [True], minbucket=6, maxdepth=0).n_leaves == 1


def test_a_split_that_does_not_lower_the_errors_is_pruned() -> None:
    x = np.repeat([0, 1], 100)[:, None]
    y = np.concatenate([np.repeat([0, 1], [90, 10]), np.repeat([0, 1], [60, 40])])
    assert _grow(x, y, 2, [True]).n_leaves == 1  # both halves vote for the same class: no error saved
    assert _grow(x, y.astype(float), None, [True]).n_leaves == 2  # but squares fall


def test_ties_go_to_the_earlier_key_and_the_earlier_cut() -> None:
    x = np.repeat([0, 1], 20)
    y = np.repeat([0, 1], 20)
    grown = _grow(np.column_stack([x, x]), y, 2, [True, True])
    assert grown.nodes[0, 4] == 0
    steps = np.repeat([0, 1, 2], [10, 20, 10])
    balanced = np.repeat([0.0, 1.0, 0.0], [10, 20, 10])  # both cuts save the same
    assert _grow(steps[:, None], balanced, None, [True], maxdepth=1).cuts[0] == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_best_group_of_levels_equals_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels, classes = 6, 4
    x = rng.integers(0, levels, 300)
    y = (x * 2 + rng.integers(0, classes, 300)) % classes
    grown = _grow(x[:, None], y, classes, [False], cp=0.0, maxdepth=1, minbucket=1)
    best = max(
        _gini(y) - _gini(y[np.isin(x, group)]) - _gini(y[~np.isin(x, group)])
        for size in range(1, levels)
        for group in combinations(range(levels), size)
    )
    if grown.n_leaves == 2:
        left = np.isin(np.arange(300), grown.members[: grown.leaf_sizes[0]])
        assert _gini(y) - _gini(y[left]) - _gini(y[~left]) == pytest.approx(best)
    assert grown.importance[0] == pytest.approx(best)
    assert grown.approximate_splits == 0


@pytest.mark.parametrize("n_classes", [2, None])
def test_two_classes_and_numbers_need_only_the_order_of_means(n_classes: int | None) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 7, 400)
    share = np.array([0.1, 0.9, 0.4, 0.5, 0.2, 0.8, 0.3])[x]
    y = (rng.random(400) < share).astype(int) if n_classes else share + rng.normal(0, 0.1, 400)
    grown = _grow(x[:, None], y, n_classes, [False], cp=0.0, maxdepth=1)

    def spread(part: np.ndarray) -> float:
        return _gini(part) if n_classes else float(((part - part.mean()) ** 2).sum())

    best = max(
        spread(y) - spread(y[np.isin(x, group)]) - spread(y[~np.isin(x, group)])
        for size in range(1, 7)
        for group in combinations(range(7), size)
    )
    assert grown.importance[0] == pytest.approx(best)


def test_too_many_levels_are_ordered_and_counted() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 60, 3000)
    y = np.array([0, 1, 2])[x % 3]
    grown = _grow(x[:, None], y, 3, [False], cp=1e-8)
    assert grown.approximate_splits >= 1
    assert (grown.predict(x[:, None]).argmax(axis=1) == y).mean() > 0.99  # this structure the ordering finds
    exact = _grow(x[:, None] % 12, y, 3, [False], cp=1e-8)
    assert exact.approximate_splits == 0


def test_the_ordering_is_close_to_the_exact_search() -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 10, 800)
    y = np.minimum((rng.random(800) * 4 * (0.5 + x % 5 / 5)).astype(int), 3)
    exact, ordered = (
        _grow(x[:, None], y, 4, [False], cp=0.0, maxdepth=1, exact_levels=limit).importance[0] for limit in (10, 2)
    )
    assert 0.85 * exact < ordered <= exact + 1e-9


def test_an_unseen_level_goes_to_the_larger_child() -> None:
    x = np.repeat([0, 2], [40, 20])[:, None]
    y = np.repeat([0, 1], [40, 20])
    grown = _grow(x, y, 2, [False])
    leaf, unseen = grown.find(np.array([[1], [0], [2]]))
    assert unseen == 1 and leaf[0] == leaf[1] != leaf[2]


def test_members_of_a_leaf_are_the_training_records_that_fall_into_it() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, (500, 3))
    y = (codes[:, 0] > 5) * 2.0 + (codes[:, 1] == 3) + rng.normal(0, 0.2, 500)
    grown = _grow(codes, y, None, [True, False, True], minsplit=15, minbucket=5, cp=1e-8)
    leaf = grown.leaves(codes)
    for number in range(grown.n_leaves):
        start, size = grown.leaf_starts[number], grown.leaf_sizes[number]
        members = grown.members[start : start + size]
        assert (leaf[members] == number).all() and size >= 5
        assert grown.leaf_counts[number, 0] == pytest.approx(y[members].mean())


def test_bad_input() -> None:
    with pytest.raises(InputError, match="no records"):
        tree.grow(np.zeros((0, 1)), np.zeros(0), n_classes=2, ordered=[True], values=[None], n_levels=[1])
    with pytest.raises(InputError, match="exact_levels"):
        _grow(np.zeros((5, 1)), np.zeros(5), 2, [True], exact_levels=40)
