"""How much a file may hold, and what it must start with. A small file can hold more than any memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

from glasshouse.core.errors import InputError
from glasshouse.data.memory import refuse_without_room

LIMIT_VARIABLE = "GLASSHOUSE_UNPACKED_LIMIT"
UNPACKED_LIMIT = 1024**3
_PIECE = 1024**2
_PACKED: dict[bytes, tuple[str, Callable[[Path], object]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}


def unpacked_limit() -> int:
    """Most bytes that are unpacked from a compressed file, as ``GLASSHOUSE_UNPACKED_LIMIT`` says, else 1 GiB.

    Raises
    ------
    InputError
        When the variable holds no size.
    """
    said = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not said:
        return UNPACKED_LIMIT
    found = re.fullmatch(r"(\d{1,12})\s*(K|M|G|T)?(i?B)?", said, re.IGNORECASE)
    if found is None:
        raise InputError(f"{LIMIT_VARIABLE} must be a size such as 8GiB, 500MB or a number of bytes")
    return int(found[1]) * 1024 ** " KMGT".index((found[2] or " ").upper())


def refuse_size(path: Path, limit: int) -> InputError:
    """The sentence about a file that holds more than the limit."""
    return InputError(
        f"{path} holds more than {limit / 1024**3:.3g} GiB when unpacked, which is the limit for a compressed file; if "
        f"that is right, raise it with the environment variable {LIMIT_VARIABLE}=8GiB, or load the table yourself "
        "(DuckDB reads it in pieces) and pass the frame"
    )


def check_size(path: Path, size: int) -> None:
    """Stop when a compressed file, which says how much it holds, holds more than the limit or the memory.

    Parameters
    ----------
    path : Path
        The file, for the message.
    size : int
        Its bytes when unpacked.
    """
    limit = unpacked_limit()
    if size > limit:
        raise refuse_size(path, limit)
    refuse_without_room(path, size)


def start_of(path: Path, length: int) -> bytes:
    """The first bytes of a file."""
    with path.open("rb") as file:
        return file.read(length)


def content(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is compressed and counted while they are.

    Parameters
    ----------
    path : Path
        A plain file, or one packed by gzip, bzip2 or xz.

    Returns
    -------
    bytes

    Raises
    ------
    InputError
        When it is damaged, or holds more than the limit or the memory.
    """
    start = start_of(path, 6)
    packed = next((how for magic, how in _PACKED.items() if start.startswith(magic)), None)
    if packed is None:
        refuse_without_room(path, path.stat().st_size)
        return path.read_bytes()
    name, opened = packed
    limit, parts, size = unpacked_limit(), [], 0
    try:
        with cast(IO[bytes], opened(path)) as file:
            while part := file.read(_PIECE):
                size += len(part)
                if size > limit:
                    raise refuse_size(path, limit)
                parts.append(part)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        raise InputError(f"{path} is a {name} file that is cut off or damaged; write it again") from None
    refuse_without_room(path, size)
    return b"".join(parts)
