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


@pytest.mark.parametrize("extreme", [[1.7e308, -1.7e308, 5.0, 1.0], [1e307, 0.1, 0.2, 0.3], [2e154, -1e154, 1.0, 2.0]])
@pytest.mark.parametrize("measure", ["drisk", "epsilon_identifiability"])
def test_numbers_whose_squares_are_infinite_are_refused_by_name(measure: str, extreme: list[float]) -> None:
    tables = [people(seed).with_columns(pay=pl.Series(extreme * 10)) for seed in (1, 2, 3)]
    with pytest.raises(InputError, match="column 'pay' holds numbers whose squares are infinite"):
        getattr(gh.disclosure, measure)(tables[0], tables[1], holdout=tables[2])


def test_large_numbers_close_together_are_cut_into_classes() -> None:
    """Times in billionths of a second: between them there is no room for twenty breaks."""
    rng = np.random.default_rng(3)
    steps = [rng.integers(0, 40, 40) for _ in range(3)]
    found = []
    for start in (0.0, 1e16):
        own = [people(s).with_columns(at=start + 2.0 * pl.Series(steps[s]), id=pl.lit(1.5)) for s in range(3)]
        found.append(gh.disclosure.epsilon_identifiability(own[0], own[1], holdout=own[2], schema={"at": "numeric"}))
    assert found[0].value == found[1].value and found[0].details["weights"] == found[1].details["weights"]
