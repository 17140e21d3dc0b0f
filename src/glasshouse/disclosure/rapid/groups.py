"""RAPID for any group of people, scored against everybody.

A group is held against the baseline of all scored people: the class shares (or class means) stay theirs, so that a
group full of one class does not look safe because that class is common inside it. Luck is the exact share of the
group's people who would be flagged with the prediction made for somebody drawn from everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, closest
from glasshouse.core.intervals import Interval
from glasshouse.core.plain import percent
from glasshouse.core.records import RecordSource
from glasshouse.core.result import Frame, Result
from glasshouse.core.words import counted, plural
from glasshouse.disclosure.rapid import inference, records
from glasshouse.disclosure.rapid.answers import Answers, ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.attack import ScoredAttack, scored_attack
from glasshouse.disclosure.rapid.scores import Array, Moments, class_means, effective_n, relative_score, share

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.disclosure.rapid.result import RapidResult

Group: TypeAlias = "Mapping[str, object] | Sequence[bool] | Sequence[int] | Array | Frame"


class RapidGroup(Result):
    """RAPID of a group of people. For the custodian: nothing about a chosen group is told outside.

    Attributes
    ----------
    pair
        The tables the people are in.
    """

    pair: Pair

    def _levels(self, source: RecordSource, column: str, table: str, known: Array) -> tuple[list[object], Array]:
        return records.quarters(self.pair, column, table, known) or super()._levels(source, column, table, known)

    def _group_weights(self, table: str, known: Array) -> Array | None:
        weights = self.pair.weight_values(table)
        return None if weights is None else weights[known]

    def _counts_people(self) -> bool:
        return True


@dataclass(frozen=True)
class Asked:
    """The attacks a group is asked about: one pair and one attack per release, the table its people are in, and which
    records of that table they are."""

    pairs: Sequence[Pair]
    attacks: Sequence[ScoredAttack]
    table: str
    inside: Array


@dataclass(frozen=True)
class Scored:
    """A group scored: what every release says of its people. ``flags`` and ``weights`` go over the scored records of
    its table, weights being 0 outside the group."""

    baseline: Array
    scores: list[Array]
    flags: Array
    weights: Array
    chance: Moments
    n: int

    @property
    def values(self) -> list[float]:
        """The share at risk by release."""
        return [share(own, self.weights) for own in self.flags]


def among(result: RapidResult, people: Group, confidence: float) -> RapidGroup:
    """RAPID of a group; :meth:`RapidResult.among` explains the arguments."""
    levels = _wanted(people) if isinstance(people, Mapping) else None
    asked = _asked(result, people if levels is None else levels)
    found = _scored(asked, result.headline)
    if found is None:
        raise InputError("nobody of that group has a known target, so no prediction can be scored")
    value = float(np.mean(found.values))
    chance, n = found.chance, found.n
    held = _strangers(result, levels)
    size = effective_n(found.weights, len(found.weights))
    answers = asked.attacks[0].answers[result.headline]
    made = RapidGroup(
        value,
        baseline=chance[0],
        holdout=None if held is None else float(np.mean(held.values)),
        interval=_interval(found, size, confidence),
        p_chance=inference.tail_probability(value, chance, n),
        details={
            "n_total": n,
            "n_at_risk": float((found.flags[:, found.weights > 0]).sum(axis=1).mean()),
            "threshold": answers.threshold,
            "chance": chance[0],
            "chance_sd": chance[1],
            "z": inference.effect_size(value, chance),
            "everybody": result.value,
        },
        sentence=_sentence(result, value, found, held),
        records=lambda: _records(asked, found, result.headline),
        flag="at_risk",
        rank="at_risk" if len(asked.attacks) > 1 else "gain" if isinstance(answers, ClassAnswers) else "score",
    )
    made._set(name="rapid_group", pair=asked.pairs[0], settings=asked.pairs[0].describe())
    return made._copy(_source=asked.pairs[0], _record_table=asked.table)


def _interval(found: Scored, size: float, confidence: float) -> Interval:
    values = found.values
    if len(values) > 1:
        return inference.total_interval(values, [v * (1 - v) / size for v in values], confidence)
    return inference.share_interval(found.flags[0], confidence=confidence, weights=found.weights)


def _sentence(result: RapidResult, value: float, found: Scored, held: Scored | None) -> str:
    people = f"{found.n:,} {plural(found.n, 'person', 'people')}"
    strangers = "" if held is None else f", of such people never in the data {percent(float(np.mean(held.values)))}"
    return (
        f"Of the {people} of this group {percent(value)} are at risk{strangers}; of everybody "
        f"{percent(float(result.value or 0.0))}. With the prediction of anybody it would be {percent(found.chance[0])}."
    )


# -- who they are -----


def _asked(result: RapidResult, people: object) -> Asked:
    pair = result.pairs[0]
    if isinstance(people, str) and people == "holdout":
        if not pair.has_holdout:
            raise InputError("the pair has no holdout; people from outside can be given as a table")
        return Asked(result.pairs, result.attacks, "holdout", np.ones(pair.n("holdout"), bool))
    if isinstance(people, Mapping):
        inside = _with_levels(pair, people, "original")
        if not inside.any():
            raise InputError("nobody in the original has the levels asked for; check their spelling")
        return Asked(result.pairs, result.attacks, "original", inside)
    if hasattr(type(people), "columns") or isinstance(people, str) or hasattr(people, "__fspath__"):
        # the seed is that of the result, so the same attackers come to be
        pairs = [p.replace(holdout=people, cluster=None) for p in result.pairs]
        attacks = [scored_attack(p, a.target, a.settings) for p, a in zip(pairs, result.attacks, strict=True)]
        return Asked(pairs, attacks, "holdout", np.ones(pairs[0].n("holdout"), bool))
    return Asked(result.pairs, result.attacks, "original", _marked(np.asarray(people), pair.n("original")))


def _marked(people: Array, n: int) -> Array:
    """Records by yes and no, or by row numbers."""
    if people.ndim == 1 and people.dtype.kind == "b":
        if len(people) != n:
            raise InputError(f"a group by yes and no has one entry for each of the {n:,} original records")
        if not people.any():
            raise InputError("nobody is in that group")
        return people
    if people.ndim != 1 or people.dtype.kind not in "iu" or not len(people):
        raise InputError(
            "a group is {column: level}, one yes or no per original record, row numbers, 'holdout' or a table"
        )
    if people.min() < 0 or people.max() >= n:
        raise InputError(f"row numbers of the original lie between 0 and {n - 1:,}")
    inside = np.zeros(n, bool)
    inside[people] = True
    return inside


def _wanted(people: Mapping[str, object]) -> dict[str, list[object]]:
    """By column the levels asked for; one level stands for a list of one."""
    if not people:
        raise InputError("the group names no column; give {column: level}")
    return {
        str(name): list(level) if isinstance(level, (list, tuple, set, frozenset)) else [level]
        for name, level in people.items()
    }


def _with_levels(pair: Pair, wanted: Mapping[str, Sequence[object]], table: str) -> Array:
    inside = np.ones(pair.n(table), bool)
    for name, levels in wanted.items():
        if name not in pair.schema:
            raise InputError(f"the original has no column {name!r}{closest(name, pair.schema)}")
        labels, codes = pair.group_labels(name, table)
        unknown = [level for level in levels if level is not None and level not in labels]
        if unknown:
            raise InputError(f"nobody has {counted(len(unknown), 'level')} of the group in column {name!r}")
        chosen = [i for i, label in enumerate(labels) if label in levels]
        inside &= np.isin(codes, chosen)
    return inside


def _strangers(result: RapidResult, levels: Mapping[str, Sequence[object]] | None) -> Scored | None:
    """The same levels among people never in the data."""
    pair = result.pairs[0]
    if levels is None or not pair.has_holdout or not result.attacks[0].holdout:
        return None
    inside = _with_levels(pair, levels, "holdout")
    return _scored(Asked(result.pairs, result.attacks, "holdout", inside), result.headline) if inside.any() else None


# -- what they are told -----


def _scored(asked: Asked, headline: str) -> Scored | None:
    """The group scored against everybody; None where nobody in it has a known target."""
    members = [a.answers[headline] for a in asked.attacks]
    own, scored = records.people_of(asked.attacks[0], asked.table)
    if headline not in own:
        return None
    inside = asked.inside[scored].astype(float)
    weights = asked.pairs[0].weight_values(asked.table)
    weights = inside if weights is None else inside * np.nan_to_num(weights[scored])
    if not weights.any():
        return None
    answers = [records.people_of(a, asked.table)[0][headline] for a in asked.attacks]
    placed = [_against(one, full) for one, full in zip(answers, members, strict=True)]
    threshold, riskier = answers[0].threshold, answers[0].larger_is_riskier
    flags = np.array([s > threshold if riskier else s < threshold for _, s in placed])
    luck = [_luck(one, full, weights, asked.table) for one, full in zip(answers, members, strict=True)]
    chance = float(np.mean([m for m, _ in luck])), float(np.mean([s for _, s in luck]))
    return Scored(placed[0][0], [s for _, s in placed], flags, weights, chance, int(inside.sum()))


def _against(answers: Answers, full: Answers) -> tuple[Array, Array]:
    """Baseline and score of each record, the baseline being that of everybody; a number has none."""
    if isinstance(answers, NumberAnswers) or isinstance(full, NumberAnswers):
        return np.full(answers.n, np.nan), answers.scores
    if answers.score != "conditional":
        return answers.baseline, answers.scores
    baseline = class_means(full.true_prob, full.y, full.probabilities.shape[1], full.weights)[answers.y]
    return baseline, relative_score(answers.true_prob, baseline)


def _luck(answers: Answers, full: Answers, weights: Array, table: str) -> Moments:
    """Mean and sd of the group's share when predictions are dealt anew to everybody: the original, and the group's own
    people where they come from elsewhere."""
    if table == "original":
        return full.chance_among(weights)
    everybody = np.concatenate([np.zeros(full.n), weights])
    y = np.concatenate([full.y, answers.y])
    if isinstance(full, ClassAnswers) and isinstance(answers, ClassAnswers):
        stacked = np.concatenate([full.probabilities, answers.probabilities])
        return replace(full, probabilities=stacked, y=y, weights=None).chance_among(everybody)
    assert isinstance(full, NumberAnswers)
    assert isinstance(answers, NumberAnswers)
    guessed = np.concatenate([full.predicted, answers.predicted])
    return replace(full, predicted=guessed, y=y, weights=None).chance_among(everybody)


def _records(asked: Asked, found: Scored, headline: str) -> records.Columns:
    """The records of the group's table; those of other people are masked."""
    several = len(asked.attacks) > 1
    make: Callable[[], records.Columns] = (
        (lambda: records.of_releases(asked.attacks, headline, asked.table))
        if several
        else (lambda: records.of_attack(asked.attacks[0], headline, asked.table))
    )
    columns = make()
    scored = records.people_of(asked.attacks[0], asked.table)[1]
    own = {"at_risk": found.flags.mean(axis=0) if several else found.flags[0]}
    if "gain" in columns:
        own |= {"baseline": found.baseline, "gain": np.mean(found.scores, axis=0)}
    columns |= {name: records.full_length(column, scored) for name, column in own.items()}
    return {name: _masked(column, asked.inside) for name, column in columns.items()}


def _masked(column: Array, inside: Array) -> Array:
    if column.dtype == object:
        kept = column.copy()
        kept[~inside] = None
        return kept
    return np.ma.array(np.ma.getdata(column), mask=np.ma.getmaskarray(column) | ~inside)
