"""benchmarks/gpu_static: the tables on one small kernel, and the texts without unrolling."""

from __future__ import annotations

import shutil
import sys

import pytest

import polysched as ps
from benchmarks.gpu_static import stencils
from benchmarks.gpu_static.__main__ import TABLES, main
from benchmarks.gpu_static.integers import without_unrolling
from benchmarks.gpu_static.suite import is_one_thread
from benchmarks.polybench import KERNELS
from polysched.codegen.emit.source import Kernel
from polysched.ir.nodes import Const, Var


def test_loops_without_a_pragma_stay_loops():
    text = "{\n    for (;;)\n        #pragma unroll\n        for (;;)\n            f();\n}\n"
    assert without_unrolling(text) == (
        "{\n#pragma unroll 1\n    for (;;)\n        #pragma unroll\n        for (;;)\n            f();\n}\n"
    )


@pytest.mark.parametrize(
    ("grid", "block", "is_one"), [((1, 1), 1, True), ((1, "n"), 1, False), ((1, 1), 32, False)], ids=str
)
def test_one_thread(grid, block, is_one):
    x, y = (Var(extent) if isinstance(extent, str) else Const(extent) for extent in grid)
    kernel = Kernel(name="k", parameters=(), grid=(x, y, Const(1)), block=(block, 1, 1))
    assert is_one_thread(kernel) == is_one


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile CUDA texts with")
def test_all_tables_of_a_kernel(monkeypatch, capsys):
    tables = [name for name in TABLES if name not in ("gemm", "conv2d", "stencils")]
    monkeypatch.setattr(sys, "argv", ["gpu_static", *tables, "--kernel", "atax"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    suite, integers, threads, traffic = capsys.readouterr().out.strip().split("\n\n")
    assert "1 of 1 accepted by nvcc -arch=sm_90, 1 without spills" in suite
    assert len(ps.optimize(KERNELS["atax"].nest, "cuda").source.kernels) == int(suite.splitlines()[1].split()[2])
    for table in (integers, threads, traffic):
        assert table.splitlines()[-1].startswith("atax ")


def test_an_unknown_table_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gpu_static", "gem"])
    with pytest.raises(SystemExit):
        main()
    assert "no table is called gem; there are suite, integers, gemm, " in capsys.readouterr().err


def test_stencils_have_a_row_for_each_type(monkeypatch, capsys):
    one_step = {name: double for name, double in stencils.STENCILS.items() if name in ("jacobi-1d", "heat-3d")}
    monkeypatch.setattr(stencils, "STENCILS", one_step)
    monkeypatch.setattr(stencils, "_counted", lambda fn, real: (1.5, True))
    monkeypatch.setattr(sys, "argv", ["gpu_static", "stencils"])
    with pytest.raises(SystemExit) as stop:
        main()
    rows = capsys.readouterr().out.strip().splitlines()[-4:]
    assert stop.value.code == 0
    assert [row.split()[:2] for row in rows] == [[n, t] for n in ("jacobi-1d", "heat-3d") for t in ("f32", "f64")]
    assert rows[0].split()[2:4] == ["992", "8"] and "none gains" in rows[3]
