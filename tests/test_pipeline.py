"""polysched/pipeline.py: nests come out as kernels that compute the same bits, whatever the options."""

from __future__ import annotations

import random

import nests
import numpy as np
import pytest

import polysched as ps
from polysched.config.machine import Machine, machine
from polysched.deps.legality import first_violation
from polysched.frontend.python import parse_nest
from polysched.operators import OPERATORS
from polysched.operators.examples import gemm, jacobi_2d, seidel_2d, stencil


def test_a_nest_runs_in_place():
    a = np.ones((9, 10))
    done = ps.optimize(stencil)
    done(a=a)
    expected = np.ones((9, 10))
    stencil(expected, 8)
    assert np.array_equal(a, expected)


@pytest.mark.parametrize("nest", [stencil, gemm, jacobi_2d, seidel_2d], ids=lambda nest: nest.name)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_the_examples_verify(nest, target):
    assert "legal for all sizes" in str(ps.optimize(nest, target=target).verify())


@pytest.mark.parametrize("n", [1, 2, 3, 7, 32, 33])
def test_b9_tiled_wavefronts_of_the_stencil_equal_the_interpreter(n):
    done = ps.optimize(stencil, options=ps.Options(tile_sizes=(32,), diamond=False))
    assert "floor((i)/32) + floor((i + j)/32)" in str(done.tree)
    assert done.verify(N=n).sizes == ({"N": n},)


# A machine of tiny vectors and caches, whose tiles are full at small sizes.
TINY = Machine(vector_bytes=8, vector_registers=4, l1=64, l2=256, l3=512)


@pytest.mark.parametrize(
    "options",
    [
        ps.Options(tile=False),
        ps.Options(tile_sizes=(3,)),
        ps.Options(machine=TINY),
        ps.Options(register_tiles=False),
        ps.Options(contract_floats=False),
        ps.Options(tile_sizes=(4, 5, 6)),
        ps.Options(wavefront=False),
        ps.Options(vector=False),
        ps.Options(parallel=False),
        ps.Options(fusion="max"),
        ps.Options(fusion="none"),
        ps.Options(scheduler="isl"),
        ps.Options(scheduler="source"),
        ps.Options(solver="isl"),
        ps.Options(negative_coefficients=True),
        ps.Options(reorder_reductions=True),
        ps.Options(licm_threshold=3),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [nests.jacobi_1d, nests.lu, nests.triangular])
def test_options_change_the_kernel_but_not_the_result(make, options):
    ps.optimize(make(), options=options).verify()


def test_a_budget_too_small_ends_in_a_named_rung():
    done = ps.optimize(jacobi_2d, options=ps.Options(solve_seconds=0.0))
    assert done.rungs["schedule"] in ("source order with parallel loops found", "source order")
    done.verify()


def test_loops_that_isl_cannot_generate_in_time_are_not_mapped():
    done = ps.optimize(jacobi_2d, options=ps.Options(lower_operations=30_000))
    assert done.rungs["mapping"] != "mapped"
    done.verify()


def test_a_given_schedule_is_checked():
    identity = ps.optimize(stencil, options=ps.Options(scheduler="source")).scheduled.tree
    assert ps.optimize(stencil, schedule=identity).rungs["schedule"] == "given"
    backwards = ps.from_yaml(ps.to_yaml(identity).replace("[(i)]", "[(-i)]"))
    with pytest.raises(ps.IllegalSchedule) as error:
        ps.optimize(stencil, schedule=backwards)
    assert "flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0]" in str(error.value)


def test_an_error_says_which_step_failed():
    with pytest.raises(ps.InputError) as error:
        ps.optimize(nests.stencil2())
    assert any("in step 'extract'" in note for note in error.value.__notes__)


def test_sizes_out_of_bounds_are_refused_at_the_call():
    fn = nests.nest(
        "copy",
        "n m",
        [a := ps_array("a", "n")],
        nests.loop("i", 0, nests.var("m"), nests.store(a, (nests.var("i"),), 1.0)),
    )
    done = ps.optimize(fn)
    with pytest.raises(ps.LaunchError, match="m"):
        done(a=np.zeros(3), m=4)


def ps_array(name, size):
    return nests.Array(name, ps.f64, (nests.var(size),))


RANDOM_NESTS = 500


@pytest.mark.parametrize("batch", range(100))
def test_random_nests_are_legal_and_equal_the_interpreter_bit_for_bit(batch):
    for seed in range(batch, RANDOM_NESTS, 100):
        check_random_nest(seed)


def check_random_nest(seed: int) -> None:
    rng = random.Random(seed)
    fn = nests.random_nest(rng)
    options = ps.Options(
        tile_sizes=rng.choice([None, (2,), (3, 4), (32, 256)]),
        machine=rng.choice([machine(), TINY]),
        fusion=rng.choice(["smart", "max", "none"]),
        wavefront=rng.random() < 0.8,
        contract_floats=False,
    )
    done = ps.optimize(fn, options=options)
    assert first_violation(done.tree, done.dependences, done.scop) is None
    for n in (1, 2, 5, 8):
        arguments = nests.arguments_for(fn, rng, n)
        expected = nests.outcome(fn, arguments)
        done(**arguments)
        for name, array in expected.items():
            np.testing.assert_array_equal(arguments[name], array, err_msg=f"seed {seed}, n {n}, {name}", strict=True)


def test_dependences_that_isl_cannot_tell_are_over_approximated():
    fn = nests.random_nest(random.Random(886))
    assert ps.optimize(fn).rungs["dependences"] == "exact", "isl fails inside lexmax on its strides, if left to itself"
    done = ps.optimize(fn, options=ps.Options(dependence_seconds=0.0))
    assert done.rungs["dependences"].startswith("some may be none, not decided within their budget: ")
    done.verify()


NEEDED = "but is a tuple of one or more positive integers, as in (16, 256), or None"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fusion": "foo"}, "option fusion is 'foo', but is one of 'smart', 'max', 'none'"),
        ({"solver": "cplex"}, "option solver is 'cplex', but is one of 'highs', 'isl', 'pulp', 'scipy'"),
        ({"tile_sizes": ()}, f"option tile_sizes is (), {NEEDED}"),
        ({"tile_sizes": (0,)}, f"option tile_sizes is (0,), {NEEDED}"),
        ({"isl_operations": -5}, "option isl_operations is -5, but is zero or more"),
        ({"compile_seconds": float("nan")}, "option compile_seconds is nan, but is zero or more"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ps.InputError) as error:
        ps.Options(**options)
    assert str(error.value) == message


@pytest.mark.parametrize("use", [ps.optimize, ps.Schedule])
@pytest.mark.parametrize("options", [{"tile": False}, {}, 3])
def test_what_are_no_options_is_refused(use, options):
    with pytest.raises(ps.InputError, match=r"the options are .*, but are of type polysched.Options"):
        use(stencil, options=options)


def test_what_is_no_nest_or_no_target_is_refused():
    with pytest.raises(ps.InputError, match="'len' is not a nest"):
        ps.optimize(len)
    with pytest.raises(ps.InputError, match="there is no target 'metal'"):
        ps.optimize(stencil, target="metal")


TRICKY = {
    "loops named as ours": """
def f(y: f64["n"], p: i64["n + 1"], v: f64["n"], n: size):
    for c1 in range(n):
        for k in range(p[c1], p[c1 + 1]):
            y[c1] = y[c1] + v[k]
""",
    "a size named as a tile's coordinate": """
def f(a: f64["tile0_0 + 1", "tile0_0 + 2"], tile0_0: size):
    for i in range(tile0_0):
        for j in range(tile0_0):
            a[i + 1, j + 1] = a[i, j + 2] + a[i, j + 1] + a[i, j]
""",
    "a sum over two loops": """
def f(s: f64[1], a: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            s[0] = s[0] + a[i, j]
""",
    "a polynomial product": """
def f(a: f64["n"], b: f64["n"], c: f64["2 * n"], n: size):
    for i in range(n):
        for j in range(n):
            c[i + j] += a[i] * b[j]
""",
    "a statement outside of all loops": """
def f(a: f64["n + 1"], n: size):
    a[0] = 1.0
    for i in range(1, n):
        a[i] = a[i - 1] + 1.0
""",
    "a guard of which only a part is affine": """
def f(a: f64["n"], b: f64["n"], n: size):
    for i in range(n):
        if i + 1 < n and b[i] > 0.7:
            a[i] = a[i + 1]
""",
    "statements that bound each other's tiles": """
def f(e: f64["n"], h: f64["n"], T: size, n: size):
    for t in range(T):
        e[0] = h[0]
        for i in range(1, n):
            e[i] -= h[i] - h[i - 1]
        for i in range(n - 1):
            h[i] -= e[i + 1] - e[i]
""",
    "a loop that may be empty around a temporary": """
def f(n: size, m: size, A: f64["n", "m"], B: f64["n"]):
    for i in range(n - 5):
        s = 0.0
        for k in range(m):
            s = s + A[i, k]
        B[i] = s
""",
    "strided loops that isl takes apart": """
def f(n: size, m: size, A: f64["n", "m"], B: f64["n"]):
    for i in range(n - 1, -1, -2):
        s = 1.0
        for k in range(m - 1, -1, -3):
            s = s * A[i, k]
            A[i, k] = s
        B[i] = s + B[n - 1 - i]
""",
    "a scalar used as an offset": """
def f(a: i64["n"], m: i64, n: size):
    for i in range(n):
        a[i] = a[i] * m + m
""",
}


@pytest.mark.parametrize("text", TRICKY.values(), ids=TRICKY)
@pytest.mark.parametrize(
    "options",
    [
        ps.Options(),
        ps.Options(reorder_reductions=True),
        ps.Options(fusion="max"),
        ps.Options(fusion="max", negative_coefficients=True),
        ps.Options(tile_sizes=(2,)),
    ],
    ids=["default", "reductions", "max", "max signed", "tiles of 2"],
)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_tricky_nests(text, options, target):
    done = ps.optimize(parse_nest(text.strip(), "tricky.py"), target, options=options)
    assert done.rungs["mapping"] == "mapped"
    done.verify()


@pytest.mark.parametrize("name", ["max", "mod", "exists"])
def test_a_size_that_isl_cannot_read_is_refused(name):
    text = f'def f(a: f64["{name}"], {name}: size):\n    for i in range({name}):\n        a[i] = 1.0'
    with pytest.raises(ps.InputError, match=f"'{name}' cannot name a size or a loop"):
        ps.optimize(parse_nest(text, "f.py"))


def test_a_tree_with_marks_is_not_mapped_again():
    done = ps.optimize(jacobi_2d)
    again = ps.optimize(jacobi_2d, schedule=done.tree)
    assert again.source == done.source


def test_without_any_budget_the_nest_is_printed_as_it_was_given():
    done = ps.optimize(nests.reversed_sweep(), options=ps.Options(lower_seconds=0.0))
    assert done.rungs["mapping"] == "the nest as it was given, since isl ran out of time"
    assert done.fallbacks == {"mapping": done.rungs["mapping"]}
    done.verify()


def test_no_time_for_dependences_leaves_safe_ones():
    done = ps.optimize(seidel_2d, options=ps.Options(dependence_seconds=0.0))
    assert done.rungs["dependences"].startswith("some may be none, not decided")
    done.verify()


PRODUCT = """def product(C: f32[120, 130], A: f32[120, 140], B: f32[140, 130]):
    for i in range(120):
        for j in range(130):
            for k in range(140):
                C[i, j] += A[i, k] * B[k, j]
"""


def test_products_are_on_threads_if_they_may():
    fn = parse_nest(PRODUCT, "product.py")
    several = Machine(vector_bytes=32, cores=2)
    assert "omp parallel" in ps.optimize(fn, options=ps.Options(machine=several)).source.text
    assert "omp parallel" not in ps.optimize(fn, options=ps.Options(machine=several, parallel=False)).source.text


@pytest.mark.parametrize("off", ["tile", "vector", "register_tiles"])
def test_products_are_tiles_of_vectors_in_registers(off):
    fn = parse_nest(PRODUCT, "product.py")
    assert "packed:S" in str(ps.optimize(fn).tree)
    assert "packed:S" not in str(ps.optimize(fn, options=ps.Options(**{off: False})).tree)
    assert "packed:S" not in str(ps.optimize(fn, options=ps.Options(tile_sizes=(16,))).tree)


def test_a_schedule_with_products_is_for_cpus():
    """A GPU would run its loops on one thread, which nobody has asked for."""
    fn = parse_nest(PRODUCT.replace("20", "2").replace("30", "3").replace("40", "4"), "product.py")
    text = """\
domain: "{ S[i, j, k] : 0 <= i <= 11 and 0 <= j <= 12 and 0 <= k <= 13 }"
child:
  mark: "packed:S"
  child:
    schedule: "[{ S[i, j, k] -> [(i)] }, { S[i, j, k] -> [(j)] }, { S[i, j, k] -> [(k)] }]"
    coincident: [ 1, 1, 0 ]
"""
    ps.optimize(fn, schedule=ps.from_yaml(text)).verify()
    for target, language in {"cuda": "CUDA", "opencl": "OpenCL", "hip": "HIP"}.items():
        message = f"the schedule has S as a product of matrices, which {language} has not\nhint: the target is c"
        with pytest.raises(ps.InputError, match=message):
            ps.optimize(fn, target, schedule=ps.from_yaml(text))


def test_without_the_stage_packed_products_have_neither_digits_nor_guards_of_their_own():
    mostly_zeros = {"batch": 1, "in_channel": 8, "in_size": 2, "num_filter": 8, "kernel": 3, "stride": 1, "padding": 4}
    text = ps.optimize(OPERATORS["conv2d_nchw"](**mostly_zeros), options=ps.Options(expressions="off")).source.text
    assert "omp simd" in text
    assert "floormod" not in text
    assert "&&" not in text
