"""Pair: the original, its release(s), and who plays which role. Decided once, visible, never changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.measure import ALIASES, FOREIGN_NAMES, accept_pairs
from glasshouse.data.frames import give_back
from glasshouse.data.schema import Column
from glasshouse.data.tables import Codes, Tables, adopt_all

T = TypeVar("T")
MISSING_RULES = ("level", "drop", "wildcard")
_TABLE_ARGUMENTS = ("original", "released", "holdout", "schema", "exclude")


@accept_pairs
class Pair:
    """An original table, one or more releases of it, and the roles of the columns.

    Parameters
    ----------
    original, released
        Frames (pandas, polars, pyarrow, DuckDB, PySpark) or paths. ``released`` may be a list of replicate releases.
    keys, target
        What the attacker knows, and what the attacker wants to learn.
    holdout
        Records of the same population that were never shown to the synthesiser.
    weights, cluster
        Column names: survey weights; person or household over several rows.
    schema
        ``{"age": "numeric", "education": ["low", "medium", "high"]}`` overrides detection.
    missing
        "level" (missing is a value of its own), "drop" or "wildcard" (a missing key fits every value).
    special_codes
        ``{"income": [-8]}``: values of a numeric column that are reasons for missing, not numbers.
    row_paired
        Row i of the release is row i of the original, perturbed.
    exclude
        Columns to leave out of everything.
    """

    def __init__(
        self,
        original: Any = None,
        released: Any = None,
        *,
        keys: Sequence[str] | str | None = None,
        target: str | Sequence[str] | None = None,
        holdout: Any = None,
        weights: str | None = None,
        cluster: str | None = None,
        schema: Mapping[str, Any] | None = None,
        missing: str | None = None,
        special_codes: Mapping[str, Sequence[float]] | None = None,
        row_paired: bool = False,
        exclude: Sequence[str] = (),
        _tables: Tables | None = None,
        **aliases: Any,
    ) -> None:
        given: dict[str, Any] = {
            "original": original,
            "released": released,
            "keys": keys,
            "target": target,
            "holdout": holdout,
            "weights": weights,
            "cluster": cluster,
            "schema": schema,
            "missing": missing,
            "special_codes": special_codes,
            "row_paired": row_paired,
            "exclude": exclude,
        }
        _take_aliases(given, aliases)
        if given["original"] is None:
            raise InputError("a Pair needs the original table: Pair(original, released, ...)")
        if given["released"] is None:
            raise InputError("a Pair needs the released table too: Pair(original, released, ...)")
        self._given = given
        releases = given["released"]
        releases = (
            list(releases.values())
            if isinstance(releases, Mapping)
            else releases
            if isinstance(releases, (list, tuple))
            else [releases]
        )
        if not releases:
            raise InputError("released is an empty list; pass at least one release")
        self.m = len(releases)
        named = [("original", given["original"])]
        named += [("released", releases[0])] + [(f"released{i}", r) for i, r in enumerate(releases) if i]
        if given["holdout"] is not None:
            named.append(("holdout", given["holdout"]))
        self._tables = _tables or adopt_all(named, given["schema"], given["exclude"])
        self._cache: dict[Any, Any] = {}
        self.weights, self.cluster = given["weights"], given["cluster"]
        self.missing_given = given["missing"] is not None
        self.missing = {"category": "level"}.get(given["missing"] or "level", given["missing"] or "level")
        self.row_paired = bool(given["row_paired"])
        self.keys = _names(given["keys"])
        self.targets = _names(given["target"])
        self.special_codes = {
            str(k): tuple(v if isinstance(v, Sequence) and not isinstance(v, str) else (v,))
            for k, v in (given["special_codes"] or {}).items()
        }
        self._check_roles()
        self._frozen = True

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_frozen", False):
            raise AttributeError(f"a Pair does not change; use pair.replace({name}=...)")
        object.__setattr__(self, name, value)

    # -- roles and schema --------------------------------------------------------------------------------------------

    @property
    def target(self) -> str | None:
        """The target when there is exactly one."""
        return self.targets[0] if len(self.targets) == 1 else None

    def require_target(self) -> str:
        """The one target; an error for none or several."""
        if len(self.targets) != 1:
            found = "none" if not self.targets else listed(self.targets)
            raise InputError(f"exactly one target is needed here, and the pair has {found}; name one with target=")
        return self.targets[0]

    @property
    def releases(self) -> tuple[str, ...]:
        """Names of the released tables: "released", then "released1", ... for further releases."""
        return tuple("released" if i == 0 else f"released{i}" for i in range(self.m))

    @property
    def schema(self) -> dict[str, Column]:
        """What every column is and why; print it, override it with ``schema=``."""
        return dict(self._tables.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns measures look at: in every table, neither weight nor cluster, and no identifier unless it has a
        role."""
        roles = {*self.keys, *self.targets}
        hidden = {self.weights, self.cluster}
        return tuple(
            c
            for c in self._tables.shared
            if c not in hidden and (c in roles or self._tables.columns[c].kind != "identifier")
        )

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Probable identifiers, left out unless they are a key or a target."""
        return tuple(
            c for c in self._tables.shared if self._tables.columns[c].kind == "identifier" and c not in self.columns
        )

    @property
    def numeric(self) -> tuple[str, ...]:
        return tuple(c for c in self.columns if self.is_numeric(c))

    @property
    def categorical(self) -> tuple[str, ...]:
        return tuple(c for c in self.columns if not self.is_numeric(c))

    def is_numeric(self, column: str) -> bool:
        """Numbers, whole numbers and dates."""
        return self._tables.columns[column].is_numeric

    @property
    def has_holdout(self) -> bool:
        return "holdout" in self._tables.adopted

    def n(self, table: str = "original") -> int:
        """Number of records in a table."""
        return self._tables.sizes[table]

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables: original, released (released1, ... for more releases), holdout."""
        return tuple(self._tables.adopted)

    def has(self, column: str, table: str) -> bool:
        """Whether a table has a column."""
        return column in self._tables.missing[table]

    def n_missing(self, column: str, table: str = "original") -> int:
        """Number of missing values."""
        return self._tables.missing[table][column]

    def n_distinct(self, column: str) -> int:
        """Number of distinct values in the original, missing not counted."""
        return self._tables.distinct.get(column, 0)

    def source(self, table: str = "original") -> str:
        """Where a table came from: a file name or the kind of frame."""
        return self._tables.adopted[table].source

    def engine(self, table: str = "original") -> str:
        """The library that holds a table; "memory" when it is here."""
        adopted = self._tables.adopted[table]
        return "memory" if adopted.in_memory else adopted.library

    @property
    def remarks(self) -> dict[str, str]:
        """How columns stored differently in different tables were brought together."""
        return dict(self._tables.remarks)

    # -- data for engines --------------------------------------------------------------------------------------------

    def frame(self, table: str = "original") -> nw.LazyFrame[Any]:
        """The table in common types, lazily, in whichever engine holds it."""
        return self._tables.lazy[table]

    def local(self, table: str = "original") -> pl.DataFrame:
        """The table in memory, in common types; collected once."""
        return self._tables.local(table)

    def codes(self, column: str) -> Codes:
        """Joint integer codes over all tables, by label; -1 is missing."""
        self._require(column)
        return self._tables.codes(column)

    def values(self, column: str, table: str = "original") -> np.ndarray:
        """A numeric column as float64, missing as NaN; dates as days since 1970."""
        if not self.is_numeric(column) and self._tables.columns[column].storage == "text":
            raise InputError(f"column {column!r} is {self._tables.columns[column].kind}, not numeric")
        series = self.local(table)[column]
        if self._tables.columns[column].storage == "time":
            return series.dt.epoch("us").cast(pl.Float64).fill_null(float("nan")).to_numpy() / 86_400e6
        return series.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(float)

    def special_mask(self, column: str, table: str = "original") -> np.ndarray:
        """Which records hold a special code (a reason for missing) in a numeric column."""
        codes = self.special_codes.get(column, ())
        return np.isin(self.values(column, table), np.asarray(codes, float)) if codes else np.zeros(self.n(table), bool)

    def weight_values(self, table: str = "original") -> np.ndarray | None:
        """Survey weights of a table; None when the pair has none or the table lacks the column."""
        if self.weights is None or self.weights not in self._tables.lazy_columns(table):
            return None
        return self.local(table)[self.weights].cast(pl.Float64).to_numpy()

    def cluster_codes(self, table: str = "original") -> np.ndarray | None:
        """Cluster of every record as an integer; None without clusters."""
        if self.cluster is None or self.cluster not in self._tables.lazy_columns(table):
            return None
        return self._tables.codes(self.cluster).of(table)

    def memo(self, key: Any, compute: Callable[[], T]) -> T:
        """Compute once per pair and share: encodings, cells, neighbours, fitted attackers."""
        if key not in self._cache:
            self._cache[key] = compute()
        value: T = self._cache[key]
        return value

    # -- other pairs -------------------------------------------------------------------------------------------------

    def replace(self, **changes: Any) -> Pair:
        """A changed copy; a Pair never changes. Roles change for free, tables are read anew only when they change."""
        _take_aliases(changes, {k: changes.pop(k) for k in list(changes) if k not in self._given})
        same = not any(name in changes for name in _TABLE_ARGUMENTS)
        return Pair(**{**self._given, **changes}, _tables=self._tables if same else None)

    def release(self, i: int) -> Pair:
        """The pair with only the i-th release."""
        if self.m == 1 and i == 0:
            return self
        releases = self._given["released"]
        chosen = list(releases.values())[i] if isinstance(releases, Mapping) else releases[i]
        return self.memo(("release", i), lambda: self.replace(released=chosen))

    def check(self) -> Any:
        """Findings before anything runs: mismatched columns, unseen levels, odd types, probable identifiers, and
        more."""
        from glasshouse.data.checks import check

        return self.memo(("check",), lambda: check(self))

    # -- what results need -------------------------------------------------------------------------------------------

    def record_frame(self, columns: Mapping[str, Any], table: str = "original", rows: np.ndarray | None = None) -> Any:
        """Per-record arrays as a table in the user's own library, row order (and pandas index) kept.

        ``rows`` says which records of the table they are when they are not all.
        """
        return give_back(columns, self._tables.adopted[table], keep_index=True, rows=rows)

    def plain_frame(self, columns: Mapping[str, Any]) -> Any:
        """A small table in the user's own library."""
        return give_back(columns, self._tables.adopted["original"], keep_index=False)

    def group_labels(self, column: str, table: str = "original") -> tuple[list[Any], np.ndarray]:
        """Levels of a column and the position of every record's level; missing is the last level, None."""
        codes = self.codes(column)
        array = codes.of(table)
        labels = list(codes.levels)
        if (array < 0).any():
            labels.append(None)
            array = np.where(array < 0, len(labels) - 1, array)
        return labels, array

    def describe(self) -> dict[str, Any]:
        """Sizes, roles and versions, as they go into the settings of every result."""
        released = [self.n(table) for table in self.releases]
        return {
            "n_original": self.n("original"),
            "n_released": released[0] if self.m == 1 else released,
            "n_holdout": self.n("holdout") if self.has_holdout else None,
            "keys": list(self.keys),
            "target": self.target if len(self.targets) < 2 else list(self.targets),
            "weights": self.weights,
            "cluster": self.cluster,
            "missing": self.missing,
            "versions": _versions(),
        }

    def fingerprint(self, table: str = "original") -> str:
        """Short hash of a table's content and column order, so that a report names exactly what was assessed."""

        def compute() -> str:
            frame = self.local(table)
            digest = hashlib.sha256("\x1f".join(f"{c}:{t}" for c, t in frame.schema.items()).encode())
            for start in range(0, frame.height, 100_000):
                digest.update(frame.slice(start, 100_000).write_csv(include_header=False).encode())
            return digest.hexdigest()[:16]

        return self.memo(("fingerprint", table), compute)

    def __repr__(self) -> str:
        released = ", ".join(f"{self.n(table):,}" for table in self.releases)
        holdout = f"\n  holdout   {self.n('holdout'):,} records" if self.has_holdout else ""
        return (
            f"Pair\n  original  {self.n('original'):,} records, {len(self.columns)} shared columns\n  released  "
            f"{released} records{holdout}"
            f"\n  keys      {', '.join(self.keys) or '-'}\n  target    {', '.join(self.targets) or '-'}"
        )

    # -- checks that stop --------------------------------------------------------------------------------------------

    def _require(self, column: str, role: str = "column") -> None:
        if column in self._tables.columns:
            for table in self._tables.adopted:
                if column not in self._tables.lazy_columns(table):
                    spoken = "release" if table.startswith("released") else table
                    raise InputError(
                        f"{role} {column!r} is in the original but not in the {spoken}; drop it from the {role}s or "
                        "release it"
                        if role == "key"
                        else f"{role} {column!r} is in the original but not in the {spoken}"
                    )
            return
        adopted = self._tables.adopted["original"].lazy.collect_schema().names()
        if column in adopted:
            raise InputError(
                f"{role} {column!r} is left out by exclude=; take it out of exclude or choose another {role}"
            )
        raise InputError(
            f"{role} {column!r} is not in the original{closest(column, adopted)}; it has: {listed(adopted)}"
        )

    def _check_roles(self) -> None:
        if self.missing not in MISSING_RULES:
            raise InputError(f"missing={self.missing!r} is no rule; choose one of {listed(MISSING_RULES)}")
        for role, names in (("key", self.keys), ("target", self.targets)):
            twice = sorted({c for c in names if names.count(c) > 1})
            if twice:
                raise InputError(f"{role} {twice[0]!r} is named twice")
            for column in names:
                self._require(column, role)
        both = [t for t in self.targets if t in self.keys]
        if both:
            raise InputError(
                f"target {both[0]!r} is also a key: an attacker who knows it need not infer it; take it out of keys"
            )
        for column, role in ((self.weights, "weights column"), (self.cluster, "cluster column")):
            if column is not None and column not in self._tables.lazy_columns("original"):
                known = self._tables.adopted["original"].lazy.collect_schema().names()
                raise InputError(f"{role} {column!r} is not in the original{closest(column, known)}")
        for column in self.special_codes:
            if column not in self._tables.columns:
                raise InputError(
                    f"special_codes names {column!r}, which is no shared column{closest(column, self._tables.columns)}"
                )
        self._check_weights()
        if self.row_paired and self.n("original") != self.n("released"):
            raise InputError(
                f"row_paired=True, but the original has {self.n('original'):,} records and the release "
                f"{self.n('released'):,}"
            )

    def _check_weights(self) -> None:
        for table in ("original", "released"):
            if self.weights is None or self.weights not in self._tables.lazy_columns(table):
                continue
            if self._tables.columns[self.weights].storage not in ("int", "float"):
                raise InputError(f"weight column {self.weights!r} is not numeric")
            negative = (
                self.frame(table)
                .select((nw.col(self.weights) < 0).cast(nw.Int64).sum().alias("negative"))
                .collect(backend="polars")
            )
            below, absent = int(negative.to_native().item() or 0), self.n_missing(self.weights, table)
            if below or absent:
                raise InputError(
                    f"weight column {self.weights!r} of the {table} table has {absent} missing and {below} negative "
                    "values; mend them or drop those records"
                )


def _names(names: Sequence[str] | str | None) -> tuple[str, ...]:
    if names is None:
        return ()
    if isinstance(names, str) or not isinstance(names, Iterable):
        return (str(names),)  # a column label need not be text
    return tuple(str(n) for n in names)


def _take_aliases(given: dict[str, Any], aliases: Mapping[str, Any]) -> None:
    for name, value in aliases.items():
        if name in ALIASES and given.get(ALIASES[name]) is not None:
            raise InputError(f"`{name}` and `{ALIASES[name]}` are the same argument; give one of them")
        if name in ALIASES:
            given[ALIASES[name]] = value
        elif name in FOREIGN_NAMES:
            raise InputError(f"`{name}` is called `{FOREIGN_NAMES[name]}` here")
        else:
            raise InputError(f"a Pair has no argument {name!r}{closest(name, given)}")


@cache
def _versions() -> dict[str, str]:
    found = {}
    for package in ("glasshouse", "numpy", "polars", "narwhals", "scikit-learn", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
