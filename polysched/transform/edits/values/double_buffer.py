"""Double buffering: what the next iteration needs is copied while this one computes.

    band: k_o                                    mark: storage:A_c                 A_c: f64[2, 32]
      mark: storage:A_c       A_c: f64[32]         sequence
        sequence                                     load_A of the first k_o, to A_c[k_o mod 2, ...]
          load_A                          ->         band: k_o
          S: reads A_c[...]                            sequence
                                                         load_A of the next k_o, to A_c[(k_o + 1) mod 2, ...]
                                                         S: reads A_c[k_o mod 2, ...]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from polysched.errors import InputError
from polysched.ir.build import floormod
from polysched.ir.nodes import Const
from polysched.model.affine import everywhere, value_at
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Band, Filter, InOrder, Mark, Storage, Tree, children, mark_of
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.graft import without_arrays
from polysched.transform.edits.base.loops import Loop, changed_at, coordinates_of, loops, statements_in
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.base.same_values import require_same_values
from polysched.transform.edits.order.skew import shifted
from polysched.transform.edits.values.copies import moved
from polysched.transform.edits.values.storage import own_array, with_array


@edit("values", "k_o -> A0; k_o")
def double_buffer(draft: Draft, array: str) -> Draft:
    """A small array filled one iteration ahead of what reads it, in two buffers by turns.

    InputError unless each iteration of the loop that it belongs to first fills it, by statements that do only that;
    IllegalSchedule if what these read is not there yet an iteration before.

        for k_o:                      load(0)
            load(k_o)            ->   for k_o:
            S(k_o)                        load(k_o + 1)
                                          S(k_o)                     double_buffer("A_c")
    """
    old, tree = own_array(draft, array), draft.nested
    place = _place(tree, draft.scop, array)
    statements = tuple(_by_turns(statement, array, place.loop.band) for statement in draft.scop.statements)
    doubled = replace(old, shape=(Const(2), *old.shape))
    scop = with_array(replace(draft.scop, statements=statements), doubled)
    ahead = changed_at(without_arrays(tree, {array}), place.loop.path, place.ahead)
    return require_same_values(draft, scop, ahead, scop.domain.identity(), f"double_buffer({array})")


@dataclass(frozen=True)
class _Place:
    """The loop that an array belongs to, and the instances that fill it."""

    array: str
    loop: Loop
    filling: isl.UnionSet
    first: isl.UnionSet  # those of the first iteration

    def ahead(self, node: Tree) -> Tree:
        """The loop with what fills the array an iteration early, after the first."""
        fill = Filter(self.first, _only_filling(node, self.filling))
        rest = Filter(self.loop.instances.subtract(self.first), self._early(node))
        return Mark(Storage((self.array,)), InOrder((fill, rest)))

    def _early(self, node: Tree) -> Tree:
        assert isinstance(node, Band)
        member = shifted(node.members[0], statements_in(self.filling), -1)
        return replace(node, members=(member,), child=self._without_first(node.child))

    def _without_first(self, node: Tree) -> Tree:
        if isinstance(node, Mark):
            return replace(node, child=self._without_first(node.child))
        assert isinstance(node, InOrder)
        return InOrder(tuple(replace(branch, filter=branch.filter.subtract(self.first)) for branch in node.children))


def _place(tree: Tree, scop: Scop, array: str) -> _Place:
    owners = [each for each in loops(tree) if (mark := mark_of(each.band.child, Storage)) and array in mark.arrays]
    if len(owners) != 1:
        raise InputError(f"'{array}' belongs to no loop, or to several", hint="cache it at one that is not distributed")
    (around,) = owners
    writers = {s.name for s in scop.statements if any(write.array == array for write in s.writes)}
    readers = {s.name for s in scop.statements if any(read.array == array for read in s.reads)}
    branches = _branches(around.band.child)
    leading = [branch for branch in branches if {*statements_in(branch.filter)} <= writers - readers]
    if not leading or writers & set().union(*(statements_in(b.filter) for b in branches if b not in leading)):
        both = ", ".join(sorted(writers & readers)) or "one loop"
        hint = "cache what it reads by cache_read"
        raise InputError(f"'{array}' is not filled before it is used: {both} writes and reads it", hint=hint)
    filling = reduce(isl.UnionSet.union, (branch.filter for branch in leading))
    return _Place(array, around, filling, _first(around, filling))


def _first(around: Loop, instances: isl.UnionSet) -> isl.UnionSet:
    """The instances of the loop's first iteration, for each one of the loops around it."""
    outer = coordinates_of(around.around, instances)
    own = around.member.schedule.intersect_domain(instances)
    first = outer.reverse().apply_range(own).lexmin()
    return outer.apply_range(first).intersect(own).domain()


def _branches(node: Tree) -> tuple[Filter, ...]:
    """What an iteration runs, one after the other."""
    match node:
        case Mark(mark=Storage(), child=child):
            return _branches(child)
        case InOrder(children=branches):
            return branches
    return ()


def _only_filling(node: Tree, filling: isl.UnionSet) -> Tree:
    """What an iteration begins with."""
    while not isinstance(node, InOrder):
        (node,) = children(node)
    leading = tuple(branch for branch in node.children if branch.filter.is_subset(filling))
    return leading[0].child if len(leading) == 1 else InOrder(leading)


def _by_turns(statement: Statement, array: str, band: Band) -> Statement:
    """The statement on the buffer whose turn it is in its iteration of the loop."""
    own = band.members[0].schedule.intersect_domain(statement.instances)
    if not any(access.array == array for access in statement.accesses) or own.is_empty():
        return statement
    iteration = isl.Map.from_union_map(own)
    turn = floormod(value_at(everywhere(isl.PwMultiAff.from_map(iteration).get_pw_aff(0)), statement.iterators), 2)
    number = iteration.apply_range(isl.Map("{ [x] -> [x mod 2] }"))
    return moved(
        statement,
        array,
        lambda index: (turn, *index),
        lambda used: number.flat_range_product(used).set_tuple_name(isl.dim_type.out, array),
        array,
    )
