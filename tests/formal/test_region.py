"""The region is exact: no mechanism beats it, and two-outcome mechanisms reach it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.formal import Risk, gaussian, required_rho

rates = st.floats(1e-9, 1 - 1e-9)
log_rates = st.floats(-20.0, -1e-6).map(math.exp)


def renyi(order: float, p: np.ndarray, q: np.ndarray) -> float:
    """Renyi divergence of two distributions, straight from the definition."""
    if order == 1.0:
        return float(np.sum(p * np.log(p / q)))
    exponents = order * np.log(p) + (1.0 - order) * np.log(q)
    top = exponents.max()
    return float((top + np.log(np.exp(exponents - top).sum())) / (order - 1.0))


def zcdp_of(p: np.ndarray, q: np.ndarray) -> float:
    """rho of the mechanism with output distributions p and q, over a dense list of orders (a lower bound)."""
    grid = np.linspace(math.log(1e-3), math.log(1e7), 120)
    best = 0.0
    for one, other in ((p, q), (q, p)):
        at = [renyi(1.0 + math.exp(x), one, other) / (1.0 + math.exp(x)) for x in grid]
        peak = int(np.argmax(at))
        inner = np.linspace(grid[max(peak - 1, 0)], grid[min(peak + 1, 119)], 41)
        fine = [renyi(1.0 + math.exp(x), one, other) / (1.0 + math.exp(x)) for x in inner]
        best = max(best, renyi(1.0, one, other), *at, *fine)
    return best


@settings(max_examples=120, deadline=None)
@given(a=log_rates, t=rates)
def test_no_two_outcome_mechanism_beats_the_bound(a: float, t: float) -> None:
    if not a < t:
        return
    p, q = np.array([t, 1 - t]), np.array([a, 1 - a])
    rho = zcdp_of(p, q)
    if rho < 1e-10:
        return  # the straightforward definition above has no digits left
    assert Risk.from_rho(rho * (1 + 2e-4)).max_tpr(a) >= t


@settings(max_examples=120, deadline=None)
@given(a=log_rates, share=st.floats(1e-4, 1 - 1e-4))
def test_the_bound_is_reached_by_a_two_outcome_mechanism(a: float, share: float) -> None:
    """Saying yes with probability t (with the person) and a (without) costs exactly the calibrated rho."""
    t = a + (1 - a) * share
    if not 0 < a < t < 1:
        return
    rho = float(required_rho(t, a))
    if rho < 1e-10:
        return
    assert zcdp_of(np.array([t, 1 - t]), np.array([a, 1 - a])) == pytest.approx(rho, rel=2e-4)
    assert zcdp_of(np.array([t, 1 - t]), np.array([a, 1 - a])) <= rho * (1 + 1e-6)
    assert Risk.from_rho(rho).max_tpr(a) == pytest.approx(t, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(weights=st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=2, max_size=6))
def test_no_mechanism_with_more_outcomes_beats_the_bound(weights: list[tuple[float, float]]) -> None:
    p, q = (np.array(w) / sum(w) for w in zip(*weights, strict=True))
    rho = zcdp_of(p, q)
    if rho < 1e-9:
        return
    risk = Risk.from_rho(rho * (1 + 1e-3))
    order = np.argsort(-p / q)
    fpr, tpr = np.cumsum(q[order])[:-1], np.cumsum(p[order])[:-1]
    assert (risk.max_tpr(np.clip(fpr, 0, 1)) >= tpr - 1e-9).all()
    assert risk.advantage >= 0.5 * np.abs(p - q).sum() - 1e-9


@settings(max_examples=60, deadline=None)
@given(rho=st.floats(-12, 3).map(lambda x: 10.0**x), fpr=st.floats(-30, -0.01).map(math.exp))
def test_between_the_gaussian_and_the_advantage(rho: float, fpr: float) -> None:
    risk = Risk.from_rho(rho)
    tpr = risk.max_tpr(fpr)
    assert gaussian(risk.mu).max_tpr(fpr) <= tpr * (1 + 1e-9)
    assert tpr - fpr <= risk.advantage * (1 + 1e-9) + 1e-15
    if 1 - tpr > 1e-6:
        assert risk.max_tpr(1 - tpr) >= (1 - fpr) * (1 - 1e-6)  # symmetric under exchanging the two worlds


@settings(max_examples=60, deadline=None)
@given(baseline=st.floats(-60, -0.1).map(math.exp), factor=st.floats(1e-6, 20))
def test_no_small_baseline_is_unsafe(baseline: float, factor: float) -> None:
    """The calibrated rho never exceeds what the Gaussian mechanism, one member of the family, allows at that point."""
    success = baseline * (1 + factor)
    if success >= 1:
        return
    from scipy.special import log_ndtr, ndtri_exp

    rho = Risk.from_success_at_baseline(success=success, baseline=baseline).rho
    mu = math.sqrt(2 * rho)
    reached = log_ndtr(ndtri_exp(math.log(baseline)) + mu)
    assert reached <= math.log(success) + 1e-9
    assert Risk.from_rho(rho).max_success(baseline) == pytest.approx(success, rel=1e-7)


def test_monotone_in_both_arguments() -> None:
    fpr = np.geomspace(1e-12, 0.99, 60)
    for rho in (1e-6, 0.01, 0.5, 5.0):
        tpr = Risk.from_rho(rho).max_tpr(fpr)
        assert (np.diff(tpr) >= 0).all()
        assert (tpr >= fpr).all()
        assert (Risk.from_rho(rho * 1.1).max_tpr(fpr) >= tpr).all()


def test_ends_of_the_curve() -> None:
    risk = Risk.from_rho(0.3)
    assert risk.max_tpr(0.0) == 0.0
    assert risk.max_tpr(1.0) == 1.0
    assert float(required_rho(0.5, 0.5)) == 0.0
    assert math.isinf(float(required_rho(1.0, 0.5)))
    assert math.isinf(float(required_rho(0.5, 0.0)))


def test_two_steps_never_exceed_four_rho() -> None:
    """Replacing a record is two steps; the composed curve is at most the group-privacy bound 4 rho."""
    fpr = np.geomspace(1e-6, 0.9, 25)
    for rho in (0.01, 0.3, 2.0):
        composed = Risk.from_rho(rho).max_success(fpr, relation="replace")
        assert (composed <= Risk.from_rho(4 * rho).max_tpr(fpr) * (1 + 1e-9)).all()
        assert (composed >= gaussian(2 * math.sqrt(2 * rho)).max_tpr(fpr) * (1 - 1e-9)).all()
