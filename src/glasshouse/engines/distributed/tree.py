"""A decision tree on an executor: one tree is one task, which spares this machine and is no sooner done."""

from __future__ import annotations

from typing import Any

from glasshouse.engines.distributed import jobs
from glasshouse.engines.models.tree import kernel


def grown_elsewhere(given: tuple[Any, ...], session: Any) -> Any:
    """What ``kernel.grow(*given)`` gives, from an executor that was broadcast the codes."""
    shared = jobs.broadcast(session, given)
    (grown,) = jobs.spread(session, _grown_tree, shared, [None])
    shared.destroy()
    return grown


def _grown_tree(given: tuple[Any, ...], _: None) -> Any:
    return kernel.grow(*given)
