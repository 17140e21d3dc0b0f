"""One BLAS thread: sums cut among several differ in the last digit with their number, and beside a busy process BLAS
threads only wait, by spinning. The compiled kernels have threads of their own, which share out whole records.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra in the caller's thread (a logistic fit on Adult: 1.6 s instead of 20 s on a busy machine)."""
    with _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
        yield


@cache
def _controller(scipy_loaded: bool) -> Any:
    """The BLAS libraries in this process, looked up once for each set of them: it takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
