"""PRAM: categories exchanged at random, with chances that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.frames import Frame, Values, label_text
from glasshouse.protection.held import Held, held
from glasshouse.protection.operation import Protected, operation, protected
from glasshouse.protection.strata import Stratum, strata_of
from glasshouse.protection.transition import drawn, drawn_exactly, invariant, normalised

MOST_LEVELS = 1000  # a matrix has the square of it
FEW_LEVELS = 50  # up to which anything is a category
LEAST_HELD = 5  # records per level, on average, of categories with more levels


@operation(
    title="exchange categories at random",
    acts_on=("identity", "attribute", "membership", "copying"),
    touches="columns",
    cost=5,
    needs=("categorical", "any"),
)
def pram(
    table: Frame,
    columns: Sequence[str],
    matrix: Mapping[str, Mapping[str, float]] | None = None,
    keep: float = 0.8,
    by: Sequence[str] | None = None,
    exact: bool = False,
    random_state: RandomState = 0,
) -> Protected:
    """Post randomisation: release each category as another one with a known chance.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        Columns of categories, or of numbers that stand for categories. Each is randomised by itself.
    matrix : mapping, optional
        ``{"a": {"a": 0.9, "b": 0.1}, "b": {"b": 1}}``: the chance of each level to be released as which one, by name;
        what is left out is 0. Used as it is, for one column. Default: a matrix that keeps the expected counts.
    keep : float, default 0.8
        Without ``matrix``: the least chance of a record to keep its value, for every level.
    by : str or sequence of str, optional
        Columns that make strata: each has a matrix of its own and keeps its own expected counts. Default: none.
    exact : bool, default False
        Whether the released counts are the expected ones, rounded; who gets which value is drawn.
    random_state : int, numpy.random.Generator or None, default 0
        Seed. A column's draws depend on its name, on ``by`` and on all that the table holds, so that the seed alone
        takes no exchange back.

    Returns
    -------
    Protected
        ``details`` by column: the ``matrix`` that was used (one per stratum with ``by``), the least chance of a
        level to be kept (``least_kept``) and the share of records ``expected_to_change``.

    Raises
    ------
    InputError
        For a matrix whose rows do not sum to 1, or that does not say what becomes of a level; for a chance that is
        none; for columns that are not there or hold too many different values to be categories: more than 1,000, or
        more than 50 that fewer than 5 records have on average or that are decimals.

    Notes
    -----
    P[a, b] is the chance that a is released as b, and counts are expected to become counts P. Missing stays missing.

    The invariant matrix keeps expected counts, p'R = p' for the observed shares p: with P[a, a] = d and
    P[a, b] = (1 - d) / (L - 1), Q[b, a] = P[a, b] p_a / sum over c of p_c P[c, b] and R = P Q, the matrix used is
    alpha R + (1 - alpha) I. d is ``keep`` (but no less than 1 / L), and alpha is scaled down until the least diagonal
    of the matrix used is ``keep``: a rare level is kept least often, and d alone would promise it nothing.

    Expected counts are those of the column and, with ``by``, of its strata. Crossings with other columns weaken.
    How many records change from a to b does not depend on the order of the rows; which ones does.

    An analyst who is given the matrix corrects counts with :func:`glasshouse.protection.corrected_counts`.

    References
    ----------
    Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), Post randomisation for statistical disclosure control.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"job": ["farmer"] * 60 + ["baker"] * 40})
    >>> safer = gh.protection.pram(people, "job", keep=0.7, exact=True)
    >>> safer.table["job"].value_counts(sort=True).rows()
    [('farmer', 60), ('baker', 40)]
    >>> round(safer.details["least_kept"]["job"], 6)
    0.7
    """
    before = held(table)
    names = before.columns(columns)
    if not 0 <= keep < 1:
        raise InputError(f"keep={keep} must be at least 0 and below 1; with 1 nothing changes")
    if matrix is not None and len(names) > 1:
        raise InputError("matrix belongs to one column; randomise the others in a call of their own")
    strata = strata_of(before, by, names)
    seed = integer_seed(random_state, "pram")
    found = {name: _randomised(before, name, matrix, keep, strata, exact, seed) for name in names}
    return protected(
        before,
        {name: one.released for name, one in found.items()},
        did="exchanged",
        notes=_notes(found, matrix is None, by),
        details={
            "matrix": {
                name: [{"stratum": part.labels, "matrix": _named(used, one.levels)}
                       for part, used in zip(strata, one.matrices, strict=True)]
                if by is not None else _named(one.matrices[0], one.levels)
                for name, one in found.items()
            },
            "least_kept": {name: one.least_kept for name, one in found.items()},
            "expected_to_change": {name: one.changing for name, one in found.items()},
        },
    )  # fmt: skip


@dataclass(frozen=True)
class _Randomised:
    """A column after PRAM: its levels by name, the matrix of each stratum, and what they make likely."""

    released: Values
    levels: list[str]
    matrices: list[Floats]
    least_kept: float
    changing: float


def _randomised(
    before: Held,
    name: str,
    matrix: Mapping[str, Mapping[str, float]] | None,
    keep: float,
    strata: Sequence[Stratum],
    exact: bool,
    seed: int,
) -> _Randomised:
    values, codes = _coded(before, name)
    levels = [label_text(value) for value in values]
    given = None
    if matrix is not None:
        values, levels, given = _matched(matrix, name, values, levels)
    rng = generator(seed, name, before.content)
    released = codes.copy()
    matrices, kept, moved = [], 1.0, 0.0
    for one in strata:
        rows = one.rows[codes[one.rows] >= 0]
        counts = np.bincount(codes[rows], minlength=len(levels))
        used = invariant(counts, keep) if given is None else given
        released[rows] = (drawn_exactly if exact else drawn)(codes[rows], used, rng)
        kept = min([kept, *used.diagonal()[counts > 0]])
        moved += float(counts @ (1.0 - used.diagonal()))
        matrices.append(used)
    labels = pl.Series(name, values, dtype=before[name].dtype if before[name].dtype.is_temporal() else None)
    taken = pl.Series(np.where(released < 0, 0, released))
    column = labels.gather(taken) if values else before[name]
    column = pl.select(pl.when(pl.Series(released >= 0)).then(column)).to_series()
    return _Randomised(column, levels, matrices, float(kept), moved / max(1, int((codes >= 0).sum())))


def crowded(column: pl.Series) -> bool:
    """Whether a column has too many different values to be one of categories.

    Parameters
    ----------
    column : polars.Series
        The column.

    Returns
    -------
    bool
    """
    distinct = column.drop_nulls().unique()
    thin = len(distinct) > FEW_LEVELS and (
        len(column) - column.null_count() < LEAST_HELD * len(distinct)
        or (distinct.dtype.is_float() and bool((distinct != distinct.round(0)).any()))
    )
    return thin or len(distinct) > MOST_LEVELS


def _coded(before: Held, name: str) -> tuple[list[object], Ints]:
    """The different values of a column in order, and each record's place among them; -1 for missing."""
    column = before[name]
    if isinstance(column.dtype, (pl.Enum, pl.Categorical)):
        column = column.cast(pl.String)
    distinct = column.drop_nulls().unique().sort()
    if crowded(column):
        raise InputError(
            f"column {name!r} has {len(distinct):,} different values, which are no categories; merge its levels first, "
            "or use swap_ranks or add_noise for numbers"
        )
    places = column.replace_strict(distinct, pl.Series(np.arange(len(distinct))), default=None, return_dtype=pl.Int64)
    return distinct.to_list(), places.fill_null(-1).to_numpy().copy()


def _matched(
    matrix: Mapping[str, Mapping[str, float]], name: str, values: list[object], levels: list[str]
) -> tuple[list[object], list[str], Floats]:
    """The given matrix in the order of the column's levels, further levels it leads to last."""
    rows = {label_text(level): {label_text(to): chance for to, chance in row.items()} for level, row in matrix.items()}
    without = sum(level not in rows for level in levels)
    if without:
        raise InputError(
            f"matrix does not say what becomes of {without} of the {len(levels)} levels of column {name!r}; give each "
            "a row, such as {level: {level: 1}}"
        )
    names = sorted({to for row in rows.values() for to, chance in row.items() if chance != 0})
    chances = normalised(np.array([[float(row.get(to, 0.0)) for to in names] for row in rows.values()]))
    of = {level: dict(zip(names, row.tolist(), strict=True)) for level, row in zip(rows, chances, strict=True)}
    further = [to for to in names if to not in levels and any(of[level][to] > 0 for level in levels)]
    values = [*values, *(_as_value(one, values, name) for one in further)]
    used = np.eye(len(levels) + len(further))
    used[: len(levels)] = [[of[level].get(to, 0.0) for to in (*levels, *further)] for level in levels]
    return values, [*levels, *further], used


def _as_value(level: str, values: Sequence[object], name: str) -> object:
    """A level the column does not hold yet, as a value of its type."""
    kind = type(values[0]) if values else str
    try:
        if kind in (str, int, float):
            return kind(level)
    except ValueError:
        pass
    raise InputError(f"matrix leads to a level that column {name!r} cannot hold")


def _named(matrix: Floats, levels: Sequence[str]) -> dict[str, dict[str, float]]:
    return {level: dict(zip(levels, row.tolist(), strict=True)) for level, row in zip(levels, matrix, strict=True)}


def _notes(found: Mapping[str, _Randomised], own: bool, by: Sequence[str] | None) -> list[str]:
    notes = [
        "The transition matrix is in details. Published, it lets analysts correct their counts and tells an attacker "
        "how far a value can be trusted; it names rare levels. Publish it only knowingly."
    ]
    if own:
        kept = "the counts of each stratum" if by is not None else "the counts of a column"
        notes.append(f"The matrix keeps {kept} in expectation; crossings with other columns weaken.")
    still = [name for name, one in found.items() if one.changing == 0]
    notes += [
        f"Column {name!r} has one level, or a matrix that changes nothing, and stays as it was." for name in still
    ]
    return notes
