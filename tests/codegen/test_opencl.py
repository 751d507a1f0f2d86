import os
import random
import shutil
import subprocess

import numpy as np
import pytest

import polysched as ps
from benchmarks.polybench import KERNELS
from polysched.check.verify import verify
from polysched.codegen.emit.opencl import emit_opencl, emit_opencl_file
from polysched.codegen.emit.source import Offload
from polysched.codegen.memory.linearize import linearize
from polysched.errors import PolyschedError
from polysched.ir.build import add, const, load, mul, store, var
from polysched.ir.dtypes import ALL, boolean, f32, f64, i32, i64, u64
from polysched.ir.nodes import Alloc, Array, Barrier, Binary, Call, Cast, Const, Let
from polysched.runtime.emulated.emulate import emulate
from tests.codegen.operations import awkward_values, every_operation
from tests.codegen.programs import random_program
from tests.codegen.test_cuda import heat, tile
from tests.nests import arguments_for, loop, nest, outcome, random_nest
from tests.opencl import STRICT, on_device

n, i, j, t, b, r = (var(name) for name in "nijtbr")
V, W = Array("V", i64, (n,)), Array("W", i64, (n,))


def own_text(source):
    """Without the part that is in every text."""
    return source.text[source.text.index("\n#endif\n\n") + 9 :]


def assert_runs_as_interpreted(program, fn, arguments):
    expected = outcome(fn, arguments)
    given = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    program(**given)
    for name in expected:
        np.testing.assert_array_equal(given[name], expected[name], err_msg=name, strict=True)


@pytest.fixture(params=["emulated", "device"])
def run(request, tmp_path):
    """Holds a function's text to the interpreter: on the CPU as C++, and by OpenCL."""

    def check(fn, arguments):
        source = emit_opencl(linearize(fn))
        program = emulate(source, fn) if request.param == "emulated" else on_device(source, fn, tmp_path)
        assert_runs_as_interpreted(program, fn, arguments)

    return check


def test_a_whole_text(golden, run):
    source = emit_opencl(linearize(heat()))
    golden("heat_opencl.c", own_text(source))
    assert source.entry == "heat"
    assert [kernel.name for kernel in source.kernels] == ["heat_k0", "heat_k1"]
    run(heat(), arguments_for(heat(), random.Random(0), n=40))


@pytest.mark.parametrize("dtype", [ALL[name] for name in ("i8", "u16", "i32", "i64", "u64", "f32", "f64")], ids=str)
def test_every_operation_is_exact(dtype, run):
    with np.errstate(all="ignore"):
        run(every_operation(dtype), awkward_values(dtype))


def test_a_text_says_whether_products_and_sums_may_be_rounded_once():
    exact, contracted = emit_opencl(linearize(heat())), emit_opencl(linearize(heat()), contract=True)
    line = "#pragma OPENCL FP_CONTRACT OFF\n"
    assert line in exact.device and exact.device.replace("FP_CONTRACT OFF", "FP_CONTRACT ON") == contracted.device


def test_halves_are_exact_where_there_is_a_compiler_for_them():
    fn = every_operation(ALL["f16"])
    source = emit_opencl(linearize(fn))
    assert "#pragma OPENCL EXTENSION cl_khr_fp16 : enable" in source.device
    with np.errstate(all="ignore"):
        assert_runs_as_interpreted(emulate(source, fn), fn, awkward_values(ALL["f16"]))


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_are_one_thread(seed, run):
    for fn, size in ((random_nest(random.Random(seed)), 5), (random_program(random.Random(seed)), 3)):
        arguments = arguments_for(fn, random.Random(seed), n=size)
        try:
            outcome(fn, arguments)
        except ZeroDivisionError:
            continue
        run(fn, arguments)


def test_host_code_reads_elements_back_and_holds_buffers(run):
    """A bound and a value loaded on the host, a temporary between two kernels."""
    bound, buffer, one = var("bound"), Array("buffer", i64, (n,)), Array("one", i64, ())
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
    text = emit_opencl(fn).text
    assert "const cl_mem buffer = polysched_buffer(sizeof(int64_t) * (size_t)n, NULL);" in text
    assert "const int64_t bound = polysched_read_i64(device_V, 0);" in text
    run(fn, {"n": 50, "V": np.arange(2, 52), "W": np.zeros(50, int)})


def test_scalars_of_all_types_are_passed(run):
    """A bool is a byte to a kernel's caller."""
    scalars = [var("flag", boolean), var("small", ALL["i8"]), var("single", f32), var("large", u64), var("x", f64)]
    flags, out = Array("flags", boolean, (n,)), Array("out", f64, (n,))
    total = add(*(Cast(scalar, f64) for scalar in scalars))
    body = loop("i", 0, n, store(flags, (i,), scalars[0]), store(out, (i,), total), kind="thread.x")
    fn = nest("f", "n", [flags, out], body, scalars=scalars)
    values = {"flag": True, "small": -3, "single": 0.5, "large": 1 << 63, "x": 0.25}
    run(fn, {"n": 5, "flags": np.zeros(5, bool), "out": np.zeros(5), **values})


def test_names_of_opencl_are_spelled_anew(run):
    names = ("kernel", "global", "step", "float4", "clamp", "cl_mem", "get_global_id")
    arrays = [Array(name, i64, (n,)) for name in names]
    stores = [store(array, (i,), add(load(array, i), k)) for k, array in enumerate(arrays)]
    fn = nest("barrier", "n", arrays, loop("i", 0, n, *stores, kind="thread.x"))
    run(fn, {"n": 4, **{name: np.arange(4) for name in names}})


def test_the_least_integers_have_names(run):
    small = Array("small", i32, (n,))
    least = [store(V, (i,), const(-(1 << 63))), store(small, (i,), Const(-(1 << 31), i32))]
    fn = nest("f", "n", [V, small], loop("i", 0, n, *least, kind="thread.x"))
    assert "V[i] = LONG_MIN;" in emit_opencl(fn).device
    run(fn, {"n": 3, "V": np.zeros(3, int), "small": np.zeros(3, np.int32)})


def test_nothing_runs_for_empty_grids_and_arrays(run):
    fn = nest("f", "n", [V], loop("i", 0, n, store(V, (i,), i), kind="block.x"))
    run(fn, {"n": 0, "V": np.zeros(0, int)})


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "atax", "correlation"])
def test_polybench(name, tmp_path):
    """By `verify`, on the CPU, then the same on the device."""
    done = ps.optimize(KERNELS[name].nest, "opencl")
    done.verify()
    program = on_device(done.source, done.nest, tmp_path)
    verify(done.nest, {"": program}, scop=done.scop, dependences=done.dependences, tree=done.tree, sizes={})


def test_several_functions_share_a_file():
    """What both need is there once."""
    half = loop("i", 0, n, store(V, (i,), Binary("floordiv", load(V, i), const(3))), kind="thread.x")
    turned = loop("t", 0, Binary("floordiv", load(V, 0), const(3)), half)
    offloads = [Offload(nest(name, "n", [V], turned), name, {"V": n}) for name in ("first", "second")]
    text = emit_opencl_file(offloads)
    assert text.startswith("/* first, second: generated by polysched ")
    counts = {part: text.count(part) for part in ("#include <CL/cl.h>", "inline int64_t floordiv_i64(", "\nint ")}
    assert counts == {"#include <CL/cl.h>": 1, "inline int64_t floordiv_i64(": 1, "\nint ": 2}
    assert emit_opencl_file([]) == ""


def test_barriers_and_shared_arrays_are_printed():
    tile_array = Array("tile", f64, (const(32),), "shared")
    inner = loop("t", 0, 2, Alloc(tile_array), Barrier(), store(V, (b,), b))
    text = emit_opencl(nest("f", "n", [V], loop("b", 0, n, inner, kind="block.x"))).device
    assert "{\n    __local double tile[32];\n    for (long b" in text
    assert "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);" in text


def test_the_user_s_functions_are_refused():
    call = loop("i", 0, n, store(V, (i,), Call("f", (load(V, i),), i64)), kind="thread.x")
    with pytest.raises(PolyschedError, match="nest: OpenCL has no f, a function of the user's"):
        emit_opencl(nest("nest", "n", [V], call))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_khronos_headers_accept_the_texts(tmp_path):
    includes = ["-E", "-include", "CL/cl.h", "-x", "c", os.devnull, "-o", os.devnull]
    if subprocess.run(["gcc", *includes], capture_output=True).returncode:
        pytest.skip("there is no CL/cl.h to compile with")
    file = tmp_path / "heat.c"
    file.write_text(emit_opencl(linearize(heat())).text)
    subprocess.run(["gcc", *STRICT, "-c", str(file), "-o", str(file.with_suffix(".o"))], check=True)
