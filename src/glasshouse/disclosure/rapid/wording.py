"""A RAPID figure in words: what the attacker knew and did, for how many, against luck and against the holdout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from glasshouse.core.intervals import Interval
from glasshouse.core.plain import p_value, percent
from glasshouse.core.words import spoken as as_list
from glasshouse.disclosure.rapid.answers import ClassAnswers
from glasshouse.disclosure.rapid.attack import ScoredAttack
from glasshouse.disclosure.wording import beside_strangers, population_fact
from glasshouse.engines.models.registry import spoken

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

SIGNIFICANCE = 0.05


class Figures(TypedDict):
    """The share at risk against chance, under the names of the details."""

    n_at_risk: int
    n_total: int
    threshold: float
    chance: float
    chance_sd: float
    adjusted: float | None
    z: float | None
    p_value: float


class Memorisation(NamedTuple):
    """The same share among people never in the data, and by how much the original exceeds it."""

    holdout: float
    chance: float
    difference: float
    interval: Interval


def sentence(
    pair: Pair,
    attack: ScoredAttack,
    headline: str,
    figures: Figures,
    interval: Interval,
    confidence: float,
    memorised: Memorisation | None,
    p: float | None,
) -> str:
    """One attack on one release, so that the sentence can stand alone."""
    answers = attack.answers[headline]
    low, high = interval
    if isinstance(answers, ClassAnswers):
        cut = answers.threshold
        bar = {
            "marginal": f"gains more than {percent(cut, 0)} of the missing certainty about {attack.target!r}",
            "conditional": f"gives the true class of {attack.target!r} over {cut:g} times its usual probability",
            "nce": f"reaches an entropy score above {cut:g} on {attack.target!r}",
        }[answers.score]
    else:
        within = f"{answers.threshold:g}" if answers.metric == "absolute" else percent(answers.threshold, 0)
        bar = f"predicts {attack.target!r} with an error ({answers.metric.replace('_', ' ')}) below {within}"
    who = f"{answers.n:,} people" if pair.weights is None else f"the population behind {answers.n:,} weighted records"
    count = f"{figures['n_at_risk']:,}; " if pair.weights is None else ""
    text = (
        f"An attacker who knows {_and(pair.keys)} and trains {spoken(headline)} on the release {bar} for "
        f"{percent(answers.rate())} of "
        f"{who} ({count}{percent(confidence, 0)} interval {percent(low)} to {percent(high)})"
        f"{beside_strangers(None if memorised is None else memorised.holdout, p)}."
    )
    text += population_fact(f"luck alone would give {percent(figures['chance'])}")
    return text + beyond_luck(figures["adjusted"], figures["p_value"])


def beyond_luck(excess: float | None, p: float) -> str:
    """The excess over luck in words; None where luck alone flags everybody."""
    if excess is None:
        return " Luck alone flags everybody, so the figure says nothing; choose a stricter threshold."
    beyond = "beyond chance" if p < SIGNIFICANCE else "not beyond chance"
    return f" Excess over chance {100 * excess:.1f} % ({p_value(p)}, {beyond})."


def _and(names: Sequence[str]) -> str:
    shown = [str(n) for n in names]
    if len(shown) > 6:
        shown = [*shown[:5], f"{len(shown) - 5} more keys"]
    return as_list(shown)
