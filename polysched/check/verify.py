"""Checks a compiled nest: its schedule against the exact dependences, its results against the nest interpreted.

Anyone can ask: `print(done.verify())`, or `done.verify(n=40)` for sizes of one's own. A kernel runs in all ways in
which it may run: on threads, with its parallel loops backwards and in a random order; for a GPU, under the checker of
races and bounds, emulated in both orders, on small grids and in 64 bits. Data is drawn so that C defines what the nest
does with it, claims of the user's are held against what the interpreter accesses, and rounding against bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from polysched.check.compare import MOST_ASKED, MOST_INSTANCES, Clock, Run, Trial, Trusted, listed
from polysched.check.trials.data import Source
from polysched.check.trials.rounding import Cuts
from polysched.check.trials.sizes import ladders, small_sizes, work
from polysched.deps.dependences import Dependences
from polysched.deps.legality import first_violation
from polysched.errors import LaunchError, VerificationError
from polysched.ir.nodes import Function
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Tree
from polysched.support.brief import Brief
from polysched.support.clock import Deadline

SECONDS = 60.0


@dataclass(frozen=True, repr=False)
class Verification(Brief):
    """What was checked, all of it right."""

    dependences: int  # that the schedule was checked against
    sizes: tuple[dict[str, int], ...]  # for which the kernel's arrays equal the interpreter's
    ways: tuple[str, ...] = ("",)  # of running it
    beyond: tuple[dict[str, int], ...] = ()  # sizes for which they equal those of the nest as it was given, in C
    trusted: tuple[str, ...] = ()  # what the user claims; it held at `sizes`
    chosen: int = 0  # sizes for which the host was seen to choose the right one of kernels in 32 and in 64 bits
    left_out: str = ""  # what was not checked, though it was to be, and why

    def __str__(self) -> str:
        given = f", if it is true that {' and that '.join(self.trusted)}" if self.trusted else ""
        parts = [f"legal for all sizes ({self.dependences} dependences){given}"]
        if self.sizes:
            held = ", for which it was true" if self.trusted else ""
            parts.append(f"equal to the interpreted nest for {listed(self.sizes)}{held}")
        if self.beyond:
            parts.append(f"{'and' if self.sizes else 'equal'} to the nest as C for {listed(self.beyond)}")
        if len(self.ways) > 1:
            parts.append(f"each {', '.join(self.ways)}")
        if self.chosen:
            parts.append(f"32 or 64 bits chosen rightly for {self.chosen} sizes")
        if self.left_out:
            parts.append(self.left_out)
        return "; ".join(parts)


def verify(
    nest: Function,
    runs: Mapping[str, Run],
    *,
    scop: Scop,
    dependences: Dependences,
    tree: Tree,
    sizes: dict[str, int],
    beyond: Trusted | None = None,
    several_tiles: bool = False,
    rounded: Collection[str] = (),
    cuts: Cuts | None = None,
    chosen: Callable[[], int] = lambda: 0,
    seed: int = 0,
    seconds: float = SECONDS,
    deadline: Deadline | None = None,
) -> Verification:
    """Checks `tree` for all sizes, and `runs`, by what they are called, against the interpreted `nest` on random arrays
    of small sizes; and against what `beyond` makes of it, a program that is trusted, where those are too large for it,
    or of several tiles too, if these are asked for.

    `sizes` fixes some sizes; the runs `rounded` may round floats in another order, or fewer times, within the bounds of
    `trials/rounding.py`, which `cuts` widens; `chosen` checks the host's choice of kernels. VerificationError names
    what differs, or what the checker found, or says that no element has a bound, so that nothing was compared;
    LaunchError sizes, or data, that the nest cannot be run with. After `seconds`, which end at `deadline` if some have
    passed, what is left is left out, and said; BudgetExceeded if nothing was compared by then.
    """
    clock = Clock(scop.name, seconds, deadline or Deadline.after(seconds))
    if unknown := sizes.keys() - set(scop.function.sizes):
        known = ", ".join(scop.function.sizes) or "none"
        raise LaunchError(f"'{scop.name}' has no size {', '.join(sorted(unknown))}: it has {known}")
    violation = clock.decided("whether its schedule is legal", lambda: first_violation(tree, dependences, scop))
    if violation is not None:
        raise VerificationError(f"illegal schedule: {violation}")
    tried = clock.decided("which sizes are small", lambda: list(small_sizes(scop, sizes, MOST_INSTANCES)))
    trial = Trial(nest, scop, dependences, runs, frozenset(rounded), beyond, clock, Source(nest, seed), cuts or {})
    interpreted, larger = trial.run(sizes, tried, several_tiles)
    if not interpreted and not larger:
        if clock.stopped:
            raise clock.exceeded(clock.stopped)
        raise LaunchError(trial.refusal or _why_not(nest, scop, sizes, beyond is not None))
    if not trial.has_compared:
        raise VerificationError(
            f"nothing of '{scop.name}' was compared: {trial.tally}; verify without options that change rounding "
            "(fast_math, reorder_reductions, contract_floats)"
        )
    choices = chosen() if clock.goes_on() else 0
    claims = tuple(map(str, dependences.trusted))
    left_out = "; ".join(filter(None, (clock.stopped, trial.refusal, str(trial.tally))))
    return Verification(len(dependences.pairs), interpreted, tuple(runs), larger, claims, choices, left_out)


def _why_not(nest: Function, scop: Scop, sizes: dict[str, int], has_c: bool) -> str:
    """Why no sizes could be tried."""
    smallest = next((step for steps in ladders(nest, scop, sizes) for step in steps), None)
    if smallest is None:
        some = listed((sizes,)) if sizes or not scop.function.sizes else "small sizes"
        return f"'{scop.name}' cannot be run with {some}: its sizes must satisfy {scop.valid_sizes}"
    most = f"{MOST_ASKED:.0e} are" if has_c else f"{MOST_INSTANCES} instances of statements are"
    what = "give smaller ones" if scop.function.sizes else "make its constants smaller, or sizes that are parameters"
    return (
        f"'{scop.name}' is too large to run here with {listed((smallest,))}: it accesses memory about "
        f"{work(nest, scop, smallest):.1e} times, and at most {most} checked; {what}"
    )
