"""The guide of risksyn: state the risk you accept, combine requirements, make a release that keeps them, attack it."""

from importlib.util import find_spec

import glasshouse as gh

for risk in (
    gh.Risk.from_advantage(0.1),
    gh.Risk.from_err_rates(tpr=0.1, fpr=0.01),
    gh.Risk.from_success_at_baseline(success=0.35, baseline=0.25),
    gh.Risk.from_advantage_at_baseline(advantage=0.1, baseline=0.25),
):
    print(risk)

risk = gh.Risk.from_err_rates(tpr=0.1, fpr=0.01) | gh.Risk.from_success_at_baseline(success=0.7, baseline=0.5)
print(risk.explain())

people = gh.data.load("health")
domain = {
    "gender": ["female", "male"],
    "education": ["low", "medium", "high"],
    "age": {"type": "int", "lower": 18, "upper": 85, "bins": 8},
    "disease_status": ["healthy", "diabetic", "hypertensive"],
}
seed = None if find_spec("opendp") else 0  # noise that keeps the promise needs glasshouse[dp]; a seed is for teaching
model = gh.synthesis.Mst(risk, domain, insecure_seed=seed).fit(people.original.select(*domain))
print(model.report())
print(gh.audit(people.pair(released=model.sample(random_state=1)), risk))
