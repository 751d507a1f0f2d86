"""Options(constants=...) and Compiled.bind: what is made of constants alone is made once."""

from __future__ import annotations

import gc
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import polysched as ps
from polysched import f32, f64, i8, i32, size, u8
from tests.codegen.test_split import random_case
from tests.nests import arguments_for, outcome

ROWS, COLUMNS, TERMS = 24, 96, 64


@ps.nest
def layer(x: f32[24, 64], w: f32[64, 96], y: f32[24, 96]):
    for i in range(24):
        for j in range(96):
            y[i, j] = 0.0
            for k in range(64):
                y[i, j] += x[i, k] * w[k, j]


@ps.nest
def scaled(x: f64["n", "m"], w: f64["m"], eps: f64, y: f64["n", "m"], n: size, m: size):  # noqa: F821, UP037
    s = np.empty(m)
    for j in range(m):
        s[j] = 1.0 / np.sqrt(w[j] + eps)
    for i in range(n):
        for j in range(m):
            y[i, j] = x[i, j] * s[j] + w[j]


@ps.nest
def with_a_table(x: f64["n"], w: f64["m"], y: f64["n"], n: size, m: size):  # noqa: F821, UP037
    s = np.empty(n)
    for j in range(n):
        s[j] = np.floor(j * w[5])
    for j in range(n):
        y[j] = x[j] * s[n - 1 - j]


@ps.nest
def of_bytes(x: u8[16, 64], w: i8[64, 64], y: i32[16, 64]):
    for i in range(16):
        for j in range(64):
            y[i, j] = 0
            for k in range(64):
                y[i, j] += i32(x[i, k]) * i32(w[k, j])


def constant(nest, *names, **options) -> ps.Compiled:
    return ps.optimize(nest, options=ps.Options(constants=names, **options))


def of_layer(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"x": (ROWS, TERMS), "w": (TERMS, COLUMNS), "y": (ROWS, COLUMNS)}
    return {name: rng.integers(-4, 5, shape).astype(np.float32) for name, shape in shapes.items()}


def test_weights_are_packed_once():
    """The one to learn from: the C has two entries, and the one that is called again and again takes packed weights."""
    done = constant(layer, "w")
    assert done.source.prepare is not None
    assert done.source.prepare.parameters == ("w", "w_prepared")
    assert done.source.parameters == ("x", "y", "w_prepared")
    given = of_layer()
    run = done.bind(w=given["w"])
    for seed in range(3):
        x, y = of_layer(seed)["x"], np.full((ROWS, COLUMNS), np.nan, np.float32)
        run(x=x, y=y)
        assert np.array_equal(y, x @ given["w"])
        run(x, y)  # in the order of what is left
        assert np.array_equal(y, x @ given["w"])
    assert repr(run) == "Bound(layer(x, y))"


def test_a_call_with_all_arguments_does_both():
    given = of_layer()
    constant(layer, "w")(**given)
    assert np.array_equal(given["y"], given["x"] @ given["w"])


@pytest.mark.parametrize(("nest", "names"), [(layer, ("w",)), (scaled, ("w", "eps")), (of_bytes, ("w",))])
def test_verify_checks_both_parts_as_one(nest, names):
    done = constant(nest, *names, machine=ps.Machine(cores=4))
    assert done.source.prepare is not None
    assert "as it is" in str(done.verify())


def test_packing_runs_on_threads_where_the_product_does():
    k = ps.reduce_axis(512, "k")
    A, B = (ps.placeholder((512, 512), f32, name) for name in "AB")
    C = ps.compute((512, 512), lambda i, j: ps.sum(A[i, k] * B[k, j], axis=k), "C")
    product = ps.function("product", [A, B], [C])
    text = constant(product, "B", machine=ps.Machine(cores=4)).source.text
    prepare, rest = text.split("void product(")
    assert "#pragma omp parallel for" in prepare and "#pragma omp parallel for" in rest


def test_what_a_call_still_reads_is_kept_and_must_be_apart_from_results():
    run = constant(scaled, "w", "eps").bind(w=(w := np.array([1.0, 4.0, 9.0])), eps=0.0)
    x, y = np.ones((2, 3)), np.zeros((2, 3))
    run(x=x, y=y)
    assert np.array_equal(y, x / np.sqrt(w) + w)
    assert list(run.prepared) == ["w_prepared"] and np.array_equal(run.prepared["w_prepared"], 1 / np.sqrt(w))
    both = np.array([[1.0, 4.0, 9.0]])
    run = constant(scaled, "w", "eps").bind(w=both[0], eps=0.0)
    with pytest.raises(ps.LaunchError, match="share memory"):
        run(x=np.ones((1, 3)), y=both)


def test_sizes_that_constants_show_hold_for_all_calls():
    run = constant(scaled, "w", "eps").bind(w=np.ones(3), eps=0.0)
    for n in (0, 1, 5):
        y = np.zeros((n, 3))
        run(x=np.ones((n, 3)), y=y)
        assert np.array_equal(y, np.full((n, 3), 2.0))
    run(x=np.ones((1, 3)), y=y[:1], m=3)
    with pytest.raises(ps.LaunchError, match="m of scaled is bound already, and is 3"):
        run(x=np.ones((1, 4)), y=np.ones((1, 4)), m=4)
    with pytest.raises(ps.LaunchError, match="m is 3"):
        run(x=np.ones((2, 4)), y=np.ones((2, 4)))


def test_sizes_are_constant_where_they_are_named():
    assert constant(with_a_table, "w").source.prepare is None, "since calls may be of any n"
    done = constant(with_a_table, "w", "n")
    assert "constants w, n: made once: w_prepared" in done.explain()
    run, y = done.bind(w=np.full(6, 0.5), n=4), np.zeros(4)
    run(x=np.ones(4), y=y)
    assert y.tolist() == [1.0, 1.0, 0.0, 0.0]
    with pytest.raises(ps.LaunchError, match="n is 4"):
        run(x=np.ones(5), y=np.ones(5))


def test_constants_that_the_nest_would_leave_are_refused_when_they_are_bound():
    with pytest.raises(ps.LaunchError, match="it would leave its arrays"):
        constant(with_a_table, "w", "n").bind(w=np.ones(5), n=4)


def test_prepared_arrays_outlive_what_they_are_made_of_and_are_aligned():
    given, done = of_layer(), constant(layer, "w")
    expected = given["x"] @ given["w"]
    run = done.bind(w=given.pop("w"))
    del done
    gc.collect()
    assert all(array.ctypes.data % 64 == 0 for array in run.prepared.values())
    assert not any(array.flags.writeable for array in run.prepared.values())
    assert len({run, run}) == 1, "as an object, by what it is"
    run(**given)
    assert np.array_equal(given["y"], expected)


def test_many_threads_call_it_at_a_time():
    given = of_layer()
    run = constant(layer, "w").bind(w=given["w"])

    def once(seed: int) -> bool:
        x, y = of_layer(seed)["x"], np.zeros((ROWS, COLUMNS), np.float32)
        run(x=x, y=y)
        return np.array_equal(y, x @ given["w"])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(once, range(40)))


def test_arrays_from_outside_need_not_be_given():
    weights = np.arange(64.0, dtype=np.float32).reshape(8, 8)

    def product(x: f32[16, 8]):
        return x @ weights

    done = constant(ps.op(product), "weights")
    x, out = np.ones((16, 8), np.float32), np.zeros((16, 8), np.float32)
    done.bind()(x=x, out=out)
    assert np.array_equal(out, x @ weights)


def test_a_kernel_that_prepares_nothing_can_be_bound():
    @ps.nest
    def shifted(x: f64[9], w: f64[9]):
        for i in range(9):
            x[i] += w[i]

    done = constant(shifted, "w")
    assert done.source.prepare is None
    x = np.zeros(9)
    done.bind(w=np.arange(9.0))(x=x)
    assert np.array_equal(x, np.arange(9.0))


def test_a_result_from_disk_binds(monkeypatch, tmp_path):
    monkeypatch.delenv("POLYSCHED_RESULTS", raising=False)
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path))
    constant(layer, "w")
    done, given = constant(layer, "w"), of_layer()
    assert done.from_cache and not ps.optimize(layer).from_cache
    done.bind(w=given["w"])(x=given["x"], y=given["y"])
    assert np.array_equal(given["y"], given["x"] @ given["w"])


def test_a_schedule_by_hand_prepares_too():
    s = ps.Schedule.auto(layer, "c")
    done = ps.optimize(layer, schedule=s, options=ps.Options(constants=("w",)))
    assert done.source.prepare is not None
    assert "as it is" in str(done.verify())


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("y",), "'y' is constant by Options(constants=...), and 'layer' writes it here"),
        (("v",), "'layer' has no parameter 'v' to be constant\nhint: its parameters are x, w, y"),
    ],
)
def test_what_cannot_be_constant_is_refused(names, message):
    with pytest.raises(ps.InputError) as error:
        constant(layer, *names)
    assert message in str(error.value)


def test_constants_are_a_tuple_of_names_for_c():
    with pytest.raises(ps.InputError, match="is a tuple of names of parameters"):
        ps.Options(constants="w")
    with pytest.raises(ps.InputError, match="constants are prepared in C, and the target is cuda"):
        ps.optimize(layer, "cuda", options=ps.Options(constants=("w",)))


def test_what_is_bound_wrongly_is_refused():
    given = of_layer()
    with pytest.raises(ps.InputError, match="has no constants to bind"):
        ps.optimize(layer).bind(w=given["w"])
    done = constant(layer, "w")
    with pytest.raises(ps.LaunchError, match="layer needs w too"):
        done.bind()
    with pytest.raises(ps.LaunchError, match="layer has no parameter x, y; it takes w"):
        done.bind(**given)
    with pytest.raises(ps.LaunchError, match="convert it with"):
        done.bind(w=given["w"].astype(np.float64))
    run = done.bind(w=given["w"])
    with pytest.raises(ps.LaunchError, match="w of layer is bound already; bind another one anew"):
        run(**given)
    with pytest.raises(ps.LaunchError, match="layer needs y too"):
        run(x=given["x"])


@pytest.mark.parametrize("seed", range(60))
def test_random_nests_with_random_constants_equal_the_interpreter(seed):
    rng = random.Random(seed)
    fn, names = random_case(seed)
    options = {"tile_sizes": rng.choice([None, (2,), (3, 4)]), "fusion": rng.choice(["smart", "max", "none"])}
    done = constant(fn, *names, contract_floats=False, **options)
    for n in (1, 3, 6):
        arguments = arguments_for(fn, rng, n)
        expected = outcome(fn, arguments)
        constants = {name: arguments[name] for name in names}
        runs = [(done, {}), *([(done.bind(**constants), constants)] if {*names} - {"n"} else [])]
        for run, bound in runs:
            for _ in range(2):
                left = {name: value for name, value in arguments.items() if name not in bound}
                given = {name: np.copy(it) if isinstance(it, np.ndarray) else it for name, it in left.items()}
                run(**given)
                for name in expected.keys() & given.keys():
                    np.testing.assert_array_equal(given[name], expected[name], err_msg=f"n {n}, {name}", strict=True)
