"""Policy: which limits a release must keep, written down in a small TOML file that a person can read and a pipeline can run.

    format = 1
    name = "public"
    require = ["identity", "attribute", "membership", "copying"]

    [run]
    keys = ["age", "sex"]
    target = "income"
    seed = 0

    [[rule]]
    measure = "disco"
    statistic = "excess"
    warn = 0.05
    fail = 0.20
    why = "nobody's income may be read off beyond what anyone could guess"

A rule looks at the upper end of the interval unless it names another statistic. Unknown keys are errors: a limit that is
silently not applied is worse than none.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.measure import Measure
from glasshouse.core.result import Result
from glasshouse.judgement.outcomes import Outcome, PolicyReport

Operator: TypeAlias = Literal["<=", "<", ">=", ">"]
THREATS = ("identity", "attribute", "membership", "copying")
STATISTICS = ("upper", "lower", "value", "excess", "excess_upper", "difference_upper")
OPERATORS = ("<=", "<", ">=", ">")
PRESETS = ("public", "research", "secure")
FORMAT = 1
_TOP = ("format", "name", "title", "why", "require", "others", "verdict_rule", "min_count", "run", "rule")
_RUN = ("measures", "keys", "target", "seed", "weights", "cluster", "row_paired", "missing", "exclude")
_RULE = ("measure", "statistic", "operator", "limit", "level", "warn", "fail", "why", "options", "required")


@dataclass(frozen=True)
class Rule:
    """One limit: ``statistic operator limit`` must hold, else the release is warned about or fails.

    What is left open follows from the measure: the operator from its better side, the statistic is the cautious end of the interval.
    """

    measure: str
    statistic: str = ""
    operator: Operator | Literal[""] = ""
    warn: float | None = None
    fail: float | None = None
    why: str = ""
    required: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def resolved(self, better: str) -> Rule:
        """The same rule with operator and statistic filled in for a measure whose ``better`` side is "lower" or "higher"."""
        operator = self.operator or ("<=" if better == "lower" else ">=")
        return replace(self, operator=operator, statistic=self.statistic or ("upper" if operator.startswith("<") else "lower"))

    def figure(self, result: Result) -> tuple[float | None, str]:
        """The number the rule looks at, and what it is. Without an interval the value itself stands in, and the label says so."""
        interval, value = result.interval, result.value
        if self.statistic in ("upper", "lower"):
            end = None if interval is None else interval[0 if self.statistic == "lower" else 1]
            return (value, "value") if end is None else (end, self.statistic)
        if self.statistic == "difference_upper":
            # attacks with a control group: upper limit of attack minus control, undefined without a holdout
            limits = result.details.get("difference_interval")
            return (None if not limits else float(limits[1])), "difference_upper"
        if self.statistic == "excess_upper":
            top = None if interval is None else interval[1]
            if top is None or result.baseline is None or result.baseline >= 1:
                return result.excess, "excess"
            return (top - result.baseline) / (1 - result.baseline), "excess_upper"
        return (value if self.statistic == "value" else result.excess), self.statistic

    def judge(self, result: Result | None) -> Outcome:
        """pass, warn, fail, or not_assessed with the reason."""
        if not self.operator or not self.statistic:
            return self.resolved("lower" if result is None or result.measure is None else result.measure.better).judge(result)
        if result is None:
            return Outcome(self, None, None, self.statistic, "not_assessed", f"{self.measure} was not run")
        if result.status != "ok":
            return Outcome(self, result, None, self.statistic, "not_assessed", str(result.reason))
        figure, label = self.figure(result)
        if figure is None:
            return Outcome(self, result, None, label, "not_assessed", f"{self.measure} has no {self.statistic.replace('_', ' ')} for these data")
        for limit, status in ((self.fail, "fail"), (self.warn, "warn")):
            if limit is not None and not _holds(figure, self.operator, limit):
                return Outcome(self, result, figure, label, status, f"{_number(figure)} {_opposite(self.operator)} {_number(limit)}")
        nearest = self.warn if self.warn is not None else self.fail
        return Outcome(self, result, figure, label, "pass", f"{_number(figure)} {self.operator} {_number(nearest)}")

    def text(self) -> str:
        """The rule as a phrase: ``disco excess <= 0.05 (warn), 0.2 (fail)``."""
        if not self.operator or not self.statistic:
            return self.resolved("lower").text()
        limits = [f"{_number(v)} ({k})" for k, v in (("warn", self.warn), ("fail", self.fail)) if v is not None]
        return f"{self.measure} {self.statistic.replace('_', ' ')} {self.operator} {', '.join(limits)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": self.measure, "statistic": self.statistic, "operator": self.operator, "warn": self.warn, "fail": self.fail,
            "required": self.required, "why": self.why, "options": dict(self.options),
        }  # fmt: skip


@dataclass(frozen=True)
class Policy:
    """A named set of rules, the threats that must have been assessed, and the settings needed to compute them.

    ``others`` says what happens to measures no rule names: "declared" judges them by the limits in their own declaration,
    "inform" shows them and lets them decide nothing. ``require`` None means: no threat was waived, so a verdict on the release
    needs all four, while the exit code looks at the rules only.
    """

    name: str
    rules: tuple[Rule, ...] = ()
    title: str = ""
    why: str = ""
    require: tuple[str, ...] | None = None
    others: Literal["declared", "inform"] = "inform"
    verdict_rule: Literal["threats", "riskutility"] = "threats"
    min_count: int = 5
    run: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read and validate a policy file."""
        path = Path(path)
        if not path.is_file():
            raise InputError(f"policy file not found: {path}; `glasshouse policy init` writes one, and {listed(PRESETS)} are built in")
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"policy file {path} is not UTF-8 text") from None
        return cls.parse(text, str(path))

    @classmethod
    def preset(cls, name: str) -> Policy:
        """A built-in policy: "public", "research" or "secure"; "riskutility" applies that package's own rule."""
        if name == "riskutility":
            return cls(name="riskutility", title="riskutility 0.1.0, for comparison", verdict_rule="riskutility", source="built in",
                       why="reproduces the verdict of disclosure_report() in riskutility 0.1.0, defects included", others="declared")  # fmt: skip
        if name not in PRESETS:
            raise InputError(f"there is no preset {name!r}{closest(name, PRESETS)}; the presets are {listed(PRESETS)}")
        return cls.parse(preset_text(name), "built in")

    @classmethod
    def of(cls, policy: Policy | str | Path | None) -> Policy:
        """A policy from a policy, a preset's name, a path, or nothing: the limits every measure declares for itself."""
        if policy is None:
            return DECLARED
        if isinstance(policy, Policy):
            return policy
        if str(policy) in (*PRESETS, "riskutility"):
            return cls.preset(str(policy))
        return cls.load(policy)

    @classmethod
    def parse(cls, text: str, source: str = "text") -> Policy:
        """A policy from TOML text. Every problem is one sentence that names the place."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise InputError(f"policy {source} is not valid TOML: {problem}") from None
        return cls.from_dict(content, source)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], source: str = "dict") -> Policy:
        """A policy from plain data, validated in the same way as a file."""
        where = f"policy {source}"
        _only(content, _TOP, where)
        if content.get("format", FORMAT) != FORMAT:
            raise InputError(f"{where}: format {content['format']!r} is not known; this version reads format {FORMAT}")
        run = dict(content.get("run", {}))
        _only(run, _RUN, f"{where}, [run]")
        require = content.get("require")
        for threat in require or ():
            _one_of(threat, THREATS, f"{where}: require")
        others = _one_of(content.get("others", "inform"), ("declared", "inform"), f"{where}: others")
        verdict_rule = _one_of(content.get("verdict_rule", "threats"), ("threats", "riskutility"), f"{where}: verdict_rule")
        entries = content.get("rule", [])
        if not isinstance(entries, list):
            raise InputError(f"{where}: rules are written as [[rule]] with double brackets")
        rules = tuple(_rule(entry, f"{where}, rule {i}") for i, entry in enumerate(entries, 1))
        if not rules and others == "inform" and not require:
            raise InputError(f"{where} has no rule, so nothing could be judged; add a [[rule]] or others = \"declared\"")
        min_count = content.get("min_count", 5)
        if not isinstance(min_count, int) or isinstance(min_count, bool) or min_count < 1:
            raise InputError(f"{where}: min_count must be a whole number of at least 1")
        return cls(
            name=str(content.get("name") or Path(source).stem), rules=rules, title=str(content.get("title", "")), why=str(content.get("why", "")),
            require=None if require is None else tuple(require), others=others, verdict_rule=verdict_rule, min_count=min_count, run=run,
            source=source,
        )  # type: ignore[arg-type]  # fmt: skip

    # -- use -----------------------------------------------------------------------------------------------------------

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures the rules look at, in order, each once."""
        return tuple(dict.fromkeys(rule.measure for rule in self.rules))

    def rules_for(self, measure: str) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.measure == measure)

    def options_for(self, measure: str) -> dict[str, Any]:
        """Options the rules ask a measure to be run with."""
        merged: dict[str, Any] = {}
        for rule in self.rules_for(measure):
            merged |= dict(rule.options)
        return merged

    def problems(self, known: Mapping[str, Measure]) -> list[str]:
        """What is wrong with this policy given the measures there are: unknown names, options, or a limit on the wrong side."""
        found = []
        for rule in self.rules:
            if rule.measure not in known:
                found.append(f"there is no measure {rule.measure!r}{closest(rule.measure, known)}")
                continue
            declared = known[rule.measure]
            unknown = [name for name in rule.options if name not in declared.options]
            if unknown:
                found.append(f"{rule.measure} has no option {unknown[0]!r}{closest(unknown[0], declared.options)}")
            filled = rule.resolved(declared.better)
            if _warns_too_late(filled):
                found.append(f"{rule.measure}: the warn limit lies beyond the fail limit, so it could never warn")
            if rule.operator and (declared.better == "lower") != rule.operator.startswith("<"):
                found.append(f"{rule.measure}: {declared.better} is better, so a limit with {rule.operator!r} would reward the worse end")
        for first, rule in enumerate(self.rules):
            for other in self.rules[first + 1 :]:
                if other.measure == rule.measure and any(rule.options.get(k, v) != v for k, v in other.options.items()):
                    found.append(f"two rules ask for {rule.measure} with different options; a measure runs once per assessment")
        return found

    def validated(self, known: Mapping[str, Measure]) -> Policy:
        """This policy, or an error that lists what is wrong with it."""
        found = self.problems(known)
        if found:
            raise InputError(f"policy {self.name!r}: " + "; ".join(found))
        return replace(self, rules=tuple(rule.resolved(known[rule.measure].better) for rule in self.rules))

    def evaluate(self, results: Any) -> PolicyReport:
        """Judge results by the rules. ``results``: an assessment, a mapping name -> Result, or an iterable of Results."""
        results = getattr(results, "results", results)
        by_name = dict(results) if isinstance(results, Mapping) else {r.name: r for r in _several(results)}
        return PolicyReport(self.name, tuple(rule.judge(by_name.get(rule.measure)) for rule in self.rules))

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT, "name": self.name, "title": self.title, "why": self.why, "require": None if self.require is None else list(self.require),
            "others": self.others, "verdict_rule": self.verdict_rule, "min_count": self.min_count, "run": dict(self.run), "rules": [r.to_dict() for r in self.rules],
        }  # fmt: skip

    def __str__(self) -> str:
        return f"{self.name}: {self.title}" if self.title else self.name


DECLARED = Policy(
    name="declared limits", title="the limits each measure declares for itself", others="declared", source="none given",
    why="no policy was given; write one with `glasshouse policy init` and replace limits that do not fit your case",
)  # fmt: skip


def preset_text(name: str) -> str:
    """The commented TOML text of a preset, as ``glasshouse policy init`` writes it."""
    return (files("glasshouse.judgement") / "presets" / f"{name}.toml").read_text(encoding="utf-8")


def _several(results: Any) -> Iterable[Result]:
    return (results,) if isinstance(results, Result) else results


def _rule(entry: Any, where: str) -> Rule:
    if not isinstance(entry, Mapping):
        raise InputError(f"{where} is no table; write [[rule]] and one key = value per line")
    _only(entry, _RULE, where)
    if not isinstance(entry.get("measure"), str):
        raise InputError(f"{where} has no measure, e.g. measure = \"disco\"")
    where = f"{where} ({entry['measure']})"
    warn, fail = entry.get("warn"), entry.get("fail")
    if "limit" in entry:
        if warn is not None or fail is not None:
            raise InputError(f"{where}: write either limit and level, or warn and fail")
        level = _one_of(entry.get("level", "fail"), ("warn", "fail"), f"{where}: level")
        warn, fail = (entry["limit"], None) if level == "warn" else (None, entry["limit"])
    elif "level" in entry:
        raise InputError(f"{where}: level needs a limit")
    for name, limit in (("limit", warn), ("limit", fail)):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit != limit):
            raise InputError(f"{where}: {name} must be a number")
    if warn is None and fail is None:
        raise InputError(f"{where} has no limit; write limit = 0.05, or warn = 0.05 and fail = 0.20")
    operator = _one_of(entry["operator"], OPERATORS, f"{where}: operator") if "operator" in entry else ""
    statistic = _one_of(entry["statistic"], STATISTICS, f"{where}: statistic") if "statistic" in entry else ""
    options = entry.get("options", {})
    if not isinstance(options, Mapping):
        raise InputError(f"{where}: options is a table, e.g. options = {{ tau = 0.3 }}")
    required = entry.get("required", True)
    if not isinstance(required, bool):
        raise InputError(f"{where}: required is true or false")
    return Rule(str(entry["measure"]), statistic, operator, warn, fail, str(entry.get("why", "")), required, dict(options))  # type: ignore[arg-type]


def _warns_too_late(rule: Rule) -> bool:
    """Whether the warn limit lies beyond the fail limit, so that the rule could never warn."""
    if rule.warn is None or rule.fail is None:
        return False
    return rule.warn > rule.fail if rule.operator.startswith("<") else rule.warn < rule.fail


def _only(given: Any, known: tuple[str, ...], where: str) -> None:
    if not isinstance(given, Mapping):
        raise InputError(f"{where} is no table")
    for name in given:
        if name not in known:
            raise InputError(f"{where} has an unknown key {name!r}{closest(name, known)}; it takes: {listed(known)}")


def _one_of(value: Any, known: tuple[str, ...], where: str) -> str:
    if value not in known:
        raise InputError(f"{where} is {value!r}{closest(str(value), known)}; choose one of {listed(known)}")
    return str(value)


def _holds(figure: float, operator: str, limit: float) -> bool:
    return {"<=": figure <= limit, "<": figure < limit, ">=": figure >= limit, ">": figure > limit}[operator]


def _opposite(operator: str) -> str:
    return {"<=": ">", "<": ">=", ">=": "<", ">": "<="}[operator]


def _number(figure: float | None) -> str:
    return "–" if figure is None else str(figure) if isinstance(figure, int) else f"{figure:.4g}"
