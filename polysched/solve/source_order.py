"""The last resort that is always legal: the order of the source, below whatever bands were found.

Source order respects every dependence, so also those that outer bands leave. Only its parallel loops are new.
"""

from __future__ import annotations

from polysched.deps.coincidence import mark_under
from polysched.model.tree.nodes import Band, Context, Domain, Filter, Leaf, Member, Sequence, Tree
from polysched.support import isl


def source_order(tree: Tree, instances: isl.UnionSet, reaching: isl.UnionMap) -> Tree:
    """The part of the source tree about the statements of `instances`, below its context, the loops marked parallel
    as far as the dependences `reaching` it allow."""
    return mark_under(_only(tree, instances.universe()), reaching)


def _only(tree: Tree, statements: isl.UnionSet) -> Tree:
    match tree:
        case Leaf():
            return tree
        case Domain(child=child) | Context(child=child):
            return _only(child, statements)
        case Band(members=members, permutable=permutable, child=child):
            kept = tuple(Member(member.schedule.intersect_domain(statements)) for member in members)
            return Band(kept, permutable, _only(child, statements))
        case Sequence(children=children):
            parts = [Filter(c.filter.intersect(statements), _only(c.child, statements)) for c in children]
            parts = [part for part in parts if not part.filter.is_empty()]
            return parts[0].child if len(parts) == 1 else Sequence(tuple(parts))
    raise AssertionError(f"a source tree has no {type(tree).__name__}")
