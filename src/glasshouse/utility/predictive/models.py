"""Models that predict the target from other columns: fitted to one table, asked about another.

``linear`` (least squares, or one logistic regression per class) is solved on the normal equations, so that it takes a
fraction of a second on tens of thousands of records. Every other name is an attacker of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, closest
from glasshouse.core.streams import RandomState
from glasshouse.data.arrays import Ints
from glasshouse.data.pair import Pair
from glasshouse.engines.canonical import canonical
from glasshouse.engines.models.design import Design, design
from glasshouse.engines.models.linear.regression import logistic
from glasshouse.engines.models.registry import Estimator
from glasshouse.utility.deals import POOL, pooled
from glasshouse.utility.figures import Columns, require_finite, usable

MOST_CLASSES = 100  # of a target: a model is fitted for each
MOST_TERMS = 300  # of one model: a term for each category of a predictor
Learner: TypeAlias = "str | Estimator"  # "linear", the name of an attacker, or an estimator


def name_of(model: Learner) -> str:
    """What a model is called in a result."""
    return model if isinstance(model, str) else type(model).__name__


@dataclass(frozen=True)
class Task:
    """One target and its predictors in every table: coded predictors, the response, which records have one, and its
    classes.
    """

    target: str
    predictors: tuple[str, ...]
    keep: np.ndarray  # which records of original and release, one after the other, have a target value
    designs: dict[str, Design]  # by table; "pool" is original and release together
    matrices: dict[str, np.ndarray]  # treatment coding over the levels of all tables, first column 1
    response: dict[str, np.ndarray]
    n_classes: int | None
    order: dict[str, Ints]  # the records with a target value in canonical order, for models that draw among them
    notes: tuple[str, ...] = ()  # columns that could not be used

    def sorted(self, table: str, rows: np.ndarray | None) -> np.ndarray:
        """Rows of a table (None: all) in canonical order."""
        order = self.order[table]
        if rows is None:
            return order
        made: np.ndarray = rows[np.argsort(np.argsort(order)[rows], kind="stable")]
        return made

    @property
    def metric(self) -> str:
        """What its models are scored by: R^2 of numbers, AUC of classes."""
        return "r2" if self.n_classes is None else "auc"

    @property
    def fits(self) -> int:
        """Linear models one training takes."""
        return 1 if self.n_classes is None or self.n_classes == 2 else self.n_classes


def task(pair: Pair, predictors: Columns) -> Task:
    """The prediction task of a pair.

    Parameters
    ----------
    pair
        Tables with one target. Records without a target value are left out.
    predictors
        Columns to predict from; default: the keys, or all other columns. A missing category is a level, a missing
        number the median and a flag.
    """
    target = pair.require_target()
    asked = (predictors,) if isinstance(predictors, str) else tuple(predictors or ())
    names = asked or tuple(c for c in (pair.keys or pair.columns) if c != target)
    if not names:
        raise NotApplicable("needs at least one column to predict from; name them with predictors=[...]")
    if target in names:
        raise InputError(f"target {target!r} is also a predictor; take it out of predictors")
    for name in asked:
        if name not in pair.columns:
            raise InputError(f"predictor {name!r} is not shared by original and release{closest(name, pair.columns)}")
    require_finite(pair, (target, *asked))
    notes: list[str] = []
    names = _few_terms(pair, usable(pair, names, notes, "one"), notes)
    if not pair.is_numeric(target) and pair.n_distinct(target) > MOST_CLASSES:
        raise NotApplicable(
            f"target {target!r} has {pair.n_distinct(target):,} categories, and there is a model for each up to "
            f"{MOST_CLASSES}; group them first"
        )
    if not names:
        raise NotApplicable(f"there is no column to predict from ({'; '.join(notes[:3])})")
    return pair.memo(("task", target, names), lambda: _task(pair, target, names, tuple(notes)))


def _few_terms(pair: Pair, names: Sequence[str], notes: list[str]) -> tuple[str, ...]:
    """The columns without those of most categories, as long as models would have more than MOST_TERMS terms."""
    terms = {name: 1 if pair.is_numeric(name) else pair.codes(name).n_levels for name in names}
    for name in sorted(names, key=lambda name: (-terms[name], name)):
        if sum(terms.values()) <= MOST_TERMS or terms[name] == 1:
            break
        notes.append(
            f"column {name!r} has {terms.pop(name):,} categories and is left out, because models take "
            f"{MOST_TERMS} terms; group them to keep it"
        )
    return tuple(name for name in names if name in terms)


def _task(pair: Pair, target: str, names: tuple[str, ...], notes: tuple[str, ...]) -> Task:
    tables = ["original", "released", *(["holdout"] if pair.has_holdout else [])]
    numeric = pair.is_numeric(target)
    codes = pair.codes(target)
    designs, response, keep = {}, {}, []
    order: dict[str, Ints] = {}
    content = canonical(pair, pair.columns)
    for table in tables:
        known = codes.of(table) >= 0
        if numeric:
            known &= ~pair.special_mask(target, table)
        keep.append(known)
        if not known.any():
            raise NotApplicable(f"target {target!r} has no value in the {table} table")
        order[table] = (np.cumsum(known) - 1)[content.order(table)[known[content.order(table)]]]
        designs[table] = design(pair, names, table, numeric_key_na="median+flag").take(np.flatnonzero(known))
        response[table] = pair.values(target, table)[known] if numeric else codes.of(table)[known].astype(np.int64)
    if not numeric and len(np.unique(response["original"])) < 2:
        raise NotApplicable(f"target {target!r} has one class in the original, so there is nothing to predict")
    columns = _treatment(designs["original"], [d.codes for d in designs.values()])
    matrices = {t: _matrix(d, columns) for t, d in designs.items()}
    centre, scale = matrices["original"][:, 1:].mean(axis=0), matrices["original"][:, 1:].std(axis=0)
    for matrix in matrices.values():
        matrix[:, 1:] = (matrix[:, 1:] - centre) / np.where(scale > 0, scale, 1.0)
    designs["pool"] = designs["original"].stack(designs["released"])
    for side in (matrices, response):
        side["pool"] = pooled([side[table] for table in POOL])
    order["pool"] = pooled([order["original"], len(order["original"]) + order["released"]])
    return Task(
        target, names, pooled(keep[:2]), designs, matrices, response, None if numeric else codes.n_levels, order, notes
    )


def _treatment(shape: Design, codes: Sequence[np.ndarray]) -> list[tuple[int, np.ndarray | None]]:
    made: list[tuple[int, np.ndarray | None]] = []
    for j, kind in enumerate(shape.kinds):
        present = np.unique(np.concatenate([c[:, j] for c in codes]))
        made.append((j, None if kind == "numeric" else present[1:]))
    return made


def _matrix(table: Design, columns: list[tuple[int, np.ndarray | None]]) -> np.ndarray:
    blocks = [np.ones((table.n, 1))]
    for j, levels in columns:
        blocks.append(
            table.column(j)[:, None]
            if levels is None
            else (table.codes[:, j][:, None] == levels[None, :]).astype(float)
        )
    return np.concatenate(blocks, axis=1)


def fit_linear(
    matrix: np.ndarray,
    response: np.ndarray,
    n_classes: int | None,
    tolerance: float = 1e-12,
    times: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Coefficients [columns, outputs] of least squares, or of a logistic regression of each class against the rest (on
    the logit scale, which orders records as well). ``times`` says how often each row is there; default: once.
    ``start`` are the coefficients of a fit to much the same rows.

    Columns that are constant or aliased in the table fitted to get the smallest coefficients that fit: a level that
    does not occur there then predicts as the reference.
    """
    if n_classes is None:
        other = matrix if times is None else matrix * times[:, None]
        gram = other.T @ matrix
        inverse = np.linalg.pinv(gram, rcond=1e-11, hermitian=True)
        beta = inverse @ (other.T @ response)
        rest = response - matrix @ beta
        beta = beta + inverse @ (other.T @ rest)  # one refinement: normal equations lose half the digits
        made: np.ndarray = beta[:, None]
        return made
    usable = matrix.std(axis=0) > 0
    usable[0] = True
    varying = matrix[:, usable]
    columns = []
    for at, k in enumerate([1] if n_classes == 2 else range(n_classes)):
        beta = np.zeros(matrix.shape[1])
        y = (response == k).astype(float)
        if 0 < y.mean() < 1:
            begin = None if start is None else start[usable, at]
            beta[usable] = logistic(varying, y, times, errors=False, tolerance=tolerance, start=begin).coefficients
        else:
            beta[0] = 30.0 if y.mean() > 0 else -30.0
        columns.append(beta)
    return np.stack(columns, axis=1)


def symmetric_root(covariance: np.ndarray) -> np.ndarray:
    """The symmetric root: unlike a factor made of eigenvectors it does not flip signs with the last digit of its
    input.
    """
    size, vectors = np.linalg.eigh(covariance)
    made: np.ndarray = (vectors * np.sqrt(np.maximum(size, 0.0))) @ vectors.T
    return made


def predictions(
    made: Task,
    model: Learner,
    training: str,
    rows: np.ndarray | None,
    asked: str,
    asked_rows: np.ndarray | None,
    random_state: RandomState,
    n_jobs: int | None,
    tolerance: float = 1e-12,
) -> np.ndarray:
    """What a model fitted to one table says about another.

    Parameters
    ----------
    made, model
        The task, and "linear", the name of an attacker or an estimator.
    training, rows
        Table fitted to, and which of its records with a target value (None: all).
    asked, asked_rows
        Table asked about, and which of its records.
    random_state, n_jobs
        Seed and threads of models that use them.
    tolerance
        At which a logistic regression ends.

    Returns
    -------
    ndarray
        Predictions [records] of a number, or scores [records, classes], one column for two classes.
    """
    rows = made.sorted(training, rows)
    response = made.response[training][rows]
    if isinstance(model, str) and model == "linear":
        matrix, questions = (
            made.matrices[t] if r is None else made.matrices[t][r] for t, r in ((training, rows), (asked, asked_rows))
        )
        found = questions @ fit_linear(matrix, response, made.n_classes, tolerance)
        return found[:, 0] if made.n_classes is None else found
    from glasshouse.engines.models.model import fit_and_predict

    table, questions_of = (
        made.designs[t] if r is None else made.designs[t].take(r) for t, r in ((training, rows), (asked, asked_rows))
    )
    answers, _ = fit_and_predict(
        model, table, response, [questions_of], n_classes=made.n_classes, random_state=random_state, n_jobs=n_jobs
    )
    return answers[0] if made.n_classes is None or made.n_classes > 2 else answers[0][:, 1:]


def score(made: Task, predicted: np.ndarray, truth: np.ndarray) -> float | None:
    """R^2 of a number; AUC of two classes; mean one-against-rest AUC of more, over the classes tested."""
    if made.n_classes is None:
        whole = float(((truth - truth.mean()) ** 2).sum())
        return 1 - float(((truth - predicted) ** 2).sum()) / whole if whole > 0 else None
    if made.n_classes == 2:
        return auc(predicted[:, 0], truth == 1)
    found = [auc(predicted[:, k], truth == k) for k in range(predicted.shape[1])]
    known = [a for a in found if a is not None]
    return float(np.mean(known)) if known else None


def auc(scores: np.ndarray, positive: np.ndarray) -> float | None:
    """Chance that a positive record scores higher than a negative one, ties one half; None without both."""
    ones = int(positive.sum())
    if not 0 < ones < len(positive):
        return None
    order = np.argsort(scores)
    ranked = scores[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    hits = np.cumsum(positive[order])[last].astype(float)
    mine = np.diff(hits, prepend=0.0)
    others = np.diff(last + 1.0 - hits, prepend=0.0)
    below = last + 1.0 - hits - others
    return float((mine * (below + 0.5 * others)).sum() / (ones * (len(positive) - ones)))


def ratio(made: Task, of_release: float | None, of_original: float | None) -> float | None:
    """TSTR / TRTR above what guessing gives (0 for R^2, 1/2 for AUC), not below 0; None when the original itself
    predicts nothing.
    """
    if of_release is None or of_original is None:
        return None
    floor = 0.0 if made.n_classes is None else 0.5
    gain = of_original - floor
    return max(0.0, of_release - floor) / gain if gain > 1e-10 else None
