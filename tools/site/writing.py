"""Pieces of reStructuredText that the generated pages are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import indent


def heading(text: str, sign: str = "=") -> str:
    """A title with its underline."""
    return f"{text}\n{sign * len(text)}\n"


def table(rows: Iterable[Sequence[str]], head: Sequence[str] | None = None, widths: str = "auto") -> str:
    """A list-table; cells are reStructuredText."""
    lines = [".. list-table::", f"   :widths: {widths}"]
    if head:
        lines.append("   :header-rows: 1")
    lines.append("")
    for row in [*([head] if head else []), *rows]:
        for place, cell in enumerate(row):
            mark = "   * - " if place == 0 else "     - "
            lines.append(mark + (cell or "–").replace("\n", " "))
    return "\n".join(lines) + "\n"


def figure(svg: str, words: str) -> str:
    """A chart as part of the page, so that it takes the colours of the page."""
    body = f'<figure class="gh-chart" role="img" aria-label="{escaped(words)}">{svg}</figure>'
    return ".. raw:: html\n\n" + indent(" ".join(body.split("\n")), "   ") + "\n"


def code(text: str, language: str = "python") -> str:
    """A code block."""
    return f".. code-block:: {language}\n\n" + indent(text.rstrip(), "   ") + "\n"


def plain(text: str) -> str:
    """Text that holds no markup of its own."""
    return "".join(f"\\{sign}" if sign in "\\*`|_" else sign for sign in text)


def safe(text: str, notes: bool = False) -> str:
    """The text of a docstring with bars that are absolute values, and references as a list instead of footnotes.

    What is set in below a paragraph of the notes is a formula, and stays as it is written. Literal blocks, examples and
    what stands between double backquotes are left as they are.

    Parameters
    ----------
    text : str
        A docstring, or the body of one of its sections.
    notes : bool
        Whether the body is that of the notes; of a whole docstring it is found out.
    """
    given = text.splitlines()
    lines: list[str] = []
    inside, before = -1, ""
    for line, below in zip(given, [*given[1:], ""], strict=True):
        depth = len(line) - len(line.lstrip())
        if line.strip() and re.fullmatch(r"-{3,}", below):
            notes = line.strip() == "Notes"
        if inside >= 0 and line.strip() and depth <= inside:
            inside = -1
        if inside < 0 and notes and depth and lines and not lines[-1].strip() and _introduces(before):
            lines += ["::", ""]
            inside = 0
        if inside < 0 and not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(``.*?``)", line)
            line = "".join(part if place % 2 else part.replace("|", "\\|") for place, part in enumerate(parts))
            line = re.sub(r"^\.\. \[\d+\] ", "* ", line)
        if line.rstrip().endswith("::") and inside < 0:
            inside = depth
        if line.strip():
            before = line
        lines.append(line)
    return "\n".join(lines)


def _introduces(line: str) -> bool:
    """Whether a line ends a paragraph of its own, below which a formula may be set in."""
    return bool(line) and not line[0].isspace() and not re.match(r"([*-]|\d+\.|\.\.) ", line)


def escaped(text: str) -> str:
    """Text for an attribute of HTML."""
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
