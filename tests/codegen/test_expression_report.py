"""codegen/expression_report.py: what the passes over expressions did, as tables."""

from __future__ import annotations

import pytest

from polysched.codegen.expr.licm import licm, motions
from polysched.codegen.expr.normalize import normalize
from polysched.codegen.expression_report import ExpressionReport, annotated, expression_report
from polysched.config.options import Options
from polysched.ir.build import add, binary, const, mul, store, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Array, Function, If, Let
from polysched.ir.text import show
from polysched.pipeline import optimize
from tests.codegen.test_licm import tiled_matmul, vector_add
from tests.nests import canonical, jacobi_2d, loop, nest

OUT = Array("Out", i64, (const(100),))
i, j, n, m, s = map(var, "ijnms")


def report(fn: Function, **sizes: int) -> ExpressionReport:
    ordered = normalize(fn)
    after, found = motions(ordered)
    return expression_report([("linearize", fn), ("normalize", ordered), ("licm", after)], sizes, found)


def test_A1_as_tables():
    assert str(report(vector_add())) == (
        "integer operations of f\n"
        "\n"
        "pass                   written  executed  temporaries\n"
        "linearize                    6       768            0\n"
        "normalize (unchanged)        6       768            0\n"
        "licm                         4       388            1\n"
        "\n"
        "licm, by loop  written    executed\n"
        "i_outer         0 -> 1      0 -> 4\n"
        "i_inner         6 -> 3  768 -> 384\n"
        "\n"
        "temporary  value         line  live in  uses  lives across\n"
        "t0         i_outer * 32     3        5     3  i_inner\n"
        "\n"
        "candidates\n"
        "t0 = i_outer * 32: before i_inner\n"
        "in i_inner: i_outer * 32 + i_inner: changes with i_inner"
    )


def test_A2_prints_its_temporaries():
    found = report(tiled_matmul())
    assert [one.operations.executed for one in found.passes] == [25769803776, 25769803776, 3358723104]
    assert [one.name for one in found.temporaries] == [f"t{k}" for k in range(9)]
    assert found.temporaries[0].across == ("yo", "ko")  # its last use is before ki
    without = licm(tiled_matmul())
    assert len(expression_report([("licm", without)]).temporaries) == 7


def test_sizes_or_polynomials_in_them():
    body = loop("j", 0, m, store(OUT, (add(mul(i, m), j),), 1))
    fn = nest("f", "n m", (OUT,), loop("i", 0, n, body))
    text = str(report(fn))
    assert "linearize        2  2 * m * n            0" in text
    assert "j               2 -> 1  2 * m * n -> m * n" in text
    text = str(report(fn, n=10, m=5))
    assert text.startswith("integer operations of f at n=10, m=5\n")
    assert "j               2 -> 1  100 -> 50" in text


def test_lines_are_those_of_the_text():
    then, other = store(OUT, (s,), 1), loop("j", 0, m, store(OUT, (j,), s))
    body = (
        Let("s", mul(i, 2)),
        If(binary("<", i, m), (then,), (other,)),
        If(binary("<", i, 3), ()),
        Let("t", add(s, 1)),
    )
    fn = nest("f", "n m", (OUT,), loop("i", 0, n, *body))
    lines = show(fn).splitlines()
    one, two = expression_report([("linearize", fn)]).temporaries
    assert lines[one.line - 1].strip() == "s = i * 2"
    assert ["s" in lines[use - 1] for use in one.uses] == [True] * 3
    assert one.live == (5, 11) and one.across == ("j",)
    assert lines[two.line - 1].strip() == "t = s + 1"
    assert two.uses == () and two.live == (two.line, two.line)


def test_loops_with_their_operations():
    assert annotated(licm(jacobi_2d()), {"tsteps": 2, "n": 10}).splitlines()[:5] == [
        "1  def jacobi_2d(tsteps: size, n: size, A: f64[n, n], B: f64[n, n]):  # 1 written, 1 executed",
        "2      t0 = n - 1",
        "3      for t in 0..tsteps:      # 0 written, 0 executed",
        "4          for i in 1..t0:      # 0 written, 0 executed",
        "5              for j in 1..t0:  # 8 written, 1024 executed",
    ]


@pytest.mark.parametrize("target", ["c", "cuda", "opencl"])
def test_of_what_is_compiled(target):
    done = optimize(jacobi_2d(), target)
    found = done.expression_report(tsteps=2, n=20)
    assert found.before == next(event.value for event in done.events if event.name == "linearize")
    assert found.after == done.kernel
    assert "licm" in [one.name for one in found.passes]
    assert {motion.name for motion in found.motions if motion.name} <= {node.name for node in found.temporaries}
    first, last = found.passes[0].operations, found.passes[-1].operations
    assert last.executed < first.executed
    assert str(found) == str(done.expression_report(tsteps=2, n=20))


def test_without_passes():
    found = optimize(canonical()[0], "c", options=Options(expressions="off")).expression_report()
    assert [one.name for one in found.passes] == ["linearize"] and found.motions == ()
