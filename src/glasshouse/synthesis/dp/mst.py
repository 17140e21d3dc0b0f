"""MST: all single columns, then a tree of pairs chosen privately (McKenna, Miklau & Sheldon 2021)."""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import numpy as np

from glasshouse.synthesis.dp.estimate import Measurement, noisy_total
from glasshouse.synthesis.dp.junction import Clique
from glasshouse.synthesis.dp.marginals import MarginalSynthesiser, Table
from glasshouse.synthesis.dp.noise import Noise


class Mst(MarginalSynthesiser):
    """Differentially private synthesis from a tree of pairs.

    Fast and robust; it keeps single columns and the strongest dependences, and takes columns far apart on the tree as
    independent given those between. Needs the extra ``glasshouse[dp]`` for fitting.

    Parameters
    ----------
    risk : Risk
        What any attacker may reach; its rho is the whole budget.
    domain : Domain, mapping or path
        The possible values of every column, from the codebook and not from the data.
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
    A third of rho goes into the single columns, a third into choosing the tree (Kruskal's algorithm, each edge by the
    exponential mechanism), a third into its pairs. The noise is discrete Gaussian with standard deviation
    1 / sqrt(2 rho) per measured marginal. One record is one person.

    References
    ----------
    McKenna, Miklau & Sheldon (2021), Winning the NIST contest: a scalable and general approach to differentially
    private synthetic data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> original = gh.data.simulate_health(500).select("gender", "education", "age")
    >>> domain = {"gender": ["female", "male"], "education": ["low", "medium", "high"],
    ...           "age": {"type": "float", "lower": 18, "upper": 85, "bins": 8}}
    >>> model = gh.synthesis.Mst(gh.Risk.from_rho(1.0), domain, rows=500).fit(original)
    >>> model.sample(random_state=1).shape
    (500, 3)
    >>> model.report().label, round(model.report().spent, 6)
    ('end-to-end DP', 1.0)
    """

    algorithm: ClassVar[str] = "mst"

    def _measure(self, table: Table, noise: Noise) -> list[Measurement]:
        names = list(self.domain)
        rho = float(self.risk.rho)
        edges = len(names) - 1
        single = (rho if edges == 0 else rho / 3.0) / len(names)
        measurements = [self._noisy(table, noise, (name,), single * (1.0 - 1e-12)) for name in names]
        if edges == 0:
            return measurements
        tree = self._choose_tree(table, noise, measurements, rho / 3.0 / edges)
        each = noise.accountant.left / edges
        return measurements + [self._noisy(table, noise, pair, each) for pair in tree]

    def _choose_tree(self, table: Table, noise: Noise, singles: list[Measurement], rho: float) -> list[Clique]:
        """Kruskal with a private choice: the pair furthest from independence among those that join two parts.

        Score: sum over cells of |count - count under independence|; one record changes it by at most 1.
        """
        model = self._estimate(singles, None, 1000)
        total = noisy_total(singles)
        scores = {
            pair: float(np.abs(table.counts(pair) - total * model.project(pair)).sum())
            for pair in combinations(self.domain, 2)
        }
        part = {name: i for i, name in enumerate(self.domain)}
        tree: list[Clique] = []
        while len(tree) < len(part) - 1:
            open_pairs = [pair for pair in scores if part[pair[0]] != part[pair[1]]]
            chosen = open_pairs[
                noise.select(
                    np.array([scores[p] for p in open_pairs]), 1.0, rho * (1.0 - 1e-12), ("pair", str(len(tree) + 1))
                )
            ]
            tree.append(chosen)
            old, new = part[chosen[1]], part[chosen[0]]
            part = {name: new if i == old else i for name, i in part.items()}
        return tree
