"""One contract for every model that predicts: a name or an estimator in, class probabilities or numbers out.

| name | model |
| --- | --- |
| ``rf`` | probability or regression forest, 500 trees (:mod:`glasshouse.engines.models.forest`) |
| ``cart`` | one pruned tree (:mod:`glasshouse.engines.models.tree`) |
| ``gbm`` | gradient boosting, 100 rounds, library defaults (extra ``gbm``) |
| ``logit`` | logistic regression; multinomial for three or more classes |
| ``l1`` | the same with an absolute-value penalty |
| ``lm`` | least squares |
| ``marginal`` | the class shares (or the mean) of the training table: an attacker who ignores the keys |
| ``rf_sklearn`` | scikit-learn's forest with matched settings, on ordinal codes |
| any estimator | scikit-learn classifier or regressor; gets numbers as they are and one 0/1 column per category level |

Array level: ``fit(attacker, design, y, n_classes=K)`` gives a ``Model``. Pair level: ``attack(pair, attacker="rf")``
trains on the release, asks about other tables, and remembers the answer on the pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.engines.models.design import MISSING, Design, design
from glasshouse.engines.models.named import OPTIONS, build, check_options, constant_model

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

Array = NDArray[Any]
NAMES = tuple(OPTIONS)
NEEDS_SEED = ("rf", "l1", "rf_sklearn")


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
    fitted: Any
    present: Array | None = None
    notes: list[str] = field(default_factory=list)

    def probabilities(self, table: Design) -> Array:
        """Class probabilities [n, classes]."""
        if self.n_classes is None:
            raise InputError("the target is numeric, so there are no class probabilities; use predict()")
        return self._expand(self.fitted.predict(table))

    def predict(self, table: Design) -> Array:
        """Predicted numbers, or codes of the most probable class (the first of equals)."""
        if self.n_classes is None:
            return cast(Array, self.fitted.predict(table))
        return np.asarray(self.probabilities(table).argmax(axis=1))

    def importance(self) -> dict[str, float] | None:
        """Share of each key in impurity drop, gain or |standardised coefficients|, summing to 1; None if unknown."""
        raw = self.fitted.importance()
        if raw is None:
            return None
        total = float(np.sum(raw))
        return {name: float(v) / total if total > 0 else 0.0 for name, v in zip(self.names, raw, strict=True)}

    def permutation_importance(
        self, table: Design, y: Array, *, repeats: int = 5, random_state: RandomState = None
    ) -> dict[str, float]:
        """Mean rise of the error rate (classes) or the mean squared error (numbers) when one key is shuffled."""
        from glasshouse.core.streams import generator

        def loss(asked: Design) -> float:
            if self.n_classes is None:
                return float(((self.predict(asked) - y) ** 2).mean())
            return float((self.predict(asked) != y).mean())

        start = loss(table)
        found = {}
        for j, name in enumerate(self.names):
            draw = generator(random_state, "permutation", name)
            rises = []
            for _ in range(repeats):
                codes = table.codes.copy()
                codes[:, j] = draw.permutation(codes[:, j])
                rises.append(loss(Design(table.names, table.kinds, codes, table.levels)) - start)
            found[name] = float(np.mean(rises))
        return found

    def leaves(self, table: Design) -> Array:
        """Leaf numbers [trees, n] (``rf``, ``cart``): equal numbers in a row mean the same leaf of that tree."""
        finder = getattr(self.fitted, "leaves", None)
        if finder is None:
            raise InputError(f"attacker {self.attacker!r} has no leaves; use 'rf' or 'cart'")
        return cast(Array, finder(table))

    def _expand(self, shares: Array) -> Array:
        if self.present is None or shares.shape[1] == self.n_classes:
            return shares
        full = np.zeros((len(shares), self.n_classes or 0))
        full[:, self.present] = shares
        return full


def fit(
    attacker: str | Any,
    training: Design,
    y: Array,
    *,
    n_classes: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Model:
    """Train an attacker on coded keys.

    ``y``: class codes 0..n_classes-1 when ``n_classes`` is given, else numbers. Options by attacker: rf ``trees,
    mtry, node_size, max_depth, weights``; cart ``minsplit, minbucket, cp, maxdepth, exact_levels``; gbm ``rounds``
    and any booster parameter; logit ``max_iter``; l1 ``penalty, folds``. The same ``random_state`` gives the same
    model whatever ``n_jobs``.
    """
    return _fit(attacker, training, y, n_classes, random_state, n_jobs, options, ())[0]


def fit_and_predict(
    attacker: str | Any,
    training: Design,
    y: Array,
    asked: Sequence[Design],
    *,
    n_classes: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    **options: Any,
) -> tuple[list[Array], Model]:
    """As ``fit``, and answer for ``asked`` at once: a forest then forgets each tree after use (little memory).

    The model returned with a forest has its importance but no trees; call ``fit`` when it must answer again.
    """
    model, answers = _fit(attacker, training, y, n_classes, random_state, n_jobs, options, tuple(asked))
    return answers, model


def _fit(
    attacker: str | Any,
    training: Design,
    y: Array,
    n_classes: int | None,
    random_state: RandomState,
    n_jobs: int | None,
    options: dict[str, Any],
    asked: tuple[Design, ...],
) -> tuple[Model, list[Array]]:
    name = attacker_name(attacker)
    check_options(attacker, name, options)
    y = np.asarray(y)
    if len(y) != training.n:
        raise InputError(f"{training.n} training records but {len(y)} target values; pass one target value per record")
    if training.n == 0:
        raise InputError("the training table has no record with a known target; nothing can be learnt from it")
    _check_target_kind(name, n_classes)
    present: Array | None = None
    if n_classes is not None:
        present, y = np.unique(y.astype(np.int64), return_inverse=True)
        if present[0] < 0 or present[-1] >= n_classes:
            raise InputError(f"class codes must lie between 0 and {n_classes - 1}")
    else:
        y = y.astype(np.float64)
        if not np.isfinite(y).all():
            raise InputError("the numeric target has missing or infinite values; drop or fill them before the fit")
    if present is not None and len(present) == 1:
        fitted, notes = constant_model(np.ones(1), len(training.names)), ["every training record has the same class"]
    else:
        fitted, notes = build(
            attacker,
            name,
            training,
            y,
            None if present is None else len(present),
            random_state=random_state,
            n_jobs=n_jobs,
            options=options,
            asked=asked,
        )
    model = Model(name, training.names, n_classes, fitted, present, notes)
    streamed = getattr(fitted, "streamed", None)
    raw = streamed if streamed is not None else [fitted.predict(table) for table in asked]
    return model, [r if n_classes is None else model._expand(r) for r in raw]


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
    classes: list[Any] | None
    probabilities: dict[str, Array]
    predicted: dict[str, Array]
    truth: dict[str, Array]
    n_training: int
    training_classes: Array | None
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

    def true_class_probability(self, table: str = "original") -> Array:
        """g_i: the probability given to each record's own class (0 for a class the release does not have)."""
        shares = self.probabilities[table]
        result: Array = shares[np.arange(len(shares)), self.truth[table]]
        return result


def attack(
    pair: Pair,
    *,
    attacker: str | Any = "rf",
    keys: Sequence[str] | None = None,
    target: str | None = None,
    tables: Sequence[str] = ("original",),
    target_type: str | None = None,
    missing_target: str = "auto",
    constant: float = 0.0,
    numeric_key_na: str = "error",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Attack:
    """Train an attacker on the release and let it predict the target of the records of ``tables``.

    ``target_type`` "categorical" or "continuous" overrides the kind of the target column. ``missing_target`` concerns
    training records without a target: "level" (a class "missing"; the default for classes), "drop" (default for
    numbers), "constant" or "median" of the release. Remembered on the pair for an integer seed or a model without
    chance.
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
    repeatable = isinstance(random_state, (int, np.integer)) or (
        isinstance(attacker, str) and attacker not in NEEDS_SEED
    )
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
    attacker: str | Any,
    keys: tuple[str, ...],
    target: str,
    tables: tuple[str, ...],
    target_type: str | None,
    missing_target: str,
    constant: float,
    numeric_key_na: str,
    random_state: RandomState,
    n_jobs: int | None,
    options: dict[str, Any],
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
        f"{count:,} records of the {table} table hold a key level that the release does not have"
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
        _model=None if getattr(model.fitted, "streamed", None) is not None else model,
    )


def _target(
    pair: Pair, target: str, tables: tuple[str, ...], numeric: bool, missing_target: str, constant: float
) -> tuple[list[Any] | None, Array, dict[str, Array], Array | None]:
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


def attacker_name(attacker: str | Any) -> str:
    """The name of an attacker; an estimator goes by its class name."""
    if not isinstance(attacker, str):
        if hasattr(attacker, "fit") and hasattr(attacker, "predict"):
            return type(attacker).__name__
        raise InputError(
            f"an attacker is one of {listed(NAMES)} or a scikit-learn estimator, not a {type(attacker).__name__}"
        )
    if attacker not in NAMES:
        raise InputError(
            f"unknown attacker {attacker!r}{closest(attacker, NAMES)}; choose one of {listed(NAMES)} or an estimator"
        )
    return attacker


def _parameters(estimator: Any) -> str:
    return repr(estimator.get_params()) if hasattr(estimator, "get_params") else str(id(estimator))


def _check_target_kind(name: str, n_classes: int | None) -> None:
    if name == "lm" and n_classes is not None:
        raise InputError("attacker 'lm' predicts numbers, but the target is categorical; use 'logit', 'cart' or 'rf'")
    if name in ("logit", "l1") and n_classes is None:
        raise InputError(f"attacker {name!r} predicts classes, but the target is numeric; use 'lm', 'cart' or 'rf'")
