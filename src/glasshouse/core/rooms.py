"""Public names of a package, imported at the first look: read from its stub file, which editors and type checkers read
too."""

from __future__ import annotations

import ast
import pkgutil
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from glasshouse.core.errors import closest
from glasshouse.core.pointing import pointed

if TYPE_CHECKING:  # numpy comes with these, and `import glasshouse` is quick without it
    from glasshouse.core.measure import AnyMeasure
    from glasshouse.core.result import Result

Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach(package: str, file: str) -> Attached:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package from the ``.pyi`` beside its ``__init__``.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__`` of the package.

    Returns
    -------
    tuple
        To be bound to the three names.
    """
    homes = _stub(package, file)

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"{package} has no {name!r}{pointed(name) or closest(name, homes)}")
        return _load(homes[name], name)

    return get, lambda: sorted(homes), sorted(homes)


def attach_measures(package: str, file: str) -> Attached:
    """The same for a room of measures, where a measure that no stub names yet is found all the same.

    Adding a measure thus touches one file; ``make stubs`` writes its name into the stub for editors.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__`` of the package.

    Returns
    -------
    tuple
        To be bound to the three names.
    """
    homes = _stub(package, file)

    def get(name: str) -> Any:
        folder = f"{package}.{name}"
        if not name.startswith("_") and find_spec(folder) is not None:
            return import_module(folder)
        if name in homes:
            return _load(homes[name], name)
        if name.startswith("_"):
            raise AttributeError(name)
        measures = measures_of(package)
        if name not in measures:
            meant = pointed(name) or closest(name, measures)
            raise AttributeError(f"there is no measure {name!r} in {package}{meant}")
        return measures[name]

    return get, lambda: sorted({*homes, *measures_of(package)}), sorted(homes)


def _stub(package: str, file: str) -> dict[str, str]:
    """The module of every name in a stub, read off its lines ``from .module import name as name``."""
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.name: f"{package}.{node.module}" if node.module else f"{package}.{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _load(module: str, name: str) -> Any:
    """A name of a module, or the module itself where the stub imports one."""
    found = import_module(module)
    return found if module.endswith(f".{name}") and not hasattr(found, name) else getattr(found, name)


class MeasureFolder(ModuleType):
    """A family's folder called like one of its measures.

    Importing a folder sets its name on the package above, where the measure of the same name is looked for. So the
    folder can be called like the measure, and passes on whatever else it is asked for: ``gh.disclosure.rapid(pair)``
    runs it, and ``import glasshouse.disclosure.rapid`` gives a module.
    """

    def _measure(self) -> AnyMeasure:
        from glasshouse.core.measure import registered

        name = self.__name__.rpartition(".")[2]
        return registered().get(name) or measures_of(self.__name__)[name]

    def __call__(self, *tables: Any, **arguments: Any) -> Result:
        found: Result = self._measure()(*tables, **arguments)
        return found

    def __getattr__(self, name: str) -> Any:
        dunder = name.startswith("__") and name != "__signature__"
        if dunder or find_spec(f"{self.__name__}.{name}") is not None:  # a file of the folder is imported as usual
            raise AttributeError(name)
        return getattr(self._measure(), name)


def like_its_measure(package: str) -> None:
    """Let a folder be called like the measure of its name; called by its ``__init__``.

    Parameters
    ----------
    package
        ``__name__`` of the folder.
    """
    sys.modules[package].__class__ = MeasureFolder


def measures_of(package: str) -> dict[str, AnyMeasure]:
    """Every measure that a module below ``package`` declares; imports them all.

    Parameters
    ----------
    package
        A package with measures.

    Returns
    -------
    dict
        Measures by name.
    """
    from glasshouse.core.measure import registered

    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        import_module(module.name)
    return {name: m for name, m in registered().items() if m.function.__module__.startswith(f"{package}.")}
