"""Small boxes around people: who has a released record inside theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.engines.models.design import distinct_rows
from glasshouse.engines.workers import share_out

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

BOX_TOL = 1e-9
_MOST_PATTERNS = 64


class Rows(NamedTuple):
    """Numbers of some records: of all of them, of the distinct ones, and which of these each record is.

    Whether somebody is near is asked once for all who say the same.
    """

    every: np.ndarray
    distinct: np.ndarray
    back: np.ndarray

    @classmethod
    def of(cls, pair: Pair, columns: Sequence[str], table: str) -> Rows:
        """Numeric columns of a table, special codes being missing."""
        parts, codes = [], []
        for name in columns:
            values = np.array(pair.values(name, table), float)
            values[pair.special_mask(name, table)] = np.nan
            parts.append(values)
            codes.append(pair.codes(name).of(table) + 1)
        first, back = distinct_rows(np.stack(codes, axis=1))
        every = np.stack(parts, axis=1)
        return cls(every, every[first], back)

    def complete(self) -> Rows:
        """The records without a missing value."""
        whole = ~np.isnan(self.distinct).any(axis=1)
        kept = whole[self.back]
        return Rows(self.every[kept], self.distinct[whole], (np.cumsum(whole) - 1)[self.back[kept]])


def own_share(original: np.ndarray, half: np.ndarray, n_released: int) -> float:
    """Share of complete originals with another original in their box, raised to the size of the release.

    If q is a person's chance of having nobody among n_T - 1 others, a release of r (n_T - 1) fresh people leaves them
    alone with chance q^r, and 1 - mean(q)^r is no less than the mean of 1 - q^r for r >= 1 (Jensen).
    """
    from scipy.spatial import cKDTree

    whole = original[~np.isnan(original).any(axis=1)]
    if len(whole) < 2:
        return 0.0
    rows, counts = np.unique(_in_half_widths(whole, half), axis=0, return_counts=True)
    near = np.full(len(rows), np.inf)
    if len(rows) > 1:
        near = cKDTree(rows).query(rows, k=2, p=np.inf, distance_upper_bound=1 + 1e-6)[0][:, 1]
    accompanied = float(counts[(counts > 1) | (near <= 1 + BOX_TOL)].sum()) / len(whole)
    return float(1 - (1 - accompanied) ** max(1.0, n_released / (len(whole) - 1)))


def inside_box(people: Rows, released: Rows, half: np.ndarray, missing: str) -> np.ndarray:
    """Which people have a released record within ``half`` of them in every column."""
    return _inside(people.distinct, released.distinct, half, missing)[people.back]


def _inside(people: np.ndarray, released: np.ndarray, half: np.ndarray, missing: str) -> np.ndarray:
    if missing == "level":
        gone = np.concatenate([np.isnan(people), np.isnan(released)]).any(axis=0)
        fill = np.concatenate([people, released])
        top = np.nanmax(np.where(np.isnan(fill), -np.inf, np.abs(fill)), axis=0, initial=0.0)
        marker = np.where(gone, 4 * top + 4 * half + 1, 0.0)
        return _any_within(
            np.where(np.isnan(people), marker, people), np.where(np.isnan(released), marker, released), half
        )
    if missing == "mismatch":
        whole = ~np.isnan(people).any(axis=1)
        found = np.zeros(len(people), bool)
        found[whole] = _any_within(people[whole], released[~np.isnan(released).any(axis=1)], half)
        return found
    return _any_within_by_pattern(people, released, half, nothing_shared=missing == "match")


def _any_within_by_pattern(
    people: np.ndarray, released: np.ndarray, half: np.ndarray, nothing_shared: bool
) -> np.ndarray:
    """A missing value fits everything: compare on the columns both sides have, pattern by pattern."""
    found = np.zeros(len(people), bool)
    patterns, which = np.unique(~np.isnan(people), axis=0, return_inverse=True)
    others, where = np.unique(~np.isnan(released), axis=0, return_inverse=True)
    if len(patterns) * len(others) > _MOST_PATTERNS**2:
        raise NotApplicable(
            f"{len(patterns)} and {len(others)} patterns of missing values are too many for this rule; "
            "use missing='level'"
        )
    for i, mine in enumerate(patterns):
        for j, theirs in enumerate(others):
            shared = mine & theirs
            at = np.flatnonzero((which.reshape(-1) == i) & ~found)
            if not shared.any():
                found[at] |= nothing_shared
                continue
            found[at] = _any_within(people[at][:, shared], released[where.reshape(-1) == j][:, shared], half[shared])
    return found


def _any_within(people: np.ndarray, released: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Chebyshev search after dividing by the half widths; columns of half width 0 must be equal."""
    from scipy.spatial import cKDTree

    found = np.zeros(len(people), bool)
    if not len(people) or not len(released):
        return found
    scaled = _in_half_widths(np.concatenate([people, released]), half)
    tree = cKDTree(scaled[len(people) :])

    def look_up(start: int, stop: int) -> None:
        nearest = tree.query(scaled[start:stop], k=1, p=np.inf, distance_upper_bound=1 + 1e-6)[0]
        found[start:stop] = nearest <= 1 + BOX_TOL

    share_out(look_up, len(people))
    return found


def _in_half_widths(table: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Columns divided by their half widths, so that the box is the unit cube around a record."""
    scaled = table / np.where(half > 0, half, 1.0)
    # Equality column: distinct values become whole numbers four apart, so that any difference leaves the box.
    for v in np.flatnonzero(half == 0):
        scaled[:, v] = 4.0 * np.unique(table[:, v], return_inverse=True)[1].reshape(-1)
    return np.asarray(scaled)
