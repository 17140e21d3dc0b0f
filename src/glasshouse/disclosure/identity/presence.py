"""Presence: who of a population is in the sample, and how a release covers the key combinations of the original."""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw
import numpy as np

from glasshouse.core.advice import PRESENT
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.roles import KeyGroups, spoken_keys
from glasshouse.engines.cells.classes import groupings
from glasshouse.engines.cells.counting import count_cells

D, S = nw.col("d"), nw.col("s")
RATIO = nw.when(D > 0).then(S.cast(nw.Float64) / D.cast(nw.Float64))
CAPPED = nw.when(S >= D).then(nw.lit(1.0)).otherwise(RATIO)


@measure(
    side="disclosure",
    family="identity",
    threat="membership",
    better="lower",
    needs=("keys",),
    cite="Nergiz, Atzori and Clifton (2007), delta-presence",
    limit=Limit("violations", fail=0, why="people outside the bounds asked for"),
    figures=("violations",),
    attacker="the keys of everybody in the population",
    caveats="needs a release that is a subset of the original (its population); a synthetic release is none",
    group="presence",
    title="δ-presence",
    tier="full",
    advice=PRESENT,
    riskutility=("delta-Presence", lambda r: {}),
)
def delta_presence(
    pair: Pair, *, delta_min: float | None = None, delta_max: float | None = None, key_groups: KeyGroups = None
) -> Result:
    """Largest probability that a person of the population is in the released sample, given the keys (delta-presence).

    The original plays the population and the release the sample. Where the release is no subset of the original on
    the keys, as with synthetic data, this has no meaning, and only the coverage of keys is described.

    Parameters
    ----------
    pair : Pair
        The tables with keys.
    delta_min, delta_max : float or None, default None
        Bounds asked for, between 0 and 1: how sure an attacker may be that somebody is not, or is, in the release.
        Without them nothing is counted as a violation.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the largest delta, ``baseline`` the share of the population that was released; not applicable
        where the release is no subset. ``details`` hold the smallest delta, the people outside the bounds, the mean
        coverage, ``iS`` (people whose keys are in the release), and key combinations that are lost or made up.
        ``records`` give ``membership_ratio`` (s_q/d_q capped at 1), ``coverage`` (s_q/d_q Nd/Ns) and both class sizes.

    Notes
    -----
    delta_q = s_q / d_q with d_q and s_q records of key combination q in the original and in the release. The release
    is (delta_min, delta_max)-present when every delta_q of the population lies between the two.

    References
    ----------
    .. [1] Nergiz, M. E., Atzori, M. and Clifton, C. (2007), Hiding the presence of individuals from shared databases.
       ACM SIGMOD.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"region": ["N", "N", "S", "S", "S", "S"]})
    >>> result = gh.disclosure.delta_presence(people, pl.DataFrame({"region": ["N", "S"]}), keys="region")
    >>> result.value, round(result.baseline, 3), result.details["delta_min"]
    (0.5, 0.333, 0.25)
    """
    for name, bound in (("delta_min", delta_min), ("delta_max", delta_max)):
        if bound is not None and not 0 <= bound <= 1:
            raise InputError(f"{name} must lie between 0 and 1, not {bound}")
    if delta_min is not None and delta_max is not None and delta_min > delta_max:
        raise InputError(f"delta_min={delta_min} is above delta_max={delta_max}")
    groups = groupings(pair, key_groups)
    cells = count_cells(pair, key_groups=groups)
    n, m = cells.n_original, cells.n_released
    low, high = 0.0 if delta_min is None else delta_min, 1.0 if delta_max is None else delta_max

    def records_if(condition: nw.Expr) -> nw.Expr:
        return nw.when(condition).then(D).otherwise(nw.lit(0)).sum()

    sums = cells.totals(
        above=((S > D) & (D > 0)).cast(nw.Int64).sum(),
        fabricated=((D == 0) & (S > 0)).cast(nw.Int64).sum(),
        made_up=nw.when(D == 0).then(S).otherwise(nw.lit(0)).sum(),
        found=records_if(S > 0),
        least=RATIO.min(),
        largest=RATIO.max(),
        below=records_if((D > 0) & (low - 1e-12 > RATIO)),
        beyond=records_if((D > 0) & (high + 1e-12 < RATIO)),
        empty=((D > 0) & (S == 0)).cast(nw.Int64).sum(),
    )
    expected = cells.sums(ratio=CAPPED * D.cast(nw.Float64))["ratio"]
    made_up, above, share_found = int(sums["fabricated"]), int(sums["above"]), sums["found"] / n
    details: dict[str, object] = {
        "mean": float(expected) / n,
        "iS": share_found,
        "n_fabricated_keys": made_up,
        "n_fabricated_records": int(sums["made_up"]),
        "n_lost_keys": int(sums["empty"]),
        "n_keys_above": above,
        "n": n,
        "n_dropped": cells.dropped,
    }

    def records() -> Mapping[str, np.ndarray]:
        local = count_cells(pair, key_groups=groups, in_memory=True)
        return local.records(membership_ratio=CAPPED, coverage=RATIO * (n / m), original_class=D, released_class=S)

    coverage = (
        f"{percent(share_found)} of people have their {spoken_keys(pair)} in the release; "
        f"{made_up:,} key combinations of the release are nobody's in the original."
    )
    if above or made_up:
        reason = (
            f"the sample is not a subset of the population on these keys: {made_up:,} of its "
            "key combinations are not in the population and "
            f"{above:,} are more frequent than there; delta-presence needs a release that is a "
            "subset of the original, the coverage of keys is in the details"
        )
        return Result(
            status="not_applicable",
            reason=reason,
            details=details,
            sentence=f"Not assessed: {reason}",
            records=records,
            flag="membership_ratio",
        )
    largest, least = float(sums["largest"]), float(sums["least"])
    given = delta_min is not None or delta_max is not None
    violating = int(sums["below"]) + int(sums["beyond"])
    details |= {
        "delta_max": largest,
        "delta_min": least,
        "n_below": int(sums["below"]) if delta_min is not None else None,
        "n_above": int(sums["beyond"]) if delta_max is not None else None,
        "satisfied": (violating == 0) if given else None,
    }
    return Result(
        value=largest,
        baseline=m / n,
        details=details,
        sentence=(
            f"Knowing {spoken_keys(pair)}, an attacker is up to {percent(largest)} sure that a person is in the "
            f"release and at least {percent(least)}; without it {number(100 * m / n, 3)} % for everybody. "
            f"{coverage}"
        ),
        records=records,
        flag="membership_ratio",
        figures={"violations": violating if given else None},
    )
