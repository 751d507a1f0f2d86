"""The few operations that C has no operator for, as small functions; a text holds those that it uses.

    floordiv_i64(i - 1, 32)        min_f64(a, b)        x / divisor_i32(y)
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Template

from polysched.codegen.emit.dialect import Dialect
from polysched.codegen.emit.gcc import dot_rows
from polysched.codegen.emit.gcc.dot_rows import ROW_HELPERS
from polysched.ir.dtypes import ALL, DType

# In order of definition. Divisors of -1 are special: the smallest integer divided by -1 wraps, but traps in C.
# $T is the type, $U the unsigned one of its width; f16 compares as float.
_BODIES = {
    "negated": "$T end = -a; $hides return end;",
    "hidden": "$T end = a; $hides return end;",
    "divisor": "if (b == 0) return $zero_divisor = 1; return b;",
    "min": "return ${wide}b < ${wide}a ? b : a;",
    "max": "return ${wide}b > ${wide}a ? b : a;",
    "truncdiv": "return b == -1 ? ($T)(0 - ($U)a) : ($T)(a / b);",
    "truncmod": "return b == -1 ? 0 : ($T)(a % b);",
    "floordiv": "$T q = $truncdiv(a, b), r = $truncmod(a, b); return ($T)(q - ((r != 0) & ((r ^ b) < 0)));",
    "floormod": "$T r = $truncmod(a, b); return ($T)((r != 0) & ((r ^ b) < 0) ? r + b : r);",
    "add": "return ($T)(${wide}a + ${wide}b);",
    "sub": "return ($T)(${wide}a - ${wide}b);",
    "dot": "return ($T)(($U)((int16_t)a * (int16_t)b) + ($U)((a >> 16) * (b >> 16)));",
    "dot_bytes": "return ($T)((uint8_t)a * (int8_t)b + (uint8_t)(a >> 8) * (int8_t)(b >> 8) + "
    "(uint8_t)(a >> 16) * (int8_t)(b >> 16) + (uint8_t)(a >> 24) * (int8_t)(b >> 24));",
    # by: 2^k / b rounded up, in 32 bits, and above them k. Its product with a of 31 bits is a / b, k bits further up.
    "countdiv_by": "return sizeof($T) == 8 ? a / b : ($T)((uint64_t)(uint32_t)a * (uint32_t)by >> (by >> 32));",
    "countmod_by": "return a - $countdiv_by(a, b, by) * b;",
    "truncdiv_by": "if (sizeof($T) == 8) return a / b; const $T q = $countdiv_by(a < 0 ? -a : a, b, by); "
    "return a < 0 ? -q : q;",
    "truncmod_by": "return a - $truncdiv_by(a, b, by) * b;",
}
_UNARY = {"negated": "a", "hidden": "a", "divisor": "b"}  # and what their operand is called
_NEEDS = {
    "floordiv": ("truncdiv", "truncmod"),
    "floormod": ("truncmod",),
    "countmod_by": ("countdiv_by",),
    "truncdiv_by": ("countdiv_by",),
    "truncmod_by": ("countdiv_by", "truncdiv_by"),
    **{row: (dot_rows.dot_of(row),) for row in ROW_HELPERS},
}

_ENDS = {op: f"$T end = b {sign} a ? b : a; $hides return end;" for op, sign in (("min", "<"), ("max", ">"))}

# The type of index arithmetic in texts that can have it in 32 or in 64 bits: the dialect's `index`.
INDEX = DType("index", "i", 64)

_HIDDEN = ALL["i32"], ALL["u32"]  # the types of which `Dialect.hides` hides the least and the greatest

NAMES = frozenset(f"{op}_{dtype}" for op in (*_BODIES, *ROW_HELPERS) for dtype in (*ALL, INDEX))


def name_of(op: str, dtype: DType) -> str:
    """The name of the function that computes `op` on two values of `dtype`."""
    return f"{op}_{dtype}"


def definitions(used: Iterable[tuple[str, DType]], dialect: Dialect) -> list[str]:
    """The lines that define the helpers for these operations, and what they need themselves."""
    wanted = {(need, dtype) for op, dtype in used for need in (op, *_NEEDS.get(op, ()))}
    order = [(op, t) for t in (*ALL.values(), INDEX) for op in (*_BODIES, *ROW_HELPERS) if (op, t) in wanted]
    lines = [line for op, dtype in order for line in ("", *_definition(op, dtype, dialect))]
    if any(op == "divisor" for op, _ in order):
        what = "/* not 0: an integer was to be divided by 0 */"
        lines = ["", f"__attribute__((weak)) int {dialect.zero_divisor};  {what}", *lines]
    if dialect.hides and any(op in ("negated", "hidden") or (op in _ENDS and dtype in _HIDDEN) for op, dtype in order):
        lines = ["", *dialect.hiding.splitlines(), *lines]
    return lines[1:]


def _definition(op: str, dtype: DType, dialect: Dialect) -> list[str]:
    if op in ROW_HELPERS:
        return dot_rows.definition(op, name_of(op, dtype), name_of(dot_rows.dot_of(op), dtype))
    own = dialect.index if dtype == INDEX else dialect.types[dtype.name]
    bodies = _BODIES | _ENDS if dtype == INDEX or (dialect.hides and dtype in _HIDDEN) else _BODIES
    hides = dialect.opaque if dtype == INDEX and op in _ENDS else dialect.hides
    body = Template(bodies[op]).substitute(
        T=own,
        U=dialect.types.get(f"u{dtype.bits}"),  # there is none of a float
        zero_divisor=dialect.zero_divisor,
        hides=hides,
        wide="(float)" if dtype.name == "f16" else "",
        **{need: name_of(need, dtype) for needs in _NEEDS.values() for need in needs},
    )
    lines = [f"    {statement.strip()};" for statement in body.split(";") if statement.strip()]
    template = [f"template <typename {own}>"] if dtype == INDEX else []
    by = f", {dialect.types['u64']} by" if op.endswith("_by") else ""
    operands = f"{own} {_UNARY[op]}" if op in _UNARY else f"{own} a, {own} b{by}"
    return [*template, f"{dialect.helper} {own} {name_of(op, dtype)}({operands})", "{", *lines, "}"]
