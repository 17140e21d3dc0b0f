"""Attribute disclosure inside one file: how varied the target is among records with equal keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np

from glasshouse.core.advice import STANDS_ALONE
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.closeness import class_distances
from glasshouse.disclosure.identity.tables import STRUCTURE, spoken, spoken_keys, structure_note
from glasshouse.engines.cells.classes import Classes, Side, target_classes
from glasshouse.engines.cells.counting import MANY_LEVELS
from glasshouse.engines.cells.grouping import Grouping, as_grouping

TOLERANCE = 1e-12
SIZE = nw.col("f").cast(nw.Float64)
ENTROPY = SIZE.log() - nw.col("clogc") / SIZE  # H = ln f - sum(c ln c) / f
LIMITS = f"a group of one record always holds one value; {STRUCTURE}"


def _running(cells: nw.LazyFrame[Any], ours: Side, by: tuple[str, ...]) -> nw.LazyFrame[Any]:
    """Sums of the j rarest values of a class, r_l + ... + r_m with l = m - j + 1, as a running sum of its counts."""
    own = {"original": "d", "released": "s"}[ours.table]
    return cells.with_columns(
        tail=ours.own.cum_sum().over(*by, order_by=own).cast(nw.Int64),
        largest=ours.own.max().over(*by),
        total=ours.own.sum().over(*by).cast(nw.Int64),
    )


def _diverse(
    pair: Pair, table: str, target: str, c: float, bins: Any, key_groups: Any, in_memory: bool = False
) -> Classes:
    holds = (nw.col("largest").cast(nw.Float64) < c * nw.col("tail").cast(nw.Float64)) & (
        nw.col("tail") < nw.col("total")
    )
    return target_classes(
        pair,
        table,
        target,
        key_groups=key_groups,
        target_group=target_grouping(pair, target, bins),
        in_memory=in_memory,
        prepare=_running,
        # tails shrink as l grows, so the levels that hold are 2, ..., L and counting them gives L
        recursive=holds.cast(nw.Int64).sum() + 1,
    )


def target_grouping(pair: Pair, target: str, bins: Any) -> Grouping | None:
    return as_grouping(pair, target, bins)


def continuous_note(pair: Pair, target: str, bins: Any) -> list[str]:
    distinct = pair.n_distinct(target)
    if bins is None and pair.is_numeric(target) and distinct > MANY_LEVELS:
        return [
            f"target {target!r} has {distinct:,} distinct values, each counted as a value of its own; bins=10 "
            "compares ranges instead"
        ]
    return []


@measure(
    side="disclosure",
    family="identity",
    threat="attribute",
    better="higher",
    range=(1, None),
    needs=("keys", "targets"),
    table="single",
    unit="values",
    limit=Limit("value", warn=3, fail=2, why="l = 1 none, 2 minimum, 3 and more good (riskutility)"),
    cite="Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007), l-diversity",
    attacker="the keys of somebody in the file",
    caveats=LIMITS,
    group="classes",
    title="l-diversity",
    tier="fast",
    advice=STANDS_ALONE,
    riskutility=("l-Diversity", lambda r: {"l": r.value}),
)
def l_diversity(
    pair: Pair, *, table: str = "released", l: int = 2, c: float = 2.0, bins: Any = None, key_groups: Any = None
) -> Result:
    """Fewest different target values in a group of records with equal keys (distinct, entropy and recursive
    l-diversity).

    Per class with counts r_1 >= r_2 >= ... >= r_m: distinct = m, entropy = exp(-sum p ln p), recursive = the largest l
    with r_1 < c (r_l + ... + r_m), at least 1. The headline is the smallest distinct. A missing target is a value of
    its own, a missing key equals only a missing key. With several targets each is also looked at inside classes made
    finer by the other targets (``joint``).
    """
    if l < 1:
        raise InputError(f"l={l}: l-diversity asks for at least l = 1 value")
    if c <= 0:
        raise InputError(f"c={c}: the constant of recursive l-diversity must be positive")
    figures = {t: _diversity_figures(_diverse(pair, table, t, c, bins, key_groups), l) for t in pair.targets}
    worst = min(figures, key=lambda t: (figures[t]["distinct_min"], -figures[t]["n_violating_distinct"]))
    least = figures[worst]
    details: dict[str, Any] = {**least, "l": l, "c": c, "table": table, **figures}
    if len(pair.targets) > 1:
        details["joint"] = _joint(pair, table, l, c, bins, key_groups)
    n = least["n"]

    def records() -> Mapping[str, np.ndarray]:
        per_target = {}
        for target in pair.targets:
            local = _diverse(pair, table, target, c, bins, key_groups, in_memory=True)
            per_target[target] = local.records(
                distinct=nw.col("kinds"), entropy=ENTROPY.exp(), recursive=nw.col("recursive")
            )
        found = {
            name: _least([per_target[t][name] for t in pair.targets]) for name in ("distinct", "entropy", "recursive")
        }
        if len(pair.targets) > 1:
            found |= {
                f"{target}_{name}": array for target, columns in per_target.items() for name, array in columns.items()
            }
        return {**found, "violating": found["distinct"] < l}

    of = f" of {worst}" if len(pair.targets) > 1 else f" of {pair.targets[0]}"
    return Result(
        value=least["distinct_min"],
        details=details,
        sentence=(
            f"In {spoken(pair, table)} the least varied group with equal {spoken_keys(pair)} holds "
            f"{number(least['distinct_min'])} value{'' if least['distinct_min'] == 1 else 's'}{of}; "
            f"{percent(least['n_violating_distinct'] / n)} of the records ({least['n_violating_distinct']:,} of "
            f"{n:,}) are in groups with fewer than {l}."
        ),
        warnings=[*structure_note(pair, table), *(w for t in pair.targets for w in continuous_note(pair, t, bins))],
        records=records,
        flag="violating",
    )


def _least(columns: list[np.ndarray]) -> np.ndarray:
    least = columns[0]
    for column in columns[1:]:
        least = np.ma.minimum(least, column) if np.ma.isMaskedArray(least) else np.minimum(least, column)
    return least


def _diversity_figures(classes: Classes, l: int) -> dict[str, Any]:
    """Minima over classes and records in classes below l. The tolerance keeps three equally frequent values 3-diverse
    by entropy.
    """
    f = nw.col("f")

    def records(condition: nw.Expr) -> nw.Expr:
        return nw.when(condition).then(f).otherwise(nw.lit(0)).sum()

    sums = classes.totals(
        distinct=nw.col("kinds").min(),
        entropy=ENTROPY.min(),
        recursive=nw.col("recursive").min(),
        classes=nw.len(),
        few=records(nw.col("kinds") < l),
        low=records(math.log(l) - TOLERANCE > ENTROPY),
        dominated=records(nw.col("recursive") < l),
        single=records((f == 1) & (nw.col("kinds") < l)),
    )
    n = classes.n
    entropy = max(float(sums["entropy"]), 0.0)
    return {
        "distinct_min": int(sums["distinct"]),
        "entropy_min": math.exp(entropy),
        "recursive_min": int(sums["recursive"]),
        "distinct_l": int(sums["distinct"]),
        "entropy_l": math.exp(entropy),
        "entropy_nats": entropy,
        "n_violating_distinct": int(sums["few"]),
        "n_violating_entropy": int(sums["low"]),
        "n_violating_recursive": int(sums["dominated"]),
        f"n_violating_distinct_l{l}": int(sums["few"]),
        f"n_violating_entropy_l{l}": int(sums["low"]),
        "share_violating": sums["few"] / n,
        "n_violating_single": int(sums["single"]),
        "n_classes": int(sums["classes"]),
        "n": n,
        "n_dropped": classes.dropped,
    }


def _joint(pair: Pair, table: str, l: int, c: float, bins: Any, key_groups: Any) -> dict[str, Any]:
    """Several targets at once: each one's diversity in classes that also agree on the other targets, the minimum over
    targets.
    """
    finer = []
    for target in pair.targets:
        others = tuple(t for t in pair.targets if t != target)
        wider = pair.replace(keys=(*pair.keys, *others), target=target)
        finer.append(_diversity_figures(_diverse(wider, table, target, c, bins, key_groups), l))
    return {name: min(f[name] for f in finer) for name in ("distinct_min", "entropy_min", "recursive_min")}


@measure(
    side="disclosure",
    family="identity",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    table="single",
    unit="distance",
    limit=Limit("value", warn=0.2, fail=0.5, why="t = 0.2 (riskutility); 0.5: glasshouse default"),
    cite="Li, Li and Venkatasubramanian (2007), t-closeness",
    attacker="the keys of somebody in the file and the target's overall distribution",
    caveats=f"small groups are far from any distribution by construction; {STRUCTURE}",
    group="classes",
    title="t-closeness",
    tier="fast",
    advice=STANDS_ALONE,
    riskutility=("t-Closeness", lambda r: {"t": r.value}),
)
def t_closeness(
    pair: Pair,
    *,
    table: str = "released",
    t: float = 0.2,
    distance: str = "auto",
    ground: str = "rank",
    bins: Any = None,
    key_groups: Any = None,
) -> Result:
    """Largest distance between the target's distribution in a group with equal keys and its distribution in the whole
    file.

    ``distance="nominal"``: half the sum of |p_t - g_t|, for categories. ``"ordered"``: the earth mover's distance of
    Li et al., values sorted, m distinct ones, sum over i of |P_i - G_i| / (m - 1) with cumulative distributions P and
    G; ``ground="value"`` weighs by the gaps between values instead of ranks. "auto" takes ordered for ordinal and
    numeric columns of the schema. t = the largest distance over classes.
    """
    if not 0 <= t <= 1:
        raise InputError(f"t must be a number between 0 and 1, not {t}")
    if distance not in ("auto", "nominal", "ordered"):
        raise InputError(f"distance={distance!r}: choose 'auto', 'nominal' or 'ordered'")
    if ground not in ("rank", "value"):
        raise InputError(f"ground={ground!r}: choose 'rank' or 'value'")
    target = str(pair.target)
    ordered = distance == "ordered" or (
        distance == "auto" and pair.schema[target].kind in ("ordinal", "numeric", "integer", "datetime")
    )
    if ground == "value" and (not pair.is_numeric(target) or not ordered or bins is not None):
        raise InputError(
            f"ground='value' needs a numeric target measured by the ordered distance; {target!r} is "
            f"{pair.schema[target].kind}"
        )
    made = class_distances(pair, table, target, ordered, ground, target_grouping(pair, target, bins), key_groups)
    worst, n = made.largest, made.n
    details: dict[str, Any] = {
        "t_achieved": worst,
        "t": t,
        "distance": "ordered" if ordered else "nominal",
        "n_classes": made.n_classes,
        "n": n,
        "n_dropped": made.dropped,
        "table": table,
        **made.violations(t),
        "quantiles": made.quantiles,
    }
    violating = details["n_violating"]
    details[f"n_violating_{t:g}".replace(".", "p")] = violating

    def records() -> Mapping[str, np.ndarray]:
        local = class_distances(
            pair, table, target, ordered, ground, target_grouping(pair, target, bins), key_groups, in_memory=True
        )
        found = local.records()
        return {"distance": found, "violating": found > t + TOLERANCE}

    missing = (
        [f"{made.without:,} records have no value of {target!r}, which has no place in an order; they were left out"]
        if made.without
        else []
    )
    return Result(
        value=worst,
        details=details,
        sentence=(
            f"In {spoken(pair, table)} the distribution of {target} among records with equal {spoken_keys(pair)} "
            f"differs from the overall one by up to {number(worst, 3)}; {percent(violating / n)} of the records "
            f"({violating:,} of {n:,}) are in groups beyond {number(t)}."
        ),
        warnings=[
            *structure_note(pair, table),
            *continuous_note(pair, target, bins)[: 0 if ordered else None],
            *missing,
        ],
        records=records,
        flag="violating",
        rank="distance",
    )
