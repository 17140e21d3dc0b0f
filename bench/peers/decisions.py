"""What each tool would have told the custodian: cases of the calibration study, clean and with planted leaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.peers.tasks import files, halves
from studies.cases import Case
from studies.kinds import KINDS
from studies.leaks import LEAKS

KIND_NAMES = ("weak", "strong", "rare", "households")
LEAK_NAMES = ("clean", "verbatim_0.5", "verbatim_2", "noisy_5", "keys_5", "clusters_2")
QUICK_LEAK_NAMES = ("clean", "verbatim_2", "keys_5", "clusters_2")
TOOLS = ("glasshouse", "anonymeter", "sdmetrics", "syntheval", "pycanon")
THREATS = ("copying", "identity", "attribute", "membership")
PRIVACY = ["hit_rate", "eps_risk", "mia"]
N = 500
SEEDS, QUICK_SEEDS = 5, 1
ATTACKS, QUICK_ATTACKS = 400, 100  # a file of households has a few records more or less than asked for

# How each tool says its figures are to be read; none of them names a threshold at which a release must not go out.
READ = {
    "anonymeter": "A risk is what the attack gains over the same attack on people never in the data (control), with a "
    "95 % interval. Its README leaves the decision to the controller: the scores are to be used to decide whether the "
    "residual risks are acceptable. Counted here: runs in which an interval lies wholly above 0 (three are looked "
    "at, and the package makes no allowance for that).",
    "sdmetrics": "Scores from 0 (worst) to 1 (best). Of DCROverfittingProtection its documentation says that at 1.0 "
    "the release is not overfitted to the training data; DCRBaselineProtection is the median distance to the closest "
    "record over that of random data, at most 1; of NewRowSynthesis, that 1.0 means no row matches, that it is in beta "
    "and to be read with caution, and that a few matches can be chance "
    "([docs.sdv.dev/sdmetrics](https://docs.sdv.dev/sdmetrics/metrics/privacy-and-fairness-metrics)).",
    "syntheval": "Figures by metric, no threshold: for comparing releases (its benchmark ranks several). `priv_loss` "
    "is the epsilon risk of members less that of the holdout, `mia` the recall of a membership classifier, `hit_rate` "
    "the share of the original with a released record in a small box around it.",
    "pycanon": "The levels a table reaches; which level is enough is the custodian's to say. They describe one table: "
    "the original does not enter, so a copy and a stranger look alike.",
    "glasshouse": "One of pass, warn, fail or incomplete, from tests of members against the holdout; without a policy.",
}  # fmt: skip


def cases(seeds: int, leaks: Sequence[str] = LEAK_NAMES, n: int = N) -> Iterator[Case]:
    """Seeds outermost, so that a run that is cut short is balanced."""
    for seed in range(seeds):
        for kind in KIND_NAMES:
            for leak in leaks:
                if LEAKS[leak].where(KINDS[kind]):
                    yield Case(kind, leak, seed, n)


def job(case: Case, folder: Path, n_attacks: int, knows_clusters: bool = False) -> dict[str, Any]:
    """The question to any tool about one case; one that knows no clusters is not given the column that numbers them."""
    world, kind = case.build(), KINDS[case.kind]
    assert world.holdout is not None
    tables = {"original": world.original, "released": world.released, "holdout": world.holdout}
    name = "-".join(str(part) for part in case.key)
    if kind.cluster and not knows_clusters:
        tables, name = {role: table.drop(kind.cluster) for role, table in tables.items()}, f"{name}-people"
    options = {
        "keys": list(kind.keys),
        "target": kind.target,
        "cluster": kind.cluster,
        "seed": case.seed,
        "n_attacks": n_attacks,
        "sides": halves([c for c in world.original.columns if c != kind.cluster], kind.target),
        "names": PRIVACY,
    }
    return {"question": "decide", "options": options, "tables": files(tables, folder / name)}
