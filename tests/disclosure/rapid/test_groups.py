"""RAPID for any group of people, against the baseline of everybody."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.disclosure.rapid.scores import chance_for_classes


@pytest.fixture(scope="module")
def health() -> Any:
    return gh.data.load("health")


@pytest.fixture(scope="module")
def result(health: Any) -> Any:
    return gh.disclosure.rapid(health.pair(), attackers="cart")


def test_a_group_by_its_levels(result: Any, health: Any) -> None:
    found = result.among({"education": "low", "gender": "female"})
    inside = ((health.original["education"] == "low") & (health.original["gender"] == "female")).to_numpy()
    flags = result.records["at_risk"].to_numpy()
    assert found.value == pytest.approx(flags[inside].mean())
    assert found.details["n_total"] == inside.sum()
    low, high = gh.core.intervals.wilson(flags[inside].sum(), inside.sum())
    assert found.interval == pytest.approx((low, high))
    assert found.excess == pytest.approx((found.value - found.baseline) / (1 - found.baseline))
    assert f"{inside.sum():,} people" in found.sentence
    held = (health.holdout["education"] == "low") & (health.holdout["gender"] == "female")
    assert found.holdout == pytest.approx(result.holdout_records["at_risk"].filter(held).mean())


def test_the_group_is_scored_against_everybody(result: Any, health: Any) -> None:
    """A subset passed as the original makes a baseline of its own; the group keeps that of everybody."""
    sick = result.among({"disease_status": "diabetic"})
    inside = (health.original["disease_status"] == "diabetic").to_numpy()
    shares = result.records["baseline"].to_numpy()[inside]
    assert shares == pytest.approx(inside.mean())
    assert sick.records.filter(pl.Series(inside))["baseline"].to_list() == pytest.approx(shares)
    # luck: these people with the prediction of anybody
    answers = result.answers()[0]
    k = result.attacks[0].classes.index("diabetic")
    needed = inside.mean() + 0.3 * (1 - inside.mean())
    assert sick.baseline == pytest.approx((answers.probabilities[:, k] > needed).mean())
    assert result.among({"disease_status": ["diabetic", "healthy", "hypertensive"]}).baseline == pytest.approx(
        result.baseline
    )


def test_luck_of_a_group_by_simulation(result: Any) -> None:
    rng = np.random.default_rng(1)
    answers = result.answers()[0]
    inside = rng.random(answers.n) < 0.2
    found = result.among(inside)
    simulated = []
    for _ in range(400):
        order = rng.permutation(answers.n)
        simulated.append(answers.relabelled_flags(order)[inside].mean())
    assert found.baseline == pytest.approx(np.mean(simulated), abs=0.004)
    assert found.details["chance_sd"] == pytest.approx(np.std(simulated), rel=0.15)
    every = answers._every > answers.threshold
    assert found.baseline == pytest.approx(chance_for_classes(every, answers.y, inside.astype(float))[0])


def test_a_group_by_rows_or_by_yes_and_no(result: Any, health: Any) -> None:
    old = health.original["age"] > 60
    rows = np.flatnonzero(old.to_numpy())
    by_flag, by_row = result.among(old), result.among(rows)
    assert by_flag.value == by_row.value == pytest.approx(result.records["at_risk"].filter(old).mean())
    assert by_flag.records["at_risk"].is_not_null().sum() == len(rows), "others have no figures here"
    assert set(by_flag.top(3)["row"].to_list()) <= set(rows.tolist())
    assert by_flag.by("gender")["n"].sum() == len(rows)


def test_people_from_outside_against_the_full_baseline(result: Any, health: Any) -> None:
    """The same people asked as holdout and as people from outside are told the same."""
    alone = gh.disclosure.rapid(health.pair().replace(holdout=None), attackers="cart")
    outside = alone.among(health.holdout)
    assert outside.value == pytest.approx(result.holdout)
    assert outside.value == pytest.approx(result.among("holdout").value)
    assert outside.details["n_total"] == health.holdout.height
    few = alone.among(health.holdout.head(3))
    assert few.value == pytest.approx(result.holdout_records["at_risk"].head(3).mean())
    assert few.records.height == 3 and few.records["baseline"].max() == pytest.approx(result.records["baseline"].max())
    top = outside.top(2)
    assert top[health.target][0] == health.holdout[health.target][top["row"][0]]


def test_groups_of_a_numeric_target_of_several_releases_and_with_weights(health: Any) -> None:
    original = health.original.with_columns(w=pl.Series(np.arange(1000) % 5 + 1.0))
    pair = gh.Pair(original, [health.released, health.original], keys=health.keys, target="income", weights="w")
    found = gh.disclosure.rapid(pair, attackers="lm", epsilon=0.3)
    group = found.among({"gender": "male"})
    male = (original["gender"] == "male").to_numpy()
    flags = found.records["at_risk"].to_numpy()
    assert group.value == pytest.approx(np.average(flags[male], weights=original["w"].to_numpy()[male]))
    assert 0 < group.baseline < 1


def test_the_conditional_score_keeps_the_class_means_of_everybody(health: Any) -> None:
    found = gh.disclosure.rapid(health.pair(), attackers="cart", score="conditional", tau=1.0)
    male = (health.original["gender"] == "male").to_numpy()
    assert found.among({"gender": "male"}).value == pytest.approx(found.records["at_risk"].to_numpy()[male].mean())
    # strangers, too, are held against the class means of the original
    g = found.holdout_records["true_prob"].to_numpy()
    means = dict(
        found.records.with_columns(health.original["disease_status"].cast(pl.String))
        .group_by("disease_status")
        .agg(pl.col("true_prob").mean())
        .iter_rows()
    )
    own = np.array([means[c] for c in health.holdout["disease_status"].to_list()])
    assert found.among("holdout").value == pytest.approx((g / own > 1.0).mean())


@pytest.mark.parametrize(
    ("people", "sentence"),
    [
        ({"education": "none"}, "nobody"),
        ({"education": ["low", "none"]}, "nobody has 1 level of the group in column 'education'"),
        ({"education": "low", "income": -1.0}, "nobody has 1 level of the group in column 'income'"),
        ({"eduction": "low"}, "did you mean 'education'"),
        ({}, "names no column"),
        ([True, False], "one entry for each of the 1,000"),
        ([5000], "between 0 and 999"),
        ([0.5], "row numbers"),
        ("nobody", "file not found"),
    ],
)
def test_bad_groups_are_refused_in_a_sentence(result: Any, people: Any, sentence: str) -> None:
    with pytest.raises(gh.InputError, match=sentence) as raised:
        result.among(people)
    assert "'none'" not in str(raised.value), "no value is quoted"


def test_a_group_stays_in_the_house(result: Any) -> None:
    told = result.among({"gender": "male"}).to_dict("external")
    assert told["value"] is None and told["baseline"] is None and told["excess"] is None and told["interval"] is None


def test_a_group_prints_and_draws(result: Any) -> None:
    group = result.among({"gender": "male"})
    assert "chance" in repr(group)
    assert group.to_frame().height > 0 and group.plot().to_dict()
