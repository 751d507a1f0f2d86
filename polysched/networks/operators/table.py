"""Which operators there are: a function for each, of the node and its operands, that gives its results.

    @operator("Relu", pointwise=True)
    def relu(node, x):
        return node.make.compute(x.shape, x.dtype, lambda i: te.maximum(x[i], 0))

The signature says how many operands there may be; an operand that is left out in the file is None.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from polysched.errors import InputError
from polysched.networks.array import Array
from polysched.networks.node import Node

Lowering = Callable[..., Any]


@dataclass(frozen=True)
class Operator:
    lower: Lowering
    pointwise: bool  # does each element of the result need one of each operand, as NumPy broadcasts?
    least: int  # operands
    most: int | None


OPERATORS: dict[str, Operator] = {}


def operator(*kinds: str, pointwise: bool = False) -> Callable[[Lowering], Lowering]:
    """Enters a function as the meaning of these kinds of nodes."""

    def entered(lower: Lowering) -> Lowering:
        for kind in kinds:
            assert kind not in OPERATORS, kind
            OPERATORS[kind] = Operator(lower, pointwise, *_arity(lower))
        return lower

    return entered


def _arity(lower: Lowering) -> tuple[int, int | None]:
    operands = list(inspect.signature(lower).parameters.values())[1:]
    is_open = any(p.kind is p.VAR_POSITIONAL for p in operands)
    plain = [p for p in operands if p.kind is p.POSITIONAL_OR_KEYWORD]
    least = sum(p.default is p.empty for p in plain) + (1 if is_open else 0)
    return least, None if is_open else len(plain)


def lowered(node: Node, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """The results of a node; InputError for what its operator does not do."""
    found = OPERATORS.get(node.kind)
    if found is None:
        raise node.refusal(f"operator {node.kind} is not supported", "docs/graph.md lists what is")
    given = list(operands)
    while given and given[-1] is None:
        given.pop()
    if len(given) < found.least or any(each is None for each in given[: found.least]):
        raise node.refusal(f"{node.kind} needs {found.least} operands and has {len(given)}")
    if found.most is not None and len(given) > found.most:
        raise node.refusal(f"operand {found.most} of {node.kind} is not supported", "leave it out")
    try:
        made = found.lower(node, *given)
    except InputError as error:
        if error.message.startswith(node.label):
            raise
        raise node.refusal(error.message, error.hint) from None
    except (ValueError, LookupError, TypeError) as error:  # extents, axes and letters that are not of the same number
        raise node.refusal(f"its operands and attributes do not fit: {error}") from error
    results = made if isinstance(made, tuple) else (made,)
    if unread := sorted(set(node.attributes) - node.asked):
        raise node.refusal(f"attribute {unread[0]} of {node.kind} is not supported", "leave it out")
    if len(results) < node.results:
        raise node.refusal(f"result {len(results)} of {node.kind} is not supported", "leave it out")
    return results[: node.results]
