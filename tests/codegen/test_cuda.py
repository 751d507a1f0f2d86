import ctypes
import random
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from polysched.codegen.emit import helpers
from polysched.codegen.emit.cuda import RECIPROCAL, emit_cuda
from polysched.codegen.emit.dialect import CUDA
from polysched.codegen.expr.normalize import normalize
from polysched.codegen.memory.linearize import linearize
from polysched.errors import InputError, PolyschedError
from polysched.ir.build import add, binary, const, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import ALL, f64, i32, i64
from polysched.ir.integers.trips import bounded, most_trips, trips
from polysched.ir.nodes import Alloc, Array, Barrier, Binary, For, Let, Store, Unary, Var
from polysched.ir.text import show
from polysched.runtime.cpu import c_function, open_library
from polysched.runtime.emulated.emulate import CPP_FLAGS, Emulated, emulate, emulated_text
from polysched.runtime.toolchain import compile_shared
from tests.codegen.operations import awkward_values, every_operation
from tests.codegen.programs import random_program
from tests.emulated import assert_as_interpreted
from tests.nests import arguments_for, canonical, loop, nest, outcome, random_nest

n, m, i, j, t, b, r = (var(name) for name in "nmijtbr")
row, column = var("row"), var("column")
A, B = Array("A", f64, (n, n)), Array("B", f64, (n, n))
V, W = Array("V", i64, (n,)), Array("W", i64, (n,))


def assert_runs_as_interpreted(fn, arguments):
    """On the CPU, threads first to last and last to first."""
    assert_as_interpreted(emulate(emit_cuda(linearize(fn)), fn), fn, arguments)


def tile(var_name, start, end, size, axis, *body):
    """A block loop over tiles, and a thread loop over the part of each that is in start..end."""
    tile_name = f"{var_name}_tile"
    first, last = binary("max", start, var(tile_name)), binary("min", end, add(var(tile_name), size))
    inner = loop(var_name, first, last, *body, kind=f"thread.{axis}")
    return loop(tile_name, 0, end, inner, step=size, kind=f"block.{axis}")


def heat():
    """Time steps on the host, each a grid of tiles; then one element on its own."""
    around = ((sub(i, 1), j), (add(i, 1), j), (i, sub(j, 1)), (i, add(j, 1)))
    mean = mul(0.25, add(*(load(A, *index) for index in around)))
    tiles = ((row, 8), (column, 32))
    inside = [(binary("max", first, 1), binary("min", sub(n, 1), add(first, size))) for first, size in tiles]
    columns = loop("j", *inside[1], store(B, (i, j), mean), kind="thread.x")
    point = loop("i", *inside[0], columns, kind="thread.y")
    grid = loop("row", 0, n, loop("column", 0, n, point, step=32, kind="block.x"), step=8, kind="block.y")
    return nest("heat", "steps n", [A, B], loop("t", 0, var("steps"), grid, store(A, (0, 0), load(B, 1, 1))))


def test_a_whole_text(golden):
    source = emit_cuda(linearize(heat()))
    golden("heat.cu", source.text)
    assert source.entry == "heat"
    assert [kernel.name for kernel in source.kernels] == ["heat_k0", "heat_k1"]
    assert source.kernels[0].block == (32, 8, 1)
    assert [show(extent) for extent in source.kernels[0].grid] == ["floordiv(n + 31, 32)", "floordiv(n + 7, 8)", "1"]
    assert_runs_as_interpreted(heat(), arguments_for(heat(), random.Random(0), n=40))


def test_the_kernels_and_the_host_s_part_come_apart():
    source = emit_cuda(linearize(heat()))
    assert "__global__" in source.device
    assert "POLYSCHED_LAUNCH" not in source.device
    assert "__global__" not in source.host
    assert 'extern "C" int heat(' in source.host
    assert all(f" {kernel.name}(" in source.device for kernel in source.kernels)


@pytest.mark.parametrize("dtype", [ALL[name] for name in ("u16", "i32", "i64", "f16", "f64")], ids=str)
def test_every_operation_is_exact(dtype):
    with np.errstate(all="ignore"):
        assert_runs_as_interpreted(every_operation(dtype), awkward_values(dtype))


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_are_one_thread(seed):
    for fn, size in ((random_nest(random.Random(seed)), 5), (random_program(random.Random(seed)), 3)):
        arguments = arguments_for(fn, random.Random(seed), n=size)
        try:
            outcome(fn, arguments)
        except ZeroDivisionError:
            continue
        assert_runs_as_interpreted(fn, arguments)


def test_host_code_reads_elements_back_and_holds_buffers():
    """A bound and a value loaded on the host, a temporary between two kernels."""
    bound = var("bound")
    buffer, one = Array("buffer", i64, (n,)), Array("one", i64, ())
    body = (
        Alloc(buffer),
        Alloc(one),
        store(one, (), 3),
        tile("i", 0, n, 32, "x", store(buffer, (i,), mul(load(one), load(V, i)))),
        Let("bound", load(V, 0)),
        loop("t", 0, add(load(buffer, 1), 1), loop("r", 0, bound, store(W, (r,), t), kind="block.x")),
        tile("j", 0, n, 32, "x", store(V, (j,), add(load(buffer, j), load(W, j)))),
    )
    fn = nest("f", "n", [V, W], *body)
    text = emit_cuda(fn).text
    assert "POLYSCHED_TRY(polysched_malloc((void **)&buffer, sizeof(int64_t) * n));" in text
    assert "POLYSCHED_CHECK(polysched_free(buffer));" in text
    assert "const int64_t bound = read_element(&V[0]);" in text
    assert "const int64_t t_end = (int64_t)((uint64_t)read_element(&buffer[1]) + 1ull);" in text
    assert_runs_as_interpreted(fn, {"n": 50, "V": np.arange(2, 52), "W": np.zeros(50, int)})


def test_loops_on_one_axis_share_their_iterations_alike():
    """Each loop reads what the one before has written, from other bounds: the same thread must run the same i."""
    first, last = binary("max", b, 3), binary("min", n, add(b, 32))
    loops = [
        loop("i", first, last, store(V, (i,), mul(i, i)), kind="thread.x"),
        loop("j", b, last, store(W, (j,), load(V, j)), kind="thread.x"),
        loop("r", 0, 3, loop("t", add(b, r), last, store(W, (t,), add(load(W, t), r)), kind="thread.x")),
    ]
    fn = nest("f", "n", [V, W], loop("b", 0, n, *loops, step=32, kind="block.x"))
    assert_runs_as_interpreted(fn, {"n": 70, "V": np.arange(70), "W": np.zeros(70, int)})


def test_blocks_share_their_iterations_alike():
    early = loop("i", 2, n, store(V, (i,), mul(i, i)), kind="block.x")
    late = loop("j", 1, n, store(W, (j,), load(V, j)), kind="block.x")
    fn = nest("f", "n", [V, W], loop("b", 0, 1, early, late, kind="block.y"))
    assert_runs_as_interpreted(fn, {"n": 9, "V": np.arange(9), "W": np.zeros(9, int)})


def test_a_store_outside_of_the_thread_loop_happens_once():
    count = store(W, (b,), add(load(W, b), 1))
    threads = loop("i", 0, 4, store(V, (b,), b), kind="thread.x")
    fn = nest("f", "n", [V, W], loop("b", 0, n, count, threads, kind="block.x"))
    assert "if ((index_t)threadIdx.x == 0) {" in emit_cuda(fn).text
    assert_runs_as_interpreted(fn, {"n": 5, "V": np.zeros(5, int), "W": np.zeros(5, int)})


@pytest.mark.parametrize("step", [1, 3, -1, -2])
def test_loops_longer_than_a_block_and_of_any_step_stride(step):
    lo, hi = (1, n) if step > 0 else (sub(n, 1), 0)
    fn = nest("f", "n", [V], loop("i", lo, hi, store(V, (i,), add(load(V, i), i)), step=step, kind="thread.x"))
    assert emit_cuda(fn).kernels[0].block == (128, 1, 1)
    assert_runs_as_interpreted(fn, {"n": 300, "V": np.zeros(300, int)})


def test_a_large_grid_is_cut_and_strided_over():
    """70 000 blocks along y, where 65 535 are allowed."""
    fn = nest("f", "n", [V], loop("i", 0, n, store(V, (i,), i), kind="block.y"))
    assert_runs_as_interpreted(fn, {"n": 70_000, "V": np.zeros(70_000, int)})


def test_a_large_grid_of_data_is_strided_over_even_in_32_bits():
    """What sizes fit says nothing of a number that is a scalar."""
    fn = nest("f", "n", [V], loop("i", 0, r, store(V, (i,), i), kind="block.y"), scalars=(r,))
    assert_runs_as_interpreted(fn, {"n": 70_000, "V": np.zeros(70_000, int), "r": 70_000})


def test_a_triangular_grid_is_as_large_as_its_widest_row():
    body = loop("i", 0, n, loop("j", 0, add(i, 1), store(A, (i, j), 1.0), kind="block.x"), kind="block.y")
    fn = nest("f", "n", [A], body)
    assert show(emit_cuda(linearize(fn)).kernels[0].grid[0]) == "n"
    assert_runs_as_interpreted(fn, {"A": np.zeros((5, 5)), "n": 5})


def test_nothing_runs_for_empty_grids():
    fn = nest("f", "n", [V], loop("i", 3, n, store(V, (i,), i), kind="block.x"))
    assert_runs_as_interpreted(fn, {"n": 2, "V": np.zeros(2, int)})


def test_extents():
    tile_loop = For("i", mul(32, b), binary("min", n, add(mul(32, b), 32)), 1, ())
    assert most_trips(tile_loop.lo, tile_loop.hi, 1) == 32
    assert most_trips(const(0), n, 1) is None
    assert most_trips(binary("max", n, b), add(n, 7), 2) == 4
    assert show(trips(For("i", const(1), n, 3, ()))) == "floordiv(n - 1 + 2, 3)"
    around = {"i": For("i", const(0), n, 1, ())}
    assert show(bounded(sub(n, i), around)) == "n - 0"
    assert show(bounded(floordiv(mul(2, i), 3), around)) == "floordiv(2 * (n - 1), 3)"
    assert bounded(mul(i, i), around) is None


def test_what_cuda_cannot_do_is_refused():
    twice = loop("i", 0, n, loop("j", 0, n, store(V, (j,), i), kind="thread.x"), kind="thread.x")
    with pytest.raises(PolyschedError, match=r"loop j is on thread.x, as a loop around it is"):
        emit_cuda(nest("f", "n", [V], twice))
    large = loop("i", 0, n, Alloc(Array("big", f64, (n,))), store(V, (i,), i), kind="block.x")
    with pytest.raises(InputError, match=r"would have the array big\[n\], and a kernel has room for small arrays"):
        emit_cuda(nest("f", "n", [V], large))


def test_barriers_and_shared_arrays_are_printed():
    tile_array = Array("tile", f64, (const(32),), "shared")
    body = loop("b", 0, n, Alloc(tile_array), Barrier(), store(V, (b,), b), kind="block.x")
    text = emit_cuda(nest("f", "n", [V], body)).text
    assert "__shared__ __align__(16) double tile[32];" in text
    assert "__syncthreads();" in text


def test_an_error_from_before_is_not_taken_for_a_launch_s(tmp_path, capfd):
    """The emulator's CUDA, whose last error is not asked for before the entry."""
    fn = nest("f", "n", [V], loop("i", 0, n, store(V, (i,), i), kind="block.x"))
    source = emit_cuda(fn)
    source = replace(source, text=source.text + FAILING)
    library = open_library(str(compile_shared(emulated_text(source), "f", language="c++", flags=CPP_FLAGS)))
    assert library.failing() == 719
    assert re.fullmatch(r"f.cu:\d+: CUDA before f: earlier\n", capfd.readouterr().err)


FAILING = """
extern "C" int failing()
{
    strcpy(polysched_fault, "earlier");
    int64_t v = 7;
    const int status = f(1, &v);
    return v == 7 ? status : -1;
}
"""


def test_a_text_says_whether_products_and_sums_may_be_rounded_once():
    fn = nest("f", "n", [V], loop("i", 0, n, store(V, (i,), i), kind="block.x"))
    exact, contracted = emit_cuda(fn), emit_cuda(fn, contract=True)
    assert exact.text.startswith("/* f: generated by polysched ") and "nvcc -fmad=false */" in exact.text
    assert contracted.text == exact.text.replace("nvcc -fmad=false */", "nvcc */")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile the CUDA texts with")
def test_nvcc_accepts_the_texts(tmp_path):
    functions = (heat(), *(every_operation(ALL[name]) for name in ("f16", "i8")), canonical()[1])
    for k, fn in enumerate(functions):
        (tmp_path / f"k{k}.cu").write_text(emit_cuda(linearize(fn)).text)
    for path in sorted(tmp_path.glob("*.cu")):
        command = ["nvcc", "-cubin", "-arch=sm_90", "-fmad=false", "-o", str(tmp_path / "out.cubin"), str(path)]
        compiled = subprocess.run(command, capture_output=True, text=True)
        assert compiled.returncode == 0, compiled.stderr


def divisions():
    """V[p] = p / w, W[p] = (p - n) % w, with truncation, on threads; w divides where it is a size, and 2 w too."""
    p, w, twice = var("p"), var("w"), var("twice")
    quotients = [Binary("truncdiv", p, w), Binary("truncmod", sub(p, n), w), Binary("truncdiv", sub(p, n), twice)]
    body = (store(V, (p,), add(quotients[0], quotients[2])), store(W, (p,), quotients[1]))
    threads = loop("p", b, binary("min", n, add(b, 32)), *body, kind="thread.x")
    blocks = loop("b", 0, n, threads, step=32, kind="block.x")
    return nest("divide", "n w", [V, W], Let("twice", mul(w, 2)), blocks)


def test_A21_the_host_computes_what_to_multiply_by():
    text = emit_cuda(divisions()).text
    by = "truncdiv_by_index<index_t>"
    assert f"V[p] = countdiv_by_index<index_t>(p, w, w_reciprocal) + {by}(p - n, twice, twice_reciprocal);" in text
    assert "n, w, V, W, twice, reciprocal(w), reciprocal(twice));" in text
    for size, divisor in ((1, 1), (100, 1), (100, 7), (65, 64), (40, 1000)):
        arrays = {name: np.zeros(size, int) for name in "VW"}
        assert_runs_as_interpreted(divisions(), {"n": size, "w": divisor, **arrays})


def test_products_divide_all_numbers_of_32_bits():
    host = """
    extern "C" long quotient(long a, long b) { return truncdiv_by_index<int32_t>(a, b, reciprocal(b)); }
    extern "C" long rest(long a, long b) { return truncmod_by_index<int32_t>(a, b, reciprocal(b)); }
    extern "C" long wide(long a, long b) { return truncdiv_by_index<int64_t>(a, b, reciprocal(b)); }
    """
    definitions = "\n".join(helpers.definitions({("truncmod_by", helpers.INDEX)}, CUDA))
    text = "#include <stdint.h>\n" + RECIPROCAL + definitions.replace("__host__ __device__ ", "") + host
    library = open_library(str(compile_shared(text, "divide", language="c++", flags=CPP_FLAGS)))
    for name in ("quotient", "rest", "wide"):
        getattr(library, name).argtypes, getattr(library, name).restype = [ctypes.c_long] * 2, ctypes.c_long
    rng = random.Random(0)
    edges = [1, 2, 3, 5, 7, 9, 2**15, 2**16 + 1, 2**30 - 1, 2**30, 2**30 + 1, 2**31 - 2, 2**31 - 1]
    divisors = [*edges, *(rng.randrange(1, 2**31) >> rng.randrange(31) or 1 for _ in range(300))]
    for divisor in divisors:
        multiple = divisor * rng.randrange((2**31 - 1) // divisor + 1)
        near = (multiple - 1, multiple, multiple + 1, 0, 1, 2**31 - 2, 2**31 - 1, rng.randrange(2**31))
        for dividend in (sign * each for each in near if 0 <= each < 2**31 for sign in (1, -1)):
            expected = abs(dividend) // divisor * (1 if dividend >= 0 else -1)
            assert library.quotient(dividend, divisor) == library.wide(dividend, divisor) == expected
            assert library.rest(dividend, divisor) == dividend - expected * divisor


def test_A19_reordered_data_of_32_bits_does_not_overflow(capfd):
    """What normalize adds in another order wraps on the way, which C++ leaves undefined for signed integers."""
    p, q = (Array(name, i32, (n,)) for name in "pq")
    big = Var("big", i32)
    value = add(sub(load(p, i), big), mul(load(q, i), big), big)  # big + big is out of range
    threads = loop("i", 0, n, Store("q", (i,), value), kind="thread.x")
    fn = nest("f", "n", [p, q], loop("b", 0, 1, threads, kind="block.x"), scalars=(big,))
    after = normalize(fn)
    assert show(after) != show(fn)
    source = emit_cuda(after)
    flags = (*CPP_FLAGS, "-fno-wrapv", "-fsanitize=signed-integer-overflow", "-O1")
    library = open_library(str(compile_shared(emulated_text(source), "f", language="c++", flags=flags)))
    given = {"n": 4, "big": np.int32(2**31 - 1), "p": np.array([0, 1, -1, -(2**31)], np.int32)}
    given["q"] = np.array([2, -1, 1, 2**31 - 1], np.int32)
    expected = outcome(fn, given)
    Emulated(fn, library, c_function(library, source, fn), None)(**given)
    np.testing.assert_array_equal(given["q"], expected["q"])
    assert capfd.readouterr().err == ""


def test_an_array_that_a_loop_steps_through_by_a_size_has_a_pointer_of_its_own():
    """The first addend has 64 bits, so that nvcc adds it to the pointer before the loop; constant steps fold anyway."""

    def kernel(*index):
        body = loop("k", 0, n, store(V, index, 1))
        inner = loop("t", 0, 32, Let("start", mul(b, n)), body, kind="thread.x")
        text = emit_cuda(nest("f", "n", [V], loop("b", 0, n, inner, kind="block.x"))).text
        return next(line.strip() for line in text.splitlines() if "V[" in line)

    k, start = var("k"), var("start")
    assert kernel(add(start, mul(n, k), 1)) == "V[(int64_t)start + n * k + 1] = 1;"
    assert kernel(add(start, mul(n, add(k, b)))) == "V[start + n * (k + b)] = 1;"  # the sum is new each time
    assert kernel(add(start, mul(k, 4))) == "V[start + k * 4] = 1;"
    assert kernel(add(start, k)) == "V[start + k] = 1;"
    assert kernel(add(k, mul(n, k))) == "V[k + n * k] = 1;"


def test_a_block_for_each_iteration_of_32_bits():
    """Where the host can tell how many there are, nothing is compared; where rows differ, the block's own is."""
    row = loop("r", b, n, store(V, (r,), 1), kind="block.x")
    text = emit_cuda(nest("f", "n", [V], loop("b", 0, n, row, kind="block.y"))).text
    lines = [line.strip() for line in text.splitlines() if "for (index_t" in line or "break" in line]
    assert lines == [
        "for (index_t b = (index_t)blockIdx.y; sizeof(index_t) == 4 || b < n; b += (index_t)gridDim.y) {",
        "for (index_t r = b + (index_t)blockIdx.x; r < n; r += (index_t)gridDim.x) {",
        "if (sizeof(index_t) == 4) break; /* there is a block for each */",
        "if (sizeof(index_t) == 4) break; /* there is a block for each */",
    ]
    waiting = nest("f", "n", [V], loop("b", 0, n, Barrier(), store(V, (b,), 1), kind="block.x"))
    assert "break" not in emit_cuda(waiting).text  # the copies of such kernels are better off in a loop


@pytest.mark.parametrize(
    "body",
    [
        (loop("b", 0, 70_000, store(V, (b,), b), kind="block.y"),),
        (loop("b", 5, 70_005, store(V, (sub(b, 5),), b), kind="block.y"),),
        (loop("b", 0, 280_000, store(V, (Binary(">>", b, const(2)),), b), step=4, kind="block.y"),),
        (store(V, (0,), 1), loop("b", 0, 70_000, store(V, (b,), b), kind="block.y")),
        tuple(loop("b", 0, end, store(V, (b,), add(b, end)), kind="block.y") for end in (70_000, 66_000)),
    ],
)
def test_more_blocks_than_there_may_be_run_one_after_the_other(body):
    fn = nest("f", "", [Array("V", i64, (const(70_000),))], loop("r", 0, 1, *body, kind="block.x"))
    assert_runs_as_interpreted(fn, {"V": np.full(70_000, -1)})


def test_trips_that_are_truncated_may_be_more_than_blocks():
    """(n - 5) / 2 is -1, where it is rounded down."""
    trips_of = add(Binary("truncdiv", sub(n, 5), const(2)), 3)
    fn = nest("f", "n", [Array("V", i64, (const(8),))], loop("b", 0, trips_of, store(V, (b,), b), kind="block.x"))
    for size in (0, 2, 4):
        assert_runs_as_interpreted(fn, {"n": size, "V": np.full(8, -1)})


def test_a_store_outside_of_empty_block_loops_is_done():
    inner = loop("r", 0, m, store(W, (r,), 1), kind="block.y")
    fn = nest("f", "n m", [V, Array("W", i64, (m,))], loop("b", 0, n, store(V, (b,), 7), inner, kind="block.x"))
    for size in (0, 3):
        assert_runs_as_interpreted(fn, {"n": 4, "m": size, "V": np.zeros(4, int), "W": np.zeros(size, int)})


def test_the_greatest_of_three_has_no_minus_that_ptxas_may_drop():
    """It is wrong about max(max(-a, b), c) on sm_90: see docs/gpu.md."""
    lo = binary("max", binary("max", Unary("-", m), sub(n, 7)), 0)
    fn = nest("f", "n m", [V], loop("b", lo, n, store(V, (b,), 1), kind="block.x"))
    assert "negated_index<index_t>(m)" in emit_cuda(fn).text
    parity = sub(binary("floormod", add(m, 3), 2), 1)  # -(m & 1), as nvcc finds out
    fn = nest("f", "n m", [V], loop("b", binary("max", binary("max", parity, sub(n, 7)), 0), n, *fn.body[0].body,
              kind="block.x"))  # fmt: skip
    assert "hidden_index<index_t>(((m + 3) & 1) - 1)" in emit_cuda(fn).text
    v, w = (Array(name, i32, (n,)) for name in "vw")
    greatest = binary("max", binary("max", Unary("-", load(v, b)), load(w, b)), load(v, 0))
    fn = nest("f", "n", [v, w], loop("b", 0, n, store(w, (b,), greatest), kind="block.x"))
    assert "    POLYSCHED_HIDDEN(end);" in emit_cuda(fn).text
