"""Roles of columns: what a caller may call them, and the checks that stop before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np

from glasshouse.core.errors import InputError, closest, listed, names_known, names_wanted, shortened
from glasshouse.core.misfits import WrongCall, unknown_arguments
from glasshouse.core.pointing import ALIASES, plainly
from glasshouse.data.conversion import collected
from glasshouse.data.schema import family
from glasshouse.data.tables import Tables

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

Argument: TypeAlias = Any  # an argument of Pair passed on by name: a frame, a column, a mapping
LARGEST_WEIGHT = 1e15  # a record that stands for more than everybody who ever lived
MISSING_RULES = ("level", "drop", "wildcard")


def names_of(names: Sequence[str | int] | str | None) -> tuple[str, ...]:
    """Column names as a tuple, from one name, several or none.

    Parameters
    ----------
    names : str, sequence of str or None
        A label that is no text counts as one name.

    Returns
    -------
    tuple of str

    Raises
    ------
    InputError
        For a table, a column or a record in the place of names; it is told by its type, because it holds values.
    """
    if names is None:
        return ()
    if isinstance(names, str) or not isinstance(names, Iterable):
        return (_label(names),)  # a column label need not be text
    if isinstance(names, Mapping) or nw.dependencies.is_into_series(names) or hasattr(names, "columns"):
        raise InputError(f"names of columns are wanted, and this is a {type(names).__name__}: give their names as text")
    return tuple(_label(n) for n in names)


def _label(name: object) -> str:
    """One name; what holds values is refused before anybody quotes it."""
    if isinstance(name, Mapping) or (isinstance(name, Iterable) and not isinstance(name, str)):
        raise InputError(f"the name of a column is wanted, and this is a {type(name).__name__}: give names as text")
    return str(name)


def take_aliases(given: dict[str, Argument], aliases: Mapping[str, Argument]) -> None:
    """Enter arguments that came under another name; refuse what is no argument of a Pair.

    Parameters
    ----------
    given : dict
        Arguments by their name here; changed in place.
    aliases : mapping
        Arguments by another name.

    Raises
    ------
    InputError
        For an unknown name, or one argument given under two names.
    """
    for name, value in aliases.items():
        if name in ALIASES and given.get(ALIASES[name]) is not None:
            raise InputError(f"`{name}` and `{ALIASES[name]}` are the same argument; give one of them")
        if name in ALIASES:
            given[ALIASES[name]] = value
    unknown = [name for name in aliases if name not in ALIASES]
    if unknown:
        raise WrongCall(unknown_arguments("a Pair", unknown, given))


def require_column(tables: Tables, column: str, role: str = "column") -> None:
    """Stop when a column is not in every table.

    Parameters
    ----------
    tables : Tables
        The tables of a pair.
    column : str
        The column a caller named.
    role : str, default "column"
        What the column was named as, for the message: "key", "target".

    Raises
    ------
    InputError
        The message names the column, the table that lacks it, and the way out.
    """
    if column in tables.columns:
        for table in tables.adopted:
            if column not in tables.lazy_columns(table):
                spoken = "release" if table.startswith("released") else table
                way_out = f"; drop it from the {role}s or release it" if role == "key" else ""
                twin = [
                    name
                    for name in tables.adopted[table].lazy.collect_schema().names()
                    if plainly(name) == plainly(column)
                ]
                if twin:  # dots, underlines and capitals are what two people write differently
                    way_out = f", which has {twin[0]!r}: give both tables the same name"
                raise InputError(f"{role} {column!r} is in the original but not in the {spoken}{way_out}")
        return
    adopted = tables.adopted["original"].lazy.collect_schema().names()
    if column in adopted:
        raise InputError(f"{role} {column!r} is left out by exclude=; take it out of exclude or choose another {role}")
    said = f"{role} {shortened(column)!r} is not in the original{closest(column, adopted)}"
    raise InputError(f"{said}; it has: {listed(adopted)}")


def with_excluded(pair: Pair) -> Pair:
    """The pair with excluded columns taken back in, for a look at columns that no measure of content should see.

    Parameters
    ----------
    pair : Pair
        The pair as given.

    Returns
    -------
    Pair
        With every excluded column that original and release both have and that holds whole numbers or text.
    """
    tables = pair._tables
    schemas = [a.lazy.collect_schema() for a in tables.adopted.values()] if tables.exclude else []
    back = [
        c
        for c in tables.exclude
        if c in schemas[0] and c in schemas[1] and all(family(s[c]) in ("int", "text") for s in schemas if c in s)
    ]
    return pair.replace(exclude=[c for c in tables.exclude if c not in back]) if back else pair


def check_roles(pair: Pair) -> None:
    """Stop when the roles of a pair contradict its tables or each other.

    Parameters
    ----------
    pair : Pair
        A pair whose tables are adopted and whose roles are named.

    Raises
    ------
    InputError
        For a role that names an absent column, a target that is a key, bad weights, or rows that cannot be paired.
    """
    tables = pair._tables
    if pair.missing not in MISSING_RULES:
        raise InputError(f"missing={pair.missing!r} is no rule; choose one of {listed(MISSING_RULES)}")
    adopted = tables.adopted["original"].lazy.collect_schema().names()
    for role, names in (("key", pair.keys), ("target", pair.targets)):
        names_wanted(f"{role}s" if role == "key" else role, names, adopted)
        twice = sorted({c for c in names if names.count(c) > 1})
        if twice:
            raise InputError(f"{role} {twice[0]!r} is named twice")
        for column in names:
            require_column(tables, column, role)
    both = [t for t in pair.targets if t in pair.keys]
    if both:
        raise InputError(
            f"target {both[0]!r} is also a key: an attacker who knows it need not infer it; take it out of keys"
        )
    for name, role in ((pair.weights, "weights column"), (pair.cluster, "cluster column")):
        if name is not None and name not in tables.lazy_columns("original"):
            known = tables.adopted["original"].lazy.collect_schema().names()
            raise InputError(f"{role} {shortened(name)!r} is not in the original{closest(name, known)}")
    for name, role in ((pair.weights, "weights"), (pair.cluster, "cluster")):
        other = "key" if name in pair.keys else "target" if name in pair.targets else None
        if name is not None and other is not None:
            raise InputError(f"column {name!r} is {role} and {other} at once; a column has one role")
    if pair.weights is not None and pair.weights == pair.cluster:
        raise InputError(f"column {pair.weights!r} is weights and cluster at once; a column has one role")
    names_known("special_codes", pair.special_codes, tables.columns, "names {name}, which is no shared column")
    for column, codes in pair.special_codes.items():
        if tables.columns[column].storage not in ("int", "float"):
            raise InputError(
                f"special_codes names {column!r}, which is {tables.columns[column].kind}: codes are numbers among "
                f"numbers. A label needs none; if the column holds numbers, say schema={{{column!r}: 'numeric'}}"
            )
        if not all(isinstance(code, Real) and math.isfinite(code) for code in codes):
            raise InputError(f"special_codes of {column!r} must be numbers")
    _check_weights(pair)
    _check_clusters(pair)
    if pair.row_paired and pair.n("original") != pair.n("released"):
        raise InputError(
            f"row_paired=True, but the original has {pair.n('original'):,} records and the release "
            f"{pair.n('released'):,}"
        )


def _check_clusters(pair: Pair) -> None:
    """A person or household cannot be in the data and never in the data at once."""
    if pair.cluster is None or not pair.has_holdout:
        return
    if pair.cluster not in pair._tables.lazy_columns("holdout"):
        raise InputError(
            f"the cluster column {pair.cluster!r} is not in the holdout, so nobody can say which records are one "
            "person or household; add the column to the holdout, or leave cluster= out if every record is somebody else"
        )
    codes = pair._tables.codes(pair.cluster)
    shared = np.intersect1d(codes.of("original"), codes.of("holdout"))
    shared = shared[shared >= 0]
    if shared.size:
        raise InputError(
            f"{shared.size:,} {'value' if shared.size == 1 else 'values'} of the cluster column {pair.cluster!r} "
            f"{'is' if shared.size == 1 else 'are'} in both original and holdout: the same person or household cannot "
            "be in the data and never in the data. Split whole clusters (gh.data.split_before_synthesis(cluster=...)), "
            "or number them apart if they are different ones"
        )


def _check_weights(pair: Pair) -> None:
    """Weights are numbers, present, not negative, and somebody has one."""
    for table in pair.tables:
        if pair.weights is None or not pair.has(pair.weights, table):
            continue
        if pair._tables.columns[pair.weights].storage not in ("int", "float"):
            raise InputError(f"weight column {pair.weights!r} is not numeric")
        weight = nw.col(pair.weights)
        counted = pair.frame(table).select(
            (weight < 0).cast(nw.Int64).sum().alias("below"),
            (weight > LARGEST_WEIGHT).cast(nw.Int64).sum().alias("above"),
            (weight > 0).any().alias("some"),
        )
        row = collected(counted, table).row(0, named=True)
        below, absent = int(row["below"] or 0), pair.n_missing(pair.weights, table)
        if below or absent:
            raise InputError(
                f"weight column {pair.weights!r} of the {table} table has {absent} missing and {below} negative "
                "values; mend them or drop those records"
            )
        if row["above"]:
            raise InputError(
                f"weight column {pair.weights!r} of the {table} table has {row['above']} values that are infinite or "
                f"beyond {LARGEST_WEIGHT:g}; mend them or drop those records"
            )
        if not row["some"]:
            raise InputError(f"weight column {pair.weights!r} of the {table} table is zero for everybody")
