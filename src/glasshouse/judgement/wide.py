"""Wide tables: measures whose work would get out of hand look at some of the columns, and the report says so.

What a measure declares (``wide``, ``grows``) decides how many. Nobody among the people is left out here, and records
that are equal, or equal but for one column, are always looked for in every column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from glasshouse.core.measure import AnyMeasure
from glasshouse.data.pair import Pair
from glasshouse.engines.neighbours.effort import LEAST_COLUMNS, drawn_columns, most_columns

MOST_COLUMNS = 60  # of measures whose work grows with the square of the columns
NAMED_IN = ("among", "columns", "predictors")  # the options that say at which columns a measure looks


def narrowed(measure: AnyMeasure, pair: Pair, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """The options that keep a measure to some of the columns of a wide table; None when there are not so many.

    Parameters
    ----------
    measure : Measure
        What it declares says which columns count, and how its work grows.
    pair : Pair
        The tables.
    asked : mapping
        Its options. Whoever names columns there (None: all) is not overruled.

    Returns
    -------
    dict or None

    Notes
    -----
    Keys and targets, then others by their names (:func:`glasshouse.engines.neighbours.effort.drawn_columns`).
    """
    option, names = _names(measure, pair, asked)
    if option is None:
        return None
    most = most_columns(pair) if measure.grows == "people" else _fixed(measure)
    if len(names) <= most:
        return None
    return {option: drawn_columns(names, most, first=(*pair.keys, *pair.targets))}


def note(limited: Mapping[str, Mapping[str, Any]]) -> str:
    """What the report says about measures that did not look at every column.

    Parameters
    ----------
    limited : mapping of str to mapping
        By measure, what ``narrowed`` gave.

    Returns
    -------
    str
    """
    counts = {name: sum(len(names) for names in changes.values()) for name, changes in limited.items()}
    said = [(f"{most:,} columns only", [n for n in counts if counts[n] == most]) for most in sorted({*counts.values()})]
    return _sentence(said, "; their names are in the settings of each result", *_way_out(limited))


def outside_note(measures: Iterable[AnyMeasure], pair: Pair, asked: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The same for readers outside: a function of the columns alone, because the number of people is not told there.

    Parameters
    ----------
    measures : iterable of Measure
        Those that were run.
    pair : Pair
        The tables.
    asked : mapping of str to mapping
        The options of each measure, as far as somebody gave them.

    Returns
    -------
    str or None
        None where the table is not wide.
    """
    said: dict[str, list[str]] = {}
    options: dict[str, dict[str, Any]] = {}
    for measure in measures:
        option, names = _names(measure, pair, asked.get(measure.name, {}))
        if option is not None and len(names) > _fixed(measure):
            many = " or more, and not at all where records are many" if measure.grows == "people" else " only"
            said.setdefault(f"{_fixed(measure)} columns{many}", []).append(measure.name)
            options[measure.name] = {option: []}
    return _sentence(sorted(said.items()), "", *_way_out(options)) if said else None


def _fixed(measure: AnyMeasure) -> int:
    """The columns a measure looks at however many the records are."""
    return MOST_COLUMNS if measure.grows == "pairs" else LEAST_COLUMNS


def _names(measure: AnyMeasure, pair: Pair, asked: Mapping[str, Any]) -> tuple[str | None, Sequence[str]]:
    """The option that can limit the columns of a measure, and the columns it would look at; None where nothing is
    to be limited."""
    option = next((name for name in NAMED_IN if name in measure.options), None)
    if not measure.wide or option is None or any(name in asked for name in NAMED_IN):
        return None, ()
    if measure.wide == "unkeyed":
        return option, pair.keys or [name for name in pair.columns if name not in pair.targets]
    return option, getattr(pair, measure.wide)


def _way_out(limited: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    name, changes = next(iter(limited.items()))
    return name, next(iter(changes))


def _sentence(said: Iterable[tuple[str, Sequence[str]]], listed: str, name: str, option: str) -> str:
    parts = [f"{', '.join(measures)} look{'' if len(measures) > 1 else 's'} at {most}" for most, measures in said]
    return (
        f"the table is wide: {'; '.join(parts)} (keys and target, then drawn by their names{listed}"
        f'). options={{"{name}": {{"{option}": None}}}} looks at all of them.'
    )
