"""polysched: polyhedral scheduling in Python. Loop nests in, proven-legal parallel kernels out."""

from polysched.constraints import innermost, max_skew, order, outer_parallel, separate, tile_sizes, together
from polysched.counts import Counts, counts
from polysched.errors import (
    BudgetExceeded,
    IllegalSchedule,
    InputError,
    KernelError,
    LaunchError,
    Loc,
    PolyschedError,
    ToolchainError,
)
from polysched.frontend.c.read import from_c
from polysched.frontend.python import Nest, nest
from polysched.frontend.tensor.functions import (
    abs,
    call,
    ceil,
    cos,
    erf,
    exp,
    floor,
    log,
    maximum,
    minimum,
    power,
    rint,
    select,
    sin,
    sqrt,
    tanh,
    trunc,
)
from polysched.frontend.tensor.nest import function
from polysched.frontend.tensor.reduce import all, any, argmax, argmin, max, min, prod, reduce_axis, sum
from polysched.frontend.tensor.tensor import Tensor, compute, placeholder
from polysched.frontend.tensor.value import Value, var
from polysched.ir.dtypes import boolean, f16, f32, f64, i8, i16, i32, i64, size, u8, u16, u32, u64
from polysched.ir.interp import interpret
from polysched.machine import Machine
from polysched.model.tree_text import show_tree
from polysched.model.tree_yaml import from_yaml, to_yaml
from polysched.options import Options
from polysched.pipeline import Compiled, optimize
from polysched.runtime.findings import CheckReport, Finding, Traffic
from polysched.runtime.hand_written import check_cuda
from polysched.schedule import Schedule
from polysched.trace import record
from polysched.verify import Verification, VerificationError

__all__ = [
    "BudgetExceeded",
    "CheckReport",
    "Compiled",
    "Counts",
    "Finding",
    "IllegalSchedule",
    "InputError",
    "KernelError",
    "LaunchError",
    "Loc",
    "Machine",
    "Nest",
    "Options",
    "PolyschedError",
    "Schedule",
    "Tensor",
    "ToolchainError",
    "Traffic",
    "Value",
    "Verification",
    "VerificationError",
    "abs",
    "all",
    "any",
    "argmax",
    "argmin",
    "boolean",
    "call",
    "ceil",
    "check_cuda",
    "compute",
    "cos",
    "counts",
    "erf",
    "exp",
    "f16",
    "f32",
    "f64",
    "floor",
    "from_c",
    "from_yaml",
    "function",
    "i8",
    "i16",
    "i32",
    "i64",
    "innermost",
    "interpret",
    "log",
    "max",
    "max_skew",
    "maximum",
    "min",
    "minimum",
    "nest",
    "optimize",
    "order",
    "outer_parallel",
    "placeholder",
    "power",
    "prod",
    "record",
    "reduce_axis",
    "rint",
    "select",
    "separate",
    "show_tree",
    "sin",
    "size",
    "sqrt",
    "sum",
    "tanh",
    "tile_sizes",
    "to_yaml",
    "together",
    "trunc",
    "u8",
    "u16",
    "u32",
    "u64",
    "var",
]
