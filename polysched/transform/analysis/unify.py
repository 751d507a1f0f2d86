"""Which loops of a sum of products are rows, columns and terms of a tensor instruction: the access relations tell.

    C[i, j] += A[i, k] * B[k, j]                              i moves C and A, j C and B, k A and B
    C[y, x, o] += A[y + r, x + s, c] * B[r, s, c, o]          x, o and c so; y, r and s stand still meanwhile

Each factor is to be read in whole lines: along one of its two loops, elements are next to each other in its last
dimension, where no other loop moves it but by whole lines; along the other loop it moves in another dimension. Terms
are all that there is of both factors along theirs: what is copied beyond is beyond the array, and zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from polysched.ir.integers.linear import Linear, added, forms
from polysched.ir.nodes import Binary, Cast, Const, Expr, Load, Stmt, Store, Var
from polysched.ir.simplify import simplify
from polysched.model.affine import value
from polysched.model.instructions.instruction import LINE, Instruction
from polysched.model.scop import Access, Scop, Statement
from polysched.model.tree.nodes import Member
from polysched.support import isl
from polysched.transform.analysis.roles import iterators, step

_Vector = tuple[int, ...]  # by how many elements an access moves, along each dimension


@dataclass(frozen=True)
class Unified:
    """Positions of members."""

    rows: int
    columns: int
    terms: int


def factors(body: tuple[Stmt, ...], of: Instruction) -> tuple[Expr, Expr] | None:
    """The two values whose product is all that `body` adds to an element, if the instruction does so with their types:
    each is made of one element, and of what is the same everywhere."""
    match body:
        case (Store(array, index, Binary("+", Load(own, at, dtype), Binary("*", left, right) as product)),):
            if (array, index) == (own, at) and dtype == product.dtype == of.sum:
                loads = [element(each, of) for each in (left, right)]
                return (left, right) if all(each and each.array != array for each in loads) else None
    return None


def element(factor: Expr, of: Instruction) -> Load | None:
    """The element that a factor is made of, whose type is the instruction's: itself in the type of the sum, or times
    what is the same everywhere."""
    match factor:
        case Load() if factor.dtype == of.factor == of.sum:
            return factor
        case Cast(Load() as load) if load.dtype == of.factor and factor.dtype == of.sum:
            return load
        case Binary("*", Var() | Const(), inner) | Binary("*", inner, Var() | Const()) if of.factor == of.sum:
            return element(inner, of)
    return None


def unify(
    statement: Statement, scop: Scop, members: Sequence[Member], of: Instruction, only: Unified | None = None
) -> Unified | None:
    """The innermost of the members that are so, or `only` these; None if there are none. They are all loops around the
    statement."""
    if factors(statement.body, of) is None:
        return None
    reads = [access for access in statement.reads if access.array != statement.writes[0].array]
    if len(reads) != 2 or len(statement.writes) != 1:
        return None
    moves = [_moves(access, statement, members) for access in (*statement.writes, *reads)]
    if None in moves:
        return None
    sums, left, right = ([any(vector) for vector in vectors or []] for vectors in moves)
    factor = [_Factor(a, v or [], statement, scop, members, of) for a, v in zip(reads, moves[1:], strict=True)]
    for found in _choices(sums, left, right):
        if only not in (None, found):
            continue
        one, other = factor if left[found.rows] else reversed(factor)
        fit = one.fits(found.rows, found.terms) and other.fits(found.columns, found.terms)
        if fit and _are_apart(statement, members, found):
            return found
    return None


def _choices(sums: list[bool], left: list[bool], right: list[bool]) -> Iterator[Unified]:
    """Members that move what they have to, inner ones first."""
    every = range(len(sums) - 1, -1, -1)
    sides = [k for k in every if sums[k] and left[k] != right[k]]
    terms = [k for k in every if left[k] and right[k] and not sums[k]]
    for columns in sides:
        rows = (k for k in sides if left[k] == right[columns])
        yield from (Unified(row, columns, term) for row in rows for term in terms)


def _are_apart(statement: Statement, members: Sequence[Member], found: Unified) -> bool:
    """Is each of the three one iterator, which no other member is made of, and do the terms have bounds that no other
    iterator has a part in?"""
    used = [member.iterators(statement.name) for member in members]
    three = (found.rows, found.columns, found.terms)
    for k in three:
        if not is_iterator(members[k], statement) or any(used[k] & used[o] for o in range(len(used)) if o != k):
            return False
    (terms,) = used[found.terms]
    basics = statement.domain.get_basic_sets()
    together = (
        constraint
        for basic in basics
        for constraint in basic.get_constraints()
        if constraint.involves_dims(isl.dim_type.set, terms, 1)
    )
    others = [k for k in range(statement.depth) if k != terms]
    mixed = (each.involves_dims(isl.dim_type.set, k, 1) for each in together for k in others)
    return len(basics) == 1 and not any(mixed)


def is_iterator(member: Member, statement: Statement) -> bool:
    """Does the loop count one of the statement's iterators up?"""
    pieces = [p for p in member.pieces if p.get_domain_space().get_tuple_name(isl.dim_type.set) == statement.name]
    return len(pieces) == 1 and any(map(pieces[0].plain_is_equal, iterators(statement)))


def _moves(access: Access, statement: Statement, members: Sequence[Member]) -> list[_Vector] | None:
    """By how much the element moves along each member; None if that is not the same everywhere."""
    found = []
    for k in range(len(members)):
        along = step(statement, tuple(members), k)
        if along is None or not access.must:
            return None
        moved = moved_by(access.relation, along)
        if moved is None:
            return None
        found.append(moved)
    return found


def moved_by(relation: isl.Map, along: isl.Map) -> _Vector | None:
    """By how much what { S[x] -> A[y] } gives goes on with a step { S[x] -> S[x'] }; None if that is not the same
    everywhere."""
    deltas = relation.reverse().apply_range(along).apply_range(relation).deltas()
    if not deltas.is_singleton() or deltas.involves_dims(isl.dim_type.param, 0, deltas.dim(isl.dim_type.param)):
        return None
    return isl.coordinates(deltas.sample_point())


@dataclass(frozen=True)
class _Factor:
    """One of the two, and how each member moves it."""

    access: Access
    vectors: list[_Vector]
    statement: Statement
    scop: Scop
    members: Sequence[Member]
    of: Instruction

    def fits(self, side: int, terms: int) -> bool:
        """Is it read in whole lines along one of the two members, and is it all of the array along the terms?"""
        last, line = len(self.vectors[0]) - 1, LINE * 8 // self.of.factor.bits
        moved = [[(d, by) for d, by in enumerate(self.vectors[k]) if by] for k in (side, terms)]
        match moved:
            case [[(across, 1)], [(along, 1)]] if across != along and last in (across, along):
                others = [vector for k, vector in enumerate(self.vectors) if k not in (side, terms)]
                is_in_lines = self.offset(last, line) == 0 and not any(vector[last] % line for vector in others)
                is_own = self.offset(along) == 0 and not any(vector[along] for vector in others)
                can_load = along == last or self.of.reads_across
                return is_in_lines and is_own and can_load and self.is_all(terms, along)
        return False

    @cached_property
    def subscripts(self) -> list[isl.Aff | None]:
        """Those that are one function everywhere."""
        functions = self.access.relation.as_pw_multi_aff()
        pieces = [functions.get_pw_aff(d).get_pieces() for d in range(functions.dim(isl.dim_type.out))]
        return [found[0][1] if len(found) == 1 else None for found in pieces]

    def offset(self, dimension: int, modulo: int = 0) -> int | None:
        """What is added to the iterators there, or its remainder; None where sizes are."""
        subscript = self.subscripts[dimension]
        if subscript is None or subscript.involves_dims(isl.dim_type.param, 0, subscript.dim(isl.dim_type.param)):
            return None
        constant = int(subscript.get_constant_val().to_python())
        return constant % modulo if modulo else constant

    def is_all(self, terms: int, dimension: int) -> bool:
        """Does the member run over all of the array's dimension?"""
        (iterator,) = self.members[terms].iterators(self.statement.name)
        array = next(each for each in self.scop.arrays if each.name == self.access.array)
        domain = self.statement.domain
        return _is(domain.dim_min(iterator), None) and _is(domain.dim_max(iterator), array.shape[dimension])


def _is(end: isl.PwAff, extent: Expr | None) -> bool:
    """Is it the last number below the extent, or zero without one?"""
    if len(end.coalesce().get_pieces()) != 1:
        return False
    found = forms(simplify(value(isl.PwAff.from_aff(end.coalesce().get_pieces()[0][1]))), upper=True)
    wanted: list[Linear] = forms(simplify(extent), upper=True) if extent is not None else [{None: 1}]
    if len(found) != 1 or len(wanted) != 1:
        return False
    return {atom: by for atom, by in added(wanted[0], found[0], -1).items() if by} == {None: 1}
