"""Is there room for a file? Libraries that run out of memory end the process without a word."""

from __future__ import annotations

import sys
from pathlib import Path

from glasshouse.core.errors import InputError

COPIES = 4  # a text file while it is read: its bytes, its text, the text again, and the table
PER_VALUE = 64  # bytes of working memory that one measure takes for every value of the tables, at its worst


def refuse_without_room(path: Path, size: int) -> None:
    """Stop when a table would not fit into the memory that is left.

    Parameters
    ----------
    path : Path
        The file, for the message.
    size : int
        Its bytes when unpacked.

    Raises
    ------
    InputError
        When more is needed than this process can have.
    """
    free = free_memory()
    if free is not None and COPIES * size > free:
        raise InputError(
            f"{path} needs about {COPIES * size / 1024**3:.2g} GiB of memory to be read, and {free / 1024**3:.2g} GiB "
            "are free; close other programs, raise the memory limit (ulimit -v), or open the file with DuckDB and pass "
            "the relation: duckdb.read_csv(...)"
        )


def require_room(values: int) -> None:
    """Stop when a measure would not fit into the memory that is left.

    Parameters
    ----------
    values : int
        Records times columns of the tables in memory.

    Raises
    ------
    InputError
        When more is needed than this process can have.
    """
    free = free_memory()
    if free is not None and PER_VALUE * values > free:
        raise InputError(
            f"not enough memory: {values:,} values need about {PER_VALUE * values / 1024**3:.2g} GiB to work with, and "
            f"{free / 1024**3:.2g} GiB are free; leave columns out with exclude=, take fewer records, raise the memory "
            "limit (ulimit -v) or use a larger machine"
        )


def free_memory() -> int | None:
    """Bytes that this process can still have: what is free on the machine, and less where a limit was set.

    Returns
    -------
    int or None
        None where the system does not say.
    """
    if not sys.platform.startswith("linux"):
        return None
    import resource

    said: dict[str, int] = {}
    for line in _lines("/proc/meminfo") + _lines("/proc/self/status"):
        name, _, rest = line.partition(":")
        if name in ("MemAvailable", "VmSize", "VmData") and rest.split():
            said[name] = int(rest.split()[0]) * 1024
    most = [said[name] for name in ("MemAvailable",) if name in said]
    for kind, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY:
            most.append(max(limit - said.get(used, 0), 0))
    return min(most, default=None)


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text(encoding="ascii", errors="replace").splitlines() if file.is_file() else []
