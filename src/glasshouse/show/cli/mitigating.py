"""glasshouse mitigate and glasshouse protect."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.core.errors import InputError
from glasshouse.show.cli import options as o
from glasshouse.show.cli.asked import settle
from glasshouse.show.cli.flags import flagged, flagged_content
from glasshouse.show.cli.gathering import gathered
from glasshouse.show.cli.progress import progress
from glasshouse.show.cli.terminal import check_format, check_outputs, deliver, err, out, put

if TYPE_CHECKING:
    import polars as pl

    from glasshouse.data.frames import Frame
    from glasshouse.judgement.mitigation.mitigated import Mitigated

TABLES = (".csv", ".parquet")
NO_JUNIT = "what was done is written as text, json, md, html or pdf, not junit"
ALONE = "name both tables, ORIGINAL and RELEASED; --row-paired anonymises ORIGINAL alone, row by row"
Safer = Annotated[
    Path,
    typer.Option("--output", "-o", help="The table to write (.csv or .parquet).", metavar="FILE", show_default=False),
]


@gathered
def mitigate(
    files: o.Files,
    output: Safer,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report", help="Report to write, with the way there; the suffix gives the format.", metavar="FILE"
        ),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option("--recipe", help="Where to keep the steps (.toml), for glasshouse protect.", metavar="FILE"),
    ] = None,
    allow: Annotated[
        str | None,
        typer.Option("--allow", help="Only these operations, with commas.  [default: all]", metavar="A,B"),
    ] = None,
    protect: Annotated[
        str | None,
        typer.Option(
            "--protect", help="Columns that must not change, and utility measures that must not lose.", metavar="A,B"
        ),
    ] = None,
    steps: Annotated[int, typer.Option("--steps", help="Steps at most.")] = 5,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="A policy file, or public, research, secure.  [default: research]"),
    ] = None,
    format: o.Format = None,
    mode: o.Mode = None,
    audience: Annotated[
        str | None, typer.Option("--audience", help="Of the report: internal, or external.  [default: internal]")
    ] = None,
    seed: o.Seed = None,
    jobs: o.Jobs = None,
    quiet: o.Quiet = False,
    no_progress: o.NoProgress = False,
    *,
    chosen: o.Settings,
    roles: o.Roles,
) -> int:
    """What would make it safe? A release that meets the policy at the least loss, the steps, and what they cost.

    The exit code is that of glasshouse assess for the release that came of it, on people whom the search never saw.
    ORIGINAL alone, with --row-paired, is anonymised row by row.
    """
    import glasshouse as gh

    if files.original is not None and not files.released:
        if not roles.row_paired:
            raise InputError(ALONE)
        files = replace(files, released=[files.original])
    asked = settle(
        files,
        chosen,
        roles,
        o.Running(policy=policy, seed=seed, jobs=jobs),
        o.Reporting(None, format, mode, audience, quiet, no_progress),
        reports=False,
    )
    asked.check(*asked.released, prints=True)
    check_table(output)
    check_outputs([output, *([] if recipe is None else [recipe]), *(report or ())], *asked.read(*asked.released))
    check_format(asked.format, report or [], prints=True)
    if asked.format == "junit" or any(one.suffix.lower() == ".xml" for one in report or ()):
        raise InputError(NO_JUNIT)
    if recipe is not None and recipe.suffix.lower() != ".toml":
        raise InputError(f"{recipe}: a recipe is written to .toml")
    with progress(asked.quiet, asked.no_progress) as step:
        fixed = gh.mitigate(
            asked.pair(asked.case("mitigate")),
            policy="research" if asked.policy is None else asked.policy,
            allow=o.listing(allow),
            protect=o.listing(protect) or (),
            steps=steps,
            random_state=asked.seed,
            n_jobs=asked.said.get("jobs"),
            progress=step,
        )
    told = replace(fixed, _contents={asked.audience: flagged_content(fixed.content(asked.audience))})
    source = Path(asked.released[0] if asked.released else asked.original)
    # a table, its steps and their story are of one run, or an interrupt or a full disk leaves steps that lead elsewhere
    beside: dict[Path, str | bytes] = {output: table_bytes(fixed.released, output, source, roles.encoding)}
    beside |= {} if recipe is None else {recipe: fixed.recipe.to_toml()}
    make = cache(lambda form: _rendered(fixed if form == "json" else told, form, asked.audience))
    show = partial(_show, told, asked.audience)
    deliver(report, asked.format, asked.quiet, make, show, asked.mode, beside=beside)
    return fixed.exit_code


@gathered
def protect(
    table: Annotated[
        Path,
        typer.Argument(
            help="The table to protect: CSV, JSON lines, Parquet, Arrow, Excel, SPSS, Stata, SAS or R.",
            metavar="TABLE",
            show_default=False,
        ),
    ],
    recipe: Annotated[Path, typer.Argument(metavar="STEPS", help="The steps: a recipe (.toml).", show_default=False)],
    output: Safer,
    original: Annotated[
        Path | None,
        typer.Option("--original", help="The confidential table, for steps that compare with it.", metavar="FILE"),
    ] = None,
    header: o.Header = False,
    encoding: o.Encoding = None,
    mode: o.Mode = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Seed of every step.  [default: those of the recipe]", show_default=False),
    ] = None,
    quiet: o.Quiet = False,
) -> int:
    """Apply the steps of a recipe to a table: this year's or the next."""
    import glasshouse as gh

    check_table(output)
    check_outputs([output], table, recipe, original)
    given = {"table": table} if original is None else {"table": table, "original": original}
    tables = {role: _read(path, role, encoding, header, quiet) for role, path in given.items()}
    made = gh.protection.apply(tables["table"], str(recipe), original=tables.get("original"), random_state=seed)
    for note in made.notes:
        err(f"note: {flagged(note)}", quiet)
    lost = put(output, table_bytes(made.table, output, table, encoding), quiet, o.permissions(mode))
    if lost is not None:
        raise InputError(lost)
    err(flagged(made.sentence), quiet)
    return 0


def _read(path: Path, role: str, encoding: str | None, header: bool, quiet: bool) -> Frame:
    """A table as operations take it, with what its file leaves to be guessed said aloud."""
    from glasshouse.data.conversion import with_plain_numbers
    from glasshouse.data.frames import adopt
    from glasshouse.data.headers import refuse_headerless

    spoken = {"table": "given"}.get(role, role)
    adopted = adopt(str(path), role, encoding)
    refuse_headerless([role] if adopted.headerless and not header else [])
    for note in adopted.contents.notes if adopted.contents is not None else ():
        err(f"note: {flagged(note.message.format(table=spoken))}", quiet)
    return with_plain_numbers(adopted.native)


def check_table(path: Path) -> None:
    """Refuse, before anything is computed, a kind of file that tables are not written to."""
    if path.suffix.lower() not in TABLES:
        raise InputError(f"{path}: a table is written to .csv or .parquet")


def table_bytes(table: Frame, path: Path, source: Path, encoding: str | None = None) -> str | bytes:
    """A table as the content of a file; columns nobody changed as the file it came from has them."""
    from io import BytesIO

    from glasshouse.data.files.written import csv_like
    from glasshouse.data.frames import adopt
    from glasshouse.data.split import collected

    frame: pl.DataFrame = collected(adopt(table, "released", encoding))
    if path.suffix.lower() == ".csv":
        return csv_like(frame, source, encoding)
    into = BytesIO()
    frame.write_parquet(into)
    return into.getvalue()


def _show(fixed: Mitigated, audience: str) -> None:
    out().print(_text(fixed, audience))


def _text(fixed: Mitigated, audience: str) -> str:
    from glasshouse.core.words import visible
    from glasshouse.show.report.mitigation import lines_of

    content = fixed.content(audience)
    return visible("\n".join([*lines_of(content), "", content["verdict"]["headline"]]))


def _rendered(fixed: Mitigated, form: str, audience: str) -> str | bytes:
    if form == "json":
        return fixed.to_json(audience=audience)
    from glasshouse.show.report.mitigation import markdown, page

    if form == "md":
        return markdown(fixed.content(audience))
    if form == "html":
        return page(fixed, audience)
    if form == "pdf":
        from glasshouse.show.report.pdf import printed

        return printed(page(fixed, audience))
    return _text(fixed, audience) + "\n"
