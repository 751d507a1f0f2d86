"""All operators: the files that enter theirs."""

from polysched.networks.operators import (  # noqa: F401
    broadcast,
    convolutions,
    gathers,
    guards,
    movement,
    narrow,
    normal,
    pointwise,
    pools,
    products,
    quantized,
    recurrent,
    reductions,
    resize,
)
from polysched.networks.operators.table import OPERATORS, lowered

__all__ = ["OPERATORS", "lowered"]
