"""What a user sees of the package: names, and types as a strict type checker takes them."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import polysched as ps

ROOT = Path(__file__).parents[1]


def test_dir_holds_the_public_names_alone():
    assert dir(ps) == sorted(ps.__all__)
    assert all(hasattr(ps, name) for name in ps.__all__)
    assert not any(type(getattr(ps, name)).__name__ == "module" for name in ps.__all__)


def test_parts_of_the_package_are_imported_as_ever():
    assert importlib.import_module("polysched.schedule.schedule").Schedule is ps.Schedule
    assert importlib.import_module("polysched.operators") is ps.operators


def test_what_is_not_used_is_not_loaded():
    parts = ["numpy", "islpy", "scipy", "highspy", "clang", "onnx"]
    parts += [f"polysched.{unit}" for unit in ("codegen", "runtime", "check", "networks", "cli")]
    program = f"""
import sys
import polysched as ps

def loaded():
    return [name for name in {parts} if name in sys.modules]

print(loaded())
ps.nest, ps.f64, ps.size
print(loaded())
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['numpy', 'islpy']"]


def test_a_name_stays_itself_where_its_module_is_called_alike():
    program = "import polysched.counts, polysched as ps; print(type(ps.counts).__name__)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "function\n"


def test_the_version_is_known():
    assert re.fullmatch(r"\d+\.\d+\.\d+", ps.__version__)


def strict(text: str, folder: Path) -> str:
    """What mypy --strict says of a text."""
    file = folder / "user.py"
    file.write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", ".mypy_cache/strict"]
    done = subprocess.run([*command, str(file)], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_example_of_the_readme_has_types(tmp_path: Path):
    code = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[0]
    assert strict(code, tmp_path).startswith("Success: no issues found in 1 source file")
    known = strict(code + USES, tmp_path)
    assert [re.sub(r"^.*?(note|error): ", "", line) for line in known.splitlines()[:-1]] == [
        'Revealed type is "polysched.frontend.python.Nest"',
        'Revealed type is "polysched.schedule.schedule.Schedule"',
        'Revealed type is "polysched.results.compiled.Compiled"',
        'Argument "tail" has incompatible type "Literal[\'cat\']"; '
        "expected \"Literal['cut', 'guard', 'exact']\"  [arg-type]",
    ]


USES = """
reveal_type(smooth)
reveal_type(ps.Schedule(smooth).skew("i", by="t").tile("t", "i", sizes=(8, 16)))
reveal_type(done)
ps.Schedule(smooth).split("i", 4, tail="cat")
"""
