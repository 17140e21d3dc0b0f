"""How many threads the compiled loops run on, and how records are shared out among them.

The kernels release the interpreter lock and threads of Python's own call them: numba's ``parallel=True`` compiles the
same loop three times as long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from glasshouse.core.errors import InputError

FEW_QUERIES = 2000
SHARES = 16  # parts of the work per thread: some take longer than others, and Ctrl-C is heard between two of them


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


def share_out(task: Callable[[int, int], None], n: int, block: int = 1) -> None:
    """Run a compiled loop over some records on the threads that :func:`threads` allows.

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
        others = [pool.submit(work) for _ in range(workers - 1)]
        try:
            work()
        finally:
            left.clear()  # after Ctrl-C nobody starts anything else
        for other in others:
            other.result()
