"""Every chart of the identity and information families draws, from aggregates alone."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from glasshouse import disclosure
from glasshouse.core.charts import kinds
from glasshouse.data.pair import Pair


@pytest.fixture(scope="module")
def pair() -> Pair:
    rng = np.random.default_rng(0)
    frames = [
        pl.DataFrame(
            {
                "a": rng.integers(0, 9, 200),
                "b": rng.choice(list("xyz"), 200),
                "t": rng.choice(["u", "v"], 200),
                "w": rng.uniform(2, 9, 200),
            }
        )
        for _ in range(2)
    ]
    return Pair(*frames, keys=["a", "b"], target="t", weights="w")


@pytest.mark.parametrize(
    "name",
    [
        "uniques",
        "k_anonymity",
        "l_diversity",
        "t_closeness",
        "suda",
        "individual_risk",
        "attacker_risk",
        "population_uniqueness",
        "mutual_information",
    ],
)
def test_charts_draw(pair: Pair, name: str) -> None:
    result = getattr(disclosure, name)(pair)
    assert kinds(name)
    for kind in kinds(name):
        drawn = json.dumps(result.plot(kind).to_dict())
        assert "NaN" not in drawn and len(drawn) > 200
