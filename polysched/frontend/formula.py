"""Conditions and integers that the user gives as text, in Python's syntax, over names that are known.

    parse_formula("i < j and 2 * i <= n", ("i", "j", "n"))      i < j && 2 * i <= n      of type bool
    parse_formula("n // 2", ("n",))                             floordiv(n, 2)           of type i64
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polysched.errors import InputError, Loc
from polysched.frontend.python_expressions import Expressions, Scope
from polysched.frontend.python_source import Source, names_in
from polysched.ir.dtypes import boolean
from polysched.ir.nodes import Expr


def parse_formula(text: str, names: Sequence[str]) -> Expr:
    """The condition, a bool, or the integer, an i64, that the text says; InputError with a caret where it is neither.

    `names` are integers.
    """
    source = Source("formula", (text,))
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise InputError(f"this is not Python: {error.msg}", Loc("formula", 1, error.offset or 1, text)) from None
    called = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    for name in names_in(node):
        if name.id not in names and name not in called:
            raise source.error(name, f"'{name.id}' is not known here", f"the names are: {', '.join(names)}")
    read = Expressions(source, Scope(tuple(names)))
    is_condition = isinstance(node, ast.Compare | ast.BoolOp) or read.value(node).type.dtype == boolean
    return read.condition(node) if is_condition else read.integer(node, "it")
