# make demo: the main job on real nests. make test: lint, types and the full test suite.
# Both make .venv and install what they need first.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test clean

demo: .venv/installed
	$(BIN)/polysched demo

test: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/mypy polysched
	$(BIN)/python -m pytest -q -rs

.venv/installed: setup.cfg pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

clean:
	rm -rf .venv build *.egg-info
