"""Is a kernel worth its place in a program that runs well without it? Where that cannot be told, it is not.

    for (i = 0; i < 5; i++) u[i] = 0;                    too little work: the text stays
    for (i...) for (j...) for (k...) C += A * B;         faster by the cost model: the kernel, from some sizes on
    for (i = 0; i < n; i++) a[i] = b[i];                 as fast on one thread: the kernel where there are several

The text that stays is priced as source order, with SIMD wherever that is legal, as if compilers found it every time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.codegen.emit.region import loops_on_threads
from polysched.codegen.parallel.threads import known, worth_threads
from polysched.config.heuristics.whole import LEAST_ON_THREADS, LEAST_OPERATIONS, LEAST_SECONDS, WINS
from polysched.config.options import Options
from polysched.cost.prediction import Prediction, duration, predict
from polysched.cost.sizes import typical_sizes
from polysched.errors import BudgetExceeded, InputError
from polysched.ir.nodes import Expr, Function
from polysched.model.scop import Scop
from polysched.pipeline import Compiled, optimize
from polysched.support import isl


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What a kernel gains; nothing if `why_not`."""

    why_not: str = ""
    why: str = ""
    only_on_threads: bool = False
    when: tuple[Expr, ...] = ()  # conditions on sizes


def worth(done: Compiled, nest: Function, options: Options, *, has_threads: bool = False) -> Worth:
    """What the kernel gains over the text that `nest` was read from, which may be on threads itself."""
    scop = done.scop
    when = worth_threads(scop.statements, scop.context, (), LEAST_OPERATIONS)
    if known(when) is False:
        return Worth(why_not="it has too little work")
    before = _in_order(nest, options, parallel=has_threads)
    sizes = _large_sizes(before, options) if before is not None else None
    if sizes is None or before is None:
        return Worth(why_not="what its text takes cannot be predicted")
    cores = options.machine.cores if options.parallel and loops_on_threads(done.kernel) else 1
    text = _predicted(before.kernel, sizes, options, 1)
    alone = _predicted(done.kernel, sizes, options, 1)
    together = _predicted(done.kernel, sizes, options, cores)
    if text is None or alone is None or together is None:
        return Worth(why_not="what it takes cannot be predicted")
    if text.seconds < LEAST_SECONDS:
        return Worth(why_not=f"it has too little work: {duration(text.seconds)} {text.where}")
    said = f"predicted {{}} in place of {duration(text.seconds)} {text.where.partition(' on ')[0]}".rstrip()
    rival = _predicted(before.kernel, sizes, options, cores) if has_threads and cores > 1 else text
    if rival is None or (rival is not text and together.seconds > WINS * rival.seconds):
        return Worth(why_not="it is predicted to gain too little over its own threads")
    if alone.seconds <= WINS * text.seconds:
        return Worth(why=said.format(duration(alone.seconds)), when=when)
    if cores > 1 and text.seconds < LEAST_ON_THREADS:
        return Worth(why_not=f"it has too little work for threads: {duration(text.seconds)} {text.where}")
    if cores > 1 and together.seconds <= WINS * text.seconds:
        on = f"{duration(together.seconds)} on {cores} threads"
        return Worth(why=said.format(on), when=when, only_on_threads=True)
    best = min(alone.seconds, together.seconds)
    return Worth(why_not=f"it is predicted to gain too little: {said.format(duration(best))}")


def _large_sizes(before: Compiled, options: Options) -> dict[str, int] | None:
    """Sizes at which all statements run, in bounds, large ones where much work comes of it: not as large a first
    iteration as the last."""
    scop = before.scop
    running = isl.decided(lambda: _running(scop), unknown=scop.valid_sizes)
    sizes = typical_sizes(scop.function, running, options.machine)
    most = _seconds(before.kernel, sizes, options)
    for name in sizes or ():
        other = (sizes or {}) | {name: 1}
        is_valid = not isl.at(running, other).is_empty()
        if is_valid and (seconds := _seconds(before.kernel, other, options)) > most:
            sizes, most = other, seconds
    between = ({name: size * part // 4 for name, size in (sizes or {}).items()} for part in (7, 6, 5))
    return next((other for other in between if other and not isl.at(running, other).is_empty()), sizes)


def _running(scop: Scop) -> isl.Set:
    """The valid sizes for which each statement has an instance."""
    found = scop.valid_sizes
    for statement in scop.statements:
        found = found.intersect(statement.domain.params())
    return found.coalesce()


def _seconds(kernel: Function, sizes: dict[str, int] | None, options: Options) -> float:
    found = _predicted(kernel, sizes, options, 1) if sizes is not None else None
    return found.seconds if found is not None else 0.0


def _in_order(nest: Function, options: Options, *, parallel: bool) -> Compiled | None:
    """The nest as compilers have it at best: in its own order, with SIMD, on threads only if it says so."""
    plain = replace(
        options, scheduler="source", tile=False, wavefront=False, register_tiles=False, parallel=parallel
    )
    try:
        return optimize(nest, options=plain)
    except (BudgetExceeded, InputError):
        return None


def _predicted(kernel: Function, sizes: dict[str, int], options: Options, threads: int) -> Prediction | None:
    try:
        return predict(kernel, sizes, options.machine, threads)
    except (BudgetExceeded, ArithmeticError):
        return None
