"""glasshouse split: people set aside before synthesis."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.core.errors import InputError, listed
from glasshouse.show.cli import options as o
from glasshouse.show.cli.gathering import gathered
from glasshouse.show.cli.terminal import check_outputs, err, put_together

if TYPE_CHECKING:
    from glasshouse.data.frames import Adopted


@gathered
def split(
    original: Annotated[
        Path, typer.Argument(help="The whole confidential table.", metavar="TABLE", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The part to synthesise from (.csv).", metavar="FILE", show_default=False),
    ],
    holdout: Annotated[
        Path, typer.Option("--holdout", help="The part to set aside (.csv).", metavar="FILE", show_default=False)
    ],
    fraction: Annotated[float, typer.Option("--fraction", help="Share of the records to set aside.")] = 0.3,
    stratify: Annotated[
        str | None, typer.Option("--stratify", help="Columns whose shares both parts keep, with commas.", metavar="A,B")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Column of households or persons that are not torn apart.", metavar="A"),
    ] = None,
    mode: o.Mode = None,
    header: o.Header = False,
    encoding: o.Encoding = None,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
) -> int:
    """Set people aside before synthesis: synthesise from one part, assess with --holdout the other."""
    import polars as pl

    import glasshouse as gh
    from glasshouse.data.frames import adopt
    from glasshouse.data.headers import refuse_headerless

    for path in (output, holdout):
        if path.suffix.lower() != ".csv":
            raise InputError(f"{path}: split writes .csv")
    if os.path.realpath(output) == os.path.realpath(holdout):
        raise InputError("--output and --holdout are the same file; name two")
    check_outputs([output, holdout], original)
    permissions = o.permissions(mode)
    adopted = adopt(str(original), "original", encoding)
    refuse_headerless(["original"] if adopted.headerless and not header else [])
    parts = gh.data.split_before_synthesis(
        adopted.native, fraction, o.listing(stratify), cluster, random_state=seed if seed is not None else 0
    )
    for told in (*_not_in_csv(adopted), *([] if cluster else _torn(adopted))):
        err(f"note: {told}", quiet)
    tables = dict(zip((output, holdout), map(pl.DataFrame, parts), strict=True))
    texts = {path: part.write_csv() for path, part in tables.items()}
    remarks = {path: f": {part.height:,} records" for path, part in tables.items()}
    # the two of one split, or somebody may stand in both
    problem = put_together(texts, quiet, permissions, remarks)
    if problem is not None:
        raise InputError(problem)
    return 0


def _not_in_csv(adopted: Adopted) -> list[str]:
    """What a file of SPSS, Stata or SAS says about its columns and a CSV cannot, and how to say it from here on."""
    said = []
    if adopted.special_codes:
        flags = " ".join(
            f"--special-codes {column}={','.join(f'{code:g}' for code in codes)}"
            for column, codes in adopted.special_codes.items()
        )
        said.append(f"a CSV file does not say which numbers are reasons for missing; from here on say {flags}")
    ranked = [column for column, (_, is_ranked) in adopted.category_order.items() if is_ranked]
    if ranked:
        said.append(
            f"a CSV file does not say which levels are ranked ({listed(ranked)}); [schema] of a settings file takes a "
            "list of levels, from low to high"
        )
    return said


def _torn(adopted: Adopted) -> list[str]:
    """Households and persons that a split record by record puts on both sides: then strangers are none."""
    from glasshouse.data.units import named_units

    return [
        f"column {column!r} looks like the household or person behind several records, and they are torn apart; "
        f"--cluster {column} keeps them together"
        for column in named_units(adopted.lazy)
    ]
