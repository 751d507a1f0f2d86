"""Index-set splitting as edits: the parts that `transform/split.py` finds, one after the other.

    sequence
      filter: i < k and j < k               .split_set("i", "k >= i + 1 and k >= j + 1")
      filter: i < k and j = k         ->    .split_set("i_2", "k >= i + 1 and k == j")
      filter: i >= k
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched import isl
from polysched.errors import InputError
from polysched.model.tree import Band, Leaf, Sequence, Tree, children
from polysched.strategy.script import Script
from polysched.transform.hand.loops import loops
from polysched.transform.roles import Around
from polysched.transform.split import split


def pieces(script: Script) -> None:
    """Serial nests of one statement in parts that are parallel; InputError where no condition says which."""
    for band, parts in list(_to_split(script, script.tree, Around((), script.dependences.coincidence))):
        split_in(script, band, parts)


def split_in(script: Script, band: Band, parts: Sequence) -> None:
    """The loops of the band for each part in turn."""
    (own,) = isl.sets_of(script.scop.domain.intersect(band.members[0].schedule.domain()))
    name = band.members[0].name
    for part in parts.children[:-1]:
        (instances,) = isl.sets_of(part.filter)
        before = {each.name for each in loops(script.draft.nested)}
        script.do("split_set", name, _condition(instances.gist(own)))
        name = next(each.name for each in loops(script.draft.nested) if each.name not in before)


def _to_split(script: Script, tree: Tree, around: Around) -> Iterator[tuple[Band, Sequence]]:
    if isinstance(tree, Band) and isinstance(tree.child, Leaf) and not any(m.coincident for m in tree.members):
        found = isl.decided(lambda: split(tree, around.reaching, script.scop.domain), unknown=None)
        if found is not None:
            yield tree, found
    below = around.below(tree)
    for child in children(tree):
        yield from _to_split(script, child, below)


def _condition(instances: isl.Set) -> str:
    """Which of a statement's instances these are, in its iterators and the sizes."""
    if any(basic.dim(isl.dim_type.div) for basic in instances.get_basic_sets()):
        raise InputError(f"no condition without quotients says which instances are in {instances}")
    parts = [" and ".join(map(_compared, basic.get_constraints())) for basic in instances.get_basic_sets()]
    return parts[0] if len(parts) == 1 else " or ".join(f"({part})" for part in parts)


def _compared(constraint: isl.Constraint) -> str:
    """Positive terms on the left, the others on the right: k >= i + 1."""
    terms = [
        (int(constraint.get_coefficient_val(kind, k).get_num_si()), constraint.get_dim_name(kind, k) or "")
        for kind in (isl.dim_type.set, isl.dim_type.param)
        for k in range(constraint.space.dim(kind))
    ]
    constant = int(constraint.get_constant_val().get_num_si())
    left, right = (
        " + ".join([f"{abs(c)} * {name}" if abs(c) > 1 else name for c, name in terms if c * sign > 0]
                   + [str(abs(constant))] * (constant * sign > 0))
        for sign in (1, -1)
    )  # fmt: skip
    return f"{left or '0'} {'==' if constraint.is_equality() else '>='} {right or '0'}"
