"""Figures of propensity scores, and what they would be for a perfect synthesiser: closed form, permuted labels, pairs
of releases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.engines.workers import in_threads
from glasshouse.utility.deals import labels, pool
from glasshouse.utility.figures import Columns, chosen
from glasshouse.utility.joint.table_statistics import score_order
from glasshouse.utility.nulls import Band, ChiSquare, Drawn, band
from glasshouse.utility.propensity.models import MODELS, Fit, Settings, make_fitter, stacked

DEALS = 199  # of the labels behind the band of a logit's pMSE
BLOCK = 50_000  # records whose labels are decimals at a time
NULLS = ("expectation", "permutation", "pairs", "none")
# how each figure shrinks from a fresh sample to correct synthesis: pMSE with the variance, the others with its root
POWER = {"pMSE": 1.0, "SPECKS": 0.5, "PO50": 0.5, "AUC": 0.5}
IDEAL = {"pMSE": 0.0, "SPECKS": 0.0, "PO50": 0.0, "AUC": 0.5}


def figures(fit: Fit) -> dict[str, float]:
    """pMSE, SPECKS, PO50, U and AUC of one set of scores; PO50 as a share above one half."""
    scores, labels = np.round(fit.scores, 12), fit.labels > 0
    c = float(labels.mean())
    specks, u = score_order(scores, (~labels).astype(float), labels.astype(float))
    high = scores > c
    # balanced over both tables, so that unequal sizes do not move the ideal value
    right = 0.5 * (float(high[labels].mean()) + float((~high)[~labels].mean()))
    half = scores > 0.5
    synthpop = float((half & labels).sum() + (~half & ~labels).sum()) / len(labels)
    return {
        "pMSE": float(((fit.scores - c) ** 2).mean()),
        "SPECKS": specks,
        "PO50": right - 0.5,
        "PO50_synthpop": synthpop - 0.5,
        "U": u,
        "AUC": u / (float(labels.sum()) * float((~labels).sum())),
        "c": c,
        "N": float(len(labels)),
    }


@dataclass(frozen=True)
class PropensityFigures:
    """One release against the original: figures of the fit, and what they would be for a perfect synthesiser."""

    fit: Fit
    figures: dict[str, float]
    draws: dict[str, np.ndarray]  # fresh-sample draws from fits to dealt labels, empty with the closed form
    linear: np.ndarray  # fresh-sample draws of a logit's pMSE to first order, empty without one
    how: str  # how labels were dealt
    pairs: dict[str, float]  # means over pairs of releases
    notes: tuple[str, ...] = ()  # columns that could not be used

    def null(self, name: str, how: str) -> Band | None:
        """Band of one figure: from the linear model under dealt labels for the pMSE of a logit, else from fits to dealt
        labels.
        """
        c, size = self.figures["c"], self.figures["N"]
        if name == "pMSE" and how == "expectation" and self.fit.rank and self.linear.size:
            unit = (1 - c) ** 2 * c / size
            return Band(Drawn(self.linear), ChiSquare(self.fit.rank, unit), f"{self.linear.size} {self.how}")
        fresh = self.draws.get(name)
        if fresh is not None and fresh.size:
            correct = IDEAL[name] + (fresh - IDEAL[name]) * (1 - c) ** POWER[name]
            return band(fresh, correct, f"{fresh.size} {self.how}")
        return None

    def ratios(self) -> dict[str, float | None]:
        """pmse_ratio (1 = correct synthesis), pmse_z, the null mean behind them, and the ratios against pairs of
        releases.
        """
        c, size, value = self.figures["c"], self.figures["N"], self.figures["pMSE"]
        expected = spread = None
        if self.fit.rank:
            expected = self.fit.rank * (1 - c) ** 2 * c / size
            spread = np.sqrt(2 * self.fit.rank) * (1 - c) ** 2 * c / size
        if "pMSE" in self.draws and self.draws["pMSE"].size:
            # permuted labels are the fresh-sample value; times (1 - c), one half at equal sizes, it is that of
            # correct synthesis
            expected, spread = (
                float(self.draws["pMSE"].mean()) * (1 - c),
                float(self.draws["pMSE"].std(ddof=1)) * (1 - c),
            )
        if "pMSE" in self.pairs:
            expected, spread = self.pairs["pMSE"] / 2, None
        ratio = None if not expected else value / expected
        z = None if not spread or expected is None else (value - expected) / spread
        found: dict[str, float | None] = {
            "pMSE_null": expected,
            "pmse_ratio": ratio,
            "pmse_z": z,
            "S_pMSE_ratio": ratio,
            "S_pMSE": ratio,
            "z": z,
        }
        for name, mean in self.pairs.items():
            if name != "pMSE":
                found[f"S_{name}"] = 2 * self.figures[name] / mean if mean else None
        return found


def propensity_figures(
    pair: Pair,
    columns: Columns,
    settings: Settings,
    null: str | None,
    n_perm: int,
    random_state: RandomState,
) -> tuple[list[PropensityFigures], str]:
    """Every release of the pair against the original, and the kind of null in force."""
    if settings.model not in MODELS:
        raise InputError(f"model {settings.model!r} is not known; use 'logit', 'cart' or 'forest'")
    how = null or ("expectation" if settings.model == "logit" else "permutation")
    if how not in NULLS:
        raise InputError(f"null={how!r} is not known; use 'expectation', 'permutation', 'pairs' or 'none'")
    if how == "expectation" and settings.model != "logit":
        raise InputError(
            f"the expected pMSE is known for model='logit' only; use null='permutation' with model={settings.model!r}"
        )
    if how == "pairs" and pair.m < 2:
        raise NotApplicable(
            "the pairs null compares releases with each other and needs several of them: pass released=[first, "
            "second, ...]"
        )
    notes: list[str] = []
    names = chosen(pair, columns, pair.columns, "shared", notes=notes, valued="one")
    # the measures of this family ask for the same fits; the number of threads changes no result
    key = ("propensity", names, replace(settings, n_jobs=None), how, n_perm, random_state)
    if isinstance(random_state, np.random.Generator):
        found = _told(pair, names, settings, how, n_perm, random_state)
    else:
        found = pair.memo(key, lambda: _told(pair, names, settings, how, n_perm, random_state))
    return [replace(one, notes=tuple(notes)) for one in found], how


def _observed(
    pair: Pair,
    names: tuple[str, ...],
    settings: Settings,
    table: str,
    random_state: RandomState,
    compute: Callable[[], Fit],
) -> Fit:
    """The fit to the true labels, shared by every kind of null."""
    if isinstance(random_state, np.random.Generator):
        return compute()
    return pair.memo(("propensity fit", names, replace(settings, n_jobs=None), table, random_state), compute)


def _told(
    pair: Pair, names: tuple[str, ...], settings: Settings, how: str, n_perm: int, random_state: RandomState
) -> list[PropensityFigures]:
    tables = pair.releases
    pairs: dict[str, float] = {}
    if how == "pairs":
        between = []
        for first, second in combinations(tables, 2):
            data = stacked(pair, names, first, second)
            between.append(figures(make_fitter(data, settings, random_state)(data.labels)))
        pairs = {name: float(np.mean([b[name] for b in between])) for name in ("pMSE", "SPECKS", "PO50", "U")}
    made = []
    for i, table in enumerate(tables):
        data = stacked(pair, names, "original", table)
        fitter = make_fitter(data, settings, random_state)
        fit = _observed(pair, names, settings, table, random_state, partial(fitter, data.labels))
        draws: dict[str, np.ndarray] = {}
        linear = np.zeros(0)
        if how == "permutation":
            dealt = labels(pair.release(i), n_perm, random_state, data.rows)[1:]
            # a few large clusters can all fall to one side, which tells nothing about telling two apart
            sided = [k for k in range(n_perm) if 0 < dealt[k].sum() < dealt.shape[1]]
            if n_perm and not sided:
                raise NotApplicable("too few clusters to deal whole ones to two sides; use null='none'")
            shuffled = [figures(fitter(dealt[k])) for k in sided]
            draws = {name: np.array([s[name] for s in shuffled]) for name in POWER}
        elif how == "expectation" and fit.design is not None:
            linear = _to_first_order(fit, labels(pair.release(i), DEALS, random_state, data.rows))
        made.append(PropensityFigures(replace(fit, design=None), figures(fit), draws, linear, pool(pair).how, pairs))
    return made


def _to_first_order(fit: Fit, dealt: np.ndarray) -> np.ndarray:
    """pMSE of a logit under dealt labels [1 + deals, records], the true ones first, without fitting it again.

    The scores of a logit that finds little are those of least squares on the same columns, whose pMSE is the squared
    length of the projected labels: one product for all deals. What the logit adds, mostly by overfitting, is taken
    from the true labels.
    """
    if fit.design is None:
        return np.zeros(0)
    from scipy.linalg import solve_triangular

    design, n = fit.design, len(fit.design)
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += 1e-10 * np.trace(gram) / len(gram)
    # labels are bytes, and as decimals they would be many times the design: block by block, added up in order
    blocks = [slice(at, at + BLOCK) for at in range(0, n, BLOCK)]
    cross = np.sum(in_threads(lambda at: design[at].T @ dealt[:, at].astype(float).T, blocks), axis=0)
    cross -= np.outer(design.sum(axis=0), np.count_nonzero(dealt, axis=1) / dealt.shape[1])
    parts = solve_triangular(np.linalg.cholesky(gram), cross, lower=True)
    found = (parts**2).sum(axis=0) / n
    first = float(((fit.scores - fit.labels.mean()) ** 2).mean())
    return found[1:] * (max(1.0, first / found[0]) if found[0] > 1e-12 else 1.0)
