"""Several sensitive attributes at once: who has any of them inferred, who has all of them.

    any_i = max_t I_it,   all_i = prod_t I_it,   dependence = mean(all) / prod_t mean(I_t)

The chance level comes from relabelling whole persons: all their sensitive values move together, the predictions stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.intervals import wilson
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import generator
from glasshouse.disclosure.rapid import inference
from glasshouse.disclosure.rapid.answers import Answers, ClassAnswers
from glasshouse.disclosure.rapid.leak import RapidLeak, any_of, asked_people, exchanged, leak, worst_leak
from glasshouse.disclosure.rapid.records import Columns, full_length, people_of, together
from glasshouse.disclosure.rapid.result import RapidResult
from glasshouse.disclosure.rapid.scores import Array, Moments, effective_n, normalised_gain, share
from glasshouse.disclosure.wording import beside_strangers, population_fact

if TYPE_CHECKING:
    from glasshouse.disclosure.rapid.report import Report

PERMUTATIONS = 199


class RapidJointResult(Result):
    """RAPID for several targets; ``targets`` holds the full result of each."""

    targets: dict[str, RapidResult]


def joint(report: Report) -> RapidJointResult:
    """Any and all targets inferred, per record and on average; several releases are averaged."""
    pair = report.pair
    single = {t: report.over_releases(t) for t in pair.targets}
    common = np.logical_and.reduce([r.attacks[0].scored for r in single.values()])
    weights = pair.weight_values("original")
    weights = None if weights is None else weights[common]
    per_release = []
    for i in range(pair.m):
        answers = [r.attacks[i].answers[r.headline].take(common[r.attacks[i].scored]) for r in single.values()]
        per_release.append(answers)
    flags = np.array([[a.flags() for a in answers] for answers in per_release])  # [release, target, record]
    any_share, all_share = (_mean_share(f(flags), weights) for f in (_any, _all))
    chance_any, chance_all = _chance(per_release, weights, report.settings.seed)
    n = int(common.sum())
    size = effective_n(weights, n)
    rates = {t: float(np.mean([share(f, weights) for f in flags[:, j]])) for j, t in enumerate(single)}
    together = float(np.prod(list(rates.values())))
    p_chance = inference.tail_probability(any_share, chance_any, n)
    told, held = _against_strangers(report, single, any_share * n, n)
    details: dict[str, object] = {
        "any": any_share,
        "all": all_share,
        "mean_inferred": float(np.mean(flags.sum(axis=1))),
        "n_total": n,
        "chance": chance_any[0],
        "chance_sd": chance_any[1],
        "chance_all": chance_all[0],
        "adjusted": (any_share - chance_any[0]) / (1 - chance_any[0]) if chance_any[0] < 1 else None,
        "adjusted_all": (all_share - chance_all[0]) / (1 - chance_all[0]) if chance_all[0] < 1 else None,
        "p_value": p_chance,
        "dependence": all_share / together if together > 0 else None,
        "all_interval": list(wilson(all_share * size, size, report.confidence)),
        "joint_gain": _joint_gain(per_release, weights),
        "targets": {
            t: {
                "rapid": r.value,
                "chance": r.baseline,
                "adjusted": r.excess,
                "interval": r.interval,
                "verdict": r.verdict,
            }
            for t, r in single.items()
        },
    }
    result = RapidJointResult(
        any_share,
        baseline=chance_any[0],
        interval=wilson(any_share * size, size, report.confidence),
        holdout=held,
        **told,
        of=n,
        p_chance=p_chance,
        details=details,
        sentence=(
            f"An attacker who trains on the release infers at least one of {', '.join(map(repr, single))} for "
            f"{percent(any_share)} of {n:,} people{beside_strangers(held, told['p_value'])}."
            + population_fact(
                f"luck alone would give {percent(chance_any[0])}; all of them are inferred for {percent(all_share)} "
                f"(luck alone: {percent(chance_all[0])})"
            )
        ),
        warnings=list(dict.fromkeys(w for r in single.values() for w in r.warnings)),
        records=lambda: _records(single),
        holdout_records=None if told["counts"] is None or held is None else lambda: _records(single, "holdout"),
        flag="at_risk",
        rank="inferred",
        table=[{"target": t, "rapid": r.value, "chance": r.baseline, "adjusted": r.excess} for t, r in single.items()],
        plot_data={
            "targets": [
                *({"target": t, "value": r.value, "chance": r.baseline} for t, r in single.items()),
                {"target": "any of them", "value": any_share, "chance": chance_any[0]},
                {"target": "all of them", "value": all_share, "chance": chance_all[0]},
            ]
        },
    )
    result._set(targets=single)
    return result


def _against_strangers(
    report: Report, single: dict[str, RapidResult], hits: float, n: int
) -> tuple[RapidLeak, float | None]:
    """Any target inferred, members against strangers, and the strangers' share; of several releases the worst."""
    leaks = []
    for i in range(report.pair.m):
        asked = [asked_people(r.attacks[i]) for r in single.values()]
        known = [a for a in asked if a is not None]
        people = any_of(known) if len(known) == len(asked) else None
        leaks.append(leak(exchanged(report.pair.release(i), people, report.confidence, report.settings.seed), hits, n))
    worst = worst_leak(leaks)
    return worst, None if worst["counts"] is None else worst["counts"].control_rate


def _any(flags: Array) -> Array:
    return np.asarray(flags.any(axis=1))


def _all(flags: Array) -> Array:
    return np.asarray(flags.all(axis=1))


def _mean_share(flags: Array, weights: Array | None) -> float:
    return float(np.mean([share(f, weights) for f in flags]))


def _chance(per_release: list[list[Answers]], weights: Array | None, seed: int) -> tuple[Moments, Moments]:
    """Mean and sd of any and all over relabellings of whole persons."""
    rng = generator(seed, "joint")
    n = per_release[0][0].n
    found = np.empty((PERMUTATIONS, 2))
    for b in range(PERMUTATIONS):
        order = rng.permutation(n)
        flags = np.array([[a.relabelled_flags(order) for a in answers] for answers in per_release])
        found[b] = _mean_share(_any(flags), weights), _mean_share(_all(flags), weights)
    return (float(found[:, 0].mean()), float(found[:, 0].std(ddof=1))), (
        float(found[:, 1].mean()),
        float(found[:, 1].std(ddof=1)),
    )


def _joint_gain(per_release: list[list[Answers]], weights: Array | None) -> float | None:
    """RAPID of the attributes as one: g = product of the g_t, b = share of the combination; None with a numeric
    target."""
    shares = []
    for answers in per_release:
        if not all(isinstance(a, ClassAnswers) and a.score == "marginal" for a in answers):
            return None
        classes: list[ClassAnswers] = [a for a in answers if isinstance(a, ClassAnswers)]
        g = np.prod([a.true_prob for a in classes], axis=0)
        _, index = np.unique(np.column_stack([a.y for a in classes]), axis=0, return_inverse=True)
        mass = np.bincount(index.ravel(), weights=weights).astype(float)
        b = (mass / mass.sum())[index.ravel()]
        shares.append(share(normalised_gain(g, b) > classes[0].threshold, weights))
    return float(np.mean(shares))


def _records(single: dict[str, RapidResult], table: str = "original") -> Columns:
    """Who of a table has which target inferred, among people who could be asked about all of them."""
    scored = {t: people_of(r.attacks[0], table)[1] for t, r in single.items()}
    common: Array = np.logical_and.reduce(list(scored.values()))
    answers = {
        t: [people_of(a, table)[0][r.headline].take(common[scored[t]]) for a in r.attacks] for t, r in single.items()
    }
    flags = np.array([[a.flags() for a in own] for own in answers.values()]).swapaxes(0, 1)
    one = flags.shape[0] == 1
    any_flag, all_flag = flags.any(axis=1).mean(axis=0), flags.all(axis=1).mean(axis=0)
    found: Columns = {f"predicted_{t}": together(single[t].attacks, own) for t, own in answers.items()}
    found |= {
        "at_risk": any_flag.astype(bool) if one else any_flag,
        "at_risk_all": all_flag.astype(bool) if one else all_flag,
        "inferred": flags.sum(axis=1).mean(axis=0),
    }
    for j, target in enumerate(single):
        mean = flags[:, j].mean(axis=0)
        found[f"at_risk_{target}"] = mean.astype(bool) if one else mean
    return {name: full_length(column, common) for name, column in found.items()}
