"""R files as R's saveRDS and save write them (XDR, version 2), made by hand: there is no R where the tests run."""

from __future__ import annotations

import gzip
import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NIL = struct.pack(">i", 254)
_NA = struct.pack(">Q", 0x7FF00000000007A2)


def _flags(kind: int, attributes: bool = False, tag: bool = False, is_object: bool = False, levels: int = 0) -> bytes:
    return struct.pack(">i", kind | is_object << 8 | attributes << 9 | tag << 10 | levels << 12)


def _char(text: str | None) -> bytes:
    if text is None:
        return _flags(9) + struct.pack(">i", -1)
    raw = text.encode()
    return _flags(9, levels=8) + struct.pack(">i", len(raw)) + raw


def _pairlist(items: Mapping[str, bytes]) -> bytes:
    cells = [_flags(2, tag=True) + _flags(1) + _char(name) + value for name, value in items.items()]
    return b"".join(cells) + NIL


def _vector(kind: int, body: bytes, attributes: Mapping[str, bytes]) -> bytes:
    start = _flags(kind, bool(attributes), is_object="class" in attributes)
    return start + body + (_pairlist(attributes) if attributes else b"")


def strings(values: Sequence[str | None], **attributes: bytes) -> bytes:
    """A character vector."""
    return _vector(16, struct.pack(">i", len(values)) + b"".join(map(_char, values)), attributes)


def numbers(values: Sequence[float | None], **attributes: bytes) -> bytes:
    """A numeric vector; None is NA."""
    body = b"".join(_NA if v is None else struct.pack(">d", math.nan if v != v else v) for v in values)
    return _vector(14, struct.pack(">i", len(values)) + body, attributes)


def integers(values: Sequence[int | None], kind: int = 13, **attributes: bytes) -> bytes:
    """An integer (or, with kind 10, logical) vector; None is NA."""
    body = b"".join(struct.pack(">i", -(2**31) if v is None else v) for v in values)
    return _vector(kind, struct.pack(">i", len(values)) + body, attributes)


def factor(values: Sequence[str | None], levels: Sequence[str], ordered: bool = False) -> bytes:
    """A factor, ordered or not."""
    classes = strings(["ordered", "factor"] if ordered else ["factor"])
    return integers(
        [None if v is None else levels.index(v) + 1 for v in values], levels=strings(levels), **{"class": classes}
    )


def named(items: Mapping[str, bytes], *classes: str, **attributes: bytes) -> bytes:
    """A list with names, of a class where one is given."""
    said = {"names": strings(list(items)), **attributes, **({"class": strings(classes)} if classes else {})}
    return _vector(19, struct.pack(">i", len(items)) + b"".join(items.values()), said)


def frame(columns: Mapping[str, bytes], n: int, *classes: str) -> bytes:
    """A data frame of n rows; data.table and tibble add classes."""
    return named(columns, *classes, "data.frame", **{"row.names": integers([None, -n])})


def s4(cls: str, package: str, slots: Mapping[str, bytes]) -> bytes:
    """An S4 object."""
    said = {**slots, "class": strings([cls], package=strings([package]))}
    return _flags(25, attributes=True, is_object=True) + _pairlist(said)


def save_rds(path: Path, item: bytes) -> Path:
    """What saveRDS writes."""
    path.write_bytes(gzip.compress(b"X\n" + struct.pack(">iii", 2, 0x40300, 0x20300) + item))
    return path


def save_rdata(path: Path, items: Mapping[str, bytes]) -> Path:
    """What save writes."""
    path.write_bytes(gzip.compress(b"RDX2\nX\n" + struct.pack(">iii", 2, 0x40300, 0x20300) + _pairlist(items)))
    return path


def column(values: Sequence[Any]) -> bytes:
    """A plain column of texts or numbers."""
    return strings(values) if any(isinstance(v, str) for v in values) else numbers(values)
