"""Scalars that only name an index."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

import polysched as ps
from polysched.ir.build import add, floordiv, mul, store, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.nodes import Array, Call, Function, Let
from polysched.ir.text import show
from polysched.prelude.structure.forward import forward_indices
from tests.nests import loop, nest

size = ps.size


def forwarded(given: ps.Nest | Function) -> str:
    fn = given if isinstance(given, Function) else given.function
    return "\n".join(show(stmt) for stmt in forward_indices(fn)[0])


@ps.nest
def transpose(a: ps.f64["h", "w"], b: ps.f64["w", "h"], h: size, w: size):
    for p in range(h * w):
        y = p // w
        x = p - y * w
        inside = y < h
        if inside:
            b[x, y] = a[y, x]


def test_scalars_that_name_indices_are_put_in():
    body, names = forward_indices(transpose.function)
    assert [show(stmt) for stmt in body] == [
        "for p in 0..h * w:\n"
        "    if floordiv(p, w) < h:\n"
        "        b[p - floordiv(p, w) * w, floordiv(p, w)] = a[floordiv(p, w), p - floordiv(p, w) * w]"
    ]
    assert list(names.values()) == ["y", "x", "inside"]


@ps.nest
def chain(b: ps.f64["w", "h"], h: size, w: size):
    for p in range(h * w):
        rest = p
        x = rest % w
        rest //= w
        b[x, rest] = 0.0


def test_a_scalar_may_have_one_value_after_another():
    assert "b[floormod(p, w), floordiv(p, w)] = 0.0" in forwarded(chain)


@ps.nest
def kept(b: ps.f64["n"], at: ps.i64["n"], n: size, m: size):
    for p in range(n):
        loaded = at[p]
        traps = p // m
        counted = 0
        for k in range(m):
            counted += k
        real = 2.0
        if p > 4:
            b[traps] = real
        b[loaded] = real
        b[counted] = real


def test_what_changes_or_may_trap_stays():
    """m may be zero where n is not, and then the nest traps, whether or not p > 4."""
    body, names = forward_indices(kept.function)
    assert body == kept.function.body
    assert names == {}


@ps.nest
def branches(b: ps.f64["n"], n: size):
    for p in range(n):
        j = p
        if p > 2:
            j = p - 1
        b[j] = 0.0


def test_a_scalar_that_a_branch_assigns_stays():
    assert forward_indices(branches.function)[0] == branches.function.body


def test_lets_too():
    p, q, out = var("p"), var("q"), Array("out", f64, (var("n"),))
    fn = nest("f", "n", [out], loop("p", 0, var("n"), Let("q", add(p, 1)), store(out, (q,), 0.0)))
    assert forwarded(fn) == "for p in 0..n:\n    out[p + 1] = 0.0"


def test_calls_that_may_have_effects_stay():
    p, q, out = var("p"), var("q"), Array("out", f64, (var("n"),))
    for pure in (True, False):
        let = Let("q", Call("next", (p,), i64, pure=pure))
        fn = nest("f", "n", [out], loop("p", 0, var("n"), let, store(out, (q,), 0.0)))
        assert (forward_indices(fn)[0] == fn.body) is not pure


def test_a_long_chain_does_not_grow_without_bound():
    p, out = var("p"), Array("out", i64, (var("n"),))
    lets = [Let("t0", p), *(Let(f"t{k}", mul(var(f"t{k - 1}"), var(f"t{k - 1}"))) for k in range(1, 60))]
    body, names = forward_indices(nest("f", "n", [out], loop("p", 0, var("n"), *lets, store(out, (p,), var("t59")))))
    assert "t0" in names.values()
    assert len(show(body[0])) < 100_000


def test_a_quotient_by_what_the_loop_counts_is_no_trap():
    p, y, w, h = (var(name) for name in "pywh")
    out = Array("out", f64, (h,))
    body = loop("p", 0, mul(h, w), Let("y", floordiv(p, w)), store(out, (y,), 0.0))
    assert "out[floordiv(p, w)]" in forwarded(nest("f", "h w", [out], body))
    body = loop("p", 0, h, Let("y", floordiv(p, w)), store(out, (y,), 0.0))
    assert "out[y]" in forwarded(nest("f", "h w", [out], body))
