"""The domain of a table: which values are possible. Public knowledge: it comes from the user, never from the data."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.errors import listed
from glasshouse.data.frames import Adopted, adopt
from glasshouse.synthesis.dp.columns import CategoryColumn, DomainColumn, DomainError, NumberColumn, parse_column

WHY = (
    "The domain of a differentially private synthesiser must come from the codebook, not from the data: categories, "
    "bounds and bins read from the table give away who is in it, outside the guarantee."
)
EXAMPLE = (
    'domain = {"sex": ["F", "M"], "age": {"type": "int", "lower": 0, "upper": 110, "bins": 22}, '
    '"income": {"type": "float", "lower": 0, "upper": 1000000, "edges": [0, 20000, 50000, 1000000], "nullable": true}}'
)


class Domain(Mapping[str, DomainColumn]):
    """The columns a synthesiser models, in order, each with its possible values."""

    def __init__(self, columns: Mapping[str, Any], *, provenance: str = "declared by the user") -> None:
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

    def encode(self, table: pl.DataFrame) -> dict[str, np.ndarray]:
        """Cells of every record. All problems of all columns are reported at once, and before any private step."""
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

    def decode(self, cells: Mapping[str, np.ndarray], rng: np.random.Generator) -> pl.DataFrame:
        """Records from cells, columns in the order of the domain."""
        return pl.DataFrame([column.decode(cells[name], rng) for name, column in self.columns.items()])

    def to_dict(self) -> dict[str, Any]:
        return {"provenance": self.provenance, "columns": {name: c.to_dict() for name, c in self.columns.items()}}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Domain:
        return cls(content["columns"], provenance=str(content["provenance"]))

    @classmethod
    def from_codebook(cls, path: str | Path) -> Domain:
        """A domain written down in a file.

        JSON: the dictionary itself. CSV: a row per column with ``name, type, categories, lower, upper, bins, edges,
        precision, nullable, other``; lists are separated by ``|``.
        """
        path = Path(path)
        if path.suffix == ".json":
            content = json.loads(path.read_text(encoding="utf-8"))
            return cls(content.get("columns", content), provenance=f"codebook {path.name}")
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        if not rows or "name" not in rows[0]:
            raise DomainError(f"{path.name}: a codebook has a row per column and at least the headers name, type")
        return cls({row["name"]: _codebook_row(row) for row in rows}, provenance=f"codebook {path.name}")

    @classmethod
    def draft_from_data(cls, table: Any) -> Domain:
        """A first draft to edit, read from the data and so *not private*; fit refuses it unless told otherwise."""
        frame = collected(adopt(table, "original"))
        columns: dict[str, Any] = {}
        for name in frame.columns:
            values = frame[name]
            nullable = bool(values.null_count())
            if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
                days = values.cast(pl.Date)
                columns[name] = {"type": "date", "lower": days.min(), "upper": days.max(), "nullable": nullable}
            elif values.dtype.is_numeric():
                kind = "float" if values.dtype.is_float() else "int"
                lower, upper = float(values.min() or 0), float(values.max() or 0)  # type: ignore[arg-type]
                columns[name] = {"type": kind, "lower": lower, "upper": max(upper, lower + 1), "nullable": nullable}
            else:
                labels = values.drop_nulls().cast(pl.String).unique().sort().to_list()
                columns[name] = {"type": "category", "categories": labels or ["none"], "nullable": nullable}
        return cls(columns, provenance="read from the data")


def domain_of(declared: Any) -> Domain:
    """The Domain a user passed: a Domain, a dictionary or the path of a codebook."""
    if declared is None:
        raise DomainError(f"a domain is needed. {WHY} For example: {EXAMPLE}")
    if isinstance(declared, Domain):
        return declared
    if isinstance(declared, (str, Path)):
        return Domain.from_codebook(declared)
    return Domain(declared)


def collected(adopted: Adopted) -> pl.DataFrame:
    """The whole table in memory."""
    frame = adopted.lazy.collect("polars").to_native()
    assert isinstance(frame, pl.DataFrame)
    return frame


def _codebook_row(row: Mapping[str, str | None]) -> dict[str, Any]:
    filled = {key.strip(): value.strip() for key, value in row.items() if key and value and value.strip()}
    entry: dict[str, Any] = {"type": filled.get("type", "")}
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


__all__ = ["CategoryColumn", "Domain", "DomainColumn", "DomainError", "NumberColumn", "collected", "domain_of"]
