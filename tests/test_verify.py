"""polysched/check/verify.py: a wrong schedule or a wrong program does not pass."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import nests
import numpy as np
import pytest

import polysched as ps
from benchmarks.polybench import KERNELS
from polysched.check.verify import Verification, verify
from polysched.codegen.emit.c import emit_c
from polysched.errors import BudgetExceeded
from polysched.frontend.python import parse_nest
from polysched.ir.build import add, binary, mul, store, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.node import rewrite
from polysched.ir.nodes import Array, For
from polysched.model.tree.nodes import Domain
from polysched.operators.examples import gemm, stencil
from polysched.runtime.emulated.check import check as check_kernels
from polysched.support import isl
from tests.transform.scheduled import band

STENCIL = ps.optimize(stencil)


def check(run=STENCIL.program, *, tree=STENCIL.tree, rounded=(), seconds=300, deadline=None, **sizes):
    return verify(
        STENCIL.nest, {"": run}, scop=STENCIL.scop, dependences=STENCIL.dependences, tree=tree, sizes=sizes,
        rounded=rounded, seconds=seconds, deadline=deadline,
    )  # fmt: skip


def test_what_is_right_says_what_was_checked():
    assert str(check()) == (
        "legal for all sizes (3 dependences); equal to the interpreted nest for N=1; N=2; N=3; N=7; N=17; N=33; N=65"
    )


def test_sizes_that_leave_an_array_less_than_nothing_are_not_tried():
    n, m, y, x = map(var, "nmyx")
    array = Array("a", i64, (mul(sub(n, 2), m),))
    rows = nests.loop("y", 0, sub(n, 2), nests.loop("x", 0, m, store(array, (add(mul(y, m), x),), x)))
    found = ps.optimize(nests.nest("f", "n m", (array,), rows)).verify()
    assert found.sizes[0] == {"n": 2, "m": 2}


def test_sizes_of_ones_own():
    assert check(N=40).sizes == ({"N": 40},)
    mixed = ps.optimize(nests.gemm()).verify(nj=2)
    assert {"ni": 7, "nj": 2, "nk": 9} in mixed.sizes and all(sizes["nj"] == 2 for sizes in mixed.sizes)


def test_large_sizes_are_left_to_others():
    assert {"n": 17} in ps.optimize(gemm).verify().sizes
    assert {"n": 65} not in ps.optimize(gemm).verify().sizes


def test_an_illegal_schedule_is_caught():
    backwards = Domain(STENCIL.scop.domain, band("S[i, j] -> -i", "S[i, j] -> j", permutable=False))
    with pytest.raises(ps.VerificationError) as error:
        check(tree=backwards)
    message = str(error.value)
    assert message.startswith("illegal schedule: flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)")
    assert "examples.py:14:13: S\n" in message


def test_a_schedule_that_leaves_instances_out_is_caught():
    some = isl.UnionSet("[N] -> { S[i, j] : 0 <= i < N and 0 < j < N }")
    with pytest.raises(ps.VerificationError, match=r"illegal schedule: S\[i=0, j=0\] never runs \(N = 1\)"):
        check(tree=Domain(some, band("S[i, j] -> i", "S[i, j] -> j", permutable=False)))


def test_a_wrong_program_is_caught_with_the_first_element_that_differs():
    def almost(a, N):
        STENCIL.program(a=a, N=N)
        a[N, N] *= 1 + 2e-16

    with pytest.raises(ps.VerificationError) as error:
        check(almost)
    assert re.fullmatch(
        r"'a\[1, 1\]' is 0\.\d+, but the interpreted nest says 0\.\d+, for \{'N': 1\}", str(error.value)
    )
    check(almost, rounded=[""])


def test_only_those_runs_that_may_round_otherwise_have_bounds():
    def almost(a, N):
        STENCIL.program(a=a, N=N)
        a[N, N] *= 1 + 2e-16

    known = {"scop": STENCIL.scop, "dependences": STENCIL.dependences, "tree": STENCIL.tree, "sizes": {"N": 5}}
    verify(STENCIL.nest, {"exact": STENCIL.program, "fused": almost}, rounded={"fused"}, **known)
    with pytest.raises(ps.VerificationError, match=r"for \{.N.: 5\}, exact$"):
        verify(STENCIL.nest, {"exact": almost, "fused": STENCIL.program}, rounded={"fused"}, **known)


def test_contraction_is_compared_with_and_without():
    assert ps.optimize(gemm).verify(n=7).ways[:2] == ("as it is", "without contraction")
    for options in (ps.Options(contract_floats=False), ps.Options(reorder_reductions=True)):
        assert "without contraction" not in ps.optimize(gemm, options=options).verify(n=7).ways


def test_where_floats_decide_contraction_is_not_compared():
    """x * x - c may be above zero by its last bit alone."""
    @ps.nest
    def sign(x: ps.f64[n], c: ps.f64[n], s: ps.i64[n], n: ps.size):
        for i in range(n):
            s[i] = 1 if x[i] * x[i] - c[i] > 0.0 else 0

    assert ps.optimize(sign).verify().ways[0] == "without contraction"


def test_a_program_that_does_nothing_is_caught():
    with pytest.raises(ps.VerificationError, match="but the interpreted nest says"):
        check(lambda **arguments: None)


def test_a_program_that_is_wrong_for_one_size_only_is_caught_there():
    def unlucky(a, N):
        STENCIL.program(a=a, N=N)
        if N == 33:
            a[:] = np.nan

    with pytest.raises(ps.VerificationError, match="'N': 33"):
        check(unlucky)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"N": -1}, r"'stencil' cannot be run with N=-1: its sizes must satisfy \[N\] -> \{  : N >= 0 \}"),
        ({"N": 10**6}, "'stencil' is too large to run here with N=1000000: it accesses memory about 5.0e[+]12 times"),
        ({"M": 3}, "'stencil' has no size M: it has N"),
    ],
)
def test_sizes_that_cannot_be_run_are_refused(sizes, message):
    with pytest.raises(ps.LaunchError, match=message):
        check(**sizes)


@pytest.mark.parametrize("options", [{"reorder_reductions": True}, {"fast_math": True}], ids=str)
def test_rounding_may_differ_where_the_user_allowed_it(options):
    done = ps.optimize(gemm, options=ps.Options(**options))
    rounded = replace(done)

    def nearly(C, A, B, n):
        done.program(C=C, A=A, B=B, n=n)
        if (C % 1).any():  # whole numbers are exact in every order
            C *= 1 + 3e-16

    rounded.__dict__["program"] = nearly
    assert rounded.verify(n=3).sizes == ({"n": 3},)


@ps.op
def softmax(x: ps.f32["n", "d"]) -> ps.f32["n", "d"]:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


@ps.nest
def rounds_down(s: ps.f64["n"], a: ps.f64["n", "m"], n: ps.size, m: ps.size):
    for i in range(n):
        s[i] = 0.0
        for j in range(m):
            s[i] += floor(a[i, j] * a[i, j])


@pytest.mark.slow
def test_exponentials_of_differences_from_a_maximum_are_compared():
    """The -inf that the maximum begins with is exact: it made every bound infinite, and any kernel equal."""
    done = ps.optimize(softmax, "cuda", options=ps.Options(fast_math=True))
    assert "not compared" not in str(done.verify(n=3, d=8))
    text = re.sub(r"\bexpf\(", "expf(0.9f * ", done.source.text)
    with pytest.raises(ps.VerificationError, match=r"rounding makes a difference of .*e-0[4-9] at most"):
        replace(done, source=replace(done.source, text=text)).verify(n=3, d=8)


def test_results_that_no_bound_is_known_of_are_no_success():
    done = ps.optimize(rounds_down, options=ps.Options(fast_math=True))
    with pytest.raises(ps.VerificationError, match=r"of '.*' was compared: (\d+) of \1 elements of 's' had no bound"):
        done.verify(n=3, m=4)


@ps.op
def masks_all(x: ps.f32["n", "d"]) -> ps.f32["n", "d"]:
    y = np.where(x > 1000.0, x, -np.inf)
    e = np.exp(y - np.max(y, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def test_a_temporary_is_no_result():
    done = ps.optimize(masks_all, options=ps.Options(fast_math=True))
    with pytest.raises(ps.VerificationError, match=r"was compared: (\d+) of \1 elements of 'out' had no bound"):
        done.verify(n=3, d=4)


def test_elements_without_a_bound_are_counted():
    lu = ps.optimize(KERNELS["lu"].nest, options=ps.Options(reorder_reductions=True)).verify(n=33)
    assert re.search(r"[1-9]\d* of \d+ elements of 'A' had no bound of rounding and were not compared", lu.left_out)


# --- in C, where the interpreter is too slow


@ps.nest
def fixed(c: ps.f32[56, 200], a: ps.f32[56, 64], b: ps.f32[64, 200]):
    for i in range(56):
        for j in range(200):
            for k in range(64):
                c[i, j] += a[i, k] * b[k, j]


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize(("nest", "sizes"), [(gemm, {"n": 130}), (fixed, {})], ids=["given", "constant"])
def test_large_sizes_alone_are_compared_with_c(target, nest, sizes):
    done = ps.optimize(nest, target=target).verify(seconds=300, **sizes)
    assert (done.sizes, done.beyond) == ((), (sizes,))
    assert f"; equal to the nest as C for {'n=130' if sizes else 'the constants that it has'}" in str(done)


def test_what_differs_from_c_says_so():
    done = ps.optimize(fixed)
    wrong = replace(done)
    wrong.__dict__["program"] = lambda **arguments: None
    with pytest.raises(ps.VerificationError, match=r"'c\[0, 0\]' is .*, but the nest as C says "):
        wrong.verify()


def test_without_a_compiler_large_sizes_cannot_be_compared():
    def beyond(nest):
        raise ps.ToolchainError("no C compiler found")

    with pytest.raises(ps.LaunchError, match=r"'stencil' is too large to interpret, .* cannot be run: no C compiler"):
        verify(
            STENCIL.nest, {"": STENCIL.program}, scop=STENCIL.scop, dependences=STENCIL.dependences,
            tree=STENCIL.tree, sizes={"N": 1000}, beyond=beyond,
        )  # fmt: skip


# --- kernels for a GPU


CONV = """
void conv(int N, int K, int C, int H, int W, float out[N][K][H][W], float in[N][C][H + 2][W + 2], float f[K][C][3][3])
{
#pragma scop
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++)
            for (int h = 0; h < H; h++)
                for (int w = 0; w < W; w++)
                    for (int c = 0; c < C; c++)
                        for (int r = 0; r < 3; r++)
                            for (int s = 0; s < 3; s++)
                                out[n][k][h][w] += in[n][c][h + r][w + s] * f[k][c][r][s];
#pragma endscop
}
"""


def test_a_nest_of_many_sizes_keeps_to_the_budget(tmp_path):
    work: list[int] = []

    def counted(**arguments):
        work.append(arguments["out"].size * arguments["C"] * 9)
        done.program(**arguments)

    path = tmp_path / "conv.c"
    path.write_text(CONV)
    (nest,) = ps.from_c(path)
    done = ps.optimize(nest, options=ps.Options(contract_floats=False))
    result = verify(
        done.nest, {"": counted}, scop=done.scop, dependences=done.dependences, tree=done.tree, sizes={},
        beyond=lambda nest: counted, several_tiles=True,
    )  # fmt: skip
    assert {"N": 7, "K": 8, "C": 9, "H": 10, "W": 11} in result.beyond
    assert all(any(sizes[name] == 130 for sizes in result.beyond) for name in "NKCHW")
    assert dict.fromkeys("NKCHW", 3) in result.sizes and sum(work) < 4 * 60_000_000


def test_sizes_that_exceed_the_budget_are_left_out():
    def run(a, N):
        if N > 70:
            raise BudgetExceeded("more accesses than allowed")
        STENCIL.program(a=a, N=N)

    done = verify(
        STENCIL.nest, {"": run}, scop=STENCIL.scop, dependences=STENCIL.dependences, tree=STENCIL.tree, sizes={},
        beyond=lambda nest: STENCIL.program, several_tiles=True,
    )  # fmt: skip
    assert done.beyond == ()


def test_kernels_that_take_more_accesses_than_allowed_are_left_out(product):
    checked = check_kernels(product.source, product.nest, product.scop.valid_sizes)
    arguments = {"alpha": 1.0, "beta": 1.0, **{name: np.ones((40, 40)) for name in "ABC"}}
    report = checked(**arguments)
    assert report.is_silent and report.accesses > 3 * 40**3 / 4
    with pytest.raises(BudgetExceeded, match="more than 1000 accesses to memory"):
        replace(checked, most_accesses=1000)(**arguments)
    assert replace(checked, most_accesses=report.accesses)(**arguments).accesses == report.accesses


@pytest.fixture(scope="module")
def product() -> ps.Compiled:
    """A kernel with barriers."""
    return ps.optimize(nests.gemm(), target="cuda", options=ps.Options(tensor="off"))


def test_kernels_run_in_three_ways_and_at_sizes_of_several_tiles(product):
    done = product.verify(seconds=300, nj=3)
    assert done.ways == (
        "under the checker", "emulated", "emulated in reverse", "checked on 2 blocks a side",
        "emulated on one block in 64 bits",
    )  # fmt: skip
    assert {"ni": 130, "nj": 3, "nk": 7} in done.beyond and {"ni": 7, "nj": 3, "nk": 130} in done.beyond
    assert str(done).endswith(f"; each {', '.join(done.ways)}; 32 or 64 bits chosen rightly for 8 sizes")


@pytest.mark.slow
def test_a_barrier_that_is_missing_is_caught(product):
    text = product.source.text.replace("__syncthreads();", "", 1)
    with pytest.raises(ps.VerificationError) as error:
        replace(product, source=replace(product.source, text=text)).verify()
    assert re.search(r"gemm_k\d+: (race|uninitialized): ", str(error.value))
    assert "found under the checker, for {'ni': " in str(error.value)


def test_a_kernel_that_depends_on_the_order_of_threads_is_caught():
    def run(a, N):
        STENCIL.program(a=a, N=N)

    def reverse(a, N):
        run(a, N)
        a[N, N] = 0

    with pytest.raises(ps.VerificationError, match=r"the interpreted nest says .*, for \{'N': 1\}, in reverse"):
        verify(
            STENCIL.nest, {"forward": run, "in reverse": reverse}, scop=STENCIL.scop, dependences=STENCIL.dependences,
            tree=STENCIL.tree, sizes={},
        )  # fmt: skip


def test_what_a_kernel_must_not_do_is_an_error():
    def stuck(a, N):
        raise ps.KernelError("k0: thread (1, 0, 0) waits")

    with pytest.raises(ps.VerificationError, match=r"k0: thread \(1, 0, 0\) waits\nfound , for \{'N': 1\}"):
        check(stuck)


# --- what is claimed, drawn and rounded


@ps.nest
def chain(a: ps.f64["n + 3"], n: ps.size):
    for i in range(n):
        a[i + 3] = a[i] + 1.0


@ps.nest
def histogram(h: ps.i64[64], x: ps.i64["n"], n: ps.size):
    for i in range(n):
        h[x[i]] += 1


@ps.nest
def dot(s: ps.f32["1"], a: ps.f32["n"], b: ps.f32["n"], n: ps.size):
    for i in range(n):
        s[0] += a[i] * b[i]


@ps.nest
def to_u8(a: ps.u8["n"], b: ps.f64["n"], n: ps.size):
    for i in range(n):
        a[i] = b[i] - 300.0


@ps.nest
def never_in_u8(a: ps.u8["n"], b: ps.f64["n"], n: ps.size):
    for i in range(n):
        a[i] = b[i] - b[i] - 300.0


@ps.nest
def never_inside(a: ps.f64["n"], x: ps.i64["n"], n: ps.size):
    for i in range(n):
        a[x[i] - x[i] + n] = 1.0


def test_a_false_claim_is_caught():
    schedule = ps.Schedule(chain).independent(array="a").parallel("i")
    with pytest.raises(ps.VerificationError) as error:
        ps.optimize(chain, schedule=schedule).verify()
    assert str(error.value) == (
        "it is not true that all statements are independent through a: S[i=0] writes a[3], and S[i=3] reads it, for n=7"
    )


def test_a_claim_about_data_is_true_of_the_data_that_is_drawn():
    """Of subscripts that differ; 65 of them do not fit 64 elements."""
    schedule = ps.Schedule(histogram).independent(array="h").parallel("i")
    done = ps.optimize(histogram, schedule=schedule).verify(seconds=300)
    assert done.sizes[-1] == {"n": 33} and done.ways[1:] == ("on 4 threads", "backwards", "in a random order")
    assert "equal to the interpreted nest for n=1; n=2; n=3; n=7; n=17; n=33, for which it was true" in str(done)
    assert "cannot run on the data that was drawn for n=65: it is not true that all statements are" in str(done)


def test_a_loop_that_is_no_parallel_one_is_caught():
    """However short it is: threads would start at 60 000 operations."""
    done = ps.optimize(chain)
    worth = (binary(">=", var("n"), 1_000_000),)
    kernel = rewrite(done.kernel, lambda it: replace(it, kind="parallel", when=worth) if isinstance(it, For) else None)
    wrong = replace(done, kernel=kernel, source=emit_c(kernel))
    assert "#pragma omp parallel for schedule(static) if(n >= 1000000)" in wrong.source.text
    with pytest.raises(ps.VerificationError, match=r"says .*, (on 4 threads|backwards|in a random order)"):
        wrong.verify(seconds=300)


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_subscripts_from_arrays_are_inside(target):
    done = ps.optimize(histogram, target=target)
    assert done.verify(n=130).sizes == ({"n": 130},)


def test_casts_are_of_what_fits(recwarn):
    assert ps.optimize(to_u8).verify().sizes[-1] == {"n": 65}
    assert not recwarn


@pytest.mark.parametrize(
    ("nest", "message"),
    [
        (never_in_u8, "for n=1: the cast of -300.0 to u8 is undefined: it does not fit"),
        (never_inside, r"for n=1: a\[1\] is outside of a, whose shape is \[1\]"),
    ],
    ids=["cast", "subscript"],
)
def test_data_that_cannot_be_valid_is_refused(nest, message):
    with pytest.raises(ps.LaunchError, match=f"'{nest.name}' cannot run on the data that was drawn {message}"):
        ps.optimize(nest).verify()


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_many_terms_of_few_digits(target):
    done = ps.optimize(dot, target=target, options=ps.Options(reorder_reductions=True))
    assert done.verify(n=9000).sizes == ({"n": 9000},)


def test_one_term_of_many_that_is_missing_is_caught():
    """The bound of 9000 terms is larger than one of them; the sum of whole numbers is exact."""
    done = ps.optimize(dot, options=ps.Options(reorder_reductions=True))
    wrong = replace(done)

    def forgets_one(s, a, b, n):
        done.program(s=s, a=a, b=b, n=n)
        s -= a[n // 2] * b[n // 2]

    wrong.__dict__["program"] = forgets_one
    with pytest.raises(ps.VerificationError, match=r"'s\[0\]' is .*, for \{'n': 9000\}, as it is$"):
        wrong.verify(n=9000)


def test_less_precision_is_caught():
    """A product in f32 where it should be one in f64."""
    done = ps.optimize(gemm, options=ps.Options(reorder_reductions=True))
    wrong = replace(done)

    def narrow(C, A, B, n):
        C += A.astype(np.float32) @ B.astype(np.float32)

    wrong.__dict__["program"] = narrow
    with pytest.raises(ps.VerificationError, match=r"rounding makes a difference of .*e-1\d at most"):
        wrong.verify(n=17)


# --- the time that it takes


def test_without_time_nothing_is_verified():
    message = "'stencil' is not verified: whether its schedule is legal could not be decided, since .*; allow more"
    with pytest.raises(BudgetExceeded, match=message):
        STENCIL.verify(seconds=0)


def test_what_there_was_no_time_for_is_said():
    deadline = SimpleNamespace(left=math.inf)

    def slow(a, N):
        STENCIL.program(a=a, N=N)
        deadline.left = 0.0 if N == 7 else math.inf

    done = check(slow, seconds=5, deadline=deadline)
    assert done.sizes[-1] == {"N": 7} and str(done).endswith("N=3; N=7; the 5 s were over before N=17")


def test_a_claim_that_is_held_against_nothing_is_not_said_to_be_true():
    done = Verification(dependences=1, sizes=(), beyond=({"n": 130},), trusted=("S and S are independent through a",))
    assert "for which it was true" not in str(done)


@ps.nest
def last_row(A: ps.f64["2 * n + 1"], B: ps.f64["n"], n: ps.size):
    for i in range(n):
        for j in range(1, n - 2):
            A[j + i] = B[i]


def test_the_nest_as_C_stores_in_source_order():
    """gcc 12 -O3 vectorizes the outer loop, and leaves the elements of earlier rows."""
    n, done = 130, ps.optimize(last_row)
    a, b = np.zeros(2 * n + 1), np.arange(1.0, n + 1)
    done._in_source_order()(A=a, B=b)
    np.testing.assert_array_equal(a[1 : 2 * n - 3], b[np.minimum(np.arange(2 * n - 4), n - 1)])


def test_the_interpreter_stops_when_the_time_is_up():
    nest = parse_nest(
        "def f(A: f64[n], B: f64[1], n: size):\n"
        "    for i in range(n):\n"
        "        for j in range(n):\n"
        "            for k in range(n):\n"
        "                for l in range(n):\n"
        "                    for m in range(n):\n"
        "                        B[0] = A[m]\n",
        "f.py",
    )
    assert "s were over before" in str(ps.optimize(nest).verify(seconds=5.0))
