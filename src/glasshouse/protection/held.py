"""A caller's table in the hands of an operation: what it may read, and how the changed table goes back.

Whatever an operation does not touch goes back as it came: the same columns of the same library, types and index
included. A changed column takes its old type again where that holds the new values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest, listed, names_wanted, shortened
from glasshouse.data.arrays import LARGEST, Bools, Floats
from glasshouse.data.conversion import collected, iso_dates, with_plain_numbers
from glasshouse.data.fingerprints import content_of
from glasshouse.data.frames import Adopted, Frame, Values, adopt_headed, give_back, label_text, to_series
from glasshouse.data.pandas_tables import column_to_pandas

KINDS = {"numeric": "numbers", "date": "dates", "categorical": "categories", "any": "values"}


@dataclass(frozen=True)
class Held:
    """A table in memory, and the caller's own object behind it.

    Parameters
    ----------
    frame : polars.DataFrame
        The table; categories are text.
    like : Adopted
        The caller's table, whose library is answered in.
    """

    frame: pl.DataFrame
    like: Adopted

    @property
    def n(self) -> int:
        """Number of records."""
        return self.frame.height

    @cached_property
    def content(self) -> str:
        """What the table holds, as a name of streams: whoever has the changed table and knows the seed, often 0, could
        draw the same numbers again and take noise, swaps and exchanges back. What they do not have is this table."""
        return content_of(self.frame)

    def __getitem__(self, column: str) -> pl.Series:
        return self.frame[column]

    def columns(self, given: str | Sequence[str], called: str = "columns", kind: str = "any") -> list[str]:
        """Names of columns as a caller gave them, each once, all of them in the table and of one kind.

        Parameters
        ----------
        given : str or sequence of str
            One name or several.
        called : str, default "columns"
            The argument, for messages.
        kind : {"any", "numeric", "date", "categorical"}, default "any"
            What the columns must hold.

        Returns
        -------
        list of str

        Raises
        ------
        InputError
            For an empty list, a column that is not there or of another kind.
        """
        names = [given] if isinstance(given, str) else list(given)
        known = self.frame.columns
        names_wanted(called, names, known)
        if not names:
            raise InputError(f"{called} is empty; name at least one of {listed(known)}")
        for name in names:
            if name not in known:
                raise InputError(
                    f"{called} names column {shortened(str(name))!r}, which the table does not have"
                    f"{closest(str(name), known)}"
                )
            if kind != "any" and self.kind(name) not in (kind, "any"):
                commas = kind == "numeric" and with_plain_numbers(self.frame.select(name)).schema[name].is_numeric()
                raise InputError(
                    f"{called} takes columns of {KINDS[kind]}, and column {name!r} holds {KINDS[self.kind(name)]}"
                    f"{': numbers with a decimal comma, as text; convert it' if commas else ''}"
                )
        return list(dict.fromkeys(names))

    def kind(self, column: str) -> str:
        """What a column holds: "numeric", "date" (also as ISO text) or "categorical"; "any" where all is missing."""
        dtype = self.frame.schema[column]
        if dtype == pl.Null:
            return "any"
        return "numeric" if dtype.is_numeric() else "categorical" if self.dates(column) is None else "date"

    def dates(self, column: str) -> pl.Series | None:
        """The dates or times of a column, also of one that holds them as ISO text, as a file does; None for others."""
        if column not in self._read:
            values = self.frame[column]
            self._read[column] = values if values.dtype in (pl.Date, pl.Datetime) else iso_dates(values)
        return self._read[column]

    @cached_property
    def _read(self) -> dict[str, pl.Series | None]:
        """Dates by column, as far as they were asked for."""
        return {}

    def numbers(self, column: str, summed: bool = False) -> Floats:
        """A column of numbers as float64, missing as NaN; infinite numbers are refused.

        Parameters
        ----------
        column : str
            Name of the column.
        summed : bool, default False
            Whether squares of them are added up, as variances and correlations do; then too large ones are refused.

        Returns
        -------
        array of float
        """
        self.columns(column, kind="numeric")
        values = self.frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        if np.isinf(values).any():
            raise InputError(f"column {column!r} holds infinite numbers; set them missing before it is protected")
        if summed and (np.abs(values) > LARGEST).any():
            raise InputError(f"column {column!r} holds numbers whose squares are infinite; say it in larger units")
        return np.asarray(values, np.float64)


@dataclass(frozen=True)
class Changed:
    """A changed table in the caller's library, and what is different in it.

    Parameters
    ----------
    table : frame
        The table.
    columns : dict of str to int
        Cells with another value than before, by column; those of removed records do not count.
    records : int
        Records with at least one of them, or removed.
    notes : tuple of str
        Columns that changed their type.
    """

    table: Frame
    columns: dict[str, int]
    records: int
    notes: tuple[str, ...]

    @property
    def cells(self) -> int:
        """Cells changed."""
        return sum(self.columns.values())


def held(table: Frame) -> Held:
    """Take a caller's table into memory.

    Parameters
    ----------
    table : frame, path or Protected
        pandas, polars, pyarrow, DuckDB, PySpark, a file, or what another operation returned.

    Returns
    -------
    Held

    Raises
    ------
    InputError
        For what is no table, and for one without records.
    """
    like = adopt_headed(table, "table")
    frame = collected(like.lazy, "given")
    if like.contents is not None:  # a file's, and nobody's own object: numbers with a decimal comma are numbers
        frame = with_plain_numbers(frame)
        like = like.with_frame(frame, like.category_order)
    if not frame.height:
        raise InputError("the table has no records; there is nothing to protect")
    floats = [c for c, dtype in frame.schema.items() if dtype in (pl.Float32, pl.Float64)]
    return Held(frame.with_columns(pl.col(c).fill_nan(None) for c in floats), like)


def changed(
    before: Held, columns: Mapping[str, Values], drop: Iterable[str] = (), keep: Bools | None = None
) -> Changed:
    """The caller's table with other columns, without some, or without some records.

    Parameters
    ----------
    before : Held
        The table as it was.
    columns : mapping of str to array
        New values of columns, one per record; new columns come last.
    drop : iterable of str, default empty
        Columns to leave out.
    keep : array of bool, optional
        The records that stay. Default: all.

    Returns
    -------
    Changed
    """
    new = {name: _retyped(to_series(name, values), before.frame.schema.get(name)) for name, values in columns.items()}
    gone = list(drop)
    different = {name: _different(before.frame, series) for name, series in new.items()}
    different |= {name: before.frame[name].is_not_null().to_numpy() for name in gone}
    made = _returned(before, new, gone)
    stayed = [series for name, series in new.items() if name in before.frame.columns]
    notes = tuple(note for series in stayed if (note := _type_note(before, series, made)))
    notes += tuple(
        f"Column {series.name!r} held categories of numbers and now holds categories of text."
        for series in stayed
        if _mixed(before, series)
    )
    stays = np.ones(before.n, np.bool_) if keep is None else keep
    touched = ~stays
    for mask in different.values():
        touched = touched | mask
    counts = {name: int((mask & stays).sum()) for name, mask in different.items()}
    return Changed(_kept(before, made, new, keep), counts, int(touched.sum()), notes)


def _different(frame: pl.DataFrame, new: pl.Series) -> Bools:
    """Where a column holds another value than before; a new column counts everywhere."""
    if new.name not in frame.columns:
        return np.ones(frame.height, np.bool_)
    old = frame[new.name]
    if old.dtype != new.dtype and old.dtype.is_numeric() and new.dtype.is_numeric():
        old, new = old.cast(pl.Float64), new.cast(pl.Float64)
    elif old.dtype != new.dtype:
        old, new = _written(old), _written(new)
    return np.asarray(old.ne_missing(new).to_numpy())


def _written(values: pl.Series) -> pl.Series:
    """Values as text, to tell whether they are the same: 1.0 is "1", and durations have none of their own."""
    if values.dtype.is_float():
        distinct = values.unique()
        texts = pl.Series([None if v is None else label_text(v) for v in distinct], dtype=pl.String)
        return values.replace_strict(distinct, texts, return_dtype=pl.String)
    return (values.cast(pl.Int64) if values.dtype == pl.Duration else values).cast(pl.String)


def _retyped(new: pl.Series, old: pl.DataType | None) -> pl.Series:
    """New values in the type of the old ones, where it holds them exactly."""
    if old is None or new.dtype == old:
        return new
    if isinstance(old, (pl.Enum, pl.Categorical)):
        if new.dtype != pl.String or isinstance(old, pl.Categorical):
            return new.cast(pl.Categorical) if new.dtype == pl.String else new
        levels = old.categories.to_list()
        return new.cast(pl.Enum([*levels, *sorted(set(new.drop_nulls().unique()) - set(levels))]))
    if not (old.is_numeric() and new.dtype.is_numeric()):
        return new.cast(old) if new.dtype == pl.Null else new
    cast = new.cast(old, strict=False)
    if _same_numbers(cast, new) or (old.is_float() and new.dtype.is_float() and _finite(cast, new)):
        return cast
    if old.is_integer() and new.dtype.is_float():  # too large for the old type, and whole all the same
        wide = new.cast(pl.Int64, strict=False)
        return wide if _same_numbers(wide, new) else new
    return new


def _same_numbers(one: pl.Series, other: pl.Series) -> bool:
    return bool(one.cast(pl.Float64).eq_missing(other.cast(pl.Float64)).all())


def _finite(narrow: pl.Series, wide: pl.Series) -> bool:
    """Whether no number became infinite in a narrower type."""
    return int(narrow.is_infinite().sum()) == int(wide.is_infinite().sum())


def _type_note(before: Held, new: pl.Series, made: Frame) -> str | None:
    """What is said of a column that changed its type; texts and categories are told by what they hold only."""
    name, dtype = new.name, before.frame.schema[new.name]
    old, now = _stored(_native(before), name), _stored(made, name)
    if _spoken(new.dtype) != _spoken(dtype):
        return f"Column {name!r} held {_spoken(dtype)} and now holds {_spoken(new.dtype)}."
    if old == now or not (dtype.is_numeric() or dtype == pl.Boolean):
        return None
    why = "missing values" if new.null_count() else "its values"
    return f"Column {name!r} was of type {old} and is now of type {now}, which holds {why}."


def _stored(table: Frame, name: str) -> str:
    """The type of a column in the table's own library, as that library writes it."""
    if isinstance(table, pl.DataFrame):
        return str(table.schema[name])
    if hasattr(table, "dtypes") and hasattr(table, "iloc"):
        return str(table.dtypes.iloc[[str(column) for column in table.columns].index(name)])
    return str(table.schema.field(name).type) if hasattr(table, "column_names") else ""


def _spoken(dtype: pl.DataType) -> str:
    """A type as a person says it."""
    if dtype.is_integer():
        return "whole numbers"
    if dtype.is_numeric():
        return "decimals"
    return {pl.Boolean: "true or false", pl.Date: "dates", pl.Datetime: "times", pl.Null: "nothing"}.get(
        dtype.base_type(), "text"
    )


def _native(before: Held) -> Frame:
    """The caller's own table where it is in memory."""
    like = before.like
    if like.library in ("pandas", "pyarrow") or (like.library == "polars" and isinstance(like.native, pl.DataFrame)):
        return like.native
    return before.frame


def _returned(before: Held, new: Mapping[str, pl.Series], gone: Sequence[str]) -> Frame:
    """The caller's own object with the new columns in the places of the old ones."""
    native = _native(before)
    if before.like.library == "pandas":
        return _to_pandas(native, new, gone)
    if before.like.library == "pyarrow":
        return _to_arrow(native, new, gone)
    return native.with_columns(new.values()).drop(gone)


def _kept(before: Held, made: Frame, new: Mapping[str, pl.Series], keep: Bools | None) -> Frame:
    """The records that stay, in the caller's library."""
    library, native = before.like.library, _native(before)
    if keep is not None:
        made = made[keep] if library == "pandas" else made.filter(
            pl.Series(keep).to_arrow() if library == "pyarrow" else pl.Series(keep)
        )  # fmt: skip
    names = new if keep is None else None  # where records went, any column may have lost a level
    if library == "pandas":
        return _pandas_levels(native, made, names)
    if library == "pyarrow":
        return made if keep is None else _arrow_levels(made)
    made = _polars_levels(native, made, names)
    if library in ("duckdb", "pyspark"):
        return give_back({c: made[c] for c in made.columns}, before.like, keep_index=False)
    return made


# -- levels that were hidden leave the type; those that nobody had before stay in it -----------------------------------


def _polars_levels(native: pl.DataFrame, made: pl.DataFrame, names: Iterable[str] | None) -> pl.DataFrame:
    """Enums without the levels that records had and none has any longer; of all columns by default."""
    for name in made.columns if names is None else names:
        kind = made.schema[name]
        if isinstance(kind, pl.Enum) and isinstance(native.schema.get(name), pl.Enum):
            hidden = set(native[name].drop_nulls().unique()) - set(made[name].drop_nulls().unique())
            if hidden:
                left = [level for level in kind.categories if level not in hidden]
                made = made.with_columns(made[name].cast(pl.Enum(left)))
    return made


def _pandas_levels(native: Frame, made: Frame, names: Iterable[str] | None) -> Frame:
    """The same for categories of pandas."""
    wanted = None if names is None else set(names)
    for at, column in enumerate(made.columns):
        if (wanted is not None and str(column) not in wanted) or column not in native.columns:
            continue
        old, new = native[column], made.iloc[:, at]
        if str(old.dtype) == str(new.dtype) == "category":
            hidden = {label_text(v) for v in old.dropna().unique()} - {label_text(v) for v in new.dropna().unique()}
            left = [level for level in new.cat.categories if label_text(level) not in hidden]
            if len(left) < len(new.cat.categories):
                made.isetitem(at, new.cat.set_categories(left))
    return made


def _arrow_levels(made: Frame) -> Frame:
    """Dictionaries of Arrow written anew: they list every level of the records that were removed."""
    import pyarrow

    for at, part in enumerate(made.schema):
        if pyarrow.types.is_dictionary(part.type):
            column = made.column(at).cast(part.type.value_type).dictionary_encode().cast(part.type)
            made = made.set_column(at, part, column)
    return made


def _mixed(before: Held, new: pl.Series) -> bool:
    """Whether categories of pandas that are no text get labels that are."""
    if before.like.library != "pandas" or new.name not in before.frame.columns or new.dtype != pl.String:
        return False
    native = before.like.native
    old = native.iloc[:, [str(name) for name in native.columns].index(new.name)]
    return str(old.dtype) == "category" and _texts_needed(new, old)


def _texts_needed(new: pl.Series, old: Frame) -> bool:
    levels = old.cat.categories
    strange = set(new.drop_nulls().unique()) - {label_text(level) for level in levels}
    return bool(strange) and not all(isinstance(level, str) for level in levels)


def _to_pandas(native: Frame, new: Mapping[str, pl.Series], gone: Sequence[str]) -> Frame:
    made = native.copy(deep=False)
    places = {str(name): i for i, name in enumerate(native.columns)}
    for name, series in new.items():
        if name in places:
            made.isetitem(places[name], _pandas_column(series, native.iloc[:, places[name]]))
        else:
            made.insert(made.shape[1], name, _pandas_column(series, None, native.index))
    return made.iloc[:, [i for name, i in places.items() if name not in gone] + list(range(len(places), made.shape[1]))]


def _pandas_column(series: pl.Series, old: Frame, index: Frame = None) -> Frame:
    """A column for a pandas table: whole numbers and truth values stay so beside missing ones."""
    import pandas as pd

    index = old.index if old is not None else index
    if isinstance(series.dtype, pl.Enum):  # classes of numbers: their order is known
        kind = pd.CategoricalDtype(series.dtype.categories.to_list(), ordered=True)
        return pd.Series(pd.Categorical(series.to_list(), dtype=kind), index=index)
    if old is not None and str(old.dtype) == "category" and series.dtype == pl.String:
        texts = _texts_needed(series, old)
        ours = {label_text(level): label_text(level) if texts else level for level in old.cat.categories}
        more = sorted(set(series.drop_nulls().unique()) - set(ours))
        levels = [*ours.values(), *more]
        kind = pd.CategoricalDtype(levels, ordered=bool(old.cat.ordered) and not more)
        return pd.Series(pd.Categorical([ours.get(v, v) for v in series], dtype=kind), index=index)
    whole, truth = series.dtype.is_integer(), series.dtype == pl.Boolean
    if old is not None and str(old.dtype) == "object":
        return pd.Series(series.to_list(), dtype=object, index=index)
    if series.null_count() and truth:
        kept = old is not None and pd.api.types.is_extension_array_dtype(old.dtype) and _same_kind(old.dtype, "boolean")
        return pd.Series(pd.array(series.to_list(), dtype=old.dtype if kept else "boolean"), index=index)
    if whole:
        values = series.to_list() if series.null_count() else series.to_numpy()
        return pd.Series(pd.array(values, dtype=_whole_type(series, old)), index=index)
    made = column_to_pandas(series)
    made.index = index
    if old is not None and made.dtype != old.dtype and _same_kind(old.dtype, made.dtype):
        return made.astype(old.dtype)
    return made


def _whole_type(values: pl.Series, old: Frame) -> Frame:
    """The pandas type for whole numbers: the old one where it holds them, else a wide one of its family."""
    from pandas.api import types

    wide = "uint64" if values.dtype == pl.UInt64 else "int64"
    dtype = None if old is None or not types.is_integer_dtype(old.dtype) else old.dtype
    if dtype is not None and (not values.null_count() or types.is_extension_array_dtype(dtype)):
        of = np.iinfo(getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype)))
        known = values.drop_nulls()
        if not len(known) or (of.min <= int(known.min()) and int(known.max()) <= of.max):  # type: ignore[arg-type]
            return dtype
        if str(dtype).endswith("[pyarrow]"):
            return f"{wide}[pyarrow]"
        if types.is_extension_array_dtype(dtype):
            return "UInt64" if wide == "uint64" else "Int64"
    return wide if not values.null_count() else "UInt64" if wide == "uint64" else "Int64"


def _same_kind(one: Frame, other: Frame) -> bool:
    """Whether two types of pandas hold the same kind of value."""
    from pandas.api import types

    tests = (types.is_bool_dtype, types.is_integer_dtype, types.is_float_dtype, types.is_datetime64_any_dtype,
             types.is_string_dtype)  # fmt: skip
    return any(test(one) and test(other) for test in tests)


def _to_arrow(native: Frame, new: Mapping[str, pl.Series], gone: Sequence[str]) -> Frame:
    made = native
    for name, series in new.items():
        column = series.to_arrow()
        if series.dtype == pl.Categorical:  # some versions of polars list levels there that are hidden by now
            column = series.cast(pl.String).to_arrow().dictionary_encode().cast(column.type)
        if name in made.column_names:
            place = made.column_names.index(name)
            old = native.schema.field(place).type
            text = {"string", "large_string", "string_view"}
            if str(old) != str(column.type) and (str(old) in text) == (str(column.type) in text):
                column = column.cast(old, safe=True) if _fits(column, old) else column
            made = made.set_column(place, name, column)
        else:
            made = made.append_column(name, column)
    return made.drop_columns(list(gone)) if gone else made


def _fits(column: Frame, kind: Frame) -> bool:
    """Whether an Arrow type holds every value of a column."""
    import pyarrow

    try:
        column.cast(kind, safe=True)
    except pyarrow.ArrowException:  # too large for it, or of another kind altogether
        return False
    return True
