# Every target makes and refreshes its own environment in .venv; nothing but Python 3.11 or newer is needed before.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# pip is there with every Python. INSTALLER=uv, as in CI, does the same about ten times faster.
INSTALLER ?= pip
PIP = $(1)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
UV = $(1)/bin/uv pip install --quiet --python $(1)/bin/python --constraint constraints.txt
INSTALL = $(if $(filter uv,$(INSTALLER)),$(UV),$(PIP))

# An environment is made anew where these files say something else, not where their dates have changed.
STATED := $(shell cat pyproject.toml constraints.txt | cksum | cut -d ' ' -f 1)

# Byte code is kept, wherever the environment says otherwise: many tests start processes, which import what is compiled.
unexport PYTHONDONTWRITEBYTECODE

DEMO := --data breast_cancer --nu 0.1 --columns 100 --backends interior,highs,cvxpy:clarabel,cvxpy:scs --time-limit 5

# The oldest versions that pyproject.toml allows, in an environment of their own, and what is tried with them: a file of
# tests for each package. Old libraries call each other by names that newer ones call deprecated.
OLDEST := build/oldest
OLDEST_TOOLS := beartype|hypothesis|jaxtyping|markdown-it-py|pytest|pytest-xdist
OLDEST_TESTS := $(addprefix tests/, \
  backends/test_conformance.py backends/test_isolated.py boosting/test_standstill.py \
  boosting_certificates/test_certificate.py checks/test_check_command.py ensembles/test_ensembles_found.py \
  estimators/test_margin_boost_found.py cli/test_fit_command.py comparison/test_printing.py \
  comparison/test_tables.py conic_programs/test_exact_optimum.py conic_programs/test_readers.py data/test_answers.py programs/cvxpy_functions/test_described_edges.py \
  errata/test_errata_dynamics.py exporting/test_programs_exported.py functions/formulas/test_formula_twins.py \
  formulations/test_lpboost.py instances/test_drawn.py programs/cvxpy_functions/test_kinked_expressions.py \
  ensembles/model_certification/test_certify_model.py oracles/test_rbf.py oracles/test_stumps.py \
  pictures/test_margins_drawn.py problem_certificates/test_problem_reader.py programs/test_formulation.py programs/cvxpy_functions/test_described.py \
  reporting/test_report_pages.py rows/test_coding.py solving/test_solving.py typesetting/test_typesetting.py \
  verification/test_exact.py)

# The open solvers that CVXPY can call, in an environment of their own: what is asked of each is tried there, and the
# atlas made.
SOLVERS := build/solvers
ATLAS := clarabel scs ecos osqp highs piqp qoco proxqp
SOLVERS_TOOLS := beartype|hypothesis|jaxtyping|pytest|pytest-xdist

# What builds, checks and installs a release, in an environment of its own.
DIST := build/dist

# Pandoc and typst, which build the paper, in an environment of their own.
PAPER := build/paper/tools

.PHONY: demo test test-part test-all environment docs-environment oldest-environment solvers-environment browser oldest solvers lint types bench bench-quick ida evidence evidence-quick atlas wheel dist docs docs-quick docs-part paper notebooks lab clean

demo: $(VENV)/.runtime-$(STATED)
	$(BIN)/boostopt compare lpboost $(DEMO)
	$(BIN)/boostopt compare erlpboost --eta 1000 $(DEMO)

test: $(VENV)/.dev-$(STATED)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# What is done in turn: another part with every commit, or PART=3.
PART ?= $(or $(shell git rev-list --count HEAD 2>/dev/null),0)

# A thirtieth of the thorough suite.
test-part: export BOOSTOPT_PART = $(PART)/30
test-part: test-all

test-all: $(VENV)/.dev-$(STATED)
	OPENBLAS_NUM_THREADS=1 BOOSTOPT_TESTS=all $(BIN)/python -m pytest -n 2 --dist worksteal -m "not untyped" \
	  --jaxtyping-packages=boostopt,typechecker.check
	OPENBLAS_NUM_THREADS=1 BOOSTOPT_TESTS=all $(BIN)/python -m pytest -n 2 --dist worksteal -m untyped \
	  $$(grep -rl --include='*.py' mark.untyped tests)

environment: $(VENV)/.dev-$(STATED)
docs-environment: $(VENV)/.docs-$(STATED)
oldest-environment: $(OLDEST)/.made-$(STATED)
solvers-environment: $(SOLVERS)/.made-$(STATED)

# Reports in Chromium, on a desktop, on a phone and on paper.
browser: $(VENV)/.dev-$(STATED)
	BOOSTOPT_TESTS=all $(BIN)/python -m pytest -n 2 --dist worksteal -o addopts=-rs tests/reporting/test_in_a_browser.py

oldest: $(OLDEST)/.made-$(STATED)
	$(OLDEST)/bin/boostopt --help > build/help.txt
	$(OLDEST)/bin/boostopt compare lpboost $(DEMO)
	OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n 2 --dist worksteal -m "not thorough" -o addopts=-rs \
	  -W ignore::DeprecationWarning $(OLDEST_TESTS)

solvers: $(SOLVERS)/.made-$(STATED)
	OPENBLAS_NUM_THREADS=1 $(SOLVERS)/bin/python -m pytest -n 2 --dist worksteal -o addopts=-rs \
	  tests/solving/test_asked_accuracies.py tests/solving/test_profiles.py tests/rows/test_compiled_loops.py

lint: $(VENV)/.dev-$(STATED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev-$(STATED)
	$(BIN)/pyright
	$(BIN)/python tools/check_types.py

bench: $(VENV)/.dev-$(STATED)
	$(BIN)/python benchmarks/run.py --json build/bench.json

bench-quick: $(VENV)/.dev-$(STATED)
	$(BIN)/python benchmarks/run.py --quick

ida: $(VENV)/.dev-$(STATED)
	@mkdir -p build
	$(BIN)/python benchmarks/ida.py --resume build/ida.jsonl --table docs/ida.md

evidence: $(VENV)/.dev-$(STATED)
	$(BIN)/python benchmarks/evidence

# All experiments at reduced size, or EVIDENCE=2/4: every fourth from the one of number 2.
evidence-quick: EVIDENCE ?= 0/1
evidence-quick: $(VENV)/.dev-$(STATED)
	$(BIN)/python benchmarks/evidence --quick --again --part $(EVIDENCE) --pages build/evidence-quick

atlas: $(SOLVERS)/.made-$(STATED) $(VENV)/.dev-$(STATED)
	$(SOLVERS)/bin/python benchmarks/arena.py --entrants interior highs $(addprefix cvxpy:,$(ATLAS)) \
	  --requests 1e-4 1e-6 1e-8 --time-limit 5 --keep build/atlas --to docs/atlas.json.gz
	$(BIN)/python benchmarks/atlas.py

wheel: $(VENV)/.dev-$(STATED)
	$(BIN)/python tools/check_wheel.py

dist: $(DIST)/.made-$(STATED)
	$(DIST)/bin/python tools/check_dist.py

docs: $(VENV)/.docs-$(STATED)
	$(BIN)/python -m sphinx -q -E --fail-on-warning --keep-going -c docs -d build/doctrees . build/docs
	@echo "docs: build/docs/index.html"

docs-quick: $(VENV)/.docs-$(STATED)
	BOOSTOPT_NOTEBOOKS=none $(BIN)/python -m sphinx -q --fail-on-warning --keep-going -c docs -d build/doctrees-quick \
	  -D nb_execution_mode=off . build/docs-quick
	@echo "docs, notebooks as they are: build/docs-quick/docs/index.html"

# All pages; one notebook is run, another one with every commit, and the others are shown with the outputs in their files.
docs-part: $(VENV)/.docs-$(STATED)
	BOOSTOPT_NOTEBOOKS=$(PART) $(BIN)/python -m sphinx -q -E --fail-on-warning --keep-going -c docs \
	  -d build/doctrees-part . build/docs-part

# The paper as PDF, build/paper/paper.pdf.
paper: $(PAPER)/.made-$(STATED)
	$(PAPER)/bin/python docs/paper/build.py
	@echo "paper: build/paper/paper.pdf"

# NOTEBOOK=quickstart makes one of them, TEXT=yes takes over text alone and runs nothing.
notebooks: $(VENV)/.docs-$(STATED)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/notebook_files.py $(if $(TEXT),--text) $(NOTEBOOK)

lab: $(VENV)/.lab-$(STATED)
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks

clean:
	rm -rf $(VENV) build dist boostopt.egg-info docs/evidence/*.md docs/evidence/*.svg docs/formulations docs/notebooks docs/reference

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("boostopt needs Python 3.11 or newer; " + \
	  sys.executable + " is " + sys.version.split()[0] + ". Run: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv --clear $(VENV)
	$(if $(filter uv,$(INSTALLER)),$(call PIP,$(VENV)) uv)
	@touch $@

$(VENV)/.runtime-$(STATED): | $(VENV)/.python
	$(call INSTALL,$(VENV)) --editable .
	@touch $@

$(VENV)/.dev-$(STATED): | $(VENV)/.python
	$(call INSTALL,$(VENV)) --editable '.[dev]'
	@touch $(VENV)/.runtime-$(STATED) $@

$(VENV)/.docs-$(STATED): $(VENV)/.runtime-$(STATED)
	$(call INSTALL,$(VENV)) --editable '.[docs]'
	@touch $@

$(VENV)/.lab-$(STATED): $(VENV)/.docs-$(STATED)
	$(call INSTALL,$(VENV)) --editable '.[lab]'
	@touch $@

$(OLDEST)/.made-$(STATED):
	$(PYTHON) -m venv --clear $(OLDEST)
	$(call PIP,$(OLDEST)) uv
	$(OLDEST)/bin/uv pip compile --quiet --python $(OLDEST)/bin/python --only-binary :all: \
	  --resolution lowest-direct --no-header --no-annotate --extra formulas --extra report \
	  pyproject.toml > build/oldest.txt
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --requirement build/oldest.txt \
	  $$(grep -E '^($(OLDEST_TOOLS))==' constraints.txt)
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --no-deps --editable .
	@touch $@

$(SOLVERS)/.made-$(STATED):
	$(PYTHON) -m venv --clear $(SOLVERS)
	$(if $(filter uv,$(INSTALLER)),$(call PIP,$(SOLVERS)) uv)
	$(call INSTALL,$(SOLVERS)) --editable '.[fast,solvers]' $$(grep -E '^($(SOLVERS_TOOLS))==' constraints.txt)
	@touch $@

$(DIST)/.made-$(STATED):
	$(PYTHON) -m venv --clear $(DIST)
	$(call PIP,$(DIST)) build twine pipx uv
	@touch $@

$(PAPER)/.made-$(STATED):
	$(PYTHON) -m venv --clear $(PAPER)
	$(call PIP,$(PAPER)) pypandoc_binary typst
	@touch $@
