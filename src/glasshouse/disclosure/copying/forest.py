"""Random-forest proximity: how often release and original records end in the same leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import TOO_NEAR
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.disclosure.copying.closeness import (
    CAVEAT,
    NO_HOLDOUT,
    answerable_columns,
    effective_interval,
    label_test,
    ratio_of,
)
from glasshouse.disclosure.wording import against
from glasshouse.engines.canonical import canonical_designs
from glasshouse.engines.neighbours.search import TOL, threads

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.engines.neighbours.leaves import Shared


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    limit=LEAK_LIMIT,
    cite="Breiman (2001) and Shi & Horvath (2006), forest proximity; riskutility rf_privacy",
    attacker="the release; proximities are computed by the custodian",
    caveats=CAVEAT,
    cost="attackers",
    group="distance",
    tier="full",
    advice=TOO_NEAR,
    influence="free",
    wide="columns",
    grows="values",
)
def forest_proximity(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    trees: int = 100,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of release records whose most similar record, in a forest's eyes, is an original and not a holdout record.

    The forest learns to tell real people (originals and holdout) from the same records with every column shuffled, so
    the release has no label of its own and a copy falls into the leaves of its original.

    Parameters
    ----------
    pair : Pair
        Original and release. A holdout is what makes the figure speak of copying rather than of coarse data.
    columns : sequence of str, optional
        Columns to compare; every shared column by default.
    trees : int, default 100
        Trees of the forest.
    confidence : float, default 0.95
        Level of the interval.
    random_state : int, Generator or None, default 0
        Seed of the shuffled records, of the forest and of the exchange of labels.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    Result
        ``value``: the share; ``baseline``: n_T / (n_T + n_H), what it is when the release favours nobody;
        ``difference``: value minus baseline, with the p value of swapped labels. ``details``: mean of the largest
        proximity to originals (``_train``) and holdout, the share by mean proximity, the exact null. ``records``: per
        original its largest ``proximity`` to a release record, and which one that is. Without a holdout there is no
        value.

    Notes
    -----
    prox(s, t) is the share of trees in which records s and t end in the same leaf. With T the n_T originals and H the
    n_H holdout records

        share = mean_s [max_T prox > max_H prox] + mean_s [max_T prox = max_H prox] / 2

    and labels are exchanged as in ``dcr``.

    References
    ----------
    Breiman (2001), Random forests, Machine Learning 45.
    Shi & Horvath (2006), Unsupervised learning with random forest predictors, JCGS 15.
    ``rf_privacy`` of the R package riskutility.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.forest_proximity(gh.data.load("case_study").pair("B"), trees=20)
    >>> round(found.value, 3), round(found.baseline, 3)
    (0.749, 0.667)
    """
    notes: list[str] = []
    leaves = _leaves(pair, answerable_columns(pair, columns, notes), trees, random_state, n_jobs)
    reference = leaves["original"]
    if pair.has_holdout:
        reference = np.concatenate([reference, leaves["holdout"]], axis=1)
    n_original, n = pair.n("original"), reference.shape[1]
    found = _search(leaves["released"], reference, n_original, n_jobs, with_ties=n > n_original)
    near, held = found.first / trees, found.rest / trees
    details: dict[str, object] = {"trees": trees, "mean_max_train": float(near.mean())}
    if n == n_original:
        return Result(
            status="not_applicable",
            needs="holdout",
            reason=f"the share cannot be told, because there is {NO_HOLDOUT}",
            details=details,
            warnings=notes,
        )
    weights = _hub_weights(found, n)
    test, tested = label_test((weights[:n_original], weights[n_original:]), pair, random_state, "forest_proximity")
    mean_original, mean_held = (_mean_proximity(leaves["released"], leaves[t]) for t in ("original", "holdout"))
    share = _share(near, held)
    details |= {
        "mean_max_holdout": float(held.mean()),
        "max_prox_share": share,
        "max_prox_share_frac": test.share,
        "max_prox_ratio": ratio_of(near.mean(), held.mean()) if held.mean() >= 1 / trees else None,
        "prox_share": _share(mean_original, mean_held),
        "prox_ratio": ratio_of(mean_original.mean(), mean_held.mean()) if mean_held.mean() >= 1 / trees else None,
        "null_mean": test.expected,
        "null_sd_exact": test.sd,
        "null_p_normal_one_sided": test.p,
    }
    value = share if 2 * n_original == n else test.share
    low, high = effective_interval(value, max(test.effective_n, 1.0), confidence)
    return Result(
        value=value,
        baseline=test.expected,
        interval=(low, high),
        details=details,
        difference=value - test.expected,
        difference_interval=(low - test.expected, high - test.expected),
        p_value=tested.p,
        of=len(near),
        sentence=(
            f"{percent(value)} of release records are most similar to an original in the eyes of a forest; "
            f"{percent(test.expected)} would be if the release favoured nobody: "
            f"{against(tested.p, value, test.expected)}. {CAVEAT}"
        ),
        warnings=notes,
        records=lambda: _records(leaves, n_jobs),
        rank="proximity",
    )


def _leaves(
    pair: Pair, names: Sequence[str], trees: int, random_state: RandomState, n_jobs: int | None
) -> dict[str, np.ndarray]:
    """Leaf numbers [trees, n] of every table in an unsupervised forest."""
    from glasshouse.engines.models.design import Design
    from glasshouse.engines.models.model import fit

    tables = ["original", "released", *(["holdout"] if pair.has_holdout else [])]
    designs = canonical_designs(pair, names, tables)
    real = designs["original"].stack(designs["holdout"]) if pair.has_holdout else designs["original"]
    shuffled = [
        generator(random_state, "forest_proximity", j).permutation(np.sort(real.codes[:, j]))
        for j in range(real.codes.shape[1])
    ]
    noise = np.ascontiguousarray(np.column_stack(shuffled), np.int32)
    both = real.stack(Design(real.names, real.kinds, noise, real.levels))
    y = (np.arange(both.n) >= real.n).astype(np.int64)
    seed = integer_seed(random_state, "forest_proximity forest")
    model = fit("rf", both, y, n_classes=2, random_state=seed, n_jobs=n_jobs, trees=trees)
    return {t: np.asarray(model.leaves(designs[t]), np.int32) for t in tables}


def _search(asked: np.ndarray, reference: np.ndarray, n_first: int, n_jobs: int | None, with_ties: bool) -> Shared:
    from glasshouse.engines.neighbours.leaves import leaf_lists, most_shared

    sizes = np.maximum(asked.max(axis=1), reference.max(axis=1)).astype(np.int64) + 1
    with threads(n_jobs):
        return most_shared(asked, leaf_lists(reference, sizes), n_first, with_ties)


def _hub_weights(found: Shared, n: int) -> np.ndarray:
    """For how many release records each original is the most similar one, ties shared out."""
    sizes = np.diff(found.tie_offsets)
    weights = np.bincount(found.ties, weights=np.repeat(1 / np.maximum(sizes, 1), sizes), minlength=n)
    return np.asarray(weights + (sizes == 0).sum() / n)


def _mean_proximity(released: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Mean proximity of each release record to all records of a table, from leaf sizes alone."""
    total = np.zeros(released.shape[1])
    for mine, theirs in zip(released, others, strict=True):
        total += np.bincount(theirs, minlength=int(mine.max()) + 1)[mine]
    return total / others.size


def _share(near: np.ndarray, held: np.ndarray) -> float:
    """Share with the larger value on the original's side, ties half."""
    return float((near > held + TOL).mean() + (np.abs(near - held) <= TOL).mean() / 2)


def _records(leaves: dict[str, np.ndarray], n_jobs: int | None) -> dict[str, np.ndarray]:
    """Per original: proximity to its most similar release record, and which one that is."""
    n_released = leaves["released"].shape[1]
    found = _search(leaves["original"], leaves["released"], n_released, n_jobs, with_ties=False)
    return {"proximity": found.first / len(leaves["released"]), "released_row": found.index}
