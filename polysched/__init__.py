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
    "ToolchainError",
    "Traffic",
    "Verification",
    "VerificationError",
    "boolean",
    "check_cuda",
    "counts",
    "f16",
    "f32",
    "f64",
    "from_c",
    "from_yaml",
    "i8",
    "i16",
    "i32",
    "i64",
    "innermost",
    "interpret",
    "max_skew",
    "nest",
    "optimize",
    "order",
    "outer_parallel",
    "record",
    "separate",
    "show_tree",
    "size",
    "tile_sizes",
    "to_yaml",
    "together",
    "u8",
    "u16",
    "u32",
    "u64",
]
