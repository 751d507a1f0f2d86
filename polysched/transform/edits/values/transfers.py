"""Statements that copy elements of an array to a small one, or back.

    { [i_o] -> A[x] : 32 i_o <= x < 32 i_o + 32 }        load_A[i_o, A0]:  A_c[A0 - 32 i_o] = A[A0]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import IllegalSchedule
from polysched.ir.nodes import Array, Expr, Load, Store, Var
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Domain, Leaf, Member, Tree
from polysched.support import isl
from polysched.transform.edits.base.loops import free, nest
from polysched.transform.edits.values.copies import from_instances, iterator_names, names_in
from polysched.transform.edits.values.footprint import Box

_MOST_PARTS = 12  # of what is copied; rows of stencils have one, several rows one each


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A statement that copies one element, in an order of its own."""

    statement: Statement
    order: Tree  # over the elements of one arrival
    coordinates: tuple[isl.UnionMap, ...]  # { load_A[o, x] -> [o_k] } for each loop around


@dataclass(frozen=True, kw_only=True)
class Small:
    """A small array, and the box of another one that each arrival has in it."""

    wide: Array
    array: Array
    box: Box
    loops: tuple[str, ...]  # the loops around, which say which arrival it is

    def loaded(self, elements: isl.Map, scop: Scop) -> Transfer:
        """Copies the elements { [o] -> A[x] } to the small array."""
        return self._transfer(elements, scop, is_load=True)

    def stored(self, elements: isl.Map, scop: Scop) -> Transfer:
        """Copies the elements back."""
        return self._transfer(elements, scop, is_load=False)

    def _transfer(self, elements: isl.Map, scop: Scop, *, is_load: bool) -> Transfer:
        name = free(f"{'load' if is_load else 'store'}_{self.wide.name}", names_in(scop))
        wanted = (*self.loops, *(f"{self.wide.name}{k}" for k in range(len(self.wide.shape))))
        iterators = iterator_names(wanted, replace(scop, statements=()))
        elements = _convex(elements.coalesce())
        if elements.n_basic_map() > _MOST_PARTS:
            what = f"what an iteration needs of '{self.wide.name}' is in {elements.n_basic_map()} pieces"
            raise IllegalSchedule(f"{what}, too many for loops that copy it")
        wide, arrival = (from_instances(m, name, iterators) for m in (elements.range_map(), elements.domain_map()))
        domain = wide.domain()
        own = self.box.relation(wide, arrival, self.array.name)
        at: tuple[Expr, ...] = tuple(map(Var, iterators[len(self.loops) :]))
        within = self.box.element(at, arrival, iterators)
        there = Access(array=self.wide.name, relation=wide), Load(self.wide.name, at, self.wide.dtype)
        here = Access(array=self.array.name, relation=own), Load(self.array.name, within, self.array.dtype)
        (read, value), (write, target) = (there, here) if is_load else (here, there)
        statement = Statement(
            name=name,
            iterators=iterators,
            domain=domain,
            reads=(read,),
            writes=(write,),
            body=(Store(target.array, target.index, value),),
        )
        depth = len(self.loops)
        rows = [_along(domain, k) for k in range(len(iterators))]
        inner = [depth + axis for axis in self.box.axes]
        return Transfer(
            statement=statement,
            order=Domain(isl.UnionSet.from_set(domain), nest([Member(rows[k], name=wanted[k]) for k in inner], Leaf())),
            coordinates=tuple(rows[:depth]),
        )


def _convex(elements: isl.Map) -> isl.Map:
    """The elements as one convex set, if they are: coalescing alone does not always find it."""
    arrivals = isl.Set.from_basic_set(elements.domain().coalesce().simple_hull())
    hull = isl.Map.from_basic_map(elements.simple_hull()).intersect_domain(arrivals)
    return hull if hull.is_equal(elements) else elements


def _along(domain: isl.Set, k: int) -> isl.UnionMap:
    """{ load_A[o, x] -> [the k-th of them] }"""
    space = isl.LocalSpace.from_space(domain.get_space())
    value = isl.Aff.var_on_domain(space, isl.dim_type.set, k)
    return isl.UnionMap.from_map(isl.Map.from_pw_aff(isl.PwAff.from_aff(value)))
