"""Every knob of the compiler, one documented line each."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal, get_args, get_type_hints

from polysched.config.constraints import Constraint
from polysched.config.machine import Gpu, Machine, machine
from polysched.errors import InputError
from polysched.support.entry import entries

Target = Literal["c", "cuda", "opencl", "hip"]


@entries
@dataclass(frozen=True, kw_only=True)
class Options:
    """How to compile. The defaults are safe and meant to be fast; results do not depend on them unless
    `reorder_reductions`, `fast_math` or `tensor="fast"` is set, but for two roundings: of a * b + c of floats, once
    or, with `contract_floats=False`, twice; and of sums of halves on tensor cores, unless `tensor="off"`."""

    scheduler: Literal["pluto", "isl", "source"] = "pluto"  # who finds the schedule
    solver: Literal["highs", "isl", "pulp", "scipy"] = "highs"  # back end of the Pluto ILP
    fusion: Literal["smart", "max", "none"] = "smart"  # which SCCs share a loop nest
    constraints: tuple[Constraint, ...] = ()  # what the schedule must meet: order, innermost, separate, ...
    constants: tuple[str, ...] = ()  # parameters that stay from call to call: what is made of them alone is made once
    negative_coefficients: bool = False  # the Pluto+ form: hyperplanes may have negative coefficients
    reorder_reductions: bool = False  # let + * min max reductions run in another order (changes float rounding)
    fast_math: bool = False  # let floats be reassociated, and divided by through the inverse; NaN stays NaN
    tile: bool = True  # tile permutable bands of two or more members
    tile_sizes: tuple[int, ...] | None = None  # the last is for SIMD loops, the one before it repeats; None: by a model
    wavefront: bool = True  # skew tile loops when no outer one is parallel
    diamond: bool = True  # tile stencils so that all tiles of a wavefront can start at once
    parallel: bool = True  # run the outermost parallel loops on threads
    register_tiles: bool = True  # keep what a loop adds to in registers, for a block of elements at a time
    shared_memory: bool = True  # on GPUs, copy what the threads of a block read again and again to shared memory
    tensor: Literal["off", "exact", "fast"] = "exact"  # on GPUs, for sums of exact products, or of floats cut to tf32
    double_buffer: bool = False  # on GPUs, copy the next chunk to shared memory while computing with one
    machine: Machine = field(default_factory=machine)  # vectors and caches that tiles are made for
    gpu: Gpu = field(default_factory=Gpu)  # whose multiprocessors blocks are to fill
    contract_floats: bool = True  # let compilers round a * b + c once, as they do by default
    tuned: Literal["use", "ignore", "require"] = "ignore"  # schedules that `tune` has found and measured here
    vector: bool = True  # put the loop of least stride innermost, as SIMD where its iterations are independent
    expressions: Literal["all", "licm", "off"] = "all"  # passes over index arithmetic and conditions, to measure them
    licm_threshold: int = 1  # K: an invariant expression of this cost or more gets a temporary
    tiny_loop: int = 8  # constant trip counts up to this are unrolled by the GPU compiler, so nothing moves out
    dependence_seconds: float = 5.0  # budget of exact dependence analysis, then what is not decided counts
    solve_seconds: float = 5.0  # budget of one scheduling problem, then the named fallback
    isl_operations: int = 20_000_000  # budget of the isl calls of one scheduling problem
    lower_operations: int = 20_000_000  # of isl, to generate the loops, then the next simpler tree is lowered
    lower_seconds: float = 10.0  # the same by the clock
    edit_seconds: float = 10.0  # budget of one edit by hand, which is refused then
    compile_seconds: float = 30.0  # budget of all of `optimize`; what does not fit is left out, or left as it was

    def __repr__(self) -> str:
        defaults = {each.name: each.default for each in fields(self)} | {"machine": machine(), "gpu": Gpu()}
        changed = {name: getattr(self, name) for name in defaults if getattr(self, name) != defaults[name]}
        return f"Options({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            value, choices = getattr(self, name), get_args(hint)
            if name not in ("tile_sizes", "constraints", "constants") and choices and value not in choices:
                raise InputError(f"option {name} is {value!r}, but is one of {', '.join(map(repr, choices))}")
            is_right = isinstance(value, _KINDS.get(hint, object)) and (hint is bool or not isinstance(value, bool))
            if hint in _KINDS and not is_right:
                raise InputError(f"option {name} is {value!r}, but is of type {hint.__name__}")
            if hint in (int, float) and not value >= 0:  # NaN is not, either
                raise InputError(f"option {name} is {value!r}, but is zero or more")
        if not isinstance(self.machine, Machine):
            raise InputError(f"option machine is {self.machine!r}, but is a polysched.Machine")
        if not isinstance(self.gpu, Gpu):
            raise InputError(f"option gpu is {self.gpu!r}, but is a polysched.Gpu, as polysched.H100 is")
        if not (isinstance(self.constraints, tuple) and all(isinstance(c, Constraint) for c in self.constraints)):
            needed = 'constraints, as in (order("S", "i", "j"), max_skew(1))'
            raise InputError(f"option constraints is {self.constraints!r}, but is a tuple of {needed}")
        if not (isinstance(self.constants, tuple) and all(isinstance(name, str) for name in self.constants)):
            needed = "a tuple of names of parameters, as in ('weight', 'bias')"
            raise InputError(f"option constants is {self.constants!r}, but is {needed}")
        sizes = self.tile_sizes
        fits = isinstance(sizes, tuple) and sizes and all(isinstance(size, int) and size > 0 for size in sizes)
        if sizes is not None and not fits:
            needed = "a tuple of one or more positive integers, as in (16, 256), or None"
            raise InputError(f"option tile_sizes is {sizes!r}, but is {needed}")


_KINDS = {bool: bool, int: int, float: int | float}


def require_options(options: object) -> None:
    """InputError if these are no options: a dict of them, say."""
    if not isinstance(options, Options):
        message = f"the options are {options!r}, but are of type polysched.Options"
        raise InputError(message, hint="write options=ps.Options(tile=False)")
