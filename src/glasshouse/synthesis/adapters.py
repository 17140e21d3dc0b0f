"""Other people's synthesisers behind our interface: a function, a library object, or releases in files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.options import fitted
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.data.files import read
from glasshouse.data.frames import Frame
from glasshouse.data.pandas_tables import frame_from_pandas, to_pandas
from glasshouse.synthesis.contract import Synthesiser

_SEEDS = ("random_state", "seed")
_SIZES = ("n", "num_rows", "n_rows", "n_samples", "size", "count")


@runtime_checkable
class TabularModel(Protocol):
    """A model of another library; it also has ``sample`` or ``generate``."""

    def fit(self, data: Frame, /) -> object: ...


@fitted
def adapt(synthesiser: object) -> Synthesiser:
    """A synthesiser from whatever was passed.

    Parameters
    ----------
    synthesiser : Synthesiser, str, path, list of paths, object or callable
        A ``Synthesiser`` stays; "cart" is ``Cart()``; "ctree" and "parametric" are ``Sequential`` with that method; an
        object with ``fit`` and ``sample`` or ``generate`` (as in the usual tabular libraries) is wrapped; a path or a
        list of paths is read; any other callable is called with the original.

    Returns
    -------
    Synthesiser

    Raises
    ------
    InputError
        For anything else.

    Examples
    --------
    >>> import glasshouse as gh
    >>> gh.synthesis.adapt("cart")
    <glasshouse.synthesis.cart.Cart object at ...>
    >>> shuffled = gh.synthesis.adapt(lambda original, seed: original.sample(fraction=1, shuffle=True, seed=seed))
    >>> shuffled.fit(gh.data.simulate_health(50)).sample().height
    50
    """
    if isinstance(synthesiser, Synthesiser):
        return synthesiser
    if isinstance(synthesiser, str) and synthesiser == "cart":
        from glasshouse.synthesis.cart import Cart

        return Cart()
    if isinstance(synthesiser, str) and synthesiser in ("ctree", "parametric"):
        from glasshouse.synthesis.sequential import Sequential

        return Sequential(synthesiser)
    if isinstance(synthesiser, (str, Path)):
        return FromFiles([synthesiser])
    if isinstance(synthesiser, (list, tuple)) and all(isinstance(item, (str, Path)) for item in synthesiser):
        return FromFiles(synthesiser)
    if isinstance(synthesiser, TabularModel) and (hasattr(synthesiser, "sample") or hasattr(synthesiser, "generate")):
        return FromLibrary(synthesiser)
    if callable(synthesiser):
        return FromCallable(synthesiser)
    raise InputError(
        f"a {type(synthesiser).__name__} is no synthesiser; pass one of glasshouse's, an object with fit and sample, a "
        "function of the original, or paths of releases"
    )


class FromCallable(Synthesiser):
    """A function of the original that returns a release.

    Parameters
    ----------
    make : callable
        Called with the original. A number of records is passed if it takes ``n``, ``num_rows``, ``n_rows``,
        ``n_samples``, ``size`` or ``count``, a seed if it takes ``random_state`` or ``seed``.
    """

    def __init__(self, make: Callable[..., Frame]) -> None:
        self.make = make
        self._original: Frame = None
        self._accepted = _parameters(make)

    def fit(self, original: Frame) -> Self:
        self._take(original)
        self._original = original
        return self

    def sample(self, n: int | None = None, random_state: RandomState = 0) -> Frame:
        if self._original is None:
            raise InputError("this synthesiser is not fitted; call fit(original) first")
        options: dict[str, int] = {}
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
    """A model of another library; it gets pandas, the answer is in the library of the original.

    Parameters
    ----------
    model : object
        With ``fit(frame)`` and ``sample`` or ``generate``. Where these take no seed, the global generators are seeded.
    """

    def __init__(self, model: TabularModel) -> None:
        self.model = model
        maker: Callable[..., Frame] | None = getattr(model, "sample", None) or getattr(model, "generate", None)
        if maker is None:
            raise InputError(f"a {type(model).__name__} has neither sample nor generate; pass a function instead")
        self._maker = maker

    def fit(self, original: Frame) -> Self:
        frame = self._take(original)
        self.model.fit(self._like.native if self._library == "pandas" and self._like else to_pandas(frame))
        return self

    def sample(self, n: int | None = None, random_state: RandomState = 0) -> Frame:
        accepted = _parameters(self._maker)
        size = next((name for name in _SIZES if name in accepted), None)
        options: dict[str, int] = {}
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
        return made if self._library == "pandas" else self._give(frame_from_pandas(made))


class FromFiles(Synthesiser):
    """Releases made elsewhere.

    Parameters
    ----------
    paths : sequence of str or Path
        The files, at least one. ``sample`` gives file number ``random_state``, ``replicates`` the first m in order.
    """

    def __init__(self, paths: Sequence[str | Path]) -> None:
        if not paths:
            raise InputError("pass at least one path of a release")
        self.paths = [Path(p) for p in paths]

    def fit(self, original: Frame) -> Self:
        self._take(original)
        return self

    def sample(self, n: int | None = None, random_state: RandomState = 0) -> Frame:
        if not isinstance(random_state, (int, np.integer)):
            raise InputError("releases in files are chosen by an integer random_state: 0 is the first file")
        frame = read(self.paths[int(random_state) % len(self.paths)])
        if n is not None and n != frame.height:
            raise InputError(
                f"the release in the file has {frame.height:,} records, not {n:,}; call sample() without n"
            )
        return self._give(frame) if self._like is not None else frame

    def replicates(self, m: int, n: int | None = None, random_state: RandomState = 0) -> list[Frame]:
        if not 1 <= m <= len(self.paths):
            raise InputError(f"{m} releases were asked for, but {len(self.paths)} files were given")
        return [self.sample(n, random_state=i) for i in range(m)]


def _parameters(function: Callable[..., object]) -> set[str]:
    """Names of the parameters a function takes, as far as it says."""
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
