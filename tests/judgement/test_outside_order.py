"""What stands first outside follows what is told: an order of exact figures tells nobody from one person."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.judgement import outside
from glasshouse.judgement.verdict import advice


@pytest.fixture(scope="module")
def alarmed() -> Any:
    """Copied people, so that several threats alarm at once."""
    parts = [gh.data.simulate_health(300, random_state=seed) for seed in (1, 2, 3)]
    released = pl.concat([parts[0][:150], parts[1][:150]])
    roles: dict[str, Any] = {"keys": ["gender", "age", "education"], "target": "disease_status"}
    measures = ["exact_copies", "near_copies", "copied_answers", "domias", "disco", "linkability"]
    return gh.assess(gh.Pair(parts[0], released, holdout=parts[2], **roles), measures=measures, n_jobs=1)


def test_advice_outside_stands_in_no_order_of_p_values(alarmed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        outside.content(alarmed)["recommendations"] if sign == 0 else _turned(alarmed, monkeypatch, sign)
        for sign in (0, 1, -1)
    ]
    assert len(found[0]) > 1 and found[0] == found[1] == found[2]
    assert {one["operation"] for one in found[0]} <= {None, *gh.protection.operations()}


def _turned(assessment: Any, monkeypatch: pytest.MonkeyPatch, sign: int) -> Any:
    """The advice as if the p values of the tests stood in another order."""
    places = {j.name: sign * i for i, j in enumerate(assessment.judged)}
    monkeypatch.setattr(advice, "_p", lambda judged: places[judged.name])
    return outside.content(assessment)["recommendations"]


def test_the_threat_that_exposes_most_is_not_told(alarmed: Any) -> None:
    releases = {"A": alarmed.pair.local("released"), "B": gh.data.simulate_health(300, random_state=9)}
    given = {"measures": ["exact_copies", "disco", "total_variation"], "progress": False, "policy": "research"}
    ru = gh.compare(alarmed.pair, releases, **given)
    assert any(row["exposed_by"] for row in ru.content()["releases"])
    assert {row["exposed_by"] for row in ru.content("external")["releases"]} == {None}
