"""Copying checks on the distance from a release record to its closest originals: dcr and hitting_rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glasshouse.core.advice import TOO_NEAR, VERY_NEAR
from glasshouse.core.errors import InputError
from glasshouse.core.intervals import wilson
from glasshouse.core.measure import measure
from glasshouse.core.plain import p_value, percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.disclosure.copying.closeness import (
    CAVEAT,
    DELUSION,
    NO_HOLDOUT,
    Closeness,
    closeness,
    closest_release,
    copying_limit,
    effective_interval,
    expected_hits,
    quantile_curve,
    ratio_of,
    sampled_note,
    sizes,
    surplus,
)
from glasshouse.engines.neighbours.search import TOL, Space

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    limit=copying_limit(),
    cite=f"Platzer & Reutterer (2021), Holdout-based empirical assessment; {DELUSION}",
    attacker="the release; distances to training and holdout records are computed by the custodian",
    caveats=CAVEAT,
    cost="neighbours",
    group="distance",
    private=("ranges",),
    title="DCR",
    on_map=True,
    advice=TOO_NEAR,
    riskutility=("DCR", lambda r: {"share": r.value, "wilcoxon_p": r.details["wilcoxon_p_less"]}),
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
    details: dict[str, Any] = {**_distances("train", train), **sizes(pair, found)}
    curves: dict[str, Any] = {"train": quantile_curve(train)}
    if found.holdout is None:
        return Result(
            status="not_applicable",
            reason=f"the share cannot be told, because there is {NO_HOLDOUT}",
            details=details,
            warnings=notes,
            plot_data={"curves": curves},
            records=lambda: closest_release(found.space, pair, n_jobs),
            rank="closeness",
        )
    holdout = found.holdout.distance[:, 0]
    curves["holdout"] = quantile_curve(holdout)
    strict = float((train < holdout - TOL).mean())
    tie = float((np.abs(train - holdout) <= TOL).mean())
    test = found.label_test()
    assert test is not None
    v, wilcoxon_p = _signed_rank(train, holdout)
    details |= {
        **_distances("holdout", holdout),
        "ratio": ratio_of(train.mean(), holdout.mean()),
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
        difference=share - test.expected,
        p_value=test.p,
        sentence=(
            f"{percent(share)} of release records lie closer to a training than to a holdout record; "
            f"{percent(test.expected)} would if the release favoured nobody ({p_value(test.p)}). {CAVEAT}"
        ),
        warnings=notes,
        plot_data={"curves": curves},
        records=lambda: closest_release(found.space, pair, n_jobs, found),
        rank="closeness",
    )


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    limit=copying_limit(alone=(0.05, 0.10)),
    figures=("surplus",),
    cite=f"Hittmeir, Mayer & Ekelhart (2020); {DELUSION}",
    attacker="the release; distances are computed by the custodian",
    caveats=CAVEAT,
    cost="neighbours",
    group="distance",
    private=("ranges",),
    advice=VERY_NEAR,
    riskutility=("Hitting Rate", lambda r: {"value": r.value}),
)
def hitting_rate(
    pair: Pair,
    *,
    threshold: float = 0.05,
    box: float | None = None,
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
    training records among themselves. ``details["hitting_rate"]`` holds the curve over distances. ``box`` (say 1/30)
    adds SynthEval's version: the share of originals with a release record equal in every category and within that part
    of the range in every number (``box_hit_rate``).
    """
    if not 0 <= threshold < 1:
        raise InputError(f"threshold must lie in [0, 1), not {threshold}")
    found = closeness(pair, columns, missing, 2, queries, random_state, n_jobs)
    notes = sampled_note(found, pair.n("released"))
    train = found.train.distance[:, 0]
    curve = hit_curve(train)
    share = float((train <= threshold + TOL).mean())
    details: dict[str, Any] = {"threshold": threshold, "hitting_rate": curve, **curve, **sizes(pair, found)}
    if box is not None:
        details |= _box_hits(pair, found, box, missing)
    p, excess, difference, alone = None, None, None, None
    if found.holdout is not None:
        holdout = found.holdout.distance[:, 0]
        baseline = float((holdout <= threshold + TOL).mean())
        adjusted = _equal_size_rate(found, threshold, n_jobs)
        test = found.label_test(within=threshold)
        p = 1.0 if test is None else test.p
        difference = adjusted - baseline
        excess = (adjusted - baseline) / (1 - baseline) if baseline < 1 else 0.0
        details |= {
            "hitting_rate_holdout": hit_curve(holdout),
            "rate_at_equal_size": adjusted,
            "difference": difference,
            "p_label_swap": p,
        }
        reference = f"{percent(baseline)} are that near to a holdout record ({p_value(p)})"
    else:
        own = found.space.nearest("original", "original", 1, n_jobs).distance[:, 0] if pair.n("original") > 1 else None
        baseline = 0.0 if own is None else float((own <= threshold + TOL).mean())
        # the plain difference: a quotient by 1 - baseline would call 100 % against 99 % the worst there is
        excess = share - baseline
        alone = surplus(int((train <= threshold + TOL).sum()), len(train), baseline)
        details["hitting_rate_self"] = {} if own is None else hit_curve(own)
        notes.append(f"the reference is the training records among themselves, because there is {NO_HOLDOUT}")
        reference = f"{percent(baseline)} of training records are that near to each other"
    return Result(
        value=share,
        baseline=baseline,
        excess=excess,
        holdout=baseline if p is not None else None,
        interval=wilson((train <= threshold + TOL).sum(), len(train), confidence),
        details=details,
        difference=difference,
        p_value=p,
        figures={"surplus": alone},
        sentence=(
            f"{percent(share)} of release records lie within distance {threshold:g} of a training record; "
            f"{reference}. {CAVEAT}"
        ),
        warnings=notes,
        records=lambda: _hit_records(found.space, pair, threshold, n_jobs),
        flag="hit",
        rank="closeness",
    )


def hit_curve(distance: np.ndarray) -> dict[str, float]:
    """Share within each of a few distances, keyed by the distance as text."""
    return {f"{t:g}": float((distance <= t + TOL).mean()) for t in THRESHOLDS}


def _equal_size_rate(found: Closeness, threshold: float, n_jobs: int | None) -> float:
    if found.n_train <= found.n_holdout:
        return float((found.train.distance[:, 0] <= threshold + TOL).mean())
    query = found.space.rows("released") if found.rows is None else found.space.rows("released", found.rows)
    counts = found.space.count_rows_within(query, "original", threshold, n_jobs)
    return expected_hits(counts, found.n_train, found.n_holdout)


def _signed_rank(train: np.ndarray, holdout: np.ndarray) -> tuple[float | None, float | None]:
    """Wilcoxon signed-rank V and one-sided p for d_T < d_H; shown, not decided on: hubs make records dependent."""
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


def _box_hits(pair: Pair, found: Closeness, box: float, missing: str) -> dict[str, float]:
    """Share of people with a release record equal in every category and within ``box`` times the range of numbers."""
    from glasshouse.disclosure.copying.drisk import inside_box

    if not 0 <= box < 1:
        raise InputError(f"box must lie in [0, 1), not {box}")
    encoded = found.space.encoded
    n_numbers = next(iter(encoded.numbers.values())).shape[1]
    widths = encoded.weights[:n_numbers]

    def matrix(table: str) -> np.ndarray:
        numbers = encoded.numbers[table] / widths
        numbers[numbers > 1.5] = np.nan
        codes = encoded.codes[table].astype(float)
        codes[codes < 0] = np.nan
        return np.concatenate([numbers, codes], axis=1)

    half = np.concatenate([np.full(n_numbers, box), np.zeros(len(encoded.weights) - n_numbers)])
    released = matrix("released")
    tables = {"original": "box_hit_rate", **({"holdout": "box_hit_rate_holdout"} if pair.has_holdout else {})}
    return {name: float(inside_box(matrix(t), released, half, missing).mean()) for t, name in tables.items()}


def _hit_records(space: Space, pair: Pair, threshold: float, n_jobs: int | None) -> Mapping[str, np.ndarray]:
    columns = dict(closest_release(space, pair, n_jobs))
    return {**columns, "hit": columns["distance"] <= threshold + TOL}
