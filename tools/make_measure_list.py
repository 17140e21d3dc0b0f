"""Write docs/measures.md from the declarations, so that the list never disagrees with the code."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from glasshouse.catalogue import all_measures
from glasshouse.core.measure import AnyMeasure

HEAD = """# Measures

Made from the declarations by `make docs`. `gh.explain(name)` prints one of them in full.

"""


def cell(text: object) -> str:
    return str(text or "–").replace("|", "\\|").replace("\n", " ")


def section(side: str, family: str, measures: list[AnyMeasure]) -> str:
    lines = [
        f"## {side}: {family}",
        "",
        "| name | what it says | threat | range, direction | needs | source |",
        "|---|---|---|---|---|---|",
    ]
    for measure in measures:
        record = measure.record()
        scale = f"{record['range']}; {record['direction']}"
        row = (f"`{measure.name}`", measure.summary, record["threat"], scale, record["needs"], record["citation"])
        lines.append("| " + " | ".join(cell(part) for part in row) + " |")
    return "\n".join(lines)


def listing() -> str:
    """The whole page."""
    ordered = sorted(all_measures().values(), key=lambda m: (m.side, m.family, m.name))
    parts = [section(*key, list(group)) for key, group in groupby(ordered, key=lambda m: (m.side, m.family))]
    return HEAD + "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[1] / "docs" / "measures.md"
    target.write_text(listing(), encoding="utf-8")
