# ruff: noqa: F821, UP037
"""The recipes of CONTRIBUTING.md, applied to a copy of polysched, where they do what they say.

A ```python block makes the file that its first line names, or extends it (`>>`). A ```diff block changes files: what it
removes or leaves as it is stands there once. Functions called `edit_...`, `pass_...`, `target_...` or `instruction_...`
are tests that run in the copy alone, beside those of ours that hold what is added.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from shutil import copytree

import edits
import numpy as np
import pytest
from nests import arguments_for, assert_same_outcome
from tensor_products import Tiles, by_hand, product, product_for, whole_numbers

import polysched as ps
from polysched.model.instructions.mma import INSTRUCTIONS
from polysched.runtime.emulated.emulate import emulate
from tests.codegen import soundness
from tests.model.instructions.test_fragments import place
from tests.test_layers import faults

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = ("edit", "pass", "target", "instruction")
HOLDING = (
    "tests/test_edits_table.py",
    "tests/test_layers.py::test_a_folder_has_at_most_fifteen_files",
    "tests/model/instructions/test_fragments.py::test_a_fragment_has_each_element_of_its_tile_once",
    "tests/model/instructions/test_fragments.py::test_what_an_instruction_is_called",
)


def test_the_recipes_do_what_they_say(tmp_path: Path) -> None:
    copy_of_ours(tmp_path)
    files = [file for name in RECIPES for file in apply(recipe(name), tmp_path)]
    here = [f"tests/site/test_contributing.py::{name}" for name in globals() if name.partition("_")[0] in RECIPES]
    functions = " ".join(f"{prefix}_*" for prefix in ("test", *RECIPES))
    options = ("-q", "-p", "no:cacheprovider", "-o", f"python_functions={functions}")
    run(tmp_path, "pytest", *options, *here, *HOLDING)
    own = [file for file in files if file.startswith("polysched/")]
    assert [fault for file in own for fault in faults(ROOT / file, (tmp_path / file).read_text())] == []
    run(tmp_path, "ruff", "check", "--no-cache", *(file for file in files if file.endswith(".py")))


def test_a_block_that_fits_its_file_no_more_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import b\n\nx = 1\n")
    apply("```diff\n--- a.py\n+import a\n x = 1\n+y = 2\n```\n", tmp_path)
    assert (tmp_path / "a.py").read_text() == "import a\nimport b\n\nx = 1\ny = 2\n"
    with pytest.raises(AssertionError, match=r"a\.py has this 0 times, not once:\s+x = 2"):
        apply("```diff\n--- a.py\n x = 2\n+y = 2\n```\n", tmp_path)


def test_every_recipe_is_tried() -> None:
    assert tuple(re.findall(r"^## Add an? (\w+)$", TEXT, re.MULTILINE)) == RECIPES
    lines = TEXT.splitlines()
    assert 100 <= len(lines) <= 200
    assert [line for line in lines if len(line) > 120] == []


@pytest.mark.parametrize("link", sorted({*re.findall(r"\]\(([^)]+)\)", TEXT)}))
def test_links_lead_somewhere(link: str) -> None:
    path, _, anchor = link.partition("#")
    titles = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.MULTILINE)
    assert not anchor or anchor in [title.lower().replace(" ", "-") for title in titles]


@pytest.mark.parametrize("named", sorted({*re.findall(r"`([\w/]+/(?:\w+\.\w+)?)`", TEXT)}))
def test_files_that_are_named_are_there(named: str) -> None:
    """Of edits, the folder above is left out."""
    places = (ROOT, ROOT / "polysched", ROOT / "polysched/transform")
    assert named.startswith("build/") or any((folder / named).exists() for folder in places)


# --- what the blocks say


def recipe(name: str) -> str:
    (found,) = re.findall(rf"^## Add an? {name}\n(.*?)^## ", TEXT, re.MULTILINE | re.DOTALL)
    return found


def copy_of_ours(copy: Path) -> None:
    """Links to all files, which `write` does not follow."""
    for name in ("polysched", "tests", "docs"):
        copytree(ROOT / name, copy / name, copy_function=os.symlink)
    for name in ("CONTRIBUTING.md", "conftest.py", "setup.cfg", "ruff.toml"):
        (copy / name).symlink_to(ROOT / name)


def run(copy: Path, *command: str) -> None:
    environment = os.environ | {"POLYSCHED_RESULTS": "off", "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=copy, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def apply(text: str, copy: Path) -> list[str]:
    """The files that the blocks of the text make or change, once they have."""
    files: list[str] = []
    for kind, block in re.findall(r"^```(python|diff)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if kind == "python":
            found = re.match(r"# (>> )?(\S+)\n", block)
            assert found, f"a block names no file:\n{block}"
            code = block[found.end() :]
            write(copy / found[2], (copy / found[2]).read_text() + f"\n\n{code}" if found[1] else code)
            files.append(found[2])
            continue
        for part in re.split(r"^--- ", block, flags=re.MULTILINE)[1:]:
            name, _, lines = part.partition("\n")
            for hunk in hunks(lines.splitlines()):
                write(copy / name, patched((copy / name).read_text(), hunk, name))
            files.append(name)
    return files


def write(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(text)


def hunks(lines: list[str]) -> Iterator[list[str]]:
    """An import is one of its own; else the next one begins where lines that are added end."""
    hunk: list[str] = []
    for line in lines:
        if hunk and (is_import(line) or is_import(hunk[-1]) or hunk[-1][0] == "+" != line[0]):
            yield hunk
            hunk = []
        hunk.append(line)
    yield hunk


def is_import(line: str) -> bool:
    return line.startswith(("+from ", "+import "))


def patched(text: str, hunk: list[str], name: str) -> str:
    if is_import(hunk[0]):
        return with_import(text, hunk[0][1:])
    before, after = ("".join(f"{line[1:]}\n" for line in hunk if line[0] in signs) for signs in (" -", " +"))
    times = f"\n{text}".count(f"\n{before}")
    assert times == 1, f"{name} has this {times} times, not once:\n{before}"
    return f"\n{text}".replace(f"\n{before}", f"\n{after}")[1:]


def with_import(text: str, line: str) -> str:
    """Where the alphabet has it among our imports, or among those of others."""
    lines, ours = text.splitlines(), "polysched" in line
    alike = [k for k, each in enumerate(lines) if re.match("from |import ", each) and ("polysched" in each) == ours]
    at = next((k for k in alike if lines[k] > line), alike[-1] + 1)
    return "\n".join([*lines[:at], line, *lines[at:], ""])


# --- in the copy


@ps.nest
def counted(a: ps.i64["n + 1", "m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            a[i + 1, j] = a[i, j] + j


@ps.nest
def two_sides(y: ps.f64["n"], x: ps.f64["n"], n: ps.size):
    for i in range(n):
        if not (x[i] < 0.5):
            y[i] = x[i]
        else:
            y[i] = -x[i]


@ps.nest
def doubles(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


def edit_of_loops_that_carry_nothing() -> None:
    schedule = ps.Schedule(counted).backwards("j")
    done = ps.optimize(counted, schedule=schedule)
    assert "[S[i, j] -> -j]" in str(done.tree) and schedule.script.endswith('.backwards("j")\n)')
    assert ps.Schedule.from_json(counted, schedule.to_json()).draft.nested == schedule.draft.nested
    done.verify(n=3, m=4)


def edit_that_breaks_a_dependence() -> None:
    witness = r"backwards\(i, j\): flow .* S\[i=0, j=0\] must run before S\[i=1, j=0\]"
    with pytest.raises(ps.IllegalSchedule, match=witness):
        ps.Schedule(counted).backwards("i", "j")
    with pytest.raises(ps.InputError, match="there is no loop 'k'"):
        ps.Schedule(counted).backwards("k")


def edit_of_random_nests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "EDITS", {"backwards": edits.EDITS["backwards"]})
    tally = edits.Tally()
    for seed in range(10):
        edits.check_random_edits(seed, tally, most=1)
    assert tally.made["backwards"] and tally.illegal["backwards"]


def pass_before_and_after() -> None:
    without_negations = import_module("polysched.codegen.expr.negations").without_negations
    before = two_sides.function
    after = without_negations(before)
    assert "if !(x[i] < 0.5):" in str(before) and "if x[i] < 0.5:" in str(after)
    assert without_negations(after) is after
    assert_same_outcome(before, after, arguments_for(before, random.Random(0), n=9))


def pass_in_the_stage() -> None:
    done = ps.optimize(two_sides)
    assert "negations" in [event.name for event in done.events if event.changed]
    assert "if (x[c0] < 0.5) {" in done.source.text
    done.verify(n=9)


def pass_on_random_programs() -> None:
    changed = 0
    for seed in range(30):
        case = soundness.case(seed, "negations")
        changed += soundness.check(case) is not case.fn
    assert changed


def target_prints_its_words() -> None:
    options = ps.Options(double_buffer=True, register_tiles=False, tensor="off")
    cuda, volta = (ps.optimize(doubles, target, options=options) for target in ("cuda", "volta"))
    assert "__pipeline" in cuda.source.text and "__pipeline" not in volta.source.text
    assert "__global__" in volta.source.text and "CUDA for Volta" in repr(volta)
    require_product(volta, n=20)


def target_that_is_not_called() -> None:
    with pytest.raises(ps.LaunchError, match="not launched"):
        ps.optimize(two_sides, "volta")(y=np.zeros(3), x=np.zeros(3))


def instruction_as_in_the_ptx_isa() -> None:
    of = INSTRUCTIONS["mma.m16n8k4.f64"]
    assert of.registers == (2, 1, 4)
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for i in range(2):
            assert place(of.left.elements, lane=lane, r=i) == (group + 8 * i, thread)
        assert place(of.right.elements, lane=lane, r=0) == (thread, group)
        for i in range(4):
            assert place(of.sums, lane=lane, r=i) == (group if i < 2 else group + 8, thread * 2 + (i & 1))


def instruction_in_a_product() -> None:
    tiles = Tiles(32, 32, 8, 16, 16, 2, "mma.m16n8k4.f64")
    nest = product_for(tiles.instruction, "nn")
    done = ps.optimize(nest, "cuda", schedule=by_hand(nest, tiles))
    assert "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}," in done.source.text
    for sizes in ({"n": 40, "m": 48, "d": 20}, {"n": 33, "m": 17, "d": 7}):
        require_product(done, **sizes)


def require_product(done: ps.Compiled, **sizes: int) -> None:
    """On the CPU, the kernels give what NumPy does, bit for bit."""
    arguments = whole_numbers(done.nest, **sizes)
    wanted = product("nn", **arguments)
    emulate(done.source, done.nest)(**arguments)
    np.testing.assert_array_equal(arguments["C"], wanted, strict=True)
