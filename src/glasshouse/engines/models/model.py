"""One contract for every model that predicts: a name or an estimator in, class probabilities or numbers out.

The named models are listed by :func:`glasshouse.engines.models.registry.attackers`. A scikit-learn classifier or
regressor serves as well: it gets numbers as they are and one 0/1 column per category level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState, generator
from glasshouse.engines.models.design import Design
from glasshouse.engines.models.estimator import as_attacker
from glasshouse.engines.models.marginal import Constant
from glasshouse.engines.models.registry import (
    Estimator,
    FittedModel,
    HasLeaves,
    Streams,
    Training,
)


@dataclass
class Model:
    """A fitted attacker.

    ``n_classes`` None: a numeric target. ``probabilities`` has one column per class code 0..n_classes-1; a class that
    no training record has gets probability 0. ``notes`` are sentences about the fit (separation, dropped columns,
    approximate splits).
    """

    attacker: str
    names: tuple[str, ...]
    n_classes: int | None
    fitted: FittedModel
    present: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)

    def probabilities(self, table: Design) -> np.ndarray:
        """Class probabilities [n, classes]."""
        if self.n_classes is None:
            raise InputError("the target is numeric, so there are no class probabilities; use predict()")
        return self.expand(self.fitted.predict(table))

    def predict(self, table: Design) -> np.ndarray:
        """Predicted numbers, or codes of the most probable class (the first of equals)."""
        if self.n_classes is None:
            return self.fitted.predict(table)
        return np.asarray(self.probabilities(table).argmax(axis=1))

    def importance(self) -> dict[str, float] | None:
        """Share of each key in impurity drop, gain or |standardised coefficients|, summing to 1; None if unknown."""
        raw = self.fitted.importance()
        if raw is None:
            return None
        total = float(np.sum(raw))
        return {name: float(v) / total if total > 0 else 0.0 for name, v in zip(self.names, raw, strict=True)}

    def permutation_importance(
        self, table: Design, y: np.ndarray, *, repeats: int = 5, random_state: RandomState = None
    ) -> dict[str, float]:
        """Mean rise of the error rate (classes) or the mean squared error (numbers) when one key is shuffled."""

        def loss(asked: Design) -> float:
            if self.n_classes is None:
                return float(((self.predict(asked) - y) ** 2).mean())
            return float((self.predict(asked) != y).mean())

        start = loss(table)
        found = {}
        for j, name in enumerate(self.names):
            draw = generator(random_state, "permutation")  # the same shuffles for every key, whatever it is called
            rises = []
            for _ in range(repeats):
                codes = table.codes.copy()
                codes[:, j] = draw.permutation(codes[:, j])
                rises.append(loss(Design(table.names, table.kinds, codes, table.levels)) - start)
            found[name] = float(np.mean(rises))
        return found

    def leaves(self, table: Design) -> np.ndarray:
        """Leaf numbers [trees, n] (``rf``, ``cart``): equal numbers in a row mean the same leaf of that tree."""
        if not isinstance(self.fitted, HasLeaves):
            raise InputError(f"attacker {self.attacker!r} has no leaves; use 'rf' or 'cart'")
        return self.fitted.leaves(table)

    @property
    def streamed(self) -> list[np.ndarray] | None:
        """Answers a model gave while it grew, when it cannot answer again."""
        return self.fitted.streamed if isinstance(self.fitted, Streams) else None

    def expand(self, shares: np.ndarray) -> np.ndarray:
        """Shares of the classes seen in training as shares of all classes."""
        if self.present is None or shares.shape[1] == self.n_classes:
            return shares
        full = np.zeros((len(shares), self.n_classes or 0))
        full[:, self.present] = shares
        return full


def fit(
    attacker: str | Estimator,
    training: Design,
    y: np.ndarray,
    *,
    n_classes: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    **options: object,
) -> Model:
    """Train an attacker on coded keys.

    Parameters
    ----------
    attacker
        A registered name or a scikit-learn estimator.
    training
        Coded keys.
    y
        Class codes 0..n_classes-1 when ``n_classes`` is given, else numbers.
    n_classes
        Number of classes, None for a numeric target.
    random_state
        The same seed gives the same model whatever ``n_jobs``.
    n_jobs
        Threads; None or -1: every core this process may use.
    **options
        Options of the attacker, as it registered them.

    Returns
    -------
    Model
        A model that can be asked about any table coded alike.
    """
    return _fit(attacker, training, y, n_classes, random_state, n_jobs, options, ())


def fit_and_predict(
    attacker: str | Estimator,
    training: Design,
    y: np.ndarray,
    asked: Sequence[Design],
    *,
    n_classes: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    **options: object,
) -> tuple[list[np.ndarray], Model]:
    """As ``fit``, and answer for ``asked`` at once: a forest then forgets each tree after use (little memory).

    Parameters
    ----------
    attacker, training, y, n_classes, random_state, n_jobs, **options
        As for :func:`fit`.
    asked
        Tables to answer for.

    Returns
    -------
    answers : list of ndarray
        Class probabilities or numbers for each table.
    model : Model
        With a forest it has its importance but no trees; call ``fit`` when it must answer again.
    """
    model = _fit(attacker, training, y, n_classes, random_state, n_jobs, options, tuple(asked))
    raw = [model.fitted.predict(table) for table in asked] if model.streamed is None else model.streamed
    return [answer if n_classes is None else model.expand(answer) for answer in raw], model


def _fit(
    attacker: str | Estimator,
    training: Design,
    y: np.ndarray,
    n_classes: int | None,
    random_state: RandomState,
    n_jobs: int | None,
    options: dict[str, object],
    asked: tuple[Design, ...],
) -> Model:
    known = as_attacker(attacker)
    known.check_options(options)
    y = np.asarray(y)
    if len(y) != training.n:
        raise InputError(f"{training.n} training records but {len(y)} target values; pass one target value per record")
    if training.n == 0:
        raise InputError("the training table has no record with a known target; nothing can be learnt from it")
    known.check_target("numbers" if n_classes is None else "classes")
    present: np.ndarray | None = None
    if n_classes is not None:
        present, y = np.unique(y.astype(np.int64), return_inverse=True)
        if present[0] < 0 or present[-1] >= n_classes:
            raise InputError(f"class codes must lie between 0 and {n_classes - 1}")
    else:
        y = y.astype(np.float64)
        if not np.isfinite(y).all():
            raise InputError("the numeric target has missing or infinite values; drop or fill them before the fit")
    fitted: FittedModel
    if present is not None and len(present) == 1:
        fitted = Constant(np.ones(1), len(training.names), notes=("every training record has the same class",))
    else:
        task = Training(training, y, None if present is None else len(present), random_state, n_jobs, asked)
        fitted = known.build(task, **options)
    return Model(known.name, training.names, n_classes, fitted, present, list(fitted.notes))
