"""glasshouse compare: several releases on one risk-utility map."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.terminal import bar, check_format, deliver, out


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
    with bar(quiet, no_progress) as progress:
        if progress is not None:
            progress(0, 1, "comparing")
        ru = _call(gh.compare, str(original), named, {k: v for k, v in roles.items() if v is not None}, seed, jobs)
    deliver(output, format, quiet, lambda form: _render(ru, form), lambda: out().print(_text(ru)))
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


def _call(
    compare: Any, original: str, named: dict[str, str], roles: dict[str, Any], seed: int | None, jobs: int | None
) -> Any:
    import inspect

    accepted = inspect.signature(compare).parameters
    run = {"random_state": seed if seed is not None else 0, "n_jobs": jobs}
    return compare(original, named, **roles, **{k: v for k, v in run.items() if k in accepted and v is not None})


def _text(ru: Any) -> str:
    return str(ru.text())


def _render(ru: Any, form: str) -> str:
    from glasshouse.core.plain import to_json

    if form == "json":
        return (ru.to_json() if hasattr(ru, "to_json") else to_json(ru.to_dict())).rstrip("\n") + "\n"
    if form == "html":
        from glasshouse.show.report.comparison import render

        return render(ru)
    if form == "md":
        from glasshouse.show.report.comparison import markdown

        return markdown(ru)
    return _text(ru) + "\n"
