"""Parquet and Arrow files."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from glasshouse.core.errors import InputError, foreign
from glasshouse.data.files.contents import Contents
from glasshouse.data.files.guards import check_size, start_of


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
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        groups = read_metadata(path)
        size = sum(groups.row_group(i).total_byte_size for i in range(groups.num_row_groups))
    except (ArrowException, OSError, ValueError):
        return  # what is wrong with it is told by the reader
    check_size(path, size)
