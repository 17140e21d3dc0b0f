"""Would a regression on the release lead to the same conclusions? The same formula fitted to both tables, term by
term.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.measure import measure
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair
from glasshouse.engines.models.linear.rank import independent_columns
from glasshouse.engines.models.linear.regression import Fitted, least_squares, logistic
from glasshouse.utility.figures import require_finite
from glasshouse.utility.marginals.means import overlaps
from glasshouse.utility.nulls import Band, band, judged
from glasshouse.utility.predictive.formula import Formula, ModelFrame, model_frames, parse, simple
from glasshouse.utility.predictive.models import symmetric_root

MOST_CLASSES = 12


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
)
def regression_fidelity(
    pair: Pair,
    *,
    formula: str | None = None,
    family: str = "auto",
    confidence: float = 0.95,
    draws: int = 100,
    random_state: RandomState = 0,
) -> Result:
    """Do confidence intervals of regression coefficients overlap between original and release?

    The formula (default: target ~ keys) is fitted to both: least squares with t intervals for a number, logistic
    regression with Wald intervals for two classes, one class against the rest for more. Per term: estimates, standard
    errors, std_bias = (b_Y - b_X) / SE_X, overlap = |I_X n I_Y| / mean length and Karr's version, agreement of
    significance. The headline is the mean overlap; a term that only one table can estimate (a category was lost or
    invented) counts 0. The band is the overlap of estimates that differ by sampling error alone.
    """
    if family not in ("auto", "gaussian", "binomial"):
        raise InputError(f"family {family!r} is not known; use 'auto', 'gaussian' or 'binomial'")
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
    rows: list[dict[str, Any]] = []
    nulls: list[tuple[np.ndarray, np.ndarray]] = []
    notes: list[str] = []
    for label, target_x, target_y in _targets(x, y, kind):
        fits = [_fit(frame, target, kind) for frame, target in ((x, target_x), (y, target_y))]
        notes += [n for fit, _, _ in fits for n in fit.notes]
        rows += _terms(x.names, fits, confidence, label)
        if draws:
            nulls.append(
                _null_overlaps(
                    fits[0],
                    len(target_x),
                    len(target_y),
                    confidence,
                    draws,
                    generator(random_state, "regression", len(nulls)),
                )
            )
    if not rows:
        raise NotApplicable("no coefficient can be estimated in either table")
    null: Band | None = None
    if nulls:
        # mean over all terms of all fits, so fits with more terms weigh more, as in the headline
        fresh, correct = (np.concatenate([n[i] for n in nulls], axis=1).mean(axis=1) for i in range(2))
        null = band(fresh, correct, f"{draws} draws from the sampling law of the original's estimates")
    return _report(pair, model, rows, null, kind, notes, x, y)


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


def _fit(frame: ModelFrame, target: np.ndarray, kind: str) -> tuple[Fitted, np.ndarray, np.ndarray]:
    """(fit on the estimable columns, which columns those are, covariance factor of the estimates on the raw scale)."""
    intercept = frame.names[0] == "Intercept"
    raw = frame.design[:, 1:] if intercept else frame.design
    centre = raw.mean(axis=0) if intercept else np.zeros(raw.shape[1])
    spread = raw.std(axis=0)
    scale = np.where(spread > 1e-12 * np.maximum(1.0, np.abs(raw).max(axis=0, initial=0)), spread, 1.0)
    scaled = (raw - centre) / scale
    kept = independent_columns(scaled)
    if target.std() == 0 and kind == "binomial":
        empty = Fitted(np.zeros(0), np.zeros(0), target, None, ("the response has one class in one of the tables",))
        return empty, np.zeros(len(frame.names), bool), np.zeros((0, 0))
    if len(target) <= kept.sum() + intercept:
        raise NotApplicable(
            f"{int(kept.sum()) + intercept} coefficients for {len(target)} records; use a smaller formula"
        )
    design = np.column_stack([np.ones(len(target)), scaled[:, kept]]) if intercept else scaled[:, kept]
    solve = least_squares if kind == "gaussian" else logistic
    fit, covariance = solve(design, target, frame.weights), None
    covariance = _covariance(design, target, fit, kind, frame.weights)
    back = np.diag(np.concatenate([[1.0], 1 / scale[kept]]) if intercept else 1 / scale[kept])
    if intercept:
        back[0, 1:] = -centre[kept] / scale[kept]
    covariance = back @ covariance @ back.T
    found = Fitted(
        back @ fit.coefficients, np.sqrt(np.maximum(np.diag(covariance), 0.0)), fit.fitted, fit.df, fit.notes
    )
    estimable = np.concatenate([[True], kept]) if intercept else kept
    return found, estimable, covariance


def _covariance(
    design: np.ndarray, target: np.ndarray, fit: Fitted, kind: str, weights: np.ndarray | None
) -> np.ndarray:
    w = np.ones(len(target)) if weights is None else weights / weights.mean()
    curve = w if kind == "gaussian" else w * fit.fitted * (1 - fit.fitted)
    bread = np.linalg.pinv(design.T @ (design * curve[:, None]), hermitian=True)
    if weights is not None:
        half = design * (w * (target - fit.fitted))[:, None]
        made: np.ndarray = bread @ (half.T @ half) @ bread
        return made * (len(target) / (fit.df or len(target))) if kind == "gaussian" else made
    if kind == "gaussian":
        bread = bread * (float(((target - fit.fitted) ** 2).sum()) / max(fit.df or 1.0, 1.0))
    return bread


def _terms(
    names: tuple[str, ...], fits: list[tuple[Fitted, np.ndarray, np.ndarray]], confidence: float, label: str
) -> list[dict[str, Any]]:
    from scipy.stats import norm, t

    sides = []
    for fit, estimable, _ in fits:
        law = norm if fit.df is None else t(fit.df)
        place = np.cumsum(estimable) - 1
        sides.append((fit, estimable, place, float(law.ppf(0.5 + confidence / 2)), law))
    rows = []
    for j, name in enumerate(names):
        known = [bool(s[1][j]) for s in sides]
        if not any(known):
            continue
        row: dict[str, Any] = {"term": f"{label}: {name}" if label else name, "name": name}
        ends = []
        for suffix, (fit, estimable, place, factor, law) in zip(("x", "y"), sides, strict=True):
            if not estimable[j]:
                row |= {f"est_{suffix}": None, f"se_{suffix}": None, f"p_{suffix}": None}
                continue
            estimate, error = float(fit.coefficients[place[j]]), float(fit.errors[place[j]])
            p = float(2 * law.sf(abs(estimate) / error)) if error > 0 else None
            row |= {f"est_{suffix}": estimate, f"se_{suffix}": error, f"p_{suffix}": p}
            ends += [estimate - factor * error, estimate + factor * error]
        if all(known):
            shared = overlaps(*ends)
            row |= {
                "low_x": ends[0],
                "high_x": ends[1],
                "low_y": ends[2],
                "high_y": ends[3],
                "ci_overlap_avgwidth": float(shared["avgwidth"]),
                "ci_overlap_karr": float(shared["karr"]),
                "std_bias": (row["est_y"] - row["est_x"]) / row["se_x"] if row["se_x"] else None,
                "sig_agree": None
                if row["p_x"] is None or row["p_y"] is None
                else (row["p_x"] < 1 - confidence) == (row["p_y"] < 1 - confidence),
            }
        else:
            row |= {"ci_overlap_avgwidth": 0.0, "ci_overlap_karr": 0.0, "std_bias": None, "sig_agree": False}
        rows.append(row)
    return rows


def _null_overlaps(
    fitted: tuple[Fitted, np.ndarray, np.ndarray],
    n: int,
    m: int,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps [draws, terms] when both estimates are the original's plus sampling error (fresh), or only the
    release's has one.
    """
    from scipy.stats import norm

    fit, _, covariance = fitted
    if not len(fit.coefficients):
        return np.zeros((draws, 0)), np.zeros((draws, 0))
    root = symmetric_root(covariance)
    shift_x, shift_y = (rng.standard_normal((draws, len(root))) @ root.T for _ in range(2))
    shift_y = shift_y * np.sqrt(n / m)
    half_x = float(norm.ppf(0.5 + confidence / 2)) * fit.errors
    half_y = half_x * np.sqrt(n / m)
    fresh = overlaps(shift_x - half_x, shift_x + half_x, shift_y - half_y, shift_y + half_y)["avgwidth"]
    correct = overlaps(-half_x, half_x, shift_y - half_y, shift_y + half_y)["avgwidth"]
    return fresh, correct


def _report(
    pair: Pair,
    model: Formula,
    rows: list[dict[str, Any]],
    null: Band | None,
    kind: str,
    notes: list[str],
    x: ModelFrame,
    y: ModelFrame,
) -> Result:
    def mean(name: str, chosen: list[dict[str, Any]]) -> float | None:
        values = [float(r[name]) for r in chosen if r.get(name) is not None]
        return float(np.mean(values)) if values else None

    value = mean("ci_overlap_avgwidth", rows)
    slopes = [r for r in rows if r["name"] != "Intercept"]
    lost = [r["term"] for r in rows if r["est_x"] is None or r["est_y"] is None]
    biases = [abs(r["std_bias"]) for r in rows if r["std_bias"] is not None]
    details = {
        "formula": model.text,
        "family": kind,
        "mean_ci_overlap_avgwidth": value,
        "mean_ci_overlap_karr": mean("ci_overlap_karr", rows),
        "reg_overlap": value,
        "without_intercept": mean("ci_overlap_avgwidth", slopes),
        "mean_abs_std_bias": float(np.mean(biases)) if biases else None,
        "sig_agreement_rate": mean("sig_agree", rows),
        "n_terms": len(rows),
        "lost_terms": len(lost),
        "n_x": len(x.response),
        "n_y": len(y.response),
        "dropped_x": pair.n("original") - len(x.response),
        "dropped_y": pair.n("released") - len(y.response),
        "terms": {r["term"]: {k: v for k, v in r.items() if k not in ("term", "name")} for r in rows},
    }
    warnings = list(dict.fromkeys(notes))
    if lost:
        warnings.append(
            f"{len(lost)} of {len(rows)} terms can be estimated in one table only (lost or invented categories); "
            "they count as overlap 0"
        )
    return judged(
        value,
        null,
        "higher",
        utility=value,
        details=details,
        table=rows,
        warnings=warnings,
        plot_data={"terms": rows},
        sentence=f"Coefficient intervals of {model.text} overlap by {number(value, 3)} on average over "
        f"{len(rows)} terms",
    )
