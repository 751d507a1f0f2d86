"""Where scalars are declared. The nests are written in Python, whose scalars are what this is for."""

from textwrap import dedent

import pytest

from polysched.frontend.python import parse_nest
from polysched.ir.text import show


def body(text: str) -> str:
    """The nest with arrays a, b and size n, after its first line."""
    head = 'def f(a: f64["n"], b: f64["n"], n: size):\n'
    text = dedent(text).strip().replace("\n", "\n    ")
    return dedent("\n".join(show(parse_nest(f"{head}    {text}\n", "f.py")).splitlines()[1:]))


def test_example() -> None:
    text = """
        for i in range(n):
            t = a[i]
            b[i] = t * t
    """
    assert body(text) == dedent("""\
        for i in 0..n:
            alloc t: private f64[]
            t[] = a[i]
            b[i] = t[] * t[]""")


CASES = {
    "a value that passes from one iteration to the next": (
        """
        for i in range(n):
            if i == 0:
                t = 0.0
            b[i] = t
            t = a[i]
        """,
        """\
        alloc t: private f64[]
        for i in 0..n:
            if i == 0:
                t[] = 0.0
            b[i] = t[]
            t[] = a[i]""",
    ),
    "both branches write": (
        """
        for i in range(n):
            if a[i] > 0:
                t = 1
            else:
                t = 2.0
            b[i] = t
        """,
        """\
        for i in 0..n:
            alloc t: private f64[]
            if a[i] > 0.0:
                t[] = 1.0
            else:
                t[] = 2.0
            b[i] = t[]""",
    ),
    "a loop accumulates": (
        """
        for i in range(n):
            s = 0.0
            for j in range(i):
                s += a[j]
            b[i] = s
        """,
        """\
        for i in 0..n:
            alloc s: private f64[]
            s[] = 0.0
            for j in 0..i:
                s[] = s[] + a[j]
            b[i] = s[]""",
    ),
    "a name used for two things": (
        """
        for i in range(n):
            t = a[i]
            b[i] = t
        for i in range(n):
            t = b[i]
            a[i] = t
        """,
        """\
        for i in 0..n:
            alloc t: private f64[]
            t[] = a[i]
            b[i] = t[]
        for i in 0..n:
            alloc t_2: private f64[]
            t_2[] = b[i]
            a[i] = t_2[]""",
    ),
    "a second name that is taken": (
        """
        t_2 = a[0]
        for i in range(n):
            t = a[i]
        for i in range(n):
            t = t_2
        """,
        """\
        alloc t_2: private f64[]
        t_2[] = a[0]
        for i in 0..n:
            alloc t: private f64[]
            t[] = a[i]
        for i in 0..n:
            alloc t_3: private f64[]
            t_3[] = t_2[]""",
    ),
    "in one branch only": (
        """
        for i in range(n):
            if i > 0:
                t = a[i - 1]
                b[i] = t
        """,
        """\
        for i in 0..n:
            if i > 0:
                alloc t: private f64[]
                t[] = a[i - 1]
                b[i] = t[]""",
    ),
    "in each of two branches": (
        """
        for i in range(n):
            if i > 0:
                t = a[i]
                b[i] = t
            else:
                t = a[0]
                b[i] = -t
        """,
        """\
        for i in 0..n:
            if i > 0:
                alloc t: private f64[]
                t[] = a[i]
                b[i] = t[]
            else:
                alloc t_2: private f64[]
                t_2[] = a[0]
                b[i] = -t_2[]""",
    ),
    "a loop that may not run writes": (
        """
        for i in range(n):
            for j in range(i):
                t = a[j]
            b[i] = t
        """,
        """\
        alloc t: private f64[]
        for i in 0..n:
            for j in 0..i:
                t[] = a[j]
            b[i] = t[]""",
    ),
    "one branch writes, another statement reads": (
        """
        if n > 2:
            t = a[0]
        if n > 2:
            b[0] = t
        """,
        """\
        alloc t: private f64[]
        if n > 2:
            t[] = a[0]
        if n > 2:
            b[0] = t[]""",
    ),
    "the last value is used after its loop": (
        """
        t = 0.0
        for i in range(n):
            t = a[i]
        b[0] = t
        """,
        """\
        alloc t: private f64[]
        t[] = 0.0
        for i in 0..n:
            t[] = a[i]
        b[0] = t[]""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_placement(name: str) -> None:
    text, expected = CASES[name]
    assert body(text) == dedent(expected)
