"""The two passes over all pairs, compiled by Triton for tensor cores (:mod:`.passes` says what they do)."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

QUERIES = 128  # of a program
NARROW = {"BR": 128, "num_warps": 4, "num_stages": 2}  # records met at a time, for records of up to 128 cells
WIDE = {"BR": 64, "num_warps": 8, "num_stages": 3}
HELD = {64: (64, 0), 128: (128, 0), 192: (128, 64), 256: (256, 0)}  # by width, cells of a query that stay in a program
FAR = 1e30  # levels; limits beyond are no limits


@triton.jit
def _cells(r, i, n, width: tl.constexpr, k):  # type: ignore[no-untyped-def]
    """Some cells of a block of records."""
    return tl.load(r + i[None, :] * width + k[:, None], mask=i[None, :] < n, other=0.0)


@triton.jit
def _inner(a, b, q, r, nq, n, width: tl.constexpr, A: tl.constexpr, B: tl.constexpr, BR: tl.constexpr):  # type: ignore[no-untyped-def]
    """Inner products of a block of queries with ``n`` records at most, whose cells begin at ``r``.

    The first A cells of the queries are held in ``a``, the next B in ``b``; any others are read again.
    """
    i = tl.arange(0, BR)
    j = tl.arange(0, a.shape[0])
    s = tl.dot(a, _cells(r, i, n, width, tl.arange(0, A)))
    if B > 0:
        s = tl.dot(b, _cells(r, i, n, width, A + tl.arange(0, B)), s)
    for start in range(A + B, width, 64):
        k = start + tl.arange(0, 64)
        own = tl.load(q + j[:, None] * width + k[None, :], mask=j[:, None] < nq, other=0.0)
        s = tl.dot(own, _cells(r, i, n, width, k), s)
    return s


@triton.jit
def _held(q, nq, width: tl.constexpr, first: tl.constexpr, cells: tl.constexpr, BQ: tl.constexpr):  # type: ignore[no-untyped-def]
    """Some cells of a block of queries."""
    j = tl.arange(0, BQ)
    k = first + tl.arange(0, cells)
    return tl.load(q + j[:, None] * width + k[None, :], mask=j[:, None] < nq, other=0.0)


@triton.jit
def _smallest(  # type: ignore[no-untyped-def]
    q,
    r,
    alone,
    own,
    found,
    nq,
    nr,
    size,
    parts,
    width: tl.constexpr,
    A: tl.constexpr,
    B: tl.constexpr,
    BQ: tl.constexpr,
    BR: tl.constexpr,
):
    block = tl.program_id(0).to(tl.int64) * BQ
    low = tl.program_id(1).to(tl.int64) * size
    here = tl.minimum(nq - block, BQ).to(tl.int32)  # queries of this block
    most = tl.minimum(nr - low, size).to(tl.int32)  # records of this part
    j = tl.arange(0, BQ)
    i = tl.arange(0, BR)
    q += block * width
    a = _held(q, here, width, 0, A, BQ)
    b = a
    if B > 0:
        b = _held(q, here, width, A, B, BQ)
    mine = (tl.load(own + block + j, mask=j < here, other=-1) - low).to(tl.int32)
    best = tl.full((BQ,), float("inf"), tl.float32)
    where = tl.full((BQ,), -1, tl.int32)
    r += low * width
    alone += low
    for start in range(0, size, BR):
        left = most - start
        bound = _inner(a, b, q, r, here, left, width, A, B, BR)
        bound += tl.load(alone + i, mask=i < left, other=float("inf"))[None, :]
        bound = tl.where((start + i)[None, :] == mine[:, None], float("inf"), bound)
        least, at = tl.min(bound, axis=1, return_indices=True)
        better = least < best
        best = tl.where(better, least, best)
        where = tl.where(better, start + at, where)
        r += BR * width
        alone += BR
    where = tl.where(where < 0, -1, low.to(tl.int32) + where)
    tl.store(found + (block + j) * parts + tl.program_id(1), where, mask=j < here)


@triton.jit
def _below(  # type: ignore[no-untyped-def]
    q,
    r,
    alone,
    limit,
    pairs,
    count,
    room,
    nq,
    nr,
    size,
    width: tl.constexpr,
    A: tl.constexpr,
    B: tl.constexpr,
    BQ: tl.constexpr,
    BR: tl.constexpr,
):
    block = tl.program_id(0).to(tl.int64) * BQ
    low = tl.program_id(1).to(tl.int64) * size
    here = tl.minimum(nq - block, BQ).to(tl.int32)
    most = tl.minimum(nr - low, size).to(tl.int32)
    j = tl.arange(0, BQ)
    i = tl.arange(0, BR)
    q += block * width
    a = _held(q, here, width, 0, A, BQ)
    b = a
    if B > 0:
        b = _held(q, here, width, A, B, BQ)
    # nobody is below a limit of minus infinity, and no record that is not there is below any
    cut = tl.load(limit + block + j, mask=j < here, other=float("-inf"))
    r += low * width
    alone += low
    for start in range(0, size, BR):
        left = most - start
        bound = _inner(a, b, q, r, here, left, width, A, B, BR)
        bound += tl.load(alone + i, mask=i < left, other=float("inf"))[None, :]
        if tl.max((tl.min(bound, axis=1) <= cut).to(tl.int32), axis=0) > 0:
            # one request for room per tile, places inside it by counting
            hit = (bound <= cut[:, None]).to(tl.int32)
            each = tl.sum(hit, axis=1)
            first = tl.atomic_add(count, tl.sum(each, axis=0).to(tl.int64))
            place = first + (tl.cumsum(each, axis=0) - each)[:, None] + tl.cumsum(hit, axis=1) - 1
            fits = (hit > 0) & (place < room)
            asked = tl.broadcast_to((block.to(tl.int32) + j)[:, None], (BQ, BR))
            row = tl.broadcast_to((low.to(tl.int32) + start + i)[None, :], (BQ, BR))
            tl.store(pairs + 2 * place, asked, mask=fits)
            tl.store(pairs + 2 * place + 1, row, mask=fits)
        r += BR * width
        alone += BR


def smallest(
    query: torch.Tensor, reference: torch.Tensor, alone: torch.Tensor, own: torch.Tensor, parts: int
) -> torch.Tensor:
    """As :func:`glasshouse.engines.neighbours.gpu.passes.smallest`."""
    nq, nr, width = len(query), len(reference), query.shape[1]
    found = torch.empty((nq, parts), dtype=torch.int32, device=query.device)
    grid = (triton.cdiv(nq, QUERIES), parts)
    _smallest[grid](
        *(query, reference, alone, own.contiguous(), found, nq, nr, -(-nr // parts), parts),
        **_shape(width),
    )
    return found


def below(
    query: torch.Tensor, reference: torch.Tensor, alone: torch.Tensor, limit: torch.Tensor, room: int
) -> tuple[torch.Tensor, int]:
    """As :func:`glasshouse.engines.neighbours.gpu.passes.below`."""
    nq, nr, width = len(query), len(reference), query.shape[1]
    pairs = torch.empty((room, 2), dtype=torch.int32, device=query.device)
    count = torch.zeros(1, dtype=torch.int64, device=query.device)
    blocks = triton.cdiv(nq, QUERIES)
    parts = max(1, min(64, 4096 // blocks))  # few queries still fill the card
    _below[(blocks, parts)](
        *(query, reference, alone, limit.clamp(max=FAR).contiguous(), pairs, count, room, nq, nr, -(-nr // parts)),
        **_shape(width),
    )
    found = int(count.item())
    return pairs[: min(found, room)], found


def _shape(width: int) -> dict[str, int]:
    """Sizes of tiles for records of so many cells."""
    first, rest = HELD.get(width, (64, 0))
    return {"width": width, "A": first, "B": rest, "BQ": QUERIES, **(NARROW if width <= 128 else WIDE)}
