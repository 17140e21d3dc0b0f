"""What could be seen at best: the same leaks put to a test that knows the population.

    python -m studies.calibration best best.jsonl [--seeds 20]

Where several people share a record, a copy of one is a record the others explain as well, and no test can tell. How
much that takes is found by giving the test what no custodian has: how often each combination of values is in the
population (from a very large draw, or from the whole file of real people). With share e of the members copied, m
released records, r of them equal to a person in the copied columns, and p the share of such people in the population,

    score = log(1 - e + e r / (m p))

is the log-likelihood ratio of "this person may have been copied" against "nobody was". Labels of members and strangers
are exchanged as everywhere. What this test misses, no test of these columns sees.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from studies.cases import Case
from studies.kinds import KINDS, Frame, Kind, Missing

LEVEL = 0.05
DRAWN = 400_000
# the whole of the real files, less what rounding of the units takes
WHOLE = {"adult": 45_000, "sd2011": 4_900}
DEALS = 999


def columns_of(kind: Kind, world: Any) -> dict[str, list[str]]:
    """The columns that each leak copies."""
    everything = [c for c in world.original.columns if c != kind.cluster]
    return {"keys_5": [*kind.keys, kind.target], "verbatim_2": everything, "verbatim_5": everything}


SHARES = {"keys_5": 0.05, "verbatim_2": 0.02, "verbatim_5": 0.05}


@cache
def population(name: str, columns: tuple[str, ...]) -> tuple[Frame, int]:
    """How many people of a very large draw have each combination of values, and how many there are."""
    kind = KINDS[name]
    drawn = kind.draw(WHOLE.get(name, kind.units(DRAWN)), np.random.default_rng(1))
    return drawn.group_by(columns).len("people"), drawn.height


def best(case: Case) -> dict[str, Any]:
    """The p value of the best test about one case."""
    line: dict[str, Any] = {"kind": case.kind, "leak": case.leak, "seed": case.seed, "n": case.n}
    kind, started = KINDS[case.kind], time.perf_counter()
    try:
        world = case.build()
        columns = columns_of(kind, world)[case.leak]
        known, size = population(case.kind, tuple(columns))
    except Missing as why:
        return {**line, "skipped": str(why)}
    released = world.released.group_by(columns).len("released")
    people = pl.concat([world.original, world.holdout], how="vertical_relaxed").with_row_index("_row")
    cells = (
        people.join(known, on=columns, how="left", nulls_equal=True)
        .join(released, on=columns, how="left", nulls_equal=True)
        .sort("_row")
    )
    share = cells["people"].fill_null(1).to_numpy() / size
    copies = cells["released"].fill_null(0).to_numpy()
    copied = SHARES[case.leak]
    score = np.log(1 - copied + copied * copies / (world.released.height * share))
    member = np.arange(people.height) < world.original.height
    if kind.cluster is not None:
        unit = people[kind.cluster].rank("dense").to_numpy().astype(int) - 1
        totals, labels = np.bincount(unit, weights=score), np.zeros(unit.max() + 1, bool)
        labels[unit[member]] = True
    else:
        totals, labels = score, member
    rng = np.random.default_rng(case.seed)
    dealt = np.array([totals[rng.permutation(labels)].sum() for _ in range(DEALS)])
    p = (1 + int((dealt >= totals[labels].sum() - 1e-9).sum())) / (1 + DEALS)
    return {**line, "p": p, "cells": known.height, "seconds": round(time.perf_counter() - started, 2)}


def section(found: Sequence[dict[str, Any]], seen: Callable[[str, str], tuple[float, float, int] | None]) -> list[str]:
    """The page's section: what the best test sees beside what the assessments saw, by kind of data.

    Parameters
    ----------
    found
        Lines of :func:`best`.
    seen
        Share of assessments that warned or failed, its standard error and the runs, by leak and kind.
    """
    from studies.calibration_tables import cell, share, table
    from studies.leaks import LEAKS

    done = [d for d in found if "p" in d]
    if not done:
        return []
    leaks = [leak for leak in SHARES if any(d["leak"] == leak for d in done)]
    kinds = [kind for kind in KINDS if any(d["kind"] == kind for d in done)]
    rows = []
    for kind in (*kinds, None):
        row = ["**all kinds**" if kind is None else kind]
        for leak in leaks:
            mine = [d for d in done if d["leak"] == leak and kind in (None, d["kind"])]
            row += [cell(share(d["p"] < LEVEL for d in mine)), cell(seen(leak, kind or ""))]
        rows.append(row)
    head = ["data", *(f"{LEAKS[leak].words}: {who}" for leak in leaks for who in ("at best", "seen"))]
    return [
        "## What could be seen at best",
        "",
        "A test that knows what no custodian knows, how often each combination of values is in the population, and "
        "weighs every match by it (`studies/oracle.py`), sees so many per cent at 5 %; beside it what the assessments "
        "warned about or failed. Where even that test does not see a leak in the copied columns, no test of them can.",
        "",
        *table(head, rows),
    ]
