"""The short form of an assessment in a notebook: verdict, four threats, what to do.

No script, no style sheet, every label escaped.
"""

from __future__ import annotations

from html import escape

from glasshouse.core.plain import Content
from glasshouse.core.words import MARKS
from glasshouse.show.report.view import first_findings


def render(content: Content) -> str:
    """The content that passed the gate, as a small table."""
    rows = "".join(
        f"<tr><td style='text-align:left'>{MARKS[t['status']]} <b>{name}</b></td><td "
        f"style='text-align:left'>{escape(t['status'].replace('_', ' '))}</td>"
        f"<td style='text-align:left'>{escape(str(t['sentence']))}</td></tr>"
        for name, t in content["threats"].items()
    )
    advice = "".join(f"<li>{escape(r['text'])}</li>" for r in content["recommendations"][:3])
    verdict = content["verdict"]
    first = "".join(f"<p><b>Before you read on:</b> {escape(found)}</p>" for found in first_findings(content))
    return (
        f"<div>{first}<p><b>{MARKS[verdict]} {verdict.upper()}</b> {escape(content['headline'])}</p>"
        f"<p>Policy: {escape(content['policy']['name'])}</p><table>{rows}</table>"
        + (f"<ul>{advice}</ul>" if advice else "")
        + "</div>"
    )
