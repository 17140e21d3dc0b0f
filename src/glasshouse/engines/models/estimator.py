"""Any scikit-learn estimator as an attacker, and scikit-learn's own forest under a name."""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.streams import integer_seed
from glasshouse.engines.models.design import Design, dummies
from glasshouse.engines.models.registry import Attacker, Estimator, Training, attacker, attacker_named, attackers


class EstimatorModel:
    """An estimator, cloned and fitted on numbers as they are and one 0/1 column per category level.

    ``ordinal``: on one column of level codes per category instead.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, estimator: Estimator, training: Training, ordinal: bool = False) -> None:
        from sklearn.base import clone

        self.ordinal = ordinal
        self.n_classes = training.n_classes
        self.n_keys = len(training.table.names)
        if self.n_classes is not None and not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"{type(estimator).__name__} has no predict_proba; a categorical target needs class probabilities"
            )
        self.estimator = clone(estimator)
        if training.random_state is not None and "random_state" in self.estimator.get_params():
            self.estimator.set_params(random_state=integer_seed(training.random_state, "estimator"))
        self.key_of, matrix = self._matrix(training.table)
        self.estimator.fit(matrix, training.y)

    def _matrix(self, table: Design) -> tuple[np.ndarray, np.ndarray]:
        if self.ordinal:
            columns = [table.column(j) for j in range(len(table.names))]
            return np.arange(len(columns)), np.column_stack(columns)
        return dummies(table, first_dropped=False)

    def predict(self, table: Design) -> np.ndarray:
        matrix = self._matrix(table)[1]
        if self.n_classes is None:
            return np.asarray(self.estimator.predict(matrix), np.float64)
        return np.asarray(self.estimator.predict_proba(matrix), np.float64)

    def importance(self) -> np.ndarray | None:
        raw = getattr(self.estimator, "feature_importances_", None)
        if raw is None:
            raw = getattr(self.estimator, "coef_", None)
            if raw is None:
                return None
            raw = np.abs(np.atleast_2d(raw)).sum(axis=0)
        total = np.zeros(self.n_keys)
        np.add.at(total, self.key_of, np.asarray(raw, np.float64))
        return total


def as_attacker(attacker: str | Estimator) -> Attacker:
    """The attacker behind a name, or an estimator as one.

    Parameters
    ----------
    attacker
        A registered name, or a scikit-learn estimator, which goes by its class name and has no options: it brings its
        own settings.

    Returns
    -------
    Attacker
        What the registry knows about a named attacker.
    """
    if isinstance(attacker, str):
        return attacker_named(attacker)
    name = type(attacker).__name__
    if not isinstance(attacker, Estimator):
        raise InputError(f"an attacker is one of {listed(attackers())} or a scikit-learn estimator, not a {name}")
    return Attacker(
        name=name,
        spoken=f"the model {name}",
        targets=frozenset(("classes", "numbers")),
        needs_seed=True,
        build=lambda training: EstimatorModel(attacker, training),
    )


@attacker("rf_sklearn", spoken="a scikit-learn forest", needs_seed=True)
def rf_sklearn(training: Training, *, trees: int = 500) -> EstimatorModel:
    """A library forest, settings matched. It draws keys until one can be split, so it is NOT the ``rf`` attacker."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest, split = (RandomForestRegressor, 6) if training.n_classes is None else (RandomForestClassifier, 11)
    estimator = forest(n_estimators=int(trees), max_features="sqrt", min_samples_split=split, n_jobs=training.n_jobs)
    return EstimatorModel(estimator, training, ordinal=True)
