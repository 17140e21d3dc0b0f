"""The worst case: the key combination and the target value about which the keys tell most."""

from __future__ import annotations

import math
from collections.abc import Mapping

import narwhals as nw
import numpy as np

from glasshouse.core.advice import PREDICTS
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.diversity import ENTROPY
from glasshouse.disclosure.identity.tables import spoken
from glasshouse.disclosure.information.entropies import (
    KNOWS,
    LIMITS,
    SHANNON,
    classes_of,
    information,
    nats_per_unit,
    unit_name,
)
from glasshouse.disclosure.roles import Groups, KeyGroups, continuous_note, spoken_keys
from glasshouse.engines.cells.classes import side


@measure(
    side="disclosure",
    family="information",
    threat="attribute",
    better="lower",
    range=(0, None),
    needs=("keys", "target"),
    table="single",
    unit="bits",
    cite=SHANNON,
    attacker=KNOWS,
    caveats=LIMITS,
    group="information",
    tier="fast",
    advice=PREDICTS,
)
def max_leakage(
    pair: Pair, *, table: str = "released", base: float = 2.0, bins: Groups = None, key_groups: KeyGroups = None
) -> Result:
    """Most information about the target that one key combination gives away, in bits: max over q of H(T) - H(T | Q =
    q).

    At least the mutual information, at most H(T), which every group with a single target value reaches.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target. A missing value is a level of its own; "drop" leaves such records out.
    table : {"released", "original"}, default "released"
        The table counted.
    base : float, default 2.0
        Base of the logarithm, above 1: 2 gives bits, e nats.
    bins : int, sequence of float or None, default None
        Groups of a numeric target: a number of quantile groups or the breaks. None counts every value.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the largest over key combinations; there is no baseline. ``details`` hold ``maximal_leakage``,
        ``H_T``, ``MI`` with its bias term, and ``share_certain``, the records in groups with a single target value.
        ``records`` give the ``specific_information`` of a record's own keys.

    Notes
    -----
    ::

        max_specific_information = max_q [H(T) - H(T | Q = q)]
        maximal_leakage          = log sum_q max_t P(q | t)

    The second says how many times likelier the best guess of any function of the target becomes.

    References
    ----------
    .. [1] Shannon, C. E. (1948), A mathematical theory of communication. Bell System Technical Journal 27.
    .. [2] Issa, I., Wagner, A. B. and Kamath, S. (2020), An operational approach to information leakage. IEEE
       Transactions on Information Theory 66.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.max_leakage(gh.data.load("health").pair())
    >>> round(result.value, 3), round(result.details["share_certain"], 3)
    (1.211, 0.358)
    """
    unit = nats_per_unit(base)
    ours = side(table)
    likeliest = (ours.own.cast(nw.Float64) / ours.margin.cast(nw.Float64)).max()
    classes = classes_of(pair, table, bins, key_groups, likeliest=likeliest)
    found = information(pair, table, bins, key_groups, unit)
    f = nw.col("f")
    sums = classes.totals(
        least=ENTROPY.min(),
        certain=nw.when(nw.col("kinds") == 1).then(f).otherwise(nw.lit(0)).sum(),
    )
    reached = classes.sums(likeliest=nw.col("likeliest"))["likeliest"]
    value = found.target - max(float(sums["least"]), 0.0) / unit
    certain = float(sums["certain"]) / classes.n

    def records() -> Mapping[str, np.ndarray]:
        local = classes_of(pair, table, bins, key_groups, in_memory=True)
        return local.records(specific_information=nw.lit(found.target) - ENTROPY / unit)

    return Result(
        value=value,
        details={
            "max_specific_information": value,
            "maximal_leakage": max(math.log(float(reached)), 0.0) / unit,
            "H_T": found.target,
            "MI": found.mutual,
            "miller_madow": found.bias,
            "share_certain": certain,
            "n_classes": found.counts.classes,
            "n": classes.n,
            "n_dropped": classes.dropped,
            "base": base,
            "table": table,
        },
        sentence=(
            f"In {spoken(pair, table)} the most telling combination of {spoken_keys(pair)} gives away "
            f"{number(value, 3)} of the {number(found.target, 3)} "
            f"{unit_name(base)} there are to learn about {pair.target}; "
            f"{percent(certain)} of the records are in groups with a single value."
        ),
        warnings=continuous_note(pair, pair.require_target(), bins),
        records=records,
        flag="specific_information",
    )


@measure(
    side="disclosure",
    family="information",
    threat="attribute",
    better="lower",
    range=(0, None),
    needs=("keys", "target"),
    table="single",
    unit="ratio",
    cite=(
        "riskutility (positive information disclosure); a relative-gain bound in the sense of Evfimievski, "
        "Gehrke and Srikant (2003)"
    ),
    attacker=KNOWS,
    caveats=(
        "a rare value in a small group decides it; it is a ratio, so it says nothing about how likely the value "
        "has become"
    ),
    group="information",
    tier="fast",
    advice=PREDICTS,
)
def positive_disclosure(
    pair: Pair, *, table: str = "released", bins: Groups = None, key_groups: KeyGroups = None
) -> Result:
    """Largest relative gain of belief in a target value from learning the keys: max over q and t of (P(t | q) - P(t))
    / P(t).

    1 means that for some group some value has become twice as likely. Prior and posterior are shares in the same file.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target. A missing value is a level of its own; "drop" leaves such records out.
    table : {"released", "original"}, default "released"
        The table counted.
    bins : int, sequence of float or None, default None
        Groups of a numeric target: a number of quantile groups or the breaks. None counts every value.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the largest gain; there is no baseline. ``details`` hold the mean over records and the records in
        groups where some value more than doubles (``n_above_1``). ``records`` give the ``gain`` of a record's keys.

    Notes
    -----
    With c records of a cell, f of its group, c_t with its target value and n in all, P(t | q) = c / f and P(t) = c_t /
    n, so the gain of a group is max_t (c / c_t) n / f - 1.

    References
    ----------
    .. [1] riskutility, positive information disclosure.
    .. [2] Evfimievski, A., Gehrke, J. and Srikant, R. (2003), Limiting privacy breaches in privacy preserving data
       mining. ACM PODS. For bounds on the gain of belief.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.positive_disclosure(gh.data.load("health").pair())
    >>> round(result.value, 2), round(result.details["share_above_1"], 3)
    (8.09, 0.36)
    """
    ours = side(table)
    steepest = (ours.own.cast(nw.Float64) / ours.margin.cast(nw.Float64)).max()
    classes = classes_of(pair, table, bins, key_groups, steepest=steepest)
    n = classes.n
    # P(t|q) / P(t) = (c / f) / (margin / n), and f is the same for every cell of the class
    gain = nw.col("steepest") * float(n) / nw.col("f").cast(nw.Float64) - 1.0
    f = nw.col("f")
    sums = classes.totals(
        largest=gain.max(),
        doubled=nw.when(gain > 1 + 1e-12).then(f).otherwise(nw.lit(0)).sum(),
    )
    gained = classes.sums(gain=gain * f.cast(nw.Float64))["gain"]
    value, doubled = max(float(sums["largest"]), 0.0), int(sums["doubled"])

    def records() -> Mapping[str, np.ndarray]:
        local = classes_of(pair, table, bins, key_groups, in_memory=True, steepest=steepest)
        return local.records(gain=gain)

    return Result(
        value=value,
        details={
            "PID": value,
            "n_above_1": doubled,
            "share_above_1": doubled / n,
            "mean": float(gained) / n,
            "n": n,
            "n_dropped": classes.dropped,
            "table": table,
        },
        sentence=(
            f"In {spoken(pair, table)} learning {spoken_keys(pair)} makes some value of {pair.target} up to "
            f"{number(1 + value, 3)} times as likely as before; {percent(doubled / n)} of the records are in "
            "groups where a value more than doubles."
        ),
        warnings=continuous_note(pair, pair.require_target(), bins),
        records=records,
        flag="gain",
    )
