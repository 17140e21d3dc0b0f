"""Entropies of the target and of the target given the keys, from the counts of one file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import narwhals as nw
import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.diversity import ENTROPY
from glasshouse.disclosure.roles import Groups, KeyGroups
from glasshouse.engines.cells.classes import Classes, target_classes
from glasshouse.engines.cells.grouping import as_grouping

SHANNON = "Shannon (1948); Miller (1955) for the bias term; Issa, Wagner and Kamath (2020) for maximal leakage"
KNOWS = "the keys of a person, and how the target is distributed inside each group of equal keys"
LIMITS = (
    "rare key combinations inflate every figure: read the bias term; one file alone does not say whom the "
    "information is about"
)


def nats_per_unit(base: float) -> float:
    """Nats in one unit of information with logarithms to ``base``, which must be above 1.

    Parameters
    ----------
    base : float
        Base of the logarithm, above 1.

    Returns
    -------
    float
    """
    if not base > 1:
        raise InputError(f"base={base}: the base of the logarithm must be above 1")
    return math.log(base)


def unit_name(base: float) -> str:
    """What that unit is called.

    Parameters
    ----------
    base : float
        Base of the logarithm.

    Returns
    -------
    str
        "bits", "nats", or "units of base ...".
    """
    return {2.0: "bits", math.e: "nats"}.get(base, f"units of base {base:g}")


def classes_of(
    pair: Pair,
    table: str,
    bins: Groups,
    key_groups: KeyGroups,
    in_memory: bool = False,
    keys: Sequence[str] | None = None,
    **figures: nw.Expr,
) -> Classes:
    """The key classes of one table with the target inside each.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target.
    table : {"released", "original"}
        The table counted.
    bins, key_groups : int, sequence of float, mapping or None
        Groups of a numeric target and of numeric keys.
    in_memory : bool, default False
        Brings a lazy table to this machine, which figures per record need.
    keys : sequence of str or None, default None
        Other columns in place of the pair's keys.
    **figures : Expr
        Further figures per class.

    Returns
    -------
    Classes
    """
    target = pair.require_target()
    return target_classes(
        pair,
        table,
        target,
        key_groups=key_groups,
        target_group=as_grouping(pair, target, bins, table),
        in_memory=in_memory,
        keys=keys,
        prepare=None,
        added=None,
        **figures,
    )


class Entropies(NamedTuple):
    """H(T) and H(T | Q) in nats, and the cells, classes and target values behind them."""

    target: float
    given_keys: float
    cells: int
    classes: int
    levels: int
    n: int
    dropped: int


def entropies(
    pair: Pair, table: str, bins: Groups, key_groups: KeyGroups, keys: Sequence[str] | None = None
) -> Entropies:
    """Entropy of the target, alone and given the keys.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target.
    table : {"released", "original"}
        The table counted.
    bins, key_groups : int, sequence of float, mapping or None
        Groups of a numeric target and of numeric keys.
    keys : sequence of str or None, default None
        Other columns in place of the pair's keys.

    Returns
    -------
    Entropies

    Notes
    -----
    H(T | Q) = sum_q (f_q / n) ln f_q - (1/n) sum c ln c over the cells; the target's own entropy needs its margin
    only. Margins come from the joint counts, so nothing can be inconsistent.
    """
    classes = classes_of(pair, table, bins, key_groups, keys=keys)
    f = nw.col("f").cast(nw.Float64)
    inner = classes.totals(cells=nw.col("kinds").sum(), classes=nw.len())
    inner |= classes.sums(given=f * ENTROPY)
    side, n = classes.side, classes.n
    margin = (
        classes._cells.grouped({"count": side.margin, "t": nw.col("t")}, side.own > 0, here=side.own.sum())["count"]
        .to_numpy()
        .astype(float)
    )
    shares = margin / n
    return Entropies(
        target=float(-(shares * np.log(shares)).sum()),
        given_keys=max(float(inner["given"]) / n, 0.0),
        cells=int(inner["cells"]),
        classes=int(inner["classes"]),
        levels=len(margin),
        n=n,
        dropped=classes.dropped,
    )


class Information(NamedTuple):
    """Mutual information of keys and target and its relatives; entropies in the unit asked for."""

    target: float
    given_keys: float
    mutual: float
    normalised: float
    leaked: float
    bias: float
    corrected: float
    counts: Entropies

    def details(self) -> dict[str, float]:
        """The figures under the names results show them by."""
        return {
            "H_T": self.target,
            "H_T_given_Q": self.given_keys,
            "MI": self.mutual,
            "NMI": self.normalised,
            "CPL": self.leaked,
            "miller_madow": self.bias,
            "MI_corrected": self.corrected,
            "n_cells": self.counts.cells,
            "n_classes": self.counts.classes,
            "n_levels": self.counts.levels,
            "n": self.counts.n,
            "n_dropped": self.counts.dropped,
        }


def information(pair: Pair, table: str, bins: Groups, key_groups: KeyGroups, unit: float) -> Information:
    """Mutual information of keys and target in one table.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target.
    table : {"released", "original"}
        The table counted.
    bins, key_groups : int, sequence of float, mapping or None
        Groups of a numeric target and of numeric keys.
    unit : float
        Nats in one unit.

    Returns
    -------
    Information
    """
    e = entropies(pair, table, bins, key_groups)
    mutual = max(e.target - e.given_keys, 0.0)
    bias = (e.cells - e.classes - e.levels + 1) / (2 * e.n)
    return Information(
        target=e.target / unit,
        given_keys=e.given_keys / unit,
        mutual=mutual / unit,
        normalised=mutual / e.target if e.target > 0 else 0.0,
        leaked=-math.expm1(-mutual),
        bias=bias / unit,
        corrected=max(mutual - bias, 0.0) / unit,
        counts=e,
    )
