"""Settings from JSON or TOML text, and as TOML text. Whatever is wrong with a text ends in one sentence."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.paths import as_told, is_file
from glasshouse.core.plain import to_json

# what the reader of TOML says without repeating a name of the text: levels of a column stand in settings, too
NAMELESS = (
    "Invalid", "Expected", "Unterminated", "Unescaped", "Unclosed", "Illegal character", "Found invalid character",
    "Escaped character", "Cannot overwrite a value",
)  # fmt: skip


def parse(text: str, form: str, source: str) -> Any:
    """The content of a JSON or TOML text.

    Parameters
    ----------
    text : str
        The text.
    form : {"json", "toml"}
        What it is written in.
    source : str
        What to call it in messages.

    Returns
    -------
    object
        Plain data.

    Raises
    ------
    InputError
        When the text is not valid, nested too deeply, or holds a number that is too long to be read.
    """
    try:
        return json.loads(text) if form == "json" else tomllib.loads(text)
    except json.JSONDecodeError as problem:
        raise InputError(f"{source} is not valid JSON: {problem}") from None
    except tomllib.TOMLDecodeError as problem:
        what, _, place = str(problem).rpartition(" (")
        told = what if what.startswith(NAMELESS) else "a name or a table stands there twice"
        raise InputError(f"{source} is not valid TOML: {told} ({place}") from None
    except RecursionError:
        raise InputError(f"{source} is nested too deeply to be settings of anything") from None
    except ValueError:  # a whole number of thousands of digits
        raise InputError(f"{source} holds a number that is too long to be read") from None


def read_settings(path: str | Path, what: str, form: str | None = None) -> dict[str, Any]:
    """The mapping that a settings file holds.

    Parameters
    ----------
    path : str or Path
        The file.
    what : str
        What kind of file it is, for messages: "schema file".
    form : {"json", "toml"}, optional
        What it is written in. Default: JSON for a file called .json, else TOML.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        When the file is missing, is no text, or holds no mapping.
    """
    path = Path(path)
    if not is_file(path):
        raise InputError(f"{what} not found: {as_told(path)}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{what} {path} is not UTF-8 text") from None
    written = form or ("json" if path.suffix.lower() == ".json" else "toml")
    content = parse(text, written, f"{what} {path}")
    if not isinstance(content, dict):
        raise InputError(f"{what} {path} must hold a mapping of names to values")
    return content


def toml_key(name: str) -> str:
    """A name as TOML writes it before the sign of equality.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    str
    """
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isascii() and bare.isalnum() else toml_value(name)


def toml_value(value: object) -> str:
    """A value as TOML writes it; what is None in a mapping is left out, and in a list it is refused.

    Parameters
    ----------
    value : object
        Plain data.

    Returns
    -------
    str
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(str(k))} = {toml_value(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, (list, tuple)):
        if any(one is None for one in value):
            raise InputError("a list in a recipe cannot hold None; leave the entry out, or write another value")
        return "[" + ", ".join(toml_value(one) for one in value) + "]"
    if isinstance(value, (float, np.floating)) and not np.isfinite(value):
        return str(float(value))  # inf, -inf, nan: TOML has them, JSON has not
    return to_json(value)


def toml_text(content: Mapping[str, Any]) -> str:
    """A mapping as the text of a TOML file: single values first, then tables, then lists of tables.

    Parameters
    ----------
    content : mapping
        Plain data; entries that are None are left out.

    Returns
    -------
    str

    Examples
    --------
    >>> print(toml_text({"leak": {"fail": 0.01}, "seed": 0, "rule": [{"measure": "disco"}]}), end="")
    seed = 0
    <BLANKLINE>
    [leak]
    fail = 0.01
    <BLANKLINE>
    [[rule]]
    measure = "disco"
    """
    given = {k: v for k, v in content.items() if v is not None}
    tables: list[tuple[str, Mapping[str, Any]]] = []
    for name, value in given.items():
        if isinstance(value, Mapping) and value and all(isinstance(one, Mapping) for one in value.values()):
            tables += [(f"[{toml_key(name)}.{toml_key(str(k))}]", one) for k, one in value.items()]
        elif isinstance(value, Mapping):
            tables.append((f"[{toml_key(name)}]", value))
        elif _of_tables(value):
            tables += [(f"[[{toml_key(name)}]]", one) for one in value]
    single = {k: v for k, v in given.items() if not isinstance(v, Mapping) and not _of_tables(v)}
    parts = [_lines(single), *("\n".join([head, _lines(table)]) for head, table in tables)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _lines(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{toml_key(str(k))} = {toml_value(v)}" for k, v in table.items() if v is not None)
