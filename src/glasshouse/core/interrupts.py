"""Ctrl-C, wherever it arrives: compiled code wraps it in an error of its own and some libraries lose it altogether.

Whoever does long work says ``with heeded():`` around it. An interrupt that comes inside ends that work, even where
foreign code swallowed it on the way.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_noted: list[int] = []  # interrupts that were raised and not yet seen to reach the caller
_depth = 0


@contextmanager
def heeded() -> Iterator[None]:
    """Inside, an interrupt reaches the caller as KeyboardInterrupt, at the latest when the block ends.

    Only signals whose handler is a Python function are watched, and only those that it answers with KeyboardInterrupt:
    a program that handles Ctrl-C in its own way keeps doing so. Blocks may be nested; in a thread other than the main
    one nothing is watched, because Python delivers signals to the main thread only.
    """
    global _depth
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {} if _depth else {s: h for s in _SIGNALS if callable(h := signal.getsignal(s))}
    for number, handler in before.items():
        signal.signal(number, _noting(handler))
    _depth += 1
    try:
        yield
        check()
    except Exception as problem:
        if interrupted(problem) or _noted:
            raise KeyboardInterrupt from None
        raise
    finally:
        _depth -= 1
        if not _depth:
            _noted.clear()
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def shielded() -> Iterator[None]:
    """Inside, an interrupt waits until the block is done: for what must not be left half done, and takes no time."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {s: h for s in _SIGNALS if callable(h := signal.getsignal(s))}
    came: list[tuple[int, Any]] = []
    for number in before:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for came_number, frame in came[:1]:
            before[signal.Signals(came_number)](came_number, frame)


def check() -> None:
    """Stop here when an interrupt came and nobody heard it."""
    if _noted and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def interrupted(problem: BaseException | None) -> bool:
    """Whether an exception was caused by Ctrl-C inside compiled code."""
    while problem is not None:
        if isinstance(problem, KeyboardInterrupt):
            return True
        problem = problem.__cause__ or problem.__context__
    return False


def _noting(handler: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
    def note(number: int, frame: Any) -> Any:
        try:
            return handler(number, frame)
        except KeyboardInterrupt:
            _noted.append(number)
            raise

    return note
