"""What Mst and Aim share: measured marginals in, one distribution out, records sampled from it.

select - measure - generate: choose marginals privately, add noise to their counts, fit one distribution to all of them,
sample records. Only the first two look at data, and each look is entered in the book, in rho, before it happens.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, Self

import narwhals as nw
import numpy as np
import polars as pl

from glasshouse.core.errors import GlasshouseError, InputError, closest, listed
from glasshouse.core.plain import plain
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.arrays import Ints
from glasshouse.data.frames import Adopted, Frame, adopt_headed, give_back
from glasshouse.data.here import Label
from glasshouse.data.split import collected
from glasshouse.synthesis.contract import Arrays, Header, Synthesiser
from glasshouse.synthesis.dp.accountant import Accountant, Spent
from glasshouse.synthesis.dp.codebook import READ_FROM_DATA
from glasshouse.synthesis.dp.domain import Domain, DomainError, DomainLike, domain_of
from glasshouse.synthesis.dp.estimate import Measurement, estimate, estimate_with_mbi, noisy_total
from glasshouse.synthesis.dp.junction import Clique, JunctionTree, TreeModel, cells_of
from glasshouse.synthesis.dp.noise import Noise
from glasshouse.synthesis.dp.report import FitReport, Promise, read_promise

Inference = Literal["glasshouse", "mbi"]


class HasRho(Protocol):
    """A promise a synthesiser can keep: formal's Risk, or anything else with a rho."""

    @property
    def rho(self) -> float: ...


class NotFitted(GlasshouseError, RuntimeError):
    """fit() comes first."""


@dataclass(frozen=True)
class SavedRisk:
    """The promise a loaded synthesiser was fitted under, as plain data."""

    rho: float
    content: Mapping[str, object]

    def to_dict(self) -> dict[str, object]:
        """The promise as it was written."""
        return dict(self.content)


class Table:
    """The confidential table as cells; hands out exact marginals, which only the noise may see."""

    def __init__(self, cells: Mapping[str, Ints], sizes: Mapping[str, int]) -> None:
        self.cells, self.sizes = cells, dict(sizes)
        self._seen: dict[Clique, Ints] = {}

    def counts(self, clique: Clique) -> Ints:
        """Exact counts of a marginal, one axis per column."""
        if clique not in self._seen:
            shape = [self.sizes[c] for c in clique]
            index = np.ravel_multi_index([self.cells[c] for c in clique], shape)
            self._seen[clique] = np.bincount(index, minlength=cells_of(self.sizes, clique)).reshape(shape)
        return self._seen[clique]


class MarginalSynthesiser(Synthesiser):
    """fit(original), sample(n), save, load, report. One record is one person; rho is the whole price of everything.

    Parameters
    ----------
    risk : Risk
        What any attacker may reach.
    domain : Domain, mapping or path
        The possible values of every column.
    rows : int, optional
        The number of records, if public. Default: a noisy count.
    inference : {"glasshouse", "mbi"}, default "glasshouse"
        Who fits the distribution.
    allow_leaky_domain : bool, default False
        Accept a domain that was read from the data.
    insecure_seed : int, optional
        Makes the *private noise* repeatable, for tests only: the release is then not private.
    """

    algorithm: ClassVar[str]

    def __init__(
        self,
        risk: HasRho,
        domain: DomainLike = None,
        *,
        rows: int | None = None,
        inference: Inference = "glasshouse",
        allow_leaky_domain: bool = False,
        insecure_seed: int | None = None,
    ) -> None:
        rho = getattr(risk, "rho", None)
        if not isinstance(rho, (int, float)) or isinstance(rho, bool):
            raise InputError("risk must be a gh.Risk, for example gh.Risk.from_advantage(0.1) or gh.Risk.from_rho(0.5)")
        if not 0 < rho < float("inf"):
            raise InputError(
                f"rho must be positive and finite, not {rho}: without noise there is nothing to synthesise privately"
            )
        if inference not in ("glasshouse", "mbi"):
            raise InputError(f"inference must be 'glasshouse' or 'mbi', not {inference!r}")
        self.risk = risk
        self.domain = domain_of(domain)
        if self.domain.leaky and not allow_leaky_domain:
            raise DomainError(
                "this domain was read from the data, so the release would not be differentially private. Edit the "
                "draft with the codebook and pass it as a dictionary or a file that no longer says provenance = "
                f"{READ_FROM_DATA!r}; or say allow_leaky_domain=True in Python and have the release labelled so"
            )
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
            raise InputError(f"rows must be a whole number of at least 1, not {rows!r}")
        self.rows = rows
        self.inference: Inference = inference
        self.insecure_seed = insecure_seed
        self.model: TreeModel | None = None
        self._ledger: list[Spent] = []
        self._measured: list[Clique] = []
        self._estimated_rows: float | None = None
        self._promise: Promise | None = None

    # -- fitting -----------------------------------------------------------------------------------------------------

    def fit(self, original: Frame) -> Self:
        """Learn the distribution of the original within the budget.

        Parameters
        ----------
        original : frame or path
            The confidential table, with exactly the columns of the domain; one record is one person.

        Returns
        -------
        MarginalSynthesiser
            This one.

        Raises
        ------
        DomainError
            When the table does not fit the domain; nothing private has been done by then.
        MissingExtra
            When OpenDP is not installed.
        """
        adopted = adopt_headed(original, "original")
        cells = self.domain.encode(collected(adopted))
        accountant = Accountant(float(self.risk.rho))
        noise = Noise(accountant, self.insecure_seed)
        measurements = self._measure(Table(cells, self.domain.sizes), noise)
        self.model = self._estimate(measurements, None, 3000)
        self._ledger = accountant.ledger
        self._measured = list(dict.fromkeys(m.clique for m in measurements))
        self._estimated_rows = noisy_total(measurements)
        self._like, self._library = _shell(adopted), adopted.library
        return self

    @abstractmethod
    def _measure(self, table: Table, noise: Noise) -> list[Measurement]:
        """The private part: choose and measure marginals until the budget is spent."""

    def _estimate(self, measurements: list[Measurement], start: TreeModel | None, iterations: int) -> TreeModel:
        if self.inference == "mbi":
            return estimate_with_mbi(self.domain.sizes, measurements, iterations)
        return estimate(self.domain.sizes, measurements, start=start, iterations=iterations)

    @staticmethod
    def _noisy(table: Table, noise: Noise, clique: Clique, rho: float) -> Measurement:
        counts, scale = noise.measure(table.counts(clique), rho, clique)
        return Measurement(clique, counts, scale)

    # -- sampling ----------------------------------------------------------------------------------------------------

    def sample(
        self, n: int | None = None, random_state: RandomState = 0, *, condition: Mapping[str, Label] | None = None
    ) -> Frame:
        """A synthetic table. Sampling costs no privacy, so it may be repeated with any seed.

        Parameters
        ----------
        n : int, optional
            Number of records. Default: as many as were declared public, else as were (noisily) counted.
        random_state : int, numpy Generator or None, default 0
            The same call gives the same table; None draws.
        condition : mapping, optional
            ``{"sex": "F", "age": [30, 31]}``: only records with those values, from the fitted distribution given them.
            Default: no condition.

        Returns
        -------
        frame
            In the frame library of the original.

        Raises
        ------
        InputError
            When the condition names no column, or the model gives such records no weight.
        """
        model = self._fitted()
        if n is None:
            n = self.rows or max(1, round(self._estimated_rows or 1))
        if n < 0:
            raise InputError(f"n must not be negative, not {n}")
        if condition:
            model, share = model.given(self._condition_cells(condition))
            if share <= 0.0:
                raise InputError(f"the model gives no weight to records with that condition on {listed(condition)}")
        rng = generator(random_state, self.algorithm, "sample")
        cells = model.sample(int(n), rng)
        columns: dict[str, pl.Series] = dict(self.domain.decode(cells, rng).to_dict(as_series=True))
        for name, value in (condition or {}).items():
            if np.isscalar(value) and self.domain[name].size > 1:
                columns[name] = _constant(columns[name], value)
        if self._like is None:  # loaded from a file
            return self._give(pl.DataFrame(columns))
        return give_back(columns, self._like, keep_index=False)

    def _condition_cells(self, condition: Mapping[str, Label]) -> dict[str, Ints]:
        """Cells that a condition allows, per column."""
        unknown = [c for c in condition if c not in self.domain]
        if unknown:
            raise InputError(
                f"the condition names {unknown[0]!r}, which is no column{closest(unknown[0], self.domain)}"
            )
        return {name: np.unique(self.domain[name].cells_of(value)) for name, value in condition.items()}

    def _fitted(self) -> TreeModel:
        if self.model is None:
            raise NotFitted(f"{type(self).__name__} has not seen any data yet: call fit(original) first")
        return self.model

    # -- keeping -----------------------------------------------------------------------------------------------------

    def report(self) -> FitReport:
        """What was promised, what was spent on what, and what is not covered.

        Returns
        -------
        FitReport
            Prints itself; ``label`` says in three words how far the guarantee reaches.

        Raises
        ------
        NotFitted
            Before ``fit``.
        """
        self._fitted()
        leaks = []
        if self.domain.leaky:
            leaks.append("the domain (categories, bounds) was read from the data")
        if self.insecure_seed is not None:
            leaks.append("the private noise was drawn from a known seed and can be removed")
        return FitReport(
            algorithm=self.algorithm,
            rho=float(self.risk.rho),
            ledger=tuple(self._ledger),
            promise=self._promise or read_promise(self.risk),
            domain={**self.domain.to_dict()},
            rows=self.rows or max(1, round(self._estimated_rows or 1)),
            rows_public=self.rows is not None,
            measured=tuple(self._measured),
            leaks=tuple(leaks),
            settings=self._settings(),
        )

    def _settings(self) -> dict[str, object]:
        return {"inference": self.inference}

    def _state(self) -> tuple[Header, Arrays]:
        model = self._fitted()
        to_dict = getattr(self.risk, "to_dict", None)
        header = {
            "risk": to_dict() if callable(to_dict) else {"rho": self.risk.rho},
            "rho": float(self.risk.rho),
            "domain": plain(self.domain.to_dict()),
            "cliques": [list(c) for c in model.tree.cliques],
            "estimated_rows": self._estimated_rows,
            "rows": self.rows,
            "seeded": self.insecure_seed is not None,
            "measured": [list(c) for c in self._measured],
            "ledger": [entry.to_dict() for entry in self._ledger],
            "promise": self._promise or read_promise(self.risk),
            "settings": self._settings(),
        }
        return header, {f"table_{i}": table for i, table in enumerate(model.tables)}

    @classmethod
    def _from_state(cls, header: Header, arrays: Arrays) -> Self:
        made = cls(
            SavedRisk(float(header["rho"]), header["risk"]),
            Domain.from_dict(header["domain"]),
            rows=header["rows"],
            allow_leaky_domain=True,
            insecure_seed=0 if header["seeded"] else None,
            **header["settings"],
        )
        tree = JunctionTree(made.domain.sizes, [tuple(c) for c in header["cliques"]])
        made.model = TreeModel(tree, [arrays[f"table_{i}"] for i in range(len(tree.cliques))])
        made._estimated_rows = header["estimated_rows"]
        made._measured = [tuple(c) for c in header["measured"]]
        made._ledger = [Spent(e["step"], tuple(e["subject"]), e["rho"], e["scale"]) for e in header["ledger"]]
        made._promise = {"sentences": header["promise"]["sentences"], "curve": header["promise"]["curve"]}
        return made

    def __repr__(self) -> str:
        state = "fitted" if self.model is not None else "not fitted"
        return f"{type(self).__name__}(rho={float(self.risk.rho):.6g}, {len(self.domain)} columns, {state})"


def _shell(adopted: Adopted) -> Adopted:
    """What is needed to answer in the caller's frame library, without keeping the confidential table alive."""
    native = adopted.native.limit(0) if adopted.library == "pyspark" else None
    return replace(adopted, native=native, lazy=nw.from_native(pl.LazyFrame()))


def _constant(series: pl.Series, value: Label) -> pl.Series:
    """The value that was asked for, in the type of the column, instead of another one of the same cell."""
    try:
        return pl.repeat(value, len(series), dtype=series.dtype, eager=True).alias(series.name)
    except (
        TypeError,
        pl.exceptions.PolarsError,
    ):  # a value written otherwise than the column (a date as text): keep the cell's
        return series
