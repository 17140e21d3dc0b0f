"""What came of the rules of a policy: one outcome per rule, and whether the policy is met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from glasshouse.core.errors import GlasshouseError
from glasshouse.core.result import Result

if TYPE_CHECKING:
    from glasshouse.judgement.policy.rules import Rule

Status: TypeAlias = Literal["pass", "warn", "fail", "not_assessed"]
SEVERITY: dict[str, int] = {"pass": 0, "warn": 1, "not_assessed": 2, "fail": 3}


class PolicyViolation(GlasshouseError):
    """A limit of the policy is broken."""


class PolicyIncomplete(GlasshouseError):
    """Something the policy requires could not be measured, so the policy is neither met nor broken."""


@dataclass(frozen=True)
class Outcome:
    """One rule applied to one result."""

    rule: Rule
    result: Result | None
    figure: float | None
    statistic: str
    status: str
    comparison: str

    def line(self) -> str:
        """``FAIL  tcap.excess  0.081 > 0.05  (upper 95 %: 0.094)``; the interval is that of the excess here."""
        words = {"pass": "PASS", "warn": "WARN", "fail": "FAIL", "not_assessed": "NONE"}[self.status]
        text = f"{words}  {self.rule.measure}.{self.statistic}  {self.comparison}"
        if self.result is None or self.figure is None:
            return text
        interval = self.rule.interval(self.result, self.statistic)
        name, end = ("lower", 0) if self.rule.operator.startswith(">") else ("upper", 1)
        limit = None if interval is None else interval[end]
        if limit is not None:
            level = self.result.settings.get("options", {}).get("confidence") or 0.95
            text += f"  ({name} {100 * level:g} %: {limit:.4g})"
        return text

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": self.rule.measure,
            "rule": self.rule.text(),
            "statistic": self.statistic,
            "figure": self.figure,
            "status": self.status,
            "comparison": self.comparison,
            "required": self.rule.required,
            "why": self.rule.why,
        }


@dataclass(frozen=True)
class PolicyReport:
    """All outcomes of one policy."""

    policy: str
    outcomes: tuple[Outcome, ...]

    @property
    def unmeasured(self) -> tuple[Outcome, ...]:
        """Required rules without a figure."""
        return tuple(o for o in self.outcomes if o.status == "not_assessed" and o.rule.required)

    @property
    def violations(self) -> tuple[Outcome, ...]:
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
        """0 met, 1 violated, 3 something required could not be measured.

        A stricter policy never lowers it, so 3 outranks 1.
        """
        return 3 if self.unmeasured else 1 if self.violations else 0

    def raise_for_status(self) -> PolicyReport:
        """Return quietly when the policy is met; raise PolicyViolation or PolicyIncomplete otherwise."""
        if self.violations:
            raise PolicyViolation(
                f"policy {self.policy!r} is violated: " + "; ".join(o.line() for o in self.violations)
            )
        if self.unmeasured:
            raise PolicyIncomplete(
                f"policy {self.policy!r} could not be decided: "
                + "; ".join(f"{o.rule.measure}: {o.comparison}" for o in self.unmeasured)
            )
        return self

    def lines(self) -> list[str]:
        return [o.line() for o in sorted(self.outcomes, key=lambda o: -SEVERITY[o.status])]

    def to_dict(self) -> dict[str, Any]:
        return {"policy": self.policy, "status": self.status, "outcomes": [o.to_dict() for o in self.outcomes]}

    def __str__(self) -> str:
        return "\n".join([f"policy {self.policy}: {self.status}", *self.lines()])

    __repr__ = __str__
