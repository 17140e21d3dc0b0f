"""Paths that callers give: text that is none, such as the content of a file, is answered in a sentence."""

from __future__ import annotations

from pathlib import Path

LONGEST = 255  # letters of a name that file systems take


def is_file(path: str | Path) -> bool:
    """Whether there is such a file. What is too long for a name is the name of none.

    Parameters
    ----------
    path : str or Path
        As given.

    Returns
    -------
    bool
    """
    return exists(path) and Path(path).is_file()


def exists(path: str | Path) -> bool:
    """Whether there is such a file or folder.

    Parameters
    ----------
    path : str or Path
        As given.

    Returns
    -------
    bool
    """
    try:
        return Path(path).exists()
    except OSError:
        return False


def as_told(path: str | Path) -> str:
    """A path as a message repeats it.

    Parameters
    ----------
    path : str or Path
        As given.

    Returns
    -------
    str
        What has several lines, or a name no file system takes, is the content of a file sooner than a path: it may hold
        values, and is not repeated.
    """
    text = str(path)
    is_path = len(text.splitlines()) <= 1 and all(len(part) <= LONGEST for part in Path(text).parts)
    return text if is_path else f"a text of {len(text):,} letters, which is no path and is not repeated here"
