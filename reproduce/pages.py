"""The folder docs/reproduction: figures as JSON, a page per source, a page that joins them, pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from reproduce import published
from reproduce.row import DIFFERS, REPRODUCED, RULE, Item, Row
from reproduce.studies import STUDIES

NAMES = {"rapid": "RAPID", "raab": "Raab (2024), synthpop", "riskutility": "riskutility", "risksyn": "risksyn"}
RUNS = {"full": "full run", "quick": "quick run: fewer draws, wider errors"}
MADE = "<!-- made by `python -m reproduce`; edit reproduce/, not this page -->"
NOT_HERE = """## What is not here

- Raab's table 2 has 45 figures of the original data, of which the text at hand gives twelve; those are compared.
  Figure 3 of that paper was not at hand as numbers.
- RAPID's motivating example (section 1.6) uses a file of EU-SILC without saying keys or seeds; it cannot be made again.
- The riskutility paper prints its figures only when it is built with R; what its text says in numbers and in words is
  compared, on its own data, which its listing draws. Its table of run times depends on the machine.
- The calls of risksyn's guide come without their answers; the answers of version 0.1.1 stand beside ours instead.
"""


def merge(folder: Path, source: str, items: Iterable[Item], quick: bool) -> None:
    """New items into the source's file of figures, the others left as they are, and their pictures beside it.

    Parameters
    ----------
    folder : Path
        Where the pages are.
    source : str
        One of the sources.
    items : iterable of Item
        What was computed.
    quick : bool
        Whether in a quick run.
    """
    from vl_convert import vegalite_to_svg

    folder.mkdir(parents=True, exist_ok=True)
    held = read(folder, source)
    for item in items:
        held[item.name] = {
            "about": item.about,
            "run": "quick" if quick else "full",
            "rows": [row.as_json() for row in item.rows],
            "charts": [chart.name for chart in item.charts],
        }
        for chart in item.charts:
            (folder / f"{chart.name}.svg").write_text(vegalite_to_svg(chart.drawn.to_dict()), encoding="utf-8")
    order = [name for study in STUDIES.values() if study.source == source for name in study.items]
    held = {name: held[name] for name in order if name in held}
    text = json.dumps(held, indent=1, ensure_ascii=False, default=float)
    (folder / f"{source}.json").write_text(text + "\n", encoding="utf-8")


def read(folder: Path, source: str) -> dict[str, Any]:
    """What was computed of a source so far.

    Parameters
    ----------
    folder : Path
        Where the pages are.
    source : str
        One of the sources.

    Returns
    -------
    dict
        By item; empty where there is no file.
    """
    file = folder / f"{source}.json"
    held: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return held


def rows_of(held: Mapping[str, Any]) -> list[Row]:
    """The rows of one item as they were written.

    Parameters
    ----------
    held : mapping
        The item, from :func:`read`.

    Returns
    -------
    list of Row
    """
    known = {f.name for f in fields(Row)}
    return [Row(**{name: value for name, value in row.items() if name in known}) for row in held["rows"]]


def write(folder: Path) -> None:
    """All pages anew from the files of figures.

    Parameters
    ----------
    folder : Path
        Where the pages are.
    """
    for name, text in pages(folder).items():
        (folder / name).write_text(text, encoding="utf-8")


def pages(folder: Path) -> dict[str, str]:
    """The text of every page.

    Parameters
    ----------
    folder : Path
        Where the files of figures are.

    Returns
    -------
    dict of str to str
        By the name of the file.
    """
    held = {source: read(folder, source) for source in published.SOURCES}
    made = {f"{source}.md": _source_page(source, items) for source, items in held.items() if items}
    return made | {"index.md": _index({source: items for source, items in held.items() if items})}


def _source_page(source: str, items: Mapping[str, Any]) -> str:
    about = published.source(source)
    parts = [MADE, f"# {about['title']}", f"{about['cite']}.", f"{RULE} [All sources](index.md)."]
    for name, held in items.items():
        rows = rows_of(held)
        parts += [f"## {name}", f"{held['about']} ({RUNS[held['run']].capitalize()}.)", _tally(rows)]
        parts += [f"![{name}: published and ours]({chart}.svg)" for chart in held["charts"]]
        parts.append(_table(rows))
    return "\n\n".join(parts) + "\n"


def _tally(rows: Sequence[Row]) -> str:
    found = sum(row.status == REPRODUCED for row in rows)
    return f"{found} of {len(rows)} figures reproduced."


def _number(value: float | str, digits: int) -> str:
    if isinstance(value, str):
        return value.replace("|", "\\|")
    return f"{value:,.{digits}f}"


def _errors(row: Row) -> str:
    """Standard errors, theirs and ours; a dash where nothing is drawn by chance."""
    if row.their_error is None and row.our_error is None:
        return "–"
    shown = [f"{error:.{row.digits + 1}f}" if error is not None else "–" for error in (row.their_error, row.our_error)]
    return " / ".join(shown)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| | published | ours | standard error, theirs / ours | |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        lines.append(
            f"| {_number(row.what, 0)} | {_number(row.published, row.digits)} | {_number(row.ours, row.digits)} "
            f"| {_errors(row)} | {_number(row.told, 0)} |"
        )
    return "\n".join(lines)


def missing(held: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Items that no study has computed yet, because their data were missing or they were not asked for.

    Parameters
    ----------
    held : mapping
        By source what was computed.

    Returns
    -------
    list of (source, item)
    """
    every = [(study.source, name) for study in STUDIES.values() for name in study.items]
    return [(source, name) for source, name in every if name not in held.get(source, {})]


def _short(row: Row) -> str:
    """A differing row in the list of all."""
    if isinstance(row.published, str):
        return f'{row.what} ("{row.published}"; ours: {row.ours})'
    return f"{row.what} ({_number(row.published, row.digits)}, ours {_number(row.ours, row.digits)})"


def _index(held: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [
        MADE,
        "",
        "# Published figures, and ours",
        "",
        "What the papers and guides behind glasshouse print, computed again with glasshouse: `make reproduce`, or",
        "`make reproduce QUICK=1` for fewer draws in at most a quarter of an hour. Adult and SD2011 are read from a",
        "folder that you name (`DATA=folder`); without them those tables are left as they are, and the rest runs.",
        "",
        RULE,
        "",
        "| source | table or figure | figures | reproduced | differ | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    differing: list[tuple[str, str, Row]] = []
    total, good = 0, 0
    for source, items in held.items():
        for name, item in items.items():
            rows = rows_of(item)
            found = sum(row.status == REPRODUCED for row in rows)
            total, good = total + len(rows), good + found
            differing += [(source, name, row) for row in rows if row.status == DIFFERS]
            lines.append(
                f"| [{NAMES[source]}]({source}.md) | {name} | {len(rows)} | {found} | {len(rows) - found} "
                f"| {item['run']} run |"
            )
    lines.append(f"| all | | {total} | {good} | {total - good} | |")
    if open_ones := missing(held):
        lines += ["", f"Not computed yet: {'; '.join(f'{NAMES[source]}, {name}' for source, name in open_ones)}."]
    lines += ["", "## What differs, and why", ""]
    reasons: dict[tuple[str, str, str], list[Row]] = {}
    for source, name, row in differing:
        reasons.setdefault((source, name, row.why or "no reason was found yet"), []).append(row)
    for (source, name, why), rows in reasons.items():
        shown = "; ".join(_short(row) for row in rows[:4])
        more = f"; and {len(rows) - 4} more" if len(rows) > 4 else ""
        checked = [row.checked for row in rows]
        mark = " Checked with every run." if None not in checked and False not in checked else ""
        lines.append(f"- **{NAMES[source]}, {name}**: {why}.{mark} So: {shown}{more}.")
    return "\n".join([*lines, "", NOT_HERE])
