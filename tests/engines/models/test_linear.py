"""The linear room: one rank rule, the multinomial logit against a plain optimiser, penalised likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from glasshouse.disclosure.rapid import key_effects
from glasshouse.disclosure.rapid.key_effects import Factor
from glasshouse.engines.models.design import Design, distinct_rows
from glasshouse.engines.models.linear import multinomial
from glasshouse.engines.models.linear.rank import independent_columns, independent_in_cross
from glasshouse.engines.models.model import fit


def _factor(name: str, codes: np.ndarray) -> Factor:
    levels, codes = np.unique(codes, return_inverse=True)
    return Factor(name, tuple(str(level) for level in levels), codes)


def _nested_factors(seed: int) -> list[Factor]:
    """Three keys of which one is a coarsening of another, in any order: region and district, say."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 400))
    district = rng.integers(0, rng.integers(4, 8), n)
    columns = [district, district // 2, rng.integers(0, rng.integers(2, 5), n)]
    return [_factor(str(j), columns[j]) for j in rng.permutation(3)]


def _effects_design(factors: list[Factor], monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """The design that the key effects of order two are fitted on."""
    seen = []
    real = key_effects.firth_logistic

    def spy(x: np.ndarray, *rest: object) -> object:
        seen.append(x)
        return real(x, *rest)

    monkeypatch.setattr(key_effects, "firth_logistic", spy)
    flags = np.arange(len(factors[0].codes)) % 3 == 0
    key_effects.effects_of(factors, flags.astype(float), 2, "firth", 0.95)
    return seen[0]


def _earliest(x: np.ndarray) -> list[int]:
    """The earliest independent columns, one rank at a time."""
    kept: list[int] = []
    for j in range(x.shape[1]):
        if np.linalg.matrix_rank(x[:, [*kept, j]]) > len(kept):
            kept.append(j)
    return kept


@pytest.mark.parametrize("seed", range(12))
def test_rank_of_interactions_of_nested_keys(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = _effects_design(_nested_factors(seed), monkeypatch)
    kept = independent_columns(x)
    assert kept.sum() == np.linalg.matrix_rank(x) < x.shape[1]
    assert np.flatnonzero(kept).tolist() == _earliest(x)
    np.testing.assert_array_equal(independent_in_cross(x.T @ x), kept)


def test_the_rank_rule_does_not_depend_on_scale_and_knows_empty_designs() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 4))
    x = np.column_stack([x[:, 0], np.zeros(30), 1e9 * x[:, 0], x[:, 1], x[:, 0] - x[:, 1], 1e-9 * x[:, 2]])
    wanted = [True, False, False, True, False, True]
    assert independent_columns(x).tolist() == independent_in_cross(x.T @ x).tolist() == wanted
    assert independent_columns(x[:2]).sum() == 2, "no more columns than records"
    assert independent_columns(np.zeros((0, 3))).tolist() == [False] * 3


def test_nested_keys_have_effects_of_full_rank() -> None:
    """Every effect that the data determine is estimated, with or without the redundant key."""
    rng = np.random.default_rng(1)
    n = 600
    district, sex = rng.integers(0, 4, n), rng.integers(0, 2, n)
    flags = (rng.random(n) < 0.2 + 0.1 * district + 0.1 * sex * (district > 1)).astype(float)
    inner = [_factor("district", district), _factor("sex", sex)]
    nested = [*inner, _factor("region", district // 2)]
    alone, among = (
        {(r["variable"], r["level"]): r["estimate"] for r in key_effects.effects_of(keys, flags, 2, "none", 0.95)[0]}
        for keys in (inner, nested)
    )
    for term, estimate in alone.items():
        assert among[term] == pytest.approx(estimate, abs=1e-6), term


def _coded(n: int, seed: int) -> tuple[Design, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, 4, n), rng.integers(0, 6, n)]).astype(np.int32)
    eta = 0.5 * rng.normal(size=(4, 4))[codes[:, 0]] + 0.3 * codes[:, 1:] * np.arange(4)
    y = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
    levels = (list("abcd"), np.arange(6.0) ** 2)
    return Design(("group", "size"), ("categorical", "numeric"), codes, levels), y


def test_multinomial_logit_finds_the_maximum_of_the_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    table, y = _coded(800, 0)
    group, size = table.codes[:, 0], table.column(1)
    x = np.column_stack([np.ones(800), *(group == k for k in (1, 2, 3)), (size - size.mean()) / size.std()])
    own = np.eye(4)[y]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        eta = np.column_stack([np.zeros(800), x @ flat.reshape(5, 3)])
        total = logsumexp(eta, axis=1)
        slope = x.T @ (np.exp(eta - total[:, None]) - own)[:, 1:]
        return float((total - (own * eta).sum(axis=1)).sum()), slope.ravel()

    best = minimize(loss, np.zeros(15), jac=True, method="BFGS", options={"gtol": 1e-7})
    eta = np.column_stack([np.zeros(800), x @ best.x.reshape(5, 3)])
    wanted = np.exp(eta - logsumexp(eta, axis=1)[:, None])
    np.testing.assert_allclose(fit("logit", table, y, n_classes=4).probabilities(table), wanted, atol=1e-6)
    monkeypatch.setattr(multinomial, "NEWTON_UNKNOWNS", 0)
    np.testing.assert_allclose(fit("logit", table, y, n_classes=4).probabilities(table), wanted, atol=2e-3)


def test_distinct_rows_are_lexicographic_even_when_numbers_overflow() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 40_000, (200, 12)).astype(np.int32)
    codes = np.concatenate([codes, codes[:50]])
    first, row_of = distinct_rows(codes)
    rows = codes[first]
    assert len(rows) == 200 and (first < 200).all()
    np.testing.assert_array_equal(rows[row_of], codes)
    np.testing.assert_array_equal(rows, rows[np.lexsort(rows.T[::-1])])


def test_multinomial_curvature_is_the_derivative_of_the_slope() -> None:
    table, y = _coded(60, 3)
    coding = multinomial.Coding(table)
    problem = multinomial._Likelihood(coding, table, y, 4)
    flat = np.random.default_rng(0).normal(size=problem.size * problem.free)
    _, _, shares = problem.loss(flat)
    found = problem.curvature(shares)
    for j, step in enumerate(1e-6 * np.eye(len(flat))):
        rise = (problem.loss(flat + step)[1] - problem.loss(flat - step)[1]) / 2e-6
        np.testing.assert_allclose(found[j], rise, atol=1e-5)


def test_the_rank_rule_is_the_same_whether_records_are_factorised_at_once_or_in_blocks(monkeypatch):
    from glasshouse.engines.models.linear import rank

    rng = np.random.default_rng(0)
    design = rng.normal(size=(1000, 12))
    design[:, 7], design[:, 9], design[:, 5] = 2 * design[:, 3] - design[:, 1], design[:, 8], 0.0
    design[:, 11] = design[:, 10] + 1e-5 * rng.normal(size=1000)
    whole = rank.independent_columns(design)
    monkeypatch.setattr(rank, "BLOCK", 60)
    assert (rank.independent_columns(design) == whole).all()
    assert np.flatnonzero(~whole).tolist() == [5, 7, 9]
