"""What edits by hand start from, and what they give."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.brief import brief
from polysched.deps.claims import Claim
from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree import Tree
from polysched.transform.hand.loops import nested


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A nest, what must stay in order, and a legal tree."""

    scop: Scop
    dependences: Dependences
    tree: Tree  # in normal form: maximal permutable bands, coincident flags, a name for each loop
    claims: tuple[Claim, ...] = ()  # by which dependences were left out

    def __repr__(self) -> str:
        return brief(self, str(self.tree))

    @property
    def nested(self) -> Tree:
        """The tree with a band for each loop: what edits start from."""
        return nested(self.tree)
