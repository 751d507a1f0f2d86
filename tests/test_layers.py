"""The layers of docs/architecture.md: imports point downward only, and stand at the top of their file."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "polysched"

# From the top down; units on one line do not import each other.
LAYERS = [
    ["__main__"],
    ["cli"],
    ["networks"],
    ["opt"],
    ["pipeline"],
    ["results"],
    ["schedule", "targets", "check", "counts"],
    ["plan", "runtime"],
    ["codegen"],
    ["strategy", "prelude", "explain"],
    ["solve", "transform", "plot"],
    ["operators"],
    ["deps", "frontend"],
    ["model", "cost"],
    ["ir", "config"],
    ["support"],
    ["errors"],
]
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}


@cache
def imports(source: str) -> tuple[tuple[int, str, str], ...]:
    """The line, the name and the function around it, if any, of all that a file imports."""
    return tuple(_imports(ast.parse(source), ""))


def _imports(node: ast.AST, function: str) -> Iterator[tuple[int, str, str]]:
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name, function) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((node.lineno, f"{node.module}.{alias.name}", function) for alias in node.names)
    elif not isinstance(node, ast.expr):
        inside = node.name if isinstance(node, ast.FunctionDef) else function
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, inside)


def faults(path: Path, source: str) -> Iterator[str]:
    """What breaks the rules in one file, by line."""
    unit = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for line, name, function in imports(source):
        target = [*name.split("."), ""][1]
        if function:
            yield f"{path.name}:{line}: import inside {function}"
        if name.split(".")[0] == "polysched" and target in LEVEL and target != unit:
            if LEVEL[target] == LEVEL[unit]:
                yield f"{path.name}:{line}: {unit} and {target} stand on one layer"
            elif LEVEL[target] < LEVEL[unit]:
                yield f"{path.name}:{line}: {unit} imports {target}, which is above it"


def files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def test_every_unit_has_a_layer():
    units = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in files()}
    assert units == set(LEVEL)


def test_imports_point_downward():
    assert [fault for path in files() for fault in faults(path, path.read_text())] == []


def test_only_one_file_imports_islpy():
    assert [p.name for p in files() if "islpy" in "".join(_all_imports(p))] == ["isl.py"]


def test_a_folder_has_at_most_fifteen_files():
    """More means that two ideas live there."""
    assert [place for place, count in Counter(path.parent for path in files()).items() if count > 15] == []


def test_edits_of_a_nest_ask_for_no_target_or_option():
    """Only who chooses them does, so that a replay gives the same everywhere."""
    asking = [
        str(path.relative_to(PACKAGE / "prelude"))
        for path in files()
        if path.is_relative_to(PACKAGE / "prelude")
        and any(name.startswith(("polysched.config.target", "polysched.config.options")) for name in _all_imports(path))
    ]
    assert asking == ["choose.py", "padding/choice.py"]


def _all_imports(path: Path) -> Iterator[str]:
    return (name for _, name, _ in imports(path.read_text()))


@pytest.mark.parametrize(
    ("unit", "source", "fault"),
    [
        ("ir/text.py", "from polysched.model.scop import Scop", "text.py:1: ir imports model, which is above it"),
        ("ir/text.py", "import polysched.cli", "text.py:1: ir imports cli, which is above it"),
        ("solve/cost.py", "from polysched import transform", "cost.py:1: solve and transform stand on one layer"),
        ("ir/text.py", "def f():\n    import os", "text.py:2: import inside f"),
    ],
)
def test_a_planted_fault_is_found(unit, source, fault):
    assert list(faults(PACKAGE / unit, source)) == [fault]


def test_what_points_downward_is_no_fault():
    assert list(faults(PACKAGE / "model/scop.py", "from polysched.ir.nodes import Array")) == []
