"""Column kinds and the common type of a column over all tables, decided once and written down with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import narwhals as nw
from narwhals.dtypes import DType

from glasshouse.core.errors import InputError, closest, listed

KINDS = ("numeric", "integer", "categorical", "ordinal", "boolean", "datetime", "text", "identifier")
NUMERIC_KINDS = ("numeric", "integer", "datetime")
FEW = 10  # an integer column with no more distinct values than this may be a set of codes; we say so, we do not guess
TWO_CODES = "two whole numbers"
GIVEN = "given in schema"
IDENTIFIER_SHARE = 0.95
IDENTIFIER_ROWS = 20  # in a smaller table nearly every column is unique
# Whole numbers that all differ although chance would have made this many pairs equal were handed out one by one. None
# of 7 expected pairs is equal once in 1,000 tables; numbers that heap (ages, incomes) repeat sooner still.
PAIRS_EXPECTED = 7
ID_NAME = re.compile(
    r"(^|[_\W])(id|uuid|guid|ssn|identifier|record_?no|row_?id|person_?id|patient_?id)($|[_\W])", re.IGNORECASE
)

CATEGORIES, CATEGORY_SHARE = 50, 0.05  # text with more distinct values than both is no category

# What a user may say about a column: a kind, the levels in order, or {"kind": ..., "levels": [...], "ordered": ...}
Wish: TypeAlias = "str | Sequence[str] | Mapping[str, object]"


@dataclass(frozen=True)
class Column:
    """What a column is, and why we think so.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : str
        One of "numeric", "integer", "categorical", "ordinal", "boolean", "datetime", "text", "identifier".
    storage : str
        How values are compared: "int", "float", "text", "bool" or "time".
    reason : str
        Why this kind, in words.
    ordered : bool, default False
        Whether the levels are ranked.
    levels : tuple of str, optional
        Declared levels in their order; None where the data decide.
    label : str, optional
        What the column is about, in the words of the file it came from; None where no file says.
    """

    name: str
    kind: str
    storage: str
    reason: str
    ordered: bool = False
    levels: tuple[str, ...] | None = None
    label: str | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether values have distances: numbers, whole numbers and dates."""
        return self.kind in NUMERIC_KINDS


def family(dtype: DType) -> str:
    """int, float, text, bool, time, duration, null or other: what kind of storage a table uses."""
    if dtype.is_float() or dtype.is_decimal():
        return "float"
    if dtype.is_integer():
        return "int"
    if dtype == nw.Boolean:
        return "bool"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    if dtype in (nw.Date, nw.Datetime):
        return "time"
    if dtype == nw.Duration:
        return "duration"
    if dtype == nw.Unknown:
        return "null"
    return "other"


def common_storage(
    name: str, families: Mapping[str, str], text_parses: Mapping[str, str], told: bool = False
) -> tuple[str, str | None]:
    """The type in which one column is compared over all tables, and a remark when tables disagree.

    Parameters
    ----------
    name : str
        Name of the column, for the error message.
    families : mapping of str to str
        Kind of storage per table, as :func:`family` says.
    text_parses : mapping of str to str
        For each table that stores text, what all its values can be read as: "number", "comma" (numbers with a decimal
        comma), "bool", "time", "text", or "nothing" where there is none.
    told : bool, default False
        Whether the user said what the column is.

    Returns
    -------
    (storage, remark) : tuple of str and str or None
        Storage is "int", "float", "text", "bool" or "time".

    Raises
    ------
    InputError
        When the column holds lists or structures, or is text in one table and something else in another, unless the
        user said what it is.
    """
    kinds = {f for f in families.values() if f != "null"}
    if "other" in kinds:
        raise InputError(
            f"column {name!r} holds lists or structures (or bytes, or times of day), which cannot be compared; flatten "
            f"or convert it, or leave it out with exclude=[{name!r}]"
        )
    if not kinds:
        return "text", "every value is missing in every table"
    if kinds <= {"int"}:
        return "int", None
    if kinds <= {"int", "float"}:
        return "float", "whole numbers in one table and decimals in another: compared by value" if len(
            kinds
        ) > 1 else None
    if kinds == {"duration"}:
        return "float", "a span of time: compared in days"
    readable = {text_parses.get(table, "text") for table, f in families.items() if f == "text"} - {"nothing"}
    if kinds == {"text"} and readable == {"time"}:
        return "time", None
    if kinds == {"text"} and "time" in readable and not told:
        raise InputError(_unlike(name, {t: "time" if text_parses.get(t) == "time" else f for t, f in families.items()}))
    if kinds == {"text"} and "comma" in readable and readable <= {"comma", "number"}:
        return "float", None  # said where they are read
    if len(kinds) == 1:
        return kinds.pop(), None
    where = ", ".join(f"{f} in {table}" for table, f in families.items())
    others = kinds - {"text"}
    if "text" in kinds:
        if not readable:  # every text is missing
            return common_storage(name, {t: f for t, f in families.items() if f != "text"}, {}, told)
        if others <= {"int", "float"} and readable <= {"number", "comma"}:  # a decimal comma is said where it is read
            return "float", f"stored as {where}: every text is a number, so it is compared as a number"
        if others == {"bool"} and readable == {"bool"}:
            return "bool", f"stored as {where}: every text is true or false, so it is compared as boolean"
        if others == {"time"} and readable == {"time"}:
            return "time", f"stored as {where}: every text is an ISO date, so it is compared as a date"
        if not told:
            raise InputError(_unlike(name, families))
        return "text", f"stored as {where}: compared by label, as text"
    if others <= {"int", "float", "bool"}:
        return "float", f"stored as {where}: false is 0 and true is 1"
    return "text", f"stored as {where}: compared by label, as text"


_SPOKEN = {"int": "whole numbers", "float": "numbers", "bool": "true or false", "time": "dates", "duration": "spans"}


_WHY = ("a unit, a decimal comma, a word for missing?", "day.month.year instead of year-month-day, a word for missing?")


def _unlike(name: str, families: Mapping[str, str]) -> str:
    """What is wrong with a column that is text in one table and something else in another, and what to do."""
    texts = [t for t, f in families.items() if f == "text"]
    others = {t: f for t, f in families.items() if f not in ("text", "null")}
    table, kind = next(iter(others.items()))
    what = {"bool": "boolean", "time": "datetime"}.get(kind, "numeric")
    unlike = "numbers" if what == "numeric" else _SPOKEN[kind]
    return (
        f"column {name!r} is {_SPOKEN.get(kind, kind)} in the {_table(table)} table and text in the {_table(texts[0])} "
        f"table, and not every text there can be read as {unlike} ({_WHY[unlike == 'dates']}); mend "
        f"the file, or say what the column is: schema={{{name!r}: {what!r}}} reads what can be read and counts the "
        f"rest as missing, schema={{{name!r}: 'categorical'}} compares labels"
    )


def _table(name: str) -> str:
    return "released" if name.startswith("released") else name


def detect(
    name: str,
    storage: str,
    n: int,
    distinct: int,
    missing: int,
    ends: tuple[float, float] | None,
    order: tuple[list[str], bool] | None,
) -> Column:
    """The kind of a column from its storage and a few counts of the original.

    Parameters
    ----------
    name, storage : str
        Name and common storage of the column.
    n, distinct, missing : int
        Records, distinct values (missing not counted) and missing values in the original.
    ends : (float, float) or None
        The smallest and the largest number; None where the column holds no numbers.
    order : (list of str, bool) or None
        Declared levels and whether they are ranked; None where the caller declared none.

    Returns
    -------
    Column

    Notes
    -----
    Declared categories, booleans and times are what they are declared; text of which every value in every table is an
    ISO date or time is a date, and text of which every value in every table is a number, some with a decimal comma, is
    a number. Other text is an identifier when more than 95 % of at least 20 values differ, a category
    up to max(50, 5 % of the records) distinct values, else free text. Whole numbers of which at least 20 records hold
    exactly two, one after the other (0 and 1, 1 and 2), are a category: they are the same or different, and have no
    distances. With more values, or further apart, they are numbers, for a count or a scale has distances and a code has
    none, and nobody can tell which it is; ``check`` and ``assess`` name those with up to 10 values. Whole numbers are
    an identifier only when all of at least 20 differ and they are named like one or lie so close together that n values
    drawn from their span would have held n (n - 1) / (2 span) >= 7 equal pairs: running numbers do, with gaps or
    without. Everything else is a number. The order of the rows says nothing, so that a table sorted otherwise, or kept
    in an engine that has no order, is read alike.
    """
    present = n - missing
    if order is not None:
        levels, ordered = order
        return Column(
            name, "ordinal" if ordered else "categorical", storage, "declared as a category", ordered, tuple(levels)
        )
    if storage == "bool":
        return Column(name, "boolean", storage, "stored as true/false")
    if storage == "time":
        return Column(name, "datetime", storage, "dates or times")
    unique = present >= IDENTIFIER_ROWS and distinct > IDENTIFIER_SHARE * present
    if storage == "text":
        if unique:
            return Column(name, "identifier", storage, f"text with {distinct:,} distinct values in {present:,} records")
        if distinct <= max(CATEGORIES, CATEGORY_SHARE * n):
            return Column(name, "categorical", storage, f"text with {distinct:,} distinct values")
        return Column(name, "text", storage, f"text with {distinct:,} distinct values in {n:,} records")
    if two_codes(distinct, present, ends):
        return Column(name, "categorical", storage, TWO_CODES)
    if storage == "int":
        low, high = ends or (0, 0)
        running = present * (present - 1) >= 2 * PAIRS_EXPECTED * (int(high) - int(low) + 1)
        if unique and distinct == present and (running or ID_NAME.search(name)):
            how = "close together as running numbers are" if running else "and named like an identifier"
            return Column(name, "identifier", storage, f"whole numbers, all different, {how}")
        return Column(name, "integer", storage, f"whole numbers, {distinct:,} distinct values")
    return Column(name, "numeric", storage, f"numbers, {distinct:,} distinct values")


def two_codes(distinct: int, present: int, ends: tuple[float, float] | None) -> bool:
    """Whether a column of numbers holds exactly two whole ones, one after the other, in enough records to tell."""
    if distinct != 2 or present < IDENTIFIER_ROWS or ends is None:
        return False
    return all(float(v).is_integer() for v in ends) and ends[1] - ends[0] == 1


def override(column: Column, wish: Wish) -> Column:
    """Apply a user's schema entry.

    Parameters
    ----------
    column : Column
        What was detected.
    wish : str, sequence of str or mapping
        A kind, a list of levels in order, or ``{"kind": ..., "levels": [...], "ordered": ...}``.

    Returns
    -------
    Column

    Raises
    ------
    InputError
        For a kind or an entry that does not exist.
    """
    if isinstance(wish, Mapping):
        unknown = set(wish) - {"kind", "levels", "ordered"}
        if unknown:
            raise InputError(
                f"schema of {column.name!r} has an unknown entry {sorted(unknown)[0]!r}; it takes kind, levels, ordered"
            )
        given = wish.get("levels")
        levels = tuple(str(v) for v in given) if isinstance(given, Iterable) else None
        kind = str(wish.get("kind", "ordinal" if wish.get("ordered") else "categorical" if levels else column.kind))
        ordered = bool(wish.get("ordered", kind == "ordinal"))
    elif isinstance(wish, Sequence) and not isinstance(wish, str):
        kind, levels, ordered = "ordinal", tuple(str(v) for v in wish), True
    else:
        kind, ordered = str(wish), str(wish) == "ordinal"
        # a category that is declared a number is read as one, whatever its levels were called
        levels = column.levels if kind in ("categorical", "ordinal") else None
    if kind not in KINDS:
        raise InputError(
            f"schema of {column.name!r}: {kind!r} is no kind{closest(kind, KINDS)}; the kinds are {listed(KINDS)}"
        )
    if levels is not None and len(set(levels)) < len(levels):
        raise InputError(f"schema of {column.name!r} names a level more than once; every level stands there once")
    if levels is not None and kind not in ("categorical", "ordinal"):
        raise InputError(f"schema of {column.name!r} has levels, which a column of kind {kind!r} does not have")
    if kind == "datetime" and column.storage not in ("text", "time"):
        raise InputError(f"schema of {column.name!r}: numbers and truth values are no dates; convert the column before")
    if column.storage == "time" and kind in ("numeric", "integer", "boolean"):
        raise InputError(
            f"schema of {column.name!r}: dates have distances as they are; convert them before to use numbers"
        )
    storage = {"numeric": "float", "integer": "int", "boolean": "bool", "datetime": "time"}.get(kind, column.storage)
    if column.storage in ("float", "text") and storage == "int":
        storage = "float"
    if levels is not None and column.storage in ("int", "float"):
        storage = "text"
    return Column(column.name, kind, storage, GIVEN, ordered, levels)
