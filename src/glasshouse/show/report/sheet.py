"""The first page: what fits on one sheet of A4 whatever the data are called, and how much more the long part holds."""

from __future__ import annotations

from glasshouse.core.plain import Content
from glasshouse.show.report.view import ThreatView, after_word, clip, cut, sentences

# A sheet has room for this much: three pieces of advice, six keys and four tables in the length given here. What is
# cut or counted stands in full in the long part.
MOST_ADVICE, ADVICE = 3, 300
MOST_FINDINGS, FINDING = 2, 240
MOST_NAMES, NAME = 6, 28
MOST_TABLES = 4
HEADLINE, LEAD, DECIDED, POLICY, WHY = 320, 380, 160, 80, 120
ROOMY = 1700  # letters that fit in print at the usual size; more are printed smaller


def sheet(content: Content, threats: list[ThreatView], lead: ThreatView, first: list[str]) -> Content:
    """What the first page says, cut to its room.

    Parameters
    ----------
    content
        What the gate lets through.
    threats, lead
        The four threats, and the one that decides.
    first
        What must be known about the tables before any figure is read.
    """
    advice = to_do(content)
    speaks = content["verdict"] in ("fail", "warn", "incomplete")
    decided = content["verdict"] in ("fail", "warn") and lead.comparison
    told = lead.comparison in content["headline"]
    data, policy = content["data"], content["policy"]
    shown = {
        "first": [cut(found, FINDING) for found in first[:MOST_FINDINGS]],
        "more_first": max(len(first) - MOST_FINDINGS, 0),
        "headline": cut(after_word(content), HEADLINE),
        "lead": cut(_new(lead, content["headline"]), LEAD) if speaks else "",
        "decided": clip(f"{lead.limit}; found {lead.comparison}", DECIDED) if decided and not told else "",
        **_some(data["keys"], "keys"),
        **_some(data["target"], "target"),
        "advice": [{**one, "text": cut(one["text"], ADVICE)} for one in advice[:MOST_ADVICE]],
        "more_advice": max(len(advice) - MOST_ADVICE, 0),
        "cut": any(len(one["text"]) > ADVICE for one in advice[:MOST_ADVICE]),
        "nothing_to_do": "Nothing that was measured calls for a change of the release.",
        "tables": data["tables"][:MOST_TABLES],
        "more_tables": max(len(data["tables"]) - MOST_TABLES, 0),
        "policy": clip(policy["title"] or policy["name"], POLICY),
        "why": cut(policy["why"], WHY).rstrip("."),
    }
    cards = sum(len(threat.short) for threat in threats if threat.worst is None)
    return {**shown, "dense": cards + _letters(shown) > ROOMY}


def to_do(content: Content) -> list[Content]:
    """The advice of the measures, then what is missing for the threats that could not be assessed, each once."""
    open_ = [t for t in content["threats"].values() if t["status"] == "not_assessed" and t["required"]]
    missing = dict.fromkeys(way for threat in open_ for way in threat["missing"])
    found = [{"status": one["status"], "text": clip(one["text"])} for one in content["recommendations"]]
    said = {one["text"] for one in found}
    return [*found, *({"status": "not_assessed", "text": clip(way)} for way in missing if clip(way) not in said)]


def _some(names: list[str], what: str) -> Content:
    return {
        what: [clip(name, NAME) for name in names[:MOST_NAMES]],
        f"more_{what}": max(len(names) - MOST_NAMES, 0),
    }


def _new(lead: ThreatView, headline: str) -> str:
    """The sentences about the leading threat without the rule that the headline has just told."""
    parts = sentences(lead.sentence)
    told = bool(lead.comparison) and lead.comparison in headline
    return " ".join(part for part in parts if not (told and lead.comparison in part))


def _letters(shown: object) -> int:
    """How much there is to print."""
    if isinstance(shown, str):
        return len(shown)
    if isinstance(shown, dict):
        return sum(map(_letters, shown.values()))
    return sum(map(_letters, shown)) if isinstance(shown, list) else 0
