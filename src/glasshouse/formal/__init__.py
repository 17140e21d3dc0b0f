"""The differential-privacy side: formal ceilings on what an attack can reach, and what attacks prove about them."""

from __future__ import annotations

from glasshouse.formal.auditing import AttackCounts, Audit, AuditPoint, audit_attacks, audit_counts, audit_scores
from glasshouse.formal.bounds import LowerBounds, lower_bounds
from glasshouse.formal.guarantees import Guarantee
from glasshouse.formal.guidance import THREATS, ThreatGuide, guide
from glasshouse.formal.risk import Constraint, Risk
from glasshouse.formal.stated import Approximate, Gaussian, approximate, gaussian
from glasshouse.formal.zcdp import required_rho

__all__ = [
    "THREATS",
    "Approximate",
    "AttackCounts",
    "Audit",
    "AuditPoint",
    "Constraint",
    "Gaussian",
    "Guarantee",
    "LowerBounds",
    "Risk",
    "ThreatGuide",
    "approximate",
    "audit_attacks",
    "audit_counts",
    "audit_scores",
    "gaussian",
    "guide",
    "lower_bounds",
    "required_rho",
]
