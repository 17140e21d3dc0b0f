from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from tests.fakes import fake, four_threats, tables
from tests.show.pages import Page, check_page


@pytest.fixture(scope="module")
def assessed() -> Any:
    """The near copy of the case study under the quick measures: something of everything."""
    return gh.assess(gh.data.load("case_study").pair("C"), measures="fast", policy="research", options={})


def told_apart(headline: str) -> tuple[str, str]:
    """The two parts of a headline as a page shows them: the verdict large, and the rest as a sentence below it."""
    verdict, _, rest = headline.partition(": ")
    return verdict, rest[:1].upper() + rest[1:]


def test_the_page_is_complete_and_asks_for_nothing(assessed: Any, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    text = assessed.to_html(path)
    assert path.read_text(encoding="utf-8") == text and len(text.encode()) < 2_000_000
    page = check_page(text)
    for said in (
        "age_group",
        "How computed",
        "Seed 0",
        "gh.assess(pair",
        "no evidence that people are protected",
        *told_apart(assessed.headline),
    ):
        assert said in page.said
    for table in assessed.overview["tables"]:
        assert table["fingerprint"] in page.said


def test_order_follows_the_readers_questions(assessed: Any) -> None:
    text = assessed.to_html()
    places = [
        text.index(f'id="{name}"') for name in ("verdict", "threats", "people", "utility", "copying", "data", "methods")
    ]
    assert places == sorted(places)


def test_no_level_of_headings_is_jumped(assessed: Any) -> None:
    levels = Page(assessed.to_html()).headings
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later <= before + 1 for before, later in pairwise(levels))


def test_marks_are_shapes_and_words_never_colour_alone(assessed: Any) -> None:
    text = assessed.to_html()
    for chip in re.findall(r'<span class="chip is-\w+">(.*?)</span>', text, flags=re.S):
        assert "<svg" in chip and re.sub(r"<[^>]+>", "", chip).strip()


def test_every_measure_is_there_with_formula_and_source(assessed: Any) -> None:
    page = check_page(assessed.to_html())
    for name, result in assessed.results.items():
        assert f"m-{name}" in page.ids
        assert " ".join(result.measure.cite.split()) in page.said
    missing = [j for j in assessed.judged if j.status == "not_assessed"]
    assert all(j.result.reason[:60] in page.said for j in missing)


def test_print_and_dark_and_phone_are_designed_for(assessed: Any) -> None:
    text = assessed.to_html()
    assert "@media print" in text and "prefers-color-scheme: dark" in text and "max-width: 620px" in text


def test_a_map_is_shown_when_releases_were_compared(only_fakes: Any) -> None:
    four_threats()
    ru = gh.RUMap.from_scores(
        risk={"a": [0.1, 0.5]}, utility={"b": [0.4, 0.9]}, releases=["first", "second"], scale="minmax"
    )
    text = gh.assess(*tables()).to_html(ru_map=ru)
    page = check_page(text)
    assert "map" in page.ids and "#map" in page.addresses and "second" in page.said


def test_markdown_and_junit_and_json_tell_the_same_story(assessed: Any, tmp_path: Path) -> None:
    markdown = assessed.to_markdown(tmp_path / "report.md")
    assert (
        "# ✖ Do not release" in markdown
        and "| identity |" in markdown
        and assessed.overview["tables"][0]["fingerprint"] in markdown
    )
    suite = ET.fromstring(assessed.to_junit(tmp_path / "report.xml").encode())
    cases = suite.findall(".//testcase")
    assert len(cases) == len(assessed.outcomes.outcomes) + 4
    failed = [c for c in cases if c.find("failure") is not None]
    expected = len(assessed.outcomes.violations) + sum(t.status == "fail" for t in assessed.threats.values())
    assert len(failed) == expected == int(suite.attrib["failures"])
    content = json.loads(assessed.to_json(tmp_path / "report.json"))
    assert (content["schema"], content["schema_version"], content["verdict"]) == ("glasshouse.assessment", 5, "fail")
    assert {p.name for p in tmp_path.iterdir()} == {"report.md", "report.xml", "report.json"}


def test_the_overall_verdict_can_be_recomputed_from_what_is_shown(assessed: Any) -> None:
    content = json.loads(assessed.to_json())
    for name, threat in content["threats"].items():
        rows = [r for r in content["results"].values() if r["threat"] == name]
        members = [r["judgement"] for r in rows if r["role"] in ("decides", "evidence")]
        ranked = [s for s in ("fail", "warn", "pass") if s in members]
        assert threat["status"] == (ranked[0] if ranked else "not_assessed")
        tests = [r["p_value"] for r in rows if r["role"] == "evidence"]
        # the combination never shows more than its strongest part; the copy alarm of a utility measure has its own p
        alarms = [n for n in threat["deciding"] if content["results"][n]["side"] == "utility"]
        assert not tests or alarms or threat["p_value"] >= min(*tests, 0.5) - 1e-12
    statuses = [t["status"] for t in content["threats"].values()]
    assert content["verdict"] == ("fail" if "fail" in statuses else content["verdict"])


def test_a_junit_case_that_was_not_measured_is_an_error_not_a_failure(only_fakes: Any) -> None:
    four_threats(membership="not_assessed")
    suite = ET.fromstring(gh.assess(*tables()).to_junit().encode())
    assert suite.find(".//testcase[@name='membership']/error") is not None and suite.attrib["failures"] == "0"


def test_an_unknown_audience_or_folder_is_one_sentence(assessed: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="audience"):
        assessed.to_html(audience="public")
    with pytest.raises(InputError, match="cannot write"):
        assessed.to_html(tmp_path / "no" / "such" / "report.html")
    with pytest.raises(InputError, match="folder"):
        assessed.to_json(tmp_path)


# -- the external version ----------------------------------------------------------------------------------------------


def _confidential(n: int = 300) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables whose labels and numbers cannot appear on a page by accident."""
    rng = np.random.default_rng(7)
    towns = ["Quirkenbach", "Zwiefaltendorf", "Öxnevalla", "Llanfairpwll"]
    jobs = ["falconer", "beekeeper", "cooper", "notary", "farrier"]

    def table(shift: float) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "town": rng.choice(towns, n),
                "job": rng.choice(jobs, n, p=[0.6, 0.2, 0.15, 0.04, 0.01]),
                "age": rng.integers(18, 90, n),
                "salary": np.round(20137.37 + shift + 91.13 * rng.random(n) * 500, 2),
                "illness": rng.choice(["ague", "dropsy", "quinsy"], n),
            }
        )

    return table(0.0), table(3.5)


@pytest.fixture(scope="module")
def secret() -> Any:
    original, released = _confidential()
    return gh.assess(original, released, keys=["town", "job", "age"], target="illness", measures="fast"), original


@pytest.mark.parametrize("form", ["html", "json", "md", "junit"])
def test_nothing_of_a_person_leaves_the_house(secret: Any, form: str) -> None:
    assessed, original = secret
    text = {"html": assessed.to_html, "json": assessed.to_json, "md": assessed.to_markdown, "junit": assessed.to_junit}[
        form
    ](audience="external")
    if form == "html":
        text = check_page(text).said
    for column in ("town", "job", "illness"):
        found = [label for label in original[column].unique() if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text)]
        assert not found, f"{form} names {found}"
    for value in original["salary"].to_list():
        assert f"{value:.2f}" not in text and f"{value:,.2f}" not in text and repr(value) not in text


def test_the_internal_page_does_hold_them_so_the_test_above_can_see(secret: Any) -> None:
    assessed, _ = secret
    assert "beekeeper" in check_page(assessed.to_html()).said


def test_no_count_under_the_minimum_leaves_the_house(secret: Any) -> None:
    assessed, _ = secret
    content = json.loads(assessed.to_json(audience="external"))

    def counts(item: Any) -> Any:
        if isinstance(item, dict):
            for value in item.values():
                yield from counts(value)
        elif isinstance(item, int) and not isinstance(item, bool):
            yield item

    for name, result in content["results"].items():
        assert result["side"] == "utility" or not [c for c in counts(result["details"]) if 0 < c < 5], name
        value = result["value"]
        if result["side"] == "disclosure" and isinstance(value, int):
            assert value == 0 or value >= 5, name
    assert "records" not in json.dumps(content["people"])
    assert content["data"]["findings"] == []


def test_how_long_it_took_stays_in_the_house(secret: Any) -> None:
    assessed, _ = secret
    took = r"changes no other figure\. \d+\.\d s"
    assert re.search(took, check_page(assessed.to_html()).said)
    assert not re.search(took, check_page(assessed.to_html(audience="external")).said)


def test_a_small_share_is_shown_as_an_upper_bound(only_fakes: Any) -> None:
    fake("tiny", value=0.004, flag=True, evidence={"of": 500}, sentence="2 people are at risk.")
    found = gh.assess(*tables(500))
    text = check_page(found.to_html(audience="external")).said
    assert "< 1.0 %" in text and "2 people" not in text and "0.4 %" not in text


def test_the_smallest_class_is_not_told(only_fakes: Any) -> None:
    fake(
        "k_like",
        "identity",
        2,
        better="higher",
        limit=Limit("value", warn=5, fail=3),
        table="single",
        range=(1, None),
        unit="records",
        sentence="The smallest class has 2 records.",
    )
    page = check_page(gh.assess(*tables()).to_html(audience="external"))
    assert "<5" in page.said and "2 records" not in page.said


# -- size --------------------------------------------------------------------------------------------------------------


def test_fifty_columns_stay_under_two_megabytes() -> None:
    rng = np.random.default_rng(1)
    columns = {f"c{i}": rng.normal(size=400) if i % 2 else rng.choice(list("abcdef"), 400) for i in range(50)}
    original = pl.DataFrame(columns)
    found = gh.assess(
        original,
        original.sample(fraction=1.0, with_replacement=True, seed=1),
        keys=["c0", "c2", "c4"],
        target="c6",
        measures=[
            "disco",
            "identical",
            "k_anonymity",
            "hellinger",
            "total_variation",
            "wasserstein",
            "tail_fidelity",
            "missingness",
            "pmse",
        ],
    )
    text = found.to_html()
    assert len(text.encode()) < 2_000_000
    assert "more columns" in check_page(text).said


def test_what_to_do_stands_on_the_first_page() -> None:
    """A piece of advice is a finding and then what to do: cut after the finding it is none."""
    from glasshouse.catalogue import all_measures
    from glasshouse.show.cli.flags import flagged
    from glasshouse.show.report.sheet import ADVICE
    from glasshouse.show.report.view import cut

    usual = {
        "title": "Copies but for one column", "value": "15.7 %", "people": "people", "figure": "0.711",
        "records": "people's records",
        "strangers": " (3.3 % for people the synthesiser never saw)", "expected": ", where 36.7 % is expected",
        "guessing": " (without the release: 33.1 %)", "elsewhere": "to people it never saw", "excess": "12.3 %",
        "rate": ", 9.3 % of members with at most 1 % false alarms", "keys": "age, sex and region", "target": "income",
        "top_key": "region", "top_keys": "age and region", "numeric": "age and income", "synthetic": "",
    }  # fmt: skip
    for text in {m.advice for m in all_measures().values() if m.advice}:
        said = flagged(text.format(**usual))
        assert cut(said, ADVICE) == said


def test_a_column_nobody_has_a_value_in_is_a_page_all_the_same() -> None:
    rng = np.random.default_rng(2)
    given = [
        pl.DataFrame({"sex": rng.choice(["f", "m"], 60), "none": pl.Series([None] * 60, dtype=pl.String)}) for _ in "ab"
    ]
    found = gh.assess(*given, keys=["sex", "none"], schema={"none": ["a", "b"]}, measures=["uniques"])
    assert "none" in found.to_html() and found.pair._repr_html_()
