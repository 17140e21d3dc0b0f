"""Who is at risk: the people at the top of the list, groups of them, and people never in the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from tests.conftest import converter


@pytest.fixture(scope="module")
def health() -> Any:
    return gh.data.load("health")


@pytest.fixture(scope="module")
def rapid(health: Any) -> Any:
    return gh.disclosure.rapid(health.pair(), attackers="cart")


# -- the top of the list -----


def test_top_shows_keys_true_value_and_what_the_attacker_would_say(rapid: Any, health: Any) -> None:
    top = rapid.top(5)
    assert top.columns[:5] == ["row", *health.pair().keys, health.target]
    assert top.columns[5] == "predicted"
    for person in top.iter_rows(named=True):
        own = health.original.row(person["row"], named=True)
        assert {name: person[name] for name in (*health.keys, health.target)} == {
            name: own[name] for name in (*health.keys, health.target)
        }
        assert person["correct"] == (person["predicted"] == person[health.target])


@pytest.mark.parametrize("name", ["disco", "attribution", "cap", "tcap"])
def test_top_of_a_looked_up_release(name: str) -> None:
    """q: all released records of x say "ill", of y one of two says so, z is not there."""
    original = pl.DataFrame({"q": ["x", "y", "z"], "t": ["ill", "well", "well"]})
    released = pl.DataFrame({"q": ["x", "x", "y", "y", "y"], "t": ["ill", "ill", "ill", "well", "well"]})
    result = getattr(gh.disclosure, name)(original, released, keys="q", target="t")
    top = result.top(3)
    assert top.select("row", "q", "t", "predicted").rows() == [
        (0, "x", "ill", "ill"),
        (1, "y", "well", "well"),
        (2, "z", "well", None),
    ]


def test_the_attacker_says_a_range_where_numbers_were_compared_in_ranges() -> None:
    original = pl.DataFrame({"q": ["x", "y"] * 20, "t": [float(v) for v in range(40)]})
    told = gh.disclosure.disco(original, original, keys="q", target="t", bins=[0, 20, 40]).top(1)["predicted"].to_list()
    assert told == ["[0,20)"]


def test_other_columns_can_be_shown_instead(rapid: Any, health: Any) -> None:
    top = rapid.top(2, columns=["income"])
    assert "income" in top.columns and "gender" not in top.columns
    assert top["income"].to_list() == health.original["income"][top["row"].to_numpy()].to_list()
    with pytest.raises(gh.InputError, match="did you mean 'income'"):
        rapid.top(2, columns=["incom"])


def test_a_column_named_like_a_figure_is_not_lost() -> None:
    frame = pl.DataFrame({"n": ["a", "b"] * 3, "predicted": ["x", "y"] * 3})
    result = gh.disclosure.disco(frame, frame, keys="n", target="predicted")
    top = result.top(1)
    assert top["own_predicted"].to_list() == ["x"] and top["predicted"].to_list() == ["x"]
    assert result.by("n")["own_n"].to_list() == ["a", "b"] and result.by("n")["n"].to_list() == [3, 3]


def test_without_roles_there_is_nothing_to_show_but_the_figures(health: Any) -> None:
    result = gh.disclosure.identical(health.original, health.original)
    assert result.top(2).columns == ["row", *result.records.columns]


def test_several_releases_and_several_targets_have_a_top(health: Any) -> None:
    pair = gh.Pair(health.original, [health.released] * 2, keys=health.keys, target=health.target)
    several = gh.disclosure.rapid(pair, attackers="cart")
    one = gh.disclosure.rapid(pair.release(0), attackers="cart")
    assert several.records["predicted"].to_list() == one.records["predicted"].to_list()
    numbers = gh.disclosure.rapid(pair.replace(target="income"), attackers="lm")
    assert numbers.records["predicted"].to_list() == pytest.approx(
        gh.disclosure.rapid(pair.release(0).replace(target="income"), attackers="lm").records["predicted"].to_list()
    )
    both = gh.disclosure.rapid(pair.release(0).replace(target=["disease_status", "income"]), attackers="cart")
    top = both.top(3)
    assert {"disease_status", "predicted_disease_status", "income", "predicted_income"} <= set(top.columns)


# -- people never in the data -----


def test_holdout_people_have_records(rapid: Any, health: Any) -> None:
    records = rapid.holdout_records
    assert records.height == health.holdout.height
    assert records["at_risk"].mean() == pytest.approx(rapid.holdout)
    assert set(records.columns) == set(rapid.records.columns)
    top = rapid.top(3, table="holdout")
    for person in top.iter_rows(named=True):
        assert person[health.target] == health.holdout[health.target][person["row"]]
    groups = rapid.by("gender", table="holdout")
    assert groups["n"].sum() == health.holdout.height
    assert (groups["n"] * groups["value"]).sum() / health.holdout.height == pytest.approx(rapid.holdout)


def test_holdout_records_of_several_releases_and_targets(health: Any) -> None:
    pair = health.pair()
    several = gh.disclosure.rapid(pair.replace(released=[health.released, health.original]), attackers="cart")
    assert several.holdout_records["at_risk"].mean() == pytest.approx(several.holdout)
    joint = gh.disclosure.rapid(pair.replace(target=["disease_status", "income"]), attackers="cart")
    assert joint.holdout_records.height == health.holdout.height
    flags = joint.holdout_records["at_risk"]
    assert flags.mean() == pytest.approx(joint.holdout, abs=0.02)


def test_holdout_people_whose_target_is_not_known_have_no_figures(health: Any) -> None:
    missing = pl.when(pl.int_range(pl.len()) >= 7).then(pl.col("income"))
    pair = health.pair(target="income", holdout=health.holdout.with_columns(income=missing))
    found = gh.disclosure.rapid(pair, attackers="lm")
    assert found.holdout_records["at_risk"].null_count() == 7
    assert found.holdout_records["at_risk"].mean() == pytest.approx(found.holdout)


def test_without_a_holdout_there_are_no_such_records(health: Any) -> None:
    alone = gh.disclosure.rapid(health.pair().replace(holdout=None), attackers="cart")
    assert alone.holdout_records is None
    with pytest.raises(gh.InputError, match="no figures for holdout people"):
        alone.top(3, table="holdout")
    with pytest.raises(gh.InputError, match="'original' or 'holdout'"):
        alone.top(3, table="released")


# -- groups -----


def test_by_several_columns_has_one_row_per_combination(rapid: Any, health: Any) -> None:
    table = rapid.by(["education", "gender"])
    flags = health.original.select(pl.col("education", "gender").cast(pl.String)).with_columns(
        at_risk=rapid.records["at_risk"]
    )
    wanted = flags.group_by("education", "gender").agg(n=pl.len().cast(pl.Int64), value=pl.col("at_risk").mean())
    joined = table.join(wanted, on=["education", "gender"])
    assert table.height == joined.height == wanted.height == 6
    assert joined["n"].to_list() == joined["n_right"].to_list()
    assert joined["value"].to_list() == pytest.approx(joined["value_right"].to_list())
    assert (table["low"] < table["value"]).all() and (table["value"] < table["high"]).all()


def test_by_several_columns_for_any_measure() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", None], "b": [1, 2, 1, 1], "t": ["u", "v", "u", "u"]})
    result = gh.disclosure.disco(frame, frame, keys=["a", "b"], target="t")
    table = result.by(["a", "b"])
    assert table.select("a", "b", "n").rows() == [("x", 1, 1), ("x", 2, 1), ("y", 1, 1), (None, 1, 1)]
    assert result.by(["a"]).equals(result.by("a"))
    with pytest.raises(gh.InputError, match="name at least one column"):
        result.by([])
    with pytest.raises(gh.InputError, match="'a' is named twice"):
        result.by(["a", "a"])


def test_by_cuts_numbers_of_rapid_in_combinations_too(rapid: Any) -> None:
    table = rapid.by(["gender", "age"])
    assert table.height == 8 and table["n"].sum() == 1000


def test_by_several_columns_counts_weights(health: Any) -> None:
    weight = np.random.default_rng(0).integers(1, 9, health.original.height).astype(float)
    original = health.original.with_columns(w=pl.Series(weight))
    found = gh.disclosure.rapid(
        original, health.released, keys=health.keys, target=health.target, weights="w", attackers="cart"
    )
    row = found.by(["education", "gender"]).row(0, named=True)
    inside = ((original["education"] == row["education"]) & (original["gender"] == row["gender"])).to_numpy()
    flags = found.records["at_risk"].to_numpy()
    assert row["value"] == pytest.approx(np.average(flags[inside], weights=weight[inside]))
    assert row["n"] == inside.sum()


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "duckdb", "lazy"])
def test_tables_come_back_in_the_users_own_library(library: str, health: Any, request: pytest.FixtureRequest) -> None:
    convert = converter(library, request)
    tables = [convert(t) for t in (health.original, health.released, health.holdout)]
    found = gh.disclosure.rapid(
        tables[0], tables[1], holdout=tables[2], keys=health.keys, target=health.target, attackers="cart"
    )
    for made in (found.top(3), found.holdout_records, found.by(["education", "gender"])):
        assert isinstance(made, type(tables[0]))


def test_nothing_of_it_leaves_the_house(rapid: Any) -> None:
    told = str(rapid.to_dict("external"))
    assert "predicted" not in told and "records" not in told


def test_releases_keep_their_names() -> None:
    example = gh.data.load("case_study")
    three = {name: example.releases[name] for name in list(example.releases)[:3]}
    roles: dict[str, Any] = {"keys": example.pair().keys, "target": example.pair().targets[0]}
    calls: dict[str, Any] = {"attribution": {}, "cap": {}, "rapid": {"attackers": "cart"}}
    for name, options in calls.items():
        found = getattr(gh.disclosure, name)(example.original, three, **roles, **options)
        assert list(pl.DataFrame(found.to_frame())["release"]) == list(three), name
        assert [one.release for one in found.replicates] == list(three), name
        assert f"\n  {list(three)[1]} " in repr(found), name
        places = getattr(gh.disclosure, name)(example.original, list(three.values()), **roles, **options)
        assert list(pl.DataFrame(places.to_frame())["release"]) == [0, 1, 2], name
    every = gh.disclosure.attribution_all(example.original, three, keys=roles["keys"])
    assert set(pl.DataFrame(every.to_frame())["worst_release"]) <= set(three)


def test_top_takes_a_number_of_people() -> None:
    found = gh.disclosure.disco(gh.data.load("health").pair())
    assert len(found.top(0)) == 0 and len(found.top(3)) == 3
    for wrong in (-5, -1):
        with pytest.raises(gh.InputError, match="top takes a number of people"):
            found.top(wrong)
