"""From a schedule tree to loops, through isl's AST generator (Grosser, Verdoolaege, Cohen, TOPLAS 2015).

    band: S[i, j] -> i + j            for c0 in 0..2 * n - 1:
          S[i, j] -> j          ->        for c1 in max(0, c0 - n + 1)..min(c0 + 1, n):
                                              <body of S with i = c0 - c1, j = c1>

Needs: a legal tree.
Gives: a Function at stage "lowered": names bound once, steps positive; marks have become kinds of loops, each of which
says from which loop of the tree it came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

from polysched.codegen.emit.source import parameters
from polysched.codegen.full_loop import full_loop
from polysched.codegen.instances import has_strides, leaves_out_by_remainder, runs_exactly
from polysched.codegen.lowered import outermost
from polysched.codegen.parallel.threads import threshold, worth_threads
from polysched.codegen.tile_space import Tile, cut_at_tiles
from polysched.deps.arrivals import scoped_arrays
from polysched.deps.phases import is_kernel
from polysched.errors import CannotLower
from polysched.ir.build import add
from polysched.ir.integers.trips import is_uneven
from polysched.ir.node import rewrite, statements, substitute, walk
from polysched.ir.nodes import Alloc, Barrier, Binary, Const, Expr, For, Function, If, Let, Stmt, Store, Var
from polysched.ir.rename import rename_bound
from polysched.ir.text import show
from polysched.model.affine import expression
from polysched.model.loop_names import named
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import (
    BESIDE,
    Band,
    Concurrent,
    Context,
    Domain,
    Full,
    InOrder,
    Intrinsic,
    LoopMark,
    Map,
    Parallel,
    Prefetch,
    Serial,
    Storage,
    Tensor,
    Tree,
    Vector,
    Wait,
    children,
    is_innermost,
    kind_of,
    mark_of,
    marks_in,
    with_children,
)
from polysched.model.tree.to_isl import parse_mark, to_isl
from polysched.support import isl


def lower(tree: Tree, scop: Scop) -> Function:
    """The nest that runs the instances of `scop` in the order of `tree`.

    CannotLower if isl makes a loop that does not end, one that is mapped to threads and in pieces, or loops that leave
    instances out.
    """
    tree = named(_as_is_known(tree, scop.context))
    outer, tiles = cut_at_tiles(tree, scop.function.sizes)
    is_strided = has_strides(scop.domain)
    bands: list[Band] = []
    inner = {
        tile.name: (tile, _ast(inside, tile.context.intersect(scop.context), is_strided, bands))
        for tile, inside in tiles
    }
    loops = _ast(outer, scop.context, is_strided, bands)
    body = _Lowering(scop, inner, bands, _repeated(tree)).statements(loops, None)
    elsewhere = scoped_arrays(tree) | {array.name for array in scop.function.arrays}
    allocs = (Alloc(replace(array, space="private")) for array in scop.arrays if array.name not in elsewhere)
    return replace(scop.function, body=(*allocs, *body))


def _as_is_known(tree: Tree, context: isl.Set) -> Tree:
    """The tree with what is known of the nest's sizes, whatever it says itself: it may come from elsewhere."""
    tree = with_children(tree, tuple(_as_is_known(child, context) for child in children(tree)))
    return replace(tree, context=context) if isinstance(tree, Context) else tree


def _ast(tree: Tree, context: isl.Set, is_strided: bool, bands: list[Band]) -> isl.AstNode:
    """isl's loops, with bounds as min and max rather than guards, each under the number of its band in `bands`, which
    get those of the tree; CannotLower if isl fails inside, as it does on a few unions of strided sets, or its loops run
    other instances than those of the tree.

    That was found with strides only, in the domain or made by the schedule, and is asked only there: asked of all
    loops it takes a fifth of the time that it takes to compile PolyBench.
    """
    isl.DEFAULT_CONTEXT.set_ast_build_detect_min_max(1)
    isl.DEFAULT_CONTEXT.set_ast_build_prefer_pdiv(1)
    assert isinstance(tree, Domain)

    def number(band: Band) -> list[str]:
        bands.append(band)
        return [str(len(bands) - 1)]

    try:
        loops = isl.AstBuild.from_context(context).node_from_schedule(to_isl(_one_member_bands(tree), number))
        asked = is_strided or leaves_out_by_remainder(loops)
        if asked and not isl.decided(partial(runs_exactly, loops, tree.domain, context), False, seconds=_CHECK_SECONDS):
            raise CannotLower("isl's loops may leave out some of the instances, or run others")
        return loops
    except isl.Error as error:
        if isl.is_exhausted():
            raise
        raise CannotLower(f"isl cannot generate the loops: {error}") from error


_CHECK_SECONDS = 3.0  # of a clock, to read the loops of one tree back


def _one_member_bands(tree: Tree) -> Tree:
    """Every band member in a band of its own, so that each loop of the AST can be told apart."""
    below = tuple(_one_member_bands(child) for child in children(tree))
    if not isinstance(tree, Band):
        return with_children(tree, below)
    (child,) = below
    for member in reversed(tree.members):
        child = Band((member,), tree.permutable, child, separate=_is_simd(tree))
    return child


def _is_simd(band: Band) -> bool:
    """May the loop run as SIMD, if there are no guards around the statements in it?"""
    is_loop = len(band.members) == 1 and isinstance(band.child, InOrder) and is_innermost(band)
    return is_loop and isinstance(_how(band), Parallel | Vector)


def _how(band: Band) -> LoopMark:
    """How the loop runs, whether or not it is over all of its values, or fetches some ahead."""
    return next((mark for mark in reversed(band.members[0].marks) if not isinstance(mark, BESIDE)), Serial())


def _repeated(tree: Tree) -> frozenset[str]:
    """The axes that two loops below one mapped loop are on."""
    own = Counter(mark.axis for mark in marks_in(tree) if isinstance(mark, Map))
    if is_kernel(tree):
        return frozenset(axis for axis, count in own.items() if count > 1)
    return frozenset().union(*(_repeated(child) for child in children(tree)))


def _stores(body: tuple[Stmt, ...]) -> int:
    return sum(isinstance(stmt, Store) for stmt in statements(body))


@dataclass
class _Lowering:
    """Walks isl's AST; the `band` says what the next loop is."""

    scop: Scop
    tiles: dict[str, tuple[Tile, isl.AstNode]]  # by their names, with their loops
    bands: list[Band]  # of one loop each, by the numbers that are the loops' marks in the AST
    repeated: frozenset[str]  # axes of blocks and threads that some kernel has several loops on
    fresh: Iterator[int] = field(default_factory=count)
    names: dict[str, Expr] = field(default_factory=dict)  # isl's identifiers: sizes, and the loops around
    around: list[For] = field(default_factory=list)  # the loops around, without bodies
    instances: list[str] = field(default_factory=list)  # the statements so far
    depth: int = 0  # how many of the bands of this tree are around
    coordinates: list[Expr] = field(default_factory=list)  # of the last tile; none if it was no tile
    allocated: set[str] = field(default_factory=set)  # the arrays of arrivals so far

    def __post_init__(self) -> None:
        self.names.update({size: Var(size) for size in self.scop.function.sizes})
        iterators = (name for statement in self.scop.statements for name in statement.iterators)
        arrays = (array.name for array in self.scop.arrays)
        self.taken = {*parameters(self.scop.function), *self.scop.function.sizes, *arrays, *iterators}

    def statements(self, node: isl.AstNode, band: Band | None) -> tuple[Stmt, ...]:
        match isl.ast_node_type(node.get_type()):
            case isl.ast_node_type.block:
                below = node.block_get_children()
                return tuple(s for k in range(below.n_ast_node()) for s in self.statements(below.get_at(k), band))
            case isl.ast_node_type.mark:
                mark = node.mark_get_id().get_name() or ""
                if mark.isdigit():
                    return self.loops(node.mark_get_node(), self.bands[int(mark)])
                match parse_mark(mark):
                    case Storage(arrays=names):
                        return self.with_arrays(names, node.mark_get_node())
                    case Wait():
                        return (Barrier(), *self.statements(node.mark_get_node(), None))
                return self.statements(node.mark_get_node(), None)
            case isl.ast_node_type.if_:  # type: ignore[attr-defined]  # missing in the stubs
                return self.branch(node, band)
            case isl.ast_node_type.for_:  # type: ignore[attr-defined]
                assert band is not None, "isl made a loop of none in the tree"
                return self.loop(node, band)
            case isl.ast_node_type.user:
                return self.user(node.user_get_expr())
        raise AssertionError(f"unknown AST node: {node}")

    def loops(self, node: isl.AstNode, band: Band) -> tuple[Stmt, ...]:
        """What isl has made of the band's loop: one, several, or none."""
        self.depth += 1
        body = self.statements(node, band)
        self.depth -= 1
        return self.on_one_thread_each(body, band)

    def with_arrays(self, names: tuple[str, ...], node: isl.AstNode) -> tuple[Stmt, ...]:
        """What the node runs, on arrays of its own; where isl makes several copies of it, each has its own names."""
        arrays = [array for array in self.scop.arrays if array.name in names]
        assert len(arrays) == len(names), f"the nest has no array for one of {names}"
        body = (*map(Alloc, arrays), *self.statements(node, None))
        renamed = {name: self.name(name) for name in names if name in self.allocated}
        self.allocated.update(names)
        return rename_bound(body, lambda name: renamed.get(name, name)) if renamed else body

    def on_one_thread_each(self, body: tuple[Stmt, ...], band: Band) -> tuple[Stmt, ...]:
        """`body`, if a mapped loop puts equal values on one thread; CannotLower if isl took it apart so that they may
        not.

        One loop does. Several do if they step by one: the printer counts them from a common origin. Where isl left out
        a loop of one iteration, it is on the first thread, or on the tile's if the kernel has other loops on the axis.
        """
        kind = kind_of(_how(band))
        if not body or not kind.startswith(("block.", "thread.")):
            return body
        loops = tuple(outermost(body, lambda loop: loop.kind == kind))
        if not loops and (self.coordinates or kind not in self.repeated):
            only = self.coordinates[self.depth] if kind in self.repeated else Const(0)
            return (For(self.name(), only, add(only, 1), 1, body, kind, origin=band.members[0].name),)
        if _stores(loops) < _stores(body) or (len(loops) > 1 and any(loop.step != 1 for loop in loops)):
            raise CannotLower(f"isl took the loop on {kind} apart: its iterations would not stay on their threads")
        return body

    def branch(self, node: isl.AstNode, band: Band | None) -> tuple[Stmt, ...]:
        cond = expression(node.if_get_cond(), self.names)
        then = self.statements(node.if_get_then_node(), band)
        other = self.statements(node.if_get_else_node(), band) if node.if_has_else_node() else ()
        return (If(cond, then, other),)

    def loop(self, node: isl.AstNode, band: Band) -> tuple[Stmt, ...]:
        iterator = node.for_get_iterator().get_id().get_name() or ""
        name = self.name()
        lo = expression(node.for_get_init(), self.names)
        outer, how = self.names, _how(band)
        kind = kind_of(how)
        self.names = outer | {iterator: Var(name)}
        if node.for_is_degenerate() and not kind.startswith(("block", "thread")):
            made: tuple[Stmt, ...] = (Let(name, lo), *self.statements(node.for_get_body(), None))
        else:
            hi = add(lo, 1) if node.for_is_degenerate() else self.upper_bound(node.for_get_cond(), name)
            step = Const(1) if node.for_is_degenerate() else expression(node.for_get_inc(), self.names)
            assert isinstance(step, Const) and step.value > 0, f"isl made a loop that steps by {step}"
            reduces, origin = how.reduces if isinstance(how, Concurrent) else (), band.members[0].name
            loop = For(name, lo, hi, int(step.value), (), kind, reduces=reduces, origin=origin)
            ahead = tuple((mark.array, mark.ahead) for mark in band.members[0].marks if isinstance(mark, Prefetch))
            loop = replace(loop, prefetch=ahead) if ahead else loop
            match how:
                case Tensor(instruction=instruction, stages=stages):
                    loop = replace(loop, instruction=instruction, stages=stages)
                case Intrinsic(instruction=instruction):
                    loop = replace(loop, instruction=instruction)
                case Vector(width=width):
                    loop = replace(loop, width=width)
            loop = self.filled(loop, node.for_get_body())
            full = mark_of(band, Full)
            made = (full_loop(loop, full.size) if full else loop,)
        self.names = outer
        return made

    def filled(self, loop: For, body: isl.AstNode) -> For:
        """The loop around `body`; a parallel one tells when it is worth its threads."""
        before = len(self.instances)
        self.around.append(loop)
        loop = replace(loop, body=self.statements(body, None))
        self.around.pop()
        if loop.kind != "parallel":
            return loop
        inside = dict.fromkeys(self.instances[before:])
        when = worth_threads(map(self.scop.statement, inside), self.scop.context, self.around, threshold(loop))
        # Inside of serial loops an iteration stays on the thread that has its data in the cache.
        return replace(loop, kind="parallel" if self.around or not is_uneven(loop) else "dynamic", when=when)

    def upper_bound(self, cond: isl.AstExpr, name: str) -> Expr:
        """hi, with the loop running while name < hi."""
        test = expression(cond, self.names)
        match test:
            case Binary(op="<", left=Var(name=var), right=bound) if var == name:
                return bound
            case Binary(op="<=", left=Var(name=var), right=bound) if var == name:
                return Binary("+", bound, Const(1))
        # Where pieces of one domain have bounds in different sizes: { [i] : i = 0 or 0 <= i < n }.
        raise CannotLower(f"isl made a loop without a bound, that runs while {show(test)}")

    def user(self, call: isl.AstExpr) -> tuple[Stmt, ...]:
        """The loops of a tile, or an instance of a statement."""
        name = call.get_op_arg(0).get_id().get_name() or ""
        values = [expression(call.get_op_arg(k), self.names) for k in range(1, call.get_op_n_arg())]
        if name not in self.tiles:
            self.coordinates = []
            return self.instance(self.scop.statement(name), values)
        tile, loops = self.tiles[name]
        outer, depth = self.names, self.depth
        self.names, self.depth = outer | dict(zip(tile.parameters, values, strict=True)), 0
        body = self.statements(loops, None)
        self.names, self.depth, self.coordinates = outer, depth, values
        return body

    def instance(self, statement: Statement, values: list[Expr]) -> tuple[Stmt, ...]:
        """The body of a statement with its iterators bound; names that it binds are fresh in every copy."""
        self.instances.append(statement.name)
        body = rename_bound(statement.body, self.name)
        if any(isinstance(node, Binary) and node.op == "floordiv" for node in walk(body)):
            body = rewrite(body, self.quotients(statement).get)
        return substitute(body, dict(zip(statement.iterators, values, strict=True)))

    def quotients(self, statement: Statement) -> dict[Any, Expr]:
        """What the coordinates of the tiles around are in the statement's iterators: a body may say in which it is."""
        around = [tile for tile, _ in self.tiles.values() if self.names.keys() >= set(tile.parameters)]
        found = (tile.quotients(statement.name, statement.iterators) for tile in around)
        return {value: self.names[name] for values in found for value, name in values.items()}

    def name(self, stem: str = "c") -> str:
        """A name that nothing else in the nest has: c0, c1, ...; a temporary keeps its own if it can."""
        candidates = (f"{stem}{k}" for k in self.fresh) if stem == "c" else _numbered(stem)
        name = next(candidate for candidate in candidates if candidate not in self.taken)
        self.taken.add(name)
        return name


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    yield from (f"{stem}_{k}" for k in count(1))
