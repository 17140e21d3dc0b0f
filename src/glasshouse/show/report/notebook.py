"""What a notebook shows of a pair, a result, an assessment and a map: a compact card with its picture.

No script, no request, every label escaped. A card is for the custodian: its figures are exact, and it says so, because
a saved notebook keeps it. Nothing is computed again for it, and a picture is drawn once per object.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from glasshouse.core import printing
from glasshouse.core.plain import Content
from glasshouse.core.result import Result
from glasshouse.core.words import MARKS, THREATS
from glasshouse.data.pair import Pair
from glasshouse.judgement.distributions import distributions
from glasshouse.judgement.mitigation.mitigated import Mitigated
from glasshouse.judgement.rumap.map import RUMap
from glasshouse.judgement.run import safely
from glasshouse.judgement.scenarios.scenarios import Scenarios
from glasshouse.judgement.verdict.assessment import Assessment
from glasshouse.show.charts.generic import figures
from glasshouse.show.report import sections
from glasshouse.show.report.drawing import MOST_BYTES, cannot_draw, map_of, svg_of
from glasshouse.show.report.scenarios import LEVELS, TITLES, first_of, table_rows
from glasshouse.show.report.sheet import to_do
from glasshouse.show.report.templating import environment
from glasshouse.show.report.view import VERDICT_WORDS, ThreatView, after_word, clip, cut, first_findings, views_of

MOST_COLUMNS = 6
MOST_ADVICE = 3
INSIDE = "Internal: exact figures about the people in the original, small groups included. A saved notebook keeps them."
FOR_OTHERS = "For others: .to_html(path, audience='external')."
Shown: TypeAlias = Pair | Result | Assessment | Scenarios | RUMap | Mitigated
_cards: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def render(shown: Shown) -> str:
    """The card of an object, made at the first look and kept as long as the object lives.

    Parameters
    ----------
    shown
        A pair, a result, an assessment, scenarios or a map; none of them changes.

    Returns
    -------
    str
        HTML that can stand in any page.
    """
    if isinstance(shown, Scenarios):  # a mapping, which no dictionary takes as a key, and quick to draw
        return _drawn(shown)
    if shown not in _cards:
        _cards[shown] = _drawn(shown)
    return _cards[shown]


def _drawn(shown: Shown) -> str:
    kind, parts = _parts(shown)
    card: str = environment().get_template("card.html.j2").render(kind=kind, **parts)
    return card


def _parts(shown: Shown) -> tuple[str, Content]:
    if isinstance(shown, Scenarios):
        return "scenarios", _scenarios(shown)
    if isinstance(shown, Pair):
        return "pair", _pair(shown)
    if isinstance(shown, Assessment):
        return "assessment", _assessment(shown)
    if isinstance(shown, Mitigated):
        return "mitigated", _mitigated(shown)
    return ("map", _map(shown)) if isinstance(shown, RUMap) else ("result", _result(shown))


# -- results -----------------------------------------------------------------------------------------------------------


def _result(result: Result) -> Content:
    ok = result.status == "ok"
    return {
        "title": result.name if result.measure is None else result.measure.title,
        "name": result.name,
        "verdict": result.verdict,
        "mark": printing.MARKS[result.verdict],
        "sentence": clip(result.sentence) if ok else f"{result.status.replace('_', ' ')}: {clip(result.reason)}",
        "figures": printing.figures(result) if ok else [],
        "warnings": [clip(warning) for warning in result.warnings],
        "picture": _picture(result) if ok else None,
        "foot": " ".join(filter(None, (INSIDE, cannot_draw()))),
    }


def _picture(result: Result) -> Any:
    """The default chart; where that is too large for a card, value, baseline and holdout on one axis."""
    return _svg(result.plot) or _svg(lambda: figures(result))


def _svg(plot: Callable[[], Any]) -> Any:
    from markupsafe import Markup

    svg, _ = safely(lambda: svg_of(plot()))
    return Markup(svg) if svg is not None and len(svg) <= MOST_BYTES else None


# -- assessments and maps ----------------------------------------------------------------------------------------------


def _assessment(assessment: Assessment) -> Content:
    content = assessment.content()
    views = views_of(content)
    advice = to_do(content)
    return {
        "verdict": content["verdict"],
        "mark": MARKS[content["verdict"]],
        "word": VERDICT_WORDS[content["verdict"]],
        "headline": after_word(content),
        "first": first_findings(content),
        "threats": [ThreatView(name, content["threats"][name], views) for name in THREATS],
        "marks": MARKS,
        "advice": [cut(one["text"], 400) for one in advice[:MOST_ADVICE]],
        "more": max(len(advice) - MOST_ADVICE, 0),
        "policy": content["policy"],
        "foot": f"{INSIDE} {FOR_OTHERS}",
    }


def _scenarios(found: Scenarios) -> Content:
    content = found.content()
    return {
        "verdict": content["verdict"],
        "mark": MARKS[content["verdict"]],
        "word": VERDICT_WORDS[content["verdict"]],
        "headline": clip(found.headline, 700),
        "first": first_of(content),
        "rows": table_rows(content),
        "titles": TITLES,
        "levels": LEVELS,
        "foot": f"{INSIDE} {FOR_OTHERS}",
    }


def _map(ru_map: RUMap) -> Content:
    found = map_of(ru_map)
    return {"ru": found, "lead": clip(found["words"][0], 700), "foot": INSIDE}


def _mitigated(fixed: Mitigated) -> Content:
    from glasshouse.show.report.mitigation import way_of

    return {"way": way_of(fixed, fixed.content()), "foot": f"{INSIDE} {FOR_OTHERS}"}


# -- pairs -------------------------------------------------------------------------------------------------------------


def _pair(pair: Pair) -> Content:
    # a table that lies elsewhere is not fetched to show what it is
    here = all(pair.engine(table) == "memory" for table in pair.tables)
    findings, _ = safely(pair.check) if here else (None, None)
    drawn, _ = safely(lambda: distributions(pair, _of_interest(pair))) if here else (None, None)
    return {
        "tables": [(table, pair.n(table)) for table in pair.tables],
        "roles": [(name, clip(said, 200)) for name, said in _roles(pair) if said],
        "columns": len(pair.columns),
        "numeric": len(pair.numeric),
        "first": [clip(found.message, 300) for found in findings or () if found.first],
        "others": sum(not found.first for found in findings or ()),
        "checked": findings is not None,
        "pictures": sections.drawn(drawn or []),
        "left": len(pair.columns) - len(drawn or ()),
        "foot": "Internal: labels and shares of the confidential table. A saved notebook keeps them." if drawn else "",
    }


def _of_interest(pair: Pair) -> tuple[str, ...]:
    """Keys and target first, then the other columns: as many as a card has room for."""
    wanted: dict[Hashable, None] = dict.fromkeys((*pair.keys, *pair.targets, *pair.columns))
    return tuple(str(name) for name in wanted if name in pair.columns)[:MOST_COLUMNS]


def _roles(pair: Pair) -> list[tuple[str, str]]:
    return [
        ("keys", ", ".join(pair.keys) or "none: name the columns an attacker may know (keys=)"),
        ("target", ", ".join(pair.targets) or "none: name what an attacker wants to learn (target=)"),
        ("weights", pair.weights or ""),
        ("cluster", pair.cluster or ""),
        ("rows", "row i of the release is row i of the original" if pair.row_paired else ""),
    ]
