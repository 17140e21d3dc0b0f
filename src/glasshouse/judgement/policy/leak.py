"""The leak section of a policy: at which levels a leak counts as shown, how large one may be, what must be visible.

A policy file writes it as a table, ``[leak]``, with ``fail = 0.01`` (combined p value below which the release fails),
``warn = 0.05`` (... is warned about), ``copy_warn = 0.01`` (level of a copy test on its own), ``tolerance = 5``
(members exposed beyond strangers, of 1,000, up to which a leak that is shown only warns) and ``detects = 0.10`` (share
of members: a threat whose tests would have missed a leak of this size is not assessed).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from glasshouse.core.errors import InputError
from glasshouse.core.plain import percent
from glasshouse.core.words import THREATS
from glasshouse.judgement.policy.parsing import check_keys, number

_LEVELS = ("fail", "warn", "copy_warn")
_KEYS = (*_LEVELS, "tolerance", "detects", "why")


@dataclass(frozen=True)
class LeakLevels:
    """When a leak is shown, and when it is too large.

    Parameters
    ----------
    fail, warn
        Levels of the combined exchange tests: over the measures of a threat, then over the threats.
    copy_warn
        Level at which a test made for few copies warns on its own. The tests for copies that are verbatim, or but for
        one column, and for published identifiers warn on their own at ``warn`` and fail at ``fail``, whatever the
        tolerance.
    tolerance
        Members exposed beyond strangers, of 1,000. A leak that is shown but surely not larger warns.
    detects
        The smallest leak, as a share of members, that must have been visible with 80 % power, for all threats or by
        threat; None asks for no more than that a leak of half of the people would have been.
    why : str
        Where the numbers come from.
    """

    fail: float = 0.01
    warn: float = 0.05
    copy_warn: float = 0.01
    tolerance: float = 5.0
    detects: float | Mapping[str, float] | None = None
    why: str = ""

    def must_detect(self, threat: str) -> float | None:
        """The leak that the tests of a threat must be able to see; None when the policy does not say."""
        return self.detects.get(threat) if isinstance(self.detects, Mapping) else self.detects

    def text(self) -> str:
        """The section as a phrase."""
        if self.detects is None:
            sees = "any power"
        elif isinstance(self.detects, Mapping):
            sees = "must see " + ", ".join(f"{percent(share)} ({name})" for name, share in self.detects.items())
        else:
            sees = f"must see {percent(self.detects)}"
        return (
            f"leak: p >= {self.warn:g} (warn), {self.fail:g} (fail); a copy test alone {self.copy_warn:g}; "
            f"{self.tolerance:g} of 1,000 members tolerated; {sees}"
        )

    def to_dict(self) -> dict[str, object]:
        """The section as a policy file writes it."""
        return {**asdict(self), "detects": dict(self.detects) if isinstance(self.detects, Mapping) else self.detects}


def parse_leak(entry: object, where: str) -> LeakLevels:
    """The [leak] table of a policy file; every mistake is one sentence that names the place.

    Parameters
    ----------
    entry
        The table as TOML gives it.
    where
        The place, for error messages.

    Returns
    -------
    LeakLevels
        With the defaults where the file says nothing.
    """
    check_keys(entry, _KEYS, where)
    assert isinstance(entry, Mapping)

    def given(name: str) -> float:
        return float(number(entry.get(name, getattr(LeakLevels, name)), f"{where}: {name}"))

    levels = LeakLevels(
        given("fail"), given("warn"), given("copy_warn"), given("tolerance"), why=str(entry.get("why", ""))
    )
    for name in _LEVELS:
        if not 0 < getattr(levels, name) < 1:
            raise InputError(f"{where}: {name} is a level between 0 and 1, e.g. {name} = {getattr(LeakLevels, name)}")
    if levels.warn < levels.fail:
        raise InputError(f"{where}: the level to warn lies below the level to fail, so it could never warn")
    if levels.copy_warn > levels.warn:
        raise InputError(
            f"{where}: copy_warn is the level at which one test for few copies warns alone; it cannot lie above warn, "
            "the level of all tests together"
        )
    if not 0 <= levels.tolerance <= 1000:
        raise InputError(f"{where}: tolerance is a number of members of 1,000, e.g. tolerance = 5")
    return replace(levels, detects=_detects(entry.get("detects"), f"{where}: detects"))


def _detects(entry: object, where: str) -> float | dict[str, float] | None:
    if entry is None:
        return None
    if isinstance(entry, Mapping):
        check_keys(entry, THREATS, where)
        return {threat: _share(value, f"{where}, {threat}") for threat, value in entry.items()}
    return _share(entry, where)


def _share(entry: object, where: str) -> float:
    share = float(number(entry, where))
    if not 0 < share <= 1:
        raise InputError(f"{where} is a share of members between 0 and 1, e.g. 0.02")
    return share
