"""The domain of a table: which values are possible. Public knowledge: it comes from the user, never from the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias, TypedDict

import numpy as np
import polars as pl

from glasshouse.core.errors import listed
from glasshouse.core.options import door
from glasshouse.data.arrays import Ints
from glasshouse.data.frames import Frame, adopt
from glasshouse.data.split import collected
from glasshouse.synthesis.dp.codebook import READ_FROM_DATA, Entry, read_codebook
from glasshouse.synthesis.dp.columns import (
    CategoryColumn,
    Declared,
    DomainColumn,
    DomainError,
    NumberColumn,
    parse_column,
)

WHY = (
    "The domain of a differentially private synthesiser must come from the codebook, not from the data: categories, "
    "bounds and bins read from the table give away who is in it, outside the guarantee."
)
EXAMPLE = (
    'domain = {"sex": ["F", "M"], "age": {"type": "int", "lower": 0, "upper": 110, "bins": 22}, '
    '"income": {"type": "float", "lower": 0, "upper": 1000000, "edges": [0, 20000, 50000, 1000000], "nullable": true}}'
)


class DomainDict(TypedDict):
    """A domain as plain data."""

    provenance: str
    columns: Mapping[str, Declared]


@door
class Domain(Mapping[str, DomainColumn]):
    """The columns a synthesiser models, in order, each with its possible values.

    Public knowledge: it comes from the codebook, never from the data, because categories, bounds and bins read from
    the table give away who is in it, outside the guarantee.

    Parameters
    ----------
    columns : mapping of str to list, tuple or mapping
        A list of categories; a tuple of two numbers or two dates, the smallest and the largest possible value; or a
        description with ``type`` ("category", "bool", "int", "float", "date") and ``categories`` and ``other``, or
        ``lower``, ``upper``, ``bins`` (default 20) or ``edges``, ``precision``; any may say ``nullable``.
    provenance : str, default "declared by the user"
        Where the domain comes from; the report of a fit says so.

    Raises
    ------
    DomainError
        Names every column whose description is incomplete.

    Examples
    --------
    >>> import glasshouse as gh
    >>> domain = gh.synthesis.Domain({"sex": ["F", "M"], "age": {"type": "int", "lower": 0, "upper": 99, "bins": 10}})
    >>> domain
    Domain(sex: 2, age: 10; declared by the user)
    >>> domain["age"].cuts[:3], domain.leaky
    ((10.0, 20.0, 30.0), False)
    >>> gh.synthesis.Domain({"age": (18, 85)})["age"].upper  # whole numbers from 18 to 85
    85.0
    """

    def __init__(self, columns: Mapping[str, Declared], *, provenance: str = "declared by the user") -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise DomainError(f"the domain is empty. {WHY} For example: {EXAMPLE}")
        parsed: dict[str, DomainColumn] = {}
        problems = []
        for name, declared in columns.items():
            try:
                parsed[str(name)] = parse_column(str(name), declared)
            except DomainError as problem:
                problems.append(str(problem))
        if problems:
            raise DomainError(f"the domain is incomplete. {'; '.join(problems)}. {WHY} For example: {EXAMPLE}")
        self.columns = parsed
        self.provenance = provenance

    @property
    def leaky(self) -> bool:
        """True when the domain was read from the data, which no differentially private step protects."""
        return self.provenance == READ_FROM_DATA

    @property
    def sizes(self) -> dict[str, int]:
        """Number of cells per column."""
        return {name: column.size for name, column in self.columns.items()}

    def __getitem__(self, name: str) -> DomainColumn:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        cells = ", ".join(f"{name}: {size}" for name, size in self.sizes.items())
        return f"Domain({cells}; {self.provenance})"

    def encode(self, table: pl.DataFrame) -> dict[str, Ints]:
        """Cells of every record.

        Parameters
        ----------
        table : polars.DataFrame
            Has exactly the columns of the domain.

        Returns
        -------
        dict of str to array of int

        Raises
        ------
        DomainError
            All problems of all columns at once, and before any private step.
        """
        undeclared = [c for c in table.columns if c not in self.columns]
        absent = [c for c in self.columns if c not in table.columns]
        if undeclared:
            raise DomainError(
                f"the domain says nothing about {listed(undeclared)}. {WHY} Declare them, or drop them from the table. "
                f"For example: {EXAMPLE}"
            )
        if absent:
            raise DomainError(f"the domain declares {listed(absent)}, which the table does not have")
        cells, problems = {}, []
        for name, column in self.columns.items():
            try:
                cells[name] = column.encode(table[name])
            except DomainError as problem:
                problems.append(str(problem))
        if problems:
            raise DomainError("; ".join(problems))
        return cells

    def decode(self, cells: Mapping[str, Ints], rng: np.random.Generator) -> pl.DataFrame:
        """Records from cells, columns in the order of the domain.

        Parameters
        ----------
        cells : mapping of str to array of int
            Cells of every record, as ``encode`` gives them.
        rng : numpy Generator
            Draws numbers inside their cells.

        Returns
        -------
        polars.DataFrame
        """
        return pl.DataFrame([column.decode(cells[name], rng) for name, column in self.columns.items()])

    def to_dict(self) -> DomainDict:
        """Plain data, as it goes into a report or a model file.

        Returns
        -------
        dict
        """
        return {"provenance": self.provenance, "columns": {name: c.to_dict() for name, c in self.columns.items()}}

    @classmethod
    def from_dict(cls, content: DomainDict) -> Domain:
        """The domain that ``to_dict`` wrote down.

        Parameters
        ----------
        content : dict
            What ``to_dict`` gave.

        Returns
        -------
        Domain
        """
        return cls(content["columns"], provenance=str(content["provenance"]))

    @classmethod
    def from_codebook(cls, path: str | Path) -> Domain:
        """A domain written down in a file.

        Parameters
        ----------
        path : str or Path
            JSON or TOML: the dictionary itself, as ``glasshouse domain init`` drafts it. CSV: a row per column with
            ``name, type, categories, lower, upper, bins, edges, precision, nullable, other``, lists separated by
            ``|``; or a row per code with ``name, value`` and perhaps ``label``.

        Returns
        -------
        Domain
            A draft that says it was read from the data is ``leaky`` until its ``provenance`` is taken out.

        Raises
        ------
        DomainError
            When the file is no codebook or a description is incomplete.
        """
        book = read_codebook(path)
        return cls(book.columns, provenance=book.provenance)

    @classmethod
    def draft_from_data(cls, table: Frame) -> Domain:
        """A first draft to edit, read from the data and so *not private*; fit refuses it unless told otherwise.

        Parameters
        ----------
        table : frame or path
            The confidential table.

        Returns
        -------
        Domain
            With ``leaky`` True.

        Examples
        --------
        >>> import glasshouse as gh
        >>> draft = gh.synthesis.Domain.draft_from_data(gh.data.simulate_health(50).select("gender", "education"))
        >>> draft.sizes, draft.leaky
        ({'gender': 2, 'education': 3}, True)
        """
        return cls(declared_by(collected(adopt(table, "original"))), provenance=READ_FROM_DATA)


def declared_by(frame: pl.DataFrame) -> dict[str, Entry]:
    """What a table itself says about its columns, which is *not private*.

    Parameters
    ----------
    frame : polars.DataFrame
        The confidential table.

    Returns
    -------
    dict of str to dict
        A description per column.
    """
    columns: dict[str, Entry] = {}
    for name in frame.columns:
        values = frame[name]
        nullable = bool(values.null_count())
        if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
            days = values.cast(pl.Date)
            columns[name] = {"type": "date", "lower": days.min(), "upper": days.max(), "nullable": nullable}
        elif values.dtype.is_numeric():
            kind = "float" if values.dtype.is_float() else "int"
            numbers = values.drop_nulls().cast(pl.Float64).drop_nans().to_numpy()
            lower, upper = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)
            columns[name] = {"type": kind, "lower": lower, "upper": max(upper, lower + 1), "nullable": nullable}
        else:
            labels = values.drop_nulls().cast(pl.String).unique().sort().to_list()
            columns[name] = {"type": "category", "categories": labels or ["none"], "nullable": nullable}
    return columns


DomainLike: TypeAlias = "Domain | Mapping[str, Declared] | str | Path | None"


def domain_of(declared: DomainLike) -> Domain:
    """The Domain a user passed.

    Parameters
    ----------
    declared : Domain, mapping, str or Path
        A Domain, a dictionary or the path of a codebook.

    Returns
    -------
    Domain

    Raises
    ------
    DomainError
        When there is none: it cannot be guessed from the data.
    """
    if declared is None:
        raise DomainError(f"a domain is needed. {WHY} For example: {EXAMPLE}")
    if isinstance(declared, Domain):
        return declared
    if isinstance(declared, (str, Path)):
        return Domain.from_codebook(declared)
    return Domain(declared)


__all__ = ["CategoryColumn", "Domain", "DomainColumn", "DomainError", "DomainLike", "NumberColumn", "domain_of"]
