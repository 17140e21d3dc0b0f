"""Transition matrices on plain arrays: who keeps a category, who gets which other one, and what an analyst can undo.

Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), Post randomisation for statistical disclosure control.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.data.arrays import Floats, Ints

SUM = 1e-9  # how far the sum of a row may be from 1 before it is refused
WHOLE = 1e-6  # an expected count this close to a whole number is one


def two_stage(shares: Floats, stay: Floats, alpha: float) -> Floats:
    """A matrix R with p'R = p': randomise, then draw an original among those that could have led there.

    Parameters
    ----------
    shares : array
        Observed shares p or counts of the levels, none of them 0.
    stay : array
        Chance d of each level to stay in the first stage.
    alpha : float
        Weight of the two stages against doing nothing.

    Returns
    -------
    array [level, released level]

    Notes
    -----
    P[a, a] = d_a and P[a, b] = (1 - d_a) / (L - 1); Q[b, a] = P[a, b] p_a / sum over c of p_c P[c, b] is the chance
    that a was the original when the first stage gave b; R = alpha P Q + (1 - alpha) I.
    """
    levels = len(shares)
    if levels < 2:
        return np.eye(levels)
    first = np.repeat(((1.0 - stay) / (levels - 1))[:, None], levels, axis=1)
    np.fill_diagonal(first, stay)
    joint = first * shares[:, None]
    back = (joint / joint.sum(axis=0)).T
    return alpha * (first @ back) + (1.0 - alpha) * np.eye(levels)


def invariant(counts: Ints | Floats, keep: float) -> Floats:
    """The invariant matrix of which no level's diagonal is below ``keep``.

    Parameters
    ----------
    counts : array
        Observed counts of the levels; a level that does not occur keeps to itself.
    keep : float
        Least chance of a record to keep its level, in the matrix that is used.

    Returns
    -------
    array [level, released level]

    Notes
    -----
    The two stages with d = ``keep``, but no less than 1 / L, where the first stage already tells nothing; then alpha is
    scaled down until the least diagonal of R is ``keep``. The rarest level decides: it keeps its value least often.
    """
    matrix = np.eye(len(counts))
    used = np.flatnonzero(np.asarray(counts) > 0)
    if len(used) < 2:
        return matrix
    shares = np.asarray(counts, np.float64)[used] / float(np.sum(counts))
    full = two_stage(shares, np.full(len(used), max(keep, 1.0 / len(used))), 1.0)
    moved = 1.0 - float(full.diagonal().min())
    alpha = min(1.0, (1.0 - keep) / moved) if moved > 0 else 1.0
    matrix[np.ix_(used, used)] = alpha * full + (1.0 - alpha) * np.eye(len(used))
    return matrix


def normalised(matrix: Floats) -> Floats:
    """A row-stochastic matrix whose rows sum to 1 but for rounding, made to do so exactly.

    Parameters
    ----------
    matrix : array [level, released level]
        Chances.

    Returns
    -------
    array [level, released level]

    Raises
    ------
    InputError
        For chances below 0 or missing, and rows whose sum is more than 1e-9 from 1.
    """
    if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
        raise InputError("matrix holds what is no chance; every entry must be a number from 0 to 1")
    sums = matrix.sum(axis=1)
    wrong = int((np.abs(sums - 1.0) > SUM).sum())
    if wrong:
        raise InputError(
            f"matrix has {wrong} of {len(sums)} rows that do not sum to 1; every row must say what becomes of a level"
        )
    return matrix / sums[:, None]


def drawn(codes: Ints, matrix: Floats, rng: np.random.Generator) -> Ints:
    """A released level per record, each drawn on its own.

    Parameters
    ----------
    codes : array of int
        The level of each record.
    matrix : array [level, released level]
        Chances.
    rng : numpy.random.Generator
        Draws one number per record, level by level: how many change from a to b is the same in any row order.

    Returns
    -------
    array of int
    """
    ends = np.cumsum(matrix, axis=1)
    ends /= ends[:, -1:]
    released = np.empty_like(codes)
    for level, rows in _rows_of(codes, len(matrix)):
        released[rows] = np.searchsorted(ends[level], rng.random(len(rows)), side="right")
    return released


def drawn_exactly(codes: Ints, matrix: Floats, rng: np.random.Generator) -> Ints:
    """A released level per record, with counts as expected but for rounding; who gets which is drawn.

    Parameters
    ----------
    codes : array of int
        The level of each record.
    matrix : array [level, released level]
        Chances.
    rng : numpy.random.Generator
        Rounds the expected counts and draws the records.

    Returns
    -------
    array of int
    """
    counts = np.bincount(codes, minlength=len(matrix))
    table = rounded_table(counts[:, None] * matrix, rng)
    released = np.empty_like(codes)
    for level, rows in _rows_of(codes, len(matrix)):
        released[rng.permutation(rows)] = np.repeat(np.arange(len(matrix)), table[level])
    return released


def _rows_of(codes: Ints, levels: int) -> list[tuple[int, Ints]]:
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(levels + 1))
    return [(a, order[edges[a] : edges[a + 1]]) for a in range(levels) if edges[a + 1] > edges[a]]


def rounded_table(expected: Floats, rng: np.random.Generator) -> Ints:
    """Expected counts rounded at random so that sums stay: each entry up or down, each expectation as it was.

    Parameters
    ----------
    expected : array [row, column]
        Counts whose rows sum to whole numbers.
    rng : numpy.random.Generator
        Draws the direction of each step.

    Returns
    -------
    array of int [row, column]
        The rows sum to what they did, the columns to that rounded up or down.

    References
    ----------
    Cox (1987), A constructive procedure for unbiased controlled rounding.
    """
    spare = np.ceil(expected.sum(axis=0) - WHOLE) - expected.sum(axis=0)  # a further row makes the columns whole
    table = np.vstack([expected, spare])
    base = np.floor(table + WHOLE)
    part = np.clip(table - base, 0.0, 1.0)
    part[part < WHOLE] = 0.0
    rows: list[set[int]] = [set(np.flatnonzero(row).tolist()) for row in part]
    columns: list[set[int]] = [set(np.flatnonzero(column).tolist()) for column in part.T]
    for i in range(len(rows)):
        while len(rows[i]) > 1:
            ring = _ring(i, rows, columns)
            if ring is None:
                break
            _push(part, ring, rng)
            for a, b in ring:
                if part[a, b] in (0.0, 1.0):
                    rows[a].discard(b)
                    columns[b].discard(a)
    return np.rint(base + part)[:-1].astype(np.int64)


def _ring(start: int, rows: list[set[int]], columns: list[set[int]]) -> list[tuple[int, int]] | None:
    """Open entries that close a ring, each beside the next in a row or in a column; None where rounding left an end."""
    path: list[tuple[int, int]] = []
    seen_rows: dict[int, int] = {start: 0}
    seen_columns: dict[int, int] = {}
    row, column = start, -1
    while True:
        column = next((b for b in rows[row] if b != column), -1)
        if column < 0:
            return None
        path.append((row, column))
        if column in seen_columns:
            return path[seen_columns[column] :]
        seen_columns[column] = len(path)
        row = next((a for a in columns[column] if a != row), -1)
        if row < 0:
            return None
        path.append((row, column))
        if row in seen_rows:
            return path[seen_rows[row] :]
        seen_rows[row] = len(path)


def _push(part: Floats, ring: list[tuple[int, int]], rng: np.random.Generator) -> None:
    """Move a ring up and down in turn until an entry is whole, in either direction with the fair chance."""
    up, down = ring[::2], ring[1::2]
    rise = min(min(1.0 - part[at] for at in up), min(part[at] for at in down))
    fall = min(min(part[at] for at in up), min(1.0 - part[at] for at in down))
    step = rise if rng.random() * (rise + fall) < fall else -fall
    for at in up:
        part[at] = _settled(part[at] + step)
    for at in down:
        part[at] = _settled(part[at] - step)


def _settled(value: float) -> float:
    return 0.0 if value < WHOLE else 1.0 if value > 1.0 - WHOLE else value


@door
def corrected_counts(counts: ArrayLike, matrix: ArrayLike) -> tuple[Floats, Floats]:
    """Counts before PRAM, estimated from released counts and the matrix that was used.

    Parameters
    ----------
    counts : array
        Released counts t of the levels.
    matrix : array [level, released level]
        The transition matrix P, levels in the same order.

    Returns
    -------
    estimate : array
        Unbiased estimates (P')^-1 t of the counts before.
    covariance : array [level, level]
        Their covariance, from the draws alone.

    Raises
    ------
    InputError
        For a matrix that is no square of chances, or has no inverse: it tells nothing about some levels.

    Notes
    -----
    Given the true counts T the released ones have the covariance V, the sum over a of T_a (diag(P_a) - P_a P_a'), with
    the estimate for T; that of the estimate is (P')^-1 V P^-1.

    References
    ----------
    Gouweleeuw, Kooiman, Willenborg & de Wolf (1998), Post randomisation for statistical disclosure control.

    Examples
    --------
    >>> import numpy as np
    >>> import glasshouse as gh
    >>> estimate, covariance = gh.protection.corrected_counts([60, 40], [[0.9, 0.1], [0.2, 0.8]])
    >>> np.round(estimate, 2), np.round(np.sqrt(np.diag(covariance)), 2)
    (array([57.14, 42.86]), array([4.95, 4.95]))
    """
    chances = np.asarray(matrix, np.float64)
    released = np.asarray(counts, np.float64)
    if chances.ndim != 2 or chances.shape != (len(released), len(released)):
        raise InputError("matrix must have a row and a column for every level that is counted")
    chances = normalised(chances)
    if np.linalg.matrix_rank(chances) < len(released):
        raise InputError("matrix has no inverse: some levels cannot be told apart after it")
    inverse = np.linalg.inv(chances.T)
    estimate = inverse @ released
    true = np.clip(estimate, 0.0, None)
    spread = np.diag(true @ chances) - (chances * true[:, None]).T @ chances
    return estimate, inverse @ spread @ inverse.T
