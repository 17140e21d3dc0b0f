"""What the measures that match keys share: the cell table, the figure for holdout people, warnings and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from glasshouse.core.evidence import Counts, HeldLeak
from glasshouse.core.limits import Evidence, Limit
from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.figures import Exclusions, Figures, Shares, attribution_figures, with_exclusions
from glasshouse.disclosure.roles import Groups
from glasshouse.engines.cells.counting import MANY_LEVELS, Cells, count_cells
from glasshouse.engines.cells.grouping import as_grouping
from glasshouse.engines.exchange import exchange_counts

H = TypeVar("H")
RAAB = "Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data; Raab (2024), PSD"
EXCESS_LIMIT = Limit(
    "excess",
    warn=0.05,
    fail=0.20,
    evidence=Evidence(above_strangers=True),
    why="glasshouse default on the excess over a lucky guess",
)
KNOWS = "the keys of real people, exactly as the custodian holds them"
LIMITS = (
    "depends on the chosen keys; a relation true for everybody in the population counts too, compare with the holdout"
)


def plain_cells(pair: Pair, bins: Groups = None, people: str = "original", in_memory: bool = False) -> Cells:
    """The cell table of keys and target without exclusions.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target.
    bins : int, sequence of float or None, default None
        Groups of a numeric target.
    people : {"original", "holdout"}, default "original"
        The people who are looked up in the release.
    in_memory : bool, default False
        Brings a lazy table to this machine, which figures per record need.

    Returns
    -------
    Cells
    """
    target = pair.require_target()
    group = as_grouping(pair, target, bins)
    return with_exclusions(
        count_cells(pair, target=target, people=people, target_group=group, in_memory=in_memory), Exclusions()
    )


def target_warnings(pair: Pair, bins: Groups) -> list[str]:
    """Say when a continuous target is compared value by value, and when a rule for missing keys has no meaning.

    Parameters
    ----------
    pair : Pair
        The tables.
    bins : int, sequence of float or None
        Groups of a numeric target; None says none were asked for.

    Returns
    -------
    list of str
        Sentences, or none.
    """
    warnings = []
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


def leak_of_counts(hits: float, of: float, held: tuple[float, float] | None, confidence: float) -> HeldLeak:
    """What being in the data adds to the hits of an attack.

    Parameters
    ----------
    hits, of : float
        Right guesses about original records, and original records looked up.
    held : tuple of float or None
        The same two for holdout people; None without a holdout.
    confidence : float
        Level of the interval.

    Returns
    -------
    HeldLeak
        Holdout figure, difference, interval, p value and counts.

    Notes
    -----
    A hit looks at the release and at the person's own record only, so original and holdout people are exchangeable
    where being in the data makes no difference, and Fisher's exact test applies.
    """
    if held is None or not held[1] or not of:
        counts = Counts(hits, of) if of else None
        return HeldLeak(holdout=None, difference=None, difference_interval=None, p_value=None, counts=counts)
    found = exchange_counts(hits, round(of), held[0], round(held[1]), confidence)
    return HeldLeak(
        holdout=held[0] / held[1],
        difference=found.difference,
        difference_interval=found.interval,
        p_value=found.p,
        counts=found.counts,
    )


def held_out(pair: Pair, bins: Groups, read: Callable[[Figures], H]) -> H | None:
    """A figure of holdout people.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target.
    bins : int, sequence of float or None
        Groups of a numeric target.
    read : callable
        Takes what is wanted out of all figures.

    Returns
    -------
    object or None
        What ``read`` gives; None without a holdout.
    """
    return read(attribution_figures(plain_cells(pair, bins, "holdout"))) if pair.has_holdout else None


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
