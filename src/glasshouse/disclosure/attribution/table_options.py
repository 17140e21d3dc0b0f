"""What the custodian may leave out, group and check in synthpop's disclosure table, checked against the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TypeAlias, TypeVar

import narwhals as nw

from glasshouse.core.errors import InputError, closest
from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.checks import Level
from glasshouse.disclosure.attribution.figures import Exclusions
from glasshouse.disclosure.roles import Groups, KeyGroups, automatic, key_groupings, target_part
from glasshouse.engines.cells.counting import Cells, Part, count_cells
from glasshouse.engines.cells.grouping import Grouping, as_grouping

T = TypeVar("T")
Pair3: TypeAlias = tuple[str | None, Level, Level]  # a key (None: whatever the keys), its level, a target level
Excluded: TypeAlias = Pair3 | Mapping[str, Level]  # the same, or a finding of the checks
MissingKeys: TypeAlias = bool | Mapping[str, bool]
Threshold: TypeAlias = tuple[float, float]  # a count and a share, both to be exceeded


@dataclass(frozen=True)
class TableOptions:
    """What the custodian asked to leave out, to group and to check, for one target."""

    exclude_levels: tuple[Level, ...]
    missing_target: bool
    missing_keys: MissingKeys
    exclude_pairs: tuple[tuple[str, Level, Level], ...]
    denominator_limit: int | None
    key_groups: Mapping[str, Grouping]
    target_group: Grouping | None
    one_way: Threshold
    two_way: Threshold
    automatic: Mapping[str, Grouping] = field(default_factory=dict)

    def exclusions(self, pair: Pair, cells: Cells) -> Exclusions:
        """The four conditions on cells and the limit, in synthpop's order."""
        target, keys = target_part(cells), {part.name: part for part in cells.keys}
        levels = any_of([target.equals(level) for level in self.exclude_levels])
        # only when the original has missing targets: a gap the synthesiser invented gives nobody away
        drop_missing = not self.missing_target and pair.n_missing(target.name) > 0
        gaps = [part.missing() for name, part in keys.items() if not per_key(self.missing_keys, name, True)]
        pairs = []
        for key, key_level, target_level in self.exclude_pairs:
            if key not in keys:
                raise InputError(f"exclude_pairs names {key!r}, which is no key{closest(key, keys)}")
            pairs.append(keys[key].equals(key_level) & target.equals(target_level))
        return Exclusions(
            (levels, target.missing() if drop_missing else None, any_of(gaps), any_of(pairs)), self.denominator_limit
        )


def any_of(conditions: Sequence[nw.Expr]) -> nw.Expr | None:
    """Whether any of several conditions holds; None without one."""
    return reduce(or_, conditions) if conditions else None


def per_key(wish: T | Mapping[str, T], name: str, default: T) -> T:
    """An option given once for all columns or per column.

    Parameters
    ----------
    wish : object or mapping of str to object
        The option as given.
    name : str
        The column.
    default : object
        For a column that the mapping does not name.

    Returns
    -------
    object
        The option of that column.
    """
    return wish.get(name, default) if isinstance(wish, Mapping) else wish


def table_options(
    pair: Pair,
    *,
    exclude_levels: str | float | Sequence[Level],
    missing_target: bool,
    missing_keys: MissingKeys,
    exclude_pairs: Sequence[Excluded],
    denominator_limit: int | None,
    target_groups: Groups,
    key_groups: KeyGroups,
    one_way: Threshold,
    two_way: Threshold,
) -> TableOptions:
    """The options of ``attribution``, checked against the tables.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target.
    exclude_levels, missing_target, missing_keys, exclude_pairs, denominator_limit
        What is left out, as ``attribution`` explains.
    target_groups, key_groups
        Groups of numeric columns.
    one_way, two_way
        A count and a share per check.

    Returns
    -------
    TableOptions
    """
    _check_options(pair, missing_keys, denominator_limit, one_way, two_way)
    pairs = [_three(given) for given in exclude_pairs]
    named = [exclude_levels] if isinstance(exclude_levels, (str, int, float)) else exclude_levels
    options = TableOptions(
        # a finding without a key is about the target level as such
        (*named, *(level for key, _, level in pairs if key is None)),
        missing_target,
        missing_keys,
        tuple((key, key_level, level) for key, key_level, level in pairs if key is not None),
        denominator_limit,
        key_groupings(pair, key_groups),
        as_grouping(pair, pair.require_target(), target_groups),
        one_way,
        two_way,
        automatic(pair, key_groups, target_groups),
    )
    _check_levels(pair, options)
    return options


def _three(given: Excluded) -> Pair3:
    """A cell to leave out, as three values or as a finding."""
    names = ("key", "key_level", "target_level")
    if isinstance(given, Mapping) and all(name in given for name in names):
        key = given["key"]
        return None if key is None else str(key), given["key_level"], given["target_level"]
    if isinstance(given, (tuple, list)) and len(given) == len(names):
        return given[0], given[1], given[2]
    raise InputError("exclude_pairs takes key, key_level and target_level of each cell, or the checks of a result")


def _check_options(
    pair: Pair,
    missing_keys: MissingKeys,
    limit: int | None,
    one_way: Threshold,
    two_way: Threshold,
) -> None:
    if limit is not None and (limit < 1 or int(limit) != limit):
        raise InputError(f"denominator_limit must be a positive whole number, not {limit}")
    for key in missing_keys if isinstance(missing_keys, Mapping) else ():
        if key not in pair.keys:
            raise InputError(f"missing_keys names {key!r}, which is no key{closest(key, pair.keys)}")
    for name, limits in (("one_way", one_way), ("two_way", two_way)):
        if len(limits) != 2 or not 0 <= limits[1] <= 1:
            raise InputError(f"{name} takes a count and a share, e.g. (50, 0.90)")


def _check_levels(pair: Pair, options: TableOptions) -> None:
    """A misspelt level would silently exclude nothing. Lazy tables are asked for the level, not collected."""
    if not options.exclude_levels and not options.exclude_pairs:
        return
    cells = count_cells(
        pair.release(0), target=pair.require_target(), key_groups=options.key_groups, target_group=options.target_group
    )
    target = target_part(cells)
    parts: dict[str, Part] = {p.name: p for p in cells.keys}
    wanted = [("exclude_levels", target, level) for level in options.exclude_levels]
    for key, key_level, target_level in options.exclude_pairs:
        if key in parts:
            wanted += [("exclude_pairs", parts[key], key_level), ("exclude_pairs", target, target_level)]
    for option, part, level in wanted:
        found = cells.totals(n=nw.when(part.equals(level)).then(nw.col("d")).otherwise(nw.lit(0)).sum())["n"]
        if not found:
            raise InputError(f"{option} names a level of {part.name!r} that no original record has; check its spelling")
