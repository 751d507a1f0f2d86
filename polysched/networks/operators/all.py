"""All operators: the files that enter theirs."""

from polysched.networks.operators import (  # noqa: F401
    fourier,
    gathers,
    guards,
    movement,
    normal,
    products,
    recurrent,
    reductions,
    sorting,
)
from polysched.networks.operators.elements import broadcast, narrow, pointwise, quantized  # noqa: F401
from polysched.networks.operators.images import convolutions, pools, resize, sampled, spread  # noqa: F401
from polysched.networks.operators.table import OPERATORS, lowered

__all__ = ["OPERATORS", "lowered"]
