"""Model formulas in the field's notation: ``income ~ age + C(sex) * education + log(hours)``.

Understood: column names (in backticks if they hold spaces or signs), ``C(x)`` for a category, ``log(x)``,
``sqrt(x)``, ``x**2`` of numbers, ``a:b`` for an interaction, ``a*b`` for both with their interaction, ``- 1`` or ``+
0`` for no intercept. Nothing is evaluated as code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable, closest
from glasshouse.data.pair import Pair
from glasshouse.engines.models.design import MISSING
from glasshouse.utility.deals import pooled
from glasshouse.utility.predictive.models import MOST_TERMS

FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"log": np.log, "sqrt": np.sqrt}
_FACTOR = re.compile(
    r"^(?:(?P<call>[A-Za-z]\w*)\((?P<inner>[^()]*)\)|(?P<name>`[^`]+`|[^\s`*:+()~]+))(?:\*\*(?P<power>\d))?$"
)


@dataclass(frozen=True)
class Factor:
    """One column inside a term: how it is written, which column it is, and what is done to it."""

    text: str
    column: str
    call: str | None
    power: int


@dataclass(frozen=True)
class Formula:
    """A response, terms (each a tuple of factors whose product it is) and whether there is an intercept."""

    text: str
    response: Factor
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column named, the response first."""
        return tuple(dict.fromkeys([self.response.column, *(f.column for term in self.terms for f in term)]))


def parse(text: str, pair: Pair) -> Formula:
    """Read a formula; errors name what was not understood."""
    sides = text.split("~")
    if len(sides) != 2 or not sides[0].strip() or not sides[1].strip():
        raise InputError("a formula has the form 'response ~ a + b': one '~' with something on both sides")
    intercept, terms = True, list[tuple[Factor, ...]]()
    for sign, part in re.findall(r"([+-]?)\s*((?:`[^`]+`|[^+\-`]|(?<=\d)-)+)", sides[1]):
        part = part.strip()
        if part in ("0", "1"):
            intercept = (part == "1") != (sign == "-")
            continue
        if sign == "-":
            raise InputError(f"a formula can only take away the intercept ('- 1'), not {part!r}")
        for term in _expand(part, pair):
            if term not in terms:
                terms.append(term)
    if not terms:
        raise InputError("the formula has no predictor on the right of '~'")
    return Formula(text.strip(), _factor(sides[0].strip(), pair), tuple(terms), intercept)


def simple(response: str, predictors: Sequence[str]) -> Formula:
    """response ~ main effects, whatever the names look like."""
    made = tuple((Factor(name, name, None, 1),) for name in predictors)
    return Formula(f"{response} ~ {' + '.join(predictors)}", Factor(response, response, None, 1), made, True)


def _expand(part: str, pair: Pair) -> list[tuple[Factor, ...]]:
    """a*b becomes a, b, a:b; a:b stays one term."""
    shielded = part.replace("**", "\x00")
    crossed = [[_factor(f.replace("\x00", "**"), pair) for f in piece.split(":")] for piece in shielded.split("*")]
    made: list[tuple[Factor, ...]] = []
    for piece in crossed:
        made += [(*before, *piece) for before in [(), *made]]
    return sorted(made, key=len)


def _factor(text: str, pair: Pair) -> Factor:
    text = text.strip()
    found = _FACTOR.match(text)
    if not found:
        raise InputError(
            f"{text!r} in the formula is not understood; use names, C(x), log(x), sqrt(x), x**2, a:b or a*b"
        )
    call, power = found["call"], int(found["power"] or 1)
    column = (found["inner"] if call else found["name"]).strip().strip("`")
    if call not in (None, "C", *FUNCTIONS):
        raise InputError(f"function {call!r} in the formula is not known; use C, log or sqrt")
    if column not in pair.columns:
        raise InputError(
            f"column {column!r} in the formula is not shared by original and release{closest(column, pair.columns)}"
        )
    numeric = pair.is_numeric(column)
    if not numeric and (call in FUNCTIONS or power > 1):
        raise InputError(f"column {column!r} is {pair.schema[column].kind}; {text!r} needs a number")
    return Factor(text, column, call, power)


@dataclass(frozen=True)
class ModelFrame:
    """One table under a formula: named columns of the design, the response, its classes (None: a number), weights,
    rows used.
    """

    names: tuple[str, ...]
    design: np.ndarray
    response: np.ndarray
    classes: tuple[str, ...] | None
    weights: np.ndarray | None
    rows: np.ndarray

    def take(self, rows: np.ndarray) -> ModelFrame:
        """Some of the records, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self, design=self.design[rows], response=self.response[rows], weights=weights, rows=self.rows[rows]
        )

    def beside(self, other: ModelFrame) -> ModelFrame:
        """The records of both tables; those without a weight count once."""
        weights = None
        if self.weights is not None:
            others = np.ones(len(other.rows)) if other.weights is None else other.weights
            weights = pooled([self.weights, others])
        design, response = (pooled(sides) for sides in ([self.design, other.design], [self.response, other.response]))
        return replace(self, design=design, response=response, weights=weights, rows=np.arange(len(response)))


def _refuse_many(formula: Formula, coding: Mapping[str, np.ndarray | None]) -> None:
    """Stop before a design of thousands of columns is made: a model of them says nothing, and takes its time."""
    sizes = {text: 1 if levels is None else len(levels) for text, levels in coding.items()}
    terms = sum(math.prod(sizes[factor.text] for factor in term) for term in formula.terms)
    if terms > MOST_TERMS:
        largest = max(sizes, key=lambda text: sizes[text])
        raise NotApplicable(
            f"the formula has {terms:,} coefficients, and models have up to {MOST_TERMS}: {largest!r} alone has "
            f"{sizes[largest]:,}; group its categories, or leave it out with formula="
        )


def model_frames(formula: Formula, pair: Pair, tables: Sequence[str]) -> list[ModelFrame]:
    """The same columns for every table: levels are those of all tables, the first one the original has is the
    reference.

    Records with a missing value in any column of the formula are left out.
    """
    kept = {}
    for table in tables:
        present = np.ones(pair.n(table), bool)
        for name in formula.columns:
            present &= pair.codes(name).of(table) >= 0
            if pair.is_numeric(name):
                present &= ~pair.special_mask(name, table)
        kept[table] = np.flatnonzero(present)
    coding = {f.text: _levels(f, pair, kept, tables) for term in formula.terms for f in term}
    if not formula.intercept:
        # the first category then keeps its reference level, or the model would force its mean to zero
        first = next((t[0] for t in formula.terms if len(t) == 1 and coding[t[0].text] is not None), None)
        if first is not None:
            coding[first.text] = _levels(first, pair, kept, tables, full=True)
    _refuse_many(formula, coding)
    made = []
    for table in tables:
        rows = kept[table]
        blocks, names = [], []
        if formula.intercept:
            blocks.append(np.ones((len(rows), 1)))
            names.append("Intercept")
        for term in formula.terms:
            block, labels = np.ones((len(rows), 1)), [""]
            for factor in term:
                part, own = _columns(factor, pair, table, rows, coding[factor.text])
                block = (block[:, :, None] * part[:, None, :]).reshape(len(rows), block.shape[1] * part.shape[1])
                labels = [f"{a}:{b}" if a else b for a in labels for b in own]
            blocks.append(block)
            names += labels
        response, classes = _response(formula.response, pair, table, rows)
        weights = pair.weight_values(table)
        made.append(
            ModelFrame(
                tuple(names),
                np.concatenate(blocks, axis=1),
                response,
                classes,
                None if weights is None else weights[rows],
                rows,
            )
        )
    return made


def _levels(
    factor: Factor, pair: Pair, kept: dict[str, np.ndarray], tables: Sequence[str], full: bool = False
) -> np.ndarray | None:
    """Codes of the levels that get a column: present in some table, the reference left out unless ``full``; None for
    a number.
    """
    if pair.is_numeric(factor.column) and factor.call != "C":
        return None
    codes = pair.codes(factor.column)
    base = np.unique(codes.of(tables[0])[kept[tables[0]]])
    present = np.unique(np.concatenate([codes.of(t)[kept[t]] for t in tables]))
    if full:
        return present
    return present[present != base[0]] if base.size else present[1:]


def _columns(
    factor: Factor, pair: Pair, table: str, rows: np.ndarray, levels: np.ndarray | None
) -> tuple[np.ndarray, list[str]]:
    if levels is not None:
        codes = pair.codes(factor.column)
        shown = [_shown(codes.levels[i]) for i in levels]
        return (codes.of(table)[rows][:, None] == levels[None, :]).astype(float), [
            f"{factor.text}[T.{s}]" for s in shown
        ]
    return _numbers(factor, pair, table, rows)[:, None], [factor.text]


def _numbers(factor: Factor, pair: Pair, table: str, rows: np.ndarray) -> np.ndarray:
    values = pair.values(factor.column, table)[rows]
    if factor.call in FUNCTIONS:
        if (values <= 0).any() if factor.call == "log" else (values < 0).any():
            raise InputError(
                f"{factor.text} is undefined: column {factor.column!r} has values that are too small in the "
                f"{table} table"
            )
        values = FUNCTIONS[str(factor.call)](values)
    made: np.ndarray = values**factor.power
    return made


def _response(factor: Factor, pair: Pair, table: str, rows: np.ndarray) -> tuple[np.ndarray, tuple[str, ...] | None]:
    if pair.is_numeric(factor.column) and factor.call != "C":
        codes = pair.codes(factor.column)
        if list(codes.levels) == [0, 1] and factor.call is None:
            return codes.of(table)[rows].astype(float), ("0", "1")
        return _numbers(factor, pair, table, rows), None
    codes = pair.codes(factor.column)
    return codes.of(table)[rows].astype(float), tuple(_shown(v) for v in codes.levels)


def _shown(level: object) -> str:
    return MISSING if level is None else str(level)
