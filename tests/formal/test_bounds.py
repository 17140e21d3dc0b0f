"""Lower bounds from counts: by hand, by property, and refused where the counts make no sense."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.formal import approximate, gaussian, lower_bounds, required_rho
from glasshouse.formal.bounds import epsilon_needed, mu_needed


def test_by_hand() -> None:
    """All 10 of 10 and 0 of 10: the Clopper-Pearson ends are powers, 0.0125^(1/10) and 1 - 0.0125^(1/10)."""
    bounds = lower_bounds(10, 10, 0, 10)
    end = 0.0125 ** (1 / 10)
    assert bounds.tpr_interval == pytest.approx((end, 1.0))
    assert bounds.fpr_interval == pytest.approx((0.0, 1 - end))
    assert bounds.epsilon_lower == pytest.approx(math.log(end / (1 - end)))
    assert bounds.epsilon_lower == bounds.epsilon_reachable
    assert bounds.rho_lower == pytest.approx(float(required_rho(end, 1 - end)))
    assert "10 + 10 targets" in bounds.sentence


def test_one_sided_ends_are_tighter_and_more_thresholds_looser() -> None:
    two = lower_bounds(120, 1000, 10, 1000)
    one = lower_bounds(120, 1000, 10, 1000, sided="one")
    many = lower_bounds(120, 1000, 10, 1000, thresholds=20)
    assert many.epsilon_lower < two.epsilon_lower < one.epsilon_lower
    assert many.rho_lower < two.rho_lower < one.rho_lower


def test_reads_like_a_mapping_and_like_attributes() -> None:
    bounds = lower_bounds(120, 1000, 10, 1000)
    assert bounds["epsilon_lower"] == bounds.epsilon_lower
    assert dict(bounds)["rho_lower"] == bounds.rho_lower
    assert bounds.to_dict()["members"] == 1000
    with pytest.raises(KeyError):
        bounds["nothing"]


@settings(max_examples=60, deadline=None)
@given(n1=st.integers(1, 2000), n0=st.integers(1, 2000), data=st.data())
def test_bounds_are_what_the_guarantees_invert(n1: int, n0: int, data: Any) -> None:
    tp, fp = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n0))
    bounds = lower_bounds(tp, n1, fp, n0)
    t, f = bounds.tpr_interval[0], bounds.fpr_interval[1]
    if t > f:
        assert approximate(bounds.epsilon_lower).max_tpr(f) >= t - 1e-9
        assert approximate(bounds.epsilon_lower * 0.999).max_tpr(f) < t + 1e-12
        assert gaussian(bounds.mu_lower).max_tpr(f) == pytest.approx(t, abs=1e-9)
        assert bounds.rho_lower <= bounds.mu_lower**2 / 2 + 1e-12  # the Gaussian is one of the zCDP mechanisms
    else:
        assert bounds.epsilon_lower == bounds.rho_lower == bounds.mu_lower == 0.0
    assert bounds.rho_lower <= bounds.rho_reachable


def test_arithmetic_at_the_ends() -> None:
    assert epsilon_needed(0.5, 0.0) == math.inf
    assert epsilon_needed(0.5, 0.5) == 0.0
    assert epsilon_needed(0.5, 0.0, delta=0.6) == 0.0
    assert mu_needed(0.3, 0.4) == 0.0


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"tp": 11}, "tp"),
        ({"fp": 11}, "fp"),
        ({"tp": -1}, "tp"),
        ({"tp": 1.5}, "tp"),
        ({"members": 0, "tp": 0}, "members"),
        ({"nonmembers": 0, "fp": 0}, "nonmembers"),
        ({"confidence": 1.0}, "confidence"),
        ({"delta": -0.1}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"sided": "both"}, "sided"),
        ({"thresholds": 0}, "thresholds"),
    ],
)
def test_bad_counts(inputs: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        lower_bounds(**{"tp": 5, "members": 10, "fp": 5, "nonmembers": 10, **inputs})
