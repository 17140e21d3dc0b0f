"""A package of measures: one attribute per measure, its modules imported at the first look, not before."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from glasshouse.core.errors import closest
from glasshouse.core.measure import Measure, registered


def measure_room(package: str, path: Iterable[str], side: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` for a package whose modules declare measures, so adding one touches one file."""

    def load() -> dict[str, Measure]:
        for module in pkgutil.iter_modules(path):
            import_module(f"{package}.{module.name}")
        return {name: m for name, m in registered().items() if m.side == side}

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        measures = load()
        if name not in measures:
            raise AttributeError(f"there is no {side} measure {name!r}{closest(name, measures)}")
        return measures[name]

    return get, lambda: sorted(load())
