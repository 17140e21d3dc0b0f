"""Other people's synthesisers behind our interface: a function, a library object, or releases in files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.data.files import read
from glasshouse.synthesis.contract import Synthesiser

_SEEDS = ("random_state", "seed")
_SIZES = ("n", "num_rows", "n_rows", "n_samples", "size", "count")


def adapt(synthesiser: Any) -> Synthesiser:
    """A synthesiser from whatever was passed.

    A ``Synthesiser`` stays; "cart" is ``Cart()``; an object with ``fit`` and ``sample`` or ``generate`` (as in the
    usual tabular libraries) is wrapped; a path or a list of paths is read; any other callable is called with the
    original.
    """
    if isinstance(synthesiser, Synthesiser):
        return synthesiser
    if synthesiser == "cart":
        from glasshouse.synthesis.cart import Cart

        return Cart()
    if isinstance(synthesiser, (str, Path)):
        return FromFiles([synthesiser])
    if isinstance(synthesiser, (list, tuple)) and all(isinstance(item, (str, Path)) for item in synthesiser):
        return FromFiles(synthesiser)
    if hasattr(synthesiser, "fit") and (hasattr(synthesiser, "sample") or hasattr(synthesiser, "generate")):
        return FromLibrary(synthesiser)
    if callable(synthesiser):
        return FromCallable(synthesiser)
    raise InputError(
        f"a {type(synthesiser).__name__} is no synthesiser; pass one of glasshouse's, an object with fit and sample, a "
        "function of the original, or paths of releases"
    )


class FromCallable(Synthesiser):
    """A function of the original that returns a release; ``n`` and ``random_state`` are passed if it takes them."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self.make = make
        self._original: Any = None
        self._accepted = _parameters(make)

    def fit(self, original: Any) -> Self:
        self._take(original)
        self._original = original
        return self

    def sample(self, n: int | None = None, random_state: RandomState = 0) -> Any:
        if self._original is None:
            raise InputError("this synthesiser is not fitted; call fit(original) first")
        options: dict[str, Any] = {}
        seed = next((name for name in _SEEDS if name in self._accepted), None)
        if seed:
            options[seed] = integer_seed(random_state, "callable")
        size = next((name for name in _SIZES if name in self._accepted), None)
        if size and n is not None:
            options[size] = n
        elif n is not None:
            raise InputError("the synthesising function takes no number of records; call sample() without n")
        return self.make(self._original, **options)


class FromLibrary(Synthesiser):
    """An object with ``fit(frame)`` and ``sample`` or ``generate``; it gets pandas, the answer is in your library."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._maker = getattr(model, "sample", None) or model.generate

    def fit(self, original: Any) -> Self:
        frame = self._take(original)
        self.model.fit(self._like.native if self._library == "pandas" and self._like else frame.to_pandas())
        return self

    def sample(self, n: int | None = None, random_state: RandomState = 0) -> Any:
        accepted = _parameters(self._maker)
        size = next((name for name in _SIZES if name in accepted), None)
        options: dict[str, Any] = {}
        seed = next((name for name in _SEEDS if name in accepted), None)
        value = integer_seed(random_state, "library")
        if seed:
            options[seed] = value
        else:
            _seed_globally(value)
        count = n or self.n_original
        made = self._maker(**{size: count}, **options) if size else self._maker(count, **options)
        if hasattr(made, "dataframe"):  # some libraries wrap the table
            made = made.dataframe()
        return made if self._library == "pandas" else self._give(pl.from_pandas(made))


class FromFiles(Synthesiser):
    """Releases made elsewhere: ``sample`` gives file number ``random_state``, ``replicates`` the first m in order."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        if not paths:
            raise InputError("pass at least one path of a release")
        self.paths = [Path(p) for p in paths]

    def fit(self, original: Any) -> Self:
        self._take(original)
        return self

    def sample(self, n: int | None = None, random_state: RandomState = 0) -> Any:
        if not isinstance(random_state, (int, np.integer)):
            raise InputError("releases in files are chosen by an integer random_state: 0 is the first file")
        frame = read(self.paths[int(random_state) % len(self.paths)])
        if n is not None and n != frame.height:
            raise InputError(
                f"the release in the file has {frame.height:,} records, not {n:,}; call sample() without n"
            )
        return self._give(frame) if self._like is not None else frame

    def replicates(self, m: int, n: int | None = None, random_state: RandomState = 0) -> list[Any]:
        if not 1 <= m <= len(self.paths):
            raise InputError(f"{m} releases were asked for, but {len(self.paths)} files were given")
        return [self.sample(n, random_state=i) for i in range(m)]


def _parameters(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # builtins and some compiled callables have no signature
        return set()


def _seed_globally(seed: int) -> None:
    """Libraries without a seed argument draw from global generators; without this no run could be repeated."""
    import random
    import sys

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
