"""How well can released records be told from original ones? The mean squared error of propensity scores."""

from __future__ import annotations

from glasshouse.core.advice import TOO_SIMILAR
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import Columns, small
from glasshouse.utility.propensity.models import Settings
from glasshouse.utility.propensity.report import CITE, LIMIT, report
from glasshouse.utility.propensity.scores import PropensityFigures, propensity_figures


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
    tier="fast",
    advice=TOO_SIMILAR,
    influence="free",
)
def pmse(
    pair: Pair,
    *,
    model: str = "logit",
    maxorder: int | None = None,
    null: str | None = None,
    columns: Columns = None,
    n_perm: int = 20,
    max_params: int | None = None,
    cp: float = 1e-3,
    minbucket: int = 5,
    trees: int = 100,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """How far the propensity scores of released and original records stray from chance.

    A model learns to tell released from original records; a good release leaves it guessing. ``pmse_ratio`` is 1 for
    correct synthesis, 2 for a fresh sample, and clearly below 1 for copies.

    Parameters
    ----------
    pair : Pair
        Original and release, or several releases: each is compared with the original, and the mean reported.
    model : {"logit", "cart", "forest"}, default "logit"
        Logistic regression, classification tree, or random forest scored out of fold.
    maxorder : {0, 1} or None, default None
        Terms of the logit: main effects (0), all two-way terms (1), or two-way terms where affordable (None).
    null : {"expectation", "permutation", "pairs", "none"} or None, default None
        What the figure is compared with: its closed-form "expectation" (logit only), a "permutation" of the labels,
        "pairs" of releases, or nothing ("none"). None: "expectation" for a logit, else "permutation".
    columns : list of str or str, optional
        Columns the model may use; default: all shared ones.
    n_perm : int, default 20
        Permutations of the labels; below 19 they make no band.
    max_params : int, optional
        Most coefficients of a logit; above it two-way terms are left out and rare levels merged. Default: 400, or
        fewer above 150,000 records of both tables, so that they times records stay within 60 million.
    cp : float, default 0.001
        Complexity parameter of the tree: least gain of a split.
    minbucket : int, default 5
        Fewest records in a leaf of the tree.
    trees : int, default 100
        Trees of the forest.
    random_state : int, Generator or None, default 0
        Seed of permutations, folds and forest.
    n_jobs : int, optional
        Threads of the forest; the figures do not depend on it.

    Returns
    -------
    Result
        ``value``: pMSE, 0 to 0.25. ``details`` has ``pmse_ratio`` (``S_pMSE``) and ``pmse_z``, the value expected of
        correct synthesis (``pMSE_null``), SPECKS, PO50, U and AUC of the same scores, the number of coefficients
        (``df``) or leaves, and the ``importance`` of each column. With several releases lists of them, and one result
        per release in ``replicates``.

    Notes
    -----
    pMSE = mean (p_i - c)^2 over the stacked records, p_i their scores and c the share released. pmse_ratio = pMSE / E0,
    pmse_z = (pMSE - E0) / SD0. For a logit with k coefficients E0 = (k-1) (1-c)^2 c / N and SD0 = sqrt(2 (k-1))
    (1-c)^2 c / N; from permuted labels (halved at equal sizes) or pairs of releases otherwise. S_pMSE is synthpop's
    name for the ratio; other packages give that name to the z score. The forest is scored out of fold, so its AUC
    falls below one half for near copies. Weights are ignored.

    Band: a fresh sample has the pMSE of labels dealt at random (whole clusters where there are any), for a logit to
    first order without fitting it again. Copy alarm: ``null.p_copied`` is the chance that an honest synthesis comes as
    close, the lower tail of (1-c)^2 c / N chi-square(k-1) for a logit. It sees copies and copies with a little noise;
    not where rare categories meet numbers in two-way terms, which tell noise apart, and it also rings for a synthesis
    that was calibrated to the original's own margins.

    References
    ----------
    Woo, Reiter, Oganian & Karr (2009), Global measures of data utility for microdata masked for disclosure limitation.
    Snoke, Raab, Nowok, Dibben & Slavkovic (2018), General and specific utility measures for synthetic data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.pmse(pair)
    >>> round(found.value, 4), round(found.details["pmse_ratio"], 2)
    (0.0038, 1.8)
    """
    settings = Settings(model, maxorder, max_params, cp, minbucket, trees, n_jobs)
    found, how = propensity_figures(pair, columns, settings, null, n_perm, random_state)
    return report(pair, found, how, settings, "pMSE", _ratio_score, _spoken_ratio, "pmse")


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
