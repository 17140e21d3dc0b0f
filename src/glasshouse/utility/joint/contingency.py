"""Do pairs of categories occur together as often as in the original?"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from glasshouse.core.errors import NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.margins import Coded, coded, complete_rows, count_both
from glasshouse.utility.deals import POOL, Rows, pooled, resampled
from glasshouse.utility.figures import Columns, chosen
from glasshouse.utility.marginals import distances
from glasshouse.utility.nulls import judged


@measure(
    side="utility",
    family="dependence",
    better="higher",
    needs=("categorical",),
    group="joint",
    cite="SDMetrics ContingencySimilarity; mostlyai-qa (expected value)",
    caveats="a perfect synthesis scores below 1, the more so the more cells a table has: read it against its band",
    tier="fast",
    wide="categorical",
    influence="share",
)
def contingency_fidelity(
    pair: Pair, *, columns: Columns = None, replicates: int = 50, random_state: RandomState = 0
) -> Result:
    """Agreement of all pairwise tables of the categorical columns: 1 minus the mean total variation distance.

    Parameters
    ----------
    pair : Pair
        Original and release.
    columns : list of str or str, optional
        Columns, at least two; default: the categorical ones. Numeric ones that are named are cut into five groups.
    replicates : int, default 50
        Deals of the pooled records behind the band of a perfect synthesiser; below 19 there is none.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: 1 minus the mean distance, 1 is equal. ``details`` has the distance of every pair (``pairwise_tv``)
        and what is expected of a fresh sample (``expected_tv``); ``to_frame`` has one row per pair.

    Notes
    -----
    TV = 1/2 sum |p - q| over the cells of a joint table, p and q their shares in original and release, over records
    complete in the chosen columns. Expected of a fresh sample: 1/2 sum sqrt(2/pi p (1-p) (1/n + 1/m)); divide it by
    sqrt 2 for correct synthesis.

    References
    ----------
    ContingencySimilarity of SDMetrics; the expected value is that of mostlyai-qa.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.contingency_fidelity(pair, replicates=10)
    >>> round(found.value, 3), round(1 - found.details["mean_expected_tv"], 3)
    (0.959, 0.96)
    """
    warnings: list[str] = []
    names = chosen(pair, columns, pair.categorical, "categorical", 2, notes=warnings, valued="both")
    x, y = (coded(pair, names, table, 5, "drop") for table in ("original", "released"))
    if not x.n or not y.n:
        raise NotApplicable("no record is complete in these columns; choose fewer with columns=[...]")
    pairs = [w for w in combinations(range(len(names)), 2) if max(x.sizes[w[0]], 1) > 1 and x.sizes[w[1]] > 1]
    if not pairs:
        raise NotApplicable("the categorical columns have one level each, so there is no table to compare")

    def distance(one: Coded, other: Coded, which: tuple[int, ...]) -> float:
        return float(distances.total_variation(*count_both(one, other, which)))

    found = {f"{names[a]}|{names[b]}": distance(x, y, (a, b)) for a, b in pairs}
    cells = [{"a": names[a], "b": names[b], "value": tv} for (a, b), tv in zip(pairs, found.values(), strict=True)]
    expected = {}
    for a, b in pairs:
        d, _ = count_both(x, x, (a, b))
        expected[f"{names[a]}|{names[b]}"] = distances.expected_tv(
            d / d.sum(), float(d.sum()), float(y.n if y.weights is None else y.weights.sum())
        )
    both, weigh_y = x.beside(y), y.weights is not None

    def mean_tv(rows_x: Rows, rows_y: Rows) -> float:
        one, other = (x if rows is None else both.take(rows) for rows in (rows_x, rows_y))
        return float(np.mean([distance(one, other if weigh_y else other.unweighted(), w) for w in pairs]))

    null = resampled(
        pair,
        lambda rows_x, rows_y: 1 - mean_tv(rows_x, rows_y),
        replicates=replicates,
        random_state=random_state,
        keep=pooled([complete_rows(pair, names, table) for table in POOL]),
    )
    mean = float(np.mean(list(found.values())))
    return judged(
        1 - mean,
        null,
        "higher",
        utility=1 - mean,
        details={
            "mean_tv": mean,
            "contingency_mean_tv": mean,
            "pairwise_tv": found,
            "expected_tv": expected,
            "mean_expected_tv": float(np.mean(list(expected.values()))),
            "n_x": x.n,
            "n_y": y.n,
            "dropped_x": pair.n("original") - x.n,
            "dropped_y": pair.n("released") - y.n,
        },
        warnings=warnings,
        sentence=f"Pairwise tables of categories agree to {100 * (1 - mean):.3g} % on average",
        plot_data={"matrix": cells},
        table=[{"pair": k, "tv": v, "expected_tv": expected[k]} for k, v in found.items()],
    )
