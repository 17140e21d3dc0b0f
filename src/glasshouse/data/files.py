"""Reading tables from files. What cannot be read ends in one sentence that names the file and the way out."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import polars as pl

from glasshouse.core.errors import InputError

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
        When the file is missing, empty, damaged or not what its name says. No message quotes a value.
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


def _read_binary(path: Path, kind: str, magic: bytes) -> pl.DataFrame:
    with path.open("rb") as file:
        start = file.read(len(magic))
    if start != magic:
        raise InputError(f"{path} is not a {kind} file, whatever its name says")
    try:
        return pl.read_parquet(path) if kind == "Parquet" else pl.read_ipc(path)
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise InputError(
            f"{path} cannot be read as {kind}: the file is cut off or damaged; write it again"
        ) from problem


def _read_csv(path: Path) -> pl.DataFrame:
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError) as problem:
            raise InputError(f"{path} is a gzip file that is cut off or damaged; write it again") from problem
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
