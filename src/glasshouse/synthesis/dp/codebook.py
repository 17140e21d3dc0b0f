"""Reading what people have written down about their columns: code books as CSV, JSON or TOML, and schemas.

A code book says which values are possible. Nothing here looks at data.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from glasshouse.core.errors import closest
from glasshouse.core.paths import as_told, is_file
from glasshouse.core.settings import read_settings
from glasshouse.data.here import Label
from glasshouse.data.schema import KINDS
from glasshouse.synthesis.dp.columns import Declared, DomainError

Entry: TypeAlias = dict[str, Label]  # the description of one column, possibly incomplete
READ_FROM_DATA = "read from the data"
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
NAMES, VALUES = ("name", "variable", "column"), ("value", "code")
# what a schema calls a kind, as a domain's type; free text and identifiers have no list of possible values
TYPES = {
    "numeric": "float",
    "integer": "int",
    "categorical": "category",
    "ordinal": "category",
    "boolean": "bool",
    "datetime": "date",
}


@dataclass(frozen=True)
class Codebook:
    """What a file says about columns.

    Parameters
    ----------
    columns : mapping of str to list or mapping
        A description per column, as the file has it; some may be incomplete.
    provenance : str
        Where it comes from.
    labels : mapping of str to (mapping of str to str)
        What the codes of a column mean, where the file says so.
    """

    columns: Mapping[str, Declared]
    provenance: str
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def read_codebook(path: str | Path) -> Codebook:
    """What a code book says.

    Parameters
    ----------
    path : str or Path
        JSON or TOML: a description per column, alone or under ``columns`` beside ``provenance``. CSV: a row per column
        with ``name, type, categories, lower, upper, bins, edges, precision, nullable, other``, lists separated by
        ``|``; or a row per code with ``name, value`` and perhaps ``label``.

    Returns
    -------
    Codebook

    Raises
    ------
    DomainError
        When the file is no code book.
    """
    path = Path(path)
    said = f"codebook {path.name}"
    if path.suffix.lower() in (".json", ".toml"):
        content = read_settings(path, "codebook")
        if isinstance(content.get("columns"), Mapping) and set(content) <= {"columns", "provenance"}:
            return Codebook(content["columns"], str(content.get("provenance", said)))
        return Codebook(content, said)
    rows = _rows(path)
    header = {name.strip().lower() for name in rows[0]} if rows else set()
    names, values = ([n for n in known if n in header] for known in (NAMES, VALUES))
    if not names:
        raise DomainError(
            f"{path.name} is no code book: that is a table with a row per column (name, type, categories, lower, "
            "upper, ...) or a row per code (name, value, label)"
        )
    if values and "type" not in header:
        return _listed_codes(rows, names[0], values[0], said)
    return Codebook({row[names[0]]: _described(row[names[0]], row) for row in rows if row[names[0]]}, said)


def from_schema(name: str, wish: object) -> Declared | None:
    """What a schema's entry says about possible values.

    Parameters
    ----------
    name : str
        Name of the column, for the message.
    wish : str, sequence or mapping
        An entry of a schema, or a description as a domain has it, which stays as it is.

    Returns
    -------
    list, mapping or None
        A description, possibly incomplete; None for a kind that has no list of possible values.

    Raises
    ------
    DomainError
        When it is neither.
    """
    if isinstance(wish, str):
        wish = {"kind": wish}
    if not isinstance(wish, Mapping):
        if isinstance(wish, Sequence):
            return {"type": "category", "categories": list(wish)}
        raise DomainError(f"{name!r}: a kind, a list of categories or a description is expected")
    if not set(wish) & {"kind", "levels", "ordered"}:
        return dict(wish)
    kind = str(wish.get("kind", "categorical"))
    if kind not in KINDS:
        raise DomainError(f"{name!r}: {kind!r} is no kind{closest(kind, KINDS)}")
    if kind not in TYPES:
        return None
    levels = wish.get("levels")
    return {"type": TYPES[kind], **({"categories": list(levels)} if levels else {})}


def _rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, headers in small letters, cells without blanks around them."""
    if not is_file(path):
        raise DomainError(f"codebook not found: {as_told(path)}")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            found = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error):
        raise DomainError(f"codebook {path.name} is no CSV table in UTF-8") from None
    return [{k.strip().lower(): (v or "").strip() for k, v in row.items() if isinstance(k, str)} for row in found]


def _listed_codes(rows: Sequence[Mapping[str, str]], name: str, value: str, said: str) -> Codebook:
    """A row per code; a column without any code has no list of values."""
    codes: dict[str, list[str]] = {}
    labels: dict[str, dict[str, str]] = {}
    for row in rows:
        if not row[name]:
            continue
        listed = codes.setdefault(row[name], [])
        if row[value] and row[value] not in listed:
            listed.append(row[value])
            if row.get("label"):
                labels.setdefault(row[name], {})[row[value]] = row["label"]
    columns: dict[str, Declared] = {
        column: {"type": "category", "categories": _coded(listed)} if listed else {"type": ""}
        for column, listed in codes.items()
    }
    return Codebook(columns, said, labels)


def _described(name: str, row: Mapping[str, str]) -> Entry:
    """A row per column."""
    filled = {key: value for key, value in row.items() if value}
    entry: Entry = {"type": filled.get("type", "category" if "categories" in filled else "")}
    if "categories" in filled:
        listed = [c.strip() for c in filled["categories"].split("|")]
        if len(listed) == 1 and (found := re.search(r"[,;]", listed[0])):
            raise DomainError(
                f"{name!r}: categories are separated by | and this cell has none, but a {found[0]!r}; write a|b|c (one "
                "category alone needs no column)"
            )
        entry["categories"] = _coded(listed)
    if "other" in filled:
        entry["other"] = filled["other"]
    date = entry["type"] == "date"
    try:
        for key in ("lower", "upper"):
            if key in filled:
                entry[key] = filled[key] if date else float(filled[key])
        if "edges" in filled:
            entry["edges"] = [e.strip() if date else float(e) for e in filled["edges"].split("|")]
        for key in ("bins", "precision"):
            if key in filled:
                entry[key] = int(filled[key])
    except ValueError:
        raise DomainError(
            f"{name!r}: lower, upper and edges are numbers (or dates of type 'date'), bins and precision whole numbers"
        ) from None
    entry["nullable"] = filled.get("nullable", "false").lower() in ("true", "yes", "1")
    return entry


def _coded(codes: Sequence[str]) -> list[Label]:
    """Codes that are all whole numbers as such, so that a release holds numbers as the original does; 01 is a text."""
    return [int(code) for code in codes] if all(_WHOLE.fullmatch(code) for code in codes) else list(codes)
