"""polysched/codegen/gpu/{plan,staging}.py: shared memory for what blocks read again, registers for sums."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from contractions import random_contraction
from nests import loop, nest, outcome

import polysched as ps
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.gpu.staging import stage
from polysched.codegen.memory.linearize import linearize
from polysched.config.target import LIMITS
from polysched.frontend.python import parse_nest
from polysched.ir.build import Operand, add, binary, const, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Alloc, Array, Expr, For, Function, Stmt
from polysched.ir.text import show
from polysched.runtime.emulated.check import check
from polysched.runtime.emulated.emulate import emulate

b, c, i, k, m, n, r, t = (var(name) for name in "bcikmnrt")
alpha = var("alpha", f64)
Y, A, X = Array("y", f64, (n,)), Array("A", f64, (n, m)), Array("x", f64, (m,))
DOT = add(load(Y, t), mul(load(A, t, k), load(X, k)))

TAP = store(Y, (t,), add(load(Y, t), mul(load(A, t, k), add(load(X, k), r))))


def part(name: str, start: Expr, trips: int, end: Operand, *body: Stmt, kind: str = "serial") -> For:
    return loop(name, start, binary("min", end, add(start, trips)), *body, kind=kind)


def parts(length: Expr, size: int) -> Expr:
    return add(floordiv(sub(length, 1), size), 1)


def kernel(*body: Stmt, arrays=(Y, A, X)) -> Function:
    """Blocks of 16 threads, t, around `body`."""
    threads = part("t", mul(16, b), 16, n, *body, kind="thread.x")
    blocks = loop("b", 0, parts(n, 16), threads, kind="block.x")
    return nest("f", "n m", arrays, blocks, scalars=(alpha,))


def sums(value: Expr = DOT, arrays=(Y, A, X)) -> Function:
    """y[t] = value for all k, in chunks of 8."""
    chunk = part("k", mul(8, c), 8, m, store(Y, (t,), value))
    return kernel(loop("c", 0, parts(m, 8), chunk), arrays=arrays)


def copies(fn: Function, **options) -> list[str]:
    staged = stage(fn, **options)
    lines = (line.strip() for line in show(staged).splitlines())
    return [line.removeprefix("alloc ") for line in lines if line.startswith("alloc") and ": shared" in line]


def test_rows_times_a_vector():
    """All is full here: no thread, chunk or copy is cut."""
    Y, A, X = Array("y", f64, (const(64),)), Array("A", f64, (const(64), const(32))), Array("x", f64, (const(32),))
    update = store(Y, (t,), add(load(Y, t), mul(load(A, t, k), load(X, k))))
    chunks = loop("c", 0, 4, loop("k", mul(8, c), add(mul(8, c), 8), update))
    threads = loop("t", mul(16, b), add(mul(16, b), 16), chunks, kind="thread.x")
    fn = nest("rows", "", [Y, A, X], loop("b", 0, 4, threads, kind="block.x"))
    assert show(stage(fn)) == (
        "def rows(y: f64[64], A: f64[64, 32], x: f64[32]):\n"
        "    for b in 0..4 (block.x):\n"
        "        alloc A_0: shared f64[16, 9]\n"
        "        alloc x_0: shared f64[8]\n"
        "        for s0 in 0..16 (thread.x):\n"
        "            t = b * 16 + s0\n"
        "            s2 = floormod(s0, 8)\n"
        "            s3 = floordiv(s0, 8)\n"
        "            alloc y_0: private f64[]\n"
        "            y_0[] = y[t]\n"
        "            for s11 in 0..4:\n"
        "                barrier\n"
        "                for s12 in 0..8 (unrolled):\n"
        "                    A_0[s3 + s12 * 2, s2] = A[b * 16 + (s3 + s12 * 2), s11 * 8 + s2]\n"
        "                if s3 < 1:\n"
        "                    x_0[s2] = x[s11 * 8 + s2]\n"
        "                barrier\n"
        "                for s13 in 0..8 (unrolled):\n"
        "                    y_0[] = y_0[] + A_0[s0, s13] * x_0[s13]\n"
        "            y[t] = y_0[]"
    )


def test_blocks_and_chunks_that_an_edge_cuts_are_apart():
    """Blocks of 16 rows there are test no row, chunks of 8 columns no column; the last chunk tests both."""
    text = show(stage(sums()))
    whole, cut = text.split("if n >= b * 16 + 16:")[1].split("else:")
    rest = cut.split("for s4 in s3..floordiv(m - 1, 8) + 1:")[1]
    assert "?" not in whole.split("x_0[")[0] and "< n ?" in cut and "< n && s4 * 8 + s5 < m ?" in rest


def test_reads_at_a_constant_distance_are_of_one_copy():
    near = add(load(Y, t), mul(load(A, t, k), add(load(X, k), load(X, add(k, 2)))))
    assert copies(sums(near))[1:] == ["x_0: shared f64[10]"]
    far = add(load(Y, t), mul(load(A, t, k), add(load(X, k), load(X, add(k, n)))))
    assert copies(sums(far))[1:] == ["x_0: shared f64[8]", "x_1: shared f64[8]"]


def test_an_operand_is_copied_with_what_it_is_scaled_by():
    scaled = add(load(Y, t), mul(mul(alpha, load(A, t, k)), load(X, k)))
    text = show(stage(sums(scaled)))
    assert "= alpha * A[" in text and "y_0[] + A_0[" in text
    in_flight = show(stage(sums(scaled), double_buffer=True))  # asynchronous copies cannot compute
    assert "= alpha" not in in_flight and "y_0[] + alpha * A_0[" in in_flight


def test_what_the_thread_has_in_registers_is_no_part_of_a_copy():
    text = show(stage(sums(add(load(Y, t), mul(sub(load(X, k), 1.0), load(A, t, k), load(Y, t))))))
    assert "x_0[s5] = x[s21 * 8 + s5] - 1.0" in text and "y_0[] + x_0[s23] * A_0[s0, s23] * y_0[]" in text


def test_short_loops_inside_are_part_of_a_chunk():
    """A convolution of three taps: the chunk runs over c and r, and x has halos of two."""
    signal, taps = Array("x", f64, (add(n, 2), m)), Array("w", f64, (m, const(3)))
    update = store(Y, (t,), add(load(Y, t), mul(load(signal, add(t, r), k), load(taps, k, r))))
    chunk = part("k", mul(4, c), 4, m, loop("r", 0, 3, update))
    fn = kernel(loop("c", 0, parts(m, 4), chunk), arrays=(Y, signal, taps))
    assert copies(fn) == ["x_0: shared f64[18, 5]", "w_0: shared f64[4, 3]"]


@pytest.mark.parametrize(
    "fn",
    [
        sums(add(load(Y, t), mul(load(A, t, k), load(Y, k)))),
        sums(add(load(Y, t), 1.0)),
        kernel(loop("k", 0, m, store(Y, (t,), DOT))),
        kernel(loop("c", 0, t, part("k", mul(8, c), 8, m, store(Y, (t,), DOT)))),
        kernel(loop("c", 0, parts(m, 8), part("k", mul(8, c), 8, t, store(Y, (t,), DOT)))),
        kernel(part("k", mul(8, m), 8, m, store(Y, (k,), load(X, k)))),
        kernel(loop("c", 0, parts(m, 800), part("k", mul(800, c), 800, m, store(Y, (t,), DOT)))),
        kernel(loop("c", 0, parts(m, 8), part("k", mul(8, c), 8, m, loop("r", 0, 3, TAP, kind="unrolled")))),
        kernel(store(Y, (t,), load(X, sub(n, t)))),
    ],
    ids=[
        "other elements of what it writes",
        "nothing to copy",
        "no chunks",
        "chunks that differ between threads",
        "ends of chunks that differ between threads",
        "writes that the chunk moves",
        "more than there is shared memory",
        "points that add to the same element",
        "a row that warps read backwards",
    ],
)
def test_other_kernels_stay_as_they_are(fn):
    assert stage(fn) == fn


def test_copies_may_fill_all_the_shared_memory_that_every_gpu_has():
    """Rows of 60 elements, and one more for the banks; with two buffers half as many, or else one buffer."""
    rows = 60
    chunk = part("k", mul(rows, c), rows, m, store(Y, (t,), DOT))
    most = (LIMITS.shared // 8 - rows) // (rows + 1)
    for threads, fits, both in ((most // 2, True, True), (most, True, False), (most + 1, False, False)):
        body = part("t", mul(threads, b), threads, n, loop("c", 0, parts(m, rows), chunk), kind="thread.x")
        fn = nest("f", "n m", (Y, A, X), loop("b", 0, parts(n, threads), body, kind="block.x"))
        assert bool(copies(fn)) == fits
        assert any("f64[2, " in copy for copy in copies(fn, double_buffer=True)) == both


def run(fn: Function, **sizes: int) -> None:
    """Staged, on the CPU, under the checker and in both orders, it computes what the interpreter does."""
    rng = np.random.default_rng(0)
    shapes = {array.name: [int(evaluate(extent, sizes)) for extent in array.shape] for array in fn.arrays}
    arguments = {**sizes, **{name: rng.random(shape) for name, shape in shapes.items()}, "alpha": 0.5}
    for double_buffer in (False, True):
        source = emit_cuda(linearize(stage(fn, double_buffer=double_buffer)))
        for program in (check(source, fn), emulate(source, fn), replace(emulate(source, fn), reverse=True)):
            given = {
                name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()
            }
            report = program(**given)
            assert report is None or report.is_silent, report
            np.testing.assert_array_equal(given["y"], outcome(fn, arguments)["y"])


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (15, 7), (16, 8), (17, 9), (32, 16), (33, 1), (5, 0)])
def test_every_edge(rows, columns):
    run(sums(), n=rows, m=columns)


def test_what_is_no_copy_is_read_by_threads_inside_alone():
    """Columns that whole warps read once are not copied; the vector is."""
    turned = Array("A", f64, (m, n))
    fn = sums(add(load(Y, t), mul(load(turned, k, t), load(X, k))), arrays=(Y, turned, X))
    assert copies(fn) == ["x_0: shared f64[8]"]
    run(fn, n=17, m=9)


@pytest.mark.parametrize("step", [2, 3])
def test_chunks_that_a_loop_steps_between(step):
    """Two buffers take turns only where chunks are counted by one."""
    wide, long = Array("A", f64, (n, add(m, 3))), Array("x", f64, (add(m, 3),))
    update = store(Y, (t,), add(load(Y, t), mul(load(wide, t, add(c, r)), load(long, add(c, r)))))
    run(kernel(loop("c", 0, m, loop("r", 0, 3, update), step=step), arrays=(Y, wide, long)), n=20, m=9)


PRODUCT = "C[i, j] += A[i, k] * B[k, j]"
LOOPS = "i in range(n)", "j in range(m)", "k in range(p)"
NESTS = {
    "product": (PRODUCT, "C n m, A n p, B p m", LOOPS),
    "of two transposed": ("C[j, i] += A[k, i] * B[j, k]", "C m n, A p n, B m p", LOOPS),
    "strided": ("C[i, j] += A[2 * i, k] * B[k, 2 * j + 1]", "C n m, A 2*n p, B p 2*m+1", LOOPS),
    "with offsets": ("C[i, j + 1] += A[i, k + 2] * B[k, j + 3]", "C n m+1, A n p+2, B p m+3", LOOPS),
    "reversed": ("C[i, j] += A[i, p - k] * B[p - k, j]", "C n m, A n p+1, B p+1 m", LOOPS),
    "of an array and itself": ("C[i, j] += A[i, k] * A[j, k]", "C n m, A n+m p", LOOPS),
    "scaled": ("C[i, j] += alpha * A[i, k] * B[k, j]", "C n m, A n p, B p m", LOOPS),
    "of two pairs": ("C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]", "C n m, A n+m p, B n+m p", LOOPS),
    "triangular factor": (PRODUCT, "C n m, A n n, B n m", (*LOOPS[:2], "k in range(i + 1)")),
    "triangular result": (PRODUCT, "C n n, A n p, B p n", ("i in range(n)", "j in range(i + 1)", LOOPS[2])),
    "from one on": (PRODUCT, "C n m, A n p, B p m", ("i in range(1, n)", "j in range(2, m)", "k in range(1, p)")),
    "of few columns": (PRODUCT, "C n 3, A n p, B p 3", (LOOPS[0], "j in range(3)", LOOPS[2])),
    "of one row": (PRODUCT, "C 1 m, A 1 p, B p m", ("i in range(1)", *LOOPS[1:])),
    "of a short sum": (PRODUCT, "C n m, A n 5, B 5 m", (*LOOPS[:2], "k in range(5)")),
    "convolution": (
        "C[b, i, j] += A[b, i + r, j + s] * B[r, s]",
        "C 2 n m, A 2 n+2 m+2, B 3 3",
        ("b in range(2)", *LOOPS[:2], "r in range(3)", "s in range(3)"),
    ),
    "convolution of channels": (
        "C[f, i, j] += A[k, 2 * i + r, j] * B[f, k, r]",
        "C 3 n m, A p 2*n+3 m, B 3 p 2",
        ("f in range(3)", *LOOPS, "r in range(2)"),
    ),
    "of three factors": ("C[i, j] += A[i, k] * B[k, j] * D[i, k]", "C n m, A n p, B p m, D n p", LOOPS),
    "greatest": ("C[i, j] = max(C[i, j], A[i, k] + B[k, j])", "C n m, A n p, B p m", LOOPS),
    "in place": ("C[i, j] -= C[i, k] * C[k, j]", "C n n", (LOOPS[0], "j in range(i)", "k in range(j)")),
}  # fmt: skip


def parsed(statement: str, arrays: str, loops: tuple[str, ...], dtype: str = "f64") -> Function:
    declared = ", ".join(
        f"{name}: {dtype}[{', '.join(map(repr, shape))}]" for name, *shape in map(str.split, arrays.split(","))
    )
    lines = [f"def f({declared}, alpha: {dtype}, n: size, m: size, p: size):"]
    lines += ["    " * (depth + 1) + f"for {each}:" for depth, each in enumerate(loops)]
    return parse_nest("\n".join([*lines, "    " * (len(loops) + 1) + statement]), "nests.py")


@pytest.mark.parametrize("name", NESTS)
def test_products_and_what_resembles_them(name):
    """At sizes of less than a tile and more, by the checker and in both orders of threads."""
    done = ps.optimize(parsed(*NESTS[name]), "cuda")
    assert done.rungs["mapping"] == "mapped"
    done.verify(n=17, m=18, p=9)
    done.verify(n=1, m=129, p=16)


@pytest.mark.parametrize("dtype", ["f16", "f32", "i32", "i64"])
def test_elements_of_other_widths(dtype):
    for double_buffer in (False, True):
        options = ps.Options(double_buffer=double_buffer)
        done = ps.optimize(parsed(*NESTS["scaled"], dtype), "cuda", options=options)
        assert "copied to shared memory" in done.source.text
        done.verify(n=9, m=17, p=18)


def test_divisions_are_computed_only_where_the_nest_has_them():
    """What lies outside is zero in a copy: nothing may be divided by it."""
    done = ps.optimize(parsed("C[i, j] += A[i, k] // (B[k, j] + 1)", "C n m, A n p, B p m", LOOPS, "i32"), "cuda")
    done.verify(n=5, m=7, p=17)


def test_what_is_gathered_is_read_only_where_the_nest_does():
    fn = parsed("C[i, j] += A[i, x[k]] * B[k, j] * D[i, k]", "C n m, A n p, B p m, D n p, x p", LOOPS, "i32")
    ps.optimize(fn, "cuda").verify(n=5, m=7, p=17)


@pytest.mark.slow
def test_a_temporary_of_the_host_is_copied_as_an_array_is():
    lines = [
        'def f(C: f64["n", "m"], A: f64["n", "p"], B: f64["p", "m"], T: f64["n", "m"], n: size, m: size, p: size):',
        "    for i in range(n):",
        "        for j in range(m):",
        "            T[i, j] = 0.0",
        "            for k in range(p):",
        "                T[i, j] += A[i, k] * B[k, j]",
        "    for i in range(n):",
        "        for j in range(m):",
        "            for k in range(m):",
        "                C[i, j] += T[i, k] * B[0, j]",
    ]
    fn = parse_nest("\n".join(lines), "nests.py")
    own = Alloc(replace(fn.arrays[3], space="private"))
    fn = replace(fn, arrays=fn.arrays[:3], params=tuple(p for p in fn.params if p != "T"), body=(own, *fn.body))
    done = ps.optimize(fn, "cuda")
    assert "T_0[" in done.source.text
    done.verify(n=9, m=17, p=3)


@pytest.mark.parametrize(("length", "elements"), [(4, 65), (7, 113), (8, 17)])
def test_several_loops_are_one_chunk_if_their_copies_leave_room(length, elements):
    """128 doubles for each of 16 threads are 16 KiB, and a few more for the banks: the inner loop alone is a chunk."""
    inner = loop("k", 0, 16, store(Y, (t,), add(load(Y, t), load(A, t, add(mul(16, c), k)))))
    assert copies(kernel(loop("c", 0, length, inner))) == [f"A_0: shared f64[16, {elements}]"]


def test_opencl_has_the_same_copies():
    done = ps.optimize(parsed(*NESTS["product"]), "opencl")
    assert "__local" in done.source.text
    done.verify(n=9, m=17, p=18)


@pytest.mark.parametrize("seed", range(8))
def test_random_contractions_equal_the_interpreter_in_every_order_of_threads(seed):
    options = ps.Options(double_buffer=seed % 3 == 0)
    ps.optimize(random_contraction(random.Random(seed)), ("cuda", "opencl")[seed % 2], options=options).verify()


def note(statement: str) -> str:
    """Of the kernel of a nest over i < n, j < m with o: [m, n] and p, a: [n, m]."""
    head = "def f(o: f32[m, n], p: f32[n, m], a: f32[n, m], n: size, m: size):"
    lines = (head, "    for i in range(n):", "        for j in range(m):", f"            {statement}")
    done = ps.optimize(parse_nest("\n".join(lines), "nests.py"), target="cuda")
    done.verify()
    return done.source.kernels[0].note


@pytest.mark.slow
def test_what_a_nest_without_sums_reads_across_rows_is_copied_by_rows():
    """A transpose: rows of the copy are 33 elements apart, so that a warp reads a column from 32 banks."""
    assert note("o[j, i] = a[i, j]") == "blocks of 32 x 8 threads; a copied to shared memory, 16896 bytes"
    assert "copied" not in note("p[i, j] = a[i, j]")
