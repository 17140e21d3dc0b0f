"""Whoever has the changed table, the library and the seed (0 unless somebody says otherwise) takes nothing back."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.streams import generator, integer_seed
from glasshouse.data.fingerprints import content_of

P = gh.protection
N = 400


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    pay = np.round(rng.lognormal(10, 0.5, N), 2)
    return pl.DataFrame({"pay": pay, "job": rng.choice(list("abcd"), N), "age": rng.integers(18, 90, N)})


def test_swapping_again_takes_no_swap_back(people: pl.DataFrame) -> None:
    """Swaps are pairs of ranks: drawn from the seed alone, the same call on the swapped table gave all 400 back."""
    swapped = P.swap_ranks(people, "pay", share=0.1).table
    again = P.swap_ranks(swapped, "pay", share=0.1).table
    assert (again["pay"] == people["pay"]).mean() < 0.2


def test_nobody_knows_which_cells_were_mixed(people: pl.DataFrame) -> None:
    mixed = P.mix_independent(people, "pay", share=0.2).table
    changed = np.flatnonzero((mixed["pay"] != people["pay"]).to_numpy())
    for stream in (("mix_independent",), ("mix_independent", content_of(mixed))):
        seed = int(generator(0, *stream).integers(0, 2**62))
        guessed = generator(seed, "pay", "cells").permutation(N)[: N // 5]
        assert np.isin(changed, guessed).mean() < 0.5


def test_noise_is_not_what_the_seed_draws(people: pl.DataFrame) -> None:
    noisy = P.add_noise(people, "pay", 0.5, "independent").table
    order = np.argsort(people["pay"].to_numpy())
    noise = (noisy["pay"] - people["pay"]).to_numpy()[order]
    guessed = generator(integer_seed(0, "add_noise"), "pay").standard_normal(N)
    assert abs(np.corrcoef(noise, guessed)[0, 1]) < 0.3


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("swap_ranks", {"columns": ["pay"], "share": 0.1}),
        ("pram", {"columns": ["job"], "keep": 0.5}),
        ("mix_independent", {"columns": ["pay"], "share": 0.3}),
    ],
)
def test_one_cell_elsewhere_draws_everything_anew(name: str, arguments: dict[str, Any], people: pl.DataFrame) -> None:
    """The draws follow what nobody outside holds: all of the table as it was (for noise its own columns are enough)."""
    other = people.with_columns(age=pl.when(pl.int_range(N) == 7).then(17).otherwise("age"))
    run, column = P.operations()[name], arguments["columns"][0]
    one, two = (run(table, **arguments).table[column] for table in (people, other))
    assert not one.equals(two) and run(people, **arguments).table[column].equals(one)


def test_the_content_is_that_of_the_records_in_any_order_and_library(people: pl.DataFrame) -> None:
    content = content_of(people)
    order = np.random.default_rng(1).permutation(N).tolist()
    assert content_of(people[order][people.columns[::-1]]) == content
    assert content_of(pl.from_pandas(people.to_pandas())) == content
    torn = people.with_columns(pl.col("age").reverse())
    assert content_of(torn) != content, "columns that belong together otherwise are another table"
    assert content_of(pl.DataFrame({"a": ["x", None]})) != content_of(pl.DataFrame({"a": ["x", ""]}))
