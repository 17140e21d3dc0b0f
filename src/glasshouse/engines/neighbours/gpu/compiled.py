"""The two passes over all pairs, compiled by Triton for tensor cores (:mod:`.passes` says what they do)."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

QUERIES = 128  # of a program
RECORDS = 64  # met at a time
WARPS = 4
STAGES = 3
WHOLE = 256  # cells of a query that stay in the program; wider ones are read again for every tile


@triton.jit
def _bounds(a, q, r, alone, iq, ir, high, nq, K: tl.constexpr, BK: tl.constexpr):  # type: ignore[no-untyped-def]
    """What records add alone plus the inner products of a tile."""
    k = tl.arange(0, BK)
    s = tl.zeros((iq.shape[0], ir.shape[0]), tl.float32)
    if K == BK:
        b = tl.load(r + ir[None, :] * K + k[:, None], mask=ir[None, :] < high, other=0.0)
        s = tl.dot(a, b, s)
    else:
        for start in range(0, K, BK):
            b = tl.load(r + ir[None, :] * K + (start + k)[:, None], mask=ir[None, :] < high, other=0.0)
            own = tl.load(q + iq[:, None] * K + (start + k)[None, :], mask=iq[:, None] < nq, other=0.0)
            s = tl.dot(own, b, s)
    return s + tl.load(alone + ir, mask=ir < high, other=float("inf"))[None, :]


@triton.jit
def _smallest(  # type: ignore[no-untyped-def]
    q, r, alone, own, found, nq, nr, size, parts, K: tl.constexpr, BK: tl.constexpr, BQ: tl.constexpr, BR: tl.constexpr
):
    iq = tl.program_id(0).to(tl.int64) * BQ + tl.arange(0, BQ)
    low = tl.program_id(1).to(tl.int64) * size
    high = tl.minimum(low + size, nr)
    a = tl.load(q + iq[:, None] * K + tl.arange(0, BK)[None, :], mask=iq[:, None] < nq, other=0.0)
    mine = tl.load(own + iq, mask=iq < nq, other=-1)
    best = tl.full((BQ,), float("inf"), tl.float32)
    where = tl.full((BQ,), -1, tl.int64)
    for step in range(0, size, BR):
        start = low + step
        ir = start + tl.arange(0, BR).to(tl.int64)
        bound = _bounds(a, q, r, alone, iq, ir, high, nq, K, BK)
        bound = tl.where(ir[None, :] == mine[:, None], float("inf"), bound)
        least, at = tl.min(bound, axis=1, return_indices=True)
        better = least < best
        best = tl.where(better, least, best)
        where = tl.where(better, start + at, where)
    tl.store(found + iq * parts + tl.program_id(1), where.to(tl.int32), mask=iq < nq)


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
    K: tl.constexpr,
    BK: tl.constexpr,
    BQ: tl.constexpr,
    BR: tl.constexpr,
):
    iq = tl.program_id(0).to(tl.int64) * BQ + tl.arange(0, BQ)
    low = tl.program_id(1).to(tl.int64) * size
    high = tl.minimum(low + size, nr)
    a = tl.load(q + iq[:, None] * K + tl.arange(0, BK)[None, :], mask=iq[:, None] < nq, other=0.0)
    most = tl.load(limit + iq, mask=iq < nq, other=float("-inf"))
    for step in range(0, size, BR):
        start = low + step
        ir = start + tl.arange(0, BR).to(tl.int64)
        bound = _bounds(a, q, r, alone, iq, ir, high, nq, K, BK)
        hit = (bound <= most[:, None]) & (ir[None, :] < high) & (iq[:, None] < nq)
        each = tl.sum(hit.to(tl.int32), axis=1)
        here = tl.sum(each, axis=0)
        if here > 0:  # one request for room per tile, places inside it by counting
            first = tl.atomic_add(count, here.to(tl.int64))
            place = first + (tl.cumsum(each, axis=0) - each)[:, None] + tl.cumsum(hit.to(tl.int32), axis=1) - 1
            fits = hit & (place < room)
            tl.store(pairs + 2 * place, tl.broadcast_to(iq[:, None], (BQ, BR)).to(tl.int32), mask=fits)
            tl.store(pairs + 2 * place + 1, tl.broadcast_to(ir[None, :], (BQ, BR)).to(tl.int32), mask=fits)


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
        *(query, reference, alone, limit.contiguous(), pairs, count, room, nq, nr, -(-nr // parts)),
        **_shape(width),
    )
    found = int(count.item())
    return pairs[: min(found, room)], found


def _shape(width: int) -> dict[str, int]:
    """Sizes of tiles for records of so many cells."""
    return {
        "K": width,
        "BK": width if width in (64, 128, WHOLE) else 64,
        "BQ": QUERIES,
        "BR": RECORDS,
        "num_warps": WARPS,
        "num_stages": STAGES,
    }
