"""Settings from JSON or TOML text. Whatever is wrong with the text ends in one sentence."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from glasshouse.core.errors import InputError

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
    if not path.is_file():
        raise InputError(f"{what} not found: {path}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{what} {path} is not UTF-8 text") from None
    written = form or ("json" if path.suffix.lower() == ".json" else "toml")
    content = parse(text, written, f"{what} {path}")
    if not isinstance(content, dict):
        raise InputError(f"{what} {path} must hold a mapping of names to values")
    return content
