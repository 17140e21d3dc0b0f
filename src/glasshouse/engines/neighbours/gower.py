"""The records of a pair as points in Gower space, for :mod:`glasshouse.engines.neighbours.search`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.engines.neighbours.encoding import RULES, encode_pair
from glasshouse.engines.neighbours.search import Space

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair


def gower_space(
    pair: Pair,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    weights: Mapping[str, float] | None = None,
) -> Space:
    """The pair's records as points, built once per choice of columns and missing-value rule.

    Parameters
    ----------
    pair : Pair
        The tables; the space is kept with it and shared by all measures.
    columns : sequence of str, optional
        The columns distances are measured on. Default: all shared ones.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        How missing values are compared.
    weights : mapping of str to float, optional
        Weight of each column. Default: all alike. Weighted points are not kept: one measure asks for them.

    Returns
    -------
    Space

    Raises
    ------
    InputError
        For an unknown rule or column.
    NotApplicable
        When no column is shared.

    Notes
    -----
    d(a, b) = sum_v w_v s_v(a, b) with weights summing to one, s_v = |a_v - b_v| / R_v for numbers and 0 or 1 for
    categories.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties.
    """
    if missing not in RULES:
        raise InputError(f"missing must be one of {listed(RULES)}, not {missing!r}")
    chosen = chosen_columns(pair, columns)
    if weights is not None:
        return Space(encode_pair(pair, chosen, missing, {name: float(weights[name]) for name in sorted(chosen)}))
    return pair.memo(("gower_space", chosen, missing), lambda: Space(encode_pair(pair, chosen, missing, None)))


def chosen_columns(pair: Pair, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns asked for, checked.

    Parameters
    ----------
    pair : Pair
        The tables.
    columns : sequence of str or None
        The columns; None asks for all shared ones.

    Returns
    -------
    tuple of str

    Raises
    ------
    InputError
        When a column is not in every table.
    NotApplicable
        When there is no column.
    """
    chosen = tuple(pair.columns if columns is None else dict.fromkeys(columns))
    unknown = [name for name in chosen if name not in pair.columns]
    if unknown:
        raise InputError(
            f"columns {listed(unknown)} are not in every table (or are identifiers or weights); "
            f"choose from {listed(pair.columns)}"
        )
    if not chosen:
        raise NotApplicable("there is no column in common to measure distances on; release a column of the original")
    return chosen
