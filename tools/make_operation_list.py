"""Write the table of operations into docs/protection.md from their declarations, so that they never disagree."""

from __future__ import annotations

from pathlib import Path

from glasshouse.protection.operation import Operation, operations

FIRST, LAST = "<!-- operations: made by `make docs` -->", "<!-- end of operations -->"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "protection.md"


def row(one: Operation) -> str:
    marks = ("random" if one.random else "", "looks at the original" if one.looks_at_original else "")
    cells = (
        f"`{one.name}`",
        one.summary,
        ", ".join(one.acts_on),
        f"{one.touches}: {', '.join(one.needs)}",
        str(one.cost),
        ", ".join(mark for mark in marks if mark) or "–",
    )
    return "| " + " | ".join(cell.replace("|", "\\|").replace("``", "`") for cell in cells) + " |"


def listing() -> str:
    """The table, cheapest first."""
    head = ["| operation | what it does | threats it acts on | touches | cost | |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *(row(one) for one in operations().values())])


def page() -> str:
    """The page with the table as the declarations have it."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(FIRST)
    return f"{before}{FIRST}\n\n{listing()}\n\n{LAST}{rest.split(LAST)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
