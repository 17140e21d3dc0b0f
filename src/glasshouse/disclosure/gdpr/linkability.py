"""Linkability: does the release connect two halves of what is known about one person?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from glasshouse.core.advice import LINKED
from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.disclosure.gdpr.statistics import CITE, LIMIT, Attack, Side, difference_interval, report, sample
from glasshouse.engines.neighbours.encoding import encode_pair
from glasshouse.engines.neighbours.search import RULES, TOL, Space, Tied

DIRECTIONS = ("bridge", "release")
THINNINGS = 5
# Among fewer records than this the two halves of anybody may meet by likeness alone, member or not.
ENOUGH_TO_TELL = 100
Split = tuple[tuple[str, ...], tuple[str, ...]]


@measure(
    side="disclosure",
    family="gdpr",
    threat="identity",
    better="lower",
    range=(0, 1),
    limit=LIMIT,
    figures=("over_naive",),
    audited=True,
    cost="neighbours",
    group="linkability",
    cite=CITE,
    attacker="two disjoint sets of columns about a person, held apart",
    caveats="one way of cutting the columns in two decides much of the answer, so several random cuts are "
    "averaged unless columns= is given; "
    "a very small release links everybody, members and strangers alike, so only the comparison with the control speaks",
    advice=LINKED,
    riskutility=("Linkability", lambda r: {"risk": r.value}),
)
def linkability(
    pair: Pair,
    *,
    columns: Sequence[Sequence[str]] | None = None,
    k: int = 1,
    direction: str = "bridge",
    n_attacks: int | None = None,
    n_splits: int = 10,
    missing: str = "level",
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of people whose two halves lead to the same released record.

    ``direction="bridge"``: for a person of the original, the k nearest released records by the first set of columns and
    by the second set (Gower distance); a link when the two sets share a record. ``direction="release"``: for a released
    record, the k nearest originals by each set; a link when they share an original. Ties at the k-th place are broken
    at random and the success is the exact probability over those draws; for k = 1 with tied sets M0, M1 it is
    |M0 n M1| / (|M0| |M1|). Without ``columns`` the shared columns are cut in two at random ``n_splits`` times.

    Baseline: two random k-subsets, 1 - C(n-k, k) / C(n, k). Control: held-out people in place of the original. Each
    person is asked on their own, so the bridge needs no equal sizes; in the release direction the larger of original
    and holdout is thinned to the size of the smaller. ``n_attacks=None`` attacks everybody.
    """
    if direction not in DIRECTIONS:
        raise InputError(f"direction must be one of {listed(DIRECTIONS)}, not {direction!r}")
    if k < 1 or n_splits < 1 or (n_attacks is not None and n_attacks < 1):
        raise InputError("k, n_splits and n_attacks must be at least 1")
    splits = _splits(pair, columns, n_splits, generator(random_state, "linkability", "splits"))
    searched = "released" if direction == "bridge" else "original"
    queried = "original" if direction == "bridge" else "released"
    targets = sample(pair.n(queried), n_attacks, generator(random_state, "linkability", queried))

    def two_sides(split: Split, people: str) -> tuple[Space, Space]:
        # random cuts are not kept on the pair: they would only fill its memory
        first, second = (attack_space(pair, side, missing, people, keep=columns is not None) for side in split)
        return first, second

    spaces = [two_sides(split, "original") for split in splits]
    attacked = [_link(two, queried, targets, searched, None, k, n_jobs) for two in spaces]
    probability = np.mean([a.probability for a in attacked], axis=0)
    n = len(probability)
    attack = Side(float(probability.sum()), n)
    baseline = Side(_naive(pair.n(searched), k) * n, n)
    details: dict[str, object] = {
        "direction": f"linkability_{direction}",
        "k": k,
        "splits": len(splits),
        **attacked[0].counts(len(splits)),
    }
    if len(splits) > 1:
        rates = [float(a.probability.mean()) for a in attacked]
        details |= {"split_min": min(rates), "split_max": max(rates), "split_sd": float(np.std(rates, ddof=1))}
    strangers = [two_sides(split, "holdout") for split in splits] if pair.has_holdout else []
    whole = _control(
        pair,
        spaces,
        strangers,
        attack,
        baseline,
        direction,
        targets,
        k,
        n_attacks,
        confidence,
        random_state,
        n_jobs,
        details,
    )

    def records() -> dict[str, np.ndarray]:
        columns_of = {"linked": probability, "tied_first": attacked[0].tied[0], "tied_second": attacked[0].tied[1]}
        return {name: spread(values, targets, pair.n("original")) for name, values in columns_of.items()}

    return report(
        whole,
        confidence=confidence,
        guess="people looked up by two halves of their data"
        if direction == "bridge"
        else "released records looked up by two halves",
        success="lead to the same released record" if direction == "bridge" else "lead to the same original",
        details=details,
        records=records if direction == "bridge" else None,
        flag="linked" if direction == "bridge" else None,
        decisive=pair.n(searched) >= ENOUGH_TO_TELL,
        plot_data={"splits": [list(map(list, s)) for s in splits]},
    )


@dataclass(frozen=True)
class Links:
    """Outcome per attacked record: probability of a link over random ties, sizes of the tied sets, and other tie
    rules.
    """

    probability: np.ndarray
    tied: tuple[np.ndarray, np.ndarray]
    lowest: np.ndarray
    inclusive: np.ndarray
    unambiguous: np.ndarray

    def counts(self, splits: int = 1) -> dict[str, object]:
        """Links under other tie rules, for comparison with other packages; only for one given pair of column sets."""
        if splits > 1:
            return {}
        return {
            "expected_random_tie": float(self.probability.sum()),
            "lowest_index": int(self.lowest.sum()),
            "tie_inclusive": int(self.inclusive.sum()),
            "unambiguous": int(self.unambiguous.sum()),
            "tie_set_size": {
                f"aux{side}_{name}": figure
                for side, ties in enumerate(self.tied)
                for name, figure in (("mean", float(ties.mean())), ("max", int(ties.max())))
            },
        }


def _control(
    pair: Pair,
    spaces: list[tuple[Space, Space]],
    strangers: list[tuple[Space, Space]],
    attack: Side,
    baseline: Side,
    direction: str,
    targets: np.ndarray | None,
    k: int,
    n_attacks: int | None,
    confidence: float,
    random_state: RandomState,
    n_jobs: int | None,
    details: dict[str, object],
) -> Attack:
    if not pair.has_holdout:
        return Attack(attack, baseline, None)
    if direction == "bridge":
        chosen = sample(pair.n("holdout"), n_attacks, generator(random_state, "linkability", "holdout"))
        fresh = [_link(two, "holdout", chosen, "released", None, k, n_jobs) for two in strangers]
        details["control"] = fresh[0].counts(len(spaces))
        rate = np.mean([f.probability for f in fresh], axis=0)
        return Attack(attack, baseline, Side(float(rate.sum()), len(rate)))
    size = min(pair.n("original"), pair.n("holdout"))

    def rate_at_size(table: str, sides: list[tuple[Space, Space]]) -> float:
        draws = THINNINGS if pair.n(table) > size else 1
        rng = generator(random_state, "linkability", "thinning", table)
        parts = [sample(pair.n(table), size, rng) for _ in range(draws)]
        return float(
            np.mean(
                [
                    _link(two, "released", targets, table, part, k, n_jobs).probability.mean()
                    for two in sides
                    for part in parts
                ]
            )
        )

    n = attack.guesses
    level, control = Side(rate_at_size("original", spaces) * n, n), Side(rate_at_size("holdout", strangers) * n, n)
    details |= {"attack_equal_size": level.rate, "size": size}
    return Attack(
        attack, baseline, control, gap=(level.rate - control.rate, difference_interval(level, control, confidence))
    )


def _link(
    spaces: tuple[Space, Space],
    queried: str,
    targets: np.ndarray | None,
    searched: str,
    part: np.ndarray | None,
    k: int,
    n_jobs: int | None,
) -> Links:
    from glasshouse.disclosure.gdpr.kernel import overlaps

    lists, references, queries = [], [], []
    for given in spaces:
        space = given if part is None else thinned(given, searched, part, "thinned")
        table = searched if part is None else "thinned"
        query = space.rows(queried, targets)
        reference = space.rows(table)
        most = min(k, reference.n)
        radius = space.nearest(query, table, most, n_jobs).distance[:, most - 1]
        every = space.tied(query, table, radius, n_jobs)
        close = space.tied(query, table, radius - 2 * TOL, n_jobs) if most > 1 else _nothing(every)
        lists.append((every.offsets, every.row, close.offsets, close.row))
        references.append((reference.inverse, reference.starts, reference.counts, reference.members))
        queries.append(query)
    pairs = queries[0].inverse * np.int64(queries[1].size) + queries[1].inverse
    distinct, back = np.unique(pairs, return_inverse=True)
    first, second = np.divmod(distinct, queries[1].size)
    found = overlaps(first, second, lists[0], lists[1], references[0], references[1], most)[back.reshape(-1)]
    near, tied0, tied1, both, sure0, ties0, sure1, ties1, lowest = found.T
    probability = _chance_of_overlap(near, tied0, tied1, both, ties0, ties1, most - sure0, most - sure1)
    inclusive = near + tied0 + tied1 + both > 0
    unambiguous = (both == 1) & (ties0 == 1) & (ties1 == 1) & (most == 1)
    return Links(probability, (ties0, ties1), lowest > 0, inclusive, unambiguous)


def _chance_of_overlap(
    near: np.ndarray,
    tied0: np.ndarray,
    tied1: np.ndarray,
    both: np.ndarray,
    ties0: np.ndarray,
    ties1: np.ndarray,
    take0: np.ndarray,
    take1: np.ndarray,
) -> np.ndarray:
    """Probability that two sets of k records meet when the last places are drawn at random from the ties.

    ``take`` of ``ties`` records are drawn on each side; ``tied0`` of the first ties are surely in the second set,
    ``tied1`` of the second surely in the first, ``both`` are ties on both sides, and ``near`` records are surely in
    both.
    """
    from scipy.special import gammaln

    def log_choose(n: np.ndarray, r: np.ndarray) -> np.ndarray:
        valid = (r >= 0) & (r <= n)
        n, r = np.where(valid, n, 0), np.where(valid, r, 0)
        return np.where(valid, gammaln(n + 1) - gammaln(r + 1) - gammaln(n - r + 1), -np.inf)

    apart = np.zeros(len(near))
    for j in range(int(np.max(np.minimum(take0, both), initial=0)) + 1):
        terms = (
            log_choose(both, np.full_like(both, j))
            + log_choose(ties0 - tied0 - both, take0 - j)
            - log_choose(ties0, take0)
        )
        terms = terms + log_choose(ties1 - tied1 - j, take1) - log_choose(ties1, take1)
        apart += np.exp(terms)
    return np.where(near > 0, 1.0, np.clip(1.0 - apart, 0.0, 1.0))


def _nothing(every: Tied) -> Tied:
    return Tied(np.zeros_like(every.offsets), every.row[:0], every.query, every.reference)


def _naive(n: int, k: int) -> float:
    """Probability that two random k-subsets of n records meet."""
    if 2 * k > n:
        return 1.0
    return float(1 - np.prod((n - k - np.arange(k)) / (n - np.arange(k))))


def spread(values: np.ndarray, targets: np.ndarray | None, n: int) -> np.ndarray:
    """Attacked records' figures on all records, masked where a record was not attacked."""
    if targets is None:
        return values
    full = np.zeros(n, values.dtype)
    full[targets] = values
    asked = np.zeros(n, bool)
    asked[targets] = True
    return np.ma.MaskedArray(full, ~asked)


def _splits(
    pair: Pair, columns: Sequence[Sequence[str]] | None, n_splits: int, rng: np.random.Generator
) -> list[Split]:
    if columns is None:
        names = pair.columns
        if len(names) < 2:
            raise NotApplicable(
                "linkability needs two columns in common, one for each side of the link; release more columns"
            )
        orders = [rng.permutation(len(names)) for _ in range(n_splits)]
        half = (len(names) + 1) // 2
        made = {
            tuple(
                sorted((tuple(sorted(names[i] for i in order[:half])), tuple(sorted(names[i] for i in order[half:]))))
            )
            for order in orders
        }
        return sorted(made)  # type: ignore[arg-type]
    if len(columns) != 2 or any(isinstance(side, str) for side in columns):
        raise InputError(
            "columns= takes two lists of columns, what each side knows: columns=(['age', 'sex'], ['income', 'region'])"
        )
    first, second = (tuple(dict.fromkeys(side)) for side in columns)
    if not first or not second:
        raise InputError("each side of columns= needs at least one column")
    shared = [c for c in first if c in second]
    if shared:
        raise InputError(f"columns {listed(shared)} are on both sides; linkability joins two disjoint sets")
    return [(first, second)]


def attack_space(pair: Pair, columns: Sequence[str], missing: str, people: str, keep: bool = True) -> Space:
    """Release and attacked people under one scaling: what an attacker with these targets and the release would compute.

    Each side of the comparison is scaled by its own targets and the release, so members and strangers are treated
    alike.
    """
    chosen = tuple(columns)
    unknown = [name for name in chosen if name not in pair.columns]
    if unknown:
        raise InputError(
            f"columns {listed(unknown)} are not in every table (or are identifiers or weights); choose from "
            f"{listed(pair.columns)}"
        )
    if missing not in RULES:
        raise InputError(f"missing must be one of {listed(RULES)}, not {missing!r}")

    def build() -> Space:
        return Space(encode_pair(pair, chosen, missing, None, ("released", people)))

    return pair.memo(("attack_space", chosen, missing, people), build) if keep else build()


def thinned(space: Space, table: str, part: np.ndarray, name: str) -> Space:
    """The space with one more table: some records of another one."""
    encoded = space.encoded
    return Space(
        replace(
            encoded,
            numbers={**encoded.numbers, name: encoded.numbers[table][part]},
            codes={**encoded.codes, name: encoded.codes[table][part]},
            ids={**encoded.ids, name: encoded.ids[table][part]},
        )
    )
