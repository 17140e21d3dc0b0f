"""Attackers against an independent implementation (flag for flag), and what the contract promises on odd data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from glasshouse.core.errors import InputError
from glasshouse.data.pair import Pair
from glasshouse.engines.models.attackers import Attack, attack
from glasshouse.engines.models.design import Design, design
from glasshouse.engines.models.model import fit, fit_and_predict

from . import rapid_cases as cases

ATTACKER = {"lm": "lm", "logit": "logit", "cart": "cart", "l1_logit": "l1"}
# documented behaviour of the reference that is not to be copied (specification, section 4)
NOT_COPIED = ("na_target_numeric_drop_lm", "na_target_factor_original_only_cart")


@pytest.fixture(scope="module")
def folder(golden: Path, request: pytest.FixtureRequest) -> Path:
    if (golden / "rapid" / "expected.json").exists():
        return golden / "rapid"
    return Path(request.getfixturevalue("shared")) / "golden" / "rapid"


def _own_share(result: Attack) -> np.ndarray:
    """The probability given to each record's own class."""
    shares = result.probabilities["original"]
    return shares[np.arange(len(shares)), result.truth["original"]]


def _deterministic(expected: dict) -> list[str]:
    return [
        name
        for name, case in expected["cases"].items()
        if "error" not in case and case["args"]["model_type"] != "rf" and name not in NOT_COPIED
    ]


def test_every_deterministic_reference_case_flag_for_flag(folder: Path) -> None:
    expected = cases.load(folder)
    names = _deterministic(expected)
    assert len(names) > 30
    for name in names:
        case = expected["cases"][name]
        arguments = case["args"]
        pair = cases.pair_of(folder, case)
        kind = "logit" if "multinomial" in arguments["model_type"] else ATTACKER[arguments["model_type"]]
        options = {"penalty": arguments["lambda"]} if "lambda" in arguments else {}
        strategy = {"constant": "constant", "median": "median"}.get(arguments.get("num_na_strategy", ""), "auto")
        if name.startswith("na_target_numeric") and strategy == "constant":
            options["constant"] = arguments.get("num_constant_value", 0)
        result = attack(pair, attacker=kind, missing_target=strategy, **options)
        record = pd.read_csv(folder / case["records"])
        truth = result.truth["original"]
        if result.is_numeric:
            predicted = result.predicted["original"]
            y = truth.copy()
            if strategy == "constant":
                y[np.isnan(y)] = arguments.get("num_constant_value", 0)
            elif strategy == "median":
                y[np.isnan(y)] = np.nanmedian(y)
            keep = ~np.isnan(y)
            epsilon = arguments["num_epsilon"] / (100 if arguments.get("num_epsilon_scale") == "percent" else 1)
            metric = arguments.get("num_error_metric", "symmetric")
            flags = cases.number_flags(y[keep], predicted[keep], metric, epsilon, arguments.get("num_delta", 0.01))
            np.testing.assert_allclose(predicted[keep], record["Predicted"], rtol=1e-6, atol=1e-6, err_msg=name)
        else:
            method = arguments.get("cat_eval_method", "RCS_marginal")
            shares = result.probabilities["original"]
            flags = cases.class_flags(shares, truth, method, arguments.get("cat_tau", 0.3))
            column = next(c for c in record if c.startswith("true_prob"))
            np.testing.assert_allclose(_own_share(result), record[column], rtol=1e-5, atol=1e-6, err_msg=name)
        assert int(flags.sum()) == case["n_at_risk"], name
        if "at_risk" in record:
            np.testing.assert_array_equal(flags, record["at_risk"].to_numpy(bool), err_msg=name)
        coefficients = case.get("model", {}).get("coefficients")
        if (
            isinstance(coefficients, dict)
            and kind in ("lm", "logit")
            and "(Intercept)" in coefficients
            and not name.startswith("na_")
        ):
            own = result.model.fitted.coefficients()
            for term, value in coefficients.items():
                if isinstance(value, (int, float)):
                    assert own[term] == pytest.approx(value, rel=1e-4, abs=1e-6), (name, term)


def test_gradient_boosting_reference(folder: Path) -> None:
    pytest.importorskip("xgboost")
    original, released = (cases.read(folder, f"main_{t}.csv") for t in ("original", "synthetic"))
    for name, case in cases.load(folder, "expected_gbm.json")["cases"].items():
        pair = Pair(original, released, keys=case["keys"], target=case["target"])
        result = attack(pair, attacker="gbm", tree_method=case["tree_method"], n_jobs=1)
        truth = result.truth["original"]
        if result.is_numeric:
            flags = cases.number_flags(truth, result.predicted["original"], "symmetric", 0.1)
        else:
            flags = cases.class_flags(result.probabilities["original"], truth, "RCS_marginal", 0.3)
            assert _own_share(result).mean() == pytest.approx(case["mean_p_true"], abs=1e-4)
        assert int(flags.sum()) == case["n_at_risk"], name


def _close(own: list[float], mean: float, sd: float) -> None:
    margin = 3 * np.sqrt(sd**2 + np.var(own, ddof=1)) / np.sqrt(10) + 0.005
    assert abs(np.mean(own) - mean) < margin, (np.mean(own), mean, margin)


def test_forest_agrees_with_the_reference_over_seeds(folder: Path) -> None:
    original, released = (cases.read(folder, f"main_{t}.csv") for t in ("original", "synthetic"))
    keys = {
        "disease": ("disease_status", ["age", "income", "education", "gender"]),
        "smoker": ("smoker", ["age", "education", "gender", "region"]),
        "income": ("income", ["age", "education", "gender", "region"]),
        "balance": ("balance", ["age", "income", "education", "gender"]),
    }
    for name, case in cases.load(folder)["random_forest"].items():
        short, method, threshold = (
            name.split("_", 1)[0],
            name.split("_", 1)[1].rsplit("_", 1)[0],
            name.rsplit("_", 1)[1],
        )
        target, chosen = keys[short]
        pair = Pair(original, released, keys=chosen, target=target)
        own = []
        for seed in range(10):
            result = attack(pair, random_state=seed)
            truth = result.truth["original"]
            if result.is_numeric:
                flags = cases.number_flags(truth, result.predicted["original"], method, float(threshold))
            else:
                flags = cases.class_flags(result.probabilities["original"], truth, method, float(threshold))
            own.append(float(flags.mean()))
        _close(own, case["rapid_mean"], case["rapid_sd"])


def test_forest_agrees_on_the_appendix_example(folder: Path) -> None:
    original, released = (cases.read(folder, f"appB_{t}.csv", {}) for t in ("original", "synthetic"))
    pair = Pair(original, released, keys=["age", "education", "gender"], target="disease_status")
    own = [
        float((cases.gain(a.probabilities["original"], a.truth["original"]) > 0.3).mean())
        for a in (attack(pair, random_state=seed) for seed in range(10))
    ]
    reference = cases.load(folder, "expected_appB.json")["rf_10_seeds"]
    _close(own, reference["mean"], reference["sd"])


def test_forest_agrees_over_strengths_of_dependence(folder: Path) -> None:
    stored = cases.load(folder, "expected_simA.json")["stored_files"]
    for kappa, sets in stored.items():
        k = kappa.removeprefix("kappa_")
        original, released = (cases.read(folder, f"simA_k{k}_{t}.csv") for t in ("original", "synthetic"))
        for case in sets.values():
            pair = Pair(original, released, keys=case["keys"], target="disease_status")
            own = []
            for seed in range(4):
                a = attack(pair, random_state=seed)
                own.append(float((cases.gain(a.probabilities["original"], a.truth["original"]) > 0.3).mean()))
            assert abs(np.mean(own) - case["rf"]["mean"]) < 3 * case["rf"]["sd"] / 2 + 0.008, (kappa, case["keys"])
            a = attack(pair, attacker="cart")
            flags = cases.gain(a.probabilities["original"], a.truth["original"]) > 0.3
            assert flags.mean() == pytest.approx(case["cart"]["rapid"]), (kappa, case["keys"])


@pytest.mark.study
def test_forest_agrees_on_adult(shared: Path) -> None:
    folder = shared / "golden" / "rapid"
    reference = cases.load(folder, "expected_adult.json")
    original = pd.read_csv(shared / "data" / "adult" / "adult_train.csv.gz").fillna("?")
    released = pd.read_csv(folder / reference["release"]).fillna("?")
    pair = Pair(original, released, keys=reference["arguments"]["quasi_identifiers"], target="income")
    for seed in (1, 2):
        a = attack(pair, random_state=seed)
        rate = float((cases.gain(a.probabilities["original"], a.truth["original"]) > 0.3).mean())
        assert abs(rate - reference["runs"][seed - 1]["rapid"]) < 0.006


def test_unseen_key_level_is_aligned_by_label_and_counted(folder: Path) -> None:
    case = cases.load(folder)["cases"]["unseen_key_level_rf_aligned"]
    pair = cases.pair_of(folder, case)
    rates = []
    for seed in range(5):
        result = attack(pair, random_state=seed)
        rates.append(
            cases.number_flags(result.truth["original"], result.predicted["original"], "symmetric", 0.1).mean()
        )
    assert abs(np.mean(rates) - case["rapid"]) < 0.02
    north = (cases.read(folder, "main_original.csv")["region"] == "north").sum()
    assert result.unseen["original"] == north
    assert any("key level" in note for note in result.notes)
    for attacker in ("cart", "lm"):
        assert np.isfinite(attack(pair, attacker=attacker).predicted["original"]).all()


def test_class_absent_from_the_release_gets_probability_zero(folder: Path) -> None:
    case = cases.load(folder)["cases"]["unseen_class_rf"]
    pair = cases.pair_of(folder, case)
    for attacker in ("rf", "cart", "logit", "marginal"):
        result = attack(pair, attacker=attacker, random_state=1)
        absent = result.classes.index("diabetic")
        assert (result.probabilities["original"][:, absent] == 0).all()
        np.testing.assert_allclose(result.probabilities["original"].sum(axis=1), 1)
    flags = cases.class_flags(
        attack(pair, random_state=1).probabilities["original"], result.truth["original"], "RCS_marginal", 0.3
    )
    assert abs(int(flags.sum()) - case["n_at_risk"]) < 15


# -- the contract on small and odd data ------------------------------------------------------------------------------


def _toy(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)

    def one() -> pd.DataFrame:
        age = rng.integers(20, 60, n)
        region = rng.choice(["n", "s", "e"], n)
        y = np.where(age + rng.normal(0, 5, n) > 40, "yes", "no")
        return pd.DataFrame({"age": age, "region": region, "y": y, "income": age * 10.0 + rng.normal(0, 3, n)})

    return one(), one()


@pytest.mark.parametrize("attacker", ["rf", "cart", "logit", "l1", "marginal", "rf_sklearn"])
def test_probabilities_are_a_distribution(attacker: str) -> None:
    original, released = _toy()
    result = attack(Pair(original, released, keys=["age", "region"], target="y"), attacker=attacker, random_state=3)
    shares = result.probabilities["original"]
    assert shares.shape == (200, 2) and (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    floor = 0.45 if attacker == "marginal" else 0.75
    assert (result.predicted["original"] == result.truth["original"]).mean() > floor


@pytest.mark.parametrize("attacker", ["rf", "cart", "lm", "marginal"])
def test_numbers_are_predicted(attacker: str) -> None:
    original, released = _toy()
    result = attack(
        Pair(original, released, keys=["age", "region"], target="income"), attacker=attacker, random_state=3
    )
    assert result.is_numeric and result.predicted["original"].shape == (200,)
    error = np.abs(result.predicted["original"] - result.truth["original"]).mean()
    assert error < (150 if attacker == "marginal" else 30)


def test_any_estimator_is_an_attacker() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeRegressor

    original, released = _toy()
    pair = Pair(original, released, keys=["age", "region"], target="y")
    result = attack(pair, attacker=LogisticRegression(max_iter=500), random_state=1)
    assert (result.predicted["original"] == result.truth["original"]).mean() > 0.8
    assert set(result.importance) == {"age", "region"}
    numbers = attack(pair, attacker=DecisionTreeRegressor(), target="income", random_state=1)
    assert numbers.is_numeric


def test_same_seed_same_answer_and_remembered_on_the_pair() -> None:
    original, released = _toy()
    pair = Pair(original, released, keys=["age", "region"], target="y")
    first = attack(pair, random_state=5, n_jobs=1)
    assert attack(pair, random_state=5, n_jobs=2) is first
    again = attack(Pair(original, released, keys=["age", "region"], target="y"), random_state=5, n_jobs=2)
    np.testing.assert_array_equal(first.probabilities["original"], again.probabilities["original"])
    np.testing.assert_array_equal(
        first.model.probabilities(design(pair, ["age", "region"], "original")), first.probabilities["original"]
    )


def test_row_order_does_not_matter() -> None:
    original, released = _toy()
    shuffled = released.sample(frac=1, random_state=1)
    for attacker in ("rf", "cart"):
        for target in ("y", "income"):
            one, two = (
                attack(Pair(original, r, keys=["age", "region"], target=target), attacker=attacker, random_state=2)
                for r in (released, shuffled)
            )
            np.testing.assert_allclose(
                one.predicted["original"].astype(float), two.predicted["original"].astype(float), rtol=1e-9
            )


def test_missing_values() -> None:
    original, released = _toy()
    released.loc[:20, "region"] = None
    original.loc[5, "y"] = None
    pair = Pair(original, released, keys=["age", "region"], target="y")
    result = attack(pair, attacker="cart")
    assert result.classes == ["no", "yes", "missing"]
    assert _own_share(result)[5] == 0
    assert "missing" in design(pair, ["region"], "original").levels[0]
    released.loc[3, "age"] = np.nan
    pair = Pair(original, released, keys=["age", "region"], target="y")
    with pytest.raises(InputError, match="'age' has missing values"):
        attack(pair, attacker="cart")
    flagged = attack(pair, attacker="cart", numeric_key_na="median+flag")
    assert flagged.model.names == ("age", "age_missing", "region")
    released.loc[:9, "income"] = np.nan
    pair = Pair(original, released, keys=["region"], target="income")
    assert attack(pair, attacker="lm").n_training == 190
    assert attack(pair, attacker="lm", missing_target="median").n_training == 200


def test_one_record_constant_key_and_one_class() -> None:
    original, released = _toy(30)
    one = released.head(1).copy()
    for attacker in ("rf", "cart", "logit", "marginal", "l1"):
        shares = attack(Pair(original, one, keys=["age", "region"], target="y"), attacker=attacker, random_state=1)
        np.testing.assert_allclose(shares.probabilities["original"].sum(axis=1), 1)
    for attacker in ("rf", "cart", "lm", "marginal"):
        found = attack(Pair(original, one, keys=["age"], target="income"), attacker=attacker, random_state=1)
        np.testing.assert_allclose(found.predicted["original"], one["income"].iloc[0])
    flat = released.assign(age=30)
    for attacker in ("rf", "cart", "logit", "l1"):
        pair = Pair(original.assign(age=30), flat, keys=["age"], target="y")
        shares = attack(pair, attacker=attacker, random_state=1).probabilities["original"]
        np.testing.assert_allclose(shares[:, 1], (flat["y"] == "yes").mean(), atol=0.05)


def test_many_classes_and_many_levels() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    label = rng.integers(0, 10_000, n)
    places, place = np.unique(label, return_inverse=True)
    ages, age = np.unique(rng.integers(18, 90, n), return_inverse=True)
    codes = np.column_stack([place, age]).astype(np.int32)
    table = Design(("place", "age"), ("categorical", "numeric"), codes, ([f"p{v:05d}" for v in places], ages))
    y = label % 400
    for attacker, options in (("rf", {"trees": 5}), ("cart", {})):
        (shares,), model = fit_and_predict(attacker, table, y, [table], n_classes=400, random_state=0, **options)
        assert shares.shape == (n, 400)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert set(model.importance()) == {"place", "age"}
    two = fit("logit", table, label % 2, n_classes=2)
    assert (two.predict(table) == label % 2).mean() > 0.99
    number = fit("lm", table, (label % 7).astype(float))
    assert np.abs(number.predict(table) - label % 7).mean() < 0.01
    with pytest.raises(InputError, match="columns"):
        fit("l1", table, label % 2, n_classes=2)


def test_permutation_importance_finds_the_key_that_matters() -> None:
    original, released = _toy()
    pair = Pair(original, released, keys=["age", "region"], target="y")
    result = attack(pair, random_state=1)
    assert result.importance["age"] > 0.8
    found = result.model.permutation_importance(
        design(pair, pair.keys, "released"), pair.codes("y").of("released"), random_state=1
    )
    assert found["age"] > found["region"]
    leaves = result.model.leaves(design(pair, pair.keys, "original"))
    assert leaves.shape == (500, 200) and leaves.dtype == np.int32


def test_bad_input_is_told_in_a_sentence() -> None:
    original, released = _toy(30)
    pair = Pair(original, released, keys=["age", "region"], target="y")
    with pytest.raises(InputError, match="did you mean 'logit'"):
        attack(pair, attacker="logot")
    with pytest.raises(InputError, match="no option 'ntree'"):
        attack(pair, ntree=10, random_state=1)
    with pytest.raises(InputError, match="predicts numbers"):
        attack(pair, attacker="lm")
    with pytest.raises(InputError, match="predicts classes"):
        attack(pair, attacker="logit", target="income")
    with pytest.raises(InputError, match="also a key"):
        attack(pair, target="age")
    with pytest.raises(InputError, match="needs keys"):
        attack(pair, keys=[])
