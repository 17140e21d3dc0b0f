"""What a check of a pair says: remarks that print themselves, the most serious first."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import polars as pl

from glasshouse.core.options import door
from glasshouse.core.words import visible

LEVELS = ("error", "warning", "note")
# what a reader must know before any figure: the tables are not what they should be, or hold what they should not
FIRST = (
    "no_header", "same_table", "swapped", "holdout_overlap", "holdout_released", "unsynthesised", "similar_name",
    "special_code", "fractions_as_text",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One remark about a pair.

    Parameters
    ----------
    level : str
        How serious: "error", "warning" or "note".
    column : str or None
        The column it is about; None for a remark about a whole table.
    code : str
        What it is, for machines, such as "unseen_level".
    message : str
        What it is and what to do, for people; counts stand in it, never a value.
    """

    level: str
    column: str | None
    code: str
    message: str

    def __str__(self) -> str:
        return visible(f"{self.level:<8}{self.message}")

    @property
    def first(self) -> bool:
        """Whether an assessment says it before its verdict: the tables may not be what they should be."""
        return self.code in FIRST


@door
class Findings(list[Finding]):
    """A list of findings that prints itself, worst first.

    Parameters
    ----------
    iterable : iterable of Finding, default empty
        The findings.
    """

    def __repr__(self) -> str:
        return "\n".join(str(f) for f in self) if self else "no findings: the tables fit together"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(f.level)}</td><td>{escape(f.column or '')}</td><td>{escape(f.message)}</td></tr>"
            for f in self
        )
        return f"<table><tr><th>level</th><th>column</th><th>finding</th></tr>{rows}</table>"

    def about(self, column: str) -> Findings:
        """The findings about one column.

        Parameters
        ----------
        column : str
            Name of the column.

        Returns
        -------
        Findings
        """
        return Findings(f for f in self if f.column == column)

    def to_frame(self) -> pl.DataFrame:
        """One row per finding: level, column, code, message."""
        return pl.DataFrame(
            [asdict(f) for f in self],
            schema={"level": pl.String, "column": pl.String, "code": pl.String, "message": pl.String},
        )

    def to_dict(self) -> list[dict[str, str | None]]:
        """The findings as plain data."""
        return [asdict(f) for f in self]


def spoken(table: str) -> str:
    """The role of a table as people say it: every replicate is the released table."""
    return "released" if table.startswith("released") else table
