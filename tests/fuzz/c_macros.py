"""What `polysched opt` writes, compiled with other -D than it was read with: the same results, or our #error."""

from __future__ import annotations

import random
import subprocess
import tempfile
from pathlib import Path

from polysched.errors import PolyschedError
from polysched.frontend.c.read import read_c
from polysched.opt import rewrite
from tests.fuzz.macro_programs import flags, program
from tests.fuzz.outcome import Refused

ELSE = "\n    } else {\n"  # of a region's own text, which is not indented
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
    out = rewrite(file.read_bytes(), read_c(file, define=define), always=True)
    path = file.with_name("opt.c")
    path.write_bytes(out.text)
    return path


def check(file: Path, read: list[str], builds: list[list[str]]) -> tuple[int, int]:
    """How many builds were right, and how many failed with our words; Refused if the file is not compiled at all."""
    if ran(file, read) is None:
        raise Refused("gcc does not take it")
    try:
        new = optimized(file, read)
    except PolyschedError as error:
        raise Refused(str(error)) from error
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


def check_macros(seed: int) -> None:
    """A random file, read with some flags, and built with four others."""
    rng = random.Random(seed)
    text, headers = program(rng)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"file.c": text, **headers}.items():
            Path(folder, name).write_text(content)
        check(Path(folder, "file.c"), flags(rng) if rng.random() < 0.3 else [], [flags(rng) for _ in range(4)])
