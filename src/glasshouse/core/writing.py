"""Writing files so that nothing is lost and nobody else reads along: a private temporary name in the same folder,
then one move into place.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from glasshouse.core.errors import InputError
from glasshouse.core.interrupts import check, shielded

Content = TypeVar("Content", str, bytes)
PRIVATE = 0o600  # readable and writable by its owner alone
SHARED = 0o644


class NotWritten(InputError):
    """A file could not be written; what stood there before is untouched."""


def write_atomically(path: str | Path, content: str | bytes, mode: int | None = None) -> Path:
    """Write a file. An interrupted run leaves the last good file, never half of a new one.

    Parameters
    ----------
    path : str or Path
        Where to. A symbolic link is followed, and the file it points at is replaced in one step.
    content : str or bytes
        The whole content; text is written as UTF-8.
    mode : int, optional
        Permissions of the file. Default: those of the file that is replaced; a new file is for its owner alone (600).

    Returns
    -------
    Path
        The path as given.

    Raises
    ------
    NotWritten
        When it cannot be written; the message says why.
    """
    path = Path(path)
    # a file name that is no text (a byte of another encoding) stands in a page as it is written in Python
    raw = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        _write(Path(os.path.realpath(path)), raw, mode)
    except OSError as problem:
        raise NotWritten(f"cannot write {path}: {_why(problem)}; an earlier file is untouched") from None
    return path


@contextlib.contextmanager
def together(paths: Iterable[str | Path]) -> Iterator[None]:
    """Inside, files that belong together are written: an interrupt waits until all of them are of one run.

    Parameters
    ----------
    paths : iterable of str or Path
        Where to. A pipe or a device may block, so that with one among them an interrupt does not wait.

    Yields
    ------
    None
    """
    if not all(_regular(Path(os.path.realpath(path))) for path in paths):
        yield
        return
    with shielded():
        yield


def delivered(content: Content, path: str | Path | None, mode: int | None = None) -> Content:
    """What was made, written down on the way where a path is given.

    Parameters
    ----------
    content : str or bytes
        A report.
    path : str or Path, optional
        Where to write it.
    mode : int, optional
        As for :func:`write_atomically`.

    Returns
    -------
    str or bytes
        The content; where it was written, one that a notebook shows as the name of the file.
    """
    if path is None:
        return content
    write_atomically(path, content, mode)
    return kept(content, path)


class _Kept:
    """Content that lies in a file: all of it, and shown as where it is."""

    where: Path

    def __repr__(self) -> str:
        return f"wrote {self.where}"


class _KeptText(_Kept, str):
    pass


class _KeptBytes(_Kept, bytes):
    pass


def kept(content: Content, path: str | Path) -> Content:
    """The same content, shown as the file it was written to instead of page after page.

    Parameters
    ----------
    content : str or bytes
        What was written.
    path : str or Path
        Where to.

    Returns
    -------
    str or bytes
    """
    made = _KeptText(content) if isinstance(content, str) else _KeptBytes(content)
    made.where = Path(path)
    return made


def check_writable(path: str | Path) -> None:
    """Stop before any work is done when a file could not be written in the end.

    Parameters
    ----------
    path : str or Path
        The file to be written later.

    Raises
    ------
    NotWritten
        When its folder does not exist or cannot be written to, or a folder has this name.
    """
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise NotWritten(f"{path} is a folder; name the file to write")
    if not real.parent.is_dir():
        raise NotWritten(f"cannot write {path}: the folder {real.parent} does not exist")
    if _regular(real) and not os.access(real.parent, os.W_OK | os.X_OK):
        raise NotWritten(f"cannot write {path}: the folder {real.parent} cannot be written to")


def rescue(name: str, content: str | bytes) -> Path | None:
    """Keep what could not be written where it was wanted, in a new folder that only its owner can read.

    Parameters
    ----------
    name : str
        Name of the file.
    content : str or bytes
        The whole content.

    Returns
    -------
    Path or None
        Where it is now; None where there is no room anywhere.
    """
    for place in dict.fromkeys((tempfile.gettempdir(), os.path.expanduser("~"), "/var/tmp", "/dev/shm")):
        with contextlib.suppress(OSError, NotWritten):
            folder = Path(tempfile.mkdtemp(prefix="glasshouse-", dir=place))
            try:
                return write_atomically(folder / name, content)
            except NotWritten:
                folder.rmdir()
    return None


def _write(path: Path, raw: bytes, mode: int | None) -> None:
    if path.is_dir():
        raise NotWritten(f"{path} is a folder; name the file to write")
    if not _regular(path):  # a pipe or a device: it is written into, never replaced
        with path.open("wb", buffering=0) as file:
            file.write(raw)
        return
    kept = stat.S_IMODE(path.stat().st_mode) if path.exists() else PRIVATE
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:80]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, kept if mode is None else mode)
        check()
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _regular(path: Path) -> bool:
    return path.is_file() or not path.exists()


def _why(problem: OSError) -> str:
    return (problem.strerror or "the folder cannot be written to").lower()
