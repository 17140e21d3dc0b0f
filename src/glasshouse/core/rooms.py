"""A package of measures: one attribute per measure, its modules imported at the first look, not before."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from glasshouse.core.errors import closest
from glasshouse.core.measure import Measure, registered


class MeasureRoom(ModuleType):
    """A package whose attributes are the measures its modules declare, so adding a measure touches one file.

    A measure wins over a module of the same name: ``disclosure.rapid`` is the measure, wherever its file is called
    rapid.py.
    """

    def _load(self) -> dict[str, Measure]:
        for module in pkgutil.iter_modules(self.__path__):
            import_module(f"{self.__name__}.{module.name}")
        room = self.__name__
        return {name: m for name, m in registered().items() if m.function.__module__.startswith(room + ".")}

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if isinstance(found, ModuleType):
            return registered().get(name, found)
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if find_spec(f"{self.__name__}.{name}") is not None:
            module = import_module(f"{self.__name__}.{name}")
            return registered().get(name, module)
        measures = self._load()
        if name not in measures:
            raise AttributeError(f"there is no measure {name!r} in {self.__name__}{closest(name, measures)}")
        return measures[name]

    def __dir__(self) -> list[str]:
        return sorted(self._load())


def measure_room(package: str) -> None:
    """Turn a package into a room of measures; called by its ``__init__``."""
    sys.modules[package].__class__ = MeasureRoom
