"""Categories by logistic regression: two (``logreg``), several (``polyreg``), or ranked ones (``polr``).

    logreg, polyreg:  P(y = k | x) = exp(x beta_k) / sum_l exp(x beta_l),  beta_0 = 0
    polr:             P(y <= k | x) = 1 / (1 + exp(x beta - theta_k))

fitted by maximum likelihood. For a ranked column with missing values a logistic regression says first who is missing.

References
----------
Agresti, A. (2013), Categorical Data Analysis, sections 5, 8.1 and 8.2.
McCullagh, P. (1980), Regression models for ordinal data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.synthesis.methods.task import Task
from glasshouse.synthesis.steps import Made, Step, linear_predictor


@dataclass
class Classes(Step):
    """Categories with the probabilities of a logistic regression."""

    predictors: tuple[str, ...]
    tables: list[Floats]
    classes: Ints  # codes of the categories, the one of reference first

    def draw(self, made: Made, rows: Ints, rng: np.random.Generator) -> Ints:
        from scipy.special import softmax

        shares = softmax(linear_predictor(self.predictors, self.tables, made, rows), axis=1)
        beyond = rng.random(len(rows))[:, None] > np.cumsum(shares, axis=1)[:, :-1]
        return np.asarray(self.classes[beyond.sum(axis=1)])


@dataclass
class Thresholds(Step):
    """Ranks at which a linear predictor with logistic noise passes the thresholds."""

    predictors: tuple[str, ...]
    tables: list[Floats]
    theta: Floats
    classes: Ints  # codes of the categories, from low to high
    gone: Classes | None = None  # who is missing
    missing: int = -1  # code of the missing value

    def draw(self, made: Made, rows: Ints, rng: np.random.Generator) -> Ints:
        latent = linear_predictor(self.predictors, self.tables, made, rows)[:, 0] + rng.logistic(size=len(rows))
        drawn = np.asarray(self.classes[np.searchsorted(self.theta, latent)])
        return drawn if self.gone is None else np.where(self.gone.draw(made, rows, rng) == 1, self.missing, drawn)


def learn_classes(task: Task) -> Classes:
    """Logistic regression for two categories, multinomial for more."""
    from glasshouse.engines.models.linear.attackers import fit_logit

    classes, y = np.unique(task.y, return_inverse=True)
    model = fit_logit(task.design(), y, len(classes))
    for note in model.notes:
        task.note(note)
    beta = np.column_stack([np.zeros(len(model.beta)), model.beta]) if len(classes) == 2 else model.beta
    return Classes(task.names, model.coding.effects(beta), classes)


def learn_polr(task: Task) -> Thresholds:
    """Proportional odds."""
    from glasshouse.engines.models.linear.coding import Coding
    from glasshouse.engines.models.linear.ordinal import fit_ordinal

    last = task.variable.n_levels - 1
    absent = task.y == last if task.variable.levels[last] is None else np.zeros(len(task.y), np.bool_)
    gone = None
    if absent.any():
        gone = learn_classes(replace(task, y=absent.astype(np.int32)))
        task = replace(task, y=task.y[~absent], codes=[c[~absent] for c in task.codes])
    classes, y = np.unique(task.y, return_inverse=True)
    if len(classes) < 2:  # one rank is left beside the missing values
        zeros = [np.zeros(1), *(np.zeros((2 if v.number else v.n_levels, 1)) for v in task.predictors)]
        return Thresholds(task.names, zeros, np.zeros(0), classes, gone, last)
    design = task.design()
    coding = Coding(design)
    beta, theta, notes = fit_ordinal(coding, design, y, len(classes))
    for note in notes:
        task.note(note)
    return Thresholds(task.names, coding.effects(beta), theta, classes, gone, last)
