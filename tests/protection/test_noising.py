"""Noise: means, covariances, exact moments, bounds, zeros; averages of the reference."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.engines.workers import threads
from glasshouse.protection.held import held
from glasshouse.protection.noise import disturbed, moments, orthogonal, reflected, root
from tests.conftest import ROOT, converter
from tests.protection.conftest import golden_case

P: Any = gh.protection
# the reference's noise is a percentage of the standard deviation in "additive" and of the variance in "correlated"
CASES = {
    "additive_20": ("independent", 0.2),
    "additive_150": ("independent", 1.5),
    "correlated_20": ("correlated", np.sqrt(0.2)),
    "correlated_150": ("correlated", np.sqrt(1.5)),
    "correlated2_d0.1": ("kept_moments", 0.1),
    "correlated2_d0.5": ("kept_moments", 0.5),
}
METHODS = ("correlated", "independent", "kept_moments")
REPETITIONS = 200


def people(n: int = 300, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    pay = rng.lognormal(3, 0.5, n)
    return pl.DataFrame({"pay": pay, "tax": 0.3 * pay + rng.normal(0, 2, n), "age": rng.integers(18, 80, n)})


def covariance(table: Any, *names: str) -> np.ndarray:
    return np.cov(np.array([held(table).numbers(name) for name in names]))


# -- golden ------------------------------------------------------------------------------------------------------------


def test_every_case_of_the_reference_is_here(golden_protection: Path) -> None:
    assert {file.stem for file in golden_protection.glob("an_*.json")} == {f"an_{name}" for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_means_and_covariances_are_those_of_the_reference(name: str, golden_protection: Path) -> None:
    """But for "correlated2", which promises to keep covariances and multiplies them by 1 - d^2: ours keeps them."""
    args, expected, table = golden_case(golden_protection, f"an_{name}")
    method, scale = CASES[name]
    values = np.column_stack([held(table).numbers(column) for column in args["variables"]])
    of = moments(values)
    before = np.array(expected["cov_original"])
    np.testing.assert_allclose(of.covariance, before, rtol=1e-9)
    np.testing.assert_allclose(of.means, expected["mean_original"], rtol=1e-9)
    rng = np.random.default_rng(0)
    made = [disturbed(values, rng.standard_normal(values.shape), of, scale, method) for _ in range(REPETITIONS)]
    means = np.array([one.mean(axis=0) for one in made])
    spreads = np.array([np.cov(one.T) for one in made])
    diagonal = np.eye(len(before), dtype=bool)
    theory = {
        "independent": np.where(diagonal, before * (1 + scale**2), before),
        "correlated": before * (1 + scale**2),
        "kept_moments": before,
    }[method]
    error = spreads.std(axis=0, ddof=1) / np.sqrt(REPETITIONS)
    assert (np.abs(means.mean(axis=0) - of.means) < 4 * means.std(axis=0, ddof=1) / np.sqrt(REPETITIONS)).all()
    assert (np.abs(spreads.mean(axis=0) - theory) < 4 * error).all()
    assert (np.abs(np.array(expected["mean_after"]) - of.means) < 4 * np.array(expected["se_mean_after"])).all()
    theirs, off = np.array(expected["cov_after_mean"]), 4 * np.array(expected["cov_after_se"])
    if method == "kept_moments":
        assert (np.abs(theirs - np.where(diagonal, before, before * (1 - scale**2))) < off).all()
        agreeing = diagonal
    else:
        agreeing = np.ones_like(diagonal)
    assert (np.abs(theirs - spreads.mean(axis=0)) < np.hypot(off, 4 * error))[agreeing].all()


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_what_goes_beyond_a_bound_comes_back() -> None:
    values = np.array([-3.0, 0.0, 4.0, 11.0, 27.0, np.nan])
    np.testing.assert_array_equal(reflected(values, 0, None), [3, 0, 4, 11, 27, np.nan])
    np.testing.assert_array_equal(reflected(values, None, 10), [-3, 0, 4, 9, -7, np.nan])
    np.testing.assert_array_equal(reflected(values, 0, 10), [3, 0, 4, 9, 7, np.nan])
    np.testing.assert_array_equal(reflected(values, None, None), values)


def test_roots_of_singular_matrices() -> None:
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    half = root(matrix)
    np.testing.assert_allclose(half @ half, matrix, atol=1e-12)
    np.testing.assert_allclose(root(np.diag([4.0, 0.0]), -0.5), np.diag([0.5, 0.0]))


def test_draws_are_made_orthogonal() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 2)) * [1e6, 1e-3] + [1e9, 5]
    made = orthogonal(rng.standard_normal((50, 2)), values)
    np.testing.assert_allclose(made.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.cov(made.T), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.corrcoef(made.T, values.T)[:2, 2:], 0, atol=1e-7)


# -- properties --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [0.1, 0.7])
def test_exact_noise_keeps_sample_moments_to_rounding(method: str, scale: float) -> None:
    table = people()
    made = P.add_noise(table, ["pay", "tax"], scale, method, exact=True)
    before, after = covariance(table, "pay", "tax"), covariance(made, "pay", "tax")
    factor = {"correlated": np.full((2, 2), 1 + scale**2), "independent": 1 + scale**2 * np.eye(2),
              "kept_moments": np.ones((2, 2))}[method]  # fmt: skip
    np.testing.assert_allclose(after, before * factor, rtol=1e-9)
    np.testing.assert_allclose(made.details["covariance_ratio"], factor, rtol=1e-9)
    for name in ("pay", "tax"):
        assert made.table[name].mean() == pytest.approx(table[name].mean(), rel=1e-12)
    assert made.table["age"].equals(table["age"]) and made.cells == 600


def test_constant_and_collinear_columns() -> None:
    table = people().with_columns(twice=2 * pl.col("pay"), same=pl.lit(7.5))
    for exact in (False, True):
        made = P.add_noise(table, ["pay", "twice", "same"], 0.5, exact=exact).table
        assert made["same"].equals(table["same"])
        np.testing.assert_allclose(made["twice"], 2 * made["pay"], rtol=1e-6)
    made = P.add_noise(table, ["pay", "twice", "same"], 0.5, "independent").table
    assert np.corrcoef(made["pay"], made["twice"])[0, 1] < 0.95


def test_missing_stays_missing_and_covariances_come_from_complete_records() -> None:
    table = people().with_columns(
        pay=pl.when(pl.int_range(300) % 5 > 0).then("pay"), tax=pl.when(pl.int_range(300) % 3 > 0).then("tax")
    )
    made = P.add_noise(table, ["pay", "tax"], 0.4, "kept_moments", exact=True)
    for name in ("pay", "tax"):
        assert made.table[name].is_null().equals(table[name].is_null())
    whole = table["pay"].is_not_null() & table["tax"].is_not_null()
    before, after = (covariance(t.filter(whole), "pay", "tax") for t in (table, made.table))
    np.testing.assert_allclose(after, before, rtol=1e-9)
    assert any(
        "the 160 of 300 records that are complete in pay and tax; only theirs are exact" in n for n in made.notes
    )


def test_bounds_and_zeros_and_whole_numbers() -> None:
    table = people().with_columns(debt=pl.when(pl.int_range(300) % 2 == 0).then("pay").otherwise(0.0))
    plain = P.add_noise(table, "debt", 1.0)
    assert plain.table["debt"].min() < 0
    made = P.add_noise(table, "debt", 1.0, bounds={"debt": {"low": 0}})
    assert made.table["debt"].min() >= 0 and made.details["bias"]["debt"] > 0
    np.testing.assert_allclose(made.table["debt"], plain.table["debt"].abs(), rtol=1e-12)
    assert any("Bounds moved the mean of 'debt' by" in note for note in made.notes)
    made = P.add_noise(table, "debt", 1.0, leave_zeros=True)
    assert ((made.table["debt"] == 0) == (table["debt"] == 0)).all()
    assert any("Zeros were left alone" in note for note in made.notes)
    made = P.add_noise(table, "age", 0.5, bounds={"age": {"low": 17.5, "high": 80}})
    assert made.table["age"].dtype == pl.Int64 and made.table["age"].min() >= 18 and made.table["age"].max() <= 80
    assert made.details["unchanged"]["age"] == 300 - made.cells
    assert "age held whole numbers and was rounded after the noise." in made.notes


def test_the_bias_of_bounds_leaves_out_zeros_that_are_restored() -> None:
    pay = np.where(np.arange(400) % 2, 0.0, np.linspace(1, 1000, 400))
    given: dict[str, Any] = {"columns": "pay", "scale": 0.5, "leave_zeros": True}
    free = gh.protection.add_noise(pl.DataFrame({"pay": pay}), **given).table["pay"].to_numpy()
    made = gh.protection.add_noise(pl.DataFrame({"pay": pay}), bounds={"pay": {"low": 0}}, **given)
    truth = float((made.table["pay"].to_numpy() - free).mean())
    assert truth > 0 and made.details["bias"]["pay"] == pytest.approx(truth, rel=1e-12)


def test_the_order_of_rows_and_columns_and_other_columns_change_nothing() -> None:
    table = people()
    order = np.random.default_rng(2).permutation(300)
    for method in METHODS:
        made = P.add_noise(table, ["pay", "tax"], 0.3, method).table
        assert P.add_noise(table[order], ["pay", "tax"], 0.3, method).table.equals(made[order])
        assert P.add_noise(table, ["tax", "pay"], 0.3, method).table.equals(made)
        assert P.add_noise(table.select("tax", "pay"), ["pay", "tax"], 0.3, method).table["tax"].equals(made["tax"])
        assert not P.add_noise(table, ["pay", "tax"], 0.3, method, random_state=1).table.equals(made)


@pytest.mark.parametrize("library", ["lazy", "pandas", "pyarrow"])
def test_every_library_gets_the_same(library: str, request: pytest.FixtureRequest) -> None:
    table = people().with_columns(pay=pl.when(pl.int_range(300) != 7).then("pay"))
    given = converter(library, request)(table)
    made = P.add_noise(given, ["pay", "age"], 0.3)
    assert held(made).frame.equals(P.add_noise(table, ["pay", "age"], 0.3).table, null_equal=True)
    assert held(given).frame.equals(table), "the caller's own table is as it was"


def test_a_recipe_runs_the_operations_on_numbers_again() -> None:
    table = people().with_columns(sex=pl.Series(["f", "m", "m"] * 100))
    given: dict[str, dict[str, Any]] = {
        "add_noise": {"columns": ["pay"], "scale": 0.5, "bounds": {"pay": {"low": 0}}, "exact": True},
        "swap_ranks": {"columns": ["tax", "age"], "correlation": 0.9, "tails": 0.1, "tail_values": "swapped"},
        "pram": {"columns": ["sex"], "matrix": {"f": {"f": 0.5, "m": 0.5}, "m": {"m": 1}}, "exact": True},
        "microaggregate": {"columns": ["pay", "age"], "k": 4, "by": ["sex"], "round": True},
    }
    made = table
    for name, arguments in given.items():
        made = getattr(P, name)(made, **arguments).table
    steps = [P.Step(name, arguments) for name, arguments in given.items()]
    recipe = P.Recipe.from_toml(P.Recipe(steps).to_toml())
    assert P.apply(table, recipe).table.equals(made)


BYTES = """
import hashlib
import numpy as np, polars as pl
import glasshouse as gh
rng = np.random.default_rng(0)
x = rng.normal(size=(6000, 4)) @ rng.normal(size=(4, 4))
table = pl.DataFrame({c: x[:, i] for i, c in enumerate("abcd")}).with_columns(r=pl.Series(rng.choice(["n", "s"], 6000)))
p = gh.protection
made = [
    p.add_noise(table, list("abcd"), 0.3, "kept_moments", exact=True), p.swap_ranks(table, ["a", "b"]),
    p.pram(table, "r", keep=0.6), p.microaggregate(table, ["a", "b"], 5, by="r"),
]
for one in made:
    print(hashlib.sha256(one.table.write_csv().encode()).hexdigest())
"""


def test_the_same_bytes_on_one_thread_and_on_eight() -> None:
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
    settings = {**os.environ, **dict.fromkeys(names, "8"), "PYTHONPATH": str(ROOT / "src")}
    eight = subprocess.run(
        [sys.executable, "-c", BYTES], env=settings, capture_output=True, text=True, check=True
    ).stdout
    with threads(1), contextlib.redirect_stdout(io.StringIO()) as said:
        exec(BYTES, {})
    assert len(eight.splitlines()) == 4 and eight == said.getvalue()


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": 0.0}, "scale=0.0 must be above 0"),
        ({"scale": 1.0, "method": "kept_moments"}, "scale=1.0 must be above 0 and below 1 with kept moments"),
        ({"columns": "sex"}, "column 'sex' holds"),
        ({"bounds": {"age": {"low": 0}}}, "bounds names 'age', which is none of columns"),
        ({"bounds": {"pay": {"low": 5, "high": 5}}}, "bounds of column 'pay' must be"),
        ({"bounds": {"pay": {"lower": 5}}}, "bounds of column 'pay' must be"),
        ({"bounds": {"pay": {"high": 10}}}, "column 'pay' has .* values beyond its bounds already"),
        ({"columns": ["pay", "never"]}, "too few records \\(0\\) are complete in never and pay"),
        ({"method": "ROMM"}, "argument 'method' of add_noise takes 'correlated' or 'independent' or 'kept_moments'"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: dict[str, Any], message: str) -> None:
    table = people().with_columns(sex=pl.lit("f"), never=pl.lit(None, pl.Float64))
    with pytest.raises(gh.InputError, match=message):
        P.add_noise(table, **{"columns": "pay", **arguments})


def test_exact_moments_need_enough_records() -> None:
    with pytest.raises(
        gh.InputError, match="exact=True needs at least 5 complete records for 2 columns, and there are 4"
    ):
        P.add_noise(people(4), ["pay", "tax"], exact=True)
    P.add_noise(people(5), ["pay", "tax"], exact=True)


def test_values_below_zero_are_told_where_there_were_none() -> None:
    table = pl.DataFrame({"gain": [0.0] * 60 + [500.0] * 40, "change": [-1.0, 1.0] * 50})
    made = P.add_noise(table, ["gain", "change"], scale=0.5)
    below = int((made.table["gain"] < 0).sum())
    told = [note for note in made.notes if "below 0" in note]
    assert below and told == [
        f'{below} values of \'gain\' are below 0 now, where none was; bounds={{"gain": {{"low": 0}}}} throws them '
        "back, and moves the mean."
    ]
    bounded = P.add_noise(table, "gain", scale=0.5, bounds={"gain": {"low": 0}})
    assert bounded.table["gain"].min() >= 0 and not any("below 0" in note for note in bounded.notes)
