"""Markdown as people read it: rendered it shows every name as it is, and as text it is not full of backslashes."""

from __future__ import annotations

import html
import re

import polars as pl
import pytest
from markdown_it import MarkdownIt

import glasshouse as gh
from glasshouse.show.report.markdown import plain_text

RENDER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render


@pytest.mark.parametrize("said", ["age_group, income_2024", "p < 0.05 and 2 > 1", "k >= 5", "copies_but_one", "-0.25"])
def test_ordinary_text_stays_as_it_is(said: str) -> None:
    assert plain_text(said) == said


@pytest.mark.parametrize(
    "name",
    [
        "_id and id_",
        "__init__",
        "_a_",
        "*a* **b**",
        "~~gone~~",
        "[text](http://x.example)",
        "![p](x)",
        "<b>bold</b>",
        "<http://x.example>",
        "</td>",
        "<!-- -->",
        "a|b",
        "`code`",
        "&amp; &#95;",
        "# heading",
        "> quoted",
        "- item",
        "+ item",
        "back\\slash \\_",
    ],
)
@pytest.mark.parametrize("where", ["- {}", "{}", "| a |\n|---|\n| {} |"])
def test_a_name_is_shown_as_it_is(name: str, where: str) -> None:
    made = RENDER(where.format(plain_text(name)))
    tags = set(re.findall(r"</?(\w+)", made))
    assert tags <= {"p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}, made
    assert name in html.unescape(re.sub(r"</?\w+>", "", made))


def test_a_report_has_no_escaped_underscore() -> None:
    table = pl.DataFrame({"age_group": ["a", "b"] * 60, "_id": list(range(120)), "illness_": ["x", "y", "z"] * 40})
    found = gh.assess(table, table, keys=["age_group"], target="illness_", measures=["disco", "k_anonymity"])
    text = found.to_markdown()
    assert "\\_" not in text and "age_group" in text
    assert "illness_" in html.unescape(RENDER(text))
