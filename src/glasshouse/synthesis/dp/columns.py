"""One column of a declared domain: how values become cells, and cells become values again.

The cells are fixed by the declaration alone. Nothing here looks at data to decide anything: not the categories, not the
bounds, not the number of bins, not the decimals, not whether a cell for "missing" exists.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TypeAlias

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.here import Label

DEFAULT_BINS = 20
_EPOCH = dt.date(1970, 1, 1)
# what a description may hold, and the words for a type with the type that each is
ENTRIES = ("type", "categories", "other", "lower", "upper", "bins", "edges", "cuts", "precision", "nullable")
TYPES = {
    "bool": "bool", "boolean": "bool",
    "category": "category", "categorical": "category", "ordinal": "category",
    "int": "int", "integer": "int", "float": "float", "number": "float", "numeric": "float", "date": "date",
}  # fmt: skip
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class DomainError(InputError):
    """The domain is missing, incomplete or does not fit the table."""


@dataclass(frozen=True)
class CategoryColumn:
    """A closed list of labels.

    Parameters
    ----------
    name : str
        Name of the column.
    categories : tuple
        The labels, in order.
    nullable : bool, default False
        Whether missing is possible: one more cell.
    other : label, optional
        The label that takes everything not listed. Default: what is not listed is an error.
    """

    name: str
    categories: tuple[Label, ...]
    nullable: bool = False
    other: Label = None

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.categories) + self.nullable

    def encode(self, values: pl.Series) -> Ints:
        """The cell of every value."""
        labels = {_label(c): i for i, c in enumerate(self.categories)}
        texts = values.map_elements(_label, return_dtype=pl.String, skip_nulls=True) if _needs_text(values) else values
        texts = texts.cast(pl.String)
        codes = texts.replace_strict(list(labels), list(labels.values()), default=-1, return_dtype=pl.Int64)
        missing = values.is_null().to_numpy()
        found = np.array(codes.fill_null(-1).to_numpy())
        unknown = (found < 0) & ~missing
        if unknown.any():
            if self.other is None:
                bounds = _two_numbers(self.categories)
                raise DomainError(
                    f"column {self.name!r} holds {int(unknown.sum())} records with a category its domain lacks; "
                    'add the categories from the codebook, or declare "other" as one of them to collect the rest'
                    + ('; if the two numbers are bounds, declare "lower" and "upper"' if bounds else "")
                )
            found[unknown] = labels[_label(self.other)]
        return _with_missing(self, found, missing)

    def decode(self, codes: Ints, rng: np.random.Generator) -> pl.Series:
        """The label of every cell."""
        known = codes < len(self.categories)
        lookup = pl.Series(self.name, list(self.categories), strict=False)
        taken = lookup.gather(pl.Series(np.where(known, codes, 0)))
        return _nulls(taken, known)

    def cells_of(self, value: Label) -> Ints:
        """Cells a condition such as ``"F"`` or ``["F", "X"]`` selects."""
        return self.encode(pl.Series(self.name, list(value) if _is_list(value) else [value], strict=False))

    def to_dict(self) -> dict[str, object]:
        """The declaration as plain data."""
        content: dict[str, object] = {"type": "category", "categories": list(self.categories)}
        content["nullable"] = self.nullable
        return content if self.other is None else {**content, "other": self.other}


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, whole numbers or days between two declared bounds.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"int", "float", "date"}
        What the numbers are; dates are days since 1970.
    lower, upper : float
        The bounds; values outside are moved to them.
    cuts : tuple of float
        A new cell begins at each.
    nullable : bool, default False
        Whether missing is possible: one more cell.
    precision : int, optional
        Decimals of a float. Default: as drawn.
    """

    name: str
    kind: str  # "int", "float" or "date"
    lower: float
    upper: float
    cuts: tuple[float, ...]
    nullable: bool = False
    precision: int | None = None

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.cuts) + 1 + self.nullable

    def encode(self, values: pl.Series) -> Ints:
        """The cell of every value."""
        numbers = self._numbers(values)
        missing = np.isnan(numbers)
        clipped = np.clip(np.where(missing, self.lower, numbers), self.lower, self.upper)
        cells = np.searchsorted(np.asarray(self.cuts), clipped, side="right")
        return _with_missing(self, cells, missing)

    def _numbers(self, values: pl.Series) -> Floats:
        """Values as numbers, dates as days."""
        if self.kind == "date":
            if values.dtype == pl.String:
                values = values.str.to_date(strict=False)
            if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
                return np.asarray(values.cast(pl.Date).to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy())
        numbers = values.cast(pl.Float64, strict=False)
        broken = numbers.null_count() - values.null_count()
        if broken:
            raise DomainError(f"column {self.name!r} is declared {self.kind!r} but {broken} records hold no number")
        return np.asarray(numbers.fill_null(np.nan).to_numpy())

    def decode(self, codes: Ints, rng: np.random.Generator) -> pl.Series:
        """A value drawn evenly inside the cell; whole numbers stay whole and inside the bounds."""
        starts, ends = np.array([self.lower, *self.cuts]), np.array([*self.cuts, self.upper])
        known = codes < len(starts)
        cell = np.where(known, codes, 0)
        low, high = starts[cell], ends[cell]
        if self.kind == "float":
            drawn = low + (high - low) * rng.random(len(cell))
            if self.precision is not None:
                drawn = np.round(drawn, self.precision)
            return _nulls(pl.Series(self.name, np.clip(drawn, self.lower, self.upper)), known)
        # the whole numbers from the start of the cell to just before the next one; the last cell includes the bound
        first = np.ceil(low)
        last = np.where(cell == len(starts) - 1, np.floor(high), np.ceil(high) - 1)
        span = np.maximum(last - first + 1, 1)
        drawn = np.clip(first + np.floor(rng.random(len(cell)) * span), self.lower, self.upper).astype(np.int64)
        series = pl.Series(self.name, drawn)
        return _nulls(series.cast(pl.Int32).cast(pl.Date) if self.kind == "date" else series, known)

    def cells_of(self, value: Label) -> Ints:
        """Cells a condition such as ``30`` or ``[30, 31]`` selects."""
        return self.encode(pl.Series(self.name, list(value) if _is_list(value) else [value], strict=False))

    def to_dict(self) -> dict[str, object]:
        """The declaration as plain data."""
        content: dict[str, object] = {
            "type": self.kind,
            "lower": self.lower,
            "upper": self.upper,
            "cuts": list(self.cuts),
        }
        content["nullable"] = self.nullable
        return content if self.precision is None else {**content, "precision": self.precision}


DomainColumn: TypeAlias = CategoryColumn | NumberColumn
# What a user may write for one column: the labels, two bounds as a tuple, a description, or a column as it is parsed
Declared: TypeAlias = Sequence[Label] | Mapping[str, Label] | DomainColumn


def parse_column(name: str, declared: Declared) -> DomainColumn:
    """One entry of a domain; the error says what is missing in the words of the declaration."""
    if isinstance(declared, (CategoryColumn, NumberColumn)):
        return declared
    if isinstance(declared, tuple) and (kind_of_bounds := _bounded(declared)) is not None:
        declared = {"type": kind_of_bounds, "lower": declared[0], "upper": declared[1]}
    if (
        isinstance(declared, tuple)
        and len(declared) > 2
        and any(all(map(one, declared)) for one in (_is_number, _is_date))
    ):
        raise DomainError(
            f"{name!r}: a tuple is two bounds, (lower, upper), and this one has {len(declared)} values; write a list "
            "for categories, or a dictionary with 'type' and 'edges' for the cells of a number"
        )
    if isinstance(declared, Sequence) and not isinstance(declared, (str, bytes)):
        declared = {"type": "category", "categories": list(declared)}
    if not isinstance(declared, Mapping):
        raise DomainError(f"{name!r}: a list of categories or a dictionary with 'type' is expected")
    said = declared.get("type") or ("category" if "categories" in declared else None)
    kind = TYPES.get(said) if isinstance(said, str) else None
    if strange := set(declared) - set(ENTRIES):
        raise DomainError(f"{name!r}: unknown entry {sorted(map(str, strange))[0]!r}")
    nullable = declared.get("nullable", False)
    if not isinstance(nullable, bool):
        raise DomainError(f"{name!r}: 'nullable' must be true or false")
    if kind == "bool":
        return CategoryColumn(name, (False, True), nullable)
    if kind == "category":
        return _parse_category(name, declared, nullable)
    if kind is not None:
        return _parse_number(name, kind, declared, nullable)
    raise DomainError(f"{name!r}: 'type' must be 'category', 'bool', 'int', 'float' or 'date'")


def _parse_category(name: str, declared: Mapping[str, Label], nullable: bool) -> CategoryColumn:
    categories = declared.get("categories")
    if not categories:
        raise DomainError(f"{name!r}: 'categories' is missing")
    categories, other = [c for c in categories if c is not None], declared.get("other")
    if other is not None and _label(other) not in {_label(c) for c in categories}:
        categories.append(other)
    if len({_label(c) for c in categories}) < len(categories):
        raise DomainError(f"{name!r}: a category is listed twice")
    if len({type(c) for c in categories}) > 1:
        categories = [_label(c) for c in categories]
        other = None if other is None else _label(other)
    return CategoryColumn(name, tuple(categories), nullable, other)


def _parse_number(name: str, kind: str, declared: Mapping[str, Label], nullable: bool) -> NumberColumn:
    edges = declared.get("edges")
    bounds = [declared.get("lower", edges[0] if edges else None), declared.get("upper", edges[-1] if edges else None)]
    if bounds[0] is None or bounds[1] is None:
        raise DomainError(f"{name!r}: 'lower' and 'upper' are missing")
    lower, upper = (_bound(name, b, kind) for b in bounds)
    if not lower < upper:
        raise DomainError(f"{name!r}: 'lower' must be less than 'upper'")
    if "cuts" in declared:
        cuts = [_bound(name, c, kind) for c in declared["cuts"]]
    elif edges:
        cuts = [e for e in (_bound(name, e, kind) for e in edges) if lower < e < upper]
    else:
        cuts = _even_cuts(name, kind, lower, upper, declared.get("bins"))
    if sorted(set(cuts)) != cuts or (cuts and not lower < cuts[0] <= cuts[-1] <= upper):
        raise DomainError(f"{name!r}: 'edges' must increase from 'lower' to 'upper'")
    precision = declared.get("precision")
    if precision is not None and (isinstance(precision, bool) or not isinstance(precision, int)):
        raise DomainError(f"{name!r}: 'precision' must be a whole number of decimals")
    return NumberColumn(name, kind, lower, upper, tuple(cuts), nullable, precision if kind == "float" else None)


def _even_cuts(name: str, kind: str, lower: float, upper: float, bins: object) -> list[float]:
    """Even cells. Whole numbers: each cell holds whole numbers, one cell per number where there are few of them."""
    if bins is not None and (isinstance(bins, bool) or not isinstance(bins, int) or bins < 1):
        raise DomainError(f"{name!r}: 'bins' must be a whole number of at least 1")
    if kind == "float":
        return [float(c) for c in np.linspace(lower, upper, (bins or DEFAULT_BINS) + 1)[1:-1]]
    values = int(upper - lower) + 1
    count = min(bins or DEFAULT_BINS, values)
    return [float(c) for c in np.ceil(lower + np.arange(1, count) * values / count)]


def _bound(name: str, value: object, kind: str) -> float:
    if kind == "date":
        if isinstance(value, str):
            try:
                value = dt.date.fromisoformat(value)
            except ValueError:
                raise DomainError(f"{name!r}: dates are written 2024-12-31") from None
        if isinstance(value, dt.datetime):
            value = value.date()
        if isinstance(value, dt.date):
            return float((value - _EPOCH).days)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not np.isfinite(value)
    ):
        raise DomainError(
            f"{name!r}: bounds and edges must be finite numbers" + (" or dates" if kind == "date" else "")
        )
    return float(value)


def _with_missing(column: DomainColumn, cells: Ints, missing: Bools) -> Ints:
    """Cells with the last one for missing, where the domain has it."""
    if missing.any() and not column.nullable:
        raise DomainError(
            f"column {column.name!r} has {int(missing.sum())} missing values but its domain does not say "
            '"nullable": true'
        )
    return np.where(missing, column.size - 1, cells).astype(np.int64)


def _nulls(series: pl.Series, known: Bools) -> pl.Series:
    if known.all():
        return series
    return pl.select(pl.when(pl.Series(known)).then(series)).to_series().alias(series.name)


def _label(value: object) -> str:
    """1, 1.0 and "1" are the same category."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _needs_text(values: pl.Series) -> bool:
    return values.dtype.is_float() or values.dtype == pl.Object


def _two_numbers(values: Sequence[Label]) -> bool:
    return len(values) == 2 and all(map(_is_number, values))


def _is_number(value: Label) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _bounded(pair: tuple[Label, ...]) -> str | None:
    """The type of a column declared as (lower, upper): two numbers or two dates; None for a tuple of labels."""
    if _two_numbers(pair):
        return "int" if all(isinstance(v, Integral) for v in pair) else "float"
    if len(pair) == 2 and all(_is_date(v) for v in pair):
        return "date"
    return None


def _is_date(value: Label) -> bool:
    return isinstance(value, dt.date) or (isinstance(value, str) and _ISO.fullmatch(value) is not None)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple, set, np.ndarray))
