"""Surprisal: how far a person's keys narrow the search."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from glasshouse.core.advice import PREDICTS
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.tables import missing_notes, sizes_of, spoken
from glasshouse.disclosure.information.entropies import nats_per_unit, unit_name
from glasshouse.disclosure.roles import KeyGroups, spoken_keys


@measure(
    side="disclosure",
    family="information",
    threat="identity",
    better="lower",
    range=(0, None),
    needs=("keys",),
    table="single",
    unit="bits",
    cite="Shannon (1948), self-information of a key combination",
    attacker="the keys of a person",
    caveats="counts one file; a surprising key combination need not be a person's alone in the population",
    group="classes",
    tier="fast",
    advice=PREDICTS,
)
def surprisal(pair: Pair, *, table: str = "released", base: float = 2.0, key_groups: KeyGroups = None) -> Result:
    """How much a person's keys narrow the search, in bits: -log2(f / n), averaged over the records.

    The mean is the entropy of the keys, at most log2(n), which a record alone on its keys reaches: then the keys say
    who it is.

    Parameters
    ----------
    pair : Pair
        The tables with keys. Missing keys count as a level of their own unless the pair was given another rule.
    table : {"released", "original"}, default "released"
        The table counted.
    base : float, default 2.0
        Base of the logarithm, above 1: 2 gives bits, e nats.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the mean over records; there is no baseline. ``details`` hold the largest (``max``), the most
        there could be (``log_n``) and the share of it that is reached. ``records`` give ``surprisal_key``.

    Notes
    -----
    A record with f of n records sharing its keys has -log(f / n); their mean is H(Q) = -sum_q (f_q / n) log(f_q / n).

    References
    ----------
    .. [1] Shannon, C. E. (1948), A mathematical theory of communication. Bell System Technical Journal 27.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> result = gh.disclosure.surprisal(pl.DataFrame({"sex": ["f", "f", "f", "m"]}), keys="sex")
    >>> round(result.value, 3), result.details["max"], result.details["log_n"]
    (0.811, 2.0, 2.0)
    """
    unit = nats_per_unit(base)
    sizes = sizes_of(pair, table, "level", key_groups=key_groups)
    n = sizes.n
    bits = -np.log(sizes.f / n) / unit
    mean, most = float((bits * sizes.number).sum() / n), math.log(n) / unit

    def records() -> Mapping[str, np.ndarray]:
        shares = sizes.records()["fk"] / n
        return {"surprisal_key": -(np.ma.log(shares) if sizes.dropped else np.log(shares)) / unit}

    return Result(
        value=mean,
        details={
            "mean": mean,
            "max": float(bits.max()),
            "log_n": most,
            "share_of_log_n": mean / most if most else 0.0,
            "n_classes": sizes.classes,
            "n": n,
            "n_dropped": sizes.dropped,
            "base": base,
            "table": table,
        },
        sentence=(
            f"In {spoken(pair, table)} knowing {spoken_keys(pair)} narrows the search by {number(mean, 3)} "
            f"{unit_name(base)} on average, of the {number(most, 3)} it takes to single out one of {n:,} records."
        ),
        warnings=missing_notes(sizes),
        records=records,
        flag="surprisal_key",
    )
