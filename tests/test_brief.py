"""At the prompt, each result is one short line; printed, it is what it was."""

import numpy as np
import pytest

import polysched as ps
from polysched.operators.examples import gemm
from polysched.support.brief import short


@ps.op
def row_sums(x: ps.f32["n", 4], by: ps.f32 = 2):
    return x.sum(axis=1) * by


DONE = ps.optimize(gemm)
N = ps.var("n")
A = ps.placeholder((N,), ps.f32, "A")

RESULTS = {
    "Nest": gemm,
    "Function": gemm.function,
    "Op": row_sums,
    "Graph": row_sums.ssa,
    "Tensors": row_sums.tensor,
    "Tensor": ps.compute((N,), lambda i: A[i] + 1, "B"),
    "Value": A[3] + 1,
    "Compiled": DONE,
    "Scop": DONE.scop,
    "Statement": DONE.scop.statements[0],
    "Dependences": DONE.dependences,
    "Dependence": DONE.dependences.pairs[0],
    "Scheduled": DONE.scheduled,
    "Domain": DONE.tree,
    "Source": DONE.source,
    "Event": DONE.events[-1],
    "Schedule": ps.Schedule(gemm).interchange("i", "j"),
    "History": ps.Schedule(gemm).history,
    "Draft": ps.Schedule(gemm).draft,
    "Counts": DONE.counts(),
    "NestCounts": DONE.counts().nests[0],
    "ExpressionReport": DONE.expression_report(),
    "Options": ps.Options(tile=False),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_one_short_line(kind):
    line = repr(RESULTS[kind])
    assert line.startswith(f"<{kind} " if kind != "Options" else "Options(")
    assert "\n" not in line and len(line) <= 130


def test_what_the_lines_say():
    shown = {kind: repr(RESULTS[kind]) for kind in RESULTS}
    assert shown["Nest"].startswith("<Nest gemm(")
    assert shown["Op"] == "<Op row_sums(x: f32[n, 4], by: f32 = 2, out: f32[n], n: size)>"
    assert shown["Compiled"].endswith(": C, schedule by pluto>")
    assert shown["Schedule"] == "<Schedule gemm: loops j, i, k; edits: 1>"
    assert shown["Options"] == "Options(tile=False)"


def test_of_checks():
    done = ps.optimize(row_sums, target="cuda")
    verified = done.verify(n=3)
    report = done.check(x=np.ones((3, 4), np.float32), out=np.ones(3, np.float32))
    assert repr(verified).startswith("<Verification legal for all sizes") and len(repr(verified)) <= 130
    assert repr(report).startswith("<CheckReport no races") and len(repr(report)) <= 130
    assert str(verified) in f"{verified}"


def test_long_texts_are_cut():
    assert short("one\n  two") == "one two" and short("a" * 200, 5) == "aaaaa ..."
