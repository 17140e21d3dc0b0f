"""How many threads the compiled loops run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from glasshouse.core.errors import InputError
from glasshouse.core.threads import one_blas_thread

FEW_QUERIES = 2000
Part = TypeVar("Part")
Found = TypeVar("Found")


@contextmanager
def threads(n_jobs: int | None, queries: int | None = None) -> Iterator[None]:
    """Run compiled loops on some threads; no answer depends on it.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads; None or -1: all.
    queries : int, optional
        How much there is to do: a few are answered sooner by one thread than by several that wait for each other.

    Yields
    ------
    None
        Inside, compiled loops run on so many threads.

    Raises
    ------
    InputError
        For a number of threads below 1.
    """
    import numba

    if n_jobs is not None and n_jobs != -1 and n_jobs < 1:
        raise InputError(f"n_jobs must be a positive number of threads or -1, not {n_jobs}")
    most = numba.config.NUMBA_NUM_THREADS
    wanted = most if n_jobs is None or n_jobs == -1 else min(n_jobs, most)
    if queries is not None and queries < FEW_QUERIES:
        wanted = 1
    before = numba.get_num_threads()
    numba.set_num_threads(min(wanted, before) if n_jobs is None else wanted)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def in_threads(work: Callable[[Part], Found], parts: Sequence[Part]) -> list[Found]:
    """Work of which each part stands for itself, on as many threads as compiled loops have.

    Parameters
    ----------
    work : callable
        What is done with a part; compiled with ``nogil=True``, or array operations, which share no thread of BLAS.
    parts : sequence
        The parts.

    Returns
    -------
    list
        In the order of the parts, so that what is added up does not depend on the number of threads.
    """
    import numba

    with one_blas_thread():
        if len(parts) == 1:
            return [work(parts[0])]
        with ThreadPoolExecutor(numba.get_num_threads()) as pool:
            return list(pool.map(work, parts))
