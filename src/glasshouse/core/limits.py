"""The judge: one class for every limit, whether a measure declares it or a policy sets it.

A limit names a statistic of a result, where it warns and where it fails, and the evidence a finding needs before it
counts. A measure only reports figures and evidence. What is printed is what decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from glasshouse.core.plain import p_value as spoken_p
from glasshouse.core.words import Verdict, worst

if TYPE_CHECKING:
    from glasshouse.core.evidence import Better
    from glasshouse.core.result import Result

Operator: TypeAlias = Literal["", "<=", "<", ">=", ">"]
OPERATORS: tuple[Operator, ...] = ("<=", "<", ">=", ">")
# Statistics every result may have; a measure declares further ones of its own with ``figures=``.
STATISTICS: Mapping[str, str] = {
    "value": "the headline",
    "lower": "lower end of the interval",
    "upper": "upper end of the interval",
    "excess": "above what an attacker reaches without the release",
    "excess_lower": "lower end of the excess",
    "excess_upper": "upper end of the excess",
    "difference": "members minus people never in the data",
    "difference_lower": "lower end of that difference",
    "difference_upper": "upper end of that difference",
    "p_value": "chance of so large a difference if being in the data made none",
    "lost": "worse than a perfect synthesiser",
    "copied": "closer to the original than honest synthesis comes",
}


@dataclass(frozen=True)
class Evidence:
    """What must be shown before a figure beyond a limit counts against a release.

    Parameters
    ----------
    p
        Levels below which the p value of the test against people never in the data must lie, to warn and to fail. A
        level that is not reached is not given; without a p value nothing is judged.
    above_chance
        The figure must be beyond luck (p below 0.05, or the lower end of the excess above 0); else nothing was found.
    above_strangers
        The lower end of the difference to people never in the data must lie above 0; else the figure is a fact about
        the population and warns at most. So it does without a holdout, because nobody can say which it is.
    least
        The least number of people it must concern; fewer warn at most.
    """

    p: tuple[float, float] | None = None
    above_chance: bool = False
    above_strangers: bool = False
    least: float | None = None

    def weigh(self, status: Verdict, result: Result) -> tuple[Verdict, str]:
        """The status that the evidence bears, and the words for what was not met."""
        if status == "pass":
            return status, ""
        if self.above_chance and not _beyond_chance(result):
            return "pass", "beyond the limit, but no more than chance explains"
        if self.p is not None and result.p_value is not None:
            shown: Verdict = "fail" if result.p_value < self.p[1] else "warn" if result.p_value < self.p[0] else "pass"
            said = spoken_p(result.p_value)
            if shown == "pass":
                return shown, (
                    f"beyond the limit, but no more than for people never in the data ({said}, below {self.p[0]:g} is "
                    "needed)"
                )
            if status == "fail" and shown == "warn":
                return shown, f"beyond the limit, but not sure enough to fail ({said}, below {self.p[1]:g} is needed)"
        if self.above_strangers and result.difference_interval is None:
            return "warn", (
                "beyond the limit, but without people never in the data nobody can say whether it is more than a fact "
                "about the population"
            )
        if self.above_strangers and result.difference_interval is not None and result.difference_interval[0] <= 0:
            return "warn", "beyond the limit, but no more than for people never in the data"
        if self.least is not None and (result.counts is None or result.counts.successes < self.least):
            known = "how many people it concerns is not known" if result.counts is None else "it concerns fewer people"
            return "warn", f"beyond the limit, but {known}: {self.least:g} are needed"
        return status, ""

    def words(self) -> str:
        """The evidence asked for, as a phrase; empty when none is."""
        parts = []
        if self.p is not None:
            warn, fail = self.p
            parts.append(f"p < {fail:g}" if warn == fail else f"p < {warn:g} to warn, < {fail:g} to fail")
        if self.above_chance:
            parts.append("beyond chance")
        if self.above_strangers:
            parts.append("more than for people never in the data")
        if self.least is not None:
            parts.append(f"at least {self.least:g} people")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, object]:
        """The evidence as a policy file writes it."""
        content: dict[str, object] = {}
        if self.p is not None:
            content["p"] = list(self.p)
        content |= {name: True for name in ("above_chance", "above_strangers") if getattr(self, name)}
        return content if self.least is None else {**content, "least": self.least}


@dataclass(frozen=True)
class Limit:
    """One limit: ``statistic operator warn/fail`` must hold, else the release is warned about or fails.

    Parameters
    ----------
    statistic
        One of ``STATISTICS``, or a figure the measure declares. A policy may leave it open: the cautious end of the
        interval.
    warn, fail
        Where it warns, where it fails; None for a limit that does not.
    evidence
        What a finding needs before it counts. A policy's limit that says nothing takes the evidence the measure
        declares; ``Evidence()`` asks for none.
    operator
        What must hold; follows from the measure's better side when left open.
    why
        Where the limit comes from, or why it is there.
    without_holdout
        The limit that takes its place where there is no holdout.
    passes
        Whether a figure within the limit passes; False for a limit that can only find something, where finding nothing
        leaves the question open.
    measure, required, options
        Of a policy's limit: the measure it speaks of, whether it must have been measured, and the options to run with.
    """

    statistic: str = ""
    warn: float | None = None
    fail: float | None = None
    evidence: Evidence | None = None
    operator: Operator = ""
    why: str = ""
    without_holdout: Limit | None = None
    passes: bool = True
    measure: str = ""
    required: bool = True
    options: Mapping[str, object] = field(default_factory=dict)

    def resolved(self, better: Better, declared: Sequence[Limit] = ()) -> Limit:
        """The same limit with what was left open filled in from the measure's better side and its own limits."""
        operator = self.operator or self.direction(better, declared)
        statistic = self.statistic or ("upper" if operator.startswith("<") else "lower")
        # a declared limit on the same figure lends all it has; else the first one lends its evidence, if the figure is
        # one that all results have
        same = next((one for one in _with_alternatives(declared) if one.statistic == statistic), None)
        lender = same
        if same is None and statistic in STATISTICS and statistic not in ("lost", "copied"):
            lender = next((one for one in declared if one.evidence is not None), None)
        evidence = self.evidence
        if evidence is None:
            evidence = (None if lender is None else lender.evidence) or Evidence()
        other = self.without_holdout or (None if same is None or self.measure == "" else same.without_holdout)
        if other is not None:
            other = replace(other.resolved(better), measure=self.measure)
        return replace(
            self,
            operator=operator,
            statistic=statistic,
            evidence=evidence,
            without_holdout=other,
            passes=self.passes and (same is None or same.passes),
        )

    def direction(self, better: Better, declared: Sequence[Limit] = ()) -> Operator:
        """The operator that holds for a harmless figure: that of the declared limit on the same figure, else from the
        measure's better side."""
        own = next((one for one in _with_alternatives(declared) if one.statistic == self.statistic), None)
        if own is not None and own.operator:
            return own.operator
        if self.statistic == "p_value":
            return ">="
        return "<=" if better == "lower" or self.statistic in ("lost", "copied") else ">="

    # -- judging -----------------------------------------------------------------------------------------------------

    def figure(self, result: Result) -> tuple[float | None, str]:
        """The number the limit looks at and what it is; without an interval the value itself stands in, and the name
        says so."""
        ends = {
            "lower": result.interval,
            "upper": result.interval,
            "excess_lower": result.excess_interval,
            "excess_upper": result.excess_interval,
            "difference_lower": result.difference_interval,
            "difference_upper": result.difference_interval,
        }
        if self.statistic in ends:
            interval = ends[self.statistic]
            end = None if interval is None else interval[0 if self.statistic.endswith("lower") else 1]
            if end is not None:
                return end, self.statistic
            stand_in = self.statistic.rpartition("_")[0] or "value"
            return _number(getattr(result, stand_in)), stand_in
        if self.statistic in ("lost", "copied"):
            return (None if result.null is None else float(getattr(result.null, self.statistic))), self.statistic
        if self.statistic in ("value", "excess", "difference", "p_value"):
            return _number(getattr(result, self.statistic)), self.statistic
        return result.figures.get(self.statistic), self.statistic

    def judge(self, result: Result | None) -> Outcome:
        """pass, warn, fail, or not_assessed with the reason."""
        if not self.operator or not self.statistic or self.evidence is None:
            declared = None if result is None else result.measure
            return self.resolved(
                "lower" if declared is None else declared.better, () if declared is None else declared.limits
            ).judge(result)
        if result is None:
            return Outcome(self, None, self.statistic, "not_assessed", f"{self.measure} was not run")
        if result.status != "ok":
            return Outcome(self, None, self.statistic, "not_assessed", str(result.reason))
        figure, label = self.figure(result)
        untested = self.evidence.p is not None and result.p_value is None
        if figure is None or (untested and not self._holds_throughout(figure)):
            if self.without_holdout is not None and result.holdout is None:
                # a leak is told against strangers; without them one can be found, and finding none shows nothing
                finds_only = self.statistic == "p_value"
                return (replace(self.without_holdout, passes=False) if finds_only else self.without_holdout).judge(
                    result
                )
            return Outcome(self, figure, label, "not_assessed", self._no_figure(result, figure is not None))
        status: Verdict = "pass"
        beyond: float | None = None
        for limit, named in ((self.fail, "fail"), (self.warn, "warn")):
            if limit is not None and not _holds(figure, self.operator, limit):
                status, beyond = ("fail" if named == "fail" else "warn"), limit
                break
        borne, unmet = self.evidence.weigh(status, result)
        if borne != "pass" and not self._shown(result, label):
            words = f"{_said(figure)} {_OPPOSITE[self.operator]} {_said(beyond)}"
            unsure = f"not enough data: {words} cannot be excluded, and the lower end does not lie above 0"
            return Outcome(self, figure, label, "not_assessed", unsure, self._cautious_end(result, label))
        if beyond is None:
            nearest = self.warn if self.warn is not None else self.fail
            words = f"{_said(figure)} {self.operator} {_said(nearest)}"
            if not self.passes:
                words += ", which shows nothing: without a holdout only an overwhelming figure counts"
                return Outcome(self, figure, label, "not_assessed", words)
            return Outcome(self, figure, label, "pass", words, self._cautious_end(result, label))
        words = f"{_said(figure)} {_OPPOSITE[self.operator]} {_said(beyond)}"
        said = f"{words}; {unmet}" if unmet else words
        return Outcome(self, figure, label, borne, said, self._cautious_end(result, label))

    def _cautious_end(self, result: Result, label: str) -> float | None:
        """The end of the figure's own interval that lies towards the limit; None for a figure that is an end itself."""
        intervals = {
            "value": result.interval,
            "excess": result.excess_interval,
            "difference": result.difference_interval,
        }
        interval = intervals.get(label)
        return None if interval is None else interval[0 if self.operator.startswith(">") else 1]

    def _shown(self, result: Result, label: str) -> bool:
        """Whether there is an effect at all: an upper end of a difference or an excess says what cannot be excluded,
        and only a lower end above 0 shows it."""
        ends = {"difference_upper": result.difference_interval, "excess_upper": result.excess_interval}
        interval = ends.get(label) if self.operator.startswith("<") else None
        return interval is None or interval[0] > 0

    def _holds_throughout(self, figure: float) -> bool:
        """Whether a figure keeps both limits, so that no evidence is needed."""
        return all(limit is None or _holds(figure, self.operator, limit) for limit in (self.warn, self.fail))

    def _no_figure(self, result: Result, untested: bool = False) -> str:
        if untested:
            why = "it needs a holdout" if result.holdout is None else "this measure has none"
            return f"beyond the limit, but without a test against people never in the data nothing is shown: {why}"
        if self.statistic == "p_value":
            why = "it needs a holdout" if result.holdout is None else f"{result.name} has none for these data"
            return f"no test of members against people never in the data: {why}"
        lacking = f"{self.measure or result.name} has no {self.statistic.replace('_', ' ')}"
        if self.statistic.startswith("difference"):
            return f"{lacking}: it needs a holdout, and a measure that asks about people"
        if self.statistic.startswith("excess") and result.baseline is None:
            return f"{lacking}: it has no baseline to be compared with; use upper or value"
        return f"{lacking} for these data: {result.reason or 'the figure is undefined'}"

    # -- words -------------------------------------------------------------------------------------------------------

    @property
    def warns_too_late(self) -> bool:
        """Whether the warn limit lies beyond the fail limit, so that the limit could never warn."""
        if self.warn is None or self.fail is None:
            return False
        return self.warn > self.fail if self.operator.startswith("<") else self.warn < self.fail

    def text(self) -> str:
        """The limit as a phrase: ``disco excess <= 0.05 (warn), 0.2 (fail), if beyond chance``.

        The limit that takes its place without a holdout is not in it, so that what is printed is what decided;
        :meth:`whole_text` has both.
        """
        if not self.operator or not self.statistic:
            return self.resolved("lower").text()
        limits = [f"{_said(v)} ({k})" for k, v in (("warn", self.warn), ("fail", self.fail)) if v is not None]
        head = f"{self.measure} {self.statistic.replace('_', ' ')}".strip()
        asked = "" if self.evidence is None else self.evidence.words()
        return f"{head} {self.operator} {', '.join(limits)}" + (f", if {asked}" if asked else "")

    def whole_text(self) -> str:
        """The limit and, where there is one, the limit that takes its place without a holdout."""
        other = "" if self.without_holdout is None else f"; without a holdout: {self.without_holdout.text()}"
        return self.text() + other

    def to_dict(self) -> dict[str, object]:
        """The limit as plain data, in the words of a policy file."""
        return {
            "measure": self.measure,
            "statistic": self.statistic,
            "operator": self.operator,
            "warn": self.warn,
            "fail": self.fail,
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "required": self.required,
            "why": self.why,
            "options": dict(self.options),
        }


# Every leak is judged by exchanging members and people never in the data. These are the levels of a measure on its own;
# in an assessment those of the policy apply to the measures of a threat together.
LEAK_LIMIT = Limit(
    "p_value", warn=0.05, fail=0.01, operator=">=", why="members fare no worse than people never in the data"
)

# Worse than the band is lost utility; better than it is what a copy looks like. Both are reasons to look, not to fail.
BAND_LIMITS = (
    Limit("lost", warn=0, operator="<=", why="worse than a perfect synthesiser at these sizes"),
    Limit("copied", warn=0, operator="<=", why="closer to the original than honest synthesis comes"),
)


@dataclass(frozen=True)
class Outcome:
    """One limit applied to one result: the figure it saw, the status, and the comparison in words."""

    limit: Limit
    figure: float | None
    statistic: str
    status: str
    comparison: str
    end: float | None = None

    def line(self) -> str:
        """``FAIL  tcap.excess  0.081 > 0.05  (upper end: 0.094)``; the end of the interval is that of the figure."""
        word = {"pass": "PASS", "warn": "WARN", "fail": "FAIL", "not_assessed": "NONE"}[self.status]
        end = "lower" if self.limit.operator.startswith(">") else "upper"
        ending = "" if self.end is None else f"  ({end} end: {_said(self.end)})"
        return f"{word}  {self.limit.measure}.{self.statistic}  {self.comparison}{ending}"

    def to_dict(self) -> dict[str, object]:
        """The outcome as plain data."""
        return {
            "measure": self.limit.measure,
            "rule": self.limit.text(),
            "statistic": self.statistic,
            "figure": self.figure,
            "end": self.end,
            "status": self.status,
            "comparison": self.comparison,
            "required": self.limit.required,
            "why": self.limit.why,
        }


def judge(result: Result, limits: Sequence[Limit]) -> tuple[Outcome, ...]:
    """Every limit that finds its figure in ``result``; where none does, all of them with the reason."""
    outcomes = tuple(limit.judge(result) for limit in limits)
    return tuple(o for o in outcomes if o.status != "not_assessed") or outcomes


def status_of(outcomes: Sequence[Outcome]) -> str:
    """The gravest outcome; "no_limit" without any."""
    return worst(o.status for o in outcomes)


def deciding(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The outcome that gives the status: the first of the gravest."""
    status = status_of(outcomes)
    return next((o for o in outcomes if o.status == status), None)


def _with_alternatives(limits: Sequence[Limit]) -> list[Limit]:
    """The limits, and those that take their place without a holdout."""
    return [one for limit in limits for one in (limit, limit.without_holdout) if one is not None]


def _beyond_chance(result: Result) -> bool:
    """Beyond luck by its p value and by the interval that is shown: one of the two is not enough."""
    luck = result.p_chance is not None and result.p_chance >= 0.05
    return not luck and (result.excess_interval is None or result.excess_interval[0] > 0)


_OPPOSITE: Mapping[str, str] = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}


def _holds(figure: float, operator: str, limit: float) -> bool:
    return {"<=": figure <= limit, "<": figure < limit, ">=": figure >= limit, ">": figure > limit}[operator]


def _said(figure: float | None) -> str:
    return "–" if figure is None else str(figure) if isinstance(figure, int) else f"{figure:.4g}"


def _number(figure: object) -> float | None:
    return figure if isinstance(figure, (int, float)) and not isinstance(figure, bool) else None
