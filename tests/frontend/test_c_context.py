"""polysched/frontend/c/file/marked.py: what stands around a region and would change what its new text means."""

from __future__ import annotations

from pathlib import Path

import pytest

from polysched.errors import InputError
from polysched.frontend.c.read import read_c
from polysched.frontend.c.region import Region

LOOP = "for (int i = 0; i < n; i++) A[i] += 1;"


def regions(tmp_path: Path, text: str) -> tuple[Region, ...]:
    file = tmp_path / "kernel.c"
    file.write_text(text)
    return read_c(file)


def region_in(before: str, body: str = LOOP, after: str = "", head: str = "void k(int n, double *restrict A)") -> str:
    return f"{head}\n{{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n{after}\n}}\n"


REFUSED = {
    "a directive in the region": (
        region_in("", f"#pragma omp for\n{LOOP}"),
        "5:1: a directive in the region would be lost",
    ),
    "a directive for the region's loop": (
        region_in("#pragma omp parallel for"),
        "3:1: a directive for a loop stands before #pragma scop",
    ),
    "a hidden extent": (
        region_in("int n = 5;", "for (int i = 0; i < 5; i++) A[i][i] += 1;", head="void k(int n, double A[n][n])\n{")
        + "}\n",
        "'n' hides another variable of this name, which the region needs",
    ),
    "a global that an inlined function means": (
        "double g;\nstatic double f(double x) { return x * g; }\n"
        + region_in("", "for (int i = 0; i < n; i++) A[i] += f(g);", head="void k(int n, double g, double *A)"),
        "3:15: 'g' hides another variable of this name, which the region needs",
    ),
    "a function named as one of the library": (
        "static double exp2(double x) { double y = x; y = y * y; return y; }\n"
        + region_in("", "for (int i = 0; i < n; i++) A[i] = exp2(A[i]);"),
        "'exp2' is a function of the C library by name, and another one here",
    ),
    "a function that the linker may replace": (
        "__attribute__((weak)) double f(double x) { return x; }\n"
        + region_in("", "for (int i = 0; i < n; i++) A[i] = f(A[i]);"),
        "the call of 'f' may write memory",
    ),
    "volatile in a typedef": (
        "typedef volatile double vd;\nvd G;\n" + region_in("", "for (int i = 0; i < n; i++) A[i] += G;"),
        "'G' has the type 'vd'",
    ),
    "a register that the region sets": (
        region_in("register double s = 0;", "for (int i = 0; i < n; i++) s += A[i];", "A[0] = s;"),
        "3:1: 's' is in a register, and has no address",
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals(tmp_path, text, message):
    with pytest.raises(InputError) as error:
        regions(tmp_path, text)
    assert message in str(error.value)
    assert "hint: " in str(error.value)


def test_a_restrict_pointer_overlaps_what_was_made_from_it(tmp_path):
    copy = "for (int i = 0; i < n; i++) B[i] = A[i];"
    (alone,) = regions(tmp_path, region_in("", copy, head="void k(int n, double *restrict A, double *restrict B)"))
    assert alone.unaliased == {"A", "B"}
    (derived,) = regions(tmp_path, region_in("double *B = A + 1;", copy))
    assert derived.unaliased == frozenset()


def test_other_names_and_directives_are_no_fault(tmp_path):
    before = "{ int A = 3, j = 2; n += A + j; }\n#pragma omp parallel for\nfor (int j = 0; j < n; j++) A[j] = j;"
    assert len(regions(tmp_path, region_in(before))) == 1
