"""glasshouse calibrate, synthesise and audit: the formal side and the synthesisers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.terminal import check_format, check_outputs, deliver, out, put

Advantage = Annotated[
    float | None, typer.Option("--advantage", help="Most an attacker may gain in telling members from others.")
]
Success = Annotated[float | None, typer.Option("--success", help="Most an attacker may succeed, at --baseline.")]
Baseline = Annotated[
    float | None, typer.Option("--baseline", help="How often the attacker succeeds without the release.")
]
Rho = Annotated[float | None, typer.Option("--rho", help="zCDP parameter.")]
Mu = Annotated[float | None, typer.Option("--mu", help="Gaussian DP parameter.")]
Epsilon = Annotated[float | None, typer.Option("--epsilon", help="Epsilon, together with --delta.")]
Delta = Annotated[float, typer.Option("--delta", help="Delta, for --epsilon and for reading epsilon off.")]


def _risk(
    advantage: float | None,
    success: float | None,
    baseline: float | None,
    rho: float | None,
    mu: float | None,
    epsilon: float | None,
    delta: float,
) -> Any:
    import glasshouse as gh
    from glasshouse.core.errors import InputError

    stated = []
    if advantage is not None:
        stated.append(gh.Risk.from_advantage(advantage))
    if success is not None:
        if baseline is None:
            raise InputError("--success needs --baseline: how often the attacker succeeds without the release")
        stated.append(gh.Risk.from_success_at_baseline(success=success, baseline=baseline))
    if rho is not None:
        stated.append(gh.Risk.from_rho(rho))
    if mu is not None:
        stated.append(gh.Risk.from_mu(mu))
    if epsilon is not None:
        stated.append(gh.Risk.from_epsilon_delta(epsilon, delta))
    if not stated:
        raise InputError(
            "state a risk: --advantage 0.1, --success 0.1 --baseline 0.01, --rho, --mu, or --epsilon with --delta"
        )
    strictest = stated[0]
    for risk in stated[1:]:
        strictest = strictest | risk
    return strictest


def calibrate(
    advantage: Advantage = None,
    success: Success = None,
    baseline: Baseline = None,
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
    risk = _risk(advantage, success, baseline, rho, mu, epsilon, delta)
    if format == "json":
        figures = {
            "rho": risk.rho,
            "epsilon": risk.epsilon(delta=delta),
            "delta": delta,
            "mu": risk.mu,
            "advantage": risk.advantage,
            "max_tpr": {f"{fpr:g}": risk.max_tpr(fpr) for fpr in (0.001, 0.01, 0.1)},
        }
        sys.stdout.write(to_json({"schema": "glasshouse.calibration", "schema_version": 1, **figures}) + "\n")
    else:
        out().print(risk.explain() if hasattr(risk, "explain") else repr(risk))
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
    rho: Rho = None,
    mu: Mu = None,
    epsilon: Epsilon = None,
    delta: Delta = 1e-6,
    domain: Annotated[
        Path | None, typer.Option("--domain", help="Public domain of the columns as TOML or JSON, for mst and aim.")
    ] = None,
    mode: o.Mode = None,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
) -> int:
    """Make a synthetic release."""
    import polars as pl

    import glasshouse as gh
    from glasshouse.core.errors import InputError
    from glasshouse.data.files import read

    synthesisers = {"cart": "Cart", "mst": "Mst", "aim": "Aim"}
    if method not in synthesisers:
        raise InputError(f"there is no synthesiser {method!r}; choose cart, mst or aim")
    if output.suffix.lower() != ".csv":
        raise InputError(f"{output}: synthesise writes .csv")
    check_outputs([output], original)
    permissions = o.permissions(mode)
    table = read(original)
    made = getattr(gh.synthesis, synthesisers[method])
    if method == "cart":
        model = made()
    else:
        risk = _risk(advantage, success, baseline, rho, mu, epsilon, delta)
        if domain is None:
            raise InputError(
                f"{method} needs --domain: the values each column may take, known without looking at the data"
            )
        model = made(risk, o.read_schema(domain))
    first = seed if seed is not None else 0
    sample = pl.DataFrame(model.fit(table).sample(n=n, random_state=first))
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
    advantage: Advantage = None,
    success: Success = None,
    baseline: Baseline = None,
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

    check_format(format)
    if format in ("junit", "html", "md"):
        raise InputError(f"an audit is written as text or json, not {format}")
    check_outputs(output, original, *released, holdout)
    permissions = o.permissions(mode)
    pair = o.make_pair(original, released, keys=keys, key=key, target=target, holdout=holdout, header=header)
    risk = _risk(advantage, success, baseline, rho, mu, epsilon, delta)
    found = gh.audit(pair, risk, random_state=seed if seed is not None else 0)

    def text(form: str) -> str:
        if form == "json":
            return (found.to_json() if hasattr(found, "to_json") else to_json(found.to_dict())).rstrip("\n") + "\n"
        return (found.summary() if hasattr(found, "summary") else repr(found)) + "\n"

    deliver(output, format, quiet, text, lambda: out().print(text("text").rstrip("\n")), permissions)
    verdict = getattr(found, "verdict", None)
    return 1 if verdict == "fail" else 3 if getattr(found, "status", "ok") != "ok" else 0
