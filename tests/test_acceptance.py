"""What the compiler as a whole must do about failure, F1 to F4; the letters of A and B are in the names of the tests
of the parts that they speak of."""

# ruff: noqa: F821, B007 - nests are not ordinary Python: annotations name sizes by texts

import numpy as np
import pytest

import polysched as ps
from polysched.cli import main
from polysched.examples import stencil
from polysched.model.tree import Domain, Mark, Parallel, Vector, with_children
from polysched.model.tree import walk as nodes
from tests.transform.scheduled import band

LOOPS = "S[i, j] -> i", "S[i, j] -> j"


# --- F1: an illegal edit is refused with a pair of instances and its source lines, and changes nothing


EDITS = {
    "interchanged": (band(*LOOPS[::-1], permutable=False), "S[i=0, j=1] must run before S[i=1, j=0] (N = 2)"),
    "backwards": (band("S[i, j] -> -i", LOOPS[1], permutable=False), "S[i=0, j=1] must run before S[i=1, j=0]"),
    "falsely permutable": (
        band(*LOOPS),
        "S[i=0, j=1] must run before S[i=1, j=0], but member 1 of their permutable band puts it later",
    ),
    "falsely coincident": (
        band(*LOOPS, permutable=False, coincident=(0,)),
        "S[i=0, j=1] must run before S[i=1, j=0], but member 0 of their band, flagged coincident, separates them",
    ),
    "falsely parallel": (
        Mark(Parallel(), band(*LOOPS, permutable=False)),
        "but member 0 of their band, flagged parallel, separates them",
    ),
    "falsely SIMD": (
        with_children(band("S[i, j] -> i + j"), (Mark(Vector(), band("S[i, j] -> i")),)),
        "but member 0 of their band, flagged vector, separates them",
    ),
}


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize(("edit", "witness"), EDITS.values(), ids=EDITS)
def test_F1_an_illegal_schedule_is_refused_with_a_witness_and_its_lines(edit, witness, target):
    done = ps.optimize(stencil)
    before = ps.to_yaml(done.scheduled.tree), str(done.source)
    schedule = Domain(done.scop.domain, edit)
    with pytest.raises(ps.IllegalSchedule) as error:
        ps.optimize(stencil, target, schedule=schedule)
    message = str(error.value)
    assert message.startswith("flow dependence on a: S[i=0, j=") and witness in message
    assert "examples.py:14:13: S\n                a[i + 1, j + 1] = 0.25 * a[i, j + 2]" in message
    again = ps.optimize(stencil)
    assert (ps.to_yaml(done.scheduled.tree), str(done.source)) == before
    assert (ps.to_yaml(again.scheduled.tree), str(again.source)) == before


def test_F1_a_schedule_that_leaves_instances_out_or_runs_others_is_refused():
    done = ps.optimize(stencil)
    order = band(*LOOPS, permutable=False)
    inner = done.scop.statements[0].domain.lower_bound_val(ps.isl.dim_type.set, 1, ps.isl.Val(1))
    with pytest.raises(ps.IllegalSchedule, match=r"S\[i=0, j=0\] never runs \(N = 1\)"):
        ps.optimize(stencil, schedule=Domain(ps.isl.UnionSet.from_set(inner), order))


# --- F2: what is not affine is over-approximated where that is sound, and else refused


@ps.nest
def scatter(a: ps.f64["n"], b: ps.f64["n"], index: ps.i64["n"], n: ps.size):
    for i in range(n):
        a[index[i]] = a[index[i]] + b[i]


@ps.nest
def squares(a: ps.f64["n * n"], n: ps.size):
    for i in range(n):
        a[i * i] = a[i * i] + 1.0


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
@pytest.mark.parametrize("nest", [scatter, squares, ragged, clipped], ids=lambda nest: nest.name)
def test_F2_what_is_not_affine_is_over_approximated_and_right(nest, target):
    assert len(ps.optimize(nest, target).verify().sizes) >= 3


REFUSED = {
    "while": ("while n > 0:\n        a[0] = 1.0", 4, 5, "a while loop cannot be in a nest", "write for i in range(n)"),
    "iterator": (
        "for i in range(n):\n        i = i + 1",
        5, 9, "the loop variable 'i' is changed in the body of its loop", "",
    ),
    "unknown call": ("for i in range(n):\n        a[i] = frobnicate(a[i])", 5, 16, "frobnicate", ""),
    "unknown memory": ("for i in range(n):\n        frobnicate(a)", 5, 9, "frobnicate", ""),
    "out of bounds": (
        "for i in range(n):\n        a[i + 1] = 0.0",
        5, 9, "'a' has shape [n], but i = 0 touches a[1] when n = 1", "shrink the loop",
    ),
    "syntax": ("for i in range(n)\n        a[i] = 0.0", 4, 22, "this is not Python: expected ':'", ""),
    "no store": ("pass", 3, 1, "'wrong' stores nothing", "assign to an array"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "line", "column", "why", "hint"), REFUSED.values(), ids=REFUSED)
def test_F2_what_cannot_be_compiled_is_refused_with_its_place_and_status_2(
    tmp_path, capsys, body, line, column, why, hint
):
    path = tmp_path / "wrong.py"
    path.write_text(f'import polysched as ps\n@ps.nest\ndef wrong(a: ps.f64["n"], n: ps.size):\n    {body}\n')
    assert main(["show", "source", f"{path}:wrong"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and [file.name for file in tmp_path.iterdir()] == ["wrong.py"]
    first = captured.err.splitlines()[0]
    assert first.startswith(f"{path}:{line}:{column}: ") and why in first
    assert "\n    " in captured.err, "the source line"
    assert captured.err.partition("hint: ")[2].startswith(hint)


# --- F3: no scheduling problem hangs


@ps.nest
def winograd(
    out: ps.f64["B", "C", 56, 56],
    t: ps.f64["C", "196 * B", 4, 4],
    d: ps.f64["C", "196 * B"],
    B: ps.size,
    C: ps.size,
):
    for c in range(C):
        for p in range(196 * B):
            for vh in range(4):
                for vw in range(4):
                    t[c, p, vh, vw] = d[c, p] * 0.5 + (vh - vw)
    for n in range(B):
        for c in range(C):
            for h in range(56):
                for w in range(56):
                    out[n, c, h, w] = t[c, 196 * n + h // 4 * 14 + w // 4, h % 4, w % 4]


@pytest.mark.parametrize("scheduler", ["pluto", "isl"])
def test_F3_nested_floor_and_modulo_end_within_the_budget_and_say_how(scheduler):
    done = ps.optimize(winograd, options=ps.Options(scheduler=scheduler, solve_seconds=1.0))
    assert done.rungs["schedule"] in ("pluto", "isl", "source order with parallel loops found")
    assert done.rungs["mapping"] == "mapped"
    assert any(isinstance(node, Mark) and node.mark == Parallel() for node in nodes(done.tree))
    done.verify(B=1, C=1)


# --- F4: wrong arguments are refused before anything runs


def arguments():
    return {"a": np.arange(12.0).reshape(3, 4) + 1, "b": np.ones((3, 4)), "n": 3, "m": 4}


@ps.nest
def shift(a: ps.f64["n", "m"], b: ps.f64["n", "m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            b[i, j] = a[i, j] + 1.0


def read_only(array):
    array.flags.writeable = False
    return array


WRONG = {
    "missing array": (lambda given: given.pop("a"), "shift needs a too"),
    "shape": (lambda given: given.update(a=np.ones((3, 5))), "m is 4 by the argument, but 5 by a's dimension 1"),
    "rank": (lambda given: given.update(a=np.ones(12)), "1 dimensions instead of 2"),
    "dtype": (lambda given: given.update(a=np.ones((3, 4), "f4")), "not float32 of shape (3, 4)"),
    "not contiguous": (lambda given: given.update(a=np.ones((4, 3)).T), "pass a copy: numpy.ascontiguousarray(a)"),
    "read-only output": (lambda given: read_only(given["b"]), "b is written, but the array given is read-only"),
    "overlap": (lambda given: given.update(a=given["b"]), "a and b share memory, and b is written"),
    "size": (lambda given: given.update(n=-1), "the size n is -1"),
    "no array at all": (lambda given: given.update(b=[[0.0]]), "b must be a numpy array f64[n, m], not list"),
    "unknown name": (lambda given: given.update(c=1), "shift has no parameter c"),
}


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize(("spoil", "message"), WRONG.values(), ids=WRONG)
def test_F4_wrong_arguments_are_refused_and_no_array_is_touched(spoil, message, target):
    program = ps.optimize(shift, target).program
    given = arguments()
    spoil(given)
    before = {name: np.copy(value) for name, value in given.items()}
    with pytest.raises(ps.LaunchError) as error:
        program(**given)
    assert message in str(error.value)
    assert all(np.array_equal(given[name], before[name]) for name in given)


def test_F4_right_arguments_run():
    given = arguments()
    ps.optimize(shift)(**given)
    assert np.array_equal(given["b"], given["a"] + 1)
