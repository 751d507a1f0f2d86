"""benchmarks/real_code: the loops of a folder of C files, taken, refused and unread, each with its reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.real_code.__main__ import main
from benchmarks.real_code.nests import find

TAKEN = """\
#include "own.h"
int puts(const char *);
void h(double *);
void f(int n, struct s *p, double *a)
{
    int i, j;
#pragma omp parallel for private(j) \\
    schedule(static)
    for (i = 0; i < n; i++)
        for (j = 0; j < 4; j++)
            a[4 * i + j] = p->x[i];
    if (n > 3) for (i = 0; i < n; i++) a[i] = 0;
    while (n--) for (i = 0; i < 9; i++) { while (a[i] > 2) a[i]--; }
    for (i = 0; i < n; i++) { puts("row"); h(a + i); for (j = 0; j < 4; j++) p->x[j] += 1, a[4 * i + j] = j; }
}
"""


@pytest.fixture
def repository(tmp_path) -> Path:
    root = tmp_path / "some"
    (root / "include").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "include" / "own.h").write_text("struct s { double *x; };\n")
    (root / "src" / "taken.c").write_text(TAKEN)
    loop = "void g(int *a) { for (int i = 0; i < 9; i++) a[i] = 1; }"
    (root / "src" / "unread.c").write_text(f'#include "missing.h"\n{loop}\n')
    return root


def test_the_table(repository, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["real_code", str(repository), "--each", "--jobs", "1"])
    assert main() == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[:5] == [
        "some/src/taken.c:9: taken",
        "some/src/taken.c:12: taken",
        "some/src/taken.c:13: refused: a while loop cannot be in a region",
        "some/src/taken.c:14: in parts",
        "some/src/unread.c:2: unread: the file does not parse: 'missing.h' file not found",
    ]
    assert rows[6].split() == ["some", "2", "1", "5", "2", "1", "60", "0", "0"]
    assert rows[-1].endswith("the file does not parse: '...' file not found (some/src/unread.c:2)")


def test_loops_stand_where_they_stood(repository):
    found = find(str(repository / "src" / "taken.c"), str(repository))
    assert found.include == (str(repository / "include"),) and found.lines == (9, 12, 13, 14)
    assert b"omp" not in found.data and len(found.data) == len(TAKEN)
    begin, end = found.spans[1]
    assert found.data[begin:end] == b"for (i = 0; i < n; i++) a[i] = 0;"
