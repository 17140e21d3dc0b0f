"""glasshouse compare: several releases on one risk-utility map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.assessing import AudienceOption, MeasuresOption, PolicyOption, check_audience, measures_of
from glasshouse.show.cli.terminal import bar, check_format, check_outputs, deliver, out

if TYPE_CHECKING:
    from glasshouse.judgement.rumap.map import RUMap


def compare(
    original: o.Original,
    releases: Annotated[
        list[Path], typer.Argument(help="Releases to compare; NAME=FILE gives one a name.", show_default=False)
    ],
    keys: o.Keys = None,
    key: o.Key = None,
    target: o.Target = None,
    holdout: o.Holdout = None,
    policy: PolicyOption = None,
    measures: MeasuresOption = None,
    output: o.Output = None,
    format: o.Format = None,
    mode: o.Mode = None,
    audience: AudienceOption = "internal",
    weights: o.Weights = None,
    cluster: o.Cluster = None,
    schema: o.Schema = None,
    exclude: o.Exclude = None,
    missing: o.Missing = None,
    row_paired: o.RowPaired = False,
    header: o.Header = False,
    encoding: o.Encoding = None,
    seed: o.Seed = None,
    jobs: o.Jobs = None,
    quiet: o.Quiet = False,
    no_progress: o.NoProgress = False,
) -> int:
    """Several releases, each with its verdict, on one map of risk and utility.

    With a policy the exit code is that of the best release: 0 when one of them meets it.
    """
    import glasshouse as gh
    from glasshouse.core.errors import InputError
    from glasshouse.judgement.policy.policy import Policy

    check_format(format, output, prints=True)
    check_audience(audience)
    check_outputs(output, original, *(Path(path) for path in _names(releases).values()), holdout)
    permissions = o.permissions(mode)
    if format == "junit":
        raise InputError("a comparison is written as text, json, md, html or pdf, not junit")
    chosen = None if policy is None else Policy.of(policy)
    named = _names(releases)
    given = o.roles_of(
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
    first = seed if seed is not None else int((chosen.run if chosen is not None else {}).get("seed", 0))

    def make(header: bool) -> RUMap:
        with bar(quiet, no_progress) as progress:
            made: RUMap = gh.compare(
                str(original),
                named,
                policy=chosen,
                measures=None if measures is None else measures_of(measures),
                random_state=first,
                n_jobs=jobs,
                progress=progress,
                header=header,
                **given,
            )
        return made

    ru = o.with_header(make, header)
    deliver(
        output,
        format,
        quiet,
        lambda form: _render(ru, form, audience),
        lambda: out().print(_text(ru, audience)),
        permissions,
    )
    if chosen is None:
        return 0
    return min((found.exit_code for found in ru.assessments.values()), key=_BEST_FIRST.index)


_BEST_FIRST = (0, 3, 1)  # met, not fully measured, violated


def _names(releases: list[Path]) -> dict[str, str]:
    from glasshouse.core.errors import InputError

    named: dict[str, str] = {}
    for given in releases:
        name, sign, path = str(given).partition("=")
        name, path = (name, path) if sign and not given.exists() else (given.name.split(".")[0], str(given))
        if name in named:
            raise InputError(f"two releases are called {name!r}; write NAME=FILE for one of them")
        named[name] = path
    return named


def _text(ru: RUMap, audience: str) -> str:
    return "\n".join(ru.content(audience)["text"])


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
