"""What a differentially private fit promised, spent and left uncovered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glasshouse.core.plain import plain, to_json
from glasshouse.synthesis.dp.accountant import Spent

RATES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


def read_promise(risk: Any) -> dict[str, Any]:
    """The guarantee in an attacker's terms, as plain data: sentences per threat and a few points of the curve.

    synthesis does not know formal, so it asks the risk it was given, and copes with one that only has a rho.
    """
    promise: dict[str, Any] = {"sentences": [], "curve": []}
    if hasattr(risk, "explain"):
        promise["sentences"] = str(risk.explain()).splitlines()
    if hasattr(risk, "max_tpr"):
        promise["curve"] = [[rate, float(risk.max_tpr(rate))] for rate in RATES]
    return promise


@dataclass(frozen=True)
class FitReport:
    """The account of one fit. ``label`` says in three words how far the guarantee reaches."""

    algorithm: str
    rho: float
    ledger: tuple[Spent, ...]
    promise: Mapping[str, Any]
    domain: Mapping[str, Any]
    rows: int
    rows_public: bool
    measured: tuple[tuple[str, ...], ...]
    leaks: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def spent(self) -> float:
        return math.fsum(entry.rho for entry in self.ledger)

    @property
    def by_step(self) -> dict[str, float]:
        kinds = dict.fromkeys(entry.step for entry in self.ledger)
        return {kind: math.fsum(e.rho for e in self.ledger if e.step == kind) for kind in kinds}

    @property
    def label(self) -> str:
        if any("seed" in leak for leak in self.leaks):
            return "not private: seeded noise"
        return "DP except domain" if self.leaks else "end-to-end DP"

    def to_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = plain(
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
