"""polysched/counts/sass/toolkit.py: what is found where, and what is said if it is not."""

from __future__ import annotations

import pytest

from polysched.counts.sass import toolkit
from polysched.counts.sass.toolkit import Resources, find
from polysched.errors import ToolchainError


def test_what_is_missing_and_how_to_get_it(monkeypatch):
    monkeypatch.setattr(toolkit, "_folders", lambda: iter(["/nowhere"]))
    with pytest.raises(ToolchainError, match=r'no nvdisasm found: pip install "polysched\[inspect\]"'):
        find("nvdisasm")
    with pytest.raises(ToolchainError, match=r"no nvcc found: .* POLYSCHED_NVCC"):
        find("nvcc")


def test_a_program_that_is_named(monkeypatch, tmp_path):
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("POLYSCHED_NVDISASM", str(program))
    assert find("nvdisasm") == str(program)
    monkeypatch.setenv("POLYSCHED_NVDISASM", str(tmp_path / "other"))
    with pytest.raises(ToolchainError, match=r"POLYSCHED_NVDISASM=.*other is no program that runs"):
        find("nvdisasm")


def test_folders_in_order(monkeypatch, tmp_path):
    for name in ("path", "home/bin"):
        (tmp_path / name).mkdir(parents=True)
    tool = tmp_path / "home/bin/nvdisasm"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert find("nvdisasm") == str(tool)


def test_what_ptxas_says():
    said = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1fPd' for 'sm_90'
ptxas info    : Function properties for _Z1fPd
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 8704 bytes smem
ptxas info    : Compiling entry function '_Z1gPd' for 'sm_90'
ptxas info    : Function properties for _Z1gPd
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers
"""
    assert toolkit._resources(said) == {
        "_Z1fPd": Resources(registers=24, spill_stores=8, spill_loads=12, stack=16, shared=8704),
        "_Z1gPd": Resources(registers=10, spill_stores=0, spill_loads=0, stack=0, shared=0),
    }
    assert toolkit._resources("") == {}
