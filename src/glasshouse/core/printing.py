"""How a result prints itself: one line, a short block, and a card in notebooks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from glasshouse.core.plain import number
from glasshouse.core.tabular import text_table
from glasshouse.core.words import visible

if TYPE_CHECKING:
    from glasshouse.core.result import Result

RELEASE_FIGURES = ("value", "baseline", "excess", "holdout")
MOST_RELEASES = 20
MARKS = {"pass": "● pass", "warn": "▲ warn", "fail": "✖ fail", None: ""}


def over(result: Result) -> str:
    """What a figure of several releases is: "worst of 5 releases"; nothing for one release."""
    many = len(result.replicates)
    if not many or not result.over:
        return ""
    return f"all {many} releases together" if result.over == "together" else f"{result.over} of {many} releases"


def figures(result: Result) -> list[tuple[str, str]]:
    """The headline figures with their names."""
    said, many = over(result), len(result.replicates)
    rows = [(f"value ({said})" if said else "value", number(result.value))]
    for other, figure in (("mean", result.mean), ("worst", result.worst)) if said else ():
        if other != result.over:
            rows.append((f"{other} of {many} releases", number(figure)))
    if result.interval is not None:
        level = result.settings.get("options", {}).get("confidence")
        rows.append(
            (
                f"interval ({100 * level:g} %)" if level else "interval",
                f"{number(result.interval[0])} to {number(result.interval[1])}",
            )
        )
    for label in ("baseline", "excess", "holdout"):
        figure = getattr(result, label)
        if figure is not None:
            rows.append((label, number(figure)))
    return rows


def _by_release(result: Result) -> list[str]:
    """A line per release where there are several."""
    if not result.replicates:
        return []
    worst = result.worst
    rows = [
        {
            "release": i if one.release is None else one.release,
            **{name: getattr(one, name) for name in RELEASE_FIGURES},
            "mark": "worst" if one.value == worst else "",
        }
        for i, one in enumerate(result.replicates)
    ]
    known = [name for name in RELEASE_FIGURES if any(row[name] is not None for row in rows)]
    titles = {"release": "release", **{name: name for name in known}, "mark": ""}
    left = len(rows) - MOST_RELEASES
    more = [f"  ... {left} more releases in .replicates"] if left > 0 else []
    return ["", *text_table(rows, titles, MOST_RELEASES), *more]


def line(result: Result) -> str:
    """``disco 0.375 [0.137, 0.694], baseline 0.5, excess -0.25  ✖ fail``"""
    if result.status != "ok":
        return visible(f"{result.name}: {result.status.replace('_', ' ')}: {result.reason}")
    said = over(result)
    parts = [f"{result.name}{f' ({said})' if said else ''} {number(result.value)}"]
    if result.interval is not None:
        parts[0] += f" [{number(result.interval[0])}, {number(result.interval[1])}]"
    parts += [
        f"{k} {number(getattr(result, k))}" for k in ("baseline", "excess", "holdout") if getattr(result, k) is not None
    ]
    return ", ".join(parts) + ("  " + MARKS[result.verdict] if result.verdict else "")


def block(result: Result) -> str:
    """The sentence, the figures one per line, other details, warnings."""
    title = result.name + (f"  {MARKS[result.verdict]}" if result.verdict else "")
    lines = [title, "=" * len(title)]
    if result.status != "ok":
        return visible("\n".join([*lines, f"{result.status.replace('_', ' ')}: {result.reason}"]))
    if result.sentence:
        lines += [result.sentence, ""]
    rows = figures(result)
    rows += [
        (k, number(v)) for k, v in result.details.items() if isinstance(v, (int, float)) and not isinstance(v, bool)
    ]
    width = max(len(k) for k, _ in rows)
    lines += [f"  {k:<{width}}  {v}" for k, v in rows[:24]]
    if len(rows) > 24:
        lines.append(f"  ... {len(rows) - 24} more figures in .details")
    lines += _by_release(result)
    lines += [f"! {w}" for w in result.warnings]
    return visible("\n".join(lines))


def card(shown: object) -> str:
    """What a notebook shows of an object. Cards are drawn in the room of pictures, which lies to the right of all that
    have one, so it is looked up by name.
    """
    made: str = import_module("glasshouse.show.report.notebook").render(shown)
    return made


def prose(record: dict[str, Any]) -> str:
    """A measure's declaration as text for ``gh.explain``."""
    label = max(len(k) for k in record)
    body = "\n".join(
        f"  {k:<{label}}  {v}"
        for k, v in record.items()
        if k not in ("name", "summary", "text") and v not in (None, "")
    )
    return f"{record['name']}: {record['summary']}\n\n{record['text']}\n\n{body}".replace("\n\n\n\n", "\n\n")
