"""NNDR: is a release record much nearer to one original than to the next?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import TOO_NEAR
from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.intervals import wilson
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.disclosure.copying.closeness import (
    CAVEAT,
    DELUSION,
    NO_HOLDOUT,
    Closeness,
    closeness,
    closest_release,
    distance_ratio,
    leak_limit,
    quantile_curve,
    ratio_of,
    sampled_note,
    sizes,
    surplus,
)
from glasshouse.disclosure.wording import against
from glasshouse.engines.asked import People

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

SUSPICIOUS = 0.1
_LONGEST_LIST = 24


def _mean_ratio(result: Result) -> float | None:
    """Mean distance ratio to originals over the one to holdout records; None without a holdout."""
    held = result.details.get("mean_holdout")
    return float(result.details["mean_train"] / held) if held else None


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    limit=leak_limit(alone=(0.02, 0.05)),
    figures=("surplus",),
    cite=f"Platzer & Reutterer (2021); {DELUSION}",
    attacker="the release; distances are computed by the custodian",
    caveats=CAVEAT,
    cost="neighbours",
    group="distance",
    title="NNDR",
    advice=TOO_NEAR,
    riskutility=(
        "NNDR",
        lambda r: {"ratio": _mean_ratio(r), "pct_suspicious": None if r.value is None else 100 * r.value},
    ),
    influence="free",
    wide="columns",
    grows="people",
)
def nndr(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    threshold: float = SUSPICIOUS,
    queries: People = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of release records suspiciously near one original record compared with the next one.

    A copy is much nearer to the record it copies than to any other. The reference is the same share against the
    holdout, the larger of the two tables being cut in expectation to the size of the smaller; without a holdout it is
    that of originals among themselves.

    Parameters
    ----------
    pair : Pair
        Original and release. A holdout is what makes the figure speak of copying rather than of coarse data.
    columns : sequence of str, optional
        Columns to compare; every shared column by default.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        What a missing value is in a comparison: a value of its own, different from everything, equal to everything, or
        a reason to leave the column out of that comparison.
    threshold : float, default 0.1
        Ratio below which a release record is suspicious, in (0, 1].
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
        ``value``: the share; ``baseline`` and ``holdout``: the share against the holdout; ``difference``: the
        difference at equal table sizes, with its p value. Without a holdout the baseline is that of originals among
        themselves and the figure ``surplus`` says by how much the lower limit of the share exceeds it. ``details``:
        mean, 5 % and 10 % quantile of the ratios against originals (``_train``) and holdout. ``records``: per original
        the closest release record, its distance, and for how many release records this original is the closest.

    Notes
    -----
    With d1 <= d2 the Gower distances of release record i to its two nearest originals

        r(i) = d1 / d2,   r(i) = 0 for an exact copy, even of a repeated original

    The p value asks the same of originals and holdout together, without looking at the label: a release record with
    r < threshold among all of them counts for its nearest one (for each of several equal ones in part), and labels are
    exchanged. At unequal sizes the flags behind ``difference`` are replaced by the chance that r < threshold when the
    larger table is cut at random: the two nearest left have ranks i < j with probability proportional to
    C(n - j, m - 2), n records cut to m.

    References
    ----------
    Platzer & Reutterer (2021), Holdout-based empirical assessment of mixed-type synthetic data, Front. Big Data 4.
    Yao, Krco, Ganev & de Montjoye (2025), The DCR Delusion, arXiv:2505.01524.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.nndr(gh.data.load("case_study").pair("B"))
    >>> round(found.value, 3), round(found.holdout, 3), round(found.p_value, 3)
    (0.113, 0.123, 0.0)
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie in (0, 1], not {threshold}")
    if pair.n("original") < 2:
        raise NotApplicable("the ratio needs at least two original records")
    found = closeness(pair, columns, missing, 2, queries, random_state, n_jobs)
    notes = sampled_note(found, pair.n("released"))
    ratio = distance_ratio(found.original.distance)
    suspicious = ratio < threshold
    details: dict[str, object] = {
        **_ratios("train", ratio),
        **sizes(found),
        "n_suspicious_lt_0_1": int((ratio < SUSPICIOUS).sum()),
        "n_suspicious_distinct": int((distance_ratio(found.original.distinct) < threshold).sum()),
    }
    curves = {"original": quantile_curve(ratio)}
    p, excess, difference, alone = None, None, None, None
    if found.holdout is not None and found.n_holdout >= 2:
        held = distance_ratio(found.holdout.distance)
        curves["holdout"] = quantile_curve(held)
        flagged = held < threshold
        baseline = float(flagged.mean())
        shares, reference_shares = _at_equal_size(found, threshold, suspicious, flagged, n_jobs)
        difference = float((shares - reference_shares).mean())
        p = found.label_test(pair, random_state, "nndr", found.pooled_ratio < threshold)[1].p
        excess = difference / (1 - baseline) if baseline < 1 else 0.0
        details |= {
            **_ratios("holdout", held),
            "ratio_p5": ratio_of(float(np.quantile(ratio, 0.05)), float(np.quantile(held, 0.05))),
            "n_suspicious_holdout": int((held < SUSPICIOUS).sum()),
            "difference_at_equal_size": difference,
            "p_difference": p,
        }
        reference = f"{percent(baseline)} are to holdout records: {against(p, baseline + difference, baseline)}"
    else:
        own = distance_ratio(found.space.nearest("original", "original", 2, n_jobs).distance)
        baseline = float((own < threshold).mean())
        details["suspicious_self"] = baseline
        alone = surplus(int(suspicious.sum()), len(suspicious), baseline)
        curves["self"] = quantile_curve(own)
        notes.append(f"the reference is the originals among themselves, because there is {NO_HOLDOUT}")
        reference = f"{percent(baseline)} of originals are to each other"
    share = float(suspicious.mean())
    return Result(
        value=share,
        baseline=baseline,
        excess=excess,
        holdout=baseline if p is not None else None,
        interval=wilson(suspicious.sum(), len(suspicious), confidence),
        details=details,
        difference=difference,
        p_value=p,
        figures={"surplus": alone},
        of=len(suspicious),
        sentence=f"{percent(share)} of release records are much nearer to one original than to the next; "
        f"{reference}. {CAVEAT}",
        warnings=notes,
        plot_data={"curves": curves},
        records=lambda: closest_release(found.space, n_jobs, found if found.holdout is not None else None),
        rank="closeness",
    )


def _ratios(name: str, values: np.ndarray) -> dict[str, float]:
    return {
        f"mean_{name}": float(values.mean()),
        f"p5_{name}": float(np.quantile(values, 0.05)),
        f"p10_{name}": float(np.quantile(values, 0.10)),
    }


def _at_equal_size(
    found: Closeness, threshold: float, suspicious: np.ndarray, flagged: np.ndarray, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Chance of being suspicious per release record, against tables cut to the same size."""
    flags = suspicious.astype(float), flagged.astype(float)
    if found.n_original == found.n_holdout:
        return flags
    records = {"original": found.n_original, "holdout": found.n_holdout}
    larger = max(records, key=lambda table: records[table])
    n, size = records[larger], min(records.values())
    length = min(n, _LONGEST_LIST, 3 + math.ceil(math.log(1e-3) / math.log(1 - size / n)))
    query = "released" if found.rows is None else found.query
    chance = suspicious_chance(found.space.nearest(query, larger, length, n_jobs).distance, n, size, threshold)
    return (chance, flags[1]) if larger == "original" else (flags[0], chance)


def suspicious_chance(distance: np.ndarray, n: int, size: int, threshold: float) -> np.ndarray:
    """P(d1 / d2 < threshold) when the ``n`` originals behind sorted ``distance`` are cut at random to ``size``.

    The two nearest left are those of ranks i < j with probability C(n - j, size - 2) / C(n, size); the lists are
    finite, so the chances are divided by their sum.
    """
    length = distance.shape[1]
    total, chance = 0.0, np.zeros(len(distance))
    none = 1.0
    for i in range(length - 1):
        first = none * min(1.0, size / (n - i))
        none *= 1 - min(1.0, size / (n - i))
        gap = 1.0
        for j in range(i + 1, length):
            take = min(1.0, (size - 1) / (n - j))
            p = first * gap * take
            gap *= 1 - take
            total += p
            chance += p * (distance_ratio(distance[:, [i, j]]) < threshold)
        if none <= 0:
            break
    return chance / total if total > 0 else (distance_ratio(distance) < threshold).astype(float)
