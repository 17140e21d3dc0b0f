"""The verdict as the report has it, in the frame of the workbench."""

from __future__ import annotations

from glasshouse.core.plain import Content
from glasshouse.show.app.desk import Desk, Form
from glasshouse.show.report.html import parts


def view(desk: Desk, query: Form) -> Content:
    """What the internal report draws."""
    return draw(desk)


def draw(desk: Desk) -> Content:
    """The parts of the report of the last run; drawn once, for pictures take a second.

    Parameters
    ----------
    desk : Desk
        With a verdict.

    Returns
    -------
    dict
    """
    found = desk.assessment
    if desk.drawn is None or desk.drawn[0] is not found:
        desk.drawn = found, parts(found.content(), results=found.results, timing=found.timing)
    return desk.drawn[1]


ACTS: dict[str, object] = {}
