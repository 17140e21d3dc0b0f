"""RAPID results in figures and words: one release, several releases, one attacker or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from glasshouse.core.evidence import Counts
from glasshouse.core.intervals import Interval, normal_quantile
from glasshouse.core.limits import Evidence, Limit
from glasshouse.core.measure import registered
from glasshouse.core.plain import percent
from glasshouse.core.streams import integer_seed
from glasshouse.disclosure.rapid import inference
from glasshouse.disclosure.rapid.answers import Answers, ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.attack import AttackSettings, ScoredAttack, scored_attack
from glasshouse.disclosure.rapid.result import SIGNIFICANCE, RapidResult, full_length
from glasshouse.disclosure.rapid.scores import Array, effective_n, share
from glasshouse.engines.exchange import exchange_flags
from glasshouse.engines.models.registry import spoken

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

LIMIT = Limit(
    "excess",
    warn=0.05,
    fail=0.15,
    evidence=Evidence(above_chance=True, above_strangers=True),
    why="glasshouse default: excess of the share at risk over chance",
)


class Leak(TypedDict):
    """Members minus strangers, as a Result takes it."""

    difference: float | None
    difference_interval: Interval | None
    p_value: float | None
    counts: Counts | None


class Report:
    """Turns attacks into results: the same wording and the same figures for one release, several releases, several
    targets."""

    def __init__(
        self,
        pair: Pair,
        settings: AttackSettings,
        interval: str | None,
        confidence: float,
        n_boot: int,
        parity: str | None = None,
    ) -> None:
        self.pair, self.settings, self.confidence, self.n_boot = pair, settings, confidence, n_boot
        self.method = interval or ("cluster" if pair.cluster_codes("original") is not None else "wilson")
        self.parity = parity
        normal_quantile(confidence)

    def over_releases(self, target: str) -> RapidResult:
        """One target: every release on its own, then their mean."""
        pairs = [self.pair.release(i) for i in range(self.pair.m)]
        singles = [self.one_release(p, target, seed_shift=i) for i, p in enumerate(pairs)]
        return singles[0] if len(singles) == 1 else self.combined(singles, pairs)

    def one_release(self, pair: Pair, target: str, seed_shift: int = 0) -> RapidResult:
        return self.from_attack(pair, scored_attack(pair, target, self._seeded(seed_shift)))

    def _seeded(self, shift: int) -> AttackSettings:
        return (
            self.settings
            if shift == 0
            else replace(self.settings, seed=integer_seed(self.settings.seed, "release", shift))
        )

    # -- one release ---------------------------------------------------------------------------------------------------

    def from_attack(self, pair: Pair, attack: ScoredAttack) -> RapidResult:
        """The result of one attack on one release."""
        rates = {name: a.rate() for name, a in attack.answers.items()}
        headline = max(rates, key=lambda name: rates[name])
        chosen = attack.answers[headline]
        chance = chosen.chance()
        details = {
            **self._figures(chosen, chance),
            **chosen.quality(),
            **self._over_attackers([attack]),
            **self._clusters(pair, attack, chosen),
        }
        if isinstance(chosen, NumberAnswers):
            details |= chosen.against_constant()
        else:
            details |= self._classes(attack, chosen)
        holdout = attack.holdout.get(headline)
        if holdout is not None:
            details |= self._holdout(chosen, holdout)
        details["run"] = {"seed": attack.settings.seed, "delta": attack.delta or None, "parity": self.parity}
        limits = self._interval(pair, attack, headline)
        result = RapidResult(
            rates[headline],
            baseline=chance[0],
            holdout=None if holdout is None else holdout.rate(),
            interval=limits,
            **self._leak(chosen, holdout),
            p_chance=details["p_value"],
            details=details,
            sentence=self._sentence(pair, attack, headline, details, limits),
            warnings=attack.warnings,
            records=lambda: _records(attack, headline),
            flag="at_risk",
            rank="gain" if isinstance(chosen, ClassAnswers) else "score",
            table=details["attackers"],
            plot_data={"importance": attack.importance.get(headline)},
        )
        return self._bound(result._with([attack], [pair], headline), pair)

    def _bound(self, result: RapidResult, pair: Pair) -> RapidResult:
        """A result inside another one (a replicate, one of several targets) can be asked like any other."""
        if result.details.get("majority_accuracy") == 1:
            # everybody has the same value: there was nothing to infer, and nothing tested is no pass
            result = result._copy(_limits=())
        return result._copy(name="rapid", measure=registered().get("rapid"), settings=pair.describe(), _source=pair)

    def _figures(self, chosen: Answers, chance: tuple[float, float]) -> dict[str, Any]:
        rate = chosen.rate()
        return {
            "n_at_risk": int(chosen.flags().sum()),
            "n_total": chosen.n,
            "threshold": chosen.threshold,
            "chance": chance[0],
            "chance_sd": chance[1],
            "adjusted": (rate - chance[0]) / (1 - chance[0]) if chance[0] < 1 else None,
            "z": inference.effect_size(rate, chance),
            "p_value": inference.tail_probability(rate, chance, chosen.n),
        }

    def _over_attackers(self, attacks: Sequence[ScoredAttack]) -> dict[str, Any]:
        """Mean, max, union and intersection over attackers, each the mean over releases; and one row per attacker."""
        names = list(attacks[0].answers)
        weights = attacks[0].answers[names[0]].weights
        rates = {n: float(np.mean([a.answers[n].rate() for a in attacks])) for n in names}
        union, every = [], []
        for attack in attacks:
            flags = np.array([attack.answers[n].flags() for n in names])
            union.append(share(np.asarray(flags.any(axis=0)), weights))
            every.append(share(np.asarray(flags.all(axis=0)), weights))
        rows = []
        for n in names:
            chances = [a.answers[n].chance()[0] for a in attacks]
            chance = float(np.mean(chances))
            quality = [a.answers[n].quality() for a in attacks]
            kept = ("accuracy", "log_loss", "mae", "rmse")
            means = {k: float(np.mean([q[k] for q in quality])) for k in kept if k in quality[0]}
            adjusted = (rates[n] - chance) / (1 - chance) if chance < 1 else None
            rows.append({"attacker": n, "rapid": rates[n], "chance": chance, "adjusted": adjusted, **means})
        best = max(rates, key=lambda n: rates[n])
        return {
            "mean": float(np.mean(list(rates.values()))),
            "max": rates[best],
            "max_attacker": best,
            "union": float(np.mean(union)),
            "all": float(np.mean(every)),
            "attackers": rows,
        }

    def _classes(self, attack: ScoredAttack, chosen: ClassAnswers) -> dict[str, Any]:
        classes = attack.classes or []
        present = np.flatnonzero(np.bincount(chosen.y, minlength=len(classes)))
        risk = chosen.by_class()
        found: dict[str, Any] = {
            "by_class": {str(classes[k]): float(risk[k]) for k in present},
            "class_shares": {str(classes[k]): float(chosen.shares[k]) for k in present},
        }
        if chosen.score == "marginal":
            cut = chosen.shares + chosen.threshold * (1 - chosen.shares)
            found["class_cut"] = {str(classes[k]): float(cut[k]) for k in present}
        return found

    def _clusters(self, pair: Pair, attack: ScoredAttack, chosen: Answers) -> dict[str, Any]:
        """Risk per person or household: flagged in at least one of its records, and the mean over clusters of its
        flagged share."""
        clusters = pair.cluster_codes("original")
        if clusters is None:
            return {}
        _, index = np.unique(clusters[attack.scored], return_inverse=True)
        sizes = np.bincount(index)
        flagged = np.bincount(index, weights=chosen.flags().astype(float))
        return {
            "clusters": len(sizes),
            "cluster_any": float((flagged > 0).mean()),
            "cluster_mean": float((flagged / sizes).mean()),
        }

    def _holdout(self, chosen: Answers, holdout: Answers) -> dict[str, Any]:
        """Population inference (people never seen) and memorisation (the difference), with d +- z sqrt(p1 q1/n1 + p2
        q2/n2)."""
        p1, p2 = chosen.rate(), holdout.rate()
        n1, n2 = (effective_n(a.weights, a.n) for a in (chosen, holdout))
        half = normal_quantile(self.confidence) * float(np.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2))
        return {
            "population_inference": p2,
            "chance_holdout": holdout.chance()[0],
            **{f"{k}_holdout": v for k, v in holdout.quality().items() if k in ("accuracy", "mae", "rmse")},
            "memorisation": p1 - p2,
            "memorisation_interval": [p1 - p2 - half, p1 - p2 + half],
        }

    def _leak(self, chosen: Answers, holdout: Answers | None) -> Leak:
        """Members minus strangers. Whom the attacker flags depends on the release and on the person alone, so the
        labels are exchangeable where being in the data makes no difference; weighted shares have no exact test."""
        flags = chosen.flags()
        if holdout is None:
            return Leak(difference=None, difference_interval=None, p_value=None, counts=Counts(flags.sum(), chosen.n))
        found = exchange_flags(flags, holdout.flags(), self.confidence)
        if chosen.weights is None:
            return Leak(
                difference=found.difference, difference_interval=found.interval, p_value=found.p, counts=found.counts
            )
        figures = self._holdout(chosen, holdout)
        low, high = figures["memorisation_interval"]
        return Leak(difference=figures["memorisation"], difference_interval=(low, high), p_value=None, counts=None)

    def _mean_leak(self, value: float, interval: Interval, singles: Sequence[RapidResult]) -> Leak:
        """Over releases: the mean difference, with the widest of their intervals and the largest of their p values."""
        held = [s for s in singles if s.difference is not None and s.difference_interval is not None]
        if not held:
            return Leak(difference=None, difference_interval=None, p_value=None, counts=None)
        gaps = [float(s.difference or 0.0) for s in held]
        mean = float(np.mean(gaps))
        widths = [
            (g - s.difference_interval[0], s.difference_interval[1] - g)
            for g, s in zip(gaps, held, strict=True)
            if s.difference_interval
        ]
        tested = [s.p_value for s in held if s.p_value is not None]
        return Leak(
            difference=mean,
            difference_interval=(mean - max(w[0] for w in widths), mean + max(w[1] for w in widths)),
            p_value=max(tested) if len(tested) == len(held) else None,
            counts=held[0].counts if len(held) == 1 else None,
        )

    def _interval(self, pair: Pair, attack: ScoredAttack, headline: str) -> tuple[float, float]:
        answers = attack.answers[headline]
        if len(attack.answers) > 1 and self.method == "wilson":
            flags = np.array([a.flags() for a in attack.answers.values()])
            return inference.max_interval(flags, self.confidence, self.n_boot, self.settings.seed, answers.weights)
        clusters = pair.cluster_codes("original")
        return inference.share_interval(
            answers.flags(),
            self.method,
            self.confidence,
            weights=answers.weights,
            n_boot=self.n_boot,
            clusters=None if clusters is None else clusters[attack.scored],
            random_state=self.settings.seed,
        )

    # -- several releases ----------------------------------------------------------------------------------------------

    def combined(self, singles: Sequence[RapidResult], pairs: Sequence[Pair]) -> RapidResult:
        """Mean over releases of the attacker that is strongest on average; the worst release beside it."""
        attacks = [s.attacks[0] for s in singles]
        over = self._over_attackers(attacks)
        headline = over["max_attacker"]
        answers = [a.answers[headline] for a in attacks]
        values = [a.rate() for a in answers]
        chance = inference.mean_chance(answers)
        value = float(np.mean(values))
        quality = [a.quality() for a in answers]
        holdouts = [a.holdout[headline].rate() for a in attacks if headline in a.holdout]
        details: dict[str, Any] = {
            **{k: v for k, v in self._figures(answers[0], chance).items() if k != "n_at_risk"},
            "adjusted": (value - chance[0]) / (1 - chance[0]) if chance[0] < 1 else None,
            "z": inference.effect_size(value, chance),
            "p_value": inference.tail_probability(value, chance, answers[0].n),
            "releases": len(values),
            "worst": max(values),
            "release_min": min(values),
            "release_max": max(values),
            "release_sd": float(np.std(values, ddof=1)),
            **{k: float(np.mean([q[k] for q in quality])) for k in quality[0] if quality[0][k] is not None},
            **over,
        }
        if holdouts:
            details |= {
                "population_inference": float(np.mean(holdouts)),
                "memorisation": value - float(np.mean(holdouts)),
            }
        size = effective_n(answers[0].weights, answers[0].n)
        interval = inference.total_interval(values, [v * (1 - v) / size for v in values], self.confidence)
        warnings = list(dict.fromkeys(w for s in singles for w in s.warnings))
        result = RapidResult(
            value,
            baseline=chance[0],
            holdout=float(np.mean(holdouts)) if holdouts else None,
            interval=interval,
            **self._mean_leak(value, interval, [s for s in singles if s.difference is not None]),
            p_chance=details["p_value"],
            details=details,
            sentence=(
                f"Mean of {len(values)} releases: {percent(value)} of the people are at risk "
                f"({percent(self.confidence, 0)} interval over people and releases {percent(interval[0])} to "
                f"{percent(interval[1])}), the worst release "
                f"{percent(max(values))}; luck alone would give {percent(chance[0])}.{_rule(details)}"
            ),
            warnings=warnings,
            records=lambda: _mean_records(attacks, headline),
            flag="at_risk",
            rank="at_risk",
            table=[
                {"release": i, "rapid": v, "chance": a.chance()[0]}
                for i, (v, a) in enumerate(zip(values, answers, strict=True))
            ],
            plot_data={"importance": attacks[0].importance.get(headline)},
            replicates=list(singles),
        )
        return self._bound(result._with(attacks, pairs, headline), self.pair)

    # -- words ---------------------------------------------------------------------------------------------------------

    def _sentence(
        self, pair: Pair, attack: ScoredAttack, headline: str, details: Mapping[str, Any], limits: tuple[float, float]
    ) -> str:
        answers = attack.answers[headline]
        low, high = limits
        if isinstance(answers, ClassAnswers):
            cut = answers.threshold
            bar = {
                "marginal": f"gains more than {percent(cut, 0)} of the missing certainty about {attack.target!r}",
                "conditional": f"gives the true class of {attack.target!r} over {cut:g} times its usual probability",
                "nce": f"reaches an entropy score above {cut:g} on {attack.target!r}",
            }[answers.score]
        else:
            within = f"{answers.threshold:g}" if answers.metric == "absolute" else percent(answers.threshold, 0)
            bar = f"predicts {attack.target!r} with an error ({answers.metric.replace('_', ' ')}) below {within}"
        who = (
            f"{answers.n:,} people" if pair.weights is None else f"the population behind {answers.n:,} weighted records"
        )
        count = f"{details['n_at_risk']:,}; " if pair.weights is None else ""
        text = (
            f"An attacker who knows {_and(pair.keys)} and trains {spoken(headline)} on the release {bar} for "
            f"{percent(answers.rate())} of "
            f"{who} ({count}{percent(self.confidence, 0)} interval {percent(low)} to {percent(high)}); luck alone "
            f"would give {percent(details['chance'])}."
        )
        if "population_inference" in details:
            low, high = details["memorisation_interval"]
            shown = f"{100 * details['memorisation']:+.1f} points"
            unseen = percent(details["population_inference"])
            text += f" For people the synthesiser never saw it is {unseen} (population inference); "
            text += (
                f"the difference, {shown}, is memorisation."
                if low > 0
                else f"the difference, {shown}, shows no memorisation."
            )
        return text + _rule(details)


def _rule(details: Mapping[str, Any]) -> str:
    """The excess over luck in words, so that the sentence can stand alone."""
    if details["adjusted"] is None:
        return " Luck alone flags everybody, so the figure says nothing; choose a stricter threshold."
    p = details["p_value"]
    shown = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    beyond = "beyond chance" if p < SIGNIFICANCE else "not beyond chance"
    return f" Excess over chance {100 * details['adjusted']:.1f} % ({shown}, {beyond})."


def _and(names: Sequence[str]) -> str:
    shown = [str(n) for n in names]
    if len(shown) > 6:
        shown = [*shown[:5], f"{len(shown) - 5} more keys"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


# -- records -----


def _columns(attack: ScoredAttack, name: str) -> dict[str, Any]:
    answers = attack.answers[name]
    if isinstance(answers, NumberAnswers):
        found: dict[str, Any] = {"predicted": answers.predicted, "error": answers.scores, "score": -answers.scores}
    else:
        labels = np.empty(len(attack.classes or []), object)
        labels[:] = attack.classes
        found = {
            "predicted": labels[answers.predicted],
            "true_prob": answers.true_prob,
            "baseline": answers.baseline,
            "gain": answers.scores,
            "correct": answers.predicted == answers.y,
        }
    found["at_risk"] = answers.flags()
    return {k: full_length(v, attack.scored) for k, v in found.items()}


def _records(attack: ScoredAttack, headline: str) -> dict[str, Any]:
    """The headline attacker's columns; with several attackers each one's, by name, and how many flag the record."""
    found = _columns(attack, headline)
    if len(attack.answers) > 1:
        for name in attack.answers:
            found |= {f"{k}_{name}": v for k, v in _columns(attack, name).items() if k not in ("baseline", "score")}
        flags = np.array([a.flags() for a in attack.answers.values()])
        found["attackers_flagging"] = full_length(flags.sum(axis=0), attack.scored)
    return found


def _mean_records(attacks: Sequence[ScoredAttack], headline: str) -> dict[str, Any]:
    """Several releases: the share of releases that flag the record, and its mean score."""
    answers = [a.answers[headline] for a in attacks]
    scored = attacks[0].scored
    flags: Array = np.array([a.flags() for a in answers])
    scores = np.mean([a.scores for a in answers], axis=0)
    name = "gain" if isinstance(answers[0], ClassAnswers) else "error"
    found = {
        name: scores,
        "at_risk": flags.mean(axis=0),
        "at_risk_any": flags.any(axis=0),
        "at_risk_all": flags.all(axis=0),
    }
    if isinstance(answers[0], ClassAnswers):
        probabilities = [a.true_prob for a in answers if isinstance(a, ClassAnswers)]
        found = {"true_prob": np.mean(probabilities, axis=0), "baseline": answers[0].baseline, **found}
    return {k: full_length(v, scored) for k, v in found.items()}
