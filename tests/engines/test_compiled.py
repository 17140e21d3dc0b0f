"""The compiler is told of, left alone by the collector, and records are shared out without changing an answer."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.extending import overload

from glasshouse.core import compiling
from glasshouse.engines import compiled
from glasshouse.engines.workers import share_out, threads

SEEN: list[tuple[bool, bool]] = []


def _probe(x: float) -> int:
    raise NotImplementedError("compiled code only")


@overload(_probe)
def _typed(x: float) -> Callable[[float], int]:
    """Called by the compiler while it compiles a caller."""
    SEEN.append((compiling.now(), gc.isenabled()))

    def implementation(x: float) -> int:
        return 1

    return implementation


def _calling(x: float) -> int:
    return _probe(x)


@pytest.mark.parametrize("collects", [True, False])
def test_while_numba_compiles_the_house_knows_and_the_collector_rests(collects: bool) -> None:
    SEEN.clear()
    before = compiling.seconds()
    was = gc.isenabled()
    try:
        gc.enable() if collects else gc.disable()
        assert numba.njit(_calling)(1.0 if collects else 1) == 1  # the compiler asks once per type
        assert gc.isenabled() is collects
    finally:
        gc.enable() if was else gc.disable()
    assert set(SEEN) == {(True, False)}
    assert not compiling.now() and compiling.seconds() > before


def test_a_function_that_cannot_be_compiled_leaves_everything_as_it_was() -> None:
    def wrong(x: int) -> object:
        return x.there_is_no_such_thing  # type: ignore[attr-defined]

    with pytest.raises(numba.TypingError):
        numba.njit(wrong)(1)
    assert gc.isenabled() and not compiling.now()


@compiled.njit(nogil=True, inner=True)
def _double(x: float) -> float:
    return 2.0 * x


@compiled.njit(nogil=True)
def _doubled(x: np.ndarray, out: np.ndarray, start: int, stop: int) -> None:
    for i in range(start, stop):
        out[i] = _double(x[i])


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
@pytest.mark.parametrize("n", [0, 1, 31, 1000])
def test_every_record_is_answered_for_once_and_blocks_stay_whole(n_jobs: int, n: int) -> None:
    x, out, parts = np.arange(float(n)), np.full(n, -1.0), []

    def task(start: int, stop: int) -> None:
        parts.append((start, stop))
        _doubled(x, out, start, stop)

    with threads(n_jobs):
        share_out(task, n, 16)
    np.testing.assert_array_equal(out, 2 * x)
    assert sorted(i for start, stop in parts for i in range(start, stop)) == list(range(n))
    assert all(start % 16 == 0 and (stop % 16 == 0 or stop == n) for start, stop in parts)


def test_so_many_threads_as_were_asked_for() -> None:
    names = set()
    with threads(1):
        share_out(lambda start, stop: names.add(threading.get_ident()), 64)
    assert names == {threading.get_ident()}


def test_an_error_in_any_thread_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        share_out(lambda start, stop: 1 // 0, 10)
    with threads(2):
        if numba.get_num_threads() < 2:
            pytest.skip("one thread only")
        both = threading.Barrier(2, timeout=30)  # each of the two threads has one of the two records

        def task(start: int, stop: int) -> None:
            both.wait()
            if threading.current_thread() is not threading.main_thread():
                raise ValueError("in a thread")

        with pytest.raises(ValueError, match="in a thread"):
            share_out(task, 2)


KERNEL = """
import warnings; warnings.simplefilter("error")
from glasshouse.core import compiling
from glasshouse.engines.compiled import njit

@njit(nogil=True)
def add(x):
    return x + 1

print(add(2), compiling.kept, compiling.words())
"""


@pytest.mark.parametrize("writable", [True, False])
def test_where_nothing_can_be_written_it_is_compiled_every_time(tmp_path: Path, writable: bool) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    if not writable:  # a file in place of the folder stops everybody, the superuser too
        (tmp_path / "__pycache__").write_text("")
    environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    found = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**environment, "HOME": os.devnull, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert found.returncode == 0 and found.stderr == "", found.stderr
    assert found.stdout.startswith("3 True compiling, once" if writable else "3 False compiling; once, if NUMBA_CACHE")


STOPPED = """
import os, signal, threading, time
from glasshouse.core.interrupts import heeded
from glasshouse.engines.workers import share_out
done = []
def task(start, stop):
    if start == 0:
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)
    done.append(start)
try:
    with heeded():
        share_out(task, 4000)
except KeyboardInterrupt:
    print(len(done))
"""


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_after_ctrl_c_nobody_starts_anything_else() -> None:
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2"}
    found = subprocess.run(
        [sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    assert found.returncode == 0 and int(found.stdout) <= 4, found.stderr
