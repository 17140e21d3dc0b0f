"""glasshouse compare: several releases on one risk-utility map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.terminal import bar, check_format, deliver, out

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
    output: o.Output = None,
    format: o.Format = None,
    seed: o.Seed = None,
    jobs: o.Jobs = None,
    quiet: o.Quiet = False,
    no_progress: o.NoProgress = False,
) -> int:
    """Several releases on one map of risk and utility."""
    import glasshouse as gh
    from glasshouse.core.errors import InputError

    check_format(format)
    if format == "junit":
        raise InputError("a comparison is written as text, json, md or html, not junit")
    named = _names(releases)
    roles: dict[str, Any] = {
        "keys": o.names(keys, key),
        "target": target,
        "holdout": None if holdout is None else str(holdout),
    }
    given = {k: v for k, v in roles.items() if v is not None}
    first = seed if seed is not None else 0
    with bar(quiet, no_progress) as progress:
        ru = gh.compare(str(original), named, random_state=first, n_jobs=jobs, progress=progress, **given)
    deliver(output, format, quiet, lambda form: _render(ru, form), lambda: out().print(ru.text()))
    return 0


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


def _render(ru: RUMap, form: str) -> str:
    if form == "json":
        return ru.to_json() + "\n"
    if form == "html":
        from glasshouse.show.report.comparison import render

        return render(ru)
    if form == "md":
        from glasshouse.show.report.comparison import markdown

        return markdown(ru)
    return ru.text() + "\n"
