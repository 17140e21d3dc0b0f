"""Files of SPSS, Stata and SAS, by pyreadstat (extra ``files``): values, value labels, reasons for missing, variable
labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from glasshouse.core.errors import InputError, MissingExtra, foreign
from glasshouse.data.files.contents import Code, CodeBook, Contents, Note, whole
from glasshouse.data.files.guards import check_size, start_of
from glasshouse.data.files.text import known_encoding

# program, reader, what a file starts with (nothing where several forms exist), whether it keeps reasons for missing
_KINDS: dict[str, tuple[str, str, tuple[bytes, ...], bool]] = {
    ".sav": ("SPSS", "read_sav", (b"$FL2", b"$FL3"), True),
    ".zsav": ("SPSS", "read_sav", (b"$FL2", b"$FL3"), True),
    ".dta": (
        "Stata",
        "read_dta",
        (b"<stata_dta>", *(bytes([v, o]) for v in (104, 105, *range(108, 116)) for o in (1, 2))),
        True,
    ),
    ".sas7bdat": ("SAS", "read_sas7bdat", (b"\x00" * 12 + b"\xc2\xea\x81\x60",), True),
    ".xpt": ("SAS", "read_xport", (b"HEADER RECORD",), False),
}
SUFFIXES = tuple(_KINDS)
_END_OF_STATA = b"</stata_dta>"


def read_statistical(path: Path, encoding: str | None = None) -> Contents:
    """A table from a .sav, .zsav, .dta, .sas7bdat or .xpt file.

    Notes
    -----
    Value labels of a .sas7bdat file are those of the catalogue beside it: the file of the same name with the suffix
    .sas7bcat, or formats.sas7bcat. An empty text is a missing value. An .xpt file is read without its kinds of missing
    values (.A to .Z), which pyreadstat does not give.
    """
    try:
        import pyreadstat
    except ImportError as missing:
        raise MissingExtra("files", f"reading {path.name}") from missing
    program, reader, starts, keeps = _KINDS[path.suffix.lower()]
    if not start_of(path, 16).startswith(starts):
        raise InputError(f"{path} is no file of {program}, whatever its name says")
    options: dict[str, Any] = {"encoding": known_encoding(encoding)} if encoding is not None else {}
    _check_rows(path, _parsed(pyreadstat, reader, path, program, metadataonly=True, **options)[1])
    if keeps:
        options["user_missing"] = True
    frame, meta = _parsed(pyreadstat, reader, path, program, output_format="polars", **options)
    if not frame.width or not frame.height:
        raise InputError(f"{path} is empty: it has no column or no record")
    frame, tagged = _without_letters(frame)
    texts = [c for c, dtype in frame.schema.items() if dtype == pl.String]
    frame = whole(frame.with_columns(pl.when(pl.col(c).str.strip_chars() != "").then(pl.col(c)) for c in texts))
    books, notes = _books(pyreadstat, path, meta)
    reasons = {c: _within(frame[c], ranges) for c, ranges in meta.missing_ranges.items() if c in frame.columns}
    return Contents(
        frame,
        books={c: _book(c, labels, reasons.get(c, ()), meta) for c, labels in books.items() if labels},
        labels={c: text for c, text in meta.column_names_to_labels.items() if text},
        reasons={c: _numbers(found) for c, found in reasons.items() if _numbers(found)},
        tagged=tagged,
        notes=notes,
    )


def _parsed(library: Any, reader: str, path: Path, program: str, **options: Any) -> tuple[pl.DataFrame, Any]:
    """What pyreadstat makes of a file; its own words may quote it."""
    try:
        frame, meta = getattr(library, reader)(str(path), **options)
        whole_file = not start_of(path, 11).startswith(b"<stata_dta>") or _ends_well(path)
    except BaseException as problem:
        if not foreign(problem):
            raise
        frame, meta, whole_file = None, None, False
    if not whole_file:
        raise InputError(
            f"{path} cannot be read as a file of {program}: it is cut off or damaged; write it again, or say encoding= "
            "if its texts are in an old one"
        )
    return frame, meta


def _ends_well(path: Path) -> bool:
    """Whether a Stata file has its end: without it the value labels are silently lost."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - len(_END_OF_STATA), 0))
        return file.read() == _END_OF_STATA


def _check_rows(path: Path, meta: Any) -> None:
    """The size of the table by its header; where that does not say, a packed value takes at least a byte."""
    width = sum(int(w) for w in meta.variable_storage_width.values())
    rows = meta.number_rows if meta.number_rows and meta.number_rows > 0 else None
    check_size(path, 8 * path.stat().st_size if rows is None else rows * max(width, 1))


def _without_letters(frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, pl.Series]]:
    """Missing values of several kinds (.a to .z) come as letters among numbers: numbers here, letters there."""
    tagged: dict[str, pl.Series] = {}
    for column in [c for c, dtype in frame.schema.items() if dtype == pl.Object]:
        values = frame[column].to_list()
        letters = [v if isinstance(v, str) else None for v in values]
        numbers = [None if v is None or isinstance(v, str) else v for v in values]
        tagged[column] = pl.Series(column, letters, dtype=pl.String)
        frame = frame.with_columns(pl.Series(column, numbers, strict=False))
    return frame, tagged


def _books(library: Any, path: Path, meta: Any) -> tuple[Mapping[str, Mapping[Code, str]], tuple[Note, ...]]:
    """Value labels per column; those of SAS lie in a file of their own."""
    if path.suffix.lower() != ".sas7bdat" or not meta.variable_to_label:
        return meta.variable_value_labels, ()
    places = (path.with_suffix(".sas7bcat"), path.with_name("formats.sas7bcat"))
    catalogue = next((place for place in places if place.is_file()), None)
    if catalogue is None:
        said = (
            "the {table} table names formats, and no catalogue with their labels lies beside it; put the .sas7bcat "
            "file there under the same name, or as formats.sas7bcat"
        )
        return {}, (Note("note", "no_catalogue", said),)
    _, formats = _parsed(library, "read_sas7bcat", catalogue, "SAS")
    return {c: formats.value_labels.get(name, {}) for c, name in meta.variable_to_label.items()}, ()


def _book(column: str, labels: Mapping[Code, str], reasons: Iterable[Code], meta: Any) -> CodeBook:
    letters = {code for code in labels if isinstance(code, str)} & set(meta.missing_user_values.get(column, ()))
    return CodeBook(labels, frozenset((*reasons, *letters)), meta.variable_measure.get(column) == "ordinal")


def _within(values: pl.Series, ranges: Iterable[Mapping[str, Any]]) -> tuple[Code, ...]:
    """The values that occur and lie in a range declared as missing."""
    found = pl.Series([False] * len(values), dtype=pl.Boolean)
    for ends in ranges:
        low, high = ends["lo"], ends["hi"]
        if isinstance(low, str) == (values.dtype == pl.String):
            found = found | ((values >= low) & (values <= high)).fill_null(False)
    return tuple(values.filter(found).unique().sort().to_list())


def _numbers(codes: Iterable[Code]) -> tuple[float, ...]:
    return tuple(code for code in codes if not isinstance(code, str))
