"""RapidResult: a RAPID figure that can be asked for its curve, its test, its thresholds, its intervals and its
causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.intervals import Interval
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.disclosure.rapid import inference
from glasshouse.disclosure.rapid.answers import Answers, ClassAnswers
from glasshouse.disclosure.rapid.attack import ScoredAttack, shuffled_attack
from glasshouse.disclosure.rapid.key_effects import Factor, Key, RapidAttribution, attribute
from glasshouse.disclosure.rapid.scores import Array

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

SIGNIFICANCE = 0.05


class RapidResult(Result):
    """A Result with RAPID's own diagnoses. ``attacks`` holds one attack per release, each with every attacker's
    answers."""

    attacks: list[ScoredAttack]
    pairs: list[Pair]
    headline: str

    def _with(self, attacks: Sequence[ScoredAttack], pairs: Sequence[Pair], headline: str) -> RapidResult:
        self._set(attacks=list(attacks), pairs=list(pairs), headline=headline)
        return self

    def answers(self, attacker: str | None = None) -> list[Answers]:
        """Scored answers of one attacker (the headline's by default), one entry per release."""
        if self.status != "ok":
            raise InputError(f"RAPID has no value here: {self.reason}")
        name = attacker or self.headline
        if name not in self.attacks[0].answers:
            raise InputError(f"attacker {name!r} was not run; there are: {listed(self.attacks[0].answers)}")
        return [a.answers[name] for a in self.attacks]

    # -- inference ---------------------------------------------------------------------------------------------------

    def curve(
        self, thresholds: Sequence[float] | None = None, attacker: str | None = None, confidence: float = 0.95
    ) -> Any:
        """RAPID along a grid of thresholds, with interval, chance level and the band in which chance alone stays."""
        return self._frame(inference.threshold_curve(self.answers(attacker), thresholds, confidence))

    def test(
        self,
        n_permutations: int | None = None,
        null: str = "labels",
        alpha: float = 0.05,
        random_state: RandomState = 0,
        attacker: str | None = None,
    ) -> inference.RapidTest:
        """Permutation test. ``null="labels"``: relabel the people, predictions fixed; "refit": attack releases with
        shuffled targets."""
        answers = self.answers(attacker)
        if null == "labels":
            return inference.relabelling_test(answers, n_permutations or 199, alpha, random_state)
        if null != "refit":
            raise InputError(f"null={null!r} is unknown; choose 'labels' or 'refit'")
        name = attacker or self.headline

        def refit(rng: np.random.Generator) -> list[Answers]:
            return [shuffled_attack(p, a.target, a, name, rng) for p, a in zip(self.pairs, self.attacks, strict=True)]

        return inference.refitting_test(answers, refit, n_permutations or 19, alpha, random_state)

    def thresholds(
        self,
        rule: inference.Rule = "strictest",
        thresholds: Sequence[float] | None = None,
        alpha: float = 0.05,
        n_permutations: int = 199,
        random_state: RandomState = 0,
        attacker: str | None = None,
    ) -> inference.RapidThresholds:
        """A threshold chosen from the data: "strictest" or "max_z" (corrected for the grid), or "max" (uncorrected)."""
        best, table, corrected = inference.choose_threshold(
            self.answers(attacker), rule, thresholds, alpha, n_permutations, random_state
        )
        return inference.RapidThresholds(best, rule, self._frame(table), alpha, n_permutations, corrected)

    def confint(
        self,
        method: str = "wilson",
        confidence: float = 0.95,
        n_boot: int = 1000,
        random_state: RandomState = 0,
        attacker: str | None = None,
    ) -> Interval:
        """Interval of the share: "wilson", "clopper_pearson", "wald", "bootstrap", "cluster"; "total" over several
        releases."""
        answers = self.answers(attacker)
        flags = np.mean([a.flags() for a in answers], axis=0)
        if method == "total":
            if len(answers) < 2:
                raise InputError("a total interval needs at least two releases")
            rates = [a.rate() for a in answers]
            return inference.total_interval(rates, [r * (1 - r) / answers[0].n for r in rates], confidence)
        clusters = self.pairs[0].cluster_codes("original")
        return inference.share_interval(
            flags,
            method,
            confidence,
            weights=answers[0].weights,
            n_boot=n_boot,
            random_state=random_state,
            clusters=None if clusters is None else clusters[self.attacks[0].scored],
        )

    # -- diagnosis ---------------------------------------------------------------------------------------------------

    def attribution(
        self,
        interactions: int = 2,
        keys: Sequence[str] | None = None,
        at: Mapping[str, Sequence[Any]] | None = None,
        penalty: str = "auto",
        confidence: float = 0.95,
        attacker: str | None = None,
    ) -> RapidAttribution:
        """Logistic regression of the flags on the keys: which key levels, alone or together, carry the risk.

        ``at`` names the values of the prediction grid, e.g. ``{"age": [30, 50, 70]}``. With several releases every
        release counts.
        """
        chosen = list(self.pairs[0].keys if keys is None else [keys] if isinstance(keys, str) else keys)
        scored = self.attacks[0].scored
        answers = self.answers(attacker)
        columns = [_key(self.pairs[0], name, scored, len(answers)) for name in chosen]
        found = attribute(columns, np.concatenate([a.flags() for a in answers]), interactions, at, penalty, confidence)
        grid = None if not found.grid_rows else self._frame(_columns(found.grid_rows))
        return RapidAttribution(**{**found.__dict__, "effects": self._frame(_columns(found.rows)), "grid": grid})

    def by_class(self, attacker: str | None = None) -> Any:
        """Risk inside each true class: n, share of the class, the probability it takes to be flagged, the risk and its
        interval."""
        answers = self.answers(attacker)
        classes = self.attacks[0].classes
        if classes is None or not isinstance(answers[0], ClassAnswers):
            raise InputError("the target is a number, so there are no classes; use .by() with a column")
        flags = np.mean([a.flags() for a in answers], axis=0)
        y, shares = answers[0].y, answers[0].shares
        counts = np.bincount(y, minlength=len(classes))
        table: dict[str, list[Any]] = {name: [] for name in ("class", "n", "share", "cut", "value", "low", "high")}
        for k in np.flatnonzero(counts):
            inside = y == k
            weights = None if answers[0].weights is None else answers[0].weights[inside]
            low, high = inference.share_interval(flags[inside], weights=weights)
            value = float(np.average(flags[inside], weights=weights))
            cut = float(shares[k] + answers[0].threshold * (1 - shares[k])) if answers[0].score == "marginal" else None
            for name, entry in zip(
                table, (classes[k], int(counts[k]), float(shares[k]), cut, value, low, high), strict=True
            ):
                table[name].append(entry)
        return self._frame(table)

    def by(self, column: str, confidence: float = 0.95, min_group: int = 10) -> Any:
        """The figure inside each level of ``column``; numbers with many values are cut at their quartiles, weights
        count."""
        pair, answers = self.pairs[0], self.answers()
        pair.codes(column)
        many = pair.is_numeric(column) and pair.codes(column).n_levels > 20
        if not many and answers[0].weights is None:
            return super().by(column, confidence, min_group)
        scored = self.attacks[0].scored
        flags = np.mean([a.flags() for a in answers], axis=0)
        if many:
            from glasshouse.disclosure.rapid.key_effects import quantile_factor

            values = pair.values(column, "original")[scored]
            known = ~np.isnan(values)
            cut = quantile_factor(column, values[known], 4)
            codes = np.full(len(values), len(cut.labels))
            codes[known] = cut.codes
            labels: list[Any] = [*cut.labels, None]
        else:
            labels, every = pair.group_labels(column, "original")
            codes = every[scored]
        table: dict[str, list[Any]] = {name: [] for name in (column, "n", "value", "low", "high", "small")}
        for position, label in enumerate(labels):
            inside = codes == position
            n = int(inside.sum())
            if label is None and not n:
                continue
            weights = None if answers[0].weights is None else answers[0].weights[inside]
            value = float(np.average(flags[inside], weights=weights)) if n else None
            low, high = (
                inference.share_interval(flags[inside], confidence=confidence, weights=weights) if n else (None, None)
            )
            for name, entry in zip(table, (label, n, value, low, high, n < min_group), strict=True):
                table[name].append(entry)
        return self._frame(table)

    def importance(self, attacker: str | None = None) -> dict[str, float] | None:
        """What each key contributed to the attacker's model, shares summing to 1 (mean over releases)."""
        name = attacker or self.headline
        found = [a.importance.get(name) for a in self.attacks]
        usable = [f for f in found if f is not None]
        if not usable:
            return None
        return {key: float(np.mean([f[key] for f in usable])) for key in usable[0]}

    def _frame(self, columns: Mapping[str, Any]) -> Any:
        return dict(columns) if self._source is None else self._source.plain_frame(columns)


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _key(pair: Pair, name: str, scored: Array, times: int) -> Key:
    """A key for the regression, repeated for every release."""
    if pair.is_numeric(name):
        values = pair.values(name, "original")[scored]
        if not np.isnan(values).any():
            return Key(name, np.tile(values, times), None)
    labels, codes = pair.group_labels(name, "original")
    shown = tuple("missing" if label is None else str(label) for label in labels)
    return Key(name, None, Factor(name, shown, np.tile(codes[scored], times)))


def full_length(values: Array, scored: Array) -> Any:
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
