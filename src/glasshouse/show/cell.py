"""A progress bar in the cell of a notebook."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from glasshouse.core.words import visible

SECONDS = 0.2  # between two pictures of the bar: each is a message to the browser


@contextmanager
def bar() -> Iterator[Callable[[int, int, str], None]]:
    """A function ``step(done, total, name)`` that draws how far a run is; what it drew is gone in the end.

    One output of the cell is drawn anew, in plain HTML: the bars of other packages need widgets that a notebook may
    lack.
    """
    from IPython.display import display

    started = time.perf_counter()
    drawn = -SECONDS
    shown = display(_picture("starting", 0, 0, 0.0), raw=True, display_id=True)

    def step(done: int, total: int, name: str) -> None:
        nonlocal drawn
        passed = time.perf_counter() - started
        if passed - drawn >= SECONDS:
            drawn = passed
            shown.update(_picture(visible(name) or "done", done, total, passed), raw=True)

    try:
        yield step
    finally:
        shown.update({"text/plain": "", "text/html": ""}, raw=True)


def _picture(name: str, done: int, total: int, seconds: float) -> dict[str, str]:
    """The bar as a browser and as a terminal show it."""
    passed = f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
    far = f' value="{done}" max="{total}"' if total else ""
    count = f"{done} of {total}, {passed}" if total else ""
    return {
        "text/plain": f"{name} {count}".rstrip(),
        "text/html": f"<progress{far}></progress> <code>{escape(name)}</code> {count}",
    }
