"""Requests that leave nothing to compare are answered in a sentence."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import InputError


def people(seed: int, n: int = 40) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("xyz"), n)})


def test_no_column_at_all_is_an_error() -> None:
    with pytest.raises(InputError, match="columns is empty"):
        gh.disclosure.drisk(people(1), people(2), columns=[])


def test_people_drawn_all_from_one_side_are_a_reason() -> None:
    found = [
        gh.disclosure.rare_agreement(people(1), people(2), holdout=people(3), people=2, random_state=seed)
        for seed in range(12)
    ]
    open_ = [one for one in found if one.value is None]
    assert open_ and all("on one side" in one.reason for one in open_) and len(open_) < len(found)


def test_drawn_tables_that_weigh_nothing_are_no_accident() -> None:
    own = people(1).with_columns(w=pl.Series([1.0, *[0.0] * 39]))
    found = gh.utility.table_utility(own, people(2), weights="w")
    assert found.status in ("ok", "not_applicable") and (found.value is None or np.isfinite(found.value))
