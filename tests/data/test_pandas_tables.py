"""pandas tables in and out, with pyarrow and without: the same types and values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from glasshouse.core.errors import MissingExtra, foreign
from glasshouse.data import frames, pandas_tables
from tests.hiding import answers, needs_pandas

pd = needs_pandas()
DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30)

IN_PANDAS: dict[str, Any] = {
    "whole": pd.Series([1, 2, 3]),
    "whole, narrow": pd.Series([1, 2, 3], dtype="int8"),
    "whole, without sign": pd.Series([1, 2, 2**64 - 1], dtype="uint64"),
    "decimal": pd.Series([1.5, np.nan, np.inf]),
    "decimal, narrow": pd.Series([1.5, np.nan], dtype="float32"),
    "true": pd.Series([True, False]),
    "text": pd.Series(["a", "ä", ""]),
    "text and none": pd.Series(["a", None, "b"], dtype=object),
    "text and nan": pd.Series(["a", np.nan, "b"], dtype=object),
    "text of pandas": pd.Series(["a", None], dtype="string"),
    "nothing": pd.Series([None, None], dtype=object),
    "nobody": pd.Series([], dtype=object),
    "nobody's number": pd.Series([], dtype="float64"),
    "whole or missing": pd.Series([1, None, 3], dtype="Int64"),
    "small or missing": pd.Series([1, None, 3], dtype="UInt8"),
    "decimal or missing": pd.Series([1.5, None, 3], dtype="Float64"),
    "true or missing": pd.Series([True, None, False], dtype="boolean"),
    "true as objects": pd.Series([True, None, False], dtype=object),
    "whole as objects": pd.Series([1, None, 3], dtype=object),
    "whole beside decimal": pd.Series([1, 2.5, None], dtype=object),
    "time": pd.Series(pd.to_datetime(["2024-02-29 12:30", None])),
    "time in seconds": pd.Series(pd.to_datetime(["2024-02-29 12:30", None])).astype("datetime64[s]"),
    "time with zone": pd.Series(pd.to_datetime(["2024-02-29 12:30", None])).dt.tz_localize("Europe/Vienna"),
    "span": pd.Series(pd.to_timedelta(["1h", None])),
    "days": pd.Series([DAY, None], dtype=object),
    "moments": pd.Series([MOMENT, None], dtype=object),
    "money": pd.Series([Decimal("1.50"), None], dtype=object),
}
MIXED: dict[str, Any] = {
    "text and number": pd.Series(["a", 1, None], dtype=object),
    "true and text": pd.Series([True, "a"], dtype=object),
    "own objects": pd.Series([object, None], dtype=object),
    "period": pd.Series(pd.period_range("2024-01", periods=2, freq="M")),
    "interval": pd.Series(pd.interval_range(0, 2)),
    "complex": pd.Series([1 + 2j, 3]),
}
IN_POLARS = pl.DataFrame(
    {
        "whole": [1, 2, 3],
        "gaps": [1, None, 3],
        "decimal": [1.5, None, float("inf")],
        "narrow": pl.Series([1, 2, 3], dtype=pl.Int8),
        "single": pl.Series([1.5, None, 3], dtype=pl.Float32),
        "text": ["a", None, "ä"],
        "no text": pl.Series([None, None, None], dtype=pl.String),
        "true": [True, False, True],
        "true or not": [True, None, False],
        "level": pl.Series(["low", None, "high"], dtype=pl.Enum(["low", "mid", "high"])),
        "category": pl.Series(["b", "a", None], dtype=pl.Categorical),
        "day": [DAY, None, DAY],
        "moment": [MOMENT, None, MOMENT],
        "zoned": pl.Series([MOMENT, None, MOMENT]).dt.replace_time_zone("Europe/Vienna"),
        "span": [dt.timedelta(hours=1), None, dt.timedelta(0)],
        "clock": [dt.time(12, 30), None, dt.time(0)],
    }
)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pandas_tables, "has_pyarrow", lambda: False)


@pytest.mark.parametrize("name", IN_PANDAS)
def test_a_column_of_pandas_is_the_same_without_pyarrow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = pandas_tables.from_pandas(IN_PANDAS[name], "x")
    monkeypatch.setattr(pandas_tables, "has_pyarrow", lambda: False)
    made = pandas_tables.from_pandas(IN_PANDAS[name], "x")
    assert made.name == expected.name
    assert made.dtype.base_type() == expected.dtype.base_type()
    if not isinstance(expected.dtype, pl.Decimal):  # pyarrow counts the digits of the values, polars takes all it has
        assert made.dtype == expected.dtype
    assert made.to_list() == expected.to_list()


@pytest.mark.parametrize("name", MIXED)
def test_what_has_no_common_type_is_compared_by_label_with_pyarrow_and_without(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = frames._pandas_series(MIXED[name], "x")
    assert expected.dtype == pl.String
    monkeypatch.setattr(pandas_tables, "has_pyarrow", lambda: False)
    assert frames._pandas_series(MIXED[name], "x").equals(expected)


@pytest.mark.parametrize("name", IN_POLARS.columns)
def test_a_column_of_polars_is_the_same_in_pandas_without_pyarrow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, alone = pandas_tables.to_pandas(IN_POLARS)[name], pandas_tables.column_to_pandas(IN_POLARS[name])
    monkeypatch.setattr(pandas_tables, "has_pyarrow", lambda: False)
    made = pandas_tables.to_pandas(IN_POLARS)[name]
    if name == "level":  # whether they are ranked depends on the version of polars
        assert list(made.cat.categories) == list(expected.cat.categories)
        made, expected, alone = made.astype(object), expected.astype(object), alone.astype(object)
    pd.testing.assert_series_equal(made, expected)
    pd.testing.assert_series_equal(pandas_tables.column_to_pandas(IN_POLARS[name]).astype(made.dtype), alone)


def test_a_table_of_another_library_comes_with_its_categories(without: None) -> None:
    table = pd.DataFrame({"a": pd.Categorical(["x", None, "y"]), "n": pd.Categorical([1, 2, None]), "b": [1, 2, 3]})
    made = pandas_tables.frame_from_pandas(table)
    assert made["a"].to_list() == ["x", None, "y"]
    assert made["n"].to_list() == [1, 2, None]
    assert made.schema["b"] == pl.Int64


def test_an_empty_table_keeps_its_columns(without: None) -> None:
    made = pandas_tables.to_pandas(IN_POLARS.head(0))
    assert list(made.columns) == IN_POLARS.columns
    assert len(made) == 0


def test_errors_of_numbers_that_do_not_fit_are_not_ours(without: None) -> None:
    with pytest.raises(Exception) as stopped:
        pandas_tables.from_pandas(MIXED["period"], "x")
    assert foreign(stopped.value)
    assert not isinstance(stopped.value, MissingExtra)


def test_pyarrow_is_seen_where_it_is_and_missed_where_it_is_not() -> None:
    pytest.importorskip("pyarrow")
    assert pandas_tables.has_pyarrow()
    assert answers("from glasshouse.data.pandas_tables import has_pyarrow; print(has_pyarrow())", "pyarrow") == "False"
