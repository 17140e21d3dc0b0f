"""One release, several attackers."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.judgement.policy.outcomes import PolicyViolation
from glasshouse.judgement.scenarios.scenarios import Scenarios
from tests.fakes import fake, four_threats, tables
from tests.show.pages import Page

FAST = ["disco", "uniques", "near_copies", "hellinger"]
TWO = [["gender", "age"], ["gender", "age", "education"]]


@pytest.fixture(scope="module")
def pair() -> gh.Pair:
    return gh.data.load("health").pair()


@pytest.fixture(scope="module")
def found(pair: gh.Pair) -> Scenarios:
    return gh.scenarios(pair, keys=TWO, measures=FAST)


def test_every_scenario_is_what_assess_says_about_it(pair: gh.Pair, found: Scenarios) -> None:
    assert list(found) == ["gender, age", "gender, age, education"]
    for name, keys in zip(found, TWO, strict=True):
        alone = gh.assess(pair.replace(keys=keys), measures=FAST)
        assert found[name].to_json() == alone.to_json()
        assert found[name].to_json(audience="external") == alone.to_json(audience="external")


def test_what_no_key_changes_is_computed_once(only_fakes: Any) -> None:
    calls: list[str] = []

    def counted(name: str, **declared: Any) -> None:
        made = fake(name, threat="copying", value=0.01, **declared)
        inner = made.function

        def function(pair: Any) -> Any:
            calls.append(name)
            return inner(pair)

        function.__name__, function.__doc__ = name, inner.__doc__
        object.__setattr__(made, "function", function)

    counted("of_copies")
    counted("of_keys", needs=("keys",))
    counted("of_roles", by_roles=True)
    original, released = tables()
    gh.scenarios(original, released, keys=[["sex"], ["region"], ["age"]], target="income")
    assert sorted(calls) == ["of_copies"] + ["of_keys"] * 3 + ["of_roles"] * 3


def test_measures_that_ask_no_roles_give_the_same_figures_whatever_the_roles() -> None:
    """What scenarios share rests on this; a measure that looks at keys or target says by_roles."""
    example = gh.data.load("health")
    some = [pl.DataFrame(t).head(250) for t in (example.original, example.released, example.holdout)]
    first = gh.Pair(some[0], some[1], holdout=some[2], keys=["gender", "age"], target="disease_status")
    other = first.replace(keys=["income", "education"], target="health_score")
    slow = {"forest_proximity", "energy_distance", "mmd"}
    for measure in all_measures().values():
        if measure.asks_roles or measure.name in slow:
            continue
        one, two = (measure.run(pair) for pair in (first, other))
        assert (one.value, one.p_value, one.status) == (two.value, two.p_value, two.status), measure.name
        assert one.details == two.details and one.sentence == two.sentence, measure.name


def test_names_targets_and_groupings(pair: gh.Pair) -> None:
    named = gh.scenarios(
        pair,
        keys={
            "neighbour": ["gender", "age"],
            "insurer": {"keys": ["gender", "education"], "target": "income"},
            "coarse": {"keys": ["age"], "key_groups": 4},
        },
        target="disease_status",
        measures=["disco"],
        key_groups={"age": 10},
    )
    assert list(named) == ["neighbour", "insurer", "coarse"]
    assert [one.pair.target for one in named.values()] == ["disease_status", "income", "disease_status"]
    asked = [one.results["disco"].settings["options"]["key_groups"] for one in named.values()]
    assert asked == [{"age": 10}, "auto", 4]
    both = gh.scenarios(pair, keys=["gender", "age"], target=["income", "disease_status"], measures=["disco"])
    assert list(both) == ["gender, age → income", "gender, age → disease_status"]
    assert list(gh.scenarios(pair, measures=["disco"])) == [", ".join(pair.keys)], "one scenario: that of the pair"


def test_the_worst_decides(only_fakes: Any) -> None:
    four_threats()
    fake("by_keys", "identity", value=0.5, needs=("weights",))
    original, released = (t.with_columns(w=1.0) for t in tables())
    assert gh.scenarios(original, released, keys=[["sex"], ["region"]]).exit_code == 0
    made = gh.scenarios(original, released, keys=[["sex"], ["region"]], weights="w")
    assert made.verdict == "fail" and made.exit_code == 1 and made.worst == "sex"
    with pytest.raises(PolicyViolation):
        made.raise_for_status()
    open_one = gh.scenarios(original, released, keys={"a": ["sex"]}, measures=["identity_measure"])
    assert open_one.exit_code == 3
    together = Scenarios({"open": open_one["a"], "bad": made["sex"], "good": made["region"]})
    assert together.exit_code == 1 and together.verdict == "fail" and together.worst == "bad"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"keys": [["gender", "agee"]]}, "did you mean 'age'"),
        ({"keys": []}, "keys is empty"),
        ({"target": []}, "target is an empty list"),
        ({"keys": [["age"], ["age"]]}, "two scenarios are called 'age'"),
        ({"keys": {"a": {"key": ["age"]}}}, "did you mean 'keys'"),
        ({"keys": [["age"], ["gender"]], "key_groups": {"agee": 3}}, "did you mean 'age'"),
        ({"keyss": []}, "no argument 'keyss'"),
    ],
)
def test_mistakes_are_named(pair: gh.Pair, given: dict[str, Any], said: str) -> None:
    with pytest.raises(gh.InputError, match=said):
        gh.scenarios(pair, measures=["disco"], **given)


def test_reports(found: Scenarios, tmp_path: Path) -> None:
    shown = json.loads(found.to_json(audience="external"))
    assert shown["schema"] == "glasshouse.scenarios" and list(shown["scenarios"]) == list(found)
    assert shown["table"][1]["keys"] == TWO[1] and shown["table"][0]["verdict"] == found["gender, age"].verdict
    assert "health.csv" not in json.dumps(shown)
    index = found.to_html(tmp_path / "report.html")
    pages = [Page((tmp_path / name).read_text()) for name in ("report.html", "report-1.html", "report-2.html")]
    assert not pages[0].crossed and not pages[0].stack and "script" not in pages[0].tags
    assert {a for a in pages[0].addresses if not a.startswith(("#", "data:"))} == {"report-1.html", "report-2.html"}
    assert "gender, age, education" in index and "gender, age, education" in (tmp_path / "report-2.html").read_text()
    assert not [a for a in Page(found.to_html()).addresses if a.endswith(".html")], "no file, no link"
    words = found.to_markdown()
    assert "| gender, age, education |" in words and "## gender, age\n\n### " in words
    suites = ET.fromstring(found.to_junit().encode()).findall("testsuite")
    assert [s.get("name", "").rpartition(": ")[2] for s in suites] == list(found)
    assert found.to_frame().select("scenario", "keys").rows()[0] == ("gender, age", "gender, age")
    assert "gender, age, education" in repr(found) and "gender, age" in found._repr_html_()


def test_a_hostile_name_is_shown_and_not_obeyed(pair: gh.Pair) -> None:
    name = "<script>alert(1)</script>\x1b[31m|x"
    made = gh.scenarios(pair, keys={name: ["gender"]}, measures=["disco"])
    page = made.to_html()
    assert "<script" not in page and "\x1b" not in page + repr(made) + made.to_markdown() + made.to_junit()
    assert "<script" not in made._repr_html_()
    assert "\\<script" in made.to_markdown() and "| <" not in made.to_markdown()


def test_progress_counts_over_all_scenarios(pair: gh.Pair) -> None:
    steps: list[tuple[int, int, str]] = []
    gh.scenarios(pair, keys=TWO, measures=["disco", "uniques"], progress=lambda *step: steps.append(step))
    assert [(done, total) for done, total, _ in steps] == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert steps[0][2] == "disco (gender, age)" and steps[-1][2] == ""


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_scenarios_have_the_published_schema(found: Scenarios, audience: str) -> None:
    from referencing import Registry, Resource

    docs = Path(__file__).resolve().parents[2] / "docs"
    schema, inner = (json.loads((docs / f"{name}.schema.json").read_text()) for name in ("scenarios", "assessment"))
    registry = Registry().with_resource("assessment.schema.json", Resource.from_contents(inner))
    check = jsonschema.Draft202012Validator(schema, registry=registry)
    shown = json.loads(found.to_json(audience=audience))
    check.validate(shown)
    with pytest.raises(jsonschema.ValidationError):
        check.validate({**shown, "scenarios": {"a": {"verdict": "pass"}}})


def test_pdf_is_a_sheet_with_the_table_and_a_file_for_each(
    found: Scenarios, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glasshouse.show.report.pdf.printed", lambda page, **_: b"%PDF" + page.encode())
    sheet = found.to_pdf(tmp_path / "r.pdf", mode=0o640)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r-1.pdf", "r-2.pdf", "r.pdf"]
    assert (tmp_path / "r.pdf").read_bytes() == sheet and b"gender, age, education" in sheet
    assert b"r-1" not in sheet and found.to_pdf().startswith(b"%PDF")
    assert (tmp_path / "r-2.pdf").stat().st_mode & 0o777 == 0o640
