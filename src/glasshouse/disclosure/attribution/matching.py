"""What the measures that match keys share: the cell table, the leak beyond strangers, warnings and words."""

from __future__ import annotations

import narwhals as nw

from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.figures import CORRECT, Exclusions, S, Shares, with_exclusions
from glasshouse.disclosure.roles import Groups, KeyGroups, automatic, grouped_note, key_groupings
from glasshouse.engines.cells.counting import MANY_LEVELS, Cells, count_cells
from glasshouse.engines.cells.grouping import as_grouping
from glasshouse.engines.cells.strangers import D, H

RAAB = "Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data; Raab (2024), PSD"
KNOWS = "the keys of real people, exactly as the custodian holds them"
LIMITS = (
    "depends on the chosen keys; a relation true for everybody in the population counts too, compare with the holdout"
)


def plain_cells(
    pair: Pair,
    bins: Groups,
    key_groups: KeyGroups,
    in_memory: bool = False,
    exclusions: Exclusions | None = None,
    table: str | None = None,
) -> Cells:
    """The cell table of keys and target, with holdout people beside the original ones.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target.
    bins : int, sequence of float, "auto" or None
        Groups of a numeric target.
    key_groups : int, sequence of float, mapping, "auto" or None
        Groups of numeric keys.
    in_memory : bool, default False
        Brings a lazy table to this machine, which figures per record need.
    exclusions : Exclusions or None, default None
        What is left out; None leaves nothing out.
    table : str, optional
        "released" where a figure is about the released file alone, and so are its groups.

    Returns
    -------
    Cells
    """
    target = pair.require_target()
    cells = count_cells(
        pair,
        target=target,
        strangers=True,
        key_groups=key_groupings(pair, key_groups, table),
        target_group=as_grouping(pair, target, bins, table),
        in_memory=in_memory,
    )
    return with_exclusions(cells, exclusions or Exclusions())


def hit(cells: Cells, limit: int | None = None) -> nw.Expr:
    """Whether the release gives the target of the people of a cell away, unanimously and correctly.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``, counted with strangers.
    limit : int or None, default None
        The denominator limit.

    Returns
    -------
    narwhals.Expr
        It must not tell members from strangers: the limit is put to all real people of the cell, and grows with them.
    """
    return _kept(CORRECT, cells, limit)


def hit_if_copied(cells: Cells, limit: int | None = None) -> nw.Expr:
    """The same if a record of the cell were released as well: nobody in the release says otherwise.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``, counted with strangers.
    limit : int or None, default None
        The denominator limit.

    Returns
    -------
    narwhals.Expr
    """
    return _kept(nw.col("sq") == S, cells, limit)


def _kept(given_away: nw.Expr, cells: Cells, limit: int | None) -> nw.Expr:
    given_away = given_away & (nw.col("step") == 0)
    if limit is None:
        return given_away
    most = limit * (cells.n_original + cells.n_strangers) // cells.n_original
    return given_away & ((D + H if cells.n_strangers else D) <= most)


def target_warnings(pair: Pair, bins: Groups, key_groups: KeyGroups) -> list[str]:
    """Say what was grouped, when a continuous target is compared value by value, and when a rule for missing keys has
    no meaning.

    Parameters
    ----------
    pair : Pair
        The tables.
    bins : int, sequence of float, "auto" or None
        Groups of a numeric target; None says none were asked for.
    key_groups : int, sequence of float, mapping, "auto" or None
        Groups of numeric keys.

    Returns
    -------
    list of str
        Sentences, or none.
    """
    warnings = grouped_note(automatic(pair, key_groups, bins))
    if pair.missing == "wildcard":
        warnings.append(
            "missing='wildcard' has no meaning when two tables are matched; missing was treated as a value of its own"
        )
    target = pair.require_target()
    distinct = pair.n_distinct(target)
    if bins is None and pair.is_numeric(target) and distinct > MANY_LEVELS:
        warnings.append(
            f"target {target!r} has {distinct:,} distinct values and was compared exactly; bins=10 compares "
            "ranges instead"
        )
    return warnings


def no_match_warning(shares: Shares) -> list[str]:
    """Say when nobody's keys are in the release.

    Parameters
    ----------
    shares : Shares
        The figures of ``attribution_figures``.

    Returns
    -------
    list of str
        One sentence, or none.
    """
    if shares["iS"] > 0:
        return []
    return ["no key combination of the original occurs in the release, so nothing could be looked up"]


def funnel(shares: Shares) -> dict[str, float]:
    """The steps from a known key to a disclosed value, for the chart.

    Parameters
    ----------
    shares : Shares
        The figures of ``attribution_figures``.

    Returns
    -------
    dict of str to float
        Share of people by step.
    """
    return {
        "keys found in the release": shares["iS"],
        "... and its records agree on one value": shares["DiS"],
        "... and that value is right": shares["DiSCO"],
        "... and the original agrees too": shares["DiSDiO"],
    }
