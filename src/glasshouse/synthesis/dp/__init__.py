"""Differentially private synthesis: measured marginals, one distribution, an account to the last step."""

from __future__ import annotations

from glasshouse.synthesis.dp.aim import Aim
from glasshouse.synthesis.dp.domain import Domain, DomainError
from glasshouse.synthesis.dp.mst import Mst

__all__ = ["Aim", "Domain", "DomainError", "Mst"]
