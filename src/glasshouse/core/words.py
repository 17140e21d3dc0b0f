"""Words that several rooms say, each written once: severity, marks, questions, lists, advice on holdouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

Threat: TypeAlias = Literal["identity", "attribute", "membership", "copying"]
Verdict: TypeAlias = Literal["pass", "warn", "fail"]

THREATS: tuple[Threat, ...] = ("identity", "attribute", "membership", "copying")
QUESTIONS: Mapping[str, str] = {
    "identity": "Can a released record be tied to a real person?",
    "attribute": "Does the release tell an attacker something about a real person?",
    "membership": "Can an attacker tell who was in the data?",
    "copying": "Does the release contain the original records, or near copies of them?",
}

# From harmless to grave. What was not assessed is graver than a warning, because it never counts as safe, and less
# grave than a limit that is broken. "no_limit" decides nothing; "failed" is a measure that stopped.
ORDER = ("no_limit", "not_applicable", "pass", "warn", "failed", "not_assessed", "incomplete", "fail")
SEVERITY: Mapping[str, int] = {status: rank for rank, status in enumerate(ORDER)}
MARKS: Mapping[str, str] = {
    "pass": "●",
    "warn": "▲",
    "fail": "✖",
    "incomplete": "◌",
    "not_assessed": "◌",
    "failed": "◌",
    "no_limit": "·",
    "not_applicable": "–",
}

HOLDOUT = "people of the same population whom the synthesiser never saw"
HOLDOUT_ADVICE = (
    "Set 20 to 50 % of the records aside before synthesis (gh.data.split_before_synthesis) and pass them as holdout=. "
    "A split made afterwards compares members with members and proves nothing."
)
SIMILARITY = "Similarity diagnostic: it finds copies, but finding none is no evidence that people are protected."
NEEDS: Mapping[str, str] = {
    "holdout": f"needs a holdout: {HOLDOUT}. {HOLDOUT_ADVICE}",
    "keys": "needs keys: the columns an attacker may know, e.g. keys=['age', 'sex']",
    "target": "needs a target: the column an attacker wants to learn, e.g. target='income'",
    "targets": "needs a target (or several): what an attacker wants to learn, e.g. target='income'",
    "weights": "needs weights: the name of the column with the survey weights",
    "row_paired": "needs a row-paired release (row_paired=True): row i released is row i of the original, perturbed",
    "numeric": "needs at least one numeric column in both tables",
    "categorical": "needs at least one categorical column in both tables",
}


# characters that a terminal obeys instead of showing, and those that turn the direction of what follows
_UNSEEN = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160), *range(8234, 8239), *range(8294, 8298)), "�")


def visible(text: str) -> str:
    """Text that a terminal shows and does not obey: a column may be called anything, also an escape sequence."""
    return text.translate(_UNSEEN)


def worst(statuses: Iterable[str]) -> str:
    """The gravest of several statuses; "no_limit" when there is none."""
    return max(statuses, key=SEVERITY.__getitem__, default="no_limit")


def spoken(names: Iterable[object], most: int = 60) -> str:
    """Names as a person lists them: "age, sex and region"; a name longer than ``most`` characters is cut."""
    said = [text if len(text) <= most else f"{text[: most - 3]}…" for text in map(str, names)]
    if len(said) < 2:
        return "".join(said)
    return f"{', '.join(said[:-1])} and {said[-1]}"


def plural(count: float, one: str, several: str | None = None) -> str:
    """``one`` for a count of 1, else ``several`` (``one`` with an s)."""
    return one if count == 1 else several or f"{one}s"


def counted(count: int, one: str, several: str | None = None) -> str:
    """A count with what is counted: ``1 column``, ``1,200 columns``."""
    return f"{count:,} {plural(count, one, several)}"


def duration(seconds: float) -> str:
    """``40 s``, ``3 min``, ``1.5 h``."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
