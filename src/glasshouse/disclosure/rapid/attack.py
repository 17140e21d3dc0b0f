"""From a pair to scored answers: train the attackers on a release, ask them about the original (and the holdout),
score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, get_args

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, names_wanted
from glasshouse.disclosure.rapid.answers import Answers, ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.scores import USUAL_TAU, Array, ErrorMetric, Score, automatic_delta, class_shares
from glasshouse.engines.models.estimator import as_attacker
from glasshouse.engines.models.registry import Estimator
from glasshouse.engines.models.registry import attackers as registered

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.engines.models.attackers import Attack

Attackers: TypeAlias = "str | Estimator | Iterable[str | Estimator]"  # one name or estimator, or several
SCORES: dict[str, Score] = {
    "marginal": "marginal",
    "conditional": "conditional",
    "nce": "nce",
    "RCS_marginal": "marginal",
    "RCS_conditional": "conditional",
    "NCE": "nce",
}
ERRORS: dict[str, ErrorMetric] = {name: name for name in get_args(ErrorMetric)}
CODE_LIKE = 10  # a numeric target with no more whole values than this may be a set of codes
MOST_CLASSES = 1_000  # of a target; a leaf of so many is added up for everybody in it, tree by tree
MOST_ANSWERS = 200_000_000  # probabilities, people times classes: some 10 GB with what is made of them


@dataclass(frozen=True)
class AttackSettings:
    """Everything that defines a RAPID figure but the data."""

    attackers: tuple[str | Estimator, ...] = ("rf",)
    score: Score = "marginal"
    tau: float = 0.3
    error: ErrorMetric = "symmetric"
    epsilon: float = 0.10
    delta: float | str = 0.01
    missing_target: str | None = None
    constant: float = 0.0
    target_type: str | None = None
    numeric_key_na: str = "median+flag"
    unseen: str = "reference"
    trees: int = 500
    attacker_options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    seed: int = 0
    n_jobs: int | None = None

    def options_of(self, attacker: str | Estimator) -> dict[str, object]:
        """What the user set for one attacker; ``trees`` concerns every attacker that grows some."""
        known = as_attacker(attacker)
        trees = {"trees": self.trees} if "trees" in known.options else {}
        return {**trees, **self.attacker_options.get(known.name, {})}


def attack_settings(
    attackers: Attackers,
    score: str,
    tau: float | None,
    error: str,
    epsilon: float,
    delta: float | str,
    unseen: str = "reference",
    *,
    missing_target: str | None = None,
    constant: float = 0.0,
    target_type: str | None = None,
    numeric_key_na: str = "median+flag",
    trees: int = 500,
    attacker_options: Mapping[str, Mapping[str, object]] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> AttackSettings:
    """Checked settings; ``tau`` None takes the usual value of the score."""
    # some estimators can be iterated over, too: an ensemble gives its members
    several = () if attackers is None else attackers
    chosen = (several,) if isinstance(several, (str, Estimator)) else tuple(several)
    if not chosen:
        raise InputError("attackers is empty; name at least one, e.g. attackers=('rf',)")
    names_wanted("attackers", chosen, registered())
    names = [as_attacker(attacker).name for attacker in chosen]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise InputError(f"attacker {twice[0]!r} is named twice")
    if score not in SCORES:
        raise InputError(f"score={score!r} is unknown; choose 'marginal', 'conditional' or 'nce'")
    if error not in ERRORS:
        raise InputError(f"error={error!r} is unknown; choose one of {', '.join(ERRORS)}")
    if not isinstance(delta, str) and not delta > 0:
        raise InputError(f"delta must be positive (or 'auto'), not {delta}")
    if isinstance(delta, str) and delta != "auto":
        raise InputError(f"delta={delta!r} is unknown; give a positive number or 'auto'")
    if not epsilon > 0:
        raise InputError(f"epsilon must be positive, not {epsilon}")
    if unseen not in ("reference", "error"):
        raise InputError(f"unseen={unseen!r} is unknown; choose 'reference' or 'error'")
    known = SCORES[score]
    return AttackSettings(
        attackers=chosen,
        score=known,
        tau=USUAL_TAU[known] if tau is None else float(tau),
        error=ERRORS[error],
        epsilon=float(epsilon),
        delta=delta,
        missing_target=missing_target,
        constant=constant,
        target_type=target_type,
        numeric_key_na=numeric_key_na,
        unseen=unseen,
        trees=trees,
        attacker_options=dict(attacker_options or {}),
        seed=seed,
        n_jobs=n_jobs,
    )


@dataclass(frozen=True)
class ScoredAttack:
    """Scored answers of every attacker on one release, for one target. ``scored`` and ``scored_holdout`` mark the
    records with a known target, ``exchanged`` those whose target is their own and not a median of their table."""

    target: str
    classes: list[object] | None
    scored: Array
    answers: dict[str, Answers]
    holdout: dict[str, Answers]
    importance: dict[str, dict[str, float] | None]
    warnings: list[str]
    delta: float
    settings: AttackSettings
    scored_holdout: Array = field(default_factory=lambda: np.zeros(0, bool))
    exchanged: Mapping[str, Array] = field(default_factory=dict)


def scored_attack(pair: Pair, target: str, settings: AttackSettings, shares: Array | None = None) -> ScoredAttack:
    """Run every attacker once. ``shares`` (class shares in class-code order) replace those of the scored records."""
    from glasshouse.engines.models.attackers import attack

    warnings = _look_at_target(pair, target, settings)
    tables = ("original", "holdout") if pair.has_holdout else ("original",)
    answers: dict[str, Answers] = {}
    holdout: dict[str, Answers] = {}
    importance = {}
    scored = np.zeros(0, bool)
    classes: list[object] | None = None
    delta = 0.0
    present = np.zeros(0, bool)
    exchanged: dict[str, Array] = {}
    for attacker in settings.attackers:
        found = attack(
            pair,
            attacker=attacker,
            keys=pair.keys,
            target=target,
            tables=tables,
            target_type=settings.target_type,
            missing_target=settings.missing_target or "auto",
            constant=settings.constant,
            numeric_key_na=settings.numeric_key_na,
            random_state=settings.seed,
            n_jobs=settings.n_jobs,
            **settings.options_of(attacker),
        )
        classes = found.classes
        if settings.unseen == "error" and any(found.unseen.values()):
            raise InputError(
                f"{sum(found.unseen.values()):,} records hold a key level that the release does not have; use "
                "unseen='reference' to score them"
            )
        truth, known = _truth(pair, target, found.truth["original"], "original", settings, classes)
        if not known.any():
            raise NotApplicable(
                f"target {target!r} is missing for every record, so no prediction can be scored; choose another target"
            )
        scored = known
        weights = pair.weight_values("original")
        weights = None if weights is None else weights[known]
        name = found.attacker
        importance[name] = found.importance
        warnings += [note for note in found.notes if note not in warnings]
        if classes is None:
            delta = automatic_delta(truth[known]) if settings.delta == "auto" else float(settings.delta)
            answers[name] = NumberAnswers(
                found.predicted["original"][known], truth[known], settings.error, settings.epsilon, delta, weights
            )
            if answers[name].is_degenerate and len(answers) == 1:
                warnings.append("every scored record has the same value: there is nothing to infer")
        else:
            y = truth[known]
            base = class_shares(y, len(classes), weights) if shares is None else shares
            warnings += [w for w in _look_at_classes(y, found.training_classes, base) if w not in warnings]
            columns = len(classes) - (1 if settings.missing_target == "drop" and pair.codes(target).missing else 0)
            answers[name] = ClassAnswers(
                found.probabilities["original"][known], y, settings.score, settings.tau, base, columns, weights
            )
        exchanged = {t: _own_target(found.truth[t], settings, classes) for t in tables}
        exchanged["original"] = exchanged["original"] & known
        if len(tables) > 1:
            own, present = _truth(pair, target, found.truth["holdout"], "holdout", settings, classes)
            exchanged["holdout"] = exchanged["holdout"] & present
            if present.any():
                holdout[name] = _holdout_answers(answers[name], found, own, present, pair)
    return ScoredAttack(
        target, classes, scored, answers, holdout, importance, warnings, delta, settings, present, exchanged
    )


def _own_target(truth: Array, settings: AttackSettings, classes: list[object] | None) -> Array:
    """Who has a target that does not depend on which table they are in: a median of the table does."""
    if classes is not None or settings.missing_target != "median":
        return np.ones(len(truth), bool)
    known: Array = ~np.isnan(truth)
    return known


def _holdout_answers(like: Answers, found: Attack, truth: Array, known: Array, pair: Pair) -> Answers:
    """The same attacker asked about people never in the data, scored with the baseline of the original."""
    weights = pair.weight_values("holdout")
    weights = None if weights is None else weights[known]
    if isinstance(like, NumberAnswers):
        return replace(like, predicted=found.predicted["holdout"][known], y=truth[known], weights=weights)
    return replace(like, probabilities=found.probabilities["holdout"][known], y=truth[known], weights=weights)


def _truth(
    pair: Pair, target: str, truth: Array, table: str, settings: AttackSettings, classes: list[object] | None
) -> tuple[Array, Array]:
    """True values by the rule for missing targets, and which records can be scored."""
    if classes is not None:
        known = np.ones(len(truth), bool)
        if settings.missing_target == "drop" and pair.codes(target).missing:
            known = truth != len(classes) - 1
        return truth, known
    endless = int((np.abs(truth) > 1e150).sum())  # the square of a larger error is no longer a number
    if endless:
        raise InputError(
            f"target {target!r} has {endless:,} infinite values (or beyond 1e150) in the {table} table; mend them "
            "or make them missing"
        )
    known = ~np.isnan(truth)
    if settings.missing_target in (None, "drop") or known.all() or not known.any():
        return truth, known
    fill = settings.constant if settings.missing_target == "constant" else float(np.median(truth[known]))
    return np.where(known, truth, fill), np.ones(len(truth), bool)


def _look_at_target(pair: Pair, target: str, settings: AttackSettings) -> list[str]:
    column = pair.schema[target]
    numeric = pair.is_numeric(target) if settings.target_type is None else settings.target_type == "continuous"
    if not numeric:
        _refuse_without_room(pair, target)
        return []
    if column.kind == "datetime" and settings.error != "absolute":
        raise NotApplicable(
            f"target {target!r} is a date, and an error relative to a date has no meaning; use error='absolute' with "
            "epsilon in days, "
            f"or target_type='categorical'"
        )
    warnings = []
    codes = pair.codes(target)
    if column.kind == "integer" and codes.n_levels <= CODE_LIKE and settings.target_type is None:
        warnings.append(
            f"target {target!r} has {codes.n_levels} whole values and is taken as a number; if they are codes, pass "
            "target_type='categorical'"
        )
    if settings.error != "absolute" and settings.epsilon > 1:
        warnings.append(
            f"epsilon={settings.epsilon:g} is a proportion for the {settings.error} error: {100 * settings.epsilon:g} %"
        )
    return warnings


def _refuse_without_room(pair: Pair, target: str) -> None:
    """An attacker answers everybody with a probability for every class, and a leaf of many classes adds up all of them
    for everybody in it.
    """
    values, people = pair.codes(target).n_levels, pair.n("original") + (pair.n("holdout") if pair.has_holdout else 0)
    if values > MOST_CLASSES or values * people > MOST_ANSWERS:
        raise NotApplicable(
            f"target {target!r} has {values:,} values, and an attacker gives each of {people:,} people a probability "
            f"for every one, which is done up to {MOST_CLASSES:,} values and {MOST_ANSWERS:,} probabilities: group the "
            "values, or ask disco, which counts"
        )


def _look_at_classes(y: Array, training: Array | None, shares: Array) -> list[str]:
    if len(np.unique(y)) == 1 and shares[y[0]] >= 1:
        return ["every scored record has the same class: there is nothing to infer, so nobody is at risk"]
    absent = np.zeros(len(y), bool) if training is None else training[y] == 0
    if not absent.any():
        return []
    count = len(np.unique(y[absent]))
    return [
        f"{int(absent.sum()):,} records have a class that the release does not have ({count} of the classes): they "
        "count as not at risk"
    ]


def shuffled_attack(pair: Pair, target: str, like: ScoredAttack, name: str, rng: np.random.Generator) -> Answers:
    """The answers of an attacker trained on the release with its target shuffled over the rows: it can only learn
    noise."""
    from glasshouse.engines.models.design import design
    from glasshouse.engines.models.model import fit_and_predict

    settings = like.settings
    attacker = next(a for a in settings.attackers if as_attacker(a).name == name)
    training = design(pair, pair.keys, "released", numeric_key_na=settings.numeric_key_na)
    asked = design(pair, pair.keys, "original", numeric_key_na=settings.numeric_key_na)
    y, keep = training_target(pair, target, settings, like.classes)
    answers, _ = fit_and_predict(
        attacker,
        training.take(np.flatnonzero(keep)),
        rng.permutation(y[keep]),
        [asked.take(np.flatnonzero(like.scored))],
        n_classes=None if like.classes is None else len(like.classes),
        random_state=int(rng.integers(2**31)),
        n_jobs=settings.n_jobs,
        **settings.options_of(attacker),
    )
    known = like.answers[name]
    if isinstance(known, NumberAnswers):
        return replace(known, predicted=answers[0])
    return replace(known, probabilities=answers[0])


def training_target(
    pair: Pair, target: str, settings: AttackSettings, classes: Sequence[object] | None
) -> tuple[Array, Array]:
    """Target of the release by the rule for missing values, and which rows train."""
    if classes is not None:
        codes = pair.codes(target).of("released")
        keep = (codes >= 0) if settings.missing_target == "drop" else np.ones(len(codes), bool)
        return np.where(codes < 0, len(classes) - 1, codes), keep
    values = np.where(pair.special_mask(target, "released"), np.nan, pair.values(target, "released"))
    known = ~np.isnan(values)
    if settings.missing_target in (None, "drop") or known.all():
        return values, known
    fill = settings.constant if settings.missing_target == "constant" else float(np.median(values[known]))
    return np.where(known, values, fill), np.ones(len(values), bool)
