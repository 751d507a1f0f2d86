"""A row of sums to which `DOT` adds, by the instruction that does so: gcc 12 does not find it in plain C.

    for j in 0..48 (vector):
        q8[i * 48 + j] = q8[i * 48 + j] + dot.i16(q3[k], q1[k * 48 + j])

                                            ->      add_dots_i32(&q8[i * 48], q3[k], &q1[k * 48], 48);

vpmaddwd multiplies i16 and adds neighbours in i32, where the sum of two products wraps as ours does. A processor that
does not have it runs plain C.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

from polysched.codegen.lowered import names_in
from polysched.ir.integers.linear import added, expression, forms
from polysched.ir.nodes import DOT, Binary, Call, Const, Expr, For, Load, Store, Var

ADD_DOTS = "add_dots"  # the function, as a helper of i32


@dataclass(frozen=True)
class DotRow:
    """sums[first + j] += dot(factor, columns[begin + j]) for j in 0..count."""

    sums: str
    first: Expr
    factor: Expr
    columns: str
    begin: Expr
    count: int


def dot_row(loop: For) -> DotRow | None:
    """What the loop does, if it is such a row; None if not."""
    match loop:
        case For(var, Const(0), Const(int(count)), 1, (Store(sums, (at,), value),), "vector"):
            pass
        case _:
            return None
    match value:
        case Binary("+", Load(read, (place,)), Call(fn, (factor, Load(columns, (index,))))):
            first, begin = _start(at, var), _start(index, var)
            is_row = read == sums and place == at and fn == DOT and columns != sums
            if is_row and names_in(factor).isdisjoint((var, sums)) and first is not None and begin is not None:
                return DotRow(sums, first, factor, columns, begin, count)
    return None


def _start(place: Expr, var: str) -> Expr | None:
    """Where a subscript that steps by one begins; None for others."""
    form, *others = forms(place, upper=True)
    if others or form.get(Var(var)) != 1:
        return None
    start = expression(added(form, {Var(var): 1}, -1))
    return None if var in names_in(start) else start


LOCALS = ("sums", "a", "b", "count", "j", "vector", "all", "dots")  # the names in the lines below

# Of the vectors that have the instruction: the macro that tells of them, their bytes, the letter for their registers.
_VECTORS = (("__AVX512BW__", 64, "v"), ("__AVX2__", 32, "x"))
_IN_VECTORS = """\
#ifdef $macro
for (; $j + $lanes <= $count; $j += $lanes) {
    typedef $U $vector __attribute__((__vector_size__($bytes), __aligned__(4), __may_alias__));
    const $vector $all = ($vector){0} + ($U)$a;
    $vector $dots;
    __asm__("vpmaddwd {%1, %2, %0|%0, %2, %1}" /* AT&T's order, and Intel's */
            : "=$letter"($dots) : "$letter"($all), "$letter"(*(const $vector *)($b + $j)));
    *($vector *)($sums + $j) += $dots;
}
#endif"""
_ONE_BY_ONE = """\
for (; $j < $count; $j++)
    $sums[$j] = ($T)(($U)$sums[$j] + ($U)$dot($a, $b[$j]));"""


def added_dots(unsigned: str, signed: str, dot: str, names: Mapping[str, str]) -> list[str]:
    """The lines that add to `sums`, in the C of gcc and clang: the types of u32 and i32, the function of one sum, and
    how `LOCALS` are spelled."""
    spelled = {**names, "U": unsigned, "T": signed, "dot": dot}
    lines = [f"{signed} {names['j']} = 0;"]
    for macro, size, letter in _VECTORS:
        own = {"macro": macro, "bytes": size, "lanes": size // 4, "letter": letter}
        lines += Template(_IN_VECTORS).substitute(spelled, **own).splitlines()
    return [*lines, *Template(_ONE_BY_ONE).substitute(spelled).splitlines()]


def definition(name: str, dot: str) -> list[str]:
    """The lines of the function of that name; `dot` is that of one sum."""
    head = f"static inline __attribute__((always_inline)) void {name}"
    lines = added_dots("uint32_t", "int32_t", dot, {name: name for name in LOCALS})
    return [
        f"{head}(int32_t *sums, int32_t a, const int32_t *b, int32_t count)",
        "{",
        *(line if line.startswith("#") else f"    {line}" for line in lines),
        "}",
    ]
