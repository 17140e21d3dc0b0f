"""Where numbers are cut into classes: breaks with few digits, none of them the value of a single person.

A break stands in the label of every class it bounds. The exact quantile of a sample is somebody's value; so a break is
the number with the fewest digits that cuts about the same classes, and that is nobody's value or one that many share.
"""

from __future__ import annotations

import math

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.data.arrays import Bools, Floats

SHIFT = 0.05  # a break is rounded by no more than this share of a class
DIGITS = 12  # that a label writes
MOST_DECIMALS = 300  # smaller numbers are as good as equal
NEAR = 64  # numbers of as many digits that are looked at, on either side
SHARED = 5  # records with a value, for it to be said


def cut(name: str, values: Floats, bins: int, method: str, least: int = SHARED, shift: float = SHIFT) -> Floats:
    """Inner breaks of about ``bins`` classes.

    Parameters
    ----------
    name : str
        The column, for messages.
    values : array of float
        Its numbers; NaN does not count.
    bins : int
        Number of classes.
    method : {"equal", "quantile", "log"}
        How they are cut.
    least : int, default 5
        Records that must have a value, for a break to coincide with it.
    shift : float, default 0.05
        Share of a class by which a break may be moved to get fewer digits.

    Returns
    -------
    array of float
        Ascending, one fewer than there are classes; each class holds a record if the method is "quantile".
    """
    known = np.sort(values[~np.isnan(values)])
    if not known.size or known[0] == known[-1]:
        return np.empty(0)
    low, high = float(known[0]), float(known[-1])
    if method == "log" and low <= 0:
        raise InputError(f"column {name!r} has numbers that are not above 0, which have no logarithm; choose a method")
    shares = np.arange(1, bins) / bins
    if method == "quantile":
        inner = at_ranks(known, np.quantile(known, shares), shift / bins, least)
        return np.asarray(np.unique(inner[~np.isnan(inner)]), np.float64)
    if method == "log":
        ratio = (high / low) ** (1 / bins)
        exact = low * (high / low) ** shares
        moves = shift * exact * (ratio - 1)
    else:
        exact = low + (high - low) * shares
        moves = np.full(len(exact), shift * (high - low) / bins)
    rare = _rare(known, least)
    found = [plainest(b, b - move, b + move, rare) for b, move in zip(exact.tolist(), moves.tolist(), strict=True)]
    inner = np.unique([b for b in found if b is not None and low <= b < high])
    return np.asarray(inner, np.float64)


def at_ranks(known: Floats, exact: Floats, shift: float, least: int = SHARED) -> Floats:
    """Breaks near exact quantiles, which cut off about as many records; exactly as many where most share their value.

    Parameters
    ----------
    known : array of float
        The numbers, ascending.
    exact : array of float
        Quantiles of them.
    shift : float
        Share of all records that a break may move to the other side.
    least : int, default 5
        Records that must have a value, for a break to coincide with it.

    Returns
    -------
    array of float
        NaN where there is none: nothing lies above, or the numbers differ beyond the digits of a label.
    """
    n, rare = len(known), _rare(known, least)
    ranks = np.searchsorted(known, exact, side="right")
    moved = int(shift * n)
    made = np.full(len(exact), np.nan)
    for at, (break_, rank) in enumerate(zip(exact.tolist(), ranks.tolist(), strict=True)):
        if rank >= n:
            continue
        if rank - int(np.searchsorted(known, break_, side="left")) >= least and _short(break_):
            made[at] = break_  # many have it
            continue
        first, last = max(rank - moved, 1) - 1, min(rank + moved, n - 1)
        if 2 * len(np.unique(known[first : last + 1])) <= last + 1 - first:
            first, last = rank - 1, rank  # values are shared: the break stays between the two beside it
        low, high = known[first], known[last]
        found = plainest(break_, float(low), float(high), rare)
        made[at] = np.nan if found is None else found
    return made


def plainest(target: float, low: float, high: float, rare: Floats) -> float | None:
    """The number of [low, high) with the fewest decimals that is no rare value; of several the one nearest to a target.

    Parameters
    ----------
    target : float
        Where the break should be.
    low, high : float
        Between which it may be.
    rare : array of float
        Numbers that are not said, ascending.

    Returns
    -------
    float or None
        None where there is no such number of 12 digits.
    """
    if not high > low:
        return None
    first = -math.floor(math.log10(high - low)) - 1
    for decimals in range(first, min(first + DIGITS + 4, MOST_DECIMALS)):
        nearest = round(target * 10.0**decimals)
        numbers = np.arange(nearest - NEAR, nearest + NEAR + 1) if abs(nearest) < 2**53 else np.empty(0)
        written = np.array([_decimal(int(one), decimals) for one in numbers])
        fits = (written >= low) & (written < high) & ~_among(written, rare) if len(written) else np.empty(0, np.bool_)
        if fits.any():
            found = float(min(written[fits], key=lambda one: abs(one - target)))
            return found if _short(found) else None
    return None


def _short(number: float) -> bool:
    """Whether a label says a number in full."""
    return float(f"{number:.{DIGITS}g}") == number


def _decimal(whole: int, decimals: int) -> float:
    """A whole number of units of so many decimals."""
    return float(f"{whole}e{-decimals}")


def _among(numbers: Floats, ascending: Floats) -> Bools:
    if not ascending.size:
        return np.zeros(len(numbers), np.bool_)
    at = np.minimum(np.searchsorted(ascending, numbers), len(ascending) - 1)
    return np.asarray(ascending[at] == numbers, np.bool_)


def _rare(known: Floats, least: int) -> Floats:
    """Values that fewer records have."""
    values, counts = np.unique(known, return_counts=True)
    return np.asarray(values[counts < least], np.float64)
