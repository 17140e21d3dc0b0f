"""What every operation shares: the record of what was done, the caller's own library, chaining, recipes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.words import THREATS
from glasshouse.protection.held import changed, held
from glasshouse.protection.operation import operations, protected
from tests.conftest import converter

KINDS = {"numeric", "categorical", "date", "any"}


def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [31, 37, None, 55],
            "sex": ["f", None, "m", "f"],
            "pay": [1250.5, 2400.0, 3000.0, None],
            "member": [True, False, None, True],
        }
    )


# -- declarations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", operations())
def test_declarations_are_complete(name: str) -> None:
    one = operations()[name]
    assert one.title and one.title[0].islower() and one.summary.endswith(".")
    assert set(one.acts_on) <= set(THREATS) and 1 <= one.cost <= 9
    assert set(one.needs) <= KINDS and one.touches in ("columns", "records", "model")
    assert getattr(gh.protection, name) is one.function, "the stub names it"
    assert one.record()["name"] == name


def test_public_names_are_those_of_the_operations() -> None:
    functions = {name for name in gh.protection.__all__ if name[0].islower()}
    assert set(operations()) <= functions


def test_an_unknown_operation_is_pointed_to_the_closest() -> None:
    with pytest.raises(gh.InputError, match="did you mean 'round_numbers'"):
        operations()["round_number"]


# -- tables in and out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["polars", "lazy", "pandas", "pyarrow", "duckdb"])
def test_the_table_comes_back_in_its_library(library: str, request: pytest.FixtureRequest) -> None:
    table = converter(library, request)(people())
    made = gh.protection.round_numbers(table, ["age"])
    kind = pl.DataFrame if library == "lazy" else type(table)
    assert isinstance(made.table, kind)
    after = held(made)
    assert after["age"].to_list() == [30, 40, None, 60]
    assert after.frame.drop("age").equals(held(table).frame.drop("age"))
    assert (made.cells, made.records, made.columns) == (3, 3, {"age": 3})


def test_untouched_columns_of_pandas_keep_type_and_index() -> None:
    table = people().to_pandas().set_index(pd.Index([7, 5, 3, 1]))
    table["sex"] = pd.Categorical(table["sex"], categories=["m", "f"], ordered=True)
    table["code"] = pd.array([1, None, 3, 4], dtype="Int64")
    before = table.copy()
    made = gh.protection.round_numbers(table, ["code"], base=2).table
    pd.testing.assert_frame_equal(table, before)
    pd.testing.assert_frame_equal(made.drop(columns="code"), before.drop(columns="code"))
    assert made["code"].dtype == "Int64" and made["code"].tolist() == [2, pd.NA, 4, 4]


def test_new_levels_of_a_category_are_added_to_it() -> None:
    table = pd.DataFrame({"c": pd.Categorical(["a", "b", "b"], categories=["b", "a"])})
    made = protected(held(table), {"c": ["a", "other", None]}).table
    assert list(made["c"].cat.categories) == ["a", "other"], "what nobody has any longer is not listed either"
    assert made["c"].isna().tolist() == [False, False, True]
    enum = pl.DataFrame({"c": pl.Series(["a", "b", "b"], dtype=pl.Enum(["b", "a"]))})
    same = protected(held(enum), {"c": ["a", "b", None]})
    assert same.table["c"].dtype == pl.Enum(["b", "a"]) and same.cells == 1


def test_a_changed_type_is_said() -> None:
    made = protected(held(people()), {"age": np.array([31.5, 37, np.nan, 55])})
    assert made.notes == ("Column 'age' held whole numbers and now holds decimals.",) and made.cells == 1
    whole = protected(held(people().to_pandas().assign(age=[1, 2, 3, 4])), {"age": pl.Series([1, None, 3, 4])})
    assert str(whole.table["age"].dtype) == "Int64"


def test_types_of_pandas_stay_where_they_hold_the_values() -> None:
    table = pd.DataFrame({
        "small": pd.array([1, 2, 3], dtype="Int16"), "whole": np.array([1, 2, 3], np.int32), "text": ["a", "b", "c"],
        "date": pd.to_datetime(["2024-01-05", "2024-02-05", "2024-03-05"]), 
        "thing": pd.Series([1, "x", None], dtype=object),
        "share": np.array([0.5, 1.5, 2.5], np.float32), "yes": [True, False, True],
        "cat": pd.Categorical([1, 2, 2]),
    })  # fmt: skip
    before = held(table)
    same = protected(before, {name: before[name] for name in table.columns})
    assert same.cells == 0 and not same.notes
    pd.testing.assert_frame_equal(same.table.drop(columns="thing"), table.drop(columns="thing"))
    hole = {name: before[name].clone().scatter(0, None) for name in ("small", "whole", "yes", "text", "cat", "share")}
    made = protected(before, hole).table
    kinds = {name: str(made[name].dtype) for name in ("small", "whole", "yes", "share")}
    assert kinds == {"small": "Int16", "whole": "Int64", "yes": "boolean", "share": "float32"}
    assert made["text"].dtype == table["text"].dtype and made["cat"].cat.categories.tolist() == [2]
    assert made[list(hole)].iloc[0].isna().all()


def test_removed_records_and_columns_are_counted() -> None:
    keep = np.array([True, False, True, True])
    for table in (people(), people().to_pandas(), people().to_arrow()):
        made = protected(held(table), {"pay": np.array([1250.5, 1.0, 1.0, np.nan])}, keep=keep)
        assert (made.cells, made.records) == (1, 2) and held(made).n == 3
        assert "removed 1 record of 4" in made.sentence.lower()
        assert held(protected(held(table), drop=["pay"])).frame.columns == ["age", "sex", "member"]
    assert changed(held(people()), {}, drop=["age"]).cells == 3, "what is missing cannot be dropped"


def test_what_an_operation_made_is_a_table() -> None:
    first = gh.protection.round_numbers(people(), "age")
    second = gh.protection.round_numbers(first, "pay", base=1000)
    assert held(second)["pay"].to_list() == [1000.0, 2000.0, 3000.0, None]
    pair = gh.Pair(people(), second, keys=["sex"])
    assert pair.n("released") == 4
    assert gh.disclosure.identical(people(), second).status == "ok"
    assert "identical" in gh.assess(people(), first, keys=["sex"], measures=["identical"]).results


@pytest.mark.parametrize("wrong", [{"a": [1]}, [1, 2], 3, None])
def test_no_table_is_refused(wrong: Any) -> None:
    with pytest.raises(gh.InputError, match="table"):
        gh.protection.round_numbers(wrong, "age")
    with pytest.raises(gh.InputError, match="no records"):
        gh.protection.round_numbers(people().clear(), "age")


# -- recipes -----------------------------------------------------------------------------------------------------------


def test_a_recipe_replays(tmp_path: Path) -> None:
    steps = [("round_numbers", {"columns": ["age"], "base": 10}), ("round_numbers", {"columns": ["pay"], "base": 0.5})]
    recipe = gh.protection.Recipe([gh.protection.Step(name, given) for name, given in steps])
    path = recipe.save(tmp_path / "steps.toml")
    assert gh.protection.Recipe.load(path) == recipe
    by_hand = gh.protection.round_numbers(gh.protection.round_numbers(people(), "age"), "pay", base=0.5)
    made = gh.protection.apply(people(), str(path))
    assert made.table.equals(by_hand.table) and made.operation == "recipe"
    assert made.cells == 3 and [one["cells"] for one in made.details["steps"]] == [3, 0]


def test_what_was_done_is_a_step() -> None:
    made = gh.protection.round_numbers(people(), ["age"], base={"age": 20})
    again = gh.protection.Step(made.operation, made.settings)
    text = gh.protection.Recipe([again]).to_toml()
    assert gh.protection.Recipe.from_toml(text).steps[0].run(people()).table.equals(made.table)


def test_names_of_any_kind_survive_toml() -> None:
    name = 'a "b" \\ =\n[é]'
    table = people().rename({"age": name})
    recipe = gh.protection.Recipe([gh.protection.Step("round_numbers", {"columns": [name], "base": {name: 10}})])
    assert gh.protection.Recipe.from_toml(recipe.to_toml()) == recipe
    assert gh.protection.apply(table, recipe).cells == 3


def test_no_steps_change_nothing() -> None:
    made = gh.protection.apply(people(), gh.protection.Recipe([]))
    assert made.table.equals(people()) and made.cells == 0


def bad_recipes() -> list[tuple[str, str]]:
    return [
        ("[[step]]\noperation = 'round_number'", "did you mean 'round_numbers'"),
        ("[[step]]\noperation = 'round_numbers'\ncolums = ['age']", "did you mean 'columns'"),
        ("[[step]]\noperation = 'round_numbers'\ncolumns = ['ages']", r"step 1 \(round_numbers\).*did you mean 'age'"),
        ("[[step]]\noperation = 'round_numbers'", "lacks 'columns'"),
        ("[[step]]\ncolumns = ['age']", "does not say its operation"),
        ("steps = 3", "must hold steps"),
        ("[[step", "not valid TOML"),
    ]


@pytest.mark.parametrize(("text", "said"), bad_recipes())
def test_bad_recipes_are_answered(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "steps.toml"
    path.write_text(text)
    with pytest.raises(gh.InputError, match=said):
        gh.protection.apply(people(), path)


def test_a_missing_recipe_is_answered() -> None:
    with pytest.raises(gh.InputError, match="recipe not found"):
        gh.protection.apply(people(), "nowhere.toml")


# -- rounding, the first example ---------------------------------------------------------------------------------------


def test_rounding_goes_away_from_zero_and_hits_decimals_exactly() -> None:
    table = pl.DataFrame({"x": [0.25, -0.25, 0.349, 5.0, -5.0]})
    made: Callable[..., Any] = gh.protection.round_numbers
    assert made(table, "x", base=0.1).table["x"].to_list() == [0.3, -0.3, 0.3, 5.0, -5.0]
    assert made(table, "x", base=10).table["x"].to_list() == [0, 0, 0, 10, -10]


def test_rounding_twice_changes_nothing() -> None:
    values = np.random.default_rng(1).normal(0, 1e4, 1000)
    for base in (0.01, 0.5, 3, 250):
        once = gh.protection.round_numbers(pl.DataFrame({"x": values}), "x", base=base)
        assert gh.protection.round_numbers(once, "x", base=base).cells == 0
        assert np.abs(held(once)["x"].to_numpy() - values).max() <= base / 2 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"columns": "sex"}, "holds categories"),
        ({"columns": []}, "empty"),
        ({"columns": "age", "base": 0}, "above 0"),
        ({"columns": "age", "base": {"pay": 1}}, "none of columns"),
        ({"columns": ["age", "pay"], "base": {"pay": 1}}, "says nothing about column 'age'"),
        ({"columns": "age", "base": "ten"}, "takes a number"),
    ],
)
def test_wrong_rounding_is_answered(given: dict[str, Any], said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        gh.protection.round_numbers(people(), **given)


def test_the_page_lists_the_operations_as_they_are_declared() -> None:
    """docs/protection.md holds a table made from the declarations; `make docs` writes it."""
    from tools.make_operation_list import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`: docs/protection.md is out of date"


def test_durations_are_told_from_what_takes_their_place() -> None:
    table = pl.DataFrame({"wait": pl.Series([1, 2, None, 2], dtype=pl.Duration("ms"))})
    made = gh.protection.pseudonymise(table, ["wait"])
    assert made.columns == {"wait": 3} and made.table["wait"][1] == made.table["wait"][3]
