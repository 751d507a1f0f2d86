"""`polysched doctor`: each thing is found or missing, with what it is for and what to do."""

from __future__ import annotations

import re

import pytest

from polysched.cli import main
from polysched.errors import ToolchainError
from polysched.runtime.toolchain import find_compiler


def doctor(capsys) -> tuple[int, dict[str, tuple[str, str]]]:
    """Its status, and by thing whether it is found and what is said of it."""
    status = main(["doctor"])
    text = capsys.readouterr().out
    assert re.match(r"polysched \S+ on Python \S+ with numpy \S+, islpy \S+, highspy \S+\n", text)
    things = re.findall(r"^(found|missing) +(.{13}) (.+\n(?: {23}.+\n)+)", text, re.MULTILINE)
    return status, {name.strip(): (is_there, " ".join(about.split())) for is_there, name, about in things}


def test_what_is_here(capsys):
    status, things = doctor(capsys)
    assert status == 0
    assert things["C compiler"] == ("found", f"runs kernels in C {find_compiler().version}")
    assert re.fullmatch(r"runs them on several threads \d+ threads", things["OpenMP"][1])
    assert things["NVIDIA GPU"][0] == "found" or "no NVIDIA driver" in things["NVIDIA GPU"][1]
    assert not any("run it on the CPU" in text for _, text in things.values())


def test_without_a_compiler_the_rest_is_said_too(capsys, monkeypatch):
    monkeypatch.setenv("POLYSCHED_CC", "nothing-like-gcc")
    status, things = doctor(capsys)
    assert status == 1
    for name in ("C compiler", "OpenMP", "vector math"):
        assert things[name][0] == "missing" and "POLYSCHED_CC=nothing-like-gcc is no compiler" in things[name][1]
    with pytest.raises(ToolchainError):
        find_compiler()
    assert things["C++ compiler"][0] == "found"
