"""WEAP: which records of one file look disclosive, without asking whether they are true of anybody."""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw
import numpy as np

from glasshouse.core.advice import AGREES
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.figures import only, within
from glasshouse.disclosure.attribution.matching import plain_cells, target_warnings
from glasshouse.disclosure.roles import Groups, KeyGroups
from glasshouse.engines.cells.classes import side


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    table="single",
    cite="Taub, Elliot and Sakshaug (2020); riskutility (WEAP)",
    attacker="the released file alone",
    group="matching",
    caveats="looks at one file: it says which released records look disclosive, not whether they are true of anybody",
    title="WEAP",
    tier="fast",
    advice=AGREES,
    riskutility=("WEAP", lambda r: {"pct_disclosive": 100 * r.details["pct_disclosive"]}),
)
def weap(pair: Pair, *, table: str = "released", bins: Groups = "auto", key_groups: KeyGroups = "auto") -> Result:
    """Within-equivalence-class attribution probability: how far the records of one file with equal keys agree on the
    target.

    It says which records look disclosive to somebody who holds the file alone, not whether they are true of anybody. A
    group of one record always agrees with itself, so those are counted apart.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target. A missing value is a level of its own; "drop" leaves such records out.
    table : {"released", "original"}, default "released"
        The table looked at.
    bins : int, sequence of float, "auto" or None, default "auto"
        Groups of a numeric target: a number of quantile groups (breaks pooled over original and release), the breaks,
        "auto" for deciles of the release where a column has more than 20 values and fewer than 5 people share one,
        or None for exact values.
    key_groups : int, sequence of float, mapping, "auto" or None, default "auto"
        The same for numeric keys: one wish for all of them, or {key: wish}.

    Returns
    -------
    Result
        ``value`` is the mean over records; there is no baseline. ``details`` hold the share with weap = 1
        (``pct_disclosive``), and how many of those are alone in their group (``n_disclosive_single``) or not.
        ``records`` give ``weap``, ``disclosive`` and ``class_size``.

    Notes
    -----
    weap_j = s_tq / s_q for each record j of the file, with s_tq records of its target value and keys and s_q of its
    keys. The mean equals synthpop's CAPs (CAPd on the original) and the share with weap = 1 its Dsyn (Dorig).

    References
    ----------
    .. [1] Taub, J., Elliot, M. and Sakshaug, J. (2020).
    .. [2] riskutility, WEAP.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.weap(gh.data.load("health").pair())
    >>> round(result.value, 3), round(result.details["pct_disclosive"], 3)
    (0.732, 0.358)
    """
    cells = plain_cells(pair, bins, key_groups, table=table)
    ours = side(table)
    held, agreed = ours.own > 0, ours.kinds == 1
    share = ours.own.cast(nw.Float64) / ours.size.cast(nw.Float64)
    sums = cells.totals(
        n=ours.own.sum(),
        disclosive=within(ours.own, agreed),
        single=within(ours.own, held & (ours.size == 1)),
    )
    n = sums["n"]
    sums |= cells.sums(total=only(share * ours.own, held))

    def per_record() -> Mapping[str, np.ndarray]:
        local = plain_cells(pair, bins, key_groups, in_memory=True, table=table)
        return local.records(table, weap=share, disclosive=agreed, class_size=ours.size)

    return Result(
        value=sums["total"] / n,
        details={
            "mean": sums["total"] / n,
            "n_disclosive": int(sums["disclosive"]),
            "pct_disclosive": sums["disclosive"] / n,
            "n_disclosive_single": int(sums["single"]),
            "n_disclosive_larger": int(sums["disclosive"] - sums["single"]),
            "n": n,
            "n_dropped": cells.dropped,
        },
        sentence=f"{percent(sums['disclosive'] / n)} of the {table} records sit in groups with equal keys and a "
        f"single value of {pair.target}; {percent(sums['single'] / n)} are alone in their group.",
        warnings=target_warnings(pair, bins, key_groups),
        records=per_record,
        flag="weap",
    )
