"""Records as vectors whose inner product bounds Gower's distance from below.

Distances are counted in levels: a column of weight w has w / u of them, u the weight of one level. A number becomes a
soft thermometer, cell l holding clamp(x / u - l, 0, 1), so that the difference of two numbers is the sum of |t - t'|
over their cells. As |t - t'| = t + t' - 2 min(t, t') and t t' <= min(t, t'),

    sum t + sum t' - 2 t . t'  -  1/2  <=  |x - x'| / u  <=  sum t + sum t' - 2 t . t'

with a gap of at most 1/2, reached where both numbers end half way in the same cell. A category of weight w costs
w / u (1 - [same]), one cell per level; rare levels share cells, which can only lower the bound. Sums over columns then
are one matrix product of bfloat16 with float32 sums, plus a number of each record.

Missing values, by rule: under ``level`` and ``mismatch`` a missing number sits half way, at most w / 2 from all others,
and a second category of weight w / 2 tells missing from present. Under ``match`` and ``ignore`` a column counts only
where both are present, so what else would be a number of a record stands in two cells of its own: the sum of one side
beside the presence of the other. ``ignore`` divides by the weight both have present, at most what the query has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.data.arrays import Ints
from glasshouse.engines.neighbours.encoding import LEVEL, MISMATCH, Encoded, Rows

if TYPE_CHECKING:
    import torch

OWN = 48  # most frequent levels of a category with a cell of their own
SHARED = 16  # cells the others share
KINDS = 4  # cells for present, missing and reasons for missing, which share the last ones
# bfloat16 holds 8 bits: a partly filled cell is off by at most 2^-9 on either side
ROUNDING = 2.0**-8


@dataclass(frozen=True)
class Column:
    """How one column is written into cells.

    Attributes
    ----------
    levels : float
        Its weight in levels.
    cells : int
        How many cells it takes, without those for missing values.
    gaps : bool
        Whether either side has missing values in it.
    bucket : array of int or None
        For categories, the cell of each code.
    """

    levels: float
    cells: int
    gaps: bool
    bucket: Ints | None = None


@dataclass(frozen=True)
class Coding:
    """How records are written into cells, alike on both sides.

    Attributes
    ----------
    columns : tuple of Column
        Numbers first, then categories.
    unit : float
        The weight of one level.
    rule : int
        Position of the missing-value rule in ``RULES``.
    width : int
        Cells, filled up to a multiple of 64.
    slack : float
        By how many levels a bound may exceed a distance.
    """

    columns: tuple[Column, ...]
    unit: float
    rule: int
    width: int
    slack: float

    def written(self, numbers: torch.Tensor, codes: torch.Tensor, asks: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Records in cells, and the number each adds to its inner products.

        Parameters
        ----------
        numbers, codes : tensor
            [records, columns], as the reference or the query side has them.
        asks : bool
            Whether these are the queries. The two sides are written differently.

        Returns
        -------
        (cells, alone) : tuple of tensor
            bfloat16 [records, width] and float32 [records]: a query's number plus a reference's plus the inner product
            of their cells, less ``slack``, is no more than their distance in levels.
        """
        import torch

        n = len(numbers)
        cells = torch.zeros((n, self.width), dtype=torch.bfloat16, device=numbers.device)
        alone = torch.zeros(n, dtype=torch.float32, device=numbers.device)
        at = 0
        for v, column in enumerate(self.columns):
            both = self.rule > MISMATCH and column.gaps  # counts only where both sides are present
            if column.bucket is None:
                value = numbers[:, v] / self.unit
                missing = (value > 1.5 * column.levels) | (value < -0.5 * column.levels)
                steps = torch.arange(column.cells, device=numbers.device)
                filled = torch.clamp(torch.where(missing, column.levels / 2, value)[:, None] - steps, 0, 1).to(
                    torch.bfloat16
                )
                if both:
                    filled[missing] = 0
                length = filled.float().sum(dim=1)
                cells[:, at : at + column.cells] = filled if asks else -2 * filled
                at += column.cells
                if both:
                    beside = (~missing).to(torch.bfloat16), _floored(length)
                    cells[:, at], cells[:, at + 1] = beside if asks else beside[::-1]
                    at += 2
                    continue
                alone += length
                if column.gaps:
                    kind = torch.round(value / (4 * column.levels)).long()
                    kind = torch.where(missing, 1 + kind % (KINDS - 1), 0)
                    alone += _category(cells[:, at : at + KINDS], kind, column.levels / 2, asks)
                    at += KINDS
                continue
            code = codes[:, v - numbers.shape[1]].long()
            bucket = torch.as_tensor(column.bucket, device=numbers.device)[code.clamp(min=0)]
            # missing is a level of its own, or equals nothing
            bucket = torch.where(code < 0, column.cells - 1 if self.rule == LEVEL else -1, bucket)
            constant = _category(cells[:, at : at + column.cells], bucket, column.levels, asks)
            at += column.cells
            if both:
                present = (code >= 0).to(torch.bfloat16)
                cells[:, at] = present * _floored(torch.tensor(column.levels)) if asks else present
                at += 1
            else:
                alone += constant
        return cells, alone


def coding(encoded: Encoded, reference: Rows, levels: int) -> Coding:
    """How records of a space are written into cells.

    Parameters
    ----------
    encoded : Encoded
        The space.
    reference : Rows
        The rows to be searched: their frequent levels get cells of their own.
    levels : int
        Levels of the heaviest column.

    Returns
    -------
    Coding
    """
    unit = float(encoded.weights.max()) / levels
    both = encoded.rule > MISMATCH
    columns: list[Column] = []
    width = 0
    n_numbers = reference.numbers.shape[1]
    for v, weight in enumerate(encoded.weights):
        share = float(weight) / unit
        if v < n_numbers:
            tables = [numbers[:, v] for numbers in encoded.numbers.values()]
            gaps = any(bool((x > 1.5 * weight).any()) for x in tables)
            columns.append(Column(share, int(np.ceil(share - 1e-9)), gaps))
            width += columns[-1].cells + (0 if not gaps else 2 if both else KINDS)
        else:
            codes = [table[:, v - n_numbers] for table in encoded.codes.values()]
            gaps = any(bool((x < 0).any()) for x in codes)
            # and one more: a query may ask as somebody whose category nobody has
            bucket = _buckets(reference.codes[:, v - n_numbers], 2 + max(int(x.max(initial=0)) for x in codes))
            columns.append(Column(share, int(bucket.max()) + 1 + (gaps and encoded.rule == LEVEL), gaps, bucket))
            width += columns[-1].cells + (both and gaps)
    slack = n_numbers * (0.5 + ROUNDING) + 2.0**-20 * 4 * sum(column.levels for column in columns)
    return Coding(tuple(columns), unit, encoded.rule, -(-width // 64) * 64, slack)


def _buckets(codes: Ints, levels: int) -> Ints:
    """The cell of every code: frequent ones have their own, the others share a few."""
    counts = np.bincount(codes[codes >= 0], minlength=levels)
    rank = np.empty(levels, np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(levels)
    return np.where(rank < OWN, rank, OWN + rank % SHARED)


def _category(cells: torch.Tensor, bucket: torch.Tensor, levels: float, asks: bool) -> torch.Tensor:
    """Write levels x [same] into cells, to be taken away from the constant returned on the side that asks."""
    import torch

    cost = _floored(torch.tensor(levels, device=cells.device))
    known = torch.nonzero(bucket >= 0).reshape(-1)
    cells[known, bucket[known]] = -cost if asks else torch.ones_like(cost)
    return cost.float() if asks else torch.zeros_like(cost.float())


def _floored(x: torch.Tensor) -> torch.Tensor:
    """Numbers of zero or more cut to bfloat16, never rounded up."""
    import torch

    bits = x.to(torch.float32).view(torch.int32) & -65536
    return bits.view(torch.float32).to(torch.bfloat16)
