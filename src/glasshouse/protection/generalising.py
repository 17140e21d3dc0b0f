"""Coarser keys by their hierarchies: at levels that a caller names, or at those that lose least and give k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest, names_known
from glasshouse.core.plain import number
from glasshouse.core.words import counted
from glasshouse.data.arrays import Bools, Ints
from glasshouse.data.conversion import iso_text
from glasshouse.data.frames import Frame
from glasshouse.protection.binning import class_means
from glasshouse.protection.held import Held, held
from glasshouse.protection.hierarchies import as_hierarchy, automatic
from glasshouse.protection.hierarchy_levels import Levels, levels_of
from glasshouse.protection.keyed import value_codes
from glasshouse.protection.lattice import Lattice, Loss, weights_of
from glasshouse.protection.lattice_search import anytime, exact
from glasshouse.protection.operation import Protected, operation, protected

LARGEST = 100_000  # nodes of a lattice that is gone through


@operation(title="coarsen keys to levels", acts_on=("identity", "attribute"), touches="columns", cost=3)
def recode_levels(table: Frame, hierarchies: Mapping[str, object], levels: Mapping[str, int]) -> Protected:
    """Replace values by their labels at a level of a hierarchy.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    hierarchies : mapping
        By column a ``Hierarchy``, the path of a file as ARX writes it (a line per value: value;label;coarser label), a
        list of mappings, or a list of lists of breaks.
    levels : mapping
        By column the level: 0 leaves it as it is.

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        For a level that does not exist, and for values that a hierarchy does not name.

    Notes
    -----
    All values of a column are at the same level (full-domain recoding). Missing values stay missing, but for a level
    with one label for all.

    References
    ----------
    Samarati (2001), Protecting respondents' identities in microdata release.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"town": ["Wien", "Graz", "Linz"]})
    >>> lands = [{"Wien": "east", "Graz": "south", "Linz": "north"}]
    >>> gh.protection.recode_levels(people, {"town": lands}, {"town": 1}).table["town"].to_list()
    ['east', 'south', 'north']
    """
    before = held(table)
    names = before.columns(list(levels), "levels")
    found = {}
    for name in names:
        if name not in hierarchies:
            raise InputError(f"levels names {name!r}, which has no hierarchy{closest(name, map(str, hierarchies))}")
        made = levels_of(as_hierarchy(hierarchies[name], name), before[name])
        if not 0 <= levels[name] <= made.height:
            raise InputError(f"the hierarchy of {name!r} has levels 0 to {made.height}, and not {levels[name]}")
        found[name] = made
    new = {name: _labelled(before[name], one, levels[name]) for name, one in found.items() if levels[name]}
    return protected(before, new, did="coarsened", details={"levels": dict(levels)})


@operation(title="generalise the keys to k", acts_on=("identity", "attribute"), touches="columns", cost=5)
def generalise(
    table: Frame,
    keys: Sequence[str],
    k: int = 5,
    *,
    hierarchies: Mapping[str, object] | None = None,
    suppression_limit: float = 0.02,
    suppressed: Literal["blank", "remove"] = "blank",
    into: Literal["labels", "means"] = "labels",
    loss: Loss = "granularity",
    importance: Mapping[str, float] | None = None,
    diversity: Mapping[str, int] | None = None,
    steps: int = 5000,
) -> Protected:
    """Coarsen all values of each key to one level of its hierarchy, such that every record is one of at least k.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    keys : str or sequence of str
        The columns an attacker may know.
    k : int, default 5
        Size of the smallest class.
    hierarchies : mapping, optional
        By key, as for :func:`recode_levels`. Default for the keys that are not named: quantile classes of numbers (16,
        8, 4, 2; breaks are rounded, and no value that fewer than k have), spans of dates, and for categories one label
        for all.
    suppression_limit : float, default 0.02
        Share of the records that may be suppressed, because their class is too small.
    suppressed : {"blank", "remove"}, default "blank"
        Whether suppressed records lose all keys, or leave the table.
    into : {"labels", "means"}, default "labels"
        What numbers and dates become: the label of their class, or its mean, which keeps the column one of numbers or
        dates that can be compared with the original.
    loss : {"granularity", "entropy", "discernibility", "class_size", "precision", "height"}, default "granularity"
        What is minimised.
    importance : mapping, optional
        Weight of a key in losses that are means over keys, 1 where nothing is said.
    diversity : mapping, optional
        ``{"illness": 3}``: every class must also have that many different values of a column that is no key (distinct
        l-diversity).
    steps : int, default 5000
        Nodes that may be counted where the lattice has more than 100,000.

    Returns
    -------
    Protected
        ``details`` holds the levels chosen, the loss, records suppressed, classes, the size of the lattice, nodes
        counted, and whether the answer is exact.

    Raises
    ------
    InputError
        For k below 2 or above the number of records, hierarchies that do not fit, and where nothing valid exists.

    Notes
    -----
    With n records, of which s are suppressed, and classes E, scaled to [0, 1]:

    - granularity: mean over keys and records of (leaves covered - 1) / (leaves - 1), suppressed cells 1;
    - entropy: sum over cells of -log2(count of the value / count of its label), a suppressed cell's label being all
      records, divided by the sum with everything suppressed;
    - discernibility: (sum of |E|^2 + s n) / n^2;
    - class_size: 1 / (classes + 1 if s > 0);
    - precision: mean over keys of level / highest level, suppressed cells 1;
    - height: sum of levels / sum of highest levels.

    Means over keys are arithmetic. (ARX multiplies (1 + loss) of the keys by default, where weights cannot change the
    order of two nodes.) Ties: fewer suppressed, then lower levels, then the order of the keys.

    The search is exact up to 100,000 nodes, also with suppression, where the loss is not monotone: nodes end the search
    by a lower bound and not by being the lowest valid ones. Suppressed records are one class of their own with all keys
    missing; fewer than k of them are still together, and known to be rare.

    References
    ----------
    Kohlmayer, Prasser, Eckert, Kemper & Kuhn (2012), Flash: efficient, stable and optimal k-anonymity. Prasser, Bild,
    Eicher, Spengler, Kohlmayer & Kuhn (2016), Lightning: utility-driven anonymization of high-dimensional data.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"age": [21, 22, 23, 41, 42, 43], "sex": list("fffmmm")})
    >>> ages = {"age": [[25, 35], [35]]}
    >>> safer = gh.protection.generalise(people, ["age", "sex"], k=3, hierarchies=ages, suppression_limit=0)
    >>> safer.details["levels"], safer.details["classes"]
    ({'age': 1, 'sex': 0}, 2)
    """
    before = held(table)
    names = before.columns(keys, "keys")
    if not 2 <= k <= before.n:
        raise InputError(f"k must lie between 2 and the number of records ({before.n:,}), not {k}")
    if not 0 <= suppression_limit <= 1:
        raise InputError("suppression_limit is a share of the records, between 0 and 1")
    if steps < 1:
        raise InputError("steps must be 1 or more")
    for given, called in ((hierarchies, "hierarchies"), (importance, "importance")):
        names_known(called, given or (), names, "names {name}, which is no key")
    if any(not (np.isfinite(one) and one > 0) for one in (importance or {}).values()):
        raise InputError("importance must be above 0 for every key")
    levels = [_levels(before, name, (hierarchies or {}).get(name), k) for name in names]
    most = int(np.floor(suppression_limit * before.n + 1e-9))
    lattice = Lattice(levels, k, most, loss, weights_of(names, importance), _diverse(before, names, diversity))
    found = exact(lattice) if lattice.size <= LARGEST else anytime(lattice, steps)
    if found.best is None:
        raise InputError(
            f"no generalisation gives k = {k} with at most {counted(most, 'record')} suppressed; allow more, take a "
            "smaller k, or give hierarchies whose top has one label"
        )
    gone = lattice.suppressed_records(found.best.node)
    new = {
        name: _coarse(before, name, one, level, into == "means") if level else before[name]
        for name, one, level in zip(names, levels, found.best.node, strict=True)
    }
    return _released(before, new, lattice, found.best.node, gone, suppressed == "remove", found.exact)


def _released(
    before: Held,
    coarse: Mapping[str, pl.Series],
    lattice: Lattice,
    node: tuple[int, ...],
    gone: Bools,
    remove: bool,
    is_exact: bool,
) -> Protected:
    best, names, new = lattice.checked[node], list(coarse), dict(coarse)
    if gone.any() and not remove:
        stays = pl.Series(~gone)
        new = {c: pl.select(pl.when(stays).then(one)).to_series().alias(c) for c, one in coarse.items()}
    notes = []
    if 0 < best.suppressed < lattice.k and not remove:
        notes.append(
            f"{counted(best.suppressed, 'record')} with all keys suppressed are fewer than k, and whoever counts "
            "equal keys finds that class too; remove them, or allow none."
        )
    if not is_exact:
        notes.append(
            f"The lattice has {lattice.size:,} nodes: the best of those counted was taken; others may be better."
        )
    details = {
        "levels": dict(zip(names, node, strict=True)),
        "loss": best.loss,
        "suppressed": best.suppressed,
        "classes": best.classes,
        "nodes": lattice.size,
        "checked": len(lattice.checked),
        "exact": is_exact,
    }
    said = ", ".join(f"{name} to level {level}" for name, level in zip(names, node, strict=True) if level)
    away = f" and {'removed' if remove else 'blanked'} {counted(best.suppressed, 'record')}" if best.suppressed else ""
    sentence = f"Coarsened {said or 'nothing'}{away}; the keys lose {number(best.loss, 3)} of 1."
    return protected(before, new, keep=~gone if remove else None, notes=notes, details=details, sentence=sentence)


def _levels(before: Held, name: str, given: object, k: int) -> Levels:
    if given is not None:
        return levels_of(as_hierarchy(given, name), before[name])
    dates = before.dates(name)
    return levels_of(automatic(before[name] if dates is None else dates, k), before[name])


def _coarse(before: Held, name: str, one: Levels, level: int, means: bool) -> pl.Series:
    """A key at a level, by labels, or by the means of classes where it has means."""
    dates = before.dates(name)
    if not means or (dates is None and before.kind(name) != "numeric"):
        return _labelled(before[name], one, level)
    classes = one.codes[level][one.cells] - 1
    if dates is None:
        return pl.Series(name, class_means(before.numbers(name), classes, len(one.labels[level]))).fill_nan(None)
    return _mean_dates(dates, classes, len(one.labels[level]), before[name].dtype == pl.String)


def _mean_dates(dates: pl.Series, classes: Ints, count: int, as_text: bool) -> pl.Series:
    """The mean of its class for every date: a whole day where dates have no time of day."""
    times = dates.cast(pl.Datetime("us", getattr(dates.dtype, "time_zone", None)))
    micro = times.cast(pl.Int64).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    means = pl.Series(dates.name, class_means(micro, classes, count)).fill_nan(None).floor().cast(pl.Int64)
    made = means.cast(times.dtype)
    if bool((times == times.dt.truncate("1d")).all()):
        made = made.dt.truncate("1d")
    return iso_text(made) if as_text else made.cast(dates.dtype)


def _labelled(values: pl.Series, one: Levels, level: int) -> pl.Series:
    """A column at a level; missing stays missing but where one label stands for all."""
    codes = one.codes[level][one.cells]
    lookup = pl.Series(values.name, [None, *one.labels[level]], dtype=pl.String)
    return lookup.gather(codes).alias(values.name)


def _diverse(before: Held, keys: list[str], diversity: Mapping[str, int] | None) -> list[tuple[np.ndarray, int]]:
    found = []
    names_known("diversity", diversity or (), before.frame.columns, "names {name}, which the table does not have")
    for name, least in (diversity or {}).items():
        if name in keys:
            raise InputError(f"diversity names {name!r}, which is a key: what is asked about is another column")
        distinct = before[name].n_unique()
        if not 2 <= least <= distinct:
            raise InputError(f"column {name!r} has {distinct} different values; diversity must lie between 2 and that")
        found.append((value_codes(before[name]), least))
    return found
