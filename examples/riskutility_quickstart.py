"""The quick start of riskutility: a pair, single measures of risk and utility, the report."""

import glasshouse as gh

pair = gh.data.load("health").pair()
print(pair.check())
for measure in (gh.disclosure.k_anonymity, gh.disclosure.cap, gh.disclosure.rapid, gh.disclosure.dcr, gh.utility.pmse):
    print(measure(pair))
print(gh.assess(pair))
