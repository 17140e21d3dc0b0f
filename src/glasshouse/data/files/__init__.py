"""Reading tables from files. What cannot be read ends in one sentence that names the file and the way out."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from pathlib import Path

import polars as pl

from glasshouse.core.errors import InputError, foreign
from glasshouse.data.headers import is_value
from glasshouse.data.memory import refuse_without_room

LIMIT_VARIABLE = "GLASSHOUSE_UNPACKED_LIMIT"
UNPACKED_LIMIT = 1024**3
_PIECE = 1024**2
SUFFIXES = (".csv", ".csv.gz", ".parquet", ".arrow", ".feather")


def read(path: str | Path) -> pl.DataFrame:
    """A data frame from a file: .csv, .csv.gz, .tsv, .txt, .parquet, .arrow or .feather.

    Parameters
    ----------
    path : str or Path
        The file; its name says the format, its first bytes are checked against it.

    Returns
    -------
    polars.DataFrame
        An empty field of a text file is a missing value; the separator is found from the header.

    Raises
    ------
    InputError
        When the file is missing, empty, damaged, not what its name says, or larger when unpacked than the limit
        (``GLASSHOUSE_UNPACKED_LIMIT``, 1 GiB by default). No message quotes a value.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"file not found: {path}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file")
    name = path.name.lower()
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty: it has no header and no record")
    if name.endswith(".parquet"):
        return _read_binary(path, "Parquet", b"PAR1")
    if name.endswith((".arrow", ".feather")):
        return _read_binary(path, "Arrow", b"ARROW1")
    if name.endswith((".csv", ".csv.gz", ".txt", ".tsv")):
        return _read_csv(path)
    raise InputError(
        f"{path}: glasshouse reads {', '.join(SUFFIXES)}; convert the file or load it yourself and pass the data frame"
    )


def is_text(path: str | Path) -> bool:
    """Whether a file holds a table as text, whose column names are its first line."""
    return not Path(path).name.lower().endswith((".parquet", ".arrow", ".feather"))


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


def _refuse_size(path: Path, limit: int) -> InputError:
    return InputError(
        f"{path} holds more than {limit / 1024**3:.3g} GiB when unpacked, which is the limit for a compressed file; if "
        f"that is right, raise it with the environment variable {LIMIT_VARIABLE}=8GiB, or load the table yourself "
        "(DuckDB reads it in pieces) and pass the frame"
    )


def _unpacked(path: Path) -> bytes:
    """The content of a gzip file, counted while it is read: a small file can hold more than any memory."""
    limit, parts, size = unpacked_limit(), [], 0
    try:
        with gzip.open(path) as file:
            while part := file.read(_PIECE):
                size += len(part)
                if size > limit:
                    raise _refuse_size(path, limit)
                parts.append(part)
    except (OSError, EOFError, zlib.error):
        raise InputError(f"{path} is a gzip file that is cut off or damaged; write it again") from None
    refuse_without_room(path, size)
    return b"".join(parts)


def _check_parquet(path: Path) -> None:
    """A Parquet file says how large it is before it is unpacked."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    limit = unpacked_limit()
    try:
        groups = read_metadata(path)
        size = sum(groups.row_group(i).total_byte_size for i in range(groups.num_row_groups))
    except (ArrowException, OSError, ValueError):
        return  # what is wrong with it is told by the reader
    if size > limit:
        raise _refuse_size(path, limit)
    refuse_without_room(path, size)


def _read_binary(path: Path, kind: str, magic: bytes) -> pl.DataFrame:
    with path.open("rb") as file:
        start = file.read(len(magic))
    if start != magic:
        raise InputError(f"{path} is not a {kind} file, whatever its name says")
    if kind == "Parquet":
        _check_parquet(path)
    try:
        return pl.read_parquet(path) if kind == "Parquet" else pl.read_ipc(path)
    except BaseException as problem:
        if not foreign(problem):
            raise
        raise InputError(f"{path} cannot be read as {kind}: the file is cut off or damaged; write it again") from None


def _read_csv(path: Path) -> pl.DataFrame:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if not packed:
        refuse_without_room(path, path.stat().st_size)
    raw = _unpacked(path) if packed else path.read_bytes()
    if raw[:4] == b"PAR1" or raw[:6] == b"ARROW1" or b"\x00" in raw[:4096]:
        raise InputError(f"{path} is not a text file, whatever its name says")
    text = _decode(raw, path)
    if not text.strip():
        raise InputError(f"{path} is empty: it has no header and no record")
    header = text.split("\n", 1)[0]
    separator = max(",;\t|", key=lambda mark: header.count(mark))
    _refuse_duplicate_header(header, separator, path)
    try:
        return pl.read_csv(
            io.BytesIO(text.encode()), separator=separator, infer_schema_length=None, try_parse_dates=False
        )
    except pl.exceptions.PolarsError:  # its message quotes the offending line, which may hold a person's values
        raise InputError(_csv_problem(text, separator, path)) from None


def _decode(raw: bytes, path: Path) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as UTF-8 (in a spreadsheet: CSV UTF-8)") from None


def _refuse_duplicate_header(header: str, separator: str, path: Path) -> None:
    names = [name.strip().strip('"') for name in header.rstrip("\r").split(separator)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice and any(is_value(name) for name in names):
        raise InputError(
            f"{path} has the same text more than once in its first line, which looks like a record and not like column "
            "names; add a line with names"
        )
    if twice:
        raise InputError(f"{path} has more than one column called {twice[0]!r}; rename one of them")


def _csv_problem(text: str, separator: str, path: Path) -> str:
    """Where the table stops being a table, without quoting what stands there."""
    import csv

    rows = csv.reader(io.StringIO(text), delimiter=separator)
    width = len(next(rows))
    for row in rows:
        if row and len(row) != width:
            counted = f"{len(row)} fields where the header has {width}"
            return f"{path}, line {rows.line_num}: {counted}; mend the line or quote the field"
    return f"{path} cannot be read as CSV (separator {separator!r}); check quotes and line ends"
