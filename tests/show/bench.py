"""A browser without a browser: addresses, forms and uploads of the workbench, as tests ask for them."""

from __future__ import annotations

import http.client
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import polars as pl

import glasshouse as gh
from glasshouse.core.settings import toml_text
from tests.show.pages import Page

MEASURES = ["disco", "rapid", "uniques", "exact_copies", "k_anonymity", "pmse", "total_variation"]
FORM = "application/x-www-form-urlencoded"


def bundled(folder: Path) -> dict[str, Any]:
    """The case study as CSV files, and settings that name them; the release is a near copy."""
    example = gh.data.load("case_study")
    for name, frame in {"original": example.original, "holdout": example.holdout, **example.releases}.items():
        frame.write_csv(folder / f"{name}.csv")
    said = {
        "original": str(folder / "original.csv"),
        "released": str(folder / "C.csv"),
        "holdout": str(folder / "holdout.csv"),
        "keys": list(example.keys),
        "target": example.target,
        "policy": "research",
        "measures": MEASURES,
        "seed": 3,
        "options": {"rapid": {"trees": 20}},
    }
    (folder / "glasshouse.toml").write_text(toml_text(said))
    return said


def odd(folder: Path) -> tuple[Path, Path]:
    """Two CSV files with wrong types: numbers with words among them, codes, an identifier, a code for missing."""
    n = 120
    table = {
        "card": [f"id{i:05d}" for i in range(n)],
        "region": [1 + i % 4 for i in range(n)],
        "income": [-9 if i % 10 == 0 else 1000 + 7 * i for i in range(n)],
        "sick": ["yes" if i % 3 else "no" for i in range(n)],
        "<b>odd</b>": ["a", "b"] * (n // 2),
        "\u202eturned": ["c", "d", "e"] * (n // 3),
    }
    paths = folder / "odd_original.csv", folder / "odd_released.csv"
    pl.DataFrame(table).write_csv(paths[0])
    pl.DataFrame({**table, "card": [f"id{i:05d}" for i in range(n, 2 * n)]}).write_csv(paths[1])
    return paths


class Client:
    """One window.

    Parameters
    ----------
    address
        That was printed.
    """

    def __init__(self, address: str) -> None:
        self.port = int(re.search(r":(\d+)/", address)[1])  # type: ignore[index]
        self.origin = f"http://127.0.0.1:{self.port}"
        status, _, text = self.ask("GET", address.removeprefix(self.origin))
        assert status == 200
        self.home = re.search(r'url=(/w/[^/"]+)/(?:files|working)"', text)[1]  # type: ignore[index]

    def ask(
        self, method: str, path: str, body: bytes | str | None = None, **headers: str | None
    ) -> tuple[int, dict[str, str], str]:
        """One request; headers given as None are left out."""
        usual = {"Host": self.origin.removeprefix("http://"), "Origin": None if method == "GET" else self.origin}
        given = {**usual, **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {k: v for k, v in given.items() if v is not None})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, text

    def ask_bytes(self, path: str) -> bytes:
        """A file that is no text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path, None, {"Host": self.origin.removeprefix("http://")})
        content = connection.getresponse().read()
        connection.close()
        return content

    def page(self, name: str) -> str:
        """A page, when the work that stands before it is done."""
        path = f"{self.home}/{name}"
        for _ in range(600):
            status, headers, text = self.ask("GET", path)
            if status == 303:
                path = headers["location"].partition("#")[0]
            elif "data-working" in text:
                time.sleep(0.2)
            else:
                assert status == 200, text
                return text
        raise AssertionError("the work is never done")

    def post(self, act: str, **fields: Any) -> str:
        """A form; the page that follows."""
        body = urlencode(fields, doseq=True)
        status, headers, text = self.ask("POST", f"{self.home}/{act}", body, Content_Type=FORM)
        assert status == 303, text
        return self.page(headers["location"].removeprefix(f"{self.home}/").partition("#")[0])

    def upload(self, path: Path) -> str:
        """A file into the private folder; where it lies now."""
        status, _, text = self.ask("PUT", f"{self.home}/upload/{quote(path.name)}", path.read_bytes())
        assert status == 200
        return str(json.loads(text)["path"])

    def file(self, name: str) -> str:
        """What is taken away."""
        status, headers, text = self.ask("GET", f"{self.home}/take/{name}")
        assert status == 200 and "attachment" in headers["content-disposition"]
        return text


def words(text: str) -> str:
    """What a page says; its tags must be balanced, and what it asks for must be of its own."""
    page = Page(text)
    assert not page.crossed and not page.stack, page.crossed[:3] or page.stack
    assert not [a for a in page.addresses if "//" in a]
    assert len(page.ids) == len(set(page.ids)), "an id stands twice"
    return page.said
