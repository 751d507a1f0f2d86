from by_hand import blur
from nests import lu

from polysched import Schedule
from polysched.model.tree.text import show_tree
from polysched.support import isl
from polysched.transform.edits.base.loops import loop, loops
from polysched.transform.edits.base.parts import in_parts, only

PARTS = """\
domain: { S0[i] : 0 < i <= -2 + n; S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    band:
      i: [S0[i] -> i; S1[i] -> 1 + i]
      sequence
        filter: S0
        filter: S1"""


def test_parts_stand_in_the_sequence_around_and_one_keeps_the_name():
    tree = Schedule(blur).draft.nested
    first, others = isl.UnionSet("[n] -> { S0[i = 1] : n > 2 }"), isl.UnionSet("[n] -> { S0[i] : 2 <= i < n - 1 }")
    text = show_tree(in_parts(tree, loop(tree, "i").path, (first, others), keeps=1), names=True)
    assert [line.strip() for line in text.splitlines()[3:]] == [
        "filter: S0[i = 1]",
        "band:",
        "i_3: [S0[i] -> 1]",
        "filter: S0[i] : i >= 2",
        "band:",
        "i: [S0[i] -> i]",
        "filter: S1",
        "band:",
        "i_2: [S1[i] -> i]",
    ]


def test_a_part_has_the_statements_that_it_runs_and_no_sequence_for_one():
    tree = Schedule(blur).fuse("i", "i_2").draft.nested
    assert show_tree(tree, names=True) == PARTS
    alone = only(tree, isl.UnionSet("[n] -> { S1[i] }"))
    assert "[S1[i] -> 1 + i]" in show_tree(alone) and "sequence" not in show_tree(alone)


def test_loops_of_what_one_part_alone_runs_keep_their_names():
    tree = Schedule(lu()).draft.nested
    rows = loop(tree, "i")
    only_divides = rows.instances.intersect(isl.UnionSet("{ S1[i, j] }"))
    apart = in_parts(tree, rows.path, (only_divides, rows.instances.subtract(only_divides)), keeps=0)
    assert [each.name for each in loops(apart)] == ["i", "j", "i_2", "j_3", "k", "j_2", "k_2"]
