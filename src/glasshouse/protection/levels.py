"""Fewer levels of a category: those a mapping names are merged, or those that too few people have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.words import counted, plural
from glasshouse.data.frames import Frame, label_text
from glasshouse.protection.held import held
from glasshouse.protection.operation import Protected, operation, protected


@operation(title="merge levels", acts_on=("identity", "attribute"), touches="columns", cost=2,
           needs=("categorical", "numeric"))  # fmt: skip
def merge_levels(
    table: Frame,
    columns: Sequence[str],
    mapping: Mapping[str, str] | None = None,
    *,
    k: int | None = None,
    other: str = "other",
    into_existing: bool = False,
    missing: str | None = None,
) -> Protected:
    """Merge levels of categories: by name, or all that fewer than k records have.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        The columns; one where a mapping is given.
    mapping : mapping, optional
        Old label to new label: ``{"north": "coast", "east": "coast"}``. All at once, so that labels can be exchanged.
    k : int, optional
        Merge the levels with fewer than ``k`` records.
    other : str, default "other"
        The name of the level that takes in rare ones.
    into_existing : bool, default False
        Whether a new label may be that of a level which is there and is not merged itself.
    missing : str, optional
        The label that missing values get. Default: they stay missing.

    Returns
    -------
    Protected
        ``details`` holds the number of levels before and after, by column.

    Raises
    ------
    InputError
        For a new label that is there without ``into_existing``.

    Notes
    -----
    Rare levels: all with fewer than k records become ``other``; while ``other`` itself has fewer than k, the next
    rarest joins it (ties in the order of their labels). A level is known by its text (1 and 1.0 are the same); the
    column holds text afterwards where it held numbers. A level of the mapping that does not occur is noted and passed
    over: a recipe goes on where a rare level is missing next year. Counts are of records: merging hides who has a rare
    value, not that somebody has one.

    References
    ----------
    Hundepool et al. (2012), Statistical Disclosure Control, section 3.4.1.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> faith = pl.DataFrame({"faith": ["a"] * 6 + ["b"] * 5 + ["c", "d"]})
    >>> gh.protection.merge_levels(faith, "faith", k=5).table["faith"].value_counts(sort=True).rows()
    [('other', 7), ('a', 6)]
    >>> gh.protection.merge_levels(faith, "faith", {"c": "b", "d": "b"}, into_existing=True).cells
    2
    """
    before = held(table)
    names = before.columns(columns)
    if (mapping is None) == (k is None) and not (mapping is None and missing is not None):
        raise InputError("merge_levels takes a mapping of old to new labels, or k for rare levels: give one of them")
    if mapping is not None and len(names) > 1:
        raise InputError("a mapping is about one column; name one, or call once per column")
    if k is not None and not 2 <= k <= before.n:
        raise InputError(f"k must lie between 2 and the number of records, not {k}")
    new: dict[str, pl.Series] = {}
    details: dict[str, object] = {}
    notes: list[str] = []
    for name in names:
        labels = _labels(before[name])
        counts = {str(label): int(n) for label, n in labels.drop_nulls().alias("").value_counts().iter_rows()}
        given = {_text(old): label_text(to) for old, to in (mapping or {}).items()}
        if mapping is not None:
            notes += _absent(name, [old for old in given if old not in counts])
            given = {old: to for old, to in given.items() if old in counts}
        if k is not None:
            given = _rare(counts, k, other)
            if given and sum(counts[old] for old in given) + counts.get(other, 0) * (other not in given) < k:
                notes.append(f"Fewer than {k} records have a value in {name!r} at all; its one level is as rare.")
        _existing(name, {*given.values(), *((missing,) if missing else ())}, given, counts, into_existing)
        merged = labels.replace(given) if given else labels
        merged = merged.fill_null(missing) if missing is not None else merged
        if not given and (missing is None or not labels.null_count()):
            continue  # nothing to merge: the column stays as it is, numbers included
        new[name] = merged
        details[name] = {"levels_before": len(counts), "levels_after": int(merged.drop_nulls().n_unique())}
        if given:
            merged_away = counted(len(given), "level")
            notes.append(f"{merged_away} of {name!r} merged into {len(set(given.values()))}.")
    return protected(before, new, did="merged", notes=notes, details=details)


def _text(level: object) -> str:
    """A level as the column has it as text."""
    return str(level).lower() if isinstance(level, bool) else label_text(level)


def _labels(values: pl.Series) -> pl.Series:
    """Levels as text, 1.0 as "1"."""
    if values.dtype == pl.Duration:
        raise InputError(f"column {values.name!r} holds lengths of time, which are no levels; make them numbers first")
    if not values.dtype.is_float():
        return values.cast(pl.String)
    return pl.Series(values.name, [None if v is None else label_text(v) for v in values], dtype=pl.String)


def _absent(name: str, absent: Sequence[str]) -> list[str]:
    """A note on levels of a mapping that the column does not have."""
    if not absent:
        return []
    return [
        f"{counted(len(absent), 'level')} of the mapping {plural(len(absent), 'does', 'do')} not occur in {name!r} and "
        "merged nothing; check how the mapping is written if it should."
    ]


def _rare(counts: Mapping[str, int], k: int, other: str) -> dict[str, str]:
    """Levels that become ``other``: the rare ones, and the next rarest while that is rare itself."""
    ranked = sorted((count, label) for label, count in counts.items() if label != other)
    taken = int(np.searchsorted([count for count, _ in ranked], k))
    if not taken:
        return {}
    held_by_other = counts.get(other, 0) + sum(count for count, _ in ranked[:taken])
    while held_by_other < k and taken < len(ranked):
        held_by_other += ranked[taken][0]
        taken += 1
    return {label: other for _, label in ranked[:taken]}


def _existing(name: str, targets: set[str], given: Mapping[str, str], counts: Mapping[str, int], allowed: bool) -> None:
    there = sorted(target for target in targets if target in counts and given.get(target, target) == target)
    if there and not allowed:
        raise InputError(
            f"{counted(len(there), 'label')} that levels of column {name!r} would be merged into "
            f"{plural(len(there), 'is a level', 'are levels')} of it already, among which they would be lost; choose "
            "other names, or say into_existing=True"
        )
