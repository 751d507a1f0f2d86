"""Kernels with a fault put in on purpose: each must be caught, and the kernels as they were must be silent."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.runtime.emulated.check import check
from polysched.runtime.emulated.findings import CheckReport
from tests.nests import arguments_for, gemm, jacobi_2d, random_nest

TEXT = Path(__file__).with_name("kernels.cu").read_text()
BARRIER = "__syncthreads();"


@dataclass(frozen=True)
class Case:
    """A kernel of kernels.cu, at a size with partial tiles."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Callable[[], dict]
    expected: Callable[[dict], dict]

    def run(self, text: str, **launch: tuple[int, ...]) -> tuple[CheckReport, bool]:
        """What the checker says, and whether the results are right."""
        arguments = self.arguments()
        wanted = self.expected(arguments)
        grid, block = launch.get("grid", self.grid), launch.get("block", self.block)
        report = ps.check_cuda(text, self.kernel, grid, block, **arguments)
        return report, all(np.allclose(arguments[name], value, rtol=1e-4) for name, value in wanted.items())

    @property
    def text(self) -> str:
        """The kernel alone, so that a mutant is quickly compiled."""
        return re.search(rf"__global__ void \S+ {self.kernel}\(.*?^}}", TEXT, re.DOTALL | re.MULTILINE)[0]


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(dtype)


def five_points(A: np.ndarray) -> np.ndarray:
    B = np.zeros_like(A)
    B[1:-1, 1:-1] = A[1:-1, 1:-1] + A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:]
    return B


CASES = {
    case.kernel: case
    for case in (
        Case(
            "matmul", (3, 3), (16, 16),
            lambda: {"A": numbers(40, 40), "B": numbers(40, 40), "C": np.zeros((40, 40), np.float32), "n": 40},
            lambda given: {"C": given["A"] @ given["B"]},
        ),
        Case(
            "total", (3,), (128,),
            lambda: {"x": numbers(300), "out": np.zeros(1, np.float32), "n": 300},
            lambda given: {"out": given["x"].sum()},
        ),
        Case(
            "stencil", (3, 5), (16, 8),
            lambda: {"A": numbers(37, 37, dtype="float64"), "B": np.zeros((37, 37)), "n": 37},
            lambda given: {"B": five_points(given["A"])},
        ),
        Case(
            "transpose", (2, 2), (32, 8),
            lambda: {"A": numbers(50, 50), "B": np.zeros((50, 50), np.float32), "n": 50},
            lambda given: {"B": given["A"].T.copy()},
        ),
    )
}  # fmt: skip


@pytest.fixture(params=CASES.values(), ids=CASES)
def case(request) -> Case:
    return request.param


def replaced(text: str, pattern: str, by: str) -> Iterator[str]:
    """The text with one match replaced, for each match."""
    for found in re.finditer(pattern, text):
        yield text[: found.start()] + found.expand(by) + text[found.end() :]


def test_what_is_right_is_silent(case):
    report, is_right = case.run(case.text)
    assert (report.findings, is_right) == ((), True)


def test_each_barrier_is_needed(case):
    mutants = list(replaced(case.text, re.escape(BARRIER), ""))
    assert mutants
    for mutant in mutants:
        report, _ = case.run(mutant)
        assert {"race", "uninitialized"} & {finding.kind for finding in report.findings}


def test_a_barrier_in_divergent_code_is_a_fault(case):
    for mutant in replaced(case.text, re.escape(BARRIER), f"if (threadIdx.x != 3) {BARRIER}"):
        report, _ = case.run(mutant)
        assert [f.kind for f in report.findings][-1] == "fault"
        assert re.search(r"thread \(.*\).* waits .*in line \d+", str(report.findings[-1]))


@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        (r"tile\[10\]\[18\]", "tile[9][18]"),
        (r"tile\[10\]\[18\]", "tile[10][17]"),
        (r"t < 10 \* 18", "t < 9 * 18"),
        (r"t < 10 \* 18", "t < 10 * 18 - 2"),
        (r"j0 = blockIdx.x \* 16", "j0 = blockIdx.x * 17"),
        (r"t (/|%) 18\]", r"t \1 17]"),
    ],
)
def test_a_halo_that_is_too_small_is_caught(pattern, by):
    for mutant in replaced(CASES["stencil"].text, pattern, by):
        report, is_right = CASES["stencil"].run(mutant)
        assert report.findings or not is_right


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        (r"(\w+) < n\b(?!;)", r"\1 <= n"),  # one guard lets one more element in
        (r"(threadIdx\.x|\bx)\]", r"\1 + 1]"),
        (r"half >= 32", "half >= 64"),
        (r"lanes = 16", "lanes = 8"),
        (r"\* n\b", "* (n - 1)"),
        (r"\* 16\b|\* 32\b|\* 128\b", "* 8"),
    ],
)
def test_an_index_that_is_off_is_caught(name, pattern, by):
    """By the checker, or by the results if it only mixes up elements."""
    case = CASES[name]
    for mutant in replaced(case.text, pattern, by):
        report, is_right = case.run(mutant)
        assert report.findings or not is_right, mutant


@pytest.mark.parametrize(
    ("name", "launch", "message"),
    [
        ("matmul", {"block": (17, 16)}, "blocks of 17 x 16 x 1 threads, but its __launch_bounds__ allow 256"),
        ("matmul", {"block": (64, 32)}, "blocks of 64 x 32 x 1 threads; CUDA runs 1 to 1024, at most 64 along z"),
        ("matmul", {"block": (1, 1, 65)}, "at most 64 along z"),
        ("matmul", {"block": (16, 0)}, "CUDA runs 1 to 1024"),
        ("matmul", {"block": (16, 8)}, "which nothing has written"),
        ("matmul", {"block": (8, 16)}, "which nothing has written"),
        ("matmul", {"grid": (1, 65536)}, "CUDA runs at most 2147483647 x 65535 x 65535"),
        ("total", {"block": (64,)}, "which nothing has written"),
        ("total", {"block": (128, 2)}, "allow 128"),
        ("stencil", {"block": (16, 4)}, ""),
        ("transpose", {"block": (16, 8)}, "which nothing has written"),
        ("transpose", {"block": (32, 4)}, ""),
        ("transpose", {"grid": (2, 1)}, ""),
    ],
)
def test_dimensions_that_do_not_fit_are_caught(name, launch, message):
    report, is_right = CASES[name].run(CASES[name].text, **launch)
    assert report.findings if message else not is_right
    assert message in str(report)


# --- kernels of ours


@pytest.mark.slow
def test_each_barrier_of_ours_is_needed():
    """At a size that has full tiles, and partial ones along each side."""
    done = ps.optimize(gemm(), target="cuda", options=ps.Options(tensor="off"))
    mutants = list(replaced(done.source.text, re.escape(BARRIER), ""))
    assert mutants
    for text in [done.source.text, *mutants]:
        program = check(replace(done.source, text=text), done.nest)
        arguments = {"C": numbers(130, 132), "A": numbers(130, 34), "B": numbers(34, 132)}
        report = program(**{name: array.astype(np.float64) for name, array in arguments.items()}, alpha=1.0, beta=2.0)
        assert report.is_silent == (text == done.source.text)


def test_each_block_of_ours_is_as_large_as_it_may_be():
    done = ps.optimize(jacobi_2d(), target="cuda")
    for text in replaced(done.source.text, r"dim3\((\d+), (\d+), (\d+)\)\)?,", r"dim3(\1, 2 * \2, \3),"):
        program = check(replace(done.source, text=text), done.nest)
        report = program(**arguments_for(done.nest, random.Random(0), 40))
        assert "__launch_bounds__ allow" in str(report)


@ps.nest
def transpose(B: ps.f32["m", "n"], A: ps.f32["n", "m"], n: ps.size, m: ps.size):
    for i in range(m):
        for j in range(n):
            B[i, j] = A[j, i]


STRIDE = r"(c\d+ \+= )(\(index_t\)gridDim)"
BARRIER_BETWEEN = r"(\+ 128\) \{\n *)__syncthreads\(\);"
CHOICE = r"narrow = n > 0(.|\n)*?\);"
LONG = pytest.mark.slow


@pytest.mark.parametrize(
    ("pattern", "by", "count", "message"),
    [
        pytest.param(BARRIER_BETWEEN, r"\1;", 1, "race|is .* says", marks=LONG, id="barrier"),
        pytest.param(STRIDE, r"\g<1>2 * \2", 2, r"says .*, (checked|emulated) on", marks=LONG, id="stride"),
        pytest.param(STRIDE, r"\g<1>1 + \2", 2, r"says .*, (checked|emulated) on", marks=LONG, id="one more"),
        pytest.param(CHOICE, "narrow = true;", 1, r"k0, which counts in 32 bits, for .*: 64 are", id="always narrow"),
        pytest.param(CHOICE, "narrow = false;", 1, r"k0_wide, which .* 64 bits, .*: 32 are", marks=LONG, id="never"),
        pytest.param(r"(<int64_t>\(B, A), n, m", r"\1, m, n", 1, "in 64 bits|checked on", marks=LONG, id="wide kernel"),
    ],
)
def test_what_small_sizes_do_not_reach_is_caught(pattern, by, count, message):
    """Loops over a grid stride, and the kernels in 64 bits run, and are run where they must."""
    done = ps.optimize(transpose, target="cuda")
    mutants = list(replaced(done.source.text, pattern, by))
    assert len(mutants) == count
    for text in mutants:
        with pytest.raises(ps.VerificationError, match=message):
            replace(done, source=replace(done.source, text=text)).verify(seconds=300)


@pytest.mark.parametrize("seed", range(6))
def test_random_nests_are_silent(seed):
    fn = random_nest(random.Random(seed))
    done = ps.optimize(fn, target=("cuda", "opencl")[seed % 2])
    assert done.check(**arguments_for(fn, random.Random(seed), n=5)).findings == ()
