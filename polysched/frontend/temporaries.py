"""Where the scalars that a nest assigns live: each is declared in the innermost block that it does not outlive.

    for i in 0..n:                          for i in 0..n:
        t = a[i]                ->              alloc t
        b[i] = t * t                            t = a[i]
                                                b[i] = t * t

A declaration inside of a loop says that no value passes from one iteration to the next. A name that is used for
two unrelated things, as in two loops each of which assigns it first, becomes two scalars, `t` and `t_2`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from polysched.ir.node import map_blocks, touches, walk
from polysched.ir.nodes import Alloc, Array, For, If, Stmt, Store
from polysched.ir.rename import rename_array


def declare(body: tuple[Stmt, ...], temporaries: Iterable[Array], taken: Iterable[str]) -> tuple[Stmt, ...]:
    """`body` with an Alloc for each of the temporaries; new names differ from those in `taken`.

    One that may be read before the innermost block with all of its uses writes it is declared at the outermost level.
    """
    names = set(taken)
    for array in temporaries:
        fresh = _fresh_names(array.name, names)
        placed = _placed(body, array, fresh)
        body = _declared(body, 0, array, fresh) if placed is None else placed
    return body


def reads_earlier_value(body: tuple[Stmt, ...], name: str) -> bool:
    """Whether the body may read a value that the scalar has before it."""
    return _flow(body, name)[0]


def _fresh_names(name: str, taken: set[str]) -> Iterator[str]:
    """`name` itself, then `name_2`, `name_3`, ...; each is taken when it is given."""
    yield name
    for k in count(2):
        if (fresh := f"{name}_{k}") not in taken:
            taken.add(fresh)
            yield fresh


def _placed(block: tuple[Stmt, ...], array: Array, fresh: Iterator[str]) -> tuple[Stmt, ...] | None:
    """`block` with Allocs for all uses of the array in it; None if it may read what was written before it."""
    users = [k for k, stmt in enumerate(block) if touches(stmt, array.name)]
    if not users:
        return block
    reads_earlier, _ = _flow(block, array.name)
    if reads_earlier:
        return None
    unrelated = all(isinstance(block[k], For | If) and not _flow((block[k],), array.name)[0] for k in users)
    if unrelated:
        inner = [_inside(stmt, array, fresh) if k in users else stmt for k, stmt in enumerate(block)]
        return tuple(inner)
    return _declared(block, users[0], array, fresh)


def _inside(stmt: Stmt, array: Array, fresh: Iterator[str]) -> Stmt:
    """The loop or branch with Allocs in its blocks; its bounds and its condition do not read the array."""

    def placed(block: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        found = _placed(block, array, fresh)
        assert found is not None, "a loop or branch whose body reads earlier values reads them itself"
        return found

    return map_blocks(stmt, placed)


def _declared(block: tuple[Stmt, ...], first: int, array: Array, fresh: Iterator[str]) -> tuple[Stmt, ...]:
    """`block` with the Alloc just before its first use."""
    name = next(fresh)
    rest = rename_array(block[first:], array.name, name)
    loc = next(node.loc for node in walk(block[first:]) if isinstance(node, Store) and node.array == array.name)
    return (*block[:first], Alloc(replace(array, name=name), loc), *rest)


def _flow(block: tuple[Stmt, ...], name: str) -> tuple[bool, bool]:
    """Whether the block may read a value of the scalar from before it, and whether it surely writes the scalar."""
    written = False
    for stmt in block:
        match stmt:
            case Store(array, index, value):
                reads, writes = touches((*index, value), name), array == name
            case For(lo=lo, hi=hi, body=body):
                reads, writes = touches((lo, hi), name) or _flow(body, name)[0], False  # it may run zero times
            case If(cond, then, other):
                then_flow, other_flow = _flow(then, name), _flow(other, name)
                reads = touches(cond, name) or then_flow[0] or other_flow[0]
                writes = then_flow[1] and other_flow[1]
            case Alloc():
                reads = writes = False
            case _:
                raise TypeError(f"unexpected statement {type(stmt).__name__} in a nest as written")
        if reads and not written:
            return True, False
        written = written or writes
    return False, written
