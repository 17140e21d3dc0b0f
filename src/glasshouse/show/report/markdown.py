"""The assessment as Markdown: verdict, threats, rules, measures, what to do, how it was run."""

from __future__ import annotations

import re
from typing import Any

from glasshouse.judgement.verdict.assessment import MARKS, Assessment
from glasshouse.show.report.view import VERDICT_WORDS, MeasureView, clip


def render(assessment: Assessment, *, audience: str = "internal") -> str:
    external = audience == "external"
    content = assessment.to_dict(audience)
    views = {j.name: MeasureView(assessment, j, external) for j in assessment.judged}
    lines = [
        f"# {MARKS[assessment.verdict]} {VERDICT_WORDS[assessment.verdict]}",
        "",
        plain_text(assessment.headline),
        "",
        f"Policy: {plain_text(str(assessment.policy))}. {content['covers']}",
        "",
    ]
    lines += ["| threat | status | measure | what it means |", "|---|---|---|---|"]
    for name, threat in content["threats"].items():
        lines.append(
            f"| {name} | {MARKS[threat['status']]} {threat['status'].replace('_', ' ')} | "
            f"{threat['worst'] or ''} | {plain_text(threat['sentence'])} |"
        )
    if content["outcomes"]:
        lines += ["", "## Rules", "", "| status | rule | found |", "|---|---|---|"]
        lines += [
            f"| {MARKS[o['status']]} {o['status'].replace('_', ' ')} | {plain_text(o['rule'])} | "
            f"{plain_text(o['comparison'])} |"
            for o in content["outcomes"]
        ]
    if content["recommendations"]:
        lines += ["", "## What to do", "", *(f"- {plain_text(r['text'])}" for r in content["recommendations"])]
    lines += [
        "",
        "## Measures",
        "",
        "| measure | value | interval | baseline | unseen people | status |",
        "|---|---:|---|---:|---:|---|",
    ]
    for view in views.values():
        status = f"{MARKS[view.status]} {view.word}" + (" (structure of the file)" if view.role == "structure" else "")
        value = view.value if view.ok else plain_text(view.reason)
        lines.append(
            f"| {view.name} | {plain_text(value)} | {view.interval or ''} | {view.baseline or ''} | "
            f"{view.holdout or ''} | {status} |"
        )
    lines += ["", "## How it was run", "", *_run(content)]
    return "\n".join(lines) + "\n"


def _run(content: dict[str, Any]) -> list[str]:
    tables = [
        f"- {t['table']}: {t['records']:,} records, fingerprint `{t['fingerprint']}`" for t in content["data"]["tables"]
    ]
    versions = ", ".join(f"{k} {v}" for k, v in content["run"]["versions"].items())
    fence = "```" if "```" not in content["run"]["call"] else "~~~~"
    return [
        *tables,
        f"- seed {content['run']['seed']}; {versions}",
        "",
        f"{fence}python",
        clip(content["run"]["call"], 2000),
        fence,
    ]


def plain_text(text: str) -> str:
    """Text that cannot break a table, start a tag or hide a link."""
    text = re.sub(r"\s+", " ", clip(text, 600))
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)
