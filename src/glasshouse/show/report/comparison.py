"""A comparison of releases as a page or as Markdown: the map, and the figures behind it."""

from __future__ import annotations

from glasshouse.core.words import visible
from glasshouse.judgement.rumap.map import RUMap
from glasshouse.show.report.drawing import map_of
from glasshouse.show.report.markdown import plain_text
from glasshouse.show.report.templating import environment


def render(ru_map: RUMap, audience: str = "internal") -> str:
    """One self-contained page with the risk-utility map."""
    text: str = environment().get_template("comparison.html.j2").render(ru=map_of(ru_map, audience))
    return text


def markdown(ru_map: RUMap, audience: str = "internal") -> str:
    """The scores as a table, and the same in words."""
    found = map_of(ru_map, audience)
    lines = ["# Risk and utility of the compared releases", ""]
    if found["first"]:
        lines += ["Before you read on:", "", *(f"- {plain_text(one)}" for one in found["first"]), ""]
    lines += ["| release | verdict | risk | utility | among the others | copying | members exposed beyond strangers |"]
    lines += ["|---|---|---|---|---|---|---|"]
    lines += [
        "| " + " | ".join(plain_text(cell) for name, cell in row.items() if name != "link") + " |"
        for row in found["rows"]
    ]
    return visible("\n".join([*lines, "", *(f"- {plain_text(line)}" for line in found["words"])])) + "\n"
