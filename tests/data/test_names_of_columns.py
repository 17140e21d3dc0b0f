"""What is given in the place of names may hold values, and an error never quotes them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import glasshouse as gh

CANARY = "Canary Person"
TABLE = pl.DataFrame({"name": [f"{CANARY} {i}" for i in range(40)], "age": range(40), "ill": ["a", "b"] * 20})
WRONG: dict[str, Any] = {
    "a table": TABLE,
    "a pandas table": TABLE.to_pandas(),
    "a column": TABLE["name"],
    "a pandas column": TABLE.to_pandas()["name"],
    "records": TABLE.rows(named=True),
    "rows": TABLE.rows(),
    "columns": [TABLE["name"].to_list()],
    "a record": TABLE.row(0, named=True),
}


@pytest.mark.parametrize("role", ["keys", "target", "exclude"])
@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG)
def test_what_holds_values_is_refused_by_its_type(role: str, given: Any) -> None:
    with pytest.raises(gh.InputError) as told:
        gh.Pair(TABLE, TABLE, **{role: given}).check()
    assert CANARY not in str(told.value) and "name" in str(told.value)


def test_a_name_is_repeated_only_so_far() -> None:
    with pytest.raises(gh.InputError, match="'ag' is not in the original") as told:
        gh.Pair(TABLE, TABLE, keys=["ag"]).check()
    assert "'age'" in str(told.value)
    with pytest.raises(gh.InputError) as told:
        gh.Pair(TABLE, TABLE, keys=["x" * 500]).check()
    assert "x" * 61 not in str(told.value)


def test_names_come_in_many_shapes() -> None:
    for given in ("age", ["age"], ("age",), TABLE.to_pandas().columns[1:2]):
        assert gh.Pair(TABLE, TABLE, keys=given).keys == ("age",)
