"""The public names. Type checkers read this file; `__init__.py` loads a name from here when it is first used."""

from .check.instruction import instruction as instruction
from .check.verify import Verification as Verification, VerificationError as VerificationError
from .config.constraints import (
    innermost as innermost,
    max_skew as max_skew,
    order as order,
    outer_parallel as outer_parallel,
    separate as separate,
    tile_sizes as tile_sizes,
    together as together,
)
from .config.machine import A100 as A100, H100 as H100, Gpu as Gpu, Machine as Machine
from .config.options import Options as Options
from .counts import Counts as Counts, counts as counts
from .errors import (
    BudgetExceeded as BudgetExceeded,
    IllegalSchedule as IllegalSchedule,
    InputError as InputError,
    KernelError as KernelError,
    LaunchError as LaunchError,
    Loc as Loc,
    PolyschedError as PolyschedError,
    ToolchainError as ToolchainError,
    ZeroDivisorError as ZeroDivisorError,
)
from .frontend.c.read import from_c as from_c
from .frontend.op.op import Op as Op, op as op
from .frontend.python import Nest as Nest, nest as nest
from .frontend.tensor import (
    Tensor as Tensor,
    Value as Value,
    abs as abs,
    all as all,
    all_of as all_of,
    any as any,
    any_of as any_of,
    argmax as argmax,
    argmin as argmin,
    call as call,
    ceil as ceil,
    compute as compute,
    cos as cos,
    erf as erf,
    exp as exp,
    floor as floor,
    function as function,
    log as log,
    max as max,
    maximum as maximum,
    min as min,
    minimum as minimum,
    placeholder as placeholder,
    power as power,
    prod as prod,
    reduce_axis as reduce_axis,
    rint as rint,
    scan as scan,
    select as select,
    sin as sin,
    sqrt as sqrt,
    sum as sum,
    tanh as tanh,
    trunc as trunc,
    update as update,
    var as var,
)
from .ir.dtypes import (
    boolean as boolean,
    f16 as f16,
    f32 as f32,
    f64 as f64,
    i8 as i8,
    i16 as i16,
    i32 as i32,
    i64 as i64,
    size as size,
    u8 as u8,
    u16 as u16,
    u32 as u32,
    u64 as u64,
)
from .ir.interp import interpret as interpret
from .model.instructions.own import OwnInstruction as OwnInstruction
from .model.tree.text import show_tree as show_tree
from .model.tree_yaml import from_yaml as from_yaml, to_yaml as to_yaml
from .networks.network import Network as Network, network as network
from .opt.tuning.cluster.crew import Cluster as Cluster
from .opt.tuning.report import Tuning as Tuning
from .opt.tuning.tune import tune as tune
from .pipeline import Compiled as Compiled, optimize as optimize
from .prelude.edit import NestEdit as NestEdit
from .runtime.emulated.findings import CheckReport as CheckReport, Finding as Finding, Traffic as Traffic
from .runtime.emulated.hand_written import check_cuda as check_cuda
from .schedule.schedule import Schedule as Schedule
from .schedule.space import Point as Point, Space as Space, space as space
from .support.trace import record as record
from .support.version import __version__ as __version__
from .transform.edits.base.registry import Edit as Edit
