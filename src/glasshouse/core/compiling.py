"""Whether a kernel is being compiled right now, and how long that took so far: for whoever shows progress.

The machine code is kept, so this is about the first run only, unless there is no folder to keep it in.
"""

from __future__ import annotations

import time

kept = True  # whether the next run finds what this one compiled
_since: float | None = None
_before = 0.0


def begins() -> None:
    """The compiler starts; one thread at a time does."""
    global _since
    _since = time.monotonic()


def ends() -> None:
    """The compiler is done."""
    global _since, _before
    if _since is not None:
        _before += time.monotonic() - _since
    _since = None


def now() -> bool:
    """Whether something is being compiled."""
    return _since is not None


def words() -> str:
    """What the run is busy with while the compiler works."""
    return "compiling, once" if kept else "compiling; once, if NUMBA_CACHE_DIR names a folder that can be written to"


def seconds() -> float:
    """Seconds this process has spent on compiling, up to now."""
    since = _since
    return _before + (time.monotonic() - since if since is not None else 0.0)
