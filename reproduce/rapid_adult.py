"""The RAPID paper on Adult: table 2 (five releases) and figure 3 (every threshold)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

import glasshouse as gh
from reproduce.charts import curve_points, curves
from reproduce.published import Published
from reproduce.row import Chart, Item, Row, mean
from reproduce.setting import Setting

TABLE_2, FIGURE_3 = Published("rapid", "Table 2"), Published("rapid", "Figure 3")
RELEASES = 5
TARGET = "income"


def _table(setting: Setting, name: str) -> pl.DataFrame:
    """A file of Adult with a blank as the level "?" that it was."""
    return pl.read_csv(setting.file(f"adult/{name}.csv.gz")).with_columns(pl.col(pl.String).fill_null("?"))


def _attack(original: pl.DataFrame, released: pl.DataFrame, seed: int) -> dict[str, Any]:
    keys = [c for c in original.columns if c != TARGET]
    found = gh.disclosure.rapid(original, released, keys=keys, target=TARGET, tau=0.3, random_state=seed)
    low, high = found.confint("bootstrap", n_boot=500)
    curve = found.curve(FIGURE_3["tau"])
    return {
        "rapid": found.value,
        "at_risk": found.details["n_at_risk"],
        "low": low,
        "high": high,
        "curve": [float(v) for v in curve["rapid"]],
    }


def attacker(setting: Setting) -> Callable[[int, int], dict[str, Any]]:
    """What one release gives an attacker.

    Parameters
    ----------
    setting : Setting
        Where the data are.

    Returns
    -------
    function
        Of the release (1 to 5, made by synthpop; beyond, by our own trees) and the attacker's seed.
    """
    original = _table(setting, "adult_train")
    trees: list[Any] = []

    def one(release: int, seed: int) -> dict[str, Any]:
        if release <= RELEASES:
            return _attack(original, _table(setting, f"adult_syn_cart_{release}"), seed)
        if not trees:
            trees.append(gh.synthesis.Cart().fit(original))
        return _attack(original, trees[0].sample(random_state=release), seed)

    return one


def table_2_and_figure_3(setting: Setting) -> list[Item]:
    """RAPID of five releases of Adult, and its curve over thresholds.

    Parameters
    ----------
    setting : Setting
        How the run goes.

    Returns
    -------
    list of Item
    """
    more = setting.draws(3, 5)
    lines = setting.gather("adult", [(r, 0) for r in range(1, 1 + RELEASES + more)], attacker(setting))
    how = (
        "Ours: five CART releases by synthpop 1.9-3 (not the paper's, whose seeds are not given) and "
        f"{more} by our own trees. "
    )
    single = "A published row is one release, so that it stands beside the mean of ours."
    rows, points = [], []
    for place, (tau, published) in enumerate(zip(FIGURE_3["tau"], FIGURE_3["rapid"], strict=True)):
        ours = mean([line["curve"][place] for line in lines])
        rows.append(FIGURE_3.figure(f"tau {tau:.2f}", published, ours))
        points += curve_points(tau, "RAPID", published, ours)
    at = next(row for row in rows if row.what == "tau 0.90")
    below = float(at.ours) < 0.05
    rows.append(FIGURE_3.statement("caption", "caption", f"{at.ours:.3f} at tau 0.9", below, at.status == "reproduced"))
    chart = Chart("rapid_figure_3", curves(points, "tau", "RAPID"))
    return [
        Item("Table 2", f"{TABLE_2['about']} {how}{single}", _table_2(lines)),
        Item("Figure 3", f"{FIGURE_3['about']} {how}", rows, [chart]),
    ]


def _table_2(lines: list[dict[str, Any]]) -> list[Row]:
    shown = (
        ("rapid", "RAPID", 3, 5e-4),
        ("low", "interval, low", 3, 5e-4),
        ("high", "interval, high", 3, 5e-4),
        ("at_risk", "people at risk", 0, 0.5),
    )
    rows = []
    for name, label, digits, precision in shown:
        ours = mean([line[name] for line in lines])
        for release, published in enumerate(TABLE_2[name], 1):
            rows.append(TABLE_2.figure(f"release {release}: {label}", published, ours, precision, digits))
    counted = [count / TABLE_2["n"] for count in TABLE_2["at_risk"]]
    fits = [abs(of - rate) <= 5e-4 for of, rate in zip(counted, TABLE_2["rapid"], strict=True)]
    what = "release 1: printed rate, from the printed count"
    rows.append(TABLE_2.figure(what, TABLE_2["rapid"][0], counted[0], 5e-4, 4, confirmed=all(fits[1:])))
    five, own = lines[:RELEASES], lines[RELEASES:]
    for label, some in (("ours by synthpop", five), ("ours by our own trees", own)):
        ours = mean([line["rapid"] for line in some])
        what = f"mean of the five, from their counts; {label}"
        rows.append(TABLE_2.figure(what, sum(counted) / RELEASES, ours, 0.5 / TABLE_2["n"], 4, draws=RELEASES))
    return rows
