"""What the objects of R packages hold: a synds of synthpop, an sdcMicroObj of sdcMicro, a simPopObj of simPop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.paths import as_told, is_file
from glasshouse.data.files import r
from glasshouse.data.files.contents import Contents
from glasshouse.data.frames import Frame, as_contents
from glasshouse.data.schema import Wish


def is_r_file(given: Frame) -> bool:
    """Whether what was given is the path of an R file."""
    return isinstance(given, (str, Path)) and Path(given).suffix.lower() in r.SUFFIXES


def opened(path: str | Path, cls: str) -> r.Object | None:
    """The object of a class in an R file; None where the file holds a data frame.

    Raises
    ------
    InputError
        When it holds something else.
    """
    path = Path(path)
    if not is_file(path):
        raise InputError(f"file not found: {as_told(path)}")
    found = r.read_object(path, wanted=cls)
    if isinstance(found, Contents):
        return None
    if not isinstance(found, r.Object) or cls not in found.classes:
        kind = found.classes[0] if isinstance(found, r.Object) and found.classes else "something else"
        raise InputError(f"{path} holds {kind}, not an object of class {cls}")
    return found


def synds(path: str | Path) -> tuple[list[pl.DataFrame], dict[str, Any]] | None:
    """The syntheses of a synds object and its description; None where the file holds a data frame."""
    found = opened(path, "synds")
    if found is None:
        return None
    made = found.parts.get("syn")
    tables = [made] if isinstance(made, Contents) else list(made.parts.values()) if isinstance(made, r.Object) else []
    if not tables or not all(isinstance(t, Contents) for t in tables):
        raise InputError(f"{path}: the synds object has no syntheses in $syn")
    names = tables[0].frame.columns
    method = found.parts.get("method")
    if isinstance(method, list) and len(method) == len(names):
        methods = dict(zip(names, method, strict=True))
    else:
        methods = dict(method.parts) if isinstance(method, r.Object) else {}
    codes = found.parts.get("cont.na")
    described = {
        "method": {c: m for c, m in methods.items() if isinstance(m, str)},
        "cont.na": dict(codes.parts) if isinstance(codes, r.Object) else {},
        "m": _first(found.parts.get("m")),
    }
    return [as_contents(t).native for t in tables], described


def sdcmicro(path: str | Path) -> tuple[Contents, pl.DataFrame, dict[str, Any]] | None:
    """The file before and after, and the roles an sdcMicroObj names; None where the file holds a data frame."""
    found = opened(path, "sdcMicroObj")
    if found is None:
        return None
    slots = found.parts
    original = slots.get("origData")
    if not isinstance(original, Contents):
        raise InputError(f"{path}: the sdcMicroObj has no data frame in @origData")
    names = original.frame.columns
    after = original.frame
    for slot, own in (("manipKeyVars", "keyVars"), ("manipPramVars", "pramVars"), ("manipNumVars", "numVars"),
                      ("manipGhostVars", "ghostVars"), ("manipStrataVar", "strataVar")):  # fmt: skip
        changed = slots.get(slot)
        if isinstance(changed, Contents):
            after = after.with_columns(s for s in changed.frame if s.name in names)
        elif isinstance(changed, list) and len(columns := _columns(slots.get(own), names)) == 1:
            after = after.with_columns(pl.Series(columns[0], changed, strict=False))
    gone = [c for c in (slots.get("deletedVars") or []) if c in after.columns]
    sensitive = _columns(slots.get("sensibleVar"), names)
    roles = {
        "keys": _columns(slots.get("keyVars"), names),
        "numeric_keys": _columns(slots.get("numVars"), names),
        "weights": _first(_columns(slots.get("weightVar"), names)),
        "household": _first(_columns(slots.get("hhId"), names)),
        "target": sensitive[0] if len(sensitive) == 1 else sensitive or None,
    }
    return original, after.drop(gone), roles


def simpop(path: str | Path) -> tuple[Contents, pl.DataFrame, dict[str, Any]] | None:
    """The sample, the population made from it, and the roles a simPopObj names; None for a data frame."""
    found = opened(path, "simPopObj")
    if found is None:
        return None
    sample, population = (_data_of(found, name, path) for name in ("sample", "pop"))
    said = {name: _first(found.parts["sample"].parts.get(slot)) for name, slot in _SLOTS.items()}
    roles = {name: column for name, column in said.items() if column in sample.frame.columns}
    return sample, as_contents(population).native, roles


_SLOTS = {"weights": "weight", "household": "hhid"}


def _data_of(found: r.Object, name: str, path: str | Path) -> Contents:
    part = found.parts.get(name)
    table = part.parts.get("data") if isinstance(part, r.Object) else None
    if not isinstance(table, Contents):
        raise InputError(f"{path}: the simPopObj has no data in @{name}")
    return table


def ranked(found: Contents) -> dict[str, Wish]:
    """Ordered factors as entries of a schema: a frame keeps the levels of a category, not that they are ranked."""
    return {column: levels for column, (levels, ordered) in found.orders.items() if ordered}


def _columns(given: Any, names: Sequence[str]) -> list[str]:
    """Columns named by position, as R counts, or by name."""
    values = list(given.parts.values()) if isinstance(given, r.Object) else given if isinstance(given, list) else []
    return [v if isinstance(v, str) else names[int(v) - 1] for v in values if v is not None]


def _first(values: Any) -> Any:
    return values[0] if isinstance(values, list) and values else None
