"""PRAM: transition matrices, expected and exact counts, strata; matrices and averages of the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.protection.held import held
from glasshouse.protection.transition import drawn, invariant, normalised, rounded_table, two_stage
from tests.conftest import converter
from tests.protection.conftest import golden_case

P: Any = gh.protection
INVARIANT = ("relat_pd0.9_a0.7", "roof_default", "walls_pd0.5_a1")
GIVEN = ("roof_0.9", "roof_sparse")


def people(n: int = 600, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "job": rng.choice(["baker", "clerk", "farmer", "judge"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "region": rng.choice(["north", "south"], n, p=[0.3, 0.7]),
            "code": rng.choice([2, 4, 9], n, p=[0.2, 0.7, 0.1]),
        }
    )


def counts_of(table: Any, column: str) -> dict[Any, int]:
    return dict(held(table)[column].value_counts().sort(column).rows())


# -- golden ------------------------------------------------------------------------------------------------------------


def test_every_case_of_the_reference_is_here(golden_protection: Path) -> None:
    found = {file.stem for file in golden_protection.glob("pram_*.json")}
    assert found == {*(f"pram_inv_{name}" for name in INVARIANT), *(f"pram_matrix_{name}" for name in GIVEN)}


@pytest.mark.parametrize("name", INVARIANT)
def test_the_two_stages_are_those_of_the_reference_and_keep_expected_counts(name: str, golden_protection: Path) -> None:
    args, expected, table = golden_case(golden_protection, f"pram_inv_{name}")
    counts = np.array(expected["counts"])
    assert counts_of(table, args["variables"][0]) == {
        int(a): c for a, c in zip(expected["levels"], counts, strict=True)
    }
    matrix = two_stage(counts, np.array(expected["pds_drawn"]), args["alpha"])
    np.testing.assert_allclose(matrix, expected["transition_matrix"], atol=1e-12)
    np.testing.assert_allclose(counts @ matrix, counts, rtol=1e-12)
    codes = np.repeat(np.arange(len(counts)), counts)
    rng = np.random.default_rng(0)
    after = np.array([np.bincount(drawn(codes, matrix, rng), minlength=len(counts)) for _ in range(100)])
    assert (np.abs(after.mean(axis=0) - counts) < 4 * after.std(axis=0, ddof=1) / 10).all()
    # the reference's own averages, over matrices drawn anew each time
    assert (np.abs(np.array(expected["mean_counts_after"]) - counts) < 4 * np.array(expected["se_mean_counts"])).all()


@pytest.mark.parametrize("name", INVARIANT)
def test_the_least_diagonal_is_that_of_the_matrix_which_is_used(name: str, golden_protection: Path) -> None:
    """The reference's ``pd`` bounds the first stage: it promises 0.8 and keeps 0.52 of a level."""
    args, expected, table = golden_case(golden_protection, f"pram_inv_{name}")
    assert expected["min_diagonal_over_reps"] < args["pd"]
    made = P.pram(table, args["variables"], keep=args["pd"])
    matrix = made.details["matrix"][args["variables"][0]]
    assert list(matrix) == expected["levels"]
    assert min(matrix[level][level] for level in matrix) == pytest.approx(args["pd"], abs=1e-12)
    assert made.details["least_kept"][args["variables"][0]] == pytest.approx(args["pd"], abs=1e-12)


@pytest.mark.parametrize("name", GIVEN)
def test_a_given_matrix_is_used_as_it_is(name: str, golden_protection: Path) -> None:
    args, expected, table = golden_case(golden_protection, f"pram_matrix_{name}")
    levels, column = args["levels"], args["variables"][0]
    chances = np.array(args["matrix"])
    given = {a: {b: chances[i, j] for j, b in enumerate(levels)} for i, a in enumerate(levels)}
    backwards = {a: dict(reversed(row.items())) for a, row in reversed(given.items())}
    made = P.pram(table, column, matrix=given)
    assert made.table.equals(P.pram(table, column, matrix=backwards).table), "by name, not by place"
    assert made.table[column].dtype == table[column].dtype
    assert made.details["matrix"][column] == given
    counts = np.array(expected["counts"])
    np.testing.assert_allclose(counts @ chances, expected["expected_counts"], rtol=1e-12)
    codes = np.searchsorted(np.array(levels, int), table[column].to_numpy())
    rng = np.random.default_rng(0)
    moves = np.zeros_like(chances)
    for _ in range(100):
        np.add.at(moves, (codes, drawn(codes, chances, rng)), 1)
    error = np.sqrt(chances * (1 - chances) / (100 * counts[:, None]))
    assert (np.abs(moves / (100 * counts[:, None]) - chances) <= 4 * error).all()
    wanted, off = np.array(expected["mean_counts_after"]), 4 * np.array(expected["se_mean_counts"])
    assert (np.abs(moves.sum(axis=0) / 100 - wanted) <= off * np.sqrt(3)).all(), "200 repetitions there, 100 here"


# -- matrices ----------------------------------------------------------------------------------------------------------


def test_a_hand_example_of_the_invariant_matrix() -> None:
    """Two levels alike, d = 0.8: R = P^2 with 0.68 on the diagonal, so alpha is 0.2 / 0.32."""
    matrix = invariant(np.array([50, 50]), 0.8)
    np.testing.assert_allclose(two_stage(np.array([50, 50]), np.array([0.8, 0.8]), 1.0), [[0.68, 0.32], [0.32, 0.68]])
    np.testing.assert_allclose(matrix, [[0.8, 0.2], [0.2, 0.8]])


@pytest.mark.parametrize("keep", [0.0, 0.2, 0.5, 0.9])
def test_invariant_matrices_keep_expected_counts_and_what_they_promise(keep: float) -> None:
    rng = np.random.default_rng(0)
    for levels in (2, 3, 8):
        counts = rng.integers(1, 500, levels)
        matrix = invariant(counts, keep)
        np.testing.assert_allclose(counts @ matrix, counts, rtol=1e-12)
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-12)
        assert (matrix >= 0).all() and matrix.diagonal().min() >= keep - 1e-12
        assert keep == 0 or matrix.diagonal().min() < max(keep, counts.min() / counts.sum()) + 1e-9
    used = invariant(np.array([10, 0, 30]), keep)
    assert used[1].tolist() == [0, 1, 0] and used[:, 1].tolist() == [0, 1, 0], "a level that does not occur"
    assert invariant(np.array([10, 0]), keep).tolist() == [[1, 0], [0, 1]]


def test_rows_sum_to_one_but_for_rounding() -> None:
    assert normalised(np.array([[0.5, 0.5 + 1e-10]])).sum() == 1
    for wrong in ([[0.5, 0.5 + 1e-8]], [[1.5, -0.5]], [[np.nan, 1]]):
        with pytest.raises(gh.InputError, match="matrix"):
            normalised(np.array(wrong))


def test_controlled_rounding_keeps_sums_and_expectations() -> None:
    rng = np.random.default_rng(0)
    counts = np.array([7, 40, 3, 11])
    expected = counts[:, None] * invariant(counts, 0.6)
    made = np.array([rounded_table(expected, rng) for _ in range(2000)])
    assert (made.sum(axis=2) == counts).all() and (made.sum(axis=1) == counts).all()
    assert (np.abs(made - expected) < 1).all()
    error = np.sqrt((expected % 1) * (1 - expected % 1) / 2000)
    assert (np.abs(made.mean(axis=0) - expected) < 4.5 * error + 1e-9).all()
    uneven = np.array([[0.5, 1.5], [0.25, 0.75]])
    made = np.array([rounded_table(uneven, rng) for _ in range(500)])
    assert (made.sum(axis=2) == [2, 1]).all() and set(made.sum(axis=1)[:, 0]) == {0, 1}
    assert made[:, 0, 0].mean() == pytest.approx(0.5, abs=0.1)


# -- properties --------------------------------------------------------------------------------------------------------


def test_expected_counts_stay_over_seeds_and_within_strata() -> None:
    table = people()
    for by in (None, "region"):
        groups = [table] if by is None else [table.filter(pl.col("region") == r) for r in ("north", "south")]
        made = [P.pram(table, "job", keep=0.5, by=by, random_state=seed).table for seed in range(40)]
        for group in groups:
            rows = [table["region"] == group["region"][0]] if by else [pl.Series([True] * table.height)]
            after = [counts_of(one.filter(rows[0]), "job") for one in made]
            for job, count in counts_of(group, "job").items():
                drawn_counts = [one.get(job, 0) for one in after]
                assert abs(np.mean(drawn_counts) - count) < 4 * max(np.std(drawn_counts, ddof=1), 0.5) / np.sqrt(40)


def test_exact_counts_are_the_counts_there_were() -> None:
    table = people()
    made = P.pram(table, ["job", "code"], keep=0.5, by="region", exact=True)
    for region in ("north", "south"):
        for column in ("job", "code"):
            before, after = (counts_of(t.filter(pl.col("region") == region), column) for t in (table, made.table))
            assert before == after
    assert made.cells > 50 and made.table["region"].equals(table["region"])
    given = {"baker": {"clerk": 0.25, "baker": 0.75}, **{c: {c: 1.0} for c in ("clerk", "farmer", "judge")}}
    before, after = counts_of(table, "job"), counts_of(P.pram(table, "job", given, exact=True), "job")
    assert abs(after["baker"] - 0.75 * before["baker"]) < 1 and after["farmer"] == before["farmer"]


def test_every_stratum_returns_its_matrix() -> None:
    table = people().with_columns(region=pl.when(pl.int_range(600) > 50).then("region"))
    parts = P.pram(table, "job", by=["region"]).details["matrix"]["job"]
    assert [part["stratum"] for part in parts] == [{"region": "(missing)"}, {"region": "north"}, {"region": "south"}]
    for part, region in zip(parts, (None, "north", "south"), strict=True):
        counts = counts_of(table.filter(pl.col("region").eq_missing(region)), "job")
        for to in counts:
            assert sum(counts[a] * part["matrix"][a][to] for a in counts) == pytest.approx(counts[to], rel=1e-9)


def test_an_analyst_can_correct_counts() -> None:
    table = people(4000)
    given = {"baker": {"baker": 0.7, "clerk": 0.3}, "clerk": {"clerk": 0.6, "judge": 0.4},
             "farmer": {"farmer": 0.8, "baker": 0.2}, "judge": {"judge": 0.9, "farmer": 0.1}}  # fmt: skip
    jobs = sorted(given)
    chances = [[given[a].get(b, 0.0) for b in jobs] for a in jobs]
    true = np.array([counts_of(table, "job")[a] for a in jobs])
    misses = []
    for seed in range(60):
        released = counts_of(P.pram(table, "job", given, random_state=seed), "job")
        estimate, covariance = P.corrected_counts([released[a] for a in jobs], chances)
        misses.append((estimate - true) / np.sqrt(np.diag(covariance)))
    assert (np.abs(np.mean(misses, axis=0)) < 4 / np.sqrt(60)).all()
    assert (np.abs(np.std(misses, axis=0) - 1) < 0.4).all()
    with pytest.raises(gh.InputError, match="matrix has no inverse"):
        P.corrected_counts([3, 4], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(gh.InputError, match="a row and a column for every level"):
        P.corrected_counts([3, 4, 5], [[0.5, 0.5], [0.5, 0.5]])


def test_missing_stays_missing_and_nothing_else_changes() -> None:
    table = people().with_columns(job=pl.when(pl.int_range(600) % 4 > 0).then("job"))
    made = P.pram(table, "job", keep=0.3)
    assert made.table["job"].is_null().equals(table["job"].is_null())
    assert made.table.drop("job").equals(table.drop("job")) and made.columns == {"job": made.cells}
    nothing = pl.DataFrame({"x": [None, None], "y": ["a", "a"]})
    made = P.pram(nothing, ["x", "y"])
    assert made.table.equals(nothing) and sum("stays as it was" in note for note in made.notes) == 2


def test_a_column_is_randomised_alike_whatever_is_randomised_beside_it() -> None:
    table = people()
    alone = P.pram(table, "job", keep=0.5).table["job"]
    assert P.pram(table[table.columns[::-1]], ["code", "job"], keep=0.5).table["job"].equals(alone)
    assert not P.pram(table, "job", keep=0.5, random_state=1).table["job"].equals(alone)
    order = np.random.default_rng(1).permutation(600)
    moves = [
        pl.DataFrame({"from": t["job"], "to": P.pram(t, "job", keep=0.5).table["job"]}) for t in (table, table[order])
    ]
    one, other = (m.group_by("from", "to").len().sort("from", "to") for m in moves)
    assert one.equals(other), "as many change from one to the other in any order of rows"


@pytest.mark.parametrize("library", ["lazy", "pandas", "pyarrow"])
def test_every_library_gets_the_same(library: str, request: pytest.FixtureRequest) -> None:
    table = people().with_columns(member=pl.Series([True, None, False] * 200))
    given = converter(library, request)(table)
    made = P.pram(given, ["job", "code", "member"], keep=0.5)
    assert held(made).frame.equals(P.pram(table, ["job", "code", "member"], keep=0.5).table)
    assert held(given).frame.equals(table), "the caller's own table is as it was"


def test_categories_stay_categories() -> None:
    frame = pd.DataFrame(
        {"x": pd.Categorical(["a", "b", None, "a"] * 20, categories=["b", "a", "never"], ordered=True)}
    )
    made = P.pram(frame, "x", keep=0.5)
    assert made.table["x"].dtype == frame["x"].dtype and list(made.details["matrix"]["x"]) == ["a", "b"]
    levels = pl.Enum(["b", "a", "never"])
    made = P.pram(pl.DataFrame({"x": pl.Series(["a", "b"] * 30, dtype=levels)}), "x", keep=0.5)
    assert made.table["x"].dtype == levels and made.cells > 0


def test_a_matrix_may_lead_to_a_level_that_was_not_there() -> None:
    table = people()
    rows = {job: {job: 0.5, "poet": 0.5} for job in ("baker", "clerk", "farmer", "judge")}
    made = P.pram(table, "job", {**rows, "nobody": {"nobody": 1}})
    assert counts_of(made, "job")["poet"] == made.cells and "nobody" not in made.details["matrix"]["job"]
    codes = {2: {2: 0.5, 7: 0.5}, 4: {4: 1}, 9: {9: 1}}
    assert P.pram(table, "code", codes).table["code"].dtype == pl.Int64
    assert 7 in counts_of(P.pram(table, "code", codes), "code")


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keep": 1.0}, "keep=1.0 must be at least 0 and below 1"),
        ({"columns": ["job", "code"], "matrix": {}}, "matrix belongs to one column"),
        ({"matrix": {"baker": {"baker": 1}}}, "what becomes of 3 of the 4 levels of column 'job'"),
        ({"matrix": {j: {j: 0.9} for j in ("baker", "clerk", "farmer", "judge")}}, "4 of 4 rows that do not sum to 1"),
        ({"columns": "code", "matrix": {c: {"x": 1.0} for c in (2, 4, 9)}}, "leads to a level that column 'code'"),
        ({"columns": "name"}, "column 'name' has 1,200 different values, which are no categories"),
        ({"columns": "pay"}, "column 'pay' has 80 different values, which are no categories"),
        ({"columns": "few"}, "column 'few' has 400 different values"),
        ({"columns": "jb"}, "'jb', which the table does not have"),
        ({"by": "job"}, "by and columns both name column 'job'"),
        ({"matrix": {"baker": {"baker": "often"}}}, "argument 'matrix' of pram"),
    ],
)
def test_what_cannot_be_done_is_said_without_a_label_of_the_table(arguments: dict[str, Any], message: str) -> None:
    numbers = pl.int_range(1200)
    table = people(1200).with_columns(name=numbers.cast(pl.String), pay=numbers % 80 + 0.5, few=numbers % 400)
    assert P.pram(table.with_columns(code=numbers % 200), "code").cells, "200 codes that 6 records have each"
    with pytest.raises(gh.InputError, match=message) as said:
        P.pram(table, **{"columns": "job", **arguments})
    assert "judge" not in str(said.value)
