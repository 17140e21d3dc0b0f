"""Do categories have the shares in the release that they have in the original?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import Columns, chosen, small
from glasshouse.utility.marginals import distances
from glasshouse.utility.marginals.columns import KNOWN_LIMIT, Spoken, over_columns
from glasshouse.utility.marginals.counts import Counted, counted


@measure(
    side="utility",
    family="marginals",
    better="lower",
    unit="distance",
    cite="Hellinger (1909); Gomatam, Karr & Sanil (2005)",
    caveats=KNOWN_LIMIT,
    tier="fast",
    on_map=True,
    wide="categorical",
    grows="values",
)
def hellinger(
    pair: Pair, *, columns: Columns = None, groups: int = 5, replicates: int = 100, random_state: RandomState = 0
) -> Result:
    """Distance between the category shares of the original and of the release, 0 (equal) to 1 (no category in
    common).

    Square roots give rare categories more weight than total variation does.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Columns to compare; default: the categorical ones. Numeric ones may be named.
    groups : int, default 5
        Groups of equal size, by pooled quantiles, into which numeric columns are cut.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean of H over columns. ``details["columns"]`` has H (``hellinger``), the number of levels and the
        column's own band; ``hellinger_utility`` is 1 minus the mean.

    Notes
    -----
    H = sqrt(1/2 sum (sqrt p - sqrt q)^2) with p and q the shares in original and release over the union of levels.
    Missing values are dropped per column.

    References
    ----------
    Hellinger (1909), Neue Begründung der Theorie quadratischer Formen von unendlichvielen Veränderlichen. Gomatam,
    Karr & Sanil (2005), Data swapping as a decision problem.

    Examples
    --------
    >>> import glasshouse as gh
    >>> import polars as pl
    >>> original = pl.DataFrame({"v": ["a", "a", "a", "b"]})
    >>> released = pl.DataFrame({"v": ["a", "a", "b", "b"]})
    >>> round(gh.utility.hellinger(original, released).value, 4)
    0.1846
    """
    return _frequencies(
        pair,
        columns,
        groups,
        distances.hellinger,
        "hellinger",
        replicates,
        random_state,
        lambda mean: (f"Category shares are a Hellinger distance of {small(mean)} apart on average", 1 - mean),
        {"mean": "hellinger_mean", "utility": "hellinger_utility"},
    )


@measure(
    side="utility",
    family="marginals",
    better="lower",
    unit="share",
    cite="Karr et al. (2006); mostlyai-qa accuracy (expected value)",
    caveats=KNOWN_LIMIT,
    tier="fast",
    influence="share",
    wide="categorical",
    grows="values",
)
def total_variation(
    pair: Pair, *, columns: Columns = None, groups: int = 5, replicates: int = 100, random_state: RandomState = 0
) -> Result:
    """The share of records that would have to change category to make the release's shares those of the original.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Columns to compare; default: the categorical ones. Numeric ones may be named.
    groups : int, default 5
        Groups of equal size, by pooled quantiles, into which numeric columns are cut.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean of TV over columns, 0 to 1. ``details["columns"]`` has TV (``tv``) and what is expected of a
        fresh sample (``expected``) and of correct synthesis (``expected_correct``).

    Notes
    -----
    TV = 1/2 sum |p - q| over the union of levels; missing values are dropped per column. For a fresh sample of the
    same population about 1/2 sum sqrt(2/pi p (1-p) (1/n + 1/m)) is expected, and that over sqrt 2 for correct
    synthesis. 1 - TV is the TVComplement of SDMetrics.

    References
    ----------
    Karr, Kohnen, Oganian, Reiter & Sanil (2006), A framework for evaluating the utility of data altered to protect
    confidentiality. The expected value is that of mostlyai-qa's accuracy.

    Examples
    --------
    >>> import glasshouse as gh
    >>> import polars as pl
    >>> original = pl.DataFrame({"v": ["a", "a", "a", "b"]})
    >>> released = pl.DataFrame({"v": ["a", "a", "b", "b"]})
    >>> gh.utility.total_variation(original, released).value
    0.25
    """

    def beside(column: Counted, value: float) -> dict[str, object]:
        expected = distances.expected_tv(column.x / column.x.sum(), column.n_x, column.n_y)
        return {"tv": value, "expected": expected, "expected_correct": expected / np.sqrt(2)}

    return _frequencies(
        pair,
        columns,
        groups,
        distances.total_variation,
        "tv",
        replicates,
        random_state,
        lambda mean: (
            f"{percent(mean, 2)} of records would have to change category, on average over columns",
            1 - mean,
        ),
        {"mean": "tv_mean"},
        beside,
    )


@measure(
    side="utility",
    family="marginals",
    better="lower",
    unit="bits",
    cite="Lin (1991)",
    caveats=KNOWN_LIMIT,
    title="Jensen–Shannon",
    tier="fast",
    influence="share",
    wide="categorical",
    grows="values",
)
def jensen_shannon(
    pair: Pair, *, columns: Columns = None, groups: int = 5, replicates: int = 100, random_state: RandomState = 0
) -> Result:
    """Jensen-Shannon divergence between category shares, in bits: 0 (equal) to 1 (no category in common).

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Columns to compare; default: the categorical ones. Numeric ones may be named.
    groups : int, default 5
        Groups of equal size, by pooled quantiles, into which numeric columns are cut.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean divergence over columns, in bits. ``details["columns"]`` has it per column in bits
        (``jsd_bits``) and in nats (``jsd_nats``, 0 to ln 2), the unit of some other packages.

    Notes
    -----
    JSD = 1/2 KL(p || m) + 1/2 KL(q || m) with m = (p + q) / 2, over the union of levels. Missing values are dropped
    per column.

    References
    ----------
    Lin (1991), Divergence measures based on the Shannon entropy.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.utility.jensen_shannon(pair, columns=["gender", "education"]).value, 5)
    0.00057
    """
    return _frequencies(
        pair,
        columns,
        groups,
        distances.jensen_shannon_bits,
        "jsd_bits",
        replicates,
        random_state,
        lambda mean: (f"Category shares diverge by {small(mean)} bits on average", 1 - mean),
        {"mean": "jsd_mean"},
        lambda c, value: {"jsd_bits": value, "jsd_nats": value * np.log(2)},
    )


@measure(
    side="utility",
    family="marginals",
    better="lower",
    unit="effect",
    cite="Pearson (1900); Cramér (1946)",
    caveats=KNOWN_LIMIT,
    tier="fast",
    wide="categorical",
    grows="values",
)
def chi_square(
    pair: Pair, *, columns: Columns = None, groups: int = 5, replicates: int = 100, random_state: RandomState = 0
) -> Result:
    """Chi-square comparison of category shares, as an effect size from 0 (equal shares) to 1.

    Both tables are treated as samples, so that levels which only the release has count as well.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Columns to compare; default: the categorical ones. Numeric ones may be named.
    groups : int, default 5
        Groups of equal size, by pooled quantiles, into which numeric columns are cut.
    replicates : int, default 100
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean effect over columns. ``details["columns"]`` has per column the chi-square of the 2 x K table
        (``chi2``, ``df``, ``p``), the goodness of fit to the original's shares on the original's levels
        (``pearson_chi2_on_original_support``, ``df_pearson``) and the number of invented levels (``n_cells_new``).

    Notes
    -----
    effect = sqrt(chi2 / N), chi2 = sum over both tables and all levels of (count - expected)^2 / expected, N the
    records of both. With weights the test is taken at the effective sample sizes. Missing values are dropped per
    column.

    References
    ----------
    Pearson (1900), On the criterion that a given system of deviations ... can be reasonably supposed to have arisen
    from random sampling. Cramér (1946), Mathematical Methods of Statistics.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("case_study").pair("B")
    >>> found = gh.utility.chi_square(pair, columns="region").details["columns"]["region"]
    >>> round(found["chi2"], 3), found["df"], round(found["p"], 2)
    (0.129, 3, 0.99)
    """

    def effect(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        made: np.ndarray = np.sqrt(distances.homogeneity(x, y) / (x.sum(axis=-1) + y.sum(axis=-1)))
        return made

    def beside(column: Counted, value: float) -> dict[str, object]:
        from scipy.stats import chi2

        # weights: the chi-square is taken at the effective sizes
        x, y = column.x * (column.n_x / column.x.sum()), column.y * (column.n_y / column.y.sum())
        statistic = float(distances.homogeneity(x[None, :], y[None, :])[0])
        seen = x > 0
        df = int(((x + y) > 0).sum()) - 1
        expected = x[seen] / x.sum() * y.sum()
        return {
            "chi2": statistic,
            "df": df,
            "p": float(chi2.sf(statistic, df)) if df else 1.0,
            "pearson_chi2_on_original_support": float(((y[seen] - expected) ** 2 / expected).sum()),
            "df_pearson": int(seen.sum()) - 1,
            "n_cells_new": int(((x == 0) & (y > 0)).sum()),
        }

    return _frequencies(
        pair,
        columns,
        groups,
        effect,
        "effect",
        replicates,
        random_state,
        lambda mean: (f"Category shares differ by a chi-square effect of {small(mean)} on average", 1 - mean),
        {"mean": "effect_mean"},
        beside,
    )


def _frequencies(
    pair: Pair,
    columns: Columns,
    groups: int,
    distance: Callable[[np.ndarray, np.ndarray], np.ndarray],
    figure: str,
    replicates: int,
    random_state: RandomState,
    speak: Spoken,
    named: Mapping[str, str],
    beside: Callable[[Counted, float], dict[str, object]] | None = None,
) -> Result:
    """A distance between the shares of levels, over the columns."""
    notes: list[str] = []
    names = chosen(pair, columns, pair.categorical, "categorical", notes=notes)
    made = [counted(pair, c, groups if pair.is_numeric(c) else None) for c in names]

    def around(column: Counted, value: float) -> tuple[float, dict[str, object]]:
        parts: dict[str, object] = {figure: value, "n_levels": int(((column.x + column.y) > 0).sum())}
        return value, parts | (beside(column, value) if beside else {})

    return over_columns(
        pair,
        made,
        lambda c, x, y: distance(x, y),
        around,
        replicates=replicates,
        random_state=random_state,
        speak=speak,
        named=named,
        notes=notes,
    )
