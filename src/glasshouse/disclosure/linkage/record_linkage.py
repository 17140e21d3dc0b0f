"""Record linkage: who can be found again in a release whose records are changed copies of real ones?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from glasshouse.core.advice import LINKED
from glasshouse.core.errors import InputError, NotApplicable, closest, listed
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.disclosure.linkage import embedding as linkage_embedding
from glasshouse.disclosure.linkage import methods as linkage_methods
from glasshouse.disclosure.linkage import probabilistic as linkage_probabilistic
from glasshouse.disclosure.linkage.matching import Choice, Outcome, bijective, independent, transport
from glasshouse.disclosure.linkage.methods import Request, Scored
from glasshouse.engines.pairs.scores import RULES, Mixed, Scores

METHODS: dict[str, Callable[[Request], Scored]] = {
    "deterministic": linkage_methods.deterministic,
    "probabilistic": linkage_probabilistic.probabilistic,
    "pram": linkage_methods.pram,
    "predictive": linkage_methods.predictive,
    "forest": linkage_methods.forest,
    "ranks": linkage_methods.ranks,
    "mahalanobis": linkage_methods.mahalanobis,
    "embedding": linkage_embedding.embedding,
}
# The labels of the reference values and of riskutility, read as what they are called here.
LABELS: dict[str, tuple[str, str | None]] = {
    "fellegi_sunter": ("probabilistic", None),
    "rbrl": ("ranks", None),
    "rf": ("forest", None),
    "mahalanobis_classical": ("mahalanobis", None),
    "bijective": ("deterministic", "bijective"),
    "ot": ("deterministic", "transport"),
    "transport": ("deterministic", "transport"),
}
MATCHINGS = ("independent", "bijective", "transport")
DIRECTIONS = ("forward", "reverse")
BAND_LIMITS = (0.05, 0.1, 0.2, 0.5)
BAND_NAMES = ("very_low", "low", "moderate", "high", "very_high", "unique_match")
NO_TRUTH = (
    "record_linkage asks how often a person's own record is found, and a fully synthetic release has no own record of "
    "anybody: no row truth exists, and pairing row i with row i would measure chance (1/n) and look like a pass. If "
    "row i "
    "of the release is row i of the original, perturbed, say Pair(..., row_paired=True); if a column names the record, "
    "say truth='that column'; for synthetic data use singling_out, linkability, dcr or membership measures"
)


@measure(
    side="disclosure",
    family="linkage",
    threat="identity",
    better="lower",
    range=(0, 1),
    limit=(
        Limit("above_chance", warn=0.05, fail=0.10, why="mean risk above chance"),
        Limit("likely_found", fail=0.01, why="people more likely found than not, beyond what chance gives"),
        Limit("surely_found", warn=0.0, why="people found for sure, beyond what chance gives"),
    ),
    figures=("above_chance", "likely_found", "surely_found"),
    cost="pairs",
    cite="Domingo-Ferrer & Torra (2003), Disclosure risk assessment in statistical data protection; Fellegi & Sunter "
    "(1969), A theory for record linkage",
    attacker="the exact keys of a person who is known to be in the file",
    caveats="needs a true match for every person, so it applies to perturbed or partially synthetic releases, not to "
    "fully synthetic ones; blocking on a perturbed key hides risk",
    tier="full",
    advice=LINKED,
)
def record_linkage(
    pair: Pair,
    *,
    method: str = "deterministic",
    matching: str = "independent",
    candidates: str = "nearest",
    k: int = 5,
    threshold: float | tuple[str, float] | None = None,
    weighting: str = "uniform",
    columns: Sequence[str] | None = None,
    truth: Any = "row",
    direction: str = "forward",
    block: Sequence[str] | str = (),
    missing: str = "ignore",
    weights: Mapping[str, float] | None = None,
    kappa: float | None = None,
    bandwidth: float | None = None,
    kernel: str = "gaussian",
    estimate: str = "em",
    m: Mapping[str, float] | None = None,
    u: Mapping[str, float] | None = None,
    tolerance: Mapping[str, float] | None = None,
    pram: Mapping[str, Any] | None = None,
    trees: int = 100,
    robust: bool = False,
    epsilon: float | None = None,
    epochs: int = 50,
    risk_threshold: float = 0.1,
    self_baseline: bool = False,
    confidence: float = 0.95,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Mean chance that an attacker who knows a person's keys picks that person's own record in the release.

    Every query (a person; ``direction="reverse"``: a released record) has a candidate set G of alike records: the
    nearest with ties, the ``k`` nearest, those within ``threshold`` (a score, or ("quantile", p) of the query's own
    scores), or both. Its risk is the weight of the true match in G (1/|G| by default), 0 when it is not there;
    ``value`` is the mean. With a random truth the mean is share(G not empty)/n released: ``baseline``.

    Methods: deterministic (Gower), probabilistic (Fellegi-Sunter, EM), pram (known transition matrices), predictive
    (propensity; a diagnostic), forest (proximity), ranks, mahalanobis, embedding (extra ``torch``). Matching:
    independent; bijective (one-to-one assignment); transport (entropy-regularised). Truth: "row" (needs
    row_paired=True), the name of an identifier column in both tables, or one row number of the release per original
    (-1: none).
    """
    if method in LABELS:
        method, implied = LABELS[method]
        matching = implied or matching
    matching = "transport" if matching == "ot" else matching
    asked = Choice(candidates, k, threshold, weighting, kappa, bandwidth, kernel)
    asked.check()
    for name, value, known in (
        ("method", method, METHODS),
        ("matching", matching, MATCHINGS),
        ("direction", direction, DIRECTIONS),
    ):
        if value not in known:
            raise InputError(f"{name} must be one of {listed(known)}, not {value!r}{closest(str(value), known)}")
    if missing not in RULES:
        raise InputError(f"missing must be one of {listed(RULES)}, not {missing!r}")
    chosen = _columns(pair, columns)
    true = true_matches(pair, truth)
    options = {
        "estimate": estimate, "m": m, "u": u, "tolerance": tolerance, "pram": pram, "trees": trees, "robust": robust,
        "epochs": epochs,
    }  # fmt: skip
    ask = Request(pair, chosen, missing, weights, true, random_state, n_jobs, options)
    scored = METHODS[method](ask)
    if method == "pram":
        asked = Choice("all", k, None, "posterior")
    scores, wanted = (scored.scores, true) if direction == "forward" else (scored.scores.swap(), _turned(true, pair))
    groups, split_pairs = _groups(pair, block, direction, wanted)
    outcome = _run(scores, wanted, groups, asked, matching, epsilon, random_state)
    details = _figures(outcome, wanted, scores.shape[1], risk_threshold)
    details |= {
        "n_columns": len(chosen),
        "method": method,
        "matching": matching,
        "direction": direction,
        **scored.details,
        **outcome.details,
    }
    if block:
        details["true_pairs_split_by_blocks"] = split_pairs
    if isinstance(scores, Mixed) and method in ("deterministic", "ranks"):
        names = (*ask.numeric, *ask.nominal)
        details["true_distance_by_column"] = dict(zip(names, scores.contributions(wanted).tolist(), strict=True))
    if self_baseline and method == "deterministic":
        own = _self_linked(scored.scores, asked)
        details |= {"self_baseline": own, "risk_reduction": own - details["mean_risk"]}
    aligned = _alignment(outcome)
    warnings = [*scored.warnings, *outcome.warnings]
    if aligned is not None:
        details["alignment_p"] = aligned
        if aligned > 0.05:
            warnings.append(
                "true matches are no closer than random records (permutation p > 0.05): are the rows of the two "
                "tables aligned?"
            )
    return _result(pair, outcome, wanted, true, details, warnings, direction, confidence)


def true_matches(pair: Pair, truth: Any) -> np.ndarray:
    """For every original the number of its own record in the release, -1 where it has none."""
    n, m = pair.n("original"), pair.n("released")
    if isinstance(truth, str) and truth == "row":
        if not pair.row_paired:
            raise NotApplicable(NO_TRUTH)
        return np.arange(n)
    if isinstance(truth, str):
        tables = [pair.local(t) for t in ("original", "released")]
        lacking = [t for t, frame in zip(("original", "release"), tables, strict=True) if truth not in frame.columns]
        if lacking:
            raise InputError(f"truth column {truth!r} is not in the {lacking[0]}{closest(truth, tables[0].columns)}")
        mine, theirs = (frame.select(key=truth).with_row_index("at") for frame in tables)
        if theirs["key"].drop_nulls().n_unique() < theirs["key"].drop_nulls().len():
            raise InputError(
                f"truth column {truth!r} names some released records twice; a true match must be one record"
            )
        found = mine.join(theirs, on="key", how="left", suffix="_released", maintain_order="left")["at_released"]
        return found.cast(int).fill_null(-1).to_numpy().astype(np.int64)
    given = np.asarray(truth)
    if given.shape != (n,) or given.dtype.kind not in "iu" or given.min(initial=0) < -1 or given.max(initial=-1) >= m:
        raise InputError("truth must be 'row', a column name, or one row number of the release per original (-1: none)")
    return given.astype(np.int64)


def _turned(true: np.ndarray, pair: Pair) -> np.ndarray:
    """The same truth seen from the release."""
    back = np.full(pair.n("released"), -1, np.int64)
    known = np.flatnonzero(true >= 0)
    back[true[known]] = known
    return back


def _columns(pair: Pair, columns: Sequence[str] | None) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(columns)) if columns is not None else pair.keys or pair.columns
    unknown = [c for c in chosen if c not in pair.columns]
    if unknown:
        raise InputError(
            f"columns {listed(unknown)} are not in both tables (or are identifiers); choose from {listed(pair.columns)}"
        )
    if not chosen:
        raise NotApplicable("there is no column in common to link on; release at least one column of the original")
    return chosen


def _groups(
    pair: Pair, block: Sequence[str] | str, direction: str, true: np.ndarray
) -> tuple[list[tuple[np.ndarray, np.ndarray]] | None, float | None]:
    """Queries and searched records of every block (None: no blocking), and the share of true pairs torn apart."""
    names = (block,) if isinstance(block, str) else tuple(block)
    if not names:
        return None, None
    unknown = [c for c in names if c not in pair.columns]
    if unknown:
        raise InputError(
            f"block names {listed(unknown)}, which are not in both tables; choose from {listed(pair.columns)}"
        )
    tables = ("original", "released") if direction == "forward" else ("released", "original")
    stacked = np.concatenate([np.column_stack([pair.codes(c).of(t) for c in names]) for t in tables])
    labels = np.unique(stacked, axis=0, return_inverse=True)[1].reshape(-1)
    mine, theirs = labels[: pair.n(tables[0])], labels[pair.n(tables[0]) :]
    known = np.flatnonzero(true >= 0)
    split = float((mine[known] != theirs[true[known]]).mean()) if len(known) else None
    order_mine, order_theirs = np.argsort(mine, kind="stable"), np.argsort(theirs, kind="stable")
    edges = np.arange(labels.max() + 2)
    cut_mine, cut_theirs = np.searchsorted(mine[order_mine], edges), np.searchsorted(theirs[order_theirs], edges)
    groups = [
        (order_mine[cut_mine[b] : cut_mine[b + 1]], order_theirs[cut_theirs[b] : cut_theirs[b + 1]])
        for b in range(len(edges) - 1)
    ]
    return [g for g in groups if len(g[0]) and len(g[1])], split


def _run(
    scores: Scores,
    true: np.ndarray,
    groups: list[tuple[np.ndarray, np.ndarray]] | None,
    choice: Choice,
    matching: str,
    epsilon: float | None,
    random_state: RandomState,
) -> Outcome:
    out = Outcome.empty(len(true))
    parts = [(None, None)] if groups is None else groups
    total: dict[str, Any] = {}
    for rows, columns in parts:
        if rows is None or columns is None:
            part, local, at = scores, true, np.arange(len(true))
        else:
            where = np.full(scores.shape[1], -1, np.int64)
            where[columns] = np.arange(len(columns))
            part, at = scores.select(rows, columns), rows
            local = np.where(true[rows] >= 0, where[true[rows]], -1)
        found = independent(part, local, choice)
        extra: dict[str, Any] = {}
        if matching == "bijective":
            extra = bijective(part, local, random_state)
        elif matching == "transport":
            extra = transport(part, local, epsilon)
        if extra:
            found.risk = extra.pop("risk")
            note = extra.pop("note", None)
            if note and note not in out.warnings:
                out.warnings.append(note)
            for name, figure in extra.items():
                total.setdefault(name, []).append(figure)
        out.put(at, found)
    shared = "mean_risk_100_iterations"
    added = (shared, "optimal_cost", "correct_any", "correct_max_over_optima", "correct_min_over_optima")
    for name, figures in total.items():
        out.details[name] = sum(figures) if name in added else max(figures)
    if shared in out.details:
        out.details[shared] /= len(true)
    return out


def _figures(outcome: Outcome, true: np.ndarray, searched: int, risk_threshold: float) -> dict[str, Any]:
    """The figures of the golden definitions, on all queries."""
    risk = outcome.risk
    n = len(risk)
    ordered = np.sort(risk)
    total = float(risk.sum())
    gini = float(2 * (np.arange(1, n + 1) * ordered).sum() / (n * total) - (n + 1) / n) if total > 0 else None
    filled, has_match = outcome.size > 0, true >= 0
    in_set = has_match & (risk > 0)
    return {
        "mean_risk": float(risk.mean()),
        "max_risk": float(risk.max()),
        "n_gt_0_1": int((risk > 0.1 + 1e-12).sum()),
        "n_eq_1": int((risk >= 1 - 1e-12).sum()),
        "share_above_threshold": float((risk > risk_threshold).mean()),
        "share_above_half": float((risk > 0.5).mean()),
        "gini": gini,
        "mean_candidates": float(outcome.size.mean()),
        "share_true_in_set": float(in_set.mean()),
        "share_with_candidates": float(filled.mean()),
        "chance": float((filled & has_match).mean() / searched),
        "unique_by_chance": float(((outcome.size == 1) & has_match).sum() / searched),
    }


def _self_linked(scores: Scores, choice: Choice) -> float:
    """The originals linked with themselves: what sample uniqueness alone would give."""
    assert isinstance(scores, Mixed)
    n = scores.shape[0]
    twin = Mixed((scores.numbers[0],) * 2, (scores.codes[0],) * 2, scores.weights, scores.rule, scores.n_jobs)
    return float(independent(twin, np.arange(n), choice).risk.mean())


def _alignment(outcome: Outcome) -> float | None:
    """Probability that randomly drawn records are on average as close as the true matches (normal limit, exact
    moments).
    """
    known = np.isfinite(outcome.true_score) & np.isfinite(outcome.mean)
    spread = float(outcome.variance[known].sum())
    if not known.any() or spread <= 0:
        return None
    from scipy.stats import norm

    return float(norm.cdf((outcome.true_score[known] - outcome.mean[known]).sum() / np.sqrt(spread)))


def _limited(details: Mapping[str, Any], n: int) -> dict[str, float]:
    """Mean risk above chance; shares of people more likely found than not, and found for sure.

    Counts must exceed what chance alone gives (its mean plus two standard deviations), else a small file could not
    pass; those that do not are 0.
    """
    lucky = details["unique_by_chance"]
    surely = lucky + 2 * np.sqrt(max(lucky, 1.0))
    likely, certain = details["share_above_half"], details["n_eq_1"]
    return {
        "above_chance": details["mean_risk"] - details["chance"],
        "likely_found": likely if likely * n > surely else 0.0,
        "surely_found": certain / n if certain > surely else 0.0,
    }


def _result(
    pair: Pair,
    outcome: Outcome,
    true: np.ndarray,
    forward_truth: np.ndarray,
    details: dict[str, Any],
    warnings: list[str],
    direction: str,
    confidence: float,
) -> Result:
    n, risk = len(outcome.risk), outcome.risk

    def records() -> dict[str, np.ndarray]:
        # one row per original, whichever side asked
        at = np.arange(n) if direction == "forward" else forward_truth
        have = at >= 0
        level = np.array([*BAND_LIMITS, 1 - 1e-12])
        bands = np.array(BAND_NAMES)[np.searchsorted(level, risk, "left")]
        columns = {
            "risk": risk,
            "candidates": outcome.size,
            "true_in_set": (risk > 0) & (true >= 0),
            "true_score": outcome.true_score,
            "best_score": outcome.best,
            "rank": outcome.rank,
            "band": bands,
        }
        chosen = {name: values[np.where(have, at, 0)] for name, values in columns.items()}
        if have.all():
            return chosen
        return {name: np.ma.MaskedArray(values, ~have) for name, values in chosen.items()}

    sizes, counts = np.unique(outcome.size, return_counts=True)
    found = details["n_eq_1"]
    return Result(
        details["mean_risk"],
        baseline=details["chance"],
        interval=wilson(float(risk.sum()), n, confidence),
        details=details,
        sentence=(
            f"An attacker who knows {details['n_columns']} columns finds a person's own released record with "
            f"mean probability {percent(details['mean_risk'])} (chance {percent(details['chance'], 2)}); "
            f"{found:,} of {n:,} {'is' if found == 1 else 'are'} found for sure."
        ),
        warnings=warnings,
        records=records,
        flag="risk",
        figures=_limited(details, n),
        plot_data={"candidates": [{"size": int(s), "records": int(c)} for s, c in zip(sizes, counts, strict=True)]},
    )
