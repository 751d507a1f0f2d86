"""The trees that the default strategy for GPUs leads to: coincident loops on blocks and threads, the rest as loops."""

from __future__ import annotations

import random
import shutil
import subprocess
import textwrap
from math import prod

import nests
import pytest
from nests import loop, nest

import polysched as ps
from polysched.config.machine import Gpu
from polysched.config.target import LIMITS
from polysched.deps.legality import first_violation
from polysched.deps.phases import is_kernel
from polysched.frontend.python import parse_nest
from polysched.ir.build import add, load, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, Function
from polysched.model.tree.nodes import Band, Map, Tree, children, marks_in
from polysched.model.tree.text import show_tree
from polysched.operators.examples import gemm, jacobi_2d, seidel_2d, stencil
from polysched.runtime.emulated.emulate import emulate
from polysched.strategy.bands import Bands
from polysched.strategy.gpu import fuse_sums, gpu
from polysched.strategy.script import Script
from polysched.transform.analysis.roles import Around
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.loops import nested
from polysched.transform.edits.base.reduces import with_reduces
from tests.emulated import assert_as_interpreted
from tests.transform.scheduled import Scheduled, random_scheduled, scheduled

EXAMPLES = [example.function for example in (stencil, gemm, jacobi_2d, seidel_2d)]
i, j, n = var("i"), var("j"), var("n")
A, B = Array("A", f64, (add(n, 1),)), Array("B", f64, (add(n, 1),))


def copy() -> Function:
    return nest("copy", "n", [A, B], loop("i", 0, n, store(B, (i,), load(A, i))))


def recurrence() -> Function:
    return nest("recurrence", "n", [A], loop("i", 0, n, store(A, (add(i, 1),), add(load(A, i), load(A, add(i, 1))))))


def parsed(arrays: str, *lines: str) -> Function:
    shapes = (each.split() for each in arrays.split(","))
    declared = ", ".join(f"{name}: f64[{', '.join(map(repr, shape))}]" for name, *shape in shapes)
    return parse_nest("\n".join((f"def f({declared}, n: size, m: size, p: size):", *lines)), "nests.py")


def begun(done: Scheduled) -> Script:
    draft = Draft(scop=done.scop, dependences=done.deps, nested=nested(done.tree), waits=True)
    return Script(draft, ps.Options(tensor="off"), {"time_steps.t": 0})


def on_gpu(done: Scheduled) -> Tree:
    gpu(script := begun(done), LIMITS.shared)
    return with_reduces(script.tree, done.deps)


def mapped(fn: Function) -> str:
    done = scheduled(fn)
    tree = on_gpu(done)
    done.assert_holds(tree)
    return show_tree(tree)


def test_what_runs_before_and_after_a_product_is_on_its_points():
    product = parsed(
        "C n m,A n p,B p m",
        "    for i in range(n):",
        "        for j in range(m):",
        "            C[i, j] = 0.0",
        "            for k in range(p):",
        "                C[i, j] += A[i, k] * B[k, j]",
    )
    done = scheduled(product)
    tree = on_gpu(done)
    done.assert_holds(tree)
    inside = textwrap.dedent(show_tree(tree).split("thread.x\n")[1])
    assert inside == """\
band:
  [S0[i, j] -> floor((j)/2) - 16*floor((j)/32); S1[i, j, k] -> floor((j)/2) - 16*floor((j)/32)] coincident
  sequence
    filter: S0
      mark: unroll
        band:
          [S0[i, j] -> i] coincident
          mark: unroll
            band:
              [S0[i, j] -> floor((j)/32)] coincident
              mark: unroll
                band:
                  [S0[i, j] -> j] coincident
    filter: S1
      band:
        [S1[i, j, k] -> floor((k)/16)]
        band:
          [S1[i, j, k] -> k]
          mark: unroll
            band:
              [S1[i, j, k] -> i] coincident
              mark: unroll
                band:
                  [S1[i, j, k] -> floor((j)/32)] coincident
                  mark: unroll
                    band:
                      [S1[i, j, k] -> j] coincident"""


def test_a_matrix_product_has_blocks_of_threads_of_points_around_chunks_of_its_sum():
    product = parsed(
        "C n m,A n p,B p m",
        "    for i in range(n):",
        "        for j in range(m):",
        "            for k in range(p):",
        "                C[i, j] += A[i, k] * B[k, j]",
    )
    assert mapped(product) == (
        "domain: { S[i, j, k] : 0 <= i < n and 0 <= j < m and 0 <= k < p }\n"
        "  context: { : n >= 0 and m >= 0 and p >= 0 }\n"
        "    mark: map:block.y\n"
        "      band:\n"
        "        [S[i, j, k] -> floor((i)/64)] coincident\n"
        "        mark: map:block.x\n"
        "          band:\n"
        "            [S[i, j, k] -> floor((j)/128)] coincident\n"
        "            mark: map:thread.y\n"
        "              band:\n"
        "                [S[i, j, k] -> floor((i)/8)] coincident\n"
        "                mark: map:thread.x\n"
        "                  band:\n"
        "                    [S[i, j, k] -> floor((j)/2) - 16*floor((j)/32)] coincident\n"
        "                    band:\n"
        "                      [S[i, j, k] -> floor((k)/16)]\n"
        "                      band:\n"
        "                        [S[i, j, k] -> k]\n"
        "                        mark: unroll\n"
        "                          band:\n"
        "                            [S[i, j, k] -> i] coincident\n"
        "                            mark: unroll\n"
        "                              band:\n"
        "                                [S[i, j, k] -> floor((j)/32)] coincident\n"
        "                                mark: unroll\n"
        "                                  band:\n"
        "                                    [S[i, j, k] -> j] coincident"
    )


def axes(fn: Function) -> list[str]:
    done = scheduled(fn)
    tree = on_gpu(done)
    return [mark.axis for mark in marks_in(tree) if isinstance(mark, Map)]


def test_one_parallel_loop_has_blocks_of_at_least_128_threads_along_x():
    assert axes(copy()) == ["block.x", "thread.x"]
    (kernel,) = ps.optimize(copy(), target="cuda").source.kernels
    assert kernel.block[0] >= 128 and kernel.block[1:] == (1, 1)


def test_a_serial_recurrence_is_one_kernel_of_one_thread():
    assert axes(recurrence()) == []
    (kernel,) = ps.optimize(recurrence(), target="cuda").source.kernels
    assert kernel.block == (1, 1, 1) and [extent.value for extent in kernel.grid] == [1, 1, 1]


def test_loops_around_the_parallel_ones_stay_on_the_host():
    """Jacobi's time loop launches one grid for each of its two sweeps, whose points are not skewed there."""
    assert axes(nests.jacobi_2d()) == ["block.y", "block.x", "thread.y", "thread.x"] * 2
    one_step = ps.Schedule.auto(nests.jacobi_2d(), "cuda").without("time_steps.t")
    kernels = ps.optimize(nests.jacobi_2d(), target="cuda", schedule=one_step).source.kernels
    assert len(kernels) == 2 and all(prod(kernel.block) == 256 for kernel in kernels)
    assert "2t" not in mapped(nests.jacobi_2d())


def test_a_loop_that_is_parallel_inside_the_first_needs_no_wavefront():
    """The skewed stencil: one launch for each i, threads along j."""
    text = mapped(nests.stencil2(margin=1))
    assert "[S[i, j] -> i]\n      mark: map:block.x" in text and "floor((j)/128)" in text


def test_where_no_loop_is_parallel_inside_another_wavefronts_are_launched():
    square = Array("Q", f64, (add(n, 1), add(n, 1)))
    around = add(load(square, sub(i, 1), j), load(square, i, sub(j, 1)))
    body = loop("i", 1, n, loop("j", 1, n, store(square, (i, j), around)))
    assert "[S[i, j] -> i + j]\n      mark: map:block.x" in mapped(nest("both_ways", "n", [square], body))


def test_a_loop_over_several_statements_is_distributed_where_that_makes_more_loops_parallel():
    """LU without tiles: of a step, the statement that divides has one parallel loop, the updates have two."""
    text = str(ps.optimize(nests.lu(), "cuda", options=ps.Options(tile=False)).tree)
    assert [line.split()[1] for line in text.splitlines() if "filter" in line] == ["S1", "S0", "S2"]
    assert sorted(len(part.split("map:thread")) - 1 for part in text.split("filter: ")[1:]) == [1, 2, 2]


def test_a_loop_over_several_statements_stays_one_where_nothing_is_gained():
    """Both statements are parallel as they are, and share A."""
    body = ["    for i in range(n):", "        B[i] = A[i]", "        C[i] = A[i] + B[i]"]
    text = mapped(parsed("A n,B n,C n", *body))
    assert text.count("map:thread") == 1


def test_blocks_and_threads_of_one_are_left_out():
    """Five rows, one column: one block of threads along x."""
    constant = parsed("A 5 3", "    for i in range(5):", "        for j in range(2, 3):", "            A[i, j] = 1.0")
    assert axes(constant) == ["thread.x"]


def test_the_fourth_loop_has_blocks_of_its_own_and_others_run_in_the_thread():
    loops = ["    " * (k + 1) + f"for {var} in range(n):" for k, var in enumerate("ijklq")]
    copy = parsed("A n n n n,B n n n n", *loops[:4], " " * 20 + "B[i, j, k, l] = A[i, j, k, l]")
    assert axes(copy) == ["block.w", "block.z", "block.y", "block.x", "thread.y", "thread.x"]
    copy = parsed("A n n n n n,B n n n n n", *loops, " " * 24 + "B[i, j, k, l, q] = A[i, j, k, l, q]")
    assert axes(copy) == ["block.w", "block.z", "block.y", "block.x", "thread.y", "thread.x"]
    assert "[S[i, j, k, l, q] -> i] coincident" in mapped(copy)


def test_an_empty_nest_is_mapped_too():
    empty = parsed("A n n", "    for i in range(n):", "        for j in range(2, 1):", "            A[i, j] = 1.0")
    ps.optimize(empty, target="cuda").verify(n=3)


def assert_legal_and_equal_to_the_interpreter(fn: Function, sizes: tuple[int, ...]) -> None:
    """Threads run one after another, first to last and last to first: what depends on their order shows."""
    done = ps.optimize(fn, target="cuda", options=ps.Options(tensor="off"))  # with them, sums are rounded once a term
    assert done.rungs["mapping"] == "mapped"
    assert first_violation(done.tree, done.dependences, done.scop) is None
    program = emulate(done.source, fn, done.scop.valid_sizes)
    for size in sizes:
        assert_as_interpreted(program, fn, nests.arguments_for(fn, random.Random(size), size))


@pytest.mark.parametrize("fn", [*EXAMPLES, copy(), recurrence()], ids=lambda fn: fn.name)
def test_examples_are_legal_and_equal_the_interpreter_in_both_directions(fn):
    assert_legal_and_equal_to_the_interpreter(fn, (1, 2, 9, 34))


@pytest.mark.parametrize("seed", range(20))
def test_random_nests_are_legal_and_equal_the_interpreter_in_both_directions(seed):
    done = random_scheduled(seed)
    assert first_violation(on_gpu(done), done.deps, done.scop) is None
    assert_legal_and_equal_to_the_interpreter(done.fn, (1, 2, 6))


@pytest.mark.parametrize("seed", range(20))
def test_as_many_loops_stay_on_the_host_as_were_counted(seed):
    done = random_scheduled(seed)
    fuse_sums(script := begun(done))
    counted = Bands(done.scop, done.deps, Gpu()).host_loops(script.tree, Around((), done.deps.coincidence))
    gpu(script, LIMITS.shared)
    assert host_loops(script.tree) == counted


def host_loops(tree: Tree) -> int:
    """Without those of one iteration, which are parallel."""
    if is_kernel(tree):
        return 0
    own = sum(not member.coincident for member in tree.members) if isinstance(tree, Band) else 0
    return own + max(map(host_loops, children(tree)), default=0)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile the CUDA texts with")
def test_nvcc_accepts_the_texts(tmp_path):
    functions = [*EXAMPLES, *(nests.random_nest(random.Random(seed)) for seed in range(2))]
    paths = [tmp_path / f"k{k}.cu" for k in range(len(functions))]
    for path, fn in zip(paths, functions, strict=True):
        path.write_text(ps.optimize(fn, target="cuda").source.text)
    command = ["nvcc", "-ptx", "-arch=sm_90", "-fmad=false", *map(str, paths)]
    compiled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
