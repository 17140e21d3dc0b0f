"""Released records that copy real people, drawn anew or removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.streams import RandomState, generator
from glasshouse.core.words import counted, plural
from glasshouse.data.arrays import Bools, Ints
from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair
from glasshouse.engines.canonical import canonical
from glasshouse.protection.copies import Copies, checked, find_copies, nearest_unmarked
from glasshouse.protection.held import Held, held
from glasshouse.protection.operation import Protected, operation, protected

ROUNDS = 12  # draws for a record before it is given up; its neighbourhood is doubled every second time
LOOKED = "This step looked at the original: a claim of differential privacy for the table no longer stands."
SECRET = (
    f"{LOOKED} Which records were touched tells which of them copied somebody; keep that, and the table as it was, in "
    "the house."
)
WHY_REDRAWN = (
    "Copies were drawn anew and not removed: a file in which exactly the records of real people are missing tells, to "
    "whoever saw it before or can make one like it, whom it was made from, and it has fewer records."
)
NONE_LEFT = " What is left of that: no record of the table equals one of the people who were copied."
WHY_NOT_REMOVED = (
    "Removing exactly the records that equal real ones can itself tell something: whoever can make a file like this "
    "one sees whose records are missing, and the number of records tells how many. redraw_records keeps the number."
)


@dataclass(frozen=True)
class Looked:
    """A table laid beside the original."""

    before: Held
    original: pl.DataFrame
    columns: list[str]
    shared: list[str]
    copies: Copies

    @property
    def figures(self) -> dict[str, object]:
        """What was found, by how close it is."""
        found = self.copies
        return {"exact": int(found.exact.sum()), "but_one": int(found.but_one.sum()), "near": int(found.near.sum())}


@operation(
    title="re-draw copies",
    acts_on=("identity", "attribute", "membership", "copying"),
    touches="records",
    cost=2,
    looks_at_original=True,
    needs=("any",),
)
def redraw_records(
    table: Frame,
    *,
    original: Frame,
    copies: str = "exact",
    threshold: float = 0.5,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    cluster: str | None = None,
    k: int = 10,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Protected:
    """Draw anew the released records that equal or nearly equal a real one.

    Parameters
    ----------
    table : frame, path or Protected
        The release.
    original : frame or path
        The confidential table.
    copies : {"exact", "but_one", "near"}, default "exact"
        "exact": records equal to a person whom nobody else equals. "but_one": also those equal in all columns but one.
        "near": also those much nearer to a person than the next person is.
    threshold : float, default 0.5
        How near a near copy is: nearer than this share of half-way to the next person.
    columns : sequence of str, optional
        The columns by which a record is a copy. Default: all that both tables have, without identifiers. Re-drawn are
        the others as well, because they belong to the same person.
    keep : sequence of str, default empty
        Columns that keep their values in re-drawn records as well.
    cluster : str, optional
        Column that names the person or household over several rows. Default: every record is a person.
    k : int, default 10
        Neighbours whose values a record is drawn from, at least 2; more where that gives a copy again.
    random_state : int, numpy Generator or None, default 0
        The same call gives the same table; None draws.
    n_jobs : int, optional
        Threads; no answer depends on it. Default: all.

    Returns
    -------
    Protected
        Column order, records and their order stay; ``details`` counts the copies found and those that could not be
        drawn anew.

    Raises
    ------
    InputError
        Where so many records are copies that there is nothing to draw from, and for unknown settings.

    Notes
    -----
    With d the distance (Gower) of a released record to its nearest person and iso that person's distance to the next
    one, a record is an exact copy when d = 0 < iso and a near one when 2 d < threshold * iso. For every copy each
    column takes the value of one of its k nearest released records that are no copies, every column of another one at
    random. So a new record lies where the old one lay, and is nobody's: what is a copy again is drawn again, from twice
    the neighbours, up to 12 times. Identifiers and the column of clusters stay as they are.

    Removing the copies instead would tell which people the file was made from; see ``remove_records``.

    References
    ----------
    Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data, on replicated uniques.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("health")
    >>> safer = gh.protection.redraw_records(example.released, original=example.original)
    >>> safer.details["exact"], safer.details["left"]
    (48, 0)
    """
    checked(copies, threshold, k)
    looked = _look(table, original, columns, copies, threshold, cluster, n_jobs)
    marked = looked.copies.of(copies)
    if not marked.any():
        return protected(looked.before, did="drawn anew", details={**looked.figures, "left": 0}, notes=[SECRET])
    if marked.sum() > looked.before.n - 2:
        found = int(marked.sum())
        raise InputError(
            f"{counted(found, 'record')} of {looked.before.n:,} {plural(found, 'is a copy', 'are copies')}, so "
            "there is nothing left to draw from; synthesise the table anew (resynthesise)"
        )
    stay = looked.before.columns(keep, "keep") if len(keep) else []
    free = [c for c in looked.shared if c not in stay]
    drawn, left = _drawn(looked, free, marked, copies, threshold, cluster, k, random_state, n_jobs)
    gone = (
        [f"{counted(left, 'copy', 'copies')} could not be drawn anew: whatever their neighbours hold is a copy again."]
        if left
        else []
    )
    made = protected(looked.before, {c: drawn[c] for c in free})
    many = counted(int(marked.sum()), "record")
    return protected(
        looked.before,
        {c: drawn[c] for c in free if made.columns[c]},
        notes=[WHY_REDRAWN + ("" if left else NONE_LEFT), SECRET, *gone],
        details={**looked.figures, "left": left},
        sentence=f"Drew {many} of {looked.before.n:,} anew ({counted(made.cells, 'cell')}).",
    )


@operation(
    title="remove copies",
    acts_on=("identity", "attribute", "membership", "copying"),
    touches="records",
    cost=4,
    looks_at_original=True,
    needs=("any",),
)
def remove_records(
    table: Frame,
    *,
    original: Frame,
    copies: str = "exact",
    threshold: float = 0.5,
    columns: Sequence[str] | None = None,
    cluster: str | None = None,
    n_jobs: int | None = None,
) -> Protected:
    """Remove the released records that equal or nearly equal a real one.

    Parameters
    ----------
    table : frame, path or Protected
        The release.
    original : frame or path
        The confidential table.
    copies : {"exact", "but_one", "near"}, default "exact"
        Which records are meant, as for ``redraw_records``.
    threshold : float, default 0.5
        How near a near copy is: nearer than this share of half-way to the next person.
    columns : sequence of str, optional
        The columns compared. Default: all that both tables have, without identifiers.
    cluster : str, optional
        Column that names the person or household over several rows. Default: every record is a person.
    n_jobs : int, optional
        Threads; no answer depends on it. Default: all.

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        Where every record would go, and for unknown settings.

    Notes
    -----
    Removing exactly the records that equal real ones can itself tell something: whoever can make a file like this one
    sees whose records are missing. ``redraw_records`` is the better choice nearly always.

    References
    ----------
    Nowok, Raab & Dibben (2016), synthpop: bespoke creation of synthetic data in R, on removing replicated uniques.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("health")
    >>> safer = gh.protection.remove_records(example.released, original=example.original)
    >>> safer.table.height
    952
    """
    checked(copies, threshold)
    looked = _look(table, original, columns, copies, threshold, cluster, n_jobs)
    marked = looked.copies.of(copies)
    if marked.all():
        raise InputError("every record is a copy of somebody and would be removed; synthesise the table anew")
    return protected(
        looked.before,
        keep=~marked if marked.any() else None,
        did="removed",
        notes=[WHY_NOT_REMOVED, SECRET] if marked.any() else [SECRET],
        details=looked.figures,
    )


def _look(
    table: Frame,
    original: Frame,
    columns: Sequence[str] | None,
    copies: str,
    threshold: float,
    cluster: str | None,
    n_jobs: int | None,
) -> Looked:
    before, real = held(table), held(original)
    known = comparable(before, real, cluster)
    chosen = known if columns is None else before.columns(columns)
    strange = [c for c in chosen if c not in real.frame.columns]
    if strange:
        raise InputError(f"column {strange[0]!r} is not in the original{closest(strange[0], real.frame.columns)}")
    if cluster is not None and cluster not in real.frame.columns:
        raise InputError(f"cluster {cluster!r} is no column of the original{closest(cluster, real.frame.columns)}")
    if real.n < 2:
        raise InputError("the original has fewer than two records, so nobody is unlike anybody else")
    found = find_copies(real.frame, before.frame, chosen, copies, threshold, cluster, n_jobs)
    return Looked(before, real.frame, list(chosen), list(dict.fromkeys([*known, *chosen])), found)


def comparable(before: Held, real: Held, cluster: str | None) -> list[str]:
    """The columns both tables have that are no identifiers, without the one that names clusters."""
    shared = [c for c in before.frame.columns if c in real.frame.columns and c != cluster]
    if not shared:
        raise InputError(
            f"the table and the original have no column in common; the original has {listed(real.frame.columns)}"
        )
    pair = Pair(real.frame.select(shared), before.frame.select(shared))
    return [c for c in shared if c in pair.columns] or shared


def _drawn(
    looked: Looked,
    free: Sequence[str],
    marked: Bools,
    copies: str,
    threshold: float,
    cluster: str | None,
    k: int,
    random_state: RandomState,
    n_jobs: int | None,
) -> tuple[pl.DataFrame, int]:
    """The release with new records in the places of copies, and how many are copies still."""
    frame, columns = looked.before.frame, looked.columns
    root = int(generator(random_state, "redraw_records", looked.before.content).integers(0, 2**62))
    order = canonical(Pair(looked.original, frame, keys=columns), columns).order("released")
    rows = order[marked[order]]  # whatever the order of the file, the same record gets the same draw
    donors = nearest_unmarked(frame, columns, rows, marked, k * 2 ** ((ROUNDS - 1) // 2), n_jobs)
    todo = np.arange(len(rows))
    for attempt in range(ROUNDS):
        near = min(k * 2 ** (attempt // 2), donors.shape[1])
        fresh = _mixture(frame, free, donors[todo, :near], root, attempt)
        frame = _placed(frame, fresh, rows[todo])
        found = find_copies(looked.original, frame, columns, copies, threshold, cluster, n_jobs).of(copies)
        todo = np.flatnonzero(found[rows])
        if not len(todo):
            break
    return frame, len(todo)


def _mixture(frame: pl.DataFrame, columns: Sequence[str], donors: Ints, root: int, attempt: int) -> pl.DataFrame:
    """Records made of their donors' values, each column from another donor."""
    size, at = donors.shape[1], np.arange(len(donors))
    made = {}
    for name in columns:
        chosen = generator(root, name, attempt).integers(0, size, len(donors))
        made[name] = frame[name].gather(donors[at, chosen])
    return pl.DataFrame(made)


def _placed(frame: pl.DataFrame, fresh: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    """The table with ``fresh`` in some rows."""
    source = np.arange(frame.height)
    source[rows] = frame.height + np.arange(len(rows))
    return frame.with_columns(pl.concat([frame[c], fresh[c]]).gather(source).alias(c) for c in fresh.columns)
