"""Where charts are registered. The functions that draw live in ``show``; results only know that some exist."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from glasshouse.core.errors import InputError, MissingExtra, closest, listed
from glasshouse.core.misfits import WrongCall, unknown_arguments

Chart = Callable[..., Any]
_charts: dict[str, dict[str, Chart]] = {}
_rooms: list[str] = []


def chart(measure: str, kind: str) -> Callable[[Chart], Chart]:
    """Register a function of a Result as the ``kind`` chart of ``measure``; the first one registered is the default."""

    def register(function: Chart) -> Chart:
        _charts.setdefault(measure, {})[kind] = function
        return function

    return register


def drawn_in(module: str) -> None:
    """Name a module that registers charts when imported; it is imported at the first plot, not before."""
    _rooms.append(module)


def kinds(measure: str) -> list[str]:
    """Names of the charts a measure has."""
    while _rooms:
        import_module(_rooms.pop())
    return list(_charts.get(measure, {}))


def described(measure: str) -> list[str]:
    """The charts a measure has, the default first, each with the options it takes: ``"curve(confidence=0.95)"``."""
    key = measure if kinds(measure) else "*"
    return [f"{kind}{_options(drawing)}" for kind, drawing in _charts[key].items()]


def _options(drawing: Chart) -> str:
    """Options of a chart with their defaults, as one would write them; what is drawn is none."""
    taken = list(inspect.signature(drawing).parameters.values())[1:]
    return f"({', '.join(f'{p.name}={p.default!r}' for p in taken)})" if taken else ""


def need_altair() -> None:
    """Stop where the library that draws charts is not installed.

    Raises
    ------
    MissingExtra
        With the name of the extra that brings it.
    """
    if find_spec("altair") is None:
        raise MissingExtra("charts", "drawing a chart")


class Drawn(Protocol):
    """What can be drawn: a result, a map, an audit."""

    @property
    def name(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str | None: ...


def draw(result: Drawn, kind: str | None = None, **options: Any) -> Any:
    """Draw one chart of a result."""
    known = kinds(result.name)
    if result.status != "ok":
        raise InputError(f"{result.name} has no value to draw: {result.reason}")
    if not known:
        known, key = kinds("*"), "*"
    else:
        key = result.name
    if kind is not None and kind not in known:
        raise InputError(f"{result.name} has no chart {kind!r}{closest(kind, known)}; it has: {listed(known)}")
    need_altair()
    chosen = kind or known[0]
    drawing = _charts[key][chosen]
    taken = list(inspect.signature(drawing).parameters.values())[1:]
    if not any(p.kind is p.VAR_KEYWORD for p in taken):
        names = [p.name for p in taken]
        unknown = [name for name in options if name not in names]
        if unknown:
            raise WrongCall(unknown_arguments(f"the chart {chosen!r}", unknown, names, called="option"))
    return drawing(result, **options)
