"""From noisy marginals to one consistent distribution: entropic mirror descent over a junction tree.

Given measurements y_m of marginals with noise sd s_m, the distribution p of a total of N records minimises

    sum over m of  || N p_m - y_m ||^2 / (2 s_m^2)

over all distributions (McKenna, Sheldon & Miklau 2019, Graphical-model based estimation and inference). Among those
with the same measured marginals it is the one of maximal entropy: nothing is assumed that was not measured. A step
multiplies the tables by exp(-step * gradient), then the tree is calibrated again. Post-processing: it costs no
privacy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.errors import InputError, MissingExtra
from glasshouse.synthesis.dp.junction import Clique, JunctionTree, TreeModel


@dataclass(frozen=True)
class Measurement:
    """A noisy marginal: its columns, its counts (one axis per column) and the standard deviation of the noise."""

    clique: Clique
    counts: np.ndarray
    scale: float


def noisy_total(measurements: Sequence[Measurement]) -> float:
    """Number of records, from the sums of all measured marginals weighted by their precision; at least 1."""
    precision = np.array([1.0 / (m.scale**2 * m.counts.size) for m in measurements])
    sums = np.array([float(m.counts.sum()) for m in measurements])
    return max(1.0, float(np.average(sums, weights=precision)))


def estimate(
    sizes: Mapping[str, int],
    measurements: Sequence[Measurement],
    *,
    start: TreeModel | None = None,
    iterations: int = 1000,
    tolerance: float = 1e-5,
) -> TreeModel:
    """The distribution closest to the measurements. ``start`` is an earlier model, whose tables speed things up."""
    tree = JunctionTree.of(sizes, [m.clique for m in measurements])
    fit = _Fit(tree, measurements)
    log_tables = _start(tree, start)
    tables = tree.calibrate([np.exp(t) for t in log_tables])
    loss, gradient = fit.loss_and_gradient(tables)
    step = 1.0 / fit.curvature
    checkpoint = loss
    for iteration in range(1, iterations + 1):
        tried = [t - step * g for t, g in zip(log_tables, gradient, strict=True)]
        tried = [t - t.max() for t in tried]
        moved = tree.calibrate([np.exp(t) for t in tried])
        new_loss, new_gradient = fit.loss_and_gradient(moved)
        descent = sum(float(np.sum(g * (a - b))) for g, a, b in zip(gradient, tables, moved, strict=True))
        if loss - new_loss >= 0.5 * descent:
            log_tables, tables, loss, gradient = tried, moved, new_loss, new_gradient
            step *= 1.1
        else:
            step *= 0.5
        if iteration % 50 == 0:
            if checkpoint - loss <= tolerance * max(loss, 1.0):
                break
            checkpoint = loss
    return TreeModel(tree, tables)


class _Fit:
    """The loss on a given tree: each measurement is read off the smallest table that holds it."""

    def __init__(self, tree: JunctionTree, measurements: Sequence[Measurement]) -> None:
        self.tree = tree
        self.total = noisy_total(measurements)
        self.parts: list[tuple[int, tuple[int, ...], tuple[int, ...], np.ndarray, float]] = []
        for (node, clique), (wanted, weight) in self._pooled(measurements).items():
            own = tree.cliques[node]
            away = tuple(i for i, c in enumerate(own) if c not in clique)
            spread = tuple(tree.sizes[c] if c in clique else 1 for c in own)
            self.parts.append((node, away, spread, wanted / self.total, weight * self.total**2))
        self.curvature = sum(weight for *_, weight in self.parts)

    def _pooled(self, measurements: Sequence[Measurement]) -> dict[tuple[int, Clique], tuple[np.ndarray, float]]:
        """Measurements of one marginal are pooled into their precision-weighted mean; axes in the tree's order."""
        sums: dict[tuple[int, Clique], tuple[np.ndarray, float]] = {}
        rank = {c: i for i, c in enumerate(self.tree.sizes)}
        for m in measurements:
            node = self.tree.home(m.clique)
            clique = tuple(sorted(m.clique, key=rank.__getitem__))
            counts = np.transpose(m.counts, [m.clique.index(c) for c in clique])
            precision = 1.0 / m.scale**2
            old, weight = sums.get((node, clique), (np.zeros(counts.shape), 0.0))
            sums[node, clique] = (old + precision * counts, weight + precision)
        return {key: (total / weight, weight) for key, (total, weight) in sums.items()}

    def loss_and_gradient(self, tables: Sequence[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        """The loss at these tables, and its gradient by table."""
        loss = 0.0
        gradient = [np.zeros((1,) * t.ndim) for t in tables]
        for node, away, spread, wanted, weight in self.parts:
            difference = tables[node].sum(axis=away) - wanted
            loss += 0.5 * weight * float(np.vdot(difference, difference))
            gradient[node] = gradient[node] + weight * difference.reshape(spread)
        return loss, gradient


def _start(tree: JunctionTree, model: TreeModel | None) -> list[np.ndarray]:
    """Logarithms of starting tables: uniform, or an earlier model written as factors of the new tree."""
    logs = [np.zeros(tree.shape(clique)) for clique in tree.cliques]
    if model is None:
        return logs
    for node, clique in enumerate(model.tree.cliques):
        holder = tree.holder(clique)
        if holder is None:  # the new triangulation split this table; start from uniform there
            continue
        table = model.tables[node]
        if node != model.tree.order[0]:
            away, spread, _, _ = model.tree._axes[node]
            below = table.sum(axis=away).reshape(spread)
            table = np.divide(table, below, out=np.zeros_like(table), where=below > 0)
        own = tree.cliques[holder]
        logs[holder] += np.log(np.maximum(table, 1e-12)).reshape([tree.sizes[c] if c in clique else 1 for c in own])
    return logs


def estimate_with_mbi(
    sizes: Mapping[str, int], measurements: Sequence[Measurement], iterations: int = 1000
) -> TreeModel:
    """The same by Private-PGM (package mbi, JAX): a second implementation to check against, slower to start."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import jax
            import mbi
    except ImportError as missing:
        raise MissingExtra("mbi", 'inference="mbi"') from missing
    with jax.enable_x64(True):
        domain = mbi.Domain(list(sizes), list(sizes.values()))
        noisy = [mbi.LinearMeasurement(np.asarray(m.counts, float).ravel(), m.clique, m.scale) for m in measurements]
        model = mbi.estimation.MirrorDescent().estimate(
            domain, noisy, known_total=noisy_total(measurements), iters=iterations
        )
        tree = JunctionTree.of(sizes, [m.clique for m in measurements])
        tables = [np.asarray(model.project(clique).datavector(flatten=False), float) for clique in tree.cliques]
    if not all(np.isfinite(t).all() for t in tables):
        raise InputError("mbi did not converge on these measurements; use the built-in inference")
    return TreeModel(tree, [t / t.sum() for t in tables])
