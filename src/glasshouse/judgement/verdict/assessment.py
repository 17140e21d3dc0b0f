"""Assessment: every result, what the policy says about it, and one verdict.

It prints itself and writes every kind of report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError, Named
from glasshouse.core.options import door
from glasshouse.core.plain import Content, plain, to_json
from glasshouse.core.printing import card
from glasshouse.core.result import Frame, Result
from glasshouse.core.words import MARKS, THREATS, plural, visible
from glasshouse.core.writing import delivered
from glasshouse.judgement.content import content
from glasshouse.judgement.overview import call, overview
from glasshouse.judgement.policy.outcomes import PolicyIncomplete, PolicyReport, PolicyViolation
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.run import safely
from glasshouse.judgement.verdict import compat
from glasshouse.judgement.verdict.advice import Recommendation, recommend
from glasshouse.judgement.verdict.decision import decision, verdict_of
from glasshouse.judgement.verdict.drivers import Drivers, People
from glasshouse.judgement.verdict.headline import headline, ranked
from glasshouse.judgement.verdict.judged import Judged
from glasshouse.judgement.verdict.leak import LeakDecision
from glasshouse.judgement.verdict.threats import Threat

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.judgement.rumap.map import RUMap


@door
@dataclass(frozen=True, eq=False)
class Assessment:
    """What ``gh.assess`` returns: every result, what the policy says about it, and one verdict.

    Attributes
    ----------
    pair, policy
        What was assessed, and by which policy.
    results : dict of str to Result
        Every measure's result.
    judged : tuple of Judged
        The same under the policy: status, role, the limits behind it.
    leak : LeakDecision or None
        What being in the data adds, over all measures: the axis that makes pass, warn and fail.
    threats : dict of str to Threat
        Identity, attribute, membership, copying.
    outcomes : PolicyReport
        Every rule of the policy applied.
    drivers, people
        Which keys drive the risk, and who is at risk; None where that has no meaning.
    notes : tuple of str
        What a reader must know about the run.
    measures, seed, options, explicit, timing
        How it was run.
    measured
        The results before any policy judged them.
    """

    pair: Pair
    policy: Policy
    results: dict[str, Result]
    judged: tuple[Judged, ...]
    leak: LeakDecision | None
    threats: dict[str, Threat]
    outcomes: PolicyReport
    drivers: Drivers | None
    people: People | None
    notes: tuple[str, ...]
    measures: str | tuple[str, ...]
    seed: int
    options: Mapping[str, Any]
    explicit: bool
    timing: dict[str, float] = field(default_factory=dict)
    measured: Mapping[str, Result] = field(default_factory=dict, repr=False)
    _contents: dict[str, Content] = field(default_factory=dict, repr=False)

    # -- verdict -------------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """ "pass", "warn", "fail" or "incomplete"."""
        return verdict_of(self.policy, self.results, self.threats, self.outcomes)

    @property
    def level(self) -> str:
        """The verdict as LOW, MEDIUM, HIGH or INCOMPLETE."""
        return compat.LEVEL[self.verdict]

    @property
    def at_least(self) -> str | None:
        """For an incomplete verdict: "warn" when what was assessed already warns."""
        leaks = () if self.leak is None else self.leak.threats.values()
        warned = any(x.status == "warn" for x in (*self.threats.values(), *leaks, *self.outcomes.outcomes))
        return "warn" if self.verdict == "incomplete" and warned else None

    @property
    def exit_code(self) -> int:
        """0 policy met, 1 violated, whatever else is missing, 3 nothing violated but something required not measured.

        Without a policy the verdict decides.
        """
        if self.verdict == "fail":
            return 1
        if not self.explicit or self.policy.verdict_rule == "riskutility":
            return 3 if self.verdict == "incomplete" else 0
        required = self.policy.require
        if required is None:  # whoever judges leaks and waives no threat asks for all of them
            required = THREATS if self.policy.leak is not None else ()
        open_threat = any(self.threats[name].status == "not_assessed" for name in required)
        return 3 if self.outcomes.unmeasured or open_threat else 0

    def raise_for_status(self) -> Assessment:
        """Return quietly when the policy is met; raise otherwise.

        Returns
        -------
        Assessment
            This assessment.
        """
        if self.verdict == "fail":
            raise PolicyViolation(f"policy {self.policy.name!r}: {self.summary()}")
        if self.exit_code == 3:
            raise PolicyIncomplete(f"policy {self.policy.name!r}: {self.summary()}")
        return self

    @property
    def population(self) -> dict[str, Result]:
        """What anybody can infer about anybody from the release: facts about the population, which decide nothing
        unless the policy has a limit for them."""
        return {
            name: r
            for name, r in self.results.items()
            if r.measure is not None and r.measure.population and r.value is not None
        }

    def under(self, policy: Policy | str | Path | None) -> Assessment:
        """The same results under another policy; nothing is computed again.

        Parameters
        ----------
        policy : Policy, str, Path or None
            What ``gh.assess`` takes. What the policy asks for and was not run stays open.

        Returns
        -------
        Assessment
            With the same results, judged anew.
        """
        chosen = Policy.of(policy).validated(all_measures())
        made = decision(self.pair, chosen, self.measured or self.results)
        return replace(
            self,
            policy=chosen,
            results=made.results,
            judged=made.judged,
            leak=made.leak,
            threats=made.threats,
            outcomes=made.outcomes,
            explicit=policy is not None,
            _contents={},
        )

    @property
    def headline(self) -> str:
        """The verdict in plain words, with what decided it."""
        return headline(self)

    @property
    def ranked(self) -> list[Threat]:
        """Threats, the deciding one first: the gravest, then what decides alone, then the smallest p value."""
        return ranked(self.threats.values())

    @property
    def leading(self) -> Threat:
        """The threat that decides the verdict."""
        return self.ranked[0]

    @cached_property
    def recommendations(self) -> tuple[Recommendation, ...]:
        broken = {o.limit.measure: o.status for o in self.outcomes.outcomes if o.limit in self.policy.population}
        return recommend(self.pair, self.judged, self.drivers, broken)

    @cached_property
    def overview(self) -> Content:
        """Sizes, roles, columns, findings, fingerprints."""
        return overview(self.pair)

    @property
    def call(self) -> str:
        """The call that gives the same figures again."""
        policy = (
            None if not self.explicit else self.policy.name if self.policy.source == "built in" else self.policy.source
        )
        return call(self.pair, policy, self.measures, self.seed, self.options, self.results)

    def judgement_of(self, name: str) -> Judged:
        """One measure under the policy.

        Parameters
        ----------
        name : str
            The measure.

        Returns
        -------
        Judged
            Its status, its role, and the limits behind it.
        """
        return Named("measure in this assessment", {j.name: j for j in self.judged})[name]

    # -- plain data ----------------------------------------------------------------------------------------------------

    def content(self, audience: str = "internal") -> Content:
        """Everything a reader may see, redacted once; what every output draws.

        Parameters
        ----------
        audience
            "internal", or "external": no original value, no record, no count below the policy's minimum.

        Returns
        -------
        dict
            Plain data with a versioned schema, described in ``docs/content.md``.
        """
        if audience not in self._contents:
            self._contents[audience] = plain(content(self, audience))
        return self._contents[audience]

    def to_dict(self, audience: str = "internal", timing: bool = False) -> Content:
        """The content, and on request the seconds each measure took.

        Parameters
        ----------
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        timing : bool
            Whether to add the seconds; they differ from run to run, and are never told outside.

        Returns
        -------
        dict
            Plain data.
        """
        shown = dict(self.content(audience))
        if timing and audience == "internal":  # how long a search took tells what was found
            shown["timing"] = {
                "seconds": {k: round(v, 3) for k, v in self.timing.items()},
                "total": round(sum(self.timing.values()), 3),
            }
        return shown

    def to_frame(self) -> Frame:
        """The results as a table.

        Returns
        -------
        frame
            One row per measure, in the user's own library: what it is, its status and figures, the verdict on it, and
            the sentence or the reason why there is none.
        """
        rows = list(self.results.values())
        figures = ("value", "baseline", "excess", "holdout", "difference", "p_value")
        columns: Content = {
            "measure": [one.name for one in rows],
            **{k: [getattr(one.measure, k, None) for one in rows] for k in ("side", "family", "threat")},
            "status": [one.status for one in rows],
            **{k: [getattr(one, k) for one in rows] for k in figures},
            "low": [None if one.interval is None else one.interval[0] for one in rows],
            "high": [None if one.interval is None else one.interval[1] for one in rows],
            "verdict": [one.verdict for one in rows],
            "sentence": [one.sentence if one.status == "ok" else one.reason for one in rows],
        }
        return self.pair.plain_frame(columns)

    # -- reports -------------------------------------------------------------------------------------------------------

    def to_json(
        self,
        path: str | Path | None = None,
        *,
        audience: str = "internal",
        timing: bool = False,
        mode: int | None = None,
    ) -> str:
        """The assessment as JSON text, byte-identical for the same inputs and seed.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        timing : bool
            Whether to add the seconds each measure took; never told outside.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        str
            The text.
        """
        return delivered(to_json(self.to_dict(audience, timing)) + "\n", path, mode)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        audience: str = "internal",
        ru_map: RUMap | None = None,
        title: str | None = None,
        mode: int | None = None,
    ) -> str:
        """One self-contained page: first what prints on one sheet, then the long part, folded.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        ru_map : RUMap, optional
            The result of ``gh.compare``, shown when several releases were compared.
        title : str, optional
            The heading.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        str
            The page.
        """
        return delivered(self._page(audience, ru_map, title), path, mode)

    def to_pdf(
        self,
        path: str | Path | None = None,
        *,
        audience: str = "internal",
        pages: str = "all",
        ru_map: RUMap | None = None,
        title: str | None = None,
        mode: int | None = None,
    ) -> bytes:
        """The page as PDF, printed on A4 by the Chromium (or Chrome, or Edge) of this machine; nothing leaves it.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        pages : {"all", "first"}
            "first": the sheet with the verdict, what to do and the lines to sign. "all": the long part after it, open.
        ru_map : RUMap, optional
            The result of ``gh.compare``, shown when several releases were compared.
        title : str, optional
            The heading.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        bytes
            The PDF.

        Notes
        -----
        The environment variable ``GLASSHOUSE_CHROMIUM`` names a browser that is not found by itself. Where there is
        none, the error says so: write ``to_html`` and print that.
        """
        if pages not in ("all", "first"):
            raise InputError(f"pages={pages!r} is not known; it is 'all' or 'first'")
        whole = pages == "all"
        printed = import_module("glasshouse.show.report.pdf").printed
        made: bytes = printed(self._page(audience, ru_map, title, whole))
        return delivered(made, path, mode)

    def _page(self, audience: str, ru_map: RUMap | None, title: str | None, whole: bool = False) -> str:
        shown = self.content(audience)
        inside = audience == "internal"  # how long a search took tells what was found
        results, timing = (self.results, self.timing) if inside else ({}, None)
        page: str = _renderer("html")(shown, results=results, ru_map=ru_map, title=title, timing=timing, whole=whole)
        return page

    def to_markdown(
        self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None
    ) -> str:
        """A summary for a job page or a ticket.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        str
            Markdown.
        """
        return delivered(_renderer("markdown")(self.content(audience)), path, mode)

    def to_junit(self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None) -> str:
        """JUnit XML for a pipeline: one test case per rule and per threat.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        str
            XML.
        """
        return delivered(_renderer("junit")(self.content(audience)), path, mode)

    def plot(self) -> Any:
        """All threats on one shared axis.

        Returns
        -------
        altair.Chart
            The picture.
        """
        from glasshouse.core.charts import need_altair

        need_altair()
        return import_module("glasshouse.show.charts.assessment").threats(self.content())

    def summary(self) -> str:
        """The verdict and the sentence that matters most.

        Returns
        -------
        str
            One or two sentences.
        """
        if self.verdict in ("warn", "fail") and self.leading.status != self.verdict:
            rule = next((o for o in self.outcomes.outcomes if o.status == self.verdict), None)
            return self.headline if rule is None else f"{self.headline} {self.results[rule.limit.measure].sentence}"
        return f"{self.headline} {self.leading.name.capitalize()}: {self.leading.sentence}"

    def __repr__(self) -> str:
        lines = [f"{MARKS[self.verdict]} {self.verdict.upper()}  {self.headline}", f"policy: {self.policy}"]
        found, _ = safely(self.pair.check)
        lines += [*(f"before you read on: {one.message}" for one in found or () if one.first), ""]
        for threat in self.threats.values():
            lines.append(
                f"  {MARKS[threat.status]} {threat.name:<10} {threat.status.replace('_', ' '):<12} {threat.worst or ''}"
            )
            lines.append(f"      {threat.sentence}")
        lines += ["", *(f"  → {r.text}" for r in self.recommendations[:3]), *(f"  note: {note}" for note in self.notes)]
        failed = [j.name for j in self.judged if j.status == "failed"]
        if failed:
            many = f"{len(failed)} {plural(len(failed), 'measure')}"
            lines += ["", f"  {many} failed: {', '.join(failed)}; see .results[name].reason"]
        return visible("\n".join(lines).rstrip())

    def _repr_html_(self) -> str:
        return card(self)


def _renderer(kind: str) -> Any:
    """The room of pictures and pages lies to the right of this one, so it is looked up by name when a page is
    wanted.
    """
    return import_module(f"glasshouse.show.report.{kind}").render
