"""The two private steps: noisy counts (discrete Gaussian) and a noisy choice (exponential mechanism).

The noise comes from OpenDP's cryptographic source, and OpenDP states the cost of what it ran, in rho. A seed makes
noise repeatable and therefore removable: it is accepted for tests and teaching only, and the report says that the
release is not private.
"""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np

from glasshouse.core.errors import MissingExtra
from glasshouse.core.streams import generator
from glasshouse.data.arrays import Floats, Ints
from glasshouse.synthesis.dp.accountant import Accountant

# Scores are sums of doubles; rounding may move two neighbours' scores apart by a hair more than the exact sensitivity.
SCORE_ROUNDING = 1.0 + 1e-6


def scale_of(rho: float) -> float:
    """Standard deviation of a Gaussian step of L2 sensitivity 1 that costs at most ``rho``: 1 / sqrt(2 rho)."""
    scale = math.sqrt(0.5 / rho)
    while 0.5 / scale**2 > rho:
        scale = math.nextafter(scale, math.inf)
    return scale * (1.0 + 1e-12)


class Noise:
    """Runs private steps and enters each one's cost before it runs."""

    def __init__(self, accountant: Accountant, insecure_seed: int | None = None) -> None:
        self.accountant = accountant
        self.seeded = insecure_seed is not None
        self._rng = generator(insecure_seed, "private noise") if self.seeded else None
        if self._rng is None:
            _opendp()  # a missing package is told before anything looks at the data

    def measure(self, counts: Ints, rho: float, subject: tuple[str, ...]) -> tuple[Floats, float]:
        """Counts of one marginal plus discrete Gaussian noise; one record added or removed moves one cell by one."""
        scale = scale_of(rho)
        if self._rng is not None:
            self.accountant.charge("measure", subject, 0.5 / scale**2, scale)
            return counts.astype(float) + np.rint(self._rng.normal(0.0, scale, counts.shape)), scale
        dp = _opendp()
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
        mechanism = dp.m.make_gaussian(*space, scale)
        self.accountant.charge("measure", subject, float(mechanism.map(1.0)), scale)
        noisy = np.array(mechanism(counts.ravel().astype(np.int64).tolist()), dtype=float)
        return noisy.reshape(counts.shape), scale

    def select(self, scores: Floats, sensitivity: float, rho: float, subject: tuple[str, ...]) -> int:
        """Index of a high score by the exponential mechanism: rho = epsilon^2 / 8 (Cesar & Rogers 2021)."""
        sensitivity *= SCORE_ROUNDING
        scale = sensitivity / math.sqrt(2.0 * rho) * (1.0 + 1e-12)  # 2 sensitivity / epsilon
        if self._rng is not None:
            self.accountant.charge("select", subject, 0.5 * (sensitivity / scale) ** 2, scale)
            return int(np.argmax(scores + self._rng.gumbel(0.0, scale, scores.shape)))
        dp = _opendp()
        space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")
        mechanism = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)
        self.accountant.charge("select", subject, float(mechanism.map(float(sensitivity))), scale)
        return int(mechanism([float(s) for s in scores]))


def _opendp() -> ModuleType:
    """OpenDP, with the features the two steps need."""
    try:
        import opendp.prelude as dp
    except ImportError as missing:
        raise MissingExtra("dp", "a differentially private synthesiser") from missing
    dp.enable_features("contrib")
    return dp
