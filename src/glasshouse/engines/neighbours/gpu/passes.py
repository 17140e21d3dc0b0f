"""The two passes over all pairs, in plain torch: the reference for the compiled ones, and what runs without Triton.

    smallest    the record with the least bound in each of several parts of the reference, for every query
    below       all pairs whose bound is at most a limit of the query

Both compute ``query . reference + alone`` a tile at a time; no matrix of all pairs exists.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

TILE = 4096


def smallest(
    query: torch.Tensor, reference: torch.Tensor, alone: torch.Tensor, own: torch.Tensor, parts: int
) -> torch.Tensor:
    """The record with the least bound in each part of the reference.

    Parameters
    ----------
    query, reference : tensor of bfloat16
        Cells of both sides.
    alone : tensor of float32
        What each reference record adds.
    own : tensor of int32
        The record each query must not find, or -1.
    parts : int
        How many parts.

    Returns
    -------
    tensor of int32
        [queries, parts]; -1 where a part holds nobody else.
    """
    import torch

    edges = _edges(len(reference), parts)
    found = torch.full((len(query), parts), -1, dtype=torch.int32, device=query.device)
    for i in range(0, len(query), TILE):
        rows = slice(i, i + TILE)
        for part, (low, high) in enumerate(pairwise(edges)):
            best = torch.full((len(query[rows]),), float("inf"), device=query.device)
            for j in range(low, high, TILE):
                end = min(j + TILE, high)
                bound = query[rows].float() @ reference[j:end].float().T + alone[j:end]
                mine = (own[rows] >= j) & (own[rows] < end)
                bound[mine, (own[rows][mine] - j).long()] = float("inf")
                least, at = bound.min(dim=1)
                better = least < best
                best = torch.where(better, least, best)
                found[rows, part] = torch.where(better, (j + at).int(), found[rows, part])
    return found


def below(
    query: torch.Tensor, reference: torch.Tensor, alone: torch.Tensor, limit: torch.Tensor, room: int
) -> tuple[torch.Tensor, int]:
    """Pairs whose bound is at most the limit of the query.

    Parameters
    ----------
    query, reference, alone : tensor
        As for :func:`smallest`.
    limit : tensor of float32
        One per query.
    room : int
        How many pairs may be returned.

    Returns
    -------
    (pairs, count) : tuple
        int32 [pairs, 2], query and reference, in any order; and how many there are, which may exceed ``room``.
    """
    import torch

    found, count = [], 0
    for i in range(0, len(query), TILE):
        for j in range(0, len(reference), TILE):
            bound = query[i : i + TILE].float() @ reference[j : j + TILE].float().T + alone[j : j + TILE]
            hits = torch.nonzero(bound <= limit[i : i + TILE, None])
            count += len(hits)
            if count > room:
                return torch.empty((0, 2), dtype=torch.int32, device=query.device), count
            found.append((hits + torch.tensor([i, j], device=query.device)).int())
    return torch.cat(found), count


def _edges(n: int, parts: int) -> list[int]:
    """Where the parts of a reference begin and end."""
    size = -(-n // parts)
    return [min(n, size * part) for part in range(parts + 1)]
