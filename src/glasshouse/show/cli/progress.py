"""How far a run is: a bar on a terminal, elsewhere a line about every ten seconds, both on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from glasshouse.core import compiling
from glasshouse.core.words import duration, visible

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
        with _Lines(dict(costs or {})) as lines:
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


class _Lines:
    """A thread of its own says where the run is, so that a long step is told of while it lasts."""

    def __init__(self, costs: dict[str, float]) -> None:
        self.costs = costs
        self.done, self.total, self.name = 0, 0, ""
        self.behind = 0.0  # expected seconds of the steps that are finished
        self.started, self.compiled = time.monotonic(), compiling.seconds()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._speak, name="glasshouse progress", daemon=True)

    def __enter__(self) -> _Lines:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(timeout=1)

    def step(self, done: int, total: int, name: str) -> None:
        if done > self.done:
            self.behind += self._cost(self.name) * (done - self.done)
        self.done, self.total, self.name = done, total, name

    def _cost(self, name: str) -> float:
        """Expected seconds of a step; one of ``rapid (age, sex)`` is one of rapid."""
        mean = sum(self.costs.values()) / len(self.costs) if self.costs else 1.0
        return self.costs.get(name.partition(" (")[0], mean)

    def _speak(self) -> None:
        while not self.over.wait(EVERY):
            print(visible(self.line()), file=sys.stderr, flush=True)

    def line(self) -> str:
        """``12 of 40 done, now rapid; 30 s so far, about 2 min to go``."""
        spent = time.monotonic() - self.started
        if not self.total:
            return f"reading the tables; {duration(spent)} so far"
        if self.done >= self.total:
            return f"{self.name or 'done'}; {duration(spent)} so far"
        now = f", now {self.name}" if self.name else ""
        now += f" ({compiling.words()})" if compiling.now() else ""
        return f"{self.done} of {self.total} done{now}; {duration(spent)} so far{self._left(spent)}"

    def _left(self, spent: float) -> str:
        whole = sum(self.costs.values()) or float(self.total)
        # several scenarios run the same measures; the total says how often
        whole *= self.total / len(self.costs) if self.costs else 1.0
        ahead = max(whole - self.behind, 0.0)
        if self.done == 0 and not self.costs:
            return ""
        # what was expected so far against what it took, less what only a first run takes; before the first step is
        # over, what is expected
        spent -= compiling.seconds() - self.compiled
        pace = spent / self.behind if self.behind > 0 else 1.0
        return f", about {duration(max(pace * ahead, 1.0))} to go"
