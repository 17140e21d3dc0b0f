"""The commands, gathered.

Each lives in a file of its own subject; nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from glasshouse.show.cli import (
    assessing,
    bench,
    catalogue,
    comparing,
    demo,
    domains,
    formal,
    mitigating,
    policies,
    splitting,
    starting,
    synthesising,
)

app = typer.Typer(
    name="glasshouse",
    help="What a synthetic or anonymised data set gives away about the people in it, and what it is still good for.",
    epilog="Exit codes: 0 policy met, 1 policy violated, 2 usage or input error, 3 something the policy "
    "requires could not be measured, 130 interrupted. "
    "--debug shows a full trace.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(wanted: bool) -> None:
    if wanted:
        from glasshouse import __version__

        print(f"glasshouse {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """What a synthetic or anonymised data set gives away about the people in it, and what it is still good for."""


app.command("demo")(demo.demo)
app.command("app")(bench.app)
app.command("init")(starting.init)
app.command("check")(catalogue.check)
app.command("assess")(assessing.assess)
app.command("measure")(assessing.measure)
app.command("compare")(comparing.compare)
app.command("mitigate")(mitigating.mitigate)
app.command("protect")(mitigating.protect)
app.command("measures")(catalogue.measures)
app.command("explain")(catalogue.explain)
app.add_typer(policies.policy_app, name="policy")
app.add_typer(domains.domain_app, name="domain")
app.command("split")(splitting.split)
app.command("calibrate")(formal.calibrate)
app.command("synthesise")(synthesising.synthesise)
app.command("synthesize", hidden=True)(synthesising.synthesise)
app.command("audit")(formal.audit)
