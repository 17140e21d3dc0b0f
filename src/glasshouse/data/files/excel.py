"""Spreadsheets, by fastexcel (extra ``files``)."""

from __future__ import annotations

import zipfile
from pathlib import Path

from glasshouse.core.errors import InputError, MissingExtra, foreign
from glasshouse.data.files.contents import Contents, Note, whole
from glasshouse.data.files.guards import check_size, start_of
from glasshouse.data.files.text import refuse_duplicate_names

_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # zip archives of today, the containers of the nineties


def read_excel(path: Path, encoding: str | None = None) -> Contents:
    """The first sheet of a workbook; a note says so where there are more."""
    try:
        import fastexcel
    except ImportError as missing:
        raise MissingExtra("files", f"reading {path.name}") from missing
    if not start_of(path, 4).startswith(_STARTS):
        raise InputError(f"{path} is not a spreadsheet, whatever its name says")
    _check_archive(path)
    try:
        book = fastexcel.read_excel(path)
        names = list(book.sheet_names)
        raw = book.load_sheet(0, header_row=None, n_rows=1).to_polars()
        frame = book.load_sheet(0).to_polars()
    except BaseException as problem:
        if not foreign(problem):
            raise
        raise InputError(
            f"{path} cannot be read as a spreadsheet: it is cut off, damaged or protected by a password; save it again"
        ) from None
    if not frame.width or not frame.height:
        raise InputError(f"{path} is empty: its first sheet has no header and no record")
    header = ["" if cell is None else str(cell).strip() for cell in raw.row(0)]
    refuse_duplicate_names([name for name in header if name], path)
    notes: tuple[Note, ...] = ()
    if len(names) > 1:
        said = f"the {{table}} table is the first of {len(names)} sheets; if another one is meant, move it to the front"
        notes = (Note("note", "sheet", said),)
    return Contents(whole(frame), notes=notes, header_line=True)


def _check_archive(path: Path) -> None:
    """An archive says how large its parts are before they are unpacked."""
    if not zipfile.is_zipfile(path):
        return  # what is wrong with it is told by the reader
    with zipfile.ZipFile(path) as archive:
        check_size(path, sum(part.file_size for part in archive.infolist()))
