"""What one statement reads and writes, as relations from its instances to array elements.

    if i > 0: t = a[i - 1]              reads  { S[i] -> a[i - 1] : i > 0 }
    b[c[i]] = t              ->         reads  { S[i] -> c[i] }
                                        writes { S[i] -> b[x] : 0 <= x < n }, may
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polysched.errors import InputError, Loc
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Binary, Call, Const, Expr, Load, Stmt, Store, Var
from polysched.ir.text import show
from polysched.model import known
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.known import Where, narrowed
from polysched.model.scop import Access
from polysched.support import isl


def accesses(
    body: tuple[Stmt, ...], space: AffineSpace, arrays: dict[str, Array]
) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    """Reads and writes of an instance that runs `body`; a read that an earlier write of the body covers is left out.

    Data-dependent subscripts and conditions over-approximate: any element, and may instead of must. InputError for
    subscripts in iterators and sizes alone that are not affine: but of a remainder by the extent, which is any element,
    nothing could show that they stay in bounds.
    """
    collector = _Collector(space, arrays)
    for access, where in known.accesses(body):
        collector.add(access, where)
    return tuple(collector.reads), tuple(collector.writes)


_HINT = "use a dimension for each index, as in A[i, j] for A[i * n + j]; or load the subscript from an array"


@dataclass
class _Collector:
    space: AffineSpace
    arrays: dict[str, Array]
    reads: list[Access] = field(default_factory=list)
    writes: list[Access] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.under: dict[tuple[Expr, ...], tuple[isl.Set, bool]] = {(): (self.space.universe, True)}

    def add(self, access: Load | Store, where: Where) -> None:
        if access.array not in self.arrays:
            return  # a temporary of this very instance
        instances, surely = self.instances(where.guards)
        relation, exact = self.relation(access, instances, where.loc)
        is_read = isinstance(access, Load)
        for write in self.writes if is_read else ():
            if write.must and write.array == access.array:
                relation = relation.subtract(write.relation)
        must = exact and surely and not where.loops
        _add(self.reads if is_read else self.writes, Access(array=access.array, relation=relation, must=must))

    def instances(self, guards: tuple[Expr, ...]) -> tuple[isl.Set, bool]:
        """For which instances these hold, as far as that is known, and whether it is."""
        if guards not in self.under:
            outer, surely = self.instances(guards[:-1])
            inner, is_affine = narrowed(outer, guards[-1], self.space)
            self.under[guards] = inner, surely and is_affine
        return self.under[guards]

    def relation(self, access: Load | Store, instances: isl.Set, loc: Loc | None) -> tuple[isl.Map, bool]:
        """{ S[i] -> A[subscripts] }, and whether every subscript was affine."""
        exact, relation = True, isl.Map.from_domain_and_range(instances, isl.Set("{ [] }"))
        for subscript, extent in zip(access.index, self.arrays[access.array].shape, strict=True):
            try:
                dimension = isl.Map.from_pw_aff(self.space.function(subscript))
            except NotAffine as error:
                if self.is_known(subscript) and not _is_remainder(subscript, extent):
                    what = f"subscript '{show(subscript)}' of '{access.array}' is not affine: {show(error.expr)}"
                    raise InputError(what, loc, _HINT) from error
                dimension, exact = self.any_element(extent), False
            relation = relation.flat_range_product(dimension)
        return relation.set_tuple_name(isl.dim_type.out, access.array), exact

    def is_known(self, subscript: Expr) -> bool:
        """Does it depend on nothing but iterators and sizes? Then it is a mistake rather than data."""
        names = {*self.space.iterators, *self.space.sizes}
        return all(n.name in names if isinstance(n, Var) else not isinstance(n, Load | Call) for n in walk(subscript))

    def any_element(self, extent: Expr) -> isl.Map:
        """{ S[i] -> [x] : 0 <= x < extent }; without the upper bound when the extent is not affine."""
        free = isl.Map.universe(isl.Map.from_pw_aff(self.space.function(Const(0))).get_space())
        free = free.lower_bound_val(isl.dim_type.out, 0, isl.Val(0))
        if not self.space.has(extent):
            return free
        upper = isl.Map.from_pw_aff(self.space.function(extent))
        return free.intersect(upper.apply_range(isl.Map("{ [e] -> [x] : 0 <= x < e }")))


def _is_remainder(subscript: Expr, extent: Expr) -> bool:
    """Does its form show that it is in bounds?"""
    match subscript:
        case Binary("floormod", _, divisor):
            return divisor == extent
    return False


def _add(found: list[Access], access: Access) -> None:
    """Appends, unless nothing is accessed or the same access is known already."""
    is_known = any(
        a.array == access.array and a.must == access.must and a.relation.plain_is_equal(access.relation) for a in found
    )
    if not is_known and not access.relation.is_empty():
        found.append(access)
