"""glasshouse assess and glasshouse measure."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.asked import Asked, settle
from glasshouse.show.cli.flags import flagged, in_flags
from glasshouse.show.cli.gathering import gathered
from glasshouse.show.cli.progress import progress
from glasshouse.show.cli.terminal import (
    PAGES,
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

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.show.cli.progress import Step


@gathered
def assess(files: o.Files, chosen: o.Settings, roles: o.Roles, running: o.Running, reporting: o.Reporting) -> int:
    """May this release go out? A verdict per threat, the reasons, and a report (-o report.html).

    Several --keys or --target are scenarios: a table over them, and the exit code of the worst. Whatever is not said
    here may stand in a settings file (glasshouse init).
    """
    from glasshouse.judgement.selection import estimate

    asked = settle(files, chosen, roles, running, reporting)
    asked.check(*asked.released, prints=True)
    pair = asked.pair({} if asked.several else asked.case("assess"))
    costs = estimate(pair, named(asked), asked.policy)
    if sys.stderr.isatty():
        err(f"per scenario: {costs}" if asked.several else str(costs), asked.quiet)
    with progress(asked.quiet, asked.no_progress, {one.measure: one.seconds for one in costs.costs}) as step:
        found = assessed(asked, pair, step)
        told = in_flags(found, asked.audience)
        make = cache(lambda form: render(found if form == "json" else told, form, asked.audience))
        pages = (
            cache(lambda path, form: told.pages(path, audience=asked.audience, form=form)) if asked.several else None
        )
        if step is not None:
            step(1, 1, "writing the report")
        for path in files_among(asked.output):  # rendered where its progress is seen
            form = format_of(path, asked.format)
            _ = make(form) if pages is None or form not in PAGES else pages(path, form)
    deliver(
        asked.output,
        asked.format,
        asked.quiet,
        make,
        lambda: show(told, out(), asked.audience),
        asked.mode,
        pages,
    )
    return int(found.exit_code)


def assessed(asked: Asked, pair: Pair, step: Step | None) -> Any:
    """What the settings ask for: an Assessment, or Scenarios where there are several.

    Parameters
    ----------
    asked : Asked
        The settings.
    pair : Pair
        Of them.
    step : callable, optional
        Told how far the run is.

    Returns
    -------
    Assessment or Scenarios
    """
    from glasshouse.judgement.policy.policy import Policy
    from glasshouse.judgement.scenarios.run import scenarios
    from glasshouse.judgement.selection import select
    from glasshouse.judgement.verdict.assess import assess as run

    chosen = select(named(asked), Policy.of(asked.policy), pair.row_paired)
    which = "default" if asked.measures is None else asked.measures
    given = {**asked.running(chosen), "measures": which, "progress": step}
    if asked.several:
        return scenarios(pair, keys=asked.cases, target=asked.targets, **given)
    return run(pair, **given)


def named(asked: Asked) -> Any:
    """The measures as they are named: on the command line, in the settings, else in the policy."""
    suggested = {} if asked.policy is None else asked.policy.run
    which = suggested.get("measures", "default") if asked.measures is None else asked.measures
    return which if which != "named" else ()


@gathered
def measure(
    name: Annotated[str, typer.Argument(help="A measure; `glasshouse measures` lists them.", show_default=False)],
    files: o.Files,
    chosen: o.Settings,
    roles: o.Roles,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="An option of the measure, name=value; repeat for more.", metavar="NAME=VALUE"),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option("--records", help="Also write the figures per record to this CSV file.", metavar="FILE"),
    ] = None,
    output: o.Output = None,
    format: o.Format = None,
    mode: o.Mode = None,
    seed: o.Seed = None,
    jobs: o.Jobs = None,
    device: o.Device = None,
    quiet: o.Quiet = False,
) -> int:
    """One measure, as text or JSON; RELEASED is not needed for measures of a single file."""
    from glasshouse.catalogue import all_measures
    from glasshouse.core.errors import InputError, closest
    from glasshouse.engines.devices import device as on_device

    known = all_measures()
    if name not in known:
        raise InputError(f"there is no measure {name!r}{closest(name, known)}; `glasshouse measures` lists them")
    asks = known[name]
    single = asks.table == "single"
    asked = settle(
        files,
        chosen,
        roles,
        o.Running(seed=seed, jobs=jobs, device=device),
        o.Reporting(output, format, mode, quiet=quiet),
        needs=("original",) if single else ("original", "released"),
        single=single,
        reports=False,
    )
    asked.only_text_or_json("a single measure", f"; `glasshouse assess --measures {name}` makes a report")
    asked.only_internal()
    asked.check(*asked.released)
    check_outputs([*asked.output, *([] if records is None else [records])], *asked.read(*asked.released))
    given = {**asked.said.get("options", {}).get(name, {}), **o.measure_options(option, name).get(name, {})}
    if "random_state" in asks.options:
        given.setdefault("random_state", asked.seed)
    if "n_jobs" in asks.options and "jobs" in asked.said:
        given["n_jobs"] = asked.said["jobs"]
    with on_device(asked.said.get("device")):
        result = asks(asked.pair(asked.case("measure")), **given)
    lost = None if records is None else _write_records(result, records, asked.quiet, asked.mode)

    def text(form: str) -> str:
        return result.to_json() + "\n" if form == "json" else told + "\n"

    told = flagged(result.summary(), name, alone=True)
    deliver(asked.output, asked.format, asked.quiet, text, lambda: out().print(told), asked.mode)
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
