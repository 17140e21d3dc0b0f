"""The short form of an assessment in a notebook: verdict, four threats, what to do.

No script, no style sheet, every label escaped.
"""

from __future__ import annotations

from html import escape

from glasshouse.judgement.verdict.assessment import MARKS, Assessment


def render(assessment: Assessment) -> str:
    rows = "".join(
        f"<tr><td style='text-align:left'>{MARKS[t.status]} <b>{t.name}</b></td><td "
        f"style='text-align:left'>{escape(t.status.replace('_', ' '))}</td>"
        f"<td style='text-align:left'>{escape(t.sentence)}</td></tr>"
        for t in assessment.threats.values()
    )
    advice = "".join(f"<li>{escape(r.text)}</li>" for r in assessment.recommendations[:3])
    return (
        f"<div><p><b>{MARKS[assessment.verdict]} {assessment.verdict.upper()}</b> {escape(assessment.headline)}</p>"
        f"<p>Policy: {escape(str(assessment.policy))}</p><table>{rows}</table>"
        + (f"<ul>{advice}</ul>" if advice else "")
        + "</div>"
    )
