"""Scores of blocks against plain loops over columns, with missing values under every rule."""

import numpy as np
import pytest

from glasshouse.engines.pairs.scores import RULES, Agreement, Mixed, pattern_counts


def sides(columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    made = [np.round(rng.normal(size=(n, columns)), 1) for n in (70, 600)]
    for values in made:
        values[rng.random(values.shape) < 0.1] = np.nan
    return made[0], made[1]


def levels(a: np.ndarray, b: np.ndarray, is_code: bool, cuts: np.ndarray, rule: str) -> np.ndarray:
    """Agreement level of every pair in one column."""
    gap = np.abs(a[:, None] - b[None, :])
    level = np.where(gap == 0, 0, len(cuts)) if is_code else (np.nan_to_num(gap)[..., None] > cuts).sum(axis=-1)
    one, both = np.isnan(gap), np.isnan(a)[:, None] & np.isnan(b)[None, :]
    absent = {"ignore": len(cuts) + 1, "match": 0, "mismatch": len(cuts), "level": np.where(both, 0, len(cuts))}
    return np.where(one, absent[rule], level)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("columns", [3, 14])  # few enough patterns for one table, and too many
def test_agreement_is_summed_over_columns(rule, columns):
    a, b = sides(columns, 1)
    is_code = np.arange(columns) % 3 == 2
    cuts = np.tile([0.05, 0.5], (columns, 1))
    n_cuts = np.where(is_code, 1, 2)
    table = np.random.default_rng(2).normal(size=(columns, 4))
    found = [levels(a[:, v], b[:, v], is_code[v], cuts[v, : n_cuts[v]], rule) for v in range(columns)]
    scores = Agreement((a, b), is_code, cuts, n_cuts, table, RULES.index(rule))
    wanted = -sum(table[v, level] for v, level in enumerate(found))
    np.testing.assert_allclose(scores.block(np.arange(70)), wanted, rtol=1e-12, atol=1e-12)
    if columns == 3:
        pattern = np.zeros((70, 600), int)
        for v, level in enumerate(found):
            pattern = pattern * (n_cuts[v] + 2) + level
        size = int(np.prod(n_cuts + 2))
        counts = pattern_counts((a, b), is_code, cuts, n_cuts, RULES.index(rule), size)
        assert counts.tolist() == np.bincount(pattern.ravel(), minlength=size).tolist()


@pytest.mark.parametrize("rule", RULES)
def test_mixed_distances_are_weighted_means(rule):
    a, b = sides(3, 3)
    codes = [np.random.default_rng(s).integers(-1, 3, (n, 2)).astype(np.int32) for s, n in ((4, 70), (5, 600))]
    weights = np.array([1.0, 0.5, 2.0, 1.0, 3.0])
    gaps = [np.abs(a[:, None, v] - b[None, :, v]) for v in range(3)]
    gaps += [(codes[0][:, None, v] != codes[1][None, :, v]).astype(float) for v in range(2)]
    gone = [(np.isnan(a[:, v]), np.isnan(b[:, v])) for v in range(3)]
    gone += [(codes[0][:, v] < 0, codes[1][:, v] < 0) for v in range(2)]
    total, present = np.zeros((70, 600)), np.zeros((70, 600))
    for w, gap, (mine, theirs) in zip(weights, gaps, gone, strict=True):
        either, both = mine[:, None] | theirs, mine[:, None] & theirs
        absent = {"level": w * (either & ~both), "mismatch": w * either}.get(rule, 0.0 * either)
        total += np.where(either, absent, w * np.nan_to_num(gap))
        present += np.where(either, 0.0, w)
    whole = present if rule == "ignore" else np.full_like(present, weights.sum())
    wanted = np.divide(total, whole, out=np.ones_like(total), where=whole > 0)
    scores = Mixed((a, b), (codes[0], codes[1]), weights, RULES.index(rule))
    np.testing.assert_allclose(scores.block(np.arange(70)), wanted, rtol=1e-12, atol=1e-15)
