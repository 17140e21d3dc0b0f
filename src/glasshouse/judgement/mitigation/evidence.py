"""What the search knows of a candidate: how far it is from the policy, what it costs, where it stands on the map.

The same runner, the same decision and the same scales as in an assessment and on a map. A candidate is asked first by
the measures that decided against the release; only one that gets past them is asked by all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log10

import numpy as np

from glasshouse.core.measure import AnyMeasure
from glasshouse.core.result import Result
from glasshouse.core.streams import generator
from glasshouse.data.pair import Pair
from glasshouse.judgement.policy.leak import LeakLevels
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.rumap.anchoring import anchor_of, measured_ghosts
from glasshouse.judgement.rumap.candidates import axes
from glasshouse.judgement.rumap.figures import Kind, figure, kind_of
from glasshouse.judgement.rumap.order import composite_of, measure_weights
from glasshouse.judgement.rumap.scales import Anchor
from glasshouse.judgement.run import Options, run
from glasshouse.judgement.selection import select
from glasshouse.judgement.verdict.decision import Decision, decision

SAMPLES = 4  # honest samples that tell the noise of utility
SURE = 6.0  # so many powers of ten below its level a p value counts as hopeless
# Whoever picks among many candidates picks lucky ones: the first must keep twice the levels of the policy, and more the
# later it comes, up to six times (0.3 in the presets). Natural candidates come early, and most clean ones pass.
FIRST, LATEST, SLOWLY = 2.0, 6.0, 5
MOST_TESTS = {"copying": 2}  # tests of one threat that are asked first; one of the others
SIDES = {"risk": "disclosure", "utility": "utility"}


@dataclass
class Candidate:
    """What was found about one release so far.

    Attributes
    ----------
    pair
        The release beside the original and the half of the holdout that steers.
    results
        By measure, as far as they were asked for.
    """

    pair: Pair
    results: dict[str, Result] = field(default_factory=dict)

    def forget(self) -> None:
        """Let go of what measures worked out on the way: a search keeps dozens of releases, and trees and encodings of
        each are many times the release."""
        self.pair.forget()


class Bench:
    """Measures candidates of one original: the fixed points of the scales are measured once.

    Parameters
    ----------
    pair
        The release as it came, with the people who steer.
    policy
        A validated policy.
    options
        Options per measure.
    seed
        Of every measure.
    n_jobs
        Threads.
    measures
        What a whole assessment would run.
    """

    def __init__(
        self, pair: Pair, policy: Policy, options: Options, seed: int, n_jobs: int | None, measures: str | Iterable[str]
    ) -> None:
        self.pair, self.policy, self.options, self.seed, self.n_jobs = pair, stricter(policy), options, seed, n_jobs
        self._given = policy
        self.judging = [m for m in select(measures, policy, pair.row_paired) if m.side == "disclosure"]
        placed = axes(None, None, "default")
        self.placed = {side: [m for m in placed.values() if m.side == name] for side, name in SIDES.items()}
        self.utility = [m for m in select("full", policy) if m.side == "utility"]
        self.alarms = [m for m in self.placed["utility"] if m.alarm]
        self._anchors: dict[str, dict[str, Anchor]] = {}
        self._kinds: dict[str, Kind] = {}

    # -- asking --------------------------------------------------------------------------------------------------------

    def ask(self, candidate: Candidate, measures: Sequence[AnyMeasure]) -> None:
        """Run the measures that have not been asked yet."""
        missing = [m for m in measures if m.name not in candidate.results]
        if missing:
            found = run(missing, candidate.pair, seed=self.seed, options=self.options, n_jobs=self.n_jobs)
            candidate.results |= found.results

    def decide(self, candidate: Candidate, measures: Sequence[AnyMeasure]) -> Decision:
        """What the policy says, as far as some measures tell."""
        self.ask(candidate, measures)
        asked = {m.name for m in measures}
        return decision(candidate.pair, self.policy, {n: r for n, r in candidate.results.items() if n in asked})

    def judge(self, candidate: Candidate, tried: int = 1) -> Decision:
        """What the policy says on the whole, to a candidate that is the ``tried``-th."""
        measures = [*self.judging, *self.alarms]
        self.ask(candidate, measures)
        wanted = {m.name for m in measures}
        results = {n: r for n, r in candidate.results.items() if n in wanted}
        return decision(candidate.pair, stricter(self._given, tried), results)

    @property
    def open(self) -> tuple[str, ...]:
        """What a search has to put right."""
        return ("fail",) if self.pair.row_paired else ("warn", "fail")

    # -- how far from the policy ---------------------------------------------------------------------------------------

    def against(self, made: Decision) -> list[AnyMeasure]:
        """The measures that decide against a release: what failed or warned, of each threat the surest first."""
        found: dict[str, AnyMeasure] = {}
        for threat in made.threats.values():
            if threat.status not in ("warn", "fail"):
                continue
            tested = [] if threat.leak is None else sorted(threat.leak.tests, key=lambda t: t.p)
            names = [threat.worst, *(t.name for t in tested)]
            for name in list(dict.fromkeys(n for n in names if n is not None))[: MOST_TESTS.get(threat.name, 1)]:
                found[name] = next(j.measure for j in made.judged if j.name == name)
        for one in made.outcomes.outcomes:
            if one.status in ("warn", "fail"):
                found[one.limit.measure] = next(j.measure for j in made.judged if j.name == one.limit.measure)
        return list(found.values())

    def shortfall(self, made: Decision) -> float:
        """How far a release is from the policy: 0 where it meets it.

        The sum over threats and limits of how many powers of ten a p value lies below its level, and the share of
        members exposed beyond strangers; a broken limit counts by how far it is passed. Limits on a file whose rows are
        those of the original are counted and not tested, so there a warning is no distance: it meets the policy.
        """
        return sum(self.shortfalls(made).values())

    def shortfalls(self, made: Decision) -> dict[str, float]:
        """The same by threat; limits of measures without a threat stand under an empty name."""
        levels = self.policy.leak or LeakLevels()
        parts: dict[str, float] = {}
        for name, threat in made.threats.items():
            leak = threat.leak
            if threat.status not in self.open:
                continue
            parts[name] = {"fail": 0.5, "warn": 0.1}[threat.status]
            if leak is not None:
                tests = [(max(0.0, log10(levels.warn / max(t.p, 1e-300))), t.exposure) for t in leak.tests]
                sizes = [seen.share for _, seen in tests if seen is not None]
                parts[name] += min(max(sure for sure, _ in tests), SURE) / SURE + max([0.0, *sizes])
        for one in made.judged:
            limited = one.decided_by if one.decides and one.role != "utility" else None
            if limited is not None and one.status in self.open:
                name = one.measure.threat or ""
                parts[name] = parts.get(name, 0.0) + beyond(limited.figure, limited.limit.fail or limited.limit.warn)
        return parts

    # -- the map -------------------------------------------------------------------------------------------------------

    def place(self, candidate: Candidate, side: str) -> float:
        """Risk or utility on the map, between the fixed points of the release as it came."""
        self.ask(candidate, self.placed[side])
        anchors = self._fixed(side)
        named = {m.name: m for m in self.placed[side] if m.name in anchors}
        at = []
        for name in named:
            found = figure(candidate.results[name], self._kinds[name])
            place = None if found is None else anchors[name].place(found.value)
            at.append(np.nan if place is None else place)
        if not named:  # nothing tells releases apart: they are all as useful
            return 0.0
        families = {n: m.family for n, m in named.items()}
        weights = measure_weights(list(named), families, "family", {})
        end = "high" if side == "risk" else "low"
        made = float(composite_of(np.array([at], float), list(named), families, "family", weights, end)[0])
        return made if np.isfinite(made) else float(side == "risk")  # whom no measure gives a figure is at the worst

    @cached_property
    def noise(self) -> float:
        """How much the utility of honest samples of the population differs, at the size of the release.

        A difference between two releases that two samples of the same people show as well is none.
        """
        original, size = self.pair.local("original"), self.pair.n("released")
        found = []
        for draw in range(SAMPLES):
            rows = generator(self.seed, "honest sample", draw).integers(0, original.height, size)
            sample = self.pair.replace(released=original[rows.tolist()], row_paired=False)
            found.append(self.place(Candidate(sample), "utility"))
        return float(np.nanstd(found, ddof=1))

    def _fixed(self, side: str) -> dict[str, Anchor]:
        """The scales of the measures that say something on these data, measured at the first look."""
        if side not in self._anchors:
            chosen = {m.name: m for m in self.placed[side]}
            first = Candidate(self.pair)
            self.ask(first, list(chosen.values()))
            held = self.pair.has_holdout and not self.pair.row_paired
            self._kinds |= {n: kind_of([first.results[n]], m.side, held) for n, m in chosen.items()}

            def measured(pair: Pair, wanted: Sequence[AnyMeasure]) -> dict[str, Result]:
                return run(wanted, pair, seed=self.seed, options=self.options, n_jobs=self.n_jobs).results

            ghosts = measured_ghosts(self.pair, chosen, self._kinds, self.seed, measured)
            made = {n: anchor_of(m, self._kinds[n], ghosts) for n, m in chosen.items()}
            self._anchors[side] = {n: a for n, a in made.items() if a.reason is None}
        return self._anchors[side]


def stricter(policy: Policy, tried: int = 1) -> Policy:
    """The policy with higher levels for the tests of members against strangers.

    The search looks at many candidates and takes one that passes, so that p values just above their level are chosen
    more often than they are true; the more so, the more have been tried.
    """
    if policy.leak is None:
        return policy
    times = min(LATEST, FIRST + (tried - 1) / SLOWLY)
    levels = replace(
        policy.leak, warn=min(times * policy.leak.warn, 0.5), copy_warn=min(FIRST * policy.leak.copy_warn, 0.5)
    )
    return replace(policy, leak=levels)


def beyond(found: float | None, limit: float | None) -> float:
    """How far a figure lies beyond its limit, as a share of the limit; at most 1."""
    if found is None or limit is None:
        return 1.0
    return float(min(abs(found - limit) / max(abs(limit), 0.01), 1.0))
