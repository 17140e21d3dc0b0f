"""A comparison of releases as a page or as Markdown: the map, and the figures behind it."""

from __future__ import annotations

from typing import Any

from glasshouse.core.plain import number
from glasshouse.show.report.drawing import map_of
from glasshouse.show.report.markdown import _text
from glasshouse.show.report.templating import environment


def render(ru_map: Any) -> str:
    """One self-contained page with the risk-utility map."""
    text: str = environment().get_template("comparison.html.j2").render(ru=map_of(ru_map), summary=_summary(ru_map))
    return text


def markdown(ru_map: Any) -> str:
    """The scores as a table."""
    rows = (map_of(ru_map) or {}).get("rows", [])
    if not rows:
        return _summary(ru_map) + "\n"
    names = list(rows[0])
    lines = ["| " + " | ".join(_text(str(n)) for n in names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row[n]) for n in names) + " |" for row in rows]
    return "\n".join(["# Risk and utility of the compared releases", "", *lines]) + "\n"


def _cell(value: Any) -> str:
    return (
        "–"
        if value is None
        else number(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else _text(str(value))
    )


def _summary(ru_map: Any) -> str:
    return str(ru_map.summary() if hasattr(ru_map, "summary") else ru_map)
