"""Learning the steps of a sequential synthesiser: which records and predictors each variable is learnt from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from glasshouse.data.arrays import Bools, Ints
from glasshouse.synthesis.methods.block import learn_block
from glasshouse.synthesis.methods.choice import METHODS, NEW_VALUES, block_of
from glasshouse.synthesis.methods.passive import is_passive
from glasshouse.synthesis.methods.task import Options, Task
from glasshouse.synthesis.steps import AnyStep, Lookup
from glasshouse.synthesis.variables import Variable

ALIKE = 0.99999  # columns whose codes correlate this much are one column in two spellings


@dataclass
class Lesson:
    """Everything the steps are learnt from.

    Parameters
    ----------
    variables : mapping
        By name, in the order in which they are made.
    methods : mapping
        Method of each column.
    predictors : mapping
        Columns the user allows as predictors of a column; where there is no entry, all before it.
    forced : mapping
        By column, the records whose value a rule forces: nothing is learnt from them.
    decimals : mapping
        Decimals of each column.
    options : Options
        Options of the methods.
    n : int
        Records of the original.
    notes : list of str
        Filled with what a reader should know about the fits.
    """

    variables: Mapping[str, Variable]
    methods: Mapping[str, str]
    predictors: Mapping[str, tuple[str, ...]]
    forced: Mapping[str, Bools]
    decimals: Mapping[str, int]
    options: Options
    n: int
    notes: list[str] = field(default_factory=list)

    def steps(self, rng: np.random.Generator | None, n_jobs: int | None) -> dict[str, AnyStep]:
        """A step for every variable that is not computed; with a generator learnt from bootstrap samples."""
        from glasshouse.engines.models.forest.forest import Workers

        found: dict[str, AnyStep] = {}
        waiting: list[tuple[str, Task]] = []
        copies = self._copies() if rng is None else {}
        block = block_of(list(self.methods), self.methods)
        for variable in self.variables.values():
            rows = np.arange(self.n) if rng is None else rng.integers(0, self.n, self.n)
            method = self._method_of(variable)
            if variable.name in copies:
                source = self.variables[copies[variable.name]]
                table = np.zeros(source.n_levels, np.int32)
                table[source.codes[::-1]] = variable.codes[::-1]
                found[variable.name] = Lookup(source.name, table)
            elif variable.name in block:
                if variable.name == block[0]:
                    members = [self.variables[name] for name in block]
                    found.update(learn_block(method, members, rows, self.options, self.notes))
            elif not is_passive(method):
                task = self._task(variable, rows)
                alone = not task.predictors and method not in NEW_VALUES
                waiting.append(("sample" if alone else method, task))
        trees = [(method, task) for method, task in waiting if METHODS[method].threads]
        with Workers(n_jobs) as workers:
            grown = workers.each(lambda i: METHODS[trees[i][0]].learn(trees[i][1]), range(len(trees)))
        found |= {task.variable.name: step for (_, task), step in zip(trees, grown, strict=True)}
        for method, task in waiting:
            if not METHODS[method].threads:
                found[task.variable.name] = METHODS[method].learn(task)
            self.notes += task.notes
        return found

    def _task(self, variable: Variable, rows: Ints) -> Task:
        """What a variable is learnt from: the records that have it and that no rule forces, predictors that vary."""
        if variable.rows is not None:
            rows = rows[variable.rows[rows]]
        if variable.column in self.forced:
            rows = rows[~self.forced[variable.column][rows]]
        decimals = self.decimals[variable.column]
        if not len(rows):  # every record is forced by a rule, or none has an ordinary value
            return Task(variable, np.zeros(1, np.int32), [], [], decimals, self.options)
        y = variable.codes[rows]
        predictors = [self.variables[name] for name in self._predictors_of(variable)]
        if len(rows) < 3 * self.options.minbucket or y.min() == y.max():
            predictors = []
        codes = [v.codes[rows] for v in predictors]
        useful = [i for i, code in enumerate(codes) if code.min() < code.max()]
        return Task(variable, y, [predictors[i] for i in useful], [codes[i] for i in useful], decimals, self.options)

    def _method_of(self, variable: Variable) -> str:
        """The method of a variable: the column's, or what goes with it for the category that says a number is there."""
        method = self.methods[variable.column]
        name = method.partition(".")[0]
        if is_passive(method) or name not in METHODS:
            return method
        is_kind = variable.name != variable.column
        return METHODS[name].of_kind or name if is_kind else name

    def _predictors_of(self, variable: Variable) -> list[str]:
        """Variables of the columns before this one; a number is not predicted by the category that says it is there."""
        name, _, parent = self.methods[variable.column].partition(".")
        if name == "sample":
            return []
        wanted = (parent,) if name == "nested" else self.predictors.get(variable.column)
        before: list[str] = []
        for other in self.variables.values():
            if other.column == variable.column:
                break
            if wanted is None or other.column in wanted:
                before.append(other.name)
        return before

    def _copies(self) -> dict[str, str]:
        """Variables whose codes an earlier one determines in a straight line: they are looked up, not modelled."""
        found: dict[str, str] = {}
        names = [
            name
            for name, v in self.variables.items()
            if v.codes.min() < v.codes.max() and v.rows is None and not self._is_new(v.column)
        ]
        if len(names) < 2:
            return found
        table = np.array([self.variables[n].scores for n in names])
        together = np.abs(np.atleast_2d(np.corrcoef(table)))
        for j, name in enumerate(names):
            variable = self.variables[name]
            method = self.methods[variable.column].partition(".")[0]
            if method not in METHODS or variable.column in self.forced:
                continue
            before = self._predictors_of(variable)
            for i in range(j):
                if together[i, j] >= ALIKE and names[i] not in found and names[i] in before:
                    found[name] = names[i]
                    break
        return found

    def _is_new(self, column: str) -> bool:
        """Whether the column's synthetic values need not be values of the original."""
        return is_passive(self.methods[column]) or self.methods[column] in NEW_VALUES
