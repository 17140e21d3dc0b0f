"""Conditional inference trees: the test statistics by hand, the split they choose, and when they stop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from glasshouse.core.errors import InputError
from glasshouse.engines.models.tree.conditional import grow_conditional, log_upper_tail


def _tree(x: list[np.ndarray], y: np.ndarray, kinds: str, **options: object) -> object:
    """``kinds``: one letter per key, n (number) or c (category), and the target's after a colon."""
    keys, target = kinds.split(":")
    levels = [np.unique(v) for v in x]
    return grow_conditional(
        np.column_stack([np.searchsorted(u, v) for u, v in zip(levels, x, strict=True)]),
        y,
        n_classes=None if target == "n" else int(y.max()) + 1,
        ordered=[k == "n" for k in keys],
        values=[u.astype(float) if k == "n" else None for k, u in zip(keys, levels, strict=True)],
        n_levels=[len(u) for u in levels],
        **options,
    )


@pytest.mark.parametrize("degrees", [1, 2, 7, 60, 600])
def test_the_tail_of_chi_square(degrees: int) -> None:
    for x in (0.1, 1.0, 0.5 * degrees, float(degrees), 1.5 * degrees + 3, degrees + 200.0):
        assert log_upper_tail(x, degrees) == pytest.approx(stats.chi2.logsf(x, degrees), rel=1e-9, abs=1e-12)
    assert -2600 < log_upper_tail(5000.0, 1) < -2500, "where the p value itself is zero in floating point"


def _log_p(x: np.ndarray, y: np.ndarray, kinds: str) -> float:
    """The log p value of the root's split, as importance holds it, with no other split allowed."""
    grown = _tree([x], y, kinds, minsplit=len(y), minbucket=2, mincriterion=0.0, maxdepth=1)
    return -float(grown.importance[0])


def test_the_statistic_is_the_one_of_the_field() -> None:
    """(n - 1) r^2; (n - 1) times the explained share; (n - 1) / n times Pearson's chi-square."""
    rng = np.random.default_rng(0)
    n = 80
    x, group = rng.integers(0, 20, n).astype(float), rng.integers(0, 4, n)
    y, label = x * 0.1 + group + rng.normal(0, 2, n), (rng.random(n) < 0.3 + 0.1 * group).astype(int)
    r = np.corrcoef(x, y)[0, 1]
    assert _log_p(x, y, "n:n") == pytest.approx(stats.chi2.logsf((n - 1) * r * r, 1))
    means = np.array([y[group == g].mean() for g in range(4)])
    explained = (np.bincount(group) * (means - y.mean()) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert _log_p(group, y, "c:n") == pytest.approx(stats.chi2.logsf((n - 1) * explained, 3))
    table = np.zeros((4, 2))
    np.add.at(table, (group, label), 1)
    pearson = stats.chi2_contingency(table, correction=False).statistic
    assert _log_p(group, label, "c:c") == pytest.approx(stats.chi2.logsf((n - 1) / n * pearson, 3))
    means = np.array([x[group == g].mean() for g in range(4)])
    explained = (np.bincount(group) * (means - x.mean()) ** 2).sum() / ((x - x.mean()) ** 2).sum()
    assert _log_p(x, group, "n:c") == pytest.approx(stats.chi2.logsf((n - 1) * explained, 3))


def test_the_split_is_where_the_sides_differ_most() -> None:
    x = np.repeat(np.arange(8.0), 10)
    tree = _tree([x], np.where(x < 3, 0.0, 5.0) + np.tile([0.0, 0.1], 40), "n:n", mincriterion=0.95)
    assert tree.n_leaves == 2 and tree.cuts[0] == 2.5
    group = np.tile(np.arange(5), 40)
    tree = _tree([group], np.isin(group, [1, 4]).astype(int), "c:c")
    assert tree.n_leaves == 2
    assert sorted(tree.leaf_counts.tolist()) == [[0.0, 80.0], [120.0, 0.0]]
    label = np.array([2, 0, 1, 2, 0])[group]  # three classes: levels are grouped by the share of one of them
    tree = _tree([group], label, "c:c")
    assert tree.n_leaves == 3 and (np.count_nonzero(tree.leaf_counts, axis=1) == 1).all()


def test_the_cut_has_the_largest_chi_square_not_the_largest_drop_of_gini() -> None:
    differ = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 12, 300)
        y = (rng.random(300)[:, None] > np.array([0.8, 0.97]) - 0.02 * x[:, None]).sum(axis=1)
        cuts = np.arange(11) + 0.5
        tables = [np.array([np.bincount(y[x < c], minlength=3), np.bincount(y[x > c], minlength=3)]) for c in cuts]
        pearson = [stats.chi2_contingency(table, correction=False).statistic for table in tables]
        gini = [(table**2 / table.sum(axis=1, keepdims=True)).sum() for table in tables]
        grown = _tree([x], y, "n:c", minsplit=300, minbucket=5, mincriterion=0.0, maxdepth=1)
        assert grown.cuts[0] == cuts[np.argmax(pearson)]
        differ += np.argmax(pearson) != np.argmax(gini)
    assert differ > 3, "the two rules disagree often enough to tell them apart"


def test_noise_is_split_as_often_as_the_level_allows() -> None:
    """Of 200 tables of noise with five keys a tenth may be split by chance, not more: the p values are adjusted."""
    rng = np.random.default_rng(0)
    split = 0
    for _ in range(200):
        x = [rng.integers(0, 6, 150) for _ in range(5)]
        split += _tree(x, rng.normal(size=150), "ncncn:n", mincriterion=0.9).n_leaves > 1
    assert 8 <= split <= 34  # 20 expected, four standard deviations


def test_the_next_key_serves_where_the_best_cannot_be_cut() -> None:
    rare = np.r_[np.ones(3), np.zeros(97)]  # decides everything, but for three records only
    other = np.r_[np.ones(53), np.zeros(47)]
    y = rare * 10 + other * 3
    tree = _tree([rare, other], y, "nn:n", minbucket=10)
    assert tree.nodes[0, 4] == 1 and (tree.leaf_sizes >= 10).all()


def test_limits() -> None:
    x = np.arange(100.0)
    assert _tree([x], x, "n:n", maxdepth=2).n_leaves == 4
    assert _tree([x], x, "n:n", minsplit=101).n_leaves == 1
    assert _tree([x], np.ones(100), "n:n").n_leaves == 1
    assert _tree([x], np.zeros(100, int), "n:c").n_leaves == 1
    assert (_tree([x], x, "n:n", minbucket=7, minsplit=14).leaf_sizes >= 7).all()
    with pytest.raises(InputError, match="no record"):
        _tree([np.zeros(0)], np.zeros(0), "n:n")
