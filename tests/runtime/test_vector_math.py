import shutil

import pytest

import polysched as ps
from benchmarks.vector_math import errors
from polysched.codegen.emit import vector_math as forms
from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.ir.build import load, var
from polysched.ir.dtypes import f16, f32, f64
from polysched.ir.nodes import Array, Call, Store
from polysched.runtime import cpu, vector_math
from polysched.runtime.cpu import load as load_program
from polysched.runtime.toolchain import c_flags, compile_shared
from polysched.runtime.vector_math import libmvec_has
from tests.nests import loop, nest

n, i = var("n"), var("i")
A, B = Array("A", f32, (n,)), Array("B", f32, (n,))
MOST = 4.01  # ulp: what glibc promises


def applied(*calls):
    """A SIMD loop that stores functions of the elements of A."""
    body = [Store("B", (i,), Call(name, (load(A, i),) * count, f32)) for name, count in calls]
    return linearize(nest("f", "n", [A, B], loop("i", 0, n, *body, kind="vector")))


def test_forms_are_declared_where_floats_may_round_otherwise():
    fn = applied(("exp", 1), ("pow", 2), ("fabs", 1), ("exp", 1))
    text = emit_c(fn, vector_math=True).text
    assert text.count("#pragma omp declare simd notinbranch") == 2
    assert "\nfloat expf(float);\n" in text and "\nfloat powf(float, float);\n" in text
    assert "declare simd" not in emit_c(fn).text


def test_only_under_fast_math():
    @ps.nest
    def each(a: ps.f64["n"], n: ps.size):
        for i in range(n):
            a[i] = ps.exp(a[i])

    done, told = ps.optimize(each), "exp: called for one value at a time, for vectors with Options(fast_math=True)"
    assert "declare simd" not in done.source.text and told in done.explain().splitlines()
    fast = ps.optimize(each, options=ps.Options(fast_math=True))
    assert "double exp(double);" in fast.source.text and "exp: called" not in fast.explain()
    assert "on 4 threads" in fast.verify().ways


def test_functions_of_half_are_those_of_float():
    H = Array("H", f16, (n,))
    body = Store("H", (i,), Call("exp", (load(H, i),), f16))
    text = emit_c(linearize(nest("f", "n", [H], loop("i", 0, n, body))), vector_math=True).text
    assert "expf((float)H[i])" in text and "\nfloat expf(float);\n" in text


needs_libmvec = pytest.mark.skipif(not libmvec_has(forms.MACRO + "expf"), reason="this C library has no vector forms")


@needs_libmvec
def test_the_form_is_called():
    fn = applied(("exp", 1))
    path = load_program(emit_c(fn, vector_math=True), fn, fast_math=True).library._name
    with open(path, "rb") as library:
        assert b"_ZGV" in library.read()


@needs_libmvec
def test_a_compiler_that_calls_no_form_is_not_asked_to(monkeypatch, tmp_path):
    """As clang, which reads the pragma and calls the function itself."""
    mine = tmp_path / "mine"
    mine.write_text(f'#!/bin/sh\nexec {shutil.which("gcc")} "$@" -fno-openmp -fno-openmp-simd\n')
    mine.chmod(0o755)
    monkeypatch.setenv("POLYSCHED_CC", str(mine))
    assert not libmvec_has(forms.MACRO + "expf")


@needs_libmvec
def test_a_library_without_a_form_is_found_out(monkeypatch):
    monkeypatch.setattr(vector_math, "WITH_LIBMVEC", ("-lm", "-l:no-such-libmvec.so"))
    vector_math._is_called.cache_clear()
    assert not libmvec_has(forms.MACRO + "expf")
    vector_math._is_called.cache_clear()


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "pow", "sin", "cos"])
def test_forms_are_within_four_ulp(name, dtype):
    found = errors(name, dtype)
    assert found.vector < MOST
    assert found.special == (), "NaN, infinity and zeros are as in the scalar form"


@pytest.mark.parametrize("name", ["exp", "tanh"])
def test_ours_are_within_one_ulp(name, monkeypatch):
    """Where libmvec has none; denormal results are rounded as others."""
    monkeypatch.setattr(cpu, "libmvec_has", lambda text: ())
    found = errors(name, f32)
    assert found.vector < 0.6
    assert found.special == ()


def test_ours_run_as_simd(monkeypatch):
    """gcc says so of the loop, and nothing calls the library."""
    fn = applied(("exp", 1), ("tanh", 1))
    text = emit_c(fn, vector_math=True).text.replace(forms.MACRO, "NO_")
    path = compile_shared(text, "f", flags=c_flags(text, fast_math=True))
    assert b"\0expf\0" not in path.read_bytes() and b"\0tanhf\0" not in path.read_bytes()
