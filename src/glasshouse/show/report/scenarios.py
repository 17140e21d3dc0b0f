"""Several scenarios of one release: the table over them, and what leads to the report of each.

Everything drawn is the content that passed the gate of each assessment.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from glasshouse.core.plain import Content
from glasshouse.core.tabular import text_table
from glasshouse.core.words import MARKS, SEVERITY, THREATS, plural, spoken, visible
from glasshouse.show.report import junit as suites
from glasshouse.show.report.markdown import plain_text
from glasshouse.show.report.markdown import render as summary
from glasshouse.show.report.templating import environment
from glasshouse.show.report.view import THREAT_TITLES, VERDICT_WORDS, clip, first_findings

if TYPE_CHECKING:
    from glasshouse.judgement.scenarios.scenarios import Scenarios

TITLES = {name: name for name in ("scenario", "verdict", *THREATS)}
LEVELS = (
    "The levels hold for each scenario; the worst of several has as many chances of a false alarm. What does not "
    "depend on what an attacker knows (copies, attacks on membership) is the same in every scenario."
)


def table(content: Content) -> str:
    """The table over scenarios as aligned text."""
    return "\n".join(text_table(table_rows(content), TITLES))


def text(content: Content) -> list[str]:
    """The table, then what every scenario that is not within limits is about."""
    lines = [*(f"before you read on: {found}" for found in first_of(content)), table(content), ""]
    reasons = _reasons(content)
    for name, shown in content["scenarios"].items():
        lines.append(f"{MARKS[shown['verdict']]} {name}: {shown['headline']}")
        lines += [f"    {threat}: {said}" for threat, said in reasons[name]]
    return [*lines, "", LEVELS]


def markdown(content: Content) -> str:
    """The table over scenarios and the summary of each."""
    lines = [
        f"# {MARKS[content['verdict']]} {VERDICT_WORDS[content['verdict']]}",
        "",
        f"{plain_text(_sentence(content))} {LEVELS}",
        "",
    ]
    lines += [f"| {' | '.join(TITLES.values())} |", "|---" * len(TITLES) + "|"]
    lines += ["| " + " | ".join(plain_text(row[name]) for name in TITLES) + " |" for row in table_rows(content)]
    for name, shown in content["scenarios"].items():
        # every heading of a summary lies one level deeper here
        body = re.sub(r"^(#+ )", r"##\1", summary(shown), flags=re.MULTILINE)
        lines += ["", f"## {plain_text(name)}", "", body.rstrip("\n")]
    return visible("\n".join(lines)) + "\n"


def junit(content: Content) -> str:
    """A test suite per scenario."""
    return suites.together(content["scenarios"])


def page(found: Scenarios, audience: str, links: Mapping[str, str]) -> str:
    """The page with the table; ``links`` are the files with the report of each scenario."""
    content = found.content(audience)
    shown, reasons = content["scenarios"], _reasons(content)
    rows = [
        {
            **row,
            "link": links.get(row["scenario"]),
            "headline": clip(shown[row["scenario"]]["headline"]),
            "reasons": [(THREAT_TITLES[n], clip(said)) for n, said in reasons[row["scenario"]]],
        }
        for row in content["table"]
    ]
    first = next(iter(shown.values()))
    source = clip(first["data"]["tables"][1]["source"], 100)
    made: str = (
        environment()
        .get_template("scenarios.html.j2")
        .render(
            verdict=content["verdict"],
            verdict_word=VERDICT_WORDS[content["verdict"]],
            sentence=_sentence(content),
            levels=LEVELS,
            title=f"{source}, {_counted(rows)}" if source else _counted(rows),
            rows=rows,
            threats=THREAT_TITLES,
            first=[clip(one) for one in first_of(content)],
            policy=first["policy"],
            external=audience == "external",
            covers=first["covers"],
            date=dt.datetime.now(dt.UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0"),
        )
    )
    return made


def table_rows(content: Content) -> list[Content]:
    """The table with a mark before every word, so that it reads without colour."""
    told = [{**row, "target": spoken(row["target"])} for row in content["table"]]
    return [
        {k: f"{MARKS[v]} {v.replace('_', ' ')}" if k in ("verdict", *THREATS) else v for k, v in row.items()}
        for row in told
    ]


def _reasons(content: Content) -> dict[str, list[tuple[str, str]]]:
    """By scenario what the threats with its gravest status say; a sentence that was said before is pointed to."""
    said: dict[str, str] = {}
    found: dict[str, list[tuple[str, str]]] = {}
    for name, shown in content["scenarios"].items():
        gravest = max((t["status"] for t in shown["threats"].values()), key=SEVERITY.__getitem__)
        telling = {n: t["sentence"] for n, t in shown["threats"].items() if t["status"] == gravest}
        if SEVERITY[gravest] <= SEVERITY["pass"]:
            telling = {}
        found[name] = [
            (threat, text if (first := said.setdefault(text, name)) == name else f"as in {first}")
            for threat, text in telling.items()
        ]
    return found


def _counted(rows: list[Content]) -> str:
    return f"{len(rows)} {plural(len(rows), 'scenario')}"


def first_of(content: Content) -> list[str]:
    """Findings that stand before every verdict, each once."""
    return list(dict.fromkeys(found for shown in content["scenarios"].values() for found in first_findings(shown)))


def _sentence(content: Content) -> str:
    same = sum(row["verdict"] == content["verdict"] for row in content["table"])
    worst = content["scenarios"][content["worst"]]
    said = f"So in {same} of {_counted(content['table'])}. The worst, {content['worst']}: {worst['headline']}"
    return re.sub(r"\s+", " ", said)
