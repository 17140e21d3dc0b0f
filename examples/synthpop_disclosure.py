"""The disclosure vignette of synthpop: disclosure(), its table for five syntheses, multi.disclosure() and an exclusion.

python examples/synthpop_disclosure.py [sd2011.csv [syn1.csv syn2.csv ...]]     without files: simulated people
"""

import sys

import glasshouse as gh

health = gh.data.load("health")
original, *five = sys.argv[1:] or [health.original]
keys, target = (["sex", "age", "region", "placesize"], "depress") if sys.argv[1:] else (health.keys, health.target)
five = five or gh.synthesis.Cart(special_codes={"income": [-8]}).fit(original).replicates(5)
pair = gh.Pair(original, five, keys=keys, target=target, special_codes={"income": [-8]})

table = gh.disclosure.attribution(pair).to_frame()
print(table.select("release", "UiO", "repU", "Dorig", "DiSCO"))
print(table.select("release", "iS", "DiS", "DiSCO", "DiSDiO", "max_denom", "mean_denom", "DCAP"))

targets = gh.disclosure.attribution_all(pair)
print(targets.to_frame().select("target", "Dorig", "DiSCO", "CAPd", "DCAP", "one_way_checks", "two_way_checks"))
print(*(f"{name}\n{found}" for name, found in targets.checks.items()), sep="\n\n")

kept = gh.disclosure.attribution_all(pair, exclude_pairs=targets.checks, denominator_limit=1)
print(kept.to_frame().select("target", "Dorig", "DiSCO"))
