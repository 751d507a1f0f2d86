"""Arrays from outside of an operator: parameters that calls may leave out, or a few numbers in the code."""

# ruff: noqa: F821 - operators are not ordinary Python: annotations name sizes by texts

import random
import re

import numpy as np
import pytest
from op_programs import SIZES, random_program, run_nest, run_numpy

import polysched as ps
from polysched.errors import InputError
from polysched.frontend.op.op import Op, parse_op

RNG = np.random.default_rng(0)
W, X = RNG.random((16, 12), np.float32), RNG.random((5, 16), np.float32)
ORDER = RNG.permutation(100)
LAYERS = [(RNG.random((16, 16)), RNG.random(16)), (RNG.random((16, 5)), RNG.random(5))]


def times(of: np.ndarray) -> Op:
    """x @ of."""

    def product(x: ps.f32["n", 16]):
        return x @ of

    return ps.op(product)


def run(op: Op, *arrays: np.ndarray) -> np.ndarray:
    """What the nest gives first."""
    names = [array.name for array in op.nest.arrays]
    return run_nest(op, dict(zip(names, arrays, strict=False)), {"n": len(arrays[0])})[op.results[0]]


def heads(op: Op) -> str:
    return str(op.nest).partition(":\n")[0]


ROWS = {
    "at known places": ("sum(w[k] * x[k : 3 + k] for k in range(len(w)))", 64),
    "at known places of a view": ("sum(w[::-1][1:][k] * x[k : 3 + k] for k in range(len(w) - 1))", 64),
    "entries of a loop": ("sum(w_k * x[:3] for w_k in w)", 64),
    "in a loop": ("np.multiply.outer(x, w)", 4),
    "in a loop, and at a known place": ("np.multiply.outer(x, w) * w[1]", 4),
    "as data choose": ("w[x.astype(int)]", 4),
}


@pytest.mark.parametrize(("value", "most"), ROWS.values(), ids=ROWS.keys())
@pytest.mark.parametrize("is_more", [False, True])
def test_a_few_elements_are_numbers(value, most, is_more):
    x, w = RNG.integers(0, 4, 70).astype(np.float32), RNG.random(most + is_more, np.float32)
    text = f"def f(x: ps.f32[70]):\n    return {value}"
    op = parse_op(text, "f.py", outside={"w": w})
    assert (f", w: f32[{most + 1}] = ..., " in heads(op)) == is_more
    ((expected,), _) = run_numpy(text, {"x": x}, {"w": w})
    found = run_nest(op, {"x": x}, {})["out"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "array",
    [W[:, ::2], W.reshape(12, 16).T, np.asfortranarray(W), W.astype(">f4"), W[::-1]],
    ids=["columns", "transposed", "fortran", "foreign", "reversed"],
)
def test_however_it_lies_in_memory(array):
    np.testing.assert_allclose(run(times(array), X), X @ array, rtol=1e-5)


def test_a_file_in_memory(tmp_path):
    np.save(tmp_path / "w.npy", W)
    np.testing.assert_allclose(run(times(np.load(tmp_path / "w.npy", mmap_mode="r")), X), X @ W, rtol=1e-5)


def test_an_array_without_elements():
    empty = np.zeros((16, 0), np.float32)
    assert "of: f32[16, 0] = ..." in heads(times(empty))
    assert run(times(empty), X).shape == (5, 0)


@pytest.mark.parametrize("of_x", ["f16", "f32", "f64", "i8", "u8", "i64", "boolean"])
@pytest.mark.parametrize("of_w", ["float16", "float32", "float64", "int8", "uint16", "int64", "bool"])
def test_dtypes_are_promoted_as_numpy_does(of_x, of_w):
    x = RNG.integers(0, 3, (3, 16)).astype("bool" if of_x == "boolean" else getattr(ps, of_x).numpy)
    w = RNG.integers(0, 3, (16, 12)).astype(of_w)
    op = parse_op(f"def product(x: ps.{of_x}['n', 16]):\n    return x @ w", "f.py", outside={"w": w})
    expected, found = x @ w, run_nest(op, {"x": x}, {"n": 3})["out"]
    assert found.dtype == expected.dtype and np.array_equal(found, expected)


def test_lists_of_arrays():
    def network(x: ps.f64["n", 16]):
        for weights, bias in LAYERS:
            x = np.maximum(x @ weights + bias, 0)
        return x

    op = ps.op(network)
    assert "LAYERS_0_0: f64[16, 16] = ..., LAYERS_0_1: f64[16] = ..., LAYERS_1_0: f64[16, 5] = ..." in heads(op)
    np.testing.assert_allclose(run(op, X.astype(np.float64)), op(X.astype(np.float64)))


def test_indices():
    def shuffled(x: ps.f64[100]):
        return x[ORDER]

    assert np.array_equal(run(ps.op(shuffled), np.arange(100.0)), ORDER)


def test_an_array_whose_shape_alone_is_used_is_no_parameter():
    def counted(x: ps.f32["n"]):
        return x * W.shape[0] + len(W)

    assert heads(ps.op(counted)) == "def counted(x: f32[n], out: f32[n], n: size)"


def test_an_array_that_is_returned():
    def constant(x: ps.f32["n"]):
        return x + 1, W

    op = ps.op(constant)
    assert op.results == ("out0", "W_out")
    assert np.array_equal(run_nest(op, {"x": np.ones(3, np.float32)}, {"n": 3})["W_out"], W)


def test_methods():
    def scaled(x: ps.f32["n", 12]):
        return x @ W.reshape(-1, 16).dot(W[:, :5]) + W.sum(axis=0).max()

    op = ps.op(scaled)
    x = RNG.random((5, 12), np.float32)
    np.testing.assert_allclose(run(op, x), op(x), rtol=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_a_random_program_gives_the_same_whether_an_array_is_from_outside_or_given(seed):
    text, given, _ = random_program(random.Random(seed))
    text = re.sub('"(.*?)"', lambda extent: str(eval(extent[1], dict(SIZES))), text)
    outside = {"c": given.pop("c")}
    try:
        op = parse_op(re.sub(r", c: [^]]*\]", "", text), "program.py", outside=outside)
    except InputError as error:
        assert "from outside" in error.message  # it is changed in place
        return
    try:
        expected = run_nest(parse_op(text, "program.py"), {**given, **outside}, SIZES)
    except OverflowError:
        pytest.skip("a float does not fit in the integer that it is cast to")
    found = run_nest(op, given, SIZES)
    for name in op.results:
        np.testing.assert_array_equal(found[name], expected[name], strict=True)


# --- names


def product_with(W):
    def product(x):
        return x @ W

    return product


by_w = product_with(W)


def test_one_array_in_two_places_is_one_parameter():
    also = W

    def twice(x: ps.f32["n", 16]):
        return by_w(x) + x @ W + x @ also

    op = ps.op(twice)
    assert heads(op) == "def twice(x: f32[n, 16], W: f32[16, 12] = ..., out: f32[n, 12], n: size)"
    np.testing.assert_allclose(run(op, X), 3 * (X @ W), rtol=1e-5)


def test_two_arrays_of_one_name_are_two_parameters():
    by_another = product_with(2 * W)

    def both(x: ps.f32["n", 16]):
        return by_w(x) + by_another(x)

    op = ps.op(both)
    assert ", W: f32[16, 12] = ..., W_1: f32[16, 12] = ..., " in heads(op)
    np.testing.assert_allclose(run(op, X), 3 * (X @ W), rtol=1e-5)


def test_a_parameter_of_the_same_name():
    def added(x: ps.f32["n", 16], W: ps.f32["n", 12]):
        return by_w(x) + W

    op, y = ps.op(added), np.ones((5, 12), np.float32)
    assert ", W: f32[n, 12], W_1: f32[16, 12] = ..., " in heads(op)
    np.testing.assert_allclose(run(op, X, y), X @ W + 1, rtol=1e-5)


def test_a_size_of_the_same_name():
    n = W

    def product(x):
        return x @ n

    def sized(x: ps.f32["n", 16]):
        return product(x) * x.shape[0]

    op = ps.op(sized)
    assert heads(op) == "def sized(x: f32[n, 16], n_1: f32[16, 12] = ..., out: f32[n, 12], n: size)"
    np.testing.assert_allclose(run(op, X), 5 * (X @ W), rtol=1e-5)


def test_variables_and_results_of_the_same_name():
    def renamed(x: ps.f32["n", 16]):
        W = x + 1
        W = by_w(W)
        return W

    op = ps.op(renamed)
    np.testing.assert_allclose(run(op, X), (X + 1) @ W, rtol=1e-5)
    assert len(set(op.nest.params)) == 4 and op.results == ("W",)


# --- what is refused


@pytest.mark.parametrize(
    ("array", "message", "hint"),
    [
        (W.astype(np.complex64), "'complex64' is no dtype", "dtypes are bool, "),
        (
            np.ma.masked_less(W, 0.5),
            "'of' is a MaskedArray, which may compute otherwise",
            "make it one: np.asarray(of)",
        ),
        (W.view(np.matrix), "'of' is a matrix, which may compute otherwise", "make it one: np.asarray(of)"),
    ],
)
def test_other_arrays_are_refused(array, message, hint):
    with pytest.raises(InputError) as caught:
        times(array)
    assert caught.value.message.startswith(message) and caught.value.hint.startswith(hint)
    assert caught.value.loc.text.strip() == "return x @ of"


@pytest.mark.parametrize("array", [W, W[:2]], ids=["parameter", "numbers"])
def test_a_change_in_place_is_refused(array):
    def changes(x: ps.f32["n"]):
        view = array[0]
        view[1:3] += 1
        return x

    with pytest.raises(InputError, match="an array from outside of the operator cannot be changed in it"):
        ps.op(changes)


def test_a_copy_may_change():
    def changes(x: ps.f32["n", 12]):
        mine = W.copy()
        mine[0] += 1
        other = W.astype(np.float32)
        other *= 2
        return x @ mine.T + x @ other.T

    x = RNG.random((5, 12), np.float32)
    np.testing.assert_allclose(run(ps.op(changes), x), ps.op(changes)(x), rtol=1e-5)


EXTENTS = [np.int64(3), 2]


@ps.op
def repeated(x: ps.f64[4]) -> ps.f64[4]:
    total = x
    for _ in range(EXTENTS[0]):
        total = total + x
    return total


def test_integers_of_numpy_in_a_list_may_be_extents():
    out = np.empty(4)
    ps.optimize(repeated)(x=np.ones(4), total=out)
    assert list(out) == [4.0] * 4
