"""What a differentially private fit promised, spent and left uncovered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from glasshouse.core.plain import plain, to_json
from glasshouse.synthesis.dp.accountant import Spent

RATES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


class Promise(TypedDict):
    """The guarantee in an attacker's terms: sentences per threat, and points (fpr, largest tpr) of the curve."""

    sentences: list[str]
    curve: list[list[float]]


def read_promise(risk: object) -> Promise:
    """The guarantee in an attacker's terms, as plain data.

    synthesis does not know formal, so it asks the risk it was given, and copes with one that only has a rho.

    Parameters
    ----------
    risk : object
        A Risk, or anything with a rho.

    Returns
    -------
    dict
        Empty lists where the risk has no such reading.
    """
    explain, max_tpr = getattr(risk, "explain", None), getattr(risk, "max_tpr", None)
    return {
        "sentences": str(explain()).splitlines() if callable(explain) else [],
        "curve": [[rate, float(max_tpr(rate))] for rate in RATES] if callable(max_tpr) else [],
    }


@dataclass(frozen=True)
class FitReport:
    """The account of one fit: what was promised, what was spent on what, and what is not covered.

    Attributes
    ----------
    algorithm : str
        "mst" or "aim".
    rho : float
        The budget asked for.
    ledger : tuple of Spent
        Every private step with its cost.
    promise : dict
        The guarantee in an attacker's terms.
    domain : dict
        The declared domain.
    rows : int
        Records that ``sample()`` makes.
    rows_public : bool
        Whether that number was declared public; else it is a noisy count.
    measured : tuple of tuple of str
        The marginals that were measured.
    leaks : tuple of str
        What the guarantee does not cover.
    settings : dict
        Other arguments of the synthesiser.
    """

    algorithm: str
    rho: float
    ledger: tuple[Spent, ...]
    promise: Promise
    domain: Mapping[str, object]
    rows: int
    rows_public: bool
    measured: tuple[tuple[str, ...], ...]
    leaks: tuple[str, ...]
    settings: Mapping[str, object]

    @property
    def spent(self) -> float:
        """Sum of all costs."""
        return math.fsum(entry.rho for entry in self.ledger)

    @property
    def by_step(self) -> dict[str, float]:
        """Cost per kind of step."""
        kinds = dict.fromkeys(entry.step for entry in self.ledger)
        return {kind: math.fsum(e.rho for e in self.ledger if e.step == kind) for kind in kinds}

    @property
    def label(self) -> str:
        """How far the guarantee reaches, in three words."""
        if any("seed" in leak for leak in self.leaks):
            return "not private: seeded noise"
        return "DP except domain" if self.leaks else "end-to-end DP"

    def to_dict(self) -> dict[str, object]:
        """Plain data, as it goes into a JSON file."""
        content: dict[str, object] = plain(
            {
                "algorithm": self.algorithm,
                "label": self.label,
                "rho": self.rho,
                "spent": self.spent,
                "by_step": self.by_step,
                "ledger": [entry.to_dict() for entry in self.ledger],
                "promise": self.promise,
                "domain": self.domain,
                "rows": self.rows,
                "rows_public": self.rows_public,
                "measured": [list(c) for c in self.measured],
                "leaks": list(self.leaks),
                "settings": self.settings,
            }
        )
        return content

    def to_json(self) -> str:
        """The same as JSON text."""
        return to_json(self.to_dict())

    def __str__(self) -> str:
        pairs = sum(len(c) > 1 for c in self.measured)
        lines = [
            f"{self.algorithm}: {self.label}",
            f"  rho asked {self.rho:.6g}, spent {self.spent:.6g} in {len(self.ledger)} steps "
            f"({', '.join(f'{step} {cost:.6g}' for step, cost in self.by_step.items())})",
            f"  {len(self.measured)} marginals measured, {pairs} of them of several columns",
            f"  domain: {self.domain['provenance']}",
            f"  rows: {self.rows} ({'declared public' if self.rows_public else 'noisy count'})",
        ]
        lines += [f"  NOT COVERED: {leak}" for leak in self.leaks]
        lines += [f"  {sentence}" for sentence in self.promise["sentences"]]
        return "\n".join(lines)
