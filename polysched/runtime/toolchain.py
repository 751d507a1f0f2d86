"""Compiles a text to a shared library with the system's compiler, through the cache.

    POLYSCHED_CC, CC (for C++: POLYSCHED_CXX, CXX)     a compiler to prefer, options allowed: "ccache gcc"
    cc, gcc, clang   (for C++: c++, g++, clang++)      else the first that is installed
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polysched.errors import ToolchainError
from polysched.runtime.cache import cached, remember, remembered

# Integers wrap, and floats round once per operation; nothing here changes a bit of a result.
ROUND_EACH = "-ffp-contract=off"
EXACT = ("-fwrapv", ROUND_EACH, "-fno-math-errno", "-fno-trapping-math")
THREADS = "-fopenmp"
C_FLAGS = ("-std=gnu11", "-O3", "-march=native", "-mprefer-vector-width=512", THREADS, *EXACT)
# What fast_math allows besides. Not -ffast-math, which assumes that NaN and infinity never occur, and with which, as
# with -funsafe-math-optimizations, gcc before 13 links code that flushes denormals to zero in the whole process.
FAST = (
    "-fassociative-math",  # sums and products in any order, (a + b) - a is b
    "-fno-signed-zeros",  # which it needs: x + 0.0 is x
    "-freciprocal-math",  # x / y is x * (1 / y), as where y stays in a loop
)
COPIES_AS_LOOPS = "-fno-tree-loop-distribute-patterns"
NO_F16_UNIT = "-mno-avx512fp16"  # gcc 12 writes masks to vmovsh that the assembler refuses
LOCALS_AS = "-ftrivial-auto-var-init="  # what variables hold that have no value: "pattern" or "zero"
_SIMD_ALONE = "-fopenmp-simd"
_OPTIONAL = ("-march=native", _SIMD_ALONE, COPIES_AS_LOOPS, NO_F16_UNIT, f"{LOCALS_AS}pattern", f"{LOCALS_AS}zero")

_VARIABLES = {"c": ("POLYSCHED_CC", "CC"), "c++": ("POLYSCHED_CXX", "CXX")}
_COMMANDS = {"c": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
_SUFFIX = {"c": ".c", "c++": ".cpp"}


@dataclass(frozen=True)
class Compiler:
    """A compiler that is installed."""

    command: tuple[str, ...]
    version: str  # the first line of what it says


def find_compiler(language: str = "c") -> Compiler:
    """The compiler for "c" or "c++"; ToolchainError if none is found, or the one asked for does not run."""
    for variable in _VARIABLES[language]:
        named = os.environ.get(variable, "")
        try:
            if command := shlex.split(named):
                program = shutil.which(command[0])  # it will run in a folder of its own
                return _compiler((os.path.abspath(program) if program else command[0], *command[1:]))
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise ToolchainError(f"{variable}={named} is no compiler that runs: {error}") from error
    for name in _COMMANDS[language]:
        if path := shutil.which(name):
            with suppress(OSError, subprocess.SubprocessError):
                return _compiler((path,))
    tried, variable = ", ".join(_COMMANDS[language]), _VARIABLES[language][0]
    raise ToolchainError(
        f"no {language.upper()} compiler found (tried {tried}); install {'gcc' if language == 'c' else 'g++'}, or name "
        f"one in {variable}, or run the nest without a compiler by polysched.interpret"
    )


def c_flags(text: str, *, contract: bool = False, fast_math: bool = False) -> tuple[str, ...]:
    """The flags for a kernel; with `contract`, a * b + c of floats may be rounded once; with `fast_math`, floats are
    reassociated, and divided by through the inverse.

    As calls of memcpy, the last loops of a tile, which is unrolled, would keep it out of registers: gcc 12 has it take
    up to twice as long. Where there is no tile, memset is faster than loops that fill large arrays.
    """
    flags = tuple(flag for flag in C_FLAGS if not (contract and flag == ROUND_EACH)) + FAST * fast_math
    return (*flags, COPIES_AS_LOOPS) if "#pragma GCC unroll" in text else flags


def compile_shared(
    text: str,
    name: str,
    *,
    language: str = "c",
    flags: tuple[str, ...] = C_FLAGS,
    libraries: tuple[str, ...] = ("-lm",),
    ahead: str = "",
) -> Path:
    """A shared library made from `text`, which is called `name` in messages; ToolchainError if it does not compile.
    `ahead` goes before the text, whose lines are counted as if it did not."""
    compiler = find_compiler(language)
    file = re.sub(r"\W", "_", name) + _SUFFIX[language]
    whole = f"{ahead}#line 1\n{text}" if ahead else text
    command = (*compiler.command, *_supported(compiler, flags), "-shared", "-fPIC", file, *libraries)

    def build(output: Path) -> None:
        folder = output.parent.absolute()
        (folder / file).write_text(whole, encoding="utf-8")
        # Plain quotes too, so that messages are the same everywhere; and its own files go away with ours.
        environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}
        try:
            run = _run([*command, "-o", output.name], cwd=folder, env=environment)
        except OSError as error:
            raise ToolchainError(f"the compiler does not run: {shlex.join(command)}: {error}") from error
        if run.returncode != 0:
            raise ToolchainError(failure(shlex.join(command), run.stderr or run.stdout, text, file))
        if not output.exists():
            raise ToolchainError(f"the compiler has made no file: {shlex.join(command)}")

    return cached((whole, *command, compiler.version, processor()), ".so", build)


def failure(command: str, message: str, text: str, file: str) -> str:
    """The command, what the compiler said, and the first line of ours that it complains about, as gcc or nvcc does."""
    parts = [f"the compiler failed: {command}", message.strip("\0\n ")]
    if found := re.search(rf"{re.escape(file)}[:(](\d+)(?::|\):)(?:\d+:)? (?:fatal |catastrophic )?error", message):
        number, lines = int(found[1]), text.splitlines()
        if number <= len(lines):
            parts.append(f"line {number} of {file}: {lines[number - 1].strip()}")
    return "\n".join(parts)


@cache
def _compiler(command: tuple[str, ...]) -> Compiler:
    """The compiler that the command runs: it is asked once, and again when its file has changed."""
    what = ("version", *_identity(command))
    if (known := remembered(what, ".txt")) is not None:
        return Compiler(command, known.decode(errors="replace"))
    run = _run([*command, "--version"], timeout=60)
    run.check_returncode()
    version = run.stdout.partition("\n")[0]
    remember(what, ".txt", version.encode(errors="replace"))
    return Compiler(command, version)


def _identity(command: tuple[str, ...]) -> Iterator[str]:
    """The command, and which files its programs are."""
    for word in command:
        yield word
        with suppress(OSError):
            if path := shutil.which(word):
                found = os.stat(path)
                yield f"{os.path.realpath(path)} {found.st_size} {found.st_mtime_ns} {found.st_ino}"


@cache
def _supported(compiler: Compiler, flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags without the optional ones that the compiler does not know, as -march=native of a new machine."""
    if "clang" not in compiler.version and re.search(r" 12\.\d+\.\d+", compiler.version):
        flags = (*flags, NO_F16_UNIT)
    if THREADS in flags and not has_openmp(compiler):
        flags = tuple(_SIMD_ALONE if flag == THREADS else flag for flag in flags)
    return tuple(flag for flag in flags if flag not in _OPTIONAL or _is_known(compiler, flag))


@cache
def has_openmp(compiler: Compiler) -> bool:
    """Does it link programs with threads? A library may be missing, which kernels then do without: on one thread."""
    with TemporaryDirectory() as folder:
        return _runs(compiler, THREADS, "-shared", "-fPIC", "-x", "c", os.devnull, "-o", str(Path(folder, "empty.so")))


@cache
def _is_known(compiler: Compiler, flag: str) -> bool:
    return _runs(compiler, flag, "-E", "-x", "c", os.devnull, "-o", os.devnull)


def _runs(compiler: Compiler, flag: str, *others: str) -> bool:
    what = ("flag", flag, processor(), *_identity(compiler.command))
    if remembered(what, ".txt") is not None:
        return True
    try:
        is_known = _run([*compiler.command, flag, *others]).returncode == 0
    except OSError:  # the compiler is gone, which its next run will say
        return False
    if is_known:  # a failure may have other causes
        remember(what, ".txt", b"known")
    return is_known


def _run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    given = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "replace", **options}
    return subprocess.run(command, **given)


@cache
def processor() -> str:
    """What -march=native depends on, so that machines can share a cache."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "") or platform.processor()
    model = next((line for line in lines if line.startswith("model name")), "")
    return f"{platform.machine()} {model} {features}"
