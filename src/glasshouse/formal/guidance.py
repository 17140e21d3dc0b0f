"""Which requirement fits which threat, in words a data custodian can fill in."""

from __future__ import annotations

from dataclasses import dataclass

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.options import door


@dataclass(frozen=True)
class ThreatGuide:
    """One threat, and how to state a requirement against it.

    Attributes
    ----------
    threat : str
        Name of the threat.
    question : str
        What the custodian worries about.
    statement : str
        What to state.
    baseline : str
        How to find the rate that chance gives.
    factory : str
        The factory of :class:`glasshouse.Risk` that takes it.
    """

    threat: str
    question: str
    statement: str
    baseline: str
    factory: str

    def __str__(self) -> str:
        return f"{self.threat}: {self.question} State: {self.statement}. Baseline: {self.baseline}. Use {self.factory}."


THREATS: dict[str, ThreatGuide] = {
    guide.threat: guide
    for guide in (
        ThreatGuide(
            "membership",
            "Can someone tell that a person is in the data?",
            "true-positive rate at most t at false-positive rate a",
            "a is the false-alarm rate that matters, usually 0.01 or 0.001",
            "Risk.from_err_rates(tpr=, fpr=)",
        ),
        ThreatGuide(
            "singling_out",
            "Can someone describe exactly one real person?",
            "success at most s",
            "1 / number of candidates in the population (one in a thousand: 0.001)",
            "Risk.from_success_at_baseline(success=, baseline=)",
        ),
        ThreatGuide(
            "attribute_inference",
            "Can someone learn a sensitive value of a person?",
            "success at most s",
            "the share of the most common value, or the accuracy of the best public predictor",
            "Risk.from_success_at_baseline(success=, baseline=)",
        ),
        ThreatGuide(
            "reconstruction",
            "Can someone rebuild a record within a stated error?",
            "success at most s within that error",
            "the probability of such a hit by chance from public data",
            "Risk.from_success_at_baseline(success=, baseline=)",
        ),
        ThreatGuide(
            "unknown",
            "What if none of these is the right question?",
            "advantage (success minus baseline) at most A",
            "none needed; the last resort, because it costs the most noise",
            "Risk.from_advantage(advantage)",
        ),
    )
}


@door
def guide(threat: str) -> ThreatGuide:
    """Which requirement fits a threat, in words a data custodian can fill in.

    Parameters
    ----------
    threat : str
        "membership", "singling_out", "attribute_inference", "reconstruction" or "unknown".

    Returns
    -------
    ThreatGuide
        Prints as a sentence.

    Raises
    ------
    InputError
        For a threat that has no guide.

    Examples
    --------
    >>> import glasshouse as gh
    >>> gh.formal.guide("membership").factory
    'Risk.from_err_rates(tpr=, fpr=)'
    """
    if threat not in THREATS:
        raise InputError(f"there is no threat {threat!r}{closest(threat, THREATS)}; there are: {listed(THREATS)}")
    return THREATS[threat]
