"""polysched verify: nests on all targets, and kernels written in CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

from polysched import cli
from polysched.cli import main
from polysched.verify import VerificationError

NEST = """\
import polysched as ps

@ps.nest
def double(a: ps.f64["n"], n: ps.size):
    for i in range(n):
        a[i] = 2.0 * a[i]
"""
KERNEL = """\
__global__ void copy(float *a, const float *b, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n)
        a[i] = b[i];
}
"""
RUN = ["--grid", "4", "--block", "32", "--arg", "a=f32[100]", "--arg", "b=f32[100]"]


@pytest.fixture
def nest(tmp_path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(NEST)
    return path


@pytest.fixture
def kernel(tmp_path) -> Path:
    path = tmp_path / "mine.cu"
    path.write_text(KERNEL)
    return path


def test_a_nest_on_each_target(nest, capsys):
    assert main(["verify", f"{nest}:double"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line.partition(": legal for all sizes")[0] for line in lines]
    assert heads == ["double, C", "double, CUDA", "double, OpenCL"]
    assert "emulated in reverse" in lines[1] and "emulated" not in lines[0]


def test_a_nest_on_one_target(nest, capsys):
    assert main(["verify", f"{nest}:double", "--target", "opencl"]) == 0
    assert capsys.readouterr().out.startswith("double, OpenCL: legal")


def test_what_is_wrong_with_a_nest(nest, capsys, monkeypatch):
    def wrong(self):
        raise VerificationError("'a[0]' is 1")

    monkeypatch.setattr(cli.Compiled, "verify", wrong)
    assert main(["verify", f"{nest}:double", "--target", "c"]) == 1
    assert capsys.readouterr().out == "double, C: 'a[0]' is 1\n"


def test_a_kernel_that_is_right(kernel, capsys):
    assert main(["verify", str(kernel), *RUN, "--arg", "n=99"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "no races, uninitialized reads or accesses out of bounds",
        "copy:5: writes a, 4 bytes a lane: 3.25 sectors a request (3.25 needed), 4 requests: a[i] = b[i];",
    ]


def test_a_kernel_that_is_wrong(kernel, capsys):
    assert main(["verify", str(kernel), "--kernel", "copy", *RUN, "--arg", "n=100"]) == 1
    assert capsys.readouterr().out.startswith(
        "copy: out of bounds: b[100], but it has 100 elements\n"
        "  thread (4, 0, 0) of block (3, 0, 0) reads in line 5: a[i] = b[i];\n"
        "copy: out of bounds: a[100], but it has 100 elements\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["FILE.cu", *RUN], "copy takes a, b, n; given are a, b\n"),
        (["FILE.cu", "--kernel", "move"], "the text has no kernel 'move'\nhint: it has: copy\n"),
        (["FILE.cu", "-D", "N=1"], "-I and -D are for C\n"),
        (["none.cu"], "'none.cu' cannot be read: No such file or directory\n"),
        (["FILE.py:double", "--arg", "n=1"], "--arg and --kernel are for CUDA files\n"),
    ],
)
def test_what_cannot_be_verified(nest, kernel, arguments, message, capsys):
    place = arguments[0].replace("FILE.cu", str(kernel)).replace("FILE.py", str(nest))
    assert main(["verify", place, *arguments[1:]]) == 2
    assert capsys.readouterr().err.startswith(message)
