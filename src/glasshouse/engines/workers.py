"""Records, and other parts of a job, shared out among threads that call a compiled loop.

The kernels release the interpreter lock and threads of Python's own call them: numba's ``parallel=True`` makes the same
loop take three times as long to compile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from typing import TypeVar

from glasshouse.core.errors import InputError
from glasshouse.core.threads import one_blas_thread

Part = TypeVar("Part")
Found = TypeVar("Found")

FEW_QUERIES = 2000
SHARES = 16  # parts of the work per thread: some take longer than others, and Ctrl-C is heard between two of them


def share_out(task: Callable[[int, int], None], n: int, block: int = 1) -> None:
    """Run a compiled loop over some records on as many threads as numba may use.

    Parameters
    ----------
    task : callable
        ``task(start, stop)`` answers for the records ``start:stop`` and releases the interpreter lock. No answer may
        depend on where the records are cut.
    n : int
        Number of records.
    block : int, default 1
        Records that belong together: every start is a multiple of it.
    """
    import numba

    blocks = -(-n // block)
    workers = min(numba.get_num_threads(), blocks)
    if not workers:
        return
    step = -(-blocks // (workers * SHARES)) * block
    left = deque(range(0, n, step))

    def work() -> None:
        with threads(1) if workers > 1 else nullcontext():  # what a part shares out itself has this thread alone
            while True:
                try:
                    start = left.popleft()
                except IndexError:  # another thread took the last one
                    return
                task(start, min(start + step, n))

    if workers == 1:
        work()
        return
    with ThreadPoolExecutor(workers - 1) as pool:
        others = [pool.submit(copy_context().run, work) for _ in range(workers - 1)]
        try:
            work()
        finally:
            left.clear()  # after Ctrl-C nobody starts anything else
        for other in others:
            other.result()


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
    found: dict[int, Found] = {}

    def some(start: int, stop: int) -> None:
        for i in range(start, stop):
            found[i] = work(parts[i])

    with one_blas_thread():
        share_out(some, len(parts))
    return [found[i] for i in range(len(parts))]


def by_turns(work: Callable[[Part], Found], parts: Sequence[Part]) -> Iterator[Found]:
    """What :func:`in_threads` finds, for parts whose answers are large: no more are held than there are threads.

    Parameters
    ----------
    work, parts
        As there.

    Yields
    ------
    Found
        In the order of the parts.
    """
    import numba

    together = numba.get_num_threads()
    for at in range(0, len(parts), together):
        yield from in_threads(work, parts[at : at + together])


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
