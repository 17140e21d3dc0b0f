"""What RAPID says about each person: prediction, score and flag, at the person's place among all records of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.disclosure.rapid.answers import Answers, ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.attack import ScoredAttack
from glasshouse.disclosure.rapid.key_effects import cut_at
from glasshouse.disclosure.rapid.scores import Array

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

MANY_LEVELS = 20  # a number with more values than this is cut into quarters of the people before it makes groups
Columns: TypeAlias = dict[str, Array]


def people_of(attack: ScoredAttack, table: str) -> tuple[dict[str, Answers], Array]:
    """Every attacker's answers about the people of a table, and which of them could be scored."""
    return (attack.holdout, attack.scored_holdout) if table == "holdout" else (attack.answers, attack.scored)


def spoken(attack: ScoredAttack, codes: Array) -> Array:
    """Classes by their position as the user knows them."""
    labels = np.empty(len(attack.classes or []), object)
    labels[:] = attack.classes
    named: Array = labels[codes]
    return named


def _columns(attack: ScoredAttack, name: str, table: str) -> Columns:
    everybody, scored = people_of(attack, table)
    answers = everybody[name]
    if isinstance(answers, NumberAnswers):
        found: Columns = {"predicted": answers.predicted, "error": answers.scores, "score": -answers.scores}
    else:
        found = {
            "predicted": spoken(attack, answers.predicted),
            "true_prob": answers.true_prob,
            "baseline": answers.baseline,
            "gain": answers.scores,
            "correct": answers.predicted == answers.y,
        }
    found["at_risk"] = answers.flags()
    return {k: full_length(v, scored) for k, v in found.items()}


def of_attack(attack: ScoredAttack, headline: str, table: str = "original") -> Columns:
    """The headline attacker's columns; with several attackers each one's, by name, and how many flag the record."""
    found = _columns(attack, headline, table)
    everybody, scored = people_of(attack, table)
    if len(everybody) > 1:
        for name in everybody:
            own = _columns(attack, name, table)
            found |= {f"{k}_{name}": v for k, v in own.items() if k not in ("baseline", "score")}
        flags = np.array([a.flags() for a in everybody.values()])
        found["attackers_flagging"] = full_length(flags.sum(axis=0), scored)
    return found


def of_releases(attacks: Sequence[ScoredAttack], headline: str, table: str = "original") -> Columns:
    """Several releases: what they say together, the share of releases that flag the record, and its mean score."""
    answers = [people_of(a, table)[0][headline] for a in attacks]
    scored = people_of(attacks[0], table)[1]
    flags = np.array([a.flags() for a in answers])
    found: Columns = {"predicted": together(attacks, answers)}
    if isinstance(answers[0], ClassAnswers):
        probabilities = [a.true_prob for a in answers if isinstance(a, ClassAnswers)]
        found |= {"true_prob": np.mean(probabilities, axis=0), "baseline": answers[0].baseline}
    found |= {
        "gain" if isinstance(answers[0], ClassAnswers) else "error": np.mean([a.scores for a in answers], axis=0),
        "at_risk": flags.mean(axis=0),
        "at_risk_any": np.asarray(flags.any(axis=0)),
        "at_risk_all": np.asarray(flags.all(axis=0)),
    }
    return {k: full_length(v, scored) for k, v in found.items()}


def together(attacks: Sequence[ScoredAttack], answers: Sequence[Answers]) -> Array:
    """What an attacker who holds every release would say: the class with the largest mean probability, the mean
    number. Classes are put together by what they are: a release can have some that another one lacks."""
    if isinstance(answers[0], ClassAnswers):
        own = [list(attack.classes or []) for attack in attacks]
        classes = list(dict.fromkeys(label for labels in own for label in labels))
        at = {label: place for place, label in enumerate(classes)}
        total = np.zeros((len(answers[0].probabilities), len(classes)))
        for labels, answer in zip(own, answers, strict=True):
            if isinstance(answer, ClassAnswers):
                told = answer.probabilities
                total[:, [at[label] for label in labels[: told.shape[1]]]] += told
        named = np.empty(len(classes), object)
        named[:] = classes
        likely: Array = named[total.argmax(axis=1)]
        return likely
    number: Array = np.mean([a.predicted for a in answers], axis=0)
    return number


def quarters(pair: Pair, column: str, table: str, known: Array) -> tuple[list[object], Array] | None:
    """A number with many values, cut at the quartiles of the original: the groups, and the one of every known record
    of a table; None for any other column."""
    if column not in pair.schema or not pair.is_numeric(column) or pair.codes(column).n_levels <= MANY_LEVELS:
        return None
    original = pair.values(column, "original")
    if table == "original":
        original = original[known]
    breaks = np.unique(np.quantile(original[~np.isnan(original)], np.linspace(0, 1, 5)))
    values = pair.values(column, table)[known]
    there = ~np.isnan(values)
    cut = cut_at(column, values[there], breaks)
    codes = np.full(len(values), len(cut.labels))
    codes[there] = cut.codes
    return [*cut.labels, *([] if there.all() else [None])], codes


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
