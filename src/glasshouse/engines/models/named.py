"""How each named attacker is built. Heavy libraries are loaded by the attacker that needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glasshouse.core.errors import InputError, MissingExtra, closest, listed
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.engines.models.design import Design

Array = NDArray[Any]

OPTIONS: dict[str, tuple[str, ...] | None] = {
    "rf": ("trees", "mtry", "node_size", "max_depth", "weights"),
    "cart": ("minsplit", "minbucket", "cp", "maxdepth", "exact_levels"),
    "gbm": None,  # any parameter of the boosting library
    "logit": ("max_iter",),
    "l1": ("penalty", "folds"),
    "lm": (),
    "marginal": (),
    "rf_sklearn": ("trees",),
}


def check_options(attacker: str | Any, name: str, options: dict[str, Any]) -> None:
    """Refuse options the attacker does not have."""
    allowed = OPTIONS[name] if isinstance(attacker, str) else ()
    if allowed is None:
        return
    for option in options:
        if option not in allowed:
            known = f"it takes {listed(allowed)}" if allowed else "it takes none"
            raise InputError(f"attacker {name!r} has no option {option!r}{closest(option, allowed)}; {known}")


def build(
    attacker: str | Any,
    name: str,
    training: Design,
    y: Array,
    n_classes: int | None,
    *,
    random_state: RandomState,
    n_jobs: int | None,
    options: dict[str, Any],
    asked: tuple[Design, ...] = (),
) -> tuple[Any, list[str]]:
    """A fitted model (``predict(design)``, ``importance()``) and notes. Two or more classes, or None for a number."""
    notes: list[str] = []
    if not isinstance(attacker, str):
        return Estimator(attacker, training, y, n_classes, random_state), notes
    if name == "rf":
        return ForestModel(training, y, n_classes, random_state, n_jobs, options, asked), notes
    if name == "cart":
        model = CartModel(training, y, n_classes, options)
        if model.tree.approximate_splits:
            notes.append(
                f"{model.tree.approximate_splits} splits of the tree group more levels than can be searched exactly; "
                "levels were ordered by the first principal component of their class shares"
            )
        return model, notes
    if name == "marginal":
        shares = np.array([y.mean()]) if n_classes is None else np.bincount(y, minlength=n_classes) / len(y)
        return constant_model(shares, len(training.names), n_classes is None), notes
    if name == "lm":
        from glasshouse.engines.models.linear.attackers import fit_lm

        linear = fit_lm(training, y)
    elif name == "logit":
        from glasshouse.engines.models.linear.attackers import fit_logit

        linear = fit_logit(training, y, n_classes or 2, **options)
    elif name == "l1":
        from glasshouse.engines.models.linear.lasso import fit_l1

        linear = fit_l1(training, y, n_classes or 2, random_state=random_state, **options)
    elif name == "gbm":
        return Boosting(training, y, n_classes, n_jobs, options), notes
    else:
        return _sklearn_forest(training, y, n_classes, random_state, n_jobs, options), notes
    return linear, [*notes, *linear.notes]


@dataclass
class Constant:
    """The same answer for everybody."""

    answer: Array
    n_keys: int
    numeric: bool = False

    def predict(self, table: Design) -> Array:
        if self.numeric:
            return np.full(table.n, float(self.answer[0]))
        return np.broadcast_to(self.answer, (table.n, len(self.answer))).copy()

    def importance(self) -> Array:
        return np.zeros(self.n_keys)

    def leaves(self, table: Design) -> Array:
        return np.zeros((1, table.n), np.int32)


def constant_model(answer: Array, n_keys: int, numeric: bool = False) -> Constant:
    """A model that ignores the keys."""
    return Constant(answer, n_keys, numeric)


class ForestModel:
    """A grown forest; with ``asked`` tables it answers those and keeps no tree."""

    def __init__(
        self,
        training: Design,
        y: Array,
        n_classes: int | None,
        random_state: RandomState,
        n_jobs: int | None,
        options: dict[str, Any],
        asked: tuple[Design, ...],
    ) -> None:
        from glasshouse.engines.models.forest import forest

        self.n_jobs = n_jobs
        self.forest = forest.grow(
            training.codes,
            y,
            n_classes=n_classes,
            numeric=training.is_numeric,
            values=training.values,
            n_levels=training.n_levels,
            seed=integer_seed(random_state, "rf"),
            n_jobs=n_jobs,
            score=[table.codes for table in asked],
            keep=not asked,
            **options,
        )
        self.streamed = self.forest.predictions if asked else None

    def predict(self, table: Design) -> Array:
        return self.forest.predict(table.codes, n_jobs=self.n_jobs)

    def leaves(self, table: Design) -> Array:
        return self.forest.leaves(table.codes, n_jobs=self.n_jobs)

    def importance(self) -> Array:
        return self.forest.importance


class CartModel:
    """One tree; numeric and ordinal keys are cut, categories are grouped."""

    def __init__(self, training: Design, y: Array, n_classes: int | None, options: dict[str, Any]) -> None:
        from glasshouse.engines.models.tree import tree

        self.tree = tree.grow(
            training.codes,
            y,
            n_classes=n_classes,
            ordered=training.is_ordered,
            values=training.values,
            n_levels=training.n_levels,
            **options,
        )

    def predict(self, table: Design) -> Array:
        return self.tree.predict(table.codes)

    def leaves(self, table: Design) -> Array:
        return self.tree.leaves(table.codes)[None, :]

    def importance(self) -> Array:
        return self.tree.importance


class Boosting:
    """Gradient boosting: 100 rounds at the library's defaults, treatment dummies with the first level dropped."""

    def __init__(
        self, training: Design, y: Array, n_classes: int | None, n_jobs: int | None, options: dict[str, Any]
    ) -> None:
        try:
            import xgboost
        except ImportError as error:
            raise MissingExtra("gbm", "the gradient boosting attacker") from error

        from glasshouse.engines.models.forest.forest import resolve_jobs

        options = dict(options)
        rounds = int(options.pop("rounds", 100))
        objective: dict[str, Any] = {"objective": "reg:squarederror"}
        if n_classes is not None:
            objective = (
                {"objective": "binary:logistic"}
                if n_classes == 2
                else {"objective": "multi:softprob", "num_class": n_classes}
            )
        self._library = xgboost
        self.n_classes = n_classes
        self.key_of, matrix = dummies(training, first_dropped=True)
        parameters = {"nthread": resolve_jobs(n_jobs), "verbosity": 0, **objective, **options}
        self.booster = xgboost.train(parameters, xgboost.DMatrix(matrix, label=y), num_boost_round=rounds)
        self.n_keys = len(training.names)

    def predict(self, table: Design) -> Array:
        raw = np.asarray(self.booster.predict(self._library.DMatrix(dummies(table, first_dropped=True)[1])), np.float64)
        if self.n_classes == 2:
            return np.column_stack([1.0 - raw, raw])
        return raw

    def importance(self) -> Array:
        gains = self.booster.get_score(importance_type="total_gain")
        total = np.zeros(self.n_keys)
        for column, gain in gains.items():
            total[self.key_of[int(column[1:])]] += gain
        return total


class Estimator:
    """Any scikit-learn estimator, cloned and fitted on numbers as they are and one 0/1 column per category level."""

    def __init__(
        self,
        estimator: Any,
        training: Design,
        y: Array,
        n_classes: int | None,
        random_state: RandomState,
        ordinal: bool = False,
    ) -> None:
        from sklearn.base import clone

        self.ordinal = ordinal
        self.n_classes = n_classes
        self.n_keys = len(training.names)
        if n_classes is not None and not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"{type(estimator).__name__} has no predict_proba; a categorical target needs class probabilities"
            )
        self.estimator = clone(estimator)
        if random_state is not None and "random_state" in self.estimator.get_params():
            self.estimator.set_params(random_state=integer_seed(random_state, "estimator"))
        self.key_of, matrix = self._matrix(training)
        self.estimator.fit(matrix, y)

    def _matrix(self, table: Design) -> tuple[Array, Array]:
        if self.ordinal:
            columns = [table.column(j) for j in range(len(table.names))]
            return np.arange(len(columns)), np.column_stack(columns)
        return dummies(table, first_dropped=False)

    def predict(self, table: Design) -> Array:
        matrix = self._matrix(table)[1]
        if self.n_classes is None:
            return np.asarray(self.estimator.predict(matrix), np.float64)
        return np.asarray(self.estimator.predict_proba(matrix), np.float64)

    def importance(self) -> Array | None:
        raw = getattr(self.estimator, "feature_importances_", None)
        if raw is None:
            raw = getattr(self.estimator, "coef_", None)
            if raw is None:
                return None
            raw = np.abs(np.atleast_2d(raw)).sum(axis=0)
        total = np.zeros(self.n_keys)
        np.add.at(total, self.key_of, np.asarray(raw, np.float64))
        return total


def _sklearn_forest(
    training: Design,
    y: Array,
    n_classes: int | None,
    random_state: RandomState,
    n_jobs: int | None,
    options: dict[str, Any],
) -> Estimator:
    """A library forest, settings matched. It draws keys until one can be split, so it is NOT the ``rf`` attacker."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    trees = int(options.get("trees", 500))
    settings: dict[str, Any] = {"n_estimators": trees, "max_features": "sqrt", "n_jobs": n_jobs}
    if n_classes is None:
        estimator: Any = RandomForestRegressor(min_samples_split=6, **settings)
    else:
        estimator = RandomForestClassifier(min_samples_split=11, **settings)
    return Estimator(estimator, training, y, n_classes, random_state, ordinal=True)


def dummies(table: Design, *, first_dropped: bool) -> tuple[Array, Array]:
    """Key of each column, and float32 columns: numbers as they are, one 0/1 column per level (or all but the first)."""
    blocks, key_of = [], []
    for j, kind in enumerate(table.kinds):
        if kind == "numeric":
            block = table.column(j)[:, None].astype(np.float32)
        else:
            levels = np.arange(1 if first_dropped else 0, len(table.levels[j]))
            block = (table.codes[:, j][:, None] == levels[None, :]).astype(np.float32)
        blocks.append(block)
        key_of += [j] * block.shape[1]
    return np.array(key_of, np.int64), np.concatenate(blocks, axis=1)
