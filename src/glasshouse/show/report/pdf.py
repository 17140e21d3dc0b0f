"""A page as PDF, printed by the Chromium of the machine: without network, script or trace outside a private folder."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

from glasshouse.core.errors import InputError
from glasshouse.core.interrupts import check, shielded
from glasshouse.core.writing import write_atomically

NAMED_IN = "GLASSHOUSE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")
PLACES = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
SECONDS = 120.0
TRIES, PAUSE = 20, 0.05  # to remove what was printed from
OTHERWISE = "or write report.html and print it in any browser"
# The page asks for nothing, and its own policy forbids scripts and requests. Should it ever ask, no name resolves and
# every connection ends at a dead proxy; what browsers do on their own (updates, reports, sync) is off.
SILENT = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-sync",
    "--disable-features=OptimizationHints,MediaRouter,Translate",
    "--metrics-recording-only",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
    "--no-pdf-header-footer",
    "--print-to-pdf-no-header",
)


class NotPrinted(InputError):
    """A PDF could not be made; the message says what to do."""


def browser() -> str:
    """The browser that prints.

    Returns
    -------
    str
        The program named in ``GLASSHOUSE_CHROMIUM``, else the first Chromium found.

    Raises
    ------
    NotPrinted
        When there is none.
    """
    named = os.environ.get(NAMED_IN)
    if named:
        found = shutil.which(named)
        if found is None:
            raise NotPrinted(f"{NAMED_IN} names {named}, which is no program that can be run; correct it, {OTHERWISE}")
        return found
    for name in (*NAMES, *PLACES):
        if (found := shutil.which(name)) is not None:
            return found
    raise NotPrinted(
        "a PDF is printed by Chromium, and none was found on this machine: install chromium or google-chrome, name one "
        f"in {NAMED_IN}, {OTHERWISE}"
    )


def printed(page: str, seconds: float = SECONDS) -> bytes:
    """A self-contained page as PDF.

    Parameters
    ----------
    page : str
        HTML that loads nothing.
    seconds : float
        How long the browser may take.

    Returns
    -------
    bytes
        The PDF.

    Raises
    ------
    NotPrinted
        When there is no browser, or it does not print in time.
    """
    program = browser()
    # the folder is for its owner alone (mkdtemp makes it 700), and so is all the browser leaves behind
    made, whole, remove = b"", False, None
    try:
        with shielded():  # an interrupt waits until there is somebody who removes the folder
            folder = Path(tempfile.mkdtemp(prefix="glasshouse-"))
            remove = partial(_remove, folder)
            atexit.register(remove)
        source, target = folder / "page.html", folder / "page.pdf"
        write_atomically(source, page)
        for sandbox in _sandboxes():
            _run(program, folder, [*sandbox, f"--print-to-pdf={target}", source.as_uri()], seconds)
            made = target.read_bytes() if target.is_file() else b""
            if whole := made.startswith(b"%PDF-") and b"%%EOF" in made[-1024:]:
                break
    finally:
        with shielded():
            if remove is not None and remove():
                atexit.unregister(remove)
    if not whole:
        raise NotPrinted(f"{program} printed no PDF of the report; name another browser in {NAMED_IN}, {OTHERWISE}")
    return made


def _remove(folder: Path) -> bool:
    """Remove the folder with the page; a browser that is just ending may write into it once more."""
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return True
        time.sleep(PAUSE)
    return False


def _sandboxes() -> list[list[str]]:
    """Options to try, one after the other: as root and in many containers no sandbox can be built, and Chromium does
    not start with one. The page is our own and runs nothing."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return [["--no-sandbox"]] if root else [[], ["--no-sandbox"]]


def _run(program: str, folder: Path, arguments: list[str], seconds: float) -> None:
    """Run the browser with a home of its own; whatever happens, nothing of it stays alive."""
    places = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMPDIR", "TMP", "TEMP")
    # it makes a socket in the temporary folder, and the name of a socket may not be longer than about a hundred bytes
    surroundings = {**os.environ, **dict.fromkeys(places, str(folder)), "TMPDIR": "."}
    command = [program, *SILENT, f"--user-data-dir={folder / 'profile'}", *arguments]
    running = None
    try:
        with shielded():
            running = subprocess.Popen(
                command,
                env=surroundings,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        running.wait(seconds)
    except OSError:
        raise NotPrinted(f"{program} cannot be run; name another browser in {NAMED_IN}, {OTHERWISE}") from None
    except subprocess.TimeoutExpired:
        raise NotPrinted(f"{program} did not print the report in {seconds:g} s; try again, {OTHERWISE}") from None
    finally:
        with shielded():
            if running is not None:
                _end(running)
        check()


def _end(running: subprocess.Popen[bytes]) -> None:
    """End the browser and the helpers it started, which share its session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(running.pid, signal.SIGKILL)
        else:
            running.kill()
    running.wait()
