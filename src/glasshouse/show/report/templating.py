"""The template engine: everything escaped unless it is our own vector picture."""

from __future__ import annotations

from functools import cache
from typing import Any

from glasshouse.core.plain import number


@cache
def environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("glasshouse.show.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, keep_trailing_newline=False,
    )  # fmt: skip
    made.filters["number"] = number
    return made
