import signal

import numpy as np
import pytest

from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.errors import LaunchError, PolyschedError, ToolchainError
from polysched.ir.build import add, const, load, mul, store, var
from polysched.ir.dtypes import ALL, DType, f64, i64
from polysched.ir.nodes import DIVISIONS, Array, Binary, Call, Cast, If, Store, Var
from polysched.runtime import cpu
from tests.nests import gemm, loop, nest

n, i = var("n"), var("i")
V = Array("V", f64, (n,))


def test_a_nest_runs_in_place():
    """The sizes come from the arrays."""
    a, b, c = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4), np.ones((2, 4))
    run = cpu.load(emit_c(linearize(gemm())), gemm())
    run(A=a, B=b, C=c, alpha=2.0, beta=3.0)
    np.testing.assert_array_equal(c, 2 * (a @ b) + 3)
    assert repr(run) == "CpuProgram(gemm, threads=None)"


@pytest.mark.parametrize("dtype", list(ALL.values()), ids=str)
def test_scalars_of_every_dtype_arrive(dtype):
    fn = nest("f", "", [Array("out", dtype, ())], Store("out", (), Var("s", dtype)), scalars=(Var("s", dtype),))
    values = {"f": (-0.25, np.inf), "b": (True, False)}.get(dtype.kind) or (
        np.iinfo(dtype.numpy).min,
        np.iinfo(dtype.numpy).max,
    )
    run = cpu.load(emit_c(fn), fn)
    for value in values:
        out = np.zeros((), dtype.numpy)
        run(out=out, s=value)
        assert out[()] == value


def test_the_number_of_threads_is_as_asked_and_set_back():
    """As many threads as asked for enter the loop; the setting of the process is what it was."""
    fn = nest("f", "n", [V], loop("i", 0, n, Store("V", (i,), Cast(Call("omp_get_num_threads", (), ALL["i32"]), f64)),
                                  kind="parallel"))  # fmt: skip
    default = cpu.load(emit_c(fn), fn)
    before = default.library.omp_get_max_threads()
    for threads in (1, 3):
        out = np.zeros(8)
        cpu.load(emit_c(fn), fn, threads=threads)(V=out)
        assert set(out) == {float(threads)}
        assert default.library.omp_get_max_threads() == before


def test_empty_arrays_are_fine():
    fn = nest("f", "n", [V], loop("i", 0, n, store(V, (i,), 1.0)))
    cpu.load(emit_c(fn), fn)(V=np.zeros(0))


def test_a_program_runs_on_what_each_call_gives():
    """On arrays of the forms it has seen, of others, and on one that has grown."""
    W = Array("W", f64, (n,))
    fn = nest("f", "n", [V, W], loop("i", 0, n, store(V, (i,), add(load(W, i), 1.0))))
    run = cpu.load(emit_c(fn), fn)
    grown = np.zeros(2)
    for size in (4, 4, 0, 7, 4):
        out, values = np.zeros(size), np.arange(float(size))
        run(V=out, W=values)
        np.testing.assert_array_equal(out, values + 1)
        grown.resize(size, refcheck=False)
        run(V=grown, W=out)
        np.testing.assert_array_equal(grown, values + 2)


def test_nothing_runs_when_an_argument_is_wrong():
    fn = nest("f", "n", [V, Array("W", f64, (n,))], loop("i", 0, n, store(V, (i,), 1.0)))
    out = np.zeros(4)
    with pytest.raises(LaunchError, match="n is 4 by V's dimension 0, but 5 by W's dimension 0"):
        cpu.load(emit_c(fn), fn)(V=out, W=np.zeros(5))
    assert not out.any()


def test_a_function_that_is_nowhere_is_named():
    value = Call("nowhere_to_be_found", (const(1.0, f64),), f64)
    fn = nest("f", "n", [V], loop("i", 0, n, Store("V", (i,), value)))
    with pytest.raises((ToolchainError, LaunchError), match="nowhere_to_be_found"):
        cpu.load(emit_c(fn), fn)


def test_the_same_program_is_compiled_once(monkeypatch):
    total = Array("total", i64, ())
    fn = nest("once", "n", [total], loop("i", 0, n, store(total, (), add(load(total), mul(i, i)))))
    cpu.load(emit_c(fn), fn)
    monkeypatch.setattr("polysched.runtime.toolchain.subprocess.run", lambda *_, **__: pytest.fail("compiled again"))
    result = np.zeros((), np.int64)
    cpu.load(emit_c(fn), fn)(total=result, n=4)
    assert result == 14


def test_an_interrupt_of_a_call_comes_when_it_is_done():
    """What it has begun is whole, and the next call runs."""
    fn = nest("f", "n", [V], loop("i", 0, n, store(V, (i,), add(load(V, i), 1.0))))
    run, out = cpu.load(emit_c(fn), fn), np.zeros(1_000_000)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                run(V=out)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert out.min() == out.max() > 0
    first = out[0]
    run(V=out)
    assert out[0] == first + 1


@pytest.mark.parametrize("op", sorted(DIVISIONS))
@pytest.mark.parametrize("dtype", [dtype for dtype in ALL.values() if dtype.is_integer], ids=str)
def test_an_integer_divided_by_zero_is_an_error_of_pythons(op: str, dtype: DType) -> None:
    """On some thread; the process lives on, and the next call finds nothing of it."""
    x, y, q = (Array(name, dtype, (n,)) for name in "xyq")
    quotient = Store("q", (i,), Binary(op, load(x, i), load(y, i)))
    fn = nest("f", "n", [x, y, q], loop("i", 0, n, quotient, kind="parallel"))
    run = cpu.load(emit_c(fn), fn)
    numbers, divisors, found = (np.full(100_000, value, dtype.numpy) for value in (7, 2, 0))
    for _ in range(2):
        divisors[777] = 0
        with pytest.raises(ZeroDivisionError, match=r"^f divides an integer by zero$") as error:
            run(x=numbers, y=divisors, q=found)
        assert isinstance(error.value, PolyschedError)
        divisors[777] = 2
        run(x=numbers, y=divisors, q=found)
        assert (found == (3 if op.endswith("div") else 1)).all()


def test_what_is_not_divided_is_no_error():
    """A size of zero divides nothing here, nor does what is guarded; a constant needs no test."""
    m, V_i = var("m"), load(Array("V", i64, (n,)), i)
    W = Array("W", i64, (n,))
    guarded = If(Binary("!=", V_i, const(0)), (store(W, (i,), Binary("truncdiv", i, V_i)),))
    by_size = If(Binary(">", m, const(0)), (store(W, (i,), Binary("truncmod", i, m)),))
    fn = nest("f", "n m", [Array("V", i64, (n,)), W], loop("i", 0, n, guarded, by_size))
    found = np.zeros(3, int)
    cpu.load(emit_c(fn), fn)(V=np.array([0, 1, 0]), W=found, m=0)
    assert found.tolist() == [0, 1, 0]
    constant = nest("g", "n", [W], loop("i", 0, n, store(W, (i,), Binary("floordiv", i, const(7)))))
    assert "zero_divisor" not in emit_c(constant).text
