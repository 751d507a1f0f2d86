"""Scalar expansion: a temporary that lives across an inner loop gets an element for every iteration around it
(Feautrier, ICS 1988).

    for i in 0..n:                        s: f64[n]
        s = 0                             for i in 0..n:
        for k in 0..n:           ->           s[i] = 0
            s = s + a[i, k]                   for k in 0..n:
        b[i] = s                                  s[i] = s[i] + a[i, k]
                                              b[i] = s[i]

Without it every iteration of i would wait for the one before. `codegen/memory/contract.py` undoes it where the
schedule keeps an iteration's accesses together. Else the temporary takes no more memory than one of the user's arrays,
wherever all that uses it runs: the bounds of a[i, k] with a: f64[1000, 1000] say that n <= 1000 (`model/extents.py`).
Where all loops around are too many for that, the outer ones that fit have an element each, and at least they may be
parallel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property

from polysched.ir.node import at_element, map_blocks, rewrite, touches, uses, walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Function, If, Stmt, Store, Var
from polysched.model.affine import AffineSpace, NotAffine, expression
from polysched.model.extents import fits_an_array, sizes_that_run
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.prelude.edit import Places, require_done
from polysched.prelude.uses import is_never_negative, iterations
from polysched.support import isl


def expand(fn: Function, *temporaries: str, at: str = "") -> Function:
    """`fn` with these scalar temporaries, of those with a name in the order of the nest, expanded by the loops around
    them, `at` the last of these (default: all). InputError for what is none that an inner loop uses, or in loops whose
    variables have no known range."""
    if not temporaries:
        return fn
    expansion = _Expansion(fn, temporaries, at)
    body = expansion.body(fn.body, ())
    message = "{} cannot have an element for each iteration around"
    hint = "expand a scalar of the nest's own that a loop inside of affine loops uses"
    require_done(temporaries, expansion.done, message, hint)
    return replace(fn, body=body)


def temporaries_to_expand(fn: Function) -> dict[str, tuple[str, ...]]:
    """The scalar temporaries that an inner loop uses, by the last loop that counts, "" for all around them: but for
    those that would take more memory than any of the user's arrays, which stay inside one statement."""
    expansion = _Expansion(fn)
    expansion.body(fn.body, ())
    return {at: tuple(t for t, loop in expansion.done.items() if loop == at) for at in expansion.done.values()}


def shares_arrays(fn: Function, scop: Scop) -> bool:
    """Does all of the nest run in loops that declare an array for several statements, and is that the same one for all
    of their iterations? Then nothing but its memory orders them: loops around it are not to be skewed for that."""
    users = Counter(name for s in scop.statements for name in {each.array for each in s.accesses})

    def shared(body: tuple[Stmt, ...], loops: tuple[str, ...]) -> Iterator[str]:
        for stmt in body:
            match stmt:
                case Alloc(Array(name=name, shape=(_, *_))) if users[name] > 1 and not _has_each(name, body, loops):
                    yield name
                case For(var=var, body=inner):
                    yield from shared(inner, (*loops, var))
                case If(then=then, other=other):
                    yield from shared((*then, *other), loops)

    return all(any(shared((stmt,), ())) for stmt in fn.body if isinstance(stmt, For | If | Store))


def _has_each(name: str, body: tuple[Stmt, ...], loops: tuple[str, ...]) -> bool:
    """Begins every subscript of the array with the variables of these loops?"""
    return all(use.index[: len(loops)] == tuple(map(Var, loops)) for use in uses(body, name))


def expand_temporaries(fn: Function) -> Function:
    """`fn` with all of these expanded, by all loops around them."""
    return expand(fn, *temporaries_to_expand(fn).get("", ()))


class _Expansion:
    def __init__(self, fn: Function, temporaries: Collection[str] | None = None, at: str = ""):
        self.fn, self.temporaries, self.at = fn, temporaries, at  # or None, for those that fit
        self.places, self.done = Places(), dict[str, str]()

    def body(self, body: tuple[Stmt, ...], loops: tuple[For, ...]) -> tuple[Stmt, ...]:
        for alloc in [stmt for stmt in body if isinstance(stmt, Alloc)]:
            if loops and not alloc.array.shape and _crosses_a_loop(alloc.array.name, body):
                place = self.places.name(alloc.array.name)
                around = self.chosen(place, loops) if self.temporaries is None else self.asked(place, loops)
                extents = self.extents(around)
                if extents:
                    body = _with_elements(body, replace(alloc.array, shape=extents), around)
                    self.done[place] = "" if around == loops else around[-1].var
        return tuple(self.inside(stmt, loops) for stmt in body)

    def inside(self, stmt: Stmt, loops: tuple[For, ...]) -> Stmt:
        inner = (*loops, stmt) if isinstance(stmt, For) else loops
        return map_blocks(stmt, lambda body: self.body(body, inner))

    def asked(self, place: str, loops: tuple[For, ...]) -> tuple[For, ...]:
        """The loops by which the temporary is to be expanded; none if it stays as it is."""
        if place not in (self.temporaries or ()):
            return ()
        names = [loop.var for loop in loops]
        return loops[: names.index(self.at) + 1] if self.at in names else () if self.at else loops

    def chosen(self, place: str, loops: tuple[For, ...]) -> tuple[For, ...]:
        """The most loops by which it fits, from the outermost on."""
        name = place.partition(".")[0]
        prefixes = (loops[:count] for count in range(len(loops), 0, -1)) if self.extents(loops) else ()
        return next((outer for outer in prefixes if self.fits(outer, name)), ())

    def extents(self, loops: tuple[For, ...]) -> tuple[Expr, ...]:
        """Those of an array with an element for each iteration; none without loops, or where that is unknown."""
        values = _values(loops, self.fn.sizes)
        return () if not loops or values.is_empty() else _extents(values, self.fn.sizes)

    def fits(self, loops: tuple[For, ...], name: str) -> bool:
        """Does another array take as much, for the sizes at which these loops run, or all that uses the temporary?"""
        fn, extents, known = self.fn, self.extents(loops), _values(loops, self.fn.sizes).params()
        return fits_an_array(extents, fn.arrays, known, fn.sizes) or fits_an_array(
            extents, fn.arrays, known.intersect(sizes_that_run(self.scop, name)), fn.sizes
        )

    @cached_property
    def scop(self) -> Scop:
        """The model of the function as it was: it knows the sizes that keep accesses in bounds."""
        return extract(self.fn)


def _crosses_a_loop(name: str, body: tuple[Stmt, ...]) -> bool:
    return any(isinstance(node, For) and touches(node, name) for node in walk(body))


def _with_elements(body: tuple[Stmt, ...], array: Array, loops: tuple[For, ...]) -> tuple[Stmt, ...]:
    """`body` with the scalar of that name replaced by the element of this iteration."""
    body = at_element(body, array.name, array.name, tuple(Var(loop.var) for loop in loops))

    def with_extents(node: object) -> object:
        return replace(node, array=array) if isinstance(node, Alloc) and node.array.name == array.name else None

    return rewrite(body, with_extents)


def _values(loops: tuple[For, ...], sizes: tuple[str, ...]) -> isl.Set:
    """{ [i, j] }: what the loop variables take; empty if that is unknown, or ever negative."""
    nothing = AffineSpace("", tuple(loop.var for loop in loops), sizes).universe.complement()
    try:
        values = iterations(loops, sizes)
    except NotAffine:
        return nothing
    return values if is_never_negative(values) else nothing


def _extents(values: isl.Set, sizes: tuple[str, ...]) -> tuple[Expr, ...]:
    """One more than the largest value of each loop variable, in the sizes; zero where the loops do not run."""
    build = isl.AstBuild.from_context(values.params())
    names: dict[str, Expr] = {size: Var(size) for size in sizes}
    most = (build.expr_from_pw_aff(values.dim_max(k)) for k in range(values.dim(isl.dim_type.set)))
    return tuple(Binary("max", Binary("+", expression(ast, names), Const(1)), Const(0)) for ast in most)
