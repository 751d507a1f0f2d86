"""From the `#pragma scop` regions of a C file to nests.

    void scale(int n, double A[n], double x)       def scale(n: size, A: f64[n], x: f64):
    {                                                  for i in 0..n:
    #pragma scop                             ->            A[i] = A[i] * x
        for (int i = 0; i < n; i++)
            A[i] *= x;                             expressions  {n: "n", A: "A", x: "x"}
    #pragma endscop                                assumptions  ("n >= 0",)
    }

The nest computes what the C text does, to the bit, under the assumptions of its Region. What could not be shown to be
so is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from clang.cindex import CursorKind, StorageClass, TypeKind

from polysched.errors import InputError
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import Node, walk
from polysched.frontend.c.file.macros import Macros
from polysched.frontend.c.file.marked import (
    Marked,
    Pragma,
    macros_of_keywords,
    marked_region,
    pragma_pairs,
    require_own_text,
    require_read,
    require_visible,
)
from polysched.frontend.c.file.names import Field, Key, Member, key, mentions, named_entries, root
from polysched.frontend.c.file.preprocessed import preprocessed
from polysched.frontend.c.file.source import Source, parse
from polysched.frontend.c.flow.finals import kept
from polysched.frontend.c.flow.inline import bodies_in
from polysched.frontend.c.memory.apart import exposed_in_memory, fixed, interleaved, named, typed, unaliased
from polysched.frontend.c.memory.entries import arrays_of_entries, base_of
from polysched.frontend.c.memory.rows import pointer_rows
from polysched.frontend.c.memory.structures import guarded
from polysched.frontend.c.opaque.state import Endless, Kept, Opaque, reached
from polysched.frontend.c.opaque.touched import has_more, with_touched
from polysched.frontend.c.proofs import Proofs, product_text
from polysched.frontend.c.region import Region
from polysched.frontend.c.shapes import shaped
from polysched.frontend.c.statements import Statements
from polysched.frontend.c.variables import Variables, find_variables, read_after
from polysched.frontend.temporaries import declare, reads_earlier_value
from polysched.ir.dtypes import i64
from polysched.ir.node import rewrite
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import Array, Cast, Expr, For, Function, Stmt, Store, Var
from polysched.ir.verify import verify
from polysched.support.entry import entry

_MOST_KEPT = 40  # variables that are found to be C's alone, each in another reading


@entry
def from_c(
    path: str | Path, *, include: Sequence[str] = (), define: Sequence[str] = (), pure: Sequence[str] = ()
) -> tuple[Function, ...]:
    """The nests of a C file's `#pragma scop` regions, in its order, for `optimize`; arguments and errors as `read_c`.

    Each is named for its C function; a nest's arguments are the variables that the region uses.
    """
    return tuple(region.function for region in read_c(path, include=include, define=define, pure=pure))


@entry
def read_c(
    path: str | Path,
    *,
    include: Sequence[str] = (),
    define: Sequence[str] = (),
    pure: Sequence[str] = (),
    data: bytes | None = None,
) -> tuple[Region, ...]:
    """The regions of a C file, in its order, read as a compiler does with `-I include` and `-D define`.

    `data` is what the file holds, if that has been read, as of a pipe. `pure` names functions whose calls only compute
    a value from their arguments. InputError, with the place, for what a nest cannot be, for pragmas that do not pair,
    and for what clang cannot parse.
    """
    file = open_c(str(path), tuple(include), tuple(define), tuple(pure), data)
    return tuple(file.region(k) for k in range(len(file.spans)))


@dataclass(frozen=True)
class CFile:
    """A C file whose regions are read one by one."""

    macros: Macros
    marked: tuple[Marked | InputError, ...]  # in the order of the file
    spans: tuple[tuple[int, int, str], ...]  # begin and end of each, in bytes, and the name of its nest
    pure: frozenset[str]
    keeps_texts: bool = False  # statements that a nest cannot say stay as they are, where most of a region can be read

    def region(self, k: int) -> Region:
        """InputError if a nest cannot be what the region is."""
        marked = self.marked[k]
        if isinstance(marked, InputError):
            raise marked
        return _region(self.macros, marked, self.spans[k][2], self.pure, keeps_texts=self.keeps_texts)


def open_c(
    path: str, include: tuple[str, ...], define: tuple[str, ...], pure: tuple[str, ...], data: bytes | None
) -> CFile:
    """The file, or `data` in its place; InputError for pragmas that do not pair and for what clang cannot parse."""
    source = parse(path, include, define, data)
    return file_of(Macros(source), pragma_pairs(source), pure)


def file_of(
    macros: Macros, pairs: Iterable[tuple[Pragma, Pragma]], pure: tuple[str, ...] = (), *, keeps_texts: bool = False
) -> CFile:
    """The file with regions between these pragmas."""
    source = macros.source
    names: dict[str, int] = {}
    found: list[Marked | InputError] = []
    spans: list[tuple[int, int, str]] = []
    for pair in pairs:
        try:
            marked: Marked | InputError = marked_region(source, pair)
        except InputError as error:
            marked = error
        function = marked.function.spelling if isinstance(marked, Marked) else "a region"
        names[function] = names.get(function, 0) + 1
        name = function if names[function] == 1 else f"{function}_{names[function]}"
        found.append(marked)
        spans.append((pair[0].after, pair[1].line, name))
    return CFile(macros, tuple(found), tuple(spans), frozenset(pure), keeps_texts)


def _region(macros: Macros, marked: Marked, name: str, pure: frozenset[str], *, keeps_texts: bool) -> Region:
    source = macros.source
    require_own_text(source, marked)
    require_read(source, marked)
    called = bodies_in(marked.statements)
    with named_entries(arrays_of_entries(marked.statements, called)):
        try:
            return _read(macros, marked, name, pure, called)
        except InputError as why:
            region = _with_texts(macros, marked, name, pure, called) if keeps_texts else None
            if region is None:
                raise
            return replace(region, in_parts=str(why))


def _with_texts(
    macros: Macros, marked: Marked, name: str, pure: frozenset[str], called: list[Node]
) -> Region | None:
    """The region with statements that stay as they are; None if that is no way to read it."""
    kept, endless = frozenset[Key](), list[Node]()
    for _ in range(_MOST_KEPT):
        try:
            return _read(macros, marked, name, pure, called, Opaque.of(marked.statements, called, kept, endless))
        except Endless as found:
            endless.append(found.loop)
        except Kept as found:
            if key(root(found.decl)) in kept:
                return None
            kept |= {key(root(found.decl))}
        except InputError:
            return None
    return None


def _read(
    macros: Macros,
    marked: Marked,
    name: str,
    pure: frozenset[str],
    called: list[Node],
    opaque: Opaque | None = None,
) -> Region:
    source = macros.source
    variables = find_variables(source, marked.function, marked.statements, called)
    left = kept(marked, variables) | (opaque.numbers if opaque is not None else frozenset())
    variables.loops, variables.written = variables.loops - left, variables.written | left
    nodes, changing = (*marked.statements, *called), frozenset[Key]()
    if opaque is not None:
        changing = reached(nodes, marked.function, variables.exposed) - variables.loops
        variables.written |= changing
    _require_local(source, marked, variables)
    proofs = Proofs(variables.types, variables.expressions)
    read = Expressions(source, variables, proofs, pure=pure, opaque=opaque)
    body = Statements(read, nodes).block(marked.statements)
    body, arrays = exposed_in_memory(*shaped(body, read), variables)
    if opaque is not None and not has_more(body, read):
        raise source.error(marked.statements[0], "nothing in it can be read", "write loops and assignments")
    if opaque is not None and opaque.texts:
        body, arrays = with_touched(body, arrays, read, changing)
    _require_loops_dead(source, marked, variables)
    require_visible(source, marked, variables)
    temporaries = _temporaries(marked, variables, body, arrays)
    body = declare(body, temporaries, variables.expressions)
    body = _with_sizes(body, variables.sizes)
    private = {array.name for array in temporaries}
    shared = tuple(a for a in arrays.values() if a.space == "global" and a.name not in private)
    reached_if = read.structures.conditions(source, proofs, variables)
    for size in variables.sizes & variables.decls.keys():
        variables.expressions[size] = guarded(variables.decls[size], variables.expressions[size], reached_if)
    for product, factors in variables.factors.items():
        variables.expressions[product] = product_text(*factors, variables.expressions)
    outside = (Array(read.outside, i64, ()),) if read.outside else ()
    variables.expressions.update((each.name, f"&{each.name}") for each in outside)
    function = _function(source, marked, name, body, (*shared, *outside), variables)
    verify(function, "source")
    sized = (variables.range_of(size) for size in function.sizes)
    every = arrays | {name: array for name, array in read.arrays.items() if array.shape}  # as they are declared
    rows = tuple(pointer_rows(body, arrays, read))
    for each in rows:
        variables.expressions[each.array] = each.first
        proofs.assumptions += [f"{distance} >= 0" for distance in each.distances.values()]
    _require_addresses(source, shared, variables)
    own = {read.outside, *(name for each in rows for name in (each.first, *each.distances.values()))}
    expansions, conditions = preprocessed(macros, marked, map(root, variables.decls.values()))
    return Region(
        function=function,
        path=source.path,
        begin=marked.begin,
        end=marked.end,
        indent=marked.indent,
        expressions={parameter: _expression(parameter, every, variables) for parameter in function.params},
        unaliased=unaliased(shared, variables, marked) | {each.name for each in outside},
        named=named(shared, variables) | {each.name for each in outside},
        outside=read.outside,
        calls=dict(read.macros),
        interleaved=interleaved(shared, variables),
        fixed=tuple(fixed(function, shared, variables)),
        rows=rows,
        dead=frozenset() if opaque is not None else _dead(marked, variables, shared),
        texts=frozenset(opaque.texts if opaque is not None else ()),
        declared=tuple(opaque.declared.values() if opaque is not None else ()),
        typed=typed(shared, variables),
        assumptions=tuple(dict.fromkeys(chain(*reached_if.values(), *sized, proofs.assumptions))),
        macros=expansions,
        conditions=conditions,
        taken=source.names | own,
        replaced=macros_of_keywords(source, marked),
    )


# --- what lives on behind the region


def _require_local(source: Source, marked: Marked, variables: Variables) -> None:
    """What the region declares is gone after it: the generated code has a block of its own."""
    end = marked.statements[-1].extent.end.offset
    for node, decl in mentions(marked.path[-1]):
        if node.extent.start.offset >= end and key(decl) in variables.declared:
            message = f"'{decl.spelling}' is declared in the region, and used after it"
            raise source.error(node, message, "declare it before the region")


def _require_loops_dead(source: Source, marked: Marked, variables: Variables) -> None:
    """The nest leaves no value in the loop variables."""
    first: dict[Key, tuple[Node, Node]] = {}  # where each variable is named
    for node, decl in mentions(*marked.statements):
        first.setdefault(key(decl), (node, decl))
    for name, (node, decl) in first.items():
        if name not in variables.loops - variables.declared:
            continue
        hint = f"declare '{decl.spelling}' in the for, as in for (int {decl.spelling} = 0; ...)"
        if variables.is_exposed(decl):
            raise source.error(node, f"other functions may read the loop variable '{decl.spelling}'", hint)
        if (read := read_after(marked.path, marked.statements, name)) is not None:
            message = f"the loop variable '{decl.spelling}' is read after the region, which does not set it"
            raise source.error(read, message, hint)


def _temporaries(
    marked: Marked, variables: Variables, body: tuple[Stmt, ...], arrays: dict[str, Array]
) -> list[Array]:
    """Scalars whose value neither enters nor leaves the region."""
    stored = {node.array for node in walk_ir(body) if isinstance(node, Store)}
    found: list[Array] = []
    for array in (array for array in arrays.values() if not array.shape):
        decl = variables.decls[array.name]
        if key(decl) in variables.declared:
            if array.name not in stored:
                message = f"'{decl.spelling}' is read, and never assigned"
                raise variables.source.error(decl, message, f"give it a value, as in {decl.spelling} = 0")
            found.append(replace(array, space="private"))
        elif not (
            variables.is_exposed(decl)
            or reads_earlier_value(body, array.name)
            or read_after(marked.path, marked.statements, key(decl))
        ):
            found.append(replace(array, space="private"))
    return found


def _dead(marked: Marked, variables: Variables, arrays: Iterable[Array]) -> frozenset[str]:
    """Arrays of the function's own that nothing reads behind the region, and that nothing points to."""
    function = marked.function
    elements = {base_of(node) for node in walk(function) if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR}
    named: dict[Key, bool] = {}  # are all its mentions bases of elements?
    for node, decl in mentions(function):
        is_element = node.extent.start.offset in elements
        named[key(decl)] = named.get(key(decl), True) and is_element
    found = set()
    for array in arrays:
        decl = variables.decls[array.name]
        is_own = not isinstance(decl, Member | Field) and decl.kind == CursorKind.VAR_DECL and bool(array.shape)
        if not is_own or decl.type.get_canonical().kind != TypeKind.CONSTANTARRAY or variables.is_exposed(decl):
            continue
        rank_is_whole = "*" not in decl.type.get_canonical().spelling
        if rank_is_whole and named.get(key(decl)) and not read_after(marked.path, marked.statements, key(decl)):
            found.add(array.name)
    return frozenset(found)


# --- the nest


def _function(
    source: Source, marked: Marked, name: str, body: tuple[Stmt, ...], arrays: tuple[Array, ...], variables: Variables
) -> Function:
    """The parameters in the order of their declarations."""
    loops = {node.var for node in walk_ir(body) if isinstance(node, For)}
    used = {node.name: node for node in walk_ir((*body, *arrays)) if isinstance(node, Var) and node.name not in loops}
    sizes = tuple(sorted((size for size in used if size in variables.sizes), key=variables.order))
    scalars = tuple(used[scalar] for scalar in sorted(set(used) - set(sizes), key=variables.order))
    params = sorted((*sizes, *(s.name for s in scalars), *(a.name for a in arrays)), key=variables.order)
    loc = source.loc(marked.statements[0])
    in_order = tuple(sorted(arrays, key=lambda array: variables.order(array.name)))
    return Function(name, sizes, in_order, body, scalars, tuple(params), loc)


def _with_sizes(body: tuple[Stmt, ...], sizes: set[str]) -> tuple[Stmt, ...]:
    """A size is an i64; its value in C's type is a Cast of that."""

    def rule(node: Expr | Stmt) -> Expr | None:
        if isinstance(node, Var) and node.name in sizes and node.dtype != i64:
            return Cast(Var(node.name), node.dtype)
        return None

    return rewrite(body, rule)


# --- what ties it to the file


def _expression(name: str, arrays: dict[str, Array], variables: Variables) -> str:
    """The value of a size or scalar, a pointer to the first element of an array."""
    text = variables.expressions[name]
    if name not in arrays or name in variables.rows:
        return text
    rank, decl = len(arrays[name].shape), variables.decls[name]
    if isinstance(decl, Field):
        return f"&{decl.of.spelling}{'[0]' * (rank - 1)}.{decl.members}"
    return text if rank == 1 else f"&{text}{'[0]' * rank}"


def _require_addresses(source: Source, arrays: Iterable[Array], variables: Variables) -> None:
    """A scalar that the region sets is reached by its address."""
    for array in arrays:
        decl = variables.decls[array.name]
        if not array.shape and root(decl).storage_class == StorageClass.REGISTER:
            message = f"'{decl.spelling}' is in a register, and has no address"
            raise source.error(decl, message, f"declare it without register: {decl.type.spelling} {decl.spelling}")
