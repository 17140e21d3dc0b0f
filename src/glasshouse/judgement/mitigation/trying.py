"""One operation tried on a release: the same figures before and after, without a search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glasshouse.core.streams import integer_seed
from glasshouse.data.pair import Pair
from glasshouse.judgement.mitigation.findings import columns_of
from glasshouse.judgement.mitigation.mitigated import CAME, VOID, Mitigated, StepTaken
from glasshouse.judgement.mitigation.proposals import LADDERS
from glasshouse.judgement.mitigation.tables import own_table
from glasshouse.judgement.rumap.compare import compare
from glasshouse.judgement.run import Progress
from glasshouse.protection.operation import Operation, operations
from glasshouse.protection.recipe import Recipe, Step


def to_try(pair: Pair) -> list[tuple[Operation, Mapping[str, Any]]]:
    """What can be tried on a release with arguments that fit its columns, the mildest of each operation first.

    Parameters
    ----------
    pair : Pair
        With one release.

    Returns
    -------
    list of tuple
        Operations with their arguments.
    """
    columns = columns_of(pair, ())
    known = operations()
    return [
        (one, arguments)
        for name, one in known.items()
        if name in LADDERS and not (pair.row_paired and one.touches != "columns")
        for arguments in LADDERS[name](columns, pair)
    ]


def tried(
    pair: Pair,
    operation: Operation,
    arguments: Mapping[str, Any],
    *,
    seed: int = 0,
    progress: Progress | None = None,
    **run: Any,
) -> Mitigated:
    """Apply one operation to a release, and put both on one map.

    Parameters
    ----------
    pair : Pair
        With one release.
    operation, arguments
        One of :func:`to_try`.
    seed : int
        Of the run; the operation draws from a stream of its own.
    progress : callable, optional
        Told how far the comparison is.
    **run
        Arguments of ``gh.compare``: policy, measures, options.

    Returns
    -------
    Mitigated
        Nobody verifies it: both verdicts are of the same people.
    """
    seeded = {"random_state": integer_seed(seed, "tried", operation.name)} if operation.seeded else {}
    step = Step(operation.name, {**arguments, **seeded})
    table = own_table(pair, "released")
    made = step.run(table, own_table(pair, "original"))
    name = f"1. {operation.title}"
    ru = compare(pair, {CAME: table, name: made.table}, random_state=seed, progress=progress or False, **run)
    places = list(ru.composites.values())
    notes = [*([VOID.format(steps=operation.title.capitalize())] if made.voids_dp else []), *made.notes]
    taken = StepTaken(
        name=name,
        operation=operation,
        step=step,
        why="asked for",
        threats=operation.acts_on,
        risk=(places[0]["risk"], places[1]["risk"]),
        utility=(places[0]["utility"], places[1]["utility"]),
        records=made.records,
        cells=made.cells,
        voids_dp=made.voids_dp,
        notes=made.notes,
    )
    before, after = ru.assessments[CAME], ru.assessments[name]
    return Mitigated(
        made.table, after, before, (taken,), Recipe([step]), tuple(notes), ru, seed, verified=False, tried=1
    )
