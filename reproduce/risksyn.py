"""risksyn's guide: the examples of risk modelling and generation, and its own answers to them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl

import glasshouse as gh
from reproduce.published import Published
from reproduce.row import Item, Row
from reproduce.setting import Setting

GUIDE, ANSWERS = Published("risksyn", "Guide"), Published("risksyn", "Answers")
CALLS: dict[str, Callable[..., gh.Risk]] = {
    "from_advantage": gh.Risk.from_advantage,
    "from_err_rates": gh.Risk.from_err_rates,
    "from_success_at_baseline": gh.Risk.from_success_at_baseline,
    "from_advantage_at_baseline": gh.Risk.from_advantage_at_baseline,
}


def guide(setting: Setting) -> list[Item]:
    """What the guide says of its examples.

    Parameters
    ----------
    setting : Setting
        How the run goes; the release is drawn with a seed, for teaching.

    Returns
    -------
    list of Item
    """
    del setting
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        small = gh.Risk.from_advantage_at_baseline(advantage=0.05, baseline=0.001)
    warned = " ".join(str(w.message) for w in caught)
    times = [float(n) for n in re.findall(r"([\d.]+)x", warned)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tight = gh.Risk.from_advantage(0.01)
        tenfold = gh.Risk.from_advantage_at_baseline(advantage=0.09, baseline=0.01)
    rates = gh.Risk.from_err_rates(tpr=0.05, fpr=0.01)
    success = gh.Risk.from_success_at_baseline(success=0.05, baseline=0.01)
    same = gh.Risk.from_success_at_baseline(success=0.1, baseline=0.01)
    both, worst = tight | small, gh.Risk.from_advantage(0.09)
    reached = small.success_at_baseline(0.001)
    equal = abs(tenfold.rho - same.rho) < 1e-9
    found = {
        "error rates": f"rho {rates.rho:.6f} and {success.rho:.6f}",
        "advantage": f"rho {tenfold.rho:.6f} and {same.rho:.6f}",
        "together": f"rho {both.rho:.6f} of {tight.rho:.6f} and {small.rho:.6f}",
        "last resort": f"rho {worst.rho:.4f}; at a baseline of 0.01 {tenfold.rho:.4f}",
    }
    rows = [
        GUIDE.figure("advantage 0.05 at 0.001: times the baseline", GUIDE["multiplier"], times[0], 0.5, 1),
        GUIDE.figure("advantage 0.05 at 0.001: success", GUIDE["success"], reached, 5e-4, 4),
        GUIDE.statement("error rates", "same_as_error_rates", found["error rates"], rates.rho == success.rho),
        GUIDE.statement("advantage at a baseline", "same_as_advantage", found["advantage"], equal),
        GUIDE.statement("warning", "warns", warned, "51.0x" in warned),
        GUIDE.statement("together", "combines", found["together"], both.rho == min(tight.rho, small.rho)),
        GUIDE.statement("last resort", "last_resort", found["last resort"], worst.rho < tenfold.rho),
        _generated(),
    ]
    return [Item("Guide", GUIDE["about"], rows)]


def _generated() -> Row:
    """The README's five people, and a release that keeps an advantage of 0.2."""
    people = pl.DataFrame(
        {
            "age": [25, 30, 35, 40, 45],
            "income": [50_000, 60_000, 70_000, 80_000, 90_000],
            "city": ["NYC", "LA", "NYC", "SF", "LA"],
        }
    )
    domain: dict[str, Any] = {
        "age": {"type": "int", "lower": 18, "upper": 100, "bins": 8},
        "income": {"type": "int", "lower": 0, "upper": 500_000, "bins": 10},
        "city": ["NYC", "LA", "SF", "Chicago"],
    }
    risk = gh.Risk.from_advantage(0.2)
    model = gh.synthesis.Mst(risk, domain, insecure_seed=0).fit(people)
    made, spent = model.sample(1000, random_state=0), model.report().spent
    inside = bool(made["age"].is_between(18, 100).all() and made["income"].is_between(0, 500_000).all())
    where = "within the domain" if inside else "some outside the domain"
    found = f"rho {spent:.6f} spent of {risk.rho:.6f}; {made.height:,} rows, {where}"
    return GUIDE.statement("generation", "generation", found, inside and spent <= risk.rho + 1e-12)


def answers(setting: Setting) -> list[Item]:
    """rho by the exact region beside risksyn's search.

    Parameters
    ----------
    setting : Setting
        How the run goes; nothing is drawn here.

    Returns
    -------
    list of Item
    """
    del setting
    rows = []
    for asked in ANSWERS["calls"]:
        call = asked["call"]
        name, given = call.rstrip(")").split("(")
        numbers = [float(x) for x in given.split(",")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = CALLS[name](*numbers).rho
        theirs = gh.Risk.from_zcdp(asked["rho"])
        if name == "from_advantage":
            promised, reached = numbers[0], theirs.advantage
        else:
            promised = sum(numbers) if name == "from_advantage_at_baseline" else numbers[0]
            reached = theirs.success_at_baseline(numbers[1])
        row = ANSWERS.figure(call, asked["rho"], ours, digits=6, confirmed=reached > promised)
        rows.append(
            replace(row, found=f"with its rho an attack reaches {reached:.4f}, where {promised:g} was the most")
        )
    how = "Ours meet the requirement exactly; theirs allow more than was asked for, so that agreement is not the aim."
    return [Item("Answers", f"{ANSWERS['about']} {how}", rows)]
