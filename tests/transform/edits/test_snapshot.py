"""Copies of what a step reads and later steps overwrite."""

import random

import pytest
from chains import assert_same_results

from polysched import IllegalSchedule, InputError, Schedule, from_c, i32, nest, size
from polysched.ir.node import walk
from polysched.ir.nodes import Load
from tests.strategy.programs import folding, product, shortest_paths

TREE = """\
    band:
      k: [S[k, i, j] -> k; S_2[k, i, j] -> k; keep_p[k, i, j] -> k; keep_p_2[k, i, j] -> k]
      sequence
        filter: keep_p
          band:
            i_2: [keep_p[k, i, j] -> i] coincident
        filter: S, S_2, keep_p_2
          band:
            i: [S[k, i, j] -> i; S_2[k, i, j] -> i; keep_p_2[k, i, j] -> i] coincident
            j: [S[k, i, j] -> j; S_2[k, i, j] -> j; keep_p_2[k, i, j] -> k]
            sequence
              filter: S
              filter: S_2
              filter: keep_p_2"""


@nest
def column(p: i32["n", "n"], q: i32["n", "n"], n: size):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                p[i, j] = p[i, j] - p[i, k] * q[k, j]


def test_an_element_holds_two_values_in_a_step_that_writes_it():
    done = Schedule(column).snapshot("p", at="k")
    assert TREE in str(done).replace("permutable", "").replace("band: \n", "band:\n")
    assert [array.name for array in done.draft.scop.arrays] == ["p", "q", "kept_p", "kept_p_2"]
    assert_same_results(done, random.Random(1))


def test_copies_are_taken_by_turns_and_tiles_are_legal_then():
    done = Schedule(shortest_paths).snapshot("p", at="k", size=2).tile("k", sizes=(2,), names=("k_o",))
    done = done.split_set("k", "i // 2 == k_o or j // 2 == k_o")
    assert_same_results(done, random.Random(1), (0, 1, 4, 5))
    with pytest.raises(IllegalSchedule):
        Schedule(shortest_paths).tile("k", sizes=(2,), names=("k_o",)).split_set("k", "i // 2 == k_o or j // 2 == k_o")
    with pytest.raises(IllegalSchedule):  # the third step of a block overwrites the copies of the first
        done = Schedule(shortest_paths).snapshot("p", at="k", size=2).tile("k", sizes=(3,), names=("k_o",))
        done.split_set("k", "i // 3 == k_o or j // 3 == k_o")


@nest
def spelled(p: i32["n", "n"], n: size):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                p[i, j] = p[i, 2 * j // 2] - p[i, k] * p[i, 2 * k // 2]


@pytest.mark.parametrize("turns", [0, 2])
def test_an_operand_that_is_spelled_in_two_ways_is_copied_once(turns):
    """All that a body reads is among the accesses by which later edits are judged; the element itself is not copied."""
    done = Schedule(spelled).snapshot("p", at="k", size=turns)
    for statement in done.draft.scop.statements:
        loaded = {node.array for node in walk(statement.body) if isinstance(node, Load)}
        assert loaded == {access.array for access in statement.reads}
    assert [array.name for array in done.draft.scop.arrays] == ["p", "kept_p", "kept_p_2"]
    assert_same_results(done, random.Random(1))


@pytest.mark.parametrize(
    "program, loop, text",
    [
        (product, "i", "reads no other elements of 'c' than the one that it updates"),
        (folding, "i", "is not one of a single statement, in loops of its own"),
    ],
)
def test_other_loops_are_refused(program, loop, text):
    array = program.function.arrays[-1].name if program is folding else "c"
    with pytest.raises(InputError, match=text):
        Schedule(program).snapshot(array, at=loop)


OPERANDS = ["p[i][k]", "p[k][j]", "p[k][k]", "p[j][k]", "p[k][i]", "p[i][j]"]


@pytest.mark.parametrize("seed", range(12))
def test_random_steps_compute_the_same(seed, tmp_path):
    """Those of which a read is of what the step does not write once are refused."""
    rng = random.Random(seed)
    one, other = rng.choice(OPERANDS[:5]), rng.choice(OPERANDS)
    first = rng.choice(["i", "j"])
    inner = {"i": "j", "j": "i"}[first]
    text = f"""void f(int n, int p[n][n]) {{
    #pragma scop
        for (int k = 0; k < n; k++)
            for (int {first} = 0; {first} < n; {first}++)
                for (int {inner} = {rng.choice(["0", "0", "k"])}; {inner} < n; {inner}++)
                    p[i][j] = p[i][j] {rng.choice("+-|")} {one} * {other};
    #pragma endscop
    }}"""
    file = tmp_path / "f.c"
    file.write_text(text)
    (program,) = from_c(file)
    try:
        done = Schedule(program).snapshot("p", at="k", size=rng.choice([0, 1, 3]))
    except InputError:
        return
    assert_same_results(done, rng, (0, 1, 4))
