"""polysched: polyhedral scheduling in Python. Loop nests in, proven-legal parallel kernels out."""

from polysched.check.verify import Verification, VerificationError
from polysched.config.constraints import innermost, max_skew, order, outer_parallel, separate, tile_sizes, together
from polysched.config.machine import A100, H100, Gpu, Machine
from polysched.config.options import Options
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
    ZeroDivisorError,
)
from polysched.frontend.c.read import from_c
from polysched.frontend.op.op import Op, op
from polysched.frontend.python import Nest, nest
from polysched.frontend.tensor import (
    Tensor,
    Value,
    abs,
    all,
    all_of,
    any,
    any_of,
    argmax,
    argmin,
    call,
    ceil,
    compute,
    cos,
    erf,
    exp,
    floor,
    function,
    log,
    max,
    maximum,
    min,
    minimum,
    placeholder,
    power,
    prod,
    reduce_axis,
    rint,
    scan,
    select,
    sin,
    sqrt,
    sum,
    tanh,
    trunc,
    update,
    var,
)
from polysched.ir.dtypes import boolean, f16, f32, f64, i8, i16, i32, i64, size, u8, u16, u32, u64
from polysched.ir.interp import interpret
from polysched.model.tree.text import show_tree
from polysched.model.tree_yaml import from_yaml, to_yaml
from polysched.pipeline import Compiled, optimize
from polysched.prelude.edit import NestEdit
from polysched.runtime.emulated.findings import CheckReport, Finding, Traffic
from polysched.runtime.emulated.hand_written import check_cuda
from polysched.schedule.schedule import Schedule
from polysched.support.trace import record
from polysched.support.version import __version__
from polysched.transform.edits.base.registry import Edit

__all__ = [
    "A100",
    "H100",
    "BudgetExceeded",
    "CheckReport",
    "Compiled",
    "Counts",
    "Edit",
    "Finding",
    "Gpu",
    "IllegalSchedule",
    "InputError",
    "KernelError",
    "LaunchError",
    "Loc",
    "Machine",
    "Nest",
    "NestEdit",
    "Op",
    "Options",
    "PolyschedError",
    "Schedule",
    "Tensor",
    "ToolchainError",
    "Traffic",
    "Value",
    "Verification",
    "VerificationError",
    "ZeroDivisorError",
    "__version__",
    "abs",
    "all",
    "all_of",
    "any",
    "any_of",
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
    "op",
    "optimize",
    "order",
    "outer_parallel",
    "placeholder",
    "power",
    "prod",
    "record",
    "reduce_axis",
    "rint",
    "scan",
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
    "update",
    "var",
]


def __dir__() -> list[str]:
    """The public names, without the modules that they come from."""
    return sorted(__all__)
