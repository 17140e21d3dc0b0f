"""Can a model tell released records from original ones? The stacked data, and the models that try.

Missing values follow synthpop: a category of its own, and for numbers the value 0 with a yes/no column beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.streams import RandomState, generator, integer_seed
from glasshouse.data.pair import Pair
from glasshouse.engines.models.design import MISSING, Design, Levels, as_numbers, lexicographic
from glasshouse.engines.workers import in_threads, share_out

MODELS = ("logit", "cart", "forest")
FOLDS = 5
MOST_PARAMETERS = 400
BLOCK = 20_000  # records worked on at a time where a second copy of all would not fit
MOST_CELLS = 60_000_000  # records times coefficients of a logit, where nobody says how many coefficients


@dataclass(frozen=True)
class Settings:
    """How the scores are made."""

    model: str
    maxorder: int | None
    max_params: int | None
    cp: float
    minbucket: int
    trees: int
    n_jobs: int | None

    def most_params(self, records: int) -> int:
        """The coefficients that a logit of so many records may have."""
        if self.max_params is not None:
            return self.max_params
        return min(MOST_PARAMETERS, max(1, MOST_CELLS // max(records, 1)))


@dataclass(frozen=True)
class Fit:
    """Scores of the stacked records, the labels they belong to, and what the model was."""

    scores: np.ndarray
    labels: np.ndarray
    rank: int | None = None  # coefficients beside the intercept, aliased ones not counted
    maxorder: int | None = None
    n_leaves: int | None = None
    importance: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    design: np.ndarray | None = None  # of a logit


@dataclass(frozen=True)
class Stacked:
    """Two tables on top of each other, rows in canonical order; ``labels`` 1 for the second."""

    design: Design
    labels: np.ndarray
    source: tuple[str, ...]  # column of the data behind each column of the design
    rows: np.ndarray  # which of the records, the first table's before the second's, each row is


def stacked(pair: Pair, columns: Sequence[str], first: str, second: str) -> Stacked:
    """The columns of two tables of the pair as one design. Rows are sorted by content, so permutations do not depend
    on file order.
    """
    names: list[str] = []
    kinds: list[str] = []
    levels: list[Levels] = []
    arrays: list[np.ndarray] = []
    source: list[str] = []
    flags: list[tuple[str, np.ndarray]] = []
    for name in columns:
        coded = pair.codes(name)
        parts = [coded.of(first), coded.of(second)]
        if name in pair.special_codes:
            parts = [np.where(pair.special_mask(name, t), -1, p) for t, p in zip((first, second), parts, strict=True)]
        array = np.concatenate(parts)
        absent = array < 0
        if pair.is_numeric(name):
            numbers = as_numbers(coded.levels)
            if absent.any():
                numbers = np.unique(np.append(numbers, 0.0))
                moved = np.searchsorted(numbers, as_numbers(coded.levels)) if coded.levels else np.zeros(0, int)
                array = np.where(absent, np.searchsorted(numbers, 0.0), np.append(moved, 0)[array])
                flags.append((name, absent))
            kind = "numeric"
            own: Levels = numbers
        else:
            kind, own = "ordinal" if coded.ordered else "categorical", list(coded.levels)
            if absent.any():
                array, own = np.where(absent, len(own), array), [*own, MISSING]
        names.append(name)
        kinds.append(kind)
        levels.append(own)
        arrays.append(array)
        source.append(name)
    for name, absent in flags:
        names.append(f"{name}_missing")
        kinds.append("categorical")
        levels.append([False, True])
        arrays.append(absent.astype(np.int32))
        source.append(name)
    codes = np.column_stack(arrays).astype(np.int32)
    labels = np.concatenate([np.zeros(pair.n(first), np.int8), np.ones(pair.n(second), np.int8)])
    by_name = np.argsort(np.asarray(names), kind="stable")  # whatever the order of columns in the file
    order = lexicographic([arrays[j] for j in by_name], labels)
    return Stacked(
        Design(tuple(names), tuple(kinds), np.ascontiguousarray(codes[order]), tuple(levels)),
        labels[order],
        tuple(source),
        order,
    )


def make_fitter(data: Stacked, settings: Settings, random_state: RandomState) -> Callable[[np.ndarray], Fit]:
    """A function that fits the model to given labels; what does not depend on the labels is prepared once."""
    if settings.model == "logit":
        return _logit_fitter(data, settings)
    if settings.model == "cart":
        return _cart_fitter(data, settings)
    if settings.model == "forest":
        return _forest_fitter(data, settings, random_state)
    raise InputError(f"model {settings.model!r} is not known; use 'logit', 'cart' or 'forest'")


def _level_limit(data: Stacked, max_params: int) -> int | None:
    """The most levels a category may keep so that main effects stay within ``max_params`` and a fifth of the records;
    None where nothing has to be merged.
    """
    kinds = data.design.kinds
    counts = [len(np.unique(data.design.codes[:, j])) - 1 for j, kind in enumerate(kinds) if kind != "numeric"]
    room = min(max_params, max(20, len(data.labels) // 5)) - sum(kind == "numeric" for kind in kinds)
    if not counts or sum(counts) <= room:
        return None
    limit = max(counts)
    while limit > 2 and sum(min(k, limit) for k in counts) > room:
        limit -= 1
    return limit


def _merged(codes: np.ndarray, keep: int) -> np.ndarray:
    """The ``keep`` most frequent levels as they are, all others one level (both tables together decide, so the labels
    have no say).
    """
    counts = np.bincount(codes)
    common = np.argsort(-counts, kind="stable")[:keep]
    return np.where(np.isin(codes, common), codes, len(counts))


def _main_effects(data: Stacked, max_params: int, notes: list[str]) -> tuple[np.ndarray, list[str], list[str]]:
    """Treatment-coded columns, their names and the data column behind each; levels that no record has are left out."""
    names, source = list[str](), list[str]()
    parts: list[tuple[int, np.ndarray]] = []  # column of the data, and the levels that get a column; none of a number
    merged: dict[int, np.ndarray] = {}
    limit = _level_limit(data, max_params)
    # by name: where columns say the same, the first one is kept, and that must not be the first in the file
    for j in sorted(range(len(data.design.names)), key=data.design.names.__getitem__):
        name, kind = data.design.names[j], data.design.kinds[j]
        if kind == "numeric":
            parts.append((j, np.empty(0, np.int64)))
            names.append(name)
            source.append(data.source[j])
            continue
        codes = data.design.codes[:, j]
        levels = len(np.unique(codes))
        if limit is not None and levels - 1 > limit:
            codes = merged[j] = _merged(codes, limit)
            notes.append(
                f"column {name!r} has {levels:,} levels, more than the logit can take: its {limit} most "
                "frequent are kept and the rest is one level; declare numbers as numeric, or use model='cart'"
            )
        present = np.unique(codes)[1:]
        parts.append((j, present))
        names += [f"{name}[{level}]" for level in present]
        source += [data.source[j]] * len(present)
    # written in place: with millions of records a second copy would not fit beside it
    made = np.empty((len(data.labels), len(names)))
    # a number is one column, a category one per level
    columns = [
        (data.design.column(j), None)
        if data.design.kinds[j] == "numeric"
        else (merged.get(j, data.design.codes[:, j]), present)
        for j, present in parts
    ]

    def fill(start: int, stop: int) -> None:
        at = 0
        for column, present in columns:
            some, width = column[start:stop, None], 1 if present is None else len(present)
            made[start:stop, at : at + width] = some if present is None else some == present
            at += width

    share_out(fill, len(made), BLOCK)
    return made, names, source


def _standardise(columns: np.ndarray) -> np.ndarray:
    """Columns centred and scaled where they stand."""
    mean, blocks = columns.mean(axis=0), [slice(at, at + BLOCK) for at in range(0, len(columns), BLOCK)]

    def centred(at: slice) -> np.ndarray:
        columns[at] -= mean
        return np.asarray((columns[at] ** 2).sum(axis=0))

    squares = sum(in_threads(centred, blocks), start=np.zeros(columns.shape[1]))
    scale = np.sqrt(squares / max(len(columns), 1))
    divisor = np.where(scale > 0, scale, 1.0)

    def scaled(at: slice) -> None:
        columns[at] /= divisor

    in_threads(scaled, blocks)
    return columns


def _with_intercept(columns: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """A column of ones and the kept columns."""
    made = np.empty((len(columns), 1 + int(kept.sum())))

    def fill(start: int, stop: int) -> None:
        made[start:stop, 0] = 1.0
        made[start:stop, 1:] = columns[start:stop, kept]

    share_out(fill, len(columns), BLOCK)
    return made


def _logit_fitter(data: Stacked, settings: Settings) -> Callable[[np.ndarray], Fit]:
    from glasshouse.engines.models.linear.rank import independent_columns
    from glasshouse.engines.models.linear.regression import logistic

    notes: list[str] = []
    most = settings.most_params(len(data.labels))
    main, names, source = _main_effects(data, most, notes)
    main = _standardise(main)
    crossed = [(a, b) for a, b in combinations(range(main.shape[1]), 2) if source[a] != source[b]]
    wanted = 1 + len(names) + len(crossed)
    order = settings.maxorder
    if order is None:
        # with as many coefficients as records a logit separates anything
        limit = min(most, len(main) - 1)
        order = 1 if wanted <= limit else 0
        if order == 0:
            notes.append(
                f"two-way terms would need {wanted:,} coefficients (limit {limit}); main effects "
                "only, table_utility looks at pairs"
            )
    elif order == 1 and wanted > most:
        raise NotApplicable(
            f"two-way terms need {wanted:,} coefficients, more than max_params={most}; raise it, "
            "use maxorder=0 or model='cart'"
        )
    design = main
    if order == 1 and crossed:
        design = np.concatenate([main, *[main[:, a : a + 1] * main[:, b : b + 1] for a, b in crossed]], axis=1)
        design = _standardise(design)
    if len(design) <= design.shape[1] + 1:
        raise NotApplicable(
            f"{design.shape[1] + 1} coefficients for {len(design)} records; use maxorder=0, fewer columns or "
            "model='cart'"
        )
    kept = independent_columns(design)
    design = _with_intercept(design, kept)
    behind = [source[j] for j in np.flatnonzero(kept[: len(names)])]

    def fit(labels: np.ndarray) -> Fit:
        # permuted labels only make the null band, for which a looser fit is as good
        permuted = labels is not data.labels
        found = logistic(design, labels.astype(float), errors=False, tolerance=1e-6 if permuted else 1e-12)
        weight: dict[str, float] = {}
        for name, slope in zip(behind, np.abs(found.coefficients[1 : 1 + len(behind)]), strict=True):
            weight[name] = weight.get(name, 0.0) + float(slope)
        said = (*notes, *found.notes)
        return Fit(found.fitted, labels, design.shape[1] - 1, order, None, _ranked(weight), said, design)

    return fit


def _cart_fitter(data: Stacked, settings: Settings) -> Callable[[np.ndarray], Fit]:
    from glasshouse.engines.models.tree import tree

    d = data.design

    def fit(labels: np.ndarray) -> Fit:
        grown = tree.grow(
            d.codes,
            labels.astype(np.int32),
            n_classes=2,
            ordered=d.is_ordered,
            values=d.values,
            n_levels=d.n_levels,
            minsplit=3 * settings.minbucket,
            minbucket=settings.minbucket,
            cp=settings.cp,
        )
        weight: dict[str, float] = {}
        for name, gain in zip(data.source, grown.importance, strict=True):
            weight[name] = weight.get(name, 0.0) + float(gain)
        return Fit(grown.predict(d.codes)[:, 1], labels, None, None, grown.n_leaves, _ranked(weight))

    return fit


def _forest_fitter(data: Stacked, settings: Settings, random_state: RandomState) -> Callable[[np.ndarray], Fit]:
    """Out-of-fold scores: a forest that has seen a record knows it, and votes of trees that saw its twin are
    confidently wrong.
    """
    from glasshouse.engines.models.forest import forest

    d = data.design
    fold = generator(random_state, "propensity folds").permutation(len(d.codes)) % FOLDS

    def fit(labels: np.ndarray) -> Fit:
        scores = np.empty(len(labels))
        gains = np.zeros(len(d.names))
        for k in range(FOLDS):
            test = fold == k
            grown = forest.grow(
                d.codes[~test],
                labels[~test].astype(np.int64),
                n_classes=2,
                numeric=d.is_numeric,
                values=d.values,
                n_levels=d.n_levels,
                trees=settings.trees,
                seed=integer_seed(random_state, "propensity", k),
                n_jobs=settings.n_jobs,
                score=[d.codes[test]],
            )
            scores[test] = grown.predictions[0][:, 1]
            gains += grown.importance
        weight: dict[str, float] = {}
        for name, gain in zip(data.source, gains, strict=True):
            weight[name] = weight.get(name, 0.0) + float(gain)
        return Fit(scores, labels, None, None, None, _ranked(weight))

    return fit


def _ranked(weight: dict[str, float]) -> dict[str, float]:
    """Shares of the total, largest first."""
    total = sum(weight.values())
    return {k: v / total if total > 0 else 0.0 for k, v in sorted(weight.items(), key=lambda item: -item[1])}
