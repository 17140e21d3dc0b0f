"""Numbers by linear regression: on the number itself (``norm``), or on the normal scores of its ranks (``normrank``).

    norm:      y  = x beta + sigma e
    normrank:  z  = Phi^-1( rank(y) / (n + 1) ),  z* = x beta + sigma e,  y* = the original's quantile at Phi(z*)

with e standard normal and sigma^2 the residual sum of squares over its degrees of freedom. ``norm`` makes new values,
also such as no person could have; ``normrank`` keeps the distribution of the column and only reuses its values.

References
----------
Nowok, Raab & Dibben (2016), synthpop: bespoke creation of synthetic data in R.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.synthesis.methods.task import Task
from glasshouse.synthesis.steps import Made, NumberStep, Step, linear_predictor


@dataclass
class Normal(NumberStep):
    """New numbers around a linear predictor, rounded to the decimals of the data."""

    predictors: tuple[str, ...]
    tables: list[Floats]
    sigma: float
    decimals: int

    def draw_numbers(self, made: Made, rows: Ints, rng: np.random.Generator) -> Floats:
        mean = linear_predictor(self.predictors, self.tables, made, rows)[:, 0]
        return np.round(mean + self.sigma * rng.standard_normal(len(rows)), self.decimals)


@dataclass
class Ranked(Step):
    """Original values at the quantiles a linear predictor and normal noise point to."""

    predictors: tuple[str, ...]
    tables: list[Floats]
    sigma: float
    donors: Ints  # ascending

    def draw(self, made: Made, rows: Ints, rng: np.random.Generator) -> Ints:
        from scipy.special import ndtr

        mean = linear_predictor(self.predictors, self.tables, made, rows)[:, 0]
        share = ndtr(mean + self.sigma * rng.standard_normal(len(rows)))
        n = len(self.donors)
        return np.asarray(self.donors[np.clip((share * (n + 1)).astype(np.int64), 1, n) - 1])


def learn_norm(task: Task) -> Normal:
    """Least squares of the number."""
    tables, sigma = _least_squares(task, task.numbers)
    return Normal(task.names, tables, sigma, task.decimals)


def learn_normrank(task: Task) -> Ranked:
    """Least squares of the normal scores."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    tables, sigma = _least_squares(task, ndtri(rankdata(task.y) / (len(task.y) + 1.0)))
    return Ranked(task.names, tables, sigma, np.sort(task.y))


def _least_squares(task: Task, y: Floats) -> tuple[list[Floats], float]:
    """What each predictor adds, and the residual standard deviation."""
    if not task.predictors:
        return [np.array([y.mean()])], float(y.std(ddof=1)) if len(y) > 1 else 0.0
    from glasshouse.core.threads import one_blas_thread
    from glasshouse.engines.models.linear.attackers import fit_lm

    design = task.design()
    with one_blas_thread():
        model = fit_lm(design, y)
    residual = y - model.predict(design)
    degrees = max(1, len(y) - 1 - int(model.coding.kept.sum()))
    return model.coding.effects(model.beta), float(np.sqrt(residual @ residual / degrees))
