"""Columns that name the household or person behind several records. Taken for a number or a label, such a column says
nothing, and records that belong together are taken for strangers; so a name that gives it away is a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import narwhals as nw

from glasshouse.data.conversion import collected
from glasshouse.data.findings import Finding
from glasshouse.data.frames import Lazy
from glasshouse.data.schema import CATEGORIES, CATEGORY_SHARE, GIVEN, ID_NAME, family

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

# what surveys and registers call the column that tells which records are one household or one person
_UNIT_NAME = re.compile(
    r"^(hhid|hid|pid|pnr|house_?hold|haushalt)$|(^|[_\W])(hh|house_?hold|haushalts?|family|familien|person(en)?|"
    r"patient(en)?|respondent|subject|panel)[_\W]*(id|nr|no|num|number|nummer)$",
    re.IGNORECASE,
)


def units(pair: Pair) -> Iterator[Finding]:
    """A column that looks as if it named the household or person behind several records, where none was said to.

    Notes
    -----
    By its name (:func:`names_units`), and only where values repeat. The release need not have
    the column. On the 350 clean worlds none is found: their households and panels say ``cluster``.
    """
    if pair.cluster is not None:
        return
    for column, distinct in named_units(pair._tables.adopted["original"].lazy).items():
        spec = pair.schema.get(column)
        if column in (*pair.keys, *pair.targets, *pair._tables.exclude) or (spec is not None and spec.reason == GIVEN):
            continue
        yield Finding(
            "warning",
            column,
            "units",
            f"column {column!r} looks like the household or person behind several records ({distinct:,} in "
            f"{pair.n():,}); if it is, say cluster={column!r}, so that those who belong together are exchanged and "
            "counted together: taken one by one, they make chance look smaller than it is",
        )


def named_units(table: Lazy) -> dict[str, int]:
    """Columns that look as if they named the household or person behind several records, with their distinct values.

    Parameters
    ----------
    table : lazy frame
        The records.

    Returns
    -------
    dict of str to int
    """
    called = [c for c, kind in table.collect_schema().items() if units_called(c) and family(kind) in ("int", "text")]
    if not called:
        return {}
    counts = {f"{what}{i}": e for i, c in enumerate(called) for what, e in _distinct_and_present(nw.col(c)).items()}
    row = collected(table.select(nw.len().alias("n"), *(e.alias(name) for name, e in counts.items())), "original")
    told = row.row(0, named=True)
    found = {c: (told[f"d{i}"] - (told[f"p{i}"] < told["n"]), told[f"p{i}"]) for i, c in enumerate(called)}
    return {c: distinct for c, (distinct, present) in found.items() if names_units(c, distinct, present)}


def _distinct_and_present(values: nw.Expr) -> dict[str, nw.Expr]:
    return {"d": values.n_unique(), "p": values.count()}  # missing is one of the distinct


def names_units(name: str, distinct: int, present: int) -> bool:
    """Whether a column looks as if it named the household or person behind several records.

    Parameters
    ----------
    name : str
        Name of the column.
    distinct, present : int
        Its distinct values, and the records that have one.

    Returns
    -------
    bool
        True where it is called so, has more values than a category, and at least a tenth of the records share theirs.
    """
    return units_called(name) and max(CATEGORIES, CATEGORY_SHARE * present) < distinct <= 0.9 * present


def units_called(name: str) -> bool:
    """Whether a column is called as what names a household or person: household_id, hh_nr, pid."""
    return bool(_UNIT_NAME.search(name) or ID_NAME.search(name))
