"""What the page says about each measure and threat, ready to print: text, marks and positions on the shared axis."""

from __future__ import annotations

from typing import Any

from glasshouse.core.plain import number, percent
from glasshouse.judgement.figures import figure, is_share, title
from glasshouse.judgement.verdict.assessment import Assessment
from glasshouse.judgement.verdict.threats import Judged

WORDS = {
    "pass": "within limits",
    "warn": "concern",
    "fail": "limit broken",
    "not_assessed": "not assessed",
    "failed": "failed",
    "no_limit": "no limit set",
    "incomplete": "incomplete",
}
VERDICT_WORDS = {
    "pass": "No limit broken",
    "warn": "Review before release",
    "fail": "Do not release",
    "incomplete": "No verdict",
}
THREAT_TITLES = {"identity": "Identity", "attribute": "Attribute", "membership": "Membership", "copying": "Copying"}
BASELINE_WORDS = {
    "identity": "without the release",
    "attribute": "guessing",
    "membership": "coin toss",
    "copying": "expected",
}
MOST_TEXT = 900
# said once, at the head of the copying section, instead of after every sentence
CAVEAT = " Similarity diagnostic: it finds copies, but finding none is no evidence that people are protected."


def clip(text: str, most: int = MOST_TEXT) -> str:
    """Long text cut with an ellipsis, so that one label cannot fill the page."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


class MeasureView:
    """One measure as the page shows it. External pages pass through the redactor."""

    def __init__(self, assessment: Assessment, judged: Judged, external: bool) -> None:
        self.judged, self.external = judged, external
        self.result, self.measure = judged.result, judged.measure
        self.name, self.title = judged.name, title(judged.name)
        self.status, self.role = judged.status, judged.role
        self.word = WORDS[judged.status]
        if judged.status == "no_limit" and judged.limits:
            self.word = "nothing to compare with"
        red = assessment.redactor
        value, instead = red.value(self.result) if external else (self.result.value, None)
        self.hidden = instead is not None
        self.value = instead if instead is not None else figure(self.measure, value)
        self.baseline = self._figure(self.result.baseline)
        self.baseline_word = BASELINE_WORDS.get(self.measure.threat or "", "expected")
        self.holdout = None if self.hidden else self._figure(self.result.holdout)
        self.excess = (
            None
            if self.hidden or self.result.excess is None
            else percent(self.result.excess)
            if is_share(self.measure)
            else number(self.result.excess)
        )
        self.interval = (
            None if self.hidden or self.result.interval is None or None in self.result.interval else self._interval()
        )
        own = red.sentence(self.result) if external else self.result.sentence
        self.sentence = clip(own) if self.result.status == "ok" else ""
        self.reason = clip(str(red.reason(self.result.reason) if external else self.result.reason or ""))
        self.limits = judged.limits
        self.warnings = [clip(str(red.reason(w) if external else w)) for w in self.result.warnings]
        self.seconds = assessment.timing.get(self.name)
        self.details = self._details(red.details(self.result) if external else self.result.details)
        options = red.options(self.result) if external else self.result.settings.get("options", {})
        self.options = ", ".join(
            f"{k}={clip(repr(v), 80)}" for k, v in options.items() if k != "n_jobs" and v is not None
        )
        self.releases = self._releases()

    @property
    def ok(self) -> bool:
        return self.result.status == "ok"

    def _figure(self, value: float | int | None) -> str | None:
        return None if value is None else figure(self.measure, value)

    def _interval(self) -> str:
        assert self.result.interval is not None
        low, high = self.result.interval
        return f"{figure(self.measure, low)} to {figure(self.measure, high)}"

    def _releases(self) -> str | None:
        values = [r.value for r in self.result.replicates if r.value is not None]
        if len(values) < 2 or self.external:
            return None
        return f"{len(values)} releases, {figure(self.measure, min(values))} to {figure(self.measure, max(values))}"

    def _details(self, details: dict[str, Any]) -> list[tuple[str, str]]:
        rows = [
            (str(k), v if isinstance(v, str) else number(v))
            for k, v in details.items()
            if isinstance(v, (int, float, str)) and not isinstance(v, bool)
        ]
        return [(clip(k, 60), clip(v, 80)) for k, v in rows[:40]]

    @property
    def axis(self) -> dict[str, float] | None:
        """Positions in percent of the shared axis, for figures that are shares or chances between 0 and 1."""
        if (
            not self.ok
            or self.hidden
            or self.measure.range != (0, 1)
            or self.result.value is None
            or self.measure.better != "lower"
        ):
            return None
        marks: dict[str, float] = {"value": _at(self.result.value)}
        if self.result.interval is not None and None not in self.result.interval:
            marks |= {"low": _at(self.result.interval[0]), "high": _at(self.result.interval[1])}
        for name in ("baseline", "holdout"):
            value = getattr(self.result, name)
            if value is not None:
                marks[name] = _at(value)
        return marks

    @property
    def spoken(self) -> str:
        """The row of the axis in words, for readers who do not see it."""
        parts = [f"{self.title}: {self.value}"]
        parts += [
            f"{label} {text}"
            for label, text in (
                ("interval", self.interval),
                (self.baseline_word, self.baseline),
                ("unseen people", self.holdout),
            )
            if text
        ]
        return ", ".join([*parts, self.word])

    @property
    def how(self) -> list[str]:
        """The docstring in paragraphs: what is counted, and the formula."""
        return [p.replace("\n", " ") for p in (self.measure.__doc__ or "").split("\n\n") if p.strip()]

    @property
    def utility(self) -> dict[str, Any] | None:
        """A utility figure on the common 0 to 1 scale, with the band that a perfect synthesiser would reach, where
        the measure gives them.
        """
        share = self.result.details.get("utility")
        if not self.ok or not isinstance(share, (int, float)):
            return None
        return {"share": _at(share), "text": number(share, 3)}


def _at(value: float) -> float:
    return round(100 * min(max(float(value), 0.0), 1.0), 2)


class ThreatView:
    """One threat as a card: the large figure, the reference value right under it, the sentence."""

    def __init__(self, assessment: Assessment, name: str, views: dict[str, MeasureView], external: bool) -> None:
        threat = assessment.threats[name]
        self.name, self.title, self.question = name, THREAT_TITLES[name], threat.question
        self.status, self.word = threat.status, WORDS[threat.status]
        if not threat.required and threat.status == "not_assessed":
            self.word = "not asked by the policy"
        self.worst = views[threat.worst] if threat.worst else None
        sentence = self.worst.sentence.replace(CAVEAT, "") if self.worst is not None else threat.sentence
        self.sentence = clip(str(assessment.redactor.reason(sentence) if external else sentence))
        self.others = [views[n].title for n in threat.findings if n != threat.worst]
        self.missing = [clip(str(assessment.redactor.reason(m) if external else m)) for m in threat.missing]
        self.deciding = len(threat.deciding)
        self.rows = [v for v in views.values() if v.measure.threat == name and v.role != "structure"]
        order = {"fail": 0, "warn": 1, "pass": 2, "no_limit": 3, "failed": 4, "not_assessed": 5}
        self.rows.sort(key=lambda v: (order[v.status], v.axis is None, -(v.result.excess or 0), v.name))
