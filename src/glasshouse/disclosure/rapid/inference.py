"""How certain a RAPID figure is: intervals, the relabelling test, and thresholds chosen from the data.

Every function takes the answers of one attacker to each of M releases (M = 1 as a rule); figures are means over the
releases and a relabelling moves the same people in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.intervals import Interval, bootstrap_share, clopper_pearson, normal_quantile, wald, wilson
from glasshouse.core.streams import RandomState, generator
from glasshouse.disclosure.rapid.answers import Answers
from glasshouse.disclosure.rapid.outcomes import RapidTest
from glasshouse.disclosure.rapid.scores import Array, Moments, effective_n

Rule = Literal["max", "strictest", "max_z"]
Curve: TypeAlias = dict[str, list[float | None]]  # columns: threshold, rapid, low, high, chance, its band, z
METHODS = ("wilson", "clopper_pearson", "wald", "bootstrap", "cluster")

# -- intervals -----


def share_interval(
    flags: Array,
    method: str = "wilson",
    confidence: float = 0.95,
    *,
    weights: Array | None = None,
    clusters: Array | None = None,
    n_boot: int = 1000,
    random_state: RandomState = 0,
) -> Interval:
    """Interval of a share of flagged records: sampling of people only, the attacker and the release stay fixed.

    With weights, Kish's effective sample size stands for n. "cluster" draws whole clusters with all their records.
    """
    if method not in METHODS:
        raise InputError(f"interval method {method!r} is unknown; choose one of {', '.join(METHODS)}")
    n = len(flags)
    if method == "cluster":
        if clusters is None:
            raise InputError("the cluster interval needs clusters; name the column with cluster= on the pair")
        return _cluster_bootstrap(flags, clusters, weights, confidence, n_boot, random_state)
    if weights is None:
        k, size = float(flags.sum()), float(n)
    else:
        size = effective_n(weights, n)
        k = float(weights @ flags / weights.sum()) * size
    if method == "wilson":
        return wilson(k, size, confidence)
    if method == "wald":
        return wald(k, size, confidence)
    whole_k, whole_n = round(k), max(1, round(size))
    if method == "clopper_pearson":
        return clopper_pearson(min(whole_k, whole_n), whole_n, confidence)
    return bootstrap_share(min(whole_k, whole_n), whole_n, confidence, n_boot, random_state)


def _cluster_bootstrap(
    flags: Array, clusters: Array, weights: Array | None, confidence: float, n_boot: int, random_state: RandomState
) -> Interval:
    _, index = np.unique(clusters, return_inverse=True)
    w = np.ones(len(flags)) if weights is None else weights
    totals, sizes = np.bincount(index, weights=w * flags), np.bincount(index, weights=w)
    rng = generator(random_state, "cluster_bootstrap")
    found = np.empty(n_boot)
    for b in range(n_boot):
        drawn = rng.integers(0, len(sizes), len(sizes))
        found[b] = totals[drawn].sum() / sizes[drawn].sum()
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def max_interval(
    flags: Array,
    confidence: float = 0.95,
    n_boot: int = 1000,
    random_state: RandomState = 0,
    weights: Array | None = None,
) -> Interval:
    """Percentile interval of the largest share over attackers: people are drawn once, the maximum is taken within each
    draw.

    ``flags`` [attackers, n]. Only the pattern of flags matters, so a draw is one multinomial over the patterns that
    occur.
    """
    patterns, index = np.unique(flags.T, axis=0, return_inverse=True)
    mass = np.bincount(index.ravel(), weights=weights, minlength=len(patterns)).astype(float)
    size = max(1, round(effective_n(weights, flags.shape[1])))
    draws = generator(random_state, "max_interval").multinomial(size, mass / mass.sum(), size=n_boot)
    largest = (draws @ patterns.astype(float) / size).max(axis=1)
    low, high = np.quantile(largest, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def total_interval(values: Sequence[float], within: Sequence[float], confidence: float = 0.95) -> Interval:
    """mean +- t_{M-1} sqrt((1 + 1/M) B + W): B between releases, W mean variance within a release."""
    from scipy.stats import t

    m = len(values)
    spread = math.sqrt((1 + 1 / m) * float(np.var(values, ddof=1)) + float(np.mean(within)))
    half = float(t.ppf(0.5 + confidence / 2, m - 1)) * spread
    centre = float(np.mean(values))
    return max(0.0, centre - half), min(1.0, centre + half)


# -- against chance -----


def mean_chance(answers: Sequence[Answers], threshold: float | None = None) -> Moments:
    """Chance level of the mean over releases; its sd is bounded by the mean of the sds, since the people are the
    same."""
    moments = [a.chance(threshold) for a in answers]
    return float(np.mean([m for m, _ in moments])), float(np.mean([s for _, s in moments]))


def effect_size(observed: float, moments: Moments) -> float | None:
    """(observed - chance) / sd; None when relabelling changes nothing."""
    mean, sd = moments
    return (observed - mean) / sd if sd > 0 else None


def tail_probability(observed: float, moments: Moments, n: int) -> float:
    """Normal upper tail of the relabelling null with its exact moments, continuity-corrected by half a record."""
    mean, sd = moments
    if sd <= 0:
        return 1.0
    return 0.5 * math.erfc((observed - mean - 0.5 / n) / sd / math.sqrt(2))


def relabelling_test(
    answers: Sequence[Answers], n_permutations: int = 199, alpha: float = 0.05, random_state: RandomState = 0
) -> RapidTest:
    """Is the prediction tied to the person's own value? Fit once, predict once, relabel ``n_permutations`` times."""
    values = relabelled(answers, [answers[0].threshold], n_permutations, random_state)[:, 0]
    return outcome(answers, values, alpha, "labels")


def refitting_test(
    answers: Sequence[Answers],
    refit: Callable[[np.random.Generator], Sequence[Answers]],
    n_permutations: int = 19,
    alpha: float = 0.05,
    random_state: RandomState = 0,
) -> RapidTest:
    """The other null: the attacker trains on releases whose target was shuffled. As slow as that many attacks."""
    values = np.array(
        [np.mean([a.rate() for a in refit(generator(random_state, "refit", b))]) for b in range(n_permutations)]
    )
    return outcome(answers, values, alpha, "refit")


def outcome(answers: Sequence[Answers], values: Array, alpha: float, null: str) -> RapidTest:
    """p = (1 + #{permuted >= observed}) / (1 + B); moments are exact for relabelling, simulated for refitting."""
    observed = float(np.mean([a.rate() for a in answers]))
    exact = mean_chance(answers)
    simulated = (float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0)
    moments = exact if null == "labels" and len(answers) == 1 else simulated
    p_value = (1 + int((values >= observed - 1e-12).sum())) / (1 + len(values))
    return RapidTest(
        observed,
        *moments,
        effect_size(observed, moments),
        p_value,
        len(values),
        null,
        *exact,
        tail_probability(observed, exact, answers[0].n),
        alpha,
        values,
    )


def relabelled(
    answers: Sequence[Answers], thresholds: Sequence[float] | Array, n_permutations: int, random_state: RandomState
) -> Array:
    """[permutations, thresholds]: shares of flags under random relabellings, the same ones at every threshold."""
    if n_permutations < 1:
        raise InputError(f"n_permutations must be at least 1, not {n_permutations}")
    rng = generator(random_state, "relabelled")
    found = np.empty((n_permutations, len(thresholds)))
    for b in range(n_permutations):
        order = rng.permutation(answers[0].n)
        found[b] = np.mean([a.relabelled_rates(order, thresholds) for a in answers], axis=0)
    return found


# -- threshold curve and choice -----


def threshold_curve(
    answers: Sequence[Answers], thresholds: Sequence[float] | Array | None = None, confidence: float = 0.95
) -> Curve:
    """RAPID along a grid of thresholds with its Wilson interval, the chance level and the band in which chance alone
    stays."""
    grid = answers[0].usual_grid() if thresholds is None else np.asarray(list(thresholds), float)
    z = normal_quantile(confidence)
    rates = np.array([a.rates(grid) for a in answers])
    size = effective_n(answers[0].weights, answers[0].n)
    names = ("threshold", "rapid", "low", "high", "chance", "chance_low", "chance_high", "z")
    table: Curve = {name: [] for name in names}
    if len(answers) > 1:
        table |= {"release_min": rates.min(axis=0).tolist(), "release_max": rates.max(axis=0).tolist()}
    for threshold, rate in zip(grid.tolist(), rates.mean(axis=0).tolist(), strict=True):
        mean, sd = mean_chance(answers, threshold)
        low, high = wilson(rate * size, size, confidence)
        row = (
            threshold,
            rate,
            low,
            high,
            mean,
            max(0.0, mean - z * sd),
            min(1.0, mean + z * sd),
            effect_size(rate, (mean, sd)),
        )
        for name, entry in zip(names, row, strict=True):
            table[name].append(entry)
    return table


class ThresholdTable(TypedDict):
    """Columns of the table behind a chosen threshold."""

    threshold: list[float]
    rapid: list[float]
    chance: list[float]
    chance_sd: list[float]
    quantile: list[float]
    z: list[float]
    significant: list[bool]
    p_adjusted: list[float]
    significant_adjusted: list[bool]


class ChosenThreshold(NamedTuple):
    """The recommended threshold, the table behind it, and whether it was corrected for the number of thresholds."""

    threshold: float | None
    table: ThresholdTable
    corrected: bool


def choose_threshold(
    answers: Sequence[Answers],
    rule: Rule = "strictest",
    thresholds: Sequence[float] | Array | None = None,
    alpha: float = 0.05,
    n_permutations: int = 199,
    random_state: RandomState = 0,
) -> ChosenThreshold:
    """The threshold a rule recommends on a grid.

    "max": largest threshold whose RAPID exceeds its own (1 - alpha) permutation quantile, uncorrected (riskutility).
    "strictest": largest tau or smallest epsilon, and "max_z": largest standardised excess; both against the (1 - alpha)
    quantile of the largest standardised excess over the grid, so that looking at many thresholds finds nothing by
    itself.
    """
    if rule not in ("max", "strictest", "max_z"):
        raise InputError(f"rule={rule!r} is unknown; choose 'max', 'strictest' or 'max_z'")
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie between 0 and 1, not {alpha}")
    grid = answers[0].search_grid() if thresholds is None else np.asarray(list(thresholds), float)
    if not grid.size:
        raise InputError("thresholds is empty; pass at least one, or None for the usual grid")
    observed = np.mean([a.rates(grid) for a in answers], axis=0)
    moments = [mean_chance(answers, t) for t in grid.tolist()]
    mean, sd = (np.array([m[i] for m in moments]) for i in (0, 1))
    permuted = relabelled(answers, grid, n_permutations, random_state)
    quantile = np.quantile(permuted, 1 - alpha, axis=0)
    z = _standardised(observed, mean, sd)
    largest = _standardised(permuted, mean, sd).max(axis=1)
    critical = float(np.quantile(largest, 1 - alpha))
    alone, jointly = observed > quantile, (z > critical) & (sd > 0)
    adjusted_p = (1 + (largest[:, None] >= z[None, :] - 1e-12).sum(axis=0)) / (1 + n_permutations)
    table: ThresholdTable = {
        "threshold": grid.tolist(),
        "rapid": observed.tolist(),
        "chance": mean.tolist(),
        "chance_sd": sd.tolist(),
        "quantile": quantile.tolist(),
        "z": z.tolist(),
        "significant": alone.tolist(),
        "p_adjusted": adjusted_p.tolist(),
        "significant_adjusted": jointly.tolist(),
    }
    usable = alone if rule == "max" else jointly
    if not usable.any():
        return ChosenThreshold(None, table, rule != "max")
    if rule == "max_z":
        return ChosenThreshold(float(grid[np.argmax(np.where(usable, z, -np.inf))]), table, True)
    candidates = grid[usable]
    strict_end = candidates.max() if rule == "max" or answers[0].larger_is_riskier else candidates.min()
    return ChosenThreshold(float(strict_end), table, rule != "max")


def _standardised(rates: Array, mean: Array, sd: Array) -> Array:
    z: Array = np.divide(rates - mean, sd, out=np.zeros(np.shape(rates)), where=sd > 0)
    return z
