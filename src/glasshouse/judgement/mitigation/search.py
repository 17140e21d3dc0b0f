"""A beam search over operations: from a release that fails towards one that meets the policy at the least loss.

At every depth each kept state is tried with every operation that acts on what fails, at its strongest, because what
does not help at full strength does not help at half. Kept are the states that no other one beats in both distance from
the policy and utility, as long as they are more useful than those that pass already; where those lose little, nothing
goes deeper. Those that pass are weakened (steps made milder or taken out, as long as they pass), and the one that loses
the least utility is chosen. A difference of utility that honest samples of the population or other draws of the
operations show as well chooses nobody; then the one that touches fewer cells is taken, and of those that touch about as
many the one farthest from any alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.interrupts import check
from glasshouse.core.streams import integer_seed
from glasshouse.core.words import spoken
from glasshouse.data.fingerprints import content_of
from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair
from glasshouse.judgement.mitigation.evidence import Bench, Candidate
from glasshouse.judgement.mitigation.findings import Columns, Failed, failed
from glasshouse.judgement.mitigation.proposals import Allowed, Proposal, proposals
from glasshouse.judgement.mitigation.states import State, Taken
from glasshouse.judgement.run import safely
from glasshouse.judgement.verdict.decision import Decision
from glasshouse.protection.held import held
from glasshouse.protection.operation import Protected
from glasshouse.protection.recipe import Step

WIDTH = 2  # states kept at each depth
FINALISTS = 2  # passing states that are weakened and compared
DRAWS = 3  # seeds by which the utility of a finalist is measured
DEEPER = 0.1  # a loss of utility up to which those that pass are good enough to look no deeper
TIED = 0.01  # differences of utility up to this are none, however small their noise
HONEST = 2.0  # times the noise of honest samples, differences of utility are none either
HELPS = 0.9  # an operation that leaves more of the distance than this on its own is not tried on top of others
AFTER = 2  # candidates of later depths that are measured after the first one that passes and loses little
MOSTLY = 0.5  # share of the cells from which a release counts as made anew
STACKED = 4  # operations, those that bring it nearest, are
MOST = 30  # candidates that are measured before what was found is weakened
FREE = 1  # cost of operations that no analysis misses anything after: a name less
LUCKY = 0.05  # distance of a candidate that passes, and comes too late to be believed
MOST_CHOSEN = 3  # states of which further draws are measured at most
ROUTES = 2  # states measured on the utility side beyond the nearest to the policy


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
    seen: set[tuple[tuple[str, str], ...] | str] = field(default_factory=set)
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
        begin = self.unnamed(first, start, asked)
        if begin.passes:
            return self.choose([begin], asked), first
        against = failed(begin.decision or start, asked)
        beam, nearest, passing = [begin], begin, list[State]()
        warned = [begin] if begin.met else []
        looked = len(begin.taken)
        for depth in range(looked, self.steps):
            level: list[State] = []
            left = AFTER
            for child in (child for state in beam for child in self.children(state, against, asked, depth)):
                level.append(child)
                # the first depth is looked at whole, so that every operation has its turn
                left -= depth > looked and self.enough(first, level)
                if left < 0:
                    break
            warned += [s for s in level if s.met and not s.passes]
            if depth == looked:
                self.idle = _idle(level, begin, lambda s: self.bench.shortfalls(self.bench.decide(s.candidate, asked)))
            nearest = min([nearest, *level], key=lambda s: (s.shortfall, s.cells))
            passing += self.weakest([s for s in level if s.passes], asked)
            beam = self.kept([s for s in level if not s.passes], passing)
            if self.enough(first, passing) or not beam or self.tried >= MOST:
                break
        if passing:
            return self.choose(passing, asked), first
        if warned:
            return self.choose(self.weakest(warned, asked, met=True), asked), first
        self.utility(nearest)
        return nearest, first

    def enough(self, first: State, found: Sequence[State]) -> bool:
        """Whether one of some states passes and loses so little that nothing better needs to be looked for."""
        return any(s.passes and self.utility(s) > self.utility(first) - DEEPER for s in found)

    def unnamed(self, first: State, start: Decision, asked: list[Any]) -> State:
        """The release without the names it publishes, where that brings it nearer to the policy.

        No analysis needs them, and as long as they are there they hide what else speaks against the release.
        """
        for proposal in proposals(self.allowed, self.columns, failed(start, asked), self.bench.pair):
            if proposal.operation.cost > FREE:
                break
            child = self.apply(first, proposal, 0)
            if child is None:
                continue
            self.new(child)
            self.weigh(child, asked)
            if child.shortfall < first.shortfall:
                made = self.bench.judge(child.candidate)
                if not child.passes and self.bench.against(made):
                    asked[:] = self.bench.against(made)
                    child.decision = made
                    child.shortfall = self.bench.shortfall(self.bench.decide(child.candidate, asked))
                return child
        return first

    def children(self, state: State, against: Failed, asked: list[Any], depth: int) -> Iterator[State]:
        """The states one step further that are new."""
        for proposal in _strongest(proposals(self.allowed, self.columns, against, state.candidate.pair, state.done)):
            one = proposal.operation
            # a model would undo what was done before it, but for the columns that are gone
            late = one.touches == "model" and any(t.proposal.operation.cost > FREE for t in state.taken)
            if late or one.name in self.idle or self.tried >= MOST:
                continue
            child = self.apply(state, proposal, depth)
            if child is None or not self.new(child):
                continue
            self.weigh(child, asked)
            yield child

    def new(self, child: State) -> bool:
        """Whether neither its steps nor a table like its own, which other steps may lead to, have been looked at."""
        marks: set[tuple[tuple[str, str], ...] | str] = {
            _key(child),
            content_of(child.candidate.pair.local("released")),
        }
        known = bool(marks & self.seen)
        self.seen |= marks
        return not known

    # -- one candidate -------------------------------------------------------------------------------------------------

    def apply(self, state: State, proposal: Proposal, depth: int) -> State | None:
        """The state after one more step; None where the step cannot be done or changes nothing."""
        check()
        self.tried += 1
        self.heard(self.tried, proposal.operation.title)
        arguments: dict[str, Any] = dict(proposal.arguments)
        if proposal.operation.seeded:
            arguments["random_state"] = integer_seed(self.seed, "mitigate", depth, proposal.operation.name)
        step = Step(proposal.operation.name, arguments)
        made, why = safely(lambda: self._run(step, state.table))
        if made is None:
            self.stopped.setdefault(proposal.operation.name, str(why))
            return None
        protected, pair = made
        if not protected.records and not protected.cells:
            return None
        taken = (*state.taken, Taken(proposal, step, protected, pair))
        return State(protected.table, Candidate(pair), taken, place=self.tried)

    def _run(self, step: Step, table: Frame) -> tuple[Protected, Pair]:
        made, pair = step.run(table, self.original), self.bench.pair
        try:
            return made, pair.replace(released=made.table)
        except InputError:
            after = held(made.table)
            labelled = [
                c for c in made.columns if c in pair.columns and pair.is_numeric(c) and after.kind(c) != "numeric"
            ]
            if not labelled:
                raise
            raise InputError(
                f"it makes labels of the numbers of {spoken(labelled)}, which cannot be compared with those of the "
                f'original; say into="means" if it takes that, or schema={{{labelled[0]!r}: "categorical"}}'
            ) from None

    def weigh(self, state: State, asked: list[Any]) -> None:
        """Ask the measures that decided against the release; whoever gets past them is asked by all.

        A measure that stops somebody then is asked first from here on.
        """
        try:
            self._weigh(state, asked)
        finally:
            state.candidate.forget()

    def _weigh(self, state: State, asked: list[Any]) -> None:
        made = self.bench.decide(state.candidate, asked)
        state.decision, state.shortfall = made, self.bench.shortfall(made)
        if state.shortfall > 0:
            return
        made = self.bench.judge(state.candidate)
        state.decision, state.shortfall = made, self.bench.shortfall(made)
        strict = self.bench.judge(state.candidate, state.place)
        kept = not (set(self._losing(state)) - self._lost)
        state.passes = state.shortfall == 0 and strict.verdict(self.bench.policy) not in self.bench.open and kept
        state.met = made.verdict(self.bench.policy) != "fail" and kept
        if not kept:
            state.shortfall += 1.0
        elif not state.passes:
            state.shortfall += LUCKY
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
            state.candidate.forget()
        return state.utility

    @property
    def tied(self) -> float:
        """Differences of utility up to this are none."""
        return max(TIED, HONEST * self.bench.noise)

    def kept(self, level: Sequence[State], passing: Sequence[State]) -> list[State]:
        """The states that go on: none is beaten in both distance and utility, the nearest to the policy first.

        Every step costs utility, so a state no more useful than one that passes has no future.
        """
        near = sorted(level, key=lambda s: (s.shortfall, s.cells))[: WIDTH + ROUTES]
        least = max((self.utility(s) for s in passing), default=float("-inf"))
        front: list[State] = []
        for state in near:  # by distance: on the front is who is more useful than all nearer ones
            if self.utility(state) > least + self.tied and all(
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
        weak = [self.weakened(state, asked, met) for state in finalists]
        return list({id(s): s for s in (*weak, *finalists)}.values())

    def choose(self, passing: Sequence[State], asked: list[Any]) -> State:
        """The passing state that loses least; where noise would choose, the one that touches fewer cells.

        A state that passes by the luck of its draw is taken only where no other one passes in every draw.
        """
        useful = sorted(passing, key=lambda s: (-self.utility(s), s.cells))
        order = list({id(s): s for s in (min(passing, key=lambda s: s.cells), *useful)}.values())
        known: list[State] = []
        for state in order[:MOST_CHOSEN]:
            self.measure(state, asked)
            known.append(state)
            if len(known) >= FINALISTS and any(s.steady for s in known):
                break
        steady = [s for s in known if s.steady] or known
        best = max(steady, key=self.utility)

        def gap(state: State) -> float:
            drawn = 2 * float(np.hypot(state.noise, best.noise))
            return self.utility(best) - self.utility(state) - max(self.tied, drawn)

        return min((s for s in steady if gap(s) <= 0), key=lambda s: (s.warns, self._part(s), -s.margin, s.cells))

    def _part(self, state: State) -> float:
        """The share of the cells that the steps touch, to a tenth; where most are touched, fewer are no virtue."""
        whole = self.bench.pair.n("released") * max(len(self.bench.pair.columns), 1)
        part = state.cells / max(whole, 1)
        return round(part, 1) if part < MOSTLY else 1.0

    def weakened(self, state: State, asked: list[Any], met: bool) -> State:
        """The same steps made milder one by one, and left out, as long as it passes.

        From the strongest to the mildest: who looks for the mildest that passes among many finds one by luck.
        """
        best = state
        for at in range(len(state.taken) - 1, -1, -1):
            before = best.taken[at - 1].pair if at else self.bench.pair
            steps: list[Proposal | None] = [*reversed(self.milder(best.taken[at].proposal, before))]
            for milder in [*steps, *([None] if len(best.taken) > 1 else [])]:
                child = self.replay(best, at, milder)
                if child is None:
                    break
                child = self._known(child, asked)
                if not (child.passes or (met and child.met)):
                    break
                best = child
                if milder is None:
                    break
        return best

    def milder(self, proposal: Proposal, pair: Pair) -> list[Proposal]:
        """The same operation less strongly, the mildest first."""
        every = proposals(self.allowed, self.columns, Failed(proposal.operation.acts_on, ()), pair)
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

    def measure(self, state: State, asked: Sequence[Any]) -> None:
        """Utility over several draws of the operations, its noise, and whether every draw gets past the measures that
        decided against the release."""
        found = [self.utility(state)]
        for draw in range(1, DRAWS if any(t.proposal.operation.random for t in state.taken) else 1):
            again = Candidate(self.bench.pair.replace(released=self._drawn(state, draw)))
            found.append(self.bench.place(again, "utility"))
            state.steady &= self.bench.shortfall(self.bench.decide(again, asked)) == 0
        state.utility = float(np.mean(found))
        state.noise = float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0

    def _drawn(self, state: State, draw: int) -> Frame:
        """The release after the same steps with other seeds."""
        table = self.table
        for taken in state.taken:
            own: dict[str, Any] = dict(taken.step.arguments)
            if taken.proposal.operation.seeded:
                own["random_state"] = integer_seed(self.seed, "draw", draw, taken.step.operation)
            table = Step(taken.step.operation, own).run(table, self.original).table
        return table


def _strongest(found: Sequence[Proposal]) -> list[Proposal]:
    """Of every operation the strongest proposal, in the order of cost; what touches few records is tried mildly too."""
    last = {p.operation.name: p for p in sorted(found, key=lambda p: p.rung)}
    return [p for p in found if last[p.operation.name] is p or p.operation.touches == "records"]


def _idle(level: Sequence[State], begin: State, parts: Callable[[State], Mapping[str, float]]) -> set[str]:
    """The operations that are not tried on top of others: all but those that bring the release nearest.

    Of every threat the one that does most against it is tried too, of several the one that touches the fewest cells:
    where several threats fail for several reasons, it may be far from the policy by itself.
    """
    near = sorted(level, key=lambda s: s.shortfall)
    helping = list(dict.fromkeys(s.done[-1][0] for s in near if s.shortfall < HELPS * begin.shortfall))[:STACKED]
    for threat, most in parts(begin).items():
        best = min(near, key=lambda s: (parts(s).get(threat, 0.0), s.cells), default=begin)
        if parts(best).get(threat, 0.0) < HELPS * most:
            helping.append(best.done[-1][0])
    return {s.done[-1][0] for s in level} - set(helping)


def _key(state: State) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(t.proposal.key for t in state.taken))
