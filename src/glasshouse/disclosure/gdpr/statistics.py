"""Arithmetic shared by the three attacks of the GDPR risks: attack, naive baseline, control, and what is left over.

An attack makes n guesses about people in the original and is right k times. The same attack on people never in the data
(the "control" of the published method) succeeds too, because the release describes the population. Only the surplus

    difference = attack - control,        excess = (attack - control) / (1 - control)

speaks of the people in the original (Giomi, Boenisch, Wehmeyer & Tasnadi 2023). Both keep their sign: clipping at zero
would make the mean over seeds of a release without leak positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict

import numpy as np

from glasshouse.core.evidence import Counts, Exposure
from glasshouse.core.intervals import Interval, normal_quantile, wilson
from glasshouse.core.limits import LEAK_LIMIT, Limit
from glasshouse.core.plain import percent, points
from glasshouse.core.result import Result
from glasshouse.disclosure.wording import against, beside_strangers, population_fact
from glasshouse.engines.exchange import Exchange, upper_tail

CITE = (
    "Giomi, Boenisch, Wehmeyer & Tasnadi (2023), A unified framework for quantifying privacy risk in synthetic data, "
    "PoPETs"
)
OVERWHELMING = 0.5
LEAK = replace(
    LEAK_LIMIT,
    without_holdout=Limit(
        "over_naive", fail=OVERWHELMING, passes=False, why="more than knowledge about the population explains"
    ),
)
_ONE_SD = 0.6826894921370859  # the confidence whose interval reaches one standard deviation to either side
NO_CONTROL = (
    "No holdout: the attack and its naive baseline are given, but part of any success is knowledge about the "
    "population, and without people never in the data that part cannot be taken off. So there is no verdict."
)
BEYOND_DOUBT = (
    "No holdout: part of any success is knowledge about the population and cannot be taken off. But the attack beats "
    "naive guesses by more than 50 points even at its lower limit, which knowledge about the population does not "
    "explain for this attack, so it fails all the same."
)


class Exchanged(NamedTuple):
    """Members exchanged with strangers: the p value, members exposed beyond strangers, and the counts and their
    difference where the attack has one outcome per person."""

    p: float
    exposed: Exposure
    found: Exchange | None = None


@dataclass(frozen=True)
class Side:
    """Successes (fractions of a success where ties are shared) among a number of guesses."""

    successes: float
    guesses: float

    @property
    def rate(self) -> float:
        return self.successes / self.guesses

    def interval(self, confidence: float) -> Interval:
        return wilson(self.successes, self.guesses, confidence)


@dataclass(frozen=True)
class Attack:
    """One attack with its references.

    ``correlation`` is that of attack and control success when both judge the same guesses. ``gap`` replaces the plain
    difference where the attack has a better comparison of unequal sizes.
    """

    attack: Side
    baseline: Side | None
    control: Side | None
    correlation: float = 0.0
    gap: tuple[float, Interval] | None = None

    def difference(self, confidence: float) -> tuple[float, Interval] | None:
        """attack - control with its interval; None without a control."""
        if self.control is None or self.gap is not None:
            return self.gap
        gap = self.attack.rate - self.control.rate
        return gap, difference_interval(self.attack, self.control, confidence, self.correlation)

    def counts(self, aims: int = 1) -> Counts:
        """The counts as other rooms read them."""
        control = self.control
        return Counts(
            self.attack.successes,
            self.attack.guesses,
            None if control is None else control.successes,
            None if control is None else control.guesses,
            aims=aims,
        )

    def p_value(self) -> float | None:
        """One-sided p value of attack above control, from the interval at which the difference just reaches 0.

        None without a control.
        """
        if self.control is None:
            return None
        gap = self.difference(_ONE_SD)
        if gap is None:
            return None
        value, (low, high) = gap
        spread = value - low if value > 0 else high - value
        return 0.5 if spread <= 0 else upper_tail(value / spread)

    def excess(self, confidence: float) -> tuple[float, Interval] | None:
        """(attack - control) / (1 - control) with its interval; None without a control or when the control never
        fails.
        """
        if self.control is None or self.control.rate >= 1:
            return None
        left = 1 - self.control.rate
        if self.gap is not None:
            return self.gap[0] / left, (self.gap[1][0] / left, min(self.gap[1][1] / left, 1.0))
        value = (self.attack.rate - self.control.rate) / left
        low_a, high_a = self.attack.interval(confidence)
        low_c, high_c = self.control.interval(confidence)
        slope = (1 - self.attack.rate) / left
        down = math.hypot(self.attack.rate - low_a, slope * (high_c - self.control.rate)) / left
        up = math.hypot(high_a - self.attack.rate, slope * (self.control.rate - low_c)) / left
        return value, (value - down, min(value + up, 1.0))


def difference_interval(
    first: Side, second: Side, confidence: float = 0.95, correlation: float = 0.0, scale: float = 1.0
) -> Interval:
    """Interval of p1 - scale p2 from the two Wilson intervals (Newcombe 1998, methods 8 and 10; Zou & Donner 2008).

    ``correlation`` is that of the two success indicators when both sides judge the same guesses, else 0.
    """
    low1, high1 = first.interval(confidence)
    low2, high2 = (scale * limit for limit in second.interval(confidence))
    p1, p2 = first.rate, scale * second.rate
    gap = p1 - p2

    def half(a: float, b: float) -> float:
        return math.sqrt(max(a * a - 2 * correlation * a * b + b * b, 0.0))

    return gap - half(p1 - low1, high2 - p2), gap + half(high1 - p1, p2 - low2)


def phi(both: float, only_first: float, only_second: float, neither: float) -> float:
    """Correlation of two yes/no outcomes of the same guesses, from the four counts; 0 where a margin is empty."""
    product = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    return 0.0 if product <= 0 else (both * neither - only_first * only_second) / math.sqrt(product)


class Residual(TypedDict):
    """anonymeter's risk: the surplus over the control, its error, clipped to [0, 1], and its interval."""

    raw: float
    error: float
    risk: float
    ci: list[float]


class Compat(TypedDict, total=False):
    """anonymeter's figures; rates are a Wilson centre and its half width."""

    attack_rate: list[float] | None
    baseline_rate: list[float] | None
    control_rate: list[float] | None
    residual: Residual


def compat(attack: Attack, confidence: float = 0.95) -> Compat:
    """The figures anonymeter prints for the same counts, for comparison: Wilson centres, a clipped risk, its
    interval.
    """
    z = normal_quantile(confidence)

    def centre(side: Side | None) -> list[float] | None:
        if side is None or side.guesses <= 0:
            return None
        k, n = side.successes, side.guesses
        spread = z / (n + z * z) * math.sqrt(max(k * (n - k) / n, 0.0) + z * z / 4)
        return [(k + z * z / 2) / (n + z * z), spread]

    a, c = centre(attack.attack), centre(attack.control)
    figures = Compat(attack_rate=a, baseline_rate=centre(attack.baseline), control_rate=c)
    if a is None:
        return figures
    if c is None:
        raw, error = a
    else:
        raw = (a[0] - c[0]) / (1 - c[0])
        error = math.hypot(a[1] / (1 - c[0]), c[1] * (a[0] - 1) / (1 - c[0]) ** 2)
    figures["residual"] = {
        "raw": raw,
        "error": error,
        "risk": min(max(raw, 0.0), 1.0),
        "ci": [min(max(raw - error, 0.0), 1.0), min(max(raw + error, 0.0), 1.0)],
    }
    return figures


def _drawn(attack: Attack, confidence: float) -> list[dict[str, str | float]]:
    """Rate and interval of each side that was measured, for the chart."""
    sides = {"original": attack.attack, "holdout": attack.control, "naive": attack.baseline}
    rows: list[dict[str, str | float]] = []
    for name, side in sides.items():
        if side is not None:
            low, high = side.interval(confidence)
            rows.append({"side": name, "rate": side.rate, "low": low, "high": high})
    return rows


def report(
    attack: Attack,
    *,
    confidence: float,
    guess: str,
    success: str,
    details: Mapping[str, object],
    records: Callable[[], Mapping[str, np.ndarray]] | None,
    flag: str | None,
    rank: str | None = None,
    warnings: Sequence[str] = (),
    decisive: bool = False,
    compared_with: str = "people never in the data",
    aims: int = 1,
    exchanged: Exchanged | None = None,
    population: bool = False,
) -> Result:
    """The common shape of an attack's result. ``guess`` and ``success`` are the words of its sentence.

    ``exchanged``: the test of an attack that asks members and strangers alike; without it the p value comes from the
    interval of the difference. ``population``: the rate is also told as a fact about the population.

    ``decisive``: without a control, a rate whose lower limit is more than 0.5 above the naive one fails. Only for
    attacks that knowledge about the population alone cannot carry that far.
    """
    said = list(warnings)
    control = attack.control
    gap, surplus = attack.difference(confidence), attack.excess(confidence)
    p, counts = attack.p_value(), attack.counts(aims)
    exposed: Exposure | None = None
    if exchanged is not None:
        p, exposed = exchanged.p, exchanged.exposed
        if exchanged.found is not None:
            found = exchanged.found
            gap, counts = (found.difference, found.interval), found.counts
    figures: dict[str, object] = {
        "n_attacks": attack.attack.guesses,
        "n_success": attack.attack.successes,
        "n_baseline": None if attack.baseline is None else attack.baseline.successes,
        "n_control": None if control is None else control.successes,
        "n_control_attacks": None if control is None else control.guesses,
        "difference": None if gap is None else gap[0],
        "difference_interval": None if gap is None else list(gap[1]),
        "excess_interval": None if surplus is None else list(surplus[1]),
        "attack_interval": list(attack.attack.interval(confidence)),
        "baseline_interval": None if attack.baseline is None else list(attack.baseline.interval(confidence)),
        "control_interval": None if control is None else list(control.interval(confidence)),
        **details,
        **compat(attack, confidence),
        "compat": compat(attack, confidence),
    }
    rate, naive = attack.attack.rate, None if attack.baseline is None else attack.baseline.rate
    over_naive = None
    if gap is None or control is None:
        if naive is not None:
            over_naive = attack.attack.interval(confidence)[0] - naive
        sure = decisive and over_naive is not None and over_naive > OVERWHELMING
        said.append(BEYOND_DOUBT if sure else NO_CONTROL)
        meaning = (
            "far more than knowledge about the population explains, even without a holdout"
            if sure
            else "without a holdout nobody can say how much of it is leak"
        )
        compared = "" if naive is None else f", against {percent(naive)} for naive guesses; {meaning}"
    else:
        low, high = gap[1]
        meaning = "clearly more" if low > 0 else "less, not more" if high < 0 else "no clear difference"
        if exchanged is not None and p is not None:
            meaning = against(p, rate, control.rate)
        # the interval is that of two shares, the test that of the people: only one of them is told
        limits = f" ({percent(confidence, 0)} interval {100 * low:+.1f} to {points(high)})"
        gained = f"{meaning}, difference {points(gap[0])}{'' if exchanged else limits}"
        compared = f", {percent(control.rate)} for {compared_with}: {gained}"
        if naive is not None and rate <= naive and attack.attack.guesses > 1:
            said.append(
                "the attack is no better than naive guesses, so it says little about the release: a stronger attacker "
                "may do better"
            )
        if surplus is None:
            said.append(
                "the attack succeeds on every holdout record: success carries no information about membership here"
            )
    told = f"{percent(rate)} {success}{compared}."
    if population:
        told = f"{percent(rate)} {success}{beside_strangers(counts.control_rate, p)}."
        told += "" if naive is None else population_fact(f"naive guesses are right for {percent(naive)}")
    return Result(
        rate,
        baseline=naive,
        excess=surplus[0] if surplus is not None else None if gap is None else gap[0],
        holdout=counts.control_rate,
        interval=attack.attack.interval(confidence),
        excess_interval=None if surplus is None else surplus[1],
        difference=None if gap is None else gap[0],
        difference_interval=None if gap is None else gap[1],
        p_value=p,
        counts=counts,
        exposure=exposed,
        figures={"over_naive": over_naive if decisive else None},
        details=figures,
        sentence=f"{attack.attack.guesses:,.0f} {_counted(guess, attack.attack.guesses)}: {told}",
        warnings=said,
        records=records,
        flag=flag,
        rank=rank,
        plot_data={"rates": _drawn(attack, confidence)},
    )


def _counted(guess: str, n: float) -> str:
    """The plural noun a sentence of one guess must not use: 'people looked up' -> 'person looked up'."""
    plural, _, rest = guess.partition(" ")
    single = {"people": "person", "descriptions": "description", "released": "released"}
    if n != 1 or plural not in single:
        return guess
    return f"{single[plural]} {rest}".replace("released records", "released record").replace(
        "that fit one", "that fits one"
    )
