"""The process in which one window of the workbench does its work.

A process of its own per window keeps windows apart, lets a run be cancelled wherever it is (an interrupt reaches the
main thread, as Ctrl-C does), and gives all its memory back when the window is closed. It hears one JSON object per
line on its standard input and answers on its standard output; what libraries print goes to standard error.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from glasshouse.core.plain import Content

if TYPE_CHECKING:
    from glasshouse.show.app.desk import Desk

STOPPING = 4.0  # seconds that the work at hand has to end, when nobody asks any more
INTERNAL = "glasshouse itself stopped with {kind}; nothing of your settings is lost"


def main() -> None:
    """Answer questions until the one who asks is gone; then remove the private folder and end."""
    folder = Path(sys.argv[1])
    asked, answer = _lines(), _answering()
    heard: queue.SimpleQueue[Content] = queue.SimpleQueue()
    cancel = Cancel()
    threading.Thread(target=_listen, args=(asked, heard, folder, cancel), name="glasshouse hears", daemon=True).start()

    def told(done: int, total: int, line: str) -> None:
        answer({"done": done, "total": total, "line": line})

    signal.signal(signal.SIGINT, cancel)
    desk: list[Desk] = []
    answer({"ready": True})
    while True:
        question = heard.get()
        try:
            cancel.heeded = True
            cancel.idle.clear()
            if not desk:
                from glasshouse.show.app.desk import Desk

                desk.append(Desk(folder, told))
            found = answered(desk[0], question)
        except KeyboardInterrupt:
            found = {"stopped": True}
        finally:
            cancel.heeded = False
            cancel.idle.set()
        answer({"answer": found, "id": question["id"]})


class Cancel:
    """What an interrupt does: it stops the work at hand, once; where there is none it came too late.

    Attributes
    ----------
    heeded : bool
        Whether there is work that an interrupt stops.
    idle : Event
        Set while there is no work at all.
    """

    def __init__(self) -> None:
        self.heeded = False
        self.idle = threading.Event()
        self.idle.set()

    def __call__(self, number: int, frame: object) -> None:
        if self.heeded:
            self.heeded = False
            raise KeyboardInterrupt


def answered(desk: Desk, question: Content) -> Content:
    """What the desk says to a question; whatever goes wrong becomes a sentence that quotes nobody.

    Parameters
    ----------
    desk : Desk
        The state of the window.
    question : dict
        ``do`` ("page" or "act"), the name of the page or the act, and what the browser sent.

    Returns
    -------
    dict
        Of a page ``html`` or ``file``; of an act ``go``, the page that follows. ``problem`` is a sentence.
    """
    from glasshouse.core.interrupts import heeded
    from glasshouse.judgement.run import safely

    work: Callable[[], Content] = lambda: getattr(desk, question["do"])(question["name"], question["given"])  # noqa: E731
    try:
        with heeded():
            found, problem = safely(work)
    except KeyboardInterrupt:
        return {"stopped": True}
    except BaseException as broken:
        return {"problem": INTERNAL.format(kind=type(broken).__name__)}
    found = {"problem": problem} if found is None else found
    if found.get("problem"):  # an upload is called as the person called it
        found["problem"] = desk.outside(found["problem"])
    return found


def _lines() -> TextIO:
    """Standard input, and nothing left there for a library to read."""
    own = os.fdopen(os.dup(0), "r", encoding="utf-8")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    return own


def _answering() -> Callable[[Content], None]:
    """A function that writes one line to standard output, where nothing else is written any more."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lock = threading.Lock()

    def answer(said: Content) -> None:
        line = json.dumps(said) + "\n"
        with lock:
            own.write(line)
            own.flush()

    return answer


def _listen(asked: TextIO, heard: queue.SimpleQueue[Any], folder: Path, cancel: Cancel) -> None:
    """Pass questions on. When the one who asks is gone, stop the work, so that it ends what it started (a browser
    that prints), leave no table behind, and end."""
    try:
        for line in asked:
            heard.put(json.loads(line))
    finally:
        if os.name == "posix" and not cancel.idle.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            cancel.idle.wait(STOPPING)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


if __name__ == "__main__":
    main()
