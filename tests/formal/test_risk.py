"""Risk as a user meets it: stating, combining, reading, refusing."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np
import pytest

from glasshouse.core.errors import GlasshouseError
from glasshouse.formal import THREATS, Guarantee, Risk, approximate, gaussian, guide


def test_the_stricter_requirement_decides_and_both_are_kept() -> None:
    a = Risk.from_advantage(0.1)
    b = Risk.from_success_at_baseline(success=0.1, baseline=0.01)
    for both in (a | b, b | a, a & b, Risk.all_of(a, b)):
        assert both.rho == a.rho == min(a.rho, b.rho)
        assert len(both.constraints) == 2
        assert both.max_success(0.01) <= 0.1
        assert both.advantage <= 0.1 + 1e-12
    assert (a | a).constraints == a.constraints


def test_hand_example_of_the_advantage() -> None:
    """A = 0.5: rho = 0.5 ln 3."""
    assert Risk.from_advantage(0.5).rho == pytest.approx(0.5 * math.log(3), rel=1e-12)
    assert Risk.from_rho(0.5 * math.log(3)).advantage == pytest.approx(0.5, rel=1e-12)


def test_names_of_both_vocabularies_agree() -> None:
    risk = Risk.from_zcdp(0.2)
    assert risk == Risk.from_rho(0.2)
    assert risk.zcdp == risk.rho == 0.2
    assert risk.tpr_at_fpr(0.1) == risk.max_tpr(0.1) == risk.success_at_baseline(0.1) == risk.max_success(0.1)
    assert risk.advantage_at_baseline(0.1) == pytest.approx(risk.max_tpr(0.1) - 0.1)
    assert Risk.from_gdp(1.0) == Risk.from_mu(1.0)
    assert Risk.from_mu(1.0).rho == 0.5
    assert Risk.from_mu(1.3).mu == pytest.approx(1.3)
    assert (risk.tradeoff(np.array([0.1, 0.2])) == 1 - risk.max_tpr(np.array([0.1, 0.2]))).all()


def test_scalar_in_scalar_out_array_in_array_out() -> None:
    risk = Risk.from_rho(0.2)
    assert isinstance(risk.max_tpr(0.1), float)
    assert isinstance(risk.max_tpr([0.1, 0.2]), np.ndarray)
    assert risk.max_tpr([0.1, 0.2])[0] == pytest.approx(risk.max_tpr(0.1), rel=1e-9)


def test_round_trip_of_epsilon_and_delta() -> None:
    for epsilon, delta in ((0.1, 1e-9), (1.0, 1e-5), (8.0, 1e-5), (30.0, 1e-3)):
        risk = Risk.from_epsilon_delta(epsilon, delta)
        assert risk.delta(epsilon) <= delta * (1 + 1e-9)
        assert risk.epsilon(delta) == pytest.approx(epsilon, rel=1e-6)


def test_what_does_epsilon_eight_mean() -> None:
    reading = approximate(8, 1e-5)
    assert reading.max_success(0.01) > 0.999
    assert Risk.from_epsilon_delta(8, 1e-5).max_success(0.01) < reading.max_success(0.01)


def test_immutable_hashable_and_serialisable() -> None:
    risk = Risk.from_advantage(0.2) | Risk.from_err_rates(tpr=0.05, fpr=0.01)
    with pytest.raises(AttributeError):
        risk.rho = 3.0  # type: ignore[misc]
    assert Risk.from_dict(risk.to_dict()) == risk
    assert copy.deepcopy(risk) == copy.copy(risk) == risk
    assert len({risk, Risk.from_dict(risk.to_dict())}) == 1
    import json

    assert Risk.from_dict(json.loads(json.dumps(risk.to_dict()))).rho == risk.rho


def test_it_explains_itself() -> None:
    risk = Risk.from_advantage(0.1) | Risk.from_success_at_baseline(success=0.1, baseline=0.01)
    text = repr(risk)
    assert text.startswith("Risk(rho=0.020067")
    assert "baseline" in text and "epsilon" in text and "and also" in text
    sentences = risk.explain()
    for word in (
        "Membership",
        "Singling out",
        "Attribute inference",
        "Reconstruction",
        "Anything else",
        "added or removed",
        "replace",
    ):
        assert word in sentences
    for threat in THREATS:
        assert "Risk." in str(guide(threat))
    with pytest.raises(GlasshouseError, match="singling_out"):
        guide("singlingout")


def test_curve_frame() -> None:
    frame = Risk.from_rho(0.5).curve()
    assert frame.columns == ["fpr", "max_tpr", "min_fnr"]
    assert (np.diff(frame["fpr"].to_numpy()) > 0).all()


@pytest.mark.parametrize(
    "guarantee",
    [gaussian(0.7), approximate(0.8, 0.01), approximate(1.2), Risk.from_rho(0.3)],
    ids=["gaussian", "approximate", "pure", "zcdp"],
)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("prior", [0.05, 0.3, 0.5, 0.9])
def test_bayes_error_is_the_best_point_of_the_curve(guarantee: Guarantee, relation: Any, prior: float) -> None:
    """error = min over a of (1-q) a + q f(a), here by a plain fine grid."""
    a = np.concatenate([np.geomspace(1e-9, 1e-3, 50), np.linspace(0.0, 1.0, 401)])
    t = guarantee.max_success(a, relation=relation)
    by_grid = float(np.min((1 - prior) * a + prior * (1 - t)))
    error = guarantee.bayes_error(prior, relation)
    assert error == pytest.approx(by_grid, abs=2e-3)  # the grid misses corners, so it is never below
    assert error <= by_grid + 1e-9
    assert guarantee.bayes_accuracy(prior, relation) == 1 - error
    assert error <= min(prior, 1 - prior)


def test_advantage_is_twice_the_gain_over_a_coin() -> None:
    for guarantee in (gaussian(0.7), approximate(0.8, 0.01), Risk.from_rho(0.3)):
        assert guarantee.bayes_accuracy(0.5) == pytest.approx(0.5 + guarantee.advantage / 2, abs=1e-9)


def test_gaussian_and_approximate_conversions() -> None:
    g = gaussian(0.9)
    assert g.delta(g.epsilon(1e-5)) == pytest.approx(1e-5, rel=1e-8)
    assert g.rho == pytest.approx(0.405)
    a = approximate(1.0, 1e-3)
    assert a.epsilon(1e-3) == pytest.approx(1.0)
    assert a.delta(1.0) == pytest.approx(1e-3)
    assert math.isinf(a.epsilon(1e-4))
    assert a.delta(a.epsilon(0.05)) == pytest.approx(0.05)
    assert a.epsilon(0.9) == 0.0


def test_small_advantage_warns() -> None:
    with pytest.warns(UserWarning, match="swamp"):
        Risk.from_advantage(0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Risk.from_advantage(0.02)


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("from_success_at_baseline", {"success": 0.1, "baseline": 0.0}, "from_advantage"),
    ("from_advantage_at_baseline", {"advantage": 0.1, "baseline": 0.0}, "from_advantage"),
    ("from_success_at_baseline", {"success": 1.2, "baseline": 0.1}, "success"),
    ("from_success_at_baseline", {"success": 1.0, "baseline": 0.1}, "infinite"),
    ("from_success_at_baseline", {"success": 0.1, "baseline": 0.1}, "information"),
    ("from_success_at_baseline", {"success": 0.05, "baseline": 0.1}, "information"),
    ("from_success_at_baseline", {"success": 0.5, "baseline": 1.0}, "baseline"),
    ("from_err_rates", {"tpr": 0.01, "fpr": 0.05}, "tpr"),
    ("from_advantage_at_baseline", {"advantage": 0.6, "baseline": 0.4}, "below 1"),
    ("from_advantage_at_baseline", {"advantage": 0.7, "baseline": 0.4}, "below 1"),
    ("from_advantage", {"advantage": 0.0}, "advantage"),
    ("from_advantage", {"advantage": 1.0}, "advantage"),
    ("from_advantage", {"advantage": -0.1}, "advantage"),
    ("from_rho", {"rho": 0.0}, "rho"),
    ("from_rho", {"rho": -1.0}, "rho"),
    ("from_rho", {"rho": math.inf}, "allow_non_private"),
    ("from_rho", {"rho": math.nan}, "rho"),
    ("from_rho", {"rho": True}, "rho"),
    ("from_rho", {"rho": "0.5"}, "rho"),
    ("from_mu", {"mu": 0.0}, "mu"),
    ("from_epsilon_delta", {"epsilon": 0.0, "delta": 1e-5}, "epsilon"),
    ("from_epsilon_delta", {"epsilon": 1.0, "delta": 0.0}, "approximate"),
    ("from_epsilon_delta", {"epsilon": 1.0, "delta": 1.0}, "delta"),
]


@pytest.mark.parametrize(("factory", "inputs", "says"), BAD, ids=lambda v: str(v))
def test_bad_input_is_an_error_that_names_the_argument(factory: str, inputs: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        getattr(Risk, factory)(**inputs)
    assert isinstance(caught.value, GlasshouseError)


def test_unknown_keyword_is_refused() -> None:
    with pytest.raises(TypeError):
        Risk.from_advantage(0.1, tol=1e-4)  # type: ignore[call-arg]


@pytest.mark.parametrize("other", [0.1, None, "risk"])
def test_a_risk_combines_only_with_a_risk(other: Any) -> None:
    with pytest.raises(TypeError, match="Risk"):
        Risk.from_rho(0.1) | other
    with pytest.raises(TypeError):
        other | Risk.from_rho(0.1)


def test_no_protection_has_to_be_said() -> None:
    risk = Risk.from_rho(math.inf, allow_non_private=True)
    assert risk.max_tpr(0.01) == 1.0
    assert risk.advantage == 1.0
    assert math.isinf(risk.epsilon())
    assert "no protection" in repr(risk)
    assert (risk | Risk.from_rho(1.0)).rho == 1.0


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan, "x", True])
def test_bad_rates_when_reading(rate: Any) -> None:
    for guarantee in (Risk.from_rho(0.1), gaussian(1.0), approximate(1.0)):
        with pytest.raises(ValueError):
            guarantee.max_tpr(rate)
        with pytest.raises(ValueError):
            guarantee.bayes_error(rate if rate is not True else "yes")


def test_bad_relation_and_guarantees() -> None:
    with pytest.raises(ValueError, match="add_remove"):
        Risk.from_rho(0.1).bayes_error(0.5, relation="swap")  # type: ignore[arg-type]
    for bad in (lambda: gaussian(-1), lambda: approximate(-1), lambda: approximate(1, 1), lambda: approximate(1, -0.1)):
        with pytest.raises(ValueError):
            bad()


def test_the_statement_that_decides_is_the_one_that_is_printed_as_deciding() -> None:
    """A rho of 0.01 is what binds here; an advantage of 50 % is met with room to spare."""
    risk = Risk.from_rho(0.01) | Risk.from_advantage(0.5)
    first = repr(risk).splitlines()[0]
    assert first == (
        "Risk(rho=0.010000: rho-zCDP with rho = 0.01 (binding); "
        "and also no attack beats its baseline by more than 50 %)"
    )
    assert "Stated as: rho-zCDP with rho = 0.01 (binding); and also no attack" in risk.explain()
    assert [c.kind for c in risk.binding] == ["zcdp"]
    assert repr(Risk.from_advantage(0.5) | Risk.from_rho(0.01)).splitlines()[0] == first
    again = Risk.from_dict(risk.to_dict())
    assert repr(again) == repr(risk)
    alone = Risk.from_advantage(0.5)
    assert "(binding)" not in repr(alone) and "50 %" in repr(alone)
    assert repr(Risk.from_rho(0.01)).startswith("Risk(rho=0.010000)\n")
    same = Risk.from_success_at_baseline(0.05, 0.01) | Risk.from_err_rates(tpr=0.05, fpr=0.01)
    assert repr(same).count("(binding)") == 2
