"""What each step gives is checked with POLYSCHED_VERIFY=1, and is said to have changed only where it has."""

from __future__ import annotations

from dataclasses import replace

import pytest

import polysched as ps
from polysched import pipeline
from polysched.errors import IllegalSchedule
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Function, Load, Store, Var
from polysched.operators.examples import NESTS, gemm
from polysched.strategy import cpu
from polysched.strategy.script import Script


@pytest.fixture(autouse=True)
def each(monkeypatch):
    monkeypatch.setenv("POLYSCHED_VERIFY", "1")
    monkeypatch.setenv("POLYSCHED_RESULTS", "off")


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_what_is_right_passes(target):
    assert "gemm" in ps.optimize(gemm, target).source.text


def test_a_step_that_leaves_a_name_unbound_is_named(monkeypatch):
    def broken(fn: Function) -> Function:
        index = Var("lost"), Var("lost")
        return replace(fn, body=(*fn.body, Store("C", index, Load("A", index, f64))))

    monkeypatch.setattr(pipeline, "without_idle_threads", broken)
    with pytest.raises(AssertionError, match="lost") as failed:
        ps.optimize(gemm)
    assert any("idle threads" in note for note in failed.value.__notes__)


def test_a_step_that_breaks_a_dependence_is_refused(monkeypatch):
    def backwards(script: Script) -> None:
        script.do("reverse", "i")

    @ps.nest
    def scan(n: ps.size, x: ps.f64["n"]) -> None:
        for i in range(1, n):
            x[i] = x[i] + x[i - 1]

    monkeypatch.setattr(cpu, "strides", backwards)
    with pytest.raises(IllegalSchedule):
        ps.optimize(scan)


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("nest", NESTS, ids=lambda it: it.name)
def test_what_is_said_to_have_changed_has(nest, target):
    before: dict[type, object] = {}
    for event in ps.optimize(nest, target).events:
        assert not (event.changed and before.get(type(event.value)) == event.value), event.name
        before[type(event.value)] = event.value
