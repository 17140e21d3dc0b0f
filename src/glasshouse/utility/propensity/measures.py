"""Propensity: how well can released records be told from original ones?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from glasshouse.core.advice import TOO_SIMILAR
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import ignored_weights, small
from glasshouse.utility.nulls import judged
from glasshouse.utility.propensity.models import Fit, Settings
from glasshouse.utility.propensity.scores import PropensityFigures, propensity_figures

CITE = (
    "Woo, Reiter, Oganian & Karr (2009); Snoke, Raab, Nowok, Dibben & Slavkovic (2018), General and specific utility "
    "measures for synthetic data"
)
LIMIT = "a logit without two-way terms is blind to lost relations; a tree needs its permutation null"


def _report(
    pair: Pair,
    found: list[PropensityFigures],
    how: str,
    settings: Settings,
    name: str,
    score: Any,
    sentence: Any,
    measure_name: str,
) -> Result:
    """One result per release and their mean."""
    results = []
    for one in found:
        value = one.figures[name]
        null = one.null(name, how)
        details: dict[str, Any] = {k: v for k, v in one.figures.items() if k not in ("c", "N")} | one.ratios()
        details |= {
            "km1": one.fit.rank,
            "df": one.fit.rank,
            "n_leaves": one.fit.n_leaves,
            "maxorder": one.fit.maxorder,
            "model": settings.model,
            "null": how,
            "accuracy": 0.5 + one.figures["PO50"],
            "importance": one.fit.importance,
        }
        warnings = [*one.notes, *one.fit.notes, *ignored_weights(pair, measure_name)]
        if settings.model == "forest" and one.figures["AUC"] < 0.4:
            warnings.append(
                f"out-of-fold AUC {one.figures['AUC']:.2f} is far below one half: records of the release are near "
                "twins of original records"
            )
        made = judged(
            value,
            null,
            "lower",
            utility=score(one),
            details={k: v for k, v in details.items() if v is not None},
            sentence=sentence(one),
            warnings=warnings,
            plot_data={"scores": _histogram(one.fit), "importance": one.fit.importance},
        )
        results.append(made)
    if len(results) == 1:
        return results[0]
    listed: dict[str, Any] = {
        k: [r.details.get(k) for r in results]
        for k in (
            "pMSE",
            "SPECKS",
            "PO50",
            "U",
            "AUC",
            "pmse_ratio",
            "pmse_z",
            "S_pMSE",
            "S_SPECKS",
            "S_PO50",
            "S_U",
            "n_leaves",
        )
        if k in results[0].details
    }
    values = [float(r.value) for r in results if r.value is not None]
    worst = max(results, key=lambda r: r.value or 0.0)
    results = [r._copy(name=measure_name) for r in results]
    return Result(
        float(np.mean(values)),
        details={
            **listed,
            "model": settings.model,
            "null": how,
            "releases": len(results),
            "release_min": min(values),
            "release_max": max(values),
            "utility": float(np.mean([r.utility for r in results if r.utility is not None])),
            "copy_alarm": any(_copied(r) for r in results),
        },
        sentence=f"Mean of {len(results)} releases; the worst: {worst.sentence}",
        warnings=worst.warnings,
        replicates=results,
        null=None if worst.null is None else replace(worst.null, copied=any(_copied(r) for r in results)),
        utility=float(np.mean([r.utility for r in results if r.utility is not None])),
        plot_data=worst.plot_data,
    )


def _copied(result: Result) -> bool:
    return result.null is not None and result.null.copied


def _histogram(fit: Fit, bins: int = 40) -> list[dict[str, Any]]:
    edges = np.linspace(0, 1, bins + 1)
    made = []
    for label, table in ((0, "original"), (1, "released")):
        own = fit.scores[fit.labels == label]
        shares = np.histogram(np.clip(own, 0, 1), bins=edges)[0] / max(len(own), 1)
        made += [
            {"table": table, "x1": edges[i], "x2": edges[i + 1], "share": shares[i]} for i in np.flatnonzero(shares)
        ]
    return made


def _ratio_score(one: PropensityFigures) -> float | None:
    ratio = one.ratios()["pmse_ratio"]
    return None if ratio is None else 1 / max(1.0, ratio)


def _spoken_ratio(one: PropensityFigures) -> str:
    ratios = one.ratios()
    base = f"A model told released from original records with pMSE {small(one.figures['pMSE'])}"
    return (
        base
        if ratios["pmse_ratio"] is None
        else f"{base}, {small(ratios['pmse_ratio'])} times what correct synthesis gives"
    )


@measure(
    side="utility",
    family="propensity",
    better="lower",
    range=(0, 0.25),
    unit="mean squared score",
    replicates="own",
    cost="attackers",
    group="joint",
    cite=CITE,
    caveats=LIMIT,
    title="pMSE",
    wide="columns",
    on_map=True,
    alarm=True,
    advice=TOO_SIMILAR,
)
def pmse(
    pair: Pair,
    *,
    model: str = "logit",
    maxorder: int | None = None,
    null: str | None = None,
    columns: Sequence[str] | None = None,
    n_perm: int = 20,
    max_params: int = 400,
    cp: float = 1e-3,
    minbucket: int = 5,
    trees: int = 100,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """How far the propensity scores of released and original records stray from chance.

    pMSE = mean (p_i - c)^2 over the stacked records, c the share released. ``pmse_ratio`` = pMSE / E0 and ``pmse_z``
    = (pMSE - E0) / SD0 with E0 = (k-1)(1-c)^2 c / N, SD0 = sqrt(2(k-1)) (1-c)^2 c / N for a logit
    (``null="expectation"``), or from permuted labels (halved) or pairs of releases. The ratio is 1 for correct
    synthesis, 2 for a fresh sample, and clearly below 1 for copies. ``S_pMSE`` is synthpop's name for this ratio;
    other packages give that name to the z score. ``maxorder`` 0: main effects, 1: all two-way terms, None: two-way
    where affordable. The forest is scored out of fold, so its AUC falls below one half for near copies.
    """
    settings = Settings(model, maxorder, max_params, cp, minbucket, trees, n_jobs)
    found, how = propensity_figures(pair, columns, settings, null, n_perm, random_state)
    return _report(pair, found, how, settings, "pMSE", _ratio_score, _spoken_ratio, "pmse")


@measure(
    side="utility",
    family="propensity",
    better="lower",
    unit="distance",
    replicates="own",
    cost="attackers",
    group="joint",
    cite="Bowen, Liu & Su (2021), SPECKS",
    caveats=LIMIT,
    title="SPECKS",
    tier="full",
    wide="columns",
)
def specks(
    pair: Pair,
    *,
    model: str = "logit",
    maxorder: int | None = None,
    null: str | None = "permutation",
    columns: Sequence[str] | None = None,
    n_perm: int = 20,
    max_params: int = 400,
    cp: float = 1e-3,
    minbucket: int = 5,
    trees: int = 100,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Kolmogorov-Smirnov distance between the propensity scores of released and original records, 0 (alike) to 1.

    No p-value: the scores come from a model fitted to the same data. The band comes from permuted labels.
    """
    settings = Settings(model, maxorder, max_params, cp, minbucket, trees, n_jobs)
    found, how = propensity_figures(pair, columns, settings, null, n_perm, random_state)
    return _report(
        pair,
        found,
        how,
        settings,
        "SPECKS",
        lambda one: 1 - one.figures["SPECKS"],
        lambda one: f"Propensity scores of released and original records are {small(one.figures['SPECKS'])} apart",
        "specks",
    )


@measure(
    side="utility",
    family="propensity",
    better="lower",
    range=(-0.5, 0.5),
    unit="share",
    replicates="own",
    cost="attackers",
    group="joint",
    cite=CITE,
    caveats=LIMIT,
    title="PO50",
    tier="full",
    wide="columns",
)
def po50(
    pair: Pair,
    *,
    model: str = "logit",
    maxorder: int | None = None,
    null: str | None = "permutation",
    columns: Sequence[str] | None = None,
    n_perm: int = 20,
    max_params: int = 400,
    cp: float = 1e-3,
    minbucket: int = 5,
    trees: int = 100,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of records a model puts into the right table, above one half: 0 is guessing, 0.5 is perfect separation.

    The cut is c, the share released, and both tables count alike, so unequal sizes do not move the ideal;
    ``PO50_synthpop`` cuts at 0.5.
    """
    settings = Settings(model, maxorder, max_params, cp, minbucket, trees, n_jobs)
    found, how = propensity_figures(pair, columns, settings, null, n_perm, random_state)
    return _report(
        pair,
        found,
        how,
        settings,
        "PO50",
        lambda one: 1 - 2 * abs(one.figures["PO50"]),
        lambda one: (
            f"A model puts {percent(0.5 + one.figures['PO50'])} of the records into the right table (50 % is guessing)"
        ),
        "po50",
    )


@measure(
    side="utility",
    family="propensity",
    better="lower",
    unit="AUC",
    replicates="own",
    cost="attackers",
    group="joint",
    cite="Raab, Nowok & Dibben (2021); Mann & Whitney (1947)",
    caveats=LIMIT,
    title="U statistic",
    tier="full",
    wide="columns",
)
def u_statistic(
    pair: Pair,
    *,
    model: str = "logit",
    maxorder: int | None = None,
    null: str | None = "permutation",
    columns: Sequence[str] | None = None,
    n_perm: int = 20,
    max_params: int = 400,
    cp: float = 1e-3,
    minbucket: int = 5,
    trees: int = 100,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Chance that a released record scores higher than an original one (AUC), from the Mann-Whitney statistic U; 0.5
    is ideal.

    AUC = U / (n m). ``details["U"]`` is the raw statistic.
    """
    settings = Settings(model, maxorder, max_params, cp, minbucket, trees, n_jobs)
    found, how = propensity_figures(pair, columns, settings, null, n_perm, random_state)
    return _report(
        pair,
        found,
        how,
        settings,
        "AUC",
        lambda one: 1 - 2 * abs(one.figures["AUC"] - 0.5),
        lambda one: (
            f"A released record scores higher than an original one with chance {number(one.figures['AUC'], 3)} "
            "(0.5 is ideal)"
        ),
        "u_statistic",
    )
