"""What every operation shares: the record of what was done, the caller's own library, chaining, recipes."""

from __future__ import annotations

import math
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


def test_numbers_as_text_with_a_decimal_comma(tmp_path: Path) -> None:
    """In a file they are numbers, as a Pair reads them; in a caller's own frame they stay text, and a word says why."""
    table = pl.DataFrame({"pay": ["1.250,5", "2400,0", None], "code": ["a", "b", "c"], "town": ["010", "020", "030"]})
    table.write_csv(tmp_path / "t.csv", separator=";")
    assert held(tmp_path / "t.csv")["pay"].to_list() == [1250.5, 2400.0, None]
    made = gh.protection.apply(tmp_path / "t.csv", gh.protection.Recipe(
        [gh.protection.Step("drop_identifiers", {"columns": ["code"]}),
         gh.protection.Step("round_numbers", {"columns": ["pay"], "base": 1000})]))  # fmt: skip
    assert made.table["pay"].to_list() == [1000.0, 2000.0, None], "also of a table that a step before has made"
    with pytest.raises(gh.InputError, match="'pay' holds categories: numbers with a decimal comma, as text; convert"):
        gh.protection.round_numbers(table, ["pay"])
    with pytest.raises(gh.InputError, match=r"'town' holds categories$"):
        gh.protection.round_numbers(table, ["town"])


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


SMALL = ["int8", "uint8", "Int8", "UInt8", "int8[pyarrow]"]


@pytest.mark.parametrize("kind", [*SMALL, "polars", "arrow"])
def test_a_type_too_small_for_new_values_is_widened_and_said(kind: str) -> None:
    values = [100, 0, 3, 100]
    small = pl.DataFrame({"n": pl.Series(values, dtype=pl.Int8)})
    table = {"polars": small, "arrow": small.to_arrow()}.get(kind)
    table = pd.DataFrame({"n": pd.array(values, dtype=kind)}) if table is None else table
    for new in ([300, -1, 3, 100], [300, None, 3, 100], np.array([300.0, -1, 3, 100])):
        made = protected(held(table), {"n": new})
        assert held(made)["n"].to_list() == list(new)
        assert held(made)["n"].dtype == pl.Int64 and made.cells == 2
        assert len(made.notes) == 1 and "of type" in made.notes[0] and "int64" in made.notes[0].lower()
    fits = protected(held(table), {"n": [1, 2, 3, 4]})
    assert held(fits)["n"].dtype == held(table)["n"].dtype and not fits.notes


def test_noise_does_not_wrap_around() -> None:
    values = np.array([120, 125, 127, 110, 90] * 20)
    made = [gh.protection.add_noise(pd.DataFrame({"n": pd.array(values, dtype=kind)}), "n", scale=8.0)
            for kind in ("int64", "int8", "uint8", "Int8")]  # fmt: skip
    assert all(one.table["n"].tolist() == made[0].table["n"].tolist() for one in made)
    assert max(made[0].table["n"]) > 255 and min(made[0].table["n"]) < 0


def test_numbers_that_no_type_of_whole_numbers_holds_become_decimals() -> None:
    unsigned = pl.DataFrame({"n": pl.Series([2**63 + 4096 * i for i in range(9)], dtype=pl.UInt64)})
    assert gh.protection.add_noise(unsigned, "n").table["n"].dtype == pl.UInt64
    wide = gh.protection.add_noise(pl.DataFrame({"n": pl.Series([3e38, 1e38, -3e38] * 5, dtype=pl.Float32)}), "n", 2.0)
    assert wide.table["n"].dtype == pl.Float64 and wide.table["n"].is_finite().all()
    assert wide.notes[-1] == "Column 'n' was of type Float32 and is now of type Float64, which holds its values."


@pytest.mark.parametrize(("kind", "said"), [("int64", "Int64"), ("bool", "boolean"), ("Int8", ""), ("float32", "")])
def test_a_type_that_takes_missing_values_is_said(kind: str, said: str) -> None:
    table = pd.DataFrame({"n": pd.array([1, 1, 1, 0], dtype=kind), "s": list("aaab")})
    made = gh.protection.suppress_locally(table, ["n", "s"], k=2)
    stays = str(table["n"].dtype)
    assert str(made.table["n"].dtype) == (said or stays)
    note = f"Column 'n' was of type {stays} and is now of type {said}, which holds missing values."
    assert [one for one in made.notes if "'n'" in one] == ([note] if said else [])


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


@pytest.mark.parametrize("name", operations())
def test_an_argument_set_to_nothing_survives_a_recipe_file(name: str, tmp_path: Path) -> None:
    defaults = operations()[name].options
    assert not {"without", "operation"} & set(defaults), "keys of a step with a meaning of their own"
    for given in (dict.fromkeys(defaults), *({option: None} for option in defaults)):
        path = gh.protection.Recipe([gh.protection.Step(name, given)]).save(tmp_path / "steps.toml")
        again = gh.protection.Recipe.load(path).steps[0].arguments
        assert {**defaults, **again} == {**defaults, **given}


def test_an_argument_set_to_nothing_is_written_in_words() -> None:
    step = gh.protection.Step("resynthesise", {"minbucket": 5, "smoothing": None, "n_jobs": None})
    text = gh.protection.Recipe([step]).to_toml()
    assert 'without = ["smoothing"]' in text and "n_jobs" not in text
    endless = gh.protection.Step("bin_numbers", {"columns": ["age"], "breaks": [-math.inf, 40.0, math.inf]})
    assert gh.protection.Recipe.from_toml(gh.protection.Recipe([endless]).to_toml()).steps[0] == endless
    with pytest.raises(gh.InputError, match="cannot hold None"):
        gh.protection.Recipe([gh.protection.Step("bin_numbers", {"breaks": [None, 1]})]).to_toml()


def test_a_generator_as_seed_is_kept_as_a_number() -> None:
    table = pl.DataFrame({"x": np.linspace(0, 1, 50)})
    for made in (
        gh.protection.add_noise(table, "x", random_state=np.random.default_rng(3)),
        gh.protection.add_noise(table, "x", 0.1, "correlated", False, None, False, np.random.default_rng(3)),
    ):
        assert isinstance(made.settings["random_state"], int)
        recipe = gh.protection.Recipe([gh.protection.Step(made.operation, made.settings)])
        again = gh.protection.apply(table, gh.protection.Recipe.from_toml(recipe.to_toml()))
        assert again.table.equals(made.table)
    step = gh.protection.Step("add_noise", {"columns": ["x"], "random_state": np.random.default_rng(3)})
    assert step.arguments["random_state"] == made.settings["random_state"] and step.run(table).table.equals(made.table)


def test_a_recipe_without_steps_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("# nothing\n")
    for recipe in (gh.protection.Recipe([]), path):
        with pytest.raises(gh.InputError, match="the recipe has no steps"):
            gh.protection.apply(people(), recipe)


def bad_recipes() -> list[tuple[str, str]]:
    return [
        ("[[step]]\noperation = 'round_number'", "did you mean 'round_numbers'"),
        ("[[step]]\noperation = 'round_numbers'\ncolums = ['age']", "did you mean 'columns'"),
        ("[[step]]\noperation = 'round_numbers'\ncolumns = ['ages']", r"step 1 \(round_numbers\).*did you mean 'age'"),
        ("[[step]]\noperation = 'round_numbers'", "lacks 'columns'"),
        ("[[step]]\ncolumns = ['age']", "does not say its operation"),
        ("[[step]]\noperation = 'pram'\nwithout = 'keep'", "without lists the names"),
        ("[[step]]\noperation = 'pram'\nkeep = 0.5\nwithout = ['keep']", "given nowhere else"),
        ("[[step]]\noperation = 'pram'\nwithout = ['kep']", "did you mean 'keep'"),
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


def test_whole_numbers_are_rounded_exactly_and_stay_whole() -> None:
    large = [2**53 + 1, -(2**53) - 3, None, 7, -15, 2**62 + 5]
    made = gh.protection.round_numbers(pl.DataFrame({"n": large}), "n", base=1)
    assert made.table["n"].to_list() == large and made.cells == 0
    ten = gh.protection.round_numbers(pl.DataFrame({"n": large}), "n", base=10).table["n"].to_list()
    exact = [None if v is None else int(math.copysign(1, v)) * ((abs(v) + 5) // 10 * 10) for v in large]
    assert ten == exact and ten[4] == -20
    unsigned = pl.DataFrame({"n": pl.Series([2**63 + 5, 4], dtype=pl.UInt64)})
    assert gh.protection.round_numbers(unsigned, "n").table["n"].to_list() == [2**63 + 2, 0]
    edge = pl.DataFrame({"n": [2**63 - 1, 3]})
    assert held(gh.protection.round_numbers(edge, "n"))["n"][1] == 0
    floats = gh.protection.round_numbers(pl.DataFrame({"n": [2.0**52 + 1, 2.0**53 - 1]}), "n", base=1)
    assert floats.cells == 0
    small = gh.protection.round_numbers(pd.DataFrame({"n": np.array([255, 3], np.uint8)}), "n")
    assert small.table["n"].tolist() == [260, 0] and str(small.table["n"].dtype) == "int64"
    assert small.notes == ("Column 'n' was of type uint8 and is now of type int64, which holds its values.",)


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


def test_numbers_that_no_sum_of_squares_holds_are_refused() -> None:
    huge = pl.DataFrame({"x": [7e296 + 1e292 * i for i in range(20)]})
    for run in (gh.protection.microaggregate, gh.protection.swap_ranks, gh.protection.add_noise):
        with pytest.raises(gh.InputError, match="column 'x' holds numbers whose squares are infinite"):
            run(huge, ["x"])
    lengths = pl.DataFrame({"x": pl.Series([1, 1, 2], dtype=pl.Duration("us"))})
    with pytest.raises(gh.InputError, match="column 'x' holds lengths of time"):
        gh.protection.merge_levels(lengths, ["x"], k=2)


def test_infinite_numbers_are_in_the_last_class() -> None:
    table = pl.DataFrame({"x": [np.inf, -np.inf, *range(30)]}, strict=False)
    made = gh.protection.generalise(table, ["x"], 5)
    assert made.table["x"].null_count() == 0 and made.table["x"].n_unique() > 1


def test_odd_arguments_end_in_a_sentence_or_a_table() -> None:
    table = pl.DataFrame({"age": list(range(20, 60)), "home": [1, 2] * 20})
    with pytest.raises(gh.InputError, match="'home' is cluster and key at once"):
        gh.protection.remove_records(table, original=table, columns=["age", "home"], cluster="home")
    with pytest.raises(gh.InputError, match="makes numbers whose squares are infinite; choose a smaller one"):
        gh.protection.add_noise(table, "age", scale=1e308)
    assert gh.protection.swap_ranks(table, "age", random_state=-(2**70)).cells
