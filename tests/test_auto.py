"""Whole files without pragmas: which loops are taken, what stays, and that programs print what they printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from polysched.cli import main
from polysched.config.machine import Machine
from polysched.config.options import Options
from polysched.errors import InputError
from polysched.opt.auto.command import Command
from polysched.opt.auto.moved import moved
from polysched.opt.auto.whole import Build, Whole, rewrite_whole

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
PROGRAM = Path(__file__).parent / "c" / "whole.c"
OPTIONS = Options(machine=Machine(cores=2))
FLAGS = ["-w", "-O2", "-fopenmp", "-ffp-contract=off"]


def rewritten(path: Path, **how: object) -> Whole:
    return rewrite_whole(Build(path=str(path), data=path.read_bytes(), **how), OPTIONS)


def printed(text: bytes, folder: Path, *flags: str) -> bytes:
    folder.mkdir()
    (folder / "program.c").write_bytes(text)
    subprocess.run(["gcc", *FLAGS, *flags, "program.c", "-o", "program", "-lm"], cwd=folder, check=True)
    outputs = {
        subprocess.run(
            ["./program"], cwd=folder, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": threads}
        ).stdout
        for threads in ("1", "2")
    }
    (output,) = outputs
    return output


@pytest.fixture(scope="module")
def whole() -> Whole:
    return rewritten(PROGRAM, numbers_lines=True)


def how(whole: Whole) -> dict[int, str]:
    """What became of the outermost loop of each line."""
    return {verdict.line: verdict.how for verdict in reversed(whole.verdicts)}


def test_what_gains_is_taken_and_the_rest_is_left(whole):
    found = how(whole)
    assert found[21] == found[32] == found[46] == "taken", "a sparse product, rows that iterations work in, a product"
    assert found[15] == found[42] == found[43] == "left", "a sum, little work, a chain"
    assert found[52] == "refused", "a do loop"
    assert found[23] == "inside"


def test_the_program_prints_what_it_printed(whole, tmp_path):
    data = PROGRAM.read_bytes()
    directory = f'#line 1 "{PROGRAM}"'.encode()
    assert whole.text.startswith(directory)
    assert printed(whole.text, tmp_path / "after") == printed(data, tmp_path / "before")


def test_what_is_left_is_there_byte_for_byte(whole):
    data = PROGRAM.read_bytes()
    for part in (b"if (argc < 9) ", b"C[i][j] += A[i][k] * B[k][j];"):  # what a nest begins behind, and ends with
        data = data.replace(part, part + b"\n")
    lines = iter(whole.text.split(b"\n"))
    assert all(any(each == line for each in lines) for line in data.split(b"\n")), "in the same order"


def test_a_file_in_which_nothing_gains_is_the_same(tmp_path):
    path = tmp_path / "small.c"
    path.write_bytes(b"void f(int *a)\r\n{\r\n  for (int i = 0; i < 5; i++)\r\n    a[i] = i;\r\n}")
    found = rewritten(path, numbers_lines=True)
    assert found.text == path.read_bytes() and not found.is_changed


OPENMP = """\
#include <stdio.h>
double a[300][300], c[300][300], x;
int main(void)
{
    int i, j, k = 7;
    for (i = 0; i < 300; i++) for (j = 0; j < 300; j++) a[i][j] = i ^ j;
#pragma omp DIRECTIVE
    for (i = 0; i < 300; i++) for (j = 0; j < 300; j++) for (k = 0; k < 300; k++) c[i][j] += a[i][k] * a[j][k];
    for (i = 0; i < 300; i++) for (j = 0; j < 300; j++) x += c[i][j] * (i + 2 * j + 1);
    printf("%.17g %d\\n", x, K);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("directive", "k", "expected", "why"),
    [
        ("parallel for private(j, k) \\\n  schedule(static, 2)", "3", "taken", "2) is replaced"),
        ("parallel for private(j, k)", "k", "refused", "'k' is each thread's own, and lives on"),
        ("parallel for private(j, k) if(x > 2)", "3", "refused", "in a construct of OpenMP: #pragma omp parallel"),
        ("critical", "3", "refused", "in a construct of OpenMP: #pragma omp critical"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_directives_that_are_obeyed(directive, k, expected, why, newline, tmp_path):
    path = tmp_path / "loops.c"
    text = OPENMP.replace("DIRECTIVE", directive).replace("K)", f"{k})").replace("\n", newline)
    path.write_bytes(text.encode())
    found = rewritten(path, obeys_openmp=True)
    nest = next(verdict for verdict in found.verdicts if verdict.line == 8 + directive.count("\n"))
    assert nest.how == expected and why in nest.why
    assert found.text.count(newline.encode()) == found.text.count(b"\n")
    assert directive.partition("\n")[0].encode() in found.text, "where no kernel runs"
    assert printed(found.text, tmp_path / "after") == printed(path.read_bytes(), tmp_path / "before")


def test_directives_that_are_not_obeyed_are_left_out(tmp_path):
    path = tmp_path / "loops.c"
    path.write_text(OPENMP.replace("DIRECTIVE", "critical").replace("K)", "k)"))
    found = rewritten(path, keeps_directives=False)
    assert how(found)[8] == "taken" and b"critical" not in found.text
    assert printed(found.text, tmp_path / "after") == printed(path.read_bytes(), tmp_path / "before")


@pytest.mark.parametrize("hint", ["GCC ivdep", "GCC unroll 4 \\\n", "omp simd", "unroll\n#pragma GCC ivdep"])
def test_hints_of_a_loop_stay_with_its_text(hint, tmp_path):
    path = tmp_path / "loops.c"
    path.write_text(OPENMP.replace("omp DIRECTIVE", hint).replace("K)", "k)"))
    found = rewritten(path)
    assert found.is_changed and found.text.index(hint.encode()) > found.text.index(b"generated by polysched")
    assert printed(found.text, tmp_path / "after") == printed(path.read_bytes(), tmp_path / "before")


def test_directives_that_stand_alone_run_with_the_kernel_too(tmp_path):
    path = tmp_path / "loops.c"
    path.write_text(OPENMP.replace("omp DIRECTIVE", "omp barrier\n#pragma GCC ivdep").replace("K)", "k)"))
    text = rewritten(path, obeys_openmp=True).text
    assert text.index(b"omp barrier") < text.index(b"generated by polysched") < text.index(b"ivdep")


def test_files_with_lines_of_their_own_are_left(tmp_path):
    path = tmp_path / "loops.c"
    path.write_text('#line 100 "loops.y"\n' + PROGRAM.read_text())
    assert rewritten(path).is_changed
    with pytest.raises(InputError, match=r'other numbers: #line 100 "loops\.y"'):
        rewritten(path, numbers_lines=True)


# --- sizes that tables have


TABLE = """
static double a[200][200], c[200][200];
{declarations}
{head}
{{
    int i, j, k;
    {before}
    for (i = 0; i < dims[0]; i++)
        for (j = 0; j < {bound}; j++)
            for (k = 0; k < 200; k++) {{ c[i][j] += a[i][k] * a[j][k]; {body} }}
}}
int main(void)
{{
    for (int i = 0; i < 200; i++) for (int j = 0; j < 200; j++) a[i][j] = i ^ j;
    f(dims);
    double s = 0;
    for (int i = 0; i < 200; i++) for (int j = 0; j < 200; j++) s += c[i][j] * (i + 2 * j + 1);
    __builtin_printf("%.17g %d\\n", s, dims[1]);
    return 0;
}}
"""


@pytest.mark.parametrize(
    ("head", "bound", "body", "is_taken"),
    [
        ("void f(int *p)", "dims[1]", "", True),
        ("void f(int *dims)", "dims[1]", "", True),
        ("void f(int *p)", "dims[k2[0]]", "", False),  # data
        ("void f(int *p)", "dims[1]", "dims[1] = 150;", False),
        ("void f(int *p)", "dims[1]", "p[1] = 150;", False),  # by another name
        ("void f(int *p)", "dims[1]", "if (k == 60) { int *q = dims; q[1] = 150; }", False),
    ],
)
def test_entries_of_a_table_are_sizes_where_nothing_stores_there(head, bound, body, is_taken, tmp_path):
    path, declarations = tmp_path / "table.c", "static int dims[3] = {180, 160, 9}, k2[1] = {1};"
    path.write_text(TABLE.format(declarations=declarations, head=head, bound=bound, body=body, before=""))
    found = rewritten(path)
    is_parallel = [verdict for verdict in found.verdicts if verdict.function == "f" and "parallel" in verdict.why]
    assert bool(is_parallel) == is_taken or body
    assert printed(found.text, tmp_path / "after") == printed(path.read_bytes(), tmp_path / "before")


# --- arrays of calls


CALLS = """
static double v[4000], w[4000];
static int at[4000];
{linkage} void f(int n, const int *k, double *from, double *to)
{{
    {before}
    for (int i = 0; i < n; i++) {{ double s = 0; for (int j = k[i]; j < k[i] + 90; j++) s += from[j]; to[i] = s; }}
}}
{also}
int main(void)
{{
    for (int i = 0; i < 4000; i++) {{ v[i] = i % 9; at[i] = i * 7 % 3000; }}
    f(3000, at, v, w);
    {more}
    double s = 0;
    for (int i = 0; i < 4000; i++) s += w[i] * (i % 5) + v[i];
    __builtin_printf("%.17g\\n", s);
    return 0;
}}
"""


@pytest.mark.parametrize(
    ("linkage", "before", "also", "more", "is_apart"),
    [
        ("static", "", "", "", True),
        ("static", "", "", "f(900, at, w, v + 50);", False),
        ("static", "", "", "f(900, at + 1, v, w + 50);", True),
        ("static", "", "", "f(900, at, v, v + 50);", False),
        ("", "", "", "", False),  # other files may call it
        ("static", "from = to + 1;", "", "", False),
        ("static", "", "void (*g)(int, const int *, double *, double *) = f;", "g(900, at, v, v + 50);", False),
        ("static", "", 'void g() __attribute__((alias("f")));', "g(900, at, v, v + 50);", False),
    ],
)
def test_arrays_of_a_static_function_are_apart_if_all_calls_say_so(
    linkage, before, also, more, is_apart, tmp_path
):
    path = tmp_path / "calls.c"
    path.write_text(CALLS.format(linkage=linkage, before=before, also=also, more=more))
    found = rewritten(path)
    (nest,) = [verdict for verdict in found.verdicts if verdict.function == "f" and verdict.how != "inside"][:1]
    assert (nest.how == "taken") == is_apart, nest.why
    assert printed(found.text, tmp_path / "after") == printed(path.read_bytes(), tmp_path / "before")


def test_calls_in_text_that_is_included_count(tmp_path):
    (tmp_path / "more.inc").write_text("void h(void) { f(900, at, v, v + 50); }")
    path = tmp_path / "calls.c"
    path.write_text(CALLS.format(linkage="static", before="", also='#include "more.inc"', more=""))
    assert "nothing shows how far" in next(v.why for v in rewritten(path).verdicts if v.function == "f")


# --- rows of pointers, some of which nothing uses


def test_pointers_that_the_text_leaves_out_are_not_read(tmp_path):
    path = tmp_path / "rows.c"
    path.write_text("""
#include <stdio.h>
#include <stdlib.h>
static void sum(double **R, double **S, int n, int m)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < 20; k++) S[i][j] += R[i - 1][j] * R[i + 1][j] + k;
}
int main(void)
{
    double *R[200], *S[200], s = 0, *data = calloc(2 * 200 * 500, sizeof(double));
    for (int i = 0; i < 200; i++) { R[i] = data + i * 500; S[i] = data + (200 + i) * 500; }
    for (int i = 0; i < 200 * 500; i++) data[i] = i % 11;
    sum(R, S, 200, 500);
    R[1] = (double *)1; /* which R[0] and R[2] leave out */
    sum(R, S, 3, 500);
    for (int i = 0; i < 200 * 500; i++) s += data[200 * 500 + i] * (i % 13);
    printf("%.17g\\n", s);
    return 0;
}
""")
    found = rewritten(path)
    assert how(found)[6] == "taken"
    assert printed(found.text, tmp_path / "after") == printed(path.read_bytes(), tmp_path / "before")


# --- the command line


def test_a_folder_with_a_report(tmp_path, capsys):
    (tmp_path / "bad.c").write_text("int f( {")
    out = tmp_path / "out"
    assert main(["opt", "--auto", str(PROGRAM), str(tmp_path / "bad.c"), "-o", str(out), "--cflags=-std=gnu11"]) == 2
    assert "bad.c:1:" in capsys.readouterr().err
    assert sorted(path.name for path in out.iterdir()) == ["report.json", "report.txt", "whole.c"]
    lines = (out / "report.txt").read_text().splitlines()
    assert re.search(r"whole.c: \d+ of \d+ nests taken", lines[0]) and "bad.c: not read" in lines[-1]
    assert json.loads((out / "report.json").read_text())[str(PROGRAM)]["loops"][0]["function"] == "sum"


@pytest.fixture
def cc(tmp_path, monkeypatch):
    """A command in a folder with the program: what is in its log."""
    shutil.copy(PROGRAM, tmp_path / "whole.c")
    monkeypatch.chdir(tmp_path)

    def run(command: str, status: int = 0) -> str:
        words = ["cc", "--parallel", "--log", "log", "--keep", "kept", "--", *command.split()]
        assert main(words) == status
        return Path("log").read_text() if Path("log").exists() else ""

    return run


def test_in_place_of_a_compiler(cc, tmp_path):
    (tmp_path / "objects").mkdir()
    said = cc("gcc -O2 -ffp-contract=off -MMD -c whole.c -o objects/whole.o")
    assert re.search(r"whole.c:46:\d+: for in main: taken", said)
    assert Path("objects/whole.d").read_text().startswith("objects/whole.o: whole.c")
    cc("gcc objects/whole.o -o program")
    ran = subprocess.run(["./program"], capture_output=True, check=True)
    assert ran.stdout == printed(PROGRAM.read_bytes(), tmp_path / "before")
    assert "generated by polysched" in Path("kept/whole.c").read_text()


def test_what_the_compiler_says_is_what_is_said(cc):
    Path("bad.c").write_text("int f( {")
    assert cc("gcc -O2 -c bad.c", status=1) == ""
    assert "not to be optimized" in cc("gcc -c whole.c")
    assert "-fwrapv is an option" in cc("gcc -O2 -fwrapv -c whole.c")
    assert not Path("kept").exists() and Path("whole.o").exists()


def test_a_command_is_taken_apart():
    command = Command(("gcc", "-O3", "-I", "here", "-DN=8", "-MF", "a.c", "-c", "b.c", "-o", "c.c"))
    assert command.sources == ("b.c",) and command.flags == ("-I", "here", "-DN=8") and not command.links
    again = command.with_sources({"b.c": Path("/tmp/b.c")}, ["-w"])
    assert again == ["gcc", "-O3", "-I", "here", "-DN=8", "-c", "/tmp/b.c", "-o", "c.c", "-w"]


PRODUCT = """
double {a}[200][200], {a}_[200][200];
void {f}(void) {{ for (int i = 0; i < 200; i++) for (int j = 0; j < 200; j++) for (int k = 0; k < 200; k++)
    {a}[i][j] += {a}_[i][k] * {a}_[j][k]; }}
"""


def test_sources_include_what_they_did(cc, tmp_path):
    for folder, text in (("one", "int g(void);"), ("two", ""), ("lib", "")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.h").write_text(f'{text}\n#define OWN "{folder}" /* \n#include it */\n')
    (tmp_path / "lib" / "lib.h").write_text('#include "config.h"\n')
    (tmp_path / "lib" / "config.h").write_text("#define CONFIG 1\n")
    (tmp_path / "one" / "config.h").write_text("#define CONFIG 2\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "lib" / "lib.h").rename(tmp_path / "sub" / "lib.h")
    main_ = 'int main(void) { f(); g(); return __builtin_printf("%s %d %s\\n", OWN, CONFIG, __FILE__) < 0; }'
    head = '#include "own.h"\n#include <lib.h>\n'
    (tmp_path / "one" / "s.c").write_text(head + PRODUCT.format(a="A", f="f") + main_)
    (tmp_path / "three.c").write_text("const char *h2(void) { return __FILE__; }\n#pragma omp barrier\n")
    more = 'const char *h2(void); int g(void) { return __builtin_printf("%s %d %s\\n", OWN, CONFIG, h2()); }'
    (tmp_path / "two" / "s.c").write_text(head + PRODUCT.format(a="B", f="h") + more)
    command = "gcc -O2 -Isub -Ilib one/s.c two/s.c three.c -o program"
    said = cc(command)
    assert said.count(": taken") == 2 and "refused" not in said
    assert subprocess.run(["./program"], capture_output=True).stdout == b"two 1 three.c\none 1 one/s.c\n"
    assert sorted(Path("kept").rglob("*.c")) == [Path(f"kept/{name}.c") for name in ("one/s", "three", "two/s")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('#include "own.h" // ours', '#include "HERE/own.h" // ours'),
        ('  # include "own.h"', '  # include "HERE/own.h"'),
        ('#include "other.h"', '#include "other.h"'),
        ("#include <own.h>", "#include <own.h>"),
        ("// this may include a own.h", "// this may include a own.h"),
        ("#include OWN", None),
        ("%:include <own.h>", None),
        ('#inc\\\nlude "own.h"', None),
        ('#\\\ninclude "own.h"', None),
        ('/* */ #include "own.h"', None),
        ('#if __has_include("own.h")', None),
        ("#include_next <own.h>", None),
    ],
)
def test_lines_that_include(line, expected, tmp_path):
    (tmp_path / "own.h").write_text("")
    if expected is None:
        with pytest.raises(InputError, match="depends on the folder"):
            moved(line.encode(), tmp_path / "a.c")
    else:
        assert moved(line.encode(), tmp_path / "a.c").decode() == expected.replace("HERE", str(tmp_path))


def test_a_file_that_names_itself_is_not_moved(tmp_path):
    with pytest.raises(InputError, match="names itself by __BASE_FILE__"):
        moved(b"const char *me = __BASE_FILE__;", tmp_path / "a.c")


def test_new_sources_are_not_kept_in_place_of_their_own(cc, tmp_path, capsys):
    before = Path("whole.c").read_bytes()
    assert main(["cc", "--keep", ".", "--", "gcc", "-O2", "-c", "whole.c"]) == 2
    assert "--keep names the folder of 'whole.c' itself" in capsys.readouterr().err
    assert Path("whole.c").read_bytes() == before
