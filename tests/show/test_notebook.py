"""Cards in a notebook: the picture with the figures, nothing computed again, nothing obeyed, and a bar that moves."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.show.report import notebook
from tests.fakes import fake, four_threats, tables
from tests.show.pages import Page
from tests.show.test_hostile import NAMES, hostile


def check_card(text: str) -> Page:
    """What every card must keep: balanced, silent, without script."""
    page = Page(text)
    assert not page.crossed and not page.stack, page.crossed[:3] or page.stack
    assert page.addresses == [] and not {"script", "iframe", "img", "link"} & page.tags
    assert "url(" not in text.replace("url(#", "") and "@import" not in text and len(text) < 90_000
    return page


@pytest.fixture(scope="module")
def pair() -> gh.Pair:
    return gh.data.load("health").pair()


# -- what is shown -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["uniques", "disco", "cap", "dcr"])
def test_a_result_shows_its_chart_beside_its_figures(pair: gh.Pair, name: str) -> None:
    result = getattr(gh.disclosure, name)(pair)
    page = check_card(result._repr_html_())
    assert "svg" in page.tags and "table" in page.tags
    assert result.measure.title in page.said and " ".join(result.sentence.split()) in page.said
    assert "Internal" in page.said


def test_a_chart_too_large_for_a_card_gives_way_to_a_small_one(pair: gh.Pair) -> None:
    result = gh.utility.pca(pair)
    assert len(notebook.svg_of(result.plot())) > notebook.MOST_BYTES
    page = check_card(result._repr_html_())
    assert "svg" in page.tags and "with the release" in page.said


def test_a_result_without_a_figure_says_why(only_fakes: Any) -> None:
    fake("lacking", missing="lacking needs a holdout")
    page = check_card(gh.assess(*tables()).results["lacking"]._repr_html_())
    assert "needs a holdout" in page.said and "svg" not in page.tags


def test_an_assessment_shows_the_threats_on_one_axis(only_fakes: Any) -> None:
    four_threats(copying="fail", identity="warn", membership="not_assessed")
    found = gh.assess(*tables())
    text = found._repr_html_()
    page = check_card(text)
    for said in ("FAIL", "Do not release", "Identity", "Attribute", "Membership", "Copying", "What to do", "Internal"):
        assert said in page.said
    assert text.count("<circle") == 3 and "audience='external'" in page.said
    assert found.headline.startswith("Do not release: ") and page.said.count("Do not release") == 1
    rest = found.headline.removeprefix("Do not release: ")
    assert rest[:1].upper() + rest[1:] in page.said and found.policy.fingerprint in page.said


def test_a_map_shows_the_picture_and_the_recommendation() -> None:
    ru = gh.RUMap.from_scores(risk={"a": [0.1, 0.5]}, utility={"b": [0.4, 0.9]}, releases=["first", "second"])
    page = check_card(ru._repr_html_())
    assert "svg" in page.tags and "2 releases" in page.said and "first" in page.said
    assert ru.text().splitlines()[0] in page.said


def test_scenarios_show_the_verdict_and_a_row_each(only_fakes: Any) -> None:
    four_threats(copying="fail")
    found = gh.scenarios(*tables(), keys=[["sex"], ["sex", "region"]])
    page = check_card(found._repr_html_())
    for said in ("FAIL", "Do not release", "sex, region", "identity", "copying", "Internal", "audience='external'"):
        assert said in page.said
    assert found.headline in page.said and "table" in page.tags


def test_a_pair_draws_numbers_in_order_and_says_what_it_leaves_out() -> None:
    n, levels = 240, ["low", "middle", "high", "top"]
    rng = np.random.default_rng(1)
    pay = rng.normal(2000, 300, n).round()
    pay[:30] = -9
    table = pl.DataFrame(
        {
            "school": pl.Series(rng.choice(levels, n, p=[0.1, 0.2, 0.3, 0.4]), dtype=pl.Enum(levels)),
            "pay": pay,
            **{f"c{i}": rng.choice(["x", "y"], n) for i in range(6)},
        }
    )
    pair = gh.Pair(table, table[::-1], special_codes={"pay": [-9]}, schema={"school": levels})
    drawn = {one["column"]: one for one in notebook.distributions(pair, pair.columns[:2])}
    assert drawn["school"]["labels"] == levels, "in their order, not by frequency"
    assert min(drawn["pay"]["original"]) >= 0 and drawn["pay"]["original"][0] < 0.05, "-9 is no income"
    assert "2 more columns not drawn" in check_card(pair._repr_html_()).said


def test_a_written_report_is_shown_as_its_file(only_fakes: Any, tmp_path: Path) -> None:
    four_threats()
    found = gh.assess(*tables())
    several = gh.scenarios(*tables(), keys=[["sex"], ["region"]])
    for one in (found, several):
        page = one.to_html(tmp_path / "report.html")
        assert repr(page) == f"wrote {tmp_path / 'report.html'}"
        assert isinstance(page, str) and page == (tmp_path / "report.html").read_text() and page.startswith("<!")
    assert repr(found.to_json(tmp_path / "a.json")) == f"wrote {tmp_path / 'a.json'}"
    assert repr(found.to_json()).startswith("'{")


def test_what_is_found_comes_as_a_frame(pair: gh.Pair, tmp_path: Path) -> None:
    found = gh.assess(pair, measures=["disco", "cap", "total_variation"])
    frame = pl.DataFrame(found.to_frame())
    assert frame["measure"].to_list() == list(found.results) and frame.height == 3
    assert frame.filter(pl.col("measure") == "disco")["value"].item() == found.results["disco"].value
    ru = gh.RUMap.from_scores(risk={"a": [0.1, 0.5]}, utility={"b": [0.4, 0.9]}, releases=["first", "second"])
    assert pl.DataFrame(ru.to_frame())["release"].to_list() == ["first", "second"]
    assert ru.to_html(tmp_path / "map.html") == (tmp_path / "map.html").read_text() and "<svg" in ru.to_html()
    rapid = gh.disclosure.rapid(pair, attackers="cart")
    assert "p value" in list(pl.DataFrame(rapid.test().to_frame())["figure"])
    assert "threshold" in pl.DataFrame(rapid.thresholds().to_frame()).columns
    assert "estimate" in pl.DataFrame(rapid.attribution().to_frame()).columns


def test_a_pair_shows_sizes_roles_findings_and_columns(pair: gh.Pair) -> None:
    page = check_card(pair._repr_html_())
    for said in ("1,000 records", "gender, age, education", "disease_status", "no findings", "Internal"):
        assert said in page.said
    assert "svg" in page.tags
    bare = gh.Pair(pl.DataFrame({"a": [1, 2, 3]}), pl.DataFrame({"a": [1, 2, 3]}))
    said = check_card(bare._repr_html_()).said
    assert "keys=" in said and "target=" in said and "Before you read on" in said


def test_a_table_that_lies_elsewhere_is_not_fetched_for_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    base = duckdb.connect()
    for name, table in zip(("one", "two"), tables(), strict=True):
        base.register(name, table.to_arrow())
    far = gh.Pair(base.table("one"), base.table("two"), keys=["sex"])
    monkeypatch.setattr(notebook, "distributions", lambda *_: pytest.fail("the columns were read"))
    assert "pair.check() looks at the tables" in check_card(far._repr_html_()).said


def test_labels_are_text_never_markup() -> None:
    pair = gh.Pair(hostile(), hostile(seed=1), keys=NAMES[:3], target=NAMES[3])
    found = gh.assess(pair, measures=["disco", "uniques", "total_variation", "identical"])
    ru = gh.RUMap.from_scores(
        risk={"a": [0.1, 0.5]}, utility={"b": [0.4, 0.9]}, releases=["<script>x</script>", '"><img src=x>']
    )
    for shown in (pair, found, *found.results.values(), ru):
        text = shown._repr_html_()
        check_card(text)
        assert "<script" not in text and "<b>bold" not in text and "\x01" not in text and "\u202e" not in text


# -- nothing runs twice ------------------------------------------------------------------------------------------------


def test_a_card_computes_nothing_and_is_drawn_once(only_fakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []
    made = fake("counted", value=0.1, baseline=0.05, flag=True)
    own = made.function

    def counted(pair: Any) -> Any:
        runs.append("run")
        return own(pair)

    object.__setattr__(made, "function", counted)
    drawings: list[str] = []
    draw = notebook.svg_of
    monkeypatch.setattr(notebook, "svg_of", lambda chart: drawings.append("drawn") or draw(chart))
    pair = gh.Pair(*tables(), keys=["sex"], target="income")
    result = made(pair)
    found = gh.assess(pair)
    before = len(runs)
    assert before == 2
    for shown in (result, found, pair):
        first = shown._repr_html_()
        assert shown._repr_html_() is first
    assert len(runs) == before and drawings == ["drawn"]


def test_cards_go_with_their_objects() -> None:
    import gc

    result = gh.RUMap.from_scores(risk={"a": [0.1, 0.5]}, utility={"b": [0.4, 0.9]})
    result._repr_html_()
    kept = len(notebook._cards)
    del result
    gc.collect()
    assert len(notebook._cards) < kept


# -- progress ----------------------------------------------------------------------------------------------------------


class Handle:
    def __init__(self, shown: list[dict[str, str]]) -> None:
        self.shown = shown

    def update(self, data: dict[str, str], raw: bool) -> None:
        self.shown.append(data)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What a notebook would show: IPython with a kernel, whose display only takes notes."""
    shown: list[dict[str, str]] = []

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        shown.append(data)
        return Handle(shown)

    package, part = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    package.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    part.display = display  # type: ignore[attr-defined]
    package.display = part  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", part)
    monkeypatch.setattr("glasshouse.show.cell.SECONDS", 0.0)
    return shown


def test_a_notebook_has_a_bar_that_goes_away(only_fakes: Any, cell: list[dict[str, str]]) -> None:
    four_threats()
    gh.assess(*tables())
    assert any('value="3" max="4"' in one["text/html"] and "membership_measure" in one["text/html"] for one in cell)
    assert cell[-1] == {"text/plain": "", "text/html": ""}


def test_a_bar_can_be_left_out_or_replaced(only_fakes: Any, cell: list[dict[str, str]]) -> None:
    four_threats()
    heard: list[str] = []
    gh.assess(*tables(), progress=False)
    gh.assess(*tables(), progress=lambda done, total, name: heard.append(name))
    assert cell == [] and len(heard) == 5


def test_a_run_that_fails_takes_its_bar_along(cell: list[dict[str, str]]) -> None:
    with pytest.raises(gh.InputError):
        gh.assess(*tables(), measures="no such measure")
    assert cell[-1]["text/html"] == ""


def test_a_comparison_has_one_bar(cell: list[dict[str, str]]) -> None:
    example = gh.data.load("case_study")
    gh.compare(example.pair(), {k: example.releases[k] for k in "AB"}, risk=["near_copies"], utility=["hellinger"])
    assert sum("starting" in one["text/html"] for one in cell) == 1 and cell[-1]["text/html"] == ""


def test_elsewhere_nothing_is_drawn(only_fakes: Any, capsys: pytest.CaptureFixture[str]) -> None:
    four_threats()
    gh.assess(*tables())
    told = capsys.readouterr()
    assert told.out == "" and told.err == ""
