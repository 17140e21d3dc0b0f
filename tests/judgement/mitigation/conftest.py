"""One small search that all tests look at: some people of the original copied into a clean release."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh

N, COPIED = 200, 24
POLICY = gh.Policy.from_dict(
    {
        "name": "small",
        "require": ["copying"],
        "leak": {"tolerance": 5},
        "run": {"measures": ["exact_copies", "near_copies", "copied_answers", "domias"]},
    }
)


def planted(copied: int = COPIED, seed: int = 0) -> gh.Pair:
    """A clean release with some people of the original in it."""
    parts = [gh.data.simulate_health(N, random_state=100 * seed + i) for i in range(3)]
    places = np.random.default_rng(seed).permutation(N)[:copied]
    source = np.arange(N)
    source[places] = N + np.arange(copied)
    released = pl.concat([parts[1], parts[0][:copied]])[source.tolist()]
    return gh.Pair(parts[0], released, holdout=parts[2], keys=["gender", "age", "education"], target="disease_status")


@pytest.fixture(scope="session")
def pair() -> gh.Pair:
    return planted()


@pytest.fixture(scope="session")
def fixed(pair: gh.Pair) -> Any:
    return gh.mitigate(pair, policy=POLICY, allow=["redraw_records"], steps=1, n_jobs=1)
