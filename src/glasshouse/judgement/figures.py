"""How a figure is written for a reader: a share as a percentage, a count as a count, everything else with four
digits.
"""

from __future__ import annotations

from glasshouse.core.plain import number, percent


def figure(value: float | int | None, is_share: bool) -> str:
    """A figure as text: percent for a share of people or records, else a number."""
    if value is None:
        return "–"
    return percent(float(value)) if is_share else number(value)
