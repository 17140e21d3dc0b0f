"""A process that was forked after tables were read cannot compute: the threads of the engines stayed with its parent.

It would wait for them for ever, so it is told instead. Fresh processes (spawn, forkserver) are not affected.
"""

from __future__ import annotations

import os

from glasshouse.core.errors import GlasshouseError

_state = {"used": False, "forked": False}


class Forked(GlasshouseError, RuntimeError):
    """This process was forked from one that had already used glasshouse."""


def entering() -> None:
    """Called wherever work begins: remembers that threads may run from now on, and stops in a forked process.

    Raises
    ------
    Forked
        In a process that was forked after glasshouse was used.
    """
    if _state["forked"]:
        raise Forked(
            "this process was forked after glasshouse had been used, and the threads that do the work stayed with its "
            "parent; start processes with multiprocessing.get_context('spawn'), or fork before the first table is read"
        )
    _state["used"] = True


def _in_child() -> None:
    _state["forked"] = _state["used"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
