"""Macro-statements: a scalar whose life is one iteration, and the small constant loops that use it, as one statement.

    for i in 0..n:                              for i in 0..n:
        alloc s: private i32[]                      alloc s: private i32[]
        s[] = 0                                     s[] = 0
        for d in -1..2:               ->            s[] = s[] + A[i - 1]
            if d != 0:                              s[] = s[] + A[i + 1]
                s[] = s[] + A[i + d]                B[i] = select(s[] == 1, 1, 0)
        B[i] = select(s[] == 1, 1, 0)

Written out, the loops belong to the statement around them, and nothing outside of it sees the scalar. It needs no
element for each iteration, and orders none of them. So do the loops that make one element of an array, as of pooling:

    for i in 0..n:                              for i in 0..n:
        out[i] = -inf                               alloc out0: private f32[]
        for d in 0..2:                ->            out0[] = -inf
            out[i] = max(out[i], A[2 * i + d])      out0[] = max(out0[], A[2 * i])
                                                    out0[] = max(out0[], A[2 * i + 1])
                                                    out[i] = out0[]

Keeps: what is computed, in its order. Where iterations share operands along one loop and not along another, as those of
a product of matrices do, loops are left to register tiles; where a constant loop itself steps through memory, as along
short rows, it stays, since elements side by side are loaded faster. A weighted sum with guards is a convolution of
padded data, for which there are padded copies.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from polysched.config.heuristics.nest import MACRO_ELEMENTS, MACRO_STEPS
from polysched.ir.node import at_element, map_blocks, map_list, statements, substitute, touches, uses, variables, walk
from polysched.ir.nodes import Alloc, Array, Const, Expr, For, Function, If, Load, Select, Stmt, Store
from polysched.ir.rename import bound_names, fresh_names, used_names
from polysched.ir.simplify import simplify
from polysched.model.loops import trip_count
from polysched.prelude.edit import Places, require_done


def write_out(fn: Function, *names: str) -> Function:
    """`fn` with the constant loops written out in these lives, of private scalars or of elements of arrays, each with
    the name of that. InputError for a life in which there are none."""
    if not names:
        return fn
    writing = _Writing(fn, names)
    message = "no constant loops in the life of {} can be written out"
    hint = "name a private scalar, or an array of which loops make one element"
    require_done(names, writing.done, message, hint)
    return replace(fn, body=writing.body)


def lives_to_write_out(fn: Function) -> tuple[str, ...]:
    """The names of the lives that make better statements than loops."""
    return tuple(_Writing(fn).done)


def macro_statements(fn: Function) -> Function:
    """`fn` with all of these written out; the same object if there are none."""
    return write_out(fn, *lives_to_write_out(fn))


class _Writing:
    def __init__(self, fn: Function, names: Collection[str] | None = None):
        self.names = names  # or None, for those that it pays for
        self.taken, self.places, self.done = used_names(fn), Places(), list[str]()
        self.body = map_list(fn.body, lambda stmt: self.inside(stmt, ()))

    def inside(self, stmt: Stmt, loops: tuple[str, ...]) -> Stmt:
        inner = (*loops, stmt.var) if isinstance(stmt, For) and trip_count(stmt) != 1 else loops
        return map_blocks(stmt, lambda body: self.block(body, inner))

    def block(self, body: tuple[Stmt, ...], loops: tuple[str, ...]) -> tuple[Stmt, ...]:
        """A block inside of `loops`; the blocks in what is left of it come after it."""
        for stmt in body if loops else ():
            life = _life(stmt, body)
            if isinstance(stmt, Alloc | Store) and any(isinstance(node, For) for node in walk(body[life])):
                place = self.places.name(stmt.array.name if isinstance(stmt, Alloc) else stmt.array)
                if self.is_meant(place, stmt, body[life], loops):
                    before, after = body[: life.start], body[life.stop :]
                    inside = _in_scalar(stmt, body[life], self.taken) if isinstance(stmt, Store) else body[life]
                    straight = _written_out(inside, {*bound_names(before), *bound_names(after)})
                    if straight is not None:
                        body = (*before, *straight, *after)
                        self.done.append(place)
        return map_list(body, lambda stmt: self.inside(stmt, loops))

    def is_meant(self, place: str, first: Alloc | Store, life: tuple[Stmt, ...], loops: tuple[str, ...]) -> bool:
        if self.names is not None:
            return place in self.names
        has_guards = any(isinstance(node, If | Select) for node in walk(life))
        return _should(life, loops, weights=isinstance(first, Alloc) or not has_guards)


def _life(first: Stmt, body: tuple[Stmt, ...]) -> slice:
    """The statements that use the scalar that `first` declares, or the element that it stores to, and that they set
    from there on; none if it is neither."""
    match first:
        case Alloc(Array(name=name, shape=shape)) if not _is_few(shape):
            return slice(0)
        case Alloc(Array(name=name)) | Store(array=name, index=(_, *_)):
            users = [k for k, stmt in enumerate(body) if touches(stmt, name)]
            life = slice(users[0], users[-1] + 1) if users else slice(0)
            if isinstance(first, Alloc) or (users and body[users[0]] is first and _is_one(first, body[life])):
                return life
    return slice(0)


def _is_few(shape: tuple[Expr, ...]) -> bool:
    """Has an array of this shape a constant number of elements, and a small one?"""
    lengths = [length.value for length in shape if isinstance(length, Const)]
    return len(lengths) == len(shape) and math.prod(lengths) <= MACRO_ELEMENTS


def _is_one(first: Store, life: tuple[Stmt, ...]) -> bool:
    """Is the element set by `first`, and the only one of its array that is used?"""
    moves = any(isinstance(node, Load) for node in walk(first.index)) or variables(first.index) & {*bound_names(life)}
    is_one = all(use.index == first.index for use in uses(life, first.array))
    return is_one and not moves and not touches(first.value, first.array)


def _in_scalar(first: Store, life: tuple[Stmt, ...], taken: set[str]) -> tuple[Stmt, ...]:
    """The life of the element with a scalar in its place, which is stored in the end."""
    scalar = Array(next(fresh_names(first.array, taken)), first.value.dtype, (), "private")
    in_it = at_element(life, first.array, scalar.name, ())
    return (Alloc(scalar), *in_it, replace(first, value=Load(scalar.name, (), scalar.dtype)))


def _should(body: tuple[Stmt, ...], loops: tuple[str, ...], *, weights: bool) -> bool:
    """Does each operand depend on all of the loops that tell the results apart, and step through memory with one of
    them, or with `weights` depend on none?"""
    along = set(loops) & {name for node in walk(body) if isinstance(node, Store) for name in variables(node.index)}
    used = [(variables(node.index) & along, node.index) for node in walk(body) if isinstance(node, Load)]
    moving = [(names, index) for names, index in used if names or (index and not weights)]
    return all(names == along and variables(index[-1:]) & along for names, index in moving)


def _written_out(body: tuple[Stmt, ...], taken: set[str]) -> tuple[Stmt, ...] | None:
    """The scalars that the statements declare, and the statements without loops; None if a loop is not constant, there
    are too many iterations, a branch or a name for a value is in the way, or a scalar's name is bound elsewhere."""
    born, straight, ahead = list[Alloc](), list[Stmt](), list(body)
    for _ in range(MACRO_STEPS):
        if not ahead:
            scalars = tuple(dict.fromkeys(born))  # each once, of all iterations
            names = {alloc.array.name for alloc in scalars}
            return (*scalars, *straight) if len(names) == len(scalars) and not names & taken else None
        match stmt := ahead.pop(0):
            case For(var, Const(int(lo)), Const(int(hi)), step, inner, "serial") if (
                len(range(lo, hi, step)) < MACRO_STEPS
            ):
                trips = [substitute(inner, {var: Const(k)}) for k in range(lo, hi, step)]
                ahead = [*(each for trip in trips for each in simplify(trip)), *ahead]
            case Alloc(array) if _is_few(array.shape):
                born.append(stmt)
            case Store():
                straight.append(stmt)
            case If() if all(isinstance(each, Store | If) for each in statements((stmt,))):
                straight.append(stmt)
            case _:
                return None
    return None
