"""Examples small enough to check by hand."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import glasshouse as gh
from glasshouse.utility.joint import table_statistics
from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.means import overlaps
from glasshouse.utility.predictive.models import auc


@pytest.fixture(scope="module")
def toy(golden):
    return json.loads((golden / "utility" / "toy.json").read_text())


@pytest.fixture(scope="module")
def numbers(toy):
    return gh.Pair(pd.DataFrame({"v": toy["X"]}), pd.DataFrame({"v": toy["Y"]}))


@pytest.fixture(scope="module")
def letters(toy):
    return gh.Pair(
        pd.DataFrame({"v": toy["cat"]["X"]}), pd.DataFrame({"v": toy["cat"]["Y"]}), schema={"v": "categorical"}
    )


def test_numbers(toy, numbers):
    u = gh.utility
    assert u.wasserstein(numbers).details["v"] == pytest.approx(toy["wasserstein"])
    assert u.kolmogorov_smirnov(numbers).value == pytest.approx(toy["ks"])
    raw = u.energy_distance(numbers, standardise=False, permutations=0).details
    assert (raw["energy_V"], raw["energy_U"]) == pytest.approx((toy["energy_raw"]["V"], toy["energy_raw"]["U"]))
    assert raw["scipy_energy"] == pytest.approx(toy["scipy_energy_raw"])
    scaled = u.energy_distance(numbers, permutations=0).details
    assert (scaled["energy_V"], scaled["energy_U"]) == pytest.approx((toy["energy_std"]["V"], toy["energy_std"]["U"]))
    found = u.mmd(numbers, permutations=0).details
    assert found["mmd_sigma_median"] == pytest.approx(toy["mmd_gaussian_std"]["sigma"])
    assert found["mmd2_gaussian"] == pytest.approx({k: toy["mmd_gaussian_std"][k] for k in ("unbiased", "biased")})
    proximity = u.ci_proximity(numbers, replicates=0).details["v"]
    for name in ("overlap_union", "overlap_karr"):
        assert proximity[f"ci_{name}"] == pytest.approx(toy[name])
    assert (proximity["ci_x"], proximity["ci_y"]) == (pytest.approx(toy["ci_x"]), pytest.approx(toy["ci_y"]))
    assert float(proximity) == pytest.approx(toy["ci_proximity"])


def test_letters(toy, letters):
    u, wanted = gh.utility, toy["cat"]
    assert u.total_variation(letters, replicates=0).value == pytest.approx(wanted["tv"])
    assert u.hellinger(letters, replicates=0).value == pytest.approx(wanted["hellinger"])
    assert u.jensen_shannon(letters, replicates=0).details["v"]["jsd_nats"] == pytest.approx(wanted["jsd_nats"])
    table = u.table_utility(letters, order=1, replicates=0).details
    for name in ("VW", "df", "S_pMSE", "pMSE", "FT", "MabsDD", "WMabsDD", "dBhatt"):
        assert table[name] == pytest.approx(wanted[name]), name
    assert table["PO50"] == pytest.approx(wanted["PO50"] / 100)


def test_saturated_logit_is_the_table_statistic(case_pairs):
    """Propensity with one categorical predictor gives exactly the pMSE of its one-way table."""
    for column in ("age_group", "education"):
        table = gh.utility.table_utility(case_pairs["B"], order=1, columns=[column], replicates=0).details
        model = gh.utility.pmse(case_pairs["B"], columns=[column]).details
        assert model["pMSE"] == pytest.approx(table["pMSE"], rel=1e-9)
        assert model["pmse_ratio"] == pytest.approx(table["S_pMSE"], rel=1e-9)
        assert (model["SPECKS"], model["U"]) == pytest.approx((table["SPECKS"], table["U"]))


def test_corrected_standardisation_of_jsd(case_pairs):
    for table in gh.utility.table_utility(case_pairs["A"], replicates=0).details["tables"].values():
        if table["S_VW"] < 3:
            assert table["S_JSD_corrected"] == pytest.approx(table["S_VW"], rel=0.05)
            assert table["S_JSD"] / table["S_JSD_corrected"] == pytest.approx(2 / np.log(2) / (4 * np.log(2)), rel=1e-9)


def test_quantiles_are_type_seven():
    rng = np.random.default_rng(1)
    for n in (5, 20, 501):
        values = rng.integers(0, 30, n).astype(float)
        levels, counts = np.unique(values, return_counts=True)
        at = np.linspace(0, 1, 37)
        assert distances.quantiles(counts.astype(float), levels, at, n) == pytest.approx(np.quantile(values, at))


def test_disjoint_intervals_keep_their_distance():
    found = overlaps(0.0, 1.0, 3.0, 4.0)
    assert (float(found["union"]), float(found["karr"]), float(found["signed"])) == (0.0, 0.0, -2.0)
    assert float(overlaps(1.0, 1.0, 1.0, 1.0)["karr"]) == 1.0
    far = overlaps(7e7, 8e7, 7e-301, 8e-301)  # so far apart for their lengths that no number tells it
    assert far["karr"] == 0 and np.isfinite(far["signed"]) and far["signed"] < -1e100


def test_auc_counts_ties_half():
    assert auc(np.array([0.1, 0.5, 0.5, 0.9]), np.array([False, False, True, True])) == pytest.approx(0.875)
    assert auc(np.ones(4), np.array([True, False, True, False])) == 0.5
    assert auc(np.ones(3), np.ones(3, bool)) is None


def test_one_cell_unseen_in_the_original_stays_finite():
    found = table_statistics.statistics(np.array([10.0, 0.0]), np.array([9.0, 1.0]))
    assert all(v is None or np.isfinite(v) for v in found.values())


def test_lost_category_and_invented_category_count():
    x = pd.DataFrame({"g": ["a", "b", "c"] * 40, "v": np.random.default_rng(3).normal(size=120)})
    y = x[x["g"] != "c"].assign(g=lambda d: d["g"].replace("b", "z"))
    result = gh.utility.regression_fidelity(x, y, formula="v ~ g")
    terms = result.details["terms"]
    assert (
        terms["g[T.b]"]["ci_overlap_avgwidth"]
        == terms["g[T.c]"]["ci_overlap_avgwidth"]
        == terms["g[T.z]"]["ci_overlap_avgwidth"]
        == 0
    )
    assert result.details["lost_terms"] == 3
    groups = gh.utility.subgroup_utility(x, y, by="g", measure="wasserstein")
    assert groups.value == 0
    assert groups.details["n_lost"] == 2
    assert gh.utility.chi_square(x, y, columns=["g"]).details["g"]["n_cells_new"] == 1


def test_missing_patterns():
    x = pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": ["u", None, "v", "u"]})
    y = pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": ["u", "v", None, "u"]})
    result = gh.utility.missingness(x, y)
    assert result.value == pytest.approx(0.5)  # patterns {both missing} against {a missing}, {b missing}
    assert result.details["a"] == 0 and result.details["b"] == 0


def test_zero_inflated_column_is_scaled_by_its_standard_deviation():
    x = pd.DataFrame({"gain": [0.0] * 95 + [1000.0] * 5})
    y = pd.DataFrame({"gain": [0.0] * 90 + [1000.0] * 10})
    figure = gh.utility.wasserstein(x, y).details["gain"]
    assert figure["iqr_x"] == 0
    assert figure["scale"] == pytest.approx(x["gain"].std())


def test_weights_move_means_and_shares():
    x = pd.DataFrame({"g": ["a", "b"], "v": [0.0, 10.0], "w": [3.0, 1.0]})
    x = pd.concat([x] * 10, ignore_index=True)
    unweighted = pd.DataFrame({"g": ["a", "a", "a", "b"] * 10, "v": [0.0, 0.0, 0.0, 10.0] * 10, "w": 1.0})
    for name in ("hellinger", "total_variation", "wasserstein", "kolmogorov_smirnov"):
        assert getattr(gh.utility, name)(x, unweighted, weights="w").value == pytest.approx(0, abs=1e-12), name
        assert getattr(gh.utility, name)(x, unweighted, exclude=["w"]).value > 0.1, name
    assert gh.utility.table_utility(x, unweighted, weights="w", order=1).details["tables"]["g"][
        "MabsDD"
    ] == pytest.approx(0, abs=1e-12)
    assert any("weights ignored" in w for w in gh.utility.pmse(x, unweighted, weights="w").warnings)
