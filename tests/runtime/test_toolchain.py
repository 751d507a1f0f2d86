import ctypes

import pytest

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


def test_kernels_with_tiles_have_no_calls_for_their_copies():
    assert COPIES_AS_LOOPS in c_flags("    #pragma GCC unroll 8\n")
    assert COPIES_AS_LOOPS not in c_flags("    #pragma omp simd\n")
    assert ROUND_EACH in c_flags("")
    assert ROUND_EACH not in c_flags("", contract=True)
