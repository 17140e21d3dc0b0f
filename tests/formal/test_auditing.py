"""Audits of mechanisms that were really run: consistent at their true parameter, broken at half of it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from glasshouse.core.errors import InputError
from glasshouse.formal import AttackCounts, Risk, approximate, audit_attacks, audit_counts, audit_scores, gaussian


def randomised_response(epsilon: float, n: int, seed: int) -> tuple[int, int]:
    """n members and n others answer truthfully, each answer turned over with probability 1 / (1 + e^epsilon)."""
    rng = np.random.default_rng(seed)
    keep = 1 / (1 + math.exp(-epsilon))
    return int((rng.random(n) < keep).sum()), int((rng.random(n) < 1 - keep).sum())


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_randomised_response(epsilon: float, seed: int) -> None:
    n = 20_000
    tp, fp = randomised_response(epsilon, n, seed)
    rho = epsilon * math.tanh(epsilon / 2)
    for claim in (Risk.from_rho(rho), approximate(epsilon)):
        audit = audit_counts(claim, tp, n, fp, n)
        assert audit.conclusion == "consistent", audit.sentence
        assert audit.verdict == "pass"
    for claim in (Risk.from_rho(rho / 2), approximate(epsilon / 2)):
        audit = audit_counts(claim, tp, n, fp, n)
        assert audit.conclusion == "the claim is broken", audit.sentence
        assert audit.verdict == "fail"
        assert "broken" in audit.sentence
    assert 0.6 * epsilon < audit.epsilon_lower <= epsilon * 1.02


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_gaussian_mechanism(mu: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    members, others = rng.normal(mu, 1, 60_000), rng.normal(0, 1, 60_000)
    rho = mu**2 / 2
    for claim in (Risk.from_rho(rho), gaussian(mu)):
        assert audit_scores(claim, members, others).conclusion == "consistent"
    for claim in (Risk.from_rho(rho / 2), gaussian(mu / 2), Risk.from_mu(mu / 2)):
        assert audit_scores(claim, members, others).conclusion == "the claim is broken"


def test_a_true_claim_is_rarely_accused() -> None:
    """At 95 % confidence over all points at most 5 % of audits may be wrong; Bonferroni leaves far less."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(200):
        points = []
        members, others = rng.normal(1, 1, 500), rng.normal(0, 1, 500)
        for cut in (-1.0, 0.0, 0.5, 1.0, 2.0):
            points.append(
                AttackCounts("z", "membership", int((members > cut).sum()), 500, int((others > cut).sum()), 500)
            )
        wrong += audit_attacks(gaussian(1.0), points).verdict == "fail"
    assert wrong <= 10


def test_positions() -> None:
    risk = Risk.from_rho(0.1)
    assert audit_counts(risk, 100, 1000, 100, 1000).points[0].position == "below"
    assert audit_counts(risk, 3, 10, 1, 10).points[0].position == "consistent"
    above = audit_counts(risk, 900, 1000, 100, 1000)
    assert above.points[0].position == "above"
    assert above.rho_lower > risk.rho
    assert above.points[0].ceiling == pytest.approx(risk.max_tpr(above.points[0].bounds.fpr_interval[1]))


def test_an_attack_on_anybody_is_held_against_the_sum_over_people() -> None:
    """A promise per person bounds the chance to hit any of n people by n t(b/n) only."""
    risk = Risk.from_rho(0.1)
    one = AttackCounts("singling_out", "identity", 400, 1000, 100, 1000)
    anybody = AttackCounts("singling_out", "identity", 400, 1000, 100, 1000, aims=5000)
    assert audit_attacks(risk, [one]).verdict == "fail"
    audit = audit_attacks(risk, [anybody])
    assert audit.verdict == "pass"
    point = audit.points[0]
    assert point.ceiling == pytest.approx(5000 * risk.max_tpr(point.bounds.fpr_interval[1] / 5000))
    assert audit.points[0].to_dict()["rho_lower"] is None
    assert audit.epsilon_lower == 0.0
    assert "no lower bound" in audit.sentence


def test_without_a_claim_there_are_points_but_no_ceiling() -> None:
    audit = audit_counts(None, 900, 1000, 100, 1000)
    assert audit.verdict is None
    assert audit.conclusion == "nothing to compare"
    assert audit.epsilon_lower > 1.5
    assert "no ceiling" in audit.sentence


def test_nothing_measured_is_no_pass() -> None:
    audit = audit_attacks(Risk.from_rho(1.0), [], skipped={"domias": "it needs a holdout"})
    assert audit.status == "not_applicable"
    assert audit.verdict is None
    assert "holdout" in str(audit.reason)


def test_all_forms_of_an_audit() -> None:
    audit = audit_counts(Risk.from_rho(0.1), 900, 1000, 100, 1000, attack="mine")
    content = json.loads(audit.to_json())
    assert content["verdict"] == "fail"
    assert content["points"][0]["attack"] == "mine"
    assert content["risk"]["rho"] == 0.1
    assert audit.to_frame().height == 1
    assert "ABOVE" in audit.summary()
    assert "proves nothing about other attacks" in audit.summary()
    assert repr(audit) == audit.summary()
    for kind in ("ceiling", "log", None):
        chart = audit.plot(kind).to_dict()
        assert chart["title"]["text"] == "Audit: the claim is broken"
    for kind in ("tradeoff", "log", None):
        assert Risk.from_advantage(0.2).plot(kind).to_dict()["layer"]
        assert gaussian(1.0).plot(kind).to_dict()["layer"]
    audit_counts(None, 5, 10, 1, 10).plot().to_dict()


def test_thresholds_are_chosen_on_other_people() -> None:
    """Pure noise with a free choice of threshold proves nothing."""
    rng = np.random.default_rng(3)
    accused = sum(
        audit_scores(Risk.from_rho(1e-4), rng.random(200), rng.random(200), random_state=i).verdict == "fail"
        for i in range(60)
    )
    assert accused <= 3
    fixed = audit_scores(gaussian(1.0), [1.0] * 50, [0.0] * 50, threshold=0.5)
    assert fixed.points[0].counts.hits == 50
    assert fixed.points[0].counts.alarms == 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: audit_counts(0.5, 5, 10, 1, 10), "gh.Risk"),
        (lambda: audit_counts("rho", 5, 10, 1, 10), "gh.Risk"),
        (lambda: audit_counts(Risk.from_rho(1.0), 11, 10, 1, 10), "tp"),
        (lambda: audit_scores(Risk.from_rho(1.0), [], [1.0]), "members"),
        (lambda: audit_scores(Risk.from_rho(1.0), [1.0], [math.nan]), "nonmembers"),
        (lambda: audit_scores(Risk.from_rho(1.0), [1.0, 2.0], [1.0, 2.0]), "threshold="),
        (lambda: audit_counts(Risk.from_rho(1.0), 5, 10, 1, 10).plot("pie"), "pie"),
    ],
)
def test_bad_input(call: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        call()
