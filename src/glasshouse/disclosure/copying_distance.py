"""Copying checks on distances from the release to the originals: dcr, nndr, hitting_rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.intervals import wilson
from glasshouse.core.measure import Bands, measure
from glasshouse.core.result import Result, Verdict
from glasshouse.core.streams import RandomState
from glasshouse.disclosure.copying_shared import (
    CAVEAT,
    NO_HOLDOUT,
    Closeness,
    closeness,
    effective_interval,
    expected_hits,
    quantile_curve,
    sampled_note,
)
from glasshouse.engines.neighbours import TOL, Space

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

DELUSION = "Yao, Krco, Ganev & de Montjoye (2025), The DCR Delusion, arXiv:2505.01524"
THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
SUSPICIOUS = 0.1


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    bands=Bands(warn=0.05, fail=0.10, on="excess", source="share closer to training records, above its expectation"),
    cite=f"Platzer & Reutterer (2021), Holdout-based empirical assessment; {DELUSION}",
    knows="the release; distances to training and holdout records are computed by the custodian",
    limits=CAVEAT,
    cost="neighbours",
    group="distance",
)
def dcr(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    queries: int | None = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of release records whose closest record is a training record rather than a holdout record.

    With d_T(i) and d_H(i) the Gower distances of release record i to the closest training and holdout record, the
    share is mean[d_T < d_H] + mean[d_T = d_H] / 2 (equality within 1e-9). A release that favours nobody is expected
    at n_T / (n_T + n_H). When the tables differ in size a tie counts by the share of training records among the tied
    ones, which keeps that expectation exact. The p-value is that of swapping training and holdout labels, in closed
    form with hub weights. Passing is no evidence of privacy (Yao et al. 2025).
    """
    found = closeness(pair, columns, missing, 2, queries, random_state, n_jobs)
    notes = sampled_note(found, pair.n("released"))
    train = found.train.distance[:, 0]
    details: dict[str, Any] = {**_distances("train", train), **_sizes(pair, found)}
    curves: dict[str, Any] = {"train": quantile_curve(train)}
    if found.holdout is None:
        return Result(
            status="not_applicable", reason=f"the share needs {NO_HOLDOUT}", details=details, warnings=notes,
            plot_data={"curves": curves}, records=lambda: _closest_release(found.space, pair, n_jobs), rank="closeness",
        )  # fmt: skip
    holdout = found.holdout.distance[:, 0]
    curves["holdout"] = quantile_curve(holdout)
    strict = float((train < holdout - TOL).mean())
    tie = float((np.abs(train - holdout) <= TOL).mean())
    test = found.label_test()
    assert test is not None
    v, wilcoxon_p = _signed_rank(train, holdout)
    details |= {
        **_distances("holdout", holdout),
        "ratio": _ratio(train.mean(), holdout.mean()),
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
    share = details["share_mid"] if found.n_train == found.n_holdout else test.share
    return Result(
        value=share,
        baseline=test.expected,
        interval=effective_interval(share, max(test.effective_n, 1.0), confidence),
        details=details,
        verdict=_judge(test.p, share - test.expected),
        sentence=(
            f"{share:.1%} of release records lie closer to a training than to a holdout record; {test.expected:.1%} would "
            f"if the release favoured nobody (p = {test.p:.2g}). {CAVEAT}"
        ),
        warnings=notes,
        plot_data={"curves": curves},
        records=lambda: _closest_release(found.space, pair, n_jobs, found),
        rank="closeness",
    )


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    bands=Bands(warn=0.02, fail=0.05, on="excess", source="suspicious share, above that against people not in the data"),
    cite=f"Platzer & Reutterer (2021); {DELUSION}",
    knows="the release; distances are computed by the custodian",
    limits=CAVEAT,
    cost="neighbours",
    group="distance",
)
def nndr(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    threshold: float = SUSPICIOUS,
    queries: int | None = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of release records suspiciously near one training record compared with the next one.

    r(i) = d1 / d2, the distances of release record i to its two nearest training records; r = 0 for an exact copy, even
    of a duplicated record. Suspicious: r below ``threshold``. The reference is the same share against the holdout; the
    p-value compares the two per release record (McNemar, exact, one-sided). Without a holdout the reference is the
    training records among themselves.
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie in (0, 1], not {threshold}")
    if pair.n("original") < 2:
        raise NotApplicable("the ratio needs at least two original records")
    found = closeness(pair, columns, missing, 2, queries, random_state, n_jobs)
    notes = sampled_note(found, pair.n("released"))
    train = distance_ratio(found.train.distance)
    suspicious = train < threshold
    details: dict[str, Any] = {
        **_ratios("train", train), **_sizes(pair, found), "n_suspicious_lt_0_1": int((train < SUSPICIOUS).sum()),
        "n_suspicious_distinct": int((distance_ratio(found.train.distinct) < threshold).sum()),
    }  # fmt: skip
    curves: dict[str, Any] = {"train": quantile_curve(train)}
    baseline, p, verdict = None, None, None
    if found.holdout is not None and found.n_holdout >= 2:
        held = distance_ratio(found.holdout.distance)
        curves["holdout"] = quantile_curve(held)
        against = held < threshold
        baseline = float(against.mean())
        p = _mcnemar(suspicious, against)
        verdict = _judge(p, float(suspicious.mean()) - baseline)
        details |= {
            **_ratios("holdout", held),
            "ratio_p5": _ratio(details["p5_train"], float(np.quantile(held, 0.05))),
            "n_suspicious_holdout": int((held < SUSPICIOUS).sum()),
            "p_mcnemar": p,
        }
        reference = f"{baseline:.1%} are to holdout records (p = {p:.2g})"
    else:
        own = distance_ratio(found.space.nearest("original", "original", 2, n_jobs).distance)
        baseline = float((own < threshold).mean())
        details["suspicious_self"] = baseline
        curves["self"] = quantile_curve(own)
        notes.append(f"the reference is the training records among themselves, because there is {NO_HOLDOUT}")
        reference = f"{baseline:.1%} of training records are to each other"
    share = float(suspicious.mean())
    return Result(
        value=share,
        baseline=baseline,
        holdout=baseline if p is not None else None,
        interval=wilson(suspicious.sum(), len(suspicious), confidence),
        details=details,
        verdict=verdict,
        sentence=(
            f"{share:.1%} of release records are much nearer to one training record than to the next; {reference}. {CAVEAT}"
        ),
        warnings=notes,
        plot_data={"curves": curves},
        records=lambda: _closest_release(found.space, pair, n_jobs, found if found.holdout is not None else None),
        rank="closeness",
    )


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    bands=Bands(warn=0.05, fail=0.10, on="excess", source="hits on training records, above hits on people not in the data"),
    cite=f"Hittmeir, Mayer & Ekelhart (2020); {DELUSION}",
    knows="the release; distances are computed by the custodian",
    limits=CAVEAT,
    cost="neighbours",
    group="distance",
)
def hitting_rate(
    pair: Pair,
    *,
    threshold: float = 0.05,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    queries: int | None = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of release records within a small distance of some training record.

    HR(tau) = mean[d_T <= tau]; the reference is the same rate against the holdout, with the training records cut in
    expectation to the holdout's size when they are more. The p-value asks whether the nearest original of the hitting
    records is a training record more often than under swapped labels. Without a holdout the reference is the rate of
    training records among themselves. ``details["hitting_rate"]`` holds the curve over distances.
    """
    if not 0 <= threshold < 1:
        raise InputError(f"threshold must lie in [0, 1), not {threshold}")
    found = closeness(pair, columns, missing, 2, queries, random_state, n_jobs)
    notes = sampled_note(found, pair.n("released"))
    train = found.train.distance[:, 0]
    curve = hit_curve(train)
    share = float((train <= threshold + TOL).mean())
    details: dict[str, Any] = {"threshold": threshold, "hitting_rate": curve, **curve, **_sizes(pair, found)}
    p, verdict, excess = None, None, None
    if found.holdout is not None:
        holdout = found.holdout.distance[:, 0]
        baseline = float((holdout <= threshold + TOL).mean())
        adjusted = _equal_size_rate(found, threshold, n_jobs)
        test = found.label_test(within=threshold)
        p = 1.0 if test is None else test.p
        verdict = _judge(p, adjusted - baseline)
        excess = (adjusted - baseline) / (1 - baseline) if baseline < 1 else 0.0
        details |= {
            "hitting_rate_holdout": hit_curve(holdout), "rate_at_equal_size": adjusted, "difference": adjusted - baseline,
            "p_label_swap": p,
        }  # fmt: skip
        reference = f"{baseline:.1%} are that near to a holdout record (p = {p:.2g})"
    else:
        own = found.space.nearest("original", "original", 1, n_jobs).distance[:, 0] if pair.n("original") > 1 else None
        baseline = 0.0 if own is None else float((own <= threshold + TOL).mean())
        details["hitting_rate_self"] = {} if own is None else hit_curve(own)
        notes.append(f"the reference is the training records among themselves, because there is {NO_HOLDOUT}")
        reference = f"{baseline:.1%} of training records are that near to each other"
    return Result(
        value=share,
        baseline=baseline,
        excess=excess,
        holdout=baseline if p is not None else None,
        interval=wilson((train <= threshold + TOL).sum(), len(train), confidence),
        details=details,
        verdict=verdict,
        sentence=(
            f"{share:.1%} of release records lie within distance {threshold:g} of a training record; {reference}. {CAVEAT}"
        ),
        warnings=notes,
        records=lambda: _hit_records(found.space, pair, threshold, n_jobs),
        flag="hit",
        rank="closeness",
    )


def distance_ratio(distance: np.ndarray) -> np.ndarray:
    """d1 / d2 per record; 0 where d1 is 0, 1 where there is no second record."""
    first, second = distance[:, 0], distance[:, 1]
    known = (first > TOL) & np.isfinite(second)
    ratio = np.divide(first, second, out=np.ones_like(first), where=known)
    ratio[first <= TOL] = 0.0
    return ratio


def hit_curve(distance: np.ndarray) -> dict[str, float]:
    """Share within each of a few distances, keyed by the distance as text."""
    return {f"{t:g}": float((distance <= t + TOL).mean()) for t in THRESHOLDS}


def _equal_size_rate(found: Closeness, threshold: float, n_jobs: int | None) -> float:
    if found.n_train <= found.n_holdout:
        return float((found.train.distance[:, 0] <= threshold + TOL).mean())
    query = found.space.rows("released") if found.rows is None else found.space.rows("released", found.rows)
    counts = found.space.count_rows_within(query, "original", threshold, n_jobs)
    return expected_hits(counts, found.n_train, found.n_holdout)


def _judge(p: float, difference: float) -> Verdict:
    """Nothing found, a difference that is real but small, a difference that is real and large."""
    if p >= 0.05:
        return "pass"
    return "fail" if difference > 0.05 else "warn"


def _mcnemar(hit: np.ndarray, reference: np.ndarray) -> float:
    """Exact one-sided McNemar p: are records suspicious against training but not holdout in the majority?"""
    from scipy.stats import binomtest

    only_train = int((hit & ~reference).sum())
    discordant = only_train + int((reference & ~hit).sum())
    return 1.0 if discordant == 0 else float(binomtest(only_train, discordant, 0.5, alternative="greater").pvalue)


def _signed_rank(train: np.ndarray, holdout: np.ndarray) -> tuple[float | None, float | None]:
    """Wilcoxon signed-rank V and one-sided p for d_T < d_H; shown, not decided on, since hubs make records dependent."""
    from scipy.stats import wilcoxon

    # Ten digits, so that equal distances reached by different columns are ties and not rounding noise.
    difference = np.round(train, 10) - np.round(holdout, 10)
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


def _ratios(name: str, values: np.ndarray) -> dict[str, float]:
    return {
        f"mean_{name}": float(values.mean()),
        f"p5_{name}": float(np.quantile(values, 0.05)),
        f"p10_{name}": float(np.quantile(values, 0.10)),
    }


def _ratio(a: float, b: float) -> float | None:
    return float(a / b) if b > 0 else None


def _sizes(pair: Pair, found: Closeness) -> dict[str, Any]:
    return {
        "n": [found.n_train, found.n_holdout, found.n], "p": len(found.space.columns), "ranges": dict(found.space.ranges),
        "columns": list(found.space.columns),
    }  # fmt: skip


def _closest_release(
    space: Space, pair: Pair, n_jobs: int | None, found: Closeness | None = None
) -> Mapping[str, np.ndarray]:
    """Per original record: the closest release record, and for how many release records it is the closest original."""
    near = space.nearest("original", "released", 1, n_jobs)
    columns = {"distance": near.distance[:, 0], "released_row": near.index, "closeness": 1 - near.distance[:, 0]}
    if found is not None:
        columns["nearest_of"] = found.hub_weights("original")[space.rows("original").inverse]
    return columns


def _hit_records(space: Space, pair: Pair, threshold: float, n_jobs: int | None) -> Mapping[str, np.ndarray]:
    columns = dict(_closest_release(space, pair, n_jobs))
    return {**columns, "hit": columns["distance"] <= threshold + TOL}
