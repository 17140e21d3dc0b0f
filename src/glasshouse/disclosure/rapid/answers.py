"""One attacker's answers about one set of people, scored. The same few questions for classes and for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, TypeAlias, TypedDict

import numpy as np

from glasshouse.disclosure.rapid import quality, scores
from glasshouse.disclosure.rapid.scores import Array, ErrorMetric, Moments, Score

Quality: TypeAlias = dict[str, float | None]  # the attacker's quality by the names of the reference output


class AgainstConstant(TypedDict):
    """The best single guess for everybody, and what the attacker adds to it."""

    constant_guess: float
    constant_coverage: float
    constant_gain: float | None
    beyond_constant: float


@dataclass(frozen=True)
class ClassAnswers:
    """Probabilities [n, K] for the scored records and their true classes; ``shares`` are the baseline b_k."""

    probabilities: Array
    y: Array
    score: Score
    threshold: float
    shares: Array
    n_columns: int
    weights: Array | None = None
    larger_is_riskier: ClassVar[bool] = True

    @property
    def n(self) -> int:
        return len(self.y)

    @cached_property
    def _scored(self) -> tuple[Array, Array, Array]:
        return scores.score_true_class(
            self.probabilities, self.y, self.score, self.shares, self.n_columns, self.weights
        )

    @property
    def true_prob(self) -> Array:
        return self._scored[0]

    @property
    def baseline(self) -> Array:
        return self._scored[1]

    @property
    def scores(self) -> Array:
        return self._scored[2]

    @cached_property
    def predicted(self) -> Array:
        guess: Array = self.probabilities.argmax(axis=1)
        return guess

    @cached_property
    def _every(self) -> Array:
        return scores.score_every_class(self.probabilities, self.score, self.shares, self.n_columns)

    def flags(self, threshold: float | None = None) -> Array:
        flagged: Array = self.scores > (self.threshold if threshold is None else threshold)
        return flagged

    def rate(self, threshold: float | None = None) -> float:
        return scores.share(self.flags(threshold), self.weights)

    def rates(self, thresholds: Sequence[float] | Array) -> Array:
        return shares_above(self.scores, np.asarray(thresholds, float), self.weights)

    def chance(self, threshold: float | None = None) -> Moments:
        """Mean and sd of the share of flags when people are relabelled at random and the predictions stay."""
        at = self.threshold if threshold is None else float(threshold)
        if at not in self._chances:
            self._chances[at] = self._chance(at)
        return self._chances[at]

    @cached_property
    def _chances(self) -> dict[float, Moments]:
        """By threshold what was worked out."""
        return {}

    def _chance(self, threshold: float) -> Moments:
        if self.is_degenerate:
            return 0.0, 0.0
        return scores.chance_for_classes(self._every > threshold, self.y, self.weights)

    def chance_among(self, weights: Array) -> Moments:
        """The same for people who count with these weights, 0 for others, each with the prediction of anybody."""
        if self.is_degenerate:
            return 0.0, 0.0
        return scores.chance_for_classes(self._every > self.threshold, self.y, weights)

    def relabelled_rates(self, order: Array, thresholds: Sequence[float] | Array) -> Array:
        """Shares of flags when record i is given the predictions of record ``order[i]``."""
        return shares_above(self.relabelled_scores(order), np.asarray(thresholds, float), self.weights)

    def relabelled_scores(self, order: Array) -> Array:
        if self.score == "conditional":  # its baseline depends on who holds which label
            return scores.score_true_class(
                self.probabilities[order], self.y, self.score, self.shares, self.n_columns, self.weights
            )[2]
        relabelled: Array = self._every[order, self.y]
        return relabelled

    def relabelled_flags(self, order: Array) -> Array:
        flagged: Array = self.relabelled_scores(order) > self.threshold
        return flagged

    def reweighted(self, weights: Array) -> float:
        """The share at risk where every record counts with its weight, also in the baseline."""
        total = weights.sum()
        shares = np.bincount(self.y, weights=weights, minlength=self.probabilities.shape[1]) / total
        scored = scores.score_true_class(self.probabilities, self.y, self.score, shares, self.n_columns, weights)[2]
        return float(weights @ (scored > self.threshold) / total)

    def at(self, threshold: float) -> ClassAnswers:
        """The same answers read at another threshold; what was worked out of them is kept."""
        twin = replace(self, threshold=float(threshold))
        twin.__dict__.update(_scored=self._scored, _every=self._every, predicted=self.predicted, _chances=self._chances)
        return twin

    def take(self, rows: Array) -> ClassAnswers:
        """The same answers for some of the records; the baseline stays that of all."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, probabilities=self.probabilities[rows], y=self.y[rows], weights=weights)

    @property
    def is_degenerate(self) -> bool:
        """One class only: there is nothing to infer."""
        return bool((self.shares >= 1).any())

    def quality(self) -> Quality:
        return dict(self._quality)

    @cached_property
    def _quality(self) -> Quality:
        found: Quality = dict(quality.quality_of_classes(self.probabilities, self.y, self.weights))
        flagged = self.flags()
        wrong = flagged & (self.predicted != self.y)
        found["flags_with_wrong_argmax"] = float(wrong.sum() / flagged.sum()) if flagged.any() else 0.0
        return found

    def by_class(self) -> Array:
        """Share of flags inside each true class."""
        return scores.class_means(self.flags().astype(float), self.y, self.probabilities.shape[1], self.weights)

    def usual_grid(self) -> Array:
        top = {"marginal": 1.0, "nce": 1.0, "conditional": 3.0}[self.score]
        return np.round(np.linspace(0, top, 21), 10)

    def search_grid(self) -> Array:
        return self.usual_grid()[1:-1]


@dataclass(frozen=True)
class NumberAnswers:
    """Predicted and true numbers of the scored records."""

    predicted: Array
    y: Array
    metric: ErrorMetric
    threshold: float
    delta: float
    weights: Array | None = None
    larger_is_riskier: ClassVar[bool] = False

    @property
    def n(self) -> int:
        return len(self.y)

    @cached_property
    def scores(self) -> Array:
        """The prediction errors."""
        return scores.prediction_error(self.y, self.predicted, self.metric, self.delta)

    def flags(self, threshold: float | None = None) -> Array:
        flagged: Array = self.scores < (self.threshold if threshold is None else threshold)
        return flagged

    def rate(self, threshold: float | None = None) -> float:
        return scores.share(self.flags(threshold), self.weights)

    def rates(self, thresholds: Sequence[float] | Array) -> Array:
        return shares_below(self.scores, np.asarray(thresholds, float), self.weights)

    def chance(self, threshold: float | None = None) -> Moments:
        """Mean and sd of the share of flags when people are relabelled at random and the predictions stay."""
        at = self.threshold if threshold is None else float(threshold)
        if at not in self._chances:
            self._chances[at] = self._chance(at)
        return self._chances[at]

    @cached_property
    def _chances(self) -> dict[float, Moments]:
        """By threshold what was worked out."""
        return {}

    def _chance(self, threshold: float) -> Moments:
        return scores.chance_for_numbers(self.y, self.predicted, self.metric, self.delta, threshold, self.weights)

    def chance_among(self, weights: Array) -> Moments:
        """The same for people who count with these weights, 0 for others, each with the prediction of anybody."""
        return scores.chance_for_numbers(self.y, self.predicted, self.metric, self.delta, self.threshold, weights)

    def relabelled_rates(self, order: Array, thresholds: Sequence[float] | Array) -> Array:
        """Shares of flags when record i is given the prediction of record ``order[i]``."""
        return shares_below(self.relabelled_scores(order), np.asarray(thresholds, float), self.weights)

    def relabelled_scores(self, order: Array) -> Array:
        return scores.prediction_error(self.y, self.predicted[order], self.metric, self.delta)

    def relabelled_flags(self, order: Array) -> Array:
        flagged: Array = self.relabelled_scores(order) < self.threshold
        return flagged

    def at(self, threshold: float) -> NumberAnswers:
        """The same answers read at another threshold; what was worked out of them is kept."""
        twin = replace(self, threshold=float(threshold))
        twin.__dict__.update(scores=self.scores, _chances=self._chances)
        return twin

    def take(self, rows: Array) -> NumberAnswers:
        """The same answers for some of the records."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, predicted=self.predicted[rows], y=self.y[rows], weights=weights)

    @property
    def is_degenerate(self) -> bool:
        """One value only: there is nothing to infer."""
        return bool(len(self.y) == 0 or (self.y == self.y[0]).all())

    def quality(self) -> Quality:
        return dict(quality.quality_of_numbers(self.predicted, self.y, self.weights))

    def against_constant(self) -> AgainstConstant:
        """What the best single guess for everybody reaches, and how many are flagged whom that guess would miss."""
        guess, coverage = scores.best_constant(self.y, self.metric, self.delta, self.threshold, self.weights)
        constant = scores.prediction_error(self.y, np.full(self.n, guess), self.metric, self.delta) < self.threshold
        gain = (self.rate() - coverage) / (1 - coverage) if coverage < 1 else None
        return {
            "constant_guess": guess,
            "constant_coverage": coverage,
            "constant_gain": gain,
            "beyond_constant": scores.share(self.flags() & ~constant, self.weights),
        }

    def usual_grid(self) -> Array:
        if self.metric == "absolute":
            return np.linspace(0, 4 * self.threshold, 21)
        return np.round(np.linspace(0, 1, 21), 10)

    def search_grid(self) -> Array:
        if self.metric == "absolute":
            return self.usual_grid()[1:]
        return np.round(np.arange(0.01, 0.50, 0.02), 10)


Answers = ClassAnswers | NumberAnswers


def shares_above(values: Array, thresholds: Array, weights: Array | None = None) -> Array:
    """For each threshold, the (weighted) share of values strictly above it; one pass over the records."""
    order = np.argsort(thresholds, kind="stable")
    passed = np.searchsorted(thresholds[order], values, side="left")
    counts = np.bincount(passed, weights=weights, minlength=len(thresholds) + 1)
    above = np.cumsum(counts[::-1])[::-1][1:] / counts.sum()
    found = np.empty(len(thresholds))
    found[order] = above
    return found


def shares_below(values: Array, thresholds: Array, weights: Array | None = None) -> Array:
    """For each threshold, the (weighted) share of values strictly below it."""
    return shares_above(-values, -thresholds, weights)
