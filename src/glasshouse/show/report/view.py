"""What the page says about each measure and threat, ready to print: text, marks and positions on the shared axis.

Views read the content that passed the gate and nothing else.
"""

from __future__ import annotations

import re

from glasshouse.core.plain import Content, number, percent
from glasshouse.core.words import SEVERITY, SIMILARITY
from glasshouse.judgement.figures import figure

WORDS = {
    "pass": "no leak seen",
    "warn": "leak likely",
    "fail": "leak shown",
    "not_assessed": "not assessed",
    "failed": "failed",
    "no_limit": "no limit set",
    "incomplete": "incomplete",
    "not_applicable": "does not apply",
}
# A limit of the policy or of a declaration speaks of limits, not of leaks.
LIMIT_WORDS = {"pass": "within limits", "warn": "concern", "fail": "limit broken"}
# A measure that does not decide breaks no limit of the policy, whatever its own declaration says.
OWN_WORDS = {"pass": "within its own limits", "warn": "beyond its own limit", "fail": "far beyond its own limit"}
UTILITY_WORDS = {"pass": "no loss seen", "warn": "beyond sampling noise"}
VERDICT_WORDS = {
    "pass": "No leak seen",
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


def after_word(content: Content) -> str:
    """The headline where the verdict's word stands right above it, so that nothing is said twice in a row."""
    said = str(content["headline"])
    rest = said.removeprefix(f"{VERDICT_WORDS[content['verdict']]}: ")
    return rest[:1].upper() + rest[1:]


def clip(text: object, most: int = MOST_TEXT) -> str:
    """Long text cut with an ellipsis, so that one label cannot fill the page."""
    said = "" if text is None else str(text)
    return said if len(said) <= most else said[: most - 1].rstrip() + "…"


def sentences(text: str) -> list[str]:
    """A text in sentences; a full stop ends one where a capital or a figure follows."""
    return re.split(r"(?<=[.!?]) (?=[A-Z0-9])", text)


def cut(text: str, most: int) -> str:
    """The first sentences of a text that fit, or the first one with an ellipsis."""
    kept = ""
    for part in sentences(text):
        longer = f"{kept} {part}".lstrip()
        if len(longer) > most:
            return kept or clip(text, most)
        kept = longer
    return kept


def worst_first(view: MeasureView) -> int:
    """Sorting key: the gravest first; what gave no figure last."""
    return -SEVERITY[view.status] if view.ok else 1


class MeasureView:
    """One measure as a page shows it."""

    def __init__(self, shown: Content, seconds: float | None = None) -> None:
        self.shown, self.seconds = shown, seconds
        self.name, self.title = str(shown["name"]), str(shown["title"])
        self.status, self.role = str(shown["judgement"]), str(shown["role"])
        self.threat, self.family, self.side = shown["threat"], shown["family"], shown["side"]
        self.ok = shown["status"] == "ok"
        self.word = self._word()
        self.hidden = shown["shown"] is not None
        self.value = shown["shown"] if self.hidden else self._figure(shown["value"]) or "–"
        self.baseline = shown["baseline_shown"] or self._figure(shown["baseline"])
        self.holdout = shown["holdout_shown"] or self._figure(shown["holdout"])
        self.baseline_word = BASELINE_WORDS.get(str(self.threat), "expected")
        self.excess = self._figure(shown["excess"])
        interval = shown["interval"]
        self.interval = (
            None if not interval or None in interval else " to ".join(str(self._figure(end)) for end in interval)
        )
        # the page says this once, at the head of the copying section
        self.sentence = clip(str(shown["sentence"]).removesuffix(f" {SIMILARITY}")) if self.ok else ""
        self.reason = clip(shown["reason"])
        self.limits, self.comparison = shown["limits"], clip(shown["comparison"])
        self.warnings = [clip(w) for w in shown["warnings"]]
        self.unit, self.cite = shown["unit"], shown["citation"]
        self.attacker, self.caveats = shown["attacker"], shown["caveats"]
        self.how = [p.replace("\n", " ") for p in str(shown["how"]).split("\n\n") if p.strip()]
        self.details = _rows(shown["details"])
        self.options = ", ".join(
            f"{k}={clip(repr(v), 80)}" for k, v in shown["settings"]["options"].items() if v is not None
        )
        self.releases = self._releases()

    def _word(self) -> str:
        if self.status == "no_limit" and self.shown["limits"]:
            return "nothing to compare with"
        if self.role == "utility":
            return UTILITY_WORDS.get(self.status, WORDS[self.status])
        if self.role == "evidence":
            return WORDS[self.status]
        words = LIMIT_WORDS if self.shown["decides"] else OWN_WORDS
        return words.get(self.status, WORDS[self.status])

    def _figure(self, value: float | int | None) -> str | None:
        return None if value is None else figure(value, self.shown["is_share"])

    def _releases(self) -> str | None:
        values = [r["value"] for r in self.shown["replicates"] if r["value"] is not None]
        if len(values) < 2:
            return None
        return f"{len(values)} releases, {self._figure(min(values))} to {self._figure(max(values))}"

    @property
    def axis(self) -> dict[str, float] | None:
        """Positions in percent of the shared axis, for figures that are shares or chances between 0 and 1."""
        shown = self.shown
        bounded = shown["range"] == [0, 1] and shown["direction"].startswith("lower")
        if not self.ok or self.hidden or not bounded or shown["value"] is None:
            return None
        marks = {"value": at(shown["value"])}
        if self.interval is not None:
            marks |= {"low": at(shown["interval"][0]), "high": at(shown["interval"][1])}
        return marks | {name: at(shown[name]) for name in ("baseline", "holdout") if shown[name] is not None}

    @property
    def spoken(self) -> str:
        """The row of the axis in words, for readers who do not see it."""
        parts = [
            ("interval", self.interval),
            (self.baseline_word, self.baseline),
            ("people never in the data", self.holdout),
        ]
        said = [f"{label} {text}" for label, text in parts if text]
        return ", ".join([f"{self.title}: {self.value}", *said, self.word])

    @property
    def utility(self) -> Content | None:
        """A utility figure on the common 0 to 1 scale, where the measure gives one."""
        share = self.shown["utility"]
        return None if not self.ok or share is None else {"share": at(share), "text": number(share, 3)}


def _rows(details: Content) -> list[tuple[str, str]]:
    rows = [
        (str(k), v if isinstance(v, str) else number(v))
        for k, v in details.items()
        if isinstance(v, (int, float, str)) and not isinstance(v, bool)
    ]
    return [(clip(k, 60), clip(v, 80)) for k, v in rows[:40]]


def at(value: float) -> float:
    """A share as a position in percent, held between 0 and 100."""
    return round(100 * min(max(float(value), 0.0), 1.0), 2)


class ThreatView:
    """One threat as a card: the large figure, the reference value right under it, the sentence."""

    def __init__(self, name: str, shown: Content, views: dict[str, MeasureView]) -> None:
        self.name, self.title, self.question = name, THREAT_TITLES[name], shown["question"]
        self.status = shown["status"]
        self.word = (
            WORDS[self.status] if shown["p_value"] is not None else LIMIT_WORDS.get(self.status, WORDS[self.status])
        )
        if not shown["required"] and self.status == "not_assessed":
            self.word = "not asked by the policy"
        self.worst = views[shown["worst"]] if shown["worst"] else None
        self.sentence = clip(str(shown["sentence"]).removesuffix(f" {SIMILARITY}"))
        self.short = cut(self.sentence, 200)
        self.limit, self.comparison = clip(shown["limit"]), clip(shown["comparison"])
        self.p_value = shown["p_shown"]
        self.effect, self.span = _of_thousand(shown["effect"]), _span(shown["interval"])
        self.detects = None if shown["detection_limit"] is None else percent(shown["detection_limit"])
        self.others = [views[n].title for n in shown["findings"] if n != shown["worst"]]
        self.missing = [clip(m) for m in shown["missing"]]
        self.deciding = len(shown["deciding"])
        self.rows = [v for v in views.values() if v.threat == name and v.role != "structure"]
        self.rows.sort(key=lambda v: (worst_first(v), v.axis is None, -(v.shown["excess"] or 0), v.name))


def _of_thousand(effect: float | None) -> str | None:
    """Members exposed beyond strangers; what lies below 0 is nobody."""
    return None if effect is None else f"{max(round(effect), 0):,} of 1,000"


def _span(interval: list[float] | None) -> str | None:
    return None if interval is None else " to ".join(f"{max(round(end), 0):,}" for end in interval)


def views_of(content: Content, timing: dict[str, float] | None = None) -> dict[str, MeasureView]:
    """Every measure of the content as a view, by name."""
    return {name: MeasureView(shown, (timing or {}).get(name)) for name, shown in content["results"].items()}


def first_findings(content: Content) -> list[str]:
    """What must be known about the tables before any figure is read."""
    told = dict.fromkeys(found["message"] for found in content["data"]["findings"] if found["first"])
    return [clip(message, 400) for message in told]


def percent_of(count: int, total: int) -> str:
    """A count with its share: '12 (3.1 %)'."""
    return f"{count:,} ({percent(count / total)})" if total else f"{count:,}"
