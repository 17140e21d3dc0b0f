"""A first draft of a domain file, to be edited: from a code book or a schema, or, said aloud, from the data."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from glasshouse.core.words import visible
from glasshouse.data.frames import adopt
from glasshouse.data.here import Label
from glasshouse.data.pair import Pair
from glasshouse.data.split import collected
from glasshouse.synthesis.dp.codebook import READ_FROM_DATA, Entry, from_schema, read_codebook
from glasshouse.synthesis.dp.columns import CategoryColumn, DomainError, NumberColumn
from glasshouse.synthesis.dp.domain import declared_by

HEAD = """# The domain of a differentially private synthesiser: which values are possible, known without the data.
# One [columns.NAME] per column of the table: type is "category" (categories, perhaps other = the label that takes the
# rest), "bool", "int", "float" or "date" (lower and upper; bins or edges; precision = decimals of a float).
# nullable = true where a value may be missing.
"""
USE = "glasshouse synthesise original.csv --method mst --domain domain.toml --rho 0.5 -o release.csv"
WARNING = f"""#
# DRAFTED FROM THE DATA: the categories and bounds below are those of the people in {{source}}, which no noise
# protects. Put what the code book says in their place, then delete the next line; until then mst and aim refuse it.
provenance = "{READ_FROM_DATA}"
"""
LEFT_OUT = "has no list of possible values: drop it from the table, or declare it with type and categories"
NUMBERS = ("int", "integer", "float", "number", "numeric", "date")


def draft(source: str | Path) -> str:
    """A commented domain file from a code book or a schema.

    Parameters
    ----------
    source : str or Path
        A code book (CSV, JSON or TOML) or a schema (JSON or TOML: kinds or levels per column).

    Returns
    -------
    str
        TOML. What the source does not say is a comment to fill in; the file is refused until that is done.

    Raises
    ------
    DomainError
        When the source is neither.
    """
    book = read_codebook(source)
    told = (
        HEAD
        + f"#\n# Drafted from {_comment(Path(source).name)}. Check and complete it, then for example:\n#     {USE}\n"
    )
    if book.provenance == READ_FROM_DATA:
        told = HEAD + WARNING.format(source="the data it was first drafted from")
    parts = [told]
    for name, declared in book.columns.items():
        entry = _entry(str(name), declared)
        parts.append(_section(str(name), entry, book.labels.get(name, {})))
    return "\n".join(parts)


def draft_from_data(source: str | Path) -> str:
    """A commented domain file read from the data, which says so.

    Parameters
    ----------
    source : str or Path
        The confidential table.

    Returns
    -------
    str
        TOML with ``provenance = "read from the data"``. Identifiers and free text are named and not quoted.
    """
    frame = collected(adopt(str(source), "original"))
    pair = Pair(frame, frame)
    kinds, frame = pair.schema, pair.local("original").select(frame.columns)  # dates written as text are dates there
    kept = declared_by(frame.select(c for c in frame.columns if kinds[c].kind not in ("identifier", "text")))
    for name in kept:
        if kinds[name].kind in ("categorical", "ordinal", "boolean") and frame[name].dtype.is_numeric():
            codes = frame[name].drop_nulls().unique().sort().to_list()
            kept[name] = {"type": "category", "categories": codes, "nullable": kept[name]["nullable"]}
    parts = [HEAD + WARNING.format(source=_comment(Path(source).name))]
    parts += [_section(name, kept.get(name), {}) for name in frame.columns]
    return "\n".join(parts)


def _entry(name: str, declared: object) -> Entry | None:
    if isinstance(declared, (CategoryColumn, NumberColumn)):
        return dict(declared.to_dict())
    found = from_schema(name, declared)
    if found is None:
        return None
    if not isinstance(found, Mapping):
        raise DomainError(f"{name!r}: a kind, a list of categories or a description is expected")
    return dict(found)


def _section(name: str, entry: Entry | None, labels: Mapping[str, str]) -> str:
    """One column; what is missing stands there as a comment."""
    if entry is None:
        return f"# {_comment(name)} {LEFT_OUT}\n"
    lines = [f"[columns.{_text(name)}]"]
    kind = str(entry.get("type") or ("category" if "categories" in entry else ""))
    lines.append(f"type = {_text(kind)}" if kind else '# type = "int"  # FILL IN: category, bool, int, float or date')
    written = {k: v for k, v in entry.items() if k not in ("type", "nullable")}
    if kind in NUMBERS and "edges" not in written:
        whole = kind in ("int", "integer")
        written = {k: int(v) if whole and isinstance(v, float) and v.is_integer() else v for k, v in written.items()}
        example = {"lower": "2000-01-01", "upper": "2030-12-31"} if kind == "date" else {"lower": "0", "upper": "100"}
        for bound, spoken in (("lower", "smallest"), ("upper", "largest")):
            if bound not in written:
                lines.append(f"# {bound} = {example[bound]}  # FILL IN: the {spoken} possible value")
    if kind.startswith(("categor", "ordinal")) and not written.get("categories"):
        lines.append('# categories = ["a", "b"]  # FILL IN: every possible value')
    lines += [f"{key} = {_value(value)}" for key, value in written.items() if value is not None]
    lines += [f"#   {_comment(code)}: {_comment(label)}" for code, label in labels.items()]
    lines.append(f"nullable = {'true' if entry.get('nullable') else 'false'}")
    return "\n".join(lines) + "\n"


def _value(value: Label) -> str:
    """A value as TOML writes it."""
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return _text(str(value))


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    """Text that stays on its line, whatever it holds."""
    return " ".join(visible(text).split())
