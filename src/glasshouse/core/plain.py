"""Plain values: what may stand in a result, a report or a JSON file. No NaN, no numpy scalar, no surprise."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

Content: TypeAlias = dict[str, Any]  # plain data: numbers, text, lists and mappings of them


def plain(value: Any) -> Any:
    """The same content as JSON-able Python objects; NaN and infinities become None."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, Mapping):
        return {_label(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, (dt.date, dt.datetime, dt.timedelta)):
        return value.isoformat() if not isinstance(value, dt.timedelta) else value.total_seconds()
    return str(value)


def _label(key: Any) -> str:
    if isinstance(key, str):
        return key
    return " | ".join(_label(part) for part in key) if isinstance(key, tuple) else str(plain(key))


# JSON leaves these as they are, and a terminal may obey them
_ESCAPED = {code: f"\\u{code:04x}" for code in (*range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def to_json(value: Any, indent: int | None = 2) -> str:
    """Deterministic JSON text: keys in insertion order, no NaN, numbers in shortest form."""
    text = json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return text.translate(_ESCAPED)


def percent(share: float, digits: int = 1) -> str:
    """A share as text a reader trusts: '3.1 %', '< 0.1 %' instead of a rounded zero."""
    smallest = 10.0**-digits
    hundred = 100 * share
    if 0 < hundred < smallest:
        return f"< {smallest:g} %"
    if 100 - smallest < hundred < 100:
        return f"> {100 - smallest:g} %"
    return f"{hundred:.{digits}f} %"


def points(difference: float, digits: int = 1) -> str:
    """A difference of two shares, signed and in percentage points: '+0.6 points'."""
    return f"{100 * difference:+.{digits}f} points"


def p_value(p: float) -> str:
    """'p = 0.03'; a very small one as 'p < 0.0001', because no test of this house gives a probability of zero.

    Two digits, cut off: rounded up, a p value just below a level would be printed as the level.
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {cut_off(p):.2g}"


def cut_off(p: float) -> float:
    """A p value to two digits, cut off: whoever tells it twice, as a number and as a share of cases, tells one."""
    if p <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(p)) - 1)
    return math.floor(p / unit + 1e-9) * unit


def number(value: float | int | None, digits: int = 4) -> str:
    """A number with a few significant digits; whole numbers stay whole."""
    if value is None:
        return "–"
    if isinstance(value, (int, np.integer)) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{float(value):.{digits}g}"
