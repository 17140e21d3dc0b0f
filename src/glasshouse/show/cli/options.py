"""Options that several commands share, in the groups that commands take them in, and what their values mean."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glasshouse.core.errors import InputError, closest

if TYPE_CHECKING:
    from glasshouse.core.measure import AnyMeasure

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
Schema = Annotated[
    list[str] | None,
    typer.Option(
        "--schema",
        help="Kinds of columns: a TOML or JSON file, or COLUMN=KIND such as region=categorical; repeat for more.",
        metavar="FILE|COLUMN=KIND",
    ),
]
SpecialCodes = Annotated[
    list[str] | None,
    typer.Option(
        "--special-codes",
        help="Numbers that are reasons for missing: income=-8,-9; repeat for more columns.",
        metavar="COLUMN=CODES",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Seed of everything random.  [default: the policy's, else 0]", show_default=False),
]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Threads; never changes a figure.", show_default=False)]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="Where distances are searched: cpu, or cuda for a graphics card; never changes a figure.  [default: a "
        "card for large tables, where there is one]",
        metavar="DEVICE",
        show_default=False,
    ),
]
People = Annotated[
    str | None,
    typer.Option(
        "--people",
        help="How many of a table at most are asked about one by one: a number, or all; the report says how many "
        "were.  [default: 100000]",
        metavar="N|all",
        show_default=False,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but errors and the data asked for; no progress either.")
]
NoProgress = Annotated[
    bool, typer.Option("--no-progress", help="No progress: no bar on a terminal, no line every ten seconds elsewhere.")
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
Output = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        help="File to write; repeat for more. The suffix gives the format; - is stdout.",
        metavar="FILE",
    ),
]


@dataclass(frozen=True)
class Files:
    """The tables; all of them may come from a settings file."""

    original: Annotated[
        Path | None,
        typer.Argument(
            help="The table to protect: CSV, JSON lines, Parquet, Arrow, Excel, SPSS, Stata, SAS or R.",
            metavar="ORIGINAL",
            show_default=False,
        ),
    ] = None
    released: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RELEASED",
            help="The table to be released; several files are replicate releases of one synthesis.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True)
class Settings:
    """Where what is not said on the command line comes from."""

    settings: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            help="A settings file; `glasshouse init` writes one.  [default: glasshouse.toml in this folder, if any]",
            metavar="FILE",
            show_default=False,
        ),
    ] = None
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", help="Only this scenario of the settings file; repeat for more.", metavar="NAME"),
    ] = None


@dataclass(frozen=True)
class Roles:
    """Who plays which role: the arguments of a Pair."""

    keys: Annotated[
        list[str] | None,
        typer.Option(
            "--keys",
            help="Columns an attacker may know, with commas between them: age,sex. Repeat it for another scenario.",
            metavar="A,B",
        ),
    ] = None
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            help="One such column, known in every scenario; repeat for more (for names that contain commas).",
            metavar="A",
        ),
    ] = None
    target: Annotated[
        list[str] | None,
        typer.Option("--target", help="Column an attacker wants to learn; repeat for another scenario.", metavar="A"),
    ] = None
    holdout: Annotated[
        Path | None,
        typer.Option("--holdout", help="Records of the same population never shown to the synthesiser.", metavar="F"),
    ] = None
    weights: Annotated[str | None, typer.Option("--weights", help="Column with survey weights.", metavar="A")] = None
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Column that names the household or person behind several rows.", metavar="A"),
    ] = None
    schema: Schema = None
    special_codes: SpecialCodes = None
    exclude: Annotated[
        str | None, typer.Option("--exclude", help="Columns to leave out of everything, with commas.", metavar="A,B")
    ] = None
    missing: Annotated[str | None, typer.Option("--missing", help="Missing values: level, drop or wildcard.")] = None
    row_paired: Annotated[
        bool, typer.Option("--row-paired", help="Row i of the release is row i of the original, perturbed.")
    ] = False
    header: Header = False
    encoding: Encoding = None


@dataclass(frozen=True)
class Running:
    """What is run, and by which rules it is judged."""

    policy: Annotated[
        str | None,
        typer.Option("--policy", help="A policy file, or public, research, secure, riskutility.", metavar="FILE|NAME"),
    ] = None
    measures: Annotated[
        str | None,
        typer.Option(
            "--measures",
            help="fast, default, full, or with commas: families, threats and measures (copying,gdpr,rapid).  "
            "[default: default]",
            metavar="A,B",
            show_default=False,
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", help="An option of a measure: rapid.trees=200; repeat for more.", metavar="MEASURE.NAME=VALUE"
        ),
    ] = None
    key_groups: Annotated[
        list[str] | None,
        typer.Option(
            "--key-groups",
            help="Group numeric keys: 20 for twenty groups of each, age=10, age=18,30,65 for breaks, none for "
            "values as they are; repeat for more keys.",
            metavar="N|A=N",
        ),
    ] = None
    seed: Seed = None
    jobs: Jobs = None
    device: Device = None
    people: People = None


@dataclass(frozen=True)
class Reporting:
    """What is written, where, and for whom."""

    output: Output = None
    format: Format = None
    mode: Mode = None
    audience: Annotated[
        str | None,
        typer.Option(
            "--audience",
            help="internal, or external: no original value, no record, no small cell.  [default: internal]",
            show_default=False,
        ),
    ] = None
    quiet: Quiet = False
    no_progress: NoProgress = False


def permissions(mode: str | None) -> int | None:
    """Permissions from ``--mode 640``."""
    if mode is None:
        return None
    if not mode.isascii() or not mode.isdigit() or not set(mode) <= set("01234567") or int(mode, 8) > 0o777:
        raise InputError(f"--mode {mode!r} is no set of permissions; write three octal digits, e.g. 640")
    return int(mode, 8)


def listing(text: str | None) -> list[str] | None:
    """``a, b`` as its parts, each once; None where there is none."""
    return list(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip())) or None


def key_sets(keys: Sequence[str] | None, key: Sequence[str] | None) -> list[list[str]] | None:
    """One set of keys per ``--keys a,b``, each with every ``--key``."""
    sets = [[*(listing(one) or ()), *(key or ())] for one in (keys or ([""] if key else []))]
    return [list(dict.fromkeys(one)) for one in sets] or None


def people_of(given: str | None) -> int | str | None:
    """How many are asked about: a number, or "all"."""
    return int(given) if given is not None and given.isdecimal() else given


def schema_of(given: Sequence[str] | None) -> dict[str, Any] | None:
    """Kinds of columns from files and from ``column=kind``; what comes later wins."""
    from glasshouse.core.settings import read_settings

    found: dict[str, Any] = {}
    for item in given or ():
        column, sign, kind = item.rpartition("=")
        if sign and not Path(item).exists():
            found[column] = literal(kind)
        else:
            found |= read_settings(item, "schema file")
    return found or None


def special_codes_of(given: Sequence[str] | None) -> dict[str, list[float]] | None:
    """Reasons for missing from ``income=-8,-9``."""
    found: dict[str, list[float]] = {}
    for item in given or ():
        column, sign, codes = item.rpartition("=")
        numbers = [literal(code) for code in listing(codes) or ()]
        if not sign or not numbers or not all(type(one) in (int, float) for one in numbers):
            raise InputError("--special-codes takes a column and its codes, e.g. --special-codes income=-8,-9")
        found[column] = [*found.get(column, []), *numbers]
    return found or None


def key_groups_of(given: Sequence[str] | None) -> Any:
    """A grouping for every numeric key (``20``, ``none``, ``auto``), or for some (``age=10``, ``age=18,30,65``)."""
    found: dict[str, Any] = {}
    whole = [item for item in given or () if "=" not in item]
    if whole and len(given or ()) > 1:
        raise InputError(
            "--key-groups takes one grouping for every numeric key, or one per key: --key-groups 20, or "
            "--key-groups age=10 --key-groups income=5"
        )
    for item in given or ():
        column, sign, wish = item.rpartition("=")
        value = [literal(part) for part in listing(wish) or ()] if "," in wish else literal(wish.strip())
        if not sign:
            return value
        found[column] = value
    return found or None


def literal(text: str) -> Any:
    """A value on the command line: a TOML literal (0.3, true, ["a", "b"]) or plain text."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except (ValueError, RecursionError):  # no literal, or one nobody would write
        return {"none": None, "None": None, "True": True, "False": False}.get(text, text)


def measure_options(given: Sequence[str] | None, only: str | None = None) -> dict[str, dict[str, Any]]:
    """Options by measure from ``measure.name=value``, each value as the type that the measure declares.

    Parameters
    ----------
    given : sequence of str, optional
        What the command line has.
    only : str, optional
        The one measure that is run: its name may then be left out.

    Returns
    -------
    dict
    """
    from glasshouse.catalogue import all_measures

    found: dict[str, dict[str, Any]] = {}
    for item in given or ():
        told, sign, text = item.partition("=")
        name, dot, option = told.strip().replace("-", "_").rpartition(".")
        if not sign or not (dot or only):
            example = "rapid.tau=0.3" if only is None else "tau=0.3"
            raise InputError(f"--option takes {'name' if only else 'measure.name'}=value, e.g. --option {example}")
        known = all_measures()
        name = name or str(only)
        if name not in known or (only is not None and name != only):
            there = f"; this is about {only}" if only else f"{closest(name, known)}; `glasshouse measures` lists them"
            raise InputError(f"--option {told.strip()}: there is no measure {name!r} here{there}")
        found.setdefault(name, {})[option] = typed(known[name], option, text.strip())
    return found


def typed(measure: AnyMeasure, option: str, text: str) -> Any:
    """A value as what the measure declares for the option: a list where commas make one, text where numbers do not
    fit."""
    from glasshouse.core.options import fits

    if option not in measure.options:
        known = ", ".join(measure.options)
        raise InputError(f"{measure.name} has no option {option!r}{closest(option, measure.options)}; it has: {known}")
    value = literal(text)
    parts = [literal(part) for part in listing(text) or ()] if isinstance(value, str) and "," in value else None
    candidates = [*([] if parts is None else [parts]), value, text]
    return next((one for one in candidates if fits(measure.function, option, one)), value)
