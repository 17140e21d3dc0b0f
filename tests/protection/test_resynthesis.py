"""A table made anew by a model, or mixed with independent draws."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh


@pytest.fixture(scope="module")
def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    return gh.data.simulate_health(300, random_state=1), gh.data.simulate_health(250, random_state=2)


def test_resynthesis_keeps_columns_and_records(tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    original, released = tables
    table = released.select("income", "gender", "age")
    made = gh.protection.resynthesise(table, original=original, minbucket=30, random_state=5)
    assert made.table.columns == table.columns and made.table.height == table.height and made.voids_dp
    assert made.table.schema == table.schema
    again = gh.protection.resynthesise(table, original=original, minbucket=30, random_state=5, n_jobs=1)
    assert made.table.equals(again.table)


def test_smoothed_numbers_are_nobodys(tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    original, released = tables
    plain = gh.protection.resynthesise(released, original=original, smoothing=None).table
    smooth = gh.protection.resynthesise(released, original=original).table
    own = original["income"].to_list()
    assert plain["income"].is_in(own).all() and smooth["income"].is_in(own).mean() < 0.9


def test_names_stay_and_households_where_asked(tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    """A model of names hands out the names of real people."""

    def named(table: pl.DataFrame, seed: int) -> pl.DataFrame:
        letters = np.random.default_rng(seed).choice(list("abcdefghij"), (table.height, 8))
        house = pl.Series(np.arange(table.height) // 3 + 1000 * seed)
        return table.with_columns(name=pl.Series(["".join(one) for one in letters]), house=house)

    original, released = (named(table, seed) for seed, table in enumerate(tables))
    made = gh.protection.resynthesise(released, original=original, keep=["house"])
    assert made.table.select("name", "house").equals(released.select("name", "house"))
    assert made.columns["age"] and any("name and house" in note for note in made.notes)
    only = original.select("name", "house")
    with pytest.raises(gh.InputError, match="nothing to make anew"):
        gh.protection.resynthesise(released.select("name", "house"), original=only, keep=["house"])


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("us"), pl.Datetime("ms"), pl.String])
def test_dates_are_moved_off_those_of_real_people(tables: tuple[pl.DataFrame, pl.DataFrame], kind: pl.DataType) -> None:
    def dated(table: pl.DataFrame, seed: int) -> pl.DataFrame:
        days = np.random.default_rng(seed).integers(-9000, 9000, table.height)
        return table.select("age").with_columns(born=pl.Series(days, dtype=pl.Int32).cast(pl.Date).cast(kind))

    original, released = (dated(table, seed) for seed, table in enumerate(tables))
    made = gh.protection.resynthesise(released, original=original)
    own = made.table["born"].is_in(original["born"].implode())
    assert made.table.schema == released.schema and own.mean() < 0.3
    midnights = made.table.with_columns(pl.col("born").str.to_datetime("%Y-%m-%d") if kind == pl.String else "born")
    assert midnights["born"].cast(pl.Date).cast(pl.Datetime("us")).equals(midnights["born"].cast(pl.Datetime("us")))


def test_a_model_touches_all_records_alike_and_tells_of_no_copies(tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    original, released = tables
    notes = " ".join(gh.protection.resynthesise(released, original=original).notes)
    assert "looked at the original" in notes and "copied somebody" not in notes


def test_uniques_are_left_out_where_asked(tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    original, released = tables
    columns = ["gender", "age"]
    made = gh.protection.resynthesise(
        released.select(columns), original=original, smoothing=None, minbucket=1, remove_uniques=True
    )
    found = gh.synthesis.replicated_uniques(made.table, original, keys=columns)
    assert made.table.height < released.height and found.replicated_uniques == 0


def test_mixing_by_hand() -> None:
    table = pl.DataFrame({"a": list(range(100)), "b": ["x"] * 100})
    made = gh.protection.mix_independent(table, "a", share=0.3, random_state=1)
    assert made.table["b"].equals(table["b"]) and 0 < made.cells <= 30 and not made.voids_dp
    assert set(made.table["a"]) <= set(table["a"])
    with_more = gh.protection.mix_independent(table.select("b", "a"), ["b", "a"], share=0.3, random_state=1)
    assert with_more.table["a"].equals(made.table["a"]), "what is drawn beside it changes nothing"


def test_whole_records_are_the_same_in_every_column() -> None:
    table = pl.DataFrame({"a": list(range(200)), "b": list(range(200))})
    made = gh.protection.mix_independent(table, share=0.2, whole=True)
    assert made.records <= 40
    cells = gh.protection.mix_independent(table, share=0.2)
    assert cells.records > 50


def test_relations_shrink_as_stated() -> None:
    x = np.random.default_rng(0).normal(size=20_000)
    table = pl.DataFrame({"a": x, "b": x})
    for whole, kept in ((False, 0.8**2), (True, 0.8)):
        made = gh.protection.mix_independent(table, share=0.2, whole=whole).table
        found = np.corrcoef(made["a"], made["b"])[0, 1]
        assert abs(found - kept) < 4 / np.sqrt(20_000)


def test_bad_input_is_refused(tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    original, released = tables
    for share in (0.0, 1.5):
        with pytest.raises(gh.InputError, match="share must lie"):
            gh.protection.mix_independent(released, share=share)
    with pytest.raises(gh.InputError, match="original has no column 'age'"):
        gh.protection.resynthesise(released, original=original.drop("age"))
    with pytest.raises(gh.InputError, match="minbucket"):
        gh.protection.resynthesise(released, original=original, minbucket=0)
    with pytest.raises(gh.InputError, match="choose one of"):
        gh.protection.resynthesise_dp(released, original=original, rho=1.0, domain={}, method="magic")
    with pytest.raises(gh.InputError, match="domain says nothing about column 'gender'"):
        gh.protection.resynthesise_dp(released, original=original, rho=1.0, domain={"age": [1, 2]})


def test_a_private_model_has_a_claim_of_its_own(tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    pytest.importorskip("opendp", reason="opendp is not installed (extra: dp)")
    original, released = tables
    domain = {"gender": ["female", "male"], "education": ["low", "medium", "high"]}
    made = gh.protection.resynthesise_dp(
        released.select("gender", "education"), original=original, rho=1.0, domain=domain
    )
    assert not made.voids_dp and made.table.height == 250 and "rho = 1" in made.notes[0]
