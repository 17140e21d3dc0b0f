"""RAPID results in figures and words: one release, several releases, one attacker or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from glasshouse.core.intervals import Interval, check_draws, normal_quantile
from glasshouse.core.measure import registered
from glasshouse.core.plain import percent
from glasshouse.core.streams import integer_seed
from glasshouse.disclosure.rapid import inference, records
from glasshouse.disclosure.rapid.answers import Answers, ClassAnswers, NumberAnswers
from glasshouse.disclosure.rapid.attack import AttackSettings, ScoredAttack, scored_attack
from glasshouse.disclosure.rapid.leak import RapidLeak, asked_people, exchanged, leak, worst_leak
from glasshouse.disclosure.rapid.redraw import people_interval, redrawn_rates
from glasshouse.disclosure.rapid.result import RapidResult
from glasshouse.disclosure.rapid.scores import Moments, effective_n, share
from glasshouse.disclosure.rapid.wording import Figures, Memorisation, beyond_luck, sentence
from glasshouse.disclosure.wording import beside_strangers, population_fact

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair


class AttackerRow(TypedDict, total=False):
    """One attacker in the table of a result; the quality figures are those of its kind of target."""

    attacker: str
    rapid: float
    chance: float
    adjusted: float | None
    accuracy: float
    log_loss: float
    mae: float
    rmse: float


class OverAttackers(NamedTuple):
    """Several attackers together: the strongest, and the figures for the details."""

    strongest: str
    rows: list[AttackerRow]
    figures: dict[str, object]


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
        self.method = interval
        self.parity = parity
        normal_quantile(confidence)
        check_draws("n_boot", n_boot)

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
        figures = self._figures(chosen, chance)
        over = self._over_attackers([attack])
        details: dict[str, object] = {
            **figures,
            **chosen.quality(),
            **over.figures,
            **self._clusters(pair, attack, chosen),
            **(chosen.against_constant() if isinstance(chosen, NumberAnswers) else self._classes(attack, chosen)),
        }
        holdout = attack.holdout.get(headline)
        memorised = None if holdout is None else self._memorised(chosen, holdout)
        if holdout is not None and memorised is not None:
            details |= {
                "population_inference": memorised.holdout,
                "chance_holdout": memorised.chance,
                **{f"{k}_holdout": v for k, v in holdout.quality().items() if k in ("accuracy", "mae", "rmse")},
                "memorisation": memorised.difference,
                "memorisation_interval": list(memorised.interval),
            }
        details["run"] = {"seed": attack.settings.seed, "delta": attack.delta or None, "parity": self.parity}
        limits = self._interval(pair, attack, headline)
        told = self.leak(pair, attack, chosen, memorised)
        result = RapidResult(
            rates[headline],
            baseline=chance[0],
            holdout=None if holdout is None else holdout.rate(),
            interval=limits,
            **told,
            of=chosen.n,
            p_chance=figures["p_value"],
            details=details,
            sentence=sentence(pair, attack, headline, figures, limits, self.confidence, memorised, told["p_value"]),
            warnings=attack.warnings,
            records=lambda: records.of_attack(attack, headline),
            holdout_records=None if holdout is None else lambda: records.of_attack(attack, headline, "holdout"),
            flag="at_risk",
            rank="gain" if isinstance(chosen, ClassAnswers) else "score",
            table=over.rows,
        )
        return self._bound(result._with([attack], [pair], headline), pair, chosen)

    def _bound(self, result: RapidResult, pair: Pair, chosen: Answers) -> RapidResult:
        """A result inside another one (a replicate, one of several targets) can be asked like any other."""
        if isinstance(chosen, ClassAnswers) and chosen.is_degenerate:
            # everybody has the same value: there was nothing to infer, and nothing tested is no pass
            result = result._copy(_limits=())
        return result._copy(name="rapid", measure=registered().get("rapid"), settings=pair.describe(), _source=pair)

    def _figures(self, chosen: Answers, chance: Moments) -> Figures:
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

    def _over_attackers(self, attacks: Sequence[ScoredAttack]) -> OverAttackers:
        """Mean, max, union and intersection over attackers, each the mean over releases; and one row per attacker."""
        names = list(attacks[0].answers)
        weights = attacks[0].answers[names[0]].weights
        rates = {n: float(np.mean([a.answers[n].rate() for a in attacks])) for n in names}
        union, every = [], []
        for attack in attacks:
            flags = np.array([attack.answers[n].flags() for n in names])
            union.append(share(np.asarray(flags.any(axis=0)), weights))
            every.append(share(np.asarray(flags.all(axis=0)), weights))
        rows: list[AttackerRow] = []
        for n in names:
            chances = [a.answers[n].chance()[0] for a in attacks]
            chance = float(np.mean(chances))
            quality = [a.answers[n].quality() for a in attacks]
            adjusted = (rates[n] - chance) / (1 - chance) if chance < 1 else None
            row = AttackerRow(attacker=n, rapid=rates[n], chance=chance, adjusted=adjusted)
            for k in ("accuracy", "log_loss", "mae", "rmse"):
                if k in quality[0]:
                    row[k] = float(np.mean([q[k] for q in quality]))
            rows.append(row)
        best = max(rates, key=lambda n: rates[n])
        figures: dict[str, object] = {
            "mean": float(np.mean(list(rates.values()))),
            "max": rates[best],
            "max_attacker": best,
            "union": float(np.mean(union)),
            "all": float(np.mean(every)),
            "attackers": rows,
        }
        return OverAttackers(best, rows, figures)

    def _classes(self, attack: ScoredAttack, chosen: ClassAnswers) -> dict[str, dict[str, float]]:
        classes = attack.classes or []
        present = np.flatnonzero(np.bincount(chosen.y, minlength=len(classes)))
        risk = chosen.by_class()
        found = {
            "by_class": {str(classes[k]): float(risk[k]) for k in present},
            "class_shares": {str(classes[k]): float(chosen.shares[k]) for k in present},
        }
        if chosen.score == "marginal":
            cut = chosen.shares + chosen.threshold * (1 - chosen.shares)
            found["class_cut"] = {str(classes[k]): float(cut[k]) for k in present}
        return found

    def _clusters(self, pair: Pair, attack: ScoredAttack, chosen: Answers) -> dict[str, float]:
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

    def _memorised(self, chosen: Answers, holdout: Answers) -> Memorisation:
        """Population inference (people never in the data) and memorisation (the difference d), with
        d +- z sqrt(p1 q1/n1 + p2 q2/n2)."""
        p1, p2 = chosen.rate(), holdout.rate()
        n1, n2 = (effective_n(a.weights, a.n) for a in (chosen, holdout))
        half = normal_quantile(self.confidence) * float(np.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2))
        return Memorisation(p2, holdout.chance()[0], p1 - p2, (p1 - p2 - half, p1 - p2 + half))

    def leak(self, pair: Pair, attack: ScoredAttack, chosen: Answers, memorised: Memorisation | None) -> RapidLeak:
        """Members against strangers; with weights the difference is that of the weighted shares."""
        told = exchanged(pair, asked_people(attack), self.confidence, self.settings.seed)
        found = leak(told, float(chosen.flags().sum()), chosen.n)
        if told is not None and chosen.weights is not None and memorised is not None:
            found["difference"], found["difference_interval"] = memorised.difference, memorised.interval
        return found

    def _interval(self, pair: Pair, attack: ScoredAttack, headline: str) -> Interval:
        answers = attack.answers[headline]
        clusters = pair.cluster_codes("original")
        own = None if clusters is None else clusters[attack.scored]
        if self.method is None:
            return people_interval(list(attack.answers.values()), self.confidence, self.n_boot, self.settings.seed, own)
        if len(attack.answers) > 1 and self.method == "wilson":
            flags = np.array([a.flags() for a in attack.answers.values()])
            return inference.max_interval(flags, self.confidence, self.n_boot, self.settings.seed, answers.weights)
        return inference.share_interval(
            answers.flags(),
            self.method,
            self.confidence,
            weights=answers.weights,
            n_boot=self.n_boot,
            clusters=own,
            random_state=self.settings.seed,
        )

    # -- several releases ----------------------------------------------------------------------------------------------

    def combined(self, singles: Sequence[RapidResult], pairs: Sequence[Pair]) -> RapidResult:
        """Mean over releases of the attacker that is strongest on average; the worst release beside it."""
        attacks = [s.attacks[0] for s in singles]
        over = self._over_attackers(attacks)
        headline = over.strongest
        answers = [a.answers[headline] for a in attacks]
        values = [a.rate() for a in answers]
        chance = inference.mean_chance(answers)
        value = float(np.mean(values))
        quality = [a.quality() for a in answers]
        holdouts = [a.holdout[headline].rate() for a in attacks if headline in a.holdout]
        excess = (value - chance[0]) / (1 - chance[0]) if chance[0] < 1 else None
        p_chance = inference.tail_probability(value, chance, answers[0].n)
        details: dict[str, object] = {
            "n_total": answers[0].n,
            "threshold": answers[0].threshold,
            "chance": chance[0],
            "chance_sd": chance[1],
            "adjusted": excess,
            "z": inference.effect_size(value, chance),
            "p_value": p_chance,
            "releases": len(values),
            "worst": max(values),
            "release_min": min(values),
            "release_max": max(values),
            "release_sd": float(np.std(values, ddof=1)),
            **{k: float(np.mean([q[k] for q in quality])) for k in quality[0] if quality[0][k] is not None},
            **over.figures,
        }
        if holdouts:
            details |= {
                "population_inference": float(np.mean(holdouts)),
                "memorisation": value - float(np.mean(holdouts)),
            }
        clusters = pairs[0].cluster_codes("original")
        own = None if clusters is None else clusters[attacks[0].scored]
        within = [float(redrawn_rates([a], self.n_boot, 0, own).var()) for a in answers]
        interval = inference.total_interval(values, within, self.confidence)
        warnings = list(dict.fromkeys(w for s in singles for w in s.warnings))
        worst = worst_leak([_leak_of(single) for single in singles])
        result = RapidResult(
            value,
            baseline=chance[0],
            holdout=float(np.mean(holdouts)) if holdouts else None,
            interval=interval,
            **worst,
            of=answers[0].n,
            p_chance=min(s.p_chance for s in singles if s.p_chance is not None),
            figures={"worst_release": max((s.excess for s in singles if s.excess is not None), default=None)},
            details=details,
            sentence=(
                f"Mean of {len(values)} releases: {percent(value)} of the people are at risk "
                f"({percent(self.confidence, 0)} interval over people and releases {percent(interval[0])} to "
                f"{percent(interval[1])}), in the worst release {percent(max(values))}"
                f"{beside_strangers(float(np.mean(holdouts)) if holdouts else None, worst['p_value'])}."
                f"{population_fact(f'luck alone would give {percent(chance[0])}')}{beyond_luck(excess, p_chance)}"
            ),
            warnings=warnings,
            records=lambda: records.of_releases(attacks, headline),
            holdout_records=(lambda: records.of_releases(attacks, headline, "holdout")) if holdouts else None,
            flag="at_risk",
            rank="at_risk",
            table=[
                {"release": name, "worst": v == max(values), "rapid": v, "chance": a.chance()[0]}
                for name, v, a in zip(self.pair.release_names, values, answers, strict=True)
            ],
            replicates=[one._copy(release=name) for name, one in zip(self.pair.release_names, singles, strict=True)],
            over="mean",
        )
        return self._bound(result._with(attacks, pairs, headline), self.pair, answers[0])


def _leak_of(result: RapidResult) -> RapidLeak:
    return RapidLeak(
        difference=result.difference,
        difference_interval=result.difference_interval,
        p_value=result.p_value,
        counts=result.counts,
        exposure=result.exposure,
    )
