"""gh.audit on real releases: a private one keeps its promise, a copy breaks it, nothing compared is no pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.judgement.audit import audit_results

DOMAIN = {
    "age": {"type": "int", "lower": 0, "upper": 99},
    "sex": ["F", "M"],
    "region": [f"r{i}" for i in range(8)],
    "income": {"type": "int", "lower": 0, "upper": 99},
    "sick": ["no", "yes"],
}
QUICK: dict[str, dict[str, Any]] = {
    "domias": {"counts": False},
    "membership_classifier": {"trees": 20},
    "identical": {},
    "inference": {},
    "linkability": {"n_splits": 2},
    "rapid": {"trees": 20},
    "singling_out": {"n_attacks": 200},
}


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(15, 95, n)
    income = np.clip(age // 2 + rng.integers(-15, 40, n), 0, 99)
    sick = rng.random(n) < age / 150
    return pl.DataFrame(
        {
            "age": age,
            "sex": np.where(rng.random(n) < 0.5, "F", "M"),
            "region": [f"r{i}" for i in rng.integers(0, 8, n)],
            "income": income,
            "sick": np.where(sick, "yes", "no"),
        }
    )


def pair_of(released: Any, **roles: Any) -> gh.Pair:
    given = {"keys": ["age", "sex", "region"], "target": "sick", "holdout": people(600, 2), **roles}
    return gh.Pair(people(600, 1), released, **given)


@pytest.fixture(scope="module")
def copied() -> Any:
    return gh.audit(pair_of(people(600, 1)), gh.Risk.from_rho(0.5), attacks=QUICK)


def test_a_copy_under_a_private_label_is_found_out(copied: Any) -> None:
    assert copied.conclusion == "the claim is broken"
    assert copied.verdict == "fail"
    assert copied.rho_lower > 0.5
    assert copied.above[0].counts.attack in ("identical", "domias")
    assert {p.counts.attack for p in copied.points} == set(QUICK)
    assert not copied.skipped


def test_every_point_has_its_cross_and_the_chart_draws_it(copied: Any) -> None:
    for row in copied.to_frame().iter_rows(named=True):
        assert row["success_low"] <= row["success"] <= row["success_high"]
        assert row["baseline_low"] <= row["baseline"] <= row["baseline_high"]
    assert copied.plot().to_dict()["title"]["text"] == "Audit: the claim is broken"
    assert copied.plot("log").to_dict()["layer"]
    singled = next(p for p in copied.points if p.counts.attack == "singling_out")
    assert singled.counts.aims == 600


def test_other_people_are_consistent_with_any_claim() -> None:
    audit = gh.audit(pair_of(people(600, 3)), gh.Risk.from_rho(0.01), attacks=QUICK)
    assert audit.conclusion == "consistent", audit.sentence
    assert audit.rho_lower == 0.0


def test_a_private_synthesis_keeps_its_promise() -> None:
    pytest.importorskip("opendp", reason="private noise comes from OpenDP: pip install 'glasshouse[dp]'")
    risk = gh.Risk.from_rho(0.5)
    released = gh.synthesis.Mst(risk, DOMAIN).fit(people(600, 1)).sample(600)
    audit = gh.audit(pair_of(released), risk, attacks=QUICK)
    assert audit.conclusion == "consistent", audit.sentence


def test_without_a_holdout_nothing_is_compared_and_nothing_passes() -> None:
    audit = gh.audit(pair_of(people(600, 1), holdout=None), gh.Risk.from_rho(0.5), attacks=QUICK)
    assert audit.status == "not_applicable"
    assert audit.verdict is None
    assert set(audit.skipped) == set(QUICK)
    assert "holdout" in audit.summary()


def test_an_attack_without_its_roles_is_named_and_the_others_run() -> None:
    audit = gh.audit(pair_of(people(600, 1), target=None), gh.Risk.from_rho(0.5), attacks=["identical", "inference"])
    assert audit.verdict == "fail"
    assert "target" in audit.skipped["inference"]


def test_several_releases_are_all_placed() -> None:
    audit = gh.audit(pair_of([people(600, 3), people(600, 1)]), gh.Risk.from_rho(0.5), attacks=["identical"])
    assert [p.counts.label for p in audit.points] == ["release 1", "release 2"]
    assert [p.position for p in audit.points] == ["below", "above"]


def test_no_claim() -> None:
    audit = gh.audit(pair_of(people(600, 1)), attacks=["identical"])
    assert audit.verdict is None
    assert audit.epsilon_lower > 1


def test_results_at_hand_can_be_placed() -> None:
    pair = pair_of(people(600, 1))
    results = {"identical": gh.disclosure.identical(pair), "disco": gh.disclosure.disco(pair)}
    audit = audit_results(results, gh.Risk.from_rho(0.5))
    assert [p.name for p in audit.points] == ["identical"]
    assert audit.verdict == "fail"


def test_the_same_seed_gives_the_same_audit() -> None:
    pair = pair_of(people(600, 3))
    first, second = (
        gh.audit(pair, gh.Risk.from_rho(0.5), attacks=["singling_out", "inference"], random_state=4) for _ in range(2)
    )
    assert first.to_json() == second.to_json()


def test_bad_input() -> None:
    with pytest.raises(gh.InputError, match="domias"):
        gh.audit(pair_of(people(600, 1)), gh.Risk.from_rho(0.5), attacks=["domia"])
    with pytest.raises(gh.InputError, match="'risk' of audit takes a Risk"):
        gh.audit(pair_of(people(600, 1)), 0.5, attacks=["identical"])
    with pytest.raises(gh.InputError, match="Pair"):
        gh.audit(people(600, 1), gh.Risk.from_rho(0.5))
