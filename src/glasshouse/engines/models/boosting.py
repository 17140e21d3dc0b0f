"""The gradient boosting attacker: 100 rounds at the library's defaults."""

from __future__ import annotations

import numpy as np

from glasshouse.core.errors import MissingExtra
from glasshouse.engines import devices
from glasshouse.engines.models.design import Design, dummies
from glasshouse.engines.models.registry import Training, attacker


class Boosting:
    """Boosted trees on treatment dummies with the first level dropped."""

    notes: tuple[str, ...] = ()

    def __init__(self, training: Training, rounds: int, parameters: dict[str, object]) -> None:
        try:
            import xgboost
        except ImportError as error:
            raise MissingExtra("gbm", "the gradient boosting attacker") from error

        from glasshouse.engines.models.forest.forest import resolve_jobs

        self._library = xgboost
        self.n_classes = training.n_classes
        self.n_keys = len(training.table.names)
        self.key_of, matrix = dummies(training.table, first_dropped=True)
        settings = {
            "nthread": resolve_jobs(training.n_jobs),
            "verbosity": 0,
            **_objective(training.n_classes),
            **parameters,
        }
        if devices.asked_for_spark() and devices.trees_on_spark(rounds * len(matrix)):
            from glasshouse.engines.distributed.boosting import boosted

            session = devices.spark_session()
            self.booster, note = boosted(matrix, training.y, training.n_classes, rounds, parameters, session)
            self.notes = (note,)
            return
        self.booster = xgboost.train(settings, xgboost.DMatrix(matrix, label=training.y), num_boost_round=rounds)

    def predict(self, table: Design) -> np.ndarray:
        matrix = self._library.DMatrix(dummies(table, first_dropped=True)[1])
        raw = np.asarray(self.booster.predict(matrix), np.float64)
        return np.column_stack([1.0 - raw, raw]) if self.n_classes == 2 else raw

    def importance(self) -> np.ndarray:
        total = np.zeros(self.n_keys)
        for column, gain in self.booster.get_score(importance_type="total_gain").items():
            total[self.key_of[int(column[1:])]] += gain
        return total


def _objective(n_classes: int | None) -> dict[str, object]:
    if n_classes is None:
        return {"objective": "reg:squarederror"}
    if n_classes == 2:
        return {"objective": "binary:logistic"}
    return {"objective": "multi:softprob", "num_class": n_classes}


@attacker("gbm", spoken="gradient boosting")
def gbm(training: Training, *, rounds: int = 100, **parameters: object) -> Boosting:
    """Gradient boosting (extra ``gbm``); takes any parameter of the library."""
    return Boosting(training, int(rounds), parameters)
