"""Programs with rows of pointers, structures by value and calls that print: rewritten, they print what they printed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from polysched import opt
from polysched.errors import InputError
from polysched.frontend.c.read import open_c, read_c
from polysched.frontend.c.region import Region

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
PROGRAMS = Path(__file__).parent / "c"


def regions_of(path: Path) -> list[Region]:
    """Those that are no error."""
    file, found = open_c(str(path), (), (), (), None), []
    for k in range(len(file.spans)):
        try:
            found.append(file.region(k))
        except InputError:
            continue
    return found


def output(text: bytes, folder: Path) -> tuple[bytes, bytes]:
    folder.mkdir()
    (folder / "program.c").write_bytes(text)
    flags = ["-w", "-O1", "-fopenmp", "-ffp-contract=off", "program.c", "-o", "program", "-lm"]
    subprocess.run(["gcc", *flags], cwd=folder, check=True)
    ran = subprocess.run(["./program"], cwd=folder, check=True, capture_output=True)
    return ran.stdout, ran.stderr


@pytest.mark.parametrize(("name", "count", "kernels"), [("rows", 3, 3), ("structs", 2, 2), ("outside", 4, 3)])
def test_a_program_prints_what_it_printed(name: str, count: int, kernels: int, tmp_path: Path) -> None:
    path = PROGRAMS / f"{name}.c"
    regions, data = regions_of(path), path.read_bytes()
    assert len(regions) == count
    out = opt.rewrite(data, regions)
    assert sum(not region.is_kept for region in out.regions) == kernels
    assert output(out.text, tmp_path / "after") == output(data, tmp_path / "before")


@pytest.mark.parametrize(
    ("head", "body", "message"),
    [
        ("int n, double **A, unsigned char *c", "for (int i = 0; i < n; i++) c[i] = A[i][0];", "'c' may change them"),
        ("int n, double **A, int *k", "for (int i = 0; i < n; i++) A[k[i]][i] = 0;", "how far 'A' reaches"),
        ("int n, double **restrict A, int *k", "for (int i = 0; i < n; i++) A[k[i]][i] = 0;", "depends on data"),
        ("int n, float *f, int *b, int *k", "for (int i = 0; i < n; i++) f[i] = b[k[i]];", "how far 'b' reaches"),
        ("int n, float *f, int *b, int *k", "for (int i = 0; i < n; i++) f[k[i]] = b[i];", "how far 'f' reaches"),
        ("int n, double **A, int *k", "for (int i = 0; i < n; i++) if (k[i]) A[i][i] = 0;", "depends on data"),
        ("int n, double **A", "for (int i = 0; i < n; i += 2) A[i][i] = 0;", "or is no range"),
        ("int n, double **A, double *b", "for (int i = 0; i < n; i++) A[i] = b;", "the whole of 'b' is used"),
        ("int n, double *volatile *A", "for (int i = 0; i < n; i++) A[i][0] = 0;", "rows may lie anywhere"),
        ("int n, struct s p", "for (int i = 0; i < n; i++) p.x[i] = first(p);", "that the region may change"),
        ("int n, char *s", 'for (int i = 0; i < n; i++) printf("%s", s);', "no number"),
        ("int n, int *s", "for (int i = 0; i < n; i++) s[i] = rand() - rand();", "which comes first"),
    ],
)
def test_refused(head: str, body: str, message: str, tmp_path: Path) -> None:
    before = "#include <stdio.h>\n#include <stdlib.h>\nstruct s { double *x; int n; };\n"
    before += "static double first(struct s p) { p.n--; return p.x[p.n]; }\n"
    path = tmp_path / "f.c"
    path.write_text(f"{before}void f({head})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")
    with pytest.raises(InputError, match=message):
        read_c(path)


def test_a_store_of_a_type_that_may_alias_may_change_pointers_to_rows(tmp_path: Path) -> None:
    path, loop = tmp_path / "f.c", "for (int i = 0; i < n; i++) c[i] = A[i][0];"
    path.write_text(
        "typedef long __attribute__((may_alias)) any;\n"
        f"void f(int n, double **A, any *c)\n{{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n"
    )
    with pytest.raises(InputError, match="'c' may change them"):
        read_c(path)


@pytest.mark.parametrize(("head", "is_apart"), [("", True), ("typedef int __attribute__((may_alias)) m;", False)])
def test_arrays_of_unknown_extent_are_apart_from_variables_of_other_types(
    head: str, is_apart: bool, tmp_path: Path
) -> None:
    """Memory that pointers lead to takes the type that is stored there: `f[i] = b[k[i]]` may work in place."""
    path, loop = tmp_path / "f.c", "for (int i = 0; i < 9; i++) F[i] = b[k[i]];"
    before = f"{head}\nstatic float F[9];\nvoid f(int *b, int *k)\n"
    path.write_text(f"{before}{{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n")
    if not is_apart:
        with pytest.raises(InputError, match="how far 'b' reaches"):
            read_c(path)
        return
    (region,) = regions_of(path)
    assert not region.may_overlap("F", "b", {"F"})
