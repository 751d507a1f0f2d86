"""What fits a picture: small sizes, the points of the domains at these, and tiles of which several are seen.

    gemm          ->    {"ni": 6, "nj": 6, "nk": 6}
    floor(i/64)   ->    floor(i/3)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from polysched.errors import InputError
from polysched.ir.text import in_words
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Band, Member, Tree, children, with_children
from polysched.plot.timed import Column, is_tile
from polysched.support import isl

MOST_POINTS = 6000  # that a user may ask for
SHOWN = 3  # dimensions of a statement; others are fixed
MOST_SLICES = 4  # of a nest of three loops
_MANY = 4  # statements, and less is shown of each
_EXTENT = {1: 16, 2: 12, 3: 6}  # along each dimension, by the number of dimensions
_TILE = {1: 4, 2: 4, 3: 3}


@dataclass(frozen=True)
class Drawn:
    """The instances of a picture."""

    sizes: dict[str, int]
    domains: dict[str, isl.Set]  # by statement
    points: dict[str, list[isl.Point]]  # of these; statements that do not run are left out
    fixed: dict[str, dict[str, int]]  # by statement: iterators that have one value here
    is_cut: bool = False  # only the first points of the domains


def drawn(scop: Scop, statements: Sequence[Statement], sizes: Mapping[str, int] | None) -> Drawn:
    """The points of the statements at these sizes, or at small ones.

    InputError for sizes that the nest has not or does not allow, and for more points than a picture holds.
    """
    if sizes is not None:
        return _exactly(scop, statements, sizes)
    extent, _ = _extents(statements)
    best: Drawn | None = None
    for value in (*range(extent, 0, -1), *range(extent + 1, 4 * extent)):
        alike = dict.fromkeys(scop.function.sizes, value)
        if _is_valid(scop, alike):
            found = _points(statements, alike, extent)
            if len(found.points) == len(statements):
                return _with_few_slices(scop, statements, found, extent)
            best = found if best is None or len(found.points) > len(best.points) else best
    if best is None or not best.points:
        raise InputError(f"no small sizes at which '{scop.name}' runs are known", hint="give them: sizes={...}")
    return best


def _with_few_slices(scop: Scop, statements: Sequence[Statement], found: Drawn, extent: int) -> Drawn:
    """At one size less, or else at all less, where all slices of three loops fit a picture; as it was if at none."""
    if max(_lengths(found, (0,)), default=1) <= MOST_SLICES:
        return found
    less = [
        {name: MOST_SLICES + more if name in some else value for name, value in found.sizes.items()}
        for some in (*([name] for name in found.sizes), list(found.sizes))
        for more in (2, 1, 0)
    ]
    for sizes in less:
        if _is_valid(scop, sizes):
            other = _points(statements, sizes, extent)
            slices, sides = max(_lengths(other, (0,)), default=1), min(_lengths(other, (1, 2)), default=MOST_SLICES)
            if len(other.points) == len(found.points) and slices <= MOST_SLICES <= sides:
                return other
    return found


def _lengths(drawn: Drawn, loops: Sequence[int]) -> list[int]:
    """How many values these of three loops have: the outermost those of slices, the others those of their sides."""
    deep = (domain for domain in drawn.domains.values() if domain.dim(isl.dim_type.set) >= SHOWN)
    return [high - low + 1 for domain in deep for low, high in (isl.ends(domain, k) for k in loops)]


def with_small_tiles(tree: Tree, statements: Sequence[Statement]) -> tuple[Tree, dict[int, int]]:
    """The tree with tiles small enough for pictures with chosen sizes, and which extents became which."""
    changed: dict[int, int] = {}
    extent, tile = _extents(statements)

    def visit(node: Tree, path: tuple[Column, ...]) -> Tree:
        if isinstance(node, Band):
            members = []
            for member in node.members:
                path = (*path, Column(member, is_tile=is_tile(member, path)))
                if path[-1].is_tile:
                    member = _shrunk(member, extent // 2, tile, changed)
                members.append(member)
            node = replace(node, members=tuple(members))
        return with_children(node, tuple(visit(child, path) for child in children(node)))

    return visit(tree, ()), changed


def _extents(statements: Sequence[Statement]) -> tuple[int, int]:
    """How long dimensions and tiles are."""
    depth = min(SHOWN, max([1, *(statement.depth for statement in statements)]))
    extent, tile = _EXTENT[depth], _TILE[depth]
    return (extent, tile) if len(statements) <= _MANY else (max(6, extent // 2 + 2), 3)


def _exactly(scop: Scop, statements: Sequence[Statement], sizes: Mapping[str, int]) -> Drawn:
    names = scop.function.sizes
    if set(sizes) != set(names):
        raise InputError(f"the sizes of '{scop.name}' are {', '.join(names) or 'none'}, not {', '.join(sizes)}")
    if not _is_valid(scop, sizes):
        raise InputError(f"'{scop.name}' does not allow {in_words(sizes)}", hint=f"it needs {scop.valid_sizes}")
    found = _points(statements, sizes, None)
    count = sum(map(len, found.points.values()))
    if count > MOST_POINTS:
        raise InputError(f"{count} instances are too many for a picture", hint=f"give sizes for at most {MOST_POINTS}")
    return found


def _is_valid(scop: Scop, sizes: Mapping[str, int]) -> bool:
    return not at_sizes(scop.valid_sizes.intersect(scop.context), sizes).is_empty()


def points_of(space: isl.Set) -> list[isl.Point]:
    """All points of a bounded set."""
    found: list[isl.Point] = []
    space.foreach_point(found.append)
    return found


def at_sizes(space: isl.Set, sizes: Mapping[str, int]) -> isl.Set:
    """The part at these sizes; its parameters are the sizes, in their order."""
    named = isl.Set(f"[{', '.join(sizes)}] -> {{ : }}")
    return isl.at(space.align_params(named.get_space()), sizes)


def _points(statements: Sequence[Statement], sizes: Mapping[str, int], extent: int | None) -> Drawn:
    domains: dict[str, isl.Set] = {}
    fixed: dict[str, dict[str, int]] = {}
    is_cut = False
    for statement in statements:
        domain = at_sizes(statement.domain, sizes)
        if domain.is_empty():
            continue
        hidden = range(SHOWN, domain.dim(isl.dim_type.set))
        middle = {k: sum(isl.ends(domain, k)) // 2 for k in hidden}  # of the dimensions that are not shown
        for k, value in middle.items():
            domain = domain.fix_val(isl.dim_type.set, k, isl.Val(value))
        part = domain if extent is None else _first(domain, extent)
        is_cut |= not part.is_equal(domain)
        domains[statement.name] = part
        fixed[statement.name] = {statement.iterators[k]: value for k, value in middle.items()}
    points = {name: points_of(domain) for name, domain in domains.items()}
    points = {name: some for name, some in points.items() if some}  # the middle of a domain may be in none of its parts
    return Drawn(dict(sizes), domains, points, fixed, is_cut)


def _first(domain: isl.Set, extent: int) -> isl.Set:
    """The first points along dimensions, sizes or none, that are much longer than `extent`."""
    for k in range(domain.dim(isl.dim_type.set)):
        low, high = isl.ends(domain, k)
        if high - low >= 2 * extent:
            domain = domain.upper_bound_val(isl.dim_type.set, k, isl.Val(low + extent - 1))
    return domain


def _shrunk(member: Member, most: int, extent: int, changed: dict[int, int]) -> Member:
    """The member with divisors beyond `most` replaced by `extent`."""
    pieces = []
    parts = member.function.get_pw_aff_list()
    for each in (parts.get_at(k) for k in range(parts.n_pw_aff())):
        for domain, aff in each.get_pieces():
            pieces.append(isl.PwAff.alloc(domain, _with_divisors(aff, most, extent, changed)))
    functions = [isl.UnionPwAff.from_pw_aff(piece) for piece in pieces]
    return replace(member, schedule=isl.UnionMap.from_union_pw_aff(reduce(isl.UnionPwAff.union_add, functions)))


def _with_divisors(aff: isl.Aff, most: int, extent: int, changed: dict[int, int]) -> isl.Aff:
    count = aff.dim(isl.dim_type.div)
    rest = aff
    for k in range(count):
        rest = rest.set_coefficient_val(isl.dim_type.div, k, isl.Val(0))
    for k in range(count):
        inner, factor = aff.get_div(k), aff.get_coefficient_val(isl.dim_type.div, k)
        size = inner.get_denominator_val().to_python()
        if size > most:
            changed[size] = extent
            inner = inner.scale_val(isl.Val(size)).scale_down_val(isl.Val(extent))
        rest = rest.add(inner.floor().scale_val(factor))
    return rest
