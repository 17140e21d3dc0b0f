"""What a check of a pair says: remarks that print themselves, the most serious first."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import polars as pl

from glasshouse.core.errors import listed
from glasshouse.core.options import door
from glasshouse.core.words import visible

LEVELS = ("error", "warning", "note")
ALIKE, IN_FULL = 5, 3  # findings of one kind that are all printed; how many are where there are more
# what a reader must know before any figure: the tables are not what they should be, or hold what they should not
FIRST = (
    "no_header", "same_table", "swapped", "holdout_overlap", "holdout_released", "unsynthesised", "similar_name",
    "special_code", "fractions_as_text", "units",
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
    """A list of findings that prints its summary, worst first.

    Parameters
    ----------
    iterable : iterable of Finding, default empty
        The findings.
    """

    def __repr__(self) -> str:
        return "\n".join(str(f) for f in self.summary()) if self else "no findings: the tables fit together"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(f.level)}</td><td>{escape(f.column or '')}</td><td>{escape(f.message)}</td></tr>"
            for f in self.summary()
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

    def summary(self) -> Findings:
        """What is said of many columns alike once: the first three in full, and how many more there are.

        Returns
        -------
        Findings
            The findings themselves where no more than five columns have the same one.

        Examples
        --------
        >>> import glasshouse as gh
        >>> import polars as pl
        >>> table = pl.DataFrame({f"v{i}": ["a"] * 60 for i in range(9)})
        >>> [finding.column for finding in gh.check(table, table).summary() if finding.code == "constant"]
        ['v0', 'v1', 'v2', None]
        """
        kinds: dict[tuple[str, str], list[Finding]] = {}
        for finding in self:
            kinds.setdefault((finding.level, finding.code), []).append(finding)
        told: list[Finding] = []
        for (level, code), found in kinds.items():
            if len(found) <= ALIKE:
                told += found
                continue
            names = listed((f.column for f in found[IN_FULL:] if f.column is not None), 6)
            said = f"{len(found) - IN_FULL:,} more like this ({code}): {names}; check().to_frame() has all of them"
            told += [*found[:IN_FULL], Finding(level, None, code, said)]
        return Findings(told)

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
