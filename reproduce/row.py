"""One published figure beside ours, and the rule that says whether it is reproduced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from math import hypot, sqrt
from typing import Any

import numpy as np

REPRODUCED = "reproduced"
DIFFERS = "differs"
ERRORS = 3  # standard errors by which two random figures may lie apart: among 400 honest rows about one does

RULE = (
    f"A figure is *reproduced* when it lies within the precision it was printed or read with, plus {ERRORS} standard "
    "errors of the difference where chance is involved: sqrt(theirs² + ours²). What nobody draws by chance has no "
    "standard error, and has to agree to the last printed digit. A statement in words is reproduced when what it says "
    "holds on our figures. Anything else *differs*, and says why."
)


@dataclass(frozen=True)
class Estimate:
    """A figure of ours from independent draws of one design, with its standard error.

    Attributes
    ----------
    value
        Their mean or median.
    draws
        All of them.
    middle
        Whether the median is meant.
    """

    value: float
    draws: tuple[float, ...]
    middle: bool = False

    @property
    def error(self) -> float:
        """Standard error of our figure."""
        return self.beside(len(self.draws))

    @property
    def spread(self) -> float:
        """Standard deviation of one draw."""
        return float(np.std(self.draws, ddof=1))

    def beside(self, draws: int) -> float:
        """The standard error of a figure made from so many draws of the same design.

        Of a median it is a third of the way to the farther end of its interval at three standard errors, by the order
        statistics of our draws: draws that fall in two heaps have medians anywhere between.

        Parameters
        ----------
        draws : int
            Data sets, releases or seeds behind the figure.

        Returns
        -------
        float
        """
        if not self.middle:
            return self.spread / sqrt(draws)
        half = ERRORS * 0.5 / sqrt(draws)
        low, high = np.quantile(self.draws, [max(0.0, 0.5 - half), min(1.0, 0.5 + half)])
        return float(max(high - self.value, self.value - low)) / ERRORS


def mean(figures: Sequence[float]) -> Estimate:
    """The mean of figures from independent draws.

    Parameters
    ----------
    figures : sequence of float
        At least two.

    Returns
    -------
    Estimate
    """
    return Estimate(float(np.mean(figures)), tuple(float(x) for x in figures))


def median(figures: Sequence[float]) -> Estimate:
    """The median of figures from independent draws.

    Parameters
    ----------
    figures : sequence of float
        At least two.

    Returns
    -------
    Estimate
    """
    return Estimate(float(np.median(figures)), tuple(float(x) for x in figures), middle=True)


def printed(text: str) -> tuple[float, float, int]:
    """A figure as it is printed.

    Parameters
    ----------
    text : str
        Such as "7.26" or "3.7e-7".

    Returns
    -------
    value, precision, digits : float, float, int
        The number, half a unit of its last digit, and its decimals.
    """
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int), "a number, not infinity"
    return float(text), 0.5 * 10.0**exponent, max(0, -exponent)


@dataclass(frozen=True)
class Row:
    """A published figure beside ours.

    Attributes
    ----------
    item
        The table or figure of the source.
    what
        Which figure of it.
    published, ours
        Numbers, or for a statement in words the statement and what we find.
    precision
        Half a unit of the last printed digit, or how exactly a figure was read off.
    their_error, our_error
        Standard errors; None where nothing is drawn by chance.
    holds
        For a statement in words: whether it holds on our figures.
    why
        The reason of a difference, used only where there is one.
    explained
        Our figure under that reason (another definition, another input); it has to meet the rule, so that the reason
        is checked with every run.
    confirmed
        Of a statement, or where no figure can stand for the reason: whether what it says was found in this run.
    found
        What that check found, in words.
    digits
        Decimals shown.
    """

    item: str
    what: str
    published: float | str
    ours: float | str
    precision: float = 0.0
    their_error: float | None = None
    our_error: float | None = None
    holds: bool | None = None
    why: str = ""
    explained: float | None = None
    confirmed: bool | None = None
    found: str = ""
    digits: int = 3

    @property
    def tolerance(self) -> float:
        """How far apart the two may lie."""
        slack = 1e-9 * max(1.0, abs(float(self.published)))  # 5.525 is 5.52 or 5.53, and no decimal is exact
        return self.precision + slack + ERRORS * hypot(self.their_error or 0.0, self.our_error or 0.0)

    def meets(self, figure: float) -> bool:
        """Whether a figure in place of ours would count as the published one.

        Parameters
        ----------
        figure : float
            The figure.

        Returns
        -------
        bool
        """
        return abs(figure - float(self.published)) <= self.tolerance

    @property
    def status(self) -> str:
        """``"reproduced"`` or ``"differs"``, by :data:`RULE`."""
        found = self.holds if isinstance(self.published, str) else self.meets(float(self.ours))
        return REPRODUCED if found else DIFFERS

    @property
    def checked(self) -> bool | None:
        """Whether the reason of a difference bore out in this run; None where nothing was computed for it."""
        return self.confirmed if self.explained is None else self.meets(self.explained)

    @property
    def told(self) -> str:
        """The status as the table says it, with the reason."""
        if self.status == REPRODUCED:
            return REPRODUCED
        if not self.why:
            return "differs, and no reason was found yet"
        found = self.found or ("" if self.explained is None else f"{self.explained:.{self.digits}f} so")
        shown = f" ({found})" if found else ""
        if self.checked is False:
            return f"differs, and the reason that was given no longer holds: {self.why}{shown}"
        return f"differs because {self.why}{shown}"

    def as_json(self) -> dict[str, Any]:
        """The row with its status, for the file of figures."""
        return {**asdict(self), "status": self.status}


@dataclass(frozen=True)
class Chart:
    """A picture of an item: the name of its file, and an altair chart."""

    name: str
    drawn: Any


@dataclass(frozen=True)
class Item:
    """One table or figure of a source: how we made ours, and the rows."""

    name: str
    about: str
    rows: Sequence[Row]
    charts: Sequence[Chart] = ()

    def __post_init__(self) -> None:
        strangers = {row.item for row in self.rows} - {self.name}
        if strangers:
            raise ValueError(f"rows of {', '.join(sorted(strangers))} stand under {self.name}")
