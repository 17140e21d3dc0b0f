"""The way from a release that failed to one that passes: a section of the page, Markdown, lines for a terminal."""

from __future__ import annotations

from glasshouse.core.plain import Content
from glasshouse.core.words import MARKS, visible
from glasshouse.judgement.mitigation.mitigated import Mitigated, price
from glasshouse.judgement.run import safely
from glasshouse.show.report import html
from glasshouse.show.report.drawing import MOST_BYTES, cannot_draw, markup, svg_of
from glasshouse.show.report.markdown import plain_text
from glasshouse.show.report.markdown import render as assessment_in_markdown
from glasshouse.show.report.view import VERDICT_WORDS, clip

COLUMNS = {"step": "Step", "why": "Why", "risk": "Risk", "utility": "Utility", "touched": "Touched"}


def page(fixed: Mitigated, audience: str, title: str | None = None) -> str:
    """One self-contained page: the report of the release that came of it, with the way there as a section.

    Parameters
    ----------
    fixed
        What came of the search.
    audience
        "internal" or "external".
    title
        The heading.

    Returns
    -------
    str
        HTML.
    """
    content = fixed.content(audience)
    results = fixed.verdict.results if audience == "internal" else {}
    return html.render(content["verdict"], results=results, title=title, way=way_of(fixed, content))


def way_of(fixed: Mitigated, content: Content) -> Content:
    """What the section shows, of the content of one reader."""
    svg = None
    if content["map"] is not None and content["steps"]:
        svg, _ = safely(lambda: svg_of(fixed.plot(shown=content)))
    return {
        "summary": clip(content["summary"]),
        "row_paired": fixed.verdict.pair.row_paired,
        "mark": MARKS[content["verdict"]["verdict"]],
        "word": VERDICT_WORDS[content["verdict"]["verdict"]],
        "status": content["verdict"]["verdict"],
        "before": content["before"],
        "svg": markup(svg) if svg is not None and len(svg) <= MOST_BYTES else None,
        "no_charts": cannot_draw() if content["map"] is not None and content["steps"] else None,
        "columns": COLUMNS,
        "steps": [row(step) for step in content["steps"]],
        "notes": [clip(note, 700) for note in content["notes"]],
        "toml": fixed.recipe.to_toml() if content["recipe"] else "",
    }


def row(step: Content) -> dict[str, str]:
    """One step as cells of a table."""
    parts = dict.fromkeys(("risk", "utility", "touched"), "–")
    for part in price(step).split("; "):
        side, _, rest = part.partition(" ")
        if side in ("risk", "utility"):
            parts[side] = rest.replace(" to ", " → ")
        elif part:
            parts["touched"] = part.removesuffix(" touched")
    if step["records"] is None:
        parts["touched"] = "not told"
    return {"step": clip(step["name"], 80), "why": clip(step["why"], 300), **parts}


def markdown(content: Content) -> str:
    """The way as a table, then the report of the release that came of it."""
    lines = ["# What was done to make it safe", "", plain_text(content["summary"]), ""]
    if content["steps"]:
        lines += ["| " + " | ".join(COLUMNS.values()) + " |", "|" + "---|" * len(COLUMNS)]
        rows = [row(step) for step in content["steps"]]
        lines += ["| " + " | ".join(plain_text(one[c]) for c in COLUMNS) + " |" for one in rows]
        lines.append("")
    lines += [*(f"- {plain_text(note)}" for note in content["notes"]), ""]
    return visible("\n".join(lines)) + "\n" + assessment_in_markdown(content["verdict"])


def lines_of(content: Content) -> list[str]:
    """The way for a terminal."""
    lines = [content["summary"]]
    for step in content["steps"]:
        lines += [f"  {step['name']}: {step['why']}", *([f"      {price(step)}"] if price(step) else [])]
    return [*lines, *(f"  note: {note}" for note in content["notes"])]
