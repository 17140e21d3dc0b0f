"""Where the costly searches are done: on this processor or on a graphics card. The answers are the same.

    with gh.device("cuda"):
        gh.disclosure.dcr(pair)

``gh.assess(device=)`` and the other doors open the same block. Without a word a card is looked for once a job is so
large that the way to the card is short beside it, and the first use of it is said on the log of glasshouse.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from glasshouse.core.errors import InputError
from glasshouse.core.options import door

PROCESSOR = "cpu"
CARD = "cuda"
# pairs of records from which a card is looked for: the vector registers of two cores take 15 s for so many, and loading
# torch and compiling its kernels takes 10 s once
LARGE = 20_000_000_000

F = TypeVar("F", bound=Callable[..., Any])
_asked: ContextVar[str | None] = ContextVar("device", default=None)
_said: set[str] = set()
log = logging.getLogger("glasshouse")


@door
@contextmanager
def device(name: str | None = None) -> Iterator[None]:
    """Inside, distances between records are searched on the device that is named. No figure depends on it.

    Parameters
    ----------
    name : str, optional
        "cpu" for this processor; "cuda", or "cuda:1" for the second card. Default: as outside the block, and there the
        processor, or a card where there is one and the job is large.

    Yields
    ------
    None

    Raises
    ------
    InputError
        For an unknown device, and for a card where there is none that torch can use.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> with gh.device("cpu"):
    ...     found = gh.disclosure.dcr(pair)
    """
    if name is not None:
        _refuse(name)
    before = _asked.set(_asked.get() if name is None else name)
    try:
        yield
    finally:
        _asked.reset(before)


def placed(function: F) -> F:
    """Run a function that takes ``device`` inside the block of that name."""

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        with device(named.get("device")):
            return function(*given, **named)

    return cast(F, called)


def chosen(pairs: int) -> str:
    """The device for a job of so many pairs of records.

    Parameters
    ----------
    pairs : int
        Queries times records of the reference.

    Returns
    -------
    str
        As torch names it.
    """
    asked = _asked.get()
    if asked is not None:
        return asked
    return CARD if pairs >= LARGE and _missing(CARD) is None else PROCESSOR


def say(what: str) -> None:
    """Tell the person who runs this, once in a process; never part of a report, which is the same on every machine."""
    if what not in _said:
        _said.add(what)
        log.warning("glasshouse: %s", what)


def card_name(name: str) -> str:
    """What a card calls itself."""
    import torch

    return str(torch.cuda.get_device_name(name))


def _refuse(name: str) -> None:
    kind, _, number = name.partition(":")
    if name != PROCESSOR and (kind != CARD or not (number.isdecimal() or name == CARD)):
        raise InputError(
            f"device={name!r} is not known; use {PROCESSOR!r} for this processor, {CARD!r} for a graphics card"
        )
    reason = None if name == PROCESSOR else _missing(name)
    if reason is not None:
        raise InputError(f"device={name!r} cannot be used: {reason}; leave device out and the processor does the work")


@cache
def _missing(name: str) -> str | None:
    """Why a card cannot be used; None where it can. Looking takes seconds, so it is done once."""
    if find_spec("torch") is None:
        return "torch is not installed (pip install 'glasshouse[torch]')"
    import torch

    if not torch.cuda.is_available():
        return "torch finds no card"
    number = int(name.partition(":")[2] or 0)
    if number >= torch.cuda.device_count():
        return f"torch finds {torch.cuda.device_count()} of them, and they are counted from 0"
    return None
