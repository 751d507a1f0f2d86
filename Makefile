# make demo: the main job on real nests. make test: lint, types and the tests that protect a change.
# make test-all: the long tests, which CI runs too. make docs: the site, in build/docs. All make .venv and install what
# they need first. make bench: the tables of benchmarks/RESULTS.md again; make bench ONLY=stages: some of them.

PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q -rs -n logical --dist worksteal

# Tests start many processes, which would compile every module anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint types quick test-all docs bench clean

demo test lint types quick test-all bench: .venv/installed

demo:
	$(BIN)/polysched demo

test:
	$(MAKE) --no-print-directory --jobs=3 lint types quick

lint:
	$(BIN)/ruff check .

types:
	$(BIN)/mypy polysched

quick:
	$(PYTEST) -m "not slow"

test-all:
	$(PYTEST) -m slow

# What it warns of, as of a link that leads nowhere, fails it.
docs: .venv/docs
	$(BIN)/python -m sphinx -q -W --keep-going -d build/doctrees docs build/docs
	@echo build/docs/index.html

bench:
	$(BIN)/python -m benchmarks $(ONLY)

.venv/docs: .venv/installed
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

.venv/installed: setup.cfg pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

clean:
	rm -rf .venv build *.egg-info
