"""Dependence with the marginals taken out: do ranks of numeric columns move together as in the original?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.utility.deals import Rows, pooled, resampled
from glasshouse.utility.figures import Columns, chosen, ignored_weights, require_numeric
from glasshouse.utility.nulls import affordable, judged


def numbers(pair: Pair, names: Sequence[str], table: str) -> tuple[np.ndarray, np.ndarray]:
    """Values [records, columns] of the records complete in all columns, and which records those are. Special codes
    are missing.
    """
    made = np.stack([np.where(pair.special_mask(c, table), np.nan, pair.values(c, table)) for c in names], axis=1)
    keep = np.isfinite(made).all(axis=1)
    return made[keep], keep


def pseudo_observations(places: np.ndarray, levels: int) -> np.ndarray:
    """rank / (n + 1), ties averaged, of a value at each place among so many; records have theirs by place, so that
    nothing is sorted."""
    counts = np.bincount(places, minlength=levels)
    ranks: np.ndarray = (np.cumsum(counts) - 0.5 * (counts - 1)) / (len(places) + 1)
    return ranks


@measure(
    side="utility",
    family="dependence",
    better="higher",
    needs=("numeric",),
    group="joint",
    cite="Rémillard & Scaillet (2009), Cramér-von Mises distance of copulas",
    caveats="low contrast: independent columns can score 0.95; read it against its band",
    tier="fast",
    wide="numeric",
)
def copula_fidelity(
    pair: Pair,
    *,
    columns: Columns = None,
    grid: int = 50,
    replicates: int = 50,
    random_state: RandomState = 0,
) -> Result:
    """Do numeric columns depend on each other as in the original, whatever their marginal distributions?

    Each column is replaced by its ranks, so that only how columns move together is left to compare.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Numeric columns, at least two; default: all of them.
    grid : int, default 50
        Points per axis, 0 and 1 included, at which the copulas of a pair are compared.
    replicates : int, default 50
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is
        none. Fewer with very many pairs.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: score from 0 to 1, 1 is the same dependence. ``details`` has ``copula_mean_cvm`` and the distance of
        every pair (``copula_cvm_grid50`` at the default grid); ``to_frame`` has one row per pair.

    Notes
    -----
    Ranks / (n + 1) per table, ties averaged; C(u, v) the share of records below u and v. CvM = mean over the grid of
    (C_X - C_Y)^2, and the score is 1 / (1 + 100 mean CvM). Records complete in the chosen columns; weights are
    ignored.

    References
    ----------
    Rémillard & Scaillet (2009), Testing for equality between two copulas.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.utility.copula_fidelity(pair, replicates=10).value, 3)
    0.992
    """
    from glasshouse.engines.cells.margins_tables import copula_distances

    warnings = ignored_weights(pair, "copula_fidelity")
    names = chosen(pair, columns, pair.numeric, "numeric", 2, notes=warnings, valued="both")
    require_numeric(pair, names)
    (x, keep_x), (y, keep_y) = (numbers(pair, names, table) for table in ("original", "released"))
    if min(len(x), len(y)) < 2:
        raise NotApplicable(
            "fewer than two records are complete in the numeric columns; choose fewer with columns=[...]"
        )
    if grid < 2:
        raise InputError(f"grid={grid}: the copulas are compared on at least 2 points a side")
    points = np.linspace(0, 1, grid)
    pairs = list(combinations(range(len(names)), 2))

    places = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in pooled([x, y]).T]
    levels = [int(place.max()) + 1 for place in places]

    def bins(rows: np.ndarray) -> np.ndarray:
        """Place of every rank on the grid, [columns, records]."""
        made = np.empty((len(places), len(rows)), np.int32)
        for j, (place, size) in enumerate(zip(places, levels, strict=True)):
            at = place[rows]
            made[j] = np.searchsorted(points, pseudo_observations(at, size), side="left")[at]
        return made

    ours = bins(np.arange(len(x)))
    found = np.asarray(copula_distances(ours, bins(len(x) + np.arange(len(y))), grid))

    def kept(rows_x: Rows, rows_y: Rows) -> float | None:
        if any(rows is not None and len(rows) < 2 for rows in (rows_x, rows_y)):
            return None  # few large clusters, all dealt to one side
        sides = [ours if rows is None else bins(rows) for rows in (rows_x, rows_y)]
        return 1 / (1 + 100 * float(np.mean(copula_distances(sides[0], sides[1], grid))))

    replicates, fewer = affordable(replicates, 2 * len(pairs), "grids")
    warnings += fewer
    null = resampled(pair, kept, replicates=replicates, random_state=random_state, keep=pooled([keep_x, keep_y]))
    mean = float(found.mean())
    score = 1 / (1 + 100 * mean)
    named = {f"{names[a]}|{names[b]}": float(v) for (a, b), v in zip(pairs, found, strict=True)}
    return judged(
        score,
        null,
        "higher",
        utility=score,
        details={
            "copula_mean_cvm": mean,
            "copula_utility": score,
            "copula_cvm_grid50" if grid == 50 else "copula_cvm": named,
            "n_x": len(x),
            "n_y": len(y),
            "null_replicates": replicates,
        },
        sentence=f"Rank dependence of numeric columns is kept to {number(score, 3)}",
        warnings=warnings,
        plot_data={
            "matrix": [
                {"a": names[a], "b": names[b], "value": float(v)} for (a, b), v in zip(pairs, found, strict=True)
            ]
        },
        table=[{"pair": k, "cvm": v} for k, v in named.items()],
    )
