"""Reading tables from files. What cannot be read ends in one sentence that names the file and the way out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from glasshouse.core.errors import InputError, closest
from glasshouse.core.paths import as_told, exists
from glasshouse.data.files import r, statistical
from glasshouse.data.files.columnar import read_columnar
from glasshouse.data.files.contents import Contents
from glasshouse.data.files.excel import read_excel
from glasshouse.data.files.text import known_encoding, read_csv, read_json_lines

TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")
_READERS: dict[tuple[str, ...], Callable[[Path, str | None], Contents]] = {
    TEXT: read_csv,
    (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"): read_json_lines,
    (".parquet", ".arrow", ".feather"): read_columnar,
    (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"): read_excel,
    statistical.SUFFIXES: statistical.read_statistical,
    r.SUFFIXES: r.read_r,
}
SUFFIXES = tuple(suffix for suffixes in _READERS for suffix in suffixes)
KINDS = (
    "CSV (.csv, .csv.gz, .tsv), JSON lines (.jsonl), Parquet, Arrow, and with the extra glasshouse[files] Excel "
    "(.xlsx), SPSS (.sav), Stata (.dta), SAS (.sas7bdat, .xpt) and R (.rds, .RData)"
)


def read(path: str | Path, encoding: str | None = None) -> pl.DataFrame:
    """A data frame from a file.

    Parameters
    ----------
    path : str or Path
        The file; its name says the format, its first bytes are checked against it. CSV (.csv, .csv.gz, .tsv, .txt),
        JSON lines (.jsonl), Parquet, Arrow, and with the extra ``files`` Excel, SPSS, Stata, SAS and R.
    encoding : str, optional
        Encoding of its texts. Default: the file's own mark, else UTF-8, else Latin-1 or Windows-1252.

    Returns
    -------
    polars.DataFrame
        An empty field of a text file is a missing value; the separator is found from the header. Codes whose values
        all have labels become categories (see :mod:`glasshouse.data.code_books`).

    Raises
    ------
    InputError
        When the file is missing, empty, damaged, not what its name says, or larger when unpacked than the limit
        (``GLASSHOUSE_UNPACKED_LIMIT``, 1 GiB by default). No message quotes a value.
    MissingExtra
        When the format needs a package that is not installed.
    """
    from glasshouse.data.frames import adopt

    frame: pl.DataFrame = adopt(Path(path), "data", encoding).native
    return frame


def files_wanted(what: str, given: Sequence[object]) -> None:
    """Stop, without a quote, where several texts stand in the place of tables and none of them looks like a file.

    Parameters
    ----------
    what : str
        The argument they were given as.
    given : sequence
        Tables and paths.

    Raises
    ------
    InputError
        Says how many texts there are.
    """
    texts = [Path(text) for text in given if isinstance(text, str)]
    like = [p for p in texts if p.name.lower().endswith(SUFFIXES) or len(p.parts) > 1 or exists(p)]
    if len(texts) > 1 and not like:
        raise InputError(
            f"{what} takes tables or the paths of files, and none of the {len(texts):,} texts given is one. They are "
            "not repeated, for they may be values"
        )


def contents_of(path: str | Path, encoding: str | None = None) -> Contents:
    """A file with all it says about its columns, codes as they are.

    Parameters
    ----------
    path : str or Path
        The file.
    encoding : str, optional
        Encoding of its texts.

    Returns
    -------
    Contents
    """
    path = Path(path)
    if encoding is not None:
        known_encoding(encoding)
    name = path.name.lower()
    reader = next((read for suffixes, read in _READERS.items() if name.endswith(suffixes)), None)
    if not exists(path):
        raise InputError(f"file not found: {as_told(path)}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty: it has no header and no record")
    if reader is None:
        hint = closest(path.suffix.lower(), SUFFIXES) if path.suffix else ""
        raise InputError(
            f"{path}: glasshouse reads {KINDS}{hint}; convert the file or load it yourself and pass the data frame"
        )
    return reader(path, encoding)
