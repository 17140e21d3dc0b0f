"""Checks of the numbers a formal guarantee is made of. Each message names the argument, its value and the way out."""

from __future__ import annotations

import math
import numbers
from typing import Literal

from glasshouse.core.errors import InputError

Relation = Literal["add_remove", "replace"]


def number(name: str, value: object) -> float:
    """A finite real number; booleans, text, NaN and infinities are mistakes, not numbers."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} must be a number, not {value!r} ({type(value).__name__})")
    figure = float(value)
    if not math.isfinite(figure):
        raise InputError(f"{name} must be a finite number, not {figure}")
    return figure


def positive(name: str, value: object) -> float:
    """A finite number above 0."""
    figure = number(name, value)
    if figure <= 0.0:
        raise InputError(f"{name} must be greater than 0, not {figure:g}")
    return figure


def share(name: str, value: object) -> float:
    """A probability strictly between 0 and 1."""
    figure = number(name, value)
    if not 0.0 < figure < 1.0:
        raise InputError(f"{name} must lie between 0 and 1 (both excluded), not {figure:g}")
    return figure


def baseline_share(name: str, value: object) -> float:
    """What an attack reaches by chance: above 0, below 1."""
    figure = number(name, value)
    if figure <= 0.0:
        raise InputError(
            f"{name} must be greater than 0, not {figure:g}: no finite noise keeps an attack at exactly zero; "
            "name the success rate that chance gives, or use Risk.from_advantage, which needs no baseline"
        )
    if figure >= 1.0:
        raise InputError(f"{name} must be less than 1, not {figure:g}")
    return figure


def whole(name: str, value: object, least: int = 0) -> int:
    """A whole number, at least ``least``."""
    figure = number(name, value)
    if figure != int(figure) or figure < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {figure:g}")
    return int(figure)


def relation_name(value: object) -> Relation:
    """One of the two ways in which tables can be neighbours."""
    if value == "add_remove":
        return "add_remove"
    if value == "replace":
        return "replace"
    raise InputError(
        f"relation must be 'add_remove' (is the person in the table?) or 'replace' (which value does the person "
        f"have?), not {value!r}"
    )
