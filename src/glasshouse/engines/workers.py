"""Records shared out among threads that call a compiled loop.

The kernels release the interpreter lock and threads of Python's own call them: numba's ``parallel=True`` makes the same
loop take three times as long to compile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

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
