"""glasshouse compare: several releases on one risk-utility map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.asked import settle, with_header
from glasshouse.show.cli.flags import flagged
from glasshouse.show.cli.gathering import gathered
from glasshouse.show.cli.progress import progress
from glasshouse.show.cli.terminal import deliver, out

if TYPE_CHECKING:
    from glasshouse.judgement.rumap.map import RUMap


@gathered
def compare(
    original: Annotated[
        Path | None,
        typer.Argument(
            help="The table to protect: CSV, JSON lines, Parquet, Arrow, Excel, SPSS, Stata, SAS or R.",
            metavar="ORIGINAL",
            show_default=False,
        ),
    ] = None,
    releases: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RELEASES", help="Releases to compare; NAME=FILE gives one a name.", show_default=False),
    ] = None,
    *,
    chosen: o.Settings,
    roles: o.Roles,
    running: o.Running,
    reporting: o.Reporting,
) -> int:
    """Several releases, each with its verdict, on one map of risk and utility.

    With a policy the exit code is that of the best release: 0 when one of them meets it.
    """
    import glasshouse as gh
    from glasshouse.core.errors import InputError
    from glasshouse.judgement.policy.policy import Policy
    from glasshouse.judgement.rumap.candidates import axes, run_for_verdict

    asked = settle(o.Files(original, releases), chosen, roles, running, reporting, needs=("original",), reports=False)
    named = _names(releases, asked.audience) if releases else dict(asked.said.get("releases", {}))
    if not named:
        raise InputError("Missing argument RELEASES: name the releases, or write [releases] into the settings file")
    asked.check(*named.values(), prints=True)
    if asked.format == "junit":
        raise InputError("a comparison is written as text, json, md, html or pdf, not junit")
    case = asked.case("compare")
    policy = Policy.of(asked.policy)
    placed = axes(None, None, asked.measures)
    judged = run_for_verdict(placed, None, asked.measures, policy)
    given = {**asked.running([*placed.values(), *judged]), **asked.pair_arguments, **case}

    def make(header: bool) -> RUMap:
        with progress(asked.quiet, asked.no_progress) as step:
            made: RUMap = gh.compare(
                asked.original, named, measures=asked.measures, progress=step, header=header, **given
            )
        return made

    ru = with_header(make, bool(asked.said.get("header")))
    deliver(
        asked.output,
        asked.format,
        asked.quiet,
        lambda form: _render(ru, form, asked.audience),
        lambda: out().print(_text(ru, asked.audience)),
        asked.mode,
    )
    if asked.policy is None:
        return 0
    return min((found.exit_code for found in ru.assessments.values()), key=_BEST_FIRST.index)


_BEST_FIRST = (0, 3, 1)  # met, not fully measured, violated


def _names(releases: list[Path], audience: str) -> dict[str, str]:
    """The releases by the name given, else by that of the file; outside, where no file name is told, by a number."""
    from glasshouse.core.errors import InputError

    named: dict[str, str] = {}
    for number, given in enumerate(releases, 1):
        name, sign, path = str(given).partition("=")
        if not sign or given.exists():
            name, path = given.name.split(".")[0] if audience == "internal" else f"release {number}", str(given)
        if name in named:
            raise InputError(f"two releases are called {name!r}; write NAME=FILE for one of them")
        named[name] = path
    return named


def _text(ru: RUMap, audience: str) -> str:
    content = ru.content(audience)
    first = [f"before you read on: {found}" for found in content["findings"]]
    return flagged("\n".join([*first, *content["text"]]))


def _render(ru: RUMap, form: str, audience: str) -> str | bytes:
    if form == "json":
        return ru.to_json(audience) + "\n"
    from glasshouse.core.words import visible

    if form == "html":
        from glasshouse.show.report.comparison import render

        return render(ru, audience)
    if form == "pdf":
        from glasshouse.show.report.comparison import render
        from glasshouse.show.report.pdf import printed

        return printed(render(ru, audience))
    if form == "md":
        from glasshouse.show.report.comparison import markdown

        return markdown(ru, audience)
    return visible(_text(ru, audience)) + "\n"
