"""Attackers and population uniqueness: hand example, published estimators, properties, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glasshouse import disclosure
from glasshouse.core.errors import InputError
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.population_estimators import dankar


@pytest.fixture(scope="module")
def hand(golden: Path) -> tuple[Pair, dict]:
    folder = golden / "tables_hand"
    pair = Pair(pl.read_csv(folder / "original.csv"), pl.read_csv(folder / "released.csv"), keys=["q"])
    return pair, json.loads((folder / "expected.json").read_text())["expected"]["kanonymity_original"]


def table_of(histogram: dict[int, int]) -> pl.DataFrame:
    """A table with so many classes of each size."""
    sizes = np.repeat(list(histogram), list(histogram.values()))
    return pl.DataFrame({"k": np.repeat(np.arange(len(sizes)), sizes).astype(str)})


TINY = table_of({1: 3, 2: 1, 3: 1})


def test_attackers_of_the_hand_example(hand: tuple[Pair, dict]) -> None:
    pair, wanted = hand
    result = disclosure.attacker_risk(pair, table="original", sampling_fraction=0.1)
    assert result.value == result.details["prosecutor_mean"] == pytest.approx(wanted["prosecutor_mean"])
    assert result.details["prosecutor_max"] == wanted["prosecutor_max"]
    assert result.details["journalist_mean"] == pytest.approx(wanted["journalist_mean_pi_0p1"])
    assert result.records["prosecutor"].to_list() == pytest.approx([1 / 3] * 3 + [1] * 3 + [0.5] * 2)


def test_attackers_agree_when_the_file_is_the_population(hand: tuple[Pair, dict]) -> None:
    d = disclosure.attacker_risk(hand[0], table="original", sampling_fraction=1.0).details
    assert d["prosecutor_mean"] == d["journalist_mean"] == d["marketer_mean"]


def test_the_marketer_is_not_the_prosecutor() -> None:
    """riskutility reports the prosecutor's mean for both; with a population they differ."""
    population = pl.DataFrame({"k": ["a"] * 10 + ["b"] * 2})
    result = disclosure.attacker_risk(
        pl.DataFrame({"k": ["a", "a", "b"]}), keys=["k"], attacker="marketer", population=population
    )
    assert result.value == pytest.approx((2 / 10 + 1 / 2) / 3)
    assert result.details["prosecutor_mean"] == pytest.approx(2 / 3)
    assert result.details["journalist_mean"] == pytest.approx(max(2 / 12, (2 / 10 + 1 / 2) / 3))
    assert result.details["journalist_max"] == 0.5


def test_population_sizes_from_weights() -> None:
    table = pl.DataFrame({"k": ["a", "a", "b"], "w": [3.0, 5.0, 4.0]})
    d = disclosure.attacker_risk(table, keys=["k"], weights="w").details
    assert d["marketer_mean"] == pytest.approx((2 / 8 + 1 / 4) / 3) and d["population_from"] == "weights"


def test_the_sampling_fraction_has_no_default() -> None:
    result = disclosure.attacker_risk(TINY, keys=["k"])
    assert "journalist_mean" not in result.details and any("sampling_fraction" in w for w in result.warnings)
    with pytest.raises(InputError, match="needs to know the population"):
        disclosure.attacker_risk(TINY, keys=["k"], attacker="journalist")
    unknown = disclosure.population_uniqueness(TINY, keys=["k"])
    assert unknown.status == "not_applicable" and "size of the population" in str(unknown.reason)


def test_extremes() -> None:
    alone = pl.DataFrame({"k": [str(i) for i in range(30)], "g": ["x"] * 30})
    assert disclosure.attacker_risk(alone, keys=["k"]).value == 1
    assert disclosure.attacker_risk(alone, keys=["g"]).value == pytest.approx(1 / 30)
    assert disclosure.attacker_risk(alone, keys=["g", "k"]).value >= disclosure.attacker_risk(alone, keys=["g"]).value


def test_published_estimators(golden: Path) -> None:
    """Class sizes of samples from a known population, estimates of an independent implementation."""
    cases = json.loads((golden / "tables_hand" / "population_uniqueness.json").read_text())["cases"]
    assert len(cases) >= 6
    for case in cases:
        table = table_of(dict(zip(case["class_sizes"], case["class_counts"], strict=True)))
        result = disclosure.population_uniqueness(table, keys=["k"], population_size=case["population_size"])
        assert result.details["n"] == case["sample_size"] and result.details["sample_uniques"] == case["sample_uniques"]
        for estimator in ("zayatz", "pitman_mle", "shifted_nb"):
            for name, value in case[estimator].items():
                assert result.details[estimator][name] == pytest.approx(value, rel=1e-3), (
                    case["keys"],
                    estimator,
                    name,
                )
        estimates = [case[e]["p_conditional"] for e in ("zayatz", "pitman_mle", "shifted_nb")]
        assert result.interval == pytest.approx((min(estimates), max(estimates)), rel=1e-3)
        assert result.value == pytest.approx(max(estimates), rel=1e-3)


def test_the_tiny_histogram() -> None:
    result = disclosure.population_uniqueness(TINY, keys=["k"], population_size=80)
    assert result.details["zayatz"]["p_conditional"] == pytest.approx(0.410308, abs=1e-6)
    assert result.details["zayatz"]["population_uniques"] == pytest.approx(12.31, abs=0.01)
    assert result.details["pitman_mle"] is None and any("pitman_mle has no estimate" in w for w in result.warnings)


def test_estimates_use_the_data() -> None:
    """riskutility's "zayatz" is one constant for all data; here more large classes mean fewer population uniques."""
    few, many = table_of({1: 50, 2: 5}), table_of({1: 50, 2: 60, 3: 40})
    few_p, many_p = (
        disclosure.population_uniqueness(t, keys=["k"], sampling_fraction=0.1).details["zayatz"]["p_conditional"]
        for t in (few, many)
    )
    assert few_p > many_p
    low, high = (
        disclosure.population_uniqueness(many, keys=["k"], sampling_fraction=f).details["zayatz"]["p_conditional"]
        for f in (0.05, 0.5)
    )
    assert low < high


def test_the_whole_population_and_no_uniques() -> None:
    assert disclosure.population_uniqueness(TINY, keys=["k"], sampling_fraction=1.0).value == 1
    assert disclosure.population_uniqueness(table_of({2: 5}), keys=["k"], sampling_fraction=0.1).value == 0


def test_the_decision_rule_has_its_authors_name() -> None:
    estimates = {
        "zayatz": 0.5,
        "pitman_mle": 0.2,
        "shifted_nb": 0.4,
    }
    assert dankar(estimates, 0.05) == "pitman_mle" and dankar(estimates, 0.5) == "shifted_nb"
    assert dankar({"zayatz": 0.5}, 0.05) == "zayatz" and dankar({}, 0.5) is None
    chosen = disclosure.population_uniqueness(TINY, keys=["k"], population_size=80, rule="dankar")
    assert chosen.details["dankar"] == "zayatz" and chosen.value == chosen.details["zayatz"]["p_conditional"]


def test_on_a_synthetic_release_it_says_where_it_belongs() -> None:
    pair = Pair(TINY, table_of({1: 2, 2: 3}), keys=["k"])
    assert any("table='original'" in w for w in disclosure.population_uniqueness(pair, sampling_fraction=0.1).warnings)


@pytest.mark.parametrize(
    ("measure", "arguments", "sentence"),
    [
        ("attacker_risk", {"attacker": "spy"}, "choose one of prosecutor"),
        ("attacker_risk", {"sampling_fraction": 0}, r"sampling_fraction must be in \(0, 1\]"),
        ("attacker_risk", {"population": pl.DataFrame({"k": ["0"]})}, "not a subset of the population on these keys"),
        ("population_uniqueness", {"sampling_fraction": 1.5}, r"sampling_fraction must be in \(0, 1\]"),
        ("population_uniqueness", {"population_size": 3}, "smaller than the 8 records"),
        ("population_uniqueness", {"population_size": 80, "rule": "best"}, "choose 'dankar'"),
    ],
)
def test_bad_arguments_get_a_sentence(measure: str, arguments: dict, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        getattr(disclosure, measure)(TINY, keys=["k"], **arguments)
