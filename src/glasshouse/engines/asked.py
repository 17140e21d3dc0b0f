"""Who is asked about: everybody, or of very many people a stated random sample.

A search costs queries times records. Whom people are compared with is never thinned, but of more than 100,000 of a
table a sample of 50,000 is asked about, unless ``people="all"``: what a figure says about them it says about all, with
an interval for so many. Measures ask about the same people, so that they share their searches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.arrays import Ints
from glasshouse.engines.canonical import drawn_records
from glasshouse.engines.exchange import people_clusters

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

# What a caller may ask for: so many of each table, "all", or None for the rule
People: TypeAlias = "int | Literal['all'] | None"
MOST = 100_000  # of a table, up to whom everybody is asked about where nobody says otherwise
SAMPLE = 50_000  # of a table with more
PEOPLE = ("original", "holdout")


@dataclass(frozen=True)
class Asked:
    """The people of original and holdout who are asked about.

    Attributes
    ----------
    rows : dict of str to array of int or None
        Per real table their record numbers, ascending; None for all of it.
    sizes : dict of str to int
        How many records each table has.
    """

    rows: Mapping[str, Ints | None]
    sizes: Mapping[str, int]

    @property
    def whole(self) -> bool:
        """Whether everybody is."""
        return all(rows is None for rows in self.rows.values())

    @property
    def key(self) -> tuple[bytes | None, ...]:
        """What tells them from others, for a memo."""
        return tuple(None if rows is None else rows.tobytes() for rows in self.rows.values())

    def n(self, table: str = "original") -> int:
        """How many of a table."""
        rows = self.rows.get(table)
        return self.sizes.get(table, 0) if rows is None else len(rows)

    def of(self, table: str, values: np.ndarray) -> np.ndarray:
        """Of one value per record of a table, those of the people asked about."""
        rows = self.rows.get(table)
        return values if rows is None else values[rows]

    @property
    def positions(self) -> Ints:
        """Where they stand among original and holdout laid end to end."""
        return self.of_both(np.arange(sum(self.sizes.values())))

    def of_both(self, values: np.ndarray) -> np.ndarray:
        """The same of one value per record of original and holdout, laid end to end."""
        cut = self.sizes["original"]
        parts = {"original": values[:cut], "holdout": values[cut:]}
        return np.concatenate([self.of(t, parts[t]) for t in self.rows])

    def others(self, flags: np.ndarray) -> Asked:
        """Whoever else is flagged, original and holdout laid end to end."""
        cut = self.sizes["original"]
        more = {"original": flags[:cut], "holdout": flags[cut:]}
        rows = {
            t: np.empty(0, np.int64) if r is None else np.setdiff1d(np.flatnonzero(more[t]), r)
            for t, r in self.rows.items()
        }
        return Asked(rows, self.sizes)

    def clusters(self, pair: Pair) -> tuple[Ints, Ints] | None:
        """Whose records they are, for the exchange of labels; None without clusters."""
        found = people_clusters(pair)
        return None if found is None else (self.of("original", found[0]), self.of("holdout", found[1]))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Figures of the original people asked about at their places among all; the others are masked."""
        return spread(values, self.rows.get("original"), self.sizes["original"])

    def notes(self, option: str = "people") -> list[str]:
        """What a result says about it; ``option`` is what asks about all."""
        said = [
            f"{len(rows):,} of {self.sizes[table]:,} {'original' if table == 'original' else 'holdout'} records"
            for table, rows in self.rows.items()
            if rows is not None
        ]
        return [f"asked about {' and '.join(said)}, drawn at random; {option}='all' asks about all"] if said else []


def spread(values: np.ndarray, rows: Ints | None, n: int) -> np.ndarray:
    """Figures of the records asked about at their places among n; the others are masked, and stay so who were.

    Parameters
    ----------
    values : array
        One figure per record asked about; may be masked.
    rows : array of int or None
        Their places; None for all of them in order.
    n : int
        Records of the table.

    Returns
    -------
    array
    """
    if rows is None:
        return values
    full = np.full(n, None if values.dtype == object else 0, values.dtype)
    full[rows] = np.ma.getdata(values)
    shown = np.zeros(n, bool)
    shown[rows] = ~np.ma.getmaskarray(values)
    return np.ma.MaskedArray(full, ~shown)


def number_asked(wish: People, n: int, name: str = "people", sample: int | None = None) -> int | None:
    """How many of a table are asked about.

    Parameters
    ----------
    wish : int, "all" or None
        What the caller said.
    n : int
        Records of the table.
    name : str, default "people"
        The option, for an error.
    sample : int, optional
        How many where there are more than 100,000 and nobody said how many. Default: 50,000.

    Returns
    -------
    int or None
        None for all of them.

    Raises
    ------
    InputError
        For a number below 1.
    """
    if wish == "all":
        return None
    if isinstance(wish, str) or (wish is not None and wish < 1):
        raise InputError(f"{name} must be a positive number, or 'all', not {wish!r}")
    if wish is None:
        return None if n <= MOST else min(SAMPLE if sample is None else sample, n)
    return None if int(wish) >= n else int(wish)


def records_asked(
    pair: Pair, table: str, wish: People, random_state: RandomState, name: str = "people", sample: int | None = None
) -> Ints | None:
    """The records of a table that are asked about: the same for every measure that asks about as many.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : str
        "original", "released" or "holdout".
    wish : int, "all" or None
        How many at most; None for the rule.
    random_state : int, Generator or None
        Seed of the draw.
    name : str, default "people"
        The option, for an error.
    sample : int, optional
        As :func:`number_asked` takes it.

    Returns
    -------
    array of int or None
        Ascending; None for all of them.
    """
    number = number_asked(wish, pair.n(table), name, sample)
    return drawn_records(pair, table, number, generator(random_state, "asked about", table))


def people_asked(pair: Pair, people: People, random_state: RandomState, sample: int | None = None) -> Asked:
    """The people of original and holdout whom a measure asks about.

    Parameters
    ----------
    pair : Pair
        The tables.
    people : int, "all" or None
        How many of each table at most; None for the rule.
    random_state : int, Generator or None
        Seed of the draw.
    sample : int, optional
        As :func:`number_asked` takes it.

    Returns
    -------
    Asked
    """
    sizes = {t: pair.n(t) for t in PEOPLE if t == "original" or pair.has_holdout}
    return Asked({t: records_asked(pair, t, people, random_state, sample=sample) for t in sizes}, sizes)


def everybody(pair: Pair) -> Asked:
    """All of them.

    Parameters
    ----------
    pair : Pair
        The tables.

    Returns
    -------
    Asked
    """
    return people_asked(pair, "all", 0)
