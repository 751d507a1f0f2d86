"""F2: what is not affine is over-approximated where that is sound, and else refused."""

# ruff: noqa: F821, B007 - nests are not ordinary Python: annotations name sizes by texts

import pytest

import polysched as ps
from polysched.cli import main


@ps.nest
def scatter(a: ps.f64["n"], b: ps.f64["n"], index: ps.i64["n"], n: ps.size):
    for i in range(n):
        a[index[i]] = a[index[i]] + b[i]


@ps.nest
def gather(a: ps.f64["n * n"], b: ps.f64["n"], index: ps.i64["n"], n: ps.size):
    for i in range(n):
        b[i] = b[i] + a[index[i] * n + i]


@ps.nest
def ragged(a: ps.f64["n"], count: ps.i64["n"], n: ps.size):
    for i in range(n):
        for k in range(count[i]):
            a[i] = 0.5 * a[i] + 1.0


@ps.nest
def clipped(a: ps.f64["n"], b: ps.f64["n"], n: ps.size):
    for i in range(1, n):
        if b[i] > 1.0:
            a[i] = a[i - 1] + b[i]


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("nest", [scatter, gather, ragged, clipped], ids=lambda nest: nest.name)
def test_F2_what_is_not_affine_is_over_approximated_and_right(nest, target):
    assert len(ps.optimize(nest, target).verify().sizes) >= 3


REFUSED = {
    "while": (
        "while n > 0:\n        a[0] = 1.0",
        (4, 5, "a while loop cannot be in a nest", "write for i in range(n)"),
    ),
    "iterator": (
        "for i in range(n):\n        i = i + 1",
        (5, 9, "the loop variable 'i' is changed in the body of its loop", "change the range of the loop"),
    ),
    "unknown function": (
        "for i in range(n):\n        a[i] = frobnicate(a[i])",
        (5, 16, "'frobnicate' is not a function that a nest can call", "there are abs, min, max"),
    ),
    "unknown memory": (
        "for i in range(n):\n        frobnicate(a)",
        (5, 9, "the call of 'frobnicate' may read or write any memory", "leave only loops, branches and assignments"),
    ),
    "known, not affine": (
        "for i in range(n):\n        a[i * i] = 0.0",
        (5, 9, "subscript 'i * i' of 'a' is not affine: i * i", "use a dimension for each index"),
    ),
    "out of bounds": (
        "for i in range(n):\n        a[i + 1] = 0.0",
        (5, 9, "'a' has shape [n], but i = 0 touches a[1] when n = 1", "shrink the loop"),
    ),
    "syntax": ("for i in range(n)\n        a[i] = 0.0", (4, 22, "this is not Python: expected ':'", "")),
    "no store": ("pass", (3, 1, "'wrong' stores nothing", "assign to an array")),
}


@pytest.mark.parametrize(("body", "refusal"), REFUSED.values(), ids=REFUSED)
def test_F2_what_cannot_be_compiled_is_refused_with_its_place_and_status_2(tmp_path, capsys, body, refusal):
    line, column, why, hint = refusal
    path = tmp_path / "wrong.py"
    path.write_text(f'import polysched as ps\n@ps.nest\ndef wrong(a: ps.f64["n"], n: ps.size):\n    {body}\n')
    assert main(["show", "source", f"{path}:wrong"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and [file.name for file in tmp_path.iterdir()] == ["wrong.py"]
    text = path.read_text().splitlines()[line - 1]
    assert captured.err.startswith(f"{path}:{line}:{column}: {why}\n  {text}\n  {'^':>{column}}\n")
    assert captured.err.partition("hint: ")[2].startswith(hint)
