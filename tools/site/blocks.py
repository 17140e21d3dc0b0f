"""The code blocks of a page, fenced or indented, with what the page says about each in comments nobody sees.

<!-- setup: ... -->       Python that runs first and is not shown: the files a page takes for granted
<!-- not run: why -->     the next block is parsed and not run, for the reason given
<!-- needs NAME: why -->  the next block runs where the data of that name are at hand, else it is parsed
<!-- output hidden -->    the next block runs, and what it prints is not shown
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import dedent

from markdown_it import MarkdownIt

_COMMENT = re.compile(r"<!--\s*(setup|not run|needs \w+|output hidden)(?::\s*(.*?))?\s*-->", re.DOTALL)
_FILE = re.compile(r"#\s*(?P<name>[\w.-]+\.(?:toml|yaml|yml|json|csv))\b")
SHELL = ("shell", "bash", "sh", "console")


@dataclass(frozen=True)
class Block:
    """One block of code.

    Attributes
    ----------
    language : str
        "python", "shell", "toml", "yaml", "json"; whatever else the page calls it; "" for none.
    text : str
        The code.
    line, end : int
        Where it begins, and the line after it, from 0.
    why_not : str
        Why it is not run; "" where it is.
    hidden : bool
        Whether what it prints is not shown.
    needs, why_needed : str
        Data of others that it is run on, where they are at hand, and why they are not here.
    """

    language: str
    text: str
    line: int
    end: int
    why_not: str = ""
    hidden: bool = False
    needs: str = ""
    why_needed: str = ""

    @property
    def file(self) -> str:
        """The file that it stands for: the name in the comment on its first line."""
        found = _FILE.match(self.text)
        return found["name"] if found and self.language in ("toml", "yaml", "json") else ""

    @cached_property
    def commands(self) -> tuple[str, ...]:
        """Commands of a shell block: continued lines joined, comments and prompts left out."""
        joined = re.sub(r"\\\n\s*", "", self.text)
        lines = (re.sub(r"(^|\s+)#\s.*$", "", line).strip().removeprefix("$ ") for line in joined.splitlines())
        return tuple(line for line in lines if line)


@dataclass(frozen=True)
class Page:
    """A page: its setup and its blocks."""

    name: str
    text: str
    setup: str
    blocks: tuple[Block, ...]


def read(path: Path, name: str = "") -> Page:
    """The page in a file; the blocks of other languages are there, too."""
    return parse(path.read_text(encoding="utf-8"), name or path.stem)


def parse(text: str, name: str) -> Page:
    """The page that a text is."""
    return Page(name, text, "\n".join(_setups(text)), tuple(_blocks(text)))


def without_comments(text: str) -> str:
    """The text with our comments blank, line for line."""
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)


def _setups(text: str) -> Iterator[str]:
    for token in MarkdownIt().parse(text):
        if token.type == "html_block" and (found := _COMMENT.match(token.content.strip())) and found[1] == "setup":
            yield dedent(found[2])


def _blocks(text: str) -> Iterator[Block]:
    said: dict[str, str] = {}
    for token in MarkdownIt().parse(text):
        if token.type == "html_block" and (found := _COMMENT.match(token.content.strip())):
            said[found[1]] = " ".join((found[2] or "").split())
        elif token.type in ("fence", "code_block") and token.map:
            language = token.info.split(" ")[0].strip() if token.type == "fence" else _guessed(token.content)
            if language.startswith("{"):  # a directive of the site, no code
                continue
            yield Block(
                "shell" if language in SHELL else language,
                token.content,
                *token.map,
                why_not=said.get("not run", ""),
                hidden="output hidden" in said,
                needs=next((mark.removeprefix("needs ") for mark in said if mark.startswith("needs ")), ""),
                why_needed=next((why for mark, why in said.items() if mark.startswith("needs ")), ""),
            )
            said = {}


def _guessed(text: str) -> str:
    """An indented block is a shell block when it begins with a command, Python when it says so, else text."""
    first = text.lstrip().split("\n")[0]
    if re.match(r"(glasshouse|pip|make|python|git|ssh) ", first):
        return "shell"
    return "python" if re.match(r"(import|from) \w+|\w+(\.\w+)* ?[=(]", first) else ""
