"""RapidResult: a RAPID figure that can be asked for its curve, its test, its thresholds, its intervals and its
causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.intervals import Interval
from glasshouse.core.result import Frame, RecordSource, Result
from glasshouse.core.streams import RandomState
from glasshouse.disclosure.rapid import inference, records
from glasshouse.disclosure.rapid.answers import Answers, ClassAnswers
from glasshouse.disclosure.rapid.attack import ScoredAttack, shuffled_attack
from glasshouse.disclosure.rapid.key_effects import attribute
from glasshouse.disclosure.rapid.key_tables import At, Factor, Key, Numbers, RapidAttribution
from glasshouse.disclosure.rapid.outcomes import RapidTest, RapidThresholds
from glasshouse.disclosure.rapid.redraw import redrawn_rates
from glasshouse.disclosure.rapid.scores import Array

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.disclosure.rapid.groups import Group, RapidGroup

Columns: TypeAlias = dict[str, list[object]]  # a table on its way to the caller's frame library


class RapidResult(Result):
    """A Result with RAPID's own diagnoses.

    Attributes
    ----------
    attacks
        One attack per release, each with every attacker's answers.
    pairs
        One pair per release.
    headline
        The attacker whose share is the value.
    """

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

    def at(self, threshold: float) -> RapidResult:
        """The same attack read at another threshold: nothing is trained again.

        Parameters
        ----------
        threshold
            tau for classes, epsilon for numbers.

        Returns
        -------
        RapidResult
            Share, chance, holdout, interval (Wilson's), records and groups at that threshold. What only the run itself
            tests, the leak and its p value, is left out.
        """
        attacks = [
            replace(
                one,
                answers={name: a.at(threshold) for name, a in one.answers.items()},
                holdout={name: a.at(threshold) for name, a in one.holdout.items()},
            )
            for one in self.attacks
        ]
        answers = [a.answers[self.headline] for a in attacks]
        strangers = [a.holdout[self.headline] for a in attacks if self.headline in a.holdout]
        told = inference.threshold_curve(answers, [float(threshold)])
        moved = self._copy(
            value=told["rapid"][0],
            baseline=told["chance"][0],
            holdout=float(np.mean([a.rate() for a in strangers])) if strangers else None,
            interval=(told["low"][0], told["high"][0]),
            **dict.fromkeys(("excess", "excess_interval", "difference", "difference_interval", "p_value", "exposure")),
            counts=None,
            details={**self.details, "threshold": float(threshold)},
            _records=lambda: (
                records.of_attack(attacks[0], self.headline)
                if len(attacks) == 1
                else records.of_releases(attacks, self.headline)
            ),
            _record_frame=None,
            _arrays={},
            _strangers=None,
        )
        return moved._with(attacks, self.pairs, self.headline)

    def curve(
        self, thresholds: Sequence[float] | None = None, attacker: str | None = None, confidence: float = 0.95
    ) -> Frame:
        """RAPID along a grid of thresholds, with interval, chance level and the band in which chance alone stays.

        Parameters
        ----------
        thresholds
            The grid; 21 thresholds from 0 by default.
        attacker
            Whose answers; those of the headline by default.
        confidence
            Level of the interval and of the band of chance.

        Returns
        -------
        frame
            One row per threshold: ``rapid``, ``low``, ``high``, ``chance``, ``chance_low``, ``chance_high``, ``z``;
            with several releases also their smallest and largest share.
        """
        return self._frame(inference.threshold_curve(self.answers(attacker), thresholds, confidence))

    def test(
        self,
        n_permutations: int | None = None,
        null: str = "labels",
        alpha: float = 0.05,
        random_state: RandomState = 0,
        attacker: str | None = None,
    ) -> RapidTest:
        """Permutation test: is the prediction tied to the person's own value?

        Parameters
        ----------
        n_permutations
            Relabellings (199 by default), or releases attacked (19).
        null
            "labels": relabel the people, the predictions stay. "refit": attack releases with shuffled targets.
        alpha
            Level at which the outcome is called significant.
        random_state
            Seed of the permutations.
        attacker
            Whose answers; those of the headline by default.

        Returns
        -------
        RapidTest
            p = (1 + #{permuted >= observed}) / (1 + permutations), with the moments of the null.
        """
        answers = self.answers(attacker)
        if null == "labels":
            made = inference.relabelling_test(answers, n_permutations or 199, alpha, random_state)
            return replace(made, table=self._frame(made.figures()))
        if null != "refit":
            raise InputError(f"null={null!r} is unknown; choose 'labels' or 'refit'")
        name = attacker or self.headline

        def refit(rng: np.random.Generator) -> list[Answers]:
            return [shuffled_attack(p, a.target, a, name, rng) for p, a in zip(self.pairs, self.attacks, strict=True)]

        made = inference.refitting_test(answers, refit, n_permutations or 19, alpha, random_state)
        return replace(made, table=self._frame(made.figures()))

    def thresholds(
        self,
        rule: inference.Rule = "strictest",
        thresholds: Sequence[float] | None = None,
        alpha: float = 0.05,
        n_permutations: int = 199,
        random_state: RandomState = 0,
        attacker: str | None = None,
    ) -> RapidThresholds:
        """A threshold chosen from the data, at which RAPID is beyond chance.

        Parameters
        ----------
        rule
            "strictest" (largest tau, smallest epsilon) or "max_z" (largest standardised excess), both corrected for
            looking at the whole grid; "max": the largest threshold beyond its own null, uncorrected, as riskutility
            does.
        thresholds
            The grid.
        alpha
            Level of the tests.
        n_permutations
            Relabellings behind the critical values.
        random_state
            Seed of the relabellings.
        attacker
            Whose answers; those of the headline by default.

        Returns
        -------
        RapidThresholds
            The recommended threshold (None when there is none) and the table behind it.
        """
        best, table, corrected = inference.choose_threshold(
            self.answers(attacker), rule, thresholds, alpha, n_permutations, random_state
        )
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        return RapidThresholds(best, rule, self._frame(table), alpha, n_permutations, corrected, rows)

    def confint(
        self,
        method: str = "wilson",
        confidence: float = 0.95,
        n_boot: int = 1000,
        random_state: RandomState = 0,
        attacker: str | None = None,
    ) -> Interval:
        """Interval of the share at risk.

        Parameters
        ----------
        method
            "wilson", "clopper_pearson", "wald", "bootstrap" or "cluster" (whole clusters are drawn): sampling of
            people only, every flag as it is. "total": people and releases, for several releases.
        confidence
            Level of the interval.
        n_boot
            Draws of the bootstrap methods.
        random_state
            Seed of the draws.
        attacker
            Whose answers; those of the headline by default.

        Returns
        -------
        tuple of float
            Lower and upper end.
        """
        answers = self.answers(attacker)
        flags = np.mean([a.flags() for a in answers], axis=0)
        clusters = self.pairs[0].cluster_codes("original")
        own = None if clusters is None else clusters[self.attacks[0].scored]
        if method == "total":
            if len(answers) < 2:
                raise InputError("a total interval needs at least two releases")
            within = [float(redrawn_rates([a], n_boot, random_state, own).var()) for a in answers]
            return inference.total_interval([a.rate() for a in answers], within, confidence)
        return inference.share_interval(
            flags,
            method,
            confidence,
            weights=answers[0].weights,
            n_boot=n_boot,
            random_state=random_state,
            clusters=own,
        )

    # -- diagnosis ---------------------------------------------------------------------------------------------------

    def attribution(
        self,
        interactions: int = 2,
        keys: Sequence[str] | None = None,
        at: At | None = None,
        penalty: str = "auto",
        confidence: float = 0.95,
        attacker: str | None = None,
    ) -> RapidAttribution:
        """Logistic regression of the flags on the keys: which key levels, alone or together, carry the risk.

        With several releases every release counts.

        Parameters
        ----------
        interactions
            Up to how many keys are looked at together: 1, 2 or 3.
        keys
            Keys to look at; all of them by default.
        at
            Values of the prediction grid, e.g. ``{"age": [30, 50, 70]}``.
        penalty
            "none" (maximum likelihood), "firth", or "auto": Firth's where maximum likelihood does not exist.
        confidence
            Level of the intervals.
        attacker
            Whose answers; those of the headline by default.

        Returns
        -------
        RapidAttribution
            Effects against the average, predictions on a grid, and a sentence.
        """
        chosen = list(self.pairs[0].keys if keys is None else [keys] if isinstance(keys, str) else keys)
        scored = self.attacks[0].scored
        answers = self.answers(attacker)
        columns = [_key(self.pairs[0], name, scored, len(answers)) for name in chosen]
        found = attribute(columns, np.concatenate([a.flags() for a in answers]), interactions, at, penalty, confidence)
        return RapidAttribution(
            **vars(found),
            effects=self._frame(_columns(found.rows)),
            grid=None if not found.grid_rows else self._frame(_columns(found.grid_rows)),
            marginal=None if not found.marginal_rows else self._frame(_columns(found.marginal_rows)),
        )

    def by_class(self, attacker: str | None = None) -> Frame:
        """Risk inside each true class: n, share of the class, the probability it takes to be flagged, the risk and its
        interval."""
        return self._frame(self.class_risks(attacker))

    def class_risks(self, attacker: str | None = None) -> Columns:
        """The columns of :meth:`by_class` as plain lists."""
        answers = self.answers(attacker)
        classes = self.attacks[0].classes
        if classes is None or not isinstance(answers[0], ClassAnswers):
            raise InputError("the target is a number, so there are no classes; use .by() with a column")
        flags = np.mean([a.flags() for a in answers], axis=0)
        y, shares = answers[0].y, answers[0].shares
        counts = np.bincount(y, minlength=len(classes))
        table: Columns = {name: [] for name in ("class", "n", "share", "cut", "value", "low", "high")}
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
        return table

    def among(self, people: Group, confidence: float = 0.95) -> RapidGroup:
        """RAPID for a group of people, scored against everybody.

        Parameters
        ----------
        people
            ``{column: level}`` or ``{column: [levels]}``: the original records with these levels. One yes or no per
            original record, or row numbers. "holdout": the holdout people. A table or file with keys and target:
            people from outside, about whom the same attackers are asked.
        confidence
            Level of the interval.

        Returns
        -------
        RapidGroup
            ``value``: share of the group at risk, class shares (or class means) being those of everybody.
            ``baseline``: the share of the group with the prediction of somebody drawn from everybody, exactly.
            ``holdout``: of a group by levels, the same among people never in the data. ``records`` and ``top(n)``: the
            group's people. Nothing of it is told outside.
        """
        from glasshouse.disclosure.rapid.groups import among

        self.answers()
        return among(self, people, confidence)

    def _levels(self, source: RecordSource, column: str, table: str, known: Array) -> tuple[list[object], Array]:
        return records.quarters(self.pairs[0], column, table, known) or super()._levels(source, column, table, known)

    def _group_weights(self, table: str, known: Array) -> Array | None:
        weights = self.pairs[0].weight_values(table)
        return None if weights is None else weights[known]

    def _counts_people(self) -> bool:
        return True

    def importance(self, attacker: str | None = None) -> dict[str, float] | None:
        """What each key contributed to the attacker's model, shares summing to 1 (mean over releases)."""
        name = attacker or self.headline
        found = [a.importance.get(name) for a in self.attacks]
        usable = [f for f in found if f is not None]
        if not usable:
            return None
        return {key: float(np.mean([f[key] for f in usable])) for key in usable[0]}

    def _frame(self, columns: Mapping[str, object]) -> Frame:
        return dict(columns) if self._source is None else self._source.plain_frame(columns)


def _columns(rows: Sequence[Mapping[str, object]]) -> Columns:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _key(pair: Pair, name: str, scored: Array, times: int) -> Key:
    """A key for the regression, repeated for every release."""
    if pair.is_numeric(name):
        values = pair.values(name, "original")[scored]
        if not np.isnan(values).any():
            return Numbers(name, np.tile(values, times))
    labels, codes = pair.group_labels(name, "original")
    shown = tuple("missing" if label is None else str(label) for label in labels)
    return Factor(name, shown, np.tile(codes[scored], times))
