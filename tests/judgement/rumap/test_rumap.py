"""The risk-utility map: riskutility's numbers in compatibility mode, and the case study as it should come out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import glasshouse as gh
from glasshouse.core.charts import kinds
from glasshouse.judgement.rumap.consistency import cronbach_alpha, mcdonald_omega
from glasshouse.judgement.rumap.scales import minmax

VIEWS = ["map", "heatmap", "dots", "parallel", "radial", "biplot", "blocks"]
KEYS = ["age_group", "sex", "education", "region"]


@pytest.fixture(scope="module")
def toy(golden):
    return json.loads((golden / "utility" / "rumap_toy.json").read_text())


def of(toy, **options):
    columns = {
        side: {m: [row[m] for row in toy["input"]] for m in toy[f"{side}_measures"]} for side in ("risk", "utility")
    }
    return gh.RUMap.from_scores(**columns, releases=[row["release"] for row in toy["input"]], **options)


@pytest.fixture(scope="module")
def case(golden):
    frames = {k: pd.read_csv(golden / "utility" / f"case_{k}.csv") for k in ("orig", "synA", "synB", "synC")}
    releases = {"A": frames["synA"], "B": frames["synB"], "C": frames["synC"]}
    return gh.compare(
        frames["orig"],
        releases,
        keys=KEYS,
        target="income",
        options={"rapid": {"trees": 100}, "table_utility": {"replicates": 20}},
    )


def test_toy_in_compatibility_mode(toy):
    ru = of(toy, scale="minmax")
    scaled = ru.scaled
    for i, row in enumerate(toy["normalized"]):
        for measure in [*toy["risk_measures"], *toy["utility_measures"]]:
            wanted = row[measure]
            assert (
                scaled[measure][i] is None if wanted is None else scaled[measure][i] == pytest.approx(wanted, abs=1e-9)
            )
    for row in toy["composites"]:
        assert ru.composites[row["release"]] == pytest.approx(
            {k: v for k, v in row.items() if k != "release"}, abs=1e-9
        )
    assert ru.front.tolist() == toy["pareto_composite"]
    assert ru.pareto == ["S1", "S2", "S3", "S4", "S6", "S7"]
    assert list(ru.pareto_all_measures.values()) == toy["pareto_all_measures_complete_rows"]
    assert ru.alpha == pytest.approx({"risk": toy["alpha_risk"], "utility": toy["alpha_utility"]}, abs=1e-9)
    assert ru.incomplete == ["S8"]


def test_alpha_and_omega(toy):
    example = toy["omega_example"]
    table = np.array([[row[f"m{i}"] for i in range(1, 5)] for row in example["data"]])
    found = mcdonald_omega(table)
    assert found["omega"] == pytest.approx(example["omega_total_standardized"], rel=1e-5)
    assert found["loadings"] == pytest.approx(example["loadings"], rel=1e-5)
    assert cronbach_alpha(table) == pytest.approx(example["alpha_raw"], rel=1e-9)
    standardised = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
    assert cronbach_alpha(standardised) == pytest.approx(example["alpha_standardized"], rel=1e-9)
    assert mcdonald_omega(table[:4]) is None and cronbach_alpha(table[:1]) is None
    constant = np.column_stack([table, np.ones(len(table))])
    assert cronbach_alpha(constant) == pytest.approx(cronbach_alpha(table))
    assert cronbach_alpha(constant, drop_constant=False) != pytest.approx(cronbach_alpha(table))


def test_case_study_comes_out_as_it_should(case):
    """A is safe and useless, C useful and a copy, B between; all three on the front. Without a holdout nothing tells
    whether B, a bootstrap with noise, leaks (it does), so it is not recommended either."""
    risk, utility = ({r: case.composites[r][s] for r in "ABC"} for s in ("risk", "utility"))
    assert risk["A"] < risk["B"] < risk["C"]
    assert utility["A"] < utility["B"] <= utility["C"]
    assert risk["A"] < 0.15 and utility["A"] < 0.45
    assert utility["B"] > 0.8 and utility["C"] > 0.95 and risk["C"] > 0.6
    assert case.pareto == ["A", "B", "C"]
    assert case.verdicts["B"] == "incomplete" and case.verdicts["C"] == "fail"
    assert case.recommended is None and "B may leak" in case.recommend()["reason"]
    assert case.alarms == {"C": ["pmse"]}
    assert "copy alarm" in case.text() and "Left out" in case.text()


def test_ghosts_stand_at_the_corners(case):
    assert case.ghosts["copy"]["risk"] == pytest.approx(1) and case.ghosts["copy"]["utility"] > 0.95
    assert case.ghosts["independent"]["risk"] == pytest.approx(0, abs=1e-9)
    assert case.ghosts["independent"]["utility"] < 0.4


def test_measures_that_say_nothing_are_named(case):
    assert "missingness" in case.left_out and len(case.left_out["missingness"]) > 20
    for measure in (*case.risk_measures, *case.utility_measures):
        assert case.anchors[measure].reason is None


def test_a_bad_candidate_does_not_move_the_others(golden):
    """The fault of min-max scaling that anchors mend."""
    frames = {k: pd.read_csv(golden / "utility" / f"case_{k}.csv") for k in ("orig", "synA", "synB")}
    rng = np.random.default_rng(0)
    wreck = frames["orig"].assign(income=rng.uniform(0, 1e6, 1000))
    options = {
        "keys": KEYS,
        "target": "income",
        "risk": ["identical"],
        "utility": ["wasserstein", "regression_fidelity"],
    }
    two = gh.compare(frames["orig"], {"A": frames["synA"], "B": frames["synB"]}, **options)
    three = gh.compare(frames["orig"], {"A": frames["synA"], "B": frames["synB"], "wreck": wreck}, **options)
    for release in "AB":
        assert three.composites[release]["utility"] == pytest.approx(two.composites[release]["utility"])


@pytest.mark.parametrize("view", VIEWS)
def test_seven_views(view, case, toy):
    assert kinds("rumap") == VIEWS or set(kinds("rumap")) == set(VIEWS)
    for ru in (case, of(toy)):
        assert "data" in ru.plot(view).to_json()


def test_views_that_need_more_releases_say_so(toy):
    ru = gh.RUMap.from_scores(risk={"a": [0.1, 0.2]}, utility={"b": [0.5, 0.6]}, releases=["x", "y"])
    for view in ("radial", "biplot", "blocks"):
        with pytest.raises(gh.InputError, match="at least three"):
            ru.plot(view)
    with pytest.raises(gh.InputError, match="no chart"):
        ru.plot("pie")


def test_replicates_risk_is_the_worst_and_utility_the_mean(golden):
    frames = {k: pd.read_csv(golden / "utility" / f"case_{k}.csv") for k in ("orig", "synA", "synB", "synC")}
    ru = gh.compare(
        frames["orig"],
        {"both": [frames["synB"], frames["synC"]], "A": frames["synA"]},
        keys=KEYS,
        target="income",
        risk=["epsilon_identifiability"],
        utility=["regression_fidelity"],
    )
    raw, single = ru.raw, ru.results["both"]
    values = {
        m: [float(r.value) for r in single[m].replicates] for m in ("epsilon_identifiability", "regression_fidelity")
    }
    # the worst of the releases, or of all of them together, as alone and in an assessment
    together = single["epsilon_identifiability"].details["stacked"]
    assert raw["epsilon_identifiability"][0] == pytest.approx(max(*values["epsilon_identifiability"], together))
    assert raw["regression_fidelity"][0] == pytest.approx(np.mean(values["regression_fidelity"]))
    scores = ru.scores
    assert scores["utility_low"][0] < scores["utility"][0] <= scores["utility_high"][0]
    assert ru.sensitivity()["front_share_replicates"][0] is not None


def test_overlapping_intervals_are_ties(golden):
    frames = {k: pd.read_csv(golden / "utility" / f"case_{k}.csv") for k in ("orig", "synB")}
    twin = frames["synB"].assign(income=lambda d: d["income"] + np.random.default_rng(0).integers(-150, 150, len(d)))
    ru = gh.compare(
        frames["orig"],
        {"B": frames["synB"], "twin": twin},
        keys=KEYS,
        target="income",
        risk=["epsilon_identifiability"],
        utility=["regression_fidelity"],
    )
    assert set(ru.scores["tied_with"]) == {"B", "twin"}
    assert "tied with" in ru.text()


def test_weights_and_composites():
    scores = {
        "risk": {"a": [0.0, 1.0], "b": [1.0, 0.0], "c": [0.2, 0.4]},
        "utility": {"u": [0.3, 0.6]},
        "releases": ["x", "y"],
    }
    families = {"a": "copying", "b": "copying", "c": "attribution"}
    anchors = dict.fromkeys("abcu", (0.0, 1.0))
    family = gh.RUMap.from_scores(**scores, scale="anchored", anchors=anchors, families=families)
    assert family.measure_weights["risk"] == pytest.approx({"a": 0.25, "b": 0.25, "c": 0.5})
    assert family.composites["x"]["risk"] == pytest.approx(0.35)
    worst = gh.RUMap.from_scores(**scores, scale="anchored", anchors=anchors, families=families, composite="worst")
    assert worst.composites["x"]["risk"] == pytest.approx(0.5)  # the copying family, (0 + 1) / 2
    heavy = gh.RUMap.from_scores(
        **scores, scale="anchored", anchors=anchors, families=families, weights={"a": 0, "attribution": 0}
    )
    assert heavy.composites["x"]["risk"] == pytest.approx(1.0)
    turned = gh.RUMap.from_scores(
        risk={"k": [5, 1]}, utility={"u": [0, 1]}, releases=["x", "y"], better={"k": "higher"}
    )
    assert turned.composites["y"]["risk"] == 1.0


def test_not_measured_is_never_on_the_front():
    ru = gh.RUMap.from_scores(risk={"a": [None, 0.9], "b": [0.0, 0.9]}, utility={"u": [1.0, 0.1]}, releases=["x", "y"])
    assert ru.pareto == ["y"] and ru.incomplete == ["x"]
    assert "x: risk 0.00, utility 1.00; not fully measured: no figure from a; it cannot be on the front." in ru.text()
    assert ru.unmeasured == {"x": ["a"]}
    assert "x is not fully measured: no figure from a" in ru.recommend(max_risk=0.5)["reason"]


def test_outside_nobody_learns_which_measure_gave_no_figure():
    ru = gh.RUMap.from_scores(risk={"a": [None, 0.9], "b": [0.0, 0.9]}, utility={"u": [1.0, 0.1]}, releases=["x", "y"])
    said = " ".join(ru.content("external")["text"])
    assert "not fully measured" in said and "no figure from" not in said


def test_without_any_utility_all_of_it_is_named():
    ru = gh.RUMap.from_scores(risk={"a": [0.1, 0.9]}, utility={"u": [None, 0.1], "v": [None, 0.3]}, releases=["x", "y"])
    assert "not fully measured: no figure from u and v" in ru.text()


def test_minmax():
    assert minmax([1.0, 3.0, None, 2.0]) == [0.0, 1.0, None, 0.5]
    assert minmax([2.0, 2.0]) == [0.5, 0.5]
    assert minmax([None]) == [None]


def test_sensitivity_and_plain_form(toy):
    ru = of(toy)
    found = ru.sensitivity()
    shares = dict(zip(found["release"], found["front_share_random_weights"], strict=True))
    assert shares["S1"] == 1.0 and shares["S5"] == 0.0 and 0 < shares["S2"] <= 1
    assert found.equals(ru.sensitivity())
    content = json.loads(ru.to_json())
    assert content["pareto"] == ru.pareto and content["measures"]["cap"]["side"] == "risk"
    assert "on the front" in repr(ru)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"risk": {"a": [1]}, "utility": {"u": [1, 2]}, "releases": ["x", "y"]}, "1 values for 2 releases"),
        ({"risk": {}, "utility": {"u": [1, 2]}, "releases": ["x", "y"]}, "at least one risk"),
        ({"risk": {"a": [1, 2]}, "utility": {"u": [1, 2]}, "releases": ["x", "x"]}, "two releases are called"),
        ({"risk": {"a": [1, 2]}, "utility": {"u": [1, 2]}, "scale": "log"}, "not known"),
        ({"risk": {"a": [1, 2]}, "utility": {"u": [1, 2]}, "scale": "anchored"}, "needs anchors"),
        ({"risk": {"a": [1, 2]}, "utility": {"u": [1, 2]}, "weights": {"z": 1}}, "no measure or family"),
        ({"risk": {"a": [1, 2]}, "utility": {"u": [1, 2]}, "composite": "best"}, "not known"),
    ],
)
def test_mistakes_are_explained(arguments, message):
    with pytest.raises(gh.InputError, match=message):
        gh.RUMap.from_scores(**arguments)


def test_compare_mistakes():
    table = pd.DataFrame({"g": list("ab") * 20, "v": range(40)})
    with pytest.raises(gh.InputError, match="no release"):
        gh.compare(table, {})
    with pytest.raises(gh.InputError, match="no measure"):
        gh.compare(table, {"A": table}, risk=["nope"])
    with pytest.raises(gh.InputError, match="other side"):
        gh.compare(table, {"A": table}, risk=["hellinger"], utility=["wasserstein"])
    with pytest.raises(gh.InputError, match="none of the risk"):
        gh.compare(table, {"A": table}, risk=["disco"], utility=["wasserstein"])
