"""polysched/cli: one stage of one nest on standard output; refusals with status 2 and a message."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from polysched import cli
from polysched.cli import main
from polysched.cli.knobs import in_flags
from polysched.config.options import Options
from polysched.pipeline import optimize

NESTS = '''\
from __future__ import annotations
from dataclasses import dataclass

import polysched as ps

@dataclass
class Beside:
    """A file may hold more than nests."""
    number: int = 1

@ps.nest
def scan(a: ps.f64["n + 1"], n: ps.size):
    for i in range(n):
        a[i + 1] = a[i] + a[i + 1]

@ps.nest
def double(a: ps.f64["n"], n: ps.size):
    for i in range(n):
        a[i] = 2.0 * a[i]
'''


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(NESTS)
    return path


def shown(capsys, *arguments) -> str:
    assert main(["show", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_tree_of_a_nest(file, capsys):
    assert shown(capsys, "tree", f"{file}:scan") == (
        "domain: { S[i] : 0 <= i < n }\n  context: { : n >= 0 }\n    mark: serial\n      band:\n        [S[i] -> i]\n"
    )


def test_the_edits_that_make_it(file, capsys):
    expected = 'schedule = (\n    ps.Schedule(double, "ilp")\n    .parallel("i")\n)\n'
    assert shown(capsys, "script", f"{file}:double") == expected
    assert '.bind("i_t", "thread.x")' in shown(capsys, "script", f"{file}:double", "--target", "cuda")
    assert "\nparallel.i = 'i'  of '', 'i': the outermost" in shown(capsys, "decisions", f"{file}:double")
    assert shown(capsys, "decisions", f"{file}:double", "--target", "cuda").startswith("threads.i = 128  of ")
    assert shown(capsys, "decisions", f"{file}:scan", "--target", "cuda").startswith("there are no decisions: ")


def test_its_dependences(file, capsys):
    expected = "flow on a: [n] -> { S[i] -> S[i' = 1 + i] : 0 <= i <= -2 + n }\n"
    assert shown(capsys, "deps", f"{file}:scan") == expected
    assert shown(capsys, "deps", f"{file}:double") == "no dependences\n"


def test_its_source_for_both_targets(file, capsys):
    c = shown(capsys, "source", f"{file}:double")
    assert "void double_(double *restrict a, int64_t n)\n{\n    #pragma omp parallel for" in c
    cuda = shown(capsys, "source", f"{file}:double", "--target", "cuda")
    assert "__global__ void" in cuda and 'extern "C" int double_(double *__restrict__ a, int64_t n)' in cuda


def test_its_expressions(file, capsys):
    file.write_text(
        "from __future__ import annotations\nimport polysched as ps\n\n@ps.nest\n"
        "def product(a: ps.f64['n', 'n'], b: ps.f64['n'], n: ps.size):\n"
        "    for i in range(n):\n        for j in range(n):\n            a[i, j] = b[i] * b[j]\n"
    )
    plain = ("--no-tile", "--no-parallel", "--no-register-tiles")
    text = shown(capsys, "expr", f"{file}:product", "--before", "--after", *plain)
    assert text == (
        "1  def product(a: f64[n * n], b: f64[n], n: size):  # 0 written, 0 executed\n"
        "2      for c0 in 0..n:               # 0 written, 0 executed\n"
        "3          for c1 in 0..n (vector):  # 2 written, 2 * n**2 executed\n"
        "4              a[c0 * n + c1] = b[c0] * b[c1]\n"
        "\n"
        "1  def product(a: f64[n * n], b: f64[n], n: size):  # 0 written, 0 executed\n"
        "2      for c0 in 0..n:               # 1 written, n executed\n"
        "3          t0 = n * c0\n"
        "4          for c1 in 0..n (vector):  # 1 written, n**2 executed\n"
        "5              a[t0 + c1] = b[c0] * b[c1]\n"
    )
    report = shown(capsys, "expr", f"{file}:product", "--sizes", "n=10", *plain)
    assert report.startswith("integer operations of product at n=10\n\npass ")
    assert "\nt0 = n * c0: before c1\nin c1: n * c0 + c1: changes with c1\nin c1: b[c0]: loads from b\n" in report
    cuda = shown(capsys, "expr", f"{file}:product", "--target", "cuda", "--after", "--report")
    assert "(block.x)" in cuda and "\n\ninteger operations of product\n" in cuda


def test_parts_of_expressions_are_refused_elsewhere(file, capsys):
    assert main(["show", "tree", f"{file}:scan", "--after"]) == 2
    assert "--before, --after, --report and --sizes are for show expr" in capsys.readouterr().err


def test_an_operator_stage_by_stage(tmp_path, capsys):
    path = tmp_path / "ops.py"
    path.write_text("""\
import polysched as ps


@ps.op
def halves(x: ps.f32["n", 2]):
    return 0.5 * x[:, 1]
""")
    assert shown(capsys, "ssa", f"{path}:halves") == """\
graph halves(%x: f32[n, 2]):
    %v0 = Const() {value = 0.5f32} : f32[]
    %v1 = Slice(%x) {at = [:, 1]} : f32[n]
    %v2 = BinaryType::Mul(%v0, %v1) : f32[n]
    yield %v2
"""
    assert shown(capsys, "tensor", f"{path}:halves") == """\
v0[] = 0.5f32 : f32[]
v1[i] = x[i, 1] : f32[n]
out[i] = v0[] * v1[i] : f32[n]
"""
    assert shown(capsys, "nest", f"{path}:halves") == """\
def halves(x: f32[n, 2], out: f32[n], n: size):
    for i in 0..n:
        out[i] = 0.5f32 * x[i, 1]
"""
    assert "out[c0] = 0.5f * x[c0 * 2 + 1];" in shown(capsys, "source", f"{path}:halves")


def test_a_nest_has_no_graph(file, capsys):
    assert shown(capsys, "nest", f"{file}:double").startswith("def double(a: f64[n], n: size):")
    assert main(["show", "ssa", f"{file}:double"]) == 2
    expected = "show ssa is for operators, and this is a nest\nhint: write show nest\n"
    assert capsys.readouterr().err == expected


def test_its_reasons(file, capsys):
    text, _, _ = shown(capsys, "explain", f"{file}:scan").rpartition("predicted at n = ")
    assert text == (
        "in the source\n"
        "  for i, mine.py:13\n"
        "    not parallel nor SIMD: flow on a, distance (1), S[0] -> S[1] at n = 2, line 14\n"
        "in the schedule (pluto)\n"
        "  1 loop\n"
        "    S[i] -> i\n"
        "      carries flow on a, distance (1), S[0] -> S[1] at n = 2, line 14\n"
        "in the kernel\n"
        "  i: one after the other, not SIMD, it carries flow on a\n"
    )


def explained(capsys, *arguments) -> str:
    assert main(["explain", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_explain_is_a_command_of_its_own_with_counts(file, capsys):
    text = explained(capsys, f"{file}:scan")
    reasons = shown(capsys, "explain", f"{file}:scan")
    assert text == (
        f"scan\n{reasons}\n"
        "scan where n > 0\n"
        "for i, mine.py:13\n"
        "  operations  f64 +: n\n"
        "  bytes       16 * n read, 8 * n written, 8 * n + 8 touched\n"
        "  intensity   n / (8 * n + 8) a byte touched, 1 / 24 a byte accessed\n"
        "  array  elements  reads  writes  reuse\n"
        "  a      n + 1     2 * n  n       3 * n / (n + 1)\n"
    )


def test_advice_names_flags(c_file, capsys):
    c_file.write_text(
        "void total(int n, double a[n], double s[1])\n{\n#pragma scop\n    for (int i = 0; i < n; i++)\n"
        "        s[0] += a[i];\n#pragma endscop\n}\n"
    )
    for text in (explained(capsys, c_file, "--target", "cuda"), shown(capsys, "explain", c_file, "--target", "cuda")):
        assert "\n      lifted by --reorder-reductions\n" in text
        assert "\nreductions may run on all threads with --reorder-reductions\n" in text
    assert in_flags("without threads, Options(parallel=False)") == "without threads, --no-parallel"


def test_explain_at_sizes_of_the_nests_that_have_them(tmp_path, capsys):
    path = tmp_path / "pair.py"
    other = PAIR[PAIR.index("@ps") :].replace("pair", "other")
    path.write_text(PAIR + re.sub(r"\bn\b", "m", other))
    text = explained(capsys, path, "--sizes", "n=100")
    assert "predicted at n = 100 on " in text and "pair where n = 100\n" in text and "other where m > 0\n" in text
    assert main(["explain", str(path), "--sizes", "n=100,k=1"]) == 2
    assert capsys.readouterr().err == f"no nest of '{path}' has a size k\nhint: the sizes are: n, m\n"


def test_explain_of_a_file_or_a_line_of_it(file, tmp_path, capsys):
    both = explained(capsys, file)
    assert "scan\nin the source" in both and "\ndouble\nin the source" in both
    assert explained(capsys, f"{file}:18") == explained(capsys, f"{file}:19") == explained(capsys, f"{file}:double")
    path = tmp_path / "pair.py"
    path.write_text(PAIR)
    assert "for i, pair.py:7, only what line 9 runs\n  operations  none\n" in explained(capsys, f"{path}:9")
    path = tmp_path / "mine.c"
    path.write_text(C_FILE)
    assert explained(capsys, f"{path}:5", "-DFACTOR=2") == explained(capsys, f"{path}:scan", "-DFACTOR=2")
    assert "scan where n = 9\n" in explained(capsys, f"{file}:scan", "--sizes", "n=9")
    assert main(["explain", f"{file}:3"]) == 2
    assert capsys.readouterr().err == f"no nest of '{file}' has a loop or statement at line 3\n"


def test_a_region_that_is_refused_leaves_the_others(c_file, capsys):
    c_file.write_text(f"{BROKEN}{C_FILE}")
    assert explained(capsys, f"{c_file}:12", "-DFACTOR=2").startswith("scan\nin the source\n  for i, mine.c:11\n")
    assert explained(capsys, f"{c_file}:twice", "-DFACTOR=2").startswith("twice\n")
    refusal = f"{c_file}:4:9: a while loop cannot be in a region\n"
    for place, names in ((c_file, ["scan", "twice"]), (f"{c_file}:4", []), (f"{c_file}:broken", [])):
        assert main(["explain", str(place), "-DFACTOR=2"]) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(refusal) and captured.err.count("\n") == 4
        assert re.findall(r"^(\w+)\nin the source", captured.out, re.MULTILINE) == names


def test_a_page_and_the_stages_of_a_file_leave_out_the_region_that_is_refused(c_file, tmp_path, capsys):
    c_file.write_text(f"{BROKEN}{C_FILE}")
    page = tmp_path / "report.html"
    for command in (["show", "nest"], ["show", "tree"], ["report", "-o", str(page)]):
        assert main([*command, str(c_file), "-DFACTOR=2"]) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(f"{c_file}:4:9: a while loop cannot be in a region\n")
        assert "scan" in captured.out and "twice" in captured.out and "broken" not in captured.out
    assert "twice" in page.read_text()


BROKEN = """\
void broken(int n, double a[n])
{
#pragma scop
        while (a[0] > 1.0)
            a[0] /= 2.0;
#pragma endscop
}
"""
PAIR = """\
import polysched as ps



@ps.nest
def pair(a: ps.f64["n"], b: ps.f64["n"], n: ps.size):
    for i in range(n):
        a[i] = 2.0 * b[i]
        b[i] = 0.0
"""
C_FILE = """\
void scan(int n, double a[n + 1])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i + 1] += a[i];
#pragma endscop
}
void twice(int n, double a[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] *= FACTOR;
#pragma endscop
}
"""


@pytest.fixture
def c_file(tmp_path) -> Path:
    path = tmp_path / "mine.c"
    path.write_text(C_FILE)
    return path


def test_the_regions_of_a_c_file_one_after_the_other(c_file, capsys):
    text = shown(capsys, "deps", c_file, "-D", "FACTOR=2.0")
    expected = "scan:\nflow on a: [n] -> { S[i] -> S[i' = 1 + i] : 0 <= i <= -2 + n }\n\ntwice:\nno dependences\n"
    assert text == expected


def test_one_region_of_a_c_file(c_file, capsys):
    assert shown(capsys, "deps", f"{c_file}:twice", "-D", "FACTOR=2.0") == "no dependences\n"
    assert main(["show", "deps", f"{c_file}:twist", "-D", "FACTOR=2.0"]) == 2
    assert capsys.readouterr().err == f"'{c_file}' has no region 'twist'\nhint: it has: scan, twice\n"


def test_knobs_reach_the_compiler(c_file, capsys):
    with_threads = shown(capsys, "source", f"{c_file}:twice", "-D", "FACTOR=2.0")
    without = shown(capsys, "source", f"{c_file}:twice", "-D", "FACTOR=2.0", "--no-parallel")
    assert "omp parallel" in with_threads and "omp parallel" not in without


@pytest.mark.parametrize(
    ("knob", "option", "value"),
    [
        ("--reorder-reductions", "reorder_reductions", True),
        ("--fast-math", "fast_math", True),
        ("--no-contract-floats", "contract_floats", False),
        ("--double-buffer", "double_buffer", True),
        ("--no-shared-memory", "shared_memory", False),
    ],
)
def test_every_switch_is_an_option(file, capsys, monkeypatch, knob, option, value):
    given = []

    def noted(nest, target, options):
        given.append(options)
        return optimize(nest, target)

    monkeypatch.setattr(cli.show, "optimize", noted)
    for arguments in ([], [knob]):
        shown(capsys, "deps", f"{file}:double", *arguments)
    assert given == [Options(), Options(**{option: value})]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.py:scan", None, "there is no file '{path}'"),
        ("mine.py", "", "'{path}' names no nest\nhint: write FILE.c, FILE.c:FUNCTION or FILE.py:NAME"),
        ("mine.txt:scan", "", "'{path}' is not a Python file\nhint: a nest is a Python function under @polysched.nest"),
        ("mine.py:scam", NESTS, "'{path}' has no nest 'scam'\nhint: it has: double, scan"),
        ("mine.py:Beside", NESTS, "'{path}' has no nest 'Beside'\nhint: it has: double, scan"),
        ("mine.py:scan", "x = 1\n", "'{path}' has no nest 'scan'\nhint: it has: none"),
        ("mine.py:scan", "def scan(:\n", "{path}:1:10: this is not Python: invalid syntax\n  def scan(:\n           ^"),
        (
            "mine.py:scan",
            NESTS.replace("for i in range(n)", "while n > 0"),
            "{path}:13:5: a while loop cannot be in a nest\n      while n > 0:\n      ^\n"
            "hint: write for i in range(n), with the number of iterations known before",
        ),
        (
            "mine.py:scan",
            NESTS.replace('"n + 1"', '"n"'),
            "{path}:14:9: 'a' has shape [n], but i = 0 touches a[1] when n = 1\n"
            "          a[i + 1] = a[i] + a[i + 1]\n          ^\n"
            'hint: shrink the loop, guard the access, or declare the array larger, as in n + 1 for n',
        ),
    ],
    ids=["no file", "no name", "no Python file", "no nest", "not a nest", "none at all", "syntax", "while", "bounds"],
)
def test_refusals(tmp_path, capsys, name, content, message):
    path = tmp_path / name.partition(":")[0]
    if content is not None:
        path.write_text(content)
    assert main(["show", "source", str(tmp_path / name)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == message.format(path=path) + "\n"


def test_a_syntax_error_in_another_file_names_that_file(file, tmp_path, capsys, monkeypatch):
    (tmp_path / "broken_neighbour.py").write_text("x = = 1\n")
    file.write_text("import broken_neighbour\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["show", "tree", f"{file}:scan"]) == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'broken_neighbour.py'}:1:5: this is not Python")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: command"),
        (["optimise"], "invalid choice: 'optimise' (choose from 'demo', 'opt', 'cc', 'show', 'explain', "),
        (["show", "tree"], "the following arguments are required: PLACE"),
        (["show", "kernel", "f.py:g"], "'kernel' (choose from 'tree', 'script', 'decisions', "),
        (["show", "tree", "f.py:g", "--target", "metal"], "invalid choice: 'metal' (choose from 'c', 'cuda', "),
        (["inspect", "f.c", "--sizes", "n:5"], "argument --sizes: 'n:5' gives no sizes, as in n=512,m=64"),
        (["opt", "f.c", "--tile-sizes", "32,0"], "argument --tile-sizes: '32,0' is no list of sizes, as in 32,64"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2 and message in capsys.readouterr().err


CUDA_FILE = """\
#include "by.h"
__global__ void __launch_bounds__(64) twice(float *p) { p[threadIdx.x] = p[threadIdx.x] * BY + ADD; }
__global__ void thrice(float *p) { p[threadIdx.x] *= 3; }
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile CUDA texts with")
def test_inspect_reads_cuda(tmp_path, capsys):
    (tmp_path / "by.h").write_text("#define BY 2\n")
    (tmp_path / "mine.cu").write_text(CUDA_FILE)
    assert main(["inspect", str(tmp_path / "mine.cu"), "-D", "ADD=1"]) == 0
    both = capsys.readouterr().out
    heading, first, second = both.split("\n\n")
    assert re.fullmatch(r"nvcc -arch=sm_90 .*-DADD=1", heading)
    assert first.startswith("twice, line 2: ") and "64 threads a block" in first
    assert second.startswith("thrice, line 3: ")
    assert main(["inspect", str(tmp_path / "mine.cu"), "-D", "ADD=1", "--kernel", "thrice"]) == 0
    assert capsys.readouterr().out == f"{heading}\n\n{second}"
    arguments = ["-D", "ADD=1", "--kernel", "thrice", "--threads", "32", "--arch", "sm_80", "--flags=-O3 -fmad=false"]
    assert main(["inspect", str(tmp_path / "mine.cu"), *arguments]) == 0
    printed = capsys.readouterr().out
    assert "32 blocks a multiprocessor: occupancy 0.50, limited by blocks" in printed
    assert printed.startswith("nvcc -arch=sm_80 -O3 -fmad=false ")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile CUDA texts with")
def test_inspect_compiles_our_texts_as_they_say(c_file, capsys):
    knobs = ["-D", "FACTOR=2.0", "--target", "cuda", "--no-contract-floats"]
    text = shown(capsys, "source", f"{c_file}:scan", *knobs)
    path = c_file.with_suffix(".cu")
    path.write_text(text)
    for arguments, flags in (([], " -fmad=false"), (["--flags="], ""), (["--flags=-O2"], " -O2")):
        assert main(["inspect", str(path), *arguments]) == 0
        assert re.match(rf"nvcc -arch=sm_90{flags}( -I\S+)?\n\n", capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile CUDA texts with")
def test_inspect_compiles_nests_first(file, c_file, capsys):
    assert main(["inspect", f"{file}:double", "--sizes", "n=500", "--kernel", "double__k0"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert re.match(r"double__k0, launched once, \d+x1x1 blocks of \d+x1x1 at most: a thread takes \d+ instr", last)
    assert main(["inspect", str(c_file), "-D", "FACTOR=2.0"]) == 0
    both = capsys.readouterr().out
    assert "\nscan_k0, line " in f"\n{both}" and "\n\ntwice_k0" in both
    assert main(["inspect", str(c_file), "-D", "FACTOR=2.0", "--kernel", "twist"]) == 2
    assert capsys.readouterr().err.startswith("there is no kernel 'twist'\nhint: there are: scan_k0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.cu"], "there is no file 'gone.cu'\n"),
        (["gone.cu", "--target", "opencl"], "inspect reads CUDA, not OpenCL\nhint: leave --target out\n"),
        (["gone.cu", "--threads", "0"], "--threads is 0, but a block has one or more\n"),
        (
            ["gone.cu", "--sizes", "n=5"],
            "--sizes is for nests, whose launches are known\nhint: give FILE.c or FILE.py:NEST\n",
        ),
    ],
    ids=["no file", "target", "threads", "sizes"],
)
def test_what_inspect_refuses(arguments, message, capsys):
    assert main(["inspect", *arguments]) == 2
    assert capsys.readouterr().err == message


def test_demo_runs_the_demo(monkeypatch):
    ran = []
    monkeypatch.setattr(cli.demo, "demo", lambda: ran.append(True))
    assert main(["demo"]) == 0 and ran == [True]


def test_the_module_is_the_command_and_its_status_is_the_process_s(tmp_path):
    command = [sys.executable, "-m", "polysched", "show", "tree", str(tmp_path / "gone.py:scan")]
    run = subprocess.run(command, capture_output=True, text=True, cwd=Path(cli.__file__).parents[2])
    assert run.returncode == 2 and run.stderr == f"there is no file '{tmp_path / 'gone.py'}'\n"


# --- standard output as it may be


@pytest.fixture
def command(c_file):
    return [sys.executable, "-m", "polysched", "show", "nest", f"{c_file}:twice", "-D", "FACTOR=2.0"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [None, ["--help"], ["show", "--help"]], ids=["show", "help", "help of show"])
def test_a_full_output_is_an_error(command, arguments):
    given = command if arguments is None else [*command[:3], *arguments]
    with open("/dev/full", "wb") as full:
        run = subprocess.run(given, stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2 and run.stderr == "standard output cannot be written: No space left on device\n"


def test_a_closed_output_is_an_error_where_it_is_needed(command):
    closed = ["sh", "-c", 'exec "$@" >&-', "sh"]
    run = subprocess.run([*closed, *command], stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2 and run.stderr == "standard output cannot be written: it is closed\n"


def test_a_pipe_that_nobody_reads_ends_it_quietly(command):
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    run.stdout.close()
    assert run.stderr.read() == ""
    assert run.wait() == 141


def test_a_closed_standard_error_leaves_the_status(command):
    silent = ["sh", "-c", 'exec "$@" 2>&-', "sh"]
    run = subprocess.run([*silent, *command[:-3], "gone.c"], stdout=subprocess.PIPE, text=True)
    assert run.returncode == 2 and run.stdout == ""
