"""What the core does alone, as a script that prints what came of it as JSON: run where the extras are hidden
(test_without_extras.py), and in an environment that has none (test_package.py)."""

import json
import pathlib

import glasshouse as gh

example = gh.data.load("health")
tables = {n: getattr(example, n).head(300) for n in ("original", "released", "holdout")}
roles = {"keys": list(example.keys), "target": example.target}
told = {}

for kind in ("csv", "parquet", "ipc"):
    for name, table in tables.items():
        path = pathlib.Path(f"{name}.{kind.replace('ipc', 'arrow')}")
        getattr(table, f"write_{kind}")(path)


def assessed(original, released, holdout):
    pair = gh.Pair(original, released, holdout=holdout, **roles)
    return gh.assess(pair, measures=["disco", "exact_copies", "pmse", "uniques"])


verdict = assessed(*tables.values())
told["frames"] = verdict.to_json()
for suffix in ("csv", "parquet", "arrow"):
    same = assessed(*(f"{name}.{suffix}" for name in tables))
    told[suffix] = {n: r.value for n, r in same.results.items()}
told["values"] = {n: r.value for n, r in verdict.results.items()}
told["html"] = verdict.to_html()
told["external"] = verdict.to_html(audience="external")
told["card"] = verdict.results["disco"]._repr_html_()
told["text"] = [verdict.to_markdown(), verdict.to_junit(), repr(verdict)]
case = gh.data.load("case_study")
ru = gh.compare(case.pair(), dict(case.releases), measures=["exact_copies", "tcap", "pmse"])
told["map"] = ru.to_html()
told["sample"] = gh.synthesis.Cart().fit(tables["original"]).sample(50).shape
fixed = gh.mitigate(verdict.pair, policy="public", allow=["round_numbers", "generalise"])
told["fixed"] = type(fixed.released).__module__
told["way"] = fixed.to_html()


def sentence(call):
    try:
        call()
    except Exception as problem:
        return [type(problem).__name__, str(problem)]
    return ["nothing", ""]


told["stops"] = {
    "plot": sentence(verdict.results["disco"].plot),
    "threats": sentence(verdict.plot),
    "map": sentence(ru.plot),
    "risk": sentence(gh.Risk.from_advantage(0.1).plot),
    "pandas": sentence(lambda: gh.data.load("health", library="pandas")),
    "gbm": sentence(lambda: gh.disclosure.rapid(verdict.pair, attackers=("gbm",))),
}
print(json.dumps(told))
