"""RAPID: the risk that a model trained on the release predicts a person's sensitive value too well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from glasshouse.core.advice import PREDICTS
from glasshouse.core.errors import InputError
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.disclosure.rapid.attack import attack_settings
from glasshouse.disclosure.rapid.report import LIMIT, Report

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

PARITY: dict[str, dict[str, Any]] = {
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
    limit=LIMIT,
    audited=True,
    cite="Templ, Thees & Müller (2026), RAPID: Risk of Attribute Prediction-Induced Disclosure, arXiv:2602.09235",
    attacker="the keys of real people, and the release to train a model on",
    caveats="one attacker's success, not a bound; depends on keys, model and threshold; read it against chance",
    cost="attackers",
    replicates="own",
    private=("by_class", "class_shares", "class_cut", "constant_guess"),
    group="prediction",
    title="RAPID",
    on_map=True,
    advice=PREDICTS,
    riskutility=("RAPID", lambda r: {"value": r.value}),
)
def rapid(
    pair: Pair,
    *,
    attackers: Sequence[Any] | str = ("rf",),
    score: str = "marginal",
    tau: float | None = None,
    error: str = "symmetric",
    epsilon: float = 0.10,
    delta: float | str = 0.01,
    missing_target: str | None = None,
    constant: float = 0.0,
    target_type: str | None = None,
    numeric_key_na: str = "error",
    unseen: str = "reference",
    trees: int = 500,
    attacker_options: Mapping[str, Mapping[str, Any]] | None = None,
    interval: str | None = None,
    confidence: float = 0.95,
    n_boot: int = 1000,
    parity: str | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Result:
    """Share of people whose sensitive value a model trained on the release predicts too well.

    The attacker fits target ~ keys on the release and predicts every original record. Categorical target: a record is
    at risk when (g - b) / (1 - b) > tau, g being the probability given to its true class and b the share of that class.
    Continuous target: at risk when the prediction error is below epsilon. ``baseline`` is the exact expectation of the
    same share when people are relabelled at random, so that ``excess`` is what the release teaches about persons beyond
    luck and overconfidence.

    ``attackers``: names ("rf", "cart", "gbm", "logit", "l1", "lm", "marginal") or scikit-learn estimators; with
    several, the value is the largest share (strongest attacker). ``score``: "marginal", "conditional", "nce".
    ``error``: "symmetric", "stabilised_relative", "absolute". ``missing_target``: "drop" (default for numbers), "level"
    (default for classes), "constant", "median". ``interval``: "wilson" (default), "clopper_pearson", "bootstrap",
    "wald", "cluster" (default when the pair has clusters). Several releases: the mean, with a total interval. Several
    targets: the share of people with any target inferred.
    """
    given: dict[str, Any] = {"score": score, "tau": tau, "missing_target": missing_target}
    if parity is not None:
        if parity not in PARITY:
            raise InputError(f"parity={parity!r} is unknown; choose 'RAPID-R' or 'riskutility'")
        bundle = {k: v for k, v in PARITY[parity].items() if given[k] in (None, "marginal")}
        if not all(pair.is_numeric(t) for t in pair.targets):
            bundle.pop("missing_target", None)
        given |= bundle
    seed = integer_seed(random_state, "rapid")
    settings = attack_settings(
        attackers,
        str(given["score"]),
        given["tau"],
        error,
        epsilon,
        delta,
        unseen,
        missing_target=given["missing_target"],
        constant=constant,
        target_type=target_type,
        numeric_key_na=numeric_key_na,
        trees=trees,
        attacker_options=dict(attacker_options or {}),
        seed=seed,
        n_jobs=n_jobs,
    )
    report = Report(pair, settings, interval, confidence, n_boot, parity)
    if len(pair.targets) > 1:
        from glasshouse.disclosure.rapid.joint import joint

        return joint(report)
    return report.over_releases(pair.targets[0])
