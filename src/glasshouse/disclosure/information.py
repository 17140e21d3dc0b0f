"""Information about the target in the keys, in bits: on average, at worst, and for a single value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from glasshouse.core.advice import PREDICTS
from glasshouse.core.errors import InputError
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.diversity import ENTROPY, continuous_note, target_grouping
from glasshouse.disclosure.identity.tables import missing_notes, missing_rule, sizes_of, spoken, spoken_keys
from glasshouse.engines.cells.classes import Classes, class_sizes, target_classes

SHANNON = "Shannon (1948); Miller (1955) for the bias term; Issa, Wagner and Kamath (2020) for maximal leakage"
KNOWS = "the keys of a person, and how the target is distributed inside each group of equal keys"
LIMITS = (
    "rare key combinations inflate every figure: read the bias term; one file alone does not say whom the "
    "information is about"
)
BITS = math.log(2)


def _log_base(base: float) -> float:
    if not base > 1:
        raise InputError(f"base={base}: the base of the logarithm must be above 1")
    return math.log(base)


def _target_classes(
    pair: Pair,
    table: str,
    bins: Any,
    key_groups: Any,
    in_memory: bool = False,
    keys: Sequence[str] | None = None,
    **figures: nw.Expr,
) -> Classes:
    target = str(pair.target)
    return target_classes(
        pair,
        table,
        target,
        key_groups=key_groups,
        target_group=target_grouping(pair, target, bins),
        in_memory=in_memory,
        keys=keys,
        prepare=None,
        **figures,
    )


def _entropies(
    pair: Pair, table: str, bins: Any, key_groups: Any, keys: Sequence[str] | None = None
) -> dict[str, float]:
    """H(T), H(T | Q) in nats and the numbers of cells, classes and target values behind them.

    H(T | Q) = sum_q (f_q / n) ln f_q - (1/n) sum c ln c; the target's own entropy needs its margin only.
    """
    classes = _target_classes(pair, table, bins, key_groups, keys=keys)
    f = nw.col("f").cast(nw.Float64)
    inner = classes.totals(given=(f * ENTROPY).sum(), cells=nw.col("kinds").sum(), classes=nw.len())
    side, n = classes.side, classes.n
    margin = (
        classes._cells.grouped({"count": side.margin, "t": nw.col("t")}, side.own > 0, here=side.own.sum())["count"]
        .to_numpy()
        .astype(float)
    )
    shares = margin / n
    return {
        "H_T": float(-(shares * np.log(shares)).sum()),
        "H_T_given_Q": max(float(inner["given"]) / n, 0.0),
        "cells": int(inner["cells"]),
        "classes": int(inner["classes"]),
        "levels": len(margin),
        "n": n,
        "n_dropped": classes.dropped,
    }


def _information(pair: Pair, table: str, bins: Any, key_groups: Any, unit: float) -> dict[str, Any]:
    """Mutual information and its relatives for one table, in units of ``unit`` nats."""
    e = _entropies(pair, table, bins, key_groups)
    mi = max(e["H_T"] - e["H_T_given_Q"], 0.0)
    bias = (e["cells"] - e["classes"] - e["levels"] + 1) / (2 * e["n"])
    return {
        "H_T": e["H_T"] / unit,
        "H_T_given_Q": e["H_T_given_Q"] / unit,
        "MI": mi / unit,
        "NMI": mi / e["H_T"] if e["H_T"] > 0 else 0.0,
        "CPL": -math.expm1(-mi),
        "miller_madow": bias / unit,
        "MI_corrected": max(mi - bias, 0.0) / unit,
        "n_cells": e["cells"],
        "n_classes": e["classes"],
        "n_levels": e["levels"],
        "n": e["n"],
        "n_dropped": e["n_dropped"],
    }


def _both(pair: Pair, table: str) -> bool:
    """Whether the other table of the pair is another table."""
    return pair._given["original"] is not pair._given["released"]


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
def mutual_information(
    pair: Pair,
    *,
    table: str = "released",
    given: str | Sequence[str] = (),
    base: float = 2.0,
    bins: Any = None,
    key_groups: Any = None,
) -> Result:
    """Average information the keys carry about the target, in bits: MI = H(T) - H(T | Q).

    Margins come from the joint counts of one file, so nothing can be inconsistent. NMI = MI / H(T) and CPL = 1 - 2^-MI
    are in the details. Sparse groups bias MI upward: ``miller_madow`` = (cells - classes - target values + 1) / (2 n
    ln 2) is the expected excess when keys and target are unrelated, ``MI_corrected`` takes it off. ``given``
    conditions on further columns: MI(Q; T | Z) = H(T | Z) - H(T | Q, Z).
    """
    unit = _log_base(base)
    conditions = (given,) if isinstance(given, str) else tuple(given)
    figures = _information(pair, table, bins, key_groups, unit)
    details: dict[str, Any] = {**figures, "base": base, "table": table}
    value = figures["MI"]
    spoken_given = ""
    if conditions:
        unknown = [c for c in conditions if c not in pair.columns or c == pair.target]
        if unknown:
            raise InputError(f"given names {unknown[0]!r}, which is no column of both tables beside the target")
        known = _entropies(pair, table, bins, None, conditions)
        finer = _entropies(pair, table, bins, key_groups, (*pair.keys, *(c for c in conditions if c not in pair.keys)))
        value = max(known["H_T_given_Q"] - finer["H_T_given_Q"], 0.0) / unit
        details |= {
            "CMI": value,
            "H_T_given_Z": known["H_T_given_Q"] / unit,
            "H_T_given_QZ": finer["H_T_given_Q"] / unit,
        }
        spoken_given = f" beyond {', '.join(conditions)}"
    elif _both(pair, table):
        other = "original" if table == "released" else "released"
        details[other] = _information(pair, other, bins, key_groups, unit)
    names = {2.0: "bits", math.e: "nats"}
    word = names.get(base, f"units of base {base:g}")
    return Result(
        value=value,
        details=details,
        sentence=(
            f"In {spoken(pair, table)} knowing {spoken_keys(pair)} tells {number(value, 3)} {word} about "
            f"{pair.target}{spoken_given}, of the {number(figures['H_T'], 3)} {word} there are to learn; rare "
            f"groups alone would account for {number(max(figures['miller_madow'], 0.0), 3)}."
        ),
        warnings=continuous_note(pair, str(pair.target), bins),
        plot_data={
            "bits": {
                "figure": ["to learn", "known from the keys", "after the bias term"],
                "value": [figures["H_T"], figures["MI"], figures["MI_corrected"]],
            }
        },
    )


@measure(
    side="disclosure",
    family="information",
    threat="identity",
    better="lower",
    range=(0, None),
    needs=("keys",),
    table="single",
    unit="bits",
    cite="Shannon (1948), self-information of a key combination",
    attacker="the keys of a person",
    caveats="counts one file; a surprising key combination need not be a person's alone in the population",
    group="classes",
    tier="fast",
    advice=PREDICTS,
)
def surprisal(pair: Pair, *, table: str = "released", base: float = 2.0, key_groups: Any = None) -> Result:
    """How much a person's keys narrow the search, in bits: -log2(f / n), averaged over the records.

    f is the number of records with the same keys, n all records. The mean is the entropy of the keys, at most log2(n),
    which a record alone on its keys reaches: then the keys say who it is.
    """
    unit = _log_base(base)
    sizes = sizes_of(pair, table, "level", key_groups=key_groups)
    n = sizes.n
    bits = -np.log(sizes.f / n) / unit
    mean, most = float((bits * sizes.number).sum() / n), math.log(n) / unit

    def records() -> Mapping[str, np.ndarray]:
        local = class_sizes(pair, table, rule=missing_rule(pair, "level"), key_groups=key_groups)
        return {
            "surprisal_key": -np.ma.log(local.records()["fk"] / n) / unit
            if sizes.dropped
            else -np.log(local.records()["fk"] / n) / unit
        }

    word = "bits" if base == 2 else f"units of base {base:g}"
    return Result(
        value=mean,
        details={
            "mean": mean,
            "max": float(bits.max()),
            "log_n": most,
            "share_of_log_n": mean / most if most else 0.0,
            "n_classes": sizes.classes,
            "n": n,
            "n_dropped": sizes.dropped,
            "base": base,
            "table": table,
        },
        sentence=(
            f"In {spoken(pair, table)} knowing {spoken_keys(pair)} narrows the search by {number(mean, 3)} {word} "
            f"on average, of the {number(most, 3)} it takes to single out one of {n:,} records."
        ),
        warnings=missing_notes(sizes),
        records=records,
        flag="surprisal_key",
    )


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
    pair: Pair, *, table: str = "released", base: float = 2.0, bins: Any = None, key_groups: Any = None
) -> Result:
    """Most information about the target that one key combination gives away, in bits: max over q of H(T) - H(T | Q =
    q).

    At least the mutual information, at most H(T), which every group with a single target value reaches.
    ``maximal_leakage`` is log2 of the sum over q of max over t of P(q | t): how many times likelier the best guess of
    any function of the target becomes.
    """
    unit = _log_base(base)
    side_name = "st" if table == "released" else "dt"
    own = "s" if table == "released" else "d"
    likeliest = (nw.col(own).cast(nw.Float64) / nw.col(side_name).cast(nw.Float64)).max()
    classes = _target_classes(pair, table, bins, key_groups, likeliest=likeliest)
    figures = _information(pair, table, bins, key_groups, unit)
    f = nw.col("f")
    sums = classes.totals(
        least=ENTROPY.min(),
        likeliest=nw.col("likeliest").sum(),
        certain=nw.when(nw.col("kinds") == 1).then(f).otherwise(nw.lit(0)).sum(),
    )
    value = figures["H_T"] - max(float(sums["least"]), 0.0) / unit
    certain = float(sums["certain"]) / classes.n

    def records() -> Mapping[str, np.ndarray]:
        local = _target_classes(pair, table, bins, key_groups, in_memory=True)
        return local.records(specific_information=nw.lit(figures["H_T"]) - ENTROPY / unit)

    return Result(
        value=value,
        details={
            "max_specific_information": value,
            "maximal_leakage": max(math.log(float(sums["likeliest"])), 0.0) / unit,
            "H_T": figures["H_T"],
            "MI": figures["MI"],
            "miller_madow": figures["miller_madow"],
            "share_certain": certain,
            "n_classes": figures["n_classes"],
            "n": classes.n,
            "n_dropped": classes.dropped,
            "base": base,
            "table": table,
        },
        sentence=(
            f"In {spoken(pair, table)} the most telling combination of {spoken_keys(pair)} gives away "
            f"{number(value, 3)} of the {number(figures['H_T'], 3)} "
            f"{'bits' if base == 2 else f'units of base {base:g}'} there are to learn about {pair.target}; "
            f"{percent(certain)} of the records are in groups with a single value."
        ),
        warnings=continuous_note(pair, str(pair.target), bins),
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
def positive_disclosure(pair: Pair, *, table: str = "released", bins: Any = None, key_groups: Any = None) -> Result:
    """Largest relative gain of belief in a target value from learning the keys: max over q and t of (P(t | q) - P(t))
    / P(t).

    1 means that for some group some value has become twice as likely. Prior and posterior are shares in the same file.
    """
    own, margin = ("s", "st") if table == "released" else ("d", "dt")
    count, total = nw.col(own).cast(nw.Float64), nw.col(margin).cast(nw.Float64)
    classes = _target_classes(pair, table, bins, key_groups, steepest=(count / total).max())
    n = classes.n
    # P(t|q) / P(t) = (c / f) / (margin / n), and f is the same for every cell of the class
    gain = nw.col("steepest") * float(n) / nw.col("f").cast(nw.Float64) - 1.0
    f = nw.col("f")
    sums = classes.totals(
        largest=gain.max(),
        doubled=nw.when(gain > 1 + 1e-12).then(f).otherwise(nw.lit(0)).sum(),
        mean=(gain * f.cast(nw.Float64)).sum(),
    )
    value, doubled = max(float(sums["largest"]), 0.0), int(sums["doubled"])

    def records() -> Mapping[str, np.ndarray]:
        local = _target_classes(pair, table, bins, key_groups, in_memory=True, steepest=(count / total).max())
        return local.records(gain=gain)

    return Result(
        value=value,
        details={
            "PID": value,
            "n_above_1": doubled,
            "share_above_1": doubled / n,
            "mean": float(sums["mean"]) / n,
            "n": n,
            "n_dropped": classes.dropped,
            "table": table,
        },
        sentence=(
            f"In {spoken(pair, table)} learning {spoken_keys(pair)} makes some value of {pair.target} up to "
            f"{number(1 + value, 3)} times as likely as before; {percent(doubled / n)} of the records are in "
            "groups where a value more than doubles."
        ),
        warnings=continuous_note(pair, str(pair.target), bins),
        records=records,
        flag="gain",
    )
