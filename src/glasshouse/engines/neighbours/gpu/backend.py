"""Search on a graphics card, with the answers of the processor bit for bit.

One pass over all pairs finds, for every query, the record with the least bound in each of several parts of the
reference; the exact distances to those few limit how far the k-th nearest can be. A second pass keeps the pairs whose
bound does not exceed that limit, and their distances are computed in float64, columns in order, as on the processor.
Where too many pairs survive because levels are coarse, levels are made finer; answers do not depend on it. Tables
larger than the card are searched part by part.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from glasshouse.core.interrupts import check
from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.neighbours.backend import Found
from glasshouse.engines.neighbours.encoding import IGNORE, MATCH, MISMATCH, TOL, Encoded, Rows
from glasshouse.engines.neighbours.gpu.coding import coding

if TYPE_CHECKING:
    import torch

LEVELS = 8  # of the heaviest column, at first: half a level is the most a bound can be off in one column
FINEST = 64
WIDEST = 2048  # cells of a record; finer levels than fit are not tried
MANY = 64  # pairs per query that may be computed in vain
WORTH = 1_200_000  # cells of the reference that both passes read in the time in which one pair is computed
TRIED = 2048  # queries on which that is found out
PARTS = 16  # parts of the reference with a candidate each
ROOM = 1 << 26  # pairs kept at a time
COMPUTED = 1 << 23  # distances computed at a time
QUERIES = 1 << 20  # queries at a time
SHARE = 0.4  # of the card's free memory that a part of the reference may take


class Passes(Protocol):
    """What goes over all pairs (:mod:`.passes` says what each of the two does)."""

    def smallest(
        self, query: torch.Tensor, reference: torch.Tensor, alone: torch.Tensor, own: torch.Tensor, parts: int
    ) -> torch.Tensor: ...

    def below(
        self, query: torch.Tensor, reference: torch.Tensor, alone: torch.Tensor, limit: torch.Tensor, room: int
    ) -> tuple[torch.Tensor, int]: ...


class _Side(NamedTuple):
    """Some records on the card: their coordinates column by column, their cells, and what each adds alone."""

    numbers: torch.Tensor
    codes: torch.Tensor
    cells: torch.Tensor
    alone: torch.Tensor
    start: int  # the row of the first of them


class _Pairs(NamedTuple):
    """Queries, rows of the reference, and the distances between them."""

    asked: torch.Tensor
    row: torch.Tensor
    distance: torch.Tensor


class Prepared:
    """A reference table ready to be searched on a card.

    Parameters
    ----------
    encoded : Encoded
        The space.
    reference : Rows
        The rows to be searched, at least one.
    device : str
        As torch names it: "cuda", "cuda:1", or "cpu" for the same computation without a card.
    part : int, optional
        Records of the reference on the card at a time. Default: as many as fit.
    """

    def __init__(self, encoded: Encoded, reference: Rows, device: str = "cuda", part: int | None = None) -> None:
        self.encoded = encoded
        self.reference = reference
        self.device = device
        self.passes = passes_for(device)
        self.numbers, self.codes = encoded.as_reference(reference)
        self.part = part
        self._use(LEVELS)

    def nearest(self, query: Rows, k: int, self_join: bool) -> Found:
        """The k nearest distinct records of each distinct query; in a self-join one copy of itself is left out.

        Parameters
        ----------
        query : Rows
            Who asks.
        k : int
            How many.
        self_join : bool
            The two sides are the same rows.

        Returns
        -------
        Found
        """
        import torch

        own = torch.full((query.size,), -1, dtype=torch.int64, device=self.device)
        if self_join:  # who occurs twice finds the other one
            alone = torch.as_tensor(self.reference.counts < 2, device=self.device)
            own = torch.where(alone, torch.arange(query.size, device=self.device), own)
        self._refine(query, k, own)
        distance = np.full((query.size, k), np.inf)
        row = np.full((query.size, k), -1, np.int64)
        for some in _pieces(query.size, QUERIES):
            side = self._asking(query, some)
            limit = self._limit(side, k, own[some])
            kept: _Pairs | None = None
            for pairs, _ in self._within(side, limit):
                others = pairs.row != own[some][pairs.asked]
                pairs = _Pairs(*(x[others] for x in pairs))
                if kept is not None:
                    pairs = _Pairs(*(torch.cat(both) for both in zip(kept, pairs, strict=True)))
                kept = self._first(pairs, k)
            if kept is not None:
                place = _place(kept.asked)
                at = (some.start + kept.asked).cpu().numpy(), place.cpu().numpy()
                distance[at], row[at] = kept.distance.cpu().numpy(), kept.row.cpu().numpy()
        return Found(distance, row)

    def within(self, query: Rows, radius: Floats, self_join: bool) -> Ints:
        """Records within a radius of each distinct query, copies counted, tolerance included.

        Parameters
        ----------
        query : Rows
            Who asks.
        radius : array of float
            One per distinct query.
        self_join : bool
            The two sides are the same rows; one copy of itself is left out.

        Returns
        -------
        array of int
        """
        import torch

        copies = torch.as_tensor(self.reference.counts, device=self.device)
        count = torch.zeros(query.size, dtype=torch.int64, device=self.device)
        for some in _pieces(query.size, QUERIES):
            limit = torch.as_tensor(radius[some] + TOL, device=self.device)
            for pairs, _ in self._within(self._asking(query, some), limit):
                asked = pairs.asked + some.start
                count.index_add_(0, asked, copies[pairs.row] - (self_join & (asked == pairs.row)).long())
        return np.asarray(count.cpu())

    def listed(self, query: Rows, radius: Floats) -> tuple[Ints, Ints]:
        """The distinct rows within a radius of each distinct query.

        Parameters
        ----------
        query : Rows
            Who asks.
        radius : array of float
            One per distinct query.

        Returns
        -------
        (offsets, row) : tuple of array of int
            ``row[offsets[q]:offsets[q + 1]]`` for query q, ascending.
        """
        import torch

        asked, row = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for some in _pieces(query.size, QUERIES):
            limit = torch.as_tensor(radius[some] + TOL, device=self.device)
            for pairs, _ in self._within(self._asking(query, some), limit):
                asked.append((pairs.asked + some.start).cpu().numpy())
                row.append(pairs.row.cpu().numpy())
        one, other = np.concatenate(asked), np.concatenate(row)
        counts = np.bincount(one, minlength=query.size)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), other[np.lexsort([other, one])]

    def _use(self, levels: int) -> None:
        """Write the reference with so many levels."""
        self.levels = levels
        self.coding = coding(self.encoded, self.reference, levels)
        self._kept: dict[int, _Side] = {}

    def _refine(self, query: Rows, k: int, own: torch.Tensor) -> None:
        """Make levels finer while most pairs that survive the bounds turn out too far, tried on a few queries."""
        some = slice(0, query.size, max(1, query.size // TRIED))
        while 2 * self.levels <= FINEST:
            side = self._asking(query, some)
            limit = self._limit(side, k, own[some])
            in_vain = sum(looked - len(pairs.row) for pairs, looked in self._within(side, limit))
            if in_vain <= max(MANY, self.coding.width * self.reference.size / WORTH) * len(limit):
                return  # finer levels cost more than they save
            if coding(self.encoded, self.reference, 2 * self.levels).width > WIDEST:
                return
            self._use(2 * self.levels)

    def _limit(self, side: _Side, k: int, own: torch.Tensor) -> torch.Tensor:
        """What the distance of each query to its k-th nearest record cannot exceed; infinite where there are fewer."""
        import torch

        n = len(side.cells)
        nearest = torch.full((n, k), torch.inf, dtype=torch.float64, device=self.device)
        wanted = max(PARTS, 1 << (2 * k - 1).bit_length())
        for part in self._parts():
            hidden = torch.where((own >= part.start) & (own < part.start + len(part.cells)), own - part.start, -1)
            at = self.passes.smallest(side.cells, part.cells, part.alone, hidden.int(), wanted).long()
            asked = torch.arange(n, device=self.device)[:, None].expand_as(at).reshape(-1)
            d = self._exact(side, part, asked, at.reshape(-1).clamp(min=0)).reshape(n, wanted)
            d = torch.where(at < 0, torch.inf, d)
            nearest = torch.cat([nearest, d], dim=1).sort(dim=1).values[:, :k]
            check()
        return nearest[:, -1]

    def _within(self, side: _Side, limit: torch.Tensor) -> Iterator[tuple[_Pairs, int]]:
        """All pairs no further apart than the limit of the query, piece by piece, and how many had to be computed."""
        present = 1.0
        if self.encoded.rule == IGNORE:  # distances are shares of the weight both have present
            present = self._present(side)
        most = limit * present / self.coding.unit + self.coding.slack - side.alone
        for part in self._parts():
            room = max(ROOM, len(part.cells))
            pending = [(0, len(limit))]
            while pending:
                low, high = pending.pop()
                pairs, looked = self.passes.below(
                    side.cells[low:high], part.cells, part.alone, most[low:high].float(), room
                )
                check()
                if looked > room:
                    size = max(1, int(0.8 * (high - low) * room / looked))
                    pending += [(i, min(i + size, high)) for i in range(low, high, size)][::-1]
                    continue
                for i in range(0, len(pairs), COMPUTED):
                    asked, row = pairs[i : i + COMPUTED, 0].long() + low, pairs[i : i + COMPUTED, 1].long()
                    d = self._exact(side, part, asked, row)
                    near = d <= limit[asked]
                    yield _Pairs(asked[near], row[near] + part.start, d[near]), len(asked)

    def _exact(self, side: _Side, part: _Side, asked: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        """Gower distances of pairs, float64, columns in order: what the processor computes, operation by operation."""
        import torch

        rule, weights = self.encoded.rule, self.encoded.weights
        total = torch.zeros(len(asked), dtype=torch.float64, device=self.device)
        present = torch.zeros_like(total)
        for v in range(len(side.numbers)):
            w = float(weights[v])
            x = side.numbers[v][asked]
            gap = (x - part.numbers[v][row]).abs()
            near = gap <= 1.5 * w
            if rule == IGNORE:
                near &= x <= 1.5 * w
                present += near.double() * w
            total += torch.where(near, gap, w if rule <= MISMATCH else 0.0)
        for v in range(len(side.codes)):
            w = float(weights[len(side.numbers) + v])
            a, b = side.codes[v][asked], part.codes[v][row]
            apart = a != b
            if rule >= MATCH:
                both = (a >= 0) & (b >= 0)
                present += both.double() * w
                apart &= both
            total += apart.double() * w
        return torch.where(present > 0, total / present, 1.0) if rule == IGNORE else total

    def _present(self, side: _Side) -> torch.Tensor:
        """The weight of the columns each query has a value in."""
        import torch

        total = torch.zeros(len(side.cells), dtype=torch.float64, device=self.device)
        for v, w in enumerate(self.encoded.weights):
            number = v < len(side.numbers)
            known = side.numbers[v] <= 1.5 * w if number else side.codes[v - len(side.numbers)] >= 0
            total += known.double() * float(w)
        return total

    def _first(self, pairs: _Pairs, k: int) -> _Pairs:
        """The k nearest of each query, by distance and then by record number."""
        import torch

        firsts = torch.as_tensor(self.reference.firsts, device=self.device)
        order = torch.argsort(firsts[pairs.row], stable=True)
        order = order[torch.argsort(pairs.distance[order], stable=True)]
        order = order[torch.argsort(pairs.asked[order], stable=True)]
        ordered = _Pairs(*(x[order] for x in pairs))
        near = _place(ordered.asked) < k
        return _Pairs(*(x[near] for x in ordered))

    def _asking(self, query: Rows, some: slice) -> _Side:
        """Queries on the card."""
        return self._side(query.numbers[some], query.codes[some], 0, asks=True)

    def _parts(self) -> Iterator[_Side]:
        """The reference on the card, part by part; kept there where all of it fits."""
        size = self.part or _fitting(self.device, self.coding.width, len(self.encoded.weights))
        for start in range(0, self.reference.size, size):
            side = self._kept.get(start)
            if side is None:
                rows = slice(start, start + size)
                side = self._side(self.numbers[rows], self.codes[rows], start, asks=False)
                if size >= self.reference.size:
                    self._kept[start] = side
            yield side

    def _side(self, numbers: Floats, codes: Ints, start: int, asks: bool) -> _Side:
        """Records on the card."""
        import torch

        x = torch.as_tensor(np.ascontiguousarray(numbers), device=self.device)
        c = torch.as_tensor(np.ascontiguousarray(codes), device=self.device)
        cells, alone = self.coding.written(x, c, asks)
        return _Side(x.T.contiguous(), c.T.contiguous(), cells, alone, start)


def passes_for(device: str) -> Passes:
    """The passes over all pairs for a device: compiled by Triton on a card, plain torch elsewhere.

    Parameters
    ----------
    device : str
        As torch names it.

    Returns
    -------
    module
        With ``smallest`` and ``below``.
    """
    from importlib.util import find_spec

    if device.startswith("cuda") and find_spec("triton") is not None:
        from glasshouse.engines.neighbours.gpu import compiled

        return compiled
    from glasshouse.engines.neighbours.gpu import passes

    return passes


def _fitting(device: str, width: int, columns: int) -> int:
    """How many records of a reference may lie on the card at once."""
    import torch

    free = torch.cuda.mem_get_info(device)[0] if device.startswith("cuda") else 4 << 30
    # cells are made from a float64 copy of a column, spread over its levels
    each = 2 * width + 8 * 2 * columns + 8 * 4 * LEVELS
    return max(1 << 16, int(SHARE * free / each))


def _pieces(n: int, size: int) -> list[slice]:
    """Rows, some at a time."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _place(asked: torch.Tensor) -> torch.Tensor:
    """The place of each among those of the same query, which stand together."""
    import torch

    return torch.arange(len(asked), device=asked.device) - torch.searchsorted(asked, asked)
