"""Write docs/names.md from the table of names, so that page, errors and ``gh.explain`` never disagree."""

from __future__ import annotations

from pathlib import Path

from glasshouse.core.names import __doc__ as ABOUT
from glasshouse.core.pointing import Pointer, table

HEAD = """# What other packages call it

Made from `glasshouse/core/names.py` by `make docs`. `gh.explain(name)` answers to every name on this page.

"""
KINDS = {"function": "Functions", "argument": "Arguments", "value": "Values of options", "figure": "Figures"}


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    return f"`{cell(text)}`" if text else "–"


def rows(pointers: list[Pointer]) -> list[str]:
    found = []
    for one in pointers:
        here = code(one.here) + (f" of {', '.join(code(m) for m in one.of.split(', '))}" if one.of and one.here else "")
        answer = "accepted" if one.accepted else "pointed to" if one.here else "not here"
        why = cell(one.why) or ("another name only" if one.kind == "argument" else "–")
        found.append(f"| {code(one.name)} | {here} | {answer} | {why} |")
    return found


def listing() -> str:
    """The whole page."""
    rule = (ABOUT or "").split("\n\n")[-1].strip().replace("\n", " ").replace("``", "`")
    parts = [HEAD + rule]
    for package in dict.fromkeys(pointer.package for pointer in table()):
        parts.append(f"## {package}")
        for kind, title in KINDS.items():
            chosen = [p for p in table() if p.package == package and p.kind == kind]
            if chosen:
                header = ["| there | here | | what differs, or why |", "|---|---|---|---|"]
                parts.append("\n".join([f"### {title}", "", *header, *rows(chosen)]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[1] / "docs" / "names.md"
    target.write_text(listing(), encoding="utf-8")
