"""Who hears how far a run is: a function of the caller, a bar in a notebook, or nobody."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
_drawn = ContextVar("drawn", default=False)  # whether a run around this one has a bar already


def listening(function: F) -> F:
    """Give a function that takes ``progress`` a bar to draw where a notebook runs it and the caller gave none.

    A person waits for a cell as one does at a terminal. ``progress=False`` draws nothing.
    """

    @wraps(function)
    def called(*tables: Any, progress: Any = None, **given: Any) -> Any:
        if progress is not None or _drawn.get() or not in_notebook():
            return function(*tables, progress=progress or None, **given)
        before = _drawn.set(True)
        try:
            # drawn in the room of pictures, which lies to the right of this one
            with import_module("glasshouse.show.cell").bar() as step:
                return function(*tables, progress=step, **given)
        finally:
            _drawn.reset(before)

    return cast(F, called)


def in_notebook() -> bool:
    """Whether a notebook runs this: IPython is there already, and has a kernel instead of a terminal."""
    known = sys.modules.get("IPython")
    shell = None if known is None else known.get_ipython()
    return getattr(shell, "kernel", None) is not None
