"""The template engine: everything escaped unless it is our own vector picture."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from glasshouse.core.plain import number
from glasshouse.core.words import plural, visible


def code(text: str) -> Any:
    """Docstring text with its ``names`` set as code, everything escaped."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"``(.+?)``", r"<code>\1</code>", str(escape(text))))


@cache
def environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("glasshouse.show.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=False,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    made.filters["number"] = number
    made.filters["code"] = code
    made.filters["plural"] = plural
    return made
