# make demo: the main job on real nests. make test: lint, types and the tests that protect a change.
# make test-all: the long tests, which CI runs too. All make .venv and install what they need first.

PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q -rs -n logical --dist worksteal

# Tests start many processes, which would compile every module anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all clean

demo: .venv/installed
	$(BIN)/polysched demo

test: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/mypy polysched
	$(PYTEST) -m "not slow"

test-all: .venv/installed
	$(PYTEST) -m slow

.venv/installed: setup.cfg pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

clean:
	rm -rf .venv build *.egg-info
