"""Words that leak measures share: members against strangers first, then the figure as a fact about the population."""

from __future__ import annotations

from glasshouse.core.plain import cut_off, p_value, percent

POPULATION = "what anybody can infer about anybody"


def against(p: float, members: float | None = None, strangers: float | None = None) -> str:
    """What the exchange test says about a figure just told beside that of people never in the data.

    Parameters
    ----------
    p : float
        Of the test.
    members, strangers : float, optional
        The two figures, where the test weighs people or measures them on a scale of its own: they may then say less
        than the test does.

    Returns
    -------
    str
        "chance gives as much in 0.2 % of cases (p = 0.002)". No level is named: whether that is rare enough is said by
        the policy, and the same sentence stands under every policy.
    """
    often = (
        f"{'fewer than 0.01 %' if p < 1e-4 else percent(cut_off(p), 0 if p >= 0.1 else 1 if p >= 0.01 else 2)} of cases"
    )
    weighed = p < 0.5 and members is not None and strangers is not None and members <= strangers
    told = "not more of them, but nearer or rarer ones, as chance gives" if weighed else "chance gives as much"
    return f"{told} in {often} ({p_value(p)})"


def beside_strangers(strangers: float | None, p: float | None, members: float | None = None) -> str:
    """The rest of a sentence that has just told the share of members.

    Parameters
    ----------
    strangers : float or None
        The same share of people never in the data; None where there is none.
    p : float or None
        Of the exchange test.
    members : float, optional
        The share just told, where the test weighs people.

    Returns
    -------
    str
        ", 28.2 % of people never in the data: chance gives as much in 23 % of cases (p = 0.23)". With no
        strangers, that the figure is a fact about the population.
    """
    if strangers is None or p is None:
        return (
            f". Without people never in the data this is a fact about the population ({POPULATION}): a leak cannot be "
            "told from it"
        )
    return f", {percent(strangers)} of people never in the data: {against(p, members, strangers)}"


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
