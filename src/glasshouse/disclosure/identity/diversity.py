"""l-diversity: how varied the target is among records of one file with equal keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import narwhals as nw
import numpy as np

from glasshouse.core.advice import GIVES_AWAY
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.core.words import plural
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.tables import STRUCTURE, spoken, structure_note
from glasshouse.disclosure.roles import CellFrame, Groups, KeyGroups, continuous_note, spoken_keys
from glasshouse.engines.cells.classes import Classes, Side, target_classes
from glasshouse.engines.cells.grouping import as_grouping

TOLERANCE = 1e-12
SIZE = nw.col("f").cast(nw.Float64)
ENTROPY = SIZE.log() - nw.col("clogc") / SIZE  # H = ln f - sum(c ln c) / f
GOOD = 3
LIMITS = f"a group of one record always holds one value; {STRUCTURE}"


def _running(cells: CellFrame, ours: Side, by: tuple[str, ...]) -> CellFrame:
    """Sums of the j rarest values of a class, r_l + ... + r_m with l = m - j + 1, as a running sum of its counts."""
    own = {"original": "d", "released": "s"}[ours.table]
    return cells.with_columns(
        tail=ours.own.cum_sum().over(*by, order_by=own).cast(nw.Int64),
        largest=ours.own.max().over(*by),
        total=ours.own.sum().over(*by).cast(nw.Int64),
    )


def _diverse(
    pair: Pair, table: str, target: str, c: float, bins: Groups, key_groups: KeyGroups, in_memory: bool = False
) -> Classes:
    holds = (nw.col("largest").cast(nw.Float64) < c * nw.col("tail").cast(nw.Float64)) & (
        nw.col("tail") < nw.col("total")
    )
    return target_classes(
        pair,
        table,
        target,
        key_groups=key_groups,
        target_group=as_grouping(pair, target, bins, table),
        in_memory=in_memory,
        prepare=_running,
        # tails shrink as l grows, so the levels that hold are 2, ..., L and counting them gives L
        recursive=holds.cast(nw.Int64).sum() + 1,
    )


class Diversity(NamedTuple):
    """How varied one target is inside the key classes: the least varied class, and the records below l."""

    distinct: int
    entropy: float  # in nats
    recursive: int
    few_distinct: int
    low_entropy: int
    dominated: int
    single: int
    classes: int
    n: int
    dropped: int

    @property
    def entropy_l(self) -> float:
        """Equally frequent values that would have this entropy."""
        return math.exp(self.entropy)

    def details(self, l: int) -> dict[str, float]:
        """The figures under the names results show them by."""
        return {
            "distinct_min": self.distinct,
            "entropy_min": self.entropy_l,
            "recursive_min": self.recursive,
            "distinct_l": self.distinct,
            "entropy_l": self.entropy_l,
            "entropy_nats": self.entropy,
            "n_violating_distinct": self.few_distinct,
            "n_violating_entropy": self.low_entropy,
            "n_violating_recursive": self.dominated,
            f"n_violating_distinct_l{l}": self.few_distinct,
            f"n_violating_entropy_l{l}": self.low_entropy,
            "share_violating": self.few_distinct / self.n,
            "n_violating_single": self.single,
            "n_classes": self.classes,
            "n": self.n,
            "n_dropped": self.dropped,
        }


@measure(
    side="disclosure",
    family="identity",
    threat="attribute",
    better="higher",
    range=(1, None),
    needs=("keys", "targets"),
    table="single",
    unit="values",
    limit=Limit(
        "diversity",
        warn=GOOD,
        fail=2,
        why="l = 1 none, 2 minimum, 3 and more good (riskutility); all values there are is as good",
    ),
    figures=("diversity",),
    cite="Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007), l-diversity",
    attacker="the keys of somebody in the file",
    caveats=LIMITS,
    group="classes",
    title="l-diversity",
    tier="fast",
    advice=GIVES_AWAY,
    riskutility=("l-Diversity", lambda r: {"l": r.value}),
)
def l_diversity(
    pair: Pair,
    *,
    table: str = "released",
    l: int = 2,
    c: float = 2.0,
    bins: Groups = None,
    key_groups: KeyGroups = None,
) -> Result:
    """Fewest different target values in a group of records with equal keys (distinct, entropy and recursive
    l-diversity).

    Where everybody with the same keys has the same target value, knowing the keys is knowing the value, even in a
    large group.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one or several targets. A missing target is a value of its own, and a missing key
        equals only a missing key.
    table : {"released", "original"}, default "released"
        The table whose groups are counted.
    l : int, default 2
        Groups with fewer than l values violate l-diversity; only the counts of violations depend on it.
    c : float, default 2.0
        The constant of recursive l-diversity: how far the most frequent value may outweigh the rare ones.
    bins : int, sequence of float or None, default None
        Groups of a numeric target: a number of quantile groups or the breaks. None counts every value.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the smallest number of distinct values over groups and targets; there is no baseline. ``details``
        hold the smallest ``entropy_min`` and ``recursive_min``, the records below l by each definition
        (``n_violating_*``), those of them alone in their group (``n_violating_single``), the same per target under
        its name, and with several targets ``joint``: each target inside groups that also agree on the others, the
        least of them. ``records`` give ``distinct``, ``entropy`` and ``recursive`` of a record's group, and
        ``violating``.

    Notes
    -----
    Per group with counts r_1 >= r_2 >= ... >= r_m and shares p = r / sum r::

        distinct  = m
        entropy   = exp(-sum p ln p)
        recursive = largest l >= 2 with r_1 < c (r_l + ... + r_m), else 1

    and each figure is the smallest over groups. Entropy l-diversity implies distinct l-diversity.

    References
    ----------
    .. [1] Machanavajjhala, A., Kifer, D., Gehrke, J. and Venkitasubramaniam, M. (2007), L-diversity: privacy beyond
       k-anonymity. ACM Transactions on Knowledge Discovery from Data 1(1).

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.l_diversity(gh.data.load("health").pair())
    >>> result.value, round(result.details["share_violating"], 3)
    (1, 0.358)
    """
    if l < 1:
        raise InputError(f"l={l}: l-diversity asks for at least l = 1 value")
    if c <= 0:
        raise InputError(f"c={c}: the constant of recursive l-diversity must be positive")
    figures = {t: _diversity(_diverse(pair, table, t, c, bins, key_groups), l) for t in pair.targets}
    worst = min(figures, key=lambda t: (figures[t].distinct, -figures[t].few_distinct))
    least = figures[worst]
    details: dict[str, object] = {
        **least.details(l),
        "l": l,
        "c": c,
        "table": table,
        **{t: found.details(l) for t, found in figures.items()},
    }
    if len(pair.targets) > 1:
        details["joint"] = _joint(pair, table, l, c, bins, key_groups)
    n = least.n

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

    every = 0 if bins is not None else len(np.unique(pair.codes(worst).of(table)))
    return Result(
        value=least.distinct,
        # a target with two values cannot be more varied than two
        figures={"diversity": max(least.distinct, GOOD) if 2 <= every == least.distinct else least.distinct},
        details=details,
        sentence=(
            f"In {spoken(pair, table)} the least varied group with equal {spoken_keys(pair)} holds "
            f"{number(least.distinct)} {plural(least.distinct, 'value')} of {worst}; "
            f"{percent(least.few_distinct / n)} of the records ({least.few_distinct:,} of "
            f"{n:,}) are in groups with fewer than {l}."
        ),
        warnings=[*structure_note(pair, table), *(w for t in pair.targets for w in continuous_note(pair, t, bins))],
        records=records,
        flag="violating",
        plot_data={
            "below_l": {
                "l": l,
                "definition": ["distinct", "entropy", "recursive"],
                "records": [least.few_distinct, least.low_entropy, least.dominated],
            }
        },
    )


def _least(columns: list[np.ndarray]) -> np.ndarray:
    least = columns[0]
    for column in columns[1:]:
        least = np.ma.minimum(least, column) if np.ma.isMaskedArray(least) else np.minimum(least, column)
    return least


def _diversity(classes: Classes, l: int) -> Diversity:
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
    return Diversity(
        distinct=int(sums["distinct"]),
        entropy=max(float(sums["entropy"]), 0.0),
        recursive=int(sums["recursive"]),
        few_distinct=int(sums["few"]),
        low_entropy=int(sums["low"]),
        dominated=int(sums["dominated"]),
        single=int(sums["single"]),
        classes=int(sums["classes"]),
        n=classes.n,
        dropped=classes.dropped,
    )


def _joint(pair: Pair, table: str, l: int, c: float, bins: Groups, key_groups: KeyGroups) -> dict[str, float]:
    """Several targets at once: each one's diversity in classes that also agree on the other targets, the minimum over
    targets.
    """
    finer = []
    for target in pair.targets:
        others = tuple(t for t in pair.targets if t != target)
        wider = pair.replace(keys=(*pair.keys, *others), target=target)
        finer.append(_diversity(_diverse(wider, table, target, c, bins, key_groups), l))
    return {
        "distinct_min": min(f.distinct for f in finer),
        "entropy_min": min(f.entropy_l for f in finer),
        "recursive_min": min(f.recursive for f in finer),
    }
