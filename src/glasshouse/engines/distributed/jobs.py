"""One way to have parts of a job done by executors: what all parts need is broadcast, each part is a row of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from glasshouse.core.errors import InputError, foreign
from glasshouse.engines.distributed.packing import Packable, packed, unpacked

if TYPE_CHECKING:
    import pyarrow as pa

PER_CORE = 4  # parts per core: some take longer than others


def cores(session: Any) -> int:
    """Tasks that the executors of a session do at one time."""
    return int(context(session).defaultParallelism)


def context(session: Any) -> Any:
    """The Spark context, which broadcasts; a session of Spark Connect has none."""
    from pyspark.errors import PySparkException

    try:
        return session.sparkContext
    except (PySparkException, AttributeError):
        raise InputError(
            "a Spark Connect session cannot broadcast to its executors; run on the driver (spark-submit), or say "
            "device='cpu'"
        ) from None


def broadcast(session: Any, shared: object) -> Any:
    """Something that every executor gets once and keeps until it is destroyed."""
    return context(session).broadcast(shared)


def spread(
    session: Any, work: Callable[[Any, Any], Packable], shared: Any, parts: Sequence[Packable]
) -> list[Packable]:
    """What ``work(shared, part)`` gives for each part, in the order of the parts.

    Parameters
    ----------
    session : SparkSession
        Whose executors work.
    work : callable
        A function of a module, so that executors can import it.
    shared : Broadcast
        What ``broadcast`` gave.
    parts : sequence
        The parts: numbers, arrays and tuples of them, as what ``work`` gives back (:mod:`.packing`).

    Returns
    -------
    list

    Raises
    ------
    InputError
        When the executors fail; their own message may quote a value and is left out.
    """
    import pyarrow as pa

    if not parts:
        return []

    kinds = pa.schema([("place", pa.int64()), ("part", pa.binary())])

    def each(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from glasshouse.engines.workers import threads

        for batch in batches:
            for place, part in zip(batch["place"].to_pylist(), batch["part"], strict=True):
                with threads(1):  # every core has a task of its own
                    done = work(shared.value, unpacked(part.as_buffer()))
                yield pa.record_batch({"place": [place], "part": [packed(done)]}, schema=kinds)

    table = pa.table({"place": range(len(parts)), "part": [packed(part) for part in parts]}, schema=kinds)
    told = "place long, part binary"
    try:
        frame = session.createDataFrame(table).repartition(len(parts))
        found = frame.mapInArrow(each, told).toArrow()
    except BaseException as problem:
        if not foreign(problem):
            raise
        raise InputError(
            f"the Spark executors could not do their part ({type(problem).__name__}); look at their log (is glasshouse "
            "installed on every node?), or say device='cpu'"
        ) from None
    answers = {p: unpacked(d.as_buffer()) for p, d in zip(found["place"].to_pylist(), found["part"], strict=True)}
    return [answers[i] for i in range(len(parts))]
