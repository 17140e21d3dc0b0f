"""Linkage in a learnt space: distance of two records' codes in an autoencoder of the originals (extra ``torch``)."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from glasshouse.core.errors import MissingExtra
from glasshouse.core.streams import generator, integer_seed
from glasshouse.disclosure.linkage.methods import Request, Scored, ranges
from glasshouse.engines.canonical import canonical
from glasshouse.engines.pairs.scores import Euclidean

if TYPE_CHECKING:  # torch is an extra
    from torch import Tensor

Sides: TypeAlias = tuple[np.ndarray, np.ndarray]  # originals, released records
BATCH, PATIENCE, LEARNING_RATE, SAMPLED_PAIRS = 32, 5, 1e-3, 20_000


def embedding(ask: Request) -> Scored:
    """Distance of latent codes: numbers scaled to [0, 1] with a missing flag, categories through learnt vectors.

    Parameters
    ----------
    ask : Request
        The tables, the columns compared and the options.

    Returns
    -------
    Scored

    Notes
    -----
    Encoder in -> h -> z with h = max(z + 2, 2/3 in), z = max(2, in / 3), a linear bottleneck (rectified units would
    make latent coordinates constant and records tie), the best weights on a fifth of the originals held back, and the
    97.5 % quantile of distances between random originals as the unit, clipped at 1.
    """
    torch = _torch()
    numbers, codes = _inputs(ask)
    latent = _train(torch, ask, numbers, codes)
    rng = generator(ask.random_state, "linkage", "embedding", "unit")
    n = len(latent[0])
    people = canonical(ask.pair, ask.columns).order("original")
    a, b = people[rng.integers(0, n, SAMPLED_PAIRS)], people[rng.integers(0, n, SAMPLED_PAIRS)]
    gaps = np.linalg.norm(latent[0][a] - latent[0][b], axis=1)[a != b]
    unit = float(np.quantile(gaps, 0.975)) if len(gaps) and gaps.max() > 0 else 1.0
    factor = np.eye(latent[0].shape[1])
    scores = Euclidean(latent, None, 1.0, lambda present: (factor, unit))
    return Scored(scores, {"latent_dimensions": latent[0].shape[1], "unit": unit})


def _torch() -> ModuleType:
    try:
        import torch
    except ImportError as problem:
        raise MissingExtra("torch", "record_linkage(method='embedding')") from problem
    return torch


def _inputs(ask: Request) -> tuple[Sides, Sides]:
    """Numbers of both sides on the originals' scale (missing 0, with a flag beside), codes with missing as a level."""
    values = ask.numbers("original"), ask.numbers("released")
    scale = ranges((values[0], values[0][:0]))
    low = np.array([np.nanmin(c) if not np.isnan(c).all() else 0.0 for c in values[0].T]) if values[0].shape[1] else 0.0
    numbers = []
    for side in values:
        scaled = np.clip((side - low) / scale, 0.0, 1.0)
        missing = np.isnan(scaled)
        numbers.append(np.hstack([np.where(missing, 0.0, scaled), missing.astype(float)]).astype(np.float32))
    sizes = np.array([ask.pair.codes(c).n_levels for c in ask.nominal], np.int64)
    codes = [
        np.where(side < 0, sizes, side).astype(np.int64) for side in (ask.codes("original"), ask.codes("released"))
    ]
    return (numbers[0], numbers[1]), (codes[0], codes[1])


def _train(torch: ModuleType, ask: Request, numbers: Sides, codes: Sides) -> Sides:
    """Latent codes of both sides from an autoencoder trained on the originals."""
    nn = torch.nn
    torch.manual_seed(integer_seed(ask.random_state, "linkage", "embedding"))
    sizes = [ask.pair.codes(c).n_levels + 1 for c in ask.nominal]
    widths = [min(50, size // 2 + 1) for size in sizes]
    wide = numbers[0].shape[1] + sum(widths)
    z = max(2, wide // 3)
    h = max(z + 2, 2 * wide // 3)
    tables = nn.ModuleList([nn.Embedding(size, width) for size, width in zip(sizes, widths, strict=True)])
    encoder = nn.Sequential(nn.Linear(wide, h), nn.ReLU(), nn.Linear(h, z))
    decoder = nn.Sequential(nn.Linear(z, h), nn.ReLU())
    number_head = nn.Sequential(nn.Linear(h, numbers[0].shape[1]), nn.Sigmoid())
    code_heads = nn.ModuleList([nn.Linear(h, size) for size in sizes])
    parts = nn.ModuleList([tables, encoder, decoder, number_head, code_heads])

    def encode(x: Tensor, c: Tensor) -> Tensor:
        return encoder(torch.cat([x, *[table(c[:, v]) for v, table in enumerate(tables)]], dim=1))

    def loss(x: Tensor, c: Tensor) -> Tensor:
        out = decoder(encode(x, c))
        share = x.shape[1] / 2 / max(len(ask.columns), 1)
        total = share * nn.functional.mse_loss(number_head(out), x) if x.shape[1] else 0.0
        if len(code_heads):
            entropies = [nn.functional.cross_entropy(head(out), c[:, v]) for v, head in enumerate(code_heads)]
            total = total + (1 - share) * sum(entropies) / len(entropies)
        return total

    sides = [(torch.from_numpy(x), torch.from_numpy(c)) for x, c in zip(numbers, codes, strict=True)]
    rng = generator(ask.random_state, "linkage", "embedding", "split")
    order = canonical(ask.pair, ask.columns).order("original")[rng.permutation(len(numbers[0]))]
    held = order[: max(1, len(order) // 5)]
    kept = order[len(held) :] if len(order) > 1 else order
    optimiser = torch.optim.Adam(parts.parameters(), lr=LEARNING_RATE)
    best, best_loss, waited = None, np.inf, 0
    for _ in range(ask.options.epochs):
        parts.train()
        shuffled = rng.permutation(kept)
        for start in range(0, len(shuffled), BATCH):
            batch = torch.from_numpy(shuffled[start : start + BATCH])
            optimiser.zero_grad()
            loss(sides[0][0][batch], sides[0][1][batch]).backward()
            optimiser.step()
        parts.eval()
        with torch.no_grad():
            at = torch.from_numpy(held)
            current = float(loss(sides[0][0][at], sides[0][1][at]))
        if current < best_loss - 1e-6:
            best, best_loss, waited = {k: v.clone() for k, v in parts.state_dict().items()}, current, 0
        else:
            waited += 1
            if waited >= PATIENCE:
                break
    if best is not None:
        parts.load_state_dict(best)
    parts.eval()
    with torch.no_grad():
        latent = [encode(x, c).numpy().astype(float) for x, c in sides]
    return latent[0], latent[1]
