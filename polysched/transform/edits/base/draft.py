"""What edits by hand start from, and what they give."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polysched.deps.dependences import Claim, Dependences
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Tree
from polysched.support import isl
from polysched.support.brief import brief
from polysched.transform.edits.base.normal_form import normal_form


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A nest, what must stay in order, and a tree, which is legal unless it still `waits` to be checked."""

    scop: Scop
    dependences: Dependences
    nested: Tree  # as edits made it: a band for each loop, and a name; what edits start from
    claims: tuple[Claim, ...] = ()  # by which dependences were left out
    waits: bool = False
    unshown: Unshown | None = None  # which then has to be shown, too

    def __repr__(self) -> str:
        return brief(self, str(self.nested))

    @cached_property
    def tree(self) -> Tree:
        """The tree in normal form: maximal permutable bands, coincident flags. Made when it is first read."""
        return normal_form(self.nested, self.dependences)


@dataclass(frozen=True)
class Unshown:
    """That a nest computes the same as one before, of which { instance now -> instance before }, but for copies."""

    before: Draft
    origin: isl.UnionMap
