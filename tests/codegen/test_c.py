import random
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.errors import PolyschedError
from polysched.ir.build import add, binary, const, floordiv, floormod, load, mul, store, sub, var
from polysched.ir.dtypes import ALL, boolean, f16, f32, f64, i8, i32, i64, u8, u32, u64
from polysched.ir.nodes import Alloc, Array, Barrier, Binary, Call, Cast, If, Let, Select, Store, Unary, Var
from polysched.runtime.cpu import load as load_program
from polysched.runtime.toolchain import C_FLAGS
from tests.codegen.operations import awkward_values, every_operation
from tests.codegen.programs import random_program
from tests.nests import arguments_for, canonical, loop, nest, outcome, random_nest

n, m, i, j, k = (var(name) for name in "nmijk")
x, y, p, q = var("x", f64), var("y", f64), var("p", i32), var("q", i32)
a, b, c = (Var(name, boolean) for name in "abc")


def assert_runs_as_interpreted(fn, arguments, threads=None):
    expected = outcome(fn, arguments)
    given = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    load_program(emit_c(linearize(fn)), fn, threads=threads)(**given)
    for name in expected:
        np.testing.assert_array_equal(given[name], expected[name], err_msg=name, strict=True)


def spelled(expr):
    """The text of an expression that is stored to an array of its dtype."""
    out = Array("out", expr.dtype, ())
    scalars = (x, y, p, q, Var("u", u8), Var("h", f16), a, b, c)
    text = emit_c(nest("f", "n m i j k", [out], Store("out", (), expr), scalars=scalars)).text
    return text.split("out[0] = ")[1].split(";\n")[0]


def tiled_scale():
    """Parallel tiles of a scaled copy of a matrix, with a temporary, a guard and a row sum."""
    source, target, total = Array("A", f32, (n, m)), Array("B", f32, (n, m)), Array("sum", f64, (n,))
    row = Array("row", f64, (), "private")
    copied = store(target, (i, j), mul(load(source, i, j), var("alpha", f32)))
    kept = store(target, (i, j), load(source, i, j))
    body = loop(
        "tile", 0, floordiv(add(n, 31), 32),
        loop(
            "i", mul(var("tile"), 32), binary("min", n, add(mul(var("tile"), 32), 32)),
            Alloc(row),
            store(row, (), 0.0),
            loop("j", 0, m, If(binary("==", floormod(add(i, j), 3), 0), (copied,), (kept,)), kind="vector"),
            loop("j", 0, m, store(row, (), add(load(row), Cast(load(target, i, j), f64)))),
            store(total, (i,), load(row)),
        ),
        kind="parallel",
    )  # fmt: skip
    return nest("tiled_scale", "n m", [source, target, total], body, scalars=(var("alpha", f32),))


def test_a_whole_text(golden):
    golden("tiled_scale.c", emit_c(linearize(tiled_scale())).text)
    assert_runs_as_interpreted(tiled_scale(), arguments_for_f32(), threads=2)


def arguments_for_f32():
    arguments = arguments_for(tiled_scale(), random.Random(0), n=40)
    return {**arguments, "alpha": 0.75}


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (sub(i, sub(j, k)), "i - (j - k)"),
        (sub(sub(i, j), k), "i - j - k"),
        (mul(add(i, j), k), "(i + j) * k"),
        (add(i, mul(j, k)), "i + j * k"),
        (binary("-", i, Unary("-", j)), "i - -j"),
        (Unary("-", Unary("-", i)), "-(-i)"),
        (Unary("-", const(-5)), "-(-5)"),
        (Unary("-", add(i, j)), "-(i + j)"),
        (Binary("||", Binary("&&", a, b), c), "(a && b) || c"),
        (Binary("&&", a, Binary("&&", b, c)), "a && b && c"),
        (Binary("&&", a, Binary("||", b, c)), "a && (b || c)"),
        (Binary("==", Binary("<", i, j), Binary("<", j, k)), "(i < j) == (j < k)"),
        (binary("<<", add(i, 1), 2), "(i + 1) << 2"),
        (binary("&", i, binary("|", j, k)), "i & (j | k)"),
        (Select(a, i, Select(b, j, k)), "a ? i : b ? j : k"),
        (add(Select(a, i, j), 1), "(a ? i : j) + 1"),
        (floordiv(i, 3), "floordiv_i64(i, 3)"),
        (floordiv(i, 32), "i >> 5"),
        (floormod(add(i, j), 32), "(i + j) & 31"),
        (binary("truncdiv", i, n), "i / divisor_i64(n)"),  # a size is never -1, but may be 0
        (binary("truncmod", i, add(n, 2)), "i % (n + 2)"),
        (binary("truncdiv", i, sub(j, k)), "truncdiv_i64(i, divisor_i64(j - k))"),
        (binary("truncmod", p, 7), "p % 7"),
        (binary("min", x, y), "min_f64(x, y)"),
        (Binary("*", Var("u", u8), Var("u", u8)), "(uint8_t)(u * u)"),
        (Unary("~", Var("u", u8)), "(uint8_t)~u"),
        (Binary("+", Var("h", f16), const(0.1, f16)), "(_Float16)((float)h + (float)(_Float16)0.099975586f)"),
        (Cast(Binary("+", p, q), f64), "(double)(p + q)"),
        (Cast(i, f16), "(_Float16)(float)i"),
        (Cast(p, i32), "p"),
        (Call("sqrt", (x,), f64), "sqrt(x)"),
        (Call("pow", (Cast(x, f32), const(2.0, f32)), f32), "powf((float)x, 2.0f)"),
    ],
)
def test_expressions(expr, text):
    assert spelled(expr) == text


@pytest.mark.parametrize(
    ("constant", "text"),
    [
        (const(0.1, f64), "0.1"),
        (const(0.1, f32), "0.1f"),
        (const(1e300, f64), "1e+300"),
        (const(1e300, f32), "INFINITY"),
        (const(3, f64), "3.0"),
        (const(1e16, f32), "1e+16f"),
        (const(-0.0, f64), "-0.0"),
        (const(float("-inf"), f64), "-INFINITY"),
        (const(float("nan"), f32), "NAN"),
        (const(-(2**63)), "INT64_MIN"),
        (const(-(2**31), i32), "INT32_MIN"),
        (const(-128, i8), "-128"),
        (const(7, u32), "7u"),
        (const(2**64 - 1, u64), "18446744073709551615ull"),
        (const(True, boolean), "true"),
        (mul(2, 3_000_000_000), "2 * 3000000000"),
        (mul(100_000, 100_000), "(int64_t)100000 * 100000"),  # C would compute it in int
        (binary("<<", 1, k), "(int64_t)1 << k"),
    ],
)
def test_constants(constant, text):
    assert spelled(constant) == text


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL.values() if dtype.kind != "b"], ids=str)
def test_every_operation_is_exact(dtype):
    with np.errstate(all="ignore"):
        assert_runs_as_interpreted(every_operation(dtype), awkward_values(dtype))


@pytest.mark.parametrize("fn", canonical(), ids=lambda fn: fn.name)
def test_canonical_nests_run_as_interpreted(fn):
    assert_runs_as_interpreted(fn, arguments_for(fn, random.Random(0), n=6))


@pytest.mark.parametrize("seed", range(12))
def test_random_nests_run_as_interpreted(seed):
    fn = random_nest(random.Random(seed), statements=6)
    assert_runs_as_interpreted(fn, arguments_for(fn, random.Random(seed), n=5))


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_run_as_interpreted(seed):
    """Overflow, divisions behind guards, Lets, conditions that load."""
    fn = random_program(random.Random(seed))
    arguments = arguments_for(fn, random.Random(seed), n=3)
    try:
        outcome(fn, arguments)
    except ZeroDivisionError:
        pytest.skip("divides by zero, which traps")
    assert_runs_as_interpreted(fn, arguments)


def test_loop_bounds_are_evaluated_once():
    """The loop overwrites what its bound was loaded from."""
    counts = Array("counts", i64, (n,))
    fn = nest("f", "n", [counts], loop("i", 0, load(counts, 0), store(counts, (0,), add(load(counts, 0), 1))))
    assert "const int64_t i_end = counts[0];" in emit_c(fn).text
    assert_runs_as_interpreted(fn, {"n": 3, "counts": np.array([5, 0, 0])})


def test_names_that_c_takes_are_spelled_anew():
    arrays = [Array(name, f64, (n,)) for name in ("double", "y0", "min_f64", "x'", "double_", "__a", "sqrt")]
    lets = [Let("blockIdx", const(2)), Let("INT64_MAX", var("blockIdx"))]
    total = add(*(load(array, var("INT64_MAX")) for array in arrays[1:]))
    root = Call("sqrt", (binary("min", total, 4.0),), f64)
    fn = nest("main", "n", arrays, *lets, loop("for", 0, n, store(arrays[0], (var("for"),), root)))
    source = emit_c(fn)
    assert source.entry == "main_"
    assert source.parameters == fn.params
    assert_runs_as_interpreted(fn, {"n": 5, **{array.name: np.arange(5.0) for array in arrays}})


def test_a_parallel_loop_inside_another_is_serial():
    out = Array("out", f64, (n, n))
    inner = loop("j", 0, n, store(out, (i, j), 1.0), kind="parallel")
    text = emit_c(linearize(nest("f", "n", [out], loop("i", 0, n, inner, kind="parallel")))).text
    assert text.count("#pragma omp parallel for") == 1


@pytest.mark.parametrize(
    ("kind", "when", "pragma"),
    [
        ("parallel", (), "#pragma omp parallel for schedule(static)"),
        ("dynamic", (), "#pragma omp parallel for schedule(dynamic, 1 + (n > 0 ? n : 0) / 512)"),
        (
            "dynamic",
            (binary(">=", n, 3),),
            "#pragma omp parallel for schedule(dynamic, 1 + (n > 0 ? n : 0) / 512) if(n >= 3)",
        ),
        (
            "parallel",
            (binary(">=", n, 3), binary("<", n, 9)),
            "#pragma omp parallel for schedule(static) if(n >= 3 && n < 9)",  # gcc takes one condition only
        ),
    ],
    ids=["even", "uneven", "worth it", "two conditions"],
)
def test_iterations_are_shared_out_as_the_loop_says(kind, when, pragma):
    out = Array("out", f64, (n,))
    fn = nest("f", "n", [out], replace(loop("i", 0, n, store(out, (i,), 1.0), kind=kind), when=when))
    assert pragma in [line.strip() for line in emit_c(fn).text.splitlines()]
    assert_runs_as_interpreted(fn, {"n": 5, "out": np.zeros(5)})


def test_large_temporaries_live_on_the_heap_and_small_ones_on_the_stack():
    out, large, small = Array("out", i64, (n,)), Array("large", i64, (n,)), Array("small", i64, (const(4),))
    fill = [store(large, (i,), mul(i, i)), store(small, (const(0),), i)]
    use = store(out, (i,), add(load(large, i), load(small, 0)))
    fn = nest("f", "n", [out], loop("i", 0, n, Alloc(large), Alloc(small), *fill, use, kind="parallel"))
    text = emit_c(fn).text
    assert "malloc(sizeof(int64_t) * n)" in text
    assert "free(large);" in text
    assert "int64_t small[4];" in text
    assert_runs_as_interpreted(fn, {"n": 7, "out": np.zeros(7, int)}, threads=2)


def test_an_unknown_function_is_declared_for_the_user_to_supply():
    out = Array("out", f64, ())
    source = emit_c(nest("f", "", [out], Store("out", (), Call("relu", (x,), f64)), scalars=(x,)))
    assert "extern double relu(double);" in source.text


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to ask for warnings")
def test_nothing_unused_or_doubtful_makes_gcc_warn():
    """Parameters, Lets and temporaries that nothing reads, beside the operators that gcc likes to warn about."""
    out, unread, scalar = Array("out", f64, (n,)), Array("unread", f64, (n,)), Array("scalar", f64, (), "private")
    doubt = Binary("||", Binary("&&", Binary("<", i, n), Binary("<", n, m)), binary("==", binary("&", i, add(m, 1)), 0))
    guarded = If(doubt, (store(out, (i,), 1.0),))
    body = loop("i", 0, n, Let("t", mul(i, 2)), Alloc(scalar), store(scalar, (), 1.0), guarded)
    idle = nest("idle", "n m unused", [out, unread], body, scalars=(x,))
    operations = (every_operation(ALL[name]) for name in ("i8", "u16", "i64", "f16"))
    for fn in (idle, tiled_scale(), *canonical(), *operations):
        compiled = subprocess.run(
            ["gcc", *C_FLAGS, "-Wall", "-Wextra", "-Werror", "-c", "-xc", "-", "-o", "/dev/null"],
            input=emit_c(linearize(fn)).text, text=True, capture_output=True,
        )  # fmt: skip
        assert compiled.returncode == 0, compiled.stderr


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (store(Array("out", f64, (n, n)), (i, i), 0.0), "out has 2 subscripts; run the pass `linearize` first"),
        (Alloc(Array("t", f64, (n, n))), "t has 2 dimensions; run the pass `linearize` first"),
        (loop("i", 0, n, kind="block.x"), "loop i is on block.x, which only GPUs have"),
        (Barrier(), "C has no Barrier, which only GPUs have; print it with emit_cuda or emit_opencl"),
    ],
)
def test_what_c_cannot_say_is_refused(statement, message):
    with pytest.raises(PolyschedError) as error:
        emit_c(nest("f", "n i", [], statement))
    assert message in str(error.value)


def test_what_is_made_of_sizes_or_counts_divides_by_an_operator():
    i, n, m, area = var("i"), var("n"), var("m"), var("area")
    a = Array("a", i64, (n,))
    quotients = [Binary("truncdiv", i, divisor) for divisor in (mul(n, m), area, sub(n, m), i)]
    fn = nest("f", "n m", (a,), Let("area", mul(n, m)), loop("i", 0, n, *(store(a, (i,), each) for each in quotients)))
    assert [line.strip() for line in emit_c(fn).text.splitlines() if "a[i] =" in line] == [
        "a[i] = i / divisor_i64(n * m);",
        "a[i] = i / divisor_i64(area);",
        "a[i] = truncdiv_i64(i, divisor_i64(n - m));",
        "a[i] = i / divisor_i64(i);",
    ]
