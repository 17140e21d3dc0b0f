"""Parquet and Arrow files."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from glasshouse.core.errors import InputError, foreign
from glasshouse.data.files.contents import Contents
from glasshouse.data.files.guards import check_size, start_of
from glasshouse.data.files.parquet_size import NoFooter, unpacked_size


def read_columnar(path: Path, encoding: str | None = None) -> Contents:
    """A table from a .parquet, .arrow or .feather file; its texts are UTF-8 whatever ``encoding`` says."""
    parquet = path.name.lower().endswith(".parquet")
    kind, magic = ("a Parquet", b"PAR1") if parquet else ("an Arrow", b"ARROW1")
    if start_of(path, len(magic)) != magic:
        raise InputError(f"{path} is not {kind} file, whatever its name says")
    if parquet:
        _check_parquet(path)
    try:
        return Contents(pl.read_parquet(path) if parquet else pl.read_ipc(path))
    except BaseException as problem:
        if not foreign(problem):
            raise
        raise InputError(f"{path} cannot be read as {kind} file: it is cut off or damaged; write it again") from None


def _check_parquet(path: Path) -> None:
    """A Parquet file says how large it is before it is unpacked."""
    try:
        size = unpacked_size(path)
    except (NoFooter, OSError):
        return  # what is wrong with it is told by the reader
    check_size(path, size)
