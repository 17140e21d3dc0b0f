"""The domain of a table: which values are possible. Public knowledge: it comes from the user, never from the data."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias, TypedDict

import numpy as np
import polars as pl

from glasshouse.core.errors import listed
from glasshouse.core.settings import read_settings
from glasshouse.data.arrays import Ints
from glasshouse.data.frames import Frame, adopt
from glasshouse.data.split import collected
from glasshouse.data.tables import Label
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


class Domain(Mapping[str, DomainColumn]):
    """The columns a synthesiser models, in order, each with its possible values.

    Public knowledge: it comes from the codebook, never from the data, because categories, bounds and bins read from
    the table give away who is in it, outside the guarantee.

    Parameters
    ----------
    columns : mapping of str to list or mapping
        A list of categories, or a description with ``type`` ("category", "bool", "int", "float", "date") and
        ``categories`` and ``other``, or ``lower``, ``upper``, ``bins`` (default 20) or ``edges``, ``precision``; any
        may say ``nullable``.
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
        return self.provenance == "read from the data"

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
            JSON: the dictionary itself. CSV: a row per column with ``name, type, categories, lower, upper, bins,
            edges, precision, nullable, other``; lists are separated by ``|``.

        Returns
        -------
        Domain

        Raises
        ------
        DomainError
            When the file is no codebook or a description is incomplete.
        """
        path = Path(path)
        if path.suffix == ".json":
            content = read_settings(path, "codebook")
            return cls(content.get("columns", content), provenance=f"codebook {path.name}")
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        if not rows or "name" not in rows[0]:
            raise DomainError(f"{path.name}: a codebook has a row per column and at least the headers name, type")
        return cls({row["name"]: _codebook_row(row) for row in rows}, provenance=f"codebook {path.name}")

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
        frame = collected(adopt(table, "original"))
        columns: dict[str, Declared] = {}
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
        return cls(columns, provenance="read from the data")


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


def _codebook_row(row: Mapping[str, str | None]) -> dict[str, Label]:
    """One row of a codebook as a description."""
    filled = {key.strip(): value.strip() for key, value in row.items() if key and value and value.strip()}
    entry: dict[str, Label] = {"type": filled.get("type", "")}
    if "categories" in filled:
        entry["categories"] = [c.strip() for c in filled["categories"].split("|")]
    if "other" in filled:
        entry["other"] = filled["other"]
    date = entry["type"] == "date"
    for key in ("lower", "upper"):
        if key in filled:
            entry[key] = filled[key] if date else float(filled[key])
    if "edges" in filled:
        entry["edges"] = [e.strip() if date else float(e) for e in filled["edges"].split("|")]
    for key in ("bins", "precision"):
        if key in filled:
            entry[key] = int(filled[key])
    entry["nullable"] = filled.get("nullable", "false").lower() in ("true", "yes", "1")
    return entry


__all__ = ["CategoryColumn", "Domain", "DomainColumn", "DomainError", "DomainLike", "NumberColumn", "domain_of"]
