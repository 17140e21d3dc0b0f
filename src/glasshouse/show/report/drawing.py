"""Altair charts as inline vector pictures: system fonts, text in the colour of the page, no runtime."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from glasshouse.core.charts import kinds
from glasshouse.core.errors import MissingExtra
from glasshouse.core.plain import Content
from glasshouse.core.result import Result
from glasshouse.core.words import SEVERITY, visible
from glasshouse.judgement.rumap.map import RUMap
from glasshouse.judgement.run import safely

MOST_BYTES = 60_000
MOST_PICTURES = 12
SMALLEST = 1e-290
_INK = "#010203"  # stands for the page's own text colour until the picture is placed
_FAINT = "#040506"
FONT = "system-ui, sans-serif"


def pictures(content: Content, results: Mapping[str, Result]) -> dict[str, str]:
    """The default chart of the measures that decide, worst first, as SVG text; a chart that cannot be drawn is left
    out. Charts are drawn from results, which an external page does not get.
    """
    wanted = sorted(
        (
            shown
            for name, shown in content["results"].items()
            if name in results and shown["decides"] and shown["verdict"] is not None and kinds(name)
        ),
        key=lambda shown: (-SEVERITY[shown["judgement"]], shown["name"]),
    )
    drawn: dict[str, str] = {}
    for shown in wanted[:MOST_PICTURES]:
        svg, _ = safely(lambda result=results[shown["name"]]: svg_of(result.plot()))  # type: ignore[misc]  # bound now
        if svg is not None and len(svg) <= MOST_BYTES:
            drawn[shown["name"]] = markup(svg)
    return drawn


def map_of(ru_map: RUMap, audience: str = "internal", links: Mapping[str, str] | None = None) -> Content:
    """The risk-utility map as a picture, the figures behind it, and what can be said about their order; ``links`` lead
    from the mark of a release to somewhere on the page."""
    content = ru_map.content(audience)
    svg, problem = safely(lambda: svg_of(ru_map.plot("map", shown=content, links=links)))
    return {
        "svg": None if svg is None else markup(svg),
        "problem": problem,
        "rows": [{**row, "link": (links or {}).get(row["release"])} for row in _rows(content)],
        "first": content["findings"],
        "words": content["text"],
    }


def _rows(content: Content) -> list[dict[str, str]]:
    """One row per release: composite risk and utility with intervals, and where it stands among the others."""
    shown = []
    for row in content["releases"]:
        beaten, tied = row.get("dominated_by"), row.get("tied_with")
        failed = ", which fails" if content["verdicts"].get(beaten) == "fail" else ""
        unplaced = "not fully measured" if row["incomplete"] else "not on the front"
        behind = f"dominated by {beaten}{failed}" if beaten else unplaced
        place = "on the front" if row.get("pareto") else behind
        alarms = row.get("copy_alarms") or 0
        shown.append(
            {
                "release": str(row["release"]),
                "verdict": str(row.get("verdict") or "–").upper(),
                "risk": _with_interval(row, "risk"),
                "utility": _with_interval(row, "utility"),
                "place": place + (f", tied with {tied}" if tied else ""),
                "copies": "copy alarm" if alarms else "no alarm",
                "exposed": _exposed(row),
            }
        )
    return shown


def _exposed(row: Content) -> str:
    """Members exposed beyond strangers, where a leak was seen and may be told."""
    if row.get("exposed") is None:
        return "–"
    return f"about {max(round(row['exposed']), 1):,} of 1,000 ({row['exposed_by']})"


def _with_interval(row: Content, name: str) -> str:
    value, low, high = row.get(name), row.get(f"{name}_low"), row.get(f"{name}_high")
    if row[f"{name}_shown"] is not None:
        return str(row[f"{name}_shown"])
    if value is None:
        return "–"
    return f"{value:.2f}" + (f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else "")


def markup(svg: str) -> Any:
    """A picture of our own, as a template places it."""
    from markupsafe import Markup

    return Markup(svg)


def cannot_draw() -> str | None:
    """Why there are no charts on a page: a sentence with the way out, or None where they can be drawn."""
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        return str(MissingExtra("charts", "drawing charts on a page"))
    return None


def svg_of(chart: Any) -> str:
    """An Altair chart as SVG without fonts, background or identifiers that could clash with another picture on the
    page.
    """
    try:
        import vl_convert
    except ImportError as missing:
        raise MissingExtra("charts", "a chart as a vector picture") from missing

    config = {
        "background": None,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": _INK,
            "titleColor": _INK,
            "domainColor": _FAINT,
            "tickColor": _FAINT,
            "gridColor": _FAINT,
            "titleFontWeight": 500,
        },
        "legend": {"labelColor": _INK, "titleColor": _INK},
        "title": {"color": _INK, "subtitleColor": _INK, "fontWeight": 600, "anchor": "start"},
        "header": {"labelColor": _INK, "titleColor": _INK},
        "text": {"color": _INK},
    }
    svg: str = vl_convert.vegalite_to_svg(_drawable(chart.to_dict()), config=config)
    svg = re.sub(r'xlink:href="[^"#]*#', 'href="#', svg)  # a place on the page, of which the library makes an address
    svg = svg.replace(_INK, "currentColor").replace(_FAINT, "var(--line)")
    svg = re.sub(r'fill="#(000000|000|333333|333|111)"', 'fill="currentColor"', svg)
    svg = re.sub(r'font-family="[^"]*"', f'font-family="{FONT}"', svg)
    # numbers with seventeen digits make a page large and say nothing
    svg = re.sub(r"(\d+\.\d{2})\d+", r"\1", svg)
    return _own_identifiers(svg)


def _drawable(part: Any) -> Any:
    """A chart without the characters that XML forbids: one of them in a label ends the whole process. Numbers next to 0
    are 0: of a scale that holds nothing else no tick can be counted, and the library prints that and draws nothing."""
    if isinstance(part, float) and abs(part) < SMALLEST:
        return 0.0
    if isinstance(part, str):
        return re.sub("[\ud800-\udfff\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", visible(part))
    if isinstance(part, dict):
        return {_drawable(key): _drawable(value) for key, value in part.items()}
    return [_drawable(value) for value in part] if isinstance(part, list) else part


def _own_identifiers(svg: str) -> str:
    """Clip paths and gradients are numbered from zero in every picture; give each picture its own."""
    import hashlib

    mark = hashlib.sha256(svg.encode()).hexdigest()[:8]
    for name in set(re.findall(r'id="([^"]+)"', svg)):
        svg = (
            svg.replace(f'id="{name}"', f'id="{mark}-{name}"')
            .replace(f"url(#{name})", f"url(#{mark}-{name})")
            .replace(f'href="#{name}"', f'href="#{mark}-{name}"')
        )
    return svg
