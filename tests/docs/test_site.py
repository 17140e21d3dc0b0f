"""What the build does to the text of a page before Sphinx reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpydoc", reason="the packages of the site are not installed (extra: docs)")

from tools.site.blocks import parse
from tools.site.extension import inside, names_of, present, shown
from tools.site.running import ROOT, Shown
from tools.site.writing import safe

DOCS = ROOT / "docs"


def test_what_code_printed_stands_below_it() -> None:
    text = "Text.\n\n- in a list:\n\n  ```python\n  1 + 1\n  ```\n\n<!-- not run: no R here -->\n\n```r\nx <- 1\n```\n"
    made = shown(parse(text, "page"), [Shown("2\n"), Shown(ran=False)])
    assert "  ````{code-block} text\n  :class: gh-output gh-table\n  \n  2\n  ````" in made
    assert "Not run by the build of this page: no R here." in made and "<!--" not in made


def test_exit_codes_and_charts_stand_below_their_code() -> None:
    made = shown(
        parse("    glasshouse assess\n\n```python\nx.plot()\n```\n", "p"),
        [Shown("no", codes=(1,)), Shown(picture="<svg/>")],
    )
    assert made.startswith("```shell\nglasshouse assess\n```") and "[exit code 1]" in made
    assert '<figure class="gh-chart"' in made


def test_data_that_are_not_at_hand_are_said() -> None:
    page = parse("<!-- needs sd2011: not ours -->\n\n```python\n1\n```\n", "page")
    assert "Not run by the build of this page: not ours." in shown(page, [Shown(ran=False)])
    assert "Not run" not in shown(page, [Shown("1\n")])


def test_names_of_a_package_are_those_that_errors_know() -> None:
    assert "| `dcap` |" in names_of("riskutility") and "### Arguments" in names_of("anonymeter")
    with pytest.raises(ValueError, match="no names"):
        names_of("nobody")


def test_pages_that_are_made_elsewhere_are_listed_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "benchmarks.md").touch()
    assert present("a\n?/bench*\n?/missing*\n", tmp_path) == "a\n/benchmarks\n"


def test_links_out_of_the_site_become_names() -> None:
    there = inside("[how](../CONTRIBUTING.md) and [this](app.md), [not](../nothing.md)", DOCS / "x.md", DOCS)
    assert there == "how (`CONTRIBUTING.md`) and [this](app.md), [not](../nothing.md)"


def test_docstrings_become_markup_that_says_the_same() -> None:
    text = "With |x| bars and ``|y|``:\n\n    F = |x| / 2\n    G = 1\n\nText.\n\n.. [1] Author (2020)."
    assert safe(text, notes=True) == (
        "With \\|x\\| bars and ``|y|``:\n\n::\n\n    F = |x| / 2\n    G = 1\n\nText.\n\n* Author (2020)."
    )
    whole = "Sum.\n\nParameters\n----------\nx : int\n    |x|.\n\nNotes\n-----\nThus\n\n    a = b"
    assert "::\n\n    a = b" in safe(whole) and "    \\|x\\|." in safe(whole)
