"""Files of R, by the package rdata (extra ``files``): data frames, and the objects of R packages that hold them.

The tree that rdata parses is read here, not converted by it: nothing is lost that a data frame says (levels, dates,
labels), and nothing of it is run.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, MissingExtra, foreign, listed
from glasshouse.data.files.contents import CodeBook, Contents, Orders
from glasshouse.data.files.guards import content

Value: TypeAlias = Any  # what an R object becomes: None, a list of plain values, Contents, or an Object
SUFFIXES = (".rds", ".rdata", ".rda")


@dataclass(frozen=True)
class Object:
    """A list or an S4 object of R.

    Parameters
    ----------
    classes : tuple of str
        Its class and those it extends; empty for a plain list.
    parts : dict of str to object
        Its elements or slots by name.
    """

    classes: tuple[str, ...]
    parts: dict[str, Value]


def read_r(path: Path, encoding: str | None = None) -> Contents:
    """The data frame in an .rds or .RData file."""
    found = read_object(path, encoding)
    if isinstance(found, Contents):
        return found
    kind = found.classes[0] if isinstance(found, Object) and found.classes else "an object without a data frame"
    ways = {"synds": "from_synthpop", "sdcMicroObj": "from_sdcmicro", "simPopObj": "from_simpop"}
    way = (
        f"gh.data.{ways[kind]}({path.name!r}, ...) reads it" if kind in ways else "save the data frame: saveRDS(x, ...)"
    )
    raise InputError(f"{path} holds {kind}, which is no data frame; {way}")


def read_object(path: Path, encoding: str | None = None, wanted: str = "data.frame") -> Value:
    """The one object of a file, or the one of a class among several.

    Parameters
    ----------
    path : Path
        An .rds or .RData file, packed or not.
    encoding : str, optional
        Encoding of texts that do not say theirs. Default: that of the file, else UTF-8, else Latin-1.
    wanted : str, default "data.frame"
        The class that is looked for among the objects of an .RData file.

    Returns
    -------
    Contents, Object, list or None

    Raises
    ------
    InputError
        When the file is no R file, is damaged, or does not say which of several objects is meant.
    """
    try:
        from rdata import parser
    except ImportError as missing:
        raise MissingExtra("files", f"reading {path.name}") from missing
    raw = content(path)
    if not raw.startswith((b"X\n", b"A\n", b"B\n", b"RDX", b"RDA", b"RDB")):
        raise InputError(f"{path} is not a file of R, whatever its name says")
    several = raw.startswith(b"RD")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parser.parse_data(raw, extension=".rda" if several else ".rds")
            found = _value(tree.object, encoding or tree.extra.encoding)
    except BaseException as problem:
        if not foreign(problem) or isinstance(problem, _Unreadable):
            raise
        raise InputError(f"{path} cannot be read as a file of R: it is cut off or damaged; save it again") from None
    if not several:
        return found
    parts = found.parts if isinstance(found, Object) else {}
    fits = {name: one for name, one in parts.items() if _is(one, wanted)}
    fits = fits or {name: one for name, one in parts.items() if _is(one, "data.frame") and wanted == "data.frame"}
    if len(parts) == 1:
        return next(iter(parts.values()))
    if len(fits) != 1:
        held = f"{len(fits)} objects of class {wanted}: {listed(fits)}" if fits else f"no object of class {wanted}"
        raise InputError(f"{path} holds {held}; save the one that is meant: saveRDS(x, 'x.rds')")
    return next(iter(fits.values()))


class _Unreadable(InputError):
    """A part of an R file that is no table, said in a sentence of our own."""


def _is(found: Value, name: str) -> bool:
    return isinstance(found, Contents) if name == "data.frame" else isinstance(found, Object) and name in found.classes


# -- the tree ----------------------------------------------------------------------------------------------------------


def _kind(node: Any) -> str:
    return str(node.info.type.name)


def _pairs(node: Any, encoding: str | None) -> dict[str, Any]:
    """A pairlist as a mapping of names to nodes."""
    found: dict[str, Any] = {}
    while node is not None and _kind(node) == "LIST":
        tag = node.tag
        if tag is not None and _kind(tag) == "REF":
            tag = tag.referenced_object
        found[_text(tag.value, encoding) or "" if tag is not None else str(len(found))] = node.value[0]
        node = node.value[1]
    return found


def _text(node: Any, encoding: str | None) -> str | None:
    """A string of R; it may say its own encoding."""
    raw = node.value
    if raw is None:
        return None
    said = {8: "utf-8", 4: "latin-1"}.get(node.info.gp & 12)
    for name in (said, encoding, "utf-8"):
        try:
            if name is not None:
                return bytes(raw).decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return bytes(raw).decode("latin-1")


def _texts(node: Any, encoding: str | None) -> list[str | None]:
    return [] if node is None or node.value is None else [_text(one, encoding) for one in node.value]


def _value(node: Any, encoding: str | None) -> Value:
    kind = _kind(node)
    if kind == "REF":
        return _value(node.referenced_object, encoding)
    if kind == "LIST" and not node.attributes:
        return Object((), {name: _value(one, encoding) for name, one in _pairs(node, encoding).items()})
    said = _pairs(node.attributes, encoding)
    classes = tuple(c for c in _texts(said.get("class"), encoding) if c)
    if kind == "S4":
        slots = {name: one for name, one in said.items() if name != "class"}
        return Object(classes, {name: _value(one, encoding) for name, one in slots.items()})
    if kind == "VEC":
        names = [name or "" for name in _texts(said.get("names"), encoding)]
        if "data.frame" in classes:
            return _frame(names, node.value, encoding)
        names = names or [str(i) for i in range(len(node.value))]
        return Object(classes, {n: _value(one, encoding) for n, one in zip(names, node.value, strict=True)})
    if kind in ("INT", "REAL", "LGL", "STR"):
        column = _column("", node, encoding).frame.to_series().to_list()
        names = [name or "" for name in _texts(said.get("names"), encoding)]
        return Object(("vector",), dict(zip(names, column, strict=True))) if names else column
    return None  # functions, environments, pointers: nothing that a table needs


def _frame(names: list[str], nodes: Any, encoding: str | None) -> Contents:
    """A data frame, column by column."""
    columns = [_column(name, node, encoding) for name, node in zip(names, nodes, strict=True)]
    if len(set(names)) < len(names):
        twice = sorted(name for name in set(names) if names.count(name) > 1)
        raise _Unreadable(f"the data frame has more than one column called {twice[0]!r}; rename one of them")
    return Contents(
        pl.concat([c.frame for c in columns], how="horizontal") if columns else pl.DataFrame(),
        orders={name: order for c in columns for name, order in c.orders.items()},
        books={name: book for c in columns for name, book in c.books.items()},
        labels={name: text for c in columns for name, text in c.labels.items()},
    )


def _column(name: str, node: Any, encoding: str | None) -> Contents:
    if _kind(node) == "REF":
        node = node.referenced_object
    said = _pairs(node.attributes, encoding)
    classes = tuple(c for c in _texts(said.get("class"), encoding) if c)
    orders: Orders = {}
    if "factor" in classes:
        levels = [level or "" for level in _texts(said.get("levels"), encoding)]
        codes = pl.Series(np.ma.filled(node.value, 0).astype(np.int64))
        texts = pl.Series(levels, dtype=pl.String)
        known = (codes > 0) & (codes <= len(levels))
        series = pl.select(pl.when(known).then(texts.gather((codes - 1).clip(0)))).to_series() if levels else None
        series = pl.Series([None] * len(codes), dtype=pl.String) if series is None else series
        orders[name] = (levels, "ordered" in classes)
    else:
        series = _plain(name, node, encoding)
        if "Date" in classes:
            series = series.cast(pl.Float64).floor().cast(pl.Int32).cast(pl.Date)
        elif "POSIXct" in classes:
            series = (series.cast(pl.Float64) * 1e6).round(0).cast(pl.Int64).cast(pl.Datetime("us"))
        elif "difftime" in classes:
            raise _Unreadable(f"column {name!r} is a span of time (difftime), whose unit may differ; make it a number")
    label = _texts(said.get("label"), encoding) if "label" in said and _kind(said["label"]) == "STR" else []
    return Contents(
        series.alias(name).to_frame(),
        orders,
        books=_book(name, said.get("labels"), encoding),
        labels={name: label[0]} if label and label[0] else {},
    )


def _plain(name: str, node: Any, encoding: str | None) -> pl.Series:
    kind = _kind(node)
    if kind == "STR":
        return pl.Series(name, _texts(node, encoding), dtype=pl.String)
    if kind not in ("INT", "REAL", "LGL"):
        raise _Unreadable(
            f"column {name!r} of a data frame holds lists or objects, which cannot be compared; flatten it"
        )
    gone = np.ma.getmaskarray(node.value)
    values = np.ma.getdata(node.value)
    if kind == "REAL":
        return pl.Series(name, np.where(gone, np.nan, values), nan_to_null=True)
    made = pl.Series(name, values.astype(bool) if kind == "LGL" else values.astype(np.int64))
    return pl.select(pl.when(pl.Series(~gone)).then(made)).to_series().alias(name)


def _book(name: str, node: Any, encoding: str | None) -> dict[str, CodeBook]:
    """Value labels as the package haven keeps them: codes with names."""
    if node is None or _kind(node) not in ("INT", "REAL", "STR"):
        return {}
    names = _texts(_pairs(node.attributes, encoding).get("names"), encoding)
    codes = _plain("codes", node, encoding).to_list()
    labels = {code: label for code, label in zip(codes, names, strict=True) if code is not None and label}
    return {name: CodeBook(labels)} if labels else {}
