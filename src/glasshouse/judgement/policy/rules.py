"""Rule: one limit of a policy, how it reads a result, and how it is written down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.result import Result
from glasshouse.judgement.policy.outcomes import Outcome

STATISTICS = ("upper", "lower", "value", "excess", "excess_upper", "difference_upper")
OPERATORS = ("<=", "<", ">=", ">")
_RULE = ("measure", "statistic", "operator", "limit", "level", "warn", "fail", "why", "options", "required")


@dataclass(frozen=True)
class Rule:
    """One limit: ``statistic operator limit`` must hold, else the release is warned about or fails.

    What is left open follows from the measure: the operator from its better side, the statistic is the cautious end
    of the interval.
    """

    measure: str
    statistic: str = ""
    operator: str = ""
    warn: float | None = None
    fail: float | None = None
    why: str = ""
    required: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def resolved(self, better: str) -> Rule:
        """The same rule with operator and statistic filled in for a measure whose ``better`` side is "lower" or
        "higher".
        """
        operator = self.operator or ("<=" if better == "lower" else ">=")
        return replace(
            self, operator=operator, statistic=self.statistic or ("upper" if operator.startswith("<") else "lower")
        )

    def figure(self, result: Result) -> tuple[float | None, str]:
        """The number the rule looks at, and what it is.

        Without an interval the value itself stands in, and the label says so.
        """
        interval, value = result.interval, result.value
        if self.statistic in ("upper", "lower"):
            end = None if interval is None else interval[0 if self.statistic == "lower" else 1]
            return (value, "value") if end is None else (end, self.statistic)
        if self.statistic == "difference_upper":
            # attacks with a control group: upper limit of attack minus control, undefined without a holdout
            limits = difference_interval(result)
            return (None if limits is None else limits[1]), "difference_upper"
        if self.statistic == "excess_upper":
            limits = excess_interval(result)
            return (result.excess, "excess") if limits is None else (limits[1], "excess_upper")
        return (value if self.statistic == "value" else result.excess), self.statistic

    def interval(self, result: Result, label: str) -> tuple[float | None, float | None] | None:
        """The interval around the figure, on the scale of that figure."""
        return result.interval if label == "value" else excess_interval(result) if label == "excess" else None

    def judge(self, result: Result | None) -> Outcome:
        """pass, warn, fail, or not_assessed with the reason."""
        if not self.operator or not self.statistic:
            return self.resolved("lower" if result is None or result.measure is None else result.measure.better).judge(
                result
            )
        if result is None:
            return Outcome(self, None, None, self.statistic, "not_assessed", f"{self.measure} was not run")
        if result.status != "ok":
            return Outcome(self, result, None, self.statistic, "not_assessed", str(result.reason))
        figure, label = self.figure(result)
        if figure is None:
            return Outcome(
                self,
                result,
                None,
                label,
                "not_assessed",
                self._why_no_figure(result),
            )
        shown = self._shown(result, label)
        for limit, status in ((self.fail, "fail"), (self.warn, "warn")):
            if limit is not None and not _holds(figure, self.operator, limit):
                said = f"{_number(figure)} {_opposite(self.operator)} {_number(limit)}"
                if not shown:
                    # a wide interval around zero is a reason to look again, not proof of a leak
                    said += "; cannot be excluded, but not shown either: the lower limit is not above 0"
                return Outcome(self, result, figure, label, status if shown else "warn", said)
        nearest = self.warn if self.warn is not None else self.fail
        return Outcome(self, result, figure, label, "pass", f"{_number(figure)} {self.operator} {_number(nearest)}")

    def _shown(self, result: Result, label: str) -> bool:
        """Whether there is an effect at all: an upper limit of a difference or an excess fails only if the lower limit
        of the same interval lies above 0.
        """
        if label not in ("difference_upper", "excess_upper") or not self.operator.startswith("<"):
            return True
        found = difference_interval(result) if label == "difference_upper" else excess_interval(result)
        return found is None or found[0] > 0

    def _why_no_figure(self, result: Result) -> str:
        lacking = f"{self.measure} has no {self.statistic.replace('_', ' ')}"
        if self.statistic == "difference_upper" and result.holdout is None and "difference_interval" in result.details:
            return (
                f"{lacking}: it needs a holdout, and none was supplied. Withhold 20 to 50 % of the records before "
                "synthesis and pass them as holdout="
            )
        if self.statistic == "difference_upper":
            return f"{lacking}: it is no attack with a control group; use upper, value or excess"
        if self.statistic in ("excess", "excess_upper") and result.baseline is None:
            return f"{lacking}: it has no baseline to be compared with; use upper or value"
        return f"{lacking} for these data: {result.reason or 'the figure is undefined'}"

    def text(self) -> str:
        """The rule as a phrase: ``disco excess <= 0.05 (warn), 0.2 (fail)``."""
        if not self.operator or not self.statistic:
            return self.resolved("lower").text()
        limits = [f"{_number(v)} ({k})" for k, v in (("warn", self.warn), ("fail", self.fail)) if v is not None]
        return f"{self.measure} {self.statistic.replace('_', ' ')} {self.operator} {', '.join(limits)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "statistic": self.statistic,
            "operator": self.operator,
            "warn": self.warn,
            "fail": self.fail,
            "required": self.required,
            "why": self.why,
            "options": dict(self.options),
        }


def difference_interval(result: Result) -> tuple[float, float] | None:
    """Limits of attack minus control; None without a holdout."""
    limits = result.details.get("difference_interval")
    return None if not limits else (float(limits[0]), float(limits[1]))


def excess_interval(result: Result) -> tuple[float, float] | None:
    """The interval of the value on the scale of the excess, the baseline taken as known.

    None when the measure defines its excess in another way, so that the ends cannot be carried over.
    """
    if result.interval is None or result.baseline is None or result.value is None or result.excess is None:
        return None
    low, high = result.interval
    if low is None or high is None:
        return None
    difference = float(result.value) - result.baseline
    for scale in (1 - result.baseline, 1.0):
        if scale > 0 and math.isclose(difference / scale, result.excess, rel_tol=1e-6, abs_tol=1e-9):
            return (low - result.baseline) / scale, (high - result.baseline) / scale
    return None


def parse_rule(entry: Any, where: str) -> Rule:
    if not isinstance(entry, Mapping):
        raise InputError(f"{where} is no table; write [[rule]] and one key = value per line")
    check_keys(entry, _RULE, where)
    if not isinstance(entry.get("measure"), str):
        raise InputError(f'{where} has no measure, e.g. measure = "disco"')
    where = f"{where} ({entry['measure']})"
    warn, fail = entry.get("warn"), entry.get("fail")
    if "limit" in entry:
        if warn is not None or fail is not None:
            raise InputError(f"{where}: write either limit and level, or warn and fail")
        level = one_of(entry.get("level", "fail"), ("warn", "fail"), f"{where}: level")
        warn, fail = (entry["limit"], None) if level == "warn" else (None, entry["limit"])
    elif "level" in entry:
        raise InputError(f"{where}: level needs a limit")
    for name, limit in (("limit", warn), ("limit", fail)):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit != limit):
            raise InputError(f"{where}: {name} must be a number")
    if warn is None and fail is None:
        raise InputError(f"{where} has no limit; write limit = 0.05, or warn = 0.05 and fail = 0.20")
    operator = one_of(entry["operator"], OPERATORS, f"{where}: operator") if "operator" in entry else ""
    statistic = one_of(entry["statistic"], STATISTICS, f"{where}: statistic") if "statistic" in entry else ""
    options = entry.get("options", {})
    if not isinstance(options, Mapping):
        raise InputError(f"{where}: options is a table, e.g. options = {{ tau = 0.3 }}")
    required = entry.get("required", True)
    if not isinstance(required, bool):
        raise InputError(f"{where}: required is true or false")
    return Rule(
        str(entry["measure"]), statistic, operator, warn, fail, str(entry.get("why", "")), required, dict(options)
    )


def warns_too_late(rule: Rule) -> bool:
    """Whether the warn limit lies beyond the fail limit, so that the rule could never warn."""
    if rule.warn is None or rule.fail is None:
        return False
    return rule.warn > rule.fail if rule.operator.startswith("<") else rule.warn < rule.fail


def check_keys(given: Any, known: tuple[str, ...], where: str) -> None:
    if not isinstance(given, Mapping):
        raise InputError(f"{where} is no table")
    for name in given:
        if name not in known:
            raise InputError(f"{where} has an unknown key {name!r}{closest(name, known)}; it takes: {listed(known)}")


def one_of(value: Any, known: tuple[str, ...], where: str) -> str:
    if value not in known:
        raise InputError(f"{where} is {value!r}{closest(str(value), known)}; choose one of {listed(known)}")
    return str(value)


def _holds(figure: float, operator: str, limit: float) -> bool:
    return {"<=": figure <= limit, "<": figure < limit, ">=": figure >= limit, ">": figure > limit}[operator]


def _opposite(operator: str) -> str:
    return {"<=": ">", "<": ">=", ">=": "<", ">": "<="}[operator]


def _number(figure: float | None) -> str:
    return "–" if figure is None else str(figure) if isinstance(figure, int) else f"{figure:.4g}"
