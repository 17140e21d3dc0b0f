"""synthpop's one-way and two-way checks: is the disclosure about a level everybody has, or one that a single key
gives away?"""

from __future__ import annotations

from typing import TypedDict

import narwhals as nw
import polars as pl

from glasshouse.disclosure.attribution.figures import CORRECT, D
from glasshouse.disclosure.roles import target_part
from glasshouse.engines.cells.counting import Cells, Part


class OneWay(TypedDict):
    """A target level that dominates the disclosive records, under synthpop's names."""

    Level: str
    All: int
    PctLevelAll: float
    totalDisclosive: int
    nLevelDis: int
    PctLevelDis: float


class TwoWay(TypedDict):
    """A key level that nearly gives a target level away, under synthpop's names."""

    target_key_levs: str
    npairs: int
    key: str
    key_target_total: int
    key_total: int
    PctTargetKeyLevel: float


def spoken(part: Part, stored: object) -> str:
    """A level as text; the missing level has synthpop's name."""
    label = part.label(stored)
    if label is None:
        return "Missing"
    return f"{label:.15g}" if isinstance(label, float) else str(label)


def one_way(cells: Cells, count: float, share: float) -> list[OneWay]:
    """The target level that dominates the disclosive records.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``.
    count, share : float
        A level is named when more than ``count`` disclosive records, and above ``share`` of them, have it.

    Returns
    -------
    list of OneWay
        One finding, or none.
    """
    od, target = nw.col("od"), target_part(cells)
    disclosive = nw.when(CORRECT).then(od).otherwise(nw.lit(0)).sum()
    levels = cells.grouped({"level": target.value}, None, n=disclosive, everyone=od.sum())
    total, everyone = int(levels["n"].sum() or 0), int(levels["everyone"].sum() or 0)
    if total == 0:
        return []
    worst = levels.sort("n", "level", descending=[True, False]).row(0, named=True)
    if not (worst["n"] > count and worst["n"] / total > share + 1e-12):
        return []
    return [
        OneWay(
            Level=spoken(target, worst["level"]),
            All=everyone,
            PctLevelAll=float(worst["everyone"]) / everyone,
            totalDisclosive=total,
            nLevelDis=int(worst["n"]),
            PctLevelDis=float(worst["n"]) / total,
        )
    ]


def two_way(cells: Cells, count: float, share: float) -> list[TwoWay]:
    """Pairs of a target level and a key level where the key level alone nearly gives the target away.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``.
    count, share : float
        Pairs behind disclosive cells of more than ``count`` records are named when above ``share`` of the original
        records with the key level have the target level.

    Returns
    -------
    list of TwoWay
        Most records first, then in the order of the keys.
    """
    od, target = nw.col("od"), target_part(cells)
    names = {key.name: f"k_{i}" for i, key in enumerate(cells.keys)}
    large = cells.listed(
        CORRECT & (od > count), n=od, t_=target.value, **{names[key.name]: key.value for key in cells.keys}
    )
    findings: list[TwoWay] = []
    for key in cells.keys if large.height else ():
        pairs = large.rename({names[key.name]: "k_"}).group_by("t_", "k_").agg(npairs=pl.col("n").sum())
        totals = cells.grouped({"t_": target.value, "k_": key.value}, D > 0, key_target_total=D.sum())
        by_key = totals.group_by("k_").agg(pl.col("key_target_total").sum().alias("key_total"))
        joined = pairs.join(totals, on=["t_", "k_"], how="left", nulls_equal=True).join(
            by_key, on="k_", how="left", nulls_equal=True
        )
        for row in joined.iter_rows(named=True):
            known = float(row["key_target_total"]) / float(row["key_total"])
            if known > share + 1e-12:
                findings.append(
                    TwoWay(
                        target_key_levs=f"{spoken(target, row['t_'])}|{spoken(key, row['k_'])}",
                        npairs=int(row["npairs"]),
                        key=key.name,
                        key_target_total=int(row["key_target_total"]),
                        key_total=int(row["key_total"]),
                        PctTargetKeyLevel=known,
                    )
                )
    order = {key.name: i for i, key in enumerate(cells.keys)}
    return sorted(findings, key=lambda f: (-f["npairs"], order[f["key"]], f["target_key_levs"]))
