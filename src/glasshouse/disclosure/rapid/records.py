"""What RAPID says about each person: prediction, score and flag, at the person's place among all records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from glasshouse.disclosure.rapid.answers import ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.attack import ScoredAttack
from glasshouse.disclosure.rapid.scores import Array

Columns: TypeAlias = dict[str, Array]


def _columns(attack: ScoredAttack, name: str) -> Columns:
    answers = attack.answers[name]
    if isinstance(answers, NumberAnswers):
        found: Columns = {"predicted": answers.predicted, "error": answers.scores, "score": -answers.scores}
    else:
        labels = np.empty(len(attack.classes or []), object)
        labels[:] = attack.classes
        found = {
            "predicted": labels[answers.predicted],
            "true_prob": answers.true_prob,
            "baseline": answers.baseline,
            "gain": answers.scores,
            "correct": answers.predicted == answers.y,
        }
    found["at_risk"] = answers.flags()
    return {k: full_length(v, attack.scored) for k, v in found.items()}


def of_attack(attack: ScoredAttack, headline: str) -> Columns:
    """The headline attacker's columns; with several attackers each one's, by name, and how many flag the record."""
    found = _columns(attack, headline)
    if len(attack.answers) > 1:
        for name in attack.answers:
            found |= {f"{k}_{name}": v for k, v in _columns(attack, name).items() if k not in ("baseline", "score")}
        flags = np.array([a.flags() for a in attack.answers.values()])
        found["attackers_flagging"] = full_length(flags.sum(axis=0), attack.scored)
    return found


def of_releases(attacks: Sequence[ScoredAttack], headline: str) -> Columns:
    """Several releases: the share of releases that flag the record, and its mean score."""
    answers = [a.answers[headline] for a in attacks]
    scored = attacks[0].scored
    flags = np.array([a.flags() for a in answers])
    scores = np.mean([a.scores for a in answers], axis=0)
    name = "gain" if isinstance(answers[0], ClassAnswers) else "error"
    found = {
        name: scores,
        "at_risk": flags.mean(axis=0),
        "at_risk_any": flags.any(axis=0),
        "at_risk_all": flags.all(axis=0),
    }
    if isinstance(answers[0], ClassAnswers):
        probabilities = [a.true_prob for a in answers if isinstance(a, ClassAnswers)]
        found = {"true_prob": np.mean(probabilities, axis=0), "baseline": answers[0].baseline, **found}
    return {k: full_length(v, scored) for k, v in found.items()}


def full_length(values: Array, scored: Array) -> Array:
    """Figures of the scored records at their place among all records; the others are masked."""
    if scored.all():
        return values
    if values.dtype == object:
        placed = np.full(len(scored), None, object)
        placed[scored] = values
        return placed
    filled = np.zeros(len(scored), values.dtype)
    filled[scored] = values
    return np.ma.array(filled, mask=~scored)
