"""RAPID against the reference implementation: flag for flag where the attacker is deterministic, in the mean for
forests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import glasshouse as gh
from glasshouse.core.intervals import clopper_pearson, wald, wilson

from .reference import FOLDER, call, expected, read

REFERENCE = expected()
# documented as behaviour not to copy: pairwise dropping of rows, copies of release row 1, codes matched by position
NOT_COPIED = {
    "na_target_numeric_drop_lm",
    "na_target_factor_original_only_cart",
    "unseen_key_level_rf",
    "unseen_class_rf",
    "unseen_key_level_rf_aligned",
}
DETERMINISTIC = [n for n, c in REFERENCE["cases"].items() if "error" not in c and n not in NOT_COPIED]
SCORES = {
    "true_prob": "true_prob",
    "normalized_gain": "gain",
    "relative_score": "gain",
    "risk_score": "gain",
    "symmetric_error": "error",
    "stabilised_relative_error": "error",
    "absolute_error": "error",
    "Predicted": "predicted",
}
K_DISEASE = ["age", "income", "education", "gender"]
K_OTHER = ["age", "education", "gender", "region"]


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_flags_equal_the_reference_record_by_record(name: str) -> None:
    case = REFERENCE["cases"][name]
    (original, released), options = call(case)
    result = gh.disclosure.rapid(original, released, random_state=1, **options)
    assert result.details["n_at_risk"] == case["n_at_risk"]
    assert result.details["n_total"] == case["n_total"]
    assert result.value == pytest.approx(case["rapid"], abs=1e-12)
    for metric, figure in case["metrics"].items():
        assert result.details[metric] == pytest.approx(figure, rel=1e-6)
    reference = pd.read_csv(FOLDER / case["records"])
    records = result.records.dropna(subset=["at_risk"])
    assert len(result.records) == len(original)
    assert (records["at_risk"].astype(bool).to_numpy() == reference["at_risk"].to_numpy()).all()
    for theirs, ours in SCORES.items():
        if theirs in reference:
            np.testing.assert_allclose(records[ours].to_numpy(float), reference[theirs], rtol=1e-6, atol=1e-6)


def test_what_stops_the_reference_gives_an_answer_here() -> None:
    found = {}
    for name in ("unseen_key_level_lm", "unseen_key_level_cart", "na_qi_original_only_lm", "unseen_class_cart"):
        (original, released), options = call(REFERENCE["cases"][name])
        result = gh.disclosure.rapid(original, released, **options)
        assert result.status == "ok" and result.details["n_total"] == len(original)
        assert result.warnings, "the reader must be told about levels the release does not have"
        found[name] = result
    with pytest.raises(gh.InputError, match="key level that the release does not have"):
        (original, released), options = call(REFERENCE["cases"]["unseen_key_level_lm"])
        gh.disclosure.rapid(original, released, unseen="error", **options)
    unseen = found["unseen_class_cart"].records
    diabetic = read("main_original.csv")["disease_status"] == "diabetic"
    assert (unseen.loc[diabetic, "true_prob"] == 0).all() and not unseen.loc[diabetic, "at_risk"].any()


def test_level_alignment_is_by_label_not_by_position() -> None:
    (original, released), options = call(REFERENCE["cases"]["unseen_key_level_rf_aligned"])
    values = [gh.disclosure.rapid(original, released, random_state=s, **options).value for s in range(5)]
    aligned, shifted = (REFERENCE["cases"][n]["rapid"] for n in ("unseen_key_level_rf_aligned", "unseen_key_level_rf"))
    assert abs(np.mean(values) - aligned) < abs(np.mean(values) - shifted)


# -- chance, thresholds, intervals, subgroups -----


@pytest.mark.parametrize(
    ("case", "moments", "grid"),
    [
        ("lm_income_symmetric_p10", "lm_income_symmetric_0.10", "threshold_grid_lm_income"),
        ("logit_smoker_RCS_marginal_0.3", "logit_smoker_RCS_marginal_0.3", "threshold_grid_logit_smoker"),
    ],
)
def test_chance_level_is_exact_and_agrees_with_permutations(case: str, moments: str, grid: str) -> None:
    (original, released), options = call(REFERENCE["cases"][case])
    result = gh.disclosure.rapid(original, released, **options)
    known = REFERENCE["permutation"][moments]
    assert result.baseline == result.details["chance"] == pytest.approx(known["null_mean_exact"], abs=1e-9)
    assert result.details["chance_sd"] == pytest.approx(known["null_sd_exact"], abs=1e-9)
    assert result.baseline == pytest.approx(known["mc_mean"], abs=3e-4)  # 9,999 permutations
    assert (
        result.details["adjusted"]
        == result.excess
        == pytest.approx((result.value - result.baseline) / (1 - result.baseline))
    )
    test = result.test(n_permutations=999)
    assert test.p_value == pytest.approx(known["p_value_B9999"], abs=0.03)
    assert test.p_normal == pytest.approx(known["p_value_B9999"], abs=0.01)
    scale = 100 if grid.endswith("income") else 1
    rows = REFERENCE["permutation"][grid]
    curve = result.curve(thresholds=[r["threshold"] / scale for r in rows])
    np.testing.assert_allclose(curve["rapid"], [r["observed"] for r in rows], atol=1e-12)
    np.testing.assert_allclose(curve["chance"], [r["null_mean"] for r in rows], atol=1e-9)
    half = (curve["chance_high"] - curve["chance"]).to_numpy()
    np.testing.assert_allclose(half, 1.959964 * np.array([r["null_sd"] for r in rows]), atol=1e-6)


def test_threshold_curve_and_subgroups() -> None:
    known = REFERENCE["threshold_curve"]
    (original, released), options = call(REFERENCE["cases"][known["case"]])
    result = gh.disclosure.rapid(original, released, **options)
    np.testing.assert_allclose(result.curve()["threshold"], known["tau"])
    np.testing.assert_allclose(result.curve()["rapid"], known["rapid"], atol=1e-12)
    groups = REFERENCE["subgroups"]
    assert result.details["by_class"] == pytest.approx(groups["by_class"])
    by_class = result.by_class()
    assert dict(zip(by_class["class"], by_class["value"], strict=True)) == pytest.approx(groups["by_class"])
    for column in ("education", "gender"):
        table = result.by(column)
        assert dict(zip(table[column], table["value"], strict=True)) == pytest.approx(groups[f"by_{column}"])


@pytest.mark.parametrize("row", REFERENCE["intervals"], ids=lambda r: f"{r['k']}of{r['n']}")
def test_intervals(row: dict[str, Any]) -> None:
    for method, function in (("wald", wald), ("wilson", wilson), ("clopper_pearson", clopper_pearson)):
        assert function(row["k"], row["n"], row["level"]) == pytest.approx(row[method], abs=1e-9)


def test_attribution_reproduces_the_reference_regressions() -> None:
    known = REFERENCE["attribution"]
    (original, released), options = call(REFERENCE["cases"][known["case"]])
    result = gh.disclosure.rapid(original, released, **options)
    grid = pd.read_csv(FOLDER / "attribution_grid.csv")
    for order, column, coefficients in (
        (3, "logodds3", "coef_three_way"),
        (2, "logodds2", "coef_two_way"),
        (1, "logodds1", "coef_main"),
    ):
        found = result.attribution(interactions=order, keys=["gender", "education", "age"], at={"age": [30, 50, 70]})
        np.testing.assert_allclose(found.grid["logodds"], grid[column], atol=1e-5)
        assert (found.grid["gender"].to_numpy() == grid["gender"].to_numpy()).all()
        assert found.coefficients == pytest.approx(known[coefficients], abs=1e-4)
    effects = result.attribution(interactions=1).effects
    reference = pd.read_csv(FOLDER / "attribution_effects.csv")
    np.testing.assert_allclose(effects["estimate"], reference["estimate"], atol=1e-6)
    np.testing.assert_allclose(effects["se"], reference["se"], atol=1e-4)
    assert list(effects["level"][:4]) == list(reference["level"][:4])


# -- forests -----


def assert_forest_mean(values: list[float], mean: float, sd: float) -> None:
    """Section 13's tolerance for the mean of ten seeds."""
    own = float(np.std(values, ddof=1))
    assert abs(np.mean(values) - mean) <= 3 * np.sqrt(sd**2 + own**2) / np.sqrt(10) + 0.005


@pytest.mark.parametrize(
    ("name", "keys", "target", "options"),
    [
        ("disease_RCS_marginal_0.3", K_DISEASE, "disease_status", {}),
        ("disease_RCS_conditional_1", K_DISEASE, "disease_status", {"score": "conditional", "tau": 1}),
        ("disease_NCE_0.5", K_DISEASE, "disease_status", {"score": "nce"}),
        ("smoker_RCS_marginal_0.3", K_OTHER, "smoker", {}),
        ("income_symmetric_0.10", K_OTHER, "income", {}),
        ("balance_symmetric_0.5", K_DISEASE, "balance", {"epsilon": 0.5}),
    ],
)
def test_forest_matches_the_reference_over_seeds(
    name: str, keys: list[str], target: str, options: dict[str, Any]
) -> None:
    pair = gh.Pair(read("main_original.csv"), read("main_synthetic.csv"), keys=keys, target=target)
    values = [gh.disclosure.rapid(pair, random_state=seed, **options).value for seed in range(10)]
    known = REFERENCE["random_forest"][name]
    assert_forest_mean(values, known["rapid_mean"], known["rapid_sd"])


def test_forest_on_the_papers_worked_example() -> None:
    known = expected("expected_appB.json")
    pair = gh.data.load("appendix_b").pair()
    results = [gh.disclosure.rapid(pair, random_state=seed) for seed in range(10)]
    assert_forest_mean([r.value for r in results], known["rf_10_seeds"]["mean"], known["rf_10_seeds"]["sd"])
    assert results[0].details["class_shares"] == pytest.approx(known["baseline"])
    assert gh.disclosure.rapid(pair, attackers="cart").value == pytest.approx(known["cart"]["rapid"])


@pytest.mark.parametrize("kappa", [0, 1, 5, 10, 50])
def test_forest_on_the_papers_simulation(kappa: int) -> None:
    known = expected("expected_simA.json")["stored_files"][f"kappa_{kappa}"]
    for block in known.values():
        pair = gh.Pair(
            read(f"simA_k{kappa}_original.csv"),
            read(f"simA_k{kappa}_synthetic.csv"),
            keys=block["keys"],
            target="disease_status",
        )
        values = [gh.disclosure.rapid(pair, random_state=seed).value for seed in range(10)]
        assert_forest_mean(values, block["rf"]["mean"], block["rf"]["sd"])
        assert gh.disclosure.rapid(pair, attackers="cart").value == pytest.approx(block["cart"]["rapid"], abs=1e-12)


@pytest.mark.parametrize("name", sorted(expected("expected_gbm.json")["cases"]))
def test_gradient_boosting(name: str) -> None:
    xgboost = pytest.importorskip("xgboost", reason="the gbm attacker needs the extra 'gbm'")
    known = expected("expected_gbm.json")
    case = known["cases"][name]
    found = gh.disclosure.rapid(
        read("main_original.csv"),
        read("main_synthetic.csv"),
        keys=case["keys"],
        target=case["target"],
        attackers="gbm",
        n_jobs=1,
        attacker_options={"gbm": {"tree_method": case["tree_method"]}},
    )
    slack = 0 if xgboost.__version__ == known["xgboost"] else 6
    assert abs(found.details["n_at_risk"] - case["n_at_risk"]) <= slack


def test_adult(shared: Path) -> None:
    """The paper's real-data example: third-party data, so it is never committed."""
    import polars as pl

    original = shared / "data" / "adult" / "adult_train.csv.gz"
    if not original.exists():
        pytest.skip("the Adult data are not here")
    tables = {
        "original": original,
        "holdout": shared / "data" / "adult" / "adult_holdout.csv.gz",
        "released": shared / "golden" / "rapid" / "adult_synthetic_cart_seed2025.csv.gz",
    }
    frames = {
        n: pl.read_csv(p, infer_schema_length=None).with_columns(pl.col(pl.String).fill_null("?"))
        for n, p in tables.items()
    }
    pair = gh.Pair(**frames, keys=[c for c in frames["released"].columns if c != "income"], target="income")
    result = gh.disclosure.rapid(pair, random_state=1)
    assert result.value == pytest.approx(0.725, abs=0.006)
    assert result.baseline == pytest.approx(0.494, abs=0.006)
    assert result.holdout == pytest.approx(0.7119, abs=0.006)
    assert result.details["chance_holdout"] == pytest.approx(0.4960, abs=0.006)
    with open(shared / "golden" / "rapid" / "expected_adult.json") as file:
        import json

        others = json.load(file)["other_attackers"]
    for attacker, known in others.items():
        assert gh.disclosure.rapid(pair, attackers=attacker).value == pytest.approx(known["rapid"], abs=1e-9)
