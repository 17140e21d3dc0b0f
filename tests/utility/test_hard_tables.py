"""Tables that real releases bring: empty and constant columns, one record, infinities, wide files, numbers stored as
text. Each gives a number or a sentence, never a raw exception, a NaN or a warning of the arithmetic.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import glasshouse as gh
from glasshouse.utility import nulls
from glasshouse.utility.figures import of_columns, small
from glasshouse.utility.joint import associations

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
MEASURES = [name for name in dir(gh.utility) if name != "gower_paired"]


def table(seed: int, n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "g": rng.choice(list("abc"), n),
            "h": rng.choice(list("xy"), n),
            "v": rng.normal(size=n),
            "k": rng.integers(0, 50, n) * 1.5,
            "t": rng.normal(size=n),
        }
    )


def infinite(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    values = frame[column].to_numpy().copy()
    values[:2], values[2] = np.inf, -np.inf
    return frame.assign(**{column: values})


X, Y = table(0), table(1)
WORDS = [f"w{i}" for i in range(len(X))]
CASES = {
    "empty number": (X.assign(z=np.nan), Y.assign(z=np.nan)),
    "empty text": (X.assign(z=pd.Series([None] * 60, dtype=object)), Y.assign(z=pd.Series([None] * 60, dtype=object))),
    "empty in the release": (X.assign(z=np.arange(60.0)), Y.assign(z=np.nan)),
    "empty target": (X.assign(t=np.nan), Y.assign(t=np.nan)),
    "constant": (X.assign(z=1.0, c="a"), Y.assign(z=1.0, c="a")),
    "constant target": (X.assign(t=1.0), Y.assign(t=1.0)),
    "one record": (X.head(1), Y.head(1)),
    "one released": (X, Y.head(1)),
    "one original": (X.head(1), Y),
    "infinite": (infinite(X, "v"), infinite(Y, "v")),
    "infinite target": (infinite(X, "t"), infinite(Y, "t")),
    "too large to square": (X.assign(v=X["v"] * 1e300), Y.assign(v=Y["v"] * 1e300)),
    "every record its own level": (X.assign(z=WORDS), Y.assign(z=WORDS[::-1])),
}
FEWER = {"replicates": 5, "draws": 5, "permutations": 5, "n_perm": 5, "n_boot": 20, "repeats": 1}


def quickly(name: str, pair: gh.Pair) -> gh.Result:
    measure = getattr(gh.utility, name)
    return measure(pair, **{k: v for k, v in FEWER.items() if k in measure.options})


@pytest.mark.parametrize("case", CASES)
def test_hard_tables_give_a_number_or_a_sentence(case):
    x, y = CASES[case]
    pair = gh.Pair(x, y, keys=["g", "h"], target="t")
    for name in MEASURES:
        result = quickly(name, pair)
        assert "NaN" not in result.to_json() and "Infinity" not in result.to_json(), name
        assert result.status == "ok" or len(result.reason) > 20, name


@pytest.mark.parametrize("name", ["table_utility", "association", "pmse", "copula_fidelity", "energy_distance", "mmd"])
def test_an_empty_column_is_left_out_by_name(name):
    full, holed = quickly(name, gh.Pair(X, Y)), quickly(name, gh.Pair(X.assign(z=np.nan), Y.assign(z=np.nan)))
    assert holed.value == pytest.approx(full.value)
    assert any("'z'" in w and "left out" in w for w in holed.warnings)


@pytest.mark.parametrize("name", ["table_utility", "association", "pmse", "wasserstein", "outliers", "ci_proximity"])
def test_infinite_values_are_counted_and_the_column_left_out(name):
    pair = gh.Pair(infinite(X, "v"), infinite(Y, "v"))
    result = quickly(name, pair)
    assert result.status == "ok" and any("'v' has 6 infinite values" in w for w in result.warnings)
    asked = getattr(gh.utility, name)(pair, columns=["v", "k"])
    assert asked.status == "not_applicable" and "'v' has 6 infinite values" in asked.reason


def test_regression_without_a_target_value_says_so():
    pair = gh.Pair(X.assign(t=np.nan), Y.assign(t=np.nan), keys=["g"], target="t")
    result = gh.utility.regression_fidelity(pair)
    assert result.status == "not_applicable" and "'t' has no value" in result.reason


def wide(seed: int, n: int, columns: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({f"c{j}": rng.normal(size=n) if j % 2 else rng.choice(list("abc"), n) for j in range(columns)})


def test_wide_tables_say_when_their_band_is_coarser(monkeypatch):
    monkeypatch.setattr(nulls, "NULL_WORK", 500)
    pair = gh.Pair(wide(0, 50, 12), wide(1, 50, 12))
    for name in ("table_utility", "association", "copula_fidelity"):
        result = getattr(gh.utility, name)(pair)
        assert 10 <= result.details["null_replicates"] < 30 and any("null band from" in w for w in result.warnings), (
            name
        )
    small_pair = gh.Pair(wide(0, 50, 4), wide(1, 50, 4))
    assert gh.utility.association(small_pair).details["null_replicates"] == 30


def test_numbers_stored_as_text_do_not_flood_the_logit():
    rng = np.random.default_rng(0)
    x, y = (
        pd.DataFrame({"age": rng.normal(40, 9, 200).round(3).astype(str), "g": rng.choice(list("ab"), 200)})
        for _ in range(2)
    )
    result = gh.utility.pmse(gh.Pair(x, y, schema={"age": "categorical"}))
    assert result.status == "ok" and result.details["km1"] <= 160
    assert any("'age'" in w and "most frequent" in w for w in result.warnings)


def test_propensity_measures_share_their_fits(monkeypatch):
    from glasshouse.engines.models.linear import regression

    calls = itertools.count()
    real = regression.logistic
    monkeypatch.setattr(regression, "logistic", lambda *a, **k: (next(calls), real(*a, **k))[1])
    pair = gh.Pair(X, Y)
    for name in ("pmse", "specks", "po50", "u_statistic"):
        getattr(gh.utility, name)(pair, n_perm=7)
    assert next(calls) == 8  # one for the data, seven for the null


def test_cramers_v_by_definition_and_for_very_many_levels():
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 5, (2, 300)).astype(np.int32)
    data = associations.Mixed(("a", "b"), codes, (None, None), (5, 5), None)
    both = (codes >= 0).all(axis=0)
    counts = np.zeros((5, 5))
    np.add.at(counts, (codes[0, both], codes[1, both]), 1)
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    v = np.sqrt(((counts - expected) ** 2 / expected).sum() / counts.sum() / 4)
    assert associations.associations(data)[0] == pytest.approx(v, rel=1e-12)
    sparse = associations.Mixed(("a", "b"), codes, (None, None), (5_000, 5_000), None)
    for corrected in (False, True):
        once, again = (associations.associations(d, corrected=corrected)[0] for d in (data, sparse))
        assert again == pytest.approx(once, rel=1e-12)


def test_sentences_for_a_copy_hold_no_rounding_errors():
    pair = gh.Pair(X, X.sample(frac=1, random_state=3), keys=["g", "h"], target="t")
    for name in MEASURES:
        sentence = quickly(name, pair).sentence
        assert not any(f"e-{k}" in sentence for k in range(10, 40)), f"{name}: {sentence}"
    one = gh.utility.energy_distance(pair, columns=["v"], permutations=5).sentence
    assert "of 1 numeric column " in one
    worst = gh.utility.subgroup_utility(pair, by="g", measure="energy_distance", options={"permutations": 5}).sentence
    assert " a energy" not in worst
    assert (small(3e-17), small(0.25), of_columns(1, "numeric"), of_columns(2, "numeric")) == (
        "0",
        "0.25",
        "1 numeric column",
        "2 numeric columns",
    )


def test_models_better_than_the_original_are_no_alarm():
    result = gh.utility.tstr(gh.data.load("health").pair())
    assert result.value > 1 and result.details["utility"] == 1 and result.verdict == "pass"
    assert not result.details["copy_alarm"] and not result.details["lost"]


def test_golden_names_of_other_packages(case_pairs, case_expected):
    expected = case_expected["case_synA"]
    pair = case_pairs["A"]
    income = expected["univariate"]["income"]
    transport = gh.utility.wasserstein(pair, replicates=0).details["income"]
    steps = gh.utility.kolmogorov_smirnov(pair, replicates=0).details["income"]
    assert transport["wasserstein_pot"] == pytest.approx(income["wasserstein_pot"], rel=1e-9)
    assert transport["energy_scipy_sqrt"] == pytest.approx(income["energy_scipy_sqrt"], rel=1e-9)
    assert steps["cvm_stat"] == pytest.approx(income["cvm_stat"], rel=1e-8)
    wanted = expected["multivariate_numeric"]
    found = gh.utility.energy_distance(pair, columns=wanted["vars"], permutations=0).details
    assert found["energy_V_dcor"] == pytest.approx(wanted["energy_V_dcor"], rel=1e-9)
    single = expected["table_stats"]
    found = gh.utility.table_utility(pair, columns=single["vars"], missing="drop", replicates=0).details
    for name in ("pearson_chi2_on_original_support", "df_pearson", "n_cells_new"):
        assert found[name] == pytest.approx(single[name]), name


@pytest.mark.parametrize("levels", [2, 3])
def test_a_target_that_a_key_decides_costs_a_good_release_nothing(levels: int) -> None:
    """Coefficients have no end there, and how far a fit went towards it is rounding: intervals are equally wide."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tables = []
        for _ in range(2):
            key = rng.integers(0, levels, 600)
            tables.append(pd.DataFrame({"g": np.array(list("uvw"))[key], "t": np.where(key == 0, "yes", "no")}))
        pair = gh.Pair(*tables, keys=["g"], target="t")
        found.append(gh.utility.regression_fidelity(pair, draws=19).value)
    assert min(found) > 0.8
