"""glasshouse calibrate, synthesise and audit: the formal side and the synthesisers."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.terminal import check_format, check_outputs, deliver, err, out, put

if TYPE_CHECKING:
    from glasshouse.formal.risk import Risk

Advantage = Annotated[
    float | None,
    typer.Option(
        "--advantage",
        help="Most an attack may gain over its baseline: over the one of --baseline, or over any where none is given.",
    ),
]
Success = Annotated[float | None, typer.Option("--success", help="Most an attack may succeed, at --baseline.")]
Baseline = Annotated[
    float | None,
    typer.Option(
        "--baseline",
        help="How often an attack succeeds without the person's data: for --success, else for --advantage.",
    ),
]
Tpr = Annotated[
    float | None, typer.Option("--tpr", help="Most of the members that a membership test may detect, at --fpr.")
]
Fpr = Annotated[float | None, typer.Option("--fpr", help="Share of false alarms of that membership test.")]
Rho = Annotated[float | None, typer.Option("--rho", help="zCDP parameter.")]
Mu = Annotated[float | None, typer.Option("--mu", help="Gaussian DP parameter.")]
Epsilon = Annotated[float | None, typer.Option("--epsilon", help="Epsilon, together with --delta.")]
Delta = Annotated[float, typer.Option("--delta", help="Delta, for --epsilon and for reading epsilon off.")]

# what Risk's own messages advise, as the flags of a command
_FLAGS = {
    "Risk.from_success_at_baseline": "--success with --baseline",
    "Risk.from_advantage": "--advantage without --baseline",
}


def _risk(
    *,
    advantage: float | None,
    success: float | None,
    baseline: float | None,
    tpr: float | None,
    fpr: float | None,
    rho: float | None,
    mu: float | None,
    epsilon: float | None,
    delta: float,
    quiet: bool = False,
) -> Risk:
    """The strictest of the risks stated; what Risk warns about is a note on stderr."""
    from glasshouse.core.errors import InputError
    from glasshouse.formal.risk import Risk

    if success is not None and baseline is None:
        raise InputError("--success needs --baseline: how often the attacker succeeds without the release")
    if baseline is not None and success is None and advantage is None:
        raise InputError(
            "--baseline alone states no risk: add --success or --advantage, what an attack may reach there"
        )
    if (tpr is None) != (fpr is None):
        raise InputError("--tpr and --fpr go together: a membership test detects at most TPR at FPR false alarms")
    stated: list[Risk] = []
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            if advantage is not None and baseline is not None and success is None:
                stated.append(Risk.from_advantage_at_baseline(advantage, baseline))
            elif advantage is not None:
                stated.append(Risk.from_advantage(advantage))
            if success is not None and baseline is not None:
                stated.append(Risk.from_success_at_baseline(success=success, baseline=baseline))
            if tpr is not None and fpr is not None:
                stated.append(Risk.from_err_rates(tpr=tpr, fpr=fpr))
            if rho is not None:
                stated.append(Risk.from_rho(rho))
            if mu is not None:
                stated.append(Risk.from_mu(mu))
            if epsilon is not None:
                stated.append(Risk.from_epsilon_delta(epsilon, delta))
    except InputError as problem:
        raise InputError(_flagged(str(problem))) from None
    if not stated:
        raise InputError(
            "state a risk: --advantage 0.1 (--baseline 0.01), --success 0.1 --baseline 0.01, --tpr 0.05 --fpr 0.01, "
            "--rho, --mu, or --epsilon with --delta"
        )
    for one in heard:
        err(f"note: {_flagged(str(one.message))}", quiet)
    return Risk.all_of(*stated)


def _flagged(text: str) -> str:
    for name, flag in _FLAGS.items():
        text = text.replace(name, flag)
    return text


def calibrate(
    advantage: Advantage = None,
    success: Success = None,
    baseline: Baseline = None,
    tpr: Tpr = None,
    fpr: Fpr = None,
    rho: Rho = None,
    mu: Mu = None,
    epsilon: Epsilon = None,
    delta: Delta = 1e-6,
    format: o.Format = None,
) -> int:
    """From a risk one can talk about to the parameters a differentially private synthesiser needs; the strictest
    statement holds.
    """
    from glasshouse.core.plain import to_json

    check_format(format)
    risk = _risk(
        advantage=advantage,
        success=success,
        baseline=baseline,
        tpr=tpr,
        fpr=fpr,
        rho=rho,
        mu=mu,
        epsilon=epsilon,
        delta=delta,
    )
    if format == "json":
        figures = {
            "rho": risk.rho,
            "epsilon": risk.epsilon(delta=delta),
            "delta": delta,
            "mu": risk.mu,
            "advantage": risk.advantage,
            "stated": [
                {"statement": c.statement, "rho": c.rho, "binding": c in risk.binding} for c in risk.constraints
            ],
            "max_tpr": {f"{fpr:g}": risk.max_tpr(fpr) for fpr in (0.001, 0.01, 0.1)},
        }
        sys.stdout.write(to_json({"schema": "glasshouse.calibration", "schema_version": 1, **figures}) + "\n")
    else:
        out().print(risk.explain())
        out().print(
            f"\nrho {risk.rho:.6g}   epsilon {risk.epsilon(delta=delta):.4g} at delta {delta:g}   mu "
            f"{risk.mu:.4g}   advantage {risk.advantage:.4g}"
        )
    return 0


def synthesise(
    original: o.Original,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The release to write (.csv).", metavar="FILE", show_default=False)
    ],
    method: Annotated[
        str, typer.Option("--method", help="cart, mst or aim (the last two are differentially private: state a risk).")
    ] = "cart",
    n: Annotated[
        int | None, typer.Option("--n", help="Records to make.  [default: as many as the original]", show_default=False)
    ] = None,
    advantage: Advantage = None,
    success: Success = None,
    baseline: Baseline = None,
    tpr: Tpr = None,
    fpr: Fpr = None,
    rho: Rho = None,
    mu: Mu = None,
    epsilon: Epsilon = None,
    delta: Delta = 1e-6,
    domain: Annotated[
        Path | None,
        typer.Option("--domain", help="Public domain of the columns, for mst and aim: TOML, JSON or a code book."),
    ] = None,
    mode: o.Mode = None,
    header: o.Header = False,
    encoding: o.Encoding = None,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
) -> int:
    """Make a synthetic release."""
    import polars as pl

    import glasshouse as gh
    from glasshouse.core.errors import InputError
    from glasshouse.data.frames import adopt
    from glasshouse.data.headers import refuse_headerless

    synthesisers = {"cart": "Cart", "mst": "Mst", "aim": "Aim"}
    if method not in synthesisers:
        raise InputError(f"there is no synthesiser {method!r}; choose cart, mst or aim")
    if output.suffix.lower() != ".csv":
        raise InputError(f"{output}: synthesise writes .csv")
    check_outputs([output], original)
    permissions = o.permissions(mode)
    adopted = adopt(str(original), "original", encoding)
    refuse_headerless(["original"] if adopted.headerless and not header else [])
    table = adopted.native
    made = getattr(gh.synthesis, synthesisers[method])
    if method == "cart":
        model = made()
    else:
        risk = _risk(
            advantage=advantage,
            success=success,
            baseline=baseline,
            tpr=tpr,
            fpr=fpr,
            rho=rho,
            mu=mu,
            epsilon=epsilon,
            delta=delta,
            quiet=quiet,
        )
        if domain is None:
            raise InputError(
                f"{method} needs --domain: the values each column may take, known without looking at the data; "
                "glasshouse domain init drafts such a file from a code book or a schema"
            )
        model = made(risk, domain)
    first = seed if seed is not None else 0
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sample = pl.DataFrame(model.fit(table).sample(n=n, random_state=first))
    for text in dict.fromkeys(str(one.message) for one in heard):
        err(f"note: {text}", quiet)
    lost = put(output, sample.write_csv(), quiet, permissions, f": {sample.height:,} records")
    if lost is not None:
        raise InputError(lost)
    return 0


def audit(
    original: o.Original,
    released: o.Released,
    holdout: o.Holdout = None,
    keys: o.Keys = None,
    key: o.Key = None,
    target: o.Target = None,
    header: o.Header = False,
    encoding: o.Encoding = None,
    advantage: Advantage = None,
    success: Success = None,
    baseline: Baseline = None,
    tpr: Tpr = None,
    fpr: Fpr = None,
    rho: Rho = None,
    mu: Mu = None,
    epsilon: Epsilon = None,
    delta: Delta = 1e-6,
    output: o.Output = None,
    format: o.Format = None,
    mode: o.Mode = None,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
) -> int:
    """Measured attacks against the ceiling that a formal guarantee implies."""

    import glasshouse as gh
    from glasshouse.core.errors import InputError
    from glasshouse.core.plain import to_json

    check_format(format, output)
    if format in ("junit", "html", "md"):
        raise InputError(f"an audit is written as text or json, not {format}")
    check_outputs(output, original, *released, holdout)
    permissions = o.permissions(mode)
    pair = o.make_pair(
        original, released, keys=keys, key=key, target=target, holdout=holdout, header=header, encoding=encoding
    )
    risk = _risk(
        advantage=advantage,
        success=success,
        baseline=baseline,
        tpr=tpr,
        fpr=fpr,
        rho=rho,
        mu=mu,
        epsilon=epsilon,
        delta=delta,
        quiet=quiet,
    )
    found = gh.audit(pair, risk, random_state=seed if seed is not None else 0)

    def text(form: str) -> str:
        if form == "json":
            return (found.to_json() if hasattr(found, "to_json") else to_json(found.to_dict())).rstrip("\n") + "\n"
        return (found.summary() if hasattr(found, "summary") else repr(found)) + "\n"

    deliver(output, format, quiet, text, lambda: out().print(text("text").rstrip("\n")), permissions)
    verdict = getattr(found, "verdict", None)
    return 1 if verdict == "fail" else 3 if getattr(found, "status", "ok") != "ok" else 0
