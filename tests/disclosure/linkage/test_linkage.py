"""Record linkage: hand examples, reference values, and what every method and matching promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import InputError, MissingExtra
from glasshouse.disclosure.linkage import matching as linkage_matching
from glasshouse.disclosure.linkage.probabilistic import expectation_maximisation

record_linkage = gh.disclosure.record_linkage
KEYS = ["age", "education_num", "hr_per_week", "marital", "race", "sex"]
# Figures of single runs that depend on when an iteration stops or which of several optima a solver returns.
NOT_COMPARED = {
    "iterations",
    "marginal_error",
    "mean_risk_100_iterations",
    "marginal_error_100",
    "correct_any",
}


@pytest.fixture(scope="module")
def reference(shared: Path) -> dict[str, Any]:
    folder = shared / "golden" / "linkage"
    original, release, gaps = (pl.read_csv(folder / f"{n}.csv") for n in ("original", "release", "release_na"))
    return {
        "pair": gh.Pair(original, release, keys=KEYS, row_paired=True),
        "gaps": gh.Pair(original, gaps, keys=KEYS, row_paired=True),
        "expected": json.loads((folder / "expected.json").read_text()),
        "pram": json.loads((folder / "pram_matrices.json").read_text()),
        "records": pl.read_csv(folder / "per_record.csv"),
    }


def _agrees(result: Any, expected: dict[str, float], tolerance: float = 1e-9) -> None:
    for figure, value in expected.items():
        if figure not in NOT_COMPARED:
            assert result.details[figure] == pytest.approx(value, abs=tolerance), figure


# -- reference values -------------------------------------------------------------------------------------------------

NEAREST_CASES: dict[str, dict[str, Any]] = {"deterministic/nearest": {}}
for _w in ("uniform", "softmax", "kernel"):
    NEAREST_CASES |= {
        f"deterministic/topk5/{_w}": {"candidates": "topk", "k": 5, "weighting": _w},
        f"deterministic/threshold0.05/{_w}": {"candidates": "threshold", "threshold": 0.05, "weighting": _w},
        f"deterministic/topk5_threshold0.05/{_w}": {
            "candidates": "topk_threshold",
            "threshold": 0.05,
            "weighting": _w,
        },
        f"deterministic/nearest_threshold0.02/{_w}": {
            "candidates": "nearest_threshold",
            "threshold": 0.02,
            "weighting": _w,
        },
    }
NEAREST_CASES |= {
    "deterministic/nearest/reverse": {"direction": "reverse"},
    "deterministic/nearest/block_sex": {"block": ["sex"]},
    "rbrl/nearest": {"method": "ranks"},
    "mahalanobis_classical/nearest": {"method": "mahalanobis"},
    "mahalanobis_classical/numeric_only": {"method": "mahalanobis", "columns": KEYS[:3]},
    "bijective": {"matching": "bijective"},
}


@pytest.mark.parametrize("name", NEAREST_CASES)
def test_reference_values(reference: dict[str, Any], name: str) -> None:
    _agrees(record_linkage(reference["pair"], **NEAREST_CASES[name]), reference["expected"][name])


@pytest.mark.parametrize("rule", ["ignore", "match", "mismatch"])
def test_missing_values(reference: dict[str, Any], rule: str) -> None:
    result = record_linkage(reference["gaps"], missing=rule)
    _agrees(result, reference["expected"][f"deterministic/nearest/na_{rule}"])


def test_records(reference: dict[str, Any]) -> None:
    expected = reference["records"]
    found = record_linkage(reference["pair"]).records
    assert found["risk"].to_list() == expected["det_risk"].to_list()
    assert found["candidates"].to_list() == expected["det_cand_n"].to_list()
    assert found["true_score"].to_numpy() == pytest.approx(expected["det_d_true"].to_numpy(), abs=1e-9)
    assert found["best_score"].to_numpy() == pytest.approx(expected["det_d_min"].to_numpy(), abs=1e-9)
    for method, column in (("ranks", "rbrl_risk"), ("mahalanobis", "mahal_risk")):
        risk = record_linkage(reference["pair"], method=method).records["risk"].to_numpy()
        assert risk == pytest.approx(expected[column].to_numpy(), abs=1e-9)
    assert found["band"].to_list()[1] == "unique_match"


def test_baseline_of_the_originals_themselves(reference: dict[str, Any]) -> None:
    result = record_linkage(reference["pair"], self_baseline=True)
    expected = reference["expected"]["deterministic/self_baseline"]["mean_risk"]
    assert result.details["self_baseline"] == pytest.approx(expected, abs=1e-9)
    assert result.details["risk_reduction"] == pytest.approx(expected - 0.605, abs=1e-9)
    assert result.baseline == pytest.approx(1 / 300)


def test_fellegi_sunter_with_given_probabilities(reference: dict[str, Any]) -> None:
    expected = reference["expected"]
    given = {"method": "probabilistic", "m": expected["fellegi_sunter/m"], "u": expected["fellegi_sunter/u"]}
    uniform = record_linkage(reference["pair"], candidates="threshold", threshold=0, **given)
    _agrees(uniform, expected["fellegi_sunter/threshold0/uniform"])
    assert uniform.details["tolerance"] == pytest.approx(expected["fellegi_sunter/tolerance"])
    softmax = record_linkage(reference["pair"], candidates="threshold", threshold=0, weighting="softmax", **given)
    _agrees(softmax, expected["fellegi_sunter/threshold0/softmax"])
    _agrees(record_linkage(reference["pair"], **given), expected["fellegi_sunter/best_score"])


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_pram(reference: dict[str, Any], direction: str) -> None:
    asked = {"method": "pram", "columns": KEYS[3:], "pram": reference["pram"], "direction": direction}
    result = record_linkage(reference["pair"], **asked)
    _agrees(result, reference["expected"][f"pram/{direction}"])
    if direction == "forward":
        expected = reference["records"]["pram_risk"].to_numpy()
        assert result.records["risk"].to_numpy() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "name"), [(None, "0.0166661"), (0.01, "0.01"), (0.1, "0.1")])
def test_transport(reference: dict[str, Any], epsilon: float | None, name: str) -> None:
    result = record_linkage(reference["pair"], matching="transport", epsilon=epsilon)
    _agrees(result, reference["expected"][f"ot/eps={name}"], 1e-5)
    if epsilon is None:
        expected = reference["records"]["ot_risk"].to_numpy()
        assert result.records["risk"].to_numpy() == pytest.approx(expected, abs=1e-5)


def test_sparse_assignment_finds_the_same_optimum(reference: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkage_matching, "DENSE", 1000)
    result = record_linkage(reference["pair"], matching="bijective")
    expected = reference["expected"]["bijective"]
    assert result.details["optimal_cost"] == pytest.approx(expected["optimal_cost"], abs=1e-9)
    # dropped pairs can carry no cheaper assignment here, but some of the equally cheap ones
    for figure in ("correct_max_over_optima", "correct_min_over_optima"):
        assert abs(result.details[figure] - expected[figure]) <= 3
    assert any("too many for a full cost matrix" in w for w in result.warnings)
    refused = record_linkage(reference["pair"], matching="transport")
    assert refused.status == "not_applicable"
    assert "block=" in refused.reason


def test_estimated_probabilities_beat_given_ones(reference: dict[str, Any]) -> None:
    estimated = record_linkage(reference["pair"], method="probabilistic")
    supervised = record_linkage(reference["pair"], method="probabilistic", estimate="truth")
    assert estimated.value > 2 * reference["expected"]["fellegi_sunter/best_score"]["mean_risk"]
    assert supervised.value > estimated.value
    posterior = record_linkage(reference["pair"], method="probabilistic", weighting="posterior")
    assert 0 < posterior.value < 1


# -- hand examples ----------------------------------------------------------------------------------------------------


@pytest.fixture
def hand() -> gh.Pair:
    # a third pair of ages stretches the range to 40 without touching the example
    original = pl.DataFrame({"age": [30, 50], "sex": ["F", "M"]})
    released = pl.DataFrame({"age": [34, 50], "sex": ["F", "F"]})
    return gh.Pair(original, released, row_paired=True)


def test_hand_example_on_a_range_of_forty() -> None:
    original = pl.DataFrame({"age": [30, 50, 10], "sex": ["F", "M", "X"]})
    released = pl.DataFrame({"age": [34, 50, 10], "sex": ["F", "F", "X"]})
    pair = gh.Pair(original, released, row_paired=True)
    records = record_linkage(pair).records
    assert records["true_score"].to_list() == pytest.approx([0.05, 0.5, 0.0])
    assert records["risk"].to_list() == [1.0, 1.0, 1.0]
    within = record_linkage(pair, candidates="threshold", threshold=0.3).records["risk"].to_list()
    assert within == pytest.approx([0.5, 0.0, 1.0])
    soft = record_linkage(pair, candidates="threshold", threshold=0.3, weighting="softmax").records["risk"].to_list()
    assert soft[0] == pytest.approx(0.8808, abs=1e-4)


def test_likelihood_ratio_by_hand(hand: gh.Pair) -> None:
    asked = {"m": {"age": 0.9, "sex": 0.9}, "u": {"age": 0.2, "sex": 0.5}, "tolerance": {"age": 5}}
    result = record_linkage(hand, method="probabilistic", **asked)
    assert -result.records["true_score"][0] == pytest.approx(np.log(4.5) + np.log(1.8))
    both = record_linkage(hand, method="probabilistic", candidates="threshold", threshold=-1.5, **asked)
    assert both.records["candidates"][0] == 2


def test_pram_by_hand() -> None:
    original = pl.DataFrame({"sex": ["F", "F", "M"]})
    matrix = {"sex": {"levels": ["F", "M"], "matrix": [[0.8, 0.2], [0.2, 0.8]]}}
    result = record_linkage(original, original, row_paired=True, method="pram", pram=matrix)
    assert result.records["risk"].to_list() == pytest.approx([0.8 / 1.8, 0.8 / 1.8, 0.8 / 1.2])


def test_ranks_survive_monotone_masking() -> None:
    rng = np.random.default_rng(1)
    x = rng.lognormal(0, 1, 80)
    pair = gh.Pair(pl.DataFrame({"x": x}), pl.DataFrame({"x": np.log(x) + 50}), row_paired=True)
    assert record_linkage(pair, method="ranks").value == 1.0
    assert record_linkage(pair).value < 0.2


def test_em_recovers_the_model_that_made_the_patterns() -> None:
    rng = np.random.default_rng(0)
    m, u, prior, n = np.array([0.95, 0.9, 0.85, 0.9]), np.array([0.2, 0.1, 0.3, 0.05]), 0.02, 400_000
    match = rng.random(n) < prior
    disagree = rng.random((n, 4)) > np.where(match[:, None], m, u)
    patterns, counts = np.unique(disagree.astype(np.int64), axis=0, return_counts=True)
    found_m, found_u = expectation_maximisation(patterns, counts.astype(float), np.ones(4, np.int64), prior)
    assert found_m[:, 0] == pytest.approx(m, abs=0.02)
    assert found_u[:, 0] == pytest.approx(u, abs=0.01)


# -- what every method promises ---------------------------------------------------------------------------------------


def _masked(n: int = 150, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    original = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(8, 0.6, n),
            "region": rng.choice(list("abcdef"), n),
            "job": rng.choice(list("uvwxyz"), n),
        }
    )
    swap = rng.random(n) < 0.1
    released = original.with_columns(
        age=original["age"] + rng.integers(-2, 3, n),
        income=original["income"] * rng.normal(1, 0.05, n),
        region=pl.Series(np.where(swap, rng.choice(list("abcdef"), n), original["region"].to_numpy())),
    )
    return original, released


METHODS = {
    "deterministic": {},
    "probabilistic": {},
    "pram": {"columns": ["region", "job"]},
    "predictive": {},
    "forest": {"trees": 50},
    "ranks": {},
    "mahalanobis": {"robust": True},
}


@pytest.mark.parametrize("method", METHODS)
def test_copies_are_found_and_strangers_are_not(method: str) -> None:
    original, released = _masked()
    options = {"method": method, **METHODS[method]}
    copied = record_linkage(original, original, row_paired=True, **options)
    masked = record_linkage(original, released, row_paired=True, **options)
    wrong = released.sample(fraction=1, shuffle=True, seed=3)
    shuffled = record_linkage(original, wrong, row_paired=True, **options)
    if method != "predictive":  # of a copy it learns nothing: everybody ties, so it stays a diagnostic
        assert copied.value >= masked.value - 1e-9
    if method not in ("predictive", "pram"):
        assert copied.value > 0.9
        assert copied.verdict == "fail"
        assert masked.value > 5 * masked.baseline
    assert shuffled.value == pytest.approx(shuffled.baseline, abs=0.05)
    assert 0 <= masked.details["max_risk"] <= 1


@pytest.mark.parametrize("method", ["forest", "mahalanobis"])
def test_the_same_seed_gives_the_same_answer(method: str) -> None:
    original, released = _masked()
    options = {"method": method, **METHODS[method]}
    first = record_linkage(original, released, row_paired=True, random_state=5, **options)
    again = record_linkage(original, released, row_paired=True, random_state=5, n_jobs=1, **options)
    assert first.details == again.details


@pytest.mark.parametrize("matching", ["bijective", "transport"])
def test_matchings_on_a_copy_and_on_another_size(matching: str) -> None:
    original, released = _masked()
    copied = record_linkage(original, original, row_paired=True, matching=matching, epsilon=0.002)
    assert copied.value > 0.95
    wider = pl.concat([released, _masked(60, 9)[1]])
    truth = np.arange(150)
    more = record_linkage(original, wider, truth=truth, matching=matching)
    assert 0 < more.value <= 1
    fewer = record_linkage(original, released[:100], truth=np.where(truth < 100, truth, -1), matching=matching)
    assert 0 < fewer.value <= 1


def test_random_truth_gives_chance_for_every_strategy() -> None:
    original, released = _masked(200)
    rng = np.random.default_rng(0)
    for asked in ({}, {"candidates": "topk"}, {"candidates": "threshold", "threshold": 0.1}, {"weighting": "softmax"}):
        means = [record_linkage(original, released, truth=rng.permutation(200), **asked) for _ in range(15)]
        assert np.mean([r.value for r in means]) == pytest.approx(means[0].baseline, abs=0.005)


def test_blocking_reports_the_true_pairs_it_tears_apart() -> None:
    original, released = _masked()
    free = record_linkage(original, released, row_paired=True)
    blocked = record_linkage(original, released, row_paired=True, block="region")
    assert blocked.details["true_pairs_split_by_blocks"] == pytest.approx(
        (original["region"] != released["region"]).mean()
    )
    lost = (original["region"] != released["region"]).to_numpy()
    assert (blocked.records["risk"].to_numpy()[lost] == 0).all()
    assert free.status == blocked.status == "ok"
    for matching in ("bijective", "transport"):
        assert record_linkage(original, released, row_paired=True, block="region", matching=matching).status == "ok"


# -- truth and odd data -----------------------------------------------------------------------------------------------


def test_fully_synthetic_data_have_no_row_truth() -> None:
    original, released = _masked()
    result = record_linkage(original, released)
    assert result.status == "not_applicable"
    assert result.value is None and result.verdict is None
    assert "no row truth exists" in result.reason
    assert "row_paired=True" in result.reason


def test_truth_by_identifier() -> None:
    original, released = _masked()
    named = original.with_columns(person=pl.Series([f"p{i}" for i in range(150)]))
    mixed = released.with_columns(person=named["person"]).sample(fraction=1, shuffle=True, seed=2)[:140]
    by_name = record_linkage(named, mixed, truth="person", columns=original.columns)
    by_row = record_linkage(original, released, row_paired=True)
    assert by_name.value == pytest.approx(by_row.value, abs=0.1)
    assert by_name.records["true_score"].is_nan().sum() + by_name.records["true_score"].null_count() == 10
    with pytest.raises(InputError, match="twice"):
        record_linkage(named, pl.concat([mixed, mixed]), truth="person")
    with pytest.raises(InputError, match="'persn'"):
        record_linkage(named, mixed, truth="persn")


def test_rows_that_are_not_aligned_are_noticed() -> None:
    original, released = _masked()
    aligned = record_linkage(original, released, row_paired=True)
    assert aligned.details["alignment_p"] < 1e-6
    wrong = record_linkage(original, released.sample(fraction=1, shuffle=True, seed=1), row_paired=True)
    assert wrong.details["alignment_p"] > 0.01 or wrong.warnings


def test_odd_columns_have_defined_answers() -> None:
    n = 40
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "constant": ["same"] * n,
            "one number": [7] * n,
            "empty": pl.Series([None] * n, dtype=pl.Float64),
            "when": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 9), eager=True),
            "yes": rng.random(n) < 0.5,
            "gaps": [None if i % 7 == 0 else float(i % 11) for i in range(n)],
            "x": rng.normal(size=n),
            "place": [f"p{i}" for i in rng.integers(0, 30, n)],
        }
    )
    pair = gh.Pair(frame, frame, row_paired=True)
    for method in ("deterministic", "probabilistic", "forest", "ranks", "predictive", "mahalanobis"):
        for rule in ("ignore", "level"):
            result = record_linkage(pair, method=method, missing=rule)
            assert result.status == "ok" or method == "mahalanobis", (method, rule)
            result.to_json()
    assert record_linkage(pair).value > 0.9
    one = pl.DataFrame({"a": [1], "b": ["x"]})
    assert record_linkage(one, one, row_paired=True).value == 1.0
    twins = pl.concat([one, one])
    assert record_linkage(twins, twins, row_paired=True).value == 0.5
    assert record_linkage(twins, twins, row_paired=True, matching="bijective").details["correct_max_over_optima"] == 2


def test_an_empty_record_matches_nobody_for_free() -> None:
    original = pl.DataFrame({"a": [1.0, None, 3.0], "b": ["x", None, "z"]})
    released = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    result = record_linkage(original, released, row_paired=True, missing="ignore")
    assert result.records["best_score"].to_list()[1] == 1.0


def test_many_levels_and_bad_input() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"place": [f"p{v}" for v in rng.integers(0, 5000, 1500)], "x": rng.integers(0, 50, 1500)})
    assert record_linkage(frame, frame, row_paired=True).value > 0.8
    original, released = _masked(40)
    pair = gh.Pair(original, released, row_paired=True)
    for wrong, message in (
        ({"method": "magic"}, "method"),
        ({"matching": "any"}, "matching"),
        ({"candidates": "some"}, "candidates"),
        ({"weighting": "heavy"}, "weighting"),
        ({"candidates": "threshold"}, "needs threshold"),
        ({"k": 0}, "k must be"),
        ({"columns": ["nothing"]}, "nothing"),
        ({"block": "nothing"}, "nothing"),
        ({"weights": {"age": -1}}, "weights"),
        ({"method": "probabilistic", "m": {"age": 0.9}}, "go together"),
        ({"truth": [1, 2]}, "truth"),
        (
            {"method": "pram", "columns": ["region"], "pram": {"region": {"levels": ["a"], "matrix": [[0.5]]}}},
            "sum to 1",
        ),
        ({"matching": "transport", "epsilon": -1.0}, "epsilon"),
    ):
        with pytest.raises(InputError, match=message):
            record_linkage(pair, **wrong)
    assert record_linkage(pair, method="pram").status == "not_applicable"
    assert record_linkage(pair, method="ranks", columns=["region"]).status == "not_applicable"


def test_embedding_needs_its_extra_or_works() -> None:
    original, released = _masked(100)
    pair = gh.Pair(original, released, row_paired=True)
    try:
        import torch  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtra, match=r"glasshouse\[torch\]"):
            record_linkage(pair, method="embedding")
        return
    first = record_linkage(pair, method="embedding", epochs=30, random_state=1)
    again = record_linkage(pair, method="embedding", epochs=30, random_state=1)
    assert first.value == again.value
    assert first.value > 5 * first.baseline
    assert record_linkage(original, original, row_paired=True, method="embedding").value > 0.9


def test_charts_draw() -> None:
    original, released = _masked()
    result = record_linkage(original, released, row_paired=True, candidates="topk")
    for kind in (None, "candidates", "risk"):
        assert result.plot(kind).to_dict()["mark"]["type"] == "bar"


@pytest.mark.parametrize(
    ("label", "options", "same"),
    [
        ("rbrl", {}, {"method": "ranks"}),
        ("fellegi_sunter", {}, {"method": "probabilistic"}),
        ("rf", {"trees": 10}, {"method": "forest", "trees": 10}),
        ("ot", {"epsilon": 0.1}, {"matching": "transport", "epsilon": 0.1}),
        ("bijective", {}, {"matching": "bijective"}),
    ],
)
def test_labels_of_the_reference_values(
    reference: dict[str, Any], label: str, options: dict[str, Any], same: dict[str, Any]
) -> None:
    found, meant = record_linkage(reference["pair"], method=label, **options), record_linkage(reference["pair"], **same)
    assert found.value == meant.value
    assert found.details["method"] == meant.details["method"]


def test_figures_have_the_names_of_the_reference_values(reference: dict[str, Any]) -> None:
    expected = reference["expected"]
    moved = record_linkage(reference["pair"], matching="ot", epsilon=0.01).details
    assert set(expected["ot/eps=0.01"]) <= set(moved)
    for figure in ("mean_risk_100_iterations", "marginal_error_100"):
        assert moved[figure] == pytest.approx(expected["ot/eps=0.01"][figure], abs=1e-5)
    given = {which: expected[f"fellegi_sunter/{which}"] for which in ("m", "u", "tolerance")}
    details = record_linkage(reference["pair"], method="fellegi_sunter", **given).details
    for which, columns in given.items():
        assert details[which] == pytest.approx(columns), which
