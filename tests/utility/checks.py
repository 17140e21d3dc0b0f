"""What both golden data sets must reproduce, written once."""

from __future__ import annotations

from typing import Any

import pytest

import glasshouse as gh
from glasshouse.core.result import Result

EXACT = {"rel": 1e-9, "abs": 1e-12}
ITERATIVE = {"rel": 1e-5, "abs": 1e-10}


def same(found: Any, expected: float, tolerance: dict[str, float], what: str) -> None:
    assert found == pytest.approx(expected, **tolerance), what


def univariate(pair: gh.Pair, expected: dict) -> None:
    u = gh.utility
    numeric = [
        (u.wasserstein, ("wasserstein_exact", "wasserstein_grid1000_type7", "iqr_x")),
        (u.kolmogorov_smirnov, ("ks_stat", "ks_p_asymp")),
        (u.tail_fidelity, ("tail_upper", "tail_lower", "tail_qq_both")),
        (
            u.ci_proximity,
            (
                "mean_x",
                "mean_y",
                "ci_overlap_union",
                "ci_overlap_karr",
                "ci_overlap_avgwidth",
                "rel_error",
                "ci_proximity",
            ),
        ),
    ]
    categorical = [
        (u.hellinger, ("hellinger",)),
        (u.total_variation, ("tv",)),
        (u.jensen_shannon, ("jsd_bits", "jsd_nats")),
    ]
    for kind, measures in (("numeric", numeric), ("categorical", categorical)):
        for measure, names in measures:
            result = measure(pair, replicates=5)
            for column, figures in expected["univariate"].items():
                if figures["type"] == kind:
                    for name in names:
                        same(result.details[column][name], figures[name], EXACT, f"{measure.name} {column} {name}")
    aggregate = expected["aggregate"]
    same(u.hellinger(pair, replicates=0).value, aggregate["hellinger_mean"], EXACT, "hellinger_mean")
    for measure, name in (
        (u.hellinger, "hellinger_utility"),
        (u.tail_fidelity, "tail_utility"),
        (u.ci_proximity, "ci_proximity_mean"),
        (u.wasserstein, "wasserstein_rumap_utility"),
    ):
        same(measure(pair, replicates=0).details[name], aggregate[name], EXACT, name)


def tables(pair: gh.Pair, expected: dict) -> None:
    for order, key in ((1, "oneway"), (2, "twoway")):
        found = gh.utility.table_utility(pair, order=order, replicates=0).details["tables"]
        for row in expected["synthpop_1.9-3"][key]:
            name = ":".join(part.split(".", 1)[1] for part in row["table"].split(":"))
            for figure, value in row.items():
                if figure not in ("table", "_row"):
                    same(found[name][figure], value / 100 if figure == "PO50" else value, EXACT, f"{name} {figure}")
    single = expected["table_stats"]
    found = gh.utility.table_utility(pair, columns=single["vars"], missing="drop", replicates=0).details
    for figure in ("df", "VW", "FT", "pMSE", "S_pMSE", "JSD_bits", "MabsDD", "WMabsDD", "dBhatt"):
        same(found[figure], single[figure], EXACT, figure)
    contingency = expected["contingency"]
    result = gh.utility.contingency_fidelity(pair, columns=contingency["vars"], replicates=0)
    for name, value in contingency["pairwise_tv"].items():
        same(result.details["pairwise_tv"][name], value, EXACT, name)
    same(result.value, contingency["utility"], EXACT, "contingency utility")
    associations = gh.utility.association(pair, columns=contingency["vars"], replicates=0)
    for name, both in expected["cramer"]["cramers_v"].items():
        assert associations.details["cramers_v"][name] == pytest.approx(both, **EXACT), name
    same(associations.value, expected["cramer"]["mean_abs_diff"], EXACT, "cramer")


def whole_distributions(pair: gh.Pair, expected: dict) -> None:
    wanted = expected["multivariate_numeric"]
    columns = wanted["vars"]
    energy = gh.utility.energy_distance(pair, columns=columns, permutations=0)
    for name in ("energy_V", "energy_U", "energy_U_clipped", "energy_normalized", "energy_utility"):
        same(energy.details[name], wanted[name], {"rel": 1e-9, "abs": 1e-13}, name)
    for kernel in ("gaussian", "rq"):
        found = gh.utility.mmd(pair, columns=columns, kernel=kernel, permutations=0).details
        same(found["mmd_sigma_median"], wanted["mmd_sigma_median"], EXACT, "sigma")
        for form in ("unbiased", "biased"):
            same(
                found[f"mmd2_{kernel}"][form],
                wanted[f"mmd2_{kernel}"][form],
                {"rel": 1e-9, "abs": 1e-13},
                f"{kernel} {form}",
            )
    if "copula_mean_cvm" in wanted:
        copula = gh.utility.copula_fidelity(pair, columns=columns, replicates=0)
        assert copula.details["copula_cvm_grid50"] == pytest.approx(wanted["copula_cvm_grid50"], **EXACT)
        same(copula.value, wanted["copula_utility"], EXACT, "copula")
        association = gh.utility.association(pair, columns=columns, missing="complete", replicates=0).details
        for kind in ("pearson_absdiff", "spearman_absdiff"):
            same(association[kind], wanted[kind], EXACT, kind)


def regression(result: Result, expected: dict) -> None:
    for term, figures in expected["terms"].items():
        for name, value in figures.items():
            same(result.details["terms"][term][name], value, ITERATIVE, f"{term} {name}")
    for name in ("mean_ci_overlap_avgwidth", "mean_ci_overlap_karr", "mean_abs_std_bias", "sig_agreement_rate"):
        same(result.details[name], expected[name], ITERATIVE, name)


def subgroups(pair: gh.Pair, expected: dict) -> None:
    wanted = expected["subgroup"]
    result = gh.utility.subgroup_utility(
        pair, by=wanted["group"], measure="energy_distance", options={"columns": wanted["vars"], "permutations": 0}
    )
    for group, figures in wanted["per_group"].items():
        assert result.details["per_group"][group] == pytest.approx(figures, **EXACT), group
    for name in ("overall", "worst", "ratio"):
        same(result.details[name], wanted[name], EXACT, name)
