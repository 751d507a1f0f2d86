"""The kinds of loops in code that the marks of a tree ask for.

>>> from polysched.model.tree.nodes import Map, Unroll
>>> kind_of(Map("thread.x")), kind_of(Unroll())
('thread.x', 'unrolled')
"""

from __future__ import annotations

from polysched.model.tree.nodes import LoopMark, Map, Parallel, Product, Tensor, Unroll, Vector


def kind_of(mark: LoopMark) -> str:
    """That of the `For` that a loop with the mark becomes."""
    match mark:
        case Map(axis=axis):
            return axis
        case Parallel():
            return "parallel"
        case Vector():
            return "vector"
        case Unroll():
            return "unrolled"
        case Product(kind=kind):
            return kind
        case Tensor():
            return "tensor"
    return "serial"
