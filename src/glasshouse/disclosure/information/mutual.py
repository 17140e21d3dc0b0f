"""Mutual information: what the keys tell about the target on average."""

from __future__ import annotations

from collections.abc import Sequence

from glasshouse.core.advice import PREDICTS
from glasshouse.core.errors import InputError
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.tables import is_one_table, spoken
from glasshouse.disclosure.information.entropies import (
    KNOWS,
    LIMITS,
    SHANNON,
    entropies,
    information,
    nats_per_unit,
    unit_name,
)
from glasshouse.disclosure.roles import Groups, KeyGroups, continuous_note, spoken_keys


@measure(
    side="disclosure",
    family="information",
    threat="attribute",
    better="lower",
    range=(0, None),
    needs=("keys", "target"),
    table="single",
    unit="bits",
    cite=SHANNON,
    attacker=KNOWS,
    caveats=LIMITS,
    group="information",
    tier="fast",
    advice=PREDICTS,
)
def mutual_information(
    pair: Pair,
    *,
    table: str = "released",
    given: str | Sequence[str] = (),
    base: float = 2.0,
    bins: Groups = None,
    key_groups: KeyGroups = None,
) -> Result:
    """Average information the keys carry about the target, in bits: MI = H(T) - H(T | Q).

    H(T) is what there is to learn about the target, H(T | Q) what is left to learn for somebody who knows the keys.
    Rare key combinations raise the figure even where keys and target are unrelated, so read the bias term beside it.

    Parameters
    ----------
    pair : Pair
        The tables with keys and one target. A missing value is a level of its own; "drop" leaves such records out.
    table : {"released", "original"}, default "released"
        The table counted.
    given : str or sequence of str, default ()
        Further columns that the attacker knows anyway; the headline is then the information beyond them.
    base : float, default 2.0
        Base of the logarithm, above 1: 2 gives bits, e nats.
    bins : int, sequence of float or None, default None
        Groups of a numeric target: a number of quantile groups or the breaks. None counts every value.
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is MI, or MI given the further columns; there is no baseline and no record figure. ``details`` hold
        ``H_T``, ``H_T_given_Q``, ``NMI``, ``CPL``, the bias term ``miller_madow`` and ``MI_corrected`` without it,
        with ``given`` also ``CMI``, else the same figures of the other table.

    Notes
    -----
    With Q the keys, T the target and Z the further columns, logarithms to ``base``::

        MI  = H(T) - H(T | Q)
        CMI = H(T | Z) - H(T | Q, Z)
        NMI = MI / H(T)
        CPL = 1 - 2^-MI      (MI in bits)

    Margins come from the joint counts of one file, so nothing can be inconsistent. When keys and target are unrelated
    MI is expected to be miller_madow = (cells - classes - target values + 1) / (2 n ln 2) bits above 0.

    References
    ----------
    .. [1] Shannon, C. E. (1948), A mathematical theory of communication. Bell System Technical Journal 27.
    .. [2] Miller, G. A. (1955), Note on the bias of information estimates. In Information Theory in Psychology.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.mutual_information(gh.data.load("health").pair())
    >>> round(result.value, 3), round(result.details["H_T"], 3), round(result.details["MI_corrected"], 3)
    (0.597, 1.211, 0.504)
    """
    unit = nats_per_unit(base)
    conditions = (given,) if isinstance(given, str) else tuple(given)
    found = information(pair, table, bins, key_groups, unit)
    details: dict[str, object] = {**found.details(), "base": base, "table": table}
    value = found.mutual
    beyond = ""
    if conditions:
        unknown = [c for c in conditions if c not in pair.columns or c == pair.target]
        if unknown:
            raise InputError(f"given names {unknown[0]!r}, which is no column of both tables beside the target")
        known = entropies(pair, table, bins, None, conditions)
        finer = entropies(pair, table, bins, key_groups, (*pair.keys, *(c for c in conditions if c not in pair.keys)))
        value = max(known.given_keys - finer.given_keys, 0.0) / unit
        details |= {
            "CMI": value,
            "H_T_given_Z": known.given_keys / unit,
            "H_T_given_QZ": finer.given_keys / unit,
        }
        beyond = f" beyond {', '.join(conditions)}"
    elif not is_one_table(pair):
        other = "original" if table == "released" else "released"
        details[other] = information(pair, other, bins, key_groups, unit).details()
    word = unit_name(base)
    return Result(
        value=value,
        details=details,
        sentence=(
            f"In {spoken(pair, table)} knowing {spoken_keys(pair)} tells {number(value, 3)} {word} about "
            f"{pair.target}{beyond}, of the {number(found.target, 3)} {word} there are to learn; rare "
            f"groups alone would account for {number(max(found.bias, 0.0), 3)}."
        ),
        warnings=continuous_note(pair, pair.require_target(), bins),
        plot_data={
            "bits": {
                "figure": ["to learn", "known from the keys", "after the bias term"],
                "value": [found.target, found.mutual, found.corrected],
            }
        },
    )
