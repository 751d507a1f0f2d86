"""polysched verify: nests on a target, and kernels written in CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

from polysched.check.verify import VerificationError
from polysched.cli import main
from polysched.results.compiled import Compiled

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
RUN = ["--grid", "4", "--block", "32", "--arg", "a=f32[100]", "--arg", "b=f32[100]", "--arg", "n=99"]


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


@pytest.mark.parametrize(
    ("arguments", "language"),
    [([], "C"), (["--target", "cuda"], "CUDA"), (["--target", "opencl"], "OpenCL"), (["--target", "hip"], "HIP")],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_nest_on_one_target(nest, arguments, language, capsys):
    assert main(["verify", f"{nest}:double", *arguments]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"double, {language}: legal for all sizes")
    assert ("emulated in reverse" in line) == (language != "C")


def test_sizes_of_ones_own(nest, capsys):
    assert main(["verify", f"{nest}:double", "--target", "cuda", "--sizes", "n=100000"]) == 0
    assert "; equal to the nest as C for n=100000; each under the checker" in capsys.readouterr().out


def test_a_nest_that_is_too_large(nest, capsys):
    assert main(["verify", f"{nest}:double", "--target", "cuda", "--sizes", "n=1000000000"]) == 2
    assert capsys.readouterr().err == (
        "double, CUDA: 'double' is too large to run here with n=1000000000: it accesses memory about 3.0e+09 times, "
        "and at most 3e+08 are checked; give smaller ones\n"
    )


def test_what_is_wrong_with_a_nest(nest, capsys, monkeypatch):
    def wrong(self, **sizes):
        raise VerificationError("'a[0]' is 1")

    monkeypatch.setattr(Compiled, "verify", wrong)
    assert main(["verify", f"{nest}:double"]) == 1
    assert capsys.readouterr().out == "double, C: 'a[0]' is 1\n"


REGIONS = """\
void beyond(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i + 1] = 0.0;
#pragma endscop
}
void twice(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] *= 2.0;
#pragma endscop
}
"""


def test_a_region_that_is_refused_leaves_the_others(tmp_path, capsys):
    path = tmp_path / "mine.c"
    path.write_text(REGIONS)
    assert main(["verify", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out.startswith("twice, C: legal for all sizes")
    assert captured.err.startswith(f"{path}:5:9: 'a' has shape [n], but i = 0 touches a[1] when n = 1\n")


def test_sizes_are_of_the_nests_that_have_them(tmp_path, capsys):
    path = tmp_path / "mine.c"
    thrice = "void thrice(int m, double a[m])\n{\n#pragma scop\n    for (int i = 0; i < m; i++)\n        a[i] *= 3.0;\n"
    path.write_text(f"{REGIONS.replace('i + 1', 'i')}{thrice}#pragma endscop\n}}\n")
    assert main(["verify", str(path), "--sizes", "n=20"]) == 0
    ends = [line.partition(" nest ")[2].partition("; each ")[0] for line in capsys.readouterr().out.splitlines()]
    assert ends[:2] == ["for n=20", "for n=20"] and ends[2].startswith("for m=1; ")


def test_a_kernel_that_is_right(kernel, capsys):
    assert main(["verify", str(kernel), *RUN]) == 0
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
        (["FILE.cu", *RUN, "--arg", "m=1"], "copy takes a, b, n; given are a, b, n, m\n"),
        (["FILE.cu", "--kernel", "move", *RUN], "the text has no kernel 'move'\nhint: it has: copy\n"),
        (["none.cu"], "'none.cu' cannot be read: No such file or directory\n"),
        (["FILE.cu", *RUN, "--grid", "0"], "grid is (0,), but CUDA launches one block or more along each side\n"),
        (["FILE.cu", *RUN[2:]], "--grid must be given\nhint: as in "),
        (["FILE.cu", "--kernel", "copy"], "--grid and --block must be given\nhint: as in "),
        (["FILE.cu", *RUN, "--sizes", "n=3"], "--sizes is for nests\nhint: of a CUDA file, sizes are arguments"),
        (
            ["FILE.py:double", "--arg", "n=1"],
            "--arg, --kernel, --grid, --block and --dynamic-shared are for CUDA files\n",
        ),
        (["FILE.py:double", "--sizes", "m=1"], "no nest of 'FILE.py:double' has a size m\nhint: the sizes are: n\n"),
    ],
)
def test_what_cannot_be_verified(nest, kernel, arguments, message, capsys):
    place = arguments[0].replace("FILE.cu", str(kernel)).replace("FILE.py", str(nest))
    assert main(["verify", place, *arguments[1:]]) == 2
    assert capsys.readouterr().err.startswith(message.replace("FILE.py", str(nest)))


def test_a_kernel_is_named_behind_its_file(kernel, capsys):
    assert main(["verify", f"{kernel}:copy", *RUN]) == 0
    assert "no races" in capsys.readouterr().out
    assert main(["verify", f"{kernel}:copied", *RUN]) == 2
    assert "copied" in capsys.readouterr().err
    assert main(["verify", f"{kernel}:copy", "--kernel", "copy", *RUN]) == 0
    assert main(["verify", f"{kernel}:copied", "--kernel", "copy", *RUN]) == 2
    assert "names a kernel, and so does --kernel" in capsys.readouterr().err
