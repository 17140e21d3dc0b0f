"""Hitting rate: is a release record very near some original?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import VERY_NEAR
from glasshouse.core.errors import InputError
from glasshouse.core.intervals import wilson
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.disclosure.copying.boxes import Rows, inside_box
from glasshouse.disclosure.copying.closeness import (
    CAVEAT,
    DELUSION,
    NO_HOLDOUT,
    Closeness,
    closeness,
    closest_release,
    expected_hits,
    leak_limit,
    sampled_note,
    sizes,
    surplus,
)
from glasshouse.disclosure.wording import against
from glasshouse.engines.asked import People
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
    limit=leak_limit(alone=(0.05, 0.10)),
    figures=("surplus",),
    cite=f"Hittmeir, Mayer & Ekelhart (2020); {DELUSION}",
    attacker="the release; distances are computed by the custodian",
    caveats=CAVEAT,
    cost="neighbours",
    group="distance",
    advice=VERY_NEAR,
    riskutility=("Hitting Rate", lambda r: {"value": r.value}),
    influence="free",
    wide="columns",
    grows="people",
)
def hitting_rate(
    pair: Pair,
    *,
    threshold: float = 0.05,
    box: float | None = None,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    queries: People = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of release records within a small distance of some original record.

    On coarse data near records arise by chance, so the reference is the same rate against the holdout, the originals
    being cut in expectation to the holdout's size when they are more. The p value asks whether the nearest record of
    the hitting ones is an original more often than under swapped labels. Without a holdout the reference is the rate
    of originals among themselves.

    Parameters
    ----------
    pair : Pair
        Original and release. A holdout is what makes the figure speak of copying rather than of coarse data.
    threshold : float, default 0.05
        Gower distance up to which a release record counts as a hit, in [0, 1).
    box : float, optional
        Adds SynthEval's version as ``details["box_hit_rate"]``: the share of originals with a release record equal in
        every category and within this part of the range (say 1/30) in every number.
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
        ``value``: the share; ``baseline`` and ``holdout``: the share within the threshold of a holdout record;
        ``difference``: the share at equal table sizes minus the holdout's, with its p value. Without a holdout the
        baseline is that of originals among themselves and the figure ``surplus`` says by how much the lower limit of
        the share exceeds it. ``details["hitting_rate"]``: the rate along a few distances. ``records``: per original
        the closest release record and whether it is a ``hit``.

    Notes
    -----
    With d_T(i) the Gower distance of release record i to the closest original

        HR(tau) = mean_i [d_T(i) <= tau]

    With c_i of n_T originals within tau and n_H < n_T, the rate at equal sizes is the mean over i of
    1 - C(n_T - c_i, n_H) / C(n_T, n_H).

    References
    ----------
    Hittmeir, Mayer & Ekelhart (2020), A baseline for attribute disclosure risk in synthetic data, CODASPY.
    Yao, Krco, Ganev & de Montjoye (2025), The DCR Delusion, arXiv:2505.01524.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.hitting_rate(gh.data.load("case_study").pair("B"), threshold=0.02)
    >>> round(found.value, 3), round(found.holdout, 3), round(found.difference, 3)
    (0.973, 0.856, 0.05)
    """
    if not 0 <= threshold < 1:
        raise InputError(f"threshold must lie in [0, 1), not {threshold}")
    found = closeness(pair, columns, missing, 2, queries, random_state, n_jobs)
    notes = sampled_note(found, pair.n("released"))
    near = found.original.distance[:, 0]
    curve = hit_curve(near)
    curves = {"original": curve}
    hits = int((near <= threshold + TOL).sum())
    share = hits / len(near)
    details: dict[str, object] = {"threshold": threshold, "hitting_rate": curve, **curve, **sizes(found)}
    if box is not None:
        details |= _box_hits(pair, found, box, missing)
    p, difference, alone = None, None, None
    if found.holdout is not None:
        held = found.holdout.distance[:, 0]
        baseline = float((held <= threshold + TOL).mean())
        adjusted = _equal_size_rate(found, threshold, n_jobs)
        p = found.label_test(pair, random_state, "hitting_rate", found.within(threshold))[1].p
        difference = adjusted - baseline
        excess = (adjusted - baseline) / (1 - baseline) if baseline < 1 else 0.0
        curves["holdout"] = hit_curve(held)
        details |= {
            "hitting_rate_holdout": curves["holdout"],
            "rate_at_equal_size": adjusted,
            "difference": difference,
            "p_label_swap": p,
        }
        reference = f"{percent(baseline)} are that near to a holdout record: {against(p, adjusted, baseline)}"
    else:
        own = found.space.nearest("original", "original", 1, n_jobs).distance[:, 0] if pair.n("original") > 1 else None
        baseline = 0.0 if own is None else float((own <= threshold + TOL).mean())
        # the plain difference: a quotient by 1 - baseline would call 100 % against 99 % the worst there is
        excess = share - baseline
        alone = surplus(hits, len(near), baseline)
        curves["self"] = {} if own is None else hit_curve(own)
        details["hitting_rate_self"] = curves["self"]
        notes.append(f"the reference is the originals among themselves, because there is {NO_HOLDOUT}")
        reference = f"{percent(baseline)} of originals are that near to each other"
    return Result(
        value=share,
        baseline=baseline,
        excess=excess,
        holdout=baseline if p is not None else None,
        interval=wilson(hits, len(near), confidence),
        details=details,
        difference=difference,
        p_value=p,
        figures={"surplus": alone},
        of=len(near),
        sentence=f"{percent(share)} of release records lie within distance {threshold:g} of an original; "
        f"{reference}. {CAVEAT}",
        warnings=notes,
        plot_data={"curves": curves, "threshold": threshold},
        records=lambda: _hit_records(found.space, threshold, n_jobs),
        flag="hit",
        rank="closeness",
    )


def hit_curve(distance: np.ndarray) -> dict[str, float]:
    """Share within each of a few distances, keyed by the distance as text."""
    return {f"{t:g}": float((distance <= t + TOL).mean()) for t in THRESHOLDS}


def _equal_size_rate(found: Closeness, threshold: float, n_jobs: int | None) -> float:
    if found.n_original <= found.n_holdout:
        return float((found.original.distance[:, 0] <= threshold + TOL).mean())
    counts = found.space.count_rows_within(found.query, "original", threshold, n_jobs)
    return expected_hits(counts, found.n_original, found.n_holdout)


def _box_hits(pair: Pair, found: Closeness, box: float, missing: str) -> dict[str, float]:
    """Share of originals with a release record equal in every category and within ``box`` times the range of each
    number."""
    if not 0 <= box < 1:
        raise InputError(f"box must lie in [0, 1), not {box}")
    encoded = found.space.encoded
    n_numbers = next(iter(encoded.numbers.values())).shape[1]
    widths = encoded.weights[:n_numbers]

    def rows(table: str) -> Rows:
        numbers = encoded.numbers[table] / widths
        numbers[numbers > 1.5] = np.nan
        codes = encoded.codes[table].astype(float)
        codes[codes < 0] = np.nan
        every = np.concatenate([numbers, codes], axis=1)
        _, first, back = np.unique(encoded.ids[table], return_index=True, return_inverse=True)
        return Rows(every, every[first], back.reshape(-1))

    half = np.concatenate([np.full(n_numbers, box), np.zeros(len(encoded.weights) - n_numbers)])
    released = rows("released")
    tables = {"original": "box_hit_rate", **({"holdout": "box_hit_rate_holdout"} if pair.has_holdout else {})}
    return {name: float(inside_box(rows(t), released, half, missing).mean()) for t, name in tables.items()}


def _hit_records(space: Space, threshold: float, n_jobs: int | None) -> Mapping[str, np.ndarray]:
    columns = dict(closest_release(space, n_jobs))
    return {**columns, "hit": columns["distance"] <= threshold + TOL}
