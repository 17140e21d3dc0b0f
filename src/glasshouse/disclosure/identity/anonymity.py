"""k-anonymity: how many records of one file share the same keys."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glasshouse.core.advice import STANDS_ALONE
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.core.words import plural
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.risk_formulas import weighted_median
from glasshouse.disclosure.identity.tables import STRUCTURE, missing_notes, sizes_of, spoken, structure_note
from glasshouse.disclosure.roles import KeyGroups, spoken_keys

CLASS_SIZES = (*(str(j) for j in range(1, 10)), "10+")


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="higher",
    range=(1, None),
    needs=("keys",),
    table="single",
    unit="records",
    limit=Limit(
        "value",
        warn=5,
        fail=2,
        why="k = 1 high, 2 elevated, 3-4 moderate, 5 and more low (riskutility; sdcMicro reports 2, 3 and 5)",
    ),
    cite="Samarati and Sweeney (1998), k-anonymity; Franconi and Polettini (2004) for missing keys as wildcards",
    attacker="the keys of somebody in the file",
    caveats=f"one record decides k, so read the share below it too; {STRUCTURE}",
    group="classes",
    title="k-anonymity",
    tier="fast",
    advice=STANDS_ALONE,
    riskutility=("k-Anonymity", lambda r: {"k": r.value}),
)
def k_anonymity(
    pair: Pair,
    *,
    table: str = "released",
    k: int = 5,
    alpha: float = 1.0,
    compat: str | None = None,
    key_groups: KeyGroups = None,
) -> Result:
    """Size of the smallest group of records with equal keys, and the share of records in groups smaller than k.

    In a group of f records an attacker who knows that a person is in the file finds the right one with probability
    1/f. A missing key fits every value unless the pair was given another rule, because a suppressed value may have
    been anything.

    Parameters
    ----------
    pair : Pair
        The tables with keys; survey weights, where given, are summed beside the counts.
    table : {"released", "original"}, default "released"
        The table whose groups are counted.
    k : int, default 5
        Groups of fewer than k records violate k-anonymity; only the counts of violations depend on it.
    alpha : float, default 1.0
        What an incomplete record counts in the group of another one it is compatible with, from 0 to 1.
    compat : {None, "sdcmicro"}, default None
        "sdcmicro" leaves records without any key out of the counts of the others, as sdcMicro does.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the size of the smallest group; there is no baseline. ``details`` hold the records in groups
        below 2, 3, 5 and k, ``share_violating`` and ``share_unique``, mean and worst prosecutor risk, group sizes
        (mean, median, ``histogram``) and the rule for missing keys. ``records`` give ``fk`` (group size), ``Fk`` (sum
        of weights), ``violating`` and ``prosecutor`` = 1/fk.

    Notes
    -----
    f_i is the number of records that share the keys of record i, k = min f_i and n_violating(k) = #{i: f_i < k}.
    Under the wildcard rule, with records compatible when they agree wherever both have a value::

        complete i:    f_i = #{equal} + alpha #{compatible incomplete}
        incomplete i:  f_i = #{identical} + #{compatible complete} + alpha #{other compatible incomplete}

    and F_i is the same sum over survey weights. One record decides k, so read the share below it too.

    References
    ----------
    .. [1] Samarati, P. and Sweeney, L. (1998), Protecting privacy when disclosing information: k-anonymity and its
       enforcement through generalization and suppression. SRI International.
    .. [2] Franconi, L. and Polettini, S. (2004), Individual risk estimation in mu-Argus: a review. Privacy in
       Statistical Databases. For missing keys as wildcards.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.k_anonymity(gh.data.load("health").pair(), k=3)
    >>> result.value, round(result.details["share_violating"], 3)
    (1, 0.145)
    """
    if k < 1:
        raise InputError(f"k={k}: a group holds at least 1 record")
    sizes = sizes_of(pair, table, "wildcard", alpha, compat, key_groups)
    f, number_of = sizes.f, sizes.number
    smallest = float(f.min())
    violating = sizes.records_below(k)
    n = sizes.n
    histogram = dict.fromkeys(CLASS_SIZES, 0)
    for size, classes in zip(f, sizes.counts["classes"].to_list(), strict=True):
        histogram[CLASS_SIZES[min(int(size), 10) - 1]] += classes

    def records() -> Mapping[str, np.ndarray]:
        found = sizes.records()
        fk = found["fk"]  # masked where dropped, and a masked division stays masked
        return {**found, "violating": fk < k - 1e-12, "prosecutor": 1.0 / fk}

    return Result(
        value=round(smallest) if smallest == round(smallest) else smallest,
        details={
            "k_level": round(smallest) if smallest == round(smallest) else smallest,
            "share_violating": violating / n,
            "k": k,
            "n1": sizes.records_of(1),
            "n2": sizes.records_of(2),
            **{f"n_violating_{j}": sizes.records_below(j) for j in sorted({2, 3, 5, int(k)})},
            "violating": {str(j): sizes.records_below(j) for j in sorted({2, 3, 5, int(k)})},
            "share_unique": sizes.records_of(1) / n,
            "n_classes": sizes.classes,
            "prosecutor_mean": float((sizes.number / f).sum()) / n,
            "prosecutor_max": 1.0 / smallest,
            "n": n,
            "n_dropped": sizes.dropped,
            "n_incomplete": sizes.incomplete,
            "mean_class_size": n / sizes.classes,
            "median_class_size": weighted_median(f, sizes.counts["classes"].to_numpy()),
            "histogram": histogram,
            "missing": sizes.rule,
            "table": table,
        },
        sentence=(
            f"In {spoken(pair, table)} the smallest group with equal {spoken_keys(pair)} has {number(smallest)} "
            f"{plural(smallest, 'record')}; {percent(violating / n)} of the records ({violating:,} of "
            f"{n:,}) are in groups of fewer than {k}."
        ),
        warnings=[*structure_note(pair, table), *missing_notes(sizes)],
        records=records,
        flag="violating",
        rank="prosecutor",
        plot_data={
            "k": k,
            "table": table,
            "sizes": {
                "size": list(CLASS_SIZES),
                "classes": list(histogram.values()),
                "records": _records_by_size(f, number_of),
            },
        },
    )


def _records_by_size(f: np.ndarray, records: np.ndarray) -> list[int]:
    bins = np.minimum(np.floor(f + 1e-12), 10).astype(int) - 1
    return [int(c) for c in np.bincount(bins, weights=records, minlength=10)]
