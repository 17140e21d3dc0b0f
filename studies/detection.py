"""Would the measures notice? Plants copied or jittered training records into a clean release and counts alarms.

    python studies/detection.py [--replicates 20] [--clean 60] [--n 1000] [--workers 2]

People are simulated (gh.data.simulate_health, rounded), so nothing third-party is needed. In every replicate the
training records, the holdout and a clean release are independent samples of one population. 0 to 20 % of the released
records are then replaced by training records, as they are ("copied") or with a little noise ("jittered"). Each measure
of the copying, membership, gdpr and linkage families gives its excess over chance (its value where it has no excess).
The 95 % quantile over clean releases is its alarm level, so every measure is judged at the same 5 % of false alarms;
power is the share of replicates beyond it. Writes docs/detection.md and docs/detection.svg.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SHARES = (0.0, 0.005, 0.01, 0.02, 0.05, 0.10, 0.20)
KINDS = ("copied", "jittered")
FAMILIES = ("copying", "membership", "gdpr", "linkage")
NUMBERS = ("age", "income", "health_score")
STEPS = {"age": 1.0, "income": 100.0, "health_score": 1.0}
NOISE, SWITCHED = 0.05, 0.05
DOCS = Path(__file__).resolve().parents[1] / "docs"
COLOURS = {"copied": "#a92e13", "jittered": "#2b78b5"}


@dataclass(frozen=True)
class Task:
    """One release to assess: replicate, how records are planted, and what share of them."""

    replicate: int
    kind: str
    share: float
    n: int


def people(n: int, seed: int) -> pl.DataFrame:
    """A sample of the population, numbers rounded as a survey would."""
    import glasshouse as gh

    frame = gh.data.simulate_health(n, 1.0, random_state=seed)
    return frame.with_columns(((pl.col(c) / step).round(0) * step).alias(c) for c, step in STEPS.items())


def planted(task: Task) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Training records, release, holdout, and for each training record its row in the release (-1: none)."""
    training, clean, holdout = (people(task.n, 3 * task.replicate + i) for i in range(3))
    rng = np.random.default_rng([task.replicate, 77])
    sources, places = rng.permutation(task.n), rng.permutation(task.n)
    count = round(task.share * task.n)
    sources, places = sources[:count], places[:count]
    truth = np.full(task.n, -1)
    truth[sources] = places
    if not count:
        return training, clean, holdout, truth
    taken = training[sources]
    if task.kind == "jittered":
        taken = jittered(taken, clean, rng)
    kept = np.setdiff1d(np.arange(task.n), places)
    order = np.argsort(np.concatenate([kept, places]))
    return training, pl.concat([clean[kept], taken])[order], holdout, truth


def jittered(taken: pl.DataFrame, clean: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Numbers moved by a twentieth of their standard deviation; one category in twenty drawn anew."""
    changed = {}
    for name in taken.columns:
        values = taken[name].to_numpy()
        if name in NUMBERS:
            moved = values + rng.normal(0, NOISE * float(clean[name].std()), len(values))
            changed[name] = np.round(moved / STEPS[name]) * STEPS[name]
        else:
            fresh = clean[name].to_numpy()[rng.integers(0, clean.height, len(values))]
            changed[name] = np.where(rng.random(len(values)) < SWITCHED, fresh, values)
    return pl.DataFrame(changed, schema=taken.schema)


def measures() -> list[str]:
    """Every registered measure of the families under study."""
    from glasshouse.catalogue import all_measures

    return [n for f in FAMILIES for n, m in sorted(all_measures().items()) if m.family == f and m.side == "disclosure"]


def assess(task: Task) -> list[dict[str, Any]]:
    """Statistic and verdict of every measure on one release."""
    import glasshouse as gh

    training, release, holdout, truth = planted(task)
    pair = gh.Pair(training, release, holdout=holdout, target="disease_status")
    rows = []
    for name in measures():
        measure = getattr(gh.disclosure, name)
        options: dict[str, Any] = {"random_state": task.replicate} if "random_state" in measure.options else {}
        if name == "record_linkage":
            options["truth"] = truth
        result = measure(pair, **options)
        statistic = result.value if result.excess is None else result.excess
        rows.append(
            {
                "measure": name,
                "kind": task.kind,
                "share": task.share,
                "replicate": task.replicate,
                "statistic": None if statistic is None else float(statistic),
                "alarm": result.verdict in ("warn", "fail"),
            }
        )
    return rows


def run(tasks: list[Task], workers: int) -> pl.DataFrame:
    """All tasks on a few processes; the answers do not depend on how many."""
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    if workers == 1:
        found: Iterable[list[dict[str, Any]]] = map(assess, tasks)
        return pl.DataFrame([row for rows in found for row in rows])
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return pl.DataFrame([row for rows in pool.map(assess, tasks, chunksize=4) for row in rows])


def power(rows: pl.DataFrame) -> pl.DataFrame:
    """Power, mean and spread of the statistic for every measure, kind and share."""
    clean = rows.filter(pl.col("share") == 0)
    levels = clean.group_by("measure").agg(level=pl.col("statistic").quantile(0.95, "higher"))
    return (
        rows.join(levels, on="measure")
        .with_columns(beyond=(pl.col("statistic") > pl.col("level") + 1e-12).cast(float))
        .group_by("measure", "kind", "share")
        .agg(
            power=pl.col("beyond").mean(),
            mean=pl.col("statistic").mean(),
            low=pl.col("statistic").quantile(0.1, "linear"),
            high=pl.col("statistic").quantile(0.9, "linear"),
            alarms=pl.col("alarm").cast(float).mean(),
            level=pl.col("level").first(),
        )
        .sort("measure", "kind", "share")
    )


def draw(table: pl.DataFrame, names: list[str]) -> Any:
    """Response curves of every measure, and a map of the power."""
    import altair as alt

    clean = table.filter(pl.col("kind") == "clean")
    both = [clean.with_columns(kind=pl.lit(kind)) for kind in KINDS]
    curves = pl.concat([*both, table.filter(pl.col("kind") != "clean")]).with_columns(percent=pl.col("share") * 100)
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())))
    panels = []
    for name in names:
        rows = alt.Data(values=curves.filter(pl.col("measure") == name).to_dicts())
        x = alt.X("percent:Q", title=None, axis=alt.Axis(values=[0, 5, 10, 20], tickCount=4))
        band = (
            alt.Chart(rows).mark_area(opacity=0.18).encode(x=x, y=alt.Y("low:Q", title=None), y2="high:Q", color=colour)
        )
        line = alt.Chart(rows).mark_line(point=alt.OverlayMarkDef(size=14)).encode(x=x, y="mean:Q", color=colour)
        alarm = alt.Chart(rows).mark_rule(strokeDash=[4, 3], color="#5d6670").encode(y="max(level):Q")
        panels.append((band + line + alarm).properties(width=135, height=95, title=name))
    response = alt.concat(
        *panels, columns=5, title="excess over chance against the share planted (%); dashed: alarm level"
    )
    cells = table.filter(pl.col("kind") != "clean").with_columns(
        text=(pl.col("power") * 100).round(0).cast(int).cast(str), label=(pl.col("share") * 100).cast(str) + " %"
    )
    labels = [f"{share * 100} %" for share in SHARES[1:]]
    maps = []
    for kind in KINDS:
        rows = alt.Data(values=cells.filter(pl.col("kind") == kind).to_dicts())
        base = alt.Chart(rows).encode(
            x=alt.X("label:N", sort=labels, title=f"{kind} records", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("measure:N", sort=names, title=None),
        )
        scheme = alt.Scale(domain=[0, 1], scheme="reds" if kind == "copied" else "blues")
        fill = alt.Color("power:Q", scale=scheme, legend=None)
        ink = alt.condition("datum.power > 0.6", alt.value("white"), alt.value("#333"))
        maps.append(base.mark_rect().encode(color=fill) + base.mark_text(fontSize=10).encode(text="text:N", color=ink))
    heat = alt.hconcat(
        *(m.properties(width=300, height=17 * len(names)) for m in maps), title="power at the 5 % level, in percent"
    )
    return alt.vconcat(response, heat.resolve_scale(color="independent")).configure_view(stroke=None)


def markdown(table: pl.DataFrame, names: list[str], task: dict[str, Any]) -> str:
    """The page: what was done, the power of every measure, and what follows."""
    lines = [
        "# Would the measures notice copied people?",
        "",
        f"Made by `make detection` (`studies/detection.py`): {task['n']:,} simulated training records, as many in the "
        f"holdout and in "
        f"the release, {task['clean']} clean releases, {task['replicates']} replicates of every other setting, "
        f"{task['seconds']:.0f} seconds.",
        "",
        "A clean release is an independent sample of the population: the best a synthesiser can do. Into it we plant "
        "training records, "
        "copied as they are, or jittered (numbers moved by 5 % of their standard deviation and rounded, one category "
        "in twenty drawn "
        "anew). Every measure is judged at the same 5 % of false alarms: its alarm level is the 95 % quantile of its "
        "excess over chance "
        "on clean releases. *Power* is the share of releases beyond that level. *False alarms* is how often the "
        "measure's own default "
        "verdict (warn or fail) fires on a clean release. The attacks warn whenever "
        "a surplus of 5 % over people never seen cannot be excluded, so with few records they warn often; they fail "
        "only when a surplus is shown. `record_linkage` is told which rows are whose; no attacker "
        "of synthetic data "
        "knows that, so its row is a yardstick, not a competitor.",
        "",
        "![response curves and power](detection.svg)",
    ]
    for kind in KINDS:
        lines += ["", f"## Power, {kind} records (percent of releases)", ""]
        lines.append(
            "| measure | " + " | ".join(f"{s * 100:g} %" for s in SHARES[1:]) + " | 80 % power from | false alarms |"
        )
        lines.append("| --- |" + " ---: |" * (len(SHARES) + 1))
        for name in names:
            mine = table.filter((pl.col("measure") == name) & (pl.col("kind") == kind)).sort("share")
            found = dict(zip(mine["share"].to_list(), mine["power"].to_list(), strict=True))
            reached = next((f"{s * 100:g} %" for s in SHARES[1:] if found.get(s, 0) >= 0.8), "more than 20 %")
            clean = table.filter((pl.col("measure") == name) & (pl.col("kind") == "clean"))["alarms"].item()
            cells = " | ".join(f"{100 * found[s]:.0f}" for s in SHARES[1:])
            lines.append(f"| `{name}` | {cells} | {reached} | {100 * clean:.0f} |")
    lines += [
        "",
        "Read it so: a measure with little power can pass a release that leaks a few per cent of its people, "
        "so a pass of such "
        "a measure alone is no evidence. Attacks that average over everybody (inference, the classifier) see a leak "
        "only when it is "
        "large; measures that look for the copies themselves see it early, and only measures that tolerate noise see "
        "jittered copies.",
        "",
    ]
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    """Into place in one step, so that an interrupted run leaves the last good file."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--clean", type=int, default=60)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    asked = parser.parse_args()
    started = time.perf_counter()
    tasks = [Task(r, "clean", 0.0, asked.n) for r in range(asked.clean)]
    tasks += [Task(r, kind, share, asked.n) for share in SHARES[1:] for kind in KINDS for r in range(asked.replicates)]
    assess(tasks[0])  # compiled code into its cache before the workers start
    table = power(run(tasks, asked.workers))
    names = measures()
    seconds = time.perf_counter() - started
    from vl_convert import vegalite_to_svg

    write(DOCS / "detection.svg", vegalite_to_svg(draw(table, names).to_dict()))
    write(DOCS / "detection.md", markdown(table, names, {**vars(asked), "seconds": seconds}))
    print(f"docs/detection.md and docs/detection.svg written after {seconds:.0f} seconds")


if __name__ == "__main__":
    main()
