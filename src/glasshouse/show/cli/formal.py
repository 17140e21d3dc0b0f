"""glasshouse calibrate and audit: the formal side, and the risks that commands let people state."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from glasshouse.show.cli import options as o
from glasshouse.show.cli.asked import settle
from glasshouse.show.cli.flags import flagged
from glasshouse.show.cli.gathering import gathered
from glasshouse.show.cli.terminal import check_format, deliver, err, out

if TYPE_CHECKING:
    from glasshouse.formal.risk import Risk


@dataclass(frozen=True)
class Stated:
    """Risks that somebody states; the strictest holds."""

    advantage: Annotated[
        float | None,
        typer.Option(
            "--advantage",
            help="Most an attack may gain over its baseline: over that of --baseline, or over any if none is given.",
        ),
    ] = None
    success: Annotated[float | None, typer.Option("--success", help="Most an attack may succeed, at --baseline.")] = (
        None
    )
    baseline: Annotated[
        float | None,
        typer.Option(
            "--baseline",
            help="How often an attack succeeds without the person's data: for --success, else for --advantage.",
        ),
    ] = None
    tpr: Annotated[
        float | None, typer.Option("--tpr", help="Most of the members that a membership test may detect, at --fpr.")
    ] = None
    fpr: Annotated[float | None, typer.Option("--fpr", help="Share of false alarms of that membership test.")] = None
    rho: Annotated[float | None, typer.Option("--rho", help="zCDP parameter.")] = None
    mu: Annotated[float | None, typer.Option("--mu", help="Gaussian DP parameter.")] = None
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="Epsilon, together with --delta.")] = None
    delta: Annotated[float, typer.Option("--delta", help="Delta, for --epsilon and for reading epsilon off.")] = 1e-6


def risk_of(given: Stated, quiet: bool = False) -> Risk:
    """The strictest of the risks stated; what Risk warns about is a note on stderr."""
    from glasshouse.core.errors import InputError
    from glasshouse.formal.risk import Risk

    if given.success is not None and given.baseline is None:
        raise InputError("--success needs --baseline: how often the attacker succeeds without the release")
    if given.baseline is not None and given.success is None and given.advantage is None:
        raise InputError(
            "--baseline alone states no risk: add --success or --advantage, what an attack may reach there"
        )
    if (given.tpr is None) != (given.fpr is None):
        raise InputError("--tpr and --fpr go together: a membership test detects at most TPR at FPR false alarms")
    risks: list[Risk] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        if given.advantage is not None and given.baseline is not None and given.success is None:
            risks.append(Risk.from_advantage_at_baseline(given.advantage, given.baseline))
        elif given.advantage is not None:
            risks.append(Risk.from_advantage(given.advantage))
        if given.success is not None and given.baseline is not None:
            risks.append(Risk.from_success_at_baseline(success=given.success, baseline=given.baseline))
        if given.tpr is not None and given.fpr is not None:
            risks.append(Risk.from_err_rates(tpr=given.tpr, fpr=given.fpr))
        if given.rho is not None:
            risks.append(Risk.from_rho(given.rho))
        if given.mu is not None:
            risks.append(Risk.from_mu(given.mu))
        if given.epsilon is not None:
            risks.append(Risk.from_epsilon_delta(given.epsilon, given.delta))
    if not risks:
        raise InputError(
            "state a risk: --advantage 0.1 (--baseline 0.01), --success 0.1 --baseline 0.01, --tpr 0.05 --fpr 0.01, "
            "--rho, --mu, or --epsilon with --delta"
        )
    for one in heard:
        err(f"note: {flagged(str(one.message))}", quiet)
    return Risk.all_of(*risks)


@gathered
def calibrate(stated: Stated, format: o.Format = None) -> int:
    """From a risk one can talk about to the parameters a differentially private synthesiser needs; the strictest
    statement holds.
    """
    from glasshouse.core.plain import to_json

    check_format(format)
    risk, delta = risk_of(stated), stated.delta
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


@gathered
def audit(
    files: o.Files,
    chosen: o.Settings,
    roles: o.Roles,
    stated: Stated,
    output: o.Output = None,
    format: o.Format = None,
    mode: o.Mode = None,
    seed: o.Seed = None,
    quiet: o.Quiet = False,
) -> int:
    """Measured attacks against the ceiling that a formal guarantee implies."""
    import glasshouse as gh
    from glasshouse.core.plain import to_json

    told = o.Reporting(output, format, mode, quiet=quiet)
    asked = settle(files, chosen, roles, o.Running(seed=seed), told, reports=False)
    asked.only_text_or_json("an audit")
    asked.only_internal()
    asked.check(*asked.released)
    risk = risk_of(stated, asked.quiet)
    found = gh.audit(asked.pair(asked.case("audit")), risk, random_state=asked.seed)

    def text(form: str) -> str:
        if form == "json":
            return (found.to_json() if hasattr(found, "to_json") else to_json(found.to_dict())).rstrip("\n") + "\n"
        return (found.summary() if hasattr(found, "summary") else repr(found)) + "\n"

    deliver(asked.output, asked.format, asked.quiet, text, lambda: out().print(text("text").rstrip("\n")), asked.mode)
    verdict = getattr(found, "verdict", None)
    return 1 if verdict == "fail" else 3 if getattr(found, "status", "ok") != "ok" else 0
