"""Every reference value of the formal side, and the unsound answers of other packages as what must not happen."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from glasshouse.formal import Risk, approximate, gaussian, lower_bounds

FOLDER = Path(__file__).resolve().parent.parent / "golden" / "dp_risk"
ROWS = json.loads((FOLDER / "golden.json").read_text())["rows"]
OTHERS = json.loads((FOLDER / "risksyn_values.json").read_text())["rows"]


def quiet(factory: Any, **inputs: float) -> Risk:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return factory(**inputs)


def answer(kind: str, i: dict[str, Any]) -> dict[str, Any]:
    match kind:
        case "from_err_rates" | "from_success_at_baseline" | "from_advantage_at_baseline" | "from_advantage":
            return {"rho": quiet(getattr(Risk, kind), **i).rho}
        case "zcdp_tpr_at_fpr":
            return {"tpr": Risk.from_rho(i["rho"]).max_tpr(i["fpr"])}
        case "zcdp_advantage":
            return {"advantage": Risk.from_rho(i["rho"]).advantage}
        case "gdp_tpr_at_fpr":
            return {"tpr": gaussian(i["mu"]).max_tpr(i["fpr"])}
        case "gdp_advantage":
            return {"advantage": gaussian(i["mu"]).advantage}
        case "gdp_bayes_error":
            g = gaussian(i["mu"])
            return {"bayes_error": g.bayes_error(i["prior"]), "max_accuracy": g.bayes_accuracy(i["prior"])}
        case "adp_tpr_at_fpr":
            return {"tpr": approximate(i["epsilon"], i["delta"]).max_tpr(i["fpr"])}
        case "adp_advantage":
            return {"advantage": approximate(**i).advantage}
        case "zcdp_to_delta":
            return {"delta": Risk.from_rho(i["rho"]).delta(i["epsilon"])}
        case "zcdp_to_epsilon":
            return {"epsilon": Risk.from_rho(i["rho"]).epsilon(i["delta"])}
        case "adp_to_zcdp":
            return {"rho": Risk.from_epsilon_delta(**i).rho}
        case "audit_lower_bound":
            bounds = lower_bounds(**i)
            names = ("tpr_interval", "fpr_interval", "epsilon_lower", "rho_lower", "mu_lower")
            return {name: bounds[name] for name in names}
    raise AssertionError(f"no test for golden kind {kind}")


@pytest.mark.parametrize("row", ROWS, ids=[f"{r['id']}-{r['kind']}" for r in ROWS])
def test_reference_value(row: dict[str, Any]) -> None:
    found = answer(row["kind"], row["input"])
    assert found.keys() == row["expected"].keys()
    for name, expected in row["expected"].items():
        tolerance = {"abs": row["tol_abs"], "rel": 0} if "tol_abs" in row else {"rel": row["tol_rel"], "abs": 0}
        assert found[name] == pytest.approx(expected, **tolerance), name


@pytest.mark.parametrize("row", [r for r in ROWS if r["kind"] == "from_advantage_at_baseline"], ids=lambda r: r["id"])
def test_warning_of_the_multiplicative_factor(row: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Risk.from_advantage_at_baseline(**row["input"])
    assert bool(caught) == row["warns"]
    if caught:
        assert f"{row['multiplier']:.1f}x" in str(caught[0].message)


@pytest.mark.parametrize("row", [r for r in ROWS if r["kind"] == "zcdp_to_delta"], ids=lambda r: r["id"])
def test_the_exact_conversion_is_never_above_the_usual_one(row: dict[str, Any]) -> None:
    risk, epsilon = Risk.from_rho(row["input"]["rho"]), row["input"]["epsilon"]
    exact = risk.delta(epsilon, conversion="exact")
    assert exact <= risk.delta(epsilon)
    assert exact >= gaussian(risk.mu).delta(epsilon)  # a Gaussian mechanism with this rho exists
    if row["exact_region_delta"] is not None:
        assert exact == pytest.approx(row["exact_region_delta"], rel=1e-8)


@pytest.mark.parametrize(
    "row", OTHERS, ids=lambda r: f"{r['method']}-{'-'.join(f'{v:g}' for v in r['input'].values())}"
)
def test_no_larger_rho_than_the_exact_one_where_risksyn_is_unsafe(row: dict[str, Any]) -> None:
    if row["exact_rho"] is None:  # no finite rho meets it, and risksyn answers one all the same
        with pytest.raises(ValueError):
            quiet(getattr(Risk, row["method"]), **row["input"])
        return
    rho = quiet(getattr(Risk, row["method"]), **row["input"]).rho
    assert rho <= row["exact_rho"] * (1 + 1e-12)
    assert rho == pytest.approx(row["exact_rho"], rel=1e-6)
    if row["risksyn_0_1_1_rho"] > row["exact_rho"] * (1 + 1e-6):
        assert rho < row["risksyn_0_1_1_rho"]


def test_small_leakage_is_not_answered_with_none() -> None:
    """riskcal 1.5.1 answers TPR = FPR at small rho and FPR, where a Gaussian mechanism already reaches more."""
    for rho, fpr in ((0.001, 0.01), (0.018, 0.001), (0.0001, 0.01), (0.001, 1e-9)):
        assert Risk.from_rho(rho).max_tpr(fpr) > gaussian((2 * rho) ** 0.5).max_tpr(fpr) > fpr


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0, 4.0])
def test_randomised_response_refutes_orders_below_one(epsilon: float) -> None:
    """It is rho-zCDP with rho = eps tanh(eps/2) and reaches FPR = FNR = 1/(1+e^eps), beyond riskcal 1.4.0's bound."""
    import math

    rho = epsilon * math.tanh(epsilon / 2)
    rate = 1 / (1 + math.exp(epsilon))
    assert Risk.from_rho(rho).max_tpr(rate) == pytest.approx(1 - rate, rel=1e-9)
    assert Risk.from_rho(rho).max_tpr(rate) >= 1 - rate
