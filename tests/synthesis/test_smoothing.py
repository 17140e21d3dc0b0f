"""Infinite numbers have no place on a scale: they stay as they are, and the others are smoothed as without them."""

from __future__ import annotations

import numpy as np
import pytest

from glasshouse.synthesis.smoothing import smooth


@pytest.mark.parametrize("how", ["density", "rmean", "spline"])
def test_infinite_numbers_stay_and_do_not_move_the_others(how: str) -> None:
    observed = np.random.default_rng(0).normal(size=80)
    drawn = np.random.default_rng(1).choice(observed, 60)
    plain = smooth(drawn, observed, how, 3, np.random.default_rng(2))
    both = smooth(np.append(drawn, np.inf), np.append(observed, -np.inf), how, 3, np.random.default_rng(2))
    assert np.array_equal(both[:-1], plain) and both[-1] == np.inf
