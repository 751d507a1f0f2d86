"""polysched/transform/analysis/roles.py: what each loop of a nest is good for."""

from __future__ import annotations

import pytest
from scops import scop, stmt

from polysched.deps.dataflow import dependences
from polysched.model.tree.nodes import with_children
from polysched.transform.analysis.roles import Around, Roles, roles, statements_of
from tests.transform.scheduled import band

ALONG_I, ALONG_J, ALONG_K = "S[i, j, k] -> i", "S[i, j, k] -> j", "S[i, j, k] -> k"
CUBE = "{ S[i, j, k] : 0 <= i, j, k < n }"
SQUARE = "{ S[i, j] : 0 <= i, j < n }"
LOOPS = {CUBE: band(ALONG_I, ALONG_J, ALONG_K), SQUARE: band("S[i, j] -> i", "S[i, j] -> j")}


def found(writes: str, *reads: str, domain: str = CUBE, context: str = "[n] -> { : }"):
    """Roles of the loops i, j, k of one statement, by letter."""
    nest = scop(context, stmt(domain, writes=writes, reads=reads))
    given = roles(nest.statements[0], LOOPS.get(domain, LOOPS[CUBE]), Around((), dependences(nest).coincidence))
    if given is None:
        return None
    names = {None: None, 0: "i", 1: "j", 2: "k"}
    return {"serial": names[given.serial], "unrolled": names[given.unrolled], "vector": names[given.vector]}


def test_a_matrix_product_has_all_three():
    assert found("C[i, j]", "C[i, j]", "A[i, k]", "B[k, j]") == {"serial": "k", "unrolled": "i", "vector": "j"}


@pytest.mark.parametrize(
    ("writes", "reads", "expected"),
    [
        ("C[i, j]", ["C[i, j]", "A[k, i]", "B[k, j]"], ("k", "i", "j")),
        ("C[k, j]", ["C[k, j]", "A[k, i]", "B[i, j]"], ("i", "k", "j")),
        ("C[j, i]", ["C[j, i]", "A[j, k]", "B[k, i]"], ("k", "j", "i")),
        ("C[i, j]", ["A[i, j]", "B[k]"], ("k", "i", "j")),
    ],
    ids=["A transposed", "k is a row", "j is a row", "no update: the last one counts"],
)
def test_roles_follow_from_strides_not_from_names(writes, reads, expected):
    assert found(writes, *reads) == dict(zip(("serial", "unrolled", "vector"), expected, strict=True))


def test_a_matrix_times_a_vector_along_its_rows_is_a_dot_product_for_each_row():
    assert found("y[i]", "y[i]", "A[i, j]", "x[j]", domain=SQUARE) == {
        "serial": "j",
        "unrolled": "i",
        "vector": None,
    }


def test_the_transpose_times_a_vector_updates_what_is_written():
    assert found("y[j]", "y[j]", "A[i, j]", "x[i]", domain=SQUARE) == {
        "serial": "i",
        "unrolled": None,
        "vector": "j",
    }


@pytest.mark.parametrize(
    ("writes", "reads"),
    [("A[i, j, k]", ["A[i, j, k]", "B[i]"]), ("A[i + k, j + i]", ["A[i + k, j + i]"])],
    ids=["nothing stays in place", "all elements move"],
)
def test_without_a_loop_that_leaves_what_is_written_in_place_there_are_none(writes, reads):
    assert found(writes, *reads) is None


def test_a_loop_that_carries_a_dependence_when_innermost_is_not_for_simd():
    """Each element needs the one before it of the same k."""
    assert found("C[i, j]", "C[i, j - 1]", "A[i, k]", "B[k, j]")["vector"] is None


def test_a_loop_that_does_not_move_the_statement_leaves_it_alone():
    """Of two statements in one nest, T has no loop k."""
    nest = scop(
        "[n] -> { : }",
        stmt("{ T[i, j] : 0 <= i, j < n }", writes="C[i, j]"),
        stmt(CUBE, writes="C[i, j]", reads=["C[i, j]", "A[i, k]", "B[k, j]"]),
    )
    loops = band(f"{ALONG_I}; T[i, j] -> i", f"{ALONG_J}; T[i, j] -> j", f"{ALONG_K}; T[i, j] -> 0")
    around = Around((), dependences(nest).coincidence)
    given = [roles(statement, loops, around) for statement in nest.statements]
    assert given == [None, Roles(serial=2, unrolled=0, vector=1)]


def test_loops_around_stand_still():
    """Inside of i, the product of a row is an update of it."""
    nest = scop("[n] -> { : }", stmt(CUBE, writes="C[i, j]", reads=["C[i, j]", "A[i, k]", "B[k, j]"]))
    inside = band(ALONG_J, ALONG_K)
    tree = with_children(band(ALONG_I), (inside,))
    around = Around((), dependences(nest).coincidence).below(tree)
    assert around.members == tree.members
    assert roles(nest.statements[0], inside, around) == Roles(serial=1, unrolled=None, vector=0)


def test_statements_that_never_run_do_not_reach_a_band():
    never = stmt("{ T[i, j, k] : 0 <= i < 0 and 0 <= j, k < n }", writes="D[i]")
    nest = scop("[n] -> { : }", stmt(CUBE, writes="C[i, j]"), never)
    loops = band(f"{ALONG_I}; T[i, j, k] -> i", f"{ALONG_J}; T[i, j, k] -> j")
    assert [statement.name for statement in statements_of(loops, nest)] == ["S"]


def test_of_the_loops_of_a_sum_the_last_is_serial():
    """A convolution."""
    reads = ["C[i, j]", "A[i, q, r, s]", "B[q, r, s + j]"]
    nest = scop("{ : }", stmt("{ S[q, i, r, j, s] : 0 <= q, i, r, j, s < 3 }", writes="C[i, j]", reads=reads))
    loops = band(*(f"S[q, i, r, j, s] -> {loop}" for loop in "qirjs"))
    found = roles(nest.statements[0], loops, Around((), dependences(nest).coincidence))
    assert found == Roles(serial=4, unrolled=1, vector=3, sums=(0, 2))
