"""The forest's rules on data small enough to check by hand, and its promises about seeds, threads and rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.core.errors import InputError
from glasshouse.engines.models.forest import forest


def _grow(codes: np.ndarray, y: np.ndarray, n_classes: int | None = 2, **options: object) -> forest.Forest:
    codes = np.asarray(codes, np.int32)
    size = int(codes.max()) + 1
    p = codes.shape[1]
    usual: dict = {"numeric": [True] * p, "values": [np.arange(size, dtype=float)] * p, "n_levels": [size] * p}
    return forest.grow(codes, np.asarray(y), n_classes=n_classes, **{**usual, **options})


def _random(n: int = 300, p: int = 4, levels: int = 9, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, levels, (n, p))
    return codes, (codes[:, 0] + rng.normal(0, 2, n) > levels / 2).astype(int)


def test_a_small_node_is_a_leaf() -> None:
    codes, y = np.arange(10)[:, None], np.arange(10) % 2
    grown = _grow(codes, y, trees=20, keep=True)
    assert all(len(tree.nodes) == 1 for tree in grown.trees)  # 10 bootstrapped records are not more than 10
    grown = _grow(codes, y, trees=20, keep=True, node_size=1)
    assert any(len(tree.nodes) > 1 for tree in grown.trees)


def test_a_node_whose_drawn_keys_cannot_split_is_a_leaf() -> None:
    rng = np.random.default_rng(0)
    codes = np.zeros((500, 4), np.int32)
    codes[:, 0] = rng.integers(0, 2, 500)
    y = codes[:, 0]
    grown = _grow(codes, y, trees=400, mtry=1, keep=True)
    split = np.mean([len(tree.nodes) > 1 for tree in grown.trees])
    assert 0.17 < split < 0.33  # one key in four can split the root, and nobody draws again


def test_the_cut_lies_half_way_between_values_present() -> None:
    # values 0 and 10 present; 4 is nearer to 0, 6 nearer to 10, 5 is on the left
    values = np.array([0.0, 4.0, 5.0, 6.0, 10.0])
    codes = np.repeat([0, 4], 50)[:, None].astype(np.int32)
    y = np.repeat([0, 1], 50)
    asked = np.arange(5, dtype=np.int32)[:, None]
    grown = forest.grow(
        codes, y, n_classes=2, numeric=[True], values=[values], n_levels=[5], trees=20, score=[asked], seed=1
    )
    np.testing.assert_allclose(grown.predictions[0][:, 1], [0, 0, 0, 1, 1])
    by_code = forest.grow(
        codes, y, n_classes=2, numeric=[False], values=[None], n_levels=[5], trees=20, score=[asked], seed=1
    )
    np.testing.assert_allclose(by_code.predictions[0][:, 1], [0, 0, 0, 1, 1])


def test_two_classes_agree_with_the_multiclass_path() -> None:
    codes, y = _random()
    two = _grow(codes, y, 2, trees=50, score=[codes], seed=7).predictions[0]
    three = _grow(codes, y, 3, trees=50, score=[codes], seed=7).predictions[0]
    assert abs(two[:, 1] - three[:, 1]).mean() < 0.02
    assert (three[:, 2] == 0).all()


def test_regression_on_zero_and_one_is_the_class_share() -> None:
    codes, y = _random()
    share = _grow(codes, y, 2, trees=30, score=[codes], seed=3).predictions[0][:, 1]
    mean = _grow(codes, y.astype(float), None, trees=30, node_size=10, score=[codes], seed=3).predictions[0]
    np.testing.assert_allclose(share, mean, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4, None])
def test_threads_rows_and_keeping_change_nothing(n_classes: int | None) -> None:
    codes, y = _random(400)
    y = y if n_classes == 2 else codes[:, 1] % 4 if n_classes else codes[:, 0] * 1.37 + y
    one = _grow(codes, y, n_classes, trees=40, score=[codes], seed=5, n_jobs=1)
    many = _grow(codes, y, n_classes, trees=40, score=[codes], seed=5, n_jobs=3, keep=True)
    np.testing.assert_array_equal(one.predictions[0], many.predictions[0])
    np.testing.assert_allclose(many.predict(codes), one.predictions[0], rtol=1e-12)
    np.testing.assert_array_equal(one.importance, many.importance)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = _grow(codes[order], y[order], n_classes, trees=40, score=[codes], seed=5)
    np.testing.assert_allclose(shuffled.predictions[0], one.predictions[0], rtol=1e-12)
    other = _grow(codes, y, n_classes, trees=40, score=[codes], seed=6)
    assert abs(other.predictions[0] - one.predictions[0]).max() > 0


def test_wide_codes_give_the_same_forest_as_narrow_ones() -> None:
    codes, y = _random(500, 2, 400)
    narrow = _grow(codes, y, trees=10, score=[codes], seed=2)
    wide = _grow(codes, y, trees=10, score=[codes], seed=2, n_levels=[70_000] * 2, values=[np.arange(70_000.0)] * 2)
    np.testing.assert_array_equal(narrow.predictions[0], wide.predictions[0])


def test_bootstrap_weights_choose_the_records() -> None:
    codes = np.repeat([0, 1], 100)[:, None].astype(np.int32)
    y = np.tile([0, 1], 100)
    weights = np.where(y == 1, 1.0, 0.0)
    found = _grow(codes, y, trees=20, score=[codes], weights=weights).predictions[0]
    np.testing.assert_allclose(found[:, 1], 1)


def test_leaves_are_shared_by_equal_rows_only() -> None:
    codes, y = _random()
    grown = _grow(codes, y, trees=25, keep=True)
    leaves = grown.leaves(codes)
    assert leaves.shape == (25, 300) and leaves.dtype == np.int32
    for t, tree in enumerate(grown.trees):
        assert leaves[t].max() < len(tree.value)
    np.testing.assert_allclose(
        np.mean([tree.value[leaves[t]] for t, tree in enumerate(grown.trees)], axis=0), grown.predict(codes)[:, 1]
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(1, 6), st.integers(1, 90), st.integers(1, 5), st.integers(0, 99))
def test_probabilities_whatever_the_data(n: int, p: int, levels: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, levels, (n, p))
    y = rng.integers(0, classes, n)
    shares = _grow(codes, y, max(classes, 2), trees=5, node_size=1, score=[codes], seed=seed).predictions[0]
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_bad_input() -> None:
    codes, y = _random(20)
    with pytest.raises(InputError, match="one target value per row"):
        _grow(codes, y[:5])
    with pytest.raises(InputError, match="mtry"):
        _grow(codes, y, mtry=9)
    with pytest.raises(InputError, match="trees"):
        _grow(codes, y, trees=0)
    with pytest.raises(InputError, match="n_jobs"):
        _grow(codes, y, n_jobs=0)
    with pytest.raises(InputError, match="keep=True"):
        _grow(codes, y, trees=2).predict(codes)
