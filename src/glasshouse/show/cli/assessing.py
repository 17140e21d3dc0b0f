"""glasshouse assess and glasshouse measure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.terminal import (
    bar,
    check_format,
    check_outputs,
    deliver,
    err,
    files_among,
    format_of,
    out,
    put,
    render,
    show,
)

PolicyOption = Annotated[
    str | None,
    typer.Option("--policy", help="A policy file, or public, research, secure, riskutility.", metavar="FILE|NAME"),
]
MeasuresOption = Annotated[
    str | None,
    typer.Option(
        "--measures", help="fast, default, full, or names with commas.  [default: default]", show_default=False
    ),
]
AudienceOption = Annotated[
    str, typer.Option("--audience", help="internal, or external: no original value, no record, no small cell.")
]
OptionOption = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of the measure, name=value; repeat for more.", metavar="NAME=VALUE"),
]


def assess(
    original: o.Original,
    released: o.Released,
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
    """May this release go out? A verdict per threat, the reasons, and a report (-o report.html)."""
    from glasshouse.judgement.policy.policy import Policy
    from glasshouse.judgement.verdict.assess import assess as run
    from glasshouse.judgement.verdict.assess import estimate

    check_format(format, output, prints=True)
    check_audience(audience)
    check_outputs(output, original, *released, holdout)
    permissions = o.permissions(mode)
    chosen = None if policy is None else Policy.of(policy)
    wanted = {} if chosen is None else {k: v for k, v in chosen.run.items() if k not in ("measures", "seed")}
    pair = o.make_pair(
        original,
        released,
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
        header=header,
        encoding=encoding,
        wanted=wanted,
    )
    which = measures_of(measures)
    if sys.stderr.isatty():
        asked = chosen.run.get("measures", which) if chosen is not None and measures is None else which
        err(str(estimate(pair, asked if asked != "named" else (), chosen)), quiet)
    first = seed if seed is not None else int((chosen.run if chosen is not None else {}).get("seed", 0))
    with bar(quiet, no_progress) as progress:
        found = run(pair, policy=chosen, measures=which, random_state=first, n_jobs=jobs, progress=progress)
        made: dict[str, str | bytes] = {}

        def make(form: str) -> str | bytes:
            if form not in made:
                made[form] = render(found, form, audience)
            return made[form]

        if progress is not None:
            progress(1, 1, "writing the report")
        for path in files_among(output):
            make(format_of(path, format))
    deliver(output, format, quiet, make, lambda: show(found, out(), audience), permissions)
    return found.exit_code


def measure(
    name: Annotated[str, typer.Argument(help="A measure; `glasshouse measures` lists them.", show_default=False)],
    original: o.Original,
    released: Annotated[
        list[Path] | None,
        typer.Argument(help="The released table; not needed for measures of a single file.", show_default=False),
    ] = None,
    keys: o.Keys = None,
    key: o.Key = None,
    target: o.Target = None,
    holdout: o.Holdout = None,
    option: OptionOption = None,
    records: Annotated[
        Path | None,
        typer.Option("--records", help="Also write the figures per record to this CSV file.", metavar="FILE"),
    ] = None,
    output: o.Output = None,
    format: o.Format = None,
    mode: o.Mode = None,
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
) -> int:
    """One measure, as text or JSON."""
    from glasshouse.catalogue import all_measures
    from glasshouse.core.errors import InputError, closest

    check_format(format, output)
    if format in ("junit", "html", "md"):
        raise InputError(
            f"a single measure is written as text or json, not {format}; `glasshouse assess --measures {name}` "
            "makes a report"
        )
    check_outputs([*(output or ()), *([] if records is None else [records])], original, *(released or ()), holdout)
    permissions = o.permissions(mode)
    known = all_measures()
    if name not in known:
        raise InputError(f"there is no measure {name!r}{closest(name, known)}; `glasshouse measures` lists them")
    chosen = known[name]
    if not released and chosen.table != "single":
        raise InputError(f"{name} compares two tables: glasshouse measure {name} ORIGINAL RELEASED")
    pair = o.make_pair(
        original,
        released or [original],
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
        header=header,
        encoding=encoding,
    )
    given: dict[str, Any] = o.measure_options(option)
    stray = [given_name for given_name in given if given_name not in chosen.options]
    if stray:
        raise InputError(
            f"{name} has no option {stray[0]!r}{closest(stray[0], chosen.options)}; it has: {', '.join(chosen.options)}"
        )
    if "random_state" in chosen.options:
        given.setdefault("random_state", seed if seed is not None else 0)
    if "n_jobs" in chosen.options and jobs is not None:
        given["n_jobs"] = jobs
    result = chosen(pair, **given)
    lost = None if records is None else _write_records(result, records, quiet, permissions)

    def text(form: str) -> str:
        return (result.to_json() if form == "json" else result.summary()) + "\n"

    deliver(output, format, quiet, text, lambda: out().print(result.summary()), permissions)
    if lost is not None:
        raise InputError(lost)
    return 0 if result.status == "ok" else 3


def _write_records(result: Any, path: Path, quiet: bool, mode: int | None) -> str | None:
    import polars as pl

    from glasshouse.core.errors import InputError

    frame = result.records
    if frame is None:
        raise InputError(f"{result.name} has no figures per record")
    text = pl.DataFrame(frame).with_row_index("row").write_csv()
    return put(path, text, quiet, mode, ": one line per record; treat it as confidential")


def measures_of(measures: str | None) -> Any:
    """A set of measures by its name, or the names given with commas."""
    from glasshouse.judgement.selection import SETS

    if measures is None:
        return "default"
    names = [part.strip() for part in measures.split(",") if part.strip()]
    return names[0] if len(names) == 1 and names[0] in SETS else names


def check_audience(audience: str) -> None:
    """Refuse an audience that does not exist."""
    from glasshouse.core.errors import InputError
    from glasshouse.judgement.content import AUDIENCES

    if audience not in AUDIENCES:
        raise InputError(f"--audience {audience!r} is not known; it is internal or external")
