"""SD2011: missing values, many levels, five syntheses. Needs the shared folder (the data may not be committed)."""

from __future__ import annotations

import pytest

import glasshouse as gh
from tests.utility import checks


@pytest.fixture(params=["cart", "indep"])
def both(request: pytest.FixtureRequest, sd_pairs, sd_expected):
    return sd_pairs[request.param], sd_expected[f"sd2011_syn_{request.param}"]


def test_univariate(both):
    checks.univariate(*both)


def test_tables(both):
    checks.tables(*both)


def test_whole_distributions(both):
    checks.whole_distributions(*both)


def test_subgroups(both):
    checks.subgroups(*both)


@pytest.mark.parametrize("release", ["cart", "indep"])
def test_models(release, sd_frames, sd_expected):
    expected = sd_expected[f"sd2011_syn_{release}"]
    logit = expected["pmse_logit_main"]
    frames = [sd_frames[k][logit["vars"]].dropna() for k in ("original", release)]
    found = gh.utility.pmse(*frames, maxorder=0).details
    for name, value in logit.items():
        if name != "vars":
            checks.same(found[name], value / 100 if "PO50" in name else value, checks.ITERATIVE, name)
    complete = [sd_frames[k].dropna() for k in ("original", release)]
    checks.regression(
        gh.utility.regression_fidelity(*complete, formula=expected["regression_lm"]["formula"]),
        expected["regression_lm"],
    )
    wanted = expected["tstr_ols"]
    known = [sd_frames[k].dropna(subset=["income", *wanted["predictors"]]) for k in ("original", release)]
    found = gh.utility.tstr(
        *known,
        target="income",
        predictors=wanted["predictors"],
        test_rows=[i for i in range(len(known[0])) if i % 10 < 3],
    ).details
    for name in ("trtr_r2", "tstr_r2_raw", "ratio"):
        checks.same(found[name], wanted[name], {"rel": 1e-8, "abs": 1e-12}, name)


def test_propensity_with_missing_values(both):
    pair, expected = both
    gen = expected["synthpop_1.9-3"]["gen"]
    found = gh.utility.pmse(pair, maxorder=0).details
    for figure, value in gen["logit_maxorder0"].items():
        checks.same(found[figure], value / 100 if figure == "PO50" else value, checks.ITERATIVE, figure)
    tree = gh.utility.pmse(pair, model="cart", n_perm=50).details
    checks.same(tree["pMSE"], gen["cart_cp0.001_minbucket5"]["pMSE"], {"rel": 0.01}, "cart pMSE")
    checks.same(tree["pmse_ratio"], gen["cart_perm50_seed1"]["S_pMSE"], {"rel": 0.1}, "cart ratio")


def test_pairs_null_of_five_releases(sd_frames, sd_expected):
    wanted = sd_expected["sd2011_m5"]["synthpop_1.9-3_pairs_cart"]
    columns = wanted["vars"]
    result = gh.utility.pmse(
        sd_frames["original"][columns], [sd_frames[f"m{i}"][columns] for i in range(1, 6)], model="cart", null="pairs"
    )
    assert len(result.replicates) == 5
    for name in ("pMSE", "SPECKS", "U", "S_pMSE", "S_SPECKS", "S_U"):
        assert result.details[name] == pytest.approx(wanted[name], rel=0.005), name
    assert result.details["PO50"] == pytest.approx([v / 100 for v in wanted["PO50"]], rel=1e-9)
    # the ratio of PO50 is near 1.6 like that of SPECKS, not near 80
    assert result.details["S_PO50"] == pytest.approx(wanted["S_SPECKS"], rel=0.05)
