"""What the sources print: figures, where they stand, how exactly they were read, and why ours differ where they do."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from reproduce.row import Estimate, Row

FOLDER = Path(__file__).parent / "published"
SOURCES = ("rapid", "raab", "riskutility", "risksyn")


@cache
def source(name: str) -> Mapping[str, Any]:
    """One source: its citation and its items.

    Parameters
    ----------
    name : str
        One of ``SOURCES``.

    Returns
    -------
    mapping
        As the TOML file has it.
    """
    with (FOLDER / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)


@dataclass(frozen=True)
class Published:
    """One table or figure of a source, and how rows are made of it.

    Attributes
    ----------
    source
        One of ``SOURCES``.
    name
        The table or figure, as its heading in the file.
    """

    source: str
    name: str

    def __getitem__(self, key: str) -> Any:
        return source(self.source)[self.name][key]

    def why(self, what: str) -> str:
        """The reason given for a difference in one figure; empty where none is.

        Parameters
        ----------
        what : str
            Which figure.

        Returns
        -------
        str
        """
        reasons = source(self.source)[self.name].get("reasons", {})
        return next((str(reason) for pattern, reason in reasons.items() if fnmatchcase(what, pattern)), "")

    def figure(
        self,
        what: str,
        published: float,
        ours: float | Estimate,
        precision: float | None = None,
        digits: int = 3,
        *,
        draws: int | None = None,
        like: Estimate | None = None,
        explained: float | None = None,
        confirmed: bool | None = None,
    ) -> Row:
        """A published number beside ours.

        Parameters
        ----------
        what : str
            Which figure.
        published : float
            As printed.
        ours : float or Estimate
            An estimate where it comes from draws; theirs is then taken to come from ``draws`` of the same design.
        precision : float, optional
            Half a unit of the last printed digit; by default that of the item.
        digits : int, default 3
            Decimals shown.
        draws : int, optional
            Draws behind the published figure; by default those of the item.
        like : Estimate, optional
            Draws as the published figure was made of, where ours are of another kind.
        explained, confirmed
            As in ``Row``.

        Returns
        -------
        Row
        """
        held = source(self.source)[self.name]
        precision = held.get("precision", 0.0) if precision is None else precision
        theirs, own, value = None, None, ours
        if isinstance(ours, Estimate):
            theirs, own, value = (like or ours).beside(draws or held["draws"]), ours.error, ours.value
        assert not isinstance(value, Estimate)
        return Row(
            self.name, what, published, float(value), precision, theirs, own, why=self.why(what), explained=explained,
            confirmed=confirmed, digits=digits,
        )  # fmt: skip

    def statement(self, what: str, key: str, ours: str, holds: bool, confirmed: bool | None = None) -> Row:
        """A statement in words beside what we find.

        Parameters
        ----------
        what : str
            Which statement.
        key : str
            Where it stands in the file.
        ours : str
            What we find.
        holds : bool
            Whether the statement holds on it.
        confirmed : bool, optional
            As in ``Row``.

        Returns
        -------
        Row
        """
        return Row(
            self.name, what, str(self[key]), ours, holds=bool(holds), why=self.why(what),
            confirmed=None if confirmed is None else bool(confirmed),
        )  # fmt: skip
