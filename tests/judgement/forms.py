"""Every form in which something is told outside: what a file, a terminal or a printer would hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import glasshouse as gh
from glasshouse.core.result import Result
from glasshouse.judgement.mitigation.mitigated import Mitigated
from glasshouse.judgement.verdict.assessment import Assessment
from glasshouse.show.cli import comparing, mitigating
from glasshouse.show.cli.terminal import render
from glasshouse.show.report.drawing import svg_of

FORMS = ("json", "md", "html", "pdf", "text")
CLOCK = re.compile(r"\d{1,2} \w+ \d{4}, \d\d:\d\d UTC")


@pytest.fixture
def printing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A printer that gives the page back: a PDF holds what is on it, and takes seconds."""
    monkeypatch.setattr("glasshouse.show.report.pdf.printed", lambda page, seconds=0.0: page.encode())


def told(found: Any) -> Iterator[tuple[str, str]]:
    """Name and text of every external output. Pages as they are: with attributes, pictures and what is behind them."""
    if isinstance(found, Result):
        yield "result", found.to_json("external")
        yield "result as data", json.dumps(found.to_dict("external"))
        return
    yield "content", json.dumps(found.content("external"), ensure_ascii=False)
    for form, made in _rendered(found):
        text = made.decode() if isinstance(made, bytes) else made
        yield form, CLOCK.sub("", text.replace("\\", "") if form == "md" else text)


def _rendered(found: Any) -> Iterator[tuple[str, str | bytes]]:
    if isinstance(found, gh.RUMap):
        yield from ((form, comparing._render(found, form, "external")) for form in FORMS)
        yield "chart", json.dumps(found.plot("map", shown=found.content("external")).to_dict())
    elif isinstance(found, Mitigated):
        yield from ((form, mitigating._rendered(found, form, "external")) for form in FORMS)
        if found.map is not None and found.taken:
            chart = found.plot(shown=found.content("external"))
            yield "chart", json.dumps(chart.to_dict())
            yield "picture", svg_of(chart)
    else:
        yield from ((form, render(found, form, "external")) for form in (*FORMS, "junit"))
        if isinstance(found, Assessment):
            yield "first sheet", found.to_pdf(audience="external", pages="first").decode()
