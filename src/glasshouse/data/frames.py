"""Any data frame in, the same kind of data frame out.

pandas and pyarrow tables move to polars at the door (one conversion, the caller's object untouched); polars lazy
frames, DuckDB relations and PySpark frames stay where they are and are only ever asked for aggregates, unless records
are wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, MissingExtra, foreign
from glasshouse.core.forking import entering
from glasshouse.data.arrays import Ints
from glasshouse.data.files import contents_of
from glasshouse.data.files.contents import Contents, Orders
from glasshouse.data.headers import looks_headerless, refuse_headerless
from glasshouse.data.pandas_tables import NO_VALUES, from_pandas, has_pyarrow, to_pandas

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = Any  # a frame of a foreign library: a type would say less
Lazy: TypeAlias = nw.LazyFrame[Any]  # a table in whichever engine holds it
Values: TypeAlias = "np.ndarray | pl.Series | Sequence[object]"  # one column of a small table


@dataclass(frozen=True)
class Adopted:
    """A caller's table as narwhals sees it, with what is needed to answer in the caller's own library.

    Parameters
    ----------
    lazy : narwhals.LazyFrame
        The table, asked lazily.
    library : str
        "polars", "polars-lazy", "pandas", "pyarrow", "duckdb" or "pyspark".
    native : frame
        The caller's own object.
    source : str
        Where it came from, for people: a file name or the kind of frame.
    category_order : dict, default empty
        Levels of every declared category, and whether they are ranked.
    headerless : bool, default False
        Whether the first line of a file looks like a record, and its values became the names of the columns.
    contents : Contents, optional
        What the file said about its columns. None for a frame.
    path : Path, optional
        The file. None for a frame.
    special_codes : dict, default empty
        By numeric column the codes that the file declares as reasons for missing.
    apart : bool, default False
        Whether a DuckDB relation belongs to another connection than the original's: no query sees both.
    """

    lazy: Lazy
    library: str
    native: Frame
    source: str
    category_order: Orders = field(default_factory=dict)
    headerless: bool = False
    contents: Contents | None = None
    path: Path | None = None
    special_codes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    apart: bool = False

    @property
    def in_memory(self) -> bool:
        """Whether the table is on this machine already."""
        return self.library in ("polars", "pandas", "pyarrow")

    @property
    def labels(self) -> Mapping[str, str]:
        """What the columns are about, as far as the file says."""
        return {} if self.contents is None else self.contents.labels

    def frame(self) -> pl.DataFrame:
        """The table as polars holds it; for tables on this machine."""
        made: pl.DataFrame = self.lazy.collect(backend="polars").to_native()
        return made

    def with_frame(self, frame: pl.DataFrame, orders: Orders) -> Adopted:
        """The same table with other values."""
        declared = {
            c: pl.Enum(list(dict.fromkeys([*levels, *frame[c].drop_nulls().unique().sort()])))
            for c, (levels, _) in orders.items()
            if frame.schema.get(c) == pl.String
        }
        native = (
            frame.with_columns(pl.col(c).cast(kind) for c, kind in declared.items())
            if self.contents is not None
            else self.native
        )
        return replace(self, lazy=nw.from_native(frame.lazy()), native=native, category_order=orders)


def adopt_headed(table: Frame, role: str) -> Adopted:
    """The same where names of columns go on into another file: a text file without a header is refused.

    Parameters
    ----------
    table, role
        As for :func:`adopt`.

    Returns
    -------
    Adopted

    Raises
    ------
    NoHeader
        When the first line looks like a record.
    """
    found = adopt(table, role)
    refuse_headerless((role,) if found.headerless else ())
    return found


def adopt(table: Frame, role: str, encoding: str | None = None) -> Adopted:
    """Take a caller's frame or the path of a file, codes of a file as labels.

    Parameters
    ----------
    table : frame or path
        pandas, polars (eager or lazy), pyarrow, DuckDB, PySpark, narwhals, or a file.
    role : str
        The table's name in error messages: "original", "released", "holdout".
    encoding : str, optional
        Encoding of the texts of a file. Default: found out.

    Returns
    -------
    Adopted

    Raises
    ------
    InputError
        For what is no data frame, and for a frame with two columns of one name.
    """
    from glasshouse.data.code_books import settle

    settled = settle({role: as_given(table, role, encoding)}, {})
    return replace(settled.tables[role], special_codes=settled.special_codes)


def as_given(table: Frame, role: str, encoding: str | None = None) -> Adopted:
    """The same with codes as they stand in the file; :func:`glasshouse.data.code_books.settle` settles them jointly."""
    entering()
    table = getattr(table, "__glasshouse_table__", table)  # what an operation made holds a table
    if isinstance(table, (str, Path)):
        return as_contents(contents_of(table, encoding), Path(table))
    if isinstance(table, (nw.DataFrame, nw.LazyFrame)):
        table = table.to_native()
    library = type(table).__module__.split(".")[0]
    if library == "pandas" and hasattr(table, "columns"):
        frame, order = _from_pandas(table, role)
    elif isinstance(table, pl.DataFrame):
        frame, order = _without_objects(table), {}
    elif isinstance(table, pl.LazyFrame):
        return Adopted(
            nw.from_native(table), "polars-lazy", table, "polars lazy frame", _polars_order(table.collect_schema())
        )
    elif library == "pyarrow" and hasattr(table, "column_names"):
        _refuse_duplicates([str(c) for c in table.column_names], role)
        frame, order = pl.DataFrame(pl.from_arrow(table)), {}
    elif library in ("duckdb", "_duckdb", "pyspark"):
        _refuse_duplicates([str(c) for c in table.columns], role)
        if not has_pyarrow():
            spoken = {"duckdb": "DuckDB relation", "pyspark": "Spark frame"}[library.strip("_")]
            raise MissingExtra(library.strip("_").removeprefix("py"), f"{role} is a {spoken}; reading its answers")
        lazy = nw.from_native(table)
        return Adopted(
            lazy if isinstance(lazy, nw.LazyFrame) else lazy.lazy(),
            library.strip("_"),
            table,
            f"{library.strip('_')} frame",
            {},
        )
    elif isinstance(table, (Mapping, list, np.ndarray)):
        raise InputError(
            f"{role} is a {type(table).__name__}; pass a data frame (pandas, polars, pyarrow, DuckDB, PySpark) or a "
            "file path"
        )
    else:
        raise InputError(
            f"{role} is a {type(table).__name__}, which is no data frame glasshouse knows; it takes pandas, polars, "
            "pyarrow, DuckDB, PySpark and file paths"
        )
    return Adopted(
        nw.from_native(frame.lazy()),
        "polars" if library not in ("pandas", "pyarrow") else library,
        table,
        f"{library} frame",
        order or _polars_order(frame.schema),
    )


def told_apart(table: Adopted, original: Adopted) -> Adopted:
    """A table that knows whether one query can see it and the original."""
    if table.library != "duckdb" or original.library != "duckdb" or table.native is original.native:
        return table
    import duckdb

    one, other = (a.native.select(duckdb.ConstantExpression(1)) for a in (table, original))
    try:
        one.union(other)
    except duckdb.InvalidInputException:
        return replace(table, apart=True)
    return table


def as_contents(found: Contents, path: Path | None = None) -> Adopted:
    """What a file holds as a table; its declared categories are categories of the frame."""
    frame = found.frame
    headerless = found.header_line and looks_headerless(frame)
    orders = found.orders or _polars_order(frame.schema)
    source = "R object" if path is None else path.name
    made = Adopted(nw.from_native(frame.lazy()), "polars", frame, source, orders, headerless, found, path)
    return made.with_frame(frame, orders) if found.orders else made


def _refuse_duplicates(names: list[str], role: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{role} has more than one column called {twice[0]!r}; rename one of them")


def _polars_order(schema: Mapping[str, pl.DataType]) -> Orders:
    """Declared levels of polars enums: their order is kept, but an enum says nothing about low and high."""
    return {
        str(name): (dtype.categories.to_list(), False) for name, dtype in schema.items() if isinstance(dtype, pl.Enum)
    }


def _from_pandas(frame: pd.DataFrame, role: str) -> tuple[pl.DataFrame, Orders]:
    """A pandas frame in polars, categories as text with their levels kept aside."""
    names = [str(column) for column in frame.columns]
    _refuse_duplicates(names, role)
    columns: list[pl.Series] = []
    order: Orders = {}
    for position, name in enumerate(names):
        series = frame.iloc[:, position]
        if str(series.dtype) == "category":
            labels = [label_text(label) for label in series.cat.categories]
            codes = np.asarray(series.cat.codes)
            order[name] = (labels, bool(series.cat.ordered))
            lookup = pl.Series(labels, dtype=pl.String)
            columns.append(
                lookup.gather(pl.Series(np.where(codes < 0, 0, codes))).alias(name)
                if labels
                else pl.Series(name, [None] * len(codes), dtype=pl.String)
            )
            columns[-1] = pl.select(pl.when(pl.Series(codes >= 0)).then(columns[-1])).to_series().alias(name)
        else:
            columns.append(_pandas_series(series, name))
    return pl.DataFrame(columns), order


def _pandas_series(series: pd.Series, name: str) -> pl.Series:
    try:
        made = from_pandas(series, name)
        if made.dtype != pl.Object and not str(series.dtype).startswith(NO_VALUES):
            return made
    except BaseException as problem:  # mixed Python objects
        if not foreign(problem):
            raise
    known = series.notna().to_numpy()
    return _as_labels(name, series.tolist(), known.tolist())


def _without_objects(frame: pl.DataFrame) -> pl.DataFrame:
    """Python objects are compared by label, as text, as those of a pandas frame are."""
    objects = [c for c, dtype in frame.schema.items() if dtype == pl.Object]
    lists = {c: frame[c].to_list() for c in objects}
    return frame.with_columns(*(_as_labels(c, v, [one is not None for one in v]) for c, v in lists.items()))


def _as_labels(name: str, values: Sequence[object], known: Sequence[bool]) -> pl.Series:
    return pl.Series(name, [label_text(v) if k else None for v, k in zip(values, known, strict=True)], dtype=pl.String)


def label_text(value: object) -> str:
    """The text of a category label: 1 and 1.0 are the same label, everything else is its own text."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def to_series(name: str, column: Values) -> pl.Series:
    """A polars column from an array; masked entries and NaN become null.

    Parameters
    ----------
    name : str
        Name of the column.
    column : array, polars.Series or sequence
        Its values.

    Returns
    -------
    polars.Series
    """
    if isinstance(column, pl.Series):
        return column.alias(name)
    if isinstance(column, np.ma.MaskedArray):
        filled = pl.Series(name, np.ma.getdata(column))
        return pl.select(pl.when(pl.Series(~np.ma.getmaskarray(column))).then(filled)).to_series().alias(name)
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return pl.Series(name, column, nan_to_null=True)
    if isinstance(column, np.ndarray) and column.dtype.kind == "O":
        return pl.Series(name, column.tolist(), strict=False)
    return pl.Series(name, column, strict=False)


def give_back(columns: Mapping[str, Values], like: Adopted, keep_index: bool, rows: Ints | None = None) -> Frame:
    """A table in the caller's own library.

    Parameters
    ----------
    columns : mapping of str to array
        The columns of the table.
    like : Adopted
        The caller's table whose library is answered in.
    keep_index : bool
        Whether a pandas table carries the index of ``like``; the columns then hold one value per record of it.
    rows : array of int, optional
        The records of ``like`` the values belong to. Default: all of them.

    Returns
    -------
    frame
    """
    frame = pl.DataFrame([to_series(str(name), column) for name, column in columns.items()])
    if like.library == "pandas":
        made = to_pandas(frame)
        if keep_index:
            made.index = like.native.index if rows is None else like.native.index[rows]
        return made
    if like.library == "pyarrow":
        return frame.to_arrow()
    if like.library == "polars-lazy":
        return frame.lazy()
    if like.library == "duckdb":
        import duckdb

        return duckdb.from_arrow(frame.to_arrow())
    if like.library == "pyspark":
        return like.native.sparkSession.createDataFrame(to_pandas(frame))
    return frame
