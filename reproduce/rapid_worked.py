"""The worked examples of the RAPID paper: section 3 by hand, appendix B with its cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

import glasshouse as gh
from reproduce.published import Published
from reproduce.row import Item, mean
from reproduce.setting import Setting

SECTION_3, APPENDIX, FOLDS = (Published("rapid", name) for name in ("Section 3", "Appendix B", "Cross-validation"))


def section_3(setting: Setting) -> list[Item]:
    """The two worked examples of the definitions, by the functions that score every record.

    Parameters
    ----------
    setting : Setting
        How the run goes; nothing is drawn here.

    Returns
    -------
    list of Item
    """
    from glasshouse.disclosure.rapid.scores import normalised_gain, prediction_error

    del setting
    sure = np.array(SECTION_3["probabilities"])
    gains = normalised_gain(sure, np.full(len(sure), SECTION_3["baseline"]))
    values = [np.array(SECTION_3[name], float) for name in ("true", "predicted")]
    missed = prediction_error(*values, "stabilised_relative", 0.0)
    rows = [
        SECTION_3.figure(f"gain of record {i}", published, ours, 5e-4)
        for i, (published, ours) in enumerate(zip(SECTION_3["gains"], gains, strict=True), 1)
    ]
    rows += [
        SECTION_3.figure(f"relative error of record {i}, percent", published, 100 * ours, 0.05, 1)
        for i, (published, ours) in enumerate(zip(SECTION_3["errors_percent"], missed, strict=True), 1)
    ]
    shares = (
        ("RAPID, classes, tau 0.3", "rapid_categorical", (gains > 0.3).mean()),
        ("RAPID, numbers, 10 %", "rapid_continuous", (missed < 0.1).mean()),
    )
    rows += [SECTION_3.figure(what, SECTION_3[key], float(ours), 5e-5, 4) for what, key, ours in shares]
    return [Item("Section 3", SECTION_3["about"], rows)]


def attack_of(seed: int) -> dict[str, Any]:
    """Appendix B's attack on the bundled files.

    Parameters
    ----------
    seed : int
        Of the forest.

    Returns
    -------
    dict
    """
    found = gh.disclosure.rapid(gh.data.load("appendix_b").pair(), tau=0.3, random_state=seed, n_jobs=1)
    return {"rapid": found.value, "at_risk": found.details["n_at_risk"], "accuracy": found.details["accuracy"]}


def folds_of(seed: int) -> dict[str, Any]:
    """Appendix B's cross-validation.

    Parameters
    ----------
    seed : int
        Of folds, synthesiser and forest.

    Returns
    -------
    dict
    """
    example = gh.data.load("appendix_b")
    found = gh.rapid_cv(
        example.original, gh.synthesis.Cart(n_jobs=1), keys=example.keys, target=example.target, k=5, tau=0.3,
        baseline="fold", interval="normal", random_state=seed, n_jobs=1,
    )  # fmt: skip
    low, high = found.interval
    return {"mean": found.value, "sd": found.details["sd"], "low": low, "high": high}


def appendix_b(setting: Setting) -> list[Item]:
    """One release attacked, and its synthesiser by folds.

    Parameters
    ----------
    setting : Setting
        How the run goes.

    Returns
    -------
    list of Item
    """
    forests, repeats = setting.draws(10, 20), setting.draws(6, 20)
    lines = setting.gather("appendix_b", [(seed,) for seed in range(2025, 2025 + forests)], attack_of)
    shown = (("rapid", "RAPID", 5e-4, 3), ("at_risk", "people at risk", 0.5, 1), ("accuracy", "accuracy", 5e-4, 3))
    rows = [
        APPENDIX.figure(label, APPENDIX[name], mean([line[name] for line in lines]), precision, digits)
        for name, label, precision, digits in shown
    ]
    shares = gh.data.load("appendix_b").original["disease_status"].value_counts(normalize=True)
    held = dict(zip(shares["disease_status"], shares["proportion"], strict=True))
    rows += [
        APPENDIX.figure(f"share of {label}", APPENDIX[f"share_{label}"], held[label], 5e-4)
        for label in ("diabetic", "healthy")
    ]
    how = f"Ours on the files the paper's script makes (bundled), {forests} forests; the paper has one."
    first = Item("Appendix B", f"{APPENDIX['about']} {how}", rows)
    lines = setting.gather("appendix_b_folds", [(seed,) for seed in range(2025, 2025 + repeats)], folds_of)
    named = (
        ("mean", "mean over folds"),
        ("sd", "standard deviation over folds"),
        ("low", "interval, low"),
        ("high", "interval, high"),
    )
    rows = [FOLDS.figure(label, FOLDS[name], mean([line[name] for line in lines]), 5e-4) for name, label in named]
    how = f"Ours: {repeats} times, with other folds, releases and forests; the paper has one."
    return [first, Item("Cross-validation", f"{FOLDS['about']} {how}", rows)]
