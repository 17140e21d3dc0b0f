"""How far are the propensity scores of released and original records apart? Three readings of their ranks."""

from __future__ import annotations

from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import Columns, small
from glasshouse.utility.propensity.models import Settings
from glasshouse.utility.propensity.report import CITE, LIMIT, report
from glasshouse.utility.propensity.scores import propensity_figures


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
    influence="free",
)
def specks(
    pair: Pair,
    *,
    model: str = "logit",
    maxorder: int | None = None,
    null: str | None = "permutation",
    columns: Columns = None,
    n_perm: int = 20,
    max_params: int | None = None,
    cp: float = 1e-3,
    minbucket: int = 5,
    trees: int = 100,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Kolmogorov-Smirnov distance between the propensity scores of released and original records, 0 (alike) to 1.

    Parameters
    ----------
    pair : Pair
        Original and release, or several releases: each is compared with the original, and the mean reported.
    model : {"logit", "cart", "forest"}, default "logit"
        Logistic regression, classification tree, or random forest scored out of fold.
    maxorder : {0, 1} or None, default None
        Terms of the logit: main effects (0), all two-way terms (1), or two-way terms where affordable (None).
    null : {"expectation", "permutation", "pairs", "none"} or None, default "permutation"
        What the figure is compared with: a "permutation" of the labels, "pairs" of releases, or nothing ("none");
        "expectation" gives the closed form of the pMSE beside it, and no band. None: "expectation" for a logit, else
        "permutation".
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
        ``value``: the distance. No p value: the scores come from a model fitted to the same data.
        ``details`` has the other figures of the same scores, as in :func:`pmse`. With several releases lists of them,
        and one result per release in ``replicates``.

    Notes
    -----
    SPECKS = max |F_X(p) - F_Y(p)|, the largest gap between the distribution functions of the scores of original and
    released records. The band comes from permuted labels, shrunk by sqrt(1 - c) for correct synthesis, c the share
    released. Weights are ignored.

    References
    ----------
    Bowen, Liu & Su (2021), Differentially private data release via statistical election to partition sequentially.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.utility.specks(pair, null="none").value, 3)
    0.111
    """
    settings = Settings(model, maxorder, max_params, cp, minbucket, trees, n_jobs)
    found, how = propensity_figures(pair, columns, settings, null, n_perm, random_state)
    return report(
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
    influence="free",
)
def po50(
    pair: Pair,
    *,
    model: str = "logit",
    maxorder: int | None = None,
    null: str | None = "permutation",
    columns: Columns = None,
    n_perm: int = 20,
    max_params: int | None = None,
    cp: float = 1e-3,
    minbucket: int = 5,
    trees: int = 100,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of records a model puts into the right table, above one half: 0 is guessing, 0.5 is perfect separation.

    Parameters
    ----------
    pair : Pair
        Original and release, or several releases: each is compared with the original, and the mean reported.
    model : {"logit", "cart", "forest"}, default "logit"
        Logistic regression, classification tree, or random forest scored out of fold.
    maxorder : {0, 1} or None, default None
        Terms of the logit: main effects (0), all two-way terms (1), or two-way terms where affordable (None).
    null : {"expectation", "permutation", "pairs", "none"} or None, default "permutation"
        What the figure is compared with: a "permutation" of the labels, "pairs" of releases, or nothing ("none");
        "expectation" gives the closed form of the pMSE beside it, and no band. None: "expectation" for a logit, else
        "permutation".
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
        ``value``: the share above one half. ``details["PO50_synthpop"]`` cuts the scores at 0.5, as synthpop does.
        ``details`` has the other figures of the same scores, as in :func:`pmse`. With several releases lists of them,
        and one result per release in ``replicates``.

    Notes
    -----
    A record is put into the release when its score exceeds c, the share released. PO50 = (share right among released +
    share right among original) / 2 - 1/2: both tables count alike, so unequal sizes do not move the ideal. Weights are
    ignored.

    References
    ----------
    Woo, Reiter, Oganian & Karr (2009), Global measures of data utility for microdata masked for disclosure limitation.
    Snoke, Raab, Nowok, Dibben & Slavkovic (2018), General and specific utility measures for synthetic data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.utility.po50(pair, null="none").value, 3)
    0.048
    """
    settings = Settings(model, maxorder, max_params, cp, minbucket, trees, n_jobs)
    found, how = propensity_figures(pair, columns, settings, null, n_perm, random_state)
    return report(
        pair,
        found,
        how,
        settings,
        "PO50",
        lambda one: 1 - 2 * abs(one.figures["PO50"]),
        lambda one: (
            f"A model puts {percent(0.5 + one.figures['PO50'])} of the records into the right table, "
            f"{small(abs(one.figures['PO50']))} {'above' if one.figures['PO50'] >= 0 else 'below'} the half that "
            "guessing gets right"
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
    influence="free",
)
def u_statistic(
    pair: Pair,
    *,
    model: str = "logit",
    maxorder: int | None = None,
    null: str | None = "permutation",
    columns: Columns = None,
    n_perm: int = 20,
    max_params: int | None = None,
    cp: float = 1e-3,
    minbucket: int = 5,
    trees: int = 100,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Chance that a released record scores higher than an original one (AUC), from the Mann-Whitney statistic U; 0.5
    is ideal.

    Parameters
    ----------
    pair : Pair
        Original and release, or several releases: each is compared with the original, and the mean reported.
    model : {"logit", "cart", "forest"}, default "logit"
        Logistic regression, classification tree, or random forest scored out of fold.
    maxorder : {0, 1} or None, default None
        Terms of the logit: main effects (0), all two-way terms (1), or two-way terms where affordable (None).
    null : {"expectation", "permutation", "pairs", "none"} or None, default "permutation"
        What the figure is compared with: a "permutation" of the labels, "pairs" of releases, or nothing ("none");
        "expectation" gives the closed form of the pMSE beside it, and no band. None: "expectation" for a logit, else
        "permutation".
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
        ``value``: the chance. ``details["U"]`` is the raw statistic.
        ``details`` has the other figures of the same scores, as in :func:`pmse`. With several releases lists of them,
        and one result per release in ``replicates``.

    Notes
    -----
    U counts the pairs of a released and an original record in which the released one has the higher propensity score,
    ties one half; AUC = U / (n m). Weights are ignored.

    References
    ----------
    Raab, Nowok & Dibben (2021), Assessing, visualizing and improving the utility of synthetic data. Mann & Whitney
    (1947), On a test of whether one of two random variables is stochastically larger than the other.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.utility.u_statistic(pair, null="none").value, 3)
    0.57
    """
    settings = Settings(model, maxorder, max_params, cp, minbucket, trees, n_jobs)
    found, how = propensity_figures(pair, columns, settings, null, n_perm, random_state)
    return report(
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
