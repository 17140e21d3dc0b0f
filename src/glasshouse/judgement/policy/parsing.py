"""How a policy file writes a limit: every mistake is one sentence that names the place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from glasshouse.core.errors import InputError, closest, listed, names_known
from glasshouse.core.limits import OPERATORS, STATISTICS, Evidence, Limit, Operator
from glasshouse.core.outside import LEAST_THRESHOLD

_RULE = (
    "measure",
    "statistic",
    "operator",
    "limit",
    "level",
    "warn",
    "fail",
    "evidence",
    "why",
    "options",
    "required",
)
_EVIDENCE = ("p", "above_chance", "above_strangers", "least")


def parse_limit(entry: object, where: str) -> Limit:
    """A limit from one [[rule]] of a policy file.

    Parameters
    ----------
    entry
        The table as TOML gives it.
    where
        The place, for error messages.

    Returns
    -------
    Limit
        With ``measure`` set; operator, statistic and evidence stay open where the file leaves them open.
    """
    if not isinstance(entry, Mapping):
        raise InputError(f"{where} is no table; write [[rule]] and one key = value per line")
    check_keys(entry, _RULE, where)
    if not isinstance(entry.get("measure"), str):
        raise InputError(f'{where} has no measure, e.g. measure = "disco"')
    where = f"{where} ({entry['measure']})"
    warn, fail = _ends(entry, where)
    operator = one_of(entry["operator"], OPERATORS, f"{where}: operator") if "operator" in entry else ""
    statistic = entry.get("statistic", "")
    if not isinstance(statistic, str):
        raise InputError(f'{where}: statistic is a name, e.g. statistic = "excess"')
    if statistic not in ("", *STATISTICS) and (meant := closest(statistic, STATISTICS)):
        raise InputError(f"{where}: there is no statistic {statistic!r}{meant}")
    options = entry.get("options", {})
    if not isinstance(options, Mapping):
        raise InputError(f"{where}: options is a table, e.g. options = {{ tau = 0.3 }}")
    required = entry.get("required", True)
    if not isinstance(required, bool):
        raise InputError(f"{where}: required is true or false")
    return Limit(
        statistic,
        warn,
        fail,
        evidence=_evidence(entry["evidence"], f"{where}: evidence") if "evidence" in entry else None,
        operator=cast(Operator, operator),
        why=str(entry.get("why", "")),
        measure=str(entry["measure"]),
        required=required,
        options=dict(options),
    )


def parse_population(entry: object, where: str) -> tuple[Limit, ...]:
    """The limits of the [population] section: one table per measure, on the excess unless another figure is named.

    Parameters
    ----------
    entry
        The table as TOML gives it, e.g. ``{"rapid": {"warn": 0.1, "fail": 0.3}}``.
    where
        The place, for error messages.

    Returns
    -------
    tuple of Limit
        A limit on the excess asks for one beyond luck and nothing else: what holds for strangers too is what it is
        about. A limit on another figure counts as it is written.
    """
    if not isinstance(entry, Mapping):
        raise InputError(f"{where} is no table; write [population.rapid] and one key = value per line")
    limits = []
    for name, given in entry.items():
        if not isinstance(given, Mapping):
            raise InputError(f"{where}, {name} is no table; write [population.{name}] and e.g. fail = 0.2")
        if "measure" in given:
            raise InputError(f"{where}, {name}: the measure is the name of the table")
        beyond_luck = {"evidence": {"above_chance": True}} if given.get("statistic", "excess") == "excess" else {}
        filled = {"statistic": "excess", **beyond_luck, **given, "measure": name}
        limits.append(parse_limit(filled, where))
    return tuple(limits)


def _ends(entry: Mapping[str, object], where: str) -> tuple[float | None, float | None]:
    warn, fail = entry.get("warn"), entry.get("fail")
    if "limit" in entry:
        if warn is not None or fail is not None:
            raise InputError(f"{where}: write either limit and level, or warn and fail")
        level = one_of(entry.get("level", "fail"), ("warn", "fail"), f"{where}: level")
        warn, fail = (entry["limit"], None) if level == "warn" else (None, entry["limit"])
    elif "level" in entry:
        raise InputError(f"{where}: level needs a limit")
    ends = tuple(None if limit is None else number(limit, f"{where}: limit") for limit in (warn, fail))
    if ends == (None, None):
        raise InputError(f"{where} has no limit; write limit = 0.05, or warn = 0.05 and fail = 0.20")
    return ends[0], ends[1]


def _evidence(entry: object, where: str) -> Evidence:
    """The evidence a rule asks for; an empty table asks for none."""
    if not isinstance(entry, Mapping):
        raise InputError(f"{where} is a table, e.g. evidence = {{ p = [0.05, 0.01] }}; {{}} asks for none")
    check_keys(entry, _EVIDENCE, where)
    p = entry.get("p")
    levels: tuple[float, float] | None = None
    if p is not None:
        given = p if isinstance(p, Sequence) and not isinstance(p, str) else (p, p)
        if len(given) != 2:
            raise InputError(f"{where}: p is one level, or two: to warn and to fail")
        levels = (number(given[0], f"{where}: p"), number(given[1], f"{where}: p"))
        if not 0 < levels[1] <= levels[0] < 1:
            raise InputError(f"{where}: p holds levels between 0 and 1, the one to warn first: p = [0.05, 0.01]")
    for name in ("above_chance", "above_strangers"):
        if not isinstance(entry.get(name, False), bool):
            raise InputError(f"{where}: {name} is true or false")
    least = None if entry.get("least") is None else number(entry["least"], f"{where}: least")
    if least is not None and least < 1:
        raise InputError(f"{where}: least is a number of people, at least 1")
    return Evidence(
        p=levels,
        above_chance=bool(entry.get("above_chance", False)),
        above_strangers=bool(entry.get("above_strangers", False)),
        least=least,
    )


def number(value: object, where: str) -> float:
    """The value, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{where} must be a number")
    return value


def check_keys(given: object, known: Sequence[str], where: str) -> None:
    """Refuse a table with a key nobody reads: a limit that is silently not applied is worse than none."""
    if not isinstance(given, Mapping):
        raise InputError(f"{where} is no table")
    names_known(where, given, known, "has an unknown key {name}", f"; it takes: {listed(known)}")


def one_of(value: object, known: Sequence[str], where: str) -> str:
    """The value, if it is one of the known words."""
    if value not in known:
        raise InputError(f"{where} is {value!r}{closest(str(value), known)}; choose one of {listed(known)}")
    return str(value)


def check_min_count(min_count: object, where: str) -> None:
    """Refuse a threshold under which single people would be counted in an external report."""
    if not isinstance(min_count, int) or isinstance(min_count, bool) or min_count < LEAST_THRESHOLD:
        raise InputError(
            f"{where}: min_count must be a whole number of at least {LEAST_THRESHOLD}; smaller counts in an external "
            "report would be people"
        )
