"""Every chart of the matching and linkage families draws."""

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
    original = pl.DataFrame(
        {
            "a": rng.integers(0, 9, 200),
            "b": rng.choice(list("xyz"), 200),
            "t": rng.choice(["u", "v"], 200),
            "s": rng.choice(["p", "q", "r"], 200),
        }
    )
    released = original.with_columns(a=pl.Series(rng.permutation(original["a"].to_numpy())))
    return Pair(original, released, keys=["a", "b"], target="t", row_paired=True)


@pytest.mark.parametrize("name", ["disco", "cap", "tcap", "weap", "attribution", "attribution_all", "record_linkage"])
def test_charts_draw(pair: Pair, name: str) -> None:
    result = getattr(disclosure, name)(pair)
    assert kinds(name)
    for kind in kinds(name):
        drawn = json.dumps(result.plot(kind).to_dict())
        assert "NaN" not in drawn and len(drawn) > 200


def test_the_distribution_counts_every_record_that_has_a_probability(pair: Pair) -> None:
    for name in ("cap", "weap"):
        result = getattr(disclosure, name)(pair)
        (values,) = result.plot("distribution").to_dict()["datasets"].values()
        assert sum(row["records"] for row in values) == int(result.flags()[1].sum())
