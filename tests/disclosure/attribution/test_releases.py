"""Several releases have a row each; checks lead to exclusions; the picture says which targets need one."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.disclosure.attribution.checks import Checks


def people(seed: int, n: int = 1500) -> pl.DataFrame:
    """work is "no" for nearly everybody; the young are single; sex tells nothing."""
    rng = np.random.default_rng(seed)
    age = rng.integers(16, 80, n)
    return pl.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "marital": np.where(age < 25, "single", rng.choice(["single", "married", "widowed"], n)),
            "work": rng.choice(["no", "yes"], n, p=[0.97, 0.03]),
            "mood": rng.choice(["good", "bad"], n),
        }
    )


@pytest.fixture(scope="module")
def original() -> pl.DataFrame:
    return people(0)


@pytest.fixture(scope="module")
def five(original: pl.DataFrame) -> list[pl.DataFrame]:
    """Fresh people with more and more of the real ones among them."""
    return [pl.concat([original.head(60 * i), people(i + 1, 1500 - 60 * i)]) for i in range(5)]


@pytest.fixture(scope="module")
def pair(original: pl.DataFrame, five: list[pl.DataFrame]) -> gh.Pair:
    return gh.Pair(original, five, keys=["age", "sex"], target="work")


OPEN: dict[str, Any] = {"key_groups": None, "one_way": (400, 0.9), "two_way": (1, 0.9)}


# -- a row per release -----


def test_to_frame_has_a_row_per_release(pair: gh.Pair, original: pl.DataFrame, five: list[pl.DataFrame]) -> None:
    result = gh.disclosure.attribution(original, five, keys=["age", "sex"], target="work", **OPEN)
    frame = result.to_frame()
    assert frame.height == 5 and frame["release"].to_list() == [0, 1, 2, 3, 4]
    for i, row in enumerate(frame.iter_rows(named=True)):
        alone = gh.disclosure.attribution(pair.release(i), **OPEN)
        assert row["value"] == alone.value and row["baseline"] == alone.baseline
        for name in ("UiO", "repU", "Dorig", "iS", "DiS", "DiSCO", "DiSDiO", "max_denom", "mean_denom", "DCAP", "TCAP"):
            assert row[name] == pytest.approx(alone.details[name]), name
        assert row["one_way_checks"] == len(alone.details["one_way"])
        assert row["two_way_checks"] == len(alone.details["two_way"])
    assert frame.filter("worst")["value"].to_list() == [result.value]
    assert frame["worst"].sum() == 1


def test_mean_and_worst_are_labelled(pair: gh.Pair) -> None:
    result = gh.disclosure.attribution(pair, **OPEN)
    values = [r.value for r in result.replicates]
    assert result.over == "worst" and result.mean == pytest.approx(np.mean(values))
    text = repr(result)
    assert re.search(r"value \(worst of 5 releases\) +" + re.escape(f"{result.value:.4g}"), text)
    assert re.search(r"mean of 5 releases +" + re.escape(f"{result.mean:.4g}"), text)
    assert "worst of 5" in str(result)
    rows = [line.split() for line in text.splitlines() if re.match(r"^  +[0-4]  ", line)]
    assert [float(row[1]) for row in rows] == pytest.approx(values, rel=1e-3), "a printed row per release"
    assert [row[-1] == "worst" for row in rows] == [v == max(values) for v in values]
    utility = gh.utility.hellinger(pair)
    assert utility.over == "mean" and "value (mean of 5 releases)" in repr(utility)
    assert utility.worst == max(r.value for r in utility.replicates) and "worst of 5 releases" in repr(utility)
    rapid = gh.disclosure.rapid(pair, attackers="cart")
    assert rapid.over == "mean" and rapid.worst == max(r.value for r in rapid.replicates)
    one = gh.disclosure.attribution(pair.release(0))
    assert one.over == "" and one.mean is None and one.worst is None and "releases" not in repr(one)
    assert result.to_dict()["over"] == "worst"


@pytest.mark.parametrize("name", ["disco", "cap", "tcap"])
def test_any_measure_of_several_releases_has_a_row_each(name: str, pair: gh.Pair) -> None:
    result = getattr(gh.disclosure, name)(pair)
    assert result.to_frame()["value"].to_list() == [r.value for r in result.replicates]
    assert str(result.to_frame()["release"].to_list()) == "[0, 1, 2, 3, 4]"


def test_a_release_without_a_value_has_a_row_too(original: pl.DataFrame) -> None:
    nobody = original.with_columns(age=pl.col("age") + 1000)
    result = gh.disclosure.tcap(original, [original, nobody], keys=["age", "sex"], target="work", key_groups=None)
    assert [v is None for v in result.to_frame()["value"].to_list()] == [r.value is None for r in result.replicates]
    assert result.to_frame().height == 2


def test_all_targets_keep_their_replicates(pair: gh.Pair) -> None:
    result = gh.disclosure.attribution_all(pair, **OPEN)
    assert len(result.replicates) == 5
    rows = {row["target"]: row for row in result.to_frame().iter_rows(named=True)}
    for target, row in rows.items():
        each = [
            next(r for r in one.to_frame().iter_rows(named=True) if r["target"] == target) for one in result.replicates
        ]
        for name in ("DiSCO", "DCAP", "Dorig", "repU", "iS"):
            assert row[name] == pytest.approx(np.mean([r[name] for r in each])), "the table shows means"
        assert row["DiSCO_worst"] == max(r["DiSCO"] for r in each)
        assert row["DCAP_worst"] == max(r["DCAP"] for r in each)
        assert each[row["worst_release"]]["DiSCO"] == row["DiSCO_worst"]
        assert row["over"] == "mean of 5 releases"
    alone = gh.disclosure.attribution_all(pair.release(3), **OPEN)
    assert result.replicates[3].details["worst_target"] == result.details["worst_target"], "they can be compared"
    assert result.mean == pytest.approx(rows[result.details["worst_target"]]["DiSCO"])
    assert result.replicates[3].to_frame().equals(alone.to_frame())
    assert "over" not in alone.to_frame().columns and alone.replicates == []
    worst = result.details["worst_target"]
    assert result.over == "worst" and result.value == pytest.approx(rows[worst]["DiSCO_worst"])
    assert "worst of 5 releases" in repr(result).lower()
    assert "means of 5 releases" in json.dumps(result.plot().to_dict())


# -- checks -----


def test_checks_give_key_key_level_and_target_level(pair: gh.Pair) -> None:
    single = gh.disclosure.attribution(pair.release(4), **OPEN)
    (one,) = single.details["one_way"]
    assert (one["key"], one["key_level"], one["target_level"]) == (None, None, "no")
    for two in single.details["two_way"]:
        assert two["key"] in ("age", "sex") and two["target_level"] == "no"
        level, key_level = two["target_key_levs"].split("|")
        assert (level, key_level) == (two["target_level"], str(two["key_level"]))
    assert isinstance(single.checks, Checks) and len(single.checks) == 1 + len(single.details["two_way"])
    text = repr(single.checks)
    assert "target level" in text and "one-way" in text and "two-way" in text
    assert single.checks.to_frame().height == len(single.checks)


def test_exclude_pairs_takes_the_checks(pair: gh.Pair) -> None:
    before = gh.disclosure.attribution(pair.release(4), **OPEN)
    after = gh.disclosure.attribution(pair.release(4), exclude_pairs=before.checks, **OPEN)
    by_hand = gh.disclosure.attribution(
        pair.release(4),
        exclude_levels=["no"],
        exclude_pairs=[(f["key"], f["key_level"], f["target_level"]) for f in before.details["two_way"]],
        **OPEN,
    )
    assert after.value < before.value
    assert after.value == by_hand.value and after.details["Nexclusions"] == by_hand.details["Nexclusions"]
    assert not after.checks
    twice = gh.disclosure.attribution(pair.release(4), exclude_pairs=before.details["two_way"], **OPEN)
    assert twice.details["Nexclusions"]["original"]["set_to_exclude"] > 0


def test_checks_of_several_releases_are_those_of_any(pair: gh.Pair) -> None:
    result = gh.disclosure.attribution(pair, **OPEN)
    named = [(c["key"], c["key_level"], c["target_level"]) for c in result.checks]
    each = [gh.disclosure.attribution(pair.release(i), **OPEN).checks for i in range(5)]
    assert set(named) == {(c["key"], c["key_level"], c["target_level"]) for one in each for c in one}
    assert len(set(named)) == len(named)
    assert not gh.disclosure.attribution(pair, exclude_pairs=result.checks, **OPEN).checks


def test_checks_of_all_targets_by_target(pair: gh.Pair) -> None:
    result = gh.disclosure.attribution_all(pair, **OPEN)
    assert set(result.checks) == {"work", "marital"}
    after = gh.disclosure.attribution_all(pair, exclude_pairs=result.checks, **OPEN)
    assert not after.checks
    rows = [{r["target"]: r["DiSCO"] for r in found.to_frame().iter_rows(named=True)} for found in (result, after)]
    assert rows[1]["work"] < rows[0]["work"] and rows[1]["mood"] == rows[0]["mood"]


def test_missing_grouped_and_dated_levels_can_be_excluded_too() -> None:
    n = 120
    day = [dt.date(2020, 1, 1 + i % 3) for i in range(n)]
    original = pl.DataFrame(
        {
            "town": [None if i % 3 == 0 else f"t{i % 3}" for i in range(n)],
            "day": day,
            "pay": [float(i % 40) for i in range(n)],
            "t": ["x" if i % 3 == 0 else "y" if i % 2 else "z" for i in range(n)],
        }
    )
    for keys, groups in ((["town"], None), (["day"], None), (["pay"], [0, 20, 39])):
        found = gh.disclosure.attribution(
            original, original, keys=keys, target="t", key_groups=groups, two_way=(1, 0.5), one_way=(1, 0.1)
        )
        levels = [c["key_level"] for c in found.checks if c["key"] and c["target_level"] == "x"]
        if keys != ["pay"]:
            assert levels == [None if keys == ["town"] else dt.datetime(2020, 1, 1)]
        after = gh.disclosure.attribution(
            original, original, keys=keys, target="t", key_groups=groups, exclude_pairs=found.checks,
            two_way=(1, 0.5), one_way=(1, 0.1),
        )  # fmt: skip
        assert not after.checks
    named = gh.disclosure.attribution(original, original, keys="town", target="t", exclude_pairs=[("town", None, "x")])
    assert named.details["Nexclusions"]["original"]["set_to_exclude"] == 40


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([("agee", 20, "no")], "'agee', which is no key"),
        ([{"key": "age"}], "key, key_level and target_level"),
        ([("age", 20)], "key, key_level and target_level"),
        (["age"], "key, key_level and target_level"),
        ([("age", 999, "no")], "no original record has"),
        ([(None, None, "perhaps")], "no original record has"),
    ],
)
def test_bad_pairs_are_refused_in_a_sentence(pair: gh.Pair, given: Any, sentence: str) -> None:
    with pytest.raises(gh.InputError, match=sentence):
        gh.disclosure.attribution(pair.release(0), exclude_pairs=given, key_groups=None)


# -- pointers and pictures -----


def test_the_pointer_in_the_message_exists(pair: gh.Pair) -> None:
    for result in (
        gh.disclosure.attribution(pair.release(4), **OPEN),
        gh.disclosure.attribution(pair, **OPEN),
        gh.disclosure.attribution_all(pair, **OPEN),
        gh.disclosure.attribution_all(pair, **OPEN).replicates[0],
    ):
        pointers = [p for w in result.warnings for p in re.findall(r"result\.[\w\[\]']+", w)]
        assert pointers
        for pointer in pointers:
            assert eval(pointer, {"result": result}), pointer


def test_the_arrow_plot_marks_targets_that_need_a_check(pair: gh.Pair) -> None:
    result = gh.disclosure.attribution_all(pair, **OPEN)
    text = json.dumps(result.plot("arrows").to_dict(), ensure_ascii=False)
    assert "work ▲ 1-way and 2-way checks" in text and "marital ▲ 2-way checks" in text
    assert '"mood"' in text and "mood ▲" not in text
    with pytest.raises(gh.InputError, match="'DiSCO' or 'DCAP'"):
        result.plot("arrows", measure="UiO")


def test_checks_stay_in_the_house(pair: gh.Pair) -> None:
    found = gh.disclosure.attribution(pair.release(4), **OPEN)
    told = gh.disclosure.attribution(pair.release(4), exclude_pairs=found.checks, **OPEN).to_dict("external")
    assert told["settings"]["options"]["exclude_pairs"] == "given, not shown"
    assert "target_level" not in json.dumps(told)


def test_one_level_may_be_excluded_without_a_list() -> None:
    pair = gh.data.load("appendix_b").pair()
    one = gh.disclosure.attribution(pair, exclude_levels="healthy")
    assert one.value == gh.disclosure.attribution(pair, exclude_levels=["healthy"]).value
    every = gh.disclosure.attribution_all(pair, targets=[pair.target], exclude_levels={pair.target: "healthy"})
    assert every.value == one.value
    with pytest.raises(gh.InputError, match="exclude_levels"):
        gh.disclosure.attribution(pair, exclude_levels=None)
