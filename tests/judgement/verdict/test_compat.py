"""riskutility's verdict rule as it is, and the defects it has as tests of the opposite in ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import glasshouse as gh
from glasshouse.core.limits import Limit
from glasshouse.judgement.verdict import compat
from glasshouse.judgement.verdict.threats import overall
from tests.fakes import fake, four_threats, tables


@pytest.fixture(scope="module")
def rules(golden: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((golden / "utility" / "report_rules.json").read_text())
    return content


def test_status_of_every_metric_in_compatibility_mode(rules: dict[str, Any]) -> None:
    for case in rules["status_cases_compat"]:
        figures = {k: v for k, v in case.items() if k not in ("metric", "status", "why")}
        assert compat.status(case["metric"], **figures) == case["status"], case


def test_verdict_in_compatibility_mode(rules: dict[str, Any]) -> None:
    for case in rules["verdict_cases"]:
        assert compat.level(case["statuses"]) == case["compat"], case


def test_verdict_by_threat(rules: dict[str, Any]) -> None:
    for case in rules["threat_based_cases"]:
        words = {"PASS": "pass", "WARN": "warn", "FAIL": "fail"}
        statuses = {name: words.get(s, "not_assessed") for name, s in case["threats"].items()}
        assert compat.LEVEL[overall(statuses, tuple(statuses))] == case["verdict"], case


def test_incomplete_with_a_warning_says_at_least_warn(only_fakes: object) -> None:
    four_threats(identity="warn", membership="not_assessed")
    found = gh.assess(*tables())
    assert (found.verdict, found.at_least, found.level) == ("incomplete", "warn", "INCOMPLETE")


# -- report.md 3: each defect, and the opposite ------------------------------------------------------------------------


def test_1_a_fail_counts(only_fakes: object) -> None:
    four_threats(identity="fail")
    assert gh.assess(*tables()).verdict == "fail"
    assert overall({"identity": "fail", "attribute": "pass", "membership": "pass", "copying": "pass"}) == "fail"


def test_1_every_status_is_counted_once(only_fakes: object) -> None:
    four_threats(identity="fail", attribute="warn", membership="not_assessed")
    fake("broken", error=RuntimeError("x"))
    found = gh.assess(*tables())
    known = ("pass", "warn", "fail", "not_assessed", "failed", "no_limit")
    assert sum(sum(j.status == s for j in found.judged) for s in known) == len(found.results) == 5


def test_2_a_measure_that_cannot_fail_passes_nothing(only_fakes: object) -> None:
    fake("cannot_fail", "identity", 0.0, limit=Limit("value", warn=None, fail=None))
    found = gh.assess(*tables())
    assert found.judgement_of("cannot_fail").status == "no_limit"
    assert found.threats["identity"].status == "not_assessed" and found.verdict == "incomplete"


def test_2_presence_passes_nothing_without_bounds_and_fails_with_them() -> None:
    population, _ = tables()
    released = population.filter(population["sex"] == "female")
    open_ended = gh.assess(population, released, keys=["sex"], measures=["delta_presence"])
    assert open_ended.judgement_of("delta_presence").status == "no_limit"
    bounded = {"delta_presence": {"delta_min": 0.0, "delta_max": 0.5}}
    found = gh.assess(population, released, keys=["sex"], measures=["delta_presence"], options=bounded)
    assert found.judgement_of("delta_presence").status == "fail"


def test_3_correlated_measures_speak_once(only_fakes: object) -> None:
    for name in ("cap_like", "tcap_like", "disco_like", "rapid_like"):
        fake(name, "attribute", 0.1, group="attribution")
    for threat in ("identity", "membership", "copying"):
        fake(f"{threat}_measure", threat, 0.0)
    found = gh.assess(*tables())
    assert found.verdict == "warn"  # four warnings of one group are one finding, not HIGH
    assert len(found.threats["attribute"].findings) == 1
    assert len(found.threats["attribute"].deciding) == 4


def test_3_classes_of_a_synthetic_file_do_not_decide(only_fakes: object) -> None:
    four_threats()
    fake("k_like", "identity", 1, better="higher", limit=Limit("value", warn=5, fail=3), table="single")
    pair = gh.Pair(*tables())
    found = gh.assess(pair)
    assert found.verdict == "pass"
    assert found.judgement_of("k_like").role == "structure"
    assert gh.assess(pair.replace(row_paired=True)).verdict == "fail"
    named = gh.Policy.from_dict({"others": "declared", "rule": [{"measure": "k_like", "limit": 3}]})
    assert gh.assess(pair, policy=named).verdict == "fail"


def test_4_an_error_is_not_a_high_risk_and_nothing_measured_is_not_low(only_fakes: object) -> None:
    four_threats()
    fake("broken", "identity", error=ZeroDivisionError("x"))
    found = gh.assess(*tables())
    assert found.verdict == "pass" and found.results["broken"].status == "failed"
    assert gh.assess(*tables(), measures=["attribute_measure"]).verdict == "incomplete"
    assert gh.assess(*tables(), measures=["broken"]).verdict == "incomplete"


def test_5_one_limit_per_measure_inside_and_outside_the_report(only_fakes: object) -> None:
    four_threats(attribute="warn")
    found = gh.assess(*tables())
    alone = only_fakes["attribute_measure"](*tables())  # type: ignore[index]
    assert alone.verdict == found.judgement_of("attribute_measure").status == "warn"


def test_6_and_7_risk_is_judged_above_its_baseline(only_fakes: object) -> None:
    limit = Limit("excess", warn=0.05, fail=0.20)
    pair = tables()
    assert fake("certain", value=1.0, baseline=0.9, limit=limit)(*pair).verdict == "fail"  # ratio 1.11 was a PASS
    assert fake("chance", value=0.30, baseline=0.29, limit=limit)(*pair).verdict == "pass"
    assert fake("ten_bins", value=0.14, baseline=0.10, limit=limit)(*pair).verdict == "pass"  # ratio 1.4, excess 0.044


def test_8_no_holdout_is_made_up(only_fakes: object) -> None:
    four_threats(membership="not_assessed")
    fake("needs_one", "copying", 0.0, needs=("holdout",))
    found = gh.assess(*tables())
    assert found.results["needs_one"].status == "not_applicable"
    assert "holdout" in found.threats["membership"].sentence and found.verdict == "incomplete"
    assert any("aside before synthesis" in r.text for r in found.recommendations)


def test_9_a_missing_figure_is_said_and_never_a_warning(only_fakes: object) -> None:
    four_threats()
    fake("undefined", value=None)
    found = gh.assess(*tables())
    assert found.judgement_of("undefined").status == "not_assessed" and found.results["undefined"].reason


def test_10_and_12_figures_are_numbers_with_intervals_and_versions(only_fakes: object) -> None:
    fake("risk", value=0.1, baseline=0.05, interval=(0.05, 0.2))
    content = json.loads(gh.assess(*tables()).to_json())
    result = content["results"]["risk"]
    assert isinstance(result["value"], float) and result["interval"] == [0.05, 0.2]
    assert content["run"]["versions"]["glasshouse"] and content["data"]["tables"][0]["fingerprint"]


def test_11_a_figure_does_not_depend_on_the_other_measures(only_fakes: object) -> None:
    for name in ("one", "two", "three"):
        fake(name, random=True)
    pair = gh.Pair(*tables())
    alone = gh.assess(pair, measures=["two"]).results["two"].value
    assert alone == gh.assess(pair).results["two"].value
    assert alone != gh.assess(pair).results["one"].value
    assert alone != gh.assess(pair, random_state=1).results["two"].value


def test_the_compatibility_preset_counts_as_the_package_does(only_fakes: object) -> None:
    fake(
        "k_anonymity",
        "identity",
        1,
        better="higher",
        table="single",
        limit=Limit("value", warn=5, fail=3),
        riskutility=("k-Anonymity", lambda r: {"k": r.value}),
    )
    fake("identical", "copying", 0.0, riskutility=("IMS", lambda r: {"pct": 100 * r.value}))
    found = gh.assess(*tables(), policy="riskutility")
    assert found.verdict == "pass" and compat.statuses(found.results)["k-Anonymity"] == "FAIL"  # the defect, on purpose
