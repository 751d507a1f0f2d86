"""Private accumulators for the loops that reduce: partial results of threads, variables for SIMD lanes.

    for i in 0..n (parallel if w, reduces s):      if w:
        s[0] = s[0] + a[i]                             part: f64[32]
                                                       for b in 0..32 (parallel):
                                                           acc: f64
                                              ->           acc = -0.0
                                                           for i in <part b of 0..n> (vector, reduces acc):
                                                               acc = acc + a[i]
                                                           part[b] = acc
                                                       for b in 0..32:
                                                           s[0] = s[0] + part[b]
                                                   else:
                                                       for i in 0..n: s[0] = s[0] + a[i]

The iterations are cut in as many parts whatever the number of threads, and the parts are combined in their order: so
is the result the same for any number of threads. Where the loop updates a row of elements, each part has the row.
A loop whose updates do not fit this runs serially.

Needs: names are bound once; subscripts are not linearized yet; steps are positive.
Keeps: which updates each element gets; the order of those of floats is another one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from polysched.codegen.emit.extents import bounded, trips
from polysched.ir.build import add, binary, conjunction, floordiv, mul, sub
from polysched.ir.dtypes import DType
from polysched.ir.linear import expression, forms
from polysched.ir.node import map_children, rewrite, substitute, walk
from polysched.ir.nodes import (
    PARALLEL,
    Alloc,
    Array,
    Binary,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Stmt,
    Store,
    Var,
)
from polysched.ir.rename import fresh_names, rename_bound, used_names
from polysched.model.reduction import reduction_operator

PARTS = 32  # of a loop on threads: more than there are threads, few enough to be combined in no time
LEAST = 4 * PARTS  # iterations of a loop whose parts have rows of their own


def privatize(fn: Function, *, vector: bool = True) -> Function:
    """`fn` without parallel loops that reduce, and with SIMD loops that reduce scalar variables alone.

    `vector`: the loop over a part becomes SIMD where it is an innermost one.
    """
    if not any(isinstance(node, For) and node.reduces for node in walk(fn.body)):
        return fn
    function: Function = map_children(fn, _Privatizer(fn, vector).visit)
    return function


@dataclass(frozen=True)
class _Row:
    """The elements along one dimension of an array: those that a loop updates are among them."""

    axis: int
    low: Expr
    extent: Expr


@dataclass(frozen=True, kw_only=True)
class _Update:
    """What a loop does to an array that it reduces: a[index] = a[index] op e, with `index` fixed but along `row`."""

    array: Array
    op: str
    index: tuple[Expr, ...]
    row: _Row | None

    def element(self, position: Expr) -> tuple[Expr, ...]:
        """The subscript of the element at this position of the row."""
        if self.row is None:
            return self.index
        return tuple(add(self.row.low, position) if k == self.row.axis else x for k, x in enumerate(self.index))


class _Privatizer:
    def __init__(self, fn: Function, vector: bool):
        self.vector = vector
        self.taken = used_names(fn)
        self.names = fresh_names("p", self.taken)
        local = (node.array for node in walk(fn.body) if isinstance(node, Alloc))
        self.arrays = {array.name: array for array in (*fn.arrays, *local)}

    def visit(self, node: Any) -> Any:
        if isinstance(node, For) and node.reduces:
            updates = self.updates(node)
            if updates is not None and node.kind in PARALLEL:
                return self.on_threads(node, updates)
            if updates is not None and node.kind == "vector" and not any(update.row for update in updates):
                return self.on_lanes(node, updates)
            return self.visit(replace(node, kind="serial", reduces=(), when=()))
        return map_children(node, self.visit)

    def updates(self, loop: For) -> list[_Update] | None:
        """What the loop does to each array that it reduces; None if there is one of which parts cannot be made."""
        found = []
        for name in loop.reduces:
            stores = [node for node in walk(loop.body) if isinstance(node, Store) and node.array == name]
            loads = [node for node in walk(loop.body) if isinstance(node, Load) and node.array == name]
            operators = {reduction_operator((store,)) for store in stores}
            if not stores and not loads:
                continue  # where isl has cut the loop in pieces
            updating = [node for node in walk(tuple(stores)) if isinstance(node, Load) and node.array == name]
            others = [node for node in loads if node.index not in {store.index for store in stores}]
            place = _place(self.arrays[name], [store.index for store in stores], loop)
            if len(updating) != len(loads) or len(operators) != 1 or "" in operators or place is None:
                return None
            if others and loop.kind in PARALLEL:  # lanes may read other elements, which no iteration updates
                return None
            index, row = place
            found.append(_Update(array=self.arrays[name], op=operators.pop(), index=index, row=row))
        return found

    def on_lanes(self, loop: For, updates: list[_Update]) -> tuple[Stmt, ...]:
        """The loop on scalar variables, which take the elements of arrays meanwhile."""
        moved = [update for update in updates if update.array.shape or update.array.space == "global"]
        names = {update.array.name: self.variable(update) for update in moved}
        before: list[Stmt] = []
        after: list[Stmt] = []
        for update in moved:
            variable, dtype = names[update.array.name], update.array.dtype
            before += [Alloc(Array(variable, dtype, (), "private"))]
            before += [Store(variable, (), Load(update.array.name, update.index, dtype))]
            after += [Store(update.array.name, update.index, Load(variable, (), dtype))]
        body = rewrite(loop.body, _variables(names, [n for n in walk(loop.body) if isinstance(n, Store)]))
        reduced = tuple(names.get(update.array.name, update.array.name) for update in updates)
        lanes = replace(loop, body=body, reduces=reduced)
        return (If(binary("<", loop.lo, loop.hi), (*before, lanes, *after)),) if moved else (lanes,)

    def on_threads(self, loop: For, updates: list[_Update]) -> tuple[Stmt, ...]:
        """The loop in parts, where it is worth its threads, or as it was."""
        count, size, part = trips(loop), next(self.names), next(self.names)
        partial = {update.array.name: self.partial(update) for update in updates}
        parts = For(part, Const(0), Const(PARTS), 1, self.part(loop, updates, partial, part, size), loop.kind, loop.loc)
        combined = tuple(stmt for update in updates for stmt in self.combined(update, partial[update.array.name]))
        in_parts = (
            *(Alloc(array) for array in partial.values()),
            Let(size, mul(floordiv(add(count, PARTS - 1), PARTS), loop.step)),
            parts,
            *combined,
        )
        conditions = [*loop.when]
        if any(update.row for update in updates):
            conditions.append(binary(">=", count, LEAST))
        if not conditions:
            return in_parts
        (copy,) = rename_bound((loop,), lambda name: next(self.names))
        self.arrays |= {node.array.name: node.array for node in walk(copy) if isinstance(node, Alloc)}
        kind = "vector" if self.vector and _is_flat(copy) else "serial"
        alone = self.visit(replace(copy, kind=kind, when=()))
        return (If(conjunction(conditions), in_parts, alone if isinstance(alone, tuple) else (alone,)),)

    def partial(self, update: _Update) -> Array:
        """One accumulator for each part."""
        extents = () if update.row is None else (update.row.extent,)
        return Array(self.variable(update), update.array.dtype, (Const(PARTS), *extents), "private")

    def part(
        self, loop: For, updates: list[_Update], partial: Mapping[str, Array], part: str, size: str
    ) -> tuple[Stmt, ...]:
        """The iterations of one part, with accumulators that begin with nothing."""
        before: list[Stmt] = []
        after: list[Stmt] = []
        moves: dict[str, tuple[str, tuple[Expr, ...]]] = {}
        rows: dict[str, _Row] = {}
        for update in updates:
            array, dtype = partial[update.array.name], update.array.dtype
            nothing = _identity(update.op, dtype)
            if update.row is None:
                variable = self.variable(update)
                before += [Alloc(Array(variable, dtype, (), "private")), Store(variable, (), nothing)]
                after.append(Store(array.name, (Var(part),), Load(variable, (), dtype)))
                moves[update.array.name] = variable, ()
            else:
                k = next(self.names)
                zero = Store(array.name, (Var(part), Var(k)), nothing)
                before.append(For(k, Const(0), update.row.extent, 1, (zero,)))
                moves[update.array.name] = array.name, (Var(part),)
                rows[update.array.name] = update.row
        first = add(loop.lo, mul(Var(part), Var(size)))
        iterations = replace(loop, lo=first, hi=binary("min", loop.hi, add(first, Var(size))), when=())
        inner = rewrite(iterations, _moves(moves, rows))
        self.arrays |= {stmt.array.name: stmt.array for stmt in before if isinstance(stmt, Alloc)}
        self.arrays |= {array.name: array for array in partial.values()}
        kind = "vector" if self.vector and _is_flat(inner) and not rows else "serial"
        done = self.visit(replace(inner, kind=kind, reduces=inner.reduces if kind == "vector" else ()))
        return (*before, *(done if isinstance(done, tuple) else (done,)), *after)

    def combined(self, update: _Update, partial: Array) -> tuple[Stmt, ...]:
        """Adds the parts to the elements, first part first."""
        part, k, dtype = next(self.names), next(self.names), update.array.dtype
        target = update.element(Var(k))
        at = (Var(part),) if update.row is None else (Var(part), Var(k))
        old, more = Load(update.array.name, target, dtype), Load(partial.name, at, dtype)
        body: Stmt = Store(update.array.name, target, Binary(update.op, old, more))
        if update.row is not None:
            body = For(k, Const(0), update.row.extent, 1, (body,), "vector" if self.vector else "serial")
        return (For(part, Const(0), Const(PARTS), 1, (body,)),)

    def variable(self, update: _Update) -> str:
        return next(fresh_names(f"{update.array.name}_", self.taken))


def _place(array: Array, subscripts: list[tuple[Expr, ...]], loop: For) -> tuple[tuple[Expr, ...], _Row | None] | None:
    """The subscript that all of these are, as it is outside of the loop, and the row in which they differ; None if they
    differ in two dimensions, or by what is not known outside."""
    loops = {node.var: node for node in walk(loop) if isinstance(node, For)}
    lets: dict[str, Expr] = {}
    for node in walk(loop.body):
        if isinstance(node, Let):
            lets[node.name] = substitute(node.value, lets)
    index: list[Expr] = []
    row = None
    for axis, extent in enumerate(array.shape):
        found = sorted({_plain(substitute(subscript[axis], lets)) for subscript in subscripts}, key=str)
        index.append(found[0])
        if len(found) == 1 and not any(isinstance(node, Var) and node.name in loops for node in walk(found[0])):
            continue
        lows = [bounded(part, loops, upper=False) for part in found]
        highs = [bounded(part, loops, upper=True) for part in found]
        if row is not None or None in lows or None in highs:
            return None
        low = reduce(lambda a, b: Binary("min", a, b), [part for part in lows if part])
        high = reduce(lambda a, b: Binary("max", a, b), [part for part in highs if part])
        # Bounds of loops are not exact: the elements between them are in the array all the same.
        low, high = Binary("max", low, Const(0)), Binary("min", high, sub(extent, 1))
        row = _Row(axis, low, Binary("max", add(sub(high, low), 1), Const(0)))
    return tuple(index), row


def _plain(expr: Expr) -> Expr:
    """The expression with what adds up to nothing left out."""
    found = forms(expr, upper=True)
    return expression({k: v for k, v in found[0].items() if v}) if len(found) == 1 else expr


def _variables(names: Mapping[str, str], stores: list[Store]) -> Any:
    """The rule that puts variables in place of the elements that are stored, of the arrays named."""
    updated = {(store.array, store.index) for store in stores}

    def rule(node: Any) -> Any:
        is_moved = isinstance(node, Load | Store) and node.array in names and (node.array, node.index) in updated
        return replace(node, array=names[node.array], index=()) if is_moved else None

    return rule


def _moves(elements: Mapping[str, tuple[str, tuple[Expr, ...]]], rows: Mapping[str, _Row] | None = None) -> Any:
    """The rule that puts other elements in place of those of some arrays."""

    def rule(node: Any) -> Any:
        match node:
            case Load(array=name) | Store(array=name) if name in elements:
                array, index = elements[name]
                if rows and name in rows:
                    index = (*index, sub(node.index[rows[name].axis], rows[name].low))
                return replace(node, array=array, index=index)
            case For(reduces=names) if names:
                return replace(node, reduces=tuple(elements[n][0] if n in elements else n for n in names))
        return None

    return rule


def _is_flat(loop: For) -> bool:
    return all(isinstance(stmt, Store | Let) for stmt in loop.body)


def _identity(op: str, dtype: DType) -> Const:
    """The value that changes no other one under `op`, bit for bit: -0.0 + 0.0 is 0.0, so it is -0.0 for sums."""
    is_float, is_signed = dtype.kind == "f", dtype.kind == "i"
    match op:
        case "+":
            return Const(-0.0 if is_float else 0, dtype)
        case "|" | "^":
            return Const(0, dtype)
        case "*":
            return Const(1.0 if is_float else 1, dtype)
        case "&":
            return Const(-1 if is_signed else (1 << dtype.bits) - 1, dtype)
        case "min":
            largest = (1 << dtype.bits - is_signed) - 1
            return Const(math.inf if is_float else largest, dtype)
        case "max":
            least = -(1 << dtype.bits - 1) if is_signed else 0
            return Const(-math.inf if is_float else least, dtype)
    raise ValueError(f"{op} has no identity")
