"""Statistics of one frequency table in two files, by the formulas of synthpop's utility tables (Raab, Nowok & Dibben
2021).

Cells hold d records of the original and s of the release; cells empty in both are gone. N = sum(s + d), c = sum(s) /
N, K cells, df = K - 1, diff = s - d c/(1-c), expect = (s + d) c. Every S_ statistic is near 1 for correct synthesis,
near 2 for a fresh sample, and clearly below 1 when the release is too close to the original. S_JSD is standardised as
synthpop codes it, 2 N / ln 2, which is 4 % too high; to first order VW = 8 sum(s) JSD in nats, and S_JSD_corrected
uses that.
"""

from __future__ import annotations

import numpy as np

from glasshouse.utility.distances import jensen_shannon_bits


def voas_williamson(d: np.ndarray, s: np.ndarray) -> tuple[float, int]:
    """(VW, df): sum diff^2 / expect, for one table with no empty cell."""
    total = d.sum() + s.sum()
    c = s.sum() / total
    diff = s - d * (c / (1 - c))
    return float((diff * diff / ((s + d) * c)).sum()), len(d) - 1


def statistics(d: np.ndarray, s: np.ndarray) -> dict[str, float | int | None]:
    """Every statistic of one table under synthpop's name; PO50 as a share."""
    n, m = float(d.sum()), float(s.sum())
    total = n + m
    c = m / total
    df = len(d) - 1
    expected = d * (c / (1 - c))
    diff = s - expected
    expect = (s + d) * c
    vw = float((diff**2 / expect).sum())
    ft = float(4 * ((np.sqrt(s) - np.sqrt(expected)) ** 2).sum())
    both = (s > 0) & (d > 0)
    g, df_g = 0.0, int(both.sum()) - 1
    if both.any():
        p, q = d[both] / d[both].sum(), s[both] / s[both].sum()
        g = float(2 * (s[both] * np.log(q / p)).sum())
    jsd = float(jensen_shannon_bits(d[None, :], s[None, :])[0])
    wmabs = float((np.abs(diff) / np.sqrt(expect)).sum() / np.sqrt(2 / np.pi))
    specks, u = score_order(s / (s + d), d, s)
    right = float(s[s / m > d / n].sum() + d[s / m <= d / n].sum()) / total

    def per(value: float, degrees: int) -> float | None:
        return value / degrees if degrees > 0 else None

    return {
        "VW": vw,
        "FT": ft,
        "JSD": jsd,
        "SPECKS": specks,
        "WMabsDD": wmabs,
        "U": u,
        "G": g,
        "pMSE": vw * c * (1 - c) ** 2 / total,
        "PO50": right - 0.5,
        "MabsDD": float(np.abs(diff).sum() / m),
        "dBhatt": float(np.sqrt(max(0.0, 1 - np.sqrt(d / n * (s / m)).sum()))),
        "S_VW": per(vw, df),
        "S_FT": per(ft, df),
        "S_JSD": per(jsd * 2 * total / np.log(2), df),
        "S_JSD_corrected": per(8 * m * np.log(2) * jsd, df),
        "S_WMabsDD": per(wmabs, df),
        "S_G": per(g, df_g),
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
