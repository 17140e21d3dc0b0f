"""RAPID by hand, by property, and on the odd data people have."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import glasshouse as gh
from glasshouse.disclosure.rapid import scores
from glasshouse.disclosure.rapid.answers import ClassAnswers, NumberAnswers, shares_above, shares_below
from glasshouse.disclosure.rapid.inference import (
    choose_threshold,
    max_interval,
    relabelled,
    share_interval,
    total_interval,
)
from glasshouse.disclosure.rapid.key_effects import Factor, attribute
from glasshouse.engines.models.linear.firth import firth_logistic

# -- the papers' worked examples -----


def test_normalised_gain_by_hand() -> None:
    gain = scores.normalised_gain(np.array([0.70, 0.85, 0.55]), np.full(3, 0.60))
    np.testing.assert_allclose(gain, [0.25, 0.625, -0.125])
    assert (gain > 0.3).mean() == pytest.approx(1 / 3)
    np.testing.assert_allclose(
        scores.normalised_gain(np.array([0.30, 0.60, 0.35, 0.40]), np.full(4, 0.18)),
        [0.146, 0.512, 0.207, 0.268],
        atol=5e-4,
    )
    assert scores.normalised_gain(np.array([1.0]), np.array([1.0])) == 0, "one class only: nothing to gain"


def test_errors_by_hand() -> None:
    y, predicted = np.array([50_000.0, 35_000, 80_000]), np.array([47_000.0, 39_000, 90_000])
    np.testing.assert_allclose(
        scores.prediction_error(y, predicted, "stabilised_relative", 0), [0.06, 0.1143, 0.125], atol=1e-4
    )
    np.testing.assert_allclose(
        scores.prediction_error(y, predicted, "symmetric", 0), [0.0619, 0.1081, 0.1176], atol=1e-4
    )
    np.testing.assert_allclose(scores.prediction_error(y, predicted, "absolute", 0), [3000, 4000, 10000])
    assert scores.prediction_error(np.array([50_000.0]), np.array([52_000.0]), "symmetric", 0.01)[0] == pytest.approx(
        0.0392, abs=1e-4
    )
    assert scores.automatic_delta(np.array([0.0, 100.0, 200.0, 300.0])) == pytest.approx(2.0)


def test_entropy_and_relative_scores() -> None:
    np.testing.assert_allclose(scores.entropy_score(np.array([1.0, 1 / 3]), 3), [1.0, 0.0], atol=1e-12)
    g, b, r = scores.score_true_class(
        np.array([[0.8, 0.2], [0.4, 0.6], [0.1, 0.9]]), np.array([0, 0, 1]), "conditional", np.array([2 / 3, 1 / 3]), 2
    )
    np.testing.assert_allclose(g, [0.8, 0.4, 0.9])
    np.testing.assert_allclose(b, [0.6, 0.6, 0.9])
    np.testing.assert_allclose(r, [0.8 / 0.6, 0.4 / 0.6, 1.0])


# -- the chance level is what all relabellings give -----


@given(
    st.integers(0, 10_000),
    st.sampled_from(["symmetric", "stabilised_relative", "absolute"]),
    st.sampled_from([0.3, 0.9, 1.7]),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_chance_of_numbers_equals_all_relabellings(seed: int, metric: Any, epsilon: float, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    y, f = np.round(rng.normal(0, 2, n), 1), np.round(rng.normal(0, 2, n), 1)
    w = rng.random(n) + 0.1 if weighted else None
    answers = NumberAnswers(f, y, metric, epsilon, 0.5, w)
    every = [answers.relabelled_rates(np.array(order), [epsilon])[0] for order in permutations(range(n))]
    mean, sd = answers.chance()
    assert mean == pytest.approx(np.mean(every), abs=1e-9)
    assert sd == pytest.approx(np.std(every), abs=1e-6)


@given(st.integers(0, 10_000), st.sampled_from(["marginal", "nce"]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_chance_of_classes_equals_all_relabellings(seed: int, score: Any, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    p, y = rng.dirichlet([0.5, 0.5, 0.5], n), rng.integers(0, 3, n)
    w = rng.random(n) + 0.1 if weighted else None
    answers = ClassAnswers(p, y, score, 0.3, scores.class_shares(y, 3, w), 3, w)
    mean, sd = answers.chance()
    if answers.is_degenerate:
        assert (mean, sd) == (0, 0)
        return
    every = [answers.relabelled_rates(np.array(order), [0.3])[0] for order in permutations(range(n))]
    assert mean == pytest.approx(np.mean(every), abs=1e-9)
    assert sd == pytest.approx(np.std(every), abs=1e-6)


def test_conditional_chance_is_close_to_simulation() -> None:
    rng = np.random.default_rng(3)
    p, y = rng.dirichlet([1, 1, 1], 500), rng.integers(0, 3, 500)
    answers = ClassAnswers(p, y, "conditional", 1.25, scores.class_shares(y, 3), 3)
    simulated = relabelled([answers], [1.25], 300, 1)[:, 0]
    assert answers.chance()[0] == pytest.approx(simulated.mean(), abs=0.005)


@given(st.integers(0, 10_000), st.sampled_from(["symmetric", "stabilised_relative", "absolute"]))
@settings(max_examples=30, deadline=None)
def test_best_constant_beats_every_other(seed: int, metric: Any) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(1, 2, 40)
    guess, coverage = scores.best_constant(y, metric, 0.1, 0.37)
    tried = max(
        scores.share(scores.prediction_error(y, np.full(40, c), metric, 0.1) < 0.37) for c in np.linspace(-6, 8, 500)
    )
    assert coverage >= tried - 1e-12
    assert np.isfinite(guess)


def test_shares_above_and_below_are_strict() -> None:
    values, cuts = np.array([0.1, 0.3, 0.3, 0.9]), np.array([0.3, 0.0, 0.9])
    np.testing.assert_allclose(shares_above(values, cuts), [0.25, 1.0, 0.0])
    np.testing.assert_allclose(shares_below(values, cuts), [0.25, 0.0, 0.75])
    np.testing.assert_allclose(shares_above(values, cuts, np.array([1.0, 1, 1, 5])), [5 / 8, 1, 0])


# -- the measure -----


@pytest.fixture(scope="module")
def health() -> Any:
    return gh.data.load("health")


@pytest.fixture(scope="module")
def result(health: Any) -> Any:
    return gh.disclosure.rapid(health.pair(), random_state=1)


def test_result_can_be_quoted(result: Any) -> None:
    assert 0.3 < result.value < 0.55
    assert result.interval[0] < result.value < result.interval[1]
    assert result.baseline == result.details["chance"] and result.excess == pytest.approx(result.details["adjusted"])
    # people never in the data are inferred as well: a fact about the population, and no leak
    assert result.verdict == "pass" and result.details["p_value"] < 1e-6
    assert "chance gives as much in" in result.sentence
    for words in (
        "gender, age and education",
        "random forest",
        "luck alone",
        "fact about the population",
        "beyond chance",
    ):
        assert words in result.sentence
    assert result.holdout == pytest.approx(result.details["population_inference"])
    low, high = result.details["memorisation_interval"]
    assert low < result.details["memorisation"] < high
    text = repr(result)
    assert "nan" not in text.lower() and "rapid" in text


def test_without_a_holdout_nobody_can_say_whether_it_is_a_leak(health: Any) -> None:
    alone = gh.disclosure.rapid(health.pair().replace(holdout=None), random_state=1)
    assert alone.verdict is None and "a leak cannot be told from it" in alone.sentence


def test_records_carry_the_headline(result: Any, health: Any) -> None:
    records = result.records
    assert isinstance(records, pl.DataFrame) and records.height == health.original.height
    assert records["at_risk"].mean() == pytest.approx(result.value)
    assert {"predicted", "true_prob", "baseline", "gain", "at_risk"} <= set(records.columns)
    assert ((records["gain"] > 0.3) == records["at_risk"]).all()
    top = result.top(5)
    assert (top["gain"].diff().drop_nulls() <= 0).all()


@pytest.mark.parametrize(("target", "option", "at"), [("disease_status", "tau", 0.6), ("income", "epsilon", 0.25)])
def test_another_threshold_is_another_reading_of_the_same_attack(
    health: Any, target: str, option: str, at: float
) -> None:
    pair = health.pair(target=target)
    result = gh.disclosure.rapid(pair, trees=20)
    before = result.to_json()
    moved, fresh = result.at(at), gh.disclosure.rapid(pair, trees=20, **{option: at})
    assert moved.value == fresh.value and moved.baseline == fresh.baseline and moved.holdout == fresh.holdout
    assert moved.records["at_risk"].to_list() == fresh.records["at_risk"].to_list()
    assert moved.by("gender").equals(fresh.by("gender"))
    assert moved.interval == moved.confint() and moved.p_value is None and moved.exposure is None
    assert moved.at(at).curve([at]).equals(fresh.curve([at])) and result.to_json() == before


def test_a_copy_is_worst_and_independence_has_no_excess(health: Any) -> None:
    original = health.original
    keys = ["gender", "age", "education", "income"]
    copy = gh.disclosure.rapid(original, original, keys=keys, target="disease_status", random_state=1)
    released = gh.disclosure.rapid(original, health.released, keys=keys, target="disease_status", random_state=1)
    rng = np.random.default_rng(0)
    shuffled = original.with_columns(original["disease_status"].gather(rng.permutation(original.height)))
    independent = gh.disclosure.rapid(original, shuffled, keys=keys, target="disease_status", random_state=1)
    assert copy.value > released.value and copy.excess > released.excess
    assert abs(independent.excess) < 0.05


def test_marginal_attacker_flags_nobody(health: Any) -> None:
    found = gh.disclosure.rapid(
        health.original, health.original, keys=["age"], target="disease_status", attackers="marginal"
    )
    assert found.value == 0


def test_row_order_and_thread_count_do_not_matter(health: Any) -> None:
    rng = np.random.default_rng(1)
    original = health.original[rng.permutation(1000)]
    released = health.released[rng.permutation(1000)]
    options: dict[str, Any] = {"keys": health.keys, "target": health.target, "random_state": 4, "trees": 50}
    a = gh.disclosure.rapid(health.original, health.released, n_jobs=1, **options)
    b = gh.disclosure.rapid(original, released, n_jobs=2, **options)
    assert a.value == b.value and a.baseline == pytest.approx(b.baseline)


def test_several_attackers(health: Any) -> None:
    pair = health.pair(holdout=None)
    found = gh.disclosure.rapid(pair, attackers=("rf", "cart", "logit"), random_state=1, trees=100)
    rates = {row["attacker"]: row["rapid"] for row in found.details["attackers"]}
    assert found.value == found.details["max"] == max(rates.values())
    assert found.details["mean"] == pytest.approx(np.mean(list(rates.values())))
    assert found.details["all"] <= min(rates.values()) and found.details["union"] >= found.details["max"]
    assert rates[found.details["max_attacker"]] == found.value
    records = found.records
    flags = np.array([records[f"at_risk_{a}"] for a in rates])
    assert flags.any(axis=0).mean() == pytest.approx(found.details["union"])
    assert (records["attackers_flagging"].to_numpy() == flags.sum(axis=0)).all()
    single = gh.disclosure.rapid(pair, attackers="cart")
    assert single.value == rates["cart"]
    assert found.curve(attacker="cart")["rapid"].to_list() == single.curve()["rapid"].to_list()


def test_an_estimator_can_be_the_attacker(health: Any) -> None:
    from sklearn.naive_bayes import GaussianNB

    found = gh.disclosure.rapid(health.pair(holdout=None), attackers=(GaussianNB(), "cart"), random_state=0)
    assert {row["attacker"] for row in found.details["attackers"]} == {"GaussianNB", "cart"}


def test_several_releases_give_the_mean_and_the_worst(health: Any) -> None:
    releases = [health.released, health.released[:600], health.original]
    pair = gh.Pair(health.original, releases, keys=health.keys, target=health.target)
    found = gh.disclosure.rapid(pair, attackers="cart")
    values = [r.value for r in found.replicates]
    assert len(values) == 3 and found.value == pytest.approx(np.mean(values))
    assert found.details["worst"] == max(values) and found.details["release_sd"] == pytest.approx(
        np.std(values, ddof=1)
    )
    narrow = total_interval(values, [v * (1 - v) / 1000 for v in values])
    assert found.interval[1] - found.interval[0] >= 0.99 * (narrow[1] - narrow[0])
    assert found.interval == pytest.approx(found.confint("total"))
    assert found.records["at_risk"].mean() == pytest.approx(found.value)
    curve = found.curve()
    assert (curve["release_min"] <= curve["rapid"] + 1e-12).all() and (
        curve["rapid"] <= curve["release_max"] + 1e-12
    ).all()
    assert found.test(19).observed == pytest.approx(found.value)
    found.attribution(interactions=1)


def test_several_targets(health: Any) -> None:
    pair = health.pair(keys=["gender", "age"], target=["disease_status", "income", "education"], holdout=None)
    found = gh.disclosure.rapid(pair, attackers="cart")
    flags = np.array([found.targets[t].records["at_risk"].to_numpy() for t in pair.targets])
    assert found.value == found.details["any"] == pytest.approx(flags.any(axis=0).mean())
    assert found.details["all"] == pytest.approx(flags.all(axis=0).mean())
    assert found.records["inferred"].mean() == pytest.approx(flags.sum(axis=0).mean())
    assert found.baseline == pytest.approx(found.details["chance"]) and 0 <= found.details["p_value"] <= 1
    together = np.prod(flags.mean(axis=1))
    assert found.details["dependence"] == (None if together == 0 else pytest.approx(found.details["all"] / together))
    assert (
        gh.disclosure.rapid(pair.replace(target=["disease_status", "education"]), attackers="cart").details[
            "joint_gain"
        ]
        is not None
    )
    assert (
        gh.disclosure.rapid(pair.replace(target="disease_status"), attackers="cart").value
        == found.targets["disease_status"].value
    )


def test_weights_and_clusters(health: Any) -> None:
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 9, 1000).astype(float)
    household = np.repeat(np.arange(250), 4)
    original = health.original.with_columns(w=pl.Series(weight), household=pl.Series(household))
    base = gh.disclosure.rapid(
        health.original, health.released, keys=health.keys, target=health.target, attackers="cart"
    )
    weighted = gh.disclosure.rapid(
        original, health.released, keys=health.keys, target=health.target, attackers="cart", weights="w"
    )
    flags = weighted.records["at_risk"].to_numpy()
    assert weighted.value == pytest.approx(np.average(flags, weights=weight))
    effective = weight.sum() ** 2 / (weight**2).sum()
    low, high = gh.core.intervals.wilson(weighted.value * effective, effective)
    assert weighted.confint() == pytest.approx((low, high))
    assert weighted.interval[0] <= low and weighted.interval[1] >= high, "other people make another cut"
    assert weighted.baseline == pytest.approx(weighted.test(499).values.mean(), abs=0.003)
    inside = original["gender"] == "female"
    table = weighted.by("gender")
    assert table["value"][0] == pytest.approx(np.average(flags[inside.to_numpy()], weights=weight[inside.to_numpy()]))
    clustered = gh.disclosure.rapid(
        original,
        health.released,
        keys=health.keys,
        target=health.target,
        attackers="cart",
        cluster="household",
        random_state=1,
    )
    per_household = base.records["at_risk"].to_numpy().reshape(250, 4)
    assert clustered.value == base.value
    assert clustered.details["cluster_any"] == pytest.approx(per_household.any(axis=1).mean())
    assert clustered.details["cluster_mean"] == pytest.approx(per_household.mean())
    assert clustered.interval[0] < clustered.value < clustered.interval[1] and clustered.interval != base.interval


def test_continuous_target_is_read_against_the_best_constant(health: Any) -> None:
    found = gh.disclosure.rapid(health.pair(target="income", holdout=None), attackers="lm", epsilon=0.2)
    records = found.records
    assert records["at_risk"].mean() == pytest.approx(found.value)
    assert ((records["error"] < 0.2) == records["at_risk"]).all()
    assert 0 < found.details["constant_coverage"] < 1 and found.details["beyond_constant"] <= found.value
    expected = (found.value - found.details["constant_coverage"]) / (1 - found.details["constant_coverage"])
    assert found.details["constant_gain"] == pytest.approx(expected)
    assert found.top(3)["error"].to_list() == sorted(records["error"].to_list())[:3]


def test_scores_and_parity(health: Any) -> None:
    pair = health.pair(holdout=None)
    conditional = gh.disclosure.rapid(pair, attackers="cart", score="conditional")
    assert conditional.details["threshold"] == 1.25
    assert gh.disclosure.rapid(pair, attackers="cart", score="nce").details["threshold"] == 0.5
    old = gh.disclosure.rapid(pair, attackers="cart", parity="riskutility")
    same = gh.disclosure.rapid(pair, attackers="cart", score="RCS_conditional", tau=1)
    assert old.value == same.value


def test_frames_in_frames_out(health: Any) -> None:
    import pandas as pd

    example = gh.data.load("health", library="pandas")
    found = gh.disclosure.rapid(example.pair(), attackers="cart")
    assert isinstance(found.records, pd.DataFrame) and isinstance(found.curve(), pd.DataFrame)
    assert isinstance(found.attribution(interactions=1).effects, pd.DataFrame)
    assert found.value == gh.disclosure.rapid(health.pair(), attackers="cart").value


# -- inference -----


def test_confidence_intervals(result: Any) -> None:
    k, n = result.details["n_at_risk"], result.details["n_total"]
    assert result.confint("wilson") == pytest.approx(gh.core.intervals.wilson(k, n))
    assert result.confint("clopper_pearson", 0.9) == pytest.approx(gh.core.intervals.clopper_pearson(k, n, 0.9))
    low, high = result.confint("bootstrap", random_state=1)
    assert (low, high) == pytest.approx(result.confint("wilson"), abs=0.01)
    assert result.interval[0] <= result.confint("wilson")[0] and result.interval[1] >= result.confint("wilson")[1]
    with pytest.raises(gh.InputError, match="two releases"):
        result.confint("total")
    with pytest.raises(gh.InputError, match="unknown"):
        result.confint("magic")
    with pytest.raises(gh.InputError, match="cluster"):
        result.confint("cluster")


def test_interval_of_the_maximum_is_above_that_of_one() -> None:
    rng = np.random.default_rng(0)
    flags = rng.random((4, 300)) < 0.3
    low, high = max_interval(flags, random_state=1)
    single = share_interval(flags[0])
    assert low > single[0] and high > 0.3


def test_permutation_tests(result: Any) -> None:
    labels = result.test(99)
    assert labels.p_value == pytest.approx(0.01) and labels.significant and "standard deviations" in labels.sentence
    assert labels.null_mean == pytest.approx(result.baseline)
    assert result.test(99).values.tolist() == labels.values.tolist(), "same seed, same permutations"
    refit = gh.disclosure.rapid(gh.data.load("health").pair(holdout=None), attackers="cart").test(9, null="refit")
    assert refit.p_value == pytest.approx(0.1) and refit.null == "refit"
    with pytest.raises(gh.InputError, match="unknown"):
        result.test(null="other")


def test_thresholds_by_rule() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 400)
    certain = np.clip(0.5 + np.where(rng.random(400) < 0.7, 1, -1) * rng.random(400) * 0.3, 0, 1)
    p = np.column_stack([np.where(y == 0, certain, 1 - certain), np.where(y == 0, 1 - certain, certain)])
    answers = ClassAnswers(p, y, "marginal", 0.3, scores.class_shares(y, 2), 2)
    strictest, table, corrected = choose_threshold([answers], "strictest", random_state=1)
    best, _, _ = choose_threshold([answers], "max_z", random_state=1)
    loose, _, uncorrected = choose_threshold([answers], "max", random_state=1)
    assert corrected and not uncorrected
    assert strictest is not None and loose is not None and best is not None
    assert loose >= strictest >= best and table["z"][table["threshold"].index(best)] == max(table["z"])
    noise = ClassAnswers(p, rng.permutation(y), "marginal", 0.3, scores.class_shares(y, 2), 2)
    assert choose_threshold([noise], "max_z", random_state=1)[0] is None
    numbers = NumberAnswers(
        np.linspace(1, 2, 300), np.linspace(1, 2, 300) + rng.normal(0, 0.02, 300), "symmetric", 0.1, 0.01
    )
    small = choose_threshold([numbers], "strictest", random_state=1)[0]
    assert small is not None and small <= 0.05, "for an error the strictest threshold is the smallest"
    with pytest.raises(gh.InputError, match="unknown"):
        choose_threshold([numbers], "best")  # type: ignore[arg-type]


# -- attribution -----


def test_firth_stays_finite_where_the_data_are_separated() -> None:
    y = np.array([0.0] * 10 + [1.0] * 10)
    x = np.column_stack([np.ones(20), np.repeat([0.0, 1.0], 10)])
    fit = firth_logistic(x, y)
    assert fit.method == "Firth" and fit.converged
    # two separated cells of ten: the penalised odds are (10 + 1/2) / (0 + 1/2) on either side
    assert fit.coefficients[1] == pytest.approx(2 * np.log(21), abs=1e-5)
    assert firth_logistic(x[:, :1], y).method == "maximum likelihood"


def test_separated_cells_are_marked_and_aliased_columns_dropped() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 300)
    flags = np.where(group == 2, 1.0, rng.random(300) < 0.3)
    keys = [Factor(n, ("a", "b", "c"), group) for n in ("first", "copy")]
    found = attribute(keys, flags, interactions=1)
    marked = {(r["variable"], r["level"]) for r in found.rows if r["separated"]}
    assert ("first", "c") in marked and found.separated >= 1 and found.notes
    estimates = {r["level"]: r["estimate"] for r in found.rows if r["variable"] == "first"}
    assert sum(estimates.values()) == pytest.approx(0, abs=1e-8), "effects sum to zero"
    assert estimates["c"] == max(estimates.values())
    with pytest.raises(gh.GlasshouseError, match="none of the"):
        attribute(keys, np.zeros(300))


def test_attribution_finds_the_key_that_matters(result: Any) -> None:
    found = result.attribution(interactions=2)
    assert "times the average odds" in found.sentence
    assert set(found.effects["variable"]) >= {"age", "education", "gender", "age:education"}
    assert {"logodds", "low", "high", "probability", "separated"} <= set(found.grid.columns)
    with pytest.raises(gh.InputError, match="1, 2 or 3"):
        result.attribution(interactions=4)


# -- charts -----


@pytest.mark.parametrize(
    "kind",
    [
        "curve",
        "distribution",
        "classes",
        "subgroups",
        "attribution",
        "interactions",
        "calibration",
        "predicted",
        "importance",
    ],
)
def test_every_chart_draws(result: Any, kind: str) -> None:
    assert result.plot(kind).to_dict()["$schema"]


def test_charts_of_numbers_and_of_several_targets(health: Any) -> None:
    number = gh.disclosure.rapid(health.pair(target="income", holdout=None), attackers="cart")
    for kind in ("curve", "distribution", "predicted", "subgroups"):
        assert number.plot(kind).to_dict()
    with pytest.raises(gh.InputError, match="number"):
        number.plot("classes")
    several = gh.disclosure.rapid(health.pair(target=["income", "disease_status"], holdout=None), attackers="cart")
    assert several.plot().to_dict()
    with pytest.raises(gh.InputError, match="targets"):
        several.plot("distribution")


def test_classes_of_several_releases_are_put_together_by_name() -> None:
    """One release has a class "a" that nobody has, the other a class "d": by position b would be added to c."""
    original = pl.DataFrame({"key": ["x"] * 30 + ["y"] * 30, "target": ["b"] * 30 + ["c"] * 30})
    more = {name: pl.DataFrame({"key": ["z"] * 10, "target": [name] * 10}) for name in "ad"}
    releases = [pl.concat([original, more["a"]]), pl.concat([original, more["d"]])]
    found = gh.disclosure.rapid(original, releases, keys=["key"], target="target", attackers="cart")
    assert pl.Series(found.records["predicted"]).to_list() == original["target"].to_list()
    few = gh.disclosure.rapid(original, [original, releases[0]], keys=["key"], target="target", attackers="cart")
    assert pl.Series(few.records["predicted"]).to_list() == original["target"].to_list()
