# Two commands for everybody: `make demo` and `make test`. Each sets up what it needs in .venv and nothing else.
PYTHON ?= python3
EXTRAS ?= test,duckdb,files
PYTEST_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo test fuzz stubs docs lint types imports study calibration mitigation reproduce bench clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("glasshouse needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)

# One stamp per set of extras, so that `make demo` installs little and `make test` adds the rest.
$(STAMP)-%: pyproject.toml | $(BIN)/python
	@echo "setting up ($*) ..."
	@if [ "$*" = core ]; then $(PIP) --editable . ; else $(PIP) --editable '.[$*]' ; fi
	@touch $@

demo: $(STAMP)-core
	@$(BIN)/glasshouse demo --output report.html

test: $(STAMP)-$(EXTRAS)
	@$(BIN)/python -m pytest -n auto --dist loadgroup $(PYTEST_ARGS)

stubs: $(STAMP)-core
	@$(BIN)/python tools/make_stubs.py

docs: $(STAMP)-$(EXTRAS)
	@$(BIN)/python tools/make_measure_list.py
	@$(BIN)/python tools/make_scale_list.py
	@$(BIN)/python tools/make_name_list.py
	@$(BIN)/python tools/make_operation_list.py

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

bench: $(STAMP)-$(EXTRAS)
	@for file in bench/*.py; do echo "== $$file"; $(BIN)/python $$file; done

clean:
	rm -rf $(VENV) report.html .pytest_cache .mypy_cache .ruff_cache .hypothesis
