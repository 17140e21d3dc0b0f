"""A workbench that runs throughout, the data it is shown, and a window in which everything was run once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glasshouse.show.app.start import App, opened
from tests.show.bench import Client, bundled


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("data")
    return folder, bundled(folder)


@pytest.fixture(scope="session")
def bench(data: tuple[Path, dict[str, Any]]) -> Iterator[App]:
    made = opened({}, browser=False)
    yield made
    folder = made._server.windows.folder
    made.stop()
    assert not folder.exists(), "uploads are still there"


@pytest.fixture(scope="session")
def done(bench: App, data: tuple[Path, dict[str, Any]]) -> Client:
    """A window in which everything was run once."""
    client = Client(bench.address)
    client.post("files/settings", path=data[0] / "glasshouse.toml")
    client.post("run/assess")
    return client


@pytest.fixture(autouse=True)
def closed_again(request: pytest.FixtureRequest, bench: App) -> Iterator[None]:
    """Windows that a test opened are closed with it; the one of ``done`` stays."""
    before = set(bench._server.windows._open)
    yield
    kept = {*before, *([done_key(request.getfixturevalue("done"))] if "done" in request.fixturenames else [])}
    for key, window in bench._server.windows._open.items():
        window.left_at = window.left_at if key in kept else -1e9


def done_key(client: Client) -> str:
    return client.home.rsplit("/", 1)[1]
