import ctypes
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.cli import main
from polysched.errors import ToolchainError
from polysched.runtime import toolchain
from polysched.runtime.toolchain import (
    C_FLAGS,
    COPIES_AS_LOOPS,
    ROUND_EACH,
    c_flags,
    compile_shared,
    find_compiler,
)

# ruff: noqa: F821
ROOT = Path(__file__).parents[2]


def test_a_text_becomes_a_library():
    library = ctypes.CDLL(str(compile_shared("int three(void) { return 3; }\n", "three")))
    assert library.three() == 3


def test_an_error_shows_the_command_the_message_and_the_line():
    with pytest.raises(ToolchainError) as error:
        compile_shared("int f(void)\n{\n    return wrong;\n}\n", "f")
    message = str(error.value)
    assert "the compiler failed: " in message and " -O3 " in message
    assert "'wrong' undeclared" in message or "undeclared identifier 'wrong'" in message
    assert message.endswith("line 3 of f.c: return wrong;")


def test_the_variable_of_ours_comes_before_cc(monkeypatch):
    usual = find_compiler().command
    monkeypatch.setenv("CC", "/nowhere/cc")
    monkeypatch.setenv("POLYSCHED_CC", " ".join([*usual, "-g0"]))
    assert find_compiler().command == (*usual, "-g0")


def test_a_compiler_that_does_not_run_is_named(monkeypatch):
    monkeypatch.setenv("POLYSCHED_CC", "/nowhere/cc -m64")
    with pytest.raises(ToolchainError, match="POLYSCHED_CC=/nowhere/cc -m64 is no compiler that runs"):
        find_compiler()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ('gcc "-O2', "No closing quotation"),
        ("/", "Permission denied|Is a directory"),
        ("false", "exit status 1"),
        ("no-such-compiler -O2", "No such file"),
    ],
)
def test_a_command_that_is_wrong_is_named_in_one_line(monkeypatch, command, why):
    monkeypatch.setenv("POLYSCHED_CC", command)
    with pytest.raises(ToolchainError, match=why) as error:
        compile_shared("int one(void) { return 1; }\n", "one")
    assert str(error.value).startswith(f"POLYSCHED_CC={command} is no compiler that runs: ")
    assert "\n" not in str(error.value)


def test_a_program_that_makes_no_file_is_named(monkeypatch):
    monkeypatch.setenv("POLYSCHED_CC", "true")
    with pytest.raises(ToolchainError, match=r"the compiler has made no file: .*true"):
        compile_shared("int one(void) { return 1; }\n", "one")


def test_a_compiler_may_be_named_by_a_relative_path(monkeypatch, tmp_path):
    (tmp_path / "mine").symlink_to(shutil.which("cc"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYSCHED_CC", "./mine")
    assert ctypes.CDLL(str(compile_shared("int two(void) { return 2; }\n", "two"))).two() == 2


def _forget() -> None:
    for function in (toolchain._compiler, toolchain._supported, toolchain._is_known, toolchain.has_openmp):
        function.cache_clear()


def test_the_compiler_is_asked_once_by_all_processes(monkeypatch):
    """A second one, here without what the first has in memory, starts no process; a changed compiler is asked again."""
    text = "int five(void) { return 5; }\n"
    _forget()  # what other tests have asked, with another folder to keep the answers in
    path = compile_shared(text, "five")
    _forget()
    monkeypatch.setattr(toolchain.subprocess, "run", lambda *_, **__: pytest.fail("it was asked again"))
    assert compile_shared(text, "five") == path


def test_a_changed_compiler_is_asked_again(monkeypatch, tmp_path):
    mine = tmp_path / "mine"
    monkeypatch.setenv("POLYSCHED_CC", str(mine))
    for version in ("one", "second"):
        mine.write_text(f"#!/bin/sh\necho {version}\n")
        mine.chmod(0o755)
        toolchain._compiler.cache_clear()
        assert find_compiler().version == version


def test_an_interrupt_while_the_compiler_runs_leaves_nothing(monkeypatch, tmp_path):
    """As Ctrl-C in a terminal, which signals the compiler too."""
    folder, slow = tmp_path / "cache", tmp_path / "slow"
    answers = '*--version*) echo slow; exit;; *" -E "*) exit;;'
    slow.write_text(f'#!/bin/sh\ncase " $* " in {answers} esac\necho >&3\nexec sleep 60 3>&-\n')
    slow.chmod(0o755)
    program = """
import os, sys
from polysched.runtime import toolchain
run = toolchain.subprocess.run
toolchain.subprocess.run = lambda *a, **k: run(*a, **k, pass_fds=[3])
os.dup2(1, 3)
try:
    toolchain.compile_shared("int one(void) { return 1; }", "one")
except KeyboardInterrupt:
    print("interrupted")
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "POLYSCHED_CC": str(slow), "POLYSCHED_CACHE": str(folder)}
    command = [sys.executable, "-c", program]
    run = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert run.stdout.readline() == "\n"
    os.killpg(run.pid, signal.SIGINT)
    assert run.communicate(timeout=30)[0] == "interrupted\n"
    assert not list(folder.glob("polysched-building-*")) and not list(folder.glob("*.so"))


def test_no_compiler_names_the_ways_out(monkeypatch):
    for variable in ("CC", "POLYSCHED_CC"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    ways_out = r"tried cc, gcc, clang\); install gcc, or .* without a compiler by .*interpret"
    with pytest.raises(ToolchainError, match=ways_out):
        find_compiler()


def test_flags_that_the_compiler_does_not_know_are_left_out(monkeypatch, tmp_path):
    picky = tmp_path / "picky"
    picky.write_text(
        f'#!/bin/sh\ncase " $* " in *" {COPIES_AS_LOOPS} "*) echo "unknown argument" >&2; exit 1; esac\nexec cc "$@"\n'
    )
    picky.chmod(0o755)
    monkeypatch.setenv("POLYSCHED_CC", str(picky))
    text = "int seven(void) { return 7; }\n"
    library = ctypes.CDLL(str(compile_shared(text, "seven", flags=(*C_FLAGS, COPIES_AS_LOOPS))))
    assert library.seven() == 7


def test_without_openmp_kernels_run_on_one_thread(monkeypatch, tmp_path, capsys):
    """As by a compiler whose library is missing: it takes the flag, and does not link."""
    lacking = tmp_path / "lacking"
    lacking.write_text('#!/bin/sh\ncase " $* " in *" -fopenmp "*) echo "no libgomp" >&2; exit 1; esac\nexec cc "$@"\n')
    lacking.chmod(0o755)
    monkeypatch.setenv("POLYSCHED_CC", str(lacking))
    assert not toolchain.has_openmp(find_compiler())
    done, a = ps.optimize(doubled), np.ones(1_000_000)
    assert "#pragma omp parallel" in str(done.source)
    done(a=a)
    assert a.min() == a.max() == 2.0
    assert [way for way in done.verify(n=5).ways if way] == ["as it is", "backwards", "in a random order"]
    assert main(["doctor"]) == 0
    assert re.search(r"missing +OpenMP .*\n +the C compiler links no OpenMP", capsys.readouterr().out)


@ps.nest
def doubled(a: ps.f64["n"], n: ps.size):
    for i in range(n):
        a[i] = 2.0 * a[i]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the fault is in instructions of x86")
def test_gcc_12_makes_no_masked_moves_of_f16_that_its_assembler_refuses():
    text = """void f(int n, const _Float16 *restrict x, _Float16 *restrict y) {
  for (int i = 0; i < n; i++) y[i] = x[i] > (_Float16)0 ? x[i] : (_Float16)0;
}
"""
    flags = tuple(flag for flag in C_FLAGS if flag != "-march=native")
    assert compile_shared(text, "positive", flags=(*flags, "-march=sapphirerapids")).exists()


def test_kernels_with_tiles_have_no_calls_for_their_copies():
    assert COPIES_AS_LOOPS in c_flags("    #pragma GCC unroll 8\n")
    assert COPIES_AS_LOOPS not in c_flags("    #pragma omp simd\n")
    assert ROUND_EACH in c_flags("")
    assert ROUND_EACH not in c_flags("", contract=True)
