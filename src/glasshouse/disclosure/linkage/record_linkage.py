"""Record linkage: who can be found again in a release whose records are changed copies of real ones?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from glasshouse.core.advice import LINKED
from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.data.pair import Pair
from glasshouse.disclosure.copying.closeness import refuse_infinite
from glasshouse.disclosure.linkage import embedding as linkage_embedding
from glasshouse.disclosure.linkage import methods as linkage_methods
from glasshouse.disclosure.linkage import probabilistic as linkage_probabilistic
from glasshouse.disclosure.linkage.matching import Choice, Linked, Outcome, bijective, independent, transport
from glasshouse.disclosure.linkage.methods import MethodOptions, Request, Scored, Transitions
from glasshouse.disclosure.linkage.risks import RiskFigures, alignment, limited, risk_figures, self_linked
from glasshouse.disclosure.linkage.truth import Blocks, Truth, blocked, columns_compared, true_matches, turned
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
# What riskutility and published tables call the methods, read as what they are called here.
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
    paired=True,
    advice=LINKED,
    influence="free",
    wide="unkeyed",
    grows="people",
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
    truth: Truth = "row",
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
    pram: Transitions | None = None,
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

    It needs to know which released record is whose, so it applies to perturbed or partially synthetic releases; a
    fully synthetic release has no own record of anybody.

    Parameters
    ----------
    pair : Pair
        The tables; ``row_paired=True`` says that row i of the release is row i of the original, changed.
    method : str, default "deterministic"
        How alike two records are: "deterministic" (Gower's distance), "probabilistic" (Fellegi-Sunter), "pram" (known
        transition matrices of nominal keys), "predictive" (propensity score; a diagnostic), "forest" (proximity),
        "ranks", "mahalanobis", or "embedding" (autoencoder; extra ``torch``).
    matching : {"independent", "bijective", "transport"}, default "independent"
        Each query on its own, one-to-one assignment, or entropy-regularised transport.
    candidates : str, default "nearest"
        Who is in the candidate set: "nearest" with ties, "topk" (the k nearest), "threshold" (within it),
        "topk_threshold" (both), "nearest_threshold" (the nearest if within), or "all".
    k : int, default 5
        Size of the set for "topk" and "topk_threshold"; ties at the end stay.
    threshold : float, ("quantile", p) or None, default None
        Largest score of a candidate, or the quantile of each query's own scores; for the sets that have one.
    weighting : {"uniform", "softmax", "kernel", "posterior"}, default "uniform"
        How the candidates of a set are weighed; "posterior" weighs everybody by the likelihood.
    columns : sequence of str or None, default None
        Columns compared; None takes the keys, or all columns without keys.
    truth : str or sequence of int, default "row"
        "row" (needs row_paired=True), the name of an identifier column in both tables, or one row number of the
        release per original (-1: none).
    direction : {"forward", "reverse"}, default "forward"
        "forward" looks for every original in the release, "reverse" for every released record in the original.
    block : str or sequence of str, default ()
        Only records that agree on these columns are compared. Blocking on a changed column hides risk.
    missing : {"ignore", "match", "mismatch", "level"}, default "ignore"
        What a missing value does: its column is left out, agrees with everything, with nothing, or with missing.
    weights : mapping of str to float, or None, default None
        Weight of each column in distances; 1 where it is not named.
    kappa : float or None, default None
        Steepness of "softmax"; None takes 2 over the range of scores in the set, 1 for likelihoods.
    bandwidth : float or None, default None
        Width of "kernel"; None takes Silverman's rule on the scores of the set.
    kernel : {"gaussian", "epanechnikov", "tricube"}, default "gaussian"
        Shape of "kernel".
    estimate : {"em", "truth"}, default "em"
        For "probabilistic": m and u by EM on all pairs, or from the true pairs, which no attacker knows.
    m, u : mapping of str to float, or None, default None
        For "probabilistic": chance of agreement of true and of other pairs per column, in place of an estimate.
    tolerance : mapping of str to float, or None, default None
        With m and u: largest difference of a number that counts as agreement; None takes 1.4826 median absolute
        deviations, or a tenth of the range.
    pram : mapping or None, default None
        For "pram": {column: {"levels": [...], "matrix": [[...], ...]}}, rows from, columns to; None counts the
        transitions of the true pairs.
    trees : int, default 100
        Trees of "forest", at least 10.
    robust : bool, default False
        For "mahalanobis": the minimum covariance determinant in place of the classical covariance.
    epsilon : float or None, default None
        Weight of the entropy in "transport"; None takes 0.05 times the median of the positive scores.
    epochs : int, default 50
        Passes over the originals at most when "embedding" is trained.
    risk_threshold : float, default 0.1
        Risk above which ``share_above_threshold`` counts people.
    self_baseline : bool, default False
        For "deterministic": also link the originals with themselves, to see what uniqueness alone gives.
    confidence : float, default 0.95
        Level of the interval.
    random_state : int, Generator or None, default 0
        Seed of ties between optimal assignments, of forests and of embeddings.
    n_jobs : int or None, default None
        Threads; None or -1 takes all. No figure depends on it.

    Returns
    -------
    Result
        ``value`` is the mean risk with Wilson's interval, ``baseline`` the mean with a random truth. ``details`` hold
        people found for sure (``n_eq_1``), more likely than not (``share_above_half``), sizes of candidate sets, the
        Gini coefficient of the risks, how far rows are aligned (``alignment_p``) and figures of the method.
        ``records`` give per original ``risk``, ``candidates``, ``true_in_set``, the score of the true match, the
        ``best_score``, the ``rank`` of the true match and the ``band`` of the risk.

    Notes
    -----
    Every query has a candidate set G of records with the smallest scores s::

        risk  = w(true match) / sum over G of w      0 when the true match is not in G
        w     = 1 (uniform), exp(-kappa s) (softmax), K(s / bandwidth) (kernel)
        value = mean risk
        baseline = share(G not empty and a true match exists) / records searched

    "probabilistic" scores by LR = sum_v ln(m_v[level] / u_v[level]) over agreement levels, "pram" by
    L(i, j) = prod_v M_v[x_iv, y_jv], and the risk is then a posterior probability. "bijective" is the share of optimal
    assignments that find the true match, "transport" n P[i, true] of the optimal plan P.

    References
    ----------
    .. [1] Domingo-Ferrer, J. and Torra, V. (2003), Disclosure risk assessment in statistical data protection. Journal
       of Computational and Applied Mathematics.
    .. [2] Fellegi, I. P. and Sunter, A. B. (1969), A theory for record linkage. Journal of the American Statistical
       Association 64.
    .. [3] Cuturi, M. (2013), Sinkhorn distances: lightspeed computation of optimal transport. Advances in Neural
       Information Processing Systems 26. For "transport".

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> original = pl.DataFrame({"age": [20, 30, 40, 50], "sex": ["f", "f", "m", "m"]})
    >>> released = pl.DataFrame({"age": [21, 33, 44, 46], "sex": ["f", "f", "m", "m"]})
    >>> pair = gh.Pair(original, released, keys=["age", "sex"], row_paired=True)
    >>> result = gh.disclosure.record_linkage(pair)
    >>> result.value, result.baseline, result.details["n_eq_1"]
    (1.0, 0.25, 4)
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
    chosen = columns_compared(pair, columns)
    refuse_infinite(pair, chosen)
    true = true_matches(pair, truth)
    options = MethodOptions(estimate, m, u, tolerance, pram, trees, robust, epochs)
    ask = Request(pair, chosen, missing, weights, true, random_state, n_jobs, options)
    scored = METHODS[method](ask)
    if method == "pram":
        asked = Choice("all", k, None, "posterior")
    scores, wanted = (scored.scores, true) if direction == "forward" else (scored.scores.swap(), turned(true, pair))
    blocks = blocked(pair, block, direction, wanted)
    outcome = _run(scores, wanted, blocks, asked, matching, epsilon, random_state)
    figures = risk_figures(outcome, wanted, scores.shape[1], risk_threshold)
    details: dict[str, object] = {
        **figures,
        "n_columns": len(chosen),
        "method": method,
        "matching": matching,
        "direction": direction,
        **scored.details,
        **outcome.details,
    }
    if block:
        details["true_pairs_split_by_blocks"] = blocks.split
    if isinstance(scores, Mixed) and method in ("deterministic", "ranks"):
        names = (*ask.numeric, *ask.nominal)
        details["true_distance_by_column"] = dict(zip(names, scores.contributions(wanted).tolist(), strict=True))
    if self_baseline and method == "deterministic" and isinstance(scored.scores, Mixed):
        own = self_linked(scored.scores, asked)
        details |= {"self_baseline": own, "risk_reduction": own - figures["mean_risk"]}
    aligned = alignment(outcome)
    warnings = [*scored.warnings, *outcome.warnings]
    if aligned is not None:
        details["alignment_p"] = aligned
        if aligned > 0.05:
            warnings.append(
                "true matches are no closer than random records (permutation p > 0.05): are the rows of the two "
                "tables aligned?"
            )
    at = np.arange(len(wanted)) if direction == "forward" else true
    return _result(outcome, wanted, at, figures, details, warnings, confidence)


def _run(
    scores: Scores,
    true: np.ndarray,
    blocks: Blocks,
    choice: Choice,
    matching: str,
    epsilon: float | None,
    random_state: RandomState,
) -> Outcome:
    """The risk of every query, block by block."""
    out = Outcome.empty(len(true))
    total: dict[str, list[float]] = {}
    for at, part, local in _parts(scores, true, blocks):
        found = independent(part, local, choice)
        linked: Linked | None = None
        if matching == "bijective":
            linked = bijective(part, local, random_state)
        elif matching == "transport":
            linked = transport(part, local, epsilon)
        if linked is not None:
            found.risk = linked.risk
            if linked.note and linked.note not in out.warnings:
                out.warnings.append(linked.note)
            for name, figure in linked.figures.items():
                total.setdefault(name, []).append(figure)
        out.put(at, found)
    shared = "mean_risk_100_iterations"
    added = (shared, "optimal_cost", "correct_any", "correct_max_over_optima", "correct_min_over_optima")
    for name, figures in total.items():
        out.details[name] = sum(figures) if name in added else max(figures)
    if shared in out.details:
        out.details[shared] /= len(true)
    return out


def _parts(scores: Scores, true: np.ndarray, blocks: Blocks) -> Iterator[tuple[np.ndarray, Scores, np.ndarray]]:
    """The queries of every block, their scores, and their true matches inside it."""
    if blocks.parts is None:
        yield np.arange(len(true)), scores, true
        return
    for rows, columns in blocks.parts:
        where = np.full(scores.shape[1], -1, np.int64)
        where[columns] = np.arange(len(columns))
        yield rows, scores.select(rows, columns), np.where(true[rows] >= 0, where[true[rows]], -1)


def _result(
    outcome: Outcome,
    true: np.ndarray,
    at: np.ndarray,
    figures: RiskFigures,
    details: Mapping[str, object],
    warnings: list[str],
    confidence: float,
) -> Result:
    """The result; ``at`` is the query of every original, -1 for none."""
    n, risk = len(outcome.risk), outcome.risk

    def records() -> Mapping[str, np.ndarray]:
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

    found = figures["n_eq_1"]
    return Result(
        figures["mean_risk"],
        baseline=figures["chance"],
        interval=wilson(float(risk.sum()), n, confidence),
        of=n,
        details=details,
        sentence=(
            f"An attacker who knows {details['n_columns']} columns finds a person's own released record with "
            f"mean probability {percent(figures['mean_risk'])} (chance {percent(figures['chance'], 2)}); "
            f"{found:,} of {n:,} {'is' if found == 1 else 'are'} found for sure."
        ),
        warnings=warnings,
        records=records,
        flag="risk",
        figures=limited(figures, n),
    )
