"""What a window keeps, what is left when it ends, and how a run is stopped."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from glasshouse.show.app import windows
from glasshouse.show.app.start import App
from tests.show.bench import FORM, Client, words

pytestmark = pytest.mark.xdist_group("workbench server")


def test_windows_know_nothing_of_each_other(bench: App, data: tuple[Path, dict[str, Any]]) -> None:
    one, other = Client(bench.address), Client(bench.address)
    assert one.home != other.home
    path = one.upload(data[0] / "original.csv")
    assert "original.csv" in words(one.post("files/name", table="original", path=path))
    assert "original.csv" not in words(other.page("files"))
    folder = Path(path).parent
    assert all(one.stat().st_mode & 0o077 == 0 for one in (folder, *folder.parents[:2]))


def test_closing_a_window_ends_its_work_and_removes_its_files(
    bench: App, data: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "LEFT", 0.3)
    client = Client(bench.address)
    path = Path(client.upload(data[0] / "original.csv"))
    window = bench._server.windows.get(client.home.rsplit("/", 1)[1])
    assert window is not None
    process = window._process
    client.page("files")
    client.page("files")
    assert client.ask("POST", f"{client.home}/left", "1")[0] == 204
    assert window.left_at is None, "the page before the last one was left: that is no closing"
    assert client.ask("POST", f"{client.home}/left", "2")[0] == 204
    assert client.ask("GET", f"{client.home}/state")[0] == 200  # the next page: it was no closing
    time.sleep(1.5)
    assert process.poll() is None
    client.ask("POST", f"{client.home}/left", "2")
    deadline = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert process.poll() is not None
    time.sleep(0.5)
    assert not path.exists() and client.ask("GET", f"{client.home}/files")[0] == 404


def test_a_process_whose_server_is_gone_ends_and_leaves_nothing(tmp_path: Path) -> None:
    window = windows.Window(tmp_path)
    (window.folder / "table.csv").write_text("a\n1\n")
    assert window._process.stdin is not None
    window._process.stdin.close()
    window.closed = True
    assert window._process.wait(20) == 0 and not window.folder.exists()


KILLED = """import glasshouse as gh, time
from glasshouse.show.app import windows
windows.LEFT = 0.2
bench = gh.app(gh.data.load("case_study").pair(), browser=False)
print(bench.address, flush=True)
time.sleep(100)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a server that is killed, and a browser that is a script")
@pytest.mark.parametrize("prints", [True, False])
def test_a_server_that_is_killed_leaves_nothing(tmp_path: Path, prints: bool) -> None:
    """Neither the page that is being printed, which is the internal report, nor tables when no window is open."""
    slow, stay = tmp_path / "browser", tmp_path / "temporary"
    slow.write_text("#!/bin/sh\nwhile :; do sleep 0.2; done\n")
    slow.chmod(0o700)
    stay.mkdir()
    given = {**os.environ, "TMPDIR": str(stay), "GLASSHOUSE_CHROMIUM": str(slow)}
    running = subprocess.Popen([sys.executable, "-c", KILLED], env=given, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    client = Client(running.stdout.readline().strip())
    if prints:
        client.post("policy/choose", measures="fast")
        client.post("run/assess")

        def ask() -> None:
            with suppress(OSError, HTTPException):
                client.ask("GET", f"{client.home}/take/report-internal.pdf")

        threading.Thread(target=ask, daemon=True).start()
        wait_for(lambda: list(stay.glob("glasshouse-app-*/window-*/glasshouse-*/page.html")))
        assert list(stay.glob("**/page.html")), "printed from somewhere else"
    else:
        number = re.findall(r'data-page="(\d+)"', client.page("columns"))[0]
        client.ask("POST", f"{client.home}/left", number)
        wait_for(lambda: not list(stay.glob("*/window-*")))
        assert list(stay.glob("*/original.arrow"))
    running.kill()
    running.wait()

    def left() -> list[str]:
        goes_on = subprocess.run(["pgrep", "-f", str(slow)], capture_output=True, text=True).stdout.split()
        return [*map(str, stay.iterdir()), *goes_on]

    wait_for(lambda: not left())
    assert left() == []


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not what() and time.monotonic() < deadline:
        time.sleep(0.05)


@pytest.mark.skipif(os.name != "posix", reason="there a cancelled run is ended with its process")
def test_a_run_is_cancelled_and_the_window_goes_on(bench: App, data: tuple[Path, dict[str, Any]]) -> None:
    client = Client(bench.address)
    client.post("files/settings", path=data[0] / "glasshouse.toml")
    client.post("policy/choose", policy="research", measures="full")
    status, _, _ = client.ask("POST", f"{client.home}/run/assess", "", Content_Type="text/plain")
    assert status == 303
    told: dict[str, Any] = {}
    wait_for(lambda: told.update(json.loads(client.ask("GET", f"{client.home}/state")[2])) or told.get("total"))
    assert told["working"] and "done" in told["line"] and told["total"] > 40
    client.ask("POST", f"{client.home}/run/assess", "", Content_Type="text/plain")  # a double click says nothing
    client.ask("POST", f"{client.home}/policy/choose", "policy=public", Content_Type=FORM)
    started = time.monotonic()
    client.ask("POST", f"{client.home}/cancel", "")
    said = words(client.page("run"))
    assert "Stopped." in said and "What else was asked for meanwhile was not done" in said
    assert time.monotonic() - started < 12
    assert "near copy" not in client.page("verdict") and "Ready to run" in words(client.page("run"))
