from by_hand import blur

from polysched import Schedule
from polysched.model.tree.instances import copied
from polysched.model.tree.nodes import Mark, Storage
from polysched.model.tree.text import show_tree
from polysched.support import isl
from polysched.transform.edits.base.graft import (
    grafted,
    part_of,
    part_with,
    varying,
    without,
    without_arrays,
)
from polysched.transform.edits.base.loops import changed_at, coordinates_of, loop

GRAFTED = """\
domain: { S0[i] : 0 < i <= -2 + n; S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    band:
      i_2: [S0[i] -> i; S1[i] -> i]
      sequence
        filter: S0
          band:
            i: [S0[i] -> i]
        filter: S1"""


def halves():
    tree = Schedule(blur).draft.nested
    first = isl.UnionSet.from_set(next(s for s in isl.sets_of(tree.domain) if s.get_tuple_name() == "S0"))
    return tree, first


def test_a_part_of_a_tree_and_the_rest():
    tree, first = halves()
    assert show_tree(part_of(tree, first)).splitlines()[2:] == ["    band:", "      [S0[i] -> i]"]
    assert show_tree(without(tree, first)).splitlines()[2:] == ["    band:", "      [S1[i] -> i]"]


def test_a_part_put_in_under_a_loop():
    tree, first = halves()
    left, part = without(tree, first), part_of(tree, first)
    at = coordinates_of([loop(tree, "i").band], first)
    moved = grafted(left, (*loop(left, "i_2").path, 0), part, [at], before=True)
    assert show_tree(moved, names=True) == GRAFTED
    assert show_tree(varying(part, at)).splitlines()[1:] == ["  context: { : n >= 0 }"]


def test_loops_put_in_where_their_names_are_taken_get_others():
    tree, first = halves()
    origin = isl.UnionMap("{ C[o, i] -> S0[i] }").intersect_range(first)
    part = copied(part_of(tree, first), origin)
    outer = isl.UnionMap("{ C[o, i] -> [o] }").intersect_domain(origin.domain())
    again = grafted(tree, (*loop(tree, "i_2").path, 0), part, [outer], before=False)
    assert "i_3: [C[o, i] -> i]" in show_tree(again, names=True)


def test_parts_of_a_sequence_are_found_by_what_they_run():
    tree, first = halves()
    rest = tree.domain.subtract(first)
    (top,) = {loop(tree, name).path[:-2] for name in ("i", "i_2")}
    assert part_with(tree, top, first, first=True) == (*top, 0, 0)
    assert part_with(tree, top, rest, first=True) == part_with(tree, top, tree.domain, first=False) == (*top, 1, 0)
    path = loop(tree, "i").path
    assert part_with(tree, path, first, first=True) == path


def test_arrays_that_are_gone_belong_to_no_node():
    tree, _ = halves()
    path = loop(tree, "i").path
    marked = changed_at(tree, path, lambda node: Mark(Storage(("a_c", "b_c")), node))
    assert "mark: storage:b_c\n" in show_tree(without_arrays(marked, {"a_c"}))
    assert without_arrays(marked, {"a_c", "b_c"}) == tree
