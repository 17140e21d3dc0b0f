"""Writing files so that nothing is lost: a temporary name in the same folder, then one move into place."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from glasshouse.core.errors import InputError


def write_atomically(path: str | Path, text: str) -> Path:
    """Write ``text`` to ``path``. An interrupted run leaves the last good file, never half of a new one."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file to write")
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as problem:
        raise InputError(
            f"cannot write {path}: {(problem.strerror or 'the folder cannot be written to').lower()}"
        ) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return path


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
