# Two commands for everybody: `make demo` and `make test`. Each sets up what it needs in .venv and nothing else.
PYTHON ?= python3
EXTRAS ?= test,duckdb,files
PYTEST_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo test package fuzz stubs lists docs app-pictures lint types imports study calibration mitigation reproduce bench bench-peers pictures size clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("glasshouse needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)

# One stamp per set of extras, so that `make demo` installs little and `make test` adds the rest.
$(STAMP)-%: pyproject.toml | $(BIN)/python
	@echo "setting up ($*) ..."
	@if [ "$*" = core ]; then $(PIP) --editable . ; else $(PIP) --editable '.[$*]' ; fi
	@touch $@

demo: $(STAMP)-charts
	@$(BIN)/glasshouse demo --output report.html

test: $(STAMP)-$(EXTRAS)
	@$(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST_ARGS)

# Wheel and sdist built, installed into empty environments, and the core run without any extra.
package: $(STAMP)-$(EXTRAS)
	@$(BIN)/python -m pytest -m package tests/test_package.py $(PYTEST_ARGS)

stubs: $(STAMP)-core
	@$(BIN)/python tools/make_stubs.py

# Lists in docs/ that follow from the code, and are committed: tests fail where one is out of date.
lists: $(STAMP)-$(EXTRAS)
	@$(BIN)/python tools/make_measure_list.py
	@$(BIN)/python tools/make_scale_list.py
	@$(BIN)/python tools/make_name_list.py
	@$(BIN)/python tools/make_operation_list.py
	@$(BIN)/python tools/make_file_schemas.py

# The site, offline, warnings are errors: docs/_build/html/index.html. Code of the pages that tests have run since the last
# change is not run again.
docs: $(STAMP)-$(EXTRAS) $(STAMP)-docs lists
	@$(BIN)/python -m sphinx -E -W --keep-going --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The pictures of the workbench, which are committed: a build cannot count on a browser.
app-pictures: $(STAMP)-browser
	@$(BIN)/python -m tools.take_pictures

lint: $(STAMP)-lint
	@$(BIN)/ruff check src tests bench tools studies examples reproduce
	@$(BIN)/ruff format --check src tests bench tools studies examples reproduce

types: $(STAMP)-lint
	@$(BIN)/mypy

imports: $(STAMP)-lint
	@$(BIN)/lint-imports

# A failure names its seed: `make fuzz PAIRS=1 SEED=123` repeats it.
PAIRS ?= 2000
SEED ?= 0
fuzz: $(STAMP)-$(EXTRAS)
	@$(BIN)/python -m tests.fuzz $(PAIRS) --seed $(SEED)

study: $(STAMP)-$(EXTRAS)
	@$(BIN)/python -m pytest -m study $(PYTEST_ARGS)

# Takes up where it stopped; `make calibration RUNS=elsewhere.jsonl JOBS=8` spreads the work.
RUNS ?= calibration.jsonl
JOBS ?= 1
calibration: $(STAMP)-$(EXTRAS)
	@$(BIN)/python -m studies.calibration run $(RUNS) --jobs $(JOBS)
	@$(BIN)/python -m studies.calibration map $(RUNS:.jsonl=.maps.jsonl) --jobs $(JOBS)
	@$(BIN)/python -m studies.calibration best $(RUNS:.jsonl=.best.jsonl) --jobs $(JOBS)
	@$(BIN)/python -m studies.identifiers > $(RUNS:.jsonl=.identifiers.md)
	@$(BIN)/python -m studies.calibration report $(RUNS) --maps $(RUNS:.jsonl=.maps.jsonl) --best $(RUNS:.jsonl=.best.jsonl) \
		--identifiers $(RUNS:.jsonl=.identifiers.md)

# Takes up where it stopped, too.
MITIGATED ?= mitigation.jsonl
mitigation: $(STAMP)-$(EXTRAS)
	@$(BIN)/python -m studies.mitigation run $(MITIGATED)
	@$(BIN)/python -m studies.mitigation report $(MITIGATED)

# Published figures beside ours, into docs/reproduction. `make reproduce QUICK=1` for fewer draws; `STUDIES="raab rapid-adult"`
# for some; DATA names the folder with adult/ and sd2011/. A full run that is stopped goes on where it was.
QUICK ?=
DATA ?=
STUDIES ?=
reproduce: $(STAMP)-$(EXTRAS)
	@$(BIN)/python -m reproduce $(STUDIES) $(if $(filter-out 0,$(QUICK)),--quick) $(if $(DATA),--data $(DATA))

# QUICK=1 keeps every part under 15 minutes: small tables, fewer attacks, one seed. Peers have environments of their own in
# .bench/, made on first use (`make bench-peers`); what was measured is kept there, so that a run can be stopped and taken up.
BENCH := $(if $(QUICK),tables.py:1 gdpr.py utility.py,$(notdir $(wildcard bench/*.py)))
bench: $(STAMP)-$(EXTRAS)
	@for each in $(BENCH); do echo "== bench/$${each%%:*}"; \
		$(BIN)/python bench/$${each%%:*} $$(case $$each in *:*) echo $${each#*:};; esac) || echo "bench/$${each%%:*}: did not finish, see above"; done
	@$(MAKE) --no-print-directory bench-peers QUICK=$(QUICK)

bench-peers: $(STAMP)-$(EXTRAS)
	@$(BIN)/python -m bench.peers run $(if $(QUICK),--quick)
	@$(BIN)/python -m bench.peers report

# The pictures of the README; the first one needs Chromium or Chrome.
pictures: $(STAMP)-charts
	@$(BIN)/python tools/make_pictures.py

# What an installation takes on the disk: two fresh environments, half a minute each.
size:
	@$(PYTHON) tools/install_size.py

clean:
	rm -rf $(VENV) docs/_build docs/_kept docs/measure docs/reference docs/gallery.rst report.html .pytest_cache .mypy_cache .ruff_cache .hypothesis
