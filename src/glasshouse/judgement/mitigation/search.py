"""A beam search over operations: from a release that fails towards one that meets the policy at the least loss.

At every depth each kept state is tried with every operation that acts on what fails, at its strongest, because what
does not help at full strength does not help at half. Kept are the states that no other one beats in both distance from
the policy and utility, as long as they are more useful than those that pass already. Those that pass are weakened
(steps taken out or made milder, as long as they pass), and the one that loses the least utility is chosen. A
difference of utility within the noise of the operations' own draws chooses nobody; then the one that touches fewer
cells is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from glasshouse.core.interrupts import check
from glasshouse.core.streams import integer_seed
from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair
from glasshouse.judgement.mitigation.evidence import Bench, Candidate
from glasshouse.judgement.mitigation.findings import Columns, Failed, failed
from glasshouse.judgement.mitigation.proposals import Allowed, Proposal, proposals
from glasshouse.judgement.run import safely
from glasshouse.judgement.verdict.decision import Decision
from glasshouse.protection.operation import Protected
from glasshouse.protection.recipe import Step

WIDTH = 2  # states kept at each depth
FINALISTS = 3  # passing states that are weakened and compared
DRAWS = 3  # seeds by which the utility of a finalist is measured
TIED = 0.01  # differences of utility up to this are none, however small their noise
HELPS = 0.9  # an operation that leaves more of the distance than this on its own is not tried on top of others
MOST = 40  # candidates that are measured before what was found is weakened
ROUTES = 2  # states measured on the utility side beyond the nearest to the policy


@dataclass(frozen=True)
class Taken:
    """One step of a state.

    Attributes
    ----------
    proposal
        What was done, and why.
    step
        The same as a recipe has it, seed included.
    made
        What it did.
    pair
        The release after it, with the people who steer.
    """

    proposal: Proposal
    step: Step
    made: Protected
    pair: Pair


@dataclass
class State:
    """A release on its way.

    Attributes
    ----------
    table
        In the caller's library.
    candidate
        What was measured of it.
    taken
        The steps so far.
    decision
        What the policy says as far as it was asked.
    shortfall
        Distance from the policy as far as it was asked.
    passes
        Whether every measure was asked and none fails or warns.
    met
        Whether every measure was asked and none fails.
    utility
        On the map; None before it was measured.
    """

    table: Frame
    candidate: Candidate
    taken: tuple[Taken, ...] = ()
    decision: Decision | None = None
    shortfall: float = float("inf")
    passes: bool = False
    met: bool = False
    utility: float | None = None
    noise: float = 0.0

    @property
    def cells(self) -> int:
        """Cells touched by all steps."""
        return sum(t.made.cells for t in self.taken)

    @property
    def done(self) -> list[tuple[str, int]]:
        """Operations of the steps with their strength."""
        return [(t.proposal.operation.name, t.proposal.rung) for t in self.taken]


@dataclass
class Search:
    """One search: the bench, what may be tried, and what was tried.

    Attributes
    ----------
    bench
        Measures candidates.
    original
        The confidential table as the caller gave it, for operations that look at it.
    table
        The release as the caller gave it.
    columns
        What may be changed.
    allowed
        Operations.
    analyses
        Utility measures that must not lose.
    steps
        Steps at most.
    seed
        Of the operations.
    heard
        Told about progress: how many candidates were tried, and what is tried.
    tried
        How many candidates were measured.
    stopped
        Why operations could not be tried, by operation.
    """

    bench: Bench
    original: Frame
    table: Frame
    columns: Columns
    allowed: Allowed
    analyses: Sequence[str]
    steps: int
    seed: int
    heard: Callable[[int, str], None]
    tried: int = 0
    stopped: dict[str, str] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)
    seen: set[tuple[tuple[str, str], ...]] = field(default_factory=set)
    _weighed: dict[tuple[tuple[str, str], ...], State] = field(default_factory=dict)
    _lost: frozenset[str] = frozenset()

    def run(self, start: Decision) -> tuple[State, State]:
        """Search from a release.

        Parameters
        ----------
        start
            What the policy says about it.

        Returns
        -------
        (found, first) : tuple of State
            The state chosen: one that passes, else one that meets the policy with a warning, else the nearest to it;
            and the release as it came.
        """
        first = State(self.table, Candidate(self.bench.pair), decision=start)
        first.candidate.results |= start.results
        asked = self.bench.against(start)
        first.shortfall = self.bench.shortfall(self.bench.decide(first.candidate, asked))
        self.utility(first)
        self._lost = frozenset(self._losing(first))
        against = failed(start, asked)
        beam, nearest, warned, passing = [first], first, list[State](), list[State]()
        for depth in range(self.steps):
            level = [child for state in beam for child in self.children(state, against, asked, depth)]
            warned += [s for s in level if s.met and not s.passes]
            if depth == 0:
                self.idle = {s.done[0][0] for s in level if s.shortfall > HELPS * first.shortfall and not s.met}
            nearest = min([nearest, *level], key=lambda s: (s.shortfall, s.cells))
            passing += self.weakest([s for s in level if s.passes], asked)
            beam = self.kept([s for s in level if not s.passes], passing)
            if not beam or self.tried >= MOST:
                break
        if passing:
            return self.choose(passing), first
        if warned:
            return self.choose(self.weakest(warned, asked, met=True)), first
        self.utility(nearest)
        return nearest, first

    def children(self, state: State, against: Failed, asked: list[Any], depth: int) -> list[State]:
        """The states one step further that are new."""
        made = []
        for proposal in _strongest(proposals(self.allowed, self.columns, against, self.bench.pair, state.done)):
            one = proposal.operation
            late = one.touches == "model" and state.taken  # a model would undo what was done before it
            if late or (state.taken and one.name in self.idle) or self.tried >= MOST:
                continue
            child = self.apply(state, proposal, depth)
            if child is None or _key(child) in self.seen:
                continue
            self.seen.add(_key(child))
            self.weigh(child, asked)
            made.append(child)
        return made

    # -- one candidate -------------------------------------------------------------------------------------------------

    def apply(self, state: State, proposal: Proposal, depth: int) -> State | None:
        """The state after one more step; None where the step cannot be done or changes nothing."""
        check()
        self.tried += 1
        self.heard(self.tried, proposal.operation.title)
        arguments: dict[str, Any] = dict(proposal.arguments)
        if proposal.operation.random:
            arguments["random_state"] = integer_seed(self.seed, "mitigate", depth, proposal.operation.name)
        step = Step(proposal.operation.name, arguments)
        made, why = safely(lambda: self._run(step, state.table))
        if made is None:
            self.stopped.setdefault(proposal.operation.name, str(why))
            return None
        protected, pair = made
        if not protected.records and not protected.cells:
            return None
        return State(protected.table, Candidate(pair), (*state.taken, Taken(proposal, step, protected, pair)))

    def _run(self, step: Step, table: Frame) -> tuple[Protected, Pair]:
        made = step.run(table, self.original)
        return made, self.bench.pair.replace(released=made.table)

    def weigh(self, state: State, asked: list[Any]) -> None:
        """Ask the measures that decided against the release; whoever gets past them is asked by all.

        A measure that stops somebody then is asked first from here on.
        """
        made = self.bench.decide(state.candidate, asked)
        state.decision, state.shortfall = made, self.bench.shortfall(made)
        if state.shortfall > 0:
            return
        made = self.bench.judge(state.candidate)
        state.decision, state.shortfall = made, self.bench.shortfall(made)
        verdict = made.verdict(self.bench.policy)
        kept = not (set(self._losing(state)) - self._lost)
        state.passes = state.shortfall == 0 and verdict in ("pass", "incomplete") and kept
        state.met = verdict != "fail" and kept
        if not kept:
            state.shortfall += 1.0
        known = {m.name for m in asked}
        asked += [m for m in self.bench.against(made) if m.name not in known]

    def _losing(self, state: State) -> list[str]:
        """Protected analyses that lose more than sampling noise."""
        wanted = [m for m in self.bench.utility if m.name in self.analyses]
        self.bench.ask(state.candidate, wanted)
        results = [state.candidate.results[m.name] for m in wanted]
        return [r.name for r in results if r.null is not None and r.null.lost]

    def utility(self, state: State) -> float:
        """Utility on the map, measured once."""
        if state.utility is None:
            state.utility = self.bench.place(state.candidate, "utility")
        return state.utility

    def kept(self, level: Sequence[State], passing: Sequence[State]) -> list[State]:
        """The states that go on: none is beaten in both distance and utility, the nearest to the policy first.

        Every step costs utility, so a state no more useful than one that passes has no future.
        """
        near = sorted(level, key=lambda s: (s.shortfall, s.cells))[: WIDTH + ROUTES]
        least = max((self.utility(s) for s in passing), default=float("-inf"))
        front: list[State] = []
        for state in near:  # by distance: on the front is who is more useful than all nearer ones
            if self.utility(state) > least + TIED and all(
                self.utility(state) > self.utility(other) + TIED for other in front
            ):
                front.append(state)
        return front[:WIDTH]

    # -- among those that pass -----------------------------------------------------------------------------------------

    def weakest(self, passing: Sequence[State], asked: list[Any], met: bool = False) -> list[State]:
        """The most useful of some states that pass, and the one that touches the fewest cells, each at its weakest."""
        useful = sorted(passing, key=lambda s: (-self.utility(s), s.cells))[:FINALISTS]
        fewest = sorted(passing, key=lambda s: (s.cells, -self.utility(s)))[:1]
        finalists = list({id(s): s for s in (*fewest, *useful)}.values())[:FINALISTS]
        return [self.weakened(state, asked, met) for state in finalists]

    def choose(self, passing: Sequence[State]) -> State:
        """The passing state that loses least; where noise would choose, the one that touches fewer cells."""
        finalists = sorted(passing, key=lambda s: (-self.utility(s), s.cells))[: FINALISTS + 1]
        finalists += [min(passing, key=lambda s: s.cells)]
        for state in {id(s): s for s in finalists}.values():
            self.measure(state)
        best = max(finalists, key=self.utility)

        def gap(state: State) -> float:
            return self.utility(best) - self.utility(state) - max(TIED, 2 * float(np.hypot(state.noise, best.noise)))

        return min((s for s in finalists if gap(s) <= 0), key=lambda s: (s.cells, -self.utility(s)))

    def weakened(self, state: State, asked: list[Any], met: bool) -> State:
        """The same steps with those left out, or made milder, that it passes without."""
        best = state
        for at in range(len(state.taken) - 1, -1, -1):
            if at >= len(best.taken):
                continue
            for milder in (None, *self.milder(best.taken[at].proposal)):
                if milder is None and len(best.taken) == 1:
                    continue
                child = self.replay(best, at, milder)
                if child is None:
                    continue
                child = self._known(child, asked)
                if child.passes or (met and child.met):
                    best = child
                    break
        return best

    def milder(self, proposal: Proposal) -> list[Proposal]:
        """The same operation less strongly, the mildest first."""
        every = proposals(self.allowed, self.columns, Failed(proposal.operation.acts_on, ()), self.bench.pair)
        same = [p for p in every if p.operation.name == proposal.operation.name and p.rung < proposal.rung]
        return [replace(p, why=proposal.why, acts=proposal.acts) for p in same]

    def _known(self, child: State, asked: list[Any]) -> State:
        """The same steps are weighed once, however they were come to."""
        key = tuple(t.proposal.key for t in child.taken)
        if key not in self._weighed:
            self.weigh(child, asked)
            self._weighed[key] = child
        return self._weighed[key]

    def replay(self, state: State, at: int, changed: Proposal | None) -> State | None:
        """The steps of a state, one of them left out or changed; those before it stand as they are."""
        kept, later = state.taken[:at], [t.proposal for t in state.taken[at + 1 :]]
        table, pair = (kept[-1].made.table, kept[-1].pair) if kept else (self.table, self.bench.pair)
        made: State | None = State(table, Candidate(pair), kept)
        for depth, proposal in enumerate([*([] if changed is None else [changed]), *later], start=at):
            made = None if made is None else self.apply(made, proposal, depth)
        return made

    def measure(self, state: State) -> None:
        """Utility over several draws of the operations, and the noise of their mean."""
        self.utility(state)
        if not any(t.proposal.operation.random for t in state.taken):
            return
        found = [self.utility(state)]
        for draw in range(1, DRAWS):
            table = self.table
            for taken in state.taken:
                own: dict[str, Any] = dict(taken.step.arguments)
                if taken.proposal.operation.random:
                    own["random_state"] = integer_seed(self.seed, "draw", draw, taken.step.operation)
                table = Step(taken.step.operation, own).run(table, self.original).table
            found.append(self.bench.place(Candidate(self.bench.pair.replace(released=table)), "utility"))
        state.utility = float(np.mean(found))
        state.noise = float(np.std(found, ddof=1) / np.sqrt(len(found)))


def _strongest(found: Sequence[Proposal]) -> list[Proposal]:
    """Of every operation the strongest proposal, in the order of cost."""
    last = {p.operation.name: p for p in sorted(found, key=lambda p: p.rung)}
    return [p for p in found if last[p.operation.name] is p]


def _key(state: State) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(t.proposal.key for t in state.taken))
