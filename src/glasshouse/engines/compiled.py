"""The compiler behind every hot loop: numba's ``njit`` with types, so that calls of compiled functions are checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numba
import numpy as np

if TYPE_CHECKING:
    prange = range

    def trailing_zeros(bits: np.uint64) -> int: ...
else:
    from numba import prange
    from numba.cpython.unsafe.numbers import trailing_zeros

__all__ = ["Whole", "njit", "prange", "trailing_zeros"]

Whole: TypeAlias = "int | np.int64"  # compiled code makes no difference between the two

F = TypeVar("F", bound=Callable[..., object])


def njit(*, parallel: bool = False, nogil: bool = False) -> Callable[[F], F]:
    """Compile a function on its first call and keep the machine code beside its source file.

    Parameters
    ----------
    parallel
        Run ``prange`` loops on numba's threads.
    nogil
        Release the interpreter lock, for kernels that several Python threads call at once.

    Returns
    -------
    callable
        A decorator that keeps the signature of the function.

    Notes
    -----
    numba publishes no types, so its own decorator would turn every kernel into ``Any``.
    """

    def compiled(function: F) -> F:
        made: F = numba.njit(cache=True, parallel=parallel, nogil=nogil)(function)
        return made

    return compiled
