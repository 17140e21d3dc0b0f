"""The attack on a pair: train a model on the release, ask it about other tables, remember the answer on the pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.core.words import counted
from glasshouse.engines.models.design import MISSING, design
from glasshouse.engines.models.estimator import as_attacker
from glasshouse.engines.models.model import Model, fit, fit_and_predict
from glasshouse.engines.models.registry import Estimator

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair


@dataclass
class Attack:
    """Predictions of an attacker trained on the release of a pair.

    ``classes``: labels in class-code order ("missing" last when some record lacks the target), None for a numeric
    target. ``probabilities[table]`` [n, classes]; ``predicted[table]`` class codes or numbers; ``truth[table]`` the
    true class codes, or numbers with NaN where missing. ``unseen[table]``: number of records with a key level no
    training record has. ``notes``: sentences for the reader.
    """

    attacker: str
    keys: tuple[str, ...]
    target: str
    classes: list[object] | None
    probabilities: dict[str, np.ndarray]
    predicted: dict[str, np.ndarray]
    truth: dict[str, np.ndarray]
    n_training: int
    training_classes: np.ndarray | None
    unseen: dict[str, int]
    importance: dict[str, float] | None
    notes: list[str]
    _refit: Callable[[], Model] = field(repr=False)
    _model: Model | None = field(default=None, repr=False)

    @property
    def is_numeric(self) -> bool:
        return self.classes is None

    @property
    def model(self) -> Model:
        """The fitted model; a forest, which keeps no trees after scoring, is grown again from the same seed."""
        if self._model is None:
            self._model = self._refit()
        return self._model


def attack(
    pair: Pair,
    *,
    attacker: str | Estimator = "rf",
    keys: Sequence[str] | None = None,
    target: str | None = None,
    tables: Sequence[str] = ("original",),
    target_type: str | None = None,
    missing_target: str = "auto",
    constant: float = 0.0,
    numeric_key_na: str = "error",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    **options: object,
) -> Attack:
    """Train an attacker on the release and let it predict the target of the records of ``tables``.

    Parameters
    ----------
    pair
        Original and release.
    attacker
        A registered name or a scikit-learn estimator.
    keys, target
        Columns the attacker knows and the one it is after; those of the pair by default.
    tables
        Whom it is asked about: "original", "holdout", "released".
    target_type
        "categorical" or "continuous" overrides the kind of the target column.
    missing_target
        What training records without a target are: "level" (a class "missing"; the default for classes), "drop" (the
        default for numbers), "constant" or "median" of the release.
    constant
        The number for ``missing_target="constant"``.
    numeric_key_na
        What a missing number in a key is: "error", or "median+flag".
    random_state
        Seed of an attacker with chance.
    n_jobs
        Threads; changes no answer.
    **options
        Options of the attacker, as it registered them.

    Returns
    -------
    Attack
        Remembered on the pair for an integer seed or a model without chance.
    """
    names = tuple(pair.keys if keys is None else keys)
    wanted = target or pair.target
    if wanted is None:
        raise InputError("the attack needs one target; name it with target=")
    if not names:
        raise InputError("the attack needs keys; name what the attacker knows with keys=[...]")
    if wanted in names:
        raise InputError(
            f"target {wanted!r} is also a key: an attacker who knows it need not infer it; take it out of keys"
        )

    def compute() -> Attack:
        return _attack(
            pair, attacker, names, wanted, tuple(tables), target_type, missing_target, constant, numeric_key_na,
            random_state, n_jobs, options,
        )  # fmt: skip

    label = attacker if isinstance(attacker, str) else repr((type(attacker).__qualname__, _parameters(attacker)))
    repeatable = isinstance(random_state, (int, np.integer)) or not as_attacker(attacker).needs_seed
    if not repeatable or any(isinstance(v, np.ndarray) for v in options.values()):
        return compute()
    chosen = tuple(sorted((k, repr(v)) for k, v in options.items()))
    memo_key = (
        "attack",
        label,
        names,
        wanted,
        tuple(tables),
        target_type,
        missing_target,
        constant,
        numeric_key_na,
        random_state,
        chosen,
    )
    return pair.memo(memo_key, compute)


def _attack(
    pair: Pair,
    attacker: str | Estimator,
    keys: tuple[str, ...],
    target: str,
    tables: tuple[str, ...],
    target_type: str | None,
    missing_target: str,
    constant: float,
    numeric_key_na: str,
    random_state: RandomState,
    n_jobs: int | None,
    options: dict[str, object],
) -> Attack:
    if target_type not in (None, "categorical", "continuous"):
        raise InputError(f"target_type={target_type!r} is unknown; choose 'categorical' or 'continuous'")
    numeric = pair.is_numeric(target) if target_type is None else target_type == "continuous"
    training = design(pair, keys, "released", numeric_key_na=numeric_key_na)
    asked = [design(pair, keys, table, numeric_key_na=numeric_key_na) for table in tables]
    classes, y, truth, rows = _target(pair, target, tables, numeric, missing_target, constant)
    if rows is not None:
        training, y = training.take(rows), y[rows]
    n_classes = None if classes is None else len(classes)
    seed = random_state if isinstance(random_state, (int, np.integer)) else integer_seed(random_state, "attack")

    def refit() -> Model:
        return fit(attacker, training, y, n_classes=n_classes, random_state=seed, n_jobs=n_jobs, **options)

    answers, model = fit_and_predict(
        attacker, training, y, asked, n_classes=n_classes, random_state=seed, n_jobs=n_jobs, **options
    )
    unseen = {table: int(d.unseen_by(training).sum()) for table, d in zip(tables, asked, strict=True)}
    notes = list(model.notes)
    notes += [
        f"{counted(count, 'record')} of the {table} table with a key level that the release does not have"
        for table, count in unseen.items()
        if count
    ]
    found = dict(zip(tables, answers, strict=True))
    return Attack(
        attacker=model.attacker,
        keys=keys,
        target=target,
        classes=classes,
        probabilities={} if numeric else found,
        predicted=found if numeric else {t: a.argmax(axis=1) for t, a in found.items()},
        truth=truth,
        n_training=training.n,
        training_classes=None if n_classes is None else np.bincount(y, minlength=n_classes),
        unseen=unseen,
        importance=model.importance(),
        notes=notes,
        _refit=refit,
        _model=None if model.streamed is not None else model,
    )


def _target(
    pair: Pair, target: str, tables: tuple[str, ...], numeric: bool, missing_target: str, constant: float
) -> tuple[list[object] | None, np.ndarray, dict[str, np.ndarray], np.ndarray | None]:
    """Classes, training target, truth per table, and which training records to keep (None: all)."""
    allowed = ("auto", "drop", "constant", "median") if numeric else ("auto", "level", "drop")
    if missing_target not in allowed:
        raise InputError(
            f"missing_target={missing_target!r} does not fit target {target!r}; choose one of {listed(allowed)}"
        )
    if numeric:
        # a special code is a reason for missing, not a number
        truth = {
            t: np.where(pair.special_mask(target, t), np.nan, pair.values(target, t)) for t in (*tables, "released")
        }
        values = truth["released"]
        known = ~np.isnan(values)
        if known.all():
            return None, values, truth, None
        if missing_target in ("auto", "drop"):
            return None, values, truth, known
        if not known.any() and missing_target == "median":
            raise InputError(f"target {target!r} has no value at all in the release, so it has no median")
        return (
            None,
            np.where(known, values, constant if missing_target == "constant" else np.median(values[known])),
            truth,
            None,
        )
    codes = pair.codes(target)
    classes = list(codes.levels)
    y = codes.of("released")
    truth = {table: codes.of(table) for table in tables}
    rows = y >= 0 if missing_target == "drop" and (y < 0).any() else None
    if codes.missing:
        absent = len(classes)
        classes.append(MISSING)
        y = np.where(y < 0, absent, y)
        truth = {table: np.where(t < 0, absent, t) for table, t in truth.items()}
    return classes, y, truth, rows


def _parameters(estimator: Estimator) -> str:
    found = getattr(estimator, "get_params", None)
    return str(id(estimator)) if found is None else repr(found())
