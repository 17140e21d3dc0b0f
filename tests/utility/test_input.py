"""Bad input gives a sentence that says what to do; what does not apply says why. Formulas are read, never run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import glasshouse as gh
from glasshouse.utility.figures import Figure
from glasshouse.utility.predictive import formula


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "g": rng.choice(list("abc"), 60),
            "two words": rng.normal(size=60),
            "k": 3 * rng.integers(0, 2, 60),
            "v": rng.exponential(size=60),
        }
    )
    return gh.Pair(table, table.sample(frac=1, random_state=1), keys=["g"], target="v")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("wasserstein", {"columns": ["g"]}, "not numeric"),
        ("hellinger", {"columns": ["nope"]}, "not shared"),
        ("hellinger", {"columns": ["g", "g"]}, "twice"),
        ("table_utility", {"order": 4}, "one-, two- or three-way"),
        ("table_utility", {"missing": "forget"}, "no rule"),
        ("association", {"method": "kendall"}, "'spearman' or 'pearson'"),
        ("tail_fidelity", {"percentile": 20}, "between 50 and 100"),
        ("ci_overlap", {"estimator": "mode"}, "not known"),
        ("mmd", {"kernel": "laplace"}, "not known"),
        ("mmd", {"kernel": "rq", "features": 10}, "Gaussian"),
        ("pmse", {"model": "svm"}, "not known"),
        ("pmse", {"null": "magic"}, "not known"),
        ("pmse", {"model": "cart", "null": "expectation"}, "permutation"),
        ("subgroup_utility", {"measure": "disco"}, "utility measure"),
        ("subgroup_utility", {"measure": "helinger"}, "hellinger"),
        ("tstr", {"predictors": ["v"]}, "also a predictor"),
        ("tstr", {"test_rows": [999]}, "positions between"),
        ("model_quality", {"folds": 1}, "at least 2"),
        ("regression_fidelity", {"formula": "v"}, "one '~'"),
        ("regression_fidelity", {"formula": "v ~ nope"}, "not shared"),
        ("regression_fidelity", {"formula": "v ~ log(g)"}, "needs a number"),
        ("regression_fidelity", {"formula": "v ~ exec(g)"}, "not known"),
        ("regression_fidelity", {"formula": "v ~ __import__('os')"}, "not"),
        ("regression_fidelity", {"formula": "v ~ g", "family": "binomial"}, "is a number"),
    ],
)
def test_mistakes_are_explained(pair, name, options, message):
    with pytest.raises(gh.InputError, match=message):
        getattr(gh.utility, name)(pair, **options)


def test_what_does_not_apply_says_why(pair):
    for name, options in (
        ("gower_paired", {}),
        ("pmse", {"null": "pairs"}),
        ("pmse", {"maxorder": 1, "max_params": 2}),
        ("pca", {"columns": ["v"]}),
        ("contingency_fidelity", {}),
    ):
        result = getattr(gh.utility, name)(pair, **options)
        assert result.status == "not_applicable" and len(result.reason) > 20, name
    words = pd.DataFrame({"g": ["a", "b"] * 10})
    assert gh.utility.wasserstein(words, words).status == "not_applicable"


@pytest.mark.parametrize(
    "name",
    [
        "wasserstein",
        "hellinger",
        "table_utility",
        "ci_proximity",
        "association",
        "pmse",
        "energy_distance",
        "missingness",
        "tail_fidelity",
        "outliers",
    ],
)
def test_constant_and_empty_columns_give_no_nan(name):
    x = pd.DataFrame({"c": [1.0] * 30, "e": [np.nan] * 30, "g": ["a"] * 29 + ["b"], "v": np.arange(30.0)})
    y = x.assign(v=x["v"] * 2)
    result = getattr(gh.utility, name)(x, y)
    assert "NaN" not in result.to_json()


def test_formulas_are_understood(pair):
    parsed = formula.parse("v ~ C(g)*k + log(v) + `two words`**2 + 0", pair)
    assert [":".join(f.text for f in t) for t in parsed.terms] == ["C(g)", "k", "C(g):k", "log(v)", "`two words`**2"]
    assert not parsed.intercept and parsed.columns == ("v", "g", "k", "two words")
    with pytest.raises(gh.InputError, match="take away the intercept"):
        formula.parse("v ~ g - k", pair)


def test_formula_without_intercept_keeps_every_level(pair):
    terms = gh.utility.regression_fidelity(pair, formula="v ~ g - 1").details["terms"]
    assert list(terms) == ["g[T.a]", "g[T.b]", "g[T.c]"]


def test_interactions_and_many_classes(pair):
    assert len(gh.utility.regression_fidelity(pair, formula="v ~ g*k").details["terms"]) == 6
    several = gh.utility.regression_fidelity(pair, formula="g ~ v").details
    assert several["family"] == "binomial" and len(several["terms"]) == 6


def test_figures_of_columns_are_numbers_with_names(pair):
    result = gh.utility.wasserstein(pair, columns=["v"])
    figure = result.details["v"]
    assert isinstance(figure, Figure) and float(figure) == figure["wasserstein_exact"]
    assert "iqr_x" in figure and figure.get("nothing") is None and set(figure.keys()) == set(iter(figure))
    assert result.to_dict()["details"]["columns"]["v"]["iqr_x"] == figure["iqr_x"]
    assert list(result.to_frame()["column"]) == ["v"]


def test_charts_draw_aggregates_only(pair):
    from glasshouse.core.charts import kinds

    skip = ("gower_paired",)
    for name in dir(gh.utility):
        if name in skip:
            continue
        result = getattr(gh.utility, name).run(pair)
        if result.status != "ok":
            continue
        assert kinds(name), f"{name} has no chart"
        for kind in kinds(name):
            text = result.plot(kind).to_json()
            assert len(text) < 400_000, f"{name} {kind}"


@pytest.mark.parametrize("name", ["wasserstein", "outliers", "missingness", "regression_fidelity", "subgroup_utility"])
def test_charts_draw_several_releases(pair, name):
    from glasshouse.core.charts import kinds

    several = pair.replace(released=[pair.frame("released"), pair.frame("original")])
    result = getattr(gh.utility, name).run(several)
    assert result.status == "ok" and len(result.replicates) == 2
    for kind in kinds(name):
        assert '"values": []' not in result.plot(kind).to_json(), kind
