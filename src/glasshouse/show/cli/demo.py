"""glasshouse demo: the whole story on bundled data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.flags import flagged
from glasshouse.show.cli.progress import progress
from glasshouse.show.cli.terminal import STYLES, check_format, check_outputs, err, format_of, out, say_what_is_missing


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the report goes.", metavar="FILE")] = Path(
        "report.html"
    ),
    measures: Annotated[str, typer.Option("--measures", help="fast, default or full.")] = "default",
    seed: o.Seed = None,
    quiet: o.Quiet = False,
    no_progress: o.NoProgress = False,
) -> int:
    """The whole story on bundled data: assess a release, say what it means, write report.html."""
    from rich.text import Text

    import glasshouse as gh
    from glasshouse.core.words import MARKS, plural

    check_outputs([output])
    check_format(None, [output], prints=True)
    started = time.perf_counter()
    example = gh.data.load("health")
    pair = gh.Pair(
        example.original, example.released, holdout=example.holdout, keys=list(example.keys), target=example.target
    )
    err(
        f"A made-up health survey: {pair.n('original'):,} people, a synthetic release of {pair.n('released'):,} "
        "records, " + (f"{pair.n('holdout'):,} people held out." if pair.has_holdout else "nobody held out."),
        quiet,
    )
    err(f"The attacker knows {', '.join(pair.keys)} and wants to learn {pair.target}.\n", quiet)
    with progress(quiet, no_progress) as step:
        found = gh.assess(
            pair, policy="research", measures=measures, random_state=seed if seed is not None else 0, progress=step
        )
        if step is not None:
            step(1, 1, "writing the report")
        write = found.to_pdf if format_of(output, "html") == "pdf" else found.to_html
        write(output, title="A made-up health survey")
    console = out()
    console.print(
        Text(f"{MARKS[found.verdict]} {found.verdict.upper()}", style=STYLES[found.verdict]).append(
            f"  {found.headline}", style="default not bold"
        )
    )
    console.print()
    for threat in found.ranked[:3]:
        console.print(
            Text(f"{MARKS[threat.status]} {threat.name}", style=STYLES[threat.status]).append(
                f": {threat.sentence}", style="default not bold"
            )
        )
    if found.recommendations:
        console.print(f"\nWhat would help: {flagged(found.recommendations[0].text, found.recommendations[0].measure)}")
    console.print(f"\nreport: {output.resolve()}")
    say_what_is_missing(["html"], quiet)
    err(
        f"{len(found.results)} {plural(len(found.results), 'measure')} in {time.perf_counter() - started:.0f} s. Your "
        "own data: glasshouse assess ORIGINAL RELEASED --keys a,b --target c -o report.html",
        quiet,
    )
    return 0
