"""What the propensity measures report: one figure of the scores against its band, per release, and the mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

import numpy as np

from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import ignored_weights
from glasshouse.utility.nulls import judged
from glasshouse.utility.propensity.models import Fit, Settings
from glasshouse.utility.propensity.scores import PropensityFigures

CITE = (
    "Woo, Reiter, Oganian & Karr (2009); Snoke, Raab, Nowok, Dibben & Slavkovic (2018), General and specific utility "
    "measures for synthetic data"
)
LIMIT = "a logit without two-way terms is blind to lost relations; a tree needs its permutation null"
LISTED = (
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


class Bin(TypedDict):
    """A bin of scores and the share of a table's records in it."""

    table: str
    x1: float
    x2: float
    share: float


def report(
    pair: Pair,
    found: Sequence[PropensityFigures],
    how: str,
    settings: Settings,
    name: str,
    score: Callable[[PropensityFigures], float | None],
    sentence: Callable[[PropensityFigures], str],
    measure_name: str,
) -> Result:
    """One result per release and their mean.

    Parameters
    ----------
    pair, found
        The tables, and the figures of every release.
    how, settings
        The kind of null in force, and how the scores were made.
    name, measure_name
        The figure that is the headline, and the measure it belongs to.
    score, sentence
        From the figures of a release: the score from 0 to 1, and what was found in words.
    """
    shown = [_shown(one, how, settings) for one in found]
    results = []
    for one, details in zip(found, shown, strict=True):
        warnings = [*one.notes, *one.fit.notes, *ignored_weights(pair, measure_name)]
        if settings.model == "forest" and one.figures["AUC"] < 0.4:
            warnings.append(
                f"out-of-fold AUC {one.figures['AUC']:.2f} is far below one half: records of the release are near "
                "twins of original records"
            )
        results.append(
            judged(
                one.figures[name],
                one.null(name, how),
                "lower",
                utility=score(one),
                details=details,
                sentence=sentence(one),
                warnings=warnings,
                plot_data={"scores": _histogram(one.fit), "importance": one.fit.importance},
            )
        )
    if len(results) == 1:
        return results[0]
    values = [float(r.value) for r in results if r.value is not None]
    utility = float(np.mean([r.utility for r in results if r.utility is not None]))
    worst = max(results, key=lambda r: r.value or 0.0)
    others = [r.null for r in results if r.null is not None and r is not worst]
    null = None if worst.null is None else worst.null.among(others)
    return Result(
        float(np.mean(values)),
        details={
            **{k: [details.get(k) for details in shown] for k in LISTED if k in shown[0]},
            "model": settings.model,
            "null": how,
            "releases": len(results),
            "release_min": min(values),
            "release_max": max(values),
            "utility": utility,
            "copy_alarm": null is not None and null.copied,
        },
        sentence=f"Mean of {len(results)} releases; the worst: {worst.sentence}",
        warnings=worst.warnings,
        replicates=[r._copy(name=measure_name) for r in results],
        over="mean",
        null=null,
        utility=utility,
        plot_data=worst.plot_data,
    )


def _shown(one: PropensityFigures, how: str, settings: Settings) -> dict[str, object]:
    """The figures of one release under the names they have in the details."""
    details: dict[str, object] = {k: v for k, v in one.figures.items() if k not in ("c", "N")}
    details |= one.ratios()
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
    return {k: v for k, v in details.items() if v is not None}


def _histogram(fit: Fit, bins: int = 40) -> list[Bin]:
    edges = np.linspace(0, 1, bins + 1)
    made: list[Bin] = []
    for label, table in ((0, "original"), (1, "released")):
        own = fit.scores[fit.labels == label]
        shares = np.histogram(np.clip(own, 0, 1), bins=edges)[0] / max(len(own), 1)
        made += [
            {"table": table, "x1": float(edges[i]), "x2": float(edges[i + 1]), "share": float(shares[i])}
            for i in np.flatnonzero(shares)
        ]
    return made
