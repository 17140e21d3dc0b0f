"""The content that leaves the house has the published schema, for every audience."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from tests.show.pages import check_page

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def assessed() -> Any:
    example = gh.data.load("health")
    return gh.assess(example.pair(), policy="research", measures="fast")


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_an_assessment_has_the_published_schema(assessed: Any, audience: str) -> None:
    schema = json.loads((DOCS / "assessment.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(assessed.to_json(audience=audience)), schema)
    jsonschema.validate(assessed.content(audience), schema)


def test_the_schema_refuses_what_must_not_leave(assessed: Any) -> None:
    schema = json.loads((DOCS / "assessment.schema.json").read_text(encoding="utf-8"))
    shown = json.loads(assessed.to_json(audience="internal")) | {"audience": "external"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(shown, schema)


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_a_map_has_the_published_schema(audience: str) -> None:
    schema = json.loads((DOCS / "map.schema.json").read_text(encoding="utf-8"))
    example = gh.data.load("case_study")
    ru = gh.compare(
        example.original,
        example.releases,
        keys=list(example.keys),
        target=example.target,
        risk=["identical"],
        utility=["hellinger"],
    )
    jsonschema.validate(json.loads(ru.to_json(audience)), schema)
    with pytest.raises(gh.InputError, match="audience"):
        ru.content("public")


def test_what_is_shown_twice_is_made_once(assessed: Any) -> None:
    assert assessed.content("external") is assessed.content("external")


def test_a_difference_is_made_of_what_is_told_of_both_sides() -> None:
    """Sixty copies and one stranger's match: the exact difference would give the one back."""
    rng = np.random.default_rng(0)

    def table(n: int) -> pl.DataFrame:
        return pl.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n)})

    original, holdout = table(400), table(400)
    released = pl.concat([original[:60], holdout[:1], table(339)])
    found = gh.assess(original, released, holdout=holdout, measures=["exact_copies"])
    inside, outside = (found.content(a)["results"]["exact_copies"] for a in ("internal", "external"))
    assert inside["difference"] == pytest.approx(59 / 400) and inside["exposure"]["people"] > 50
    # of 400 people a step is 2 %: 60 are told as 16 %, and 1 as fewer than 2 %, whatever it is
    assert (outside["value"], outside["holdout"], outside["holdout_shown"]) == (0.16, None, "< 2.0 %")
    assert outside["difference"] == outside["exposure"]["share"] == 0.16
    assert outside["difference_interval"] == [0.11, 0.21]
    assert outside["comparison"] == "" and outside["p_value"] is None, "the p value of one test is a count"
    assert found.content("internal")["threats"]["copying"]["effect"] == pytest.approx(147.5)
    assert found.content("external")["threats"]["copying"]["effect"] == 160


def test_what_leaves_does_not_give_counts_back() -> None:
    """Three copies in 300: the exact p value, C(300, 3) / C(600, 3), says three, and a detection limit says how many
    strangers are exposed."""
    rng = np.random.default_rng(1)

    def table(n: int) -> pl.DataFrame:
        return pl.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n), "z": rng.choice(["a", "b"], n)})

    original, holdout = table(300), table(300)
    released = pl.concat([original[:3], table(297)])
    names = ["identical", "exact_copies", "near_copies", "domias", "linkability"]
    found = gh.assess(original, released, holdout=holdout, measures=names)
    outside = found.content("external")
    exact = [t.p for leak in found.leak.threats.values() for t in leak.tests]
    exact += [r.p_value for r in found.results.values() if r.p_value is not None]
    text = json.dumps(outside)
    for p in exact:
        if 1e-4 < p < 0.5:
            assert repr(float(p))[:7] not in text
    told = [r["p_value"] for r in outside["results"].values()] + [t["p_value"] for t in outside["threats"].values()]
    assert {p for p in told if p is not None} <= {0.01, 0.05, 1.0}, "the levels a verdict goes by, and no other"
    assert all(r["comparison"] in ("p >= 0.05", "") or "p <" in r["comparison"] for r in outside["results"].values())
    page = check_page(found.to_html(audience="external")).said
    assert re.search(r"p (<|>=) 0\.", page) and not re.search(r"p = 0\.", page), "a level is no p value"
    limits = [t["detection_limit"] for t in outside["threats"].values() if t["detection_limit"] is not None]
    assert limits and all(f"{limit:.0e}"[0] in "125" and limit == float(f"{limit:.0e}") for limit in limits)
    assert not any(r["details"] or r["warnings"] or r["replicates"] for r in outside["results"].values())


def test_who_is_at_risk_is_told_whatever_holds_the_tables() -> None:
    duckdb = pytest.importorskip("duckdb")
    example = gh.data.load("health")
    tables = {"o": example.original, "s": example.released, "h": example.holdout}
    roles = {"keys": example.keys, "target": example.target, "measures": ["disco"]}
    base = duckdb.connect()
    for name, table in tables.items():
        base.register(f"{name}_view", table.to_arrow())
        base.execute(f"create table {name} as select * from {name}_view")
    lazily = [[t.lazy() for t in tables.values()], [base.table(name) for name in tables]]
    wanted = gh.assess(*list(tables.values())[:2], holdout=tables["h"], **roles).content("internal")["people"]
    for original, released, holdout in lazily:
        found = gh.assess(original, released, holdout=holdout, **roles).content("internal")
        # an ordered category is plain text in a database, so that its levels come in another order
        groups = [sorted(p["groups"], key=str) for p in (found["people"], wanted)]
        assert groups[0] == groups[1] and {**found["people"], "groups": []} == {**wanted, "groups": []}
