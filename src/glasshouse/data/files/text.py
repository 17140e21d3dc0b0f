"""Tables as text: CSV and its kin, JSON lines, and the encodings they come in."""

from __future__ import annotations

import codecs
import io
from pathlib import Path

import polars as pl

from glasshouse.core.errors import InputError, foreign
from glasshouse.data.files.contents import Contents, Note
from glasshouse.data.files.guards import content
from glasshouse.data.headers import is_value

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
# Bytes 128 to 159 are control characters in Latin-1, which nobody types, and quotes, dashes and the euro in
# Windows-1252, which everybody's spreadsheet writes.
_WINDOWS = {bytes([b]) for b in range(0x80, 0xA0)}


def known_encoding(encoding: str) -> str:
    """The name of an encoding as Python spells it.

    Raises
    ------
    InputError
        When there is no such encoding of text.
    """
    try:
        found = codecs.lookup(encoding)
        b"a".decode(found.name)
    except (LookupError, ValueError, TypeError):
        raise InputError(
            f"encoding={encoding!r} is not known; write for instance utf-8, latin-1, windows-1252, utf-16 or iso8859-2"
        ) from None
    return found.name


def read_csv(path: Path, encoding: str | None = None, kinds: bool = True) -> Contents:
    """A table from a CSV file, packed or not; the separator is found from the header. Without ``kinds`` every field is
    the text that stands there."""
    text, notes = _text(path, encoding)
    separator = _separator(text)
    _refuse_duplicate_header(text.split("\n", 1)[0], separator, path)
    try:
        frame = pl.read_csv(
            io.BytesIO(text.encode()),
            separator=separator,
            infer_schema=kinds,
            infer_schema_length=None,
            try_parse_dates=False,
        )
    except pl.exceptions.PolarsError:  # its message quotes the offending line, which may hold a person's values
        raise InputError(_csv_problem(text, separator, path)) from None
    return Contents(frame, notes=notes, header_line=True)


def separator_of(path: Path, encoding: str | None = None) -> str:
    """What stands between the fields of a CSV file."""
    return _separator(_text(path, encoding)[0])


def _separator(text: str) -> str:
    header = text.split("\n", 1)[0]
    return max(",;\t|", key=lambda mark: header.count(mark))


def read_json_lines(path: Path, encoding: str | None = None) -> Contents:
    """A table from a file with one JSON object per line."""
    text, notes = _text(path, encoding)
    if text.lstrip()[:1] != "{":
        raise InputError(
            f"{path} does not hold one JSON object per line, as a .jsonl file does; write each record as a line "
            '{"name": value, ...}'
        )
    try:
        frame = pl.read_ndjson(io.BytesIO(text.encode()), infer_schema_length=None)
    except BaseException as problem:  # its message may quote the line
        if not foreign(problem):
            raise
        raise InputError(_json_problem(text, path)) from None
    return Contents(frame, notes=notes)


def _text(path: Path, encoding: str | None) -> tuple[str, tuple[Note, ...]]:
    raw = content(path)
    marked = any(raw.startswith(mark) for mark in _MARKS) or encoding is not None
    if raw[:4] == b"PAR1" or raw[:6] == b"ARROW1" or (b"\x00" in raw[:4096] and not marked):
        raise InputError(f"{path} is not a text file, whatever its name says")
    text, notes = _decoded(raw, path, encoding)
    if not text.strip():
        raise InputError(f"{path} is empty: it has no header and no record")
    return text, notes


def _decoded(raw: bytes, path: Path, encoding: str | None) -> tuple[str, tuple[Note, ...]]:
    """The text, and a note where nobody said how it is encoded and it is not UTF-8."""
    if encoding is not None:
        name = known_encoding(encoding)
        try:
            return raw.decode("utf-8-sig" if name == "utf-8" else name), ()
        except UnicodeDecodeError as problem:
            line = raw.count(b"\n", 0, problem.start) + 1
            raise InputError(
                f"{path} is not text in {name}: line {line} has a byte that does not belong there; try another "
                "encoding=, or leave it out"
            ) from None
    mark = next((name for start, name in _MARKS.items() if raw.startswith(start)), "utf-8")
    try:
        return raw.decode(mark), ()
    except UnicodeDecodeError:
        if mark != "utf-8":
            raise InputError(f"{path} starts like {mark} and is cut off or damaged; write it again") from None
    name, spoken = ("cp1252", "Windows-1252") if any(b in raw for b in _WINDOWS) else ("latin-1", "Latin-1")
    try:
        text = raw.decode(name)
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is neither UTF-8 nor Latin-1 text; say what it is with encoding=, or save it as UTF-8 "
            "(in a spreadsheet: CSV UTF-8)"
        ) from None
    said = (
        f"the {{table}} table is not UTF-8 and was read as {spoken}; if letters look wrong, say encoding=, or save "
        "the file as UTF-8"
    )
    return text, (Note("warning", "encoding", said),)


def _refuse_duplicate_header(header: str, separator: str, path: Path) -> None:
    names = [name.strip().strip('"') for name in header.rstrip("\r").split(separator)]
    refuse_duplicate_names(names, path)


def refuse_duplicate_names(names: list[str], path: Path) -> None:
    """Stop at a first line that names two columns alike; quoted only where it is no record."""
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


def _json_problem(text: str, path: Path) -> str:
    """The first line that is no JSON object, by its number."""
    import json

    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.strip() and not isinstance(json.loads(line), dict):
                return f"{path}, line {number}: a line of a .jsonl file is one JSON object; mend the line"
        except (ValueError, RecursionError):
            return f"{path}, line {number}: the line is not valid JSON; mend it, or write the file again"
    return f"{path} cannot be read: a field is a number in one line and something else in another; write it alike"
