"""The tables of a pair in one common form: same column types, missing values told alike, nothing collected early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import narwhals as nw
import polars as pl
from narwhals.dtypes import DType

from glasshouse.core.errors import InputError, Named, names_known
from glasshouse.core.words import counted, plural
from glasshouse.data.code_books import settle
from glasshouse.data.conversion import (
    EXACT,
    OTHER_DATES,
    WIDE,
    as_datetime,
    beyond,
    collected,
    comparable,
    date_texts,
    decimal_commas,
    known,
    parsed_dates,
    parsed_numbers,
    readable,
    refuse_beyond,
    refuse_patterns,
)
from glasshouse.data.findings import spoken
from glasshouse.data.frames import Adopted, Frame, Lazy, as_given, told_apart
from glasshouse.data.headers import refuse_headerless
from glasshouse.data.here import Codes, Here
from glasshouse.data.schema import Column, Wish, common_storage, detect, family, override
from glasshouse.data.travel import labels_of

HEAD = 100  # records that are looked at before all are
STORED_AS: dict[str, DType] = {
    "int": nw.Int64(), "float": nw.Float64(), "text": nw.String(), "bool": nw.Boolean(), "time": nw.Datetime("us")
}  # fmt: skip
Schemas: TypeAlias = Mapping[str, Mapping[str, DType]]  # column types per table


@dataclass
class Tables:
    """Adopted tables with their common schema. Shared by every Pair made from the same data, whatever its roles.

    Parameters
    ----------
    adopted : dict of str to Adopted
        The tables by name; "original" is one of them.
    wishes : dict
        What the user said about columns (``schema=``).
    exclude : tuple of str
        Columns to leave out of everything.
    header : bool, default False
        Whether the caller said that the first lines are headers, whatever they look like.
    special_codes : dict, default empty
        Reasons for missing among numbers that the files declare.
    columns, remarks, lazy, sizes, missing, distinct : dict
        Found here: kind of each column, how disagreements were settled, the tables in common types, their records,
        missing values per table and column, distinct values of the original.
    decimal_commas : set of str
        Columns whose texts were read as numbers with a decimal comma.
    unread : set of str
        Columns of which some texts could not be read as what they were said to be.
    """

    adopted: dict[str, Adopted]
    wishes: dict[str, Wish]
    exclude: tuple[str, ...]
    header: bool = False
    special_codes: dict[str, tuple[float, ...]] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    lazy: dict[str, Lazy] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    missing: dict[str, dict[str, int]] = field(default_factory=dict)
    distinct: dict[str, int] = field(default_factory=dict)
    decimal_commas: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    _here: Here = field(init=False)
    _codes: dict[str, Codes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        schemas = {name: dict(a.lazy.collect_schema()) for name, a in self.adopted.items()}
        for table, schema in schemas.items():
            refuse_patterns(schema, spoken(table))
        original = schemas["original"]
        names_known("schema", self.wishes, original, "names column {name}, which the original does not have")
        everywhere = [c for schema in schemas.values() for c in schema]
        names_known("exclude", self.exclude, dict.fromkeys(everywhere), "names column {name}, which no table has")
        shared = [c for c in original if c not in self.exclude and all(c in s for s in schemas.values())]
        if not shared:
            other = schemas[next(t for t in schemas if t != "original")]
            alike = {c.casefold() for c in original} & {c.casefold() for c in other}
            hint = "; their names differ by case: rename one of them" if alike else ""
            raise InputError(
                "original and released have no column in common: look at the first lines of both files, the names must "
                f"be the same{hint}"
            )
        own = [c for c in original if c not in shared and c not in self.exclude]
        storage: dict[str, str] = {}
        maybe = self._maybe_more([*shared, *own], schemas)
        for column in [*shared, *own]:
            families = {t: family(s[column]) for t, s in schemas.items() if column in s}
            parses = self._text_parses(column, families, column in maybe)
            storage[column], remark = common_storage(column, families, parses, column in self.wishes)
            if remark:
                self.remarks[column] = remark
        self._scan(storage, schemas)
        self.special_codes = {c: v for c, v in self.special_codes.items() if self._numeric(c)}
        here = self._make_canonical(schemas)
        self.adopted, self.lazy = Named("table", self.adopted), Named("table", self.lazy)
        self.sizes, self.columns = Named("table", self.sizes), Named("column", self.columns)
        self.missing = Named("table", {t: Named("column", counts) for t, counts in self.missing.items()})
        self._here = Here(self.adopted, self.lazy, self.columns, self.missing, here)
        for table in self.adopted:
            if self.sizes[table] == 0:
                raise InputError(f"the {spoken(table)} table has no record")

    @property
    def headerless(self) -> tuple[str, ...]:
        """Tables whose column names look like a record, unless the caller said that they are names."""
        return () if self.header else tuple(t for t, a in self.adopted.items() if a.headerless)

    # -- reading -----------------------------------------------------------------------------------------------------

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Columns that every table has, in the order of the original."""
        return tuple(c for c in self.columns if all(c in self.missing[t] for t in self.adopted))

    def lazy_columns(self, table: str) -> list[str]:
        """Columns of one table that the original has too."""
        return list(self.missing[table])

    def local(self, table: str) -> pl.DataFrame:
        """The whole table in memory, with its texts: for those who make other tables of it."""
        return self._here.frame(table)

    def column(self, table: str, name: str) -> pl.Series:
        """One column of a table in memory, in the common type."""
        return self._here.column(table, name)

    def codes(self, column: str) -> Codes:
        """Joint integer codes of a column over the union of all tables that have it."""
        if column not in self._codes:
            self._codes[column] = self._here.codes(column)
        return self._codes[column]

    # -- making ------------------------------------------------------------------------------------------------------

    def labels(self, table: str, column: str) -> pl.Series:
        """The distinct labels of a column in the common form, missing not counted."""
        return labels_of(self.lazy[table], [column], spoken(table))[column]

    def _numeric(self, column: str) -> bool:
        return column in self.columns and self.columns[column].storage in ("int", "float")

    def _maybe_more(self, columns: Sequence[str], schemas: Schemas) -> set[str]:
        """Columns of text of which no record at the head of a table says that they are neither ISO dates nor numbers
        with a decimal comma; one whose dates one table writes in another way is among them."""
        foreign: set[str] = set()
        maybe: set[str] = set()
        left = {c for c in columns if c not in self.wishes and c not in self.adopted["original"].category_order}
        for table, adopted in self.adopted.items():
            texts = [c for c in columns if c in left and c in schemas[table] and family(schemas[table][c]) == "text"]
            if texts:
                values = labels_of(adopted.lazy.select(*texts).head(HEAD), texts, spoken(table))
                own = {c for c in texts if _date_or_comma(values[c])}
                other = {c for c in texts if c not in own and values[c].str.contains(OTHER_DATES).all()}
                maybe, foreign = maybe | own, foreign | other
                left -= {c for c in texts if c not in own | other}
        return left - (foreign - maybe)

    def _text_parses(self, column: str, families: Mapping[str, str], maybe_more: bool) -> dict[str, str]:
        """For tables that store text where another table does not, or where it may be dates: what all their values can
        be read as."""
        present = {f for f in families.values() if f != "null"}
        told = self.wishes.get(column) in ("numeric", "integer", "boolean", "datetime")
        if "text" not in present or (len(present) == 1 and not told and not maybe_more):
            return {}
        found = {}
        for table, kind in families.items():
            if kind == "text":
                values = labels_of(self.adopted[table].lazy, [column], spoken(table))[column]
                found[table] = next((k for k in ("number", "bool", "time") if readable(values, k).all()), "text")
                if (
                    present <= {"text", "int", "float"}
                    and decimal_commas(values)
                    and readable(values, "number", commas=True).all()
                ):
                    found[table] = "comma"
                found[table] = found[table] if len(values) else "nothing"
        return found

    def _scan(self, storage: Mapping[str, str], schemas: Schemas) -> None:
        """Counts per table in one aggregate each, then the kind of every column from the original's counts."""
        for table, adopted in self.adopted.items():
            names = [c for c in schemas[table] if c in storage]
            read = {c: comparable(c, family(schemas[table][c])) for c in names}
            wanted = [nw.len().alias("size")]
            wanted += [read[c].null_count().alias(f"m{i}") for i, c in enumerate(names)]
            wide = [c for c in names if schemas[table][c] in WIDE]
            wanted += [beyond(c).alias(f"w{i}") for i, c in enumerate(wide)]
            if table == "original":
                wanted += [read[c].n_unique().alias(f"u{i}") for i, c in enumerate(names)]
                # the ends of numbers say how far they reach, and of two values which they are
                numbers = ("int", "float")
                ends = {
                    c: i for i, c in enumerate(names) if storage[c] in numbers and family(schemas[table][c]) in numbers
                }
                wanted += [read[c].min().alias(f"l{i}") for c, i in ends.items()]
                wanted += [read[c].max().alias(f"h{i}") for c, i in ends.items()]
            row = collected(adopted.lazy.select(*wanted), spoken(table)).row(0, named=True)
            for i, column in enumerate(wide):
                refuse_beyond(column, spoken(table), int(row[f"w{i}"] or 0))
            self.sizes[table] = int(row["size"])
            self.missing[table] = {c: int(row[f"m{i}"] or 0) for i, c in enumerate(names)}
            if table == "original":
                distinct = {c: int(row[f"u{i}"] or 0) for i, c in enumerate(names)}
                spans = {c: (row[f"l{i}"] or 0, row[f"h{i}"] or 0) for c, i in ends.items()}
        n = self.sizes["original"]
        for column, kind in storage.items():
            missing = self.missing["original"][column]
            seen = self.distinct[column] = distinct[column] - (1 if missing else 0)
            order = self.adopted["original"].category_order.get(column) if kind == "text" else None
            found = detect(column, kind, n, seen, missing, spans.get(column), order)
            found = override(found, self.wishes[column]) if column in self.wishes else found
            label = next((a.labels[column] for a in self.adopted.values() if column in a.labels), None)
            self.columns[column] = found if label is None else replace(found, label=label)

    def _make_canonical(self, schemas: Schemas) -> dict[str, pl.DataFrame]:
        """Every table in common types; those on this machine at once."""
        here = {}
        for table, adopted in self.adopted.items():
            names = [c for c in schemas[table] if c in self.columns]
            wanted = {c: self._canonical(c, family(schemas[table][c]), table, schemas[table][c]) for c in names}
            lazy = adopted.lazy.select(*wanted.values())
            if adopted.in_memory:
                here[table] = _converted(adopted.lazy, wanted, self.columns, spoken(table))
                lazy = nw.from_native(here[table].lazy())
            self.lazy[table] = lazy
        return here

    def _canonical(self, name: str, kind: str, table: str, dtype: DType) -> nw.Expr:
        """The expression that brings one column of one table to the common type."""
        storage, column = self.columns[name].storage, nw.col(name)
        if kind == "duration":
            column = column.dt.total_microseconds().cast(nw.Float64) / 86_400e6
        if kind == "float":
            column = known(name)
        if storage == "text":
            if kind == "float":
                whole = (column.round(0) == column) & (column.abs() < EXACT)
                texts = nw.when(whole).then(column).cast(nw.Int64).cast(nw.String)
                column = nw.when(whole).then(texts).otherwise(column.cast(nw.String))
            return column.cast(nw.String).alias(name)
        if storage == "time" and kind != "text":
            return as_datetime(column, dtype, self.adopted[table].library).alias(name)
        if kind == "text":
            column = self._parsed(name, table, storage)
        return column.cast(STORED_AS[storage]).alias(name)

    def _parsed(self, name: str, table: str, storage: str) -> nw.Expr:
        """Text as numbers, booleans or dates; what cannot be read (the user asked for it in the schema) becomes missing
        and is remarked."""
        values = labels_of(self.adopted[table].lazy, [name], spoken(table))[name]
        target = {"bool": "bool", "time": "time"}.get(storage, "number")
        fits = values.is_in(date_texts(values)) if target == "time" else readable(values, target, commas=True)
        bad = values.filter(~fits).to_list()
        if target == "number" and decimal_commas(values):
            self.remarks[name] = "numbers with a decimal comma: read as numbers"
            self.decimal_commas.add(name)
        column = nw.col(name).cast(nw.String)
        if bad:
            kind = {"number": "number", "bool": "boolean", "time": "date that can be told"}[target]
            before = f"{self.remarks[name].partition(':')[0]}; " if name in self.unread else ""
            self.unread.add(name)
            texts = f"{counted(len(bad), 'distinct text')} in {spoken(table)} {plural(len(bad), 'is', 'are')} no {kind}"
            self.remarks[name] = f"{before}{texts}: read as missing"
            self.missing[table][name] += self._holding(table, name, bad)
            column = nw.when(~column.is_in(bad)).then(column)
        if storage == "bool":
            return nw.when(~column.is_null()).then(column.str.to_lowercase().is_in(["true", "1", "yes", "t"]))
        if storage == "time":
            return parsed_dates(column, values)
        return parsed_numbers(column, values)

    def _holding(self, table: str, column: str, values: list[str]) -> int:
        """How many records hold one of these texts."""
        held = nw.col(column).cast(nw.String).is_in(values).cast(nw.Int64).sum()
        counted = collected(self.adopted[table].lazy.select(held), spoken(table)).item()
        return int(counted or 0)


def _date_or_comma(texts: pl.Series) -> bool:
    """Whether texts may be ISO dates or numbers of which some have a decimal comma."""
    return bool(
        readable(texts, "time").all() or (readable(texts, "number", commas=True).all() and decimal_commas(texts))
    )


def _converted(lazy: Lazy, wanted: Mapping[str, nw.Expr], columns: Mapping[str, Column], table: str) -> pl.DataFrame:
    """A table in common types; when a column does not go, the message names it."""
    try:
        return collected(lazy.select(*wanted.values()), table)
    except InputError:
        for name, expression in wanted.items():
            try:
                collected(lazy.select(expression), table)
            except InputError:
                raise InputError(
                    f"column {name!r} of the {table} table cannot be read as {columns[name].kind}; convert it before, "
                    f"say what it is in schema=, or leave it out with exclude=[{name!r}]"
                ) from None
        raise


def adopt_all(
    tables: Sequence[tuple[str, Frame]],
    wishes: Mapping[str, Wish] | None,
    exclude: Sequence[str],
    header: bool = False,
    encoding: str | None = None,
) -> Tables:
    """Tables from names and frames; the same object given twice is adopted once.

    Parameters
    ----------
    tables : sequence of (str, frame or path)
        Name and content of each table.
    wishes : mapping, optional
        What the user said about columns (``schema=``).
    exclude : sequence of str
        Columns to leave out.
    header : bool, default False
        Whether the first lines are headers, whatever they look like.
    encoding : str, optional
        Encoding of the texts of files. Default: found out, file by file.

    Returns
    -------
    Tables
    """
    seen: dict[int, Adopted] = {}
    adopted: dict[str, Adopted] = {}
    for name, table in tables:
        if id(table) not in seen:
            seen[id(table)] = as_given(table, spoken(name), encoding)
        adopted[name] = told_apart(seen[id(table)], adopted.get("original", seen[id(table)]))
    try:
        settled = settle(adopted, wishes or {})
        return Tables(
            settled.tables, dict(wishes or {}), tuple(exclude), header, settled.special_codes, remarks=settled.remarks
        )
    except InputError:  # its message may name a column
        refuse_headerless(() if header else (t for t, a in adopted.items() if a.headerless))
        raise
