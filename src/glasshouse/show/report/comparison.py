"""A comparison of releases as a page or as Markdown: the map, and the figures behind it."""

from __future__ import annotations

from typing import Any

from glasshouse.show.report.drawing import map_of
from glasshouse.show.report.markdown import plain_text
from glasshouse.show.report.templating import environment


def render(ru_map: Any) -> str:
    """One self-contained page with the risk-utility map."""
    text: str = environment().get_template("comparison.html.j2").render(ru=map_of(ru_map))
    return text


def markdown(ru_map: Any) -> str:
    """The scores as a table, and the same in words."""
    found = map_of(ru_map)
    lines = ["# Risk and utility of the compared releases", ""]
    lines += ["| release | risk | utility | among the others | copying |", "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(plain_text(cell) for cell in row.values()) + " |" for row in found["rows"]]
    return "\n".join([*lines, "", *(f"- {plain_text(line)}" for line in found["words"])]) + "\n"
