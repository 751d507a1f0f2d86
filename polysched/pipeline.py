"""The compiler on one screen: a nest in, a kernel that is proven legal and can be called out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from polysched.bounded import call_within
from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.emit.opencl import emit_opencl
from polysched.codegen.gpu.mapping import map_to_gpu
from polysched.codegen.gpu.points import whole_points
from polysched.codegen.gpu.reduce import reduce_on_gpu
from polysched.codegen.gpu.staging import stage
from polysched.codegen.lower import lower
from polysched.codegen.passes.accumulate import accumulate
from polysched.codegen.passes.contract import contract
from polysched.codegen.passes.linearize import linearize
from polysched.codegen.passes.packing import pack
from polysched.codegen.passes.privatize import privatize
from polysched.codegen.passes.register_tiles import register_tiles
from polysched.codegen.passes.stage import improve_expressions
from polysched.codegen.source import Source
from polysched.deps.dataflow import dependences
from polysched.deps.dependences import Dependences
from polysched.deps.legality import require_legal
from polysched.errors import BudgetExceeded, CannotLower, InputError, LaunchError
from polysched.explain import explain
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function
from polysched.ir.verify import verify as verify_ir
from polysched.model.expand import expand_temporaries
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.model.tree import Mark, Tree, walk
from polysched.options import LANGUAGES, Options, Target
from polysched.runtime.check import check
from polysched.runtime.cpu import CpuProgram, load
from polysched.runtime.cuda import CudaProgram, load_cuda
from polysched.runtime.cuda_driver import Launcher
from polysched.runtime.emulate import emulate
from polysched.runtime.findings import CheckReport
from polysched.runtime.opencl import OpenclProgram, load_opencl
from polysched.runtime.timing import Timing
from polysched.sass.inspect import inspect
from polysched.sass.launches import Execution, executions
from polysched.sass.report import Report
from polysched.sass.toolkit import DEFAULT_ARCH
from polysched.solve.scheduler import Scheduled, find_schedule
from polysched.trace import Event, record, step
from polysched.transform.expand_arrays import expand_arrays
from polysched.transform.fuse_tiles import fuse_tile_loops
from polysched.transform.interleave import interleave_all
from polysched.transform.parallel import mark_parallel
from polysched.transform.reductions import reduce_on_lanes, reduce_on_threads
from polysched.transform.register_tile import register_tile_all
from polysched.transform.strides import stride_one_innermost
from polysched.transform.tile import tile_all
from polysched.transform.vectorize import vectorize
from polysched.transform.wavefront import wavefront_all
from polysched.verify import Run, Verification, verify


def optimize(
    nest: Nest | Function, target: Target = "c", *, schedule: Tree | None = None, options: Options | None = None
) -> Compiled:
    """The nest compiled for `target`, "c", "cuda" or "opencl": print it, explain it, verify it, call it.

    The order of its iterations is found by ILP, or is `schedule`, a tree as in `Compiled.scheduled.tree` or from
    `from_yaml`; then loops are tiled and put on threads, unless `schedule` has marks that say so itself, and the code
    is generated.
    InputError for a nest that cannot be compiled, IllegalSchedule for a `schedule` that breaks a dependence.
    """
    options = options or Options()
    function = _function(nest)
    if target not in _EMIT:
        raise InputError(f"there is no target '{target}'", hint="the targets are c, cuda and opencl")
    with record() as events:
        expanded = step("expand", expand_temporaries, function)
        scop, deps = _model(expanded, options)
        if target != "c" and schedule is None:  # on a CPU, memory costs more than it brings: doitgen takes twice as long
            again = step("expand arrays", expand_arrays, expanded, scop, deps)
            scop, deps = (scop, deps) if again is expanded else _model(again, options)
        scheduled = (
            step("schedule", find_schedule, scop, deps, options)
            if schedule is None
            else Scheduled(tree=schedule, rung="given")
        )
        step("legality", require_legal, scheduled.tree, deps, scop)
        tree, kernel, mapping = _lower_within_budget(scop, deps, scheduled.tree, target, options)
        kernel = step("contract", contract, kernel)
        if target == "c":
            kernel = step("privatize", privatize, kernel, vector=options.vector)
            kernel = step("pack", pack, kernel)
        else:
            kernel = step("reduce", reduce_on_gpu, kernel, shuffles=target == "cuda")
            if options.shared_memory:
                kernel = step("stage", stage, kernel, double_buffer=options.double_buffer)
            kernel = step("points", whole_points, kernel)
        kernel = step("register tiles", register_tiles, kernel)
        kernel = step("accumulate", accumulate, kernel)
        kernel = step("linearize", linearize, kernel)
        kernel = improve_expressions(kernel, options, gpu=target != "c")
        source = step("emit", _EMIT[target], kernel)
    return Compiled(
        nest=function,
        scop=scop,
        dependences=deps,
        scheduled=scheduled,
        schedule=tree,
        rungs={
            "dependences": "exact" if deps.is_exact else "memory-based where isl could not tell the last access",
            "schedule": scheduled.rung,
            "mapping": mapping,
        },
        kernel=kernel,
        source=source,
        options=options,
        events=tuple(events),
    )


def _model(function: Function, options: Options) -> tuple[Scop, Dependences]:
    scop = step("extract", extract, function)
    reorder, seconds = options.reorder_reductions, options.dependence_seconds
    return scop, step("dependences", dependences, scop, reorder_reductions=reorder, seconds=seconds)


_EMIT: dict[Target, Callable[[Function], Source]] = {"c": emit_c, "cuda": emit_cuda, "opencl": emit_opencl}


def _function(nest: Nest | Function) -> Function:
    if isinstance(nest, Nest):
        return nest.function
    if isinstance(nest, Function):
        verify_ir(nest, "source")
        return nest
    if isinstance(nest, tuple) and nest and all(isinstance(part, Function) for part in nest):
        names = ", ".join(part.name for part in nest)
        raise InputError("a tuple of nests is no nest", hint=f"pass one of those that from_c gives: {names}")
    name = getattr(nest, "__name__", nest)
    hint = "decorate the function with @polysched.nest, or read a C file with polysched.from_c"
    raise InputError(f"'{name}' is not a nest", hint=hint)


def _lower_within_budget(
    scop: Scop, deps: Dependences, scheduled: Tree, target: Target, options: Options
) -> tuple[Tree, Function, str]:
    """The mapped tree, its loops, and which rung gave them: where isl's code generation outgrows its budget, the next
    simpler tree is tried."""
    mapping = _as_it_is if _has_marks(scheduled) else _map_to_cpu if target == "c" else _map_to_gpu
    rungs: dict[str, Callable[[], Tree]] = {
        "mapped": lambda: mapping(scheduled, scop, deps, options),
        "mapped without tiles": lambda: mapping(scheduled, scop, deps, replace(options, tile=False, wavefront=False)),
        "not mapped": lambda: scheduled,
        "source order": lambda: scop.tree,
    }
    reason = ""
    tried: list[Tree] = []
    for rung, make in rungs.items():
        tree = step("legality of the mapping", require_legal, make(), deps, scop)
        if tree in tried:
            continue
        tried.append(tree)
        try:
            return tree, step("lower", _lower_bounded, tree, scop, options), rung + reason
        except BudgetExceeded as error:
            reason = f", since {error}"
    return scop.tree, scop.function, "the nest as it was given" + reason


def _lower_bounded(tree: Tree, scop: Scop, options: Options) -> Function:
    try:
        return lower(tree, scop, operations=options.lower_operations)
    except CannotLower:
        raise
    except BudgetExceeded:
        return call_within(options.lower_seconds, lower, tree, scop)


def _map_to_cpu(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    """Tiles, wavefronts where no loop is parallel, threads on the outermost loop, SIMD on the innermost."""
    if options.vector:
        tree = step("strides", stride_one_innermost, tree, scop)
    if options.tile:
        tree = step("fuse tile loops", fuse_tile_loops, tree, deps)
        tree = step("tile", tile_all, tree, scop, deps, options)
    if options.wavefront:
        tree = step("wavefront", wavefront_all, tree, deps)
    if options.register_tiles and options.vector:
        tree = step("register tile", register_tile_all, tree, scop, deps, options.machine)
        tree = step("interleave", interleave_all, tree, deps)
    if options.vector:
        tree = step("vectorize", vectorize, tree, deps)
    if options.parallel:
        tree = step("parallel", mark_parallel, tree)
        tree = step("reduce on threads", reduce_on_threads, tree, deps)
    return step("reduce on lanes", reduce_on_lanes, tree, scop, deps) if options.vector else tree


def _as_it_is(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    return tree


def _has_marks(tree: Tree) -> bool:
    return any(isinstance(node, Mark) for node in walk(tree))


def _map_to_gpu(tree: Tree, scop: Scop, deps: Dependences, options: Options) -> Tree:
    return step("map to gpu", map_to_gpu, tree, scop, deps, options)


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A compiled nest, with every stage that led to it. Call it with the arrays: it runs in place."""

    nest: Function
    scop: Scop
    dependences: Dependences
    scheduled: Scheduled  # what the solver found, `.tree`, before tiling and mapping
    schedule: Tree  # what the kernel follows: tiled and mapped
    rungs: dict[str, str]  # which way each budgeted stage went
    kernel: Function
    source: Source
    options: Options
    events: tuple[Event, ...]

    @cached_property
    def program(self) -> Callable[..., None]:
        """The loaded program: C on this machine's threads; CUDA and OpenCL on the CPU, one thread after another."""
        if self.source.language == "c":
            return self._launched
        return emulate(self.source, self.nest, self.scop.valid_sizes)

    def launcher(self, name: Launcher = "cuda") -> CudaProgram:
        """The program of a CUDA text on a GPU, through NVIDIA's bindings, "cuda", or through "pycuda"."""
        if self.source.language != "cuda":
            raise LaunchError(f"only CUDA has launchers, and this is {LANGUAGES[self.source.language]}")
        contract = self.options.contract_floats
        return load_cuda(self.source, self.nest, self.scop.valid_sizes, contract=contract, launcher=name)

    @cached_property
    def _launched(self) -> CpuProgram | CudaProgram | OpenclProgram:
        """What runs a call: on the CPU for C, else on a device."""
        match self.source.language:
            case "cuda":
                return self.launcher()
            case "opencl":
                return load_opencl(self.source, self.nest, self.scop.valid_sizes)
        return load(self.source, self.nest, self.scop.valid_sizes, contract=self.options.contract_floats)

    def __call__(self, **arguments: Any) -> None:
        """Runs on arrays given by name, which it changes; sizes that the arrays show may be left out.

        Arrays are numpy's. For CUDA, which copies those to the device and back, arrays on the device are used in place:
        anything with `__cuda_array_interface__` or DLPack, as of CuPy, PyTorch, Numba and PyCUDA.

        The first call compiles, which is cached on disk. LaunchError, before anything runs, if an argument is wrong, or
        this machine has no device.
        """
        self._launched(**arguments)

    def time(self, *, runs: int = 10, **arguments: Any) -> Timing:
        """Milliseconds of some runs after a first one, on these arguments, whose arrays are left as they are.

        CUDA is timed by the device's events, without copies from and to the host; C and OpenCL by the clock.
        """
        return self._launched.time(arguments, runs)

    def verify(self, **sizes: int) -> Verification:
        """Checks the schedule against the dependences, and the program's results against the nest, interpreted.

        Of kernels for a GPU it needs none: their text runs on the CPU, in both orders, and under a checker that finds
        races, reads of what was never written, and accesses out of bounds.
        `sizes` fixes some sizes, as in `done.verify(n=40)`; the others are small. VerificationError names what differs.
        """
        options = self.options
        rounds = options.reorder_reductions or options.fast_math or options.contract_floats
        tolerance = 1e-6 if rounds else 0.0
        return verify(
            self.nest,
            self._ways(),
            scop=self.scop,
            dependences=self.dependences,
            tree=self.schedule,
            sizes=sizes,
            beyond=None if self.source.language == "c" else self._in_source_order,
            tolerance=tolerance,
        )

    def check(self, **arguments: Any) -> CheckReport:
        """What a run of the GPU's kernels on the CPU shows, on numpy arrays in place: races, reads of what was never
        written, accesses out of bounds, and the cost of memory accesses; it needs no GPU."""
        if self.source.language == "c":
            raise InputError("check runs kernels for a GPU, and this is C", hint='use optimize(nest, target="cuda")')
        return check(self.source, self.nest, self.scop.valid_sizes)(**arguments)

    def _ways(self) -> dict[str, Run]:
        """The ways of running it without a device, by what they are called."""
        if self.source.language == "c":
            return {"": self.program}
        arguments = self.source, self.nest, self.scop.valid_sizes
        return {
            "under the checker": check(*arguments),
            "emulated": emulate(*arguments),
            "emulated in reverse": replace(emulate(*arguments), reverse=True),
        }

    def _in_source_order(self) -> CpuProgram:
        """The nest as it was given, in C."""
        return load(emit_c(linearize(self.nest)), self.nest, self.scop.valid_sizes)

    def inspect(self, *, arch: str = DEFAULT_ARCH, flags: tuple[str, ...] | None = None) -> Report:
        """What nvcc makes of the CUDA text: registers, occupancy, and the instructions of each loop; needs no GPU.

        `flags` are nvcc's; None are those that keep the promises of the options. ToolchainError if nvcc is missing.
        """
        if self.source.language != "cuda":
            raise InputError(f"inspect reads CUDA, and this is {LANGUAGES[self.source.language]}")
        exact = () if self.options.contract_floats else ("-fmad=false",)
        return inspect(self.source.text, self.source.entry, arch=arch, flags=exact if flags is None else flags)

    def count_instructions(self, report: Report | None = None, /, **sizes: int) -> dict[str, Execution]:
        """What a thread of each kernel of the CUDA text executes at these sizes, by kernel; needs no GPU.

        `report` is from `inspect`, if not with its defaults. InputError where data decides how often a loop runs.
        """
        return executions(report or self.inspect(), self.source, self.nest, sizes)

    def explain(self) -> str:
        """Why each loop that the solver found is or is not parallel, with source lines; tiles come after that. Of
        kernels, what each does with its threads and memory."""
        kernels = [f"{kernel.name}: {kernel.note}" for kernel in self.source.kernels]
        return "\n".join([explain(self.scop, self.dependences, self.scheduled.tree), *kernels])
