"""Windows of the workbench: each has a process and a private folder of its own, and both end with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content
from glasshouse.show.app.guard import new_key

LEFT = 30.0  # seconds after a page was left in which a window may come back: a reload, the next page, "back"
SILENT = 900.0  # seconds without a sign of life; a browser wakes the script of a hidden page about once a minute
STOPPING = 8.0  # seconds a run has to heed a cancel; compiled code that does not return by then is ended
ENDING = 6.0  # seconds a window that is closed has to end what it started, such as the browser that prints
MISSED = "What else was asked for meanwhile was not done: the window was at work."
UPLOAD = "upload-"  # how the folder of an uploaded file begins, inside that of the window
MOST = 12  # windows at once: each holds tables
# A process that does nothing but wait until the server is gone, however that came, and removes what it left behind.
KEEPER = """import os, shutil, sys, time
sys.stdin.buffer.read()
for pause in (0, 2, 8):
    time.sleep(pause)
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if not os.path.exists(sys.argv[1]):
        break
"""


class Busy(InputError):
    """The window is at work on something else."""


@dataclass
class Job:
    """What a window is at work on."""

    name: str
    page: str  # where it was asked for, to go back to
    started: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int = 0
    line: str = ""
    cancelled: bool = False
    missed: bool = False  # whether something else was asked for meanwhile, which was not done


class Window:
    """One window: the process that works for it, and what it is at work on.

    Parameters
    ----------
    folder : Path
        Where the windows of this server have their folders.
    """

    def __init__(self, folder: Path) -> None:
        self.key = new_key()
        self.folder = Path(tempfile.mkdtemp(prefix="window-", dir=folder))  # for its owner alone
        self.job: Job | None = None
        self.outcome: Content | None = None
        self.seen = time.monotonic()
        self.left_at: float | None = None
        self.shown = 0  # pages so far
        self._answers: dict[int, Content] = {}
        self._last = 0
        self._told = threading.Condition()
        self._asking = threading.RLock()
        self.closed = False
        self._begin()

    # -- its process ---------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        # not of our own process group: Ctrl-C in the terminal is for the server, which then ends its windows in order
        self._process = subprocess.Popen(
            [sys.executable, "-m", "glasshouse.show.app.worker", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a warning of some library may quote a value
            text=True,
            encoding="utf-8",
            # what libraries and the browser that prints put aside lies there too, and goes with it
            env={**os.environ, **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(self.folder))},
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(self._process,), name="glasshouse hears", daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                said = json.loads(line)
            except ValueError:  # half a line of a process that was ended
                break
            with self._told:
                if "answer" in said:
                    self._answers[said["id"]] = said["answer"]
                elif self.job is not None and "done" in said:
                    self.job.done, self.job.total, self.job.line = said["done"], said["total"], said["line"]
                self._told.notify_all()
        with self._told:
            self._told.notify_all()

    def _send(self, do: str, name: str, given: Content) -> int:
        with self._told:
            self._last += 1
            number = self._last
        line = json.dumps({"id": number, "do": do, "name": name, "given": given}) + "\n"
        with suppress(BrokenPipeError, ValueError):  # an ended process is told by whoever waits for its answer
            assert self._process.stdin is not None
            self._process.stdin.write(line)
            self._process.stdin.flush()
        return number

    def _wait(self, number: int) -> Content:
        process = self._process
        with self._told:
            while number not in self._answers:
                if process.poll() is not None and not self._told.wait(0.5):
                    break
                self._told.wait(1.0)
            found = self._answers.pop(number, None)
        if found is not None:
            return found
        if not self.closed and process is self._process:  # killed, or out of memory: settings are on the disk
            self._begin()
        return {"ended": True}

    # -- questions -----------------------------------------------------------------------------------------------------

    def page(self, name: str, given: Content) -> Content:
        """A page of this window.

        Parameters
        ----------
        name : str
            The page.
        given : dict
            What its address asks for.

        Returns
        -------
        dict
        """
        with self._asking:
            if self.job is not None:
                raise Busy("the window is at work")
            return self._wait(self._send("page", name, given))

    def act(self, name: str, given: Content, page: str) -> None:
        """Begin something; what came of it is in ``outcome`` once ``job`` is None.

        Parameters
        ----------
        name : str
            What to do.
        given : dict
            What the form says.
        page : str
            Where the form stands.
        """
        with self._asking:
            if self.job is not None:
                self.job.missed |= self.job.name != name  # the same twice is a double click
                raise Busy("the window is at work")
            self.job, self.outcome = Job(name, page), None
        threading.Thread(target=self._work, args=(name, given, page), name="glasshouse works", daemon=True).start()

    def _work(self, name: str, given: Content, page: str) -> None:
        found = self._wait(self._send("act", name, given))
        with self._told:
            job, self.job = self.job, None
            cancelled = job is not None and job.cancelled
            if found.get("stopped") or (cancelled and found.get("ended")):
                found = {"said": "Stopped. Nothing of your settings is lost.", "go": page}
            elif found.get("ended"):
                found = {"problem": "The work was ended from outside, perhaps for want of memory.", "go": page}
            if job is not None and job.missed:
                found = {**found, "said": f"{found.get('said') or ''} {MISSED}".strip()}
            self.outcome = {"go": page, **found}
            self._told.notify_all()

    def done(self, seconds: float) -> bool:
        """Wait a moment for the work at hand.

        Parameters
        ----------
        seconds : float
            How long.

        Returns
        -------
        bool
            Whether nothing is at work any more.
        """
        end = time.monotonic() + seconds
        with self._told:
            while self.job is not None and (left := end - time.monotonic()) > 0:
                self._told.wait(left)
            return self.job is None

    def cancel(self) -> None:
        """Stop the work at hand as Ctrl-C does; where that is not heeded in time, end the process and begin a new
        one."""
        with self._told:
            if self.job is None or self.job.cancelled:
                return
            self.job.cancelled = True
        threading.Thread(target=self._stop, args=(self._process,), name="glasshouse stops", daemon=True).start()

    def _stop(self, process: subprocess.Popen[str]) -> None:
        if os.name == "posix":
            process.send_signal(signal.SIGINT)
            if self.done(STOPPING):
                return
        process.kill()

    # -- its end -------------------------------------------------------------------------------------------------------

    def here(self) -> None:
        """Somebody looks at this window."""
        self.seen, self.left_at = time.monotonic(), None

    def left(self, page: int) -> None:
        """A page was left; unless the window asks for something soon, it was closed. What a page says that has been
        followed by another one comes late, and says nothing.

        Parameters
        ----------
        page : int
            Its number.
        """
        if page == self.shown:
            self.left_at = time.monotonic()

    @property
    def over(self) -> bool:
        """Whether nobody looks at it any more."""
        now = time.monotonic()
        asleep = now - self.seen > SILENT and self.job is None  # a page that sleeps does not end a long run
        return asleep or (self.left_at is not None and now - self.left_at > LEFT)

    def end(self) -> None:
        """Tell its process that nobody asks any more: it ends what it started, removes its folder and ends."""
        self.closed = True
        with suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def close(self) -> None:
        """End its process and remove its folder."""
        self.end()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def private_folder() -> Path:
    """A new folder that only its owner can read."""
    return Path(tempfile.mkdtemp(prefix="glasshouse-app-"))


class Windows:
    """All windows of one server.

    Parameters
    ----------
    first : dict, optional
        What every new window begins with: settings as ``glasshouse.toml`` has them.
    folder : Path, optional
        A private folder (:func:`private_folder`) with tables of these settings; it is removed at the end.
    """

    def __init__(self, first: Content | None = None, folder: Path | None = None) -> None:
        self.folder = folder or private_folder()
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", KEEPER, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.first = first or {}
        self._open: dict[str, Window] = {}
        self._lock = threading.Lock()
        self._spare: Window | None = self._new()  # its process starts while the browser does
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="glasshouse windows", daemon=True).start()

    def _new(self) -> Window:
        made = Window(self.folder)
        if self.first:
            made.act("files/begin", {"form": self.first}, "files")
        return made

    def open(self) -> Window:
        """A new window.

        Returns
        -------
        Window
        """
        with self._lock:
            if len(self._open) >= MOST:
                raise InputError(f"{MOST} windows are open; close one of them first")
            made, self._spare = self._spare or self._new(), None
            made.here()
            self._open[made.key] = made
        return made

    def get(self, key: str) -> Window | None:
        """The window of an address; None where it was closed.

        Parameters
        ----------
        key : str
            Of the address.

        Returns
        -------
        Window or None
        """
        with self._lock:
            return self._open.get(key)

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            with self._lock:
                gone = [self._open.pop(key) for key, window in list(self._open.items()) if window.over]
            for window in gone:
                window.close()

    def close(self) -> None:
        """End every window and remove what was uploaded."""
        self._over.set()
        with self._lock:
            every = [*self._open.values(), *([self._spare] if self._spare else [])]
            self._open, self._spare = {}, None
        for window in every:
            window.end()
        for window in every:
            window.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._keeper.communicate()
