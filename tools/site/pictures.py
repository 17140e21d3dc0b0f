"""Generated pages are made once for a source: measures and charts are run again only where a line has changed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.site.running import ROOT, source_mark


def kept_pages(folder: Path, makers: Mapping[str, Callable[[Path], object]]) -> None:
    """Make what is missing or was made by another source.

    Parameters
    ----------
    folder : Path
        Where the pages lie.
    makers : mapping
        By file or folder of pages, what writes it.
    """
    study = (ROOT / "docs" / "calibration.md").read_bytes()
    mark = hashlib.sha256(source_mark().encode() + study).hexdigest()
    noted = folder / "_kept" / "generated"
    if noted.is_file() and noted.read_text() == mark and all((folder / name).exists() for name in makers):
        return
    for name, write in makers.items():
        started = time.perf_counter()
        write(folder / name)
        print(f"{name}: written in {time.perf_counter() - started:.0f} s")
    noted.parent.mkdir(exist_ok=True)
    noted.write_text(mark)
