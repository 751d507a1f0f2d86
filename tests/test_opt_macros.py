"""What `polysched opt` writes is right with other -D and -U too, or does not compile and says why."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from polysched import opt
from polysched.errors import PolyschedError
from polysched.frontend.c.read import read_c
from tests.frontend.macro_programs import flags, program

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
ELSE = "    } else {\n"
OURS = "has another branch in this build: run polysched opt again, with the -D and -U of this build"


def ran(file: Path, given: list[str]) -> str | None:
    """What the program prints; None if gcc refuses it, and the file `complaint` beside it says why."""
    out = file.with_suffix(".out")
    command = ["gcc", "-w", "-O1", "-ffp-contract=off", *given, str(file), "-o", str(out), "-lm"]
    run = subprocess.run(command, capture_output=True, text=True)
    file.with_suffix(".complaint").write_text(run.stderr)
    if run.returncode:
        return None
    run = subprocess.run([str(out)], capture_output=True, text=True)
    return run.stdout + str(run.returncode)


def optimized(file: Path, given: list[str]) -> Path:
    define = [flag[2:] for flag in given]
    out = opt.rewrite(file.read_bytes(), read_c(file, define=define))
    path = file.with_name("opt.c")
    path.write_bytes(out.text)
    return path


def check(file: Path, read: list[str], builds: list[list[str]]) -> tuple[int, int]:
    """How many builds were right, and how many refused with our words; read as None is refused by opt."""
    if ran(file, read) is None:
        return 0, 0
    try:
        new = optimized(file, read)
    except PolyschedError as error:
        assert str(error)
        return 0, 0
    assert ran(new, read) == ran(file, read), read
    if ELSE in new.read_text():
        only_kernel = new.with_name("only_kernel.c")
        only_kernel.write_text(new.read_text().replace(ELSE, ELSE + "__builtin_abort();\n"))
        assert ran(only_kernel, read) == ran(file, read), f"{read}: not the kernel"
    counts = [0, 0]
    for build in builds:
        if (expected := ran(file, build)) is None:
            continue
        got = ran(new, build)
        if got is None:
            assert OURS in new.with_suffix(".complaint").read_text(), build
        else:
            assert got == expected, build
        counts[got is None] += 1
    return counts[0], counts[1]


@pytest.mark.parametrize("seed", range(8))
def test_random_macros(tmp_path, seed):
    rng = random.Random(seed)
    text, headers = program(rng)
    for name, header in {"file.c": text, **headers}.items():
        (tmp_path / name).write_text(header)
    check(tmp_path / "file.c", flags(rng) if rng.random() < 0.3 else [], [flags(rng) for _ in range(4)])
