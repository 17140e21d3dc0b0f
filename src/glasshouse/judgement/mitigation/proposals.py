"""What is tried next: operations whose declared threats failed, with arguments that follow from what drives the risk.

Cheapest first, by what an operation declares; of one operation the mildest first. What an operation is tried with
stands here once, in :data:`LADDERS`; an operation that is not there is tried only with the arguments a caller gives.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, names_wanted
from glasshouse.core.options import admitted
from glasshouse.core.words import spoken
from glasshouse.data.pair import Pair
from glasshouse.formal.risk import Risk
from glasshouse.judgement.mitigation.findings import Columns, Failed, released_numbers
from glasshouse.judgement.policy.leak import LeakLevels
from glasshouse.judgement.policy.policy import Policy
from glasshouse.protection.operation import Operation, operations
from glasshouse.protection.recipe import Step

FORMAL = (30.0, 10.0, 3.0, 1.0)  # times the leak a policy tolerates, as ceilings of a private model
MOST_GAINED = 0.5
SHARES = (0.05, 0.1, 0.2)  # of ranks that values travel, and of cells that are drawn anew
SUPPRESSED = 0.05  # share of the records that generalisation may suppress

Arguments: TypeAlias = Mapping[str, Any]
Allowed: TypeAlias = Mapping[str, Sequence[Arguments] | None]  # by operation; None where the ladder says with what
Ladder: TypeAlias = Callable[[Columns, Pair], Iterable[Arguments]]


@dataclass(frozen=True)
class Proposal:
    """An operation with its arguments, and why it is tried.

    Attributes
    ----------
    operation
        The operation.
    arguments
        Without tables and seeds.
    rung
        Its place among the proposals of the same operation, the mildest first.
    why
        In words.
    acts
        The threats that fail and that it acts on.
    """

    operation: Operation
    arguments: Arguments
    rung: int
    why: str
    acts: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same proposal as another."""
        return self.operation.name, repr(sorted(self.arguments.items()))


def _copies(columns: Columns, pair: Pair) -> list[Arguments]:
    own: dict[str, Any] = {} if pair.cluster is None else {"cluster": pair.cluster}
    if columns.hidden or pair.weights is not None:  # who is a copy is said of the columns that measures look at
        own["columns"] = list(pair.columns)
    keep = [*columns.protected, *(c for c in columns.hidden if c not in columns.protected)]
    if keep:
        own["keep"] = keep
    kinds = ({"copies": "exact"}, {"copies": "near", "threshold": 0.5}, {"copies": "near", "threshold": 1.0})
    return [{**kind, **own} for kind in kinds]


def _numbers(columns: Columns) -> list[list[str]]:
    """Numbers that tell their owners, then all numbers."""
    telling = [c for c in columns.telling if c in columns.numeric]
    return [one for one in (telling, [*columns.numeric]) if one][: 1 if len(telling) == len(columns.numeric) else 2]


def _ranked(columns: Columns, pair: Pair) -> list[list[str]]:
    """Columns with values enough for the shortest swap; one that has fewer would stop the others too."""
    enough = 1 / min(SHARES)
    every = [c for c in (*columns.numeric, *columns.dates) if len(released_numbers(pair, c)) >= enough]
    telling = [c for c in columns.telling if c in every]
    return [one for one in (telling, every) if one][: 1 if len(telling) == len(every) else 2]


def _each(groups: Sequence[list[str]], name: str, strengths: Sequence[Any], **more: Any) -> list[Arguments]:
    return [{"columns": group, name: strength, **more} for strength in strengths for group in groups]


def _rounded(columns: Columns, pair: Pair) -> list[Arguments]:
    groups = _numbers(columns)[:1]
    return [{"columns": g, "base": {c: columns.coarse[c] * times for c in g}} for times in (1, 2) for g in groups]


def _labels(columns: Columns, pair: Pair) -> list[Arguments]:
    return [{"columns": list(columns.exchanged), "keep": keep} for keep in (0.9, 0.8)] if columns.exchanged else []


def _rare(columns: Columns, pair: Pair) -> list[Arguments]:
    return [{"columns": list(columns.rare), "k": 5}] if columns.rare else []


def _tops(columns: Columns, pair: Pair) -> list[Arguments]:
    return [{"columns": list(columns.numeric), "share": 0.01}] if columns.numeric else []


def _mixed(columns: Columns, pair: Pair) -> list[Arguments]:
    every = [*columns.numeric, *columns.dates, *columns.categorical]
    return _each([every], "share", SHARES) if every else []


def _models(columns: Columns, pair: Pair) -> list[Arguments]:
    if columns.protected:
        return []
    names = [*pair.identifiers, *(() if pair.cluster is None else (pair.cluster,)), *columns.hidden]
    own: dict[str, Any] = {"keep": names} if names else {}  # a model would hand out those of real people
    codes = {c: list(values) for c, values in pair.special_codes.items() if pair.has(c, "released")}
    if codes:
        own["special_codes"] = codes
    return [{"minbucket": size, "smoothing": "density", **own} for size in (20, 50, 100)]


def _suppressed(columns: Columns, pair: Pair) -> list[Arguments]:
    return [{"keys": list(columns.keys), "k": k} for k in (2, 3, 5)] if columns.keys else []


def _generalised(columns: Columns, pair: Pair) -> list[Arguments]:
    """Coarser keys, with as many values of a target in every class as limits on diversity look for."""
    if not pair.keys or len(columns.keys) < len(pair.keys):
        return []
    asked = [t for t in pair.targets if t in pair.columns and t not in pair.keys]
    values = {t: len(np.unique(pair.codes(t).of("released"))) for t in asked}
    found: list[Arguments] = []
    for k, least in ((2, 2), (3, 2), (5, 3)):
        diverse = {t: min(least, n) for t, n in values.items() if n > 1}
        own = {"diversity": diverse} if diverse else {}
        found.append({"keys": list(columns.keys), "k": k, "suppression_limit": SUPPRESSED, "into": "means", **own})
    return found


LADDERS: Mapping[str, Ladder] = {
    "drop_identifiers": lambda c, p: [{"columns": list(c.identifiers)}] if c.identifiers else [],
    "redraw_records": _copies,
    "round_numbers": _rounded,
    "coarsen_dates": lambda c, p: [{"columns": list(c.dates), "to": to} for to in ("month", "year")] if c.dates else [],
    "top_code": _tops,
    "merge_levels": _rare,
    "swap_ranks": lambda c, p: _each(_ranked(c, p), "share", SHARES),
    "microaggregate": lambda c, p: _each(_numbers(c), "k", (3, 5), round=True),
    "add_noise": lambda c, p: _each(_numbers(c)[:1], "scale", (0.1, 0.25)),
    "pram": _labels,
    "suppress_locally": _suppressed,
    "generalise": _generalised,
    "mix_independent": _mixed,
    "resynthesise": _models,
}
ROWS = ("generalise",)  # for files whose rows are those of the original; for others only where allowed by name
ASKED_FOR = (
    "pseudonymise",
    "remove_records",
    "resynthesise_dp",
    "recode_levels",
    "bin_numbers",
)  # only where allowed by name


def allowed_of(
    allow: Sequence[str] | Mapping[str, Any] | None, policy: Policy | None = None, row_paired: bool = False
) -> Allowed:
    """What a caller allows, as operations with the arguments to try; None allows all that have a ladder.

    Parameters
    ----------
    allow
        Names, or names with a list of arguments for each.
    policy
        Says the privacy parameter where a caller allows a private model without one.
    row_paired
        Whether the rows of the release are those of the original.

    Returns
    -------
    mapping
    """
    known = operations()
    if allow is None:
        return {name: None for name in known if name in LADDERS and (row_paired or name not in ROWS)}
    given = [allow] if isinstance(allow, str) else list(allow)
    names_wanted("allow", given, known)
    made: dict[str, Sequence[Arguments] | None] = {}
    for name in given:
        known[name]  # an unknown name is answered with the closest
        own = allow.get(name) if isinstance(allow, Mapping) else None
        if own is None and name not in LADDERS:
            given_here = ("original", "rho")  # by the search, and by the policy
            lacking = [
                k for k, v in known[name].options.items() if v is inspect.Parameter.empty and k not in given_here
            ]
            if lacking:
                raise InputError(
                    f"allow names {name}, which needs {spoken(lacking)}: give them as a mapping, "
                    "allow={name: [arguments, ...]}"
                )
            own = [{}]
        made[name] = None if own is None else _arguments(known[name], own)
        if "rho" in known[name].options:
            made[name] = [one for given in made[name] or () for one in _private(given, policy)]
    return made


def _arguments(one: Operation, own: Any) -> list[Arguments]:
    """What a caller wants to be tried of an operation, refused here where the operation itself would refuse it."""
    tried = [own] if isinstance(own, Mapping) else own
    if not isinstance(tried, Sequence) or not all(isinstance(given, Mapping) for given in tried):
        raise InputError(
            f"allow takes a list of arguments of {one.name}, such as [{{'columns': ['age']}}], or one of them"
        )
    return [Step(one.name, admitted(one.name, one.function, given)).arguments for given in tried]


def _private(given: Arguments, policy: Policy | None) -> list[Arguments]:
    """A private model at the rho under which no attack gains more than the policy tolerates.

    That is a ceiling over all attacks there could be. Those that are measured reach less, so multiples of it that cost
    less are tried before.
    """
    if "rho" in given:
        return [given]
    leak = None if policy is None else policy.leak
    tolerated = (leak or LeakLevels()).tolerance / 1000
    if not tolerated > 0:
        raise InputError("the policy tolerates no leak, which no rho above 0 promises; give resynthesise_dp its rho")
    with warnings.catch_warnings():  # how little such a rho leaves is what the search measures
        warnings.simplefilter("ignore")
        gains = [min(times * tolerated, MOST_GAINED) for times in FORMAL]
        return [{**given, "rho": Risk.from_advantage(gain).rho} for gain in dict.fromkeys(gains)]


def proposals(
    allowed: Allowed, columns: Columns, against: Failed, pair: Pair, done: Sequence[tuple[str, int]] = ()
) -> list[Proposal]:
    """What is tried next, the cheapest first.

    Parameters
    ----------
    allowed
        Operations, with arguments where the caller gave them.
    columns
        What may be changed, and what drives the risk.
    against
        What failed.
    pair
        The release as it came.
    done
        Steps before, by operation and rung: what has been done is not done again as mildly.

    Returns
    -------
    list of Proposal
    """
    made: list[tuple[int, Proposal]] = []
    known = operations()
    for name in allowed:
        one = known[name]
        acts = [t for t in against.threats if t in one.acts_on]
        if not acts or (pair.row_paired and one.touches != "columns") or not _fits(one, columns):
            continue
        given = allowed[name]
        tried = given if given is not None else LADDERS[name](columns, pair)
        for rung, arguments in enumerate(tried):
            if any(name == before and rung <= at for before, at in done):
                continue
            why = f"acts on {spoken(acts)}, which {'fails' if len(acts) == 1 else 'fail'}{_driven(arguments, columns)}"
            made.append((one.cost, Proposal(one, dict(arguments), rung, why, tuple(acts))))
    return [p for _, p in sorted(made, key=lambda found: (found[0], found[1].rung, found[1].operation.name))]


def _fits(one: Operation, columns: Columns) -> bool:
    held = {"numeric": columns.numeric, "categorical": columns.categorical, "date": columns.dates}
    if one.touches == "model" or (one.touches == "records" and "keep" not in one.options):
        return not columns.protected  # models change every column, and so does removing records
    return "any" in one.needs or any(held[kind] for kind in one.needs)


def _driven(arguments: Arguments, columns: Columns) -> str:
    named = arguments.get("columns", ())
    telling = [c for c in ([named] if isinstance(named, str) else named) if c in columns.telling]
    if not telling:
        return ""
    return f"; values of {spoken(telling[:3])} are those of people of the original"
