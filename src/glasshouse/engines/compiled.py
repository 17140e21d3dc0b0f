"""The compiler behind every hot loop: numba's ``njit`` with types, so that calls of compiled functions are checked.

Compilation is most of what a first run takes, and most of compiling is Python work of numba's own, in proportion to
what a kernel asks for. So kernels are plain loops over arrays that their callers made: every ``np.zeros``, ``np.sort``,
assignment of one slice to another and ``parallel=True`` is a function, or a dozen of them, to be compiled too. Threads
come from :mod:`glasshouse.engines.workers`. ``bench/cold.py`` lists what each function costs.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numba
import numpy as np
from numba.core import event

from glasshouse.core import compiling

if TYPE_CHECKING:
    prange = range

    def trailing_zeros(bits: np.uint64) -> int: ...
else:
    from numba import prange
    from numba.cpython.unsafe.numbers import trailing_zeros

__all__ = ["Whole", "njit", "prange", "trailing_zeros"]

Whole: TypeAlias = "int | np.int64"  # compiled code makes no difference between the two

F = TypeVar("F", bound=Callable[..., object])


def njit(*, parallel: bool = False, nogil: bool = False, inner: bool = False) -> Callable[[F], F]:
    """Compile a function on its first call and keep the machine code beside its source file, or in the user's cache.

    Parameters
    ----------
    parallel
        Run ``prange`` loops on numba's threads; takes three times as long to compile.
    nogil
        Release the interpreter lock, for kernels that several Python threads call at once.
    inner
        Called by compiled functions only: there is no way in from Python, which takes as long to compile as the
        function itself where it is short.

    Returns
    -------
    callable
        A decorator that keeps the signature of the function.

    Notes
    -----
    numba publishes no types, so its own decorator would turn every kernel into ``Any``.
    """
    options: dict[str, Any] = {"parallel": parallel, "nogil": nogil}
    options |= {"no_cpython_wrapper": inner, "no_cfunc_wrapper": True}

    def compiled(function: F) -> F:
        made: F
        try:
            made = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # neither beside the source nor at home is there a folder that can be written to
            compiling.kept = False
            made = numba.njit(**options)(function)
        return made

    return compiled


class _Listener(event.Listener):  # type: ignore[misc]  # numba publishes no types
    """Says when numba compiles, and keeps the collector out of it.

    The compiler makes millions of objects that all stay, and the collector would look through everything the program
    holds again and again meanwhile: a fifth of the time of a first run.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.collected = False

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.depth == 1:
            self.collected = gc.isenabled()
            gc.disable()
            compiling.begins()

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            compiling.ends()
            if self.collected:
                gc.enable()


event.register("numba:compile", _Listener())
