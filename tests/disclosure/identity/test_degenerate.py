"""Degenerate tables have defined answers in every identity and information measure."""

from __future__ import annotations

import json

import polars as pl
import pytest

from glasshouse import disclosure
from glasshouse.data.pair import Pair

MEASURES = (
    "uniques",
    "k_anonymity",
    "l_diversity",
    "t_closeness",
    "suda",
    "individual_risk",
    "attacker_risk",
    "population_uniqueness",
    "delta_presence",
    "mutual_information",
    "surprisal",
    "max_leakage",
    "positive_disclosure",
)
TABLES = {
    "one row": pl.DataFrame({"k": ["a"], "t": ["x"]}),
    "two equal rows": pl.DataFrame({"k": ["a", "a"], "t": ["x", "x"]}),
    "constant key": pl.DataFrame({"k": ["a"] * 5, "t": list("xxyyz")}),
    "constant target": pl.DataFrame({"k": list("aabbc"), "t": ["x"] * 5}),
    "all different": pl.DataFrame({"k": list("abcde"), "t": list("vwxyz")}),
    "no key at all": pl.DataFrame({"k": pl.Series([None] * 4, dtype=pl.String), "t": list("xxyy")}),
    "no target at all": pl.DataFrame({"k": list("aabb"), "t": pl.Series([None] * 4, dtype=pl.String)}),
    "numbers": pl.DataFrame({"k": [1, 1, 2, None], "t": [0.5, None, 0.25, 0.5]}),
    "labels NA and empty": pl.DataFrame({"k": ["NA", "", None, "NA"], "t": ["", "NA", None, ""]}),
}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", TABLES)
def test_degenerate_tables(name: str, measure: str) -> None:
    table = TABLES[name]
    for missing in (None, "level", "wildcard", "drop"):
        for released in (table.clone(), pl.DataFrame({"k": ["q"], "t": ["r"]}) if name != "numbers" else table.head(1)):
            pair = Pair(table, released, keys=["k"], target="t", missing=missing)
            options = {"sampling_fraction": 0.5} if measure == "population_uniqueness" else {}
            result = getattr(disclosure, measure)(pair, **options)
            assert result.status in ("ok", "not_applicable")
            assert result.sentence and (result.status == "ok" or result.reason)
            json.loads(result.to_json())
            if result.status == "ok":
                low, high = result.measure.range
                assert result.value >= low - 1e-12 and (high is None or result.value <= high + 1e-12)
                if result._records is not None:
                    rows = pair.n(result._record_table)
                    assert all(len(column) == rows for column in result.record_arrays().values())
