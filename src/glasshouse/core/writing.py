"""Writing files so that nothing is lost and nobody else reads along: a private temporary name in the same folder,
then one move into place.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
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
    write_together({path: content}, mode)
    return path


def write_together(
    contents: Mapping[Path, str | bytes], mode: int | None = None, told: Callable[[Path], None] | None = None
) -> None:
    """Write files that belong together: all of them, or none. What one run made never stands beside what another did.

    Parameters
    ----------
    contents : mapping of Path to str or bytes
        The whole content of each, as for :func:`write_atomically`.
    mode : int, optional
        Permissions of all of them.
    told : callable, optional
        Called with every path once all of them are in their places, before an interrupt is heard.

    Raises
    ------
    NotWritten
        When one of them cannot be written; no file was touched then (but where a folder lets nobody replace files of
        others, which is noticed late).

    Notes
    -----
    All of them are written beside their places first, which is where a disk runs full and where an interrupt is heard;
    an interrupt that comes while they are moved into place waits until the last one is. A pipe or a device takes its
    content before that, for it may block.
    """
    with contextlib.ExitStack() as stack:
        ready: list[tuple[Path, str, Path]] = []
        for path, content in contents.items():
            with _telling(path):
                real = _place(path)
                if _regular(real):
                    ready.append((path, stack.enter_context(_beside(real, _raw(content), mode)), real))
        for path, content in contents.items():
            with _telling(path):
                _into_pipe(Path(os.path.realpath(path)), _raw(content))
        check()
        with shielded():
            for path, temporary, real in ready:
                with _telling(path):
                    os.replace(temporary, real)
            if told is not None:
                for path in contents:
                    told(path)


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
    with _telling(path):
        real = _place(path)
    if not real.parent.is_dir():
        raise NotWritten(f"cannot write {path}: the folder {real.parent} does not exist")
    if _regular(real) and not os.access(real.parent, os.W_OK | os.X_OK):
        raise NotWritten(f"cannot write {path}: the folder {real.parent} cannot be written to")


def rescue(contents: Mapping[Path, str | bytes]) -> list[Path]:
    """Keep what could not be written where it was wanted, in a new folder that only its owner can read.

    Parameters
    ----------
    contents : mapping of Path to str or bytes
        The whole content of each file.

    Returns
    -------
    list of Path
        Where they are now; empty where there is no room for all of them anywhere.
    """
    names = [path.name for path in contents]
    for place in dict.fromkeys((tempfile.gettempdir(), os.path.expanduser("~"), "/var/tmp", "/dev/shm")):
        with contextlib.suppress(OSError, NotWritten):
            folder = Path(tempfile.mkdtemp(prefix="glasshouse-", dir=place))
            own = [f"{at}-{name}" if name in names[:at] else name for at, name in enumerate(names)]
            kept = {folder / name: content for name, content in zip(own, contents.values(), strict=True)}
            try:
                write_together(kept)
                return list(kept)
            except NotWritten:
                folder.rmdir()
    return []


@contextlib.contextmanager
def _telling(path: str | Path) -> Iterator[None]:
    """Inside, what goes wrong with a file becomes a sentence."""
    try:
        yield
    except OSError as problem:
        raise NotWritten(f"cannot write {path}: {_why(problem)}; an earlier file is untouched") from None


def _place(path: str | Path) -> Path:
    """Where a file will be, links followed."""
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise NotWritten(f"cannot write {path}: it is a link to itself")
    if real.is_dir():
        raise NotWritten(f"{path} is a folder; name the file to write")
    return real


def _raw(content: str | bytes) -> bytes:
    """Text as UTF-8; a file name that is no text (a byte of another encoding) stands there as it is written in
    Python."""
    return content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content


@contextlib.contextmanager
def _beside(path: Path, raw: bytes, mode: int | None) -> Iterator[str]:
    """A temporary file next to ``path`` with the content and the permissions it will have; it is gone afterwards,
    unless it was moved."""
    kept = stat.S_IMODE(path.stat().st_mode) if path.exists() else PRIVATE
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:80]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, kept if mode is None else mode)
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _into_pipe(path: Path, raw: bytes) -> None:
    """A pipe or a device is written into, never replaced."""
    if not _regular(path):
        with path.open("wb", buffering=0) as file:
            file.write(raw)


def _regular(path: Path) -> bool:
    return path.is_file() or not path.exists()


def _why(problem: OSError) -> str:
    return (problem.strerror or "the folder cannot be written to").lower()
