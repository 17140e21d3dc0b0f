"""Policy: which limits a release must keep, in a small TOML file that a person can read and a pipeline can run.

    format = 1
    name = "public"
    require = ["identity", "attribute", "membership", "copying"]

    [run]
    keys = ["age", "sex"]
    target = "income"
    seed = 0

    [leak]                     # what being in the data adds: levels, tolerance, power
    fail = 0.01
    tolerance = 5

    [population.rapid]         # what anybody can infer about anybody; decides only where a policy says so
    fail = 0.30

    [[rule]]                   # any other limit on any figure
    measure = "disco"
    statistic = "excess"
    warn = 0.05
    fail = 0.20
    why = "nobody's income may be read off beyond what anyone could guess"

A rule looks at the upper end of the interval unless it names another statistic, and asks for the evidence that the
measure declares unless it names its own (``evidence = {}`` asks for none). Unknown keys are errors: a limit that is
silently not applied is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.limits import STATISTICS, Limit
from glasshouse.core.measure import Measure
from glasshouse.core.options import door
from glasshouse.core.outside import THRESHOLD
from glasshouse.core.paths import as_told, is_file
from glasshouse.core.plain import Content, to_json
from glasshouse.core.result import Result
from glasshouse.core.settings import parse
from glasshouse.core.words import THREATS
from glasshouse.judgement.policy.leak import LeakLevels, parse_leak
from glasshouse.judgement.policy.outcomes import PolicyReport
from glasshouse.judgement.policy.parsing import check_keys, check_min_count, one_of, parse_limit, parse_population

PRESETS = ("public", "research", "secure")
FORMAT = 1
_TOP = (
    "format",
    "name",
    "title",
    "why",
    "require",
    "others",
    "verdict_rule",
    "min_count",
    "run",
    "leak",
    "population",
    "rule",
)
_RUN = ("measures", "keys", "target", "seed", "weights", "cluster", "row_paired", "missing", "exclude")


@door
@dataclass(frozen=True)
class Policy:
    """A named set of rules, the threats that must have been assessed, and the settings needed to compute them.

    Parameters
    ----------
    name, title, why : str
        What it is called, a heading, and what it is for.
    rules : tuple of Limit
        The limits, each with the measure it speaks of.
    leak : LeakLevels, optional
        At which levels what being in the data adds counts as shown, and how large it may be. None: the exchange tests
        inform and decide nothing.
    population : tuple of Limit
        Limits on what anybody can infer about anybody; without them those figures are reported and decide nothing.
    require : tuple of str, optional
        Threats that must have been assessed. None: no threat was waived, so a verdict on the release needs all four,
        while the exit code looks at the rules only.
    others : {"inform", "declared"}
        What happens to measures no rule names: "declared" judges them by the limits in their own declaration,
        "inform" shows them and lets them decide nothing.
    verdict_rule : {"threats", "riskutility"}
        The rule of this house, or that of riskutility 0.1.0 for comparison.
    min_count : int
        Counts below it are not told in an external report; at least 3.
    run : mapping
        Settings of the run: measures, keys, target, seed, weights, cluster, row_paired, missing, exclude.
    source : str
        Where it came from.

    Examples
    --------
    >>> import glasshouse as gh
    >>> policy = gh.Policy.from_dict({"rule": [{"measure": "disco", "statistic": "excess", "limit": 0.1}]})
    >>> policy.measures
    ('disco',)
    """

    name: str
    rules: tuple[Limit, ...] = ()
    leak: LeakLevels | None = None
    population: tuple[Limit, ...] = ()
    title: str = ""
    why: str = ""
    require: tuple[str, ...] | None = None
    others: str = "inform"
    verdict_rule: str = "threats"
    min_count: int = THRESHOLD
    run: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    def __post_init__(self) -> None:
        check_min_count(self.min_count, f"policy {self.name}")

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read and validate a policy file.

        Parameters
        ----------
        path : str or Path
            A TOML file, as ``glasshouse policy init`` writes one.

        Returns
        -------
        Policy
            The policy; a mistake in the file is an InputError that names the place.
        """
        path = Path(path)
        if not is_file(path):
            raise InputError(
                f"policy file not found: {as_told(path)}; `glasshouse policy init` writes one, and {listed(PRESETS)} "
                "are built in"
            )
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"policy file {path} is not UTF-8 text") from None
        return cls.parse(text, str(path))

    @classmethod
    def preset(cls, name: str) -> Policy:
        """A built-in policy.

        Parameters
        ----------
        name : {"public", "research", "secure", "riskutility"}
            Strict to wide; "riskutility" applies that package's own rule, for comparison.

        Returns
        -------
        Policy
            The policy.
        """
        if name == "riskutility":
            return cls(
                name="riskutility",
                title="riskutility 0.1.0, for comparison",
                verdict_rule="riskutility",
                source="built in",
                why="reproduces the verdict of disclosure_report() in riskutility 0.1.0, defects included",
                others="declared",
                leak=LeakLevels(),
            )
        if name not in PRESETS:
            raise InputError(f"there is no preset {name!r}{closest(name, PRESETS)}; the presets are {listed(PRESETS)}")
        return cls.parse(preset_text(name), "built in")

    @classmethod
    def of(cls, policy: Policy | str | Path | None) -> Policy:
        """A policy from whatever a caller may give.

        Parameters
        ----------
        policy : Policy, str, Path or None
            A policy, a preset's name, a path, or nothing: the limits every measure declares for itself.

        Returns
        -------
        Policy
            The policy.
        """
        if policy is None:
            return DECLARED
        if isinstance(policy, Policy):
            return policy
        if str(policy) in (*PRESETS, "riskutility"):
            return cls.preset(str(policy))
        return cls.load(policy)

    @classmethod
    def parse(cls, text: str, source: str = "text") -> Policy:
        """A policy from TOML text. Every problem is one sentence that names the place.

        Parameters
        ----------
        text : str
            The content of a policy file.
        source : str
            What to call it in messages.

        Returns
        -------
        Policy
            The policy.
        """
        return cls.from_dict(parse(text, "toml", f"policy {source}"), source)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], source: str = "dict") -> Policy:
        """A policy from plain data, validated in the same way as a file.

        Parameters
        ----------
        content : mapping
            What a policy file holds, as a dictionary.
        source : str
            What to call it in messages.

        Returns
        -------
        Policy
            The policy.
        """
        where = f"policy {source}"
        check_keys(content, _TOP, where)
        if content.get("format", FORMAT) != FORMAT:
            raise InputError(f"{where}: format {content['format']!r} is not known; this version reads format {FORMAT}")
        check_keys(content.get("run", {}), _RUN, f"{where}, [run]")
        run = dict(content.get("run", {}))
        require = content.get("require")
        if require is not None and (isinstance(require, str) or not isinstance(require, Sequence)):
            raise InputError(f'{where}: require is a list of threats, e.g. require = ["identity", "copying"]')
        for threat in require or ():
            one_of(threat, THREATS, f"{where}: require")
        others = one_of(content.get("others", "inform"), ("declared", "inform"), f"{where}: others")
        verdict_rule = one_of(
            content.get("verdict_rule", "threats"), ("threats", "riskutility"), f"{where}: verdict_rule"
        )
        entries = content.get("rule", [])
        if not isinstance(entries, list):
            raise InputError(f"{where}: rules are written as [[rule]] with double brackets")
        rules = tuple(parse_limit(entry, f"{where}, rule {i}") for i, entry in enumerate(entries, 1))
        # declared limits judge, so the leak does too
        leak = parse_leak(content.get("leak", {}), f"{where}, [leak]")
        judges_leak = "leak" in content or others == "declared"
        population = parse_population(content.get("population", {}), f"{where}, [population]")
        if not (rules or population or judges_leak or require):
            raise InputError(f"{where} has no rule, so nothing could be judged; add [leak] or a [[rule]]")
        min_count = content.get("min_count", THRESHOLD)
        check_min_count(min_count, where)
        made = cls(
            name=str(content.get("name") or Path(source).stem),
            rules=rules,
            leak=leak if judges_leak else None,
            population=population,
            title=str(content.get("title", "")),
            why=str(content.get("why", "")),
            require=None if require is None else tuple(require),
            others=others,
            verdict_rule=verdict_rule,
            min_count=min_count,
            run=run,
            source=source,
        )
        return made._under_its_own_name()

    def _under_its_own_name(self) -> Policy:
        """A preset somebody changed is not called by the preset's name: a reader would take it for that one."""
        if self.source == "built in" or self.name not in PRESETS:
            return self
        if replace(self, source="built in") == Policy.preset(self.name):
            return self
        return replace(self, name=f"{self.name}, changed", title=f"{self.title}, changed" if self.title else "")

    # -- use -----------------------------------------------------------------------------------------------------------

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures the rules look at, in order, each once."""
        return tuple(dict.fromkeys(rule.measure for rule in self.limits))

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Every limit on a single figure: the rules, and those of the population section."""
        return (*self.rules, *self.population)

    def rules_for(self, measure: str) -> tuple[Limit, ...]:
        """The rules that look at one measure.

        Parameters
        ----------
        measure : str
            Its name.

        Returns
        -------
        tuple of Limit
            In the order of the file.
        """
        return tuple(rule for rule in self.rules if rule.measure == measure)

    def options_for(self, measure: str) -> Content:
        """Options the rules ask a measure to be run with.

        Parameters
        ----------
        measure : str
            Its name.

        Returns
        -------
        dict
            Option names and values.
        """
        merged: Content = {}
        for rule in (one for one in self.limits if one.measure == measure):
            merged |= dict(rule.options)
        return merged

    def problems(self, known: Mapping[str, Measure]) -> list[str]:
        """What is wrong with this policy, given the measures there are.

        Parameters
        ----------
        known : mapping of str to Measure
            The measures by name.

        Returns
        -------
        list of str
            One sentence per problem.
        """
        found = []
        for rule in self.limits:
            if rule.measure not in known:
                found.append(f"there is no measure {rule.measure!r}{closest(rule.measure, known)}")
                continue
            declared = known[rule.measure]
            known_statistics = [*STATISTICS, *declared.figures]
            if rule.statistic and rule.statistic not in known_statistics:
                found.append(
                    f"{rule.measure} has no statistic {rule.statistic!r}{closest(rule.statistic, known_statistics)}"
                )
            unknown = [name for name in rule.options if name not in declared.options]
            if unknown:
                found.append(f"{rule.measure} has no option {unknown[0]!r}{closest(unknown[0], declared.options)}")
            if rule.statistic in ("lost", "copied") and declared.side != "utility":
                found.append(f"{rule.measure} is a risk measure and has no statistic {rule.statistic!r}")
            if rule.resolved(declared.better, declared.limits).warns_too_late:
                found.append(f"{rule.measure}: the warn limit lies beyond the fail limit, so it could never warn")
            harmless = rule.direction(declared.better, declared.limits)
            if rule.operator and rule.operator[0] != harmless[0]:
                end = "lower" if harmless.startswith("<") else "higher"
                found.append(
                    f"{rule.measure}: {end} is better, so a limit with {rule.operator!r} would reward the worse end"
                )
        for first, rule in enumerate(self.limits):
            for other in self.limits[first + 1 :]:
                if other.measure == rule.measure and any(rule.options.get(k, v) != v for k, v in other.options.items()):
                    found.append(
                        f"two rules ask for {rule.measure} with different options; a measure runs once per assessment"
                    )
        return found

    def validated(self, known: Mapping[str, Measure]) -> Policy:
        """This policy with everything its rules leave open filled in, or an error that lists what is wrong with it.

        Parameters
        ----------
        known : mapping of str to Measure
            The measures by name.

        Returns
        -------
        Policy
            The same policy; operators, statistics and evidence come from the measures' declarations.
        """
        found = self.problems(known)
        if found:
            raise InputError(f"policy {self.name!r}: " + "; ".join(found))
        return replace(
            self,
            rules=tuple(_filled(rule, known[rule.measure]) for rule in self.rules),
            population=tuple(_filled(rule, known[rule.measure]) for rule in self.population),
        )

    def evaluate(self, results: Any) -> PolicyReport:
        """Judge results by the rules.

        Parameters
        ----------
        results : Assessment, mapping of str to Result, Result or iterable of Result
            What was measured.

        Returns
        -------
        PolicyReport
            One outcome per rule.
        """
        results = getattr(results, "results", results)
        several = list(results.values() if isinstance(results, Mapping) else _several(results))
        if not all(isinstance(one, Result) for one in several):
            raise InputError(f"results are an Assessment or Results, not a value of type {type(results).__name__}")
        by_name = dict(results) if isinstance(results, Mapping) else {r.name: r for r in several}
        return PolicyReport(self.name, tuple(rule.judge(by_name.get(rule.measure)) for rule in self.limits))

    def to_dict(self) -> Content:
        """The policy as plain data.

        Returns
        -------
        dict
            In the words of a policy file.
        """
        return {
            "format": FORMAT,
            "name": self.name,
            "title": self.title,
            "why": self.why,
            "require": None if self.require is None else list(self.require),
            "others": self.others,
            "verdict_rule": self.verdict_rule,
            "min_count": self.min_count,
            "run": dict(self.run),
            "leak": None if self.leak is None else self.leak.to_dict(),
            "population": [r.to_dict() for r in self.population],
            "rules": [r.to_dict() for r in self.rules],
        }

    @property
    def fingerprint(self) -> str:
        """Short hash of what the policy says with everything its rules leave open filled in, wherever it came from: 16
        hexadecimal digits of SHA-256."""
        from glasshouse.catalogue import all_measures

        return sha256(to_json(self.validated(all_measures()).to_dict()).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return f"{self.name}: {self.title}" if self.title else self.name


DECLARED = Policy(
    name="declared limits",
    title="the default levels of the leak tests",
    leak=LeakLevels(),
    others="declared",
    source="none given",
    why="no policy was given; name a preset (public, research, secure) or a file of your own that fits your case",
)


def preset_text(name: str) -> str:
    """The commented TOML text of a preset, as ``glasshouse policy init`` writes it."""
    return (files("glasshouse.judgement.policy") / "presets" / f"{name}.toml").read_text(encoding="utf-8")


def _filled(rule: Limit, measure: Measure[Result]) -> Limit:
    """The rule with what it leaves open taken from the measure, its evidence included."""
    return rule.resolved(measure.better, measure.limits)


def _several(results: Any) -> Iterable[Any]:
    return results if isinstance(results, Iterable) else (results,)
