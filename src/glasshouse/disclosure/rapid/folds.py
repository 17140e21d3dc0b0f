"""Folds of people, and releases made without one of them by any kind of synthesiser."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.result import Frame
from glasshouse.disclosure.rapid.scores import Array


@runtime_checkable
class Samples(Protocol):
    """A fitted synthesiser; ``sample`` may take ``random_state``, ``seed`` or a number of records."""

    sample: Callable[..., Frame]


@runtime_checkable
class FitSample(Samples, Protocol):
    """A synthesiser as an object; ``fit`` may return the fitted one, or nothing."""

    fit: Callable[[Frame], object]


Synthesiser: TypeAlias = Callable[[Frame, int], Frame] | FitSample


def deal_folds(classes: Array | None, n: int, k: int, rng: np.random.Generator) -> Array:
    """Fold of every record. Stratified: each class is shuffled and dealt 0..k-1 in turn, always starting at the first
    fold."""
    folds = np.empty(n, int)
    if classes is None:
        folds[rng.permutation(n)] = np.arange(n) % k
        return folds
    seen, first = np.unique(classes, return_index=True)
    for label in seen[np.argsort(first)]:
        rows = rng.permutation(np.flatnonzero(classes == label))
        folds[rows] = np.arange(len(rows)) % k
    if len(np.unique(folds)) < k:
        raise InputError(f"the classes are too small for {k} folds; choose fewer folds")
    return folds


def synthesise(maker: Synthesiser, training: Frame, seed: int, name: str = "synthesiser") -> Frame:
    """A release from a function (training, seed) or from an object with fit and sample (copied first, never
    changed)."""
    if isinstance(maker, FitSample):
        model = deepcopy(maker)
        fitted = model.fit(training)
        sampler = fitted if isinstance(fitted, Samples) else model
        for arguments in ({"random_state": seed}, {"seed": seed}, {}):
            if _accepts(sampler.sample, arguments):
                return sampler.sample(**arguments)
        return sampler.sample(len(training))
    if not callable(maker):
        raise InputError(
            f"{name!r} is a {type(maker).__name__}; a synthesiser is a function of (training frame, seed) or an "
            "object with fit and sample"
        )
    return maker(training, seed)


def _accepts(function: Callable[..., Frame], arguments: Mapping[str, int]) -> bool:
    try:
        inspect.signature(function).bind(**arguments)
    except (TypeError, ValueError):
        return False
    return True
