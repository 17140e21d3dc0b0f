"""What each tool would have told the custodian: cases of the calibration study, clean and with planted leaks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.peers.tasks import files, halves
from studies.cases import Case
from studies.kinds import KINDS

KIND_NAMES = ("weak", "strong", "rare")
LEAK_NAMES = ("clean", "verbatim_2", "noisy_5", "keys_5")
TOOLS = ("glasshouse", "anonymeter", "sdmetrics", "syntheval", "pycanon")
PRIVACY = ["nndr", "nnaa", "dcr", "hit_rate", "eps_risk", "mia", "att_discl"]
N, QUICK_N = 1_000, 500
SEEDS, QUICK_SEEDS = 10, 1

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


def cases(seeds: int, n: int = N) -> Iterator[Case]:
    """Seeds outermost, so that a run that is cut short is balanced."""
    for seed in range(seeds):
        for kind in KIND_NAMES:
            for leak in LEAK_NAMES:
                yield Case(kind, leak, seed, n)


def job(case: Case, folder: Path, n_attacks: int) -> dict[str, Any]:
    """The question to any tool about one case."""
    world, kind = case.build(), KINDS[case.kind]
    assert world.holdout is not None
    tables = {"original": world.original, "released": world.released, "holdout": world.holdout}
    name = "-".join(str(part) for part in case.key)
    options = {
        "keys": list(kind.keys),
        "target": kind.target,
        "seed": case.seed,
        "n_attacks": n_attacks,
        "sides": halves(world.original.columns, kind.target),
        "names": PRIVACY,
    }
    return {"question": "decide", "options": options, "tables": files(tables, folder / name)}
