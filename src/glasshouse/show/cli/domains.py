"""glasshouse domain init."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.show.cli.terminal import err

domain_app = typer.Typer(
    help="Draft the domain of a differentially private synthesiser: which values are possible.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@domain_app.callback()
def root() -> None:
    """Draft the domain of a differentially private synthesiser: which values are possible."""


@domain_app.command("init")
def init(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A code book (.csv, .json, .toml) or a schema (.json, .toml).", metavar="[SOURCE]", show_default=False
        ),
    ] = None,
    from_data: Annotated[
        Path | None,
        typer.Option(
            "--from-data",
            help="Draft from the confidential table itself. The file says so, and mst and aim refuse it until edited.",
            metavar="FILE",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write; - is stdout.  [default: domain.toml]",
            show_default=False,
            metavar="F",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> int:
    """A commented domain to be edited, drafted from a code book or a schema; from the data only when told so."""
    from glasshouse.core.errors import InputError
    from glasshouse.core.writing import PRIVATE, SHARED, write_atomically
    from glasshouse.synthesis.dp.columns import DomainError
    from glasshouse.synthesis.dp.drafts import draft, draft_from_data

    if (source is None) == (from_data is None):
        raise InputError(
            "say where the domain comes from: a code book or a schema, e.g. glasshouse domain init codebook.csv; or "
            "--from-data original.csv for a draft from the data, which gives away who is in them until it is edited"
        )
    if source is not None and not source.is_file():
        raise InputError(f"file not found: {source}")
    path = output or Path("domain.toml")
    if str(path) != "-" and path.exists() and not force:
        raise InputError(f"{path} exists; use --force to replace it")
    if from_data is not None:
        text = draft_from_data(from_data)
        err(f"note: drafted from the data: {from_data.name} decides every category and bound until somebody edits it")
    else:
        try:
            text = draft(str(source))
        except DomainError as problem:
            raise InputError(f"{problem}; to draft from the data themselves, say --from-data {source}") from None
    if str(path) == "-":
        sys.stdout.write(text)
        return 0
    mode = PRIVATE if from_data is not None else SHARED  # a code book holds nothing of anybody
    write_atomically(path, text, None if path.exists() else mode)
    err(f"wrote {path}; edit it, then: glasshouse synthesise ... --method mst --domain {path}")
    return 0
