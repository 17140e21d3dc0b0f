"""R's random numbers: what R prints after set.seed, and tables that R 4.2.2 wrote."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from reproduce.r_random import RRandom
from reproduce.riskutility_listings import case_study, running_example


def test_what_r_prints() -> None:
    assert [round(RRandom(42).uniform(), 7)] == [0.914806]
    assert RRandom(42).normal(3).round(7).tolist() == [1.3709584, -0.5646982, 0.3631284]
    assert RRandom(42).sample(range(1, 11), 5) == [1, 5, 10, 8, 2]
    assert RRandom(123).sample(range(1, 11), 10) == [3, 10, 2, 8, 6, 9, 1, 7, 5, 4]


def test_seed_starts_anew_and_one_stream_goes_on() -> None:
    r = RRandom(1)
    first = [r.uniform() for _ in range(3)]
    assert [r.uniform() for _ in range(3)] != first
    r.set_seed(1)
    assert [r.uniform() for _ in range(3)] == first


def test_whole_numbers_beyond_16_bits() -> None:
    r = RRandom(7)
    drawn = [r.below(100_000) for _ in range(2_000)]
    assert max(drawn) > 90_000 and min(drawn) < 10_000 and max(drawn) < 100_000


def test_probabilities_without_replacement_are_refused() -> None:
    with pytest.raises(ValueError, match="not needed"):
        RRandom(1).sample("ab", 1, prob=(0.5, 0.5))


@pytest.mark.parametrize(("name", "file"), [("original", "orig"), ("A", "synA"), ("B", "synB"), ("C", "synC")])
def test_the_case_study_is_the_one_r_drew(name: str, file: str, golden: Path) -> None:
    assert case_study()[name].equals(pl.read_csv(golden / "utility" / f"case_{file}.csv"))


def test_the_running_example_has_the_shape_of_the_listing() -> None:
    tables = running_example()
    assert {name: table.height for name, table in tables.items()} == {
        "original": 500, "released": 500, "near_copy": 500, "training": 350, "holdout": 150,
    }  # fmt: skip
    moved = (tables["near_copy"]["age"] - tables["original"]["age"]).unique().sort().to_list()
    assert moved == [-1, 0, 1] and tables["original"]["age"].n_unique() == 68
    rejoined = pl.concat([tables["training"], tables["holdout"]])
    assert rejoined.sort(rejoined.columns).equals(tables["original"].sort(rejoined.columns))
