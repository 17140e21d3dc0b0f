"""t-closeness: how far the target's distribution among records with equal keys is from the overall one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glasshouse.core.advice import GIVES_AWAY
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import number, percent
from glasshouse.core.result import Result
from glasshouse.core.words import counted
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.distances import class_distances
from glasshouse.disclosure.identity.tables import STRUCTURE, spoken, structure_note
from glasshouse.disclosure.roles import Groups, KeyGroups, continuous_note, spoken_keys
from glasshouse.engines.cells.grouping import as_grouping

TOLERANCE = 1e-12


@measure(
    side="disclosure",
    family="identity",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    table="single",
    unit="distance",
    limit=Limit("value", warn=0.2, fail=0.5, why="t = 0.2 (riskutility); 0.5: glasshouse default"),
    cite="Li, Li and Venkatasubramanian (2007), t-closeness",
    attacker="the keys of somebody in the file and the target's overall distribution",
    caveats=f"small groups are far from any distribution by construction; {STRUCTURE}",
    group="classes",
    title="t-closeness",
    tier="fast",
    advice=GIVES_AWAY,
    riskutility=("t-Closeness", lambda r: {"t": r.value}),
)
def t_closeness(
    pair: Pair,
    *,
    table: str = "released",
    t: float = 0.2,
    distance: str = "auto",
    ground: str = "rank",
    bins: Groups = None,
    key_groups: KeyGroups = None,
) -> Result:
    """Largest distance between the target's distribution in a group with equal keys and its distribution in the whole
    file.

    What everybody may know is the overall distribution; a group far from it tells more about its members.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target.
    table : {"released", "original"}, default "released"
        The table whose groups are compared with all its records.
    t : float, default 0.2
        Groups farther away than t violate t-closeness; only the counts of violations depend on it.
    distance : {"auto", "nominal", "ordered"}, default "auto"
        "nominal" for categories, "ordered" for values that can be sorted. "auto" takes ordered for ordinal, numeric
        and date columns of the schema.
    ground : {"rank", "value"}, default "rank"
        For the ordered distance: neighbouring values lie one rank apart, or as far as their numbers differ.
    bins : int, sequence of float or None, default None
        Groups of a numeric target: a number of quantile groups or the breaks. None takes the values as they are.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the largest distance over groups, from 0 to 1; there is no baseline. ``details`` hold the records
        and groups beyond t, the share of those groups that hold one record (``share_violating_single``), and
        ``quantiles`` of the distance over groups. ``records`` give the ``distance`` of a record's group, and
        ``violating``.

    Notes
    -----
    With shares p_i in the group and g_i in the file of m distinct values, P and G their cumulative sums::

        nominal = sum_i |p_i - g_i| / 2
        ordered = sum_i |P_i - G_i| / (m - 1)                             (earth mover's distance, ground "rank")
        ordered = sum_i |P_i - G_i| (x_{i+1} - x_i) / (x_m - x_1)         (ground "value")

    A record without a target is a category of its own in the nominal distance and has no place in the ordered one.

    References
    ----------
    .. [1] Li, N., Li, T. and Venkatasubramanian, S. (2007), t-closeness: privacy beyond k-anonymity and l-diversity.
       IEEE 23rd International Conference on Data Engineering.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.t_closeness(gh.data.load("health").pair())
    >>> round(result.value, 3), result.details["distance"]
    (0.89, 'nominal')
    """
    if not 0 <= t <= 1:
        raise InputError(f"t must be a number between 0 and 1, not {t}")
    if distance not in ("auto", "nominal", "ordered"):
        raise InputError(f"distance={distance!r}: choose 'auto', 'nominal' or 'ordered'")
    if ground not in ("rank", "value"):
        raise InputError(f"ground={ground!r}: choose 'rank' or 'value'")
    target = pair.require_target()
    ordered = distance == "ordered" or (
        distance == "auto" and pair.schema[target].kind in ("ordinal", "numeric", "integer", "datetime")
    )
    if ground == "value" and (not pair.is_numeric(target) or not ordered or bins is not None):
        raise InputError(
            f"ground='value' needs a numeric target measured by the ordered distance; {target!r} is "
            f"{pair.schema[target].kind}"
        )
    grouping = as_grouping(pair, target, bins, table)
    made = class_distances(pair, table, target, ordered, ground, grouping, key_groups)
    worst, n, beyond = made.largest, made.n, made.violations(t)
    violating, quantiles = beyond["n_violating"], made.quantiles
    details: dict[str, object] = {
        "t_achieved": worst,
        "t": t,
        "distance": "ordered" if ordered else "nominal",
        "n_classes": made.n_classes,
        "n": n,
        "n_dropped": made.dropped,
        "table": table,
        **beyond,
        "quantiles": quantiles,
        f"n_violating_{t:g}".replace(".", "p"): violating,
    }

    def records() -> Mapping[str, np.ndarray]:
        local = class_distances(pair, table, target, ordered, ground, grouping, key_groups, in_memory=True)
        found = local.records()
        return {"distance": found, "violating": found > t + TOLERANCE}

    missing = (
        [f"{counted(made.without, 'record')} without a value of {target!r}, which has no place in an order, left out"]
        if made.without
        else []
    )
    return Result(
        value=worst,
        details=details,
        sentence=(
            f"In {spoken(pair, table)} the distribution of {target} among records with equal {spoken_keys(pair)} "
            f"differs from the overall one by up to {number(worst, 3)}; {percent(violating / n)} of the records "
            f"({violating:,} of {n:,}) are in groups beyond {number(t)}."
        ),
        warnings=[
            *structure_note(pair, table),
            *([] if ordered else continuous_note(pair, target, bins)),
            *missing,
        ],
        records=records,
        flag="violating",
        rank="distance",
        plot_data={"quantiles": {"quantile": list(quantiles), "distance": list(quantiles.values())}},
    )
