"""What must hold at a place of a region: shown by what is known there, assumed of the parameters, or refused.

    for (unsigned i = 1; i < n; i++)
        A[i - 1]                          i - 1 >= 0: shown by the loop
    for (unsigned i = 0; i < n - 1; i++)  n - 1 >= 0: an assumption, "n >= 1"
        A[i - 1]                          i - 1 >= 0: refused, it fails whenever the loop runs
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from polysched.errors import BudgetExceeded
from polysched.frontend.c.types import greatest
from polysched.ir.node import walk
from polysched.ir.nodes import COMPARISONS, Binary, Const, Expr, Select, Unary, Var
from polysched.ir.text import show
from polysched.model.affine import AffineSpace
from polysched.model.known import Known, Unproven, Where
from polysched.support import isl

_USUAL = 100
_SECONDS = 2.0  # to show one requirement, or to find what must be assumed for it


def is_usual(good: isl.Set, sizes: tuple[str, ...]) -> bool:
    """Does the condition hold where all parameters are of one moderate size? m <= n does, and n <= 0 does not."""
    space = AffineSpace("", (), sizes)
    values = (space.where(Binary("==", Var(size), Const(_USUAL))).params() for size in sizes)
    return bool(reduce(isl.Set.intersect, values, space.universe.params()).is_subset(good))


@dataclass
class Proofs(Known):
    """Requirements of one region; `types` are C's, `assumptions` collects those on parameters, as C conditions."""

    expressions: Mapping[str, str]  # how C spells the parameters
    assumptions: list[str] = field(default_factory=list)
    sparing: bool = False  # assume only what holds for usual sizes: there is another way to read the text

    def require(self, condition: Expr, where: Where) -> None:
        """Unproven if the condition may fail, and parameters alone do not tell; NotAffine if it is not affine."""
        try:
            with isl.within(_SECONDS):
                self._require(condition, where)
        except BudgetExceeded as error:
            raise Unproven("whether it does was not decided in time") from error

    def _require(self, condition: Expr, where: Where) -> None:
        space = self.space(where, (condition,))
        sizes = space.sizes
        instances = self.instances(where, space)
        bad = instances.subtract(space.where(condition)).params()
        if bad.is_empty():
            return
        if instances.params().is_subset(bad):
            raise Unproven("it does whenever the loops around it run")
        varies = {node.name for node in walk(condition) if isinstance(node, Var)} & set(space.iterators)
        good = bad.complement() if varies else space.where(condition).params()
        if self.sparing and not is_usual(good, sizes):
            raise Unproven("it does for usual parameters")
        text = self.text(good, sizes) or self.text(good.complement().remove_divs().complement(), sizes)
        if not text:
            raise Unproven("no simple condition on the parameters prevents it")
        if text not in self.assumptions:
            self.assumptions.append(text)

    def greatest(self, size: str) -> int:
        return min(greatest(self.types[size]), super().greatest(size))

    def text(self, good: isl.Set, sizes: tuple[str, ...]) -> str:
        """The condition in C; "" if it needs more than sums and comparisons."""
        simple = good.coalesce().gist(self.ranges(sizes)).coalesce().remove_redundancies()
        text = isl.AstBuild.from_context(self.ranges(sizes)).expr_from_set(simple).to_C_str()
        if re.search(r"[%?]|floord|min|max|/", re.sub(rf"\b({'|'.join(sizes)})\b", "", text)):
            return ""
        alone = re.fullmatch(r"\w+ [<>=]+ \d+", text) is not None

        def spelled(found: re.Match[str]) -> str:
            name = self.expressions.get(found[0], found[0])
            return name if alone or found[0] not in self.types else f"(long long){name}"

        text = re.sub(r"\b[A-Za-z_]\w*\b", spelled, text)
        return f"({text})" if "||" in text else text


def c_text(expr: Expr, names: dict[str, str]) -> str:
    """A sum of parameters in C, computed in 64 bits."""
    match expr:
        case Const(value):
            return f"{value}LL"
        case Var(name):
            return f"(long long){names[name]}"
        case Unary("-", arg):
            return f"(-{c_text(arg, names)})"
        case Binary(op, left, right):
            return _C[op].format(c_text(left, names), c_text(right, names))
        case Select(cond, then, other):
            return "({} ? {} : {})".format(*(c_text(part, names) for part in (cond, then, other)))
    raise TypeError(f"{show(expr)} is no sum")


def product_text(left: Expr, right: Expr, names: dict[str, str]) -> str:
    """A product in C, which overflows without harm where it does not fit in 64 bits."""
    return f"(long long)((unsigned long long){c_text(left, names)} * (unsigned long long){c_text(right, names)})"


_C = {
    **{op: f"({{}} {op} {{}})" for op in ("+", "-", "*", "&&", "||", *COMPARISONS)},
    "truncdiv": "({} / {})",
    "truncmod": "({} % {})",
    "floordiv": "({0} / {1} - ({0} % {1} < 0))",  # isl divides by positive constants
    "max": "({0} > {1} ? {0} : {1})",
    "min": "({0} < {1} ? {0} : {1})",
}
