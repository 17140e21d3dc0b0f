"""Bundled examples and the split before synthesis."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import glasshouse as gh


@pytest.mark.parametrize("name", ["health", "case_study", "appendix_b"])
def test_examples_are_ready_to_use(name: str) -> None:
    example = gh.data.load(name)
    pair = example.pair()
    assert pair.n("original") == 1000 and pair.target == example.target and pair.keys == example.keys
    assert (example.holdout is None) == (name == "appendix_b")
    assert set(example.original.columns) == set(example.released.columns)
    assert gh.data.load(name).original.equals(example.original), "the same every time"
    assert name in repr(example)


def test_health_holdout_was_never_released() -> None:
    example = gh.data.load("health")
    columns = list(example.original.columns)
    assert example.holdout.join(example.original, on=columns, how="inner").height == 0
    assert example.original["education"].dtype == pl.Enum(["low", "medium", "high"])


def test_case_study_has_three_releases() -> None:
    example = gh.data.load("case_study")
    assert list(example.releases) == ["A", "B", "C"]
    assert example.pair("C").n("released") == 1000
    with pytest.raises(gh.InputError, match="no release 'D'"):
        example.pair("D")


def test_pandas_and_unknown_names() -> None:
    example = gh.data.load("health", library="pandas")
    assert isinstance(example.original, pd.DataFrame) and isinstance(example.holdout, pd.DataFrame)
    with pytest.raises(gh.InputError, match="did you mean 'health'"):
        gh.data.load("helth")
    with pytest.raises(gh.InputError, match="library"):
        gh.data.load("health", library="dask")


# -- split before synthesis -----


def test_split_keeps_shares_and_loses_nobody() -> None:
    people = gh.data.load("health").original.with_row_index("row")
    original, holdout = gh.data.split_before_synthesis(people, 0.3, stratify=["education", "gender"], random_state=1)
    assert original.height == 700 and holdout.height == 300
    assert sorted([*original["row"], *holdout["row"]]) == list(range(1000))
    for _, group in people.group_by(["education", "gender"]):
        inside = holdout.join(group.select("row"), on="row", how="inner").height
        assert abs(inside - 0.3 * group.height) <= 1
    again = gh.data.split_before_synthesis(people, 0.3, stratify=["education", "gender"], random_state=1)[1]
    assert again.equals(holdout)


def test_split_never_tears_a_household_apart() -> None:
    people = gh.data.load("health").original.with_columns(household=pl.Series(np.repeat(np.arange(250), 4)))
    original, holdout = gh.data.split_before_synthesis(people, 0.4, cluster="household", random_state=2)
    assert not set(original["household"]) & set(holdout["household"])
    assert holdout.height == 400


def test_split_in_other_libraries() -> None:
    people = gh.data.load("health").original
    original, holdout = gh.data.split_before_synthesis(people.to_pandas(), 0.25, random_state=1)
    assert isinstance(original, pd.DataFrame) and len(holdout) == 250 and holdout.index.isin(range(1000)).all()
    arrow, aside = gh.data.split_before_synthesis(people.to_arrow(), 0.25, random_state=1)
    assert arrow.num_rows == 750 and aside.num_rows == 250
    lazy, _ = gh.data.split_before_synthesis(people.lazy(), 0.25, random_state=1)
    assert lazy.height == 750


def test_the_same_call_splits_alike_and_none_draws() -> None:
    people = gh.data.load("health").original
    first, again = (gh.data.split_before_synthesis(people)[1] for _ in range(2))
    assert first.equals(again)
    drawn = [gh.data.split_before_synthesis(people, random_state=None)[1] for _ in range(2)]
    assert not drawn[0].equals(drawn[1])


def test_split_bad_arguments() -> None:
    people = gh.data.load("health").original
    with pytest.raises(gh.InputError, match="fraction"):
        gh.data.split_before_synthesis(people, 1.0)
    with pytest.raises(gh.InputError, match="did you mean 'gender'"):
        gh.data.split_before_synthesis(people, 0.5, stratify="gendr")
    with pytest.raises(gh.InputError, match="without records"):
        gh.data.split_before_synthesis(people[:3], 0.01)
    with pytest.raises(gh.InputError, match="two records"):
        gh.data.split_before_synthesis(people[:1], 0.5)
