"""Proportional odds: against a general optimiser, and the two-class case against logistic regression."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from glasshouse.engines.models.design import Design
from glasshouse.engines.models.linear.attackers import fit_logit
from glasshouse.engines.models.linear.coding import Coding
from glasshouse.engines.models.linear.ordinal import fit_ordinal


def _people(n: int = 800, seed: int = 0) -> tuple[Design, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, group = np.round(rng.normal(size=n), 2), rng.integers(0, 3, n)
    latent = 1.5 * x + np.array([0.0, 1.0, -1.0])[group] + rng.logistic(size=n)
    levels, codes = np.unique(x, return_inverse=True)
    design = Design(
        ("x", "g"),
        ("numeric", "categorical"),
        np.column_stack([codes, group]).astype(np.int32),
        (levels, ["a", "b", "c"]),
    )
    dense = np.column_stack([x, group == 1, group == 2]).astype(float)
    return design, dense, np.searchsorted([-1.0, 0.5, 2.0], latent)


def test_maximum_likelihood() -> None:
    design, dense, y = _people()
    coding = Coding(design)
    beta, theta, notes = fit_ordinal(coding, design, y, 4)

    def loss(b: np.ndarray) -> float:
        edges = np.r_[-np.inf, b[3], b[3] + np.cumsum(np.exp(b[4:])), np.inf]
        eta = dense @ b[:3]
        return float(-np.log(expit(edges[y + 1] - eta) - expit(edges[y] - eta)).sum())

    found = minimize(loss, np.r_[np.zeros(3), -1, 0, 0], method="BFGS", options={"gtol": 1e-6})
    slopes = coding.on_raw_scale(beta[:, 0])
    assert [slopes["x"], slopes["gb"], slopes["gc"]] == pytest.approx(found.x[:3], abs=1e-4)
    shift = -slopes["(Intercept)"]  # numbers are centred inside
    assert theta + shift == pytest.approx(np.r_[found.x[3], found.x[3] + np.cumsum(np.exp(found.x[4:]))], abs=1e-4)
    assert notes == []


def test_two_ranks_are_a_logistic_regression() -> None:
    design, _, y = _people()
    beta, theta, _ = fit_ordinal(Coding(design), design, (y > 1).astype(int), 2)
    logit = fit_logit(design, (y > 1).astype(int), 2)
    assert beta[1:, 0] == pytest.approx(logit.beta[1:, 0], abs=1e-6)
    assert -theta[0] == pytest.approx(logit.beta[0, 0], abs=1e-6)


def test_separated_ranks_are_said() -> None:
    x = np.arange(90.0)
    design = Design(("x",), ("numeric",), np.arange(90, dtype=np.int32)[:, None], (x,))
    beta, theta, notes = fit_ordinal(Coding(design), design, (x // 30).astype(int), 3)
    assert np.isfinite(beta).all() and (np.diff(theta) > 0).all()
    assert any("separate" in note for note in notes)


def test_effects_add_up_to_the_linear_predictor() -> None:
    design, dense, y = _people()
    coding = Coding(design)
    beta, _, _ = fit_ordinal(coding, design, y, 4)
    intercept, of_x, of_g = coding.effects(beta)
    total = intercept + (dense[:, :1] - of_x[0]) * of_x[1] + of_g[design.codes[:, 1]]
    slopes = coding.on_raw_scale(beta[:, 0])
    assert total[:, 0] == pytest.approx(
        slopes["(Intercept)"] + dense @ np.array([slopes["x"], slopes["gb"], slopes["gc"]])
    )
