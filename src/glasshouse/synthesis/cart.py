"""Sequential synthesis by classification and regression trees (Reiter 2005; Nowok, Raab & Dibben 2016).

Columns are made one after the other. The first is drawn from its observed values; each later one by a tree grown on
the original, y ~ all columns before it: a synthetic record falls into a leaf by its synthetic predictors and takes the
value of a random original record of that leaf. Trees follow the rules of :mod:`glasshouse.engines.models.tree`, pruning
included, with leaves of at least 5 records; without the pruning the releases disclose visibly more.

This synthesiser gives no formal guarantee: numbers in a release are numbers of real people unless they are smoothed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, listed
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.arrays import Bools, Floats, Ints
from glasshouse.data.frames import Adopted, Frame, Lazy
from glasshouse.data.schema import Wish
from glasshouse.data.tables import Label, Tables
from glasshouse.synthesis.contract import Arrays, Header, Synthesiser
from glasshouse.synthesis.rules import force, rule_rows
from glasshouse.synthesis.steps import Step
from glasshouse.synthesis.variables import ColumnPlan, Variable, assemble, check_columns, variables_of

SMOOTHINGS = ("density", "rmean", "spline")
ALIKE = 0.99999  # columns whose codes correlate this much are one column in two spellings


class Cart(Synthesiser):
    """Sequential synthesis by classification and regression trees.

    Parameters
    ----------
    visit_sequence : sequence of str, optional
        Order in which columns are made; a column left out is not in the release. Default: the order of the table,
        without probable identifiers.
    predictors : mapping, optional
        ``{"income": ["age", "sex"]}``: predictors of a column, those that come later are ignored. Default: all before
        it.
    method : mapping, optional
        ``{"region": "sample"}``: "cart" or "sample" (draw from the observed values, whatever the other columns).
        Default: "cart" for every column.
    minbucket : int, default 5
        Records of a leaf, at least; a node below three times as many is not split.
    cp : float, default 1e-8
        A split must improve the fit by this share of the root's error.
    maxdepth : int, default 30
        Levels of a tree, at most.
    special_codes : mapping, optional
        ``{"income": [-8]}``: values of a numeric column that are reasons for missing. Default: none.
    smoothing : str or mapping, optional
        One of "density", "rmean", "spline", or ``{column: ...}``: numbers are moved off the values of real people.
        Default: numbers stay those of the original.
    proper : bool, default False
        Grow the trees on a bootstrap sample of the original, drawn anew for every release.
    rules : mapping, optional
        ``{"marital": [("age < 16", "SINGLE")]}``: an SQL condition on earlier columns and the value it forces.
        Default: none.
    schema : mapping, optional
        As for :class:`glasshouse.Pair`: overrides the detected kind of a column.
    exact_levels : int, default 15
        Up to this many levels in a node a class tree tries every grouping of them; above, levels are ordered first.
    n_jobs : int, optional
        Threads that grow trees; no release depends on it. Default: all.

    Attributes
    ----------
    notes : list of str
        What the fit decided on its own: columns left out, splits that were approximated.

    Notes
    -----
    The first column is drawn from its observed values; each later one by a tree y ~ all columns before it: a synthetic
    record falls into a leaf by its synthetic predictors and takes the value of a random original record of that leaf.
    No formal guarantee: numbers in a release are numbers of real people unless they are smoothed.

    References
    ----------
    Reiter (2005), Using CART to generate partially synthetic, public use microdata.
    Nowok, Raab & Dibben (2016), synthpop: bespoke creation of synthetic data in R.

    Examples
    --------
    >>> import glasshouse as gh
    >>> original = gh.data.simulate_health(300)
    >>> released = gh.synthesis.Cart(smoothing="density").fit(original).sample(100, random_state=1)
    >>> released.columns == original.columns, released.height
    (True, 100)
    """

    def __init__(
        self,
        *,
        visit_sequence: Sequence[str] | None = None,
        predictors: Mapping[str, Sequence[str]] | None = None,
        method: Mapping[str, str] | None = None,
        minbucket: int = 5,
        cp: float = 1e-8,
        maxdepth: int = 30,
        special_codes: Mapping[str, Sequence[float]] | None = None,
        smoothing: str | Mapping[str, str] | None = None,
        proper: bool = False,
        rules: Mapping[str, Sequence[tuple[str, Label]]] | None = None,
        schema: Mapping[str, Wish] | None = None,
        exact_levels: int = 15,
        n_jobs: int | None = None,
    ) -> None:
        if minbucket < 1 or maxdepth < 1 or cp < 0:
            raise InputError("minbucket and maxdepth must be at least 1 and cp must not be negative")
        self.visit_sequence = None if visit_sequence is None else tuple(visit_sequence)
        self.predictors = {k: tuple(v) for k, v in (predictors or {}).items()}
        self.method = dict(method or {})
        self.minbucket, self.cp, self.maxdepth = minbucket, cp, maxdepth
        self.special_codes = {k: tuple(v) for k, v in (special_codes or {}).items()}
        self.smoothing = smoothing if isinstance(smoothing, str) or smoothing is None else dict(smoothing)
        self.proper = proper
        self.rules = {k: tuple(v) for k, v in (rules or {}).items()}
        self.schema = dict(schema or {})
        self.exact_levels, self.n_jobs = exact_levels, n_jobs
        self.notes: list[str] = []
        self._plans: list[ColumnPlan] = []
        self._variables: dict[str, Variable] = {}
        self._steps: dict[str, Step] = {}
        self._rule_rows: dict[str, Bools] = {}

    # -- learning ----------------------------------------------------------------------------------------------------

    def fit(self, original: Frame) -> Self:
        """Grow one tree per column (two for a number that can be missing).

        Parameters
        ----------
        original : frame or path
            The confidential table.

        Returns
        -------
        Cart
            This one.

        Raises
        ------
        InputError
            When an argument names a column the original does not have.
        """
        frame = self._take(original)
        order = {} if self._like is None else self._like.category_order
        tables = Tables({"original": Adopted(_lazy(frame), "polars", frame, "original", order)}, self.schema, ())
        self._check(list(tables.columns))
        identifiers = [c for c, spec in tables.columns.items() if spec.kind == "identifier"]
        sequence = [c for c in self.visit_sequence or tables.columns if self.visit_sequence or c not in identifiers]
        left_out = [c for c in identifiers if c not in sequence]
        self.notes = []
        if left_out:
            self.notes.append(
                f"left out as probable identifiers: {listed(left_out)}; name them in visit_sequence to keep them"
            )
            warnings.warn(self.notes[-1], stacklevel=2)
        self._plans, self._variables = [], {}
        for column in sequence:
            plan, variables = variables_of(tables, column, self.special_codes)
            self._plans.append(plan)
            self._variables.update({v.name: v for v in variables})
        self._rule_rows = {c: rule_rows(frame, c, self.rules[c]) for c in self.rules}
        self._steps = {} if self.proper else self._grow(None)
        approximate = sum(step.tree.approximate_splits for step in self._steps.values() if step.tree is not None)
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
        check_columns(list(self.method), columns, "method")
        check_columns(list(self.special_codes), columns, "special_codes")
        check_columns(list(self.rules), columns, "rules")
        for column, method in self.method.items():
            if method not in ("cart", "sample"):
                raise InputError(f"method of {column!r} is {method!r}; choose 'cart' or 'sample'")
        wanted = self.smoothing.values() if isinstance(self.smoothing, dict) else [self.smoothing]
        for smoothing in wanted:
            if smoothing not in (None, "", *SMOOTHINGS):
                raise InputError(f"smoothing {smoothing!r} is unknown; choose one of {listed(SMOOTHINGS)}")
        if isinstance(self.smoothing, dict):
            check_columns(list(self.smoothing), columns, "smoothing")

    def _grow(self, rng: np.random.Generator | None) -> dict[str, Step]:
        """Steps for every variable; with a generator on bootstrap samples of the records."""
        from glasshouse.engines.models.forest.forest import Workers

        plans = list(self._variables.values())
        samples = [None if rng is None else rng.integers(0, self.n_original, self.n_original) for _ in plans]
        copies = self._copies() if rng is None else {}
        with Workers(self.n_jobs) as workers:
            steps = workers.each(lambda i: self._step(plans[i], samples[i], copies), range(len(plans)))
        return {v.name: step for v, step in zip(plans, steps, strict=True)}

    def _step(self, variable: Variable, sample: Ints | None, copies: Mapping[str, str]) -> Step:
        from glasshouse.engines.models.tree import tree

        rows = np.arange(self.n_original) if sample is None else sample
        if variable.rows is not None:
            rows = rows[variable.rows[rows]]
        if variable.column in self._rule_rows:
            forced = np.asarray(self._rule_rows[variable.column].any(axis=0))
            rows = rows[~forced[rows]]
        y = variable.codes[rows]
        if not len(rows):  # every record is forced by a rule, or none has an ordinary value
            y = np.zeros(1, np.int32)
        nothing = np.zeros(0, np.int64)
        if variable.name in copies:
            source = self._variables[copies[variable.name]]
            lookup = np.zeros(source.n_levels, np.int32)
            lookup[source.codes[::-1]] = variable.codes[::-1]
            return Step(variable.name, (), nothing, nothing, nothing, copies=source.name, lookup=lookup)
        names = self._predictors_of(variable)
        codes = [self._variables[name].codes[rows] for name in names]
        useful = [i for i, code in enumerate(codes) if len(code) and code.min() < code.max()]
        if not useful or len(rows) < 3 * self.minbucket or y.min() == y.max():
            return Step(variable.name, (), y, nothing, nothing)
        chosen = [self._variables[names[i]] for i in useful]
        grown = tree.grow(
            np.column_stack([codes[i] for i in useful]),
            np.asarray(variable.levels, np.float64)[y] if variable.number else y,
            n_classes=None if variable.number else variable.n_levels,
            ordered=[v.ordered for v in chosen],
            values=[v.values for v in chosen],
            n_levels=[v.n_levels for v in chosen],
            minsplit=3 * self.minbucket,
            minbucket=self.minbucket,
            cp=self.cp,
            maxdepth=self.maxdepth,
            exact_levels=self.exact_levels,
        )
        return Step(
            variable.name, tuple(v.name for v in chosen), y[grown.members], grown.leaf_starts, grown.leaf_sizes, grown
        )

    def _predictors_of(self, variable: Variable) -> list[str]:
        """Variables of the columns before this one; a number is not predicted by the category that says it is there."""
        if self.method.get(variable.column) == "sample":
            return []
        wanted = self.predictors.get(variable.column)
        before: list[str] = []
        for other in self._variables.values():
            if other.column == variable.column:
                break
            if wanted is None or other.column in wanted:
                before.append(other.name)
        return before

    def _copies(self) -> dict[str, str]:
        """Variables whose codes an earlier one determines in a straight line: they are looked up, not modelled."""
        found: dict[str, str] = {}
        names = [n for n, v in self._variables.items() if v.codes.min() < v.codes.max() and v.rows is None]
        if len(names) < 2:
            return found
        table = np.array([self._variables[n].scores for n in names])
        together = np.abs(np.atleast_2d(np.corrcoef(table)))
        for j, name in enumerate(names):
            if self.method.get(self._variables[name].column) == "sample" or self._variables[name].column in self.rules:
                continue
            for i in range(j):
                if (
                    together[i, j] >= ALIKE
                    and names[i] not in found
                    and names[i] in self._predictors_of(self._variables[name])
                ):
                    found[name] = names[i]
                    break
        return found

    # -- making ------------------------------------------------------------------------------------------------------

    def sample(self, n: int | None = None, random_state: RandomState = 0) -> Frame:
        """A synthetic table.

        Parameters
        ----------
        n : int, optional
            Number of records. Default: as many as the original had.
        random_state : int, numpy Generator or None, default 0
            The same call gives the same table; None draws.

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
        root = int(generator(random_state, "cart").integers(0, 2**62))
        steps = self._grow(generator(root, "bootstrap")) if self.proper else self._steps
        made: dict[str, Ints] = {}
        columns: list[pl.Series] = []
        for plan in self._plans:
            variables = [v for v in self._variables.values() if v.column == plan.name]
            forced = (
                rule_rows(pl.DataFrame(columns), plan.name, self.rules[plan.name])
                if plan.name in self.rules
                else np.zeros((0, n), np.bool_)
            )
            free = ~forced.any(axis=0)
            for variable in variables:
                rows = free if variable.rows is None else free & (made[f"{plan.name}|kind"] == 0)
                zero = int(np.searchsorted(variable.levels, 0.0)) if variable.rows is not None else 0
                codes = np.full(n, zero, np.int32)
                where = np.flatnonzero(rows)
                if len(where):
                    codes[where] = steps[variable.name].draw(made, where, generator(root, variable.name))
                made[variable.name] = codes
            for rule, (_, value) in enumerate(self.rules.get(plan.name, ())):
                force(plan, variables, made, forced[rule] & ~forced[:rule].any(axis=0), value)
            smoothed = self._smoothed(plan, variables[-1], made, generator(root, plan.name, "smoothing"))
            columns.append(assemble(plan, variables, [made[v.name] for v in variables], smoothed))
        return self._give(pl.DataFrame(columns))

    def _smoothed(
        self, plan: ColumnPlan, variable: Variable, made: Mapping[str, Ints], rng: np.random.Generator
    ) -> Floats | None:
        how = self.smoothing.get(plan.name) if isinstance(self.smoothing, dict) else self.smoothing
        if not how or not variable.number or plan.storage == "time":
            return None
        from glasshouse.synthesis.smoothing import smooth

        values = np.asarray(variable.levels, np.float64)[made[variable.name]]
        rows = made[f"{plan.name}|kind"] == 0 if plan.split else np.ones(len(values), np.bool_)
        observed = np.asarray(variable.levels, np.float64)[
            variable.codes[variable.rows] if variable.rows is not None else variable.codes
        ]
        if rows.any():
            values[rows] = smooth(values[rows], observed, how, plan.decimals, rng)
        return values

    def _plans_index(self, column: str) -> int:
        return [plan.name for plan in self._plans].index(column)

    # -- keeping -----------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[Header, Arrays]:
        from glasshouse.synthesis.cart_file import state

        return state(self)

    @classmethod
    def _from_state(cls, header: Header, arrays: Arrays) -> Self:
        from glasshouse.synthesis.cart_file import restore

        return restore(cls(**header["settings"]), header, arrays)

    def settings(self) -> dict[str, object]:
        """The arguments this synthesiser was made with.

        Returns
        -------
        dict
            ``Cart(**settings)`` makes it again.
        """
        names = (
            "predictors",
            "method",
            "minbucket",
            "cp",
            "maxdepth",
            "special_codes",
            "smoothing",
            "proper",
            "rules",
            "schema",
        )
        chosen = {name: getattr(self, name) for name in (*names, "exact_levels", "n_jobs")}
        return {"visit_sequence": self.visit_sequence, **chosen}


def _lazy(frame: pl.DataFrame) -> Lazy:
    import narwhals as nw

    return nw.from_native(frame.lazy())
