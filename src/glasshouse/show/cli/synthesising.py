"""glasshouse synthesise."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from glasshouse.core.errors import InputError, closest
from glasshouse.show.cli import options as o
from glasshouse.show.cli.flags import flagged
from glasshouse.show.cli.formal import Stated, risk_of
from glasshouse.show.cli.gathering import gathered
from glasshouse.show.cli.terminal import check_outputs, err, put

PRIVATE = {"mst": "Mst", "aim": "Aim"}


@gathered
def synthesise(
    original: o.Original,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The release to write (.csv).", metavar="FILE", show_default=False)
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="How columns are made: cart, ctree, sample, norm, normrank, logreg, polyreg, polr, parametric, "
            "catall, ipf; or mst, aim for the whole table (differentially private: state a risk).",
        ),
    ] = "cart",
    column_method: Annotated[
        list[str] | None,
        typer.Option(
            "--column-method",
            help="Another method for one column: age=norm, region=nested.country, 'bmi=~ weight / height'; repeat.",
            metavar="COLUMN=METHOD",
        ),
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="Records to make.  [default: as many as the original]", show_default=False)
    ] = None,
    smoothing: Annotated[
        str | None, typer.Option("--smoothing", help="Move numbers off those of real people: density, rmean, spline.")
    ] = None,
    visit_sequence: Annotated[
        str | None,
        typer.Option("--visit-sequence", help="The columns to make, in this order, with commas.", metavar="A,B"),
    ] = None,
    *,
    stated: Stated,
    domain: Annotated[
        Path | None,
        typer.Option("--domain", help="Public domain of the columns, for mst and aim: TOML, JSON or a code book."),
    ] = None,
    schema: o.Schema = None,
    special_codes: o.SpecialCodes = None,
    mode: o.Mode = None,
    header: o.Header = False,
    encoding: o.Encoding = None,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
) -> int:
    """Make a synthetic release; what a file of SPSS, Stata or SAS says about missing values is kept."""
    import polars as pl

    from glasshouse.data.frames import adopt
    from glasshouse.data.headers import refuse_headerless
    from glasshouse.data.units import named_units

    if output.suffix.lower() != ".csv":
        raise InputError(f"{output}: synthesise writes .csv")
    kinds, codes = o.schema_of(schema), o.special_codes_of(special_codes)
    if method in PRIVATE:
        for flag, given in {
            "--column-method": column_method, "--smoothing": smoothing, "--schema": kinds, "--special-codes": codes,
        }.items():  # fmt: skip
            if given:
                raise InputError(f"{flag} is for methods that make column after column; {method} makes the whole table")
    check_outputs([output], original)
    permissions = o.permissions(mode)
    adopted = adopt(str(original), "original", encoding)
    refuse_headerless(["original"] if adopted.headerless and not header else [])
    if method in PRIVATE:
        model = _private(method, stated, domain, quiet)
    else:
        columns = adopted.lazy.collect_schema().names()
        options = {
            "visit_sequence": o.listing(visit_sequence),
            "schema": kinds,
            "special_codes": {**adopted.special_codes, **(codes or {})},
            "smoothing": smoothing,
        }
        model = _sequential(method, column_method or (), columns, options)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sample = pl.DataFrame(model.fit(adopted.native).sample(n=n, random_state=seed if seed is not None else 0))
    for text in dict.fromkeys(str(one.message) for one in heard):
        err(f"note: {flagged(text)}", quiet)
    for column in named_units(adopted.lazy):
        if column in sample.columns:
            err(
                f"note: column {column!r} looks like the household or person behind several records, and the release "
                "holds those of real ones; name the columns to make in --visit-sequence, and leave it out",
                quiet,
            )
    lost = put(output, sample.write_csv(), quiet, permissions, f": {sample.height:,} records")
    if lost is not None:
        raise InputError(lost)
    return 0


def _private(method: str, stated: Stated, domain: Path | None, quiet: bool) -> Any:
    import glasshouse as gh

    risk = risk_of(stated, quiet)
    if domain is None:
        raise InputError(
            f"{method} needs --domain: the values each column may take, known without looking at the data; "
            "glasshouse domain init drafts such a file from a code book or a schema"
        )
    return getattr(gh.synthesis, PRIVATE[method])(risk, domain)


def _sequential(method: str, given: Sequence[str], columns: Sequence[str], options: dict[str, Any]) -> Any:
    import glasshouse as gh
    from glasshouse.synthesis.methods.choice import NAMES

    known = (*NAMES, "parametric", *PRIVATE)
    if method not in known:
        raise InputError(f"there is no method {method!r}{closest(method, known)}; choose one of {', '.join(known)}")
    own = {}
    for item in given:
        # a formula may hold an equals sign, and so may a column
        column = next((c for c in columns if item.startswith(f"{c}=")), None)
        if column is None:
            name, sign, _ = item.partition("=")
            said = f"there is no column {name!r}{closest(name, columns)}" if sign else f"{item!r} has no '='"
            raise InputError(f"--column-method takes column=method, e.g. --column-method age=norm; {said}")
        own[column] = item[len(column) + 1 :].strip()
    return gh.synthesis.Sequential({**dict.fromkeys(columns, method), **own} if own else method, **options)
