"""The whole mechanism on trial: many independent runs with and without one canary, audited at the rho they claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from glasshouse.formal import Risk, audit_scores
from glasshouse.synthesis.dp import Aim, Mst
from glasshouse.synthesis.dp.accountant import Accountant
from glasshouse.synthesis.dp.marginals import Table
from glasshouse.synthesis.dp.noise import Noise

pytest.importorskip("opendp", reason="private noise comes from OpenDP: pip install 'glasshouse[dp]'")

DOMAIN = {"a": ["0", "1", "2"], "b": ["0", "1", "2"]}


def canary_scores(make: Any, rho: float, present: bool, runs: int) -> np.ndarray:
    """Log likelihood ratio of the canary's cells over everything that was measured: the strongest test there is."""
    base = pl.DataFrame({"a": ["0", "1"] * 10, "b": ["0", "1"] * 10})
    table = pl.concat([base, pl.DataFrame({"a": ["2"], "b": ["2"]})]) if present else base
    scores = []
    for _ in range(runs):
        synthesiser = make(Risk.from_rho(rho), DOMAIN)
        cells = Table(synthesiser.domain.encode(table), synthesiser.domain.sizes)
        measured = synthesiser._measure(cells, Noise(Accountant(rho)))
        scores.append(sum(m.counts[(2,) * len(m.clique)] / m.scale**2 for m in measured))
    return np.array(scores)


@pytest.mark.study
@pytest.mark.parametrize("make", [Mst, Aim])
def test_the_promise_holds_over_independent_runs(make: Any) -> None:
    rho = 1.0
    members, others = (canary_scores(make, rho, present, 300) for present in (True, False))
    honest = audit_scores(Risk.from_rho(rho), members, others, sided="one")
    assert honest.conclusion == "consistent", honest.sentence
    assert audit_scores(Risk.from_rho(rho / 20), members, others, sided="one").conclusion == "the claim is broken"
