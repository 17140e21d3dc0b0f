"""The states of a search: a release on its way, with the steps that led to it and what was measured of it."""

from __future__ import annotations

from dataclasses import dataclass

from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair
from glasshouse.judgement.mitigation.evidence import Candidate
from glasshouse.judgement.mitigation.proposals import Proposal
from glasshouse.judgement.verdict.decision import Decision
from glasshouse.protection.operation import Protected
from glasshouse.protection.recipe import Step


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
        Whether every measure was asked and none fails or warns; of a file whose rows are those of the original, none
        fails.
    met
        Whether every measure was asked and none fails.
    utility, noise
        On the map; None before it was measured. The standard error over draws of the operations.
    steady
        Whether every draw gets past the measures that decided against the release, as far as others were tried.
    place
        How many candidates had been tried when it came.
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
    steady: bool = True
    place: int = 1

    @property
    def cells(self) -> int:
        """Cells touched by all steps."""
        return sum(t.made.cells for t in self.taken)

    @property
    def warns(self) -> bool:
        """Whether something warns still."""
        return self.decision is not None and any(t.status == "warn" for t in self.decision.threats.values())

    @property
    def margin(self) -> float:
        """The p value over all threats: how far it is from what the policy calls a leak; 1 where nothing is tested."""
        leak = None if self.decision is None else self.decision.leak
        return 1.0 if leak is None or leak.p_value is None else leak.p_value

    @property
    def done(self) -> list[tuple[str, int]]:
        """Operations of the steps with their strength."""
        return [(t.proposal.operation.name, t.proposal.rung) for t in self.taken]
