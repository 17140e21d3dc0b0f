"""Operations on columns: identifiers, classes of numbers, extremes, levels, dates; golden values of recoding."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.protection.held import held
from tests.protection.conftest import golden_case

P: Any = gh.protection
TOP = ("tb_small_age_bottom18", "tb_small_age_top80", "tb_small_inc_top100", "tb_testdata_age_top60",
       "tb_testdata_income_bottom")  # fmt: skip
CLASSES = ("gr_free1_age_6equal", "gr_free1_age_6equi", "gr_free1_age_6log", "gr_free1_age_breaks",
           "gr_small_age_4equi", "gr_small_age_breaks", "gr_small_age_breaks_labels", "gr_small_age_breaks_outside",
           "gr_small_inc_3log", "gr_small_inc_4equal", "gr_testdata_income_10equal")  # fmt: skip
MERGED = ("gar_small_ab", "gar_small_addNA", "gar_small_bd_into_c", "gar_small_two_names", "gar_testdata_roof")


# -- golden: top and bottom coding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOP)
def test_top_coding_is_that_of_the_reference(name: str, golden_protection: Path) -> None:
    args, expected, table = golden_case(golden_protection, name)
    side = args["kind"]
    given = {side: args["value"], f"{side}_value": args["replacement"]}
    made = P.top_code(table, args["column"], **given)
    values = held(made)[args["column"]]
    if "values" in expected:
        wanted = [float("nan") if v is None else v for v in expected["values"]]
        assert values.cast(pl.Float64).fill_null(float("nan")).to_list() == pytest.approx(
            wanted, rel=1e-12, nan_ok=True
        )
    else:
        found = {"min": values.min(), "max": values.max(), "sum": values.sum(), "n_missing": values.null_count()}
        assert found == pytest.approx({k: expected[k] for k in found}, rel=1e-12)
    assert made.cells == expected["n_changed"], "who had the replacement before is not changed"
    assert P.top_code(made, args["column"], **{side: args["replacement"]}).cells == 0


# -- golden: classes of numbers ----------------------------------------------------------------------------------------


def breaks_of_the_reference(values: pl.Series, args: dict[str, Any]) -> list[float]:
    """The reference's own rules for a number of classes, where ours differ on purpose."""
    low, high, count = float(values.min()), float(values.max()), args["breaks"]  # type: ignore[arg-type]
    if args["method"] == "logEqui":
        breaks = np.exp(np.linspace(np.log(low) - 1, np.log(high) + 1, count + 1))
    else:
        breaks = np.linspace(low - 1, high + 1, count + 1)
    whole = np.round(breaks)
    return [float(b) for b in (whole if len(set(whole)) == len(whole) else breaks)]


@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_those_of_the_reference(name: str, golden_protection: Path) -> None:
    args, expected, table = golden_case(golden_protection, name)
    column = args["column"]
    if args["method"] == "equalAmount":
        given: dict[str, Any] = {"bins": args["breaks"], "method": "quantile"}
    elif isinstance(args["breaks"], int):
        given = {"breaks": breaks_of_the_reference(table[column], args)}
    else:
        given = {"breaks": args["breaks"], "outside": "open", "labels": args["labels"]}
        given["labels"] = None if args["labels"] is None else [str(label) for label in args["labels"]]
    made = P.bin_numbers(table, column, **given)
    ours = made.table[column].to_physical().cast(pl.Int64)
    # the reference leaves out what lies outside its breaks, the lowest value included, without a word
    breaks = given.get("breaks")
    inside = table[column].is_not_null() if breaks is None else (table[column] > breaks[0]) & (
        table[column] <= breaks[-1])  # fmt: skip
    inside = inside.fill_null(False)
    counts = np.bincount(ours.filter(inside).to_numpy(), minlength=len(expected["levels"]))
    assert counts.tolist() == expected["counts"]
    assert table.height - int(inside.sum()) == expected["n_missing"]
    assert ours.null_count() == expected["n_missing_before"], "none is lost"
    if "values" in expected:
        place = {level: i for i, level in enumerate(expected["levels"])}
        found = [None if not known else code for known, code in zip(inside, ours, strict=True)]
        assert found == [None if v is None else place[v] for v in expected["values"]]
    else:
        assert (ours.head(50) + 1).to_list() == expected["codes_first50"]
    if args["labels"]:
        assert set(made.table[column].drop_nulls()) <= set(given["labels"])


@pytest.mark.parametrize("name", MERGED)
def test_merged_levels_are_those_of_the_reference(name: str, golden_protection: Path) -> None:
    args, expected, table = golden_case(golden_protection, name)
    after = args["after"] if isinstance(args["after"], list) else [args["after"]] * len(args["before"])
    mapping = dict(zip(args["before"], after, strict=True))
    missing = args["after"] if args["addNA"] else None
    made = P.merge_levels(table, args["var"], mapping, missing=missing, into_existing="into" in name)
    values = made.table[args["var"]]
    counts = dict(values.drop_nulls().value_counts().iter_rows())
    assert counts == dict(zip(expected["levels"], expected["counts"], strict=True))
    assert values.null_count() == expected["n_missing"]
    if "values" in expected:
        assert values.to_list() == expected["values"]


def test_every_golden_case_of_recoding_is_a_test(golden_protection: Path) -> None:
    there = {path.stem for kind in ("tb", "gr", "gar") for path in golden_protection.glob(f"{kind}_*.json")}
    assert there == {*TOP, *CLASSES, *MERGED}
    assert all(json.loads((golden_protection / f"{name}.json").read_text())["tolerance"] for name in there)


# -- top and bottom coding ---------------------------------------------------------------------------------------------


def test_both_ends_in_one_call_and_totals_kept() -> None:
    table = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 50.0, 60.0, None], "w": [1, 1, 1, 1, 2, 1, 1]})
    both = P.top_code(table, "x", top=10, bottom=2)
    assert both.table["x"].to_list() == [2, 2, 3, 4, 10, 10, None] and both.cells == 3
    mean = P.top_code(table, "x", top=10, replacement="mean", weights="w")
    code = (2 * 50 + 60) / 3
    assert mean.table["x"].to_list()[4:6] == [code, code]
    weighed = (mean.table["x"] * mean.table["w"]).sum(), (table["x"] * table["w"]).sum()
    assert weighed[0] == pytest.approx(weighed[1]) and not any("total" in note for note in mean.notes)
    assert any("only 2 records" in note for note in both.notes) and any("total" in note for note in both.notes)


def test_a_share_is_cut_on_each_side() -> None:
    values = np.random.default_rng(0).permutation(1000).astype(float)
    made = P.top_code(pl.DataFrame({"x": values}), "x", share=0.01)
    assert made.cells == 20 and made.table["x"].max() == 989 and made.table["x"].min() == 10
    top = P.top_code(pl.DataFrame({"x": values}), "x", share=0.01, sides="top")
    assert top.table["x"].min() == 0 and top.cells == 10
    assert P.top_code(pl.DataFrame({"x": [1.0] * 9 + [2.0]}), "x", share=0.05).cells == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"top": 5, "top_value": 4}, "wrong side"),
        ({"bottom": 5, "bottom_value": 6}, "wrong side"),
        ({"top": 1, "bottom": 5}, "below bottom"),
        ({}, "needs a limit"),
        ({"top_value": 3, "bottom": 1}, "top is not"),
        ({"share": 0.7}, "between 0 and 0.5"),
        ({"share": 0.1, "top": 3}, "one or the other"),
        ({"top": {"y": 3}}, "none of columns"),
        ({"top": float("inf")}, "no finite number"),
        ({"top": 3, "weights": "sex"}, "weights takes columns of numbers, and column 'sex'"),
        ({"top": 3, "weights": "w"}, "weights names column 'w'"),
    ],
)
def test_wrong_limits_are_answered(given: dict[str, Any], said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        P.top_code(pl.DataFrame({"x": [1.0, 2.0], "sex": ["f", "m"]}), "x", **given)


# -- classes -----------------------------------------------------------------------------------------------------------


def test_labels_never_quote_an_extreme_value() -> None:
    values = np.random.default_rng(3).lognormal(10, 1, 500)
    table = pl.DataFrame({"x": values})
    ends = [f"{end:.12g}"[:6] for end in (values.min(), values.max())]
    for method in ("equal", "quantile", "log"):
        made = P.bin_numbers(table, "x", bins=6, method=method)
        labels = made.table["x"].unique().to_list()
        assert not any(end in label for label in labels for end in ends), method
        assert sum(label.startswith(("<=", ">")) for label in labels) == 2
    breaks = P.bin_numbers(table, "x", bins=6, method="equal").details["x"]["breaks"]
    width = breaks[1] - breaks[0]
    assert abs(breaks[0] - width - values.min()) > 1e-9, "two exact breaks would give the smallest value away"


@pytest.mark.parametrize("method", ["quantile", "equal", "log"])
def test_no_break_is_the_value_of_few(method: str) -> None:
    rng = np.random.default_rng(1)
    for values in (np.round(rng.lognormal(10, 0.7, 1501), 2), rng.integers(1, 3000, 900), np.arange(1, 41),
                   np.r_[np.full(400, 7.0), rng.normal(50, 1, 600)]):  # fmt: skip
        made = P.bin_numbers(pl.DataFrame({"x": values}), "x", bins=8, method=method)
        found = made.details["x"]
        assert all(not 0 < (values == b).sum() < 5 for b in found["breaks"])
        assert all(float(f"{b:.12g}") == b for b in found["breaks"]), "a label says the break itself"
        if method == "quantile" and len(set(values)) > 700:
            assert max(abs(n - len(values) / 8) for n in found["counts"]) <= 0.1 * len(values) / 8 + 1
    given = P.bin_numbers(pl.DataFrame({"x": [1.25, 2.5, 3.75]}), "x", [0, 2.5, 4])
    assert given.details["x"]["breaks"] == [2.5], "what a caller says stays"


def test_numbers_beyond_the_digits_of_a_label_have_fewer_classes() -> None:
    values = np.random.default_rng(0).normal(size=300)
    for strange in (1e6 + values * 1e-9, np.abs(values) * 1e-310, 2**60 + np.arange(300), values * 1e300):
        made = P.bin_numbers(pl.DataFrame({"x": strange}), "x", bins=5)
        assert made.table["x"].null_count() == 0 and sum(made.details["x"]["counts"]) == 300


def test_classes_of_means_are_the_same_again() -> None:
    values = np.random.default_rng(5).lognormal(10, 1, 803)
    for bins in (3, 7, 20):
        once = P.bin_numbers(pl.DataFrame({"x": values}), "x", bins=bins, into="means")
        assert once.cells and P.bin_numbers(once, "x", bins=bins, into="means").cells == 0


def test_quantile_classes_merge_breaks_that_coincide() -> None:
    made = P.bin_numbers(pl.DataFrame({"x": [1] * 8 + [2, 3]}), "x", bins=4)
    assert made.details["x"]["breaks"] == [1.0] and made.details["x"]["counts"] == [8, 2]
    assert P.bin_numbers(pl.DataFrame({"x": [4, 4, 4]}), "x", bins=3).table["x"].to_list() == ["any"] * 3


def test_means_of_classes_keep_totals_and_numbers() -> None:
    values = np.random.default_rng(5).normal(size=200)
    made = P.bin_numbers(pd.DataFrame({"x": values}), "x", bins=7, into="means")
    assert made.table["x"].sum() == pytest.approx(values.sum()) and made.table["x"].nunique() == 7
    labelled = P.bin_numbers(pd.DataFrame({"x": values}), "x", bins=7).table["x"]
    assert labelled.cat.ordered and labelled.cat.categories[0].startswith("<=")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"breaks": [0, 5]}, "1 value of column 'x' lies outside"),
        ({"breaks": [5, 0]}, "ascending"),
        ({"breaks": [0]}, "ascending"),
        ({}, "give one of them"),
        ({"breaks": [0, 10], "bins": 3}, "give one of them"),
        ({"bins": 0}, "between 1"),
        ({"bins": 2, "method": "log"}, "no logarithm"),
        ({"breaks": [0, 5, 10], "labels": ["a"]}, "2 classes"),
        ({"breaks": {"y": [0, 1]}}, "none of columns"),
    ],
)
def test_wrong_classes_are_answered(given: dict[str, Any], said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        P.bin_numbers(pl.DataFrame({"x": [0, 2, 7]}), "x", **given)


# -- levels ------------------------------------------------------------------------------------------------------------


def test_rare_levels_take_in_the_next_rarest() -> None:
    table = pl.DataFrame({"c": ["a"] * 9 + ["b"] * 6 + ["c"] * 5 + ["d"] * 2 + [None]})
    made = P.merge_levels(table, "c", k=5)
    assert dict(made.table["c"].drop_nulls().value_counts().iter_rows()) == {"a": 9, "b": 6, "other": 7}
    assert made.table["c"].null_count() == 1 and P.merge_levels(made, "c", k=5).cells == 0
    assert P.merge_levels(table, "c", k=2).table["c"].equals(table["c"])
    joined = P.merge_levels(table, "c", k=3, other="a", into_existing=True)
    assert dict(joined.table["c"].drop_nulls().value_counts().iter_rows()) == {"a": 11, "b": 6, "c": 5}


def test_a_merged_level_leaves_the_type() -> None:
    labels = ["a"] * 6 + ["b"] * 6 + ["secret"]
    declared = ["never", "secret", "b", "a"]
    frame = pd.DataFrame({"c": pd.Categorical(labels, categories=declared, ordered=True), "d": pd.Categorical(labels)})
    polars = pl.DataFrame({name: pl.Series(labels, dtype=pl.Enum(declared)) for name in "cd"})
    made = P.merge_levels(frame, "c", {"secret": "b"}, into_existing=True).table
    assert list(made["c"].cat.categories) == ["never", "b", "a"] and made["c"].cat.ordered
    assert list(made["d"].cat.categories) == ["a", "b", "secret"], "a column that was not named stays as it is"
    assert list(P.merge_levels(frame, "c", k=2).table["c"].cat.categories) == ["never", "b", "other"]
    made = P.merge_levels(polars, "c", {"secret": "b"}, into_existing=True).table
    assert made.schema == {"c": pl.Enum(["never", "b", "a"]), "d": pl.Enum(declared)}
    keys = {"c": {"rows": [[one, one] for one in declared]}, "d": {"rows": [[one, one] for one in declared]}}
    for how in ("remove", "blank"):
        given = {"keys": ["c"], "k": 2, "hierarchies": {"c": keys["c"]}, "suppression_limit": 0.2, "suppressed": how}
        out = [P.generalise(one, **given).table for one in (frame, polars)]
        assert list(out[0]["c"].cat.categories) == out[1].schema["c"].categories.to_list() == ["never", "b", "a"]
        assert ("secret" in out[0]["d"].cat.categories) == ("secret" in out[1].schema["d"].categories)
        assert ("secret" in out[0]["d"].cat.categories) == (how == "blank"), "who is removed leaves every column"
        arrow = P.generalise(frame.pipe(pl.from_pandas).select(pl.all().cast(pl.Categorical)).to_arrow(), **given).table
        assert "secret" not in arrow["c"].combine_chunks().dictionary.to_pylist()
        assert ("secret" in arrow["d"].combine_chunks().dictionary.to_pylist()) == (how == "blank")


def test_categories_of_numbers_become_text_throughout() -> None:
    frame = pd.DataFrame({"c": pd.Categorical([1] * 6 + [2] * 6 + [3])})
    made = P.merge_levels(frame, "c", {"1": "x"})
    assert list(made.table["c"].cat.categories) == ["2", "3", "x"] and made.table["c"].tolist()[6] == "2"
    assert any("categories of numbers" in note and "text" in note for note in made.notes) and made.cells == 6
    kept = P.merge_levels(frame, "c", {"3": "2"}, into_existing=True)
    assert list(kept.table["c"].cat.categories) == [1, 2] and not any("text" in note for note in kept.notes)


def test_a_level_that_does_not_occur_is_passed_over_with_a_note() -> None:
    table = pl.DataFrame({"c": ["a", "b", "b"]})
    made = P.merge_levels(table, "c", {"b": "x", "rare": "x"})
    assert made.table["c"].to_list() == ["a", "x", "x"]
    assert any("1 level of the mapping does not occur in 'c'" in note for note in made.notes)
    gone = P.merge_levels(table, "c", {"rare": "x", "rarer": "x"})
    assert gone.cells == 0 and gone.table.equals(table) and "do not occur" in gone.notes[0]


def test_only_merged_numbers_count_as_changed() -> None:
    table = pl.DataFrame({"c": [1.0] * 9 + [2.5] * 8 + [3.0] * 2 + [None]})
    assert P.merge_levels(table, "c", k=5).cells == 10, "3 is rare, and 2.5 joins it"
    made = P.merge_levels(table, "c", {3.0: "x"})
    assert made.cells == 2 and made.table["c"].to_list() == ["1"] * 9 + ["2.5"] * 8 + ["x"] * 2 + [None]
    assert P.merge_levels(pl.DataFrame({"c": [True, False]}), "c", {True: "x"}).cells == 1


def test_labels_can_be_exchanged_and_numbers_are_labels() -> None:
    table = pl.DataFrame({"c": [1.0, 2.0, None]})
    assert P.merge_levels(table, "c", {"1": "2", "2": "1"}).table["c"].to_list() == ["2", "1", None]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mapping": {"a": "b"}}, "into_existing"),
        ({"k": 2, "other": "b"}, "into_existing"),
        ({"mapping": {"a": "x"}, "missing": "b"}, "into_existing"),
        ({}, "give one of them"),
        ({"k": 99}, "between 2"),
    ],
)
def test_wrong_levels_are_answered(given: dict[str, Any], said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        P.merge_levels(pl.DataFrame({"c": ["a", "b", "b"]}), "c", **given)


# -- dates -------------------------------------------------------------------------------------------------------------


def test_dates_go_to_the_beginning_of_their_span() -> None:
    day = dt.date(2024, 8, 15)
    starts = {"year": (2024, 1, 1), "quarter": (2024, 7, 1), "month": (2024, 8, 1), "week": (2024, 8, 12)}
    for to, start in starts.items():
        for table in (pl.DataFrame({"d": [day, None]}), pl.DataFrame({"d": ["2024-08-15", None]})):
            made = P.coarsen_dates(table, "d", to)
            wanted = dt.date(*start)
            assert made.table["d"].to_list() == [wanted if table["d"].dtype == pl.Date else wanted.isoformat(), None]
            assert P.coarsen_dates(made, "d", to).cells == 0 and not made.notes
    time = P.coarsen_dates(pd.DataFrame({"d": pd.to_datetime(["2024-08-15 13:30"])}), "d", "month").table["d"]
    assert time[0] == pd.Timestamp(2024, 8, 1)
    text = pl.DataFrame({"d": ["2024-08-15T13:30", "2024-09-01 00:00:10"]})  # whatever a Pair reads as times
    assert P.coarsen_dates(text, "d", "month").table["d"].to_list() == ["2024-08-01", "2024-09-01"]


@pytest.mark.parametrize("given", [{}, {"to": "age", "on": "2024-03-01"}])
def test_a_column_of_dates_that_nobody_has_stays(given: dict[str, Any]) -> None:
    table = pl.DataFrame({"d": pl.Series([None, None], dtype=pl.Null), "e": [1, 2]})
    made = P.coarsen_dates(table, "d", **given)
    assert made.cells == 0 and made.table.equals(table) and made.table.schema == table.schema


def test_ages_are_completed_years() -> None:
    born = pl.DataFrame({"b": [dt.date(2000, 2, 29), dt.date(2000, 3, 1), dt.date(2000, 3, 2), None]})
    assert P.coarsen_dates(born, "b", "age", on="2024-03-01").table["b"].to_list() == [24, 24, 23, None]


@pytest.mark.parametrize(
    ("values", "given", "said"),
    [
        (["2024-01-01", "x"], {}, "not everywhere a date"),
        ([1, 2], {}, "holds numbers"),
        ([dt.date(2025, 1, 1)], {"to": "age"}, "on="),
        ([dt.date(2025, 1, 1)], {"on": "2024-01-01"}, "on="),
        ([dt.date(2025, 1, 1)], {"to": "age", "on": "2024-01-01"}, "after on="),
        ([dt.date(2025, 1, 1)], {"to": "age", "on": "tomorrow"}, "2024-12-31"),
    ],
)
def test_wrong_dates_are_answered(values: list[Any], given: dict[str, Any], said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        P.coarsen_dates(pl.DataFrame({"d": values}), "d", **given)


# -- identifiers -------------------------------------------------------------------------------------------------------


def test_identifiers_are_found_and_dropped() -> None:
    table = pl.DataFrame({"nr": range(100, 140), "name": [f"n {i}" for i in range(40)], "sex": ["f", "m"] * 20})
    made = P.drop_identifiers(table)
    assert made.table.columns == ["sex"] and made.columns == {"nr": 40, "name": 40}
    assert P.drop_identifiers(made).cells == 0
    assert P.drop_identifiers(table, "name").table.columns == ["nr", "sex"]
    with pytest.raises(gh.InputError, match="every column"):
        P.drop_identifiers(table, table.columns)


def test_pseudonyms_are_one_to_one_and_do_not_depend_on_order() -> None:
    table = pl.DataFrame({"a": ["x", "y", None, "x"], "b": ["y", "y", "z", "x"]})
    for method in ("random", "sequential"):
        made = held(P.pseudonymise(table, ["a", "b"], method, random_state=0)).frame
        pairs = {(old, new) for old, new in zip(table["a"], made["a"], strict=True)}
        assert len(pairs) == 3 == len({new for _, new in pairs}) and (None, None) in pairs
        turned = held(P.pseudonymise(table.reverse().select("a"), "a", method, random_state=0)).frame
        assert turned["a"].reverse().to_list() == made["a"].to_list()
        assert held(P.pseudonymise(table, "a", method, random_state=1))["a"].to_list() != made["a"].to_list()
    secret = "a secret of enough characters"
    keyed = held(P.pseudonymise(table, ["a", "b"], "keyed", key=secret)).frame
    assert keyed["a"][1] == keyed["b"][0] and keyed["a"][0] == keyed["b"][3], "the same in every column"


def test_a_secret_is_never_written_down(tmp_path: Path) -> None:
    secret = "a secret of enough characters"
    table = pl.DataFrame({"a": ["x", "y"]})
    made = P.pseudonymise(table, "a", "keyed", key=secret)
    assert secret not in json.dumps(made.settings) + made.sentence + repr(made)
    (tmp_path / "secret").write_text(secret + "\n")
    filed = P.pseudonymise(table, "a", "keyed", key_file=str(tmp_path / "secret"))
    assert filed.table.equals(made.table) and "anonymity" in made.notes[0]
    recipe = P.Recipe([P.Step(filed.operation, filed.settings)])
    assert P.apply(table, recipe).table.equals(made.table) and secret not in recipe.to_toml()
    kept = P.Recipe([P.Step(made.operation, made.settings)])
    with pytest.raises(gh.InputError, match="needs a secret"):
        P.apply(table, kept)
    again = P.apply(table, P.Recipe.from_toml(kept.to_toml()), key=secret)
    assert again.table.equals(made.table)
    assert secret not in json.dumps([again.settings, again.details]) + repr((again, kept)) + kept.to_toml()
    with pytest.raises(gh.InputError, match="no step of the recipe needs one"):
        P.apply(table, recipe, key=secret)


def test_a_step_refuses_a_secret_and_does_not_repeat_it() -> None:
    secret = "a secret of enough characters"
    toml = f"[[step]]\noperation = 'pseudonymise'\ncolumns = ['a']\nmethod = 'keyed'\nkey = '{secret}'"
    for attempt in (lambda: P.Step("pseudonymise", {"columns": "a", "method": "keyed", "key": secret}),
                    lambda: P.Recipe.from_toml(toml)):  # fmt: skip
        with pytest.raises(gh.InputError, match=r"key=.*key_file") as said:
            attempt()
        assert secret not in str(said.value)


@pytest.mark.parametrize("method", ["random", "sequential"])
def test_pseudonyms_without_a_seed_cannot_be_dealt_out_again(method: Any) -> None:
    table = pl.DataFrame({"a": [f"person {i}" for i in range(40)]})
    made = P.pseudonymise(table, "a", method)
    assert "no seed" in made.notes[0] and made.settings["random_state"] is None
    seeded = P.pseudonymise(table, "a", method, random_state=0)
    assert "keep it like a secret" in seeded.notes[0]
    for given in ({}, {"random_state": None}):
        step = P.Step("pseudonymise", {"columns": ["a"], "method": method, **given})
        recipe = P.Recipe.from_toml(P.Recipe([step]).to_toml())
        replayed = [P.apply(table, recipe, random_state=seed).table["a"].to_list() for seed in (None, 0, 0)]
        known = [made.table["a"].to_list(), seeded.table["a"].to_list()]
        assert len({tuple(codes) for codes in [*replayed, *known]}) == 5
    own = P.Recipe([P.Step("pseudonymise", {"columns": ["a"], "method": method, "random_state": 0})])
    assert P.apply(table, own).table.equals(seeded.table)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "keyed"}, "needs a secret"),
        ({"method": "keyed", "key": "short"}, "fewer than 16"),
        ({"key": "a secret of enough characters"}, "not used"),
        ({"method": "keyed", "key_file": "nowhere"}, "not there"),
        ({"method": "hash"}, "'random' or 'sequential' or 'keyed'"),
    ],
)
def test_wrong_pseudonyms_are_answered(given: dict[str, Any], said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        P.pseudonymise(pl.DataFrame({"a": ["x"]}), "a", **given)


def test_levels_of_a_column_called_count_are_counted() -> None:
    table = pl.DataFrame({"count": ["a"] * 4 + ["b"]})
    assert gh.protection.merge_levels(table, "count", k=2).table["count"].n_unique() == 1
