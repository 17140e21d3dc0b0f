"""What may stand in a report that leaves the house: no value of a person, no record, no count so small that it is one.

Two guards. What a measure declares ``private`` is left out. Everything else is compared with the data themselves:
text that is a label of the original, numbers that are one of its values, and counts below the minimum do not pass,
wherever they came from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from glasshouse.core.plain import Content, p_below, p_bound, percent
from glasshouse.core.result import Result
from glasshouse.judgement.figures import figure as written

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

_WORD = re.compile(r"\w+", re.UNICODE)
_SMALL = re.compile(r"(?<![\w.,])([1-9]\d*)(?![\w%]|[.,]\d|\s?%)")
# A number with as many significant digits is so particular that finding it in a report means it came from the data.
_WHOLE_VALUE_DIGITS = 4


# Figures of single releases stay in the house, like the releases themselves.
RELEASES = ("release_min", "release_max", "release_mean", "worst_release", "stacked")


class Redactor:
    """Judges text and numbers against the data of one pair."""

    def __init__(self, pair: Pair, min_count: int = 5) -> None:
        self.min_count = min_count
        self.n = pair.n("original")
        self.names = set(pair.schema)
        self._tokens: dict[str, list[str]] = {}
        self.labels: set[str] = set()
        self.numbers: set[float] = set()
        for column, spec in pair.schema.items():
            for table in ("original", "holdout"):
                if table == "holdout" and not pair.has_holdout:
                    continue
                frame = pair.local(table)
                if column not in frame.columns:
                    continue
                values = frame[column].unique().drop_nulls()
                if spec.storage in ("text", "time"):
                    self.labels.update(values.cast(pl.String).to_list())
                elif spec.storage in ("int", "float"):
                    self.numbers.update(v for v in values.to_list() if _telling(v))
        for label in self.labels:
            words = _WORD.findall(label)
            if words and (len(label) >= 3 or not label.isascii()):
                self._tokens.setdefault(max(words, key=len), []).append(label)

    # -- text ----------------------------------------------------------------------------------------------------------

    def holds_label(self, text: str, spoken: frozenset[str] = frozenset()) -> bool:
        """Whether a label of the original stands in ``text`` as a word or phrase of its own; column names are no
        labels.
        """
        for word in set(_WORD.findall(text)):
            for label in self._tokens.get(word, ()):
                if label in self.names or label in spoken:
                    continue
                if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text):
                    return True
        return False

    def holds_small_count(self, text: str) -> bool:
        """Whether a count below the minimum is spelled out in ``text``."""
        return any(0 < int(found) < self.min_count for found in _SMALL.findall(text))

    def sentence(self, result: Result) -> str:
        """The measure's own sentence when it is safe, else one made of the shares alone."""
        text = result.sentence
        if (
            text
            and not self._small_share(result)
            and not self.holds_label(text, _own_words(result))
            and not self.holds_small_count(text)
            and not self.holds_number(text)
        ):
            return text
        return self.neutral(result)

    def neutral(self, result: Result) -> str:
        summary = result.measure.summary if result.measure is not None else result.name
        if result.status != "ok":
            return "Not assessed."
        guess = "" if result.baseline is None else f" Without the release: {self.figure(result, result.baseline)}."
        return f"{summary.rstrip('.')}: {self.figure(result, result.value)}.{guess}"

    def holds_number(self, text: str) -> bool:
        """Whether one of the original's own numbers, told by its digits, stands in ``text``."""
        for found in re.findall(r"\d[\d,]*\.?\d*", text):
            try:
                number = float(found.replace(",", "").rstrip("."))
            except ValueError:
                continue
            if number in self.numbers:
                return True
        return False

    def may_hold(self, text: str) -> bool:
        """Whether a text of ours may stand in an external report."""
        return not (self.holds_label(text) or self.holds_small_count(text) or self.holds_number(text))

    def count(self, count: int) -> int | str:
        """A count, or "<5" where it is small."""
        return f"<{self.min_count}" if self.small(count) else count

    def replicates(self, result: Result) -> list[Content]:
        """Single releases stay in the house."""
        return []

    def tells_leak(self, result: Result) -> bool:
        """Whether members minus strangers may be told: no count behind it, nor its complement, is small."""
        counts = result.counts
        if counts is None or counts.control_successes is None or counts.control_attempts is None:
            return False
        cells = (
            counts.successes,
            counts.attempts - counts.successes,
            counts.control_successes,
            counts.control_attempts - counts.control_successes,
        )
        return not any(0 < cell < self.min_count for cell in cells)

    def columns(self, result: Result) -> dict[str, Content]:
        """Per column whether something was lost and how much, in units of sampling noise; not the figure itself."""
        return {
            name: {
                "figure": None,
                "lost": c.lost,
                "of_tolerable": None if c.of_tolerable is None else round(c.of_tolerable, 1),
            }
            for name, c in result.columns.items()
        }

    def p(self, p: float) -> float:
        """The level a p value lies below: an exact one gives the counts behind it back."""
        return p_bound(p)

    def p_words(self, p: float) -> str:
        """The same in words."""
        return p_below(p)

    def size(self, share: float) -> float:
        """A detection limit, rounded up to 1, 2 or 5 times a power of ten: it follows from the share of strangers
        exposed."""
        return next(step * 10.0**power for power in range(-6, 1) for step in (1, 2, 5) if step * 10.0**power >= share)

    def text(self, text: str | None) -> str | None:
        """A reason, a warning or a note, unless it names values of the data."""
        if text is None or not (self.holds_label(text) or self.holds_number(text)):
            return text
        return "left out of this report: it names values of the data"

    # -- numbers -------------------------------------------------------------------------------------------------------

    def small(self, number: Any) -> bool:
        """A count that is shown as "<5"."""
        return isinstance(number, int) and not isinstance(number, bool) and 0 < number < self.min_count

    def _small_share(self, result: Result) -> bool:
        measure = result.measure
        if measure is None or measure.side != "disclosure" or not isinstance(result.value, (int, float)):
            return False
        if measure.range == (0, 1) and (result.flag is not None or measure.unit == "share"):
            return 0 < result.value * self.n < self.min_count
        return self.small(result.value)

    def value(self, result: Result) -> tuple[float | int | None, str | None]:
        """The headline, or None and how to print it when it stands for fewer people than the minimum."""
        if not self._small_share(result):
            return result.value, None
        if isinstance(result.value, int) and result.measure is not None and result.measure.range != (0, 1):
            return None, f"<{self.min_count}"
        return None, f"< {percent(self.min_count / self.n)}"

    def figure(self, result: Result, figure: float | int | None) -> str:
        kept, instead = self.value(result) if figure == result.value else (figure, None)
        share = result.measure is not None and result.measure.is_share
        return instead if instead is not None else written(kept, share)

    def details(self, result: Result) -> Content:
        """Figures under their names, without labels, without the original's values, without small counts."""
        private = set() if result.measure is None else set(result.measure.private)
        settings = set() if result.measure is None else set(result.measure.options)  # shown among the options, unmasked
        kept = {
            k: f"<{self.min_count}" if _counts(k) and self._few(v) else self._clean(v, result)
            for k, v in result.details.items()
            if k not in private
            and k not in settings
            and k not in RELEASES
            and not self._is_label(k)
            # a p value gives the counts behind it back; its level stands beside the figure
            and not (k.startswith("p_") or k == "p")
        }
        return {k: v for k, v in kept.items() if v is not None}

    def options(self, result: Result) -> Content:
        private = set() if result.measure is None else set(result.measure.private)
        options = result.settings.get("options", {})
        return {k: v for k, v in options.items() if k not in private and not (isinstance(v, (list, dict)) and v)}

    def _few(self, number: object) -> bool:
        """A count below the minimum, also where ties make it a fraction."""
        return isinstance(number, float) and 0 < number < self.min_count

    def _is_label(self, text: str) -> bool:
        return text in self.labels and text not in self.names

    def _clean(self, item: Any, result: Result) -> Any:
        if isinstance(item, bool) or item is None:
            return item
        if isinstance(item, int):
            return f"<{self.min_count}" if self.small(item) else None if float(item) in self.numbers else item
        if isinstance(item, float):
            few = (
                result.measure is not None
                and result.measure.side == "disclosure"
                and 0 < item < 1
                and item * self.n < self.min_count
            )
            return None if few or item in self.numbers else item
        if isinstance(item, str):
            return None if self._is_label(item) or self.holds_label(item) else item
        if isinstance(item, Mapping):
            inner = {
                k: self._clean(v, result)
                for k, v in item.items()
                if k in self.names or not (self._is_label(k) or self.holds_label(k))
            }
            return {k: v for k, v in inner.items() if v is not None}
        return None  # lists are findings or curves per level; they stay in the house


def _counts(name: str) -> bool:
    """Whether a detail is a count by its name."""
    return name.startswith("n_") or name.endswith("_n")


def _telling(value: Any) -> bool:
    """Whether a number is so particular that finding it in a report means it came from the data."""
    text = f"{abs(float(value)):.12g}".replace(".", "").strip("0")
    return len(text) >= _WHOLE_VALUE_DIGITS


def _own_words(result: Result) -> frozenset[str]:
    """Words of the measure's own declaration: a data label that equals one of them says nothing here."""
    if result.measure is None:
        return frozenset()
    return frozenset(
        _WORD.findall(f"{result.measure.summary} {result.name} {result.measure.caveats} {result.measure.attacker}")
    )
