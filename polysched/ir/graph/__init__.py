"""Operation graphs in SSA form."""

from polysched.ir.graph.operations import (
    Block,
    Builder,
    Effects,
    Graph,
    Operation,
    Region,
    TensorType,
    Value,
    reads,
    show,
    verify,
    writes,
)

__all__ = [
    "Block",
    "Builder",
    "Effects",
    "Graph",
    "Operation",
    "Region",
    "TensorType",
    "Value",
    "reads",
    "show",
    "verify",
    "writes",
]
