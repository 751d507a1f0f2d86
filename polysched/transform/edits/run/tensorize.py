"""Tensor instructions by hand: a tile of a statement, made by instructions of the hardware. Of a warp:

    band: i (thread.z)                    band: i (thread.z)
      band: j (thread.y)                    band: j (thread.y)
        band: k_c            ->               band: k_c
          band: i, j, k in tiles                mark: tensor:mma.m16n8k16.f16:3
            S: C[i, j] += ..                      band: k, i, j

The loops over tiles are on threads of a block: each of these is a warp, whose lanes are the axis thread.x.

Of a CPU, by an instruction of the user's:

    band: i, k in tiles                   mark: intrinsic:matvec4:1a2b3c4d
      S: y[i] += A[i, k] * x[k]    ->       band: i, k
"""

from __future__ import annotations

from math import prod

from polysched.config.heuristics.gpu import MOST_STAGES
from polysched.config.target import LIMITS
from polysched.errors import InputError
from polysched.ir.node import walk
from polysched.ir.nodes import Load, Store
from polysched.ir.text import show
from polysched.model.instructions.instruction import LANES, LINE, Instruction
from polysched.model.instructions.mma import INSTRUCTIONS as WARPS
from polysched.model.instructions.own import INSTRUCTIONS, OwnInstruction
from polysched.model.scop import Statement
from polysched.model.tree.nodes import Intrinsic, Leaf, Map, Member, Tensor, mark_of, marked_as
from polysched.support import isl
from polysched.transform.analysis.roles import iterators
from polysched.transform.analysis.unify import Unified, factors, unify
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.edit import checked
from polysched.transform.edits.base.intrinsics import require_fit
from polysched.transform.edits.base.loops import Loop, adjacent, changed_at, loop, loops, most_iterations
from polysched.transform.edits.base.registry import by_name, edit
from polysched.transform.edits.order.reorder import reorder


@edit("run", "i, j, k -> k, i, j")
def tensorize(draft: Draft, *loops_and_instruction: str, stages: int = 3) -> Draft:
    """The innermost loops, which are named first, by tensor instructions of a warp, or by one of yours for CPUs.

    Those of a warp make sums of products. The loops are over rows, columns and terms, tiles of constant size, multiples
    of the instruction's, and loops over tiles are around: on threadIdx.y and threadIdx.z, of which each runs a warp,
    and serial ones over chunks of terms. Factors are copied to shared memory `stages` - 1 chunks ahead. Sums are
    rounded as the hardware does it. One of yours runs tiles of its own extents, where they are full. InputError if the
    statement is not what the instruction does, or has other types.

        for i in 64, j in 64, k in 32:                  4 x 8 x 2 instructions of 16 x 8 x 16
            C[i, j] += f32(A[i, k]) * f32(B[k, j])  ->
                                                        tensorize("i", "j", "k", "mma.m16n8k16.f16")
    """
    if len(loops_and_instruction) < 2:
        hint = 'as in tensorize("i", "j", "k", "mma.m16n8k16.f16")'
        raise InputError("tensorize is given loops, and then an instruction", hint=hint)
    *names, instruction = loops_and_instruction
    if not (isinstance(stages, int) and 2 <= stages <= MOST_STAGES):
        raise InputError(f"tensorize needs 2 to {MOST_STAGES} stages, not {stages!r}")
    known: dict[str, Instruction | OwnInstruction] = {**WARPS, **INSTRUCTIONS}
    found = by_name("instruction", instruction, known)
    if isinstance(found, OwnInstruction):
        return _by_own(draft, names, found)
    if len(names) != len(_ROLES):
        hint = "its loops are over rows, columns and terms"
        raise InputError(f"{instruction} runs {len(_ROLES)} loops, not {len(names)}", hint=hint)
    return _by_warps(draft, names, found, stages)


_ROLES = "rows", "columns", "terms"


def _by_own(draft: Draft, given: list[str], own: OwnInstruction) -> Draft:
    """The loops, in the order of those of the instruction, which runs each full tile."""
    if len(given) != len(own.loops):
        loops_of = ", ".join(f"{name} in 0..{extent}" for name, extent in own.loops.items())
        hint = f"they are {loops_of}"
        raise InputError(f"{own.name} has {len(own.loops)} loops, and {len(given)} are named", hint=hint)
    adjacent(draft.nested, given)
    places = [loop(draft.nested, name) for name in given]
    require_fit(own, places, draft.scop)
    names = [place.name for place in places]
    what = f"tensorize({', '.join(names)}, {own.name})"
    draft = reorder(draft, *names)
    place = loop(draft.nested, names[0])
    mark = Intrinsic(own.name, own.version)
    return checked(draft, changed_at(draft.nested, place.path, lambda _: marked_as(place.band, mark)), what)


def _by_warps(draft: Draft, given: list[str], of: Instruction, stages: int) -> Draft:
    found = adjacent(draft.nested, given)
    names = {name: loop(draft.nested, name).name for name in given}
    rows, columns, terms = names.values()
    if not isinstance(found[-1].band.child, Leaf):
        raise InputError(f"there are loops or statements inside of {', '.join(names.values())}", hint="distribute them")
    one = _sum(draft, found[-1], of)
    for name, size in zip(names.values(), (of.rows, of.columns * of.right.together, 2 * of.terms), strict=True):
        _require_tile(draft, name, size)
    _require_warps(draft, found[0])
    _require_unified(draft, one, of, [_iterator(draft, one, name) for name in names.values()])
    draft = reorder(draft, terms, rows, columns)
    place = loop(draft.nested, terms)
    mark = Tensor(of.name, stages)
    tree = changed_at(draft.nested, place.path, lambda _: marked_as(place.band, mark))
    return checked(draft, tree, f"tensorize({', '.join(names.values())}, {of.name})")


def _sum(draft: Draft, place: Loop, of: Instruction) -> Statement:
    """The one statement that runs here; InputError unless it adds up products of the instruction's types."""
    if len(place.statements) != 1:
        raise InputError(f"loop '{place.name}' runs {', '.join(place.statements)}", hint="distribute it")
    one = draft.scop.statement(place.statements[0])
    if factors(one.body, of) is None:
        factor = "{}" if of.factor == of.sum else f"{of.sum}({{}})"
        shape = f"C[i, j] += {factor.format('A[i, k]')} * {factor.format('B[k, j]')}, of {of.factor}"
        raise InputError(f"{one.name} is no sum of products for {of.name}", hint=f"it is as {shape}")
    return one


def _iterator(draft: Draft, one: Statement, name: str) -> int:
    """Which iterator of the statement the loop is; -1 if it is none."""
    used = loop(draft.nested, name).member.iterators(one.name)
    return next(iter(used)) if len(used) == 1 else -1


def _require_unified(draft: Draft, one: Statement, of: Instruction, three: list[int]) -> None:
    """InputError unless the access relations of the statement are the instruction's, for these iterators."""
    loops_of_source = [Member(isl.UnionMap.from_map(isl.Map.from_aff(function))) for function in iterators(one)]
    if unify(one, draft.scop, loops_of_source, of, Unified(*three)):
        return
    line, (store,) = LINE * 8 // of.factor.bits, one.body
    assert isinstance(store, Store)
    elements = (Load(store.array, store.index, of.sum), *(each for each in walk(store.value) if isinstance(each, Load)))
    ours = ", ".join(dict.fromkeys(map(show, elements)))
    rows, columns, terms = (one.iterators[k] if k >= 0 else "?" for k in three)
    right = f"B[{terms}, {columns}], or A or B turned" if of.reads_across else f"B[{columns}, {terms}]"
    theirs = f"C[{rows}, {columns}], A[{rows}, {terms}], {right}"
    along = "a loop" if of.reads_across else f"'{terms}'"
    hint = f"A and B are read along {along} by {line} elements that are next to each other, and have no terms but these"
    raise InputError(f"{one.name} accesses {ours}, and {of.name} {theirs}", hint=hint)


def _require_tile(draft: Draft, name: str, size: int) -> None:
    most = most_iterations(loop(draft.nested, name), draft.scop.context)
    if most is None or most % size:
        has = "as many iterations as the sizes say" if most is None else f"{most} iterations"
        raise InputError(f"loop '{name}' has {has}, not a multiple of {size}", hint=f"tile it by a multiple of {size}")


def _require_warps(draft: Draft, place: Loop) -> None:
    """InputError unless loops on blocks, then some on threads other than x, and then serial ones are right around."""
    axes = [(band.members[0].name, mark_of(band, Map)) for band in place.around]
    named = [(name, mark.axis if mark else "") for name, mark in axes]
    if lanes := [name for name, axis in named if axis == "thread.x"]:
        hint = "bind it to threadIdx.y or threadIdx.z"
        raise InputError(f"loop '{lanes[0]}' is on threadIdx.x, which is for the lanes of a warp", hint=hint)
    threads = {name for name, axis in named if axis.startswith("thread")}
    if not threads:
        hint = "bind the loops over tiles to threadIdx.y and threadIdx.z"
        raise InputError(f"no loop around '{place.name}' is on threads", hint=hint)
    lengths = [most_iterations(each) for each in loops(draft.nested) if each.name in threads]
    if prod(length or 1 for length in lengths) * LANES > LIMITS.block:
        shape = " x ".join(map(str, lengths))
        raise InputError(f"a block would have {shape} warps, and it has at most {LIMITS.block // LANES}")
    on_axes = [k for k, (_, axis) in enumerate(named) if axis]
    if between := [name for name, axis in named[on_axes[0] : on_axes[-1]] if not axis]:
        hint = "bind it to an axis, too, or reorder the loops"
        raise InputError(f"loop '{between[0]}' is between loops on axes", hint=hint)
