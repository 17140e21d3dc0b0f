"""What the permutation test and the choice of a threshold give back."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from glasshouse.core.plain import percent
from glasshouse.core.result import Frame
from glasshouse.disclosure.rapid.scores import Array


@dataclass(frozen=True)
class RapidTest:
    """Outcome of the permutation test."""

    observed: float
    null_mean: float
    null_sd: float
    effect_size: float | None
    p_value: float
    permutations: int
    null: str
    exact_mean: float
    exact_sd: float
    p_normal: float
    alpha: float = 0.05
    values: Array = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @property
    def significant(self) -> bool:
        return self.p_value <= self.alpha

    @property
    def sentence(self) -> str:
        what = (
            "people are relabelled at random"
            if self.null == "labels"
            else "the attacker learns from a release with shuffled targets"
        )
        size = "" if self.effect_size is None else f", {self.effect_size:.1f} standard deviations away"
        return (
            f"RAPID is {percent(self.observed)}; when {what} it is {percent(self.null_mean)} on average{size} "
            f"(p = {self.p_value:.4g}, {self.permutations:,} permutations)."
        )

    def to_dict(self) -> dict[str, object]:
        """The outcome as plain data, without the permuted values."""
        shown = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "values"}
        return shown | {"significant": self.significant}


@dataclass(frozen=True)
class RapidThresholds:
    """Thresholds at which RAPID is beyond chance, and the one a rule recommends (None when there is none).

    ``table`` has one row per threshold of the grid; ``corrected`` says whether looking at many was allowed for.
    """

    recommended: float | None
    rule: str
    table: Frame
    alpha: float
    permutations: int
    corrected: bool

    @property
    def sentence(self) -> str:
        if self.recommended is None:
            return f"At no threshold of the grid is RAPID beyond chance (level {self.alpha:g})."
        how = (
            "corrected for looking at the whole grid"
            if self.corrected
            else "not corrected for looking at the whole grid"
        )
        return f"Rule {self.rule!r} recommends the threshold {self.recommended:g} (level {self.alpha:g}, {how})."
