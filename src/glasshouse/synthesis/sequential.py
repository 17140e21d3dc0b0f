"""Sequential synthesis: columns made one after the other, each by its own method (Nowok, Raab & Dibben 2016).

This is the machinery every method shares: the order of columns, their predictors, missing values and special codes,
rules, computed columns, smoothing. What a method learns and draws is in :mod:`glasshouse.synthesis.methods`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, listed
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.fingerprints import content_of
from glasshouse.data.frames import Adopted, Frame, Lazy
from glasshouse.data.here import Label
from glasshouse.data.schema import Wish
from glasshouse.data.tables import Tables
from glasshouse.synthesis.contract import Arrays, Header, Synthesiser
from glasshouse.synthesis.learning import Lesson
from glasshouse.synthesis.methods.choice import block_of, check_method, method_of, parent_of
from glasshouse.synthesis.methods.passive import compute, disagreement, encode, is_passive
from glasshouse.synthesis.methods.task import Options
from glasshouse.synthesis.rules import force, rule_rows
from glasshouse.synthesis.steps import AnyStep, Donors, Made, NumberStep
from glasshouse.synthesis.variables import ColumnPlan, Variable, assemble, check_columns, variables_of

SMOOTHINGS = ("density", "rmean", "spline")


class Sequential(Synthesiser):
    """Synthesis by column, each with its own method.

    Parameters
    ----------
    method : str or mapping, optional
        ``{"age": "cart", "sex": "sample", "income": "normrank", "region": "polyreg"}``, or one for every column.
        Columns that are not named get "cart". The methods:

        - "sample": draw from the observed values, whatever the other columns;
        - "cart", "ctree": a classification or regression tree, or a conditional inference tree;
        - "norm", "normrank": linear regression of a number, or of the normal scores of its ranks;
        - "logreg", "polyreg", "polr": logistic regression for two, several, or ranked categories;
        - "nested.region": values of the original records of the same region (or "nested" with one predictor);
        - "catall", "ipf": the first columns, categories, as one block: the whole cross-table, or its margins;
        - "parametric": "normrank", "logreg", "polr" or "polyreg", by the kind of the column;
        - "~ weight / (height * height)": computed, an SQL expression on earlier columns.
    visit_sequence : sequence of str, optional
        Order in which columns are made; a column left out is not in the release. Default: the order of the table,
        without probable identifiers.
    predictors : mapping, optional
        ``{"income": ["age", "sex"]}``: predictors of a column, those that come later are ignored. Default: all before
        it.
    special_codes : mapping, optional
        ``{"income": [-8]}``: values of a numeric column that are reasons for missing. Default: those that a file of
        SPSS, Stata or SAS declares, else none.
    smoothing : str or mapping, optional
        One of "density", "rmean", "spline", or ``{column: ...}``: numbers and dates are moved off the values of
        real people. Default: they stay those of the original, except numbers that "norm" makes.
    proper : bool, default False
        Learn from a bootstrap sample of the original, drawn anew for every release.
    rules : mapping, optional
        ``{"marital": [("age < 16", "SINGLE")]}``: an SQL condition on earlier columns and the value it forces.
        Default: none.
    schema : mapping, optional
        As for :class:`glasshouse.Pair`: overrides the detected kind of a column.
    minbucket : int, default 5
        Records of a tree's leaf, at least; a node below three ("ctree": four) times as many is not split.
    cp : float, default 1e-8
        "cart": a split must improve the fit by this share of the root's error.
    maxdepth : int, default 30
        Levels of a tree, at most.
    exact_levels : int, default 15
        "cart": up to this many levels in a node a class tree tries every grouping of them.
    mincriterion : float, default 0.9
        "ctree": one minus the adjusted p value that a split needs.
    prior : float, default 1.0
        "catall", "ipf": records spread evenly over all cells of the block; 0 keeps to the observed ones.
    margins : "twoway" or sequence of sequences of str, default "twoway"
        "ipf": the margins to keep, ``[("sex", "region"), ("region", "work", "edu")]``; "twoway": all pairs of columns.
    n_jobs : int, optional
        Threads that grow trees; no release depends on it. Default: all.

    Attributes
    ----------
    notes : list of str
        What the fit decided on its own: columns left out, splits that were approximated, fits that did not converge.

    See Also
    --------
    glasshouse.synthesis.Cart : trees for every column.

    Notes
    -----
    Column j is drawn from a model of P(x_j | x_1, ..., x_(j-1)) learnt on the original, given the synthetic values of
    the columns before it. A numeric column with missing values or special codes is made in two steps: a category says
    whether there is a number (by "polyreg" for "norm" and "normrank", else by the column's method), then the number.
    Without predictors "norm" draws from one normal distribution, and every other method from the observed values.
    No formal guarantee: trees, "sample", "nested" and "normrank" release numbers of real people unless smoothed.

    References
    ----------
    Nowok, Raab & Dibben (2016), synthpop: bespoke creation of synthetic data in R.
    Hothorn, Hornik & Zeileis (2006), Unbiased recursive partitioning: a conditional inference framework.

    Examples
    --------
    >>> import glasshouse as gh
    >>> original = gh.data.simulate_health(300)
    >>> made = gh.synthesis.Sequential({"age": "sample", "income": "normrank", "education": "polyreg"}).fit(original)
    >>> made.sample(100, random_state=1).height
    100
    """

    _SETTINGS: ClassVar[tuple[str, ...]] = (
        "method", "visit_sequence", "predictors", "special_codes", "smoothing", "proper", "rules", "schema",
        "minbucket", "cp", "maxdepth", "exact_levels", "mincriterion", "prior", "margins", "n_jobs",
    )  # fmt: skip

    def __init__(
        self,
        method: str | Mapping[str, str] = "cart",
        *,
        visit_sequence: Sequence[str] | None = None,
        predictors: Mapping[str, Sequence[str]] | None = None,
        special_codes: Mapping[str, Sequence[float]] | None = None,
        smoothing: str | Mapping[str, str] | None = None,
        proper: bool = False,
        rules: Mapping[str, Sequence[tuple[str, Label]]] | None = None,
        schema: Mapping[str, Wish] | None = None,
        minbucket: int = 5,
        cp: float = 1e-8,
        maxdepth: int = 30,
        exact_levels: int = 15,
        mincriterion: float = 0.9,
        prior: float = 1.0,
        margins: str | Sequence[Sequence[str]] = "twoway",
        n_jobs: int | None = None,
    ) -> None:
        if minbucket < 1 or maxdepth < 1 or cp < 0:
            raise InputError("minbucket and maxdepth must be at least 1 and cp must not be negative")
        if not 0 <= mincriterion < 1 or prior < 0:
            raise InputError("mincriterion must lie between 0 and 1, and prior must not be negative")
        if isinstance(margins, str) and margins != "twoway":
            raise InputError(f"margins={margins!r} is unknown; choose 'twoway' or list the columns of each margin")
        self.method = method if isinstance(method, str) else dict(method)
        self.visit_sequence = None if visit_sequence is None else tuple(visit_sequence)
        self.predictors = {k: tuple(v) for k, v in (predictors or {}).items()}
        self.special_codes = {k: tuple(v) for k, v in (special_codes or {}).items()}
        self.smoothing = smoothing if isinstance(smoothing, str) or smoothing is None else dict(smoothing)
        self.proper = proper
        self.rules = {k: tuple(v) for k, v in (rules or {}).items()}
        self.schema = dict(schema or {})
        self.minbucket, self.cp, self.maxdepth, self.exact_levels = minbucket, cp, maxdepth, exact_levels
        self.mincriterion, self.prior = mincriterion, prior
        self.margins = margins if isinstance(margins, str) else tuple(tuple(margin) for margin in margins)
        self.n_jobs = n_jobs
        self.notes: list[str] = []
        self._content = ""
        self._plans: list[ColumnPlan] = []
        self._variables: dict[str, Variable] = {}
        self._methods: dict[str, str] = {}
        self._steps: dict[str, AnyStep] = {}
        self._rule_rows: dict[str, Bools] = {}

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(self, original: Frame) -> Self:
        """Learn one step per column (two for a number that can be missing).

        Parameters
        ----------
        original : frame or path
            The confidential table.

        Returns
        -------
        Sequential
            This one.

        Raises
        ------
        InputError
            When an argument names a column the original does not have, or a method cannot make its column.
        """
        frame = self._take(original)
        order = {} if self._like is None else self._like.category_order
        tables = Tables({"original": Adopted(_lazy(frame), "polars", frame, "original", order)}, self.schema, ())
        self._check(list(tables.columns))
        # who knows the seed alone (0 as often as not) draws nothing again, and takes no smoothing off a real value
        self._content = content_of(frame.select(list(tables.columns)))
        declared = {} if self._like is None else self._like.special_codes
        codes = {**{c: v for c, v in declared.items() if c in tables.columns}, **self.special_codes}
        identifiers = [c for c, spec in tables.columns.items() if spec.kind == "identifier"]
        sequence = [c for c in self.visit_sequence or tables.columns if self.visit_sequence or c not in identifiers]
        left_out = [c for c in identifiers if c not in sequence]
        self.notes = []
        if left_out:
            self.notes.append(
                f"left out as probable identifiers: {listed(left_out)}; name them in visit_sequence to keep them"
            )
            warnings.warn(self.notes[-1], stacklevel=3)
        self._plans, self._variables, self._methods = [], {}, {}
        columns: dict[str, Variable] = {}
        for column in sequence:
            plan, variables = variables_of(tables, column, codes)
            method = method_of(column, self.method, variables[-1])
            check_method(column, method, variables[-1])
            if method.startswith("nested"):
                method = f"nested.{parent_of(column, method, self.predictors.get(column), columns)}"
            self._plans.append(plan)
            self._variables.update({v.name: v for v in variables})
            self._methods[column] = method
            columns[column] = variables[-1]
            if is_passive(method):
                self._check_passive(frame, plan, method)
        block_of(sequence, self._methods)
        self._rule_rows = {c: rule_rows(frame, c, self.rules[c]) for c in self.rules}
        self._steps = {} if self.proper else self._learn(None)
        trees = [step.tree for step in self._steps.values() if isinstance(step, Donors) and step.tree is not None]
        approximate = sum(tree.approximate_splits for tree in trees)
        if approximate:
            self.notes.append(
                f"{approximate} splits group more than {self.exact_levels} levels for three or more classes; levels "
                "were ordered by the first principal component of their class shares instead of trying every grouping"
            )
        return self

    def _check(self, columns: list[str]) -> None:
        check_columns(self.visit_sequence or (), columns, "visit_sequence")
        check_columns(
            [*self.predictors, *(p for group in self.predictors.values() for p in group)], columns, "predictors"
        )
        check_columns([] if isinstance(self.method, str) else list(self.method), columns, "method")
        check_columns(list(self.special_codes), columns, "special_codes")
        check_columns(list(self.rules), columns, "rules")
        wanted = self.smoothing.values() if isinstance(self.smoothing, dict) else [self.smoothing]
        for smoothing in wanted:
            if smoothing not in (None, "", *SMOOTHINGS):
                raise InputError(f"smoothing {smoothing!r} is unknown; choose one of {listed(SMOOTHINGS)}")
        if isinstance(self.smoothing, dict):
            check_columns(list(self.smoothing), columns, "smoothing")

    def _check_passive(self, frame: pl.DataFrame, plan: ColumnPlan, expression: str) -> None:
        if plan.name in self.rules:
            raise InputError(
                f"{plan.name!r} is computed, so no rule can force it; write the rule as CASE in {expression!r}"
            )
        earlier = [other.name for other in self._plans if other is not plan]
        differ = disagreement(compute(frame.select(earlier), plan, expression), frame[plan.name])
        if differ:
            self.notes.append(
                f"{plan.name!r} is computed, but {differ:,} of {frame.height:,} original records hold another value"
            )

    def _learn(self, rng: np.random.Generator | None) -> dict[str, AnyStep]:
        """Steps for every variable; with a generator on bootstrap samples of the records."""
        lesson = Lesson(
            self._variables,
            self._methods,
            self.predictors,
            {column: np.asarray(masks.any(axis=0)) for column, masks in self._rule_rows.items()},
            {plan.name: plan.decimals for plan in self._plans},
            Options(
                self.minbucket, self.cp, self.maxdepth, self.exact_levels, self.mincriterion, self.prior, self.margins
            ),
            self.n_original,
        )
        steps = lesson.steps(rng, self.n_jobs)
        if rng is None:
            self.notes += lesson.notes
        return steps

    # -- making ------------------------------------------------------------------------------------------------------

    def sample(self, n: int | None = None, random_state: RandomState = 0) -> Frame:
        """A synthetic table.

        Parameters
        ----------
        n : int, optional
            Number of records. Default: as many as the original had.
        random_state : int, numpy Generator or None, default 0
            The same call gives the same table; None draws. Draws follow the original too, so that whoever knows the
            seed alone draws nothing again.

        Returns
        -------
        frame
            In the frame library of the original.
        """
        if not self._variables:
            raise InputError("this synthesiser is not fitted; call fit(original) first")
        n = self.n_original if n is None else int(n)
        if n < 1:
            raise InputError(f"n must be at least 1, not {n}")
        root = int(generator(random_state, "cart", self._content).integers(0, 2**62))
        steps = self._learn(generator(root, "bootstrap")) if self.proper else self._steps
        made = Made(n, self._variables)
        columns: list[pl.Series] = []
        for plan in self._plans:
            variables = [v for v in self._variables.values() if v.column == plan.name]
            method = self._methods[plan.name]
            if is_passive(method):
                columns.append(compute(pl.DataFrame(columns), plan, method))
                codes, numbers = encode(columns[-1], plan, variables)
                made.codes |= codes
                made.numbers |= numbers
                continue
            forced = (
                rule_rows(pl.DataFrame(columns), plan.name, self.rules[plan.name])
                if plan.name in self.rules
                else np.zeros((0, n), np.bool_)
            )
            free = ~forced.any(axis=0)
            for variable in variables:
                rows = free if variable.rows is None else free & (made.codes[f"{plan.name}|kind"] == 0)
                self._draw(steps[variable.name], variable, made, np.flatnonzero(rows), generator(root, variable.name))
            for rule, (_, value) in enumerate(self.rules.get(plan.name, ())):
                force(plan, variables, made.codes, forced[rule] & ~forced[:rule].any(axis=0), value)
            last = variables[-1]
            if last.name in made.numbers:
                made.numbers[last.name][~free] = np.asarray(last.levels, np.float64)[made.codes[last.name][~free]]
            numbers_of = self._new_numbers(plan, last, made, generator(root, plan.name, "smoothing"))
            columns.append(assemble(plan, variables, [made.codes[v.name] for v in variables], numbers_of))
        return self._give(pl.DataFrame(columns))

    def _draw(self, step: AnyStep, variable: Variable, made: Made, rows: Ints, rng: np.random.Generator) -> None:
        """A variable's codes, zero where it has no value, and its numbers where they are new."""
        zero = int(np.searchsorted(variable.levels, 0.0)) if variable.rows is not None else 0
        made.codes[variable.name] = codes = np.full(made.n, zero, np.int32)
        if isinstance(step, NumberStep):
            drawn = step.draw_numbers(made, rows, rng)
            made.numbers[variable.name] = numbers = np.zeros(made.n)
            numbers[rows], codes[rows] = drawn, variable.nearest(drawn)
        else:
            codes[rows] = step.draw(made, rows, rng)

    def _new_numbers(self, plan: ColumnPlan, variable: Variable, made: Made, rng: np.random.Generator) -> Floats | None:
        """Numbers that are not those of the original: made by the method, or smoothed."""
        if variable.name in made.numbers:
            return made.numbers[variable.name]
        how = self.smoothing.get(plan.name) if isinstance(self.smoothing, dict) else self.smoothing
        if not how or not variable.number:
            return None
        from glasshouse.synthesis.smoothing import clock, smooth

        values = made.values(variable.name)
        rows = made.codes[f"{plan.name}|kind"] == 0 if plan.split else np.ones(len(values), np.bool_)
        observed = np.asarray(variable.levels, np.float64)[
            variable.codes[variable.rows] if variable.rows is not None else variable.codes
        ]
        # dates are counted in days, hours or what else they are told in, and stay as fine as that
        unit, decimals = (clock(observed), 0) if plan.storage == "time" else (1.0, plan.decimals)
        if rows.any():
            values[rows] = smooth(values[rows] * unit, observed * unit, how, decimals, rng) / unit
        return values

    def _plans_index(self, column: str) -> int:
        return [plan.name for plan in self._plans].index(column)

    # -- keeping -----------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[Header, Arrays]:
        from glasshouse.synthesis.model_file import state

        return state(self)

    @classmethod
    def _from_state(cls, header: Header, arrays: Arrays) -> Self:
        from glasshouse.synthesis.model_file import restore

        return restore(cls(**header["settings"]), header, arrays)

    def settings(self) -> dict[str, object]:
        """The arguments this synthesiser was made with.

        Returns
        -------
        dict
            The class called with them makes it again.
        """
        return {name: getattr(self, name) for name in self._SETTINGS}


def _lazy(frame: pl.DataFrame) -> Lazy:
    import narwhals as nw

    return nw.from_native(frame.lazy())
