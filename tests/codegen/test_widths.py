"""polysched/codegen/emit/launch/widths.py and sufficient.py: for which sizes a kernel may count in 32 bits."""

from __future__ import annotations

import ctypes
import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from polysched.codegen.emit import kernels
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.emit.launch import sufficient
from polysched.codegen.emit.launch.widths import conditions
from polysched.codegen.memory.linearize import linearize
from polysched.config.target import LIMITS
from polysched.ir.build import add, binary, const, floordiv, floormod, load, mul, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.integers.bounds import range_of
from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Expr, For, Select
from polysched.ir.text import show
from polysched.pipeline import optimize
from polysched.runtime.emulated.emulate import emulate
from tests import nests
from tests.nests import arguments_for, loop, nest, outcome, store

b, i, j, m, n = (var(name) for name in "bijmn")
V = Array("V", i64, (const(1),))


def texts(indices, loops=(), lets=None, sizes="nm"):
    found = conditions(indices, {each.var: range_of(each) for each in loops}, lets or {}, sizes)
    return None if found is None else [show(bound.expression()) for bound in found]


def test_a_subscript_needs_its_array_to_be_small():
    loops = [For("i", const(0), n, 1, ()), For("j", const(1), m, 1, ())]
    assert texts([add(mul(i, m), j)], loops) == ["m * n"]


def test_what_inner_ranges_have_of_outer_variables_cancels():
    inside = For("i", mul(b, 8), binary("min", n, add(mul(b, 8), 8)), 1, ())
    around = For("b", const(0), floordiv(add(n, 7), 8), 1, ())
    assert texts([sub(i, mul(b, 8))], [around, inside]) == ["n"]  # i and b * 8 are parts too, below n
    skewed = For("i", sub(j, n), j, 1, ())
    assert texts([mul(n, sub(j, i))], [For("j", n, mul(2, n), 1, ()), skewed]) == ["n * n"]


def test_parts_count_even_where_the_whole_is_small():
    assert texts([sub(mul(n, n), mul(n, n))]) == ["n * n"]
    assert texts([floormod(mul(n, m), 8)]) == ["m * n"]
    assert texts([binary("min", i, const(2**31))], [For("i", const(0), const(9), 1, ())]) is None


def test_a_part_counts_unless_another_one_has_all_of_it():
    assert texts([add(mul(n, 2), m), add(n, mul(m, 3))]) == ["3 * m + 2 * n"]
    assert texts([mul(n, n), add(mul(mul(n, m), 2), 5), mul(mul(n, m), 3)]) == ["3 * m * n", "n * n"]


def test_without_sizes_there_are_no_conditions():
    assert texts([add(i, 1)], [For("i", const(0), const(1000), 1, ())]) == []
    assert texts([add(i, 1)], [For("i", const(0), const(2**31), 1, ())]) is None


def test_what_has_no_bound():
    assert texts([binary("^", n, sub(n, m))]) is None
    assert texts([floordiv(n, sub(n, m))]) is None


def test_ends_of_quotients_and_remainders_are_exact():
    """The largest factor is found that keeps a value of at most 3, or its opposite, in range."""
    opposite = sub(0, n)
    values = [
        sub(n, mul(floordiv(n, 4), 4)),
        floormod(opposite, 4),
        binary("min", binary("truncmod", opposite, 4), 0),
        binary("max", add(mul(binary("truncdiv", opposite, 4), 4), n), 0),
        sub(n, mul(binary(">>", n, 2), 4)),
        binary("&", opposite, 3),
    ]
    for value in values:
        assert texts([mul(value, (2**31 - 1) // 3)], sizes="n") is not None, show(value)
        assert texts([mul(value, (2**31 - 1) // 3 + 1)], sizes="n") is None, show(value)


def test_products_of_what_may_be_negative_have_no_bound():
    loops = [For(name, const(-9), n, 1, ()) for name in "ij"]
    assert texts([mul(i, i)], loops) is None
    assert texts([mul(i, j)], loops) is None
    short = [For(name, const(-9), const(3), 1, ()) for name in "ij"]
    assert texts([mul(i, i), mul(i, j)], short) == []  # as numbers alone show
    assert texts([mul(i, n)], short) == ["9 * n"]
    assert texts([mul(i, i)], [For("i", const(0), n, 1, ())]) == ["n * n"]


def test_conditions_that_others_imply_are_left_out():
    assert texts([mul(n, n), add(mul(2, n), 31)]) == ["n * n"]
    assert texts([mul(n, m), add(mul(2, n), 31), m]) == ["m * n", "2 * n + 31"]  # n may be 2^31 - 1 if m is 1
    assert texts([add(n, 5), add(m, 3)]) == ["m + n + 5"]


@pytest.mark.parametrize("seed", range(100))
def test_no_value_leaves_the_range_where_the_conditions_hold(seed, monkeypatch):
    """With a range so small that all values of all names can be tried."""
    largest = 15
    monkeypatch.setattr(sufficient, "LARGEST", largest)
    monkeypatch.setattr(kernels, "LIMITS", replace(LIMITS, blocks=dict.fromkeys("xyz", 2**31 - 1)))
    rng = random.Random(seed)
    loops, indices = _random_ranges(rng), []
    for names in (("n", "m"), ("n", "m", "i"), ("n", "m", "i", "j")):
        indices.append(_random_index(rng, [*names, "let"], 2))
    lets = {"let": _random_index(rng, ["n", "m", "i"], 1)}
    found = conditions(indices, {each.var: range_of(each) for each in loops}, lets, "nm")
    if found is None:
        return
    parts = {node for index in indices for node in walk(index) if node.dtype == i64}
    for sizes in itertools.product(range(1, 9), repeat=2):
        values = dict(zip("nm", sizes, strict=True))
        if all(evaluate(bound.expression(), values) <= largest for bound in found):
            for here in _instances(loops, values):
                here["let"] = evaluate(lets["let"], here)
                for part in parts:
                    assert abs(evaluate(part, here)) <= largest, f"{show(part)} at {here}"


def _random_ranges(rng: random.Random) -> list[For]:
    def bound(names: list[str]) -> Expr:
        return _random_index(rng, names, 1)

    def one(name: str, names: list[str]) -> For:
        step = rng.choice((1, 1, 2, -1))
        ends = [binary(rng.choice(("min", "max")), bound(names), bound(names)), add(bound(names), rng.randint(0, 3))]
        return For(name, *(ends if step > 0 else reversed(ends)), step, ())

    return [one("i", ["n", "m"]), one("j", ["n", "m", "i"])]


def _random_index(rng: random.Random, names: list[str], depth: int) -> Expr:
    if depth == 0 or rng.random() < 0.15:
        return var(rng.choice(names)) if rng.random() < 0.8 else const(rng.randint(-3, 4))
    left, right = (_random_index(rng, names, depth - 1) for _ in range(2))
    match rng.choice(("+", "-", "*", "*", "min", "max", "div", "mod", "trunc", "select", "&", "by size")):
        case "div":
            return floordiv(left, rng.randint(2, 4))
        case "mod":
            return floormod(left, rng.randint(2, 4))
        case "trunc":
            return binary(rng.choice(("truncdiv", "truncmod")), left, rng.randint(2, 4))
        case "&":
            return binary("&", left, 3)
        case "by size":
            return binary(rng.choice(("floordiv", "floormod", "truncdiv", "truncmod")), left, var("n"))
        case "select":
            return Select(binary("<", left, right), left, right)
        case op:
            return binary(op, left, right)


def _instances(loops, values):
    if not loops:
        yield dict(values)
        return
    first, *rest = loops
    for value in range(evaluate(first.lo, values), evaluate(first.hi, values), first.step):
        yield from _instances(rest, {**values, first.var: value})


# --- in the texts


def kernel(*body, arrays=(V,), sizes="n m"):
    return nest("f", sizes, arrays, loop("b", 0, 1, *body, kind="block.x"))


def run_on(text_of, fn, **arguments):
    """The arrays after the text, changed by `text_of`, ran on copies."""
    source = emit_cuda(linearize(fn))
    program = emulate(replace(source, text=text_of(source.text)), fn)
    copies = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    program(**copies)
    return copies


@pytest.mark.parametrize(
    ("sizes", "narrow"),
    [
        ((2**31 - 1, 1), True),
        ((2**31, 1), False),
        ((46340, 46340), True),
        ((46341, 46341), False),
        ((2**32, 2**32), False),  # their product is 2^64
        ((2**56, 2**8), False),
        ((1, 1), True),
        ((0, 2**40), False),
    ],
)
def test_the_kernel_changes_where_values_leave_32_bits(sizes, narrow):
    fn = kernel(store(V, (0,), mul(n, m)))
    source = emit_cuda(fn)
    assert [show(condition) for condition in source.fits] == ["m * n"]
    assert (source.kernels[0].name, source.kernels[0].wide) == ("f_k0", "f_k0_wide")

    def without_the_other(text):
        call = f"f_k0_body<{'int64_t' if narrow else 'int32_t'}>(n, m, V);"
        assert text.count(call) == 1
        return text.replace(call, "")

    given = dict(zip("nm", sizes, strict=True))
    assert run_on(without_the_other, fn, **given, V=np.array([-1]))["V"][0] == np.array(sizes).prod()


def always(width):
    """The text with one kernel of each pair."""

    def changed(text):
        assert text.count("&& fit_32_bits(") == 1, "there are no two kernels"
        return text.replace("&& fit_32_bits(", "&& !fit_32_bits(") if width == 64 else text

    return changed


@pytest.mark.parametrize("width", [32, 64])
def test_data_keep_64_bits(width):
    """What is loaded, converted or passed is no index arithmetic, nor are loops up to it."""
    W, F = Array("W", i64, (n,)), Array("F", f64, (n,))
    s, big = var("s"), const(2**40)
    body = [
        store(W, (i,), add(mul(load(W, i), big), i)),
        store(W, (i,), add(load(W, i), binary("<<", add(i, 1), floormod(load(W, i), 40)))),
        store(W, (i,), binary("max", load(W, i), sub(mul(i, s), i))),
        loop("j", s, add(s, 3), store(W, (i,), add(load(W, i), mul(j, i)))),
        store(F, (i,), load(F, floormod(load(W, i), n))),
        store(W, (0,), big),
    ]
    fn = nest("f", "n", [W, F], loop("i", 1, n, *body, kind="block.x"), scalars=(s,))
    given = {"n": 9, "s": 2**35, "W": np.arange(9) * 3 - 5, "F": np.arange(9.0)}
    expected, found = outcome(fn, given), run_on(always(width), fn, **given)
    for name in ("W", "F"):
        np.testing.assert_array_equal(found[name], expected[name])
    assert "for (int64_t j = s;" in emit_cuda(fn).text


@pytest.mark.parametrize("width", [32, 64])
def test_both_widths_compute_all_operations_on_indices(width):
    W = Array("W", i64, (n, m))
    values = [
        floordiv(sub(i, 3), 4), floormod(sub(i, 3), n), binary("truncdiv", sub(i, 5), m), binary("min", i, j),
        binary("truncmod", sub(i, 5), 3), binary("max", sub(0, i), j), Select(binary("<", i, j), i, mul(j, j)),
    ]  # fmt: skip
    body = [store(W, (i, j), add(mul(load(W, i, j), 31), value)) for value in values]
    nested = loop("i", 0, n, loop("j", sub(m, 1), -1, *body, step=-1, kind="thread.x"), kind="block.y")
    fn = nest("f", "n m", [W], nested)
    given = {"n": 7, "m": 5, "W": np.zeros((7, 5), int)}
    np.testing.assert_array_equal(run_on(always(width), fn, **given)["W"], outcome(fn, given)["W"])


def test_loops_end_in_range():
    """What a loop's variable is after its last iteration counts, with the distance between the blocks."""
    serial = kernel(loop("i", 0, n, store(V, (0,), 1), step=1000), sizes="n")
    assert [show(condition) for condition in emit_cuda(serial).fits] == ["n + 1 + 998"]  # n may be zero
    blocks = nest("f", "n", [V], loop("i", 0, n, store(V, (0,), 1), kind="block.x"))
    assert [show(condition) for condition in emit_cuda(blocks).fits] == ["2 * (n + 1)"]


def test_sizes_that_are_only_added_may_be_zero():
    array = Array("V", i64, (n,))
    fn = nest("f", "n pad", [array], loop("i", 0, n, store(array, (sub(i, var("pad")),), 1), kind="block.x"))
    assert "narrow = n > 0 && fit_32_bits(2.0 * n + 1.0 * (pad + 1.0));" in emit_cuda(fn).text


def test_kernels_that_need_one_width_are_printed_once():
    constant = emit_cuda(nest("f", "", [V], loop("i", 0, 1, store(V, (i,), 1), kind="block.x")))
    assert "using index_t = int32_t;" in constant.text
    large = emit_cuda(nest("f", "n", [V], loop("i", 0, 1, store(V, (0,), binary("^", n, sub(i, n))), kind="block.x")))
    assert "using index_t = int64_t;" in large.text
    for source in (constant, large):
        assert "template <typename index_t>" not in source.text
        assert (source.kernels[0].wide, source.fits) == ("", ())


CHECKED = """
#include <stdlib.h>
#include <type_traits>
extern "C" { int polysched_largest, polysched_out_of_range; }
struct checked {
    int64_t value;
    checked() {}
    checked(int64_t value) : value(value) { polysched_out_of_range |= llabs(value) > polysched_largest; }
    operator int64_t() const { return value; }
    checked &operator+=(int64_t step) { return *this = checked(value + step); }
    checked &operator++(int) { return *this += 1; }
    checked &operator--(int) { return *this += -1; }
};
#define NUMBER(T) class T, class = std::enable_if_t<std::is_integral_v<T>>
#define OPERATOR(op, result)                                                                                \\
    static inline result operator op(checked a, checked b) { return a.value op b.value; }                   \\
    template <NUMBER(T)> static inline result operator op(checked a, T b) { return a.value op (int64_t)b; } \\
    template <NUMBER(T)> static inline result operator op(T a, checked b) { return (int64_t)a op b.value; }
OPERATOR(+, checked) OPERATOR(-, checked) OPERATOR(*, checked) OPERATOR(/, checked) OPERATOR(%, checked)
OPERATOR(&, checked) OPERATOR(^, checked) OPERATOR(>>, checked)
OPERATOR(<, bool) OPERATOR(>, bool) OPERATOR(<=, bool) OPERATOR(>=, bool) OPERATOR(==, bool) OPERATOR(!=, bool)
"""


@pytest.mark.parametrize("build", [nests.gemm, nests.jacobi_2d, nests.lu])
def test_no_printed_value_leaves_the_range(build, monkeypatch):
    """The kernels of 32 bits, with a type that looks at each value in its place, in a range that small sizes reach."""
    largest = 5000
    monkeypatch.setattr(sufficient, "LARGEST", largest)
    monkeypatch.setattr(kernels, "LIMITS", replace(LIMITS, blocks=dict.fromkeys("xyz", 2**31 - 1)))
    fn = build()
    source = optimize(fn, "cuda").source
    assert "_body<int32_t>(" in source.text
    text = source.text.replace("_body<int32_t>(", "_body<checked>(").replace("<= 2147483647.0", f"<= {largest}.0")
    program = emulate(replace(source, text=CHECKED + text), fn)
    ctypes.c_int.in_dll(program.library, "polysched_largest").value = largest
    seen = ctypes.c_int.in_dll(program.library, "polysched_out_of_range")

    def fit(size):
        sizes = {name: size + k for k, name in enumerate(fn.sizes)}
        return all(evaluate(bound, sizes) <= largest for bound in source.fits)

    most = max(size for size in range(1, 200) if fit(size))
    for size in (1, 2, most - 1, most, most + 1):
        arguments = arguments_for(fn, random.Random(0), size)
        arguments |= {name: 2 for name in fn.sizes if name == "tsteps"}
        program(**arguments)
        assert seen.value == 0, f"at {size}"
    ctypes.c_int.in_dll(program.library, "polysched_largest").value = 9
    program(**arguments_for(fn, random.Random(0), 12))
    assert seen.value == 1, "it would not have been seen"
