"""The case study of riskutility: which of three releases of an income survey may go out, and what is it good for?

python examples/riskutility_case_study.py [original.csv A.csv B.csv C.csv]     without files: a simulated survey
"""

import sys

import glasshouse as gh

survey = gh.data.load("case_study")
original, *files = sys.argv[1:] or [survey.original]
releases = dict(zip("ABC", files, strict=True)) if files else survey.releases

for name, released in releases.items():
    pair = gh.Pair(original, released, keys=survey.keys, target=survey.target)
    k, risk, cap = gh.disclosure.k_anonymity(pair), gh.disclosure.individual_risk(pair), gh.disclosure.cap(pair)
    alone, joint = gh.utility.hellinger(pair), gh.utility.pmse(pair)
    print(
        f"{name}: k = {k.value:g}, mean 1/f {risk.value:.2f}, CAP {cap.value:.3f} (luck {cap.baseline:.3f}),", end=" "
    )
    print(f"Hellinger {alone.value:.4f}, pMSE ratio {joint.details['pmse_ratio']:.2f}")

roles = {"keys": survey.keys, "target": survey.target}
print(gh.compare(original, releases, risk=["cap", "rapid"], utility=["hellinger", "pmse"], **roles))
