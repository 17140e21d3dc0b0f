"""Pair: the original, its release(s), and who plays which role. Decided once, visible, never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import polars as pl

from glasshouse.core.errors import InputError, listed
from glasshouse.core.measure import accept_pairs
from glasshouse.core.options import admitted, door, fitted
from glasshouse.core.printing import card
from glasshouse.core.words import counted, visible
from glasshouse.data.arrays import Ints
from glasshouse.data.checks import check
from glasshouse.data.files import files_wanted
from glasshouse.data.findings import Findings
from glasshouse.data.frames import Frame, Values, give_back
from glasshouse.data.headers import refuse_headerless
from glasshouse.data.reading import Reading
from glasshouse.data.roles import Argument, check_roles, names_of, take_aliases
from glasshouse.data.schema import Wish
from glasshouse.data.tables import Tables, adopt_all

_LABELS = ("keys", "target", "exclude")  # a column label need not be text
_TABLE_ARGUMENTS = ("original", "released", "holdout", "schema", "exclude", "header", "encoding")


@accept_pairs
class Pair(Reading):
    """An original table, one or more releases of it, and the roles of the columns.

    Parameters
    ----------
    original : frame or path
        The confidential table: pandas, polars, pyarrow, DuckDB, PySpark or a file (CSV, JSON lines, Parquet, Arrow;
        with the extra ``files`` Excel, SPSS, Stata, SAS and R).
    released : frame, path, or list or mapping of them
        The release; several are replicate releases of the same original.
    keys : str or sequence of str, optional
        What the attacker knows. Default: none.
    target : str or sequence of str, optional
        What the attacker wants to learn. Default: none.
    holdout : frame or path, optional
        Records of the same population that were never shown to the synthesiser. Default: none.
    weights : str, optional
        Column of survey weights. Default: every record counts once.
    cluster : str, optional
        Column that names the person or household over several rows. Default: every record is a person.
    schema : mapping, optional
        ``{"age": "numeric", "education": ["low", "medium", "high"]}`` overrides what is detected.
    missing : str, optional
        "level" (missing is a value of its own), "drop" or "wildcard" (a missing key fits every value). Default:
        "level", unless a measure's own definition says otherwise.
    special_codes : mapping, optional
        ``{"income": [-8]}``: values of a numeric column that are reasons for missing, not numbers. Default: those that
        a file of SPSS, Stata or SAS declares, else none.
    row_paired : bool, default False
        Row i of the release is row i of the original, perturbed.
    exclude : sequence of str, default empty
        Columns to leave out of everything.
    header : bool, default False
        The first line of every text file holds column names, even where it looks like a record. Without this,
        ``check`` reports such a file and everything else refuses it.
    encoding : str, optional
        Encoding of the texts of files, such as "latin-1". Default: found out file by file, and told by ``check`` where
        it is not UTF-8.
    **aliases
        ``synthetic``, ``key_vars`` and ``target_var`` are taken for ``released``, ``keys`` and ``target``.

    Attributes
    ----------
    keys, targets : tuple of str
        The roles as given.
    m : int
        Number of releases.
    unsynthesised, numeric_keys : tuple of str
        What an adapter learnt: columns the synthesiser left as they are, and numeric key variables.
    void_holdout : tuple of str
        Why a holdout that was given is not used.

    Raises
    ------
    InputError
        When a role names a column that is not there, or the tables cannot be compared. The message names the column.

    Notes
    -----
    A Pair never changes: ``replace`` gives a changed copy. Lazy, DuckDB and Spark tables stay where they are until
    records are wanted.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("health")
    >>> pair = gh.Pair(example.original, example.released, keys=["gender", "education"], target="disease_status")
    >>> pair
    Pair
      original  1,000 records, 6 shared columns
      released  1,000 records
      keys      gender, education
      target    disease_status
    >>> pair.schema["education"].kind, pair.categorical
    ('categorical', ('gender', 'education', 'disease_status'))
    >>> pair.replace(keys="gender").keys
    ('gender',)
    """

    unsynthesised: tuple[str, ...] = ()
    numeric_keys: tuple[str, ...] = ()
    void_holdout: tuple[str, ...] = ()

    @fitted
    def __init__(
        self,
        original: Frame = None,
        released: Frame = None,
        *,
        keys: Sequence[str | int] | str | None = None,
        target: str | Sequence[str] | None = None,
        holdout: Frame = None,
        weights: str | None = None,
        cluster: str | None = None,
        schema: Mapping[str, Wish] | None = None,
        missing: str | None = None,
        special_codes: Mapping[str, Any] | None = None,
        row_paired: bool = False,
        exclude: Sequence[str] = (),
        header: bool = False,
        encoding: str | None = None,
        _tables: Tables | None = None,
        **aliases: Argument,
    ) -> None:
        given: dict[str, Argument] = {
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
            "header": header,
            "encoding": encoding,
        }
        take_aliases(given, aliases)
        given |= admitted("Pair", Pair.__init__, {k: v for k, v in given.items() if k not in _LABELS})
        if given["original"] is None:
            raise InputError("a Pair needs the original table: Pair(original, released, ...)")
        if callable(getattr(original, "pair", None)):
            raise InputError(f"original is of type {type(original).__name__}, which has a pair: pass its .pair()")
        if given["released"] is None:
            raise InputError("a Pair needs the released table too: Pair(original, released, ...)")
        self._given = given
        releases = _as_list(given["released"])
        if not releases:
            raise InputError("released is an empty list; pass at least one release")
        files_wanted("released", releases)
        self.m = len(releases)
        named = [("original", given["original"])]
        named += [("released", releases[0])] + [(f"released{i}", r) for i, r in enumerate(releases) if i]
        if given["holdout"] is not None:
            named.append(("holdout", given["holdout"]))
        self._tables = _tables or adopt_all(
            named, given["schema"], names_of(given["exclude"]), bool(given["header"]), given["encoding"]
        )
        self._cache = {}
        self.weights, self.cluster = given["weights"], given["cluster"]
        self.missing_given = given["missing"] is not None
        self.missing = {"category": "level"}.get(given["missing"] or "level", given["missing"] or "level")
        self.row_paired = bool(given["row_paired"])
        self.keys = names_of(given["keys"])
        self.targets = names_of(given["target"])
        self.special_codes = {
            str(k): tuple(v if isinstance(v, Sequence) and not isinstance(v, str) else (v,))
            for k, v in {**self._tables.special_codes, **(given["special_codes"] or {})}.items()
        }
        try:
            check_roles(self)
        except InputError:  # its message may name a column
            self.require_header()
            raise
        self._frozen = True

    def __setattr__(self, name: str, value: object) -> None:
        if getattr(self, "_frozen", False):
            raise AttributeError(f"a Pair does not change; use pair.replace({name}=...)")
        object.__setattr__(self, name, value)

    def _note(self, **learnt: tuple[str, ...]) -> None:
        """What an adapter knows about the columns, entered before anybody else sees the pair."""
        for name, columns in learnt.items():
            object.__setattr__(self, name, columns)

    # -- roles -------------------------------------------------------------------------------------------------------

    @property
    def target(self) -> str | None:
        """The target when there is exactly one."""
        return self.targets[0] if len(self.targets) == 1 else None

    @fitted
    def require_target(self) -> str:
        """The one target.

        Returns
        -------
        str

        Raises
        ------
        InputError
            When the pair has no target or several.
        """
        if len(self.targets) != 1:
            found = "none" if not self.targets else listed(self.targets)
            raise InputError(f"exactly one target is needed here, and the pair has {found}; name one with target=")
        return self.targets[0]

    @property
    def releases(self) -> tuple[str, ...]:
        """Names of the released tables: "released", then "released1", ... for further releases."""
        return tuple("released" if i == 0 else f"released{i}" for i in range(self.m))

    @property
    def release_names(self) -> tuple[str | int, ...]:
        """What the releases are called where they came as ``{name: table}``; else their places, counted from 0."""
        given = self._given["released"]
        return tuple(str(name) for name in given) if isinstance(given, Mapping) else tuple(range(self.m))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns measures look at: in every table, neither weight nor cluster, and no identifier unless it has a
        role."""

        def compute() -> tuple[str, ...]:
            roles, hidden = {*self.keys, *self.targets}, {self.weights, self.cluster}
            kinds = self._tables.columns
            return tuple(
                c for c in self._tables.shared if c not in hidden and (c in roles or kinds[c].kind != "identifier")
            )

        return self.memo(("columns",), compute)  # asked for column by column: anew, that is the square of them

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Probable identifiers, left out unless they are a key or a target."""
        return tuple(
            c for c in self._tables.shared if self._tables.columns[c].kind == "identifier" and c not in self.columns
        )

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns that hold numbers or dates."""
        return self.memo(("numeric",), lambda: tuple(c for c in self.columns if self.is_numeric(c)))

    @property
    def categorical(self) -> tuple[str, ...]:
        """The columns that hold labels."""
        return self.memo(("categorical",), lambda: tuple(c for c in self.columns if not self.is_numeric(c)))

    # -- other pairs -------------------------------------------------------------------------------------------------

    @fitted
    def require_header(self) -> None:
        """Stop when the first line of a file looks like a record: its values would be shown as names of columns.

        Raises
        ------
        InputError
            Unless the pair was made with ``header=True``.
        """
        refuse_headerless(self._tables.headerless)

    @fitted
    def replace(self, **changes: Argument) -> Pair:
        """A changed copy. Roles change for free, tables are read anew only when they change.

        Parameters
        ----------
        **changes
            Arguments of Pair that are to be different.

        Returns
        -------
        Pair
        """
        take_aliases(changes, {k: changes.pop(k) for k in list(changes) if k not in self._given})
        same = not any(name in changes for name in _TABLE_ARGUMENTS)
        if not same and "original" not in changes:  # its numbers with a decimal comma stay numbers beside plain ones
            read = dict.fromkeys(self._tables.decimal_commas, "numeric")
            changes["schema"] = {**read, **(changes.get("schema", self._given["schema"]) or {})}
        made = Pair(**{**self._given, **changes}, _tables=self._tables if same else None)
        made._note(numeric_keys=self.numeric_keys)
        if "released" not in changes:  # another release may have been synthesised otherwise
            made._note(unsynthesised=self.unsynthesised)
        if "holdout" not in changes:
            made._note(void_holdout=self.void_holdout)
        return made

    @door
    def release(self, i: int) -> Pair:
        """The pair with only one of its releases.

        Parameters
        ----------
        i : int
            Position of the release, from 0.

        Returns
        -------
        Pair
        """
        if not 0 <= i < self.m:
            raise InputError(f"there is no release {i}; there are {self.m}, counted from 0")
        if self.m == 1:
            return self

        def compute() -> Pair:
            made = self.replace(released=_as_list(self._given["released"])[i])
            made._note(unsynthesised=self.unsynthesised)
            return made

        return self.memo(("release", i), compute)

    @fitted
    def stacked(self) -> Pair:
        """The pair with all releases as one: what an attacker holds who collected every one of them.

        Returns
        -------
        Pair
            With the columns all releases share.
        """

        def compute() -> Pair:
            tables = [self.local(table) for table in self.releases]
            shared = [c for c in tables[0].columns if all(c in t.columns for t in tables)]
            made = self.replace(released=pl.concat([t.select(shared) for t in tables]))
            made._note(unsynthesised=self.unsynthesised)
            return made

        return self if self.m == 1 else self.memo(("stacked",), compute)

    @fitted
    def check(self) -> Findings:
        """Findings before anything runs: mismatched columns, new levels, odd types, probable identifiers, and more.

        Returns
        -------
        Findings
            A list that prints itself, the most serious first; ``to_frame()`` gives a table.

        Examples
        --------
        >>> import glasshouse as gh
        >>> [finding.code for finding in gh.data.load("appendix_b").pair().check()]
        ['no_holdout']
        """
        return self.memo(("check",), lambda: check(self))

    # -- what results need -------------------------------------------------------------------------------------------

    def record_frame(self, columns: Mapping[str, Values], table: str = "original", rows: Ints | None = None) -> Frame:
        """Per-record arrays as a table in the user's own library, row order (and pandas index) kept.

        Parameters
        ----------
        columns : mapping of str to array
            One value per record.
        table : str, default "original"
            The table the records belong to.
        rows : array of int, optional
            Which records of the table they are. Default: all.

        Returns
        -------
        frame
        """
        return give_back(columns, self._tables.adopted[table], keep_index=True, rows=rows)

    def plain_frame(self, columns: Mapping[str, Values]) -> Frame:
        """A small table in the user's own library.

        Parameters
        ----------
        columns : mapping of str to array
            The columns, all of one length.

        Returns
        -------
        frame
        """
        return give_back(columns, self._tables.adopted["original"], keep_index=False)

    @fitted
    def describe(self) -> dict[str, object]:
        """Sizes, roles and versions, as they go into the settings of every result.

        Returns
        -------
        dict
            Plain data.
        """
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

    def __repr__(self) -> str:
        released = ", ".join(f"{self.n(table):,}" for table in self.releases)
        holdout = f"\n  holdout   {self.n('holdout'):,} records" if self.has_holdout else ""
        return visible(
            f"Pair\n  original  {self.n('original'):,} records, {counted(len(self.columns), 'shared column')}"
            f"\n  released  {released} records{holdout}"
            f"\n  keys      {', '.join(self.keys) or '-'}\n  target    {', '.join(self.targets) or '-'}"
        )

    def _repr_html_(self) -> str:
        return card(self)


def _as_list(released: Frame) -> list[Frame]:
    """One release or several, as a list."""
    if isinstance(released, Mapping):
        return list(released.values())
    return list(released) if isinstance(released, (list, tuple)) else [released]


@cache
def _versions() -> dict[str, str]:
    """Versions of what a figure depends on."""
    found = {}
    for package in ("glasshouse", "numpy", "polars", "narwhals", "scikit-learn", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
