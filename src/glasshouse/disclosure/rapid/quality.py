"""How good the attacker is, beside how dangerous: RAPID uses probabilities, so their calibration belongs in the
result."""

from __future__ import annotations

import numpy as np

from glasshouse.disclosure.rapid.scores import SMALLEST_PROBABILITY, Array, class_means, class_shares, share


def quality_of_classes(
    probabilities: Array, y: Array, weights: Array | None = None, bins: int = 10
) -> dict[str, float]:
    """Accuracy (ties go to the first class), log-loss, Brier score and others; [n, K] probabilities and true
    classes."""
    n, n_classes = probabilities.shape
    w = np.ones(n) if weights is None else weights
    guess = probabilities.argmax(axis=1)
    right = guess == y
    g = probabilities[np.arange(n), y]
    confidence = probabilities[np.arange(n), guess]
    present = np.bincount(y, minlength=n_classes) > 0
    recall = class_means(right.astype(float), y, n_classes, w)[present]
    true, named = (np.bincount(a, weights=w, minlength=n_classes) for a in (y, guess))
    hits = np.bincount(y[right], weights=w[right], minlength=n_classes)
    f1 = np.divide(2 * hits, true + named, out=np.zeros(n_classes), where=true + named > 0)[present]
    shares = class_shares(y, n_classes, w)
    cell = np.minimum((confidence * bins).astype(int), bins - 1)
    mass = np.bincount(cell, weights=w, minlength=bins)
    gap = np.abs(np.bincount(cell, weights=w * (confidence - right), minlength=bins))
    return {
        "accuracy": share(right, weights),
        "majority_accuracy": float(shares.max()),
        "balanced_accuracy": float(recall.mean()),
        "macro_f1": float(f1.mean()),
        "log_loss": float(-(w @ np.log(np.maximum(g, SMALLEST_PROBABILITY))) / w.sum()),
        "brier": float(w @ ((probabilities**2).sum(axis=1) - 2 * g + 1) / w.sum()),
        "calibration_error": float(gap.sum() / mass.sum()),
    }


def quality_of_numbers(predicted: Array, y: Array, weights: Array | None = None) -> dict[str, float | None]:
    """MAE, RMSE, and both on the target's own scale: rmae = MAE / mean|y|, rrmse = RMSE / sd(y)."""
    w = np.ones(len(y)) if weights is None else weights
    residual = y - predicted
    mae = float(w @ np.abs(residual) / w.sum())
    rmse = float(np.sqrt(w @ residual**2 / w.sum()))
    size = float(w @ np.abs(y) / w.sum())
    mean = float(w @ y / w.sum())
    spread = float(np.sqrt(w @ (y - mean) ** 2 / w.sum() * len(y) / max(len(y) - 1, 1)))
    relative = mae / size if size > 0 else None
    scaled = rmse / spread if spread > 0 else None
    # the reference output spells them in lower case, the paper in upper case
    return {"mae": mae, "rmse": rmse, "rMAE": relative, "rRMSE": scaled, "rmae": relative, "rrmse": scaled}
