"""Schedule trees to isl and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polysched.errors import InputError
from polysched.model.tree import nodes
from polysched.support import isl


def to_isl(tree: nodes.Tree, texts: Callable[[nodes.Band], list[str]] | None = None) -> isl.Schedule:
    """The same tree as an isl schedule; marks become identifiers such as "map:block.x", those of loops above the bands,
    where there may be other `texts`."""
    if not isinstance(tree, nodes.Domain):
        raise ValueError("a schedule tree starts with a Domain")
    root = isl.Schedule.from_domain(tree.domain).get_root()
    return _insert(tree.child, root.child(0), texts or _texts).get_schedule()


def from_isl(schedule: isl.Schedule) -> nodes.Tree:
    """An isl schedule as our tree; InputError for node types that polysched does not know."""
    tree: nodes.Tree = _convert(schedule.get_root())
    return tree


def mark_text(mark: nodes.MarkValue | nodes.Concurrent) -> str:
    """The identifier that stands for a mark in isl: "parallel", "parallel:s,t", "vector:s:8", "map:block.x"..."""
    if isinstance(mark, nodes.Product):
        return f"{mark.kind}:{mark.statement}"
    values = (value for value in vars(mark).values() if value not in ((), 0))
    texts = (",".join(value) if isinstance(value, tuple) else str(value) for value in values)
    return ":".join([type(mark).__name__.lower(), *texts])


def _texts(band: nodes.Band) -> list[str]:
    return list(map(mark_text, nodes.own_marks(band)))


def parse_mark(text: str) -> nodes.MarkValue:
    """The mark that `mark_text` gave this text; InputError for any other."""
    kind, _, argument = text.partition(":")
    first, _, last = argument.rpartition(":")
    match kind:
        case "kernel":
            return nodes.Kernel(argument)
        case "map":
            axis, _, reduced = argument.partition(":")
            return nodes.Map(axis, _names(reduced))
        case "parallel":
            return nodes.Parallel(_names(argument))
        case "vector" if last.isdecimal() and int(last):
            return nodes.Vector(_names(first), int(last))
        case "vector":
            return nodes.Vector(_names(argument))
        case "packed" | "dots" if argument:
            return nodes.Product(argument, kind)
        case "tensor" if last.isdecimal() and int(last):
            return nodes.Tensor(first, int(last))
        case "intrinsic" if first and last:
            return nodes.Intrinsic(first, last)
        case "prefetch" if first and last.isdecimal() and int(last):
            return nodes.Prefetch(first, int(last))
        case "full" if argument.isdecimal():
            return nodes.Full(int(argument))
        case "storage":
            return nodes.Storage(_names(argument))
        case "serial":
            return nodes.Serial()
        case "unroll":
            return nodes.Unroll()
        case "wait":
            return nodes.Wait()
    known = "kernel:NAME, map:AXIS, serial, parallel, vector, unroll, packed:STATEMENT, dots:STATEMENT, full:SIZE"
    more = "tensor:INSTRUCTION:STAGES, intrinsic:INSTRUCTION:VERSION, prefetch:ARRAY:ITERATIONS, storage:ARRAYS or wait"
    raise InputError(f"unknown mark '{text}': expected {known}, {more}")


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def with_mark(mark: nodes.MarkValue, tree: nodes.Tree) -> nodes.Tree:
    """The tree under a mark, as in isl; InputError for one of a loop that is above something else."""
    if not isinstance(mark, nodes.LoopMark):
        return nodes.Mark(mark, tree)
    if not isinstance(tree, nodes.Band) or not tree.members:
        name = type(mark).__name__.lower()
        raise InputError(f"the mark {name} is above a {nodes.word(tree)}, not above a loop")
    return nodes.with_marks(tree, (mark, *tree.members[0].marks))


def _insert(tree: nodes.Tree, node: isl.ScheduleNode, texts: Callable[[nodes.Band], list[str]]) -> isl.ScheduleNode:
    """Inserts `tree` at the leaf `node`; the node returned stands where `node` stood."""
    match tree:
        case nodes.Leaf():
            return node
        case nodes.Band(members=members, permutable=permutable, child=child):
            functions = isl.UnionPwAffList.alloc(isl.DEFAULT_CONTEXT, len(members))
            for member in members:
                functions = functions.add(member.function)
            space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(members))
            space = space.align_params(functions.get_at(0).get_space())
            above = texts(tree)
            for text in above:
                node = node.insert_mark(isl.Id(text)).child(0)
            node = node.insert_partial_schedule(isl.MultiUnionPwAff.from_union_pw_aff_list(space, functions))
            node = node.band_set_permutable(int(permutable))
            for k, member in enumerate(members):
                node = node.band_member_set_coincident(k, int(member.coincident))
            if tree.separate:
                node = node.band_member_set_ast_loop_type(0, isl.ast_loop_type.separate)
            node = _insert(child, node.child(0), texts).parent()
            return node.ancestor(len(above))
        case nodes.Context(context=context, child=child):
            outer = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, node.get_schedule_depth()))
            return _insert(child, node.insert_context(outer.intersect_params(context)).child(0), texts).parent()
        case nodes.Filter(filter=filter, child=child):
            return _insert(child, node.insert_filter(filter).child(0), texts).parent()
        case nodes.Mark(mark=mark, child=child):
            return _insert(child, node.insert_mark(isl.Id(mark_text(mark))).child(0), texts).parent()
        case nodes.InOrder(children=children) | nodes.Set(children=children):
            filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, len(children))
            for branch in children:
                filters = filters.add(branch.filter)
            ordered = isinstance(tree, nodes.InOrder)
            node = node.insert_sequence(filters) if ordered else node.insert_set(filters)
            for k, branch in enumerate(children):
                node = _insert(branch.child, node.child(k).child(0), texts).parent().parent()
            return node
        case nodes.Extension():
            raise ValueError("extension nodes can be read from isl, but not yet written")
    raise AssertionError(f"unknown tree node {type(tree).__name__}")


def _convert(node: isl.ScheduleNode) -> Any:
    kind = isl.schedule_node_type(node.get_type())
    if kind == isl.schedule_node_type.leaf:
        return nodes.Leaf()
    if kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
        branches = tuple(_convert(node.child(k)) for k in range(node.n_children()))
        return nodes.InOrder(branches) if kind == isl.schedule_node_type.sequence else nodes.Set(branches)
    child = _convert(node.child(0))
    if kind == isl.schedule_node_type.domain:
        return nodes.Domain(node.domain_get_domain(), child)
    if kind == isl.schedule_node_type.context:
        return nodes.Context(node.context_get_context().params(), child)
    if kind == isl.schedule_node_type.band:
        return nodes.Band(_members(node), bool(node.band_get_permutable()), child)
    if kind == isl.schedule_node_type.filter:
        return nodes.Filter(node.filter_get_filter(), child)
    if kind == isl.schedule_node_type.mark:
        return with_mark(parse_mark(node.mark_get_id().get_name()), child)
    if kind == isl.schedule_node_type.extension:
        return nodes.Extension(node.extension_get_extension(), child)
    raise InputError(f"schedule tree nodes of type '{kind.name}' are not supported")


def _members(node: isl.ScheduleNode) -> tuple[nodes.Member, ...]:
    schedule = node.band_get_partial_schedule()
    return tuple(
        nodes.Member(isl.UnionMap.from_union_pw_aff(schedule.get_at(k)), bool(node.band_member_get_coincident(k)))
        for k in range(node.band_n_member())
    )
