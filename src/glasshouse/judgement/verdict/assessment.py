"""Assessment: every result, what the policy says about it, and one verdict.

It prints itself and writes every kind of report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasshouse.core.errors import InputError
from glasshouse.core.plain import to_json
from glasshouse.core.result import Result
from glasshouse.judgement.overview import call, overview
from glasshouse.judgement.policy.outcomes import PolicyIncomplete, PolicyReport, PolicyViolation
from glasshouse.judgement.policy.policy import THREATS, Policy
from glasshouse.judgement.redaction import Redactor
from glasshouse.judgement.verdict import compat
from glasshouse.judgement.verdict.advice import Recommendation, recommend
from glasshouse.judgement.verdict.threats import Judged, Threat, established, overall
from glasshouse.judgement.writing import write_atomically

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

SCHEMA = "glasshouse.assessment"
SCHEMA_VERSION = 1
AUDIENCES = ("internal", "external")
MARKS = {"pass": "●", "warn": "▲", "fail": "✖", "incomplete": "◌", "not_assessed": "◌", "failed": "◌", "no_limit": "·"}
HEADLINES = {
    "pass": "No limit is broken, and every threat the policy requires was assessed.",
    "warn": "Review before release: no limit is broken, but some figures are close to or above the point of concern.",
    "fail": "At least one limit is broken.",
    "incomplete": "No verdict: not every threat could be assessed, and what was not assessed does not count as safe.",
}
NOT_COVERED = (
    "Figures hold for the stated keys, target and attackers. They are measurements on this release, not a "
    "formal guarantee: an attacker who knows more, or "
    "attacks otherwise, may learn more."
)


@dataclass(frozen=True, eq=False)
class Assessment:
    """What ``gh.assess`` returns."""

    pair: Pair
    policy: Policy
    results: dict[str, Result]
    judged: tuple[Judged, ...]
    threats: dict[str, Threat]
    outcomes: PolicyReport
    drivers: dict[str, Any] | None
    people: dict[str, Any] | None
    notes: tuple[str, ...]
    measures: str | tuple[str, ...]
    seed: int
    options: Mapping[str, Any]
    explicit: bool
    timing: dict[str, float] = field(default_factory=dict)

    # -- verdict -------------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """ "pass", "warn", "fail" or "incomplete"."""
        if self.policy.verdict_rule == "riskutility":
            return compat.VERDICT[compat.level(list(compat.statuses(self.results).values()))]
        required = THREATS if self.policy.require is None else self.policy.require
        found = overall({name: t.status for name, t in self.threats.items()}, required)
        rules = self.outcomes.status
        order = ("pass", "warn", "incomplete", "fail")
        return max(found, rules, key=order.index)

    @property
    def level(self) -> str:
        """The verdict as LOW, MEDIUM, HIGH or INCOMPLETE."""
        return compat.LEVEL[self.verdict]

    @property
    def at_least(self) -> str | None:
        """For an incomplete verdict: "warn" when what was assessed already warns."""
        warned = any(t.status == "warn" for t in self.threats.values()) or any(
            o.status == "warn" for o in self.outcomes.outcomes
        )
        return "warn" if self.verdict == "incomplete" and warned else None

    @property
    def exit_code(self) -> int:
        """0 policy met, 1 violated, 3 something required could not be measured; without a policy the verdict
        decides.
        """
        if not self.explicit or self.policy.verdict_rule == "riskutility":
            return {"fail": 1, "incomplete": 3}.get(self.verdict, 0)
        open_threat = self.policy.require is not None and any(
            self.threats[name].status == "not_assessed" for name in self.policy.require
        )
        if self.outcomes.unmeasured or open_threat:
            return 3
        declared_fail = self.policy.others == "declared" and self.verdict == "fail"
        return 1 if self.outcomes.violations or declared_fail else 0

    def raise_for_status(self) -> Assessment:
        """Return quietly when the policy is met; raise otherwise."""
        if self.verdict == "fail":
            raise PolicyViolation(f"policy {self.policy.name!r}: {self.summary()}")
        if self.exit_code == 3:
            raise PolicyIncomplete(f"policy {self.policy.name!r}: {self.summary()}")
        return self

    @property
    def headline(self) -> str:
        """The verdict in plain words."""
        text = HEADLINES[self.verdict]
        if self.verdict == "incomplete" and self.at_least:
            text += " What was assessed already calls for review."
        waived = [t.name for t in self.threats.values() if t.status == "not_assessed" and not t.required]
        if waived:
            text += f" The policy does not ask about {' and '.join(waived)}; this was not assessed."
        return text

    @property
    def ranked(self) -> list[Threat]:
        """Threats, the deciding one first; what is established counts before what could not be ruled out."""
        order = {"fail": 3, "not_assessed": 2, "warn": 1, "pass": 0}

        def rank(threat: Threat) -> tuple[int, bool, float]:
            worst = self.results.get(threat.worst or "")
            severity = order[threat.status] if threat.required or threat.status != "not_assessed" else -1
            return severity, worst is None or established(worst), 0.0 if worst is None else worst.excess or 0.0

        return sorted(self.threats.values(), key=rank, reverse=True)

    @property
    def leading(self) -> Threat:
        """The threat that decides the verdict."""
        return self.ranked[0]

    @cached_property
    def recommendations(self) -> tuple[Recommendation, ...]:
        return recommend(self.pair, self.judged, self.drivers)

    @cached_property
    def redactor(self) -> Redactor:
        return Redactor(self.pair, self.policy.min_count)

    @cached_property
    def overview(self) -> dict[str, Any]:
        """Sizes, roles, columns, findings, fingerprints."""
        return overview(self.pair)

    @property
    def call(self) -> str:
        """The call that gives the same figures again."""
        policy = (
            None if not self.explicit else self.policy.name if self.policy.source == "built in" else self.policy.source
        )
        return call(self.pair, policy, self.measures, self.seed, self.options)

    def judgement_of(self, name: str) -> Judged:
        return next(j for j in self.judged if j.name == name)

    # -- plain data ----------------------------------------------------------------------------------------------------

    def to_dict(self, audience: str = "internal", timing: bool = False) -> dict[str, Any]:
        """Everything as plain objects. External: no original value, no record, no count below the policy's minimum."""
        _check(audience)
        external = audience == "external"
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "audience": audience,
            "verdict": self.verdict,
            "at_least": self.at_least,
            "headline": self.headline,
            "covers": NOT_COVERED,
            "threats": {name: self._threat(t, external) for name, t in self.threats.items()},
            "policy": self.policy.to_dict(),
            "outcomes": [self._outcome(o.to_dict(), external) for o in self.outcomes.outcomes],
            "results": {name: self._result(self.judgement_of(name), external) for name in self.results},
            "recommendations": [] if external else [r.to_dict() for r in self.recommendations],
            "drivers": None if external else self.drivers,
            "people": self._people(external),
            "notes": [self.redactor.reason(n) if external else n for n in self.notes],
            "data": self._data(external),
            "run": {
                "seed": self.seed,
                "measures": self.measures if isinstance(self.measures, str) else list(self.measures),
                "call": self.call,
                "versions": self.pair.describe()["versions"],
            },
        }
        if external:
            content["recommendations"] = [r.to_dict() for r in self.recommendations if self.safe(r.text)]
        if timing:
            content["timing"] = {
                "seconds": {k: round(v, 3) for k, v in self.timing.items()},
                "total": round(sum(self.timing.values()), 3),
            }
        return content

    def safe(self, text: str) -> bool:
        """Whether a text of ours may stand in an external report."""
        red = self.redactor
        return not (red.holds_label(text) or red.holds_small_count(text) or red.holds_number(text))

    def sentence(self, name: str, external: bool) -> str:
        return self.redactor.sentence(self.results[name]) if external else self.results[name].sentence

    def _threat(self, threat: Threat, external: bool) -> dict[str, Any]:
        content = threat.to_dict()
        if external:
            content["sentence"] = (
                self.redactor.sentence(self.results[threat.worst])
                if threat.worst
                else self.redactor.reason(threat.sentence)
            )
            content["missing"] = [self.redactor.reason(m) for m in threat.missing]
        return content

    def _outcome(self, content: dict[str, Any], external: bool) -> dict[str, Any]:
        result = self.results.get(content["measure"])
        if external and result is not None and result.status == "ok" and self.redactor.value(result)[1] is not None:
            content |= {"figure": None, "comparison": "figure left out: it stands for few people"}
        return content

    def _result(self, judged: Judged, external: bool) -> dict[str, Any]:
        result, measure = judged.result, judged.measure
        content = result.to_dict("external" if external else "internal")
        options = {k: v for k, v in result.settings.get("options", {}).items() if k != "n_jobs"}
        shown: dict[str, Any] = {
            "side": measure.side,
            "family": measure.family,
            "threat": measure.threat,
            "judgement": judged.status,
            "role": judged.role,
            "limits": judged.limits,
            "direction": f"{measure.better} is better",
            "unit": measure.unit,
        }
        content = {**content, **shown, "settings": {"options": options}}
        content["replicates"] = [{"value": r.value, "status": r.status} for r in result.replicates]
        if external:
            value, instead = self.redactor.value(result)
            content |= {
                "value": value,
                "sentence": self.redactor.sentence(result),
                "details": self.redactor.details(result),
                "reason": self.redactor.reason(result.reason),
                "warnings": [self.redactor.reason(w) for w in result.warnings],
                "settings": {"options": self.redactor.options(result)},
                "replicates": [],
            }
            content["settings"]["options"].pop("n_jobs", None)
            if instead is not None:
                content |= {"shown": instead, "excess": None, "interval": None, "holdout": None}
        return content

    def _people(self, external: bool) -> dict[str, Any] | None:
        if self.people is None or not external:
            return self.people
        flagged = self.people["flagged"]
        few = 0 < flagged < self.policy.min_count
        return {
            "measure": self.people["measure"],
            "flagged": f"<{self.policy.min_count}" if few else flagged,
            "of": self.people["of"],
        }

    def _data(self, external: bool) -> dict[str, Any]:
        if not external:
            return self.overview
        low = self.policy.min_count
        columns = [
            {
                **{k: c[k] for k in ("name", "kind", "role")},
                "missing": {t: f"<{low}" if 0 < n < low else n for t, n in c["missing"].items()},
            }
            for c in self.overview["columns"]
        ]
        return {**self.overview, "columns": columns, "findings": []}

    # -- reports -------------------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None, *, audience: str = "internal", timing: bool = False) -> str:
        """The assessment as JSON text, byte-identical for the same inputs and seed; written to ``path`` when given."""
        return _deliver(to_json(self.to_dict(audience, timing)) + "\n", path)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        audience: str = "internal",
        ru_map: Any = None,
        title: str | None = None,
    ) -> str:
        """One self-contained page.

        ``ru_map``: the result of ``gh.compare``, shown when several releases were compared.
        """
        _check(audience)
        return _deliver(_renderer("html")(self, audience=audience, ru_map=ru_map, title=title), path)

    def to_markdown(self, path: str | Path | None = None, *, audience: str = "internal") -> str:
        """A summary for a job page or a ticket."""
        _check(audience)
        return _deliver(_renderer("markdown")(self, audience=audience), path)

    def to_junit(self, path: str | Path | None = None, *, audience: str = "internal") -> str:
        """JUnit XML for a pipeline: one test case per rule and per threat."""
        _check(audience)
        return _deliver(_renderer("junit")(self, audience=audience), path)

    def plot(self) -> Any:
        """All threats on one shared axis, as an Altair chart."""
        return import_module("glasshouse.show.charts.assessment").threats(self)

    def summary(self) -> str:
        """The verdict and the sentence that matters most."""
        return f"{self.headline} {self.leading.name.capitalize()}: {self.leading.sentence}"

    def __repr__(self) -> str:
        lines = [f"{MARKS[self.verdict]} {self.verdict.upper()}  {self.headline}", f"policy: {self.policy}", ""]
        for threat in self.threats.values():
            lines.append(
                f"  {MARKS[threat.status]} {threat.name:<10} {threat.status.replace('_', ' '):<12} {threat.worst or ''}"
            )
            lines.append(f"      {threat.sentence}")
        lines += ["", *(f"  → {r.text}" for r in self.recommendations[:3])]
        failed = [j.name for j in self.judged if j.status == "failed"]
        if failed:
            lines += ["", f"  {len(failed)} measure(s) failed: {', '.join(failed)}; see .results[name].reason"]
        return "\n".join(lines).rstrip()

    def _repr_html_(self) -> str:
        text: str = _renderer("notebook")(self)
        return text


def _renderer(kind: str) -> Any:
    """The room of pictures and pages lies to the right of this one, so it is looked up by name when a page is
    wanted.
    """
    return import_module(f"glasshouse.show.report.{kind}").render


def _deliver(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_atomically(path, text)
    return text


def _check(audience: str) -> None:
    if audience not in AUDIENCES:
        raise InputError(f"audience={audience!r} is not known; it is 'internal' or 'external'")
