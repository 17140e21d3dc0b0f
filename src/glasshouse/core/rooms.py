"""Public names of a package, imported at the first look: read from its stub file, which editors and type checkers read
too."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any

import lazy_loader

from glasshouse.core.errors import closest
from glasshouse.core.measure import Measure, registered

Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach(package: str, file: str) -> Attached:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package from the ``.pyi`` beside its ``__init__``."""
    load, names, public = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        if name in public:
            return load(name)
        raise AttributeError(f"{package} has no {name!r}{closest(name, public)}")

    return get, names, public


def attach_measures(package: str, file: str) -> Attached:
    """The same for a room of measures, where a measure that no stub names yet is found all the same.

    Adding a measure thus touches one file; ``make stubs`` writes its name into the stub for editors.
    """
    load, names, public = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        if name in public:
            return load(name)
        if name.startswith("_"):
            raise AttributeError(name)
        measures = measures_of(package)
        if name not in measures:
            raise AttributeError(f"there is no measure {name!r} in {package}{closest(name, measures)}")
        return measures[name]

    return get, names, public


def measures_of(package: str) -> dict[str, Measure]:
    """Every measure that a module below ``package`` declares; imports them all."""
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        import_module(module.name)
    return {name: m for name, m in registered().items() if m.function.__module__.startswith(f"{package}.")}
