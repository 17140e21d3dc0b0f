"""gh.app: open the workbench from Python."""

from __future__ import annotations

import atexit
import shutil
import threading
import webbrowser
from html import escape
from pathlib import Path
from typing import Any

from glasshouse.core.errors import InputError
from glasshouse.core.options import door
from glasshouse.core.plain import Content
from glasshouse.data.pair import Pair
from glasshouse.show.app.server import Server, serve
from glasshouse.show.app.windows import private_folder
from glasshouse.show.cli import settings

SAID = ("keys", "target", "weights", "cluster", "schema", "special_codes", "exclude", "missing", "row_paired", "header",
        "encoding")  # fmt: skip
FILES = ("original", "released", "holdout")


class App:
    """A workbench that is open.

    Parameters
    ----------
    server : Server
        What answers.

    Attributes
    ----------
    address : str
        Where it is, for this machine alone. Whoever has it may open windows, so it is shown to its owner only.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._thread: threading.Thread | None = serve(server)
        self.address = server.address
        atexit.register(self.stop)

    def wait(self) -> None:
        """Wait until it is stopped, for a script that has nothing else to do; Ctrl-C stops it."""
        try:
            while self._thread is not None and self._thread.is_alive():
                self._thread.join(0.5)
        finally:
            self.stop()

    def stop(self) -> None:
        """End every window and remove what was uploaded."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread = None
            self._server.server_close()
            atexit.unregister(self.stop)

    def __repr__(self) -> str:
        return f"the workbench is open at {self.address}" if self._thread is not None else "the workbench is stopped"

    def _repr_html_(self) -> str:
        if self._thread is None:
            return "<p>The workbench is stopped.</p>"
        return f'<p><a href="{escape(self.address)}" target="_blank" rel="noopener">Open the workbench</a></p>'


@door
def app(pair: Pair | None = None, *, port: int = 0, browser: bool = True) -> App:
    """The whole job in a browser, on this machine: files, roles, policy, verdict, comparison, mitigation, reports.

    Parameters
    ----------
    pair : Pair, optional
        To begin with; without one the page asks for files.
    port : int
        Where to listen; 0 takes a free one.
    browser : bool
        Whether to open a browser.

    Returns
    -------
    App
        ``address``, ``stop()`` and, for a script, ``wait()``.

    Notes
    -----
    It listens on 127.0.0.1 only, and answers nobody but a page that it served to a browser that was given its address.
    Tables of a pair that are no files are written to a folder for their owner alone, removed when it is stopped; so are
    uploads, at the latest when their window is closed.

    Examples
    --------
    >>> import glasshouse as gh
    >>> bench = gh.app(gh.data.load("health").pair(), browser=False)
    >>> bench.address.startswith("http://127.0.0.1:")
    True
    >>> bench.stop()
    """
    folder = None
    first: Content = {}
    if pair is not None:
        folder = private_folder()
        try:
            first = settings_of(pair, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return opened(first, port, browser, folder)


def opened(first: Content, port: int = 0, browser: bool = True, folder: Path | None = None) -> App:
    """The workbench, with settings that every new window begins with.

    Parameters
    ----------
    first : dict
        By the names of a settings file.
    port, browser
        As for :func:`app`.
    folder : Path, optional
        Private, with tables of these settings; removed at the end.

    Returns
    -------
    App
    """
    if not 0 <= port < 1 << 16:
        raise InputError(f"port is a number from 0 to {(1 << 16) - 1:,}, not {port}")
    try:
        server = Server(port, first, folder)
    except OSError as problem:
        raise InputError(f"port {port} cannot be used ({problem.strerror}); leave it out to take a free one") from None
    made = App(server)
    if browser:
        # what a browser is started with can be seen by others on the machine, so this address works once
        webbrowser.open(server.once())
    return made


def settings_of(pair: Pair, folder: Path) -> Content:
    """A pair as settings: its files where it came from files, else its tables written down.

    Parameters
    ----------
    pair : Pair
        With one release.
    folder : Path
        Where tables are written to.

    Returns
    -------
    dict
    """
    if pair.m != 1:
        raise InputError(f"there are {pair.m} releases; open the workbench with one, and bring the others to Compare")
    said: Content = {}
    for table in FILES:
        if table in pair.tables:
            given = pair._given[table]
            given = given[0] if isinstance(given, list) and len(given) == 1 else given
            said[table] = (
                str(Path(given).resolve()) if isinstance(given, (str, Path)) else _written(pair, table, folder)
            )
    known: dict[str, Any] = {
        name: pair._given[name] for name in SAID if pair._given[name] not in (None, (), [], {}, False)
    }
    if not any(isinstance(pair._given[table], (str, Path)) for table in said):
        known.pop("exclude", None)  # what was left out was not written down
    known["keys"], known["target"] = list(pair.keys), list(pair.targets)
    if len(pair.targets) > 1:
        raise InputError("the workbench looks at one target at a time: pair.replace(target=...)")
    plain = {k: list(v) if isinstance(v, tuple) else dict(v) if k in ("schema", "special_codes") else v
             for k, v in known.items()}  # fmt: skip
    for name in plain:
        assert name in settings.KNOWN
    return {**said, **plain}


def _written(pair: Pair, table: str, folder: Path) -> str:
    path = folder / f"{table}.arrow"
    pair.local(table).write_ipc(path)
    path.chmod(0o600)
    return str(path)
