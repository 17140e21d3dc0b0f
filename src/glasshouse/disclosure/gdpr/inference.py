"""Inference: how often does the release let an attacker guess one column of a person from the others?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import PREDICTS
from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.disclosure.copying.closeness import refuse_infinite
from glasshouse.disclosure.gdpr.linkability import attack_space
from glasshouse.disclosure.gdpr.statistics import CITE, Attack, Exchanged, Side, report
from glasshouse.engines.asked import Asked, People, records_asked, spread
from glasshouse.engines.exchange import exchange, exposure, people_clusters
from glasshouse.engines.neighbours.encoding import as_seen_by
from glasshouse.engines.neighbours.gower import chosen_columns, gower_space
from glasshouse.engines.neighbours.search import SPARE, Space
from glasshouse.engines.neighbours.tallies import Tally

if TYPE_CHECKING:
    from glasshouse.engines.models.registry import Estimator


@measure(
    side="disclosure",
    family="gdpr",
    threat="attribute",
    better="lower",
    range=(0, 1),
    needs=("target",),
    limit=LEAK_LIMIT,
    population=True,
    audited=True,
    cost="neighbours",
    group="inference",
    cite=CITE,
    attacker="the keys (or every other column) of real people",
    caveats="one nearest record is a weak predictor; rapid and attribution ask the same with stronger ones. Success "
    "that the holdout shows too is knowledge about the population, not about the people in the original",
    on_map=True,
    advice=PREDICTS,
    by_position=("lowest_index", "lowest_index_tolerance_on_secret"),
    influence="free",
    wide="unkeyed",
    grows="people",
)
def inference(
    pair: Pair,
    *,
    predictors: Sequence[str] | None = None,
    attacker: str | Estimator = "nearest",
    regression: bool | None = None,
    tolerance: float = 0.05,
    scale: float | None = None,
    n_attacks: People = None,
    missing: str = "level",
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of people whose target is guessed right from the released record nearest to them.

    The guess is the target of the nearest released record by the keys, averaged over ties, or the prediction of a model
    trained on the release. Part of any success is knowledge about the population: the same guesses about people never
    in the data show how much.

    Parameters
    ----------
    pair : Pair
        Original and release with one target. Keys say what the attacker knows; without any it is every other column. A
        holdout gives the control.
    predictors : sequence of str, optional
        What the attacker knows; the keys by default, or every other column.
    attacker : str or estimator, default "nearest"
        "nearest" (Gower distance), a model by name such as "rf", "gbm" or "cart"
        (``glasshouse.engines.models.registry.attackers()`` lists all), or a scikit-learn estimator.
    regression : bool, optional
        Whether the target is a number that may be missed by a tolerance; by default when it is numeric. False asks for
        equality of numbers too.
    tolerance : float, default 0.05
        Relative error up to which a number counts as guessed right.
    scale : float, optional
        Least size a number is taken for in that error, not negative; the interquartile range of the target among real
        people (original and holdout together) by default, so that neither the sign nor the size of the guess can make
        it right.
    n_attacks : int or "all", optional
        Attack a random sample of this many people on each side. Default: everybody, and 50,000 of more
        than 100,000.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        What a missing value is in the distance: a value of its own, different from everything, equal to everything, or
        a reason to leave the column out of that comparison.
    confidence : float, default 0.95
        Level of the intervals.
    random_state : int, Generator or None, default 0
        Seed of the sample and of a model with chance.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    Result
        ``value``: the share guessed right; ``baseline``: the share with the target of a random released record;
        ``holdout``: the share of people never in the data guessed right; ``difference``: the share of members minus
        that of strangers, with interval and p value; ``excess``: (value - holdout) / (1 - holdout). ``details``:
        numbers of guesses and successes, the same under the tie rules and tolerances of other packages, and
        anonymeter's figures. ``records``: per person what the attacker would say (``predicted``: of tied records
        what most of them hold), the chance of a right guess (``inferred``), that of a naive one, their difference
        (``gain``) and the number of tied records.

    Notes
    -----
    Categories are guessed right when equal, missing counting as a value. A number y is guessed right by g when

        |g - y| <= tolerance * max(|y|, scale)

    Baseline, exactly: sum_v P_S(v) P_T(v) for categories, P_S and P_T being the shares in release and original. Every
    person is asked on their own, so original and holdout need not be of equal size. The value scales distances by the
    attacked people and the release, as the published method does; members and strangers are compared under one scaling
    by all of them, and the p value exchanges their labels, of whole clusters where the pair has them.

    References
    ----------
    Giomi, Boenisch, Wehmeyer & Tasnadi (2023), A unified framework for quantifying privacy risk in synthetic data,
    PoPETs 2023(2).

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.inference(gh.data.load("health").pair())
    >>> round(found.value, 3), round(found.baseline, 3), round(found.holdout, 3)
    (0.634, 0.504, 0.614)
    """
    target = pair.require_target()
    chosen = _known(pair, target, predictors)
    numeric = pair.is_numeric(target) if regression is None else bool(regression)
    if numeric and not pair.is_numeric(target):
        raise InputError(f"regression=True, but target {target!r} is not numeric")
    if tolerance < 0 or (scale is not None and not scale >= 0):
        raise InputError(
            "tolerance and scale must not be negative: a negative error scale would make wrong guesses right"
        )
    rule = _Rule(pair, target, numeric, tolerance, scale)

    def side(table: str, space: Space | None = None) -> _Guessed:
        part = records_asked(pair, table, n_attacks, random_state, "n_attacks")
        if attacker == "nearest":
            return _nearest(space or attack_space(pair, chosen, missing, table), rule, table, part, n_jobs)
        return _predicted(pair, chosen, rule, table, part, attacker, random_state, n_jobs)

    members = side("original")
    strangers = side("holdout") if pair.has_holdout else None
    exchanged = None
    if strangers is not None:
        # one scaling for all real people: that of each side by itself would tell the sides apart
        space = gower_space(pair, chosen, missing) if attacker == "nearest" else None
        asked = (members, strangers) if space is None else (side("original", space), side("holdout", space))
        exchanged = _exchanged(pair, *asked, confidence, random_state)
    n = len(members.success)
    whole = Attack(
        Side(float(members.success.sum()), n),
        Side(float(members.naive.sum()), n),
        None if strangers is None else Side(float(strangers.success.sum()), len(strangers.success)),
    )
    details: dict[str, object] = {
        "attacker": attacker if isinstance(attacker, str) else type(attacker).__name__,
        "keys": list(chosen),
        "regression": numeric,
        **({"tolerance": tolerance, "scale": rule.scale} if numeric else {}),
        **members.counts(),
    }
    if strangers is not None:
        details["control"] = strangers.counts()

    def records() -> dict[str, np.ndarray]:
        columns = {
            "predicted": members.said(),
            "inferred": members.success,
            "naive": members.naive,
            "gain": members.success - members.naive,
            "ties": members.ties,
        }
        return {name: spread(values, members.part, pair.n("original")) for name, values in columns.items()}

    return report(
        whole,
        confidence=confidence,
        guess=f"people attacked through {len(chosen)} known columns",
        success=f"have their {target} guessed right",
        details=details,
        warnings=_limited(pair, n_attacks, members, strangers),
        records=records,
        flag="inferred",
        rank="gain",
        exchanged=exchanged,
        population=True,
    )


def _limited(pair: Pair, wanted: People, members: _Guessed, strangers: _Guessed | None) -> list[str]:
    """What is said where nobody asked for a sample and there is one."""
    parts = {"original": members.part, **({} if strangers is None else {"holdout": strangers.part})}
    return [] if wanted is not None else Asked(parts, {t: pair.n(t) for t in parts}).notes("n_attacks")


def _exchanged(
    pair: Pair, members: _Guessed, strangers: _Guessed, confidence: float, random_state: RandomState
) -> Exchanged:
    """Right guesses about members against those about strangers."""
    clusters = people_clusters(pair)
    if clusters is not None:
        own, other = (
            ids if side.part is None else ids[side.part]
            for ids, side in zip(clusters, (members, strangers), strict=True)
        )
        clusters = (own, other)
    found = exchange(
        members.success,
        strangers.success,
        clusters=clusters,
        confidence=confidence,
        random_state=random_state,
        name="inference",
    )
    return Exchanged(found.p, exposure(found, clusters), found)


class _Rule:
    """When is a guess right? Every rule is an interval of right guesses around the truth, in codes of the target."""

    def __init__(self, pair: Pair, target: str, numeric: bool, tolerance: float, scale: float | None) -> None:
        self.pair, self.target, self.numeric, self.tolerance = pair, target, numeric, tolerance
        self.codes = pair.codes(target)
        self.size = self.codes.n_levels + 1  # one more for missing
        self.scale: float | None = None
        self.levels = np.empty(0)
        if numeric:
            refuse_infinite(pair, (target,))
            tables = list(self.codes.arrays)
            every = np.concatenate([pair.values(target, t) for t in tables])
            self.levels = np.unique(every[~np.isnan(every)])
            real = [pair.values(target, t) for t in ("original", "holdout") if t in tables]
            present = np.concatenate(real)
            present = present[~np.isnan(present)]
            spread_of = float(np.subtract(*np.quantile(present, [0.75, 0.25]))) if len(present) else 0.0
            self.scale = spread_of if scale is None else float(scale)

    def truth(self, table: str, part: np.ndarray | None) -> np.ndarray:
        """Codes of the target, missing as the last one."""
        codes = self.codes.of(table).astype(np.int64)
        codes = np.where(codes < 0, self.size - 1, codes)
        return codes if part is None else codes[part]

    def spoken(self, said: np.ndarray) -> np.ndarray:
        """Codes of the target as the user knows them; missing is masked for numbers and None for labels."""
        if self.numeric and len(self.levels):
            gone = said == self.size - 1
            return np.ma.MaskedArray(self.levels[np.where(gone, 0, said)], gone)
        labels = np.empty(self.size, object)
        labels[:] = [*self.codes.levels, None]
        return np.asarray(labels[said])

    def window(self, truth: np.ndarray, by: str = "rule") -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest right code for each truth; ``by`` "guess" or "secret" are purely relative tolerances."""
        if not self.numeric or not len(self.levels):
            return truth, truth
        known = truth < self.size - 1
        y = self.levels[np.where(known, truth, 0)]
        if by == "guess":
            # |g - y| <= t |g|: for y > 0 that is y/(1+t) <= g <= y/(1-t), mirrored for y < 0
            reach = np.abs(y) / (1 - self.tolerance) if self.tolerance < 1 else np.full(len(y), np.inf)
            near = np.abs(y) / (1 + self.tolerance)
            low, high = np.where(y >= 0, near, -reach), np.where(y >= 0, reach, -near)
        else:
            half = self.tolerance * (np.maximum(np.abs(y), self.scale or 0.0) if by == "rule" else np.abs(y))
            low, high = y - half, y + half
        slack = 1e-12 * np.maximum(np.abs(y), 1.0)
        first = np.searchsorted(self.levels, low - slack, "left")
        last = np.searchsorted(self.levels, high + slack, "right") - 1
        return np.where(known, first, truth), np.where(known, last, truth)


@dataclass(frozen=True)
class _Guessed:
    """Per attacked record: probability of a right guess, the same for a naive guess, size of the tied set, other
    rules.
    """

    success: np.ndarray
    naive: np.ndarray
    ties: np.ndarray
    part: np.ndarray | None
    others: dict[str, float]
    said: Callable[[], np.ndarray]  # what the attacker would say, worked out when somebody asks
    naive_by_guess: np.ndarray | None = None

    def counts(self) -> dict[str, float]:
        """Successes by the rule of other packages (tolerance relative to the guess, ties by record number), to
        compare.
        """
        naive = self.naive if self.naive_by_guess is None else self.naive_by_guess
        return {"n": len(self.success), **self.others, "naive_expected_rate": float(naive.mean())}


def _naive(rule: _Rule, truth: np.ndarray, by: str = "rule") -> np.ndarray:
    """Share of released records whose target would be a right guess for each truth."""
    released = rule.truth("released", None)
    upto = np.concatenate([[0], np.cumsum(np.bincount(released, minlength=rule.size))])
    low, high = rule.window(truth, by)
    return np.asarray(np.maximum(upto[high + 1] - upto[low], 0) / len(released))


def _nearest(space: Space, rule: _Rule, table: str, part: np.ndarray | None, n_jobs: int | None) -> _Guessed:
    query = as_seen_by(space.rows(table, part), space.rows("released"))
    reference = space.rows("released")
    near = space.nearest(query, "released", min(1 + SPARE, reference.n), n_jobs)
    tied = space.tied_in_crowds(near, query, "released", near.distance[:, 0], n_jobs)
    truth, released = rule.truth(table, part), rule.truth("released", None)
    tally = Tally(tied, reference, released, rule.size)
    asked, back = np.unique(query.inverse * np.int64(rule.size) + truth, return_inverse=True)
    asked_query, asked_truth = np.divmod(asked, rule.size)
    ties, back = tied.records(reference)[query.inverse], back.reshape(-1)

    def share_right(by: str) -> np.ndarray:
        right = tally.between(asked_query, *rule.window(asked_truth, by))
        return np.asarray(right[back] / ties)

    guess = released[near.first(1).index]
    others = {
        "expected_random_tie": float(share_right("guess").sum()),
        "lowest_index": int(_inside(guess, *rule.window(truth, "guess")).sum()),
        "lowest_index_tolerance_on_secret": int(_inside(guess, *rule.window(truth, "secret")).sum()),
    }
    return _Guessed(
        share_right("rule"),
        _naive(rule, truth),
        ties,
        part,
        others,
        lambda: rule.spoken(tally.most_common()[query.inverse]),
        _naive(rule, truth, "guess"),
    )


def _predicted(
    pair: Pair,
    keys: tuple[str, ...],
    rule: _Rule,
    table: str,
    part: np.ndarray | None,
    attacker: str | Estimator,
    random_state: RandomState,
    n_jobs: int | None,
) -> _Guessed:
    from glasshouse.engines.models.attackers import attack

    tables = ("original", "holdout") if pair.has_holdout else ("original",)
    keys = tuple(c for c in keys if (pair.codes(c).of("released") >= 0).any())
    if not keys:
        raise NotApplicable(
            "every key is empty in the release, so a model has nothing to learn from; choose other keys"
        )
    asked = attack(
        pair,
        attacker=attacker,
        keys=keys,
        target=rule.target,
        tables=tables,
        random_state=random_state,
        n_jobs=n_jobs,
        target_type="continuous" if rule.numeric else "categorical",
        numeric_key_na="median+flag",
    )
    truth = rule.truth(table, part)
    predicted = asked.predicted[table] if part is None else asked.predicted[table][part]
    if rule.numeric:
        y = pair.values(rule.target, table)
        y = y if part is None else y[part]
        half = rule.tolerance * np.maximum(np.abs(y), rule.scale or 0.0)
        right = np.abs(predicted - y) <= half + 1e-12 * np.maximum(np.abs(y), 1.0)
    else:
        known = asked.truth[table] if part is None else asked.truth[table][part]
        right = predicted == known

    def said() -> np.ndarray:
        labels = np.empty(len(asked.classes or ()), object)
        labels[:] = asked.classes or ()
        return predicted if rule.numeric else np.asarray(labels[predicted])

    return _Guessed(right.astype(float), _naive(rule, truth), np.ones(len(right), np.int64), part, {}, said)


def _inside(code: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.asarray((code >= low) & (code <= high))


def _known(pair: Pair, target: str, predictors: Sequence[str] | None) -> tuple[str, ...]:
    if predictors is not None:
        chosen = chosen_columns(pair, predictors)
        if target in chosen:
            raise InputError(f"target {target!r} is also a predictor; take it out of predictors")
        return chosen
    chosen = pair.keys or tuple(c for c in pair.columns if c != target)
    if not chosen:
        raise NotApplicable(
            "inference needs at least one column besides the target, known to the attacker; release more columns"
        )
    return chosen
