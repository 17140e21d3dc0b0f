"""Where the costly jobs are done: on this processor, on a graphics card or on a Spark cluster, with the same answers.

    with gh.device("cuda"):
        gh.disclosure.dcr(pair)

``gh.assess(device=)`` and the other doors open the same block. Without a word a card is looked for once a job is so
large that the way to the card is short beside it, and the first use of it is said on the log of glasshouse. A cluster
is used without a word only where the tables are there already (Spark frames) and it has more cores than this machine;
"spark" asks for the session that is active, whatever holds the tables.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from glasshouse.core.errors import InputError
from glasshouse.core.options import door

PROCESSOR = "cpu"
CARD = "cuda"
CLUSTER = "spark"
# pairs of records from which a card is looked for: the vector registers of two cores take 15 s for so many, and loading
# torch and compiling its kernels takes 10 s once
LARGE = 20_000_000_000
# trees times records from which a cluster is used by itself: two cores take 15 s for so many
LARGE_FOREST = 30_000_000
# below these a job is done here even where Spark is asked for: a job there takes 0.5 to 1 s before it begins, in which
# two cores here do as much
LEAST_PAIRS = 1_000_000_000
LEAST_FOREST = 2_000_000

F = TypeVar("F", bound=Callable[..., Any])
_asked: ContextVar[str | None] = ContextVar("device", default=None)
_home: ContextVar[str] = ContextVar("home", default="memory")
_said: set[str] = set()
log = logging.getLogger("glasshouse")


@door
@contextmanager
def device(name: str | None = None) -> Iterator[None]:
    """Inside, distances between records are searched on the device that is named. No figure depends on it.

    The attacker ``gbm`` is the exception: on "spark" xgboost.spark fits it, and its notes say so.

    Parameters
    ----------
    name : str, optional
        "cpu" for this processor; "cuda", or "cuda:1" for the second card; "spark" for the executors of the active Spark
        session, on which forests grow, too. Default: as outside the block, and there the processor, or, for a large
        job, a card where there is one, and the executors where the tables are Spark frames.

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
    if asked == CLUSTER and pairs < LEAST_PAIRS:
        return PROCESSOR
    if asked is not None:
        return asked
    if pairs >= LARGE and _cluster_is_wider():
        return CLUSTER
    return CARD if pairs >= LARGE and _missing(CARD) is None else PROCESSOR


@contextmanager
def home(engine: str) -> Iterator[None]:
    """Inside, the tables are held by this engine ("memory", "duckdb", "pyspark", ...)."""
    before = _home.set(engine)
    try:
        yield
    finally:
        _home.reset(before)


def trees_on_spark(work: int) -> bool:
    """Whether trees grow on a cluster.

    Parameters
    ----------
    work : int
        Trees times records.

    Returns
    -------
    bool
    """
    if _asked.get() is not None:
        return _asked.get() == CLUSTER and work >= LEAST_FOREST
    return work >= LARGE_FOREST and _cluster_is_wider()


def asked_for_spark() -> bool:
    """Whether the executors were asked for by name: what differs there in the last digits must not come unasked."""
    return _asked.get() == CLUSTER


def spark_session() -> Any:
    """The active Spark session, or None."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _cluster_is_wider() -> bool:
    """Whether the tables are Spark frames and Spark has more cores than this machine."""
    session = spark_session() if _home.get() == "pyspark" else None
    if session is None or not hasattr(session, "sparkContext"):
        return False
    return int(session.sparkContext.defaultParallelism) > (os.cpu_count() or 1)


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
    if name == CLUSTER:
        if spark_session() is None:
            raise InputError(
                f"device={name!r} cannot be used: no Spark session is active; start one "
                "(SparkSession.builder.getOrCreate()), or leave device out"
            )
        return
    kind, _, number = name.partition(":")
    if name != PROCESSOR and (kind != CARD or not (number.isdecimal() or name == CARD)):
        raise InputError(
            f"device={name!r} is not known; use {PROCESSOR!r} for this processor, {CARD!r} for a graphics card, "
            f"{CLUSTER!r} for the active Spark session"
        )
    reason = None if name == PROCESSOR else _missing(name)
    if reason is not None:
        raise InputError(f"device={name!r} cannot be used: {reason}; leave device out and the processor does the work")


@cache
def _missing(name: str) -> str | None:
    """Why a card cannot be used; None where it can. Looking takes seconds, so it is done once."""
    if find_spec("torch") is None:
        return "torch is not installed (pip install 'glasshouse[torch]')"
    from importlib.metadata import PackageNotFoundError, version

    with suppress(PackageNotFoundError):
        if version("torch").endswith("+cpu"):  # made for processors: loading it would only tell the same, in seconds
            return "torch finds no card"
    import torch

    if not torch.cuda.is_available():
        return "torch finds no card"
    number = int(name.partition(":")[2] or 0)
    if number >= torch.cuda.device_count():
        return f"torch finds {torch.cuda.device_count()} of them, and they are counted from 0"
    return None
