"""The loop IR as text for people: Python's layout, C's operators, no parentheses that precedence makes needless.

    def scale(n: size, A: f64[n, n]):
        for i in 0..n (parallel):
            t0 = i * 2
            for j in n - 1..-1 by -1:
                if j < t0 && floormod(j, 2) == 0:
                    A[i, j] = A[i, j] * 0.5

Different nodes have different texts, but for source places: divisions other than `/` and min, max print as calls,
a constant that is neither i64, f64 nor bool carries its type (`1i32`, `0.5f32`), a cast is `f64(x)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polysched.ir import nodes as ir
from polysched.ir.dtypes import boolean, f64, i64
from polysched.support.brief import brief

_INDENT = "    "


def show(node: ir.Function | ir.Stmt | ir.Expr | tuple[ir.Stmt, ...]) -> str:
    """The text of a function, a statement, a statement list or an expression, without a newline at its end."""
    match node:
        case ir.Expr():
            return _expr(node)
        case ir.Function():
            return "\n".join([f"def {head(node)}:", *_block(node.body, _INDENT)])
        case ir.Stmt():
            return "\n".join(_stmt(node, ""))
        case tuple():
            return "\n".join(_block(node, ""))
    raise TypeError(f"show cannot print {type(node).__name__}")


def head(fn: ir.Function) -> str:
    """Its name and parameters: scale(n: size, A: f64[n, n])."""
    texts = {size: f"{size}: size" for size in fn.sizes}
    texts |= {scalar.name: f"{scalar.name}: {scalar.dtype}" for scalar in fn.scalars}
    texts |= {array.name: _array(array) for array in fn.arrays}
    texts |= {name: f"{texts[name]} = {value}" for name, value in fn.defaults}
    return f"{fn.name}({', '.join(texts[name] for name in fn.params or texts)})"


def in_words(sizes: Mapping[str, int]) -> str:
    """As in "N = 2, M = 1"."""
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _array(array: ir.Array) -> str:
    space = "" if array.space == "global" else f" {array.space}"
    return f"{array.name}:{space} {array.dtype}[{_list(array.shape)}]"


def _block(statements: tuple[ir.Stmt, ...], indent: str) -> Iterator[str]:
    if not statements:
        yield f"{indent}pass"
    for stmt in statements:
        yield from _stmt(stmt, indent)


def _stmt(stmt: ir.Stmt, indent: str) -> Iterator[str]:
    """The lines of a statement."""
    match stmt:
        case ir.Let(name, value):
            yield f"{indent}{name} = {_expr(value)}"
        case ir.Store(array, index, value):
            yield f"{indent}{array}[{_list(index)}] = {_expr(value)}"
        case ir.For(var, lo, hi, step, body, kind, _, when, reduces):
            by = "" if step == 1 else f" by {step}"
            only = f" if {' && '.join(map(_expr, when))}" if when else ""
            sums = f", reduces {', '.join(reduces)}" if reduces else ""
            how = "" if kind == "serial" else f" ({kind}{only}{sums})"
            yield f"{indent}for {var} in {_expr(lo)}..{_expr(hi)}{by}{how}:"
            yield from _block(body, indent + _INDENT)
        case ir.If(cond, then, other):
            yield f"{indent}if {_expr(cond)}:"
            yield from _block(then, indent + _INDENT)
            if other:
                yield f"{indent}else:"
                yield from _block(other, indent + _INDENT)
        case ir.Alloc(array):
            yield f"{indent}alloc {_array(array)}"
        case ir.Prefetch(array, index):
            yield f"{indent}prefetch {array}[{_list(index)}]"
        case ir.Barrier(arrivals, ahead):
            but = f" but those of {ahead} before" if ahead else ""
            yield f"{indent}barrier{' for arrivals' if arrivals else ''}{but}"
        case _:
            raise TypeError(f"unknown statement {type(stmt).__name__}")


def _list(exprs: tuple[ir.Expr, ...]) -> str:
    return ", ".join(_expr(expr) for expr in exprs)


# C's, weakest first, but with all comparisons on one level.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("?:",),
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/"),
)
_PRECEDENCE = {op: level for level, ops in enumerate(_LEVELS) for op in ops}
_TIGHTEST = len(_LEVELS)  # of unary operators and their operands


def _expr(expr: ir.Expr, needed: int = 0) -> str:
    """The text, in parentheses if the expression binds less tightly than `needed`."""
    match expr:
        case ir.Const():
            return _const(expr)
        case ir.Var(name, _):
            return name
        case ir.Load(array, index, _):
            return f"{array}[{_list(index)}]"
        case ir.Unary(op, arg):
            # Signs must not run together, and -(3) is not the constant -3.
            apart = isinstance(arg, ir.Const | ir.Unary)
            return f"{op}({_expr(arg)})" if apart else f"{op}{_expr(arg, _TIGHTEST)}"
        case ir.Binary(op, left, right) if op in _PRECEDENCE:
            level = _PRECEDENCE[op]
            # All associate to the left, but a comparison of comparisons is put in parentheses.
            text = f"{_expr(left, level + (op in ir.COMPARISONS))} {op} {_expr(right, level + 1)}"
        case ir.Binary(op, left, right):
            return f"{op}({_expr(left)}, {_expr(right)})"
        case ir.Select(cond, then, other):
            level = _PRECEDENCE["?:"]
            text = f"{_expr(cond, level + 1)} ? {_expr(then, level + 1)} : {_expr(other, level)}"
        case ir.Call(fn, args, _, _):
            return f"{fn}({_list(args)})"
        case ir.Cast(arg, dtype):
            return f"{dtype}({_expr(arg)})"
        case _:
            raise TypeError(f"unknown expression {type(expr).__name__}")
    return f"({text})" if level < needed else text


def _const(const: ir.Const) -> str:
    if const.dtype == boolean:
        return "true" if const.value else "false"
    suffix = "" if const.dtype in (i64, f64) else str(const.dtype)
    value = const.dtype(const.value) if const.dtype.is_float else const.value
    return f"{value!s}{suffix}"


# `str(node)` and f-strings give the text, `repr` of a function its head; nodes.py cannot import this module.
for _cls in (ir.Expr, ir.Stmt, ir.Function):
    _cls.__str__ = show  # type: ignore[method-assign,assignment]
ir.Function.__repr__ = lambda fn: brief(fn, head(fn))  # type: ignore[method-assign,arg-type]
