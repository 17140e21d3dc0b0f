"""Wide tables: measures whose work grows with the square of the columns see some of them, and the report says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.core.measure import AnyMeasure
from glasshouse.data.pair import Pair

MOST_COLUMNS = 60


def narrowed(measure: AnyMeasure, pair: Pair, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options that keep a measure of pairs of columns to MOST_COLUMNS of them; None when there are not so many.

    Keys and targets, then the others in the order of the table, so that two runs and two releases look at the same
    ones. Whoever names ``columns`` (None: all) in the options or the policy is not overruled.
    """
    if not measure.wide or "columns" in asked or "columns" not in measure.options:
        return None
    names: Sequence[str] = getattr(pair, measure.wide)
    if len(names) <= MOST_COLUMNS:
        return None
    roles = [name for name in (*pair.keys, *pair.targets) if name in names]
    first = list(dict.fromkeys([*roles, *names]))[:MOST_COLUMNS]
    return {"columns": [name for name in names if name in set(first)]}


def note(limited: Sequence[str], named: bool = True) -> str:
    """What the report says about measures that did not look at every column; ``named``: whether it lists those."""
    listed = "; their names are in the settings of each result" if named else ""
    return (
        f"{', '.join(limited)}: the table is wide, so {'these look' if len(limited) > 1 else 'this looks'} at "
        f"{MOST_COLUMNS} columns only (keys and target, then the order of the table{listed}"
        f'). options={{"{limited[0]}": {{"columns": None}}}} looks at all of them.'
    )
