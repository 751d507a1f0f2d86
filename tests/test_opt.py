"""polysched/opt and `polysched opt`: the same results from the rewritten file, and no other byte changed."""

from __future__ import annotations

import ctypes
import difflib
import os
import re
import shutil
import subprocess
from copy import copy as copy_of
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polysched import opt as opt
from polysched.cli import main
from polysched.codegen.emit.opencl import HEADERS
from polysched.config.options import Options
from polysched.errors import BudgetExceeded, InputError
from polysched.opt import regions, write
from polysched.runtime.emulated.emulate import CPP_FLAGS, cuda_header
from tests.frontend.c_programs import Programs
from tests.frontend.test_c_programs import FUNCTIONS, text_of
from tests.opencl import loader

COMMAND_LINE = Path(__file__).parents[1] / "docs" / "command_line.md"
KERNELS = Path(__file__).parent / "c" / "kernels.c"  # prints what its regions compute
COPY = b"""\
void copy(int n, double *to, const double *from)
{
    int i;
    #pragma scop
    for (i = 0; i < n; i++) /* forward */
        to[i] = from[i];
    #pragma endscop
}
"""
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-ffp-contract=off")

gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@pytest.fixture
def copy(tmp_path) -> Path:
    path = tmp_path / "copy.c"
    path.write_bytes(COPY)
    return path


def rewritten(path: Path, *arguments: str) -> bytes:
    out = path.with_suffix(".opt.c")
    assert main(["opt", str(path), "-o", str(out), *arguments]) == 0
    return out.read_bytes()


def without_regions(text: bytes) -> list[bytes]:
    """The file's pieces between regions, pragmas included."""
    begin, end = b"#pragma scop", b"#pragma endscop"
    first, *rest = text.split(begin)
    return [first, *(piece[piece.index(end) :] for piece in rest)]


def test_a_region_becomes_a_block(copy, golden):
    golden("copy.opt.c", rewritten(copy).decode())


@gcc
@pytest.mark.parametrize("flags", [["-O1"], ["-O2", "-fopenmp"], ["-O3", "-march=native"]], ids=" ".join)
def test_results_are_the_same_to_the_bit(tmp_path, flags):
    file = tmp_path / "kernels.c"
    shutil.copy(KERNELS, file)
    rewritten(file, "--tile-sizes", "4,8")
    assert ran(file.with_suffix(".opt.c"), *flags) == ran(file, "-O1")


def test_a_temporary_takes_no_more_memory_than_an_array_whatever_the_sizes(tmp_path):
    """With m = 0 no access bounds n, so that an element for each row may be too much."""
    file = tmp_path / "rows.c"
    file.write_text(
        """static double a[1000][1000], c[1000][1000];
void f(long n, long m)
{
#pragma scop
    for (long i = 0; i < n; i++) {
        double s = 0;
        for (long k = 0; k < m; k++) s += a[i][k];
        for (long k = 0; k < m; k++) c[i][k] = s * a[i][k];
    }
#pragma endscop
}
"""
    )
    text = rewritten(file)
    assert b"malloc" in text and b"n_ <= 1000 && m_ >= 1 &&" in text.partition(b"malloc")[0]


def ran(file: Path, *flags: str) -> str:
    program = file.with_suffix("")
    subprocess.run(["gcc", *STRICT, *flags, str(file), "-o", str(program)], check=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


class Both(Programs):
    """The functions of a text; `rewritten` is the library of what `opt` makes of it."""

    def __init__(self, text: str, folder: Path, pure: tuple[str, ...]):
        super().__init__(text, folder, pure)
        out = opt.rewrite(text.encode(), tuple(self.regions.values()), options=Options(tile_sizes=(3, 4)), always=True)
        assert not any(region.is_kept for region in out.regions)
        (folder / "out.c").write_bytes(out.text)
        flags = ["-std=c99", "-ffp-contract=off", "-O1", "-fopenmp", "-fPIC", "-shared", "-Wl,-Bsymbolic"]
        subprocess.run(["gcc", *flags, str(folder / "out.c"), "-o", str(folder / "out.so"), "-lm"], check=True)
        self.rewritten = copy_of(self)
        self.rewritten.original = ctypes.CDLL(str(folder / "out.so"))


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> Both:
    return Both(text_of(FUNCTIONS), tmp_path_factory.mktemp("constructs"), ("opaque",))


@gcc
@pytest.mark.parametrize("name", [head.partition("(")[0] for head in FUNCTIONS])
def test_every_construct_of_c(both, name):
    region = both.regions[name]
    for n in (2, 9):
        sizes = {size: n + k for k, size in enumerate(region.function.sizes)}
        given = {"k": np.array([3, -1, 7, 0, 2] * 2, np.int32)[:n]} if name == "indirect" else {}
        both.check(name, sizes, given, lambda **arguments: both.rewritten.run_original(region, arguments))


@pytest.fixture
def for_cuda(tmp_path) -> Path:
    """The kernels for CUDA; `kernels.opt_kernels.cu` is beside the file."""
    file = tmp_path / "kernels.c"
    shutil.copy(KERNELS, file)
    rewritten(file, "--target", "cuda", "--tensor", "off")
    return file.with_suffix(".opt.c")


@pytest.mark.slow
@gcc
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_cuda_kernels_give_the_same_results(for_cuda):
    """On the CPU: a thread after the other."""
    text = for_cuda.with_name("kernels.opt_kernels.cu").read_text()
    kernels = for_cuda.with_name("kernels.cpp")
    kernels.write_text(cuda_header(text) + text)
    subprocess.run(["g++", *CPP_FLAGS, "-O1", "-c", str(kernels), "-o", str(kernels.with_suffix(".o"))], check=True)
    assert ran(for_cuda, "-O1", str(kernels.with_suffix(".o")), "-lstdc++") == ran(for_cuda.with_name("kernels.c"))


def as_cpp(path: Path) -> Path:
    """CUDA for g++, to run on the CPU."""
    text, out = path.read_text(), path.with_suffix(".cpp")
    out.write_text(cuda_header(text).replace("#pragma once", "") + text)
    return out


# --- one file for nvcc


@pytest.fixture
def in_one(tmp_path) -> Path:
    """A whole program with a typedef of its own, as one file for nvcc; the C file is beside it."""
    file = tmp_path / "typedefs.c"
    shutil.copy(KERNELS.with_name("typedefs.c"), file)
    assert main(["opt", str(file), "--target", "cuda", "-o", str(file.with_suffix(".cu"))]) == 0
    return file.with_suffix(".cu")


@gcc
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_a_whole_program_in_one_file_gives_the_same_results(in_one):
    """On the CPU."""
    program = in_one.with_suffix("")
    subprocess.run(["g++", *CPP_FLAGS, "-O1", str(as_cpp(in_one)), "-o", str(program)], check=True)
    out = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert out.stdout == ran(in_one.with_suffix(".c"))
    assert out.stderr == ""


@pytest.mark.slow
@gcc
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_makes_a_program_of_it_that_runs_without_a_device_too(in_one):
    program = in_one.with_suffix("")
    command = ["nvcc", "-fmad=false", "-Werror", "all-warnings", str(in_one), "-o", str(program)]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    out = subprocess.run([str(program)], check=True, capture_output=True, text=True, env={"CUDA_VISIBLE_DEVICES": ""})
    assert out.stdout == ran(in_one.with_suffix(".c"))
    assert re.fullmatch(rf"{in_one}:\d+: .*: .*; running on the CPU\n", out.stderr)


def test_its_functions_can_be_called_from_c(in_one):
    text = in_one.read_text()
    parts = ("namespace polysched {", 'extern "C" {\n#include <stdio.h>', "int main(void)")
    assert sorted(text.index(part) for part in parts) == [text.index(part) for part in parts]
    assert "polysched::smooth_of_typedefs(n_, a, (float *)(x), (float *)(y)) == 0" in text


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("double *p = malloc(8);", "cannot initialize a variable of type 'double *' with an rvalue of type 'void *'"),
        ("double p[n]; p[0] = 1;", "variable length arrays in C++ are a Clang extension"),
        ("int new = 1;", "expected unqualified-id"),
        ("int a[4] = {[2] = 1};", "array designators are a C99 extension"),
    ],
    ids=["void pointer", "variable length", "keyword", "designator"],
)
def test_what_is_no_cpp_is_refused_with_its_place(copy, capsys, line, complaint):
    copy.write_bytes(b"#include <stdlib.h>\n" + COPY + f"void f(int n)\n{{\n    {line}\n}}\n".encode())
    out = copy.with_suffix(".cu")
    assert main(["opt", str(copy), "--target", "cuda", "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{copy}:12:")
    assert f"this is not C++, which a .cu file is: {complaint}" in said
    assert "or give an output that ends in .c, which gets a file of kernels beside it" in said
    assert not out.exists()


@pytest.mark.slow
@gcc
def test_where_cuda_fails_the_regions_run_as_they_were(for_cuda):
    names = ("gemm", "jacobi", "scan", "seidel")
    failing = for_cuda.with_name("failing.c")
    failing.write_text("".join(f"int {name}_of_kernels_opt(void) {{ return 100; }}\n" for name in names))
    assert ran(for_cuda, "-O1", str(failing)) == ran(for_cuda.with_name("kernels.c"))


@pytest.fixture
def for_opencl(tmp_path) -> Path:
    """The same for OpenCL, with `kernels.opt_kernels.o`."""
    file = tmp_path / "kernels.c"
    shutil.copy(KERNELS, file)
    rewritten(file, "--target", "opencl")
    kernels = file.with_name("kernels.opt_kernels.c")
    command = ["gcc", *STRICT, f"-I{HEADERS}", "-c", str(kernels), "-o", str(kernels.with_suffix(".o"))]
    subprocess.run(command, check=True)
    return file.with_suffix(".opt.c")


@gcc
@pytest.mark.parametrize("device", [True, False], ids=["device", "none"])
def test_opencl_kernels_give_the_same_results_and_so_does_the_text_without_a_device(for_opencl, device, monkeypatch):
    library = Path(loader())
    kernels = str(for_opencl.with_name("kernels.opt_kernels.o"))
    if device:
        monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))
    else:
        monkeypatch.setenv("PYOPENCL_HOME", "/nowhere")
        monkeypatch.setenv("OCL_ICD_VENDORS", "/nowhere")
    libraries = [kernels, str(library), f"-Wl,-rpath,{library.parent}", "-lm"]
    assert ran(for_opencl, "-O1", *libraries) == ran(for_opencl.with_name("kernels.c"))


@gcc
def test_where_opencl_fails_the_regions_run_as_they_were(for_opencl):
    failing = for_opencl.with_name("failing.c")
    names = ("gemm", "jacobi", "scan", "seidel")
    failing.write_text("".join(f"int {name}_of_kernels_opt(void) {{ return -5; }}\n" for name in names))
    assert ran(for_opencl, "-O1", str(failing)) == ran(for_opencl.with_name("kernels.c"))


@pytest.mark.slow
@gcc
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_kernels_are_built_and_linked_as_the_readme_says(for_cuda):
    """With this machine's folder of CUDA; where there is no device, the regions run as they were."""
    (lines,) = re.findall(r"^```\n(nvcc [^`]*)```$", COMMAND_LINE.read_text(), re.MULTILINE)
    said = subprocess.run(["nvcc", "--dryrun", "-c", "x.cu"], capture_output=True, text=True).stderr
    (libraries,) = re.findall(r'LIBRARIES=.*"-L([^"]*/lib(?:64)?)"', said)
    lines = lines.replace("OUT", "kernels.opt").replace("/usr/local/cuda/lib64", libraries)
    subprocess.run(lines, shell=True, check=True, cwd=for_cuda.parent)
    environment = {"CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": libraries}
    out = subprocess.run([for_cuda.with_name("a.out")], check=True, capture_output=True, text=True, env=environment)
    assert out.stdout == ran(for_cuda.with_name("kernels.c"))
    assert re.fullmatch(r"kernels.opt_kernels.cu:\d+: .*: .*; running on the CPU\n", out.stderr)


@pytest.mark.parametrize("language", ["CUDA", "OpenCL"])
def test_gpus_have_none_of_the_user_s_functions(copy, capsys, language):
    copy.write_bytes(b"double f(double);\n" + COPY.replace(b"= from[i]", b"= f(from[i])"))
    assert rewritten(copy, "--target", language.lower(), "--pure", "f") == copy.read_bytes()
    assert capsys.readouterr().err == f"{copy}:6: copy keeps its text: {language} has no f\n"
    assert not list(copy.parent.glob("copy.opt_kernels.*"))


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_a_folder_is_no_output(copy, capsys, target, monkeypatch):
    monkeypatch.chdir(copy.parent)
    for folder in (".", "..", "/"):
        assert main(["opt", str(copy), "-o", folder, "--target", target]) == 2
        said = f"-o names the folder '{folder}'\nhint: name a file, as in -o {Path(folder, 'OUT.c')}\n"
        assert capsys.readouterr().err == said
    with pytest.raises(InputError, match=r"^'\.' cannot be written: Is a directory$"):
        write(Path("."), b"")


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_gpus_need_an_output(copy, capsys, target):
    assert main(["opt", str(copy), "--target", target]) == 2
    one = ", or one: -o OUT.cu" if target == "cuda" else ""
    assert capsys.readouterr().err == f"--target {target} writes two files\nhint: name the first: -o OUT.c{one}\n"


def test_every_other_byte_stays(tmp_path):
    file = tmp_path / "kernels.c"
    shutil.copy(KERNELS, file)
    text = rewritten(file)
    assert without_regions(text) == without_regions(KERNELS.read_bytes())
    before, after = KERNELS.read_text().splitlines(), text.decode().splitlines()
    assert [line for line in difflib.ndiff(before, after) if line.startswith("-")] == []


@gcc
def test_no_warning_is_ours(tmp_path):
    file = tmp_path / "kernels.c"
    shutil.copy(KERNELS, file)
    rewritten(file)
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-c", "-o", os.devnull, str(file.with_suffix(".opt.c"))]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert [line for line in said.splitlines() if "warning:" in line and "scop" not in line] == []


def test_line_ends_and_bytes_that_are_no_text_stay(copy):
    copy.write_bytes(COPY.replace(b"/* forward */", b"/* \xe9\xff */").replace(b"\n", b"\r\n"))
    text = rewritten(copy)
    assert text.count(b"\n") == text.count(b"\r\n") > COPY.count(b"\n")
    assert b"for (i = 0; i < n; i++) /* \xe9\xff */\r\n        to[i] = from[i];\r\n" in text


def test_without_an_output_the_file_goes_to_standard_output(copy, capfdbinary):
    text = rewritten(copy)
    assert main(["opt", str(copy)]) == 0
    assert capfdbinary.readouterr() == (text, b"")


def test_verbose_says_what_each_region_became(copy, capsys):
    rewritten(copy, "-v")
    assert capsys.readouterr().err == f"{copy}:5: copy: 1 loop, 1 parallel\n"


@pytest.mark.parametrize("as_it_was_given", [False, True])
def test_a_region_that_takes_too_long_keeps_its_text(copy, capsys, monkeypatch, as_it_was_given):
    compiled = regions.optimize

    def slow(*arguments, **options):
        if as_it_was_given:
            late = {"mapping": "the nest as it was given, since isl ran out of time"}
            return replace(compiled(*arguments, **options), rungs=late)
        raise BudgetExceeded("isl ran out of time")

    monkeypatch.setattr(regions, "optimize", slow)
    out = copy.with_suffix(".opt.c")
    assert main(["opt", str(copy), "-o", str(out)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{copy}:5: copy: isl ran out of time",
        f"{copy}:5: copy keeps its text",
        f"no region of '{copy}' could be compiled: nothing is written",
    ]
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COPY.replace(b"#pragma endscop", b""), "{path}:4:5: this #pragma scop has no #pragma endscop"),
        (COPY.replace(b"#pragma", b"//"), "{path} has no #pragma scop"),
        (COPY.replace(b"i < n", b"i < m"), "{path}:5:21: use of undeclared identifier 'm'"),
        (COPY.replace(b"to[i] = ", b"to[i * i] = "), "{path}:6:"),
    ],
    ids=["unclosed", "none", "no C", "not affine"],
)
def test_what_is_refused_writes_nothing(copy, capsys, text, message):
    copy.write_bytes(text)
    out = copy.with_name("out.c")
    out.write_text("as before")
    assert main(["opt", str(copy), "-o", str(out)]) == 2
    assert capsys.readouterr().err.startswith(message.format(path=copy))
    assert out.read_text() == "as before"
    assert sorted(path.name for path in copy.parent.iterdir()) == ["copy.c", "out.c"]


def test_the_input_is_not_overwritten(copy, capsys):
    assert main(["opt", str(copy), "-o", str(copy)]) == 2
    message = f"-o names '{copy}' itself\nhint: write to another file: regions are read once\n"
    assert capsys.readouterr().err == message
    assert copy.read_bytes() == COPY


def test_an_output_that_cannot_be_written_is_named(copy, capsys):
    out = copy.parent / "gone" / "out.c"
    assert main(["opt", str(copy), "-o", str(out)]) == 2
    assert capsys.readouterr().err == f"'{out}' cannot be written: No such file or directory\n"


def test_a_device_is_written_to_and_not_replaced(copy):
    assert main(["opt", str(copy), "-o", os.devnull]) == 0
    assert not Path(os.devnull).is_file()
