"""The table of edits in docs/schedules.md, and the edits' docstrings, are what the registry says."""

from __future__ import annotations

import inspect
import re
from inspect import Parameter
from pathlib import Path

import pytest

import polysched.strategy
from polysched import Schedule
from polysched.prelude.edits import NEST_EDITS
from polysched.transform.edits.base.registry import EDITS, EditKind

DOCS = Path(__file__).parents[1].joinpath("docs/schedules.md").read_text()


def table() -> str:
    """A line for each edit, in the order in which Schedule has them."""
    rows = ["| edit | loops | checked | gives |", "|---|---|---|---|"]
    for kind in (EDITS[name] for name in vars(Schedule) if name in EDITS):
        shape = f"`{kind.shape}`" if kind.shape else ""
        rows.append(f"| `{called(kind)}` | {shape} | {kind.legality} | {kind.summary} |")
    return "\n".join(rows)


def called(kind: EditKind) -> str:
    plain = (p.replace(annotation=Parameter.empty) for p in kind.signature.parameters.values())
    return f"{kind.name}({', '.join(str(p).replace(chr(39), chr(34)) for p in plain)})"


def test_the_table_is_what_the_registry_gives():
    assert table() in DOCS, f"docs/schedules.md needs this table:\n{table()}"


def test_every_edit_is_a_method_with_its_signature_and_docstring():
    assert EDITS.keys() <= vars(Schedule).keys()
    for name, kind in EDITS.items():
        method = getattr(Schedule, name)
        assert str(inspect.signature(method)) == f"(self, {str(kind.signature)[1:].rpartition(' -> ')[0]} -> 'Schedule'"
        assert method.__doc__ == kind.apply.__doc__ and method.__qualname__ == f"Schedule.{name}"


@pytest.mark.parametrize("name", EDITS)
def test_a_docstring_says_what_is_raised_and_shows_before_and_after(name):
    text = inspect.getdoc(EDITS[name].apply)
    first, *rest = text.split("\n\n")
    assert first.endswith(".") and len(first) <= 120 and "\n" not in first
    shown = [line for line in rest[-1].splitlines() if line.startswith("    ")]
    assert 1 <= len(shown) <= 6 and any("->" in line for line in shown) and f"{name}(" in rest[-1]
    assert re.search(r"InputError|IllegalSchedule|raises what|always legal", text)
    parameters = EDITS[name].signature.parameters.keys()
    assert "names" not in parameters or "`names`" in text


def test_all_decisions_and_edits_of_nests_have_a_row():
    strategies = "".join(path.read_text() for path in Path(polysched.strategy.__path__[0]).rglob("*.py"))
    keys = set(re.findall(r'(?:pick|says|size)\(\s*f"(\w+)\.', strategies))
    assert len(keys) > 20
    assert [key for key in sorted(keys) if f"`{key}." not in DOCS] == []
    assert [name for name in NEST_EDITS if f"`{name}`" not in DOCS] == []
