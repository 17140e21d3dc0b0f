"""Options that several commands share, and the pair they describe."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from glasshouse.core.errors import InputError

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

T = TypeVar("T")
Original = Annotated[
    Path,
    typer.Argument(
        help="The table to protect: CSV, JSON lines, Parquet, Arrow, Excel, SPSS, Stata, SAS or R.",
        metavar="ORIGINAL",
        show_default=False,
    ),
]
Released = Annotated[
    list[Path],
    typer.Argument(
        metavar="RELEASED",
        help="The table to be released; several files are replicate releases of one synthesis.",
        show_default=False,
    ),
]
Keys = Annotated[
    str | None,
    typer.Option("--keys", help="Columns an attacker may know, with commas between them: age,sex.", metavar="A,B"),
]
Key = Annotated[
    list[str] | None,
    typer.Option("--key", help="One such column; repeat for more (for names that contain commas).", metavar="A"),
]
Target = Annotated[str | None, typer.Option("--target", help="Column an attacker wants to learn.")]
Holdout = Annotated[
    Path | None, typer.Option("--holdout", help="Records of the same population never shown to the synthesiser.")
]
Weights = Annotated[str | None, typer.Option("--weights", help="Column with survey weights.")]
Cluster = Annotated[
    str | None, typer.Option("--cluster", help="Column that names the household or person behind several rows.")
]
Schema = Annotated[Path | None, typer.Option("--schema", help='Column kinds as TOML or JSON: age = "numeric".')]
Exclude = Annotated[
    str | None, typer.Option("--exclude", help="Columns to leave out of everything, with commas.", metavar="A,B")
]
Missing = Annotated[str | None, typer.Option("--missing", help="Missing values: level, drop or wildcard.")]
RowPaired = Annotated[
    bool, typer.Option("--row-paired", help="Row i of the release is row i of the original, perturbed.")
]
Header = Annotated[
    bool, typer.Option("--header", help="The first line of the files holds names, even where it looks like a record.")
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help="Encoding of the texts of the files, such as latin-1.  [default: found out, and told if not UTF-8]",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Seed of everything random.  [default: the policy's, else 0]", show_default=False),
]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Threads; never changes a figure.", show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and the data asked for.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress bar, even on a terminal.")]
Output = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        help="File to write; repeat for more. The suffix gives the format; - is stdout.",
        metavar="FILE",
    ),
]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        help="Permissions of the files written, such as 640.  [default: an existing file keeps its own, else 600]",
        metavar="OCTAL",
        show_default=False,
    ),
]
Format = Annotated[str | None, typer.Option("--format", help="text, json, md, junit, html or pdf.", metavar="FORMAT")]


def permissions(mode: str | None) -> int | None:
    """Permissions from ``--mode 640``."""
    if mode is None:
        return None
    if not mode.isascii() or not mode.isdigit() or not set(mode) <= set("01234567") or int(mode, 8) > 0o777:
        raise InputError(f"--mode {mode!r} is no set of permissions; write three octal digits, e.g. --mode 640")
    return int(mode, 8)


def names(keys: str | None, key: Sequence[str] | None) -> list[str] | None:
    """Columns from ``--keys a,b`` and repeated ``--key``, in the order given, each once."""
    found = [part.strip() for part in (keys or "").split(",") if part.strip()] + list(key or [])
    return list(dict.fromkeys(found)) or None


def make_pair(
    original: Path,
    released: Sequence[Path],
    *,
    keys: str | None,
    key: Sequence[str] | None,
    target: str | None,
    holdout: Path | None,
    weights: str | None = None,
    cluster: str | None = None,
    schema: Path | None = None,
    exclude: str | None = None,
    missing: str | None = None,
    row_paired: bool = False,
    header: bool = False,
    encoding: str | None = None,
    wanted: dict[str, Any] | None = None,
) -> Pair:
    """The pair that the options describe; ``wanted`` (a policy's settings) fills what they leave open."""
    from glasshouse.data.pair import Pair

    given = roles_of(
        keys=keys,
        key=key,
        target=target,
        holdout=holdout,
        weights=weights,
        cluster=cluster,
        schema=schema,
        exclude=exclude,
        missing=missing,
        row_paired=row_paired,
        encoding=encoding,
    )
    paths: Any = str(released[0]) if len(released) == 1 else [str(path) for path in released]

    def make(header: bool) -> Pair:
        pair = Pair(str(original), paths, **{**(wanted or {}), **given, "header": header})
        pair.require_header()
        return pair

    return with_header(make, header)


def with_header(make: Callable[[bool], T], said: bool) -> T:
    """What ``make(header)`` gives; a person at a terminal is asked when a first line looks like a record.

    The question quotes nothing of the line: it may be somebody's. Elsewhere the error says how to confirm.
    """
    from glasshouse.data.headers import NoHeader

    try:
        return make(said)
    except NoHeader:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        asked = "The first line of a file looks like a record. Does it hold column names?"
        if not typer.confirm(asked, default=False, err=True):
            raise
        return make(True)


def roles_of(
    *,
    keys: str | None,
    key: Sequence[str] | None,
    target: str | None,
    holdout: Path | None,
    weights: str | None,
    cluster: str | None,
    schema: Path | None,
    exclude: str | None,
    missing: str | None,
    row_paired: bool,
    encoding: str | None,
) -> dict[str, Any]:
    """The arguments of a Pair among the options, those given only."""
    given: dict[str, Any] = {
        "keys": names(keys, key),
        "target": target,
        "holdout": None if holdout is None else str(holdout),
        "weights": weights,
        "cluster": cluster,
        "schema": None if schema is None else read_schema(schema),
        "exclude": names(exclude, None),
        "missing": missing,
        "row_paired": row_paired or None,
        "encoding": encoding,
    }
    return {k: v for k, v in given.items() if v is not None}


def read_schema(path: Path) -> dict[str, Any]:
    """Column kinds from a small TOML or JSON file."""
    from glasshouse.core.settings import read_settings

    return read_settings(path, "schema file")


def literal(text: str) -> Any:
    """The value of ``--option name=value``: a TOML literal (0.3, true, ["a", "b"]) or plain text."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except (ValueError, RecursionError):  # no literal, or one nobody would write
        return {"none": None, "None": None, "True": True, "False": False}.get(text, text)


def measure_options(given: Sequence[str] | None) -> dict[str, Any]:
    options = {}
    for item in given or ():
        name, sign, value = item.partition("=")
        if not sign:
            raise InputError(f"--option takes name=value, e.g. --option tau=0.3; {item!r} has no '='")
        options[name.strip().replace("-", "_")] = literal(value.strip())
    return options
