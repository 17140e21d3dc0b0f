"""Individual risk: reference cases, the exact integral, the log-linear model, households, bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad

import glasshouse as gh
from glasshouse import disclosure
from glasshouse.core.errors import InputError
from glasshouse.disclosure.identity.loglinear import expected_counts, proportional_fit
from glasshouse.disclosure.identity.risk_formulas import (
    expected_inverse,
    franconi,
    franconi_exact,
    global_threshold,
    household_risk,
)

from .sdcmicro_cases import MODELS, RISKS, case, close, figure

NAMES = {"rk": "risk", "hier_risk": "cluster_risk"}


@pytest.mark.parametrize("name", RISKS)
def test_risks_of_sdcmicro(shared: Path, name: str) -> None:
    table, arguments, expected, tolerance = case(shared, name)
    method = "franconi_exact" if arguments.get("method") == "exact" else "franconi"
    result = disclosure.individual_risk(
        table, keys=arguments["keys"], weights=arguments["weight"], cluster=arguments.get("household"), method=method
    )
    records = result.record_arrays()
    for label, value in expected.items():
        if isinstance(value, list):
            wanted = np.array([np.nan if v is None else v for v in value], float)
            usable = np.isfinite(wanted) & ((wanted >= 0) & (wanted <= 1) | (label in ("fk", "Fk")))
            close(np.asarray(records[NAMES.get(label, label)])[usable], wanted[usable], tolerance)
        else:
            figure(result.details[label], value, label, tolerance)


@pytest.mark.parametrize("name", MODELS)
def test_models_of_sdcmicro(shared: Path, name: str) -> None:
    """sdcMicro puts the fitted sample mean where the formula has the population mean: scale="sample"."""
    table, arguments, expected, tolerance = case(shared, name)
    options = {
        "keys": arguments["keys"],
        "weights": arguments["weight"],
        "method": "loglinear",
        "model": arguments["method"],
    }
    result = disclosure.individual_risk(table, scale="sample", **options)
    for label, value in expected.items():
        figure(result.details[label], value, label, tolerance)
    if name.endswith("default"):
        published = disclosure.individual_risk(table, **options)
        assert published.details["gr1"] == pytest.approx(0.0019, abs=5e-5)
        assert published.details["gr2"] == pytest.approx(0.0257, abs=5e-5)


@pytest.mark.parametrize("f", [1, 1.3, 2, 2.5, 3, 7, 29.5, 31, 60, 150, 4000])
@pytest.mark.parametrize("p", [1e-6, 0.001, 0.1, 0.49, 0.5, 0.9, 0.999999])
def test_the_exact_risk_is_the_integral(f: float, p: float) -> None:
    def integrand(x: float) -> float:
        return (1 - x) ** (f - 1) / (1 - (1 - p) * x)

    peak = [0.9, 0.99, 0.999, 0.9999] if p < 0.01 else []
    value, _ = quad(integrand, 0, 1, epsabs=0, epsrel=1e-12, limit=500, points=[*peak, min(0.5, 5 / f)])
    assert franconi_exact(np.array([f]), np.array([f / p]))[0] == pytest.approx(p * value, rel=1e-8)


def test_exact_risk_where_the_reference_explodes() -> None:
    """sdcMicro's alternating series gives -3.5e9 for f = 60, p = 0.5."""
    assert franconi_exact(np.array([60.0]), np.array([120.0]))[0] == pytest.approx(0.008403, abs=1e-6)
    f = np.repeat(np.arange(1.0, 400), 40)
    p = np.tile(np.geomspace(1e-8, 1, 40), 399)
    risk = franconi_exact(f, f / p)
    assert ((risk > 0) & (risk <= 1 / f + 1e-15)).all()


def test_the_form_in_use_is_near_the_exact_one() -> None:
    p = np.array([0.001, 0.01, 0.1, 0.5])
    for f, limit in ((3.0, 0.04), (10.0, 0.003)):
        exact = franconi_exact(np.full(4, f), f / p)
        assert (np.abs(franconi(np.full(4, f), f / p) / exact - 1) < limit).all()


def test_fractional_class_sizes_have_a_risk() -> None:
    """With alpha below 1 sdcMicro returns 0 for 1 < f < 2."""
    between = franconi(np.array([1.0, 1.5, 2.0]), np.array([10.0, 15.0, 20.0]))
    assert between[0] > between[1] > between[2] > 0


def test_without_population_the_risk_is_one_over_f() -> None:
    result = disclosure.individual_risk(pl.DataFrame({"k": ["a", "a", "b"]}), keys=["k"])
    assert result.records["risk"].to_list() == [0.5, 0.5, 1.0] and result.value == pytest.approx(2 / 3)
    whole = disclosure.individual_risk(pl.DataFrame({"k": ["a", "a", "b"], "w": [1.0] * 3}), keys=["k"], weights="w")
    assert whole.records["risk"].to_list() == pytest.approx([0.5, 0.5, 1.0])


def test_weights_below_one_do_not_shrink_the_population_below_the_file() -> None:
    result = disclosure.individual_risk(pl.DataFrame({"k": ["a", "a"], "w": [0.5, 0.5]}), keys=["k"], weights="w")
    assert result.value == 0.5 and any("at least as large" in w for w in result.warnings)


def test_households() -> None:
    np.testing.assert_allclose(
        household_risk(np.array([0.1, 0.2, 1.0, 0.0]), np.array([7, 7, 9, 9])), [0.28, 0.28, 1.0, 1.0]
    )
    table = pl.DataFrame({"k": ["a", "b", "b", "b"], "h": [1, 1, None, 2]})
    records = disclosure.individual_risk(table, keys=["k"], cluster="h").record_arrays()
    np.testing.assert_allclose(records["cluster_risk"], [1, 1, 1 / 3, 1 / 3])


def test_threshold_for_a_global_risk() -> None:
    """Cutting all risks at 0.2 gives a mean of 0.2 - too much for 0.15; cutting at 0.1 gives 0.1."""
    assert global_threshold(np.array([0.1, 0.2, 0.9]), np.array([1, 1, 1]), 0.15) == 0.1
    assert global_threshold(np.array([0.1, 0.2]), np.array([1, 1]), 0.5) is None
    assert global_threshold(np.array([0.3, 0.4]), np.array([1, 1]), 0.1) == 0.0


def test_poisson_mixture_of_class_sizes() -> None:
    """E(1 / (f + X)), X Poisson, by summation."""
    from scipy.stats import poisson

    for f in (1.0, 2.0, 5.0, 40.0):
        for v in (1e-12, 0.01, 1.0, 30.0, 2000.0):
            j = np.arange(0, int(v + 40 * np.sqrt(v) + 40))
            wanted = (poisson.pmf(j, v) / (f + j)).sum()
            assert expected_inverse(np.array([f]), np.array([v]))[0] == pytest.approx(wanted, rel=1e-9)


def test_loglinear_main_effects_are_the_product_of_margins() -> None:
    rng = np.random.default_rng(0)
    codes, index = np.unique(rng.integers(0, 3, (100, 2)), axis=0, return_inverse=True)
    sizes = np.bincount(index.ravel()).astype(float)
    product = expected_counts(codes, sizes, sizes, "default", (), 0.1)
    count = np.zeros((3, 3))
    count[tuple(codes.T)] = sizes
    np.testing.assert_allclose(product, proportional_fit(count, [(0,), (1,)], np.ones((3, 3)))[tuple(codes.T)])
    np.testing.assert_allclose(expected_counts(codes, sizes, sizes, "IPF", [(0, 1)], 0.1), sizes)


def test_interactions_are_named_by_key() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({c: rng.integers(0, 5, 300) for c in "abc"})
    options = {"keys": ["a", "b", "c"], "method": "loglinear", "sampling_fraction": 0.1}
    plain, linked = (
        disclosure.individual_risk(table, **options),
        disclosure.individual_risk(table, interactions=[("a", "b")], **options),
    )
    assert plain.details["tau2"] != linked.details["tau2"]
    assert 0 < plain.details["tau1"] <= plain.details["tau2"] <= plain.details["n_uniques"]


def test_missing_keys_are_wildcards_unless_said_otherwise() -> None:
    table = pl.DataFrame({"a": [1, 2, None], "home": [1, 2, None]})
    assert disclosure.individual_risk(table, keys=["a"]).records["risk"].to_list() == pytest.approx([0.5, 0.5, 1 / 3])
    dropped = disclosure.individual_risk(table, keys=["a"], missing="drop", cluster="home")
    assert dropped.records["risk"].to_list() == [1, 1, None] and dropped.records["cluster_risk"].to_list() == [
        1,
        1,
        None,
    ]


@pytest.mark.parametrize("name", ["individual_risk", "attacker_risk", "population_uniqueness"])
def test_a_synthetic_file_is_not_told_that_its_records_are_people(name: str) -> None:
    example = gh.data.load("health")
    measure = getattr(gh.disclosure, name)
    options = {"sampling_fraction": 0.1} if name == "population_uniqueness" else {}
    synthetic = gh.Pair(example.original, example.released, keys=list(example.keys))
    said = measure(synthetic, **options).sentence
    assert said.startswith("Were the records of the released table people") and "belong to nobody" in said
    perturbed = gh.Pair(example.original, example.original, keys=list(example.keys), row_paired=True)
    for pair, more in ((perturbed, {}), (synthetic, {"table": "original"})):
        assert "Were the records" not in measure(pair, **options, **more).sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"method": "model"}, "choose one of franconi"),
        ({"method": "loglinear"}, "needs the sampling fraction"),
        ({"method": "loglinear", "sampling_fraction": 2}, r"sampling_fraction must be in \(0, 1\]"),
        ({"method": "loglinear", "sampling_fraction": 0.1, "model": "x"}, "choose one of default"),
        ({"method": "loglinear", "sampling_fraction": 0.1, "interactions": [("k", "z")]}, "'z', which is no key"),
        ({"scale": "x"}, "'population' or 'sample'"),
        ({"max_global_risk": 0}, "between 0 and 1"),
        ({"weights": "zero"}, "2 zero values"),
        ({"weights": "gap"}, "1 missing and 0 negative"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments: dict, sentence: str) -> None:
    table = pl.DataFrame({"k": ["a", "b", "b"], "zero": [0.0, 0.0, 2.0], "gap": [None, 1.0, 1.0]})
    with pytest.raises(InputError, match=sentence):
        disclosure.individual_risk(table, keys=["k"], **arguments)
