"""polysched/verify.py: a wrong schedule or a wrong program does not pass."""

from __future__ import annotations

import re
from dataclasses import replace

import nests
import numpy as np
import pytest

import polysched as ps
from polysched import isl
from polysched.errors import BudgetExceeded
from polysched.examples import gemm, stencil
from polysched.ir.build import add, mul, store, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Array
from polysched.model.tree import Domain
from polysched.runtime.check import check as check_kernels
from polysched.verify import verify
from tests.transform.scheduled import band

STENCIL = ps.optimize(stencil)


def check(run=STENCIL.program, *, tree=STENCIL.schedule, tolerance=0.0, **sizes):
    return verify(
        STENCIL.nest, {"": run}, scop=STENCIL.scop, dependences=STENCIL.dependences, tree=tree, sizes=sizes,
        tolerance=tolerance,
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
        a[N, N] += 1e-9

    with pytest.raises(ps.VerificationError) as error:
        check(almost)
    assert re.fullmatch(
        r"'a\[1, 1\]' is 0\.\d+, but the interpreted nest says 0\.\d+, for \{'N': 1\}", str(error.value)
    )
    check(almost, tolerance=1e-6)


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
        ({"M": 3}, r"'stencil' has no size M: it has \['N'\]"),
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
        C *= 1 + 1e-12

    rounded.__dict__["program"] = nearly
    assert rounded.verify(n=3).sizes == ({"n": 3},)


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
    done = ps.optimize(nest, target=target).verify(**sizes)
    assert (done.sizes, done.beyond) == ((), (sizes,))
    assert f"; equal to the nest as C for {'n=130' if sizes else 'the constants that it has'}" in str(done)


def test_what_differs_from_c_says_so():
    done = ps.optimize(fixed)
    wrong = replace(done)
    wrong.__dict__["program"] = lambda **arguments: None
    with pytest.raises(ps.VerificationError, match=r"'c\[0, 0\]' is .*, but the nest as C says "):
        wrong.verify()


def test_without_a_compiler_large_sizes_cannot_be_compared():
    def beyond():
        raise ps.ToolchainError("no C compiler found")

    with pytest.raises(ps.LaunchError, match=r"'stencil' is too large to interpret, .* cannot be run: no C compiler"):
        verify(
            STENCIL.nest, {"": STENCIL.program}, scop=STENCIL.scop, dependences=STENCIL.dependences,
            tree=STENCIL.schedule, sizes={"N": 1000}, beyond=beyond,
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
    done = ps.optimize(nest)
    result = verify(
        done.nest, {"": counted}, scop=done.scop, dependences=done.dependences, tree=done.schedule, sizes={},
        beyond=lambda: counted, several_tiles=True,
    )  # fmt: skip
    assert {"N": 7, "K": 8, "C": 9, "H": 10, "W": 11} in result.beyond
    assert all(any(sizes[name] == 130 for sizes in result.beyond) for name in "NKCHW")
    assert result.sizes[-1] == dict.fromkeys("NKCHW", 3) and sum(work) < 4 * 60_000_000


def test_sizes_that_exceed_the_budget_are_left_out():
    def run(a, N):
        if N > 70:
            raise BudgetExceeded("more accesses than allowed")
        STENCIL.program(a=a, N=N)

    done = verify(
        STENCIL.nest, {"": run}, scop=STENCIL.scop, dependences=STENCIL.dependences, tree=STENCIL.schedule, sizes={},
        beyond=lambda: STENCIL.program, several_tiles=True,
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
    return ps.optimize(nests.gemm(), target="cuda")


def test_kernels_run_in_three_ways_and_at_sizes_of_several_tiles(product):
    done = product.verify(nj=3)
    assert done.ways == ("under the checker", "emulated", "emulated in reverse")
    assert {"ni": 130, "nj": 3, "nk": 7} in done.beyond and {"ni": 7, "nj": 3, "nk": 130} in done.beyond
    assert str(done).endswith("; each under the checker, emulated, emulated in reverse")


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
            tree=STENCIL.schedule, sizes={},
        )  # fmt: skip


def test_what_a_kernel_must_not_do_is_an_error():
    def stuck(a, N):
        raise ps.KernelError("k0: thread (1, 0, 0) waits")

    with pytest.raises(ps.VerificationError, match=r"k0: thread \(1, 0, 0\) waits\nfound , for \{'N': 1\}"):
        check(stuck)
