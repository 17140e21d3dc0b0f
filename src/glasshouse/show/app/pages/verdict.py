"""The verdict as the report has it, in the frame of the workbench."""

from __future__ import annotations

from glasshouse.core.plain import Content
from glasshouse.show.app.desk import Desk, Form
from glasshouse.show.report.html import parts


def view(desk: Desk, query: Form) -> Content:
    """What the internal report draws."""
    found = desk.assessment
    key = id(found)
    if desk.drawn is None or desk.drawn[0] != key:  # pictures take a second
        shown = parts(found.content(), results=found.results, timing=found.timing)
        desk.drawn = key, shown
    return desk.drawn[1]


ACTS: dict[str, object] = {}
