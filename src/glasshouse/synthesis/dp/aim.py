"""AIM: in every round the marginal the model is most wrong about, as far as the noise allows (McKenna et al. 2022)."""

from __future__ import annotations

import math
from itertools import combinations
from typing import ClassVar

import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.data.arrays import Floats
from glasshouse.synthesis.dp.domain import DomainLike
from glasshouse.synthesis.dp.estimate import Measurement, noisy_total
from glasshouse.synthesis.dp.junction import Clique, TreeModel, cells_of, model_cells
from glasshouse.synthesis.dp.marginals import HasRho, Inference, MarginalSynthesiser, Table
from glasshouse.synthesis.dp.noise import Noise

ROUNDS_PER_COLUMN = 16
MEASURED_SHARE = 0.9  # of each round's budget; the rest selects


class Aim(MarginalSynthesiser):
    """Differentially private synthesis by adaptive choice of marginals.

    Needs the extra ``glasshouse[dp]`` for fitting.

    Parameters
    ----------
    risk : Risk
        What any attacker may reach; its rho is the whole budget.
    domain : Domain, mapping or path
        The possible values of every column, from the codebook and not from the data.
    degree : {1, 2, 3}, default 2
        1 keeps single columns, 2 pairs, 3 triples; more spreads the budget thinner.
    max_model_size : float, default 2.0
        Megabytes of all tables of the model together; a larger one can hold more marginals at once and takes longer to
        fit.
    rows : int, optional
        The number of records, if it is public. Default: a noisy count.
    inference : {"glasshouse", "mbi"}, default "glasshouse"
        Who fits the distribution to the noisy marginals; "mbi" needs the extra ``glasshouse[mbi]``.
    allow_leaky_domain : bool, default False
        Accept a domain that was read from the data; the report then says that the guarantee excludes it.
    insecure_seed : int, optional
        Makes the *private noise* repeatable, for tests and teaching only: the release is then not private.

    Notes
    -----
    Every round selects the marginal with the largest

        weight * (|| counts - counts of the model ||_1 - expected |noise|)

    by the exponential mechanism, measures it, and fits the model again; a tenth of each round's budget selects. Rounds
    that learn only noise are followed by rounds with four times the budget.

    References
    ----------
    McKenna, Mullins, Sheldon & Miklau (2022), AIM: an adaptive and iterative mechanism for differentially private
    synthetic data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> original = gh.data.simulate_health(500).select("gender", "education")
    >>> domain = {"gender": ["female", "male"], "education": ["low", "medium", "high"]}
    >>> model = gh.synthesis.Aim(gh.Risk.from_rho(1.0), domain, rows=500).fit(original)
    >>> model.sample(random_state=1).shape
    (500, 2)
    """

    algorithm: ClassVar[str] = "aim"

    def __init__(
        self,
        risk: HasRho,
        domain: DomainLike = None,
        *,
        degree: int = 2,
        max_model_size: float = 2.0,
        rows: int | None = None,
        inference: Inference = "glasshouse",
        allow_leaky_domain: bool = False,
        insecure_seed: int | None = None,
    ) -> None:
        super().__init__(
            risk,
            domain,
            rows=rows,
            inference=inference,
            allow_leaky_domain=allow_leaky_domain,
            insecure_seed=insecure_seed,
        )
        if isinstance(degree, bool) or degree not in (1, 2, 3):
            raise InputError(f"degree must be 1, 2 or 3, not {degree!r}")
        if isinstance(max_model_size, bool) or not isinstance(max_model_size, (int, float)) or not max_model_size > 0:
            raise InputError(f"max_model_size must be a number of megabytes above 0, not {max_model_size!r}")
        self.degree, self.max_model_size = degree, float(max_model_size)

    def _settings(self) -> dict[str, object]:
        return {**super()._settings(), "degree": self.degree, "max_model_size": self.max_model_size}

    def _measure(self, table: Table, noise: Noise) -> list[Measurement]:
        sizes = self.domain.sizes
        weights = workload_weights(list(sizes), self.degree)
        rounds = ROUNDS_PER_COLUMN * len(sizes)
        measure_rho = MEASURED_SHARE * float(self.risk.rho) / rounds
        select_rho = (1.0 - MEASURED_SHARE) * float(self.risk.rho) / rounds
        measurements = [self._noisy(table, noise, (name,), measure_rho) for name in sizes]
        model = self._estimate(measurements, None, 1000)
        book = noise.accountant
        while book.left > 0.0:
            last = book.left < 2.0 * (measure_rho + select_rho)
            if last:
                measure_rho, select_rho = MEASURED_SHARE * book.left, (1.0 - MEASURED_SHARE) * book.left
            allowed = self._affordable(list(weights), measurements, book.spent / float(self.risk.rho))
            scores = self._scores(table, model, measurements, allowed, weights, measure_rho)
            sensitivity = float(max(weights[clique] for clique in allowed))
            chosen = allowed[noise.select(scores, sensitivity, select_rho, ("round", str(len(measurements))))]
            measurements.append(self._noisy(table, noise, chosen, measure_rho))
            before = noisy_total(measurements[:-1]) * model.project(chosen)
            model = self._estimate(measurements, model, 300)
            if last:
                break
            moved = float(np.abs(noisy_total(measurements) * model.project(chosen) - before).sum())
            if moved <= _expected_noise(measure_rho, before.size):
                # only noise was learnt: spend four times as much per round from here on (half the noise)
                measure_rho, select_rho = 4.0 * measure_rho, 4.0 * select_rho
        return measurements

    def _affordable(self, cliques: list[Clique], measurements: list[Measurement], spent: float) -> list[Clique]:
        """Marginals that keep the model within its size, which grows with the budget spent; inside ones always fit."""
        sizes = self.domain.sizes
        taken = [m.clique for m in measurements]
        limit = self.max_model_size * 2**20 / 8 * max(spent, 1e-9)
        current = [set(c) for c in taken]
        fits = []
        for clique in cliques:
            inside = any(set(clique) <= c for c in current)
            if inside or model_cells(sizes, [*taken, clique]) <= limit:
                fits.append(clique)
        return fits

    def _scores(
        self,
        table: Table,
        model: TreeModel,
        measurements: list[Measurement],
        allowed: list[Clique],
        weights: dict[Clique, int],
        measure_rho: float,
    ) -> Floats:
        """Weight times (error of the model less the error the noise would add); one record changes it by its weight."""
        total = noisy_total(measurements)
        return np.array(
            [
                weights[c]
                * (
                    float(np.abs(table.counts(c) - total * model.project(c)).sum())
                    - _expected_noise(measure_rho, cells_of(self.domain.sizes, c))
                )
                for c in allowed
            ]
        )


def workload_weights(names: list[str], degree: int) -> dict[Clique, int]:
    """Every marginal up to ``degree`` columns, weighted by how many columns it shares with those that matter."""
    degree = min(degree, len(names))
    workload = list(combinations(names, degree))
    candidates = [c for k in range(1, degree + 1) for c in combinations(names, k)]
    return {c: sum(len(set(c) & set(w)) for w in workload) for c in candidates}


def _expected_noise(rho: float, cells: int) -> float:
    """Expected sum of |noise| over the cells: sqrt(2 / pi) sd per cell."""
    return math.sqrt(2.0 / math.pi) * math.sqrt(0.5 / rho) * cells
