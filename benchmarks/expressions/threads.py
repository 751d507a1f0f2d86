"""Nests on a GPU's threads as they stand, one element of the result for each; and what such a thread executes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polysched as ps
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.emit.source import Source
from polysched.codegen.gpu.planes import fold_planes
from polysched.codegen.memory.linearize import linearize
from polysched.codegen.stage import improve_expressions
from polysched.config.target import TARGETS
from polysched.counts.sass.counts import Counts
from polysched.counts.sass.execute.thread import Triple, run_thread
from polysched.counts.sass.launches import find_launches
from polysched.counts.sass.parse import Assembly
from polysched.counts.sass.report import Report
from polysched.ir.build import add, binary, mul
from polysched.ir.node import substitute
from polysched.ir.nodes import Const, Expr, For, Function, Stmt, Var
from polysched.model.loops import trip_count
from polysched.prelude.structure.structure import structured

_WIDTH = 256  # threads of a block that takes elements as they are numbered
_FAR = 1 << 40  # bytes from an array to the next
OPTIONS = ps.Options(contract_floats=True)
_TILE = {"x": 32, "y": 8}


@dataclass(frozen=True)
class Mapped:
    """A nest as it runs on threads: `source` prints it, `is_fused` if its elements are numbered through."""

    nest: Function
    source: Source
    is_fused: bool


@dataclass(frozen=True)
class Element:
    """An element of the result: its number, and its place on the axes that `on_threads` maps to x, y and z."""

    number: int
    place: Triple


def as_it_stands(nest: Function) -> Mapped:
    """Without any pass over expressions."""
    return Mapped(nest, _printed(linearize(on_threads(nest, 1))), is_fused=True)


def through_the_stage(nest: Function, shape: str) -> Mapped:
    """Taken apart, then mapped, then with all passes over expressions."""
    apart = structured(nest)
    outer = 1 + len(_perfect(apart)) - len(_perfect(nest))
    mapped = on_threads(apart, outer, shape)
    fn = improve_expressions(linearize(fold_planes(mapped)), OPTIONS, TARGETS["cuda"])
    return Mapped(nest, _printed(fn), is_fused=outer == 1)


def on_threads(fn: Function, outer: int, shape: str = "") -> Function:
    """`fn` with the `outer` loops around its elements on threads: a single one in blocks of 256, else the innermost two
    in blocks of 8 x 32, and those around them on planes of blocks. Loops of a few constant iterations are in the
    thread, and loops over the factors of a product in `shape` are one."""
    loops = _perfect(fn)[:outer]
    body: tuple[Stmt, ...] = loops[-1].body
    if outer == 1:
        return replace(fn, body=(_blocks(loops[0], "x", _WIDTH, (_threads(loops[0], "x", _WIDTH, body),)),))
    few = [loop for loop in loops if (trips := trip_count(loop)) is not None and trips <= OPTIONS.tiny_loop]
    for loop in reversed(few):
        body = (replace(loop, body=body),)
    loops = [loop for loop in loops if loop not in few]
    for factors in [word.split("*") for word in shape.split() if "*" in word]:
        loops, body = _rejoined(loops, body, [*map(Var, factors)])
    x, y, *planes = reversed(loops)
    body = (_threads(y, "y", _TILE["y"], (_threads(x, "x", _TILE["x"], body),)),)
    body = (_blocks(y, "y", _TILE["y"], (_blocks(x, "x", _TILE["x"], body),)),)
    for loop in planes:
        body = (replace(loop, kind="block.z" if loop is planes[0] else "block.w", body=body),)
    return replace(fn, body=body)


def _rejoined(loops: list[For], body: tuple[Stmt, ...], factors: list[Var]) -> tuple[list[For], tuple[Stmt, ...]]:
    """One loop for the two next to each other that run over these factors."""
    (at,) = [k for k in range(len(loops) - 1) if [loops[k].hi, loops[k + 1].hi] == factors]
    high, low = loops[at : at + 2]
    both = f"{high.var}_{low.var}"
    digits: dict[str, Expr] = {
        high.var: binary("floordiv", Var(both), low.hi),
        low.var: binary("floormod", Var(both), low.hi),
    }
    whole = replace(high, var=both, hi=mul(high.hi, low.hi))
    return [*loops[:at], whole, *loops[at + 2 :]], substitute(body, digits)


def _printed(fn: Function) -> Source:
    return emit_cuda(fn, contract=OPTIONS.contract_floats)


def _perfect(fn: Function) -> list[For]:
    """The loops that hold nothing but the next one."""
    loops: list[For] = []
    body = fn.body
    while len(body) == 1 and isinstance(body[0], For):
        loops.append(body[0])
        body = body[0].body
    return loops


def _blocks(loop: For, axis: str, width: int, body: tuple[Stmt, ...]) -> For:
    return replace(loop, var=f"{loop.var}_block", step=width, kind=f"block.{axis}", body=body)


def _threads(loop: For, axis: str, width: int, body: tuple[Stmt, ...]) -> For:
    first = Var(f"{loop.var}_block")
    end = binary("min", loop.hi, add(first, Const(width)))
    return replace(loop, lo=first, hi=end, kind=f"thread.{axis}", body=body)


def count_threads(
    report: Report, mapped: Mapped, sizes: Mapping[str, int], elements: Sequence[Element]
) -> list[Counts]:
    """What the threads of these elements execute."""
    (launch,) = find_launches(mapped.source, mapped.nest, sizes)
    places = [_in_blocks(element.number) if mapped.is_fused else _in_tiles(*element.place) for element in elements]
    assembly = report[launch.kernel].assembly
    given = launch.arguments[: len(assembly.parameters)]
    return [
        run_thread(assembly, given, threads=launch.threads, blocks=launch.blocks, block=block, thread=thread)
        for block, thread in dict.fromkeys(places)
    ]


def count_naive(
    kernel: Assembly, nest: Function, sizes: Mapping[str, int], total: int, elements: Sequence[Element]
) -> list[Counts]:
    """What the threads of these elements, out of `total`, execute of a kernel with the nest's parameters."""
    blocks, threads = grid_for(total)
    pointers = [(k + 1) * _FAR for k in range(len(nest.arrays))]
    given = [*pointers, *(sizes[size] for size in nest.sizes)]
    return [
        run_thread(kernel, given, threads=(threads, 1, 1), blocks=(blocks, 1, 1), block=block, thread=thread)
        for block, thread in (_in_blocks(element.number) for element in elements)
    ]


def grid_for(elements: int) -> tuple[int, int]:
    """Blocks and threads of each, one thread for each element."""
    return -(-elements // _WIDTH), _WIDTH


def _in_blocks(element: int) -> tuple[Triple, Triple]:
    """The block and the thread of an element."""
    return (element // _WIDTH, 0, 0), (element % _WIDTH, 0, 0)


def _in_tiles(x: int, y: int, z: int) -> tuple[Triple, Triple]:
    """The same where blocks are 8 x 32."""
    return (x // _TILE["x"], y // _TILE["y"], z), (x % _TILE["x"], y % _TILE["y"], 0)
