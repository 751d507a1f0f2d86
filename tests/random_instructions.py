"""Random instructions and nests that they may run, and what is true of them, found by trying all.

    own, fn = random_case(random.Random(7))         fn runs a tile of own's, or nearly so
    why_not(own, fn)                                "" if own can be given tiles of fn, by the addresses of all elements
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

from polysched.ir.build import add, binary, mul
from polysched.ir.dtypes import DType, f64, i32, i64
from polysched.ir.interp import evaluate
from polysched.ir.node import children, walk
from polysched.ir.nodes import Array, Binary, Const, Expr, For, Function, Load, Store, Var
from polysched.model.instructions.own import OwnInstruction

_TURNS = ("+", "*")
_EXTENTS = (2, 3, 4)


def random_case(rng: random.Random) -> tuple[OwnInstruction, Function]:
    """An instruction, and a nest of constant extents around one statement, whose inner loops are t0, t1, ..."""
    nest = _instruction(rng, rng.choice((i32, i32, i64, f64)))
    own = OwnInstruction(nest, _text(nest), strides=_strides(nest, rng))
    return own, _around(own, rng)


def _strides(nest: Function, rng: random.Random) -> tuple[tuple[str, tuple[int | None, ...]], ...]:
    name = rng.choice([array.name for array in nest.arrays])
    rank = len(nest.array(name).shape)
    return ((name, (*(None,) * (rank - 1), 1)),) if rank and rng.random() < 0.25 else ()


def _instruction(rng: random.Random, dtype: DType) -> Function:
    """y[..] = y[..] + A[..] * x[..], or the like."""
    loops = {f"l{k}": rng.choice(_EXTENTS) for k in range(rng.choice((1, 2, 2, 3)))}
    arrays: dict[str, tuple[Expr, ...]] = {}
    for name in ("y", "A", "x"):
        used = [loop for loop in loops if rng.random() < 0.7]
        rng.shuffle(used)
        arrays[name] = tuple(map(Var, used))
    if len(arrays["x"]) == 2 and rng.random() < 0.3:
        inner, outer = arrays["x"]
        arrays["x"] = (add(mul(outer, loops[inner.name]), inner),)  # type: ignore[attr-defined]
    y, a, x = (Load(name, index, dtype) for name, index in arrays.items())
    value = rng.choice(
        (
            lambda: add(y, mul(a, x)),
            lambda: add(mul(a, x), y),
            lambda: binary("-", y, mul(x, a)),
            lambda: binary("max", y, add(a, x)),
            lambda: mul(a, binary("-", x, a)),
            lambda: add(y, mul(Var("s", dtype), binary("-", a, x))),
        )
    )()
    body: tuple = (Store("y", arrays["y"], value),)
    for name, extent in reversed(loops.items()):
        body = (For(name, Const(0), Const(extent), 1, body),)
    used_names = {node.array for node in walk(body) if isinstance(node, Load | Store)}
    shapes = [Array(n, dtype, _shape(index, loops, rng, 0)) for n, index in arrays.items() if n in used_names]
    scalars = (Var("s", dtype),) if any(node == Var("s", dtype) for node in walk(value)) else ()
    return Function(f"own{rng.randrange(10**9)}", (), tuple(shapes), body, scalars)


def _shape(index: tuple[Expr, ...], loops: Mapping[str, int], rng: random.Random, slack: int) -> tuple[Expr, ...]:
    last = {name: extent - 1 for name, extent in loops.items()}
    return tuple(Const(int(evaluate(part, last)) + 1 + rng.randint(0, slack)) for part in index)


def _around(own: OwnInstruction, rng: random.Random) -> Function:
    """A nest that has the instruction's statement, with operands that lie anywhere, and now and then wrongly."""
    tile = {f"t{k}": n * rng.choice((1, 2, 2)) + rng.choice((0, 0, 1)) for k, n in enumerate(own.loops.values())}
    loops = {"b": 2, **tile}
    names = dict(zip(own.loops, tile, strict=True))
    indices = {name: _index(own, name, names, rng) for name in own.indices}
    arrays = {name: f"{name}_" for name in indices}
    if rng.random() < 0.1 and len(indices) > 1:  # the same array twice
        other = rng.choice([name for name in indices if name != "y"])
        arrays[other] = "y_"
        indices[other] = (*indices[other], *(Const(0),) * 3)[: len(indices["y"])]

    def placed(expr: Expr) -> Expr:
        match expr:
            case Load(name, _, dtype):
                return Load(arrays[name], indices[name], dtype)
            case Binary(op, left, right):
                one, two = placed(left), placed(right)
                if op in _TURNS and rng.random() < 0.5:
                    one, two = two, one
                if rng.random() < 0.04:
                    op = rng.choice(("+", "-", "*", "max"))
                return Binary(op, one, two)
            case Var("s", dtype):
                options = (expr, Const(3.0 if dtype.is_float else 3, dtype), Load("w", (Var("b"),), dtype))
                return rng.choice((*options, Load("w", (Var(rng.choice(list(loops))),), dtype)))
        return expr

    store = Store("y_", indices["y"], placed(own.store.value))
    body: tuple = (store,)
    for name, extent in reversed(loops.items()):
        body = (For(name, Const(0), Const(extent), 1, body),)
    shapes: dict[str, list[tuple[Expr, ...]]] = {}
    dtype = store.value.dtype
    for node in walk(store):
        if isinstance(node, Load | Store):
            shapes.setdefault(node.array, []).append(_shape(node.index, loops, rng, 2))
    made = [Array(name, dtype, tuple(map(_largest, zip(*each, strict=True)))) for name, each in shapes.items()]
    scalars = (Var("s", dtype),) if any(node == Var("s", dtype) for node in walk(store)) else ()
    return Function("around", (), tuple(made), body, scalars)


def _largest(extents: tuple[Const, ...]) -> Const:
    return max(extents, key=lambda each: each.value)


def _index(own: OwnInstruction, name: str, names: Mapping[str, str], rng: random.Random) -> tuple[Expr, ...]:
    """Subscripts of an array that has the operand in it, or of one that may not."""
    if rng.random() < 0.15:
        loops = [*names.values(), "b"]
        sums = ([Var(each) for each in loops if rng.random() < 0.4] for _ in range(rng.choice((1, 2))))
        return tuple(add(*parts) if parts else Const(0) for parts in sums)
    parts: list[Expr] = []
    for row in own.moves(name):
        steps = {Var(loop): by for loop, by in zip(names.values(), row, strict=True) if by}
        terms = [mul(loop, by) if by > 1 else loop for loop, by in steps.items()]
        part = add(*terms) if terms else Const(0)
        parts.append(mul(part, 2) if rng.random() < 0.15 else part)
    if rng.random() < 0.3:
        parts.append(Var("b"))
    if rng.random() < 0.2 and parts:
        k = rng.randrange(len(parts))
        parts[k] = add(parts[k], rng.choice((Const(1), Var("b"))))
    rng.shuffle(parts)
    return tuple(parts)


def _text(nest: Function) -> str:
    """The C that does it, a loop for each."""
    loops: list[str] = []
    body = nest.body
    while isinstance(loop := body[0], For):
        loops.append(f"for (int64_t {loop.var} = 0; {loop.var} < {loop.hi.value}; {loop.var}++)")  # type: ignore[attr-defined]
        body = loop.body
    (store,) = body
    assert isinstance(store, Store)
    target = _spelled(Load(store.array, store.index, store.value.dtype))
    return "\n".join([*loops, f"    {target} = {_spelled(store.value)};"])


def _spelled(expr: Expr) -> str:
    match expr:
        case Load(array, index):
            at = " + ".join(f"({_spelled(part)}) * {array}_{k}" for k, part in enumerate(index))
            return f"{array}[{at or 0}]"
        case Binary("max", left, right):
            one, two = _spelled(left), _spelled(right)
            return f"({two} > {one} ? {two} : {one})"
        case Binary(op, left, right):
            return f"({_spelled(left)} {op} {_spelled(right)})"
        case Var(name):
            return name
        case Const(value):
            return str(value)
    raise AssertionError(expr)


# --- by trying all


def why_not(own: OwnInstruction, fn: Function) -> str:
    """Why no tile of the nest can be given to the instruction; "" if one can, whatever the way."""
    body, loops = fn.body, dict[str, int]()
    while isinstance(loop := body[0], For):
        loops[loop.var] = int(loop.hi.value)  # type: ignore[attr-defined]
        body = loop.body
    (store,) = body
    assert isinstance(store, Store)
    extents = {array.name: tuple(int(e.value) for e in array.shape) for array in fn.arrays}  # type: ignore[attr-defined]
    tile = [name for name in loops if name.startswith("t")]
    reasons = []
    for pairs in _pairs(own.store.value, store.value, {"y": Load(store.array, store.index, store.value.dtype)}):
        reason = _refused(own, pairs, tile, extents) or _overlaps(own, pairs, loops, extents)
        if not reason:
            return ""
        reasons.append(reason)
    return reasons[0] if reasons else "another operation"


def _pairs(own: Expr, other: Expr, pairs: dict[str, Expr]) -> Iterator[dict[str, Expr]]:
    match own:
        case Load(array=name) | Var(name=name):
            if (isinstance(own, Var) or isinstance(other, Load)) and pairs.get(name, other) == other:
                yield {**pairs, name: other}
        case Const():
            if own == other:
                yield pairs
        case Binary(op, left, right) if isinstance(other, Binary) and other.op == op:
            one, two = children(other)
            for a, b in ((one, two), (two, one)) if op in _TURNS else ((one, two),):
                for found in _pairs(left, a, pairs):
                    yield from _pairs(right, b, found)


def _refused(
    own: OwnInstruction, pairs: dict[str, Expr], tile: list[str], extents: Mapping[str, tuple[int, ...]]
) -> str:
    points = [dict(zip(tile, at, strict=True)) for at in product(*map(range, own.loops.values()))]
    for name, part in pairs.items():
        if name not in own.indices:
            if any(node == Var(each) for node in walk(part) for each in tile):
                return f"{name} is one value"
            continue
        assert isinstance(part, Load)
        found: dict[tuple[int, ...], set[int]] = {}
        for point in points:
            theirs = dict(zip(own.loops, point.values(), strict=True))
            at = tuple(int(evaluate(i, theirs)) for i in own.indices[name])
            found.setdefault(at, set()).add(_address(part, point, extents))
        if any(len(each) > 1 for each in found.values()):
            return f"{name} is at several addresses"
        addresses = {at: next(iter(each)) for at, each in found.items()}
        if not _has_strides(addresses, own.needs(name), max(map(prod, extents.values()))):
            return f"{name} has no strides"
        if name == "y" and len(set(addresses.values())) < len(addresses):
            return "y is at one address"
    return ""


def _overlaps(
    own: OwnInstruction, pairs: dict[str, Expr], loops: dict[str, int], extents: Mapping[str, tuple[int, ...]]
) -> str:
    """Does some tile read, for another operand, what it changes?"""
    changed, read = set[tuple[object, ...]](), set[tuple[object, ...]]()
    sizes = {"b": 1, **{f"t{k}": extent for k, extent in enumerate(own.loops.values())}}
    for at in product(*map(range, loops.values())):
        point = dict(zip(loops, at, strict=True))
        tile = tuple(value // sizes[name] for name, value in point.items())
        for name, part in pairs.items():
            loads = [node for node in walk(part) if isinstance(node, Load)]
            each = {(tile, node.array, _address(node, point, extents)) for node in loads}
            (changed if name == "y" else read).update(each)
    return "y is read" if changed & read else ""


def _address(load: Load, point: Mapping[str, int], extents: Mapping[str, tuple[int, ...]]) -> int:
    address = 0
    for part, extent in zip(load.index, extents[load.array], strict=True):
        address = address * extent + int(evaluate(part, {"b": 0, **point}))
    return address


def _has_strides(addresses: dict[tuple[int, ...], int], needs: tuple[int | None, ...], most: int) -> bool:
    """Is there a stride for each dimension, as it needs to be, by which all addresses follow from the first one?"""
    origin = addresses[(0,) * len(needs)]
    moving = [len({at[d] for at in addresses}) > 1 for d in range(len(needs))]
    options = [(by,) if by is not None else range(-most, most + 1) for by in needs]
    ways = {}
    for d, tried in enumerate(options):
        alone = [at for at in addresses if at[d] and not any(at[:d]) and not any(at[d + 1 :])]
        fits = (by for by in tried if all(addresses[at] == origin + by * at[d] for at in alone))
        ways[d] = next(fits, None) if moving[d] else 0
    if None in ways.values():
        return False
    steps = {at: sum(by * k for by, k in zip(ways.values(), at, strict=True)) for at in addresses}
    return all(addresses[at] == origin + by for at, by in steps.items())
