"""The figures of attribute disclosure as sums over the cell table (Raab, Nowok and Dibben 2025).

Whether a cell is disclosive is decided on the full counts; exclusions only take counts away afterwards. Denominators
are always all records. Names are those of the paper: d and s are counts in the original and in the release, q a key
combination, t a target value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict

import narwhals as nw
import numpy as np

from glasshouse.engines.cells.counting import Cells

D, S = nw.col("d"), nw.col("s")
ORIGINAL_UNANIMOUS = nw.col("nd") == 1
RELEASED_UNANIMOUS = nw.col("ns") == 1
FOUND = nw.col("sq") > 0
CORRECT = RELEASED_UNANIMOUS & (S > 0)
STEPS = ("excluded_target", "missing_target", "missing_in_keys", "set_to_exclude", "over_denom_lim")


class Shares(TypedDict):
    """Every figure of synthpop's disclosure table as a share, and baselines; None where nothing could be tested."""

    UiO: float
    UiS: float
    UiOiS: float
    repU: float
    Dorig: float
    Dsyn: float
    iS: float
    DiS: float
    DiSCO: float
    DiSDiO: float
    max_denom: int
    mean_denom: float | None
    baseCAPd: float
    CAPd: float
    CAPs: float
    DCAP: float
    TCAP: float | None
    tcap_certain: float | None
    tcap_conditional: float | None
    cap_matched: float | None
    base_cross: float
    base_mode_original: float
    base_mode_released: float
    chance: float
    exact_cell_hits: float
    original_certain_hits: float
    DiSCO_weighted: NotRequired[float | None]
    DCAP_weighted: NotRequired[float | None]


class Sums(TypedDict):
    """Records behind the shares: all, in both tables, then by what the release says about them."""

    n: int
    m: int
    dorig: int
    dsyn: int
    found: int
    found_left: int
    dis: int
    disco: int
    disdio: int
    dcap2: float


class Figures(NamedTuple):
    """Shares, and the sums that intervals and tests need."""

    shares: Shares
    sums: Sums


@dataclass(frozen=True)
class Exclusions:
    """What everybody knows, taken out of the counts in synthpop's order; each step counts what the earlier ones left.

    Attributes
    ----------
    steps
        Conditions on cells: excluded target levels, missing target, missing keys, pairs of a key and a target level.
    limit
        Cells with more records than this are left out too; None for no limit.
    """

    steps: tuple[nw.Expr | None, ...] = (None, None, None, None)
    limit: int | None = None

    @property
    def none(self) -> bool:
        """Whether nothing is taken out."""
        return self.limit is None and all(step is None for step in self.steps)

    def step(self) -> nw.Expr:
        """0 for a cell that stays, else the number of the first step that removes it."""
        code: nw.Expr = nw.lit(0)
        for number in range(len(self.steps), 0, -1):
            condition = self.steps[number - 1]
            if condition is not None:
                code = nw.when(condition).then(nw.lit(number)).otherwise(code)
        return code


def with_exclusions(cells: Cells, exclusions: Exclusions) -> Cells:
    """The cells with what is left after exclusion.

    Parameters
    ----------
    cells : Cells
        A cell table with a target.
    exclusions : Exclusions
        What is taken out.

    Returns
    -------
    Cells
        With ``od`` and ``os`` per cell, ``odq`` and ``osq`` per class, and ``step``, the exclusion that took a cell.
    """
    if exclusions.none:
        return cells.extended(od=D, os=S, odq=nw.col("dq"), osq=nw.col("sq"), step=nw.lit(0))
    stays = nw.col("step") == 0
    few_d = stays if exclusions.limit is None else stays & (exclusions.limit >= D)
    few_s = stays if exclusions.limit is None else stays & (exclusions.limit >= S)
    left = cells.extended(step=exclusions.step()).extended(
        od=nw.when(few_d).then(D).otherwise(nw.lit(0)), os=nw.when(few_s).then(S).otherwise(nw.lit(0))
    )
    return left.extended(
        odq=nw.col("od").sum().over(*cells.by).cast(nw.Int64), osq=nw.col("os").sum().over(*cells.by).cast(nw.Int64)
    )


def count(condition: nw.Expr) -> nw.Expr:
    """Number of cells that meet a condition."""
    return condition.cast(nw.Int64).sum()


def within(figure: nw.Expr, condition: nw.Expr) -> nw.Expr:
    """Sum of a whole figure over the cells that meet a condition."""
    return only(figure, condition).sum()


def only(figure: nw.Expr, condition: nw.Expr) -> nw.Expr:
    """A figure in the cells that meet a condition, 0 in the others."""
    return nw.when(condition).then(figure).otherwise(nw.lit(0))


def ratio(above: nw.Expr, below: nw.Expr) -> nw.Expr:
    """above / below where below is positive, else 0."""
    return nw.when(below > 0).then(above.cast(nw.Float64) / below.cast(nw.Float64)).otherwise(nw.lit(0.0))


def attribution_figures(cells: Cells, limit: int | None = None) -> Figures:
    """Every figure of synthpop's disclosure table, from a cell table with exclusions applied.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``.
    limit : int or None, default None
        The denominator limit those exclusions hold, so that luck is counted over the same cells.

    Returns
    -------
    Figures
    """
    od, os, odq, osq = (nw.col(c) for c in ("od", "os", "odq", "osq"))
    sums = cells.totals(
        uio=count((od == 1) & (odq == 1)),
        uis=count((os == 1) & (osq == 1)),
        uiois=count((od == 1) & (odq == 1) & FOUND),
        repu=count((od == 1) & (odq == 1) & (osq == 1)),
        dorig=within(od, ORIGINAL_UNANIMOUS),
        dsyn=within(os, RELEASED_UNANIMOUS),
        found=within(od, FOUND),
        dis=within(od, RELEASED_UNANIMOUS),
        disco=within(od, CORRECT),
        disdio=within(od, CORRECT & ORIGINAL_UNANIMOUS),
        disco_cells=count(CORRECT & (od > 0)),
        max_denom=nw.when(CORRECT).then(od).otherwise(nw.lit(0)).max(),
        found_left=within(od, osq > 0),
        proportional=(D * nw.col("dt")).sum(),
        cross=(D * nw.col("st")).sum(),
        mode_original=nw.col("dt").max(),
        mode_released=nw.col("st").max(),
        lucky=within((nw.col("dq") * nw.col("dt")).cast(nw.Float64), CORRECT & (nw.col("step") == 0)),
        exact_hits=within(S, D > 0),
        certain_hits=within(D, ORIGINAL_UNANIMOUS & (S > 0)),
        released_found=within(S, nw.col("dq") > 0),
    )
    sums |= cells.sums(
        capd=ratio(od * od, odq),
        caps=ratio(os * os, osq),
        dcap=ratio(od * os, osq),
        dcap2=od.cast(nw.Float64) * ratio(os, osq) * ratio(os, osq),
    )
    n, m = cells.n_original, cells.n_released
    shares: Shares = {
        "UiO": sums["uio"] / n,
        "UiS": sums["uis"] / m,
        "UiOiS": sums["uiois"] / n,
        "repU": sums["repu"] / n,
        "Dorig": sums["dorig"] / n,
        "Dsyn": sums["dsyn"] / m,
        "iS": sums["found"] / n,
        "DiS": sums["dis"] / n,
        "DiSCO": sums["disco"] / n,
        "DiSDiO": sums["disdio"] / n,
        "max_denom": sums["max_denom"],
        "mean_denom": part(sums["disco"], sums["disco_cells"]),
        "baseCAPd": sums["proportional"] / n**2,
        "CAPd": sums["capd"] / n,
        "CAPs": sums["caps"] / m,
        "DCAP": sums["dcap"] / n,
        "TCAP": part(sums["disco"], sums["found_left"]),
        "tcap_certain": part(sums["disdio"], sums["found_left"]),
        "tcap_conditional": part(sums["disco"], sums["dis"]),
        "cap_matched": part(sums["dcap"], sums["found_left"]),
        "base_cross": sums["cross"] / (n * m),
        "base_mode_original": sums["mode_original"] / n,
        "base_mode_released": sums["mode_released"] / m,
        "chance": sums["lucky"] / n**2,
        "exact_cell_hits": sums["exact_hits"] / m,
        "original_certain_hits": sums["certain_hits"] / n,
    }
    if limit is not None:
        shares["chance"] = lucky_below(cells, limit)
    if cells.weighted:
        shares["DiSCO_weighted"], shares["DCAP_weighted"] = weighted_figures(cells)
    return Figures(
        shares,
        Sums(
            n=n,
            m=m,
            dorig=sums["dorig"],
            dsyn=sums["dsyn"],
            found=sums["found"],
            found_left=sums["found_left"],
            dis=sums["dis"],
            disco=sums["disco"],
            disdio=sums["disdio"],
            dcap2=sums["dcap2"],
        ),
    )


def lucky_below(cells: Cells, limit: int) -> float:
    """Share of people right by luck in the cells that a denominator limit keeps.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``.
    limit : int
        Most original records of a cell that is kept.

    Returns
    -------
    float

    Notes
    -----
    Per cell E[L; L <= limit] with L ~ Binomial(d_q, d_t / Nd), summed and divided by Nd.
    """
    from scipy.stats import binom

    n = cells.n_original
    kept = CORRECT & (nw.col("step") == 0) & (limit >= D)
    kinds = cells.grouped({"size": nw.col("dq"), "level": nw.col("dt")}, kept, cells=nw.len())
    size, level, many = (kinds[c].to_numpy().astype(float) for c in ("size", "level", "cells"))
    expected = sum((k * binom.pmf(k, size, level / n) for k in range(1, limit + 1)), start=0 * size)
    return float((many * expected).sum()) / n


def weighted_figures(cells: Cells) -> tuple[float | None, float | None]:
    """DiSCO and DCAP with people counted by their survey weights, for the population the sample stands for.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``, of a pair with weights.

    Returns
    -------
    disco, dcap : float or None
    """
    stays, weight = nw.col("od") > 0, nw.col("wd")
    sums = cells.sums(
        disco=only(weight, CORRECT & stays),
        dcap=only(weight * ratio(nw.col("os"), nw.col("osq")), stays),
        everyone=weight,
    )
    return part(sums["disco"], sums["everyone"]), part(sums["dcap"], sums["everyone"])


def part(above: float, below: float) -> float | None:
    """A share, or None where nothing could be tested."""
    return above / below if below else None


def exclusion_counts(cells: Cells, exclusions: Exclusions, sums: Sums) -> dict[str, dict[str, int]]:
    """What each exclusion step took from each of synthpop's eight tables.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``.
    exclusions : Exclusions
        What was taken out.
    sums : Sums
        The sums of ``attribution_figures``.

    Returns
    -------
    dict
        By table, then by step, the records taken; "remaining" is what is left.
    """
    if exclusions.none:
        whole = {
            "original": sums["n"],
            "synthetic": sums["m"],
            "Dorig": sums["dorig"],
            "Dsyn": sums["dsyn"],
            "iS": sums["found"],
            "DiS": sums["dis"],
            "DiSCO": sums["disco"],
            "DiSDiO": sums["disdio"],
        }
        return {table: {**dict.fromkeys(STEPS, 0), "remaining": int(left)} for table, left in whole.items()}
    limit = exclusions.limit
    tables: dict[str, tuple[nw.Expr, nw.Expr]] = {
        "original": (D, D >= 0),
        "synthetic": (S, D >= 0),
        "Dorig": (D, ORIGINAL_UNANIMOUS),
        "Dsyn": (S, RELEASED_UNANIMOUS),
        "iS": (D, FOUND),
        "DiS": (D, RELEASED_UNANIMOUS),
        "DiSCO": (D, CORRECT),
        "DiSDiO": (D, CORRECT & ORIGINAL_UNANIMOUS),
    }
    wanted: dict[str, nw.Expr] = {}
    for name, (counted, kept) in tables.items():
        for number in range(1, 5):
            wanted[f"{name}__{number}"] = within(counted, kept & (nw.col("step") == number))
        over = nw.lit(False) if limit is None else counted > limit
        wanted[f"{name}__5"] = within(counted, kept & (nw.col("step") == 0) & over)
        wanted[f"{name}__6"] = within(counted, kept & (nw.col("step") == 0) & ~over)
    found = cells.totals(**wanted)
    return {
        name: {label: int(found[f"{name}__{i}"] or 0) for i, label in enumerate((*STEPS, "remaining"), 1)}
        for name in tables
    }


def record_columns(cells: Cells) -> Mapping[str, np.ndarray]:
    """What each original record looks like to the attacker.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``, in memory.

    Returns
    -------
    mapping of str to ndarray
        One entry per original record, in row order. ``predicted`` is what the attacker would say: the value most
        released records of the group have (the first level of several), None where no released record has the keys.
    """
    most = cells.extended(most_=S.max().over(*cells.by))
    likeliest = nw.when(FOUND & (nw.col("most_") == S)).then(nw.col("t")).min().over(*cells.by)
    found = most.extended(says_=likeliest).records(
        predicted=nw.col("says_"),
        at_risk=CORRECT & (nw.col("od") > 0),
        found=FOUND,
        released_disclosive=RELEASED_UNANIMOUS,
        original_disclosive=ORIGINAL_UNANIMOUS,
        cap=nw.when(FOUND).then(S.cast(nw.Float64) / nw.col("sq").cast(nw.Float64)),
        released_class=nw.col("sq"),
        released_cell=S,
        original_class=nw.col("dq"),
        original_cell=D,
    )
    return {**found, "predicted": _spoken(cells, found["predicted"])}


def _spoken(cells: Cells, codes: np.ndarray) -> np.ndarray:
    """Codes of the target as the user knows its levels; None for missing, and where there is no code."""
    levels = () if cells.target is None else cells.target.levels or ()
    labels = np.empty(len(levels) + 1, object)
    labels[:-1] = levels
    known = np.where(np.ma.getmaskarray(codes), -1, np.ma.getdata(codes)).astype(int)
    said: np.ndarray = labels[known]  # the last one is None, and missing is -1
    return said
