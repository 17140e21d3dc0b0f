"""RAPID: the risk that a model trained on the release predicts a person's sensitive value too well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from glasshouse.core.advice import PREDICTS
from glasshouse.core.errors import InputError
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.disclosure.rapid.attack import Attackers, attack_settings
from glasshouse.disclosure.rapid.report import Report

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair
    from glasshouse.disclosure.rapid.joint import RapidJointResult
    from glasshouse.disclosure.rapid.result import RapidResult


class Parity(TypedDict, total=False):
    """Settings in which another package differs from the defaults here."""

    score: str
    tau: float
    missing_target: str


PARITY: Mapping[str, Parity] = {
    "RAPID-R": {"missing_target": "constant"},
    "riskutility": {"score": "conditional", "tau": 1.0, "missing_target": "constant"},
}


@measure(
    side="disclosure",
    family="prediction",
    threat="attribute",
    better="lower",
    range=(0, 1),
    needs=("keys", "targets"),
    limit=LEAK_LIMIT,
    population=True,
    figures=("worst_release",),
    audited=True,
    cite="Templ, Thees & Müller (2026), RAPID: Risk of Attribute Prediction-Induced Disclosure, arXiv:2602.09235",
    attacker="the keys of real people, and the release to train a model on",
    caveats="one attacker's success, not a bound; depends on keys, model and threshold; read it against chance",
    cost="attackers",
    replicates="own",
    group="prediction",
    title="RAPID",
    on_map=True,
    advice=PREDICTS,
    riskutility=("RAPID", lambda r: {"value": r.value}),
)
def rapid(
    pair: Pair,
    *,
    attackers: Attackers = ("rf",),
    score: str = "marginal",
    tau: float | None = None,
    error: str = "symmetric",
    epsilon: float = 0.10,
    delta: float | str = 0.01,
    missing_target: str | None = None,
    constant: float = 0.0,
    target_type: str | None = None,
    numeric_key_na: str = "median+flag",
    unseen: str = "reference",
    trees: int = 500,
    attacker_options: Mapping[str, Mapping[str, object]] | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    n_boot: int = 1000,
    parity: str | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> RapidResult | RapidJointResult:
    """Share of people whose sensitive value a model trained on the release predicts too well.

    An attacker fits target ~ keys on the release and predicts every original record. Categorical target: a record is at
    risk when the attacker gains more than a share tau of the certainty that the population leaves open about its true
    class. Continuous target: at risk when the prediction error is below epsilon. The baseline is the exact expectation
    of the same share when people are relabelled at random, so that the excess is what the release teaches about persons
    beyond luck and overconfidence.

    With several attackers the value is the largest share (the strongest attacker); with several releases their mean,
    with an interval over people and releases; with several targets the share of people with any target inferred.

    Parameters
    ----------
    pair : Pair
        Original and release(s) with keys and one or more targets. A holdout adds the same share for people never in
        the data, weights make the share one of the population, clusters widen the interval. A target has up to 1,000
        classes, and no more than 200 million probabilities (people times classes) are worked out.
    attackers : str, estimator, or sequence of them, default ("rf",)
        Names such as "rf" (a probability forest), "cart", "gbm", "logit", "l1", "lm" or "marginal", or scikit-learn
        estimators. ``glasshouse.engines.models.registry.attackers()`` lists all names with their options.
    score : {"marginal", "conditional", "nce"}, default "marginal"
        How sure the attacker must be of the true class, for a categorical target (see Notes).
    tau : float, optional
        Threshold of the score; by default 0.3 (marginal), 1.25 (conditional) or 0.5 (nce).
    error : {"symmetric", "stabilised_relative", "absolute"}, default "symmetric"
        Prediction error of a continuous target (see Notes).
    epsilon : float, default 0.10
        Tolerance of the error: a proportion, or units of the target (days for a date) with ``error="absolute"``.
    delta : float or "auto", default 0.01
        Stabiliser of the two relative errors near 0; "auto" takes 0.01 median(|y|, y != 0).
    missing_target : {"drop", "level", "constant", "median"}, optional
        Records without a target: not scored (the default for numbers), a class of their own (the default for classes),
        or filled with ``constant`` or with the median.
    constant : float, default 0.0
        The number for ``missing_target="constant"``.
    target_type : {"categorical", "continuous"}, optional
        Overrides what the column is taken for.
    numeric_key_na : {"median+flag", "error"}, default "median+flag"
        A missing number in a key: the median of the release with a further key that says so, or an error. A missing
        category is a level of its own.
    unseen : {"reference", "error"}, default "reference"
        A record with a key level that the release does not have: scored as the attacker's model treats a level it
        never met, with a warning; or an error.
    trees : int, default 500
        Trees of every attacker that grows a forest.
    attacker_options : mapping of str to mapping, optional
        Further options by attacker: ``{"cart": {"cp": 0.001}}``.
    interval : {"wilson", "clopper_pearson", "bootstrap", "wald", "cluster"}, optional
        How the interval is made. By default people (whole clusters, where there are any) are drawn anew and make the
        cut of a flag anew, for one attacker never narrower than Wilson's; the named ones keep every flag as it is.
        The largest of several attackers' shares gets a bootstrap interval of the maximum.
    confidence : float, default 0.95
        Level of the intervals.
    n_boot : int, default 1000
        Draws of the bootstrap intervals.
    parity : {"RAPID-R", "riskutility"}, optional
        Settings of another package where this call leaves them at their default: missing numbers count as a constant;
        for riskutility also the conditional score with tau 1.
    random_state : int, Generator or None, default 0
        Seed of attackers with chance and of bootstrap intervals.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    RapidResult
        ``value``: share at risk. ``baseline``: chance level. ``excess``: (value - baseline) / (1 - baseline).
        ``holdout``: the share among people never in the data (population inference); ``difference``: members minus
        strangers (memorisation), with the p value of exchanged labels. ``details``: number at risk, chance and its
        standard deviation, z, p value, the attacker's quality (accuracy, log-loss, calibration; MAE, RMSE), one row per
        attacker, risk by class or the best constant guess. ``records``: per person the prediction, the score and
        ``at_risk``; ``holdout_records``: the same for people never in the data; ``top(n)``: the people most at risk
        with their keys, their true value and the prediction. It can be asked further: ``curve()``, ``test()``,
        ``thresholds()``, ``confint()``, ``attribution()``, ``by_class()``, ``by(column)``, ``by([a, b])``,
        ``among(people)`` (any group, against the baseline of everybody), ``importance()``. Several targets give a
        ``RapidJointResult`` with one result each in ``targets``.

    Notes
    -----
    Categorical target, g the probability given to the true class, b the share of that class and K the number of
    classes:

        marginal      (g - b) / (1 - b)           > tau
        conditional   g / mean(g | same class)    > tau
        nce           1 + log(g) / log(K)         > tau

    Continuous target, f the prediction:

        symmetric             2 |y - f| / (|y| + |f| + 2 delta)   < epsilon
        stabilised_relative   |y - f| / (|y| + delta)             < epsilon
        absolute              |y - f|                             < epsilon

    RAPID is the (weighted) share of records for which the inequality holds. The chance level keeps the predictions and
    relabels the people: with A_ij = 1 where record i would be flagged if its true value were y_j, it is the mean of A,
    and its standard deviation that of a combinatorial sum; both are exact, without simulation.

    Members and strangers are compared by flags whose cut all of them make together (class shares, class means, the
    automatic delta), without weights, of the attacker that flags most of all real people: none of it tells members from
    strangers, so labels are exchanged (Fisher's exact test; labels dealt to whole clusters where the pair has them).
    With weights the difference is that of the weighted shares. Of several releases the smallest p value is told, times
    their number.

    RAPID measures one attacker's success and bounds no other's. A sharp, overconfident attacker flags people by luck,
    therefore read the excess.

    References
    ----------
    Templ, Thees & Müller (2026), RAPID: Risk of Attribute Prediction-Induced Disclosure, arXiv:2602.09235.
    Hoeffding (1951), A combinatorial central limit theorem, Annals of Mathematical Statistics 22.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.disclosure.rapid(pair, attackers="cart")
    >>> round(found.value, 3), round(found.baseline, 3), round(found.excess, 3)
    (0.694, 0.55, 0.32)

    A forest and a tree together, the share for people never in the data, and the risk inside a group:

    >>> both = gh.disclosure.rapid(pair, attackers=("rf", "cart"), trees=50)
    >>> both.headline, round(both.holdout, 3)
    ('cart', 0.678)
    >>> [round(v, 2) for v in both.by("gender")["value"]]
    [0.67, 0.71]
    """
    if parity is not None:
        if parity not in PARITY:
            raise InputError(f"parity={parity!r} is unknown; choose 'RAPID-R' or 'riskutility'")
        other = PARITY[parity]
        score = other.get("score", score) if score == "marginal" else score
        tau = other.get("tau") if tau is None else tau
        if missing_target is None and all(pair.is_numeric(t) for t in pair.targets):
            missing_target = other.get("missing_target")
    settings = attack_settings(
        attackers,
        score,
        tau,
        error,
        epsilon,
        delta,
        unseen,
        missing_target=missing_target,
        constant=constant,
        target_type=target_type,
        numeric_key_na=numeric_key_na,
        trees=trees,
        attacker_options=attacker_options,
        seed=integer_seed(random_state, "rapid"),
        n_jobs=n_jobs,
    )
    report = Report(pair, settings, interval, confidence, n_boot, parity)
    if len(pair.targets) > 1:
        from glasshouse.disclosure.rapid.joint import joint

        return joint(report)
    return report.over_releases(pair.targets[0])
