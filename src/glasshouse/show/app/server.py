"""The server of the workbench: addresses, uploads, and what follows on a form. It holds no table and computes nothing.

The standard library's server, for one person on one machine: everything a browser sends is checked in ``guard``, work
is done in the processes of ``windows``. There is no package to trust beyond those that read the data anyway, no cookie
and no connection that stays open; a window is an address that nobody can guess, so that reload and "back" work as on
any page and two windows know nothing of each other.
"""

from __future__ import annotations

import json
import mimetypes
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from glasshouse import __version__
from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content
from glasshouse.core.words import visible
from glasshouse.show.app import guard
from glasshouse.show.app.layout import STEPS, alone
from glasshouse.show.app.windows import UPLOAD, Busy, Window, Windows

SOON = 0.7  # seconds that the answer to a form waits for the work, before it shows how far that is
MOST_FORM = 4 << 20  # bytes of a form: a role for every one of thousands of columns
MOST_NAME = 160  # bytes of the name of a file; its end says what it is
BLOCK = 1 << 20
GONE = "This window was closed, or its address is not known. Open the address again that was printed at the start."
ASSETS = ("app.css", "app.js")
HOME = Path(__file__).parent


class Server(ThreadingHTTPServer):
    """Listens on this machine only.

    Parameters
    ----------
    port : int
        0 takes a free one.
    first : dict, optional
        Settings that every new window begins with.
    folder : Path, optional
        Private, with tables of these settings; removed at the end.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int = 0, first: Content | None = None, folder: Path | None = None) -> None:
        self.windows = Windows(first, folder)
        super().__init__(("127.0.0.1", port), Handler)  # where that fails, it closes what there is
        self.port = int(self.server_address[1])
        self.token = guard.new_key()
        self._once: list[str] = []

    @property
    def address(self) -> str:
        """What a person opens."""
        return f"http://127.0.0.1:{self.port}/open/{self.token}"

    def once(self) -> str:
        """An address that opens one window and is then forgotten."""
        self._once.append(guard.new_key())
        return f"http://127.0.0.1:{self.port}/open/{self._once[-1]}"

    def admits(self, key: str) -> bool:
        """Whether a key opens a window."""
        for known in self._once:
            if guard.same_key(key, known):
                self._once.remove(known)
                return True
        return guard.same_key(key, self.token)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up is no error, and a trace could quote what was sent."""

    def server_close(self) -> None:
        """End every window, then listen no more."""
        self.windows.close()
        super().server_close()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = f"glasshouse/{__version__}"
    sys_version = ""
    timeout = 120

    def log_message(self, format: str, *args: Any) -> None:
        """Addresses are secrets, so none is written down."""

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    # -- addresses -----------------------------------------------------------------------------------------------------

    def _answer(self, method: str) -> None:
        parts = urlsplit(self.path)
        where = [unquote(part) for part in parts.path.split("/")[1:]]
        headers = {name.lower(): value for name, value in self.headers.items()}
        entrance = where[0] == "open"
        refused = guard.refusal(method, headers, self.server.port, entrance)
        if refused is not None:
            self.close_connection = True  # what else it sends is not read
            self._send(HTTPStatus.FORBIDDEN, refused.encode(), "text/plain; charset=utf-8")
            return
        if method == "GET" and where[0] == "assets" and len(where) == 2 and where[1] in ASSETS:
            self._asset(where[1])
        elif method == "GET" and entrance and len(where) == 2 and self.server.admits(where[1]):
            self._enter()
        elif where[0] == "w" and len(where) > 2 and (window := self.server.windows.get(where[1])) is not None:
            self._in_window(method, window, where[2:], parse_qs(parts.query, keep_blank_values=True))
        else:
            self.close_connection = True
            self._page(alone("gone.html.j2", said=GONE), HTTPStatus.NOT_FOUND)

    def _asset(self, name: str) -> None:
        text = (HOME / "assets" / name).read_bytes()
        if name.endswith(".css"):  # the report's own look, and what only the workbench has
            text = (HOME.parent / "report" / "templates" / "style.css").read_bytes() + text
        self._send(HTTPStatus.OK, text, f"{mimetypes.guess_type(name)[0]}; charset=utf-8")

    def _enter(self) -> None:
        """A new window. The way on is a page and no redirect: what follows is then asked for by a page of ours."""
        try:
            window = self.server.windows.open()
        except InputError as problem:
            self._page(alone("gone.html.j2", said=str(problem)), HTTPStatus.SERVICE_UNAVAILABLE)
            return
        begun = window.job is not None or window.outcome is not None  # with settings: then on from what they led to
        self._page(alone("enter.html.j2", to=f"/w/{window.key}/{'working' if begun else 'files'}"))

    def _in_window(self, method: str, window: Window, where: list[str], query: dict[str, list[str]]) -> None:
        if method == "POST" and where == ["left"]:
            said = self._body(1024) or b""
            window.left(int(said) if said.isdigit() else 0)
            self._send(HTTPStatus.NO_CONTENT, b"", "text/plain")
            return
        window.here()
        if method == "GET" and where == ["state"]:
            self._send(HTTPStatus.OK, json.dumps(_state(window)).encode(), "application/json")
        elif method == "POST" and where == ["cancel"]:
            self._body(1024)
            window.cancel()
            window.done(SOON)
            self._go(window, "working")
        elif method == "PUT" and where[0] == "upload" and len(where) == 2:
            self._upload(window, where[1])
        elif method == "POST" and len(where) == 2:
            self._form(window, where)
        elif method == "GET" and where == ["working"]:
            self._working(window)
        elif method == "GET" and (where[0] in STEPS):
            self._step(window, "/".join(where), query)
        else:
            self.close_connection = True
            self._page(alone("gone.html.j2", said="There is no such page."), HTTPStatus.NOT_FOUND)

    # -- pages ---------------------------------------------------------------------------------------------------------

    def _step(self, window: Window, name: str, query: Mapping[str, list[str]]) -> None:
        part = "part" in query
        notice = None if part else window.outcome
        window.shown += not part and name in STEPS  # a file to take away is no page
        try:
            found = window.page(name, {"query": dict(query), "notice": notice, "number": window.shown})
        except Busy:
            self._go(window, "working")
            return
        if not part:
            window.outcome = None
        if "html" in found:
            self._page(found["html"])
        elif "go" in found:
            window.outcome = notice
            self._go(window, found["go"])
        elif "file" in found:
            self._file(window, Path(found["file"]), found["called"])
        else:
            said = found.get("problem") or "The work was ended from outside, perhaps for want of memory."
            page = alone("gone.html.j2", said=said, back=f"/w/{window.key}/files")
            self._page(page, HTTPStatus.CONFLICT if name not in STEPS else HTTPStatus.OK)  # a file is never such a page

    def _working(self, window: Window) -> None:
        job = window.job
        if job is None:
            self._go(window, (window.outcome or {"go": "files"})["go"])
        else:
            window.shown += 1
            self._page(alone("working.html.j2", job=job, number=window.shown))

    def _form(self, window: Window, where: list[str]) -> None:
        text = self._body(MOST_FORM)
        if text is None:
            return
        form = parse_qs(text.decode("utf-8", "replace"), keep_blank_values=True)
        with suppress(Busy):  # asked for twice: the first is at work
            window.act("/".join(where), {"form": form}, where[0])
        self._go(window, "working") if not window.done(SOON) else self._working(window)

    def _upload(self, window: Window, name: str) -> None:
        """A table as it comes, into the private folder; nothing of it is held in memory here."""
        length = _length(self.headers.get("content-length"))
        if length is None:
            self.close_connection = True
            self._send(HTTPStatus.LENGTH_REQUIRED, b"", "text/plain")
            return
        path = window.folder / f"{UPLOAD}{guard.new_key()[:12]}" / plain_name(name)
        left = length
        try:
            path.parent.mkdir(mode=0o700)
            with open(path, "xb") as file:
                while left and (block := self.rfile.read(min(BLOCK, left))):
                    file.write(block)
                    left -= len(block)
        except OSError:  # no room, or nobody sends any more, or the window was closed meanwhile
            pass
        if left or not path.exists():
            path.unlink(missing_ok=True)
            self.close_connection = True
            self._send(HTTPStatus.INSUFFICIENT_STORAGE, b"", "text/plain")
            return
        window.here()
        self._send(HTTPStatus.OK, json.dumps({"path": str(path)}).encode(), "application/json")

    # -- answers -------------------------------------------------------------------------------------------------------

    def _body(self, most: int) -> bytes | None:
        length = _length(self.headers.get("content-length"))
        if length is None or length > most:
            self.close_connection = True
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"", "text/plain")
            return None
        return self.rfile.read(length)

    def _go(self, window: Window, page: str) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", f"/w/{window.key}/{page}")
        self._headers(0)

    def _page(self, text: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(status, text.encode("utf-8", "backslashreplace"), "text/html; charset=utf-8")

    def _file(self, window: Window, path: Path, called: str) -> None:
        """A file to take away, read from the window's folder and from nowhere else."""
        if not path.resolve().is_relative_to(window.folder.resolve()):
            self._page(alone("gone.html.j2", said="There is no such file."), HTTPStatus.NOT_FOUND)
            return
        content = path.read_bytes()
        path.unlink()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(called)}")
        self._headers(len(content))
        self.wfile.write(content)

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self._headers(len(content))
        self.wfile.write(content)

    def _headers(self, length: int) -> None:
        for name, value in guard.HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()


def plain_name(name: str) -> str:
    """The name of an uploaded file without a path, or characters that no file should have."""
    last = re.split(r"[/\\]", visible(name))[-1]
    plain = re.sub(r"[\x00-\x1f\x7f<>:\"|?*]", "_", last).lstrip(".")
    return plain.encode("utf-8", "replace")[-MOST_NAME:].decode("utf-8", "ignore") or "table"


def _length(given: str | None) -> int | None:
    return int(given) if given is not None and given.isascii() and given.isdigit() else None


def _state(window: Window) -> Content:
    """How far the work at hand is; where nothing is at work, the page that follows."""
    job = window.job
    if job is None:
        return {"working": False, "go": (window.outcome or {"go": "files"})["go"]}
    return {"working": True, "done": job.done, "total": job.total, "line": job.line, "cancelled": job.cancelled}


def serve(server: Server) -> threading.Thread:
    """Let a server answer in a thread of its own.

    Parameters
    ----------
    server : Server
        What listens.

    Returns
    -------
    Thread
    """
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True)
    thread.start()
    return thread
