"""What may be recommended: no release that fails, rings a copy alarm, or about whose leaks nothing is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from glasshouse.core.plain import Content
from glasshouse.core.words import SEVERITY, spoken

if TYPE_CHECKING:
    from glasshouse.judgement.rumap.map import RUMap
    from glasshouse.judgement.verdict.assessment import Assessment

ASSESSED = ("pass", "warn", "fail")
MIN_UTILITY = 0.5


class Exposed(NamedTuple):
    """Members exposed beyond strangers, of 1,000, and the threat that shows it."""

    of_thousand: float
    threat: str


def copy_alarms(assessments: Mapping[str, Assessment]) -> dict[str, list[str]]:
    """By release the measures whose alarm only a copy sets off; releases without any left out."""
    found = {}
    for release, assessment in assessments.items():
        rung = {
            name
            for name, joint in assessment.results.items()
            for result in (joint, *joint.replicates)
            if result.measure is not None and result.measure.alarm and result.null is not None and result.null.copied
        }
        if rung:
            found[release] = sorted(rung)
    return found


def threats_with(assessment: Assessment, *statuses: str) -> list[str]:
    """Names of the threats in one of these states."""
    return [name for name, threat in assessment.threats.items() if threat.status in statuses]


def exposed(assessment: Assessment) -> Exposed | None:
    """The largest leak among the gravest threats; None where none is warned about or failed, or none counts people."""
    gravest = threats_with(assessment, "fail") or threats_with(assessment, "warn")
    found = [
        Exposed(effect, name)
        for name in gravest
        if (effect := assessment.threats[name].effect) is not None and effect > 0
    ]
    return max(found, default=None)


def unmeasured(ru: RUMap, release: str, inside: bool) -> str:
    """That a release is not fully measured, and inside which measures gave it no figure: outside, a few people may
    decide that."""
    lacking = ru.unmeasured[release] if inside else []
    return "not fully measured" + (f": no figure from {spoken(lacking)}" if lacking else "")


def barred(ru: RUMap, inside: bool = True) -> dict[str, str]:
    """Releases that cannot be recommended whatever their place, and why."""
    made = {}
    for release, ok in zip(ru.releases, ru._complete, strict=True):
        assessment = ru.assessments.get(release)
        if assessment is not None and assessment.verdict == "fail":
            made[release] = "fails"
        elif ru.alarms.get(release):
            made[release] = "rings a copy alarm"
        elif not ok:
            made[release] = f"is {unmeasured(ru, release, inside)}"
        elif assessment is not None and not threats_with(assessment, *ASSESSED):
            made[release] = "may leak: nothing that was run could tell"
        elif assessment is not None and assessment.verdict == "incomplete" and threats_with(assessment, "warn"):
            # what is likely in one threat and was not asked in another is no better than what nobody could tell
            made[release] = "is warned about, and not every threat was assessed"
    return made


def written(ru: RUMap, side: str, i: int) -> str:
    """Risk or utility of a release as text."""
    value = float(ru._composites[side][i])
    return f"{value:.2f}" if np.isfinite(value) else "–"


def recommend(
    ru: RUMap,
    min_utility: float = MIN_UTILITY,
    max_risk: float | None = None,
    write: Callable[[RUMap, str, int], str] = written,
    inside: bool = True,
) -> Content:
    """The release to take and the reason; ``release`` is None when there is none.

    The mildest verdict first, then the lowest risk; among releases whose risk cannot be told from that, the most
    useful one. ``write`` says how a figure is told, ``inside`` whether the reader may know which measures gave none.
    """
    risk, utility = ru._composites["risk"], ru._composites["utility"]
    wanted = f"utility of at least {min_utility:g}" + ("" if max_risk is None else f" and risk of at most {max_risk:g}")
    useful = np.flatnonzero((utility >= min_utility) & (risk <= (np.inf if max_risk is None else max_risk)))
    if not len(useful):
        return {"release": None, "reason": f"no release has a {wanted}"}
    out = barred(ru, inside)
    open_ = [int(i) for i in useful if ru.releases[i] not in out]
    if not open_:
        why = "; ".join(f"{ru.releases[i]} {out[ru.releases[i]]}" for i in useful)
        return {"release": None, "reason": f"of the releases with a {wanted}, none may be recommended: {why}"}
    mildest = min(_gravity(ru, i) for i in open_)
    pool = [i for i in open_ if _gravity(ru, i) == mildest]
    lowest = min(pool, key=lambda i: (risk[i], -utility[i]))
    alike = [lowest, *(i for i in ru._unseparated(lowest) if i in pool)]
    best = max(alike, key=lambda i: (utility[i], -risk[i]))
    name = ru.releases[best]
    verdicts = " that may be recommended" if ru.assessments else ""
    if len(pool) == 1:
        only = "is" if len(open_) == 1 else "has the mildest verdict among those"
        reason = f"{name} {only}{' the only release' if len(open_) == 1 else ''} with a {wanted}{verdicts}"
    elif len(alike) == 1:
        at = write(ru, "risk", best)
        reason = f"{name} has the lowest risk ({at}) among the {len(pool)} releases with a {wanted}{verdicts}"
    else:
        others = spoken(ru.releases[i] for i in sorted(alike))
        at = write(ru, "utility", best)
        reason = (
            f"{name} has the highest utility ({at}) among {others}, whose risks cannot be told apart: the differences "
            "are within noise"
        )
    return {"release": name, "reason": reason + _reservation(ru, name)}


def _gravity(ru: RUMap, i: int) -> tuple[int, bool]:
    assessment = ru.assessments.get(ru.releases[i])
    if assessment is None:
        return 0, False
    return SEVERITY[assessment.verdict], bool(threats_with(assessment, "warn"))


def _reservation(ru: RUMap, name: str) -> str:
    assessment = ru.assessments.get(name)
    if assessment is None:
        return "; no verdict was given, for the figures were computed elsewhere"
    said = ""
    if assessment.verdict == "incomplete":
        left = spoken(threats_with(assessment, "not_assessed"))
        said = "; this rests on what was measured" + (f": {left} could not be assessed" if left else "")
    warned = threats_with(assessment, "warn")
    return said + (f"; review {spoken(warned)} before release" if warned else "")
