"""polysched/config/machine.py: what is known of the processor."""

from __future__ import annotations

from pathlib import Path

import pytest

import polysched as ps
from polysched.config import machine as module
from polysched.config.machine import INSTRUCTIONS, Machine, machine
from polysched.model.instructions.dots import DOTS


def test_this_machine_is_plausible_and_asked_once():
    found = machine()
    assert found.vector_bytes in (16, 32, 64)
    assert found.vector_registers in (16, 32)
    assert 0 < found.l1 <= found.l2
    assert found.cores >= 1
    assert machine() is found


@pytest.mark.parametrize(
    ("processor", "cpuinfo", "expected"),
    [
        ("x86_64", "flags : sse2 avx2 avx512f", (64, 32)),
        ("x86_64", "flags : sse2 avx avx2", (32, 16)),
        ("x86_64", "flags : sse2", (16, 16)),
        ("x86_64", "", (32, 16)),
        ("aarch64", "", (16, 32)),
        ("arm64", "", (16, 32)),
    ],
)
def test_vectors_are_told_by_the_processors_features(monkeypatch, processor, cpuinfo, expected):
    monkeypatch.setattr(module.platform, "machine", lambda: processor)
    monkeypatch.setattr(module, "_read", lambda path: cpuinfo)
    machine.cache_clear()
    found = machine()
    machine.cache_clear()
    assert (found.vector_bytes, found.vector_registers) == expected


@pytest.mark.parametrize(
    ("flags", "expected"), [("avx512f avx512_vnni", True), ("avx2 avx_vnni", True), ("avx512f", False), ("", False)]
)
def test_whether_there_is_vnni(monkeypatch, flags, expected):
    monkeypatch.setattr(module.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(module, "_read", lambda path: f"flags : {flags}")
    machine.cache_clear()
    found = machine()
    machine.cache_clear()
    assert ("vpdpbusd" in found.instructions) == expected


def test_the_instructions_that_a_machine_names():
    assert {dot.name for dot in DOTS if dot.is_named} == {*INSTRUCTIONS}


@pytest.mark.parametrize("instructions", ["vpdpbusd", ["vpdpbusd"], ("vpdpwssd",), None, 3])
def test_instructions_are_a_tuple_of_names(instructions):
    with pytest.raises(ps.InputError, match="but are a tuple of names out of 'vpdpbusd'"):
        Machine(instructions=instructions)


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """Makes the files in which Linux describes caches: (level, type, size) each."""

    def make(*described: tuple[int, str, str]) -> None:
        for k, (level, kind, size) in enumerate(described):
            folder = tmp_path / f"index{k}"
            folder.mkdir()
            for name, text in (("level", str(level)), ("type", kind), ("size", size)):
                (folder / name).write_text(f"{text}\n")

    monkeypatch.setattr(module, "Path", lambda path: tmp_path if str(path).startswith("/sys") else Path(path))
    machine.cache_clear()
    yield make
    machine.cache_clear()


def test_caches_for_data_are_told_by_the_system(caches):
    caches((1, "Instruction", "64K"), (1, "Data", "48K"), (2, "Unified", "2048K"), (3, "Unified", "32768K"))
    found = machine()
    assert (found.l1, found.l2, found.l3) == (48 << 10, 2 << 20, 32 << 20)


def test_what_the_system_does_not_tell_has_defaults(caches):
    caches((1, "Data", "unknown"), (2, "Instruction", "64K"))
    found = machine()
    assert (found.l1, found.l2, found.l3) == (Machine.l1, Machine.l2, Machine.l3)
