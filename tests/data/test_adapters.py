"""Pairs from other packages' outputs."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

import glasshouse as gh

FRAME = pl.DataFrame(
    {"id": [1, 2, 3], "sex": ["f", "m", "f"], "income": [10.0, -8.0, 30.0], "w": [1.0, 2.0, 3.0], "hh": ["x", "x", "y"]}
)


def test_synthpop_carries_special_codes_and_unsynthesised_columns(tmp_path: Any) -> None:
    side = tmp_path / "synds.json"
    side.write_text(
        json.dumps({"cont.na": {"income": [-8, None], "sex": None}, "method": {"sex": "", "income": "cart"}, "m": 2})
    )
    pair = gh.data.from_synthpop(FRAME, [FRAME, FRAME], side, keys="sex")
    assert pair.special_codes == {"income": (-8,)}
    assert pair.m == 2
    assert pair.unsynthesised == ("sex",)
    assert pair.replace(keys=[]).unsynthesised == ("sex",), "a changed copy still knows what was not synthesised"
    assert pair.release(1).unsynthesised == ("sex",) and pair.replace(released=FRAME).unsynthesised == ()
    with pytest.raises(gh.InputError, match="m = 2 syntheses, but 1 were given"):
        gh.data.from_synthpop(FRAME, FRAME, side)
    (tmp_path / "bad.json").write_text("no json")
    with pytest.raises(gh.InputError, match="is not valid JSON"):
        gh.data.from_synthpop(FRAME, FRAME, tmp_path / "bad.json")


def test_sdcmicro_is_row_paired_and_keeps_numeric_keys_apart() -> None:
    pair = gh.data.from_sdcmicro(FRAME, FRAME, keys=["sex"], numeric_keys=["income"], weights="w", household="hh")
    assert pair.row_paired and pair.keys == ("sex",) and pair.numeric_keys == ("income",)
    with pytest.raises(gh.InputError, match="numeric_keys names 'age'"):
        gh.data.from_sdcmicro(FRAME, FRAME, keys=["sex"], numeric_keys=["age"])


def test_sdv_metadata_become_kinds() -> None:
    metadata = {
        "columns": {"id": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}, "income": {"sdtype": "numerical"}},
        "primary_key": "id",
    }
    pair = gh.data.from_sdv(FRAME, FRAME, metadata, keys="sex")
    assert (pair.schema["id"].kind, pair.schema["income"].kind) == ("identifier", "numeric")
    with pytest.raises(gh.InputError, match="describe 2 tables"):
        gh.data.from_sdv(FRAME, FRAME, {"tables": {"a": metadata, "b": metadata}})


def test_simpop_keeps_weights_of_the_sample() -> None:
    pair = gh.data.from_simpop(FRAME, FRAME.drop("w"), weights="w", household="hh", keys="sex")
    assert pair.weight_values("original").tolist() == [1.0, 2.0, 3.0]
    assert pair.weight_values("released") is None
