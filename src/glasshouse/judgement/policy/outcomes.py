"""What came of the limits of a policy: one outcome per rule, and whether the policy is met."""

from __future__ import annotations

from dataclasses import dataclass

from glasshouse.core.errors import GlasshouseError
from glasshouse.core.limits import Outcome
from glasshouse.core.words import SEVERITY

__all__ = ["Outcome", "PolicyIncomplete", "PolicyReport", "PolicyViolation"]


class PolicyViolation(GlasshouseError):
    """A limit of the policy is broken."""


class PolicyIncomplete(GlasshouseError):
    """Something the policy requires could not be measured, so the policy is neither met nor broken."""


@dataclass(frozen=True)
class PolicyReport:
    """All outcomes of one policy."""

    policy: str
    outcomes: tuple[Outcome, ...]

    @property
    def unmeasured(self) -> tuple[Outcome, ...]:
        """Required rules without a figure."""
        return tuple(o for o in self.outcomes if o.status == "not_assessed" and o.limit.required)

    @property
    def violations(self) -> tuple[Outcome, ...]:
        """Rules that are broken."""
        return tuple(o for o in self.outcomes if o.status == "fail")

    @property
    def status(self) -> str:
        """fail, incomplete, warn or pass: the worst of the outcomes, where what could not be measured never passes."""
        if self.violations:
            return "fail"
        if self.unmeasured:
            return "incomplete"
        return "warn" if any(o.status == "warn" for o in self.outcomes) else "pass"

    @property
    def exit_code(self) -> int:
        """0 met, 1 violated (whatever else is missing), 3 nothing violated but something required not measured."""
        return 1 if self.violations else 3 if self.unmeasured else 0

    def raise_for_status(self) -> PolicyReport:
        """Return quietly when the policy is met; raise PolicyViolation or PolicyIncomplete otherwise."""
        if self.violations:
            raise PolicyViolation(
                f"policy {self.policy!r} is violated: " + "; ".join(o.line() for o in self.violations)
            )
        if self.unmeasured:
            raise PolicyIncomplete(
                f"policy {self.policy!r} could not be decided: "
                + "; ".join(f"{o.limit.measure}: {o.comparison}" for o in self.unmeasured)
            )
        return self

    def lines(self) -> list[str]:
        """One line per rule, the gravest first."""
        return [o.line() for o in sorted(self.outcomes, key=lambda o: -SEVERITY[o.status])]

    def to_dict(self) -> dict[str, object]:
        """The report as plain data."""
        return {"policy": self.policy, "status": self.status, "outcomes": [o.to_dict() for o in self.outcomes]}

    def __str__(self) -> str:
        return "\n".join([f"policy {self.policy}: {self.status}", *self.lines()])

    __repr__ = __str__
