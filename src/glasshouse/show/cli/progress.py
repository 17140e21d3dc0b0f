"""How far a run is: a bar on a terminal, elsewhere a line about every ten seconds, both on stderr."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from glasshouse.core import compiling
from glasshouse.core.words import visible
from glasshouse.show.pace import Pace

EVERY = 10.0  # seconds between two lines where there is no terminal
Step = Callable[[int, int, str], None]


@contextmanager
def progress(quiet: bool, no_progress: bool, costs: Mapping[str, float] | None = None) -> Iterator[Step | None]:
    """A progress callback, or None where nobody wants to hear of it.

    Parameters
    ----------
    quiet, no_progress : bool
        What the command line says.
    costs : mapping of str to float, optional
        Rough seconds per step by its name, for the estimate; without them all steps count alike.
    """
    if quiet or no_progress:
        yield None
    elif sys.stderr.isatty():
        with _bar() as step:
            yield step
    else:
        with _Lines(costs or {}) as lines:
            yield lines.step


@contextmanager
def _bar() -> Iterator[Step]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
    from rich.text import Text

    class Now(ProgressColumn):
        """The step, and whether it waits for the compiler: asked anew whenever the bar is drawn."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.description:<24}" + (f" ({compiling.words()})" if compiling.now() else ""))

    columns = (Now(), BarColumn(bar_width=32), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def step(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name or "done")

        yield step


class _Lines(Pace):
    """A thread of its own says where the run is, so that a long step is told of while it lasts."""

    def __init__(self, costs: Mapping[str, float]) -> None:
        super().__init__(costs)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._speak, name="glasshouse progress", daemon=True)

    def __enter__(self) -> _Lines:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(timeout=1)

    def _speak(self) -> None:
        while not self.over.wait(EVERY):
            print(visible(self.line()), file=sys.stderr, flush=True)
