"""Every code block of every page runs, in order, in one namespace and an empty folder, as a reader would run it.

What came of a page is kept beside it, so that `make docs` need not run it again. Blocks that cannot run say why, and
are parsed: names, flags, targets and extras in them exist.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.site.blocks import Page, parse, read, without_comments
from tools.site.running import ROOT, PageError, keep, run

DOCS = ROOT / "docs"
MADE = ("_build", "_kept", "_static", "measure", "reference")  # folders that the build writes


def pages() -> dict[str, Page]:
    """Every page that is written by hand, by its name on the site."""
    files = [file for file in DOCS.rglob("*.md") if file.relative_to(DOCS).parts[0] not in MADE]
    names = {file.relative_to(DOCS).with_suffix("").as_posix(): file for file in sorted(files)}
    return {name: read(file, name) for name, file in names.items()}


PAGES = pages()
CODE = [name for name, page in PAGES.items() if page.blocks or page.setup]


@pytest.mark.parametrize("name", CODE)
def test_the_code_of_a_page_runs(name: str) -> None:
    keep(PAGES[name], DOCS / "_kept")


def test_the_blocks_of_the_readme_name_what_there_is() -> None:
    """It speaks of files of the reader's own, so that it is read and not run."""
    page = read(ROOT / "README.md")
    assert len(page.blocks) > 3
    text = re.sub(r"^(?=```|    (?:glasshouse|make|pip) )", "<!-- not run: files of one's own -->\n\n", page.text)
    for block in parse(text, "README").blocks:
        from tools.site.running import check

        check(block, f"README, line {block.line + 1}")


def test_what_is_not_run_says_why() -> None:
    lacking = [
        f"{name}, line {block.line + 1}: {block.language}"
        for name, page in PAGES.items()
        for block in page.blocks
        if block.language in ("yaml", "r") and not block.why_not
    ]
    assert lacking == []
    assert all(len(b.why_not) > 10 or b.why_not == "as above" for p in PAGES.values() for b in p.blocks if b.why_not)


def test_links_between_pages_lead_somewhere() -> None:
    """Pages that the build writes are known by their folder."""
    broken = []
    for name, page in PAGES.items():
        here = (DOCS / name).parent
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]+)?\)", page.text):
            file = (here / target).resolve()
            made = file.is_relative_to(DOCS) and file.relative_to(DOCS).parts[0] in (*MADE, "gallery.rst")
            if not made and not file.exists():
                broken.append(f"{name}: {target}")
    assert broken == []


def test_pictures_are_made_by_the_build_or_say_how_they_were_made() -> None:
    """Charts are drawn when a page is built; those of the workbench and of the studies have makers of their own."""
    shown = {match for page in PAGES.values() for match in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.text)}
    assert {Path(one).name for one in shown} <= {"verdict.png", "explore.png", "compare.png"} | {
        file.name for file in DOCS.rglob("*.svg")
    }
    assert "make app-pictures" in PAGES["tutorials/workbench"].text


def test_every_page_is_in_a_list_of_pages() -> None:
    """A page that no list names would not be found."""
    listed = set()
    for name, page in PAGES.items():
        for body in re.findall(r"```\{toctree\}\n(.*?)```", page.text, re.DOTALL):
            for line in body.splitlines():
                if line.startswith("?/"):
                    listed |= {f.relative_to(DOCS).with_suffix("").as_posix() for f in DOCS.glob(f"{line[2:]}.md")}
                elif line and line[0] != ":":
                    target = re.sub(r".*<(.*)>", r"\1", line).strip()
                    listed.add((DOCS / name).parent.joinpath(target).resolve().relative_to(DOCS).as_posix())
    assert set(PAGES) - listed - {"index", "measures"} == set()


# -- what runs the pages -----------------------------------------------------------------------------------------------


def page(text: str) -> Page:
    return parse(text, "page")


def test_blocks_share_a_namespace_and_a_folder() -> None:
    text = """
<!-- setup:
from pathlib import Path
there = Path("note.txt").write_text("x")
-->

```python
import glasshouse as gh

number = there + 1
```

Text.

- in a list:

  ```python
  print(number)
  number * 2
  ```
"""
    found = page(text)
    assert [one.text for one in run(found)] == ["", "2\n4\n"]
    assert "note.txt" not in without_comments(text) and without_comments(text).count("\n") == text.count("\n")
    assert not Path("note.txt").exists()


def test_commands_run_and_their_exit_codes_are_kept() -> None:
    found = run(page("```shell\nglasshouse policy init p.toml --preset secure\nglasshouse policy check p.toml\n```\n"))
    assert found[0].codes == (0, 0) and "policy secure" in found[0].text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```python\n1 / 0\n```", "ZeroDivisionError"),
        ("```python\nif\n```", "SyntaxError"),
        ("```shell\nglasshouse assess nothing.csv either.csv\n```", "ended with 2"),
        ("<!-- not run: for a test -->\n\n```shell\nglasshouse assess a.csv --keyz age\n```", "does not take --keyz"),
        ("<!-- not run: for a test -->\n\n```shell\nglasshouse asess a.csv\n```", "no command 'asess'"),
        ("```shell\nmake everything\n```", "no target 'everything'"),
        ('```shell\npip install ".[nothing]"\n```', "no extra nothing"),
        ("```shell\nrm -rf somewhere\n```", "no command that is known"),
        ("```toml\n= 3\n```", "TOMLDecodeError"),
        ("<!-- not run: for a test -->\n\n```yaml\na: [\n```", "ParserError"),
        ("<!-- not run: for a test -->\n\n```yaml\n- run: glasshouse assess --keyz age\n```", "does not take --keyz"),
        ("```ruby\nputs 1\n```", "nothing here can check 'ruby'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    found = page(text)
    with pytest.raises((PageError, SyntaxError)) as problem:
        run(found)
    assert said in f"{type(problem.value).__name__}: {problem.value}"
