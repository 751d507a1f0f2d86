"""polysched: polyhedral scheduling in Python. Loop nests in, proven-legal parallel kernels out."""

from polysched.check.instruction import instruction
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
from polysched.frontend import tensor as _tensor
from polysched.frontend.c.read import from_c
from polysched.frontend.op.op import Op, op
from polysched.frontend.python import Nest, nest
from polysched.frontend.tensor import *  # noqa: F403
from polysched.ir.dtypes import boolean, f16, f32, f64, i8, i16, i32, i64, size, u8, u16, u32, u64
from polysched.ir.interp import interpret
from polysched.model.instructions.own import OwnInstruction
from polysched.model.tree.text import show_tree
from polysched.model.tree_yaml import from_yaml, to_yaml
from polysched.networks.network import Network, network
from polysched.opt.tuning.cluster.crew import Cluster
from polysched.opt.tuning.report import Tuning
from polysched.opt.tuning.tune import tune
from polysched.pipeline import Compiled, optimize
from polysched.prelude.edit import NestEdit
from polysched.runtime.emulated.findings import CheckReport, Finding, Traffic
from polysched.runtime.emulated.hand_written import check_cuda
from polysched.schedule.schedule import Schedule
from polysched.schedule.space import Point, Space, space
from polysched.support.trace import record
from polysched.support.version import __version__
from polysched.transform.edits.base.registry import Edit

__all__ = [
    "A100",
    "H100",
    "BudgetExceeded",
    "CheckReport",
    "Cluster",
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
    "Network",
    "Op",
    "Options",
    "OwnInstruction",
    "Point",
    "PolyschedError",
    "Schedule",
    "Space",
    "ToolchainError",
    "Traffic",
    "Tuning",
    "Verification",
    "VerificationError",
    "ZeroDivisorError",
    "__version__",
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
    "instruction",
    "interpret",
    "max_skew",
    "nest",
    "network",
    "op",
    "optimize",
    "order",
    "outer_parallel",
    "record",
    "separate",
    "show_tree",
    "size",
    "space",
    "tile_sizes",
    "to_yaml",
    "together",
    "tune",
    "u8",
    "u16",
    "u32",
    "u64",
]
__all__ += _tensor.__all__


def __dir__() -> list[str]:
    """The public names, without the modules that they come from."""
    return sorted(__all__)
