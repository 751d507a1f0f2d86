"""A row of sums to which the products of the parts of words are added, by the instruction that does so: gcc 12 does not
find it in plain C.

    for j in 0..48 (vector):
        q8[i * 48 + j] = q8[i * 48 + j] + dot.i16(q3[k], q1[k * 48 + j])

                                            ->      add_dots_i32(&q8[i * 48], q3[k], &q1[k * 48], 48);

vpmaddwd multiplies i16 and adds neighbors in i32, where the sum of two products wraps as ours does; vpdpwssd adds them
to the sum, too, and vpdpbusd the products of four bytes, which vpmaddwd multiplies in two steps without it. A processor
that has none of them runs plain C.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from types import MappingProxyType

from polysched.codegen.lowered import names_in
from polysched.ir.integers.linear import added, expression, forms
from polysched.ir.nodes import DOT_BYTES, DOT_HALVES, Binary, Call, Const, Expr, For, Load, Store, Var

# What a word's products are called as a helper, and a row of them: one that has the factor as its first operand, or as
# the second one.
DOT_HELPERS: Mapping[str, str] = MappingProxyType({DOT_HALVES: "dot", DOT_BYTES: "dot_bytes"})
ROW_HELPERS: Mapping[str, tuple[str, bool]] = MappingProxyType(
    {"add_dots": (DOT_HALVES, True), "add_dots_u8": (DOT_BYTES, True), "add_dots_i8": (DOT_BYTES, False)}
)


@dataclass(frozen=True)
class DotRow:
    """sums[first + j] += dot(factor, columns[begin + j]) for j in 0..count."""

    helper: str
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
        case Binary("+", Load(read, (place,)), Call(fn, (left, right))) if (read, place) == (sums, at):
            is_first = fn == DOT_HALVES or var not in names_in(left)
            helper = next((name for name, row in ROW_HELPERS.items() if row == (fn, is_first)), None)
        case _:
            return None
    match (left, right) if var not in names_in(left) else (right, left):
        case factor, Load(columns, (index,)) if helper and columns != sums:
            first, begin = _start(at, var), _start(index, var)
            if names_in(factor).isdisjoint((var, sums)) and first is not None and begin is not None:
                return DotRow(helper, sums, first, factor, columns, begin, count)
    return None


def _start(place: Expr, var: str) -> Expr | None:
    """Where a subscript that steps by one begins; None for others."""
    form, *others = forms(place, upper=True)
    if others or form.get(Var(var)) != 1:
        return None
    start = expression(added(form, {Var(var): 1}, -1))
    return None if var in names_in(start) else start


# The names in the lines below.
LOCALS = ("sums", "a", "b", "count", "j", "vector", "halves", "all", "dots", "odd")

_ADDED, _HALVES, _BYTES = "added to the sums", "halves", "bytes as halves"
_IN_VECTORS = {
    _ADDED: """\
    $vector $dots = *($vector *)($sums + $j);
    __asm__("$opcode {%2, %1, %0|%0, %1, %2}" /* AT&T's order, and Intel's */
            : "+$letter"($dots) : "$letter"($left), "$letter"($right));
    *($vector *)($sums + $j) = $dots;""",
    _HALVES: """\
    $vector $dots;
    __asm__("$opcode {%2, %1, %0|%0, %1, %2}" : "=$letter"($dots) : "$letter"($left), "$letter"($right));
    *($vector *)($sums + $j) += $dots;""",
    _BYTES: """\
    typedef short $halves __attribute__((__vector_size__($size)));
    $vector $dots, $odd;
    __asm__("$opcode {%2, %1, %0|%0, %1, %2}"
            : "=$letter"($dots) : "$letter"($left & 0xff00ffu), "$letter"(($halves)($right << 8) >> 8));
    __asm__("$opcode {%2, %1, %0|%0, %1, %2}"
            : "=$letter"($odd) : "$letter"($left >> 8 & 0xff00ffu), "$letter"(($halves)$right >> 8));
    *($vector *)($sums + $j) += $dots + $odd;""",
}


@dataclass(frozen=True)
class _Instruction:
    condition: str  # of the preprocessor
    how: str
    opcode: str
    letter: str = "v"  # of its registers


def _instructions(adding: str, how: str) -> dict[int, tuple[_Instruction, ...]]:
    """By the bytes of their vectors, those of which a processor takes the first that it has."""
    return {
        64: (
            _Instruction("defined(__AVX512VNNI__)", _ADDED, adding),
            _Instruction("defined(__AVX512BW__)", how, "vpmaddwd"),
        ),
        32: (
            _Instruction("defined(__AVX512VNNI__) && defined(__AVX512VL__)", _ADDED, adding),
            _Instruction("defined(__AVXVNNI__)", _ADDED, f"%{{vex%}} {adding}", "x"),
            _Instruction("defined(__AVX2__)", how, "vpmaddwd", "x"),
        ),
    }


_INSTRUCTIONS = {DOT_HALVES: _instructions("vpdpwssd", _HALVES), DOT_BYTES: _instructions("vpdpbusd", _BYTES)}
_LOOP = """\
for (; $j + $lanes <= $count; $j += $lanes) {
    typedef $U $vector __attribute__((__vector_size__($size), __aligned__(4), __may_alias__));
    const $vector $all = ($vector){0} + ($U)$a;
"""
_ONE_BY_ONE = """\
for (; $j < $count; $j++)
    $sums[$j] = ($T)(($U)$sums[$j] + ($U)$dot($operands));"""


def added_dots(helper: str, unsigned: str, signed: str, dot: str, names: Mapping[str, str]) -> list[str]:
    """The lines that add to `sums`, in the C of gcc and clang: the types of u32 and i32, the function of one sum, and
    how `LOCALS` are spelled."""
    fn, is_first = ROW_HELPERS[helper]
    operands = [names["a"], f"{names['b']}[{names['j']}]"]
    vectors = [names["all"], Template("*(const $vector *)($b + $j)").substitute(names)]
    left, right = vectors if is_first else vectors[::-1]
    inputs = {"left": left, "right": right, "operands": ", ".join(operands if is_first else operands[::-1])}
    spelled = {**names, **inputs, "U": unsigned, "T": signed, "dot": dot}
    lines = [f"{signed} {names['j']} = 0;"]
    for size, alternatives in _INSTRUCTIONS[fn].items():
        for word, each in zip(("if", "elif", "elif"), alternatives, strict=False):
            own = {"opcode": each.opcode, "letter": each.letter, "size": size, "lanes": size // 4}
            text = Template(_LOOP + _IN_VECTORS[each.how]).substitute(spelled, **own)
            lines += [f"#{word} {each.condition}", *text.splitlines(), "}"]
        lines.append("#endif")
    return [*lines, *Template(_ONE_BY_ONE).substitute(spelled).splitlines()]


def dot_of(helper: str) -> str:
    """The helper of one sum that a row's needs."""
    return DOT_HELPERS[ROW_HELPERS[helper][0]]


def definition(helper: str, name: str, dot: str) -> list[str]:
    """The lines of the function of that name; `dot` is that of one sum."""
    head = f"static inline __attribute__((always_inline)) void {name}"
    lines = added_dots(helper, "uint32_t", "int32_t", dot, {name: name for name in LOCALS})
    return [
        f"{head}(int32_t *sums, int32_t a, const int32_t *b, int32_t count)",
        "{",
        *(line if line.startswith("#") else f"    {line}" for line in lines),
        "}",
    ]
