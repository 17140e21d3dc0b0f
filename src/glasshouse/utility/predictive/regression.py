"""Would a regression on the release lead to the same conclusions? The same formula fitted to both tables, term by
term.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.intervals import normal_quantile
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import require_finite
from glasshouse.utility.marginals.means import overlaps
from glasshouse.utility.nulls import Band, judged
from glasshouse.utility.predictive.formula import Formula, ModelFrame, model_frames, parse, simple
from glasshouse.utility.predictive.models import symmetric_root
from glasshouse.utility.predictive.term_fits import TermFit, term_fits
from glasshouse.utility.predictive.term_nulls import overlap_null

MOST_CLASSES = 12
SEEN = 0.0005  # a difference of two overlaps that three digits show


class Estimate(NamedTuple):
    """A coefficient in one table; no p value without a standard error."""

    value: float
    error: float
    p: float | None
    low: float
    high: float


class Term(NamedTuple):
    """A coefficient in original (x) and release (y), None where a table cannot estimate it."""

    label: str
    name: str
    x: Estimate | None
    y: Estimate | None
    overlap: float
    karr: float
    std_bias: float | None
    sig_agree: bool | None

    def row(self) -> dict[str, object]:
        """The figures under the names they have in the details."""
        found: dict[str, object] = {}
        for suffix, side in (("x", self.x), ("y", self.y)):
            known = (None, None, None) if side is None else (side.value, side.error, side.p)
            found |= dict(zip((f"est_{suffix}", f"se_{suffix}", f"p_{suffix}"), known, strict=True))
        if self.x is not None and self.y is not None:
            found |= {"low_x": self.x.low, "high_x": self.x.high, "low_y": self.y.low, "high_y": self.y.high}
        return found | {
            "ci_overlap_avgwidth": self.overlap,
            "ci_overlap_karr": self.karr,
            "std_bias": self.std_bias,
            "sig_agree": self.sig_agree,
        }


@measure(
    side="utility",
    family="predictive",
    better="higher",
    group="joint",
    cite="Karr et al. (2006), A framework for evaluating the utility of data altered to protect confidentiality; "
    "Drechsler & Reiter (2009)",
    caveats="speaks for the models asked about; choose the formulas your users will fit",
    tier="fast",
    on_map=True,
    influence="free",
    by_roles=True,
)
def regression_fidelity(
    pair: Pair,
    *,
    formula: str | None = None,
    family: str = "auto",
    confidence: float = 0.95,
    draws: int = 39,
    random_state: RandomState = 0,
) -> Result:
    """Do confidence intervals of regression coefficients overlap between original and release?

    The same formula is fitted to both tables and compared term by term. A term that only one table can estimate (a
    category was lost or invented) counts 0.

    Parameters
    ----------
    pair : Pair
        Original and release.
    formula : str, optional
        Model in the field's notation, e.g. "income ~ age + C(sex) * education + log(hours)"; default: target ~ keys.
    family : {"auto", "gaussian", "binomial"}, default "auto"
        Least squares for a number, logistic regression for classes; "auto" goes by the response. A response of 0 and 1
        is taken as classes, unless "gaussian" is asked for.
    confidence : float, default 0.95
        Level of the intervals.
    draws : int, default 39
        Deals of the pooled records behind the band of a perfect synthesiser; 0 for none. Where a model is fitted for
        each of several classes they share these, with no fewer than 19 each.
    random_state : int, Generator or None, default 0
        Seed of the deals.

    Returns
    -------
    Result
        ``value``: mean overlap over terms, 1 equal, 0 disjoint. ``details["terms"]`` has per term the estimates,
        standard errors and p values of both tables (``est_x``, ``se_x``, ``p_x``, ...), both overlaps, ``std_bias`` and
        ``sig_agree``; beside it their means, the number of ``lost_terms`` and of records left out. ``to_frame`` has one
        row per term.

    Notes
    -----
    overlap = |I_X n I_Y| / mean length of both intervals; Karr's version takes the mean of |n| / |I_X| and |n| / |I_Y|.
    std_bias = (b_Y - b_X) / SE_X. t intervals for a number, Wald intervals for classes; three and more classes are
    fitted one against the rest. For the band the formula is fitted anew to original and released records dealt at
    random to two tables, so that categories lost and invented by chance count; correct synthesis draws estimates from
    their sampling law. Weights: weighted estimates with sandwich standard errors. Records with a missing
    value in the formula are left out.

    References
    ----------
    Karr, Kohnen, Oganian, Reiter & Sanil (2006), A framework for evaluating the utility of data altered to protect
    confidentiality. Drechsler & Reiter (2009), Disclosure risk and data utility for partially synthetic data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("case_study").pair("B")
    >>> found = gh.utility.regression_fidelity(pair, formula="income ~ sex", draws=20)
    >>> round(found.value, 2), list(found.details["terms"])
    (0.8, ['Intercept', 'sex[T.M]'])
    """
    normal_quantile(confidence)  # refuses a level that is none
    if family not in ("auto", "gaussian", "binomial"):
        raise InputError(f"family {family!r} is not known; use 'auto', 'gaussian' or 'binomial'")
    if draws < 0:
        raise InputError(f"draws must not be negative, not {draws}")
    model = _formula(pair, formula)
    require_finite(pair, model.columns)
    for name in model.columns:
        for table in ("original", "released"):
            if not (pair.codes(name).of(table) >= 0).any():
                raise NotApplicable(f"column {name!r} has no value in the {table} table; use a formula without it")
    x, y = model_frames(model, pair, ("original", "released"))
    kind = _family(family, x, model)
    if min(len(x.response), len(y.response)) < 3:
        raise NotApplicable("fewer than three records have a value in every column of the formula")
    terms: list[Term] = []
    correct: list[np.ndarray] = []
    notes: list[str] = []
    labels, targets_x, targets_y = zip(*_targets(x, y, kind), strict=True)
    for label, *fits in zip(labels, term_fits(x, targets_x, kind), term_fits(y, targets_y, kind), strict=True):
        notes += [n for one in fits for n in one.fit.notes]
        terms += _terms(x.names, fits, confidence, label)
        rng = generator(random_state, "regression", len(correct))
        correct.append(_correct_overlaps(fits[0], len(x.response), len(y.response), confidence, draws, rng))
    if not terms:
        raise NotApplicable("no coefficient can be estimated in either table")
    null, asked = overlap_null(pair, x, y, kind, confidence, draws, random_state, np.concatenate(correct, axis=1))
    return _report(pair, model, terms, null, asked, kind, notes, x, y)


def _formula(pair: Pair, formula: str | None) -> Formula:
    if formula is not None:
        return parse(formula, pair)
    if not pair.target or not pair.keys:
        raise NotApplicable("needs a formula, e.g. formula='income ~ age + C(sex)', or a pair with target and keys")
    return simple(pair.target, pair.keys)


def _family(family: str, frame: ModelFrame, model: Formula) -> str:
    if frame.classes is None:
        if family == "binomial":
            raise InputError(
                f"response {model.response.text!r} is a number; family='binomial' needs two classes or 0 and 1"
            )
        return "gaussian"
    if family == "gaussian":
        if len(frame.classes) == 2 and set(frame.classes) == {"0", "1"}:
            return "gaussian"
        raise InputError(f"response {model.response.text!r} is no number; use family='binomial'")
    return "binomial"


def _targets(x: ModelFrame, y: ModelFrame, kind: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(label, response of X, response of Y): one fit, or one class against the rest for three and more."""
    if kind == "gaussian" or x.classes is None:
        return [("", x.response, y.response)]
    seen = [k for k in range(len(x.classes)) if (x.response == k).any() or (y.response == k).any()]
    if len(seen) < 2:
        raise NotApplicable("the response has a single class")
    if len(seen) == 2:
        return [("", (x.response == seen[1]).astype(float), (y.response == seen[1]).astype(float))]
    if len(seen) > MOST_CLASSES:
        raise NotApplicable(
            f"the response has {len(seen)} classes; regression_fidelity fits one model per class up to "
            f"{MOST_CLASSES}, so group them first"
        )
    return [(x.classes[k], (x.response == k).astype(float), (y.response == k).astype(float)) for k in seen]


def _terms(names: Sequence[str], fits: Sequence[TermFit], confidence: float, label: str) -> list[Term]:
    made = []
    sides = [_estimates(one, confidence) for one in fits]
    for j, name in enumerate(names):
        x, y = (side[j] for side in sides)
        said = f"{label}: {name}" if label else name
        if x is not None and y is not None:
            shared = overlaps(x.low, x.high, y.low, y.high)
            bias = (y.value - x.value) / x.error if x.error else None
            agree = None if x.p is None or y.p is None else (x.p < 1 - confidence) == (y.p < 1 - confidence)
            made.append(Term(said, name, x, y, float(shared["avgwidth"]), float(shared["karr"]), bias, agree))
        elif x is not None or y is not None:
            made.append(Term(said, name, x, y, 0.0, 0.0, None, False))
    return made


def _estimates(one: TermFit, confidence: float) -> list[Estimate | None]:
    """Every column's coefficient with its interval; None where it cannot be estimated."""
    from scipy.stats import norm, t

    law = norm if one.fit.df is None else t(one.fit.df)
    factor = float(law.ppf(0.5 + confidence / 2))
    place = np.cumsum(one.estimable) - 1
    made: list[Estimate | None] = []
    for j, known in enumerate(one.estimable):
        if not known:
            made.append(None)
            continue
        value, error = float(one.fit.coefficients[place[j]]), float(one.fit.errors[place[j]])
        p = float(2 * law.sf(abs(value) / error)) if error > 0 else None
        made.append(Estimate(value, error, p, value - factor * error, value + factor * error))
    return made


def _correct_overlaps(
    fitted: TermFit,
    n: int,
    m: int,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Overlaps [draws, terms] when the release's estimates are the original's plus sampling error."""
    from scipy.stats import norm

    fit, _, covariance = fitted
    if not len(fit.coefficients):
        return np.zeros((draws, 0))
    root = symmetric_root(covariance)
    shift = rng.standard_normal((draws, len(root))) @ root.T * np.sqrt(n / m)
    half_x = float(norm.ppf(0.5 + confidence / 2)) * fit.errors
    half_y = half_x * np.sqrt(n / m)
    return overlaps(-half_x, half_x, shift - half_y, shift + half_y)["avgwidth"]


def _report(
    pair: Pair,
    model: Formula,
    terms: Sequence[Term],
    null: Band | None,
    asked: float | None,
    kind: str,
    notes: Sequence[str],
    x: ModelFrame,
    y: ModelFrame,
) -> Result:
    value = _mean([t.overlap for t in terms])
    lost = [t for t in terms if t.x is None or t.y is None]
    details: dict[str, object] = {
        "formula": model.text,
        "family": kind,
        "mean_ci_overlap_avgwidth": value,
        "mean_ci_overlap_karr": _mean([t.karr for t in terms]),
        "reg_overlap": value,
        "without_intercept": _mean([t.overlap for t in terms if t.name != "Intercept"]),
        "mean_abs_std_bias": _mean([abs(t.std_bias) for t in terms if t.std_bias is not None]),
        "sig_agreement_rate": _mean([t.sig_agree for t in terms if t.sig_agree is not None]),
        "n_terms": len(terms),
        "lost_terms": len(lost),
        "n_x": len(x.response),
        "n_y": len(y.response),
        "dropped_x": pair.n("original") - len(x.response),
        "dropped_y": pair.n("released") - len(y.response),
        "terms": {t.label: t.row() for t in terms},
    }
    rows = [{"term": t.label, "name": t.name, **t.row()} for t in terms]
    warnings = list(dict.fromkeys(notes))
    if lost:
        warnings.append(
            f"{len(lost)} of {len(terms)} terms can be estimated in one table only (lost or invented categories); "
            "they count as overlap 0"
        )
    if value is not None and asked is not None and abs(asked - value) > SEEN:
        warnings.append(
            "the classes are all but separated, so that intervals are as wide as a fit goes far: the band is read with "
            "the overlap found in the way of its draws, which is not to the digit the one given"
        )
    return judged(
        value,
        null,
        "higher",
        asked=asked,
        utility=value,
        details=details,
        table=rows,
        warnings=warnings,
        plot_data={"terms": rows, "formula": model.text},
        sentence=f"Coefficient intervals of {model.text} overlap by {number(value, 3)} on average over "
        f"{len(terms)} terms",
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
