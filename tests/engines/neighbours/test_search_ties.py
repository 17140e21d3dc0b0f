"""Ties told from a search that was done are those that are listed from the start."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.engines.neighbours.gower import gower_space
from glasshouse.engines.neighbours.search import RULES
from tests.engines.neighbours.test_neighbours import listed


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("digits", [0, 3])
def test_only_who_has_more_ties_is_asked_again(rule: str, k: int, digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(k)
    tables = [
        pl.DataFrame({"x": rng.normal(size=n).round(digits), "c": rng.integers(0, 3, n).astype(str)})
        .with_columns(pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("c").alias("c"))
        .with_columns(pl.when(pl.int_range(pl.len()) % 11 == 0).then(None).otherwise("x").alias("x"))
        for n in (200, 150)
    ]
    space = gower_space(gh.Pair(tables[0], tables[1], schema={"x": "numeric"}), missing=rule)
    near, query = space.nearest("released", "original", k), space.rows("released")
    for radius in (near.distance[:, 0], np.full(150, 0.05)):
        radius = np.maximum(radius[query.firsts][query.inverse], 0.0)
        expected = listed(space, "released", "original", radius)
        found = space.tied_beyond(near, query, "original", radius)
        np.testing.assert_array_equal(expected.offsets, found.offsets)
        np.testing.assert_array_equal(expected.row, found.row)


def test_where_nobody_ties_nobody_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    tables = [pl.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n)}) for n in (300, 200)]
    space = gower_space(gh.Pair(*tables))
    near = space.nearest("released", "original", 2)
    monkeypatch.setattr(type(space._prepared("original")), "listed", None)
    found = space.tied_beyond(near, space.rows("released"), "original", near.distance[:, 0])
    assert (found.records == 1).all()
