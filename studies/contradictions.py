"""Does an assessment contradict itself? Rule, status, words and exit code checked against each other.

Nothing here is a limit: whatever the levels are, what is printed must be what decided.
"""

from __future__ import annotations

import re
from typing import Any

from glasshouse.core.words import MARKS, SEVERITY, THREATS, worst

ALARM = re.compile(
    r"leak is shown|limit is broken|is a fail|must not be released|do not release|copied beyond",
    re.IGNORECASE,
)
CALM = re.compile(r"no leak|no limit is broken|nothing was found|as safe as|no sign", re.IGNORECASE)
# A rule says why it fired: a p value, a limit, or what no chance explains.
REASON = re.compile(
    r"\bp\s*[=<]|limit|chance|strangers|never (saw|in the data)|identif|real (name|record)", re.IGNORECASE
)
CODES = {"pass": (0,), "warn": (0,), "fail": (1,), "incomplete": (3,)}


def contradictions(found: Any) -> list[str]:
    """Every contradiction in one assessment, as sentences; empty when it is of one mind.

    Parameters
    ----------
    found : Assessment
        What ``gh.assess`` returned.

    Returns
    -------
    list of str
    """
    return [*_codes(found), *_verdict(found), *_headline(found), *_sentences(found), *_advice(found), *_rows(found)]


def _codes(found: Any) -> list[str]:
    allowed = CODES[str(found.verdict)]
    if str(found.verdict) == "incomplete" and found.explicit and found.policy.require is None:
        allowed = (0, 3)  # no threat was asked for: the exit code looks at the rules only
    if found.exit_code not in allowed:
        return [f"verdict {found.verdict} has exit code {found.exit_code}"]
    return []


def _verdict(found: Any) -> list[str]:
    """The verdict is the worst of what decided, neither better nor worse."""
    verdict = str(found.verdict)
    required = THREATS if found.policy.require is None else found.policy.require
    decided = [
        "incomplete" if t.status == "not_assessed" and name in required else t.status
        for name, t in found.threats.items()
        if t.status not in ("not_assessed", "not_applicable") or (name in required and t.status == "not_assessed")
    ]
    rules = [o.status for o in found.outcomes.outcomes if o.status in ("warn", "fail")]
    also = [str(s) for s in (getattr(found, "overall", None),) if isinstance(s, str)]
    expected = worst([*decided, *rules, *also])
    said = []
    if verdict != expected and not (verdict == "incomplete" and found.outcomes.unmeasured):
        said.append(f"verdict {verdict}, but the worst of what decided is {expected}")
    for threat in found.threats.values():
        if threat.status in ("warn", "fail") and SEVERITY[threat.status] > SEVERITY[verdict]:
            said.append(f"{threat.name} is {threat.status} and the verdict {verdict}")
    return said


def _headline(found: Any) -> list[str]:
    verdict, words = str(found.verdict), found.headline
    said = []
    if verdict == "pass" and ALARM.search(words.replace("No limit is broken", "")):
        said.append(f"headline of a pass: {words}")
    if verdict == "fail" and CALM.search(words):
        said.append(f"headline of a fail: {words}")
    if not repr(found).startswith(f"{MARKS[verdict]} {verdict.upper()}"):
        said.append(f"the printout does not begin with {verdict.upper()}")
    return said


def _sentences(found: Any) -> list[str]:
    said = []
    for threat in found.threats.values():
        if threat.status == "pass" and ALARM.search(threat.sentence):
            said.append(f"{threat.name} passes and says: {threat.sentence}")
        if threat.status in ("warn", "fail") and CALM.search(threat.sentence):
            said.append(f"{threat.name} is {threat.status} and says: {threat.sentence}")
        if threat.status == "fail" and not REASON.search(threat.sentence):
            said.append(f"{threat.name} fails without a reason: {threat.sentence}")
        if threat.status == "not_assessed" and not re.search(r"not assessed|not enough data", threat.sentence, re.I):
            said.append(f"{threat.name} was not assessed and says: {threat.sentence}")
    return said


def _advice(found: Any) -> list[str]:
    """Published names and copies come first, then the gravest threat."""
    alarmed = {t.name: _alarm(t) for t in found.threats.values() if _alarm(t) in ("warn", "fail")}
    advice = [r for r in found.recommendations if r.status in ("warn", "fail")]
    if not alarmed or not advice:
        return [] if not alarmed else ["something warns or fails, and nothing is advised"]
    first = advice[0]
    measure = found.results[first.measure].measure
    if measure.alone == "fail" or measure.side == "utility":  # published names, verbatim copies, a copy alarm
        return []
    gravest = {name for name, status in alarmed.items() if status == worst(alarmed.values())}
    wanted = {"copying"} if "copying" in alarmed else gravest
    if measure.threat not in wanted:
        said = " or ".join(sorted(wanted))
        return [f"first advice is about {measure.threat} ({first.measure}), the strongest finding about {said}"]
    return []


def _alarm(threat: Any) -> str:
    """What a threat warns of, also where the policy asks for more data before it may be called assessed."""
    return threat.leak.status if threat.status == "not_assessed" and threat.leak is not None else threat.status


def _rows(found: Any) -> list[str]:
    """No measure that decides is worse than the threat it speaks about."""
    said = []
    for judged in found.judged:
        threat = found.threats.get(judged.measure.threat or "")
        if threat is None or not judged.decides or judged.status not in ("warn", "fail"):
            continue
        status = _alarm(threat)
        if status not in SEVERITY or SEVERITY[judged.status] > SEVERITY[status]:
            said.append(f"{judged.name} is {judged.status}, its threat {threat.name} {threat.status}")
    return said
