"""Loops that an instruction of the user's runs: whether they are those of its nest, and may run as one.

    mark: intrinsic:matvec4:1a2b3c4d         tiles of 4 x 4, each element of y is one of its own,
      band: i, k                             and nothing else in the tile reads or writes it
        S: y[i] = y[i] + A[i, k] * x[k]

The tile's iterations run in the order of the instruction's nest, which the tree's legality allows. What is left is that
the instruction may read all that it reads before it writes: where operands overlap, that would be another result.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from polysched.errors import InputError
from polysched.ir.nodes import Expr, Load, Store
from polysched.ir.text import show
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.instructions.layouts import Rows
from polysched.model.instructions.own import OwnInstruction, defined
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Concurrent, Intrinsic, Leaf, Member, Tree, mark_of, own_marks
from polysched.support import isl
from polysched.transform.analysis.pairing import Misfit, Moves, pairing
from polysched.transform.analysis.roles import iterators, step
from polysched.transform.analysis.unify import is_iterator, moved_by
from polysched.transform.edits.base.loops import Loop, loops, most_iterations


def require_intrinsics(tree: Tree, scop: Scop, what: str = "") -> None:
    """InputError, beginning with `what` was asked for, unless the loops of each mark in `tree`, of a band for each
    loop, are those of its instruction, around one statement that it runs."""
    for place in loops(tree):
        if mark := mark_of(place.band, Intrinsic):
            own = defined(mark.instruction, mark.version)
            inside = [each for each in loops(tree) if place.is_around(each)]
            try:
                if len(inside) != len(own.loops) or any(own_marks(each.band) for each in inside[1:]):
                    raise InputError(f"the loops inside of '{place.name}' are not those of {own.name}")
                require_fit(own, inside, scop)
            except InputError as error:
                raise InputError(f"{what}{': ' if what else ''}{error.message}", hint=error.hint) from None


def require_fit(own: OwnInstruction, places: Sequence[Loop], scop: Scop) -> None:
    """InputError unless the innermost loops, in the order of the instruction's, run one statement that it does."""
    inner = max(places, key=lambda place: len(place.path))
    if not isinstance(inner.band.child, Leaf) or len(inner.statements) != 1:
        names = ", ".join(place.name for place in places)
        raise InputError(f"there are loops or several statements inside of {names}", hint="distribute them")
    one = scop.statement(inner.statements[0])
    match one.body:
        case (Store() as store,):
            pass
        case _:
            raise InputError(f"{one.name} is several statements in one", hint="split it, or inline what it computes")
    for place, (loop, extent) in zip(places, own.loops.items(), strict=True):
        _require_loop(own, one, place, loop, extent, scop)
    tile = [_iterator(place.member, one) for place in places]
    tiles = _tile_of(inner, len(places))
    found = pairing(own, store, tile, _moves(one, tile, tiles, scop), {each.name: each.shape for each in scop.arrays})
    if isinstance(found, Misfit):
        what = f"{one.name} is not what {own.name} does: {found.why}"
        raise InputError(f"{what}\n{_both(own, one, store)}", hint=found.hint)
    _require_apart(own, one, store, found.reads, tiles, scop)
    _require_no_copies(own, store, inner)


def _both(own: OwnInstruction, one: Statement, store: Store) -> str:
    """What the two of them access."""
    loops = ", ".join(f"{name} in 0..{extent}" for name, extent in own.loops.items())
    width = max(len(own.name), len(one.name))
    theirs, ours = (show(each).strip() for each in (own.store, store))
    return f"  {own.name:{width}}  {theirs}   for {loops}\n  {one.name:{width}}  {ours}"


def _require_loop(own: OwnInstruction, one: Statement, place: Loop, loop: str, extent: int, scop: Scop) -> None:
    if not is_iterator(place.member, one):
        hint = "skew, shift and reverse other loops than these"
        raise InputError(f"loop '{place.name}' counts no loop of {one.name} up", hint=hint)
    most = most_iterations(place, scop.context)
    if most != extent:
        has = "as many iterations as the sizes say" if most is None else f"{most} iterations"
        what = f"loop '{place.name}' has {has}, and {loop} of {own.name} has {extent}"
        raise InputError(what, hint=f"tile it by {extent}" if most is None or most > extent else "take another one")


def _iterator(member: Member, one: Statement) -> str:
    (k,) = member.iterators(one.name)
    return one.iterators[k]


def _moves(one: Statement, names: Sequence[str], tiles: isl.UnionMap, scop: Scop) -> Moves:
    """By how much subscripts go on along the iterators of these names in a tile, as isl sees them."""
    space = AffineSpace(one.name, one.iterators, scop.function.sizes)
    members = [Member(isl.UnionMap.from_map(isl.Map.from_aff(function))) for function in iterators(one)]
    in_one = tiles.apply_range(tiles.reverse())
    found = (step(one, tuple(members), one.iterators.index(name)) for name in names)
    steps = [along and isl.Map.from_union_map(isl.UnionMap.from_map(along).intersect(in_one)) for along in found]

    def moves(index: tuple[Expr, ...]) -> Rows | None:
        rows = []
        for part in index:
            try:
                relation = isl.Map.from_pw_aff(space.function(part))
            except NotAffine:
                return None
            row = [None if along is None else moved_by(relation, along) for along in steps]
            if None in row:
                return None
            rows.append(tuple(by[0] for by in row if by is not None))
        return tuple(rows)

    return moves


def _require_apart(
    own: OwnInstruction, one: Statement, store: Store, reads: Sequence[Load], tiles: isl.UnionMap, scop: Scop
) -> None:
    """InputError if what the statement changes in a tile is read there for another operand."""
    space = AffineSpace(one.name, one.iterators, scop.function.sizes)

    def elements(index: tuple[Expr, ...]) -> isl.UnionMap | None:
        """{ [tile] -> [subscripts] }; None if they are not affine."""
        if not space.has(*index):
            return None
        instances = isl.Map.from_domain(one.domain)
        functions = (isl.Map.from_pw_aff(space.function(part)) for part in index)
        relation = reduce(isl.Map.flat_range_product, functions, instances)
        return tiles.reverse().apply_range(isl.UnionMap.from_map(relation))

    changed = elements(store.index)
    for read in reads:
        other = elements(read.index) if read.array == store.array else isl.UnionMap("{ }")
        if changed is None or other is None or not changed.intersect(other).is_empty():
            what = f"{one.name} reads {show(read)} where the tile changes it, and {own.name} may read it at any time"
            raise InputError(f"{what}\n{_both(own, one, store)}", hint="split the set of iterations, or read a copy")


def _tile_of(inner: Loop, count: int) -> isl.UnionMap:
    """{ S[i, j] -> [values of the loops around the tile] }"""
    around = inner.around[: len(inner.around) + 1 - count]
    none = isl.UnionMap.from_domain_and_range(inner.instances.universe(), isl.UnionSet("{ [] }"))
    return reduce(isl.UnionMap.flat_range_product, (band.members[0].schedule for band in around), none)


def _require_no_copies(own: OwnInstruction, store: Store, inner: Loop) -> None:
    for band in inner.around:
        mark = mark_of(band, Concurrent)
        if mark and store.array in mark.reduces:
            what = f"loop '{band.members[0].name}' adds up {store.array} on threads or lanes, which {own.name} does not"
            raise InputError(what, hint="run it serially")

