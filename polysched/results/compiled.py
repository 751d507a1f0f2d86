"""What `optimize` gives: the kernel, every stage that led to it, and all that can be asked of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from polysched.check.compare import Run
from polysched.check.trials.borders import borders
from polysched.check.trials.orders import BACKWARDS, INDEPENDENT, always_on_threads, has_loops, in_other_orders
from polysched.check.trials.rounding import Cuts, calls_of_constants, decides_by_floats, has_contractions
from polysched.check.verify import SECONDS, Verification, verify
from polysched.codegen.emit.c import emit_c
from polysched.codegen.emit.launch.notes import ONE_THREAD
from polysched.codegen.emit.source import Source
from polysched.codegen.emit.vector_math import called_in_lanes
from polysched.codegen.expr.licm import licm_settings, motions
from polysched.codegen.expression_report import ExpressionReport, expression_report
from polysched.codegen.memory.linearize import linearize
from polysched.codegen.parallel.survey import AXES
from polysched.config.options import Options
from polysched.config.target import TARGETS, TargetData
from polysched.cost.prediction import Prediction, predict
from polysched.cost.sizes import typical_sizes
from polysched.counts import Counts, counts
from polysched.counts.count import require_sizes
from polysched.counts.sass.inspect import inspect
from polysched.counts.sass.launches import Execution, executions
from polysched.counts.sass.report import Report
from polysched.deps.dependences import Dependences
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError, LaunchError, Loc, VerificationError
from polysched.explain.mapped import as_it_runs
from polysched.explain.text import explain
from polysched.ir.defaults import without_contents
from polysched.ir.dtypes import i64
from polysched.ir.node import walk
from polysched.ir.nodes import LARGEST_SIZE, PARALLEL, Call, Function, Store, Var
from polysched.ir.text import head
from polysched.model.instructions.instruction import Instruction
from polysched.model.instructions.mma import INSTRUCTIONS
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Tree
from polysched.plan.candidates import candidates, compared
from polysched.plan.mapped import AS_FAST_IN_ORDER, FOR_THREADS, IN_SOURCE_ORDER
from polysched.plan.plan import Plan
from polysched.plan.predicted import predicted
from polysched.plan.prepare import WITHOUT_DEAD
from polysched.plot.draw import Before, plot, titled
from polysched.plot.notebook import notebook_html
from polysched.prelude.edit import NestEdit
from polysched.results.tuned.known import Tuned, tuned_schedule
from polysched.runtime.arguments import named
from polysched.runtime.bound import Bound, bind
from polysched.runtime.calibrate import calibrated
from polysched.runtime.cpu import CpuProgram, load
from polysched.runtime.emulated.check import check
from polysched.runtime.emulated.emulate import emulate, launched_kernels
from polysched.runtime.emulated.findings import CheckReport
from polysched.runtime.gpu.cuda import CudaProgram
from polysched.runtime.gpu.cuda_driver import Launcher
from polysched.runtime.gpu.opencl import OpenclProgram
from polysched.runtime.timing import Timing
from polysched.schedule.automatic import found
from polysched.schedule.schedule import Schedule, schedule_of
from polysched.solve.scheduler import Scheduled
from polysched.strategy.decision import Decision
from polysched.support import isl
from polysched.support.brief import brief
from polysched.support.clock import Deadline
from polysched.support.entry import entries
from polysched.support.trace import Declined, Event
from polysched.targets.table import BACKENDS


@entries
@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A compiled nest, with every stage that led to it. Call it with the arrays: it runs in place."""

    nest: Function
    plan: Plan  # its loops, and the stages that led to them
    rungs: dict[str, str]  # which way each budgeted stage went
    kernel: Function
    source: Source
    options: Options
    events: tuple[Event, ...] = field(default_factory=tuple)  # a default of the class would hide them
    by_hand: Schedule | None = field(default=None, compare=False)  # that was given
    from_cache: bool = field(default=False, compare=False)  # was it made by an earlier process?
    tuned: Tuned | None = None  # what the database has of it, if the options ask for that

    def __getstate__(self) -> dict[str, Any]:
        """What a call needs, and apart from it the other stages, which take longer to read; a program is loaded where
        it is called."""
        rest = self.__dict__.get("_rest") or pickle.dumps({name: getattr(self, name) for name in _STAGES})
        return {**{name: getattr(self, name) for name in _OF_CALLS}, "_rest": rest}

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """A stage of what another process has made, read when it is first asked for."""
            if name not in _STAGES or "_rest" not in self.__dict__:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            self.__dict__.update(pickle.loads(self.__dict__["_rest"]))
            return self.__dict__[name]

    @property
    def prelude(self) -> tuple[NestEdit, ...]:
        """What was done to the nest before it was modeled."""
        return self.plan.prelude

    @property
    def scop(self) -> Scop:
        """The model of what the kernel runs: without what is computed where it is used."""
        return self.plan.mapped.scop

    @property
    def dependences(self) -> Dependences:
        return self.plan.mapped.dependences

    @property
    def scheduled(self) -> Scheduled:
        """What the solver found, `.tree`, before tiling and mapping."""
        return self.plan.scheduled

    @property
    def tree(self) -> Tree:
        """What the kernel follows: tiled and mapped."""
        return self.plan.tree

    @cached_property
    def schedule(self) -> Schedule:
        """What led to this kernel, to be printed, changed and given to `optimize`, which makes the same of it: the
        schedule by hand, or what `Schedule.auto` gives."""
        if self.by_hand is not None:
            return self.by_hand
        if self.tuned and not self.tuned.refusal:
            return tuned_schedule(self.nest, self._target.name, self.options, self.tuned)
        with isl.within(self.options.compile_seconds):
            function = without_contents(self.nest)
            return schedule_of(self.nest, found(function, self.plan, self._target, self.options))

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Those of the `schedule`: what was chosen, what else it could be and why; what the database has answered, says
        so."""
        answered = dict(self.tuned.answers) if self.tuned and not self.tuned.refusal else {}
        measured = self.tuned.as_measured if self.tuned else ""
        found = self.schedule.decisions
        return tuple(replace(each, why=f"tuned: {measured}") if each.key in answered else each for each in found)

    @cached_property
    def valid_sizes(self) -> isl.Set:
        """{ : ... } the sizes for which every access is in bounds."""
        return self.scop.valid_sizes

    @property
    def fallbacks(self) -> dict[str, str]:
        """What gave way to a budget, and steps of which an edit was refused, by stage; empty if nothing did."""
        best = {"dependences": ("exact",), "schedule": (self.options.scheduler, "given")}
        best["mapping"] = ("mapped", IN_SOURCE_ORDER, AS_FAST_IN_ORDER, FOR_THREADS)
        if self.options.scheduler == "source":
            best["schedule"] = ("source order with parallel loops found", "given")
        found = {stage: self.rungs[stage] for stage, usual in best.items() if self.rungs[stage] not in usual}
        if "schedule" in found and self.scheduled.reasons:
            found["schedule"] += f", since {self.scheduled.reasons[-1]}"
        return found | self._left_out

    @property
    def _left_out(self) -> dict[str, str]:
        """What became of steps that did not fit into a budget, or of which an edit was refused."""
        return {event.name: event.fallback for event in self.events if event.fallback}

    @property
    def declined(self) -> tuple[Declined, ...]:
        """What the schedule asks of loops and the kernel does not do, each with its reason."""
        return tuple(dict.fromkeys(event.value for event in self.events if isinstance(event.value, Declined)))

    def __repr__(self) -> str:
        return brief(self, f"{head(self.nest)}: {self._target.language}, schedule by {self.rungs['schedule']}")

    @property
    def _target(self) -> TargetData:
        return TARGETS[self.source.target]

    @cached_property
    def program(self) -> Callable[..., None]:
        """The loaded program: C on this machine's threads; CUDA and OpenCL on the CPU, one thread after another."""
        if not self._target.has_grid:
            return self._launched
        return emulate(self.source, self.nest, self.valid_sizes)

    def launcher(self, name: Launcher = "cuda") -> CudaProgram:
        """The program of a CUDA text on a GPU, through NVIDIA's bindings, "cuda", or through "pycuda".

        LaunchError if there is no launcher of that name, or it is not installed.
        """
        load_by = BACKENDS[self.source.target].load_by
        if load_by is None:
            raise LaunchError(f"only CUDA has launchers, and this is {self._target.language}")
        program: CudaProgram = load_by(self.source, self.nest, self.valid_sizes, self.options, name)
        return program

    @cached_property
    def _launched(self) -> CpuProgram | CudaProgram | OpenclProgram:
        """What runs a call: on the CPU for C, else on a device."""
        load = BACKENDS[self.source.target].load
        program: CpuProgram | CudaProgram | OpenclProgram = load(self.source, self.nest, self.valid_sizes, self.options)
        return program

    def _loaded(self, text: Source | Function, nest: Function | None = None, **how: Any) -> CpuProgram:
        """A text in C, or that of a kernel, compiled as the options allow; `nest` is how it is called, if not as this
        one."""
        how = {"contract": self.options.contract_floats, "fast_math": self.options.fast_math, **how}
        source = text if isinstance(text, Source) else emit_c(text, vector_math=self.options.fast_math)
        return load(source, nest or self.nest, self.valid_sizes, **how)

    def __call__(self, *in_order: Any, **arguments: Any) -> None:
        """Runs on arrays, which it changes, given by name or in the order of the nest's parameters.

        Sizes that the arrays show may be left out.

        Arrays are numpy's. For CUDA, which copies those to the device and back, arrays on the device are used in place:
        anything with `__cuda_array_interface__` or DLPack, as of CuPy, PyTorch, Numba and PyCUDA.

        The first call compiles, which is cached on disk. LaunchError, before anything runs, if an argument is wrong, or
        this machine has no device.
        """
        self._launched(**named(self.nest, in_order, arguments) if in_order else arguments)

    def bind(self, **constants: Any) -> Bound:
        """The kernel for these constants, which are all that `Options(constants=...)` names, and sizes that they do not
        show: what is made of them alone is made now, as panels of packed weights, and no more in calls.

            done = ps.optimize(layer, options=ps.Options(constants=("w",)))
            run = done.bind(w=weights)
            run(x=x, y=y)

        A constant must not change afterwards: calls would use old elements of it, or a mix of both. Bind it again
        then. LaunchError if one is missing or does not fit.
        """
        names = self.options.constants
        if not names:
            hint = "compile it with Options(constants=('w',)), say"
            raise InputError(f"'{self.nest.name}' has no constants to bind", hint=hint)
        return bind(self._launched, self.nest, names, constants)  # type: ignore[arg-type]  # which are for C alone

    def release(self) -> None:
        """Gives back the memory that the kernel keeps from call to call for its large temporaries, in C.

        It keeps blocks of 128 KB or more, at most 1 GiB of them and twice what it has needed at one time, and gives
        them back when this object dies, too. The next call gets fresh memory; calls under way go on.
        """
        if isinstance(program := self.__dict__.get("_launched"), CpuProgram):
            program.release()

    def time(self, *, runs: int = 10, **arguments: Any) -> Timing:
        """Milliseconds of some runs after a first one, on these arguments, whose arrays are left as they are.

        CUDA is timed by the device's events, without copies from and to the host; C and OpenCL by the clock.
        """
        return self._launched.time(arguments, runs)

    def verify(self, *, seconds: float = SECONDS, **sizes: int) -> Verification:
        """Checks the schedule against the dependences, and the program's results against the nest, interpreted.

        C runs on threads too, and with its parallel loops in other orders. Of kernels for a GPU it needs none: their
        text runs on the CPU, in both orders, and under a checker that finds races, reads of what was never written, and
        accesses out of bounds.
        `sizes` fixes some sizes, as in `done.verify(n=40)`; the others are small. VerificationError names what differs;
        after `seconds`, what is left is left out, and said, or BudgetExceeded if nothing has been compared.
        """
        deadline, ways = Deadline.after(seconds), self._ways()
        return verify(
            self.nest,
            ways,
            scop=self.scop,
            dependences=self.dependences,
            tree=self.tree,
            sizes=sizes,
            beyond=self._in_source_order,
            several_tiles=self._target.has_grid,
            rounded=ways if self._rounds else {_AS_IT_IS} if _UNCONTRACTED in ways else (),
            cuts=self._cuts,
            chosen=self._chosen,
            seconds=seconds,
            deadline=deadline,
        )

    def check(self, **arguments: Any) -> CheckReport:
        """What a run of the GPU's kernels on the CPU shows, on numpy arrays in place: races, reads of what was never
        written, accesses out of bounds, and the cost of memory accesses; it needs no GPU."""
        if not self._target.has_grid:
            raise InputError("check runs kernels for a GPU, and this is C", hint='use optimize(nest, target="cuda")')
        return check(self.source, self.nest, self.valid_sizes)(**arguments)

    @property
    def _rounds(self) -> bool:
        """May floats be rounded in another order, wherever it runs?"""
        options = self.options
        in_order = not (options.reorder_reductions or options.fast_math or calls_of_constants(self.kernel))
        own = (node.value for node in walk(self.kernel) if isinstance(node, Store) and isinstance(node.value, Call))
        names = {each.name for each in self.kernel.foreign}
        sums = [*(of.sum for _, of in self._instructions), *(call.dtype for call in own if call.fn in names)]
        return not in_order or any(dtype.is_float for dtype in sums)

    @property
    def _cuts(self) -> Cuts:
        """Of the factors that tensor instructions multiply, by their statements in the nest."""
        known = {node.loc for node in walk(self.nest.body) if isinstance(node, Store)}
        return {loc if loc in known else None: of.cut for loc, of in self._instructions if of.cut}

    @property
    def _instructions(self) -> list[tuple[Loc | None, Instruction]]:
        """The tensor instructions that make products, and the statements that they do so for."""
        stores = (node for node in walk(self.kernel) if isinstance(node, Store))
        calls = ((store.loc, store.value.fn) for store in stores if isinstance(store.value, Call))
        return [(loc, INSTRUCTIONS[name]) for loc, name in calls if name in INSTRUCTIONS]

    def _ways(self) -> dict[str, Run]:
        """The ways of running it without a device, by what they are called. On the CPU, no text for a GPU is
        contracted."""
        if not self._target.has_grid:
            return {**self._as_it_is(), **self._other_orders()}
        arguments = self.source, self.nest, self.valid_sizes
        checked, emulated = check(*arguments), emulate(*arguments)
        ways: dict[str, Run] = {
            "under the checker": checked,
            "emulated": emulated,
            "emulated in reverse": replace(emulated, reverse=True),
        }
        if any(kernel.wide or len(kernel.alone) < len(AXES) for kernel in self.source.kernels):
            is_wide = any(kernel.wide for kernel in self.source.kernels)
            ways["checked on 2 blocks a side"] = replace(checked, most_blocks=2)
            name = "emulated on one block in 64 bits" if is_wide else "emulated on one block"
            ways[name] = replace(emulated, most_blocks=1, wide=True)
        return ways

    def _as_it_is(self) -> dict[str, Run]:
        """As calls run it; where that contracts floats, without contraction, too, or only so where they decide
        something."""
        if not self.options.contract_floats or self._rounds or not has_contractions(self.kernel):
            return {_AS_IT_IS: self.program}
        exact: dict[str, Run] = {_UNCONTRACTED: self._loaded(self.source, contract=False)}
        return exact if decides_by_floats(self.nest) else {_AS_IT_IS: self.program, **exact}

    def _other_orders(self) -> dict[str, Run]:
        """The kernel in C on more threads than it takes by itself, and with its parallel loops in other orders."""
        ways = dict[str, Run]()
        if has_loops(self.kernel, PARALLEL):
            on_threads = self._loaded(always_on_threads(self.kernel), threads=4, contract=False)
            ways |= {"on 4 threads": on_threads} if on_threads.has_openmp else {}
        if has_loops(self.kernel, INDEPENDENT):
            kernel, order = in_other_orders(self.kernel)
            scalars = (*self.nest.scalars, Var(order, i64))
            params = (*self.nest.params, order) if self.nest.params else ()
            nest = replace(self.nest, scalars=scalars, params=params)
            program = self._loaded(kernel, nest, quickly=True, contract=False)
            ways["backwards"] = partial(program, **{order: BACKWARDS})
            ways["in a random order"] = partial(program, **{order: 1})
        return ways

    def _in_source_order(self, nest: Function | None = None) -> CpuProgram:
        """The nest as it was given, or with what is computed beside it, in C; not vectorized, which gcc does wrong for
        some outer loops."""
        nest = nest or self.nest
        return load(emit_c(linearize(nest)), nest, self.valid_sizes, quickly=True)

    def _chosen(self) -> int:
        """For how many sizes the host launches the kernels that it should, of those that count in 32 and in 64 bits;
        VerificationError if it launches others."""
        pairs = [kernel for kernel in self.source.kernels if kernel.wide]
        if not pairs or not self.nest.sizes:
            return 0
        program, count = emulate(self.source, self.nest), 0
        for sizes, fits in borders(self.nest.sizes, self.source.fits):
            wrong = {kernel.wide if fits else kernel.name for kernel in pairs}
            if found := wrong.intersection(launched_kernels(program, sizes)):
                bits = (64, 32) if fits else (32, 64)
                raise VerificationError(
                    f"the host launches {min(found)}, which counts in {bits[0]} bits, for {sizes}: {bits[1]} are right"
                )
            count += 1
        return count

    def inspect(self, *, arch: str | None = None, flags: tuple[str, ...] | None = None) -> Report:
        """What nvcc makes of the CUDA text: registers, occupancy, and the instructions of each loop; needs no GPU.

        `arch` is by default that of `options.gpu`. `flags` are nvcc's, by default those that keep the promises of the
        options. ToolchainError if nvcc is missing.
        """
        if not self._target.has_sass:
            raise InputError(f"inspect reads CUDA, and this is {self._target.language}")
        return inspect(self.source.text, self.source.entry, arch=arch or self.options.gpu.arch, flags=flags)

    def count_instructions(self, report: Report | None = None, /, **sizes: int) -> dict[str, Execution]:
        """What a thread of each kernel of the CUDA text executes at these sizes, by kernel; needs no GPU.

        `report` is from `inspect`, if not with its defaults. InputError where data decides how often a loop runs.
        """
        return executions(report or self.inspect(), self.source, self.nest, sizes)

    def expression_report(self, **sizes: int) -> ExpressionReport:
        """What each pass over index arithmetic and conditions did: operations by loop, temporaries, candidates.

        Executed operations are those at these sizes; without, polynomials in the sizes, or unknown.
        """
        names = [event.name for event in self.events]
        stage = self.events[len(names) - names[::-1].index("linearize") - 1 : names.index("emit")]
        passes = [(event.name, event.value) for event in stage]
        lifted = next((k for k, (name, _) in enumerate(passes) if name == "licm"), None)
        settings = licm_settings(self.options, self._target)
        candidates = () if lifted is None else motions(passes[lifted - 1][1], **settings)[1]
        return expression_report(passes, sizes, candidates)

    def explain(self, sizes: Mapping[str, int] | None = None, *, line: int | None = None) -> str:
        """Why each loop of the source, and each that the solver found, is or is not parallel, tiled, SIMD and fused,
        with source lines and what would change it; then the loops of the kernel, and fallbacks that were taken.

        Times are predicted at `sizes`, and those that are not given are large. With `line`, only the loops around the
        statements of that source line, or in the loop there.
        """
        text = explain(
            self.plan.scop,
            self.plan.dependences,
            self.scheduled.tree,
            found=self.scheduled.rung,
            mapped=as_it_runs(self.tree, self.declined),
            line=line,
        )
        kernels = [f"{kernel.name}: {kernel.note}" for kernel in self.source.kernels]
        is_serial = any(kernel.note == ONE_THREAD for kernel in self.source.kernels)
        may_reorder = any(d.reduction for d in self.dependences.pairs) and not self.options.reorder_reductions
        hint = ["reductions may run on all threads with Options(reorder_reductions=True)"] if may_reorder else []
        edits = ", ".join(str(edit) for edit in self.prelude if edit != WITHOUT_DEAD)  # the text says what is left out
        first = [f"tuned: {self.tuned}"] if self.tuned else []
        first += [f"edited first: {edits}"] if edits else []
        if self.options.constants:
            made = [array.name for array in self.source.prepare.arrays] if self.source.prepare else []
            what = f"made once: {', '.join(made)}" if made else "nothing is made of them alone"
            first.append(f"constants {', '.join(self.options.constants)}: {what}")
        declined = (f"declined: {each}" for each in self.declined)
        hints, times = hint if is_serial else [], self._candidates(sizes or {})
        if not self._target.has_grid and not self.options.fast_math and (called := called_in_lanes(self.kernel)):
            names = ", ".join(called)
            hints.append(f"{names}: called for one value at a time, for vectors with Options(fast_math=True)")
        return "\n".join([*first, text, *self._fallbacks(), *declined, *times, *kernels, *hints])

    def _fallbacks(self) -> list[str]:
        """The stages that did not go their first way."""
        usual = {"dependences": "exact", "mapping": "mapped"}
        taken = [f"{stage}: {self.rungs[stage]}" for stage, rung in usual.items() if self.rungs[stage] != rung]
        padding = [f"padding of {self.rungs['padding']}"] if "padding" in self.rungs else []
        late = (f"{step}: {what}" for step, what in self._left_out.items())
        return [*(f"given up: {reason}" for reason in self.scheduled.reasons), *taken, *padding, *late]

    def plot(
        self, sizes: Mapping[str, int] | None = None, *, statements: Sequence[str] | None = None, before: Before = False
    ) -> Any:
        """A matplotlib Figure of the iterations as the kernel runs them, as `Schedule.plot` draws it."""
        trees = titled(self.scop.tree, self.tree, before)
        return plot(self.scop, self.dependences, trees, sizes=sizes, statements=statements)

    def _repr_html_(self) -> str:
        texts = {"generated code": self.source.text, "explanation": self.explain()}
        trees = titled(self.scop.tree, self.tree, "both")
        return notebook_html(self.scop, self.dependences, trees, texts, self.nest.name)

    def predict(self, *, threads: int | None = None, **sizes: int) -> Prediction:
        """The time that the cost model predicts for a run of the C at these sizes, on all cores if not on so many
        threads; sizes that are not given are large. On the machine of the options, with the rates that `polysched
        calibrate` has measured for it. InputError for sizes that the nest does not have, or that leave its arrays."""
        if self._target.has_grid:
            raise self._not_predicted()
        machine, at = calibrated(self.options.machine), self._sizes(sizes)
        if threads is None:
            threads = machine.cores if self.options.parallel else 1
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise InputError(f"threads is {threads!r}, but is a positive integer")
        return predict(self.kernel, at, machine, threads)

    def prices(self, key: str, **sizes: int) -> dict[Any, Prediction]:
        """What the candidates of a decision of the schedule's are predicted to take, by their values: of the loops as
        they are mapped, on all cores. Each is scheduled for that; those that lead to no legal schedule, or to none
        within the budget of a compilation, are left out. InputError if there is no such decision.

            done.prices("tile.i")       {0: 51.2 ms (...), 8: 14.1 ms (...), ...}
        """
        if self._target.has_grid:
            raise self._not_predicted()
        at, found, machine = self._sizes(sizes), dict[Any, Prediction](), calibrated(self.options.machine)
        for value in self.schedule.decision(key).candidates:
            with suppress(InputError, IllegalSchedule, BudgetExceeded):
                other = self.schedule.decide(key, value)
                time = predicted(other.tree, other.draft.scop, at, self.options, machine)
                found |= {value: time} if time else {}
        return found

    def _not_predicted(self) -> InputError:
        language = self._target.language
        return InputError(f"times are predicted for C alone, and this is {language}", hint="see inspect and check")

    def _sizes(self, given: Mapping[str, int]) -> dict[str, int]:
        """The sizes that are given, and large ones for the others."""
        require_sizes(self.nest, given)
        for name, size in given.items():
            if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= LARGEST_SIZE:
                raise InputError(f"{name} is {size!r}, but is an integer from 0 to 2**56")
        sizes = typical_sizes(self.nest, self.valid_sizes, self.options.machine, given)
        if sizes is None:
            told = "".join(f", {name} = {size}" for name, size in given.items())
            raise InputError(f"no sizes were found for which '{self.nest.name}' stays in its arrays{told}")
        return sizes

    def _candidates(self, given: Mapping[str, int]) -> list[str]:
        """What it could run as, with predicted times, where the compiler chose."""
        require_sizes(self.nest, given)
        if self._target.has_grid or self.by_hand is not None or self.scheduled.rung == "given":
            return []
        machine = calibrated(self.options.machine)
        sizes = typical_sizes(self.nest, self.valid_sizes, machine, given)
        if sizes is None or len(times := candidates(self.plan, self.options, sizes, machine)) < 2:
            return []
        return [f"predicted {next(iter(times.values())).where}: {compared(times, self.rungs['mapping'])}"]

    def counts(self, sizes: Mapping[str, int] | None = None, *, line: int | None = None) -> Counts:
        """What each loop nest of the source does: operations, bytes, footprints, reuse; polynomials in those sizes that
        are not given. With `line`, only the statements of that source line, or in the loop there."""
        return counts(self.nest, sizes, line=line)


_AS_IT_IS, _UNCONTRACTED = "as it is", "without contraction"  # ways of running C
_OF_CALLS = ("nest", "source", "rungs", "options", "by_hand", "from_cache", "tuned", "valid_sizes")
_STAGES = ("plan", "kernel", "events")
