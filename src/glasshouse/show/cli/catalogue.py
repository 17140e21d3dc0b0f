"""glasshouse check, measures and explain."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from glasshouse.core.errors import listed
from glasshouse.data.schema import Column
from glasshouse.show.cli import options as o
from glasshouse.show.cli.asked import settle
from glasshouse.show.cli.flags import flagged
from glasshouse.show.cli.gathering import gathered
from glasshouse.show.cli.terminal import check_format, out, table

MANY = 40  # columns that are listed one by one


@gathered
def check(files: o.Files, chosen: o.Settings, roles: o.Roles, format: o.Format = None) -> int:
    """Do the tables fit together? Findings before anything is measured."""
    from glasshouse.core.plain import to_json
    from glasshouse.judgement.scenarios.run import scenario_pairs

    check_format(format)
    asked = settle(files, chosen, roles)
    pair = asked.pair({} if asked.several else asked.case("check"))
    if asked.several:
        scenario_pairs(pair, asked.cases, asked.targets)  # a key that is not there is told here, too
    found = pair.check()
    if format == "json":
        columns = [{"name": c.name, "kind": c.kind, "reason": c.reason} for c in pair.schema.values()]
        sys.stdout.write(
            to_json(
                {"schema": "glasshouse.check", "schema_version": 1, "columns": columns, "findings": found.to_dict()}
            )
            + "\n"
        )
    else:
        console = out()
        console.print(repr(pair))
        console.print()
        console.print(_columns(list(pair.schema.values())))
        console.print()
        console.print(flagged(repr(found)))
    return 2 if any(f.level == "error" for f in found) else 0


def _columns(schema: Sequence[Column]) -> str:
    """What every column is taken for; of many columns, how many are of each kind."""
    if len(schema) <= MANY:
        return table([{"column": c.name, "kind": c.kind, "why": c.reason} for c in schema], ("column", "kind", "why"))
    kinds: dict[str, list[str]] = {}
    for column in schema:
        kinds.setdefault(column.kind, []).append(column.name)
    rows = [{"kind": k, "columns": f"{len(n):,}", "names": listed(n, 6)} for k, n in kinds.items()]
    return table(rows, ("kind", "columns", "names")) + "\n(--format json says what each column is taken for, and why)"


def measures(
    side: Annotated[str | None, typer.Option("--side", help="disclosure or utility.")] = None,
    threat: Annotated[str | None, typer.Option("--threat", help="identity, attribute, membership or copying.")] = None,
    format: o.Format = None,
) -> int:
    """List the measures: what they answer, what they need."""
    from glasshouse.catalogue import measures as listing
    from glasshouse.core.plain import to_json

    check_format(format)
    rows = [
        r
        for r in listing().to_dicts()
        if (side is None or r["side"] == side) and (threat is None or r["threat"] == threat)
    ]
    if format == "json":
        sys.stdout.write(to_json(rows) + "\n")
    elif format == "md":
        cells = [
            [str(r[c] or "").replace("|", "\\|") for c in ("name", "side", "threat", "needs", "summary")] for r in rows
        ]
        lines = [
            "| measure | side | threat | needs | question |",
            "|---|---|---|---|---|",
            *("| " + " | ".join(c) + " |" for c in cells),
        ]
        sys.stdout.write("\n".join(lines) + "\n")
    else:
        out().print(table(rows, ("name", "threat", "family", "needs", "summary")))
    return 0


def explain(
    name: Annotated[str, typer.Argument(help="A measure, or what another package calls it.", show_default=False)],
    format: o.Format = None,
) -> int:
    """What a measure asks, how to read it, what it needs, its options and charts, its limits and its source."""
    from glasshouse.catalogue import explain as prose
    from glasshouse.catalogue import facts, named
    from glasshouse.core.plain import to_json
    from glasshouse.core.pointing import elsewhere

    check_format(format)
    text = prose(name)
    if format == "json":
        meant = named(name)
        pointers = [pointer.sentence for pointer in elsewhere(name)]
        sys.stdout.write(
            to_json({**(facts(meant) if meant else {"name": None}), "asked": name, "there": pointers}) + "\n"
        )
    else:
        out().print(text)
    return 0
