"""synthpop's one-way and two-way checks: is the disclosure about a level everybody has, or one that a single key
gives away?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

import narwhals as nw
import polars as pl

from glasshouse.core.result import Result
from glasshouse.core.tabular import text_table
from glasshouse.core.words import visible
from glasshouse.disclosure.attribution.figures import CORRECT, D
from glasshouse.disclosure.roles import target_part
from glasshouse.engines.cells.counting import Cells, Part

Level: TypeAlias = object  # a value of a column, in the user's own type


class OneWay(TypedDict):
    """A target level that dominates the disclosive records, under synthpop's names; no key makes it so."""

    key: None
    key_level: None
    target_level: Level

    Level: str
    All: int
    PctLevelAll: float
    totalDisclosive: int
    nLevelDis: int
    PctLevelDis: float


class TwoWay(TypedDict):
    """A key level that nearly gives a target level away, under synthpop's names."""

    key: str
    key_level: Level
    target_level: Level
    target_key_levs: str
    npairs: int
    key_target_total: int
    key_total: int
    PctTargetKeyLevel: float


Check: TypeAlias = OneWay | TwoWay


class Checks(list[Check]):
    """What the one-way and two-way checks found; ``exclude_pairs=`` takes it as it is.

    Each finding is a mapping with ``key`` (None for a one-way check: the target level as such), ``key_level`` and
    ``target_level`` (None where the value is missing) and synthpop's counts. They name people's values: for the
    custodian.
    """

    @classmethod
    def of_releases(cls, each: Sequence[Sequence[Check]]) -> Checks:
        """What was found in any of several releases, once.

        Parameters
        ----------
        each : sequence of sequence of finding
            Per release what was found.

        Returns
        -------
        Checks
            In the order of the releases, one-way checks first.
        """
        found: dict[tuple[Level, ...], Check] = {}
        for check in sorted((c for one in each for c in one), key=lambda c: c["key"] is not None):
            found.setdefault((check["key"], check["key_level"], check["target_level"]), check)
        return cls(found.values())

    def rows(self) -> list[dict[str, object]]:
        """The findings alike: which check, key, levels as text, the disclosive records and the share."""
        made: list[dict[str, object]] = []
        for check in self:
            one = check["key"] is None
            kind, level = ("one-way", None) if one else ("two-way", _said(check["key_level"]))
            told = {
                "check": kind,
                "key": check["key"],
                "key_level": level,
                "target_level": _said(check["target_level"]),
            }
            counted: Mapping[str, object] = {**check}
            records, share = ("nLevelDis", "PctLevelDis") if one else ("npairs", "PctTargetKeyLevel")
            made.append({**told, "records": counted[records], "share": counted[share]})
        return made

    def to_frame(self) -> pl.DataFrame:
        """One row per finding.

        Returns
        -------
        polars.DataFrame
            check, key, key_level and target_level as text, records and share.
        """
        kinds = {"check": pl.String, "key": pl.String, "key_level": pl.String, "target_level": pl.String}
        return pl.DataFrame(self.rows(), schema={**kinds, "records": pl.Int64, "share": pl.Float64})

    def __repr__(self) -> str:
        titles = {name: name.replace("_", " ") for name in ("check", "key", "key_level", "target_level", "records")}
        rows = self.rows()
        return visible("\n".join(text_table(rows, {**titles, "share": "share"}))) if rows else "no checks needed"


def _said(label: Level) -> str:
    """A level as text; the missing level has synthpop's name."""
    if label is None:
        return "Missing"
    return f"{label:.15g}" if isinstance(label, float) else str(label)


def spoken(part: Part, stored: object) -> str:
    """A level as text; the missing level has synthpop's name."""
    return _said(part.label(stored))


class AttributionResult(Result):
    """synthpop's table for one target.

    Attributes
    ----------
    checks
        What the one-way and two-way checks found, in any release; ``exclude_pairs=result.checks`` leaves it out.
    """

    checks: Checks


class AllTargetsResult(Result):
    """synthpop's table for every target.

    Attributes
    ----------
    checks
        By target what its checks found, in any release; targets without a finding are left out.
        ``exclude_pairs=result.checks`` leaves it out.
    """

    checks: dict[str, Checks]


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
            key=None,
            key_level=None,
            target_level=target.label(worst["level"]),
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
                        key=key.name,
                        key_level=key.label(row["k_"]),
                        target_level=target.label(row["t_"]),
                        target_key_levs=f"{spoken(target, row['t_'])}|{spoken(key, row['k_'])}",
                        npairs=int(row["npairs"]),
                        key_target_total=int(row["key_target_total"]),
                        key_total=int(row["key_total"]),
                        PctTargetKeyLevel=known,
                    )
                )
    order = {key.name: i for i, key in enumerate(cells.keys)}
    return sorted(findings, key=lambda f: (-f["npairs"], order[f["key"]], f["target_key_levs"]))
