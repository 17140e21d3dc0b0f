"""The frame around every page: the steps of the way, what was said last, and which pages are open yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from glasshouse.core.plain import Content
from glasshouse.show.report.templating import environment

if TYPE_CHECKING:
    from glasshouse.show.app.desk import Desk


@dataclass(frozen=True)
class Step:
    """One page of the way.

    Attributes
    ----------
    name, title : str
        Of the address, and of the link.
    needs : str
        "": always open; "tables": both tables are named; "verdict": something was assessed.
    """

    name: str
    title: str
    needs: str = ""

    def closed(self, desk: Desk) -> str | None:
        """The page to go to first; None where this one is open."""
        if self.needs and not desk.ready:
            return "files"
        return "run" if self.needs == "verdict" and desk.assessed is None else None

    def render(self, desk: Desk, shown: Content, notice: Content, part: bool = False) -> str:
        """The page, or the part of it that a change redraws."""
        name = f"{self.name}.part.html.j2" if part else f"{self.name}.html.j2"
        frame = {
            "title": self.title,
            "name": self.name,
            "steps": [(one, one.closed(desk) is None) for one in STEPS.values()],
            "number": notice["number"],
            "problem": notice.get("problem"),
            "said": notice.get("said"),
            "stale": STALE.get(self.name) if desk.stale(self.name) else None,
        }
        text: str = pages().get_template(name).render({**shown, "frame": frame})
        return text


STEPS: Mapping[str, Step] = {
    one.name: one
    for one in (
        Step("files", "Files"),
        Step("columns", "Columns", "tables"),
        Step("roles", "Roles", "tables"),
        Step("policy", "Policy", "tables"),
        Step("run", "Run", "tables"),
        Step("verdict", "Verdict", "verdict"),
        Step("explore", "Explore", "verdict"),
        Step("compare", "Compare", "tables"),
        Step("mitigate", "Mitigate", "tables"),
        Step("take", "Take away", "verdict"),
    )
}


# what a page says when the settings have changed since what it shows was made, and where to make it anew
_AGAIN = ("What you see and take away is of the run.", "run")
STALE: Mapping[str, tuple[str, str | None]] = {
    **dict.fromkeys(("verdict", "explore", "take"), _AGAIN),
    "compare": ("The map is of the settings and releases before: compare again.", None),
    "mitigate": ("What was tried or found is of the settings before: try again.", None),
}


def page_of(name: str) -> Step:
    """The page of a name."""
    return STEPS[name]


@cache
def pages() -> Any:
    """The template engine of the report, which finds the pages of the workbench too."""
    from jinja2 import ChoiceLoader, PackageLoader
    from markupsafe import escape

    own = environment()
    made = own.overlay(loader=ChoiceLoader([PackageLoader("glasshouse.show.app"), own.loader]))
    # what a form sends back must be the name itself, also where its signs are shown as others
    made.filters = {**own.filters, "exact": escape}
    return made


def alone(name: str, **shown: Any) -> str:
    """A page outside the way: at work, or what could not be answered."""
    text: str = pages().get_template(name).render(**shown)
    return text
