"""The extension of Sphinx: generated pages are written before the build, and what code prints stands below it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tools.make_name_list import KINDS, rows
from tools.site import gallery, measure_pages, reference
from tools.site.blocks import Page, parse, without_comments
from tools.site.running import WIDTH, Shown, kept
from tools.site.writing import escaped, safe

from glasshouse.core.pointing import table

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# papers of the house that have a page here: links to them lead there
MOVED = {"](../SECURITY.md": "](/trust/external.md", "](../CHANGELOG.md": "](/trust/changes.md"}
NAMES = re.compile(r"<!-- names of (\w+) -->")
KEPT = "_kept"  # what came of the pages' code, beside the pages


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", _generate)
    app.connect("source-read", _show)
    app.connect("autodoc-process-docstring", _plainly, priority=400)  # before numpydoc
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def _generate(app: Sphinx) -> None:
    from tools.site.pictures import kept_pages

    kept_pages(
        Path(app.srcdir),
        {
            "measure": measure_pages.write,
            "reference": reference.write,
            "gallery.rst": gallery.write,
        },
    )


def names_of(package: str) -> str:
    """The table of names of one package, from the table that errors and ``gh.explain`` read."""
    parts = []
    for kind, title in KINDS.items():
        chosen = [one for one in table() if one.package == package and one.kind == kind]
        if chosen:
            head = ["| there | here | | what differs, or why |", "|---|---|---|---|"]
            parts.append("\n".join([f"### {title}", "", *head, *rows(chosen)]))
    if not parts:
        raise ValueError(f"no names of {package!r} are known")
    return "\n\n".join(parts)


def inside(text: str, file: Path, root: Path) -> str:
    """Links to files of the repository that are no pages, such as scripts, become their names."""

    def shown_as(found: re.Match[str]) -> str:
        target = (file.parent / found[2]).resolve()
        if target.is_relative_to(root.resolve()) or not target.exists():
            return found[0]
        return f"{found[1]} (`{target.relative_to(root.resolve().parent).as_posix()}`)"

    return re.sub(r"(?<!!)\[([^\]]+)\]\((\.\.?/[^)#:\s]+)\)", shown_as, text)


def present(text: str, root: Path) -> str:
    """In a list of pages, a line ``?/pattern`` stands for the pages that match: some are made elsewhere."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("?/"):
            lines += sorted(
                "/" + file.relative_to(root).with_suffix("").as_posix() for file in root.glob(f"{line[2:]}.md")
            )
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _plainly(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Docstrings are written for people: a bar is an absolute value."""
    lines[:] = safe("\n".join(lines)).splitlines()


def _show(app: Sphinx, name: str, source: list[str]) -> None:
    """The text of a page with what its code printed."""
    if app.env.doc2path(name).suffix != ".md":
        return
    for there, here in MOVED.items():
        source[0] = source[0].replace(there, here)
    source[0] = inside(source[0], Path(app.env.doc2path(name)), Path(app.srcdir))
    source[0] = NAMES.sub(lambda found: names_of(found[1]), source[0])
    source[0] = present(source[0], Path(app.srcdir))
    page = parse(source[0], name)
    if any(block.language in ("python", "shell") for block in page.blocks):
        source[0] = shown(page, kept(page, Path(app.srcdir) / KEPT))


def shown(page: Page, outputs: list[Shown]) -> str:
    """The page with outputs below its blocks; comments of ours are left out, indented blocks become fences."""
    lines = without_comments(page.text).splitlines()
    for block, output in sorted(zip(page.blocks, outputs, strict=True), key=lambda pair: -pair[0].line):
        first = lines[block.line]
        written = lines[block.line : block.end]
        if not first.lstrip().startswith(("```", "~~~")):  # an indented block, which says no language
            written = ["```" + (block.language or "text"), *block.text.rstrip("\n").splitlines(), "```"]
        below = [] if block.hidden else _below(output)
        absent = block.why_needed if block.needs and not output.ran else ""
        if why := block.why_not or absent:
            below = [":::{div} gh-not-run", f"Not run by the build of this page: {why}.", ":::"]
        depth = " " * (len(written[0]) - len(written[0].lstrip()))
        lines[block.line : block.end] = [*written, "", *(f"{depth}{line}" for line in below), ""]
    return "\n".join(lines) + "\n"


def _below(output: Shown) -> list[str]:
    text = output.text.rstrip()
    if any(output.codes):
        said = ", ".join(map(str, output.codes))
        text = f"{text}\n[exit code {said}]".lstrip()
    found = []
    if text:
        # four backquotes: what is printed may hold three
        longest = max(map(len, text.splitlines()))
        shape = "gh-output" if longest > WIDTH else "gh-output gh-table"
        found += ["````{code-block} text", f":class: {shape}", "", *text.splitlines(), "````", ""]
    if output.picture:
        figure = f'<figure class="gh-chart" role="img" aria-label="{escaped("the chart")}">{output.picture}</figure>'
        found += ["```{raw} html", " ".join(figure.splitlines()), "```", ""]
    return found
