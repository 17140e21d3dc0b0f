"""Looking at a page without a browser: are its tags balanced, what does it ask for, what does it say?"""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input", "circle", "line", "rect", "path"}


class Page(HTMLParser):
    """Collects ids, texts, addresses and tags that were closed in the wrong order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.crossed: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.headings: list[int] = []  # their levels, as a screen reader tells them
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(dict(attrs).get("aria-level") or tag[1]))
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "action", "data", "xlink:href"):
                self.addresses.append(value or "")
            assert not name.startswith("on"), f"script in attribute {name}"
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.stack or self.stack[-1] != tag:
            self.crossed.append(f"</{tag}> inside {self.stack[-3:]}")
        if tag in self.stack:
            while self.stack.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def said(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))


SECTIONS = ("verdict", "threats", "people", "utility", "copying", "data", "methods")


def check_page(text: str) -> Page:
    """What every page must keep: balanced, complete, silent, without script."""
    page = Page(text)
    assert not page.crossed and not page.stack, page.crossed[:3] or page.stack
    assert all(section in page.ids for section in SECTIONS), page.ids[:20]
    assert len(page.ids) == len(set(page.ids)), "an id stands twice"
    assert all(a.startswith(("#", "data:")) for a in page.addresses), page.addresses
    targets = [a[1:] for a in page.addresses if a.startswith("#")]
    assert set(targets) <= set(page.ids), set(targets) - set(page.ids)
    assert "script" not in page.tags and "iframe" not in page.tags
    assert not re.search(r"@import|@font-face|url\(\s*['\"]?(?:https?:|//)", text)
    assert not re.search(r">\s*(None|nan|NaN|inf|Undefined)\s*<", text)
    return page
