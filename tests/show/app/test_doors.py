"""From Python, from the command line, and by an upload."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import glasshouse as gh
from glasshouse.show.app.server import plain_name
from tests.show.bench import Client, words

pytestmark = pytest.mark.xdist_group("workbench server")


def test_a_pair_is_taken_along_as_it_is() -> None:
    pair = gh.data.load("health").pair(exclude=["income"])
    bench = gh.app(pair, browser=False)
    try:
        client = Client(bench.address)
        said = words(client.page("working"))  # what the entrance leads to: no page of files that are there
        assert "1,000 records in the original" in said and "5 columns are used" in said
        assert 'value="target" selected' in client.page("roles")
        folder = bench._server.windows.folder
        assert (folder / "original.arrow").stat().st_mode & 0o077 == 0
        assert bench.address in repr(bench) and bench.address in bench._repr_html_()
    finally:
        bench.stop()
    assert not folder.exists() and "stopped" in repr(bench)


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
def test_the_command_opens_it_and_ctrl_c_leaves_nothing(data: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "glasshouse", "app", data[1]["original"], data[1]["released"], "--no-browser"]
    given = {**os.environ, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    client = Client(running.stdout.readline().strip())
    assert "1,000 records in the original" in words(client.page("columns"))
    assert list(tmp_path.iterdir())
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130 and "what was uploaded is removed" in said and "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_opened_is_said_kindly() -> None:
    pair = gh.data.load("case_study").pair()
    with pytest.raises(gh.InputError, match="one target"):
        gh.app(pair.replace(target=["income", "region"], keys=["sex"]), browser=False)
    bench = gh.app(browser=False)
    with pytest.raises(gh.InputError, match="cannot be used"):
        gh.app(port=int(bench.address.split(":")[2].split("/")[0]), browser=False)
    bench.stop()


NAMES = {"a.csv": "a.csv", "漢" * 99 + ".csv": "漢" * 52 + ".csv",
         "../../x.csv": "x.csv", "c:\\d\\y.csv": "y.csv", "..": "table", "": "table"}  # fmt: skip


@pytest.mark.parametrize("given", NAMES)
def test_an_upload_has_a_plain_name(given: str) -> None:
    assert plain_name(given) == NAMES[given]
