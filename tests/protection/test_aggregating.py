"""Microaggregation: the reference's groups and values, sizes, strata, weights, gaps, blocks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.engines.workers import threads
from glasshouse.protection import mdav
from glasshouse.protection.held import held
from glasshouse.protection.ranking import blocks, optimal_blocks
from tests.conftest import converter
from tests.protection.conftest import golden_case

P: Any = gh.protection
MDAV = ("casc12_a3", "casc12_a5", "casc4_a10", "casc4_a3", "casc4_a5", "casc_na_a3", "casc_na_a5", "francdat_a3",
        "francdat_a5", "na4_a3", "num200_a2", "num200_a3", "num200_a5", "num200_a7", "testdata_a3", "testdata_a5",
        "testdata_strata_a3")  # fmt: skip
ALONE = ("mafast_casc4_a3", "mafast_testdata_by_urbrur_a7", "onedims_casc4_a3", "onedims_casc4_a5",
         "onedims_num200_a3", "onedims_num200_a5", "univariate_num200_a3", "univariate_num200_a5",
         "univariate_testdata_income_a3", "univariate_testdata_income_a5")  # fmt: skip
IN_FILE_ORDER = ("simple_num200_a3", "simple_num200_a5")


def numbers(table: Any, columns: list[str]) -> np.ndarray:
    return np.column_stack([held(table).numbers(name) for name in columns])


def wanted(expected: dict[str, Any], columns: list[str]) -> np.ndarray:
    values = expected.get("values_corrected") or expected["values"]
    return np.array([[np.nan if v is None else v for v in values[name]] for name in columns], np.float64).T


def same_groups(one: np.ndarray, other: np.ndarray) -> bool:
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


# -- golden ------------------------------------------------------------------------------------------------------------


def test_every_case_of_the_reference_is_here(golden_protection: Path) -> None:
    found = {file.stem for file in golden_protection.glob("ma_*.json")}
    assert found == {*(f"ma_mdav_{name}" for name in MDAV), *(f"ma_{name}" for name in (*ALONE, *IN_FILE_ORDER))}


@pytest.mark.parametrize("name", MDAV)
def test_mdav_is_that_of_the_reference(name: str, golden_protection: Path) -> None:
    args, expected, table = golden_case(golden_protection, f"ma_mdav_{name}")
    columns, k = args["variables"], args["aggr"]
    made = P.microaggregate(table, columns, k, by=args["strata"])
    np.testing.assert_allclose(numbers(made, columns), wanted(expected, columns), rtol=1e-9)
    assert made.details["sizes"] == expected["group_size_counts"]
    if not expected.get("rows_wrong_in_reference"):
        assert made.details["SSE"] == pytest.approx(expected["SSE_standardised"], rel=1e-9)
    assert made.details["SST"] == pytest.approx(expected["SST_standardised"], rel=1e-9)
    if args["strata"] is None:
        values = numbers(table, columns)
        assert same_groups(mdav.mdav_groups(values, k, mdav.scales_of(values)), np.array(expected["group"]))


@pytest.mark.parametrize("name", ALONE)
def test_each_column_by_itself_in_blocks_is_that_of_the_reference_and_the_best_grouping_loses_less(
    name: str, golden_protection: Path
) -> None:
    args, expected, table = golden_case(golden_protection, f"ma_{name}")
    columns, k = args["variables"], args["aggr"]
    made = P.microaggregate(table, columns, k, "blocks", by=args["strata"])
    np.testing.assert_allclose(numbers(made, columns), wanted(expected, columns), rtol=1e-9)
    assert made.details["SSE"] == pytest.approx(expected["SSE_standardised"], rel=1e-9)
    best = P.microaggregate(table, columns, k, "single", by=args["strata"])
    assert best.details["SSE"] < expected["SSE_standardised"]


@pytest.mark.parametrize("name", IN_FILE_ORDER)
def test_blocks_in_the_order_of_the_file_are_those_of_the_reference_and_lose_much_more(
    name: str, golden_protection: Path
) -> None:
    args, expected, table = golden_case(golden_protection, f"ma_{name}")
    values = numbers(table, args["variables"])
    group = blocks(len(values), args["aggr"])
    assert same_groups(group, np.array(expected["group"]))
    released = mdav.group_means(values, group)
    np.testing.assert_allclose(released, wanted(expected, args["variables"]), rtol=1e-9)
    sse = mdav.loss_of(values, released, mdav.scales_of(values)).sse
    assert sse == pytest.approx(expected["SSE_standardised"], rel=1e-9)
    assert sse > 5 * P.microaggregate(table, args["variables"], args["aggr"]).details["SSE"]


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_a_hand_example_with_a_missing_value() -> None:
    made = P.microaggregate(pl.DataFrame({"a": [1, 2, None, 10], "b": [10.0, 20, 30, 40]}), ["a", "b"], k=3)
    assert made.table["a"].to_list() == [13 / 3, 13 / 3, None, 13 / 3] and made.table["b"].to_list() == [25.0] * 4
    assert made.details["sizes"] == {"4": 1} and made.details["loss"] == 1 and made.cells == 7
    assert "Column 'a' held whole numbers and now holds decimals." in made.notes


def test_ties_go_to_the_first_row() -> None:
    """The corners of a square are all equally far from the centroid: the first row leads, its first neighbour joins."""
    square = pl.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]})
    made = P.microaggregate(square, ["x", "y"], k=2).table
    assert made["x"].to_list() == [0, 0, 1, 1] and made["y"].to_list() == [0.5] * 4
    made = P.microaggregate(square[[0, 2, 1, 3]], ["x", "y"], k=2).table
    assert made["x"].to_list() == [0.5] * 4 and made["y"].to_list() == [0, 0, 1, 1]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_records_that_are_all_alike_are_grouped_all_the_same(k: int) -> None:
    for n in range(k, 4 * k + 1):
        group = mdav.mdav_groups(np.ones((n, 2)), k, mdav.scales_of(np.ones((n, 2))))
        sizes = np.bincount(group)
        assert sizes.sum() == n and sizes.min() >= k and sizes.max() <= 2 * k - 1


def test_large_numbers_keep_their_small_differences() -> None:
    """One pass over squares would find no variance in 1e9 + 0.1 ... 0.9, and no groups."""
    values = 1e9 + np.array([0.1, 0.9, 0.11, 0.89, 0.12, 0.91])
    for method in ("mdav", "single"):
        made = P.microaggregate(pl.DataFrame({"x": values}), "x", k=3, method=method)
        assert made.details["loss"] < 0.01
        np.testing.assert_allclose(made.table["x"].to_numpy()[::2] - 1e9, 0.11, atol=1e-6)


def least_loss(ascending: np.ndarray, k: int) -> float:
    """By trying every cut into runs of at least k."""
    n = len(ascending)
    best = np.inf
    for count in range(n // k):
        for cuts in itertools.combinations(range(1, n), count):
            edges = [0, *cuts, n]
            runs = [ascending[a:b] for a, b in itertools.pairwise(edges)]
            if min(map(len, runs)) >= k:
                best = min(best, sum(float(((run - run.mean()) ** 2).sum()) for run in runs))
    return best


@pytest.mark.parametrize("k", [2, 3])
def test_the_best_runs_are_those_of_an_exhaustive_search(k: int) -> None:
    rng = np.random.default_rng(k)
    for n in (k, 2 * k - 1, 2 * k, 9, 10):
        ascending = np.sort(rng.exponential(size=n))
        run = optimal_blocks(ascending, k)
        sizes = np.bincount(run)
        assert (sizes.min() >= k and sizes.max() <= 2 * k - 1) and (np.diff(run) >= 0).all()
        loss = float(((ascending - mdav.group_means(ascending[:, None], run)[:, 0]) ** 2).sum())
        assert loss == pytest.approx(least_loss(ascending, k), rel=1e-9)


# -- properties --------------------------------------------------------------------------------------------------------


def people(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"a": rng.normal(size=n), "b": rng.exponential(size=n), "c": rng.integers(0, 50, n)})
    return frame.with_columns(
        region=pl.Series(rng.choice(["n", "s"], n)), weight=pl.Series(rng.uniform(1, 9, n)), name=pl.Series(range(n))
    )


@pytest.mark.parametrize(("n", "k"), [(7, 2), (30, 3), (101, 4), (200, 7)])
def test_groups_hold_k_records_and_the_last_up_to_twice_as_many(n: int, k: int) -> None:
    table = people(n, seed=n)
    made = P.microaggregate(table, ["a", "b", "c"], k)
    sizes = {int(size): count for size, count in made.details["sizes"].items()}
    assert sum(size * count for size, count in sizes.items()) == n
    assert min(sizes) >= k and max(sizes) <= 2 * k - 1 and sum(c for s, c in sizes.items() if s > k) <= 1
    shared = made.table.group_by(["a", "b", "c"]).len()["len"]
    assert shared.min() >= k, "every record is one of k over all columns"
    means = table.select("a", "b", "c").mean().row(0)
    assert made.table.select("a", "b", "c").mean().row(0) == pytest.approx(means, rel=1e-12)


def test_means_of_weights_keep_weighted_totals() -> None:
    table = people(150)
    for method in ("mdav", "single", "blocks"):
        made = P.microaggregate(table, ["a", "b"], 5, method, weights="weight").table
        for name in ("a", "b"):
            before, after = ((one[name] * table["weight"]).sum() for one in (table, made))
            assert after == pytest.approx(before, rel=1e-12)
    none = table.with_columns(weight=pl.lit(0.0))
    plain = P.microaggregate(table, ["a"], 5).table
    np.testing.assert_allclose(P.microaggregate(none, ["a"], 5, weights="weight").table["a"], plain["a"])


def test_strata_are_worked_on_apart() -> None:
    table = people(160)
    made = P.microaggregate(table, ["a", "b"], 4, by="region").table
    for region in ("n", "s"):
        own = P.microaggregate(table.filter(pl.col("region") == region), ["a", "b"], 4).table
        assert made.filter(pl.col("region") == region)["a"].to_list() == own["a"].to_list()


def test_missing_cells_stay_missing_and_thin_groups_are_told() -> None:
    table = people(60).with_columns(a=pl.when(pl.int_range(60) % 2 == 0).then("a"))
    made = P.microaggregate(table, ["a", "b"], 5)
    assert made.table["a"].is_null().to_list() == table["a"].is_null().to_list()
    assert made.details["unprotected"] == {}, "missing and missing are near each other"
    thin = P.microaggregate(pl.DataFrame({"a": [1, None, None, 10], "b": [1, 2, 3, 4]}), ["a", "b"], 3)
    assert thin.table["a"].to_list() == [5.5, None, None, 5.5] and thin.details["unprotected"] == {"a": 1}
    assert "In 1 group fewer than 3 values of 'a' are observed: their mean does not hide them." in thin.notes
    alone = P.microaggregate(table, ["a"], 5, "single")
    assert alone.details["unprotected"] == {} and alone.table["a"].value_counts().drop_nulls()["count"].min() >= 5


@pytest.mark.parametrize("library", ["polars", "lazy", "pandas", "pyarrow"])
def test_the_answer_depends_on_neither_library_nor_chunks_nor_other_columns_nor_threads(
    library: str, request: pytest.FixtureRequest
) -> None:
    table = people(90)
    convert: Callable[[pl.DataFrame], Any] = converter(library, request)
    plain = numbers(P.microaggregate(table, ["a", "b"], 4), ["a", "b"])
    given = convert(table)
    assert (numbers(P.microaggregate(given, ["a", "b"], 4), ["a", "b"]) == plain).all()
    assert (numbers(given, ["a", "b"]) == numbers(table, ["a", "b"])).all(), "the caller's own table is as it was"
    chunked = pl.concat([table[:31], table[31:]], rechunk=False)
    assert (numbers(P.microaggregate(chunked, ["a", "b"], 4), ["a", "b"]) == plain).all()
    assert (numbers(P.microaggregate(table.select("b", "a"), ["a", "b"], 4), ["a", "b"]) == plain).all()
    for n_jobs in (1, -1):
        with threads(n_jobs):
            made = P.microaggregate(table, ["a", "b"], 4, by="region")
        assert made.table.equals(P.microaggregate(table, ["a", "b"], 4, by="region").table)


def test_without_ties_the_order_of_rows_changes_nothing() -> None:
    table = people(120)
    order = np.random.default_rng(1).permutation(120)
    for method in ("mdav", "single"):
        made = P.microaggregate(table, ["a", "b"], 4, method)
        moved = P.microaggregate(table[order], ["a", "b"], 4, method)
        np.testing.assert_allclose(numbers(moved, ["a", "b"]), numbers(made, ["a", "b"])[order], rtol=1e-12)


def test_whole_numbers_stay_whole_on_request() -> None:
    table = people(60)
    made = P.microaggregate(table, ["c"], 7, round=True)
    assert made.table["c"].dtype == pl.Int64
    before, after = made.details["totals"]["c"]
    assert before == table["c"].sum() and after == made.table["c"].sum()
    assert before == after or any("changed the total of 'c' by" in note for note in made.notes)


def test_large_tables_are_cut_into_blocks_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(3000)
    whole = P.microaggregate(table, ["a", "b"], 3)
    values = numbers(table, ["a", "b"])
    cut = mdav.blocks_of(values, 3, mdav.scales_of(values), 400)
    assert sorted(np.concatenate(cut)) == list(range(3000)) and {len(rows) <= 400 for rows in cut} == {True}
    assert sum(len(rows) % 3 > 0 for rows in cut) <= 1
    monkeypatch.setattr(mdav, "WHOLE", 1000)
    made = P.microaggregate(table, ["a", "b"], 3)
    assert made.details["blocks"] == 1 and whole.details["blocks"] == 0  # of at most 5,000
    assert any("in 1 blocks of neighbours" in note or "in 1 block" in note for note in made.notes)
    released = np.empty_like(values)
    for rows in cut:
        released[rows] = mdav.group_means(values[rows], mdav.mdav_groups(values[rows], 3, mdav.scales_of(values)))
    assert mdav.loss_of(values, released, mdav.scales_of(values)).share < 1.5 * whole.details["loss"]


def test_blocks_hold_records_with_missing_values_too() -> None:
    values = np.random.default_rng(0).normal(size=(500, 2))
    values[::3, 0] = np.nan
    values[:, 1] = np.nan
    cut = mdav.blocks_of(values, 4, mdav.scales_of(values), 50)
    assert sorted(np.concatenate(cut)) == list(range(500)) and max(map(len, cut)) <= 50


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": "a", "k": 1}, "k=1 is a group of one record"),
        ({"columns": "a", "k": 61}, "k=61 is more than the 60 records"),
        ({"columns": "region"}, "column 'region' holds categories|holds"),
        ({"columns": "aa"}, "'aa', which the table does not have"),
        ({"columns": "a", "by": "name"}, "by=name: 60 of 60 strata hold fewer than k=3 records, the smallest 1"),
        ({"columns": "a", "by": "a"}, "by and columns both name column 'a'"),
        ({"columns": "a", "weights": "a"}, "weights and columns both name column 'a'"),
        ({"columns": "b", "weights": "a"}, "weights column 'a' holds missing values or numbers below 0"),
        ({"columns": "a", "method": "pca"}, "argument 'method' of microaggregate takes 'mdav' or 'single' or 'blocks'"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(gh.InputError, match=message):
        P.microaggregate(people(60), **arguments)


def test_infinite_numbers_are_refused() -> None:
    with pytest.raises(gh.InputError, match="column 'x' holds infinite numbers"):
        P.microaggregate(pl.DataFrame({"x": [1.0, 2.0, np.inf]}), "x")
