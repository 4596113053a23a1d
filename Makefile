# Every target makes and refreshes its own environment in .venv; nothing but Python 3.11 or newer is needed before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
DEMO := --data breast_cancer --nu 0.1 --columns 100 --backends interior,highs,cvxpy:clarabel,cvxpy:scs --time-limit 15

.PHONY: demo test lint types bench bench-quick ida wheel docs clean

demo: $(VENV)/.runtime
	$(BIN)/boostopt compare lpboost $(DEMO)
	$(BIN)/boostopt compare erlpboost --eta 1000 $(DEMO)

test: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/pyright

bench: $(VENV)/.dev
	$(BIN)/python tests/benchmarks/run.py --json build/bench.json

bench-quick: $(VENV)/.dev
	$(BIN)/python tests/benchmarks/run.py --quick

ida: $(VENV)/.dev
	@mkdir -p build
	$(BIN)/python tests/benchmarks/ida.py --resume build/ida.jsonl --table docs/ida.md

wheel: $(VENV)/.dev
	$(BIN)/python tests/check_wheel.py

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -E --fail-on-warning --keep-going -c docs -d build/doctrees . build/docs
	@echo "docs: build/docs/index.html"

clean:
	rm -rf $(VENV) build dist boostopt.egg-info docs/formulations docs/notebooks docs/reference

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("boostopt needs Python 3.11 or newer; " + \
	  sys.executable + " is " + sys.version.split()[0] + ". Run: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.runtime
	$(PIP) --editable '.[docs]'
	@touch $@
