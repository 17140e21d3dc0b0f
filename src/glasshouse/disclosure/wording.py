"""Words that leak measures share: members against strangers first, then the figure as a fact about the population."""

from __future__ import annotations

from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.plain import p_value, percent

SHOWN = LEAK_LIMIT.warn or 0.05  # a difference is called one where the limit sees it
POPULATION = "what anybody can infer about anybody"


def more_for_members(p: float) -> str:
    """What the exchange test says, in words that agree with its p value.

    Parameters
    ----------
    p : float
        Of the test.

    Returns
    -------
    str
    """
    return (
        "more than for people never in the data, so being in the data adds to it"
        if p < SHOWN
        else "no more than for people never in the data"
    )


def beside_strangers(strangers: float | None, p: float | None) -> str:
    """The rest of a sentence that has just told the share of members.

    Parameters
    ----------
    strangers : float or None
        The same share of people never in the data; None where there is none.
    p : float or None
        Of the exchange test.

    Returns
    -------
    str
        ", 28.2 % of people never in the data (p = 0.23): no more than ...". With no strangers, that the figure is a
        fact about the population.
    """
    if strangers is None or p is None:
        return (
            f". Without people never in the data this is a fact about the population ({POPULATION}): a leak cannot be "
            "told from it"
        )
    return f", {percent(strangers)} of people never in the data ({p_value(p)}): {more_for_members(p)}"


def population_fact(words: str) -> str:
    """A sentence that reads the figure as a fact about the population.

    Parameters
    ----------
    words : str
        What luck or unrelated columns would give.

    Returns
    -------
    str
    """
    return f" As a fact about the population ({POPULATION}): {words}."
