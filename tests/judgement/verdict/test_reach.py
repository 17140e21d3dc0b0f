"""Whom a leak can reach: seeing nothing means something else where nobody can be told from others."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.evidence import Counts, Exposure
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.judgement.verdict.leak import BLIND
from tests.fakes import fake, tables

THREATS = ("identity", "attribute", "membership", "copying")
COUNTS = Counts(20, 1000, 20, 1000)


def _four(reach: float, strangers: float = 0.02, p: float = 0.4, name: str = "copying") -> None:
    """Three threats with tests that reach everybody, and one that reaches some."""
    for threat in THREATS:
        few = threat == name
        seen = Exposure(0.0, (-0.01, 0.01), strangers if few else 0.02, 1000, 1000, reach if few else 1.0)
        evidence: dict[str, Any] = {"p_value": p if few else 0.4, "counts": COUNTS, "holdout": 0.02, "exposure": seen}
        fake(f"{threat}_test", threat, 0.02, limit=LEAK_LIMIT, evidence=evidence)


def test_where_nobody_can_be_exposed_the_threat_passes_and_says_why(only_fakes: object) -> None:
    _four(0.0)
    found = gh.assess(*tables())
    threat = found.threats["copying"]
    assert found.verdict == "pass" and threat.status == "pass" and threat.detection_limit is None
    assert "exposes nobody in particular" in threat.sentence and "would have been seen" not in threat.sentence
    assert "copying" in found.headline and "too few" in found.headline


def test_a_test_that_reaches_few_says_how_many_could_be_exposed(only_fakes: object) -> None:
    _four(0.04)
    found = gh.assess(*tables())
    threat = found.threats["copying"]
    assert threat.leak is not None and threat.leak.reach == pytest.approx(0.04 * 0.98)
    assert threat.status == "pass" and "At most 3.9 % of the people" in threat.sentence


def test_a_policy_asks_for_power_only_where_so_many_can_be_exposed(only_fakes: object) -> None:
    _four(0.04)
    pair = gh.Pair(*tables())
    for asked, verdict in ((0.1, "pass"), (0.02, "incomplete")):
        policy = gh.Policy.from_dict({"leak": {"detects": {"copying": asked}}})
        assert gh.assess(pair, policy=policy).verdict == verdict


def test_tests_that_reach_everybody_and_see_nothing_are_blind(only_fakes: object) -> None:
    _four(1.0, strangers=0.4)
    few = gh.assess(*tables())
    assert few.threats["copying"].status == "pass", "40 % of the strangers exposed still leave 60 % to be seen"
    assert few.threats["copying"].detection_limit is not None and few.threats["copying"].detection_limit < BLIND


def test_too_little_power_does_not_hide_what_is_likely(only_fakes: object) -> None:
    _four(1.0, p=0.004)
    policy = gh.Policy.from_dict({"leak": {"detects": {"copying": 0.0001}}})
    found = gh.assess(*tables(), policy=policy)
    assert found.verdict == "incomplete" and "makes a leak likely" in found.threats["copying"].sentence


def test_the_figure_is_that_of_the_measure_that_speaks(only_fakes: object) -> None:
    """Not the largest of several, which exaggerates."""
    for name, hits, alone in (("speaks", 30, "fail"), ("larger", 90, "")):
        evidence = {"p_value": 0.0001, "counts": Counts(hits, 1000, 0, 1000), "holdout": 0.0}
        fake(name, "copying", hits / 1000, limit=LEAK_LIMIT, evidence=evidence, alone=alone)
    found = gh.assess(*tables()).threats["copying"]
    assert (
        found.worst == "speaks" and found.effect == pytest.approx(30) and set(found.decided_by) == {"speaks", "larger"}
    )


def test_coarse_data_pass_and_the_page_says_that_nobody_stands_out() -> None:
    rng = np.random.default_rng(5)

    def drawn() -> pl.DataFrame:
        return pl.DataFrame({c: rng.choice(["a", "b", "c"], 600) for c in ("x", "y", "z")})

    found = gh.assess(drawn(), drawn(), holdout=drawn(), keys=["x", "y"], target="z", measures="fast")
    threat = found.threats["copying"]
    assert threat.status == "pass" and threat.leak is not None and threat.leak.reach == 0.0
    for measure in ("uniques", "attribution", "disco", "exact_copies"):
        exposure = found.results[measure].exposure
        assert exposure is not None and exposure.reach == 0.0, measure


def test_reach_of_cell_measures_by_hand() -> None:
    """Four of six are alone on their key and would be found if copied, unless the release says otherwise of them."""
    original = pl.DataFrame({"k": ["a", "b", "c", "d", "e", "e"], "t": ["1", "2", "1", "2", "1", "2"]})
    released = pl.DataFrame({"k": ["a", "e", "e"], "t": ["2", "1", "2"]})
    holdout = pl.DataFrame({"k": ["f", "g"], "t": ["1", "2"]})
    pair = gh.Pair(original, released, keys=["k"], target="t", holdout=holdout)
    unique, read_off = gh.disclosure.uniques(pair).exposure, gh.disclosure.disco(pair).exposure
    # a is alone in the release already, so is exposed; b, c, d would be: 3 of the 5 who are not
    assert unique is not None and unique.reach == pytest.approx(3 / 5)
    # b, c, d are not in the release; a and e meet another answer
    assert read_off is not None and read_off.reach == pytest.approx(3 / 6)
