"""Appendix B of the RAPID paper: one release, the people at risk, a test, thresholds, and the synthesiser by folds."""

import glasshouse as gh

example = gh.data.load("appendix_b")
found = gh.disclosure.rapid(example.pair(), tau=0.3, random_state=2025)
print(found.summary())
print(found.by_class())
print(found.top(10).select("row", *example.keys, example.target, "predicted", "gain"))
print(found.test())
print(found.thresholds())

cart = gh.synthesis.Cart()
print(gh.rapid_cv(example.original, cart, keys=example.keys, target=example.target, random_state=2025).summary())
