"""Statistics of one frequency table in two files, by the formulas of synthpop's utility tables (Raab, Nowok & Dibben
2021).

Cells hold d records of the original and s of the release; cells empty in both are gone. N = sum(s + d), c = sum(s) /
N, K cells, df = K - 1, diff = s - d c/(1-c), expect = (s + d) c. Every S_ statistic is near 1 for correct synthesis,
near 2 for a fresh sample, and clearly below 1 when the release is too close to the original. S_JSD is standardised as
synthpop codes it, 2 N / ln 2, which is 4 % too high; to first order VW = 8 sum(s) JSD in nats, and S_JSD_corrected
uses that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glasshouse.engines.cells.margins import Coded, count_both

Tables = Sequence[Sequence[int]] | np.ndarray
STATISTICS = (
    "VW",
    "FT",
    "JSD",
    "SPECKS",
    "WMabsDD",
    "U",
    "G",
    "PO50",
    "MabsDD",
    "dBhatt",
    "df",
    "dfG",
    "n",
    "m",
)  # in the order of the compiled loop


def statistics(d: np.ndarray, s: np.ndarray) -> dict[str, float | int | None]:
    """Every statistic of one table without empty cells, under synthpop's name; PO50 as a share."""
    from glasshouse.engines.cells.margins_tables import figures_of

    found = np.zeros(len(STATISTICS))
    scratch = np.zeros(len(d)), np.zeros(len(d), np.int64)
    figures_of(np.ascontiguousarray(d, float), np.ascontiguousarray(s, float), *scratch, found)
    return named(found)


def every_table(x: Coded, y: Coded, tables: Tables) -> list[dict[str, float | int | None]]:
    """The statistics of many tables of the same two files."""
    return [named(figures) for figures in _figures(x, y, tables, False)]


def every_ratio(x: Coded, y: Coded, tables: Tables) -> np.ndarray:
    """S_pMSE = VW / df of many tables, NaN where a table has one cell."""
    found = _figures(x, y, tables, True)
    vw, df = found[:, 0], found[:, 10]
    made: np.ndarray = np.divide(vw, df, out=np.full(len(vw), np.nan), where=df > 0)
    return made


def _figures(x: Coded, y: Coded, tables: Tables, ratio_only: bool) -> np.ndarray:
    from glasshouse.engines.cells.margins_tables import LARGEST, figures_of, table_figures

    which, levels = np.asarray(tables, np.int64), np.asarray(x.sizes, np.int64)
    cells = levels[which].astype(float).prod(axis=1)
    small = np.flatnonzero(cells <= LARGEST)
    made = np.zeros((len(tables), len(STATISTICS)))
    if small.size:
        made[small] = table_figures(
            x.codes,
            y.codes,
            which[small],
            levels,
            np.ones(1) if x.weights is None else x.weights,
            np.ones(1) if y.weights is None else y.weights,
            x.weights is not None,
            y.weights is not None,
            int(cells[small].max()),
            ratio_only,
        )
    for i in np.flatnonzero(cells > LARGEST):
        d, s = count_both(x, y, which[i].tolist())
        figures_of(d, s, np.zeros(len(d)), np.zeros(len(d), np.int64), made[i])
    return made


def named(found: np.ndarray) -> dict[str, float | int | None]:
    """The compiled figures of one table and the standardised ones that follow from them."""
    figures = dict(zip(STATISTICS, found.tolist(), strict=True))
    n, m, df, df_g = figures["n"], figures["m"], int(figures["df"]), int(figures["dfG"])
    vw, jsd, total = figures["VW"], figures["JSD"], n + m
    c = m / total

    def per(value: float, degrees: int) -> float | None:
        return value / degrees if degrees > 0 else None

    return {
        "VW": vw,
        "FT": figures["FT"],
        "JSD": jsd,
        "SPECKS": figures["SPECKS"],
        "WMabsDD": figures["WMabsDD"],
        "U": figures["U"],
        "G": figures["G"],
        "pMSE": vw * c * (1 - c) ** 2 / total,
        "PO50": figures["PO50"],
        "MabsDD": figures["MabsDD"],
        "dBhatt": figures["dBhatt"],
        "S_VW": per(vw, df),
        "S_FT": per(figures["FT"], df),
        "S_JSD": per(jsd * 2 * total / math.log(2), df),
        "S_JSD_corrected": per(8 * m * math.log(2) * jsd, df),
        "S_WMabsDD": per(figures["WMabsDD"], df),
        "S_G": per(figures["G"], df_g),
        "S_pMSE": per(vw, df),
        "df": df,
        "dfG": df_g,
    }


def score_order(score: np.ndarray, d: np.ndarray, s: np.ndarray) -> tuple[float, float]:
    """(SPECKS, U) of propensity scores held by d records of the original and s of the release.

    SPECKS is the largest gap between the two distribution functions; U counts pairs in which the released record
    scores higher, ties one half.
    """
    order = np.argsort(score, kind="stable")
    ranked = score[order]
    last = np.append(ranked[1:] != ranked[:-1], True)
    below = np.cumsum(d[order])[last]
    above = np.cumsum(s[order])[last]
    gap = float(np.abs(below / below[-1] - above / above[-1]).max())
    mine, theirs = np.diff(above, prepend=0.0), np.diff(below, prepend=0.0)
    return gap, float((mine * (below - 0.5 * theirs)).sum())
