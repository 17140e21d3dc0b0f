"""Numbers in classes: breaks, and labels that never quote an extreme value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, names_known
from glasshouse.core.words import counted, plural
from glasshouse.data.arrays import Floats, Ints
from glasshouse.data.frames import Frame
from glasshouse.protection.breaks import SHIFT, cut
from glasshouse.protection.held import held
from glasshouse.protection.operation import Protected, operation, protected


@operation(title="put numbers into classes", acts_on=("identity", "attribute", "copying"), touches="columns", cost=3,
           needs=("numeric",))  # fmt: skip
def bin_numbers(
    table: Frame,
    columns: Sequence[str],
    breaks: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    *,
    bins: int | None = None,
    method: Literal["equal", "quantile", "log"] = "quantile",
    outside: Literal["refuse", "open"] = "refuse",
    into: Literal["labels", "means"] = "labels",
    labels: Sequence[str] | None = None,
    k: int = 5,
) -> Protected:
    """Replace numbers by the class they fall into.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        Numeric columns.
    breaks : sequence of float or mapping, optional
        b0 < b1 < ... < bL: the classes are [b0, b1], (b1, b2], ..., (bL-1, bL]. For all columns, or
        ``{"age": [0, 17, 64, 120]}``.
    bins : int, optional
        In place of breaks: a number of classes.
    method : {"equal", "quantile", "log"}, default "quantile"
        How ``bins`` classes are cut: equally many records, equally wide, or equally wide on the log scale.
    outside : {"refuse", "open"}, default "refuse"
        What happens to values below b0 and above bL: an error, or they join the first and the last class.
    into : {"labels", "means"}, default "labels"
        A label per class, as an ordered category, or the mean of the class: then the column stays numeric, and totals
        stay.
    labels : sequence of str, optional
        Labels of your own, one per class. Default: ``<=17``, ``(17,64]``, ``>64``.
    k : int, default 5
        A note says where a class holds fewer records. A break that ``bins`` makes is no value that fewer have.

    Returns
    -------
    Protected
        ``details`` holds the inner breaks and the number of records of each class, by column.

    Raises
    ------
    InputError
        For breaks that do not ascend or leave values out, and for a log scale of numbers that are not above 0.

    Notes
    -----
    Quantile classes are cut at the type-7 quantiles 1/L, 2/L, ...; breaks that coincide are merged, so that there may
    be fewer classes. Breaks are rounded to the fewest decimals that move them by no more than 5 % of a class (of its
    records for quantiles, of its width else), and to no value that fewer than k have: an exact quantile is the value
    of a person, and two exact breaks of equal classes would give away the smallest and the largest. Breaks that were
    given stay. Labels are open at both ends, also where the outer breaks were given. Missing values stay missing. A
    class with one record has its value for a mean.

    References
    ----------
    Hyndman & Fan (1996), Sample quantiles in statistical packages.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> ages = pl.DataFrame({"age": [3, 17, 18, 40, None, 90]})
    >>> gh.protection.bin_numbers(ages, "age", [0, 17, 64, 120]).table["age"].to_list()
    ['<=17', '<=17', '(17,64]', '(17,64]', None, '>64']
    """
    before = held(table)
    names = before.columns(columns, kind="numeric")
    if (breaks is None) == (bins is None):
        raise InputError("bin_numbers takes breaks, or bins for a number of classes: give one of them")
    names_known("breaks", breaks if isinstance(breaks, Mapping) else (), names)
    if bins is not None and not 1 <= bins <= before.n:
        raise InputError(f"bins must lie between 1 and the number of records, not {bins}")
    new: dict[str, pl.Series | Floats] = {}
    details: dict[str, object] = {}
    notes: list[str] = []
    for name in names:
        values = before.numbers(name)
        if isinstance(breaks, Mapping) and name not in breaks:
            raise InputError(f"breaks says nothing about column {name!r}; give it some, or leave the column out")
        given = breaks[name] if isinstance(breaks, Mapping) else breaks
        if given is not None:
            inner = _inner(name, values, given, outside)
        else:  # means show no break: none is moved, and classes of means are the same again
            inner = cut(name, values, bins or 1, method, k, SHIFT if into == "labels" else 0.0)
        codes = np.where(np.isnan(values), -1, np.searchsorted(inner, values, side="left"))
        texts = _labels(name, inner, labels)
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        new[name] = class_means(values, codes, len(texts)) if into == "means" else _labelled(name, codes, texts)
        details[name] = {"breaks": inner, "counts": counts}
        few = int(((counts > 0) & (counts < k)).sum())
        if few:
            holds = plural(few, "holds", "hold")
            notes.append(f"{counted(few, 'class', 'classes')} of {name!r} {holds} fewer than {k} records; widen them.")
    return protected(before, new, did="classed", notes=notes, details=details)


def _inner(name: str, values: Floats, given: Sequence[float], outside: str) -> Floats:
    breaks = np.asarray(given, np.float64)
    if breaks.size < 2 or not np.isfinite(breaks).all() or (np.diff(breaks) <= 0).any():
        raise InputError(f"breaks of column {name!r} must be at least two finite numbers in ascending order")
    out = int((values < breaks[0]).sum() + (values > breaks[-1]).sum())
    if out and outside == "refuse":
        raise InputError(
            f"{counted(out, 'value')} of column {name!r} {plural(out, 'lies', 'lie')} outside the breaks; widen them, "
            "or say outside='open'"
        )
    return breaks[1:-1]


def _labels(name: str, inner: Floats, given: Sequence[str] | None) -> list[str]:
    if given is None:
        return interval_labels(inner)
    if len(given) != len(inner) + 1 or len(set(given)) < len(given):
        raise InputError(f"column {name!r} has {counted(len(inner) + 1, 'class', 'classes')}: give as many labels")
    return [str(label) for label in given]


def interval_labels(inner: Sequence[float] | Floats) -> list[str]:
    """Labels of the classes between inner breaks, open at both ends."""
    said = [f"{b:.12g}" for b in inner]
    if not said:
        return ["any"]
    return [f"<={said[0]}", *(f"({a},{b}]" for a, b in pairwise(said)), f">{said[-1]}"]


def _labelled(name: str, codes: Ints, texts: Sequence[str]) -> pl.Series:
    lookup = pl.Series(name, [*texts, None], dtype=pl.Enum(list(texts)))
    return lookup.gather(np.where(codes < 0, len(texts), codes)).alias(name)


def class_means(values: Floats, codes: Ints, classes: int) -> Floats:
    """The mean of its class for every record.

    Parameters
    ----------
    values : array
        NaN is missing and counts in no mean.
    codes : array of int
        The class of each record; below 0 for those in none.
    classes : int
        How many there are.

    Returns
    -------
    array
        NaN for records in no class.
    """
    known = (codes >= 0) & ~np.isnan(values)
    counts = np.bincount(codes[known], minlength=classes)
    sums = np.bincount(codes[known], weights=values[known], minlength=classes)
    means = sums / np.maximum(counts, 1)
    low, high = np.full(classes, np.inf), np.full(classes, -np.inf)
    np.minimum.at(low, codes[known], values[known])
    np.maximum.at(high, codes[known], values[known])
    means = np.where(low == high, low, means)  # one value throughout is its own mean, to the last digit
    return np.where(codes >= 0, means[codes], np.nan)
