"""polysched/verify.py: a wrong schedule or a wrong program does not pass."""

from __future__ import annotations

import re
from dataclasses import replace

import nests
import numpy as np
import pytest

import polysched as ps
from polysched import isl
from polysched.examples import gemm, stencil
from polysched.model.tree import Domain
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
        ({"N": -1}, r"they must satisfy \[N\] -> \{  : N >= 0 \}"),
        ({"N": 10**6}, "give at most 20000 instances of statements to interpret"),
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


# --- kernels for a GPU


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
