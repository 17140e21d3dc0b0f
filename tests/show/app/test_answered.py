"""Who is answered: a page of the workbench itself, with the key, and nobody else."""

from __future__ import annotations

import pytest

from glasshouse.show.app import guard
from glasshouse.show.app.start import App
from tests.show.bench import Client

pytestmark = pytest.mark.xdist_group("workbench server")


HOST = "127.0.0.1:8000"


@pytest.mark.parametrize(
    ("method", "headers", "answered"),
    [
        ("GET", {"host": HOST}, True),
        ("GET", {"host": "localhost:8000", "sec-fetch-site": "none"}, True),
        ("POST", {"host": HOST, "origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}, True),
        ("POST", {"host": HOST}, False),  # no page of ours sends a form without saying so
        ("POST", {"host": HOST, "origin": "null"}, False),
        ("POST", {"host": HOST, "origin": "http://127.0.0.1:9999"}, False),
        ("GET", {"host": HOST, "origin": "https://evil.example"}, False),
        ("GET", {"host": "evil.example"}, False),  # a name that was made to point here
        ("GET", {"host": "evil.example:8000"}, False),
        ("GET", {"host": "127.0.0.1"}, False),
        ("GET", {}, False),
        ("GET", {"host": HOST, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, False),
        ("GET", {"host": HOST, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, False),
        ("GET", {"host": HOST, "sec-fetch-site": "same-site"}, False),  # another port of this machine
    ],
)
def test_only_a_page_of_ours_is_answered(method: str, headers: dict[str, str], answered: bool) -> None:
    assert (guard.refusal(method, headers, 8000) is None) is answered


def test_the_entrance_may_be_led_to_from_elsewhere() -> None:
    led = {"host": HOST, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert guard.refusal("GET", led, 8000, entrance=True) is None
    assert guard.refusal("GET", {**led, "sec-fetch-mode": "no-cors"}, 8000, entrance=True) is not None


def test_nothing_is_answered_without_the_key(bench: App) -> None:
    client = Client(bench.address)
    for path in ("/", "/open/", "/open/guess", "/w/guess/files", "/assets/../server.py", "/w//files", "/take"):
        status, headers, text = client.ask("GET", path)
        assert status == 404 and "slot" not in text, path
        assert "set-cookie" not in headers
    for headers_ in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
        assert client.ask("GET", f"{client.home}/files", **headers_)[0] == 403
    assert client.ask("POST", f"{client.home}/files/example", "", Origin=None)[0] == 403
    assert client.ask("PUT", f"{client.home}/upload/a.csv", b"a", Origin="null")[0] == 403
    assert "Made-up" not in client.page("columns")


def test_every_answer_forbids_what_it_does_not_need(bench: App) -> None:
    client = Client(bench.address)
    for path in (f"{client.home}/files", "/assets/app.js", "/nowhere", f"{client.home}/state"):
        headers = client.ask("GET", path)[1]
        assert "default-src 'none'" in headers["content-security-policy"] and headers["cache-control"] == "no-store"
        assert "set-cookie" not in headers and "access-control-allow-origin" not in headers


def test_an_address_for_a_browser_opens_one_window_only(bench: App) -> None:
    once = bench._server.once()
    Client(once)
    client = Client(bench.address)
    assert client.ask("GET", once.removeprefix(client.origin))[0] == 404
