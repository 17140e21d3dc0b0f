"""DCR: is a release record closer to the originals than to people never in the data?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import TOO_NEAR
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.disclosure.copying.closeness import (
    CAVEAT,
    DELUSION,
    NO_HOLDOUT,
    closeness,
    closest_release,
    effective_interval,
    quantile_curve,
    ratio_of,
    sampled_note,
    sizes,
)
from glasshouse.disclosure.wording import against
from glasshouse.engines.asked import People
from glasshouse.engines.neighbours.search import TOL

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    limit=LEAK_LIMIT,
    cite=f"Platzer & Reutterer (2021), Holdout-based empirical assessment; {DELUSION}",
    attacker="the release; distances to training and holdout records are computed by the custodian",
    caveats=CAVEAT,
    cost="neighbours",
    group="distance",
    title="DCR",
    on_map=True,
    advice=TOO_NEAR,
    riskutility=("DCR", lambda r: {"share": r.value, "wilcoxon_p": r.details["wilcoxon_p_less"]}),
    influence="free",
    wide="columns",
    grows="people",
)
def dcr(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    queries: People = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of release records whose closest record is an original record rather than a holdout record.

    A release that favours nobody is as often closest to an original as originals are frequent among originals and
    holdout together; a release that copies is closest to its originals. The p value is that of swapping the labels
    "original" and "holdout". Passing is no evidence of privacy (Yao et al. 2025).

    Parameters
    ----------
    pair : Pair
        Original and release. A holdout is what makes the figure speak of copying rather than of coarse data.
    columns : sequence of str, optional
        Columns to compare; every shared column by default.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        What a missing value is in a comparison: a value of its own, different from everything, equal to everything, or
        a reason to leave the column out of that comparison.
    queries : int or "all", optional
        Ask about a random sample of this many release records. Default: all, and 50,000 of more than 100,000. Originals
        are never thinned.
    confidence : float, default 0.95
        Level of the interval.
    random_state : int, Generator or None, default 0
        Seed of the sample of ``queries`` and of the exchange of labels.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    Result
        ``value``: the share; ``baseline``: n_T / (n_T + n_H), what it is when the release favours nobody;
        ``difference``: value minus baseline, with its p value. ``details``: means, medians and 5 % quantiles of the
        distances to originals (``_train``) and to the holdout, the share with ties counted in other ways, the exact
        null, and a Wilcoxon signed-rank test for comparison. ``records``: per original the closest release record, its
        distance, and for how many release records this original is the closest. Without a holdout there is no value.

    Notes
    -----
    With d_T(i) and d_H(i) the Gower distances of release record i to the closest of n_T originals and of n_H holdout
    records (equality within 1e-9)

        share = mean[d_T < d_H] + mean[d_T = d_H] / 2

    Where the tables differ in size a tie counts by the share of originals among the tied records, which keeps the
    expectation n_T / (n_T + n_H) exact. Swapping labels moves no distance: with hub weights w_j (for how many release
    records the record j is closest, ties shared), N = n_T + n_H, q = n_T / N and n release records the null has mean q
    and variance q (1 - q) N / (N - 1) (sum_j w_j^2 - n^2 / N) / n^2. A few hubs are not normal, so the p value comes
    from dealing the labels; with clusters the weights of a cluster are summed and its label goes to the whole of it.

    References
    ----------
    Platzer & Reutterer (2021), Holdout-based empirical assessment of mixed-type synthetic data, Front. Big Data 4.
    Yao, Krco, Ganev & de Montjoye (2025), The DCR Delusion, arXiv:2505.01524.
    Gower (1971), A general coefficient of similarity and some of its properties, Biometrics 27.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.dcr(gh.data.load("case_study").pair("B"))
    >>> round(found.value, 3), round(found.baseline, 3), round(found.p_value, 3)
    (0.761, 0.667, 0.0)
    """
    found = closeness(pair, columns, missing, 2, queries, random_state, n_jobs)
    notes = sampled_note(found, pair.n("released"))
    near = found.original.distance[:, 0]
    details: dict[str, object] = {**_distances("train", near), **sizes(found)}
    curves = {"original": quantile_curve(near)}
    if found.holdout is None:
        return Result(
            status="not_applicable",
            needs="holdout",
            reason=f"the share cannot be told, because there is {NO_HOLDOUT}",
            details=details,
            warnings=notes,
            plot_data={"curves": curves},
            records=lambda: closest_release(found.space, n_jobs),
            rank="closeness",
        )
    held = found.holdout.distance[:, 0]
    curves["holdout"] = quantile_curve(held)
    strict = float((near < held - TOL).mean())
    tie = float((np.abs(near - held) <= TOL).mean())
    test, tested = found.label_test(pair, random_state, "dcr")
    v, wilcoxon_p = _signed_rank(near, held)
    details |= {
        **_distances("holdout", held),
        "ratio": ratio_of(near.mean(), held.mean()),
        "share_strict": strict,
        "share_tie": tie,
        "share_mid": strict + tie / 2,
        "share_frac": test.share,
        "null_mean": test.expected,
        "null_sd_exact": test.sd,
        "null_z": test.z,
        "null_p_normal_one_sided": test.p,
        "max_hub_weight": test.largest_hub,
        "wilcoxon_V": v,
        "wilcoxon_p_less": wilcoxon_p,
    }
    share = strict + tie / 2 if found.n_original == found.n_holdout else test.share
    low, high = effective_interval(share, max(test.effective_n, 1.0), confidence)
    return Result(
        value=share,
        baseline=test.expected,
        interval=(low, high),
        details=details,
        difference=share - test.expected,
        difference_interval=(low - test.expected, high - test.expected),
        p_value=tested.p,
        of=len(near),
        sentence=(
            f"{percent(share)} of release records lie closer to an original than to a holdout record; "
            f"{percent(test.expected)} would if the release favoured nobody: "
            f"{against(tested.p, share, test.expected)}. {CAVEAT}"
        ),
        warnings=notes,
        plot_data={"curves": curves},
        records=lambda: closest_release(found.space, n_jobs, found),
        rank="closeness",
    )


def _signed_rank(near: np.ndarray, held: np.ndarray) -> tuple[float | None, float | None]:
    """Wilcoxon signed-rank V and one-sided p for d_T < d_H; shown, not decided on: hubs make records dependent."""
    from scipy.stats import wilcoxon

    # Ten digits, so that equal distances reached by different columns are ties and not rounding noise.
    difference = np.round(near, 10) - np.round(held, 10)
    if not difference.any():
        return None, None
    test = wilcoxon(difference, alternative="less", correction=True, zero_method="wilcox", method="asymptotic")
    return float(test.statistic), float(test.pvalue)


def _distances(name: str, values: np.ndarray) -> dict[str, float]:
    return {
        f"mean_{name}": float(values.mean()),
        f"median_{name}": float(np.median(values)),
        f"p5_{name}": float(np.quantile(values, 0.05)),
    }
