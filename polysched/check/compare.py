"""Runs a nest at some sizes in all ways in which its kernel may run, and compares what it makes of its arrays.

    trial.interpreted({"n": 17})       the interpreter runs first: what it refuses no kernel runs with
    trial.climb(ladders, 3.0)          larger sizes, against the nest as C, on data that is known to be valid
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any, TypeVar

import numpy as np

from polysched.check.equal import Tally, require_equal
from polysched.check.trials.data import Source, Style
from polysched.check.trials.replay import conflict
from polysched.check.trials.rounding import Cuts, Names, at_first, is_whole, tolerance, with_bounds
from polysched.check.trials.sizes import ladders, work
from polysched.deps.dependences import Dependences
from polysched.errors import BudgetExceeded, KernelError, LaunchError, ToolchainError, VerificationError
from polysched.ir.interp import interpret
from polysched.ir.node import stored
from polysched.ir.nodes import Function
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.plan.prepare import prepared
from polysched.runtime.emulated.check import Checked
from polysched.runtime.emulated.findings import CheckReport
from polysched.support import isl
from polysched.support.clock import Deadline, running

Run = Callable[..., CheckReport | None]  # in place, on arguments by name
Trusted = Callable[[Function], Callable[..., None]]  # makes a program of a nest
T = TypeVar("T")

MOST_INSTANCES = 20_000  # the interpreter's speed is some 10**5 instances a second
_MOST_BOUNDED = 3_000  # accesses, where some runs alone need bounds, which take several times as long to interpret
_MOST_REPLAYED = 100_000  # accesses, against which claims are held
_MOST_ACCESSES = 60_000_000  # in all; the checker's speed is some 3 * 10**7 of them a second
MOST_ASKED = 300_000_000  # where there are no smaller sizes


def listed(sizes: Sequence[dict[str, int]]) -> str:
    """All of these in words."""
    constant = "the constants that it has"
    return "; ".join(", ".join(f"{name}={n}" for name, n in some.items()) or constant for some in sizes)


@dataclass
class Clock:
    """The time that is left."""

    name: str  # of the nest
    seconds: float
    deadline: Deadline
    stopped: str = ""  # when it was over, in words

    def goes_on(self, before: dict[str, int] | None = None) -> bool:
        """Is there time left? If not, that is noted, with what it was for."""
        if not self.stopped and not self.deadline.left:
            what = f" before {listed((before,))}" if before is not None else ""
            self.stopped = f"the {self.seconds:g} s were over{what}"
        return not self.stopped

    def decided(self, what: str, question: Callable[[], T]) -> T:
        """What isl answers; BudgetExceeded, naming `what` it was asked, if there is no time for that."""
        try:
            with isl.within(self.deadline.left):
                return question()
        except BudgetExceeded as error:
            raise self.exceeded(f"{what} could not be decided, since {error}") from error

    def exceeded(self, why: str) -> BudgetExceeded:
        return BudgetExceeded(f"'{self.name}' is not verified: {why}; allow more, as in verify(seconds=300)")


class _OutOfTime(Exception):
    """There was none left to interpret the nest, or to run a kernel in all ways."""


@dataclass
class Trial:
    """What is compared."""

    nest: Function
    scop: Scop
    dependences: Dependences
    runs: Mapping[str, Run]
    rounded: frozenset[str]  # those runs that may round in another order
    trusted: Trusted | None
    clock: Clock
    source: Source
    cuts: Cuts = field(default_factory=dict)
    refusal: str = ""  # why the nest could not run with some data
    tally: Tally = field(default_factory=Tally)  # of what was compared within bounds

    @cached_property
    def styles(self) -> tuple[Style, ...]:
        """Of data. Where rounding always may differ, whole numbers show each term that is missing."""
        return ("any", "whole") if self.all_round and is_whole(self.nest) else ("any",)

    @property
    def all_round(self) -> bool:
        """May every run round in another order?"""
        return self.rounded.issuperset(self.runs)

    @cached_property
    def written(self) -> frozenset[str]:
        return stored(self.nest.body)

    @property
    def has_compared(self) -> bool:
        """Was anything that the nest computes compared: to the bit, or within a bound?"""
        exact = {array.name for array in self.nest.arrays if not array.dtype.is_float}
        return not (self.all_round and self.written.isdisjoint(exact) and self.tally.has_nothing)

    def beside(self, sizes: dict[str, int]) -> tuple[Function, dict[str, Names]]:
        """The nest to interpret, and the bounds that it computes; without any, only what is exact is compared."""
        is_bounded = self.all_round or (self.rounded and work(self.nest, self.scop, sizes) <= _MOST_BOUNDED)
        return self.bounded if is_bounded else (self.nest, {})

    @cached_property
    def bounded(self) -> tuple[Function, dict[str, Names]]:
        """The nest that computes bounds of rounding too, if they are needed."""
        return with_bounds(self.nest, self.cuts) if self.rounded else (self.nest, {})

    @cached_property
    def as_written(self) -> Scop:
        """The nest's own statements, of which claims speak."""
        return extract(prepared(self.nest))

    # --- sizes

    def run(
        self, fixed: dict[str, int], tried: list[dict[str, int]], several_tiles: bool
    ) -> tuple[tuple[dict[str, int], ...], tuple[dict[str, int], ...]]:
        """The sizes of those `tried` that were compared with the interpreter, and those that were with C."""
        accesses = {k: self.interpreted(sizes) for k, sizes in enumerate(tried) if self.clock.goes_on(sizes)}
        compared = [tried[k] for k, count in accesses.items() if count is not None]
        larger: list[dict[str, int]] = []
        if self.trusted is not None and (several_tiles or not tried) and self.clock.goes_on():
            over = work(self.nest, self.scop, tried[-1]) if tried else -1
            steps = ladders(self.nest, self.scop, fixed, over)
            if any(steps):
                last = accesses.get(len(tried) - 1) or 0
                larger = self.climb(steps, max(1.0, last / max(1, over)) if compared else inf)
        return tuple(compared), tuple(larger)

    def interpreted(self, sizes: dict[str, int]) -> int | None:
        """Compares with the interpreter: how often kernels accessed memory; None where they could not run."""
        accesses = 0
        try:
            for style in self.styles:
                found = self.valid(sizes, style)
                if found is None:
                    return None
                accesses = self.compare(*found, "the interpreted nest", sizes, style)
        except _OutOfTime:
            return None
        return accesses

    def climb(self, ladders: list[list[dict[str, int]]], per_work: float) -> list[dict[str, int]]:
        """The sizes that were compared with C: of each ladder the last that its share of all accesses allows, and those
        on the way there. `per_work` is how many accesses of the kernel a unit of work took; it falls as tiles fill, so
        that a step may show that a longer one is possible."""
        rest = _MOST_ACCESSES if per_work < inf else MOST_ASKED
        done: list[dict[str, int]] = []
        for k, steps in enumerate(ladders):
            share, ratio = rest // (2 if k == 0 and len(ladders) > 1 else len(ladders) - k), per_work
            works = {step: work(self.nest, self.scop, sizes) for step, sizes in enumerate(steps)}
            while works:
                step = max((step for step in works if works[step] * ratio <= share), default=min(works))
                if works[step] > share or not self.clock.goes_on(steps[step]):
                    break
                try:
                    counted = self.in_c(steps[step], share)
                except BudgetExceeded:
                    rest -= share
                    break
                except _OutOfTime:
                    break
                if counted is None:
                    break
                used = counted or works[step]
                done += [steps[step]] if steps[step] not in done else []
                rest, share, ratio = rest - used, share - used, max(1.0, used / works[step])
                works = {other: it for other, it in works.items() if other > step}
        return done

    def in_c(self, sizes: dict[str, int], most: int) -> int | None:
        """Compares with the nest as C, on data that is known to be valid; None if there is none."""
        style = self.styles[-1]
        arguments = self.known(sizes, style)
        if arguments is None:
            self.refusal = self.refusal or (
                f"not compared with C for {listed((sizes,))}, since it is not known which data is valid there"
            )
            return None
        expected = _with_bounds(arguments, self.bounded[1])
        self.program(**expected)
        return self.compare(arguments, expected, "the nest as C", sizes, style, most)

    @cached_property
    def program(self) -> Callable[..., None]:
        """The trusted program; LaunchError if there is none, and nothing else to compare with."""
        assert self.trusted is not None
        try:
            return self.trusted(self.bounded[0])
        except ToolchainError as error:
            raise LaunchError(
                f"'{self.scop.name}' is too large to interpret, which takes at most {MOST_INSTANCES} instances of "
                f"statements, and as C in source order it cannot be run: {error}"
            ) from error

    # --- data

    def valid(self, sizes: dict[str, int], style: Style) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Arguments that the nest can run with, and what it makes of them; VerificationError if a claim is false."""
        reason, (nest, names) = "", self.beside(sizes)
        for arguments in self.candidates(sizes, style):
            expected = _with_bounds(arguments, names)
            try:
                with running(self.clock.deadline.left):
                    interpret(nest, expected)
            except BudgetExceeded as error:
                self.clock.goes_on(sizes)
                raise _OutOfTime from error
            except (IndexError, ZeroDivisionError, OverflowError, ValueError, LaunchError) as error:
                reason = reason or str(error)
                continue
            if self.dependences.trusted:
                found = conflict(self.dependences.trusted, self.as_written, _copied(arguments))
                if found is not None and not found.depends_on_data:
                    raise VerificationError(f"{found}, for {listed((sizes,))}")
                if found is not None:
                    reason = str(found)
                    continue
            return arguments, expected
        self.refusal = self.refusal or (
            f"'{self.nest.name}' cannot run on the data that was drawn for {listed((sizes,))}: {reason}"
        )
        return None

    def known(self, sizes: dict[str, int], style: Style) -> dict[str, Any] | None:
        """Arguments that are shown to be valid without the interpreter, but for claims; None: none were found."""
        if self.dependences.trusted:
            found = self.valid(sizes, style) if work(self.nest, self.scop, sizes) <= _MOST_REPLAYED else None
            return found[0] if found else None
        return next((data.arguments for data in self.source.candidates(sizes, style) if data.is_proven), None)

    def candidates(self, sizes: dict[str, int], style: Style) -> Iterator[dict[str, Any]]:
        styles: tuple[Style, ...] = (style, "distinct") if self.dependences.trusted else (style,)
        return (data.arguments for each in styles for data in self.source.candidates(sizes, each))

    # --- results

    def compare(
        self,
        arguments: dict[str, Any],
        expected: dict[str, Any],
        who: str,
        sizes: dict[str, int],
        style: Style,
        most: int | None = None,
    ) -> int:
        """How often kernels under the checker accessed memory; VerificationError if one of the runs is wrong, and
        BudgetExceeded if it would be more than `most`."""
        accesses, has_bounds = 0, all(size in expected for size, _, _ in self.bounded[1].values())
        for way, run in self.runs.items():
            if way in self.rounded and not has_bounds:
                continue
            if not self.clock.goes_on(sizes):
                raise _OutOfTime
            actual = _copied(arguments)
            try:
                with running(self.clock.deadline.left):
                    report = replace(run, most_accesses=most)(**actual) if isinstance(run, Checked) else run(**actual)
            except BudgetExceeded:
                if self.clock.goes_on(sizes):  # there was time, but there were too many accesses
                    raise
                raise _OutOfTime from None
            except KernelError as error:
                raise VerificationError(f"{error}\nfound {way}, for {sizes}") from error
            if report is not None and not report.is_silent:
                found = "\n".join(map(str, report.findings))
                raise VerificationError(f"{found}\nfound {way}, for {sizes}")
            accesses = max(accesses, report.accesses if report is not None else 0)
            for array in self.nest.arrays:
                where = f"for {sizes}{f', {way}' if way else ''}"
                bound = self.bound(array.name, expected, style) if way in self.rounded else None
                require_equal(array.name, actual[array.name], expected[array.name], bound, who, where)
                if bound is not None and array.name in self.written:
                    self.tally.add(array.name, bound)
        return accesses

    def bound(self, array: str, expected: dict[str, Any], style: Style) -> np.ndarray | None:
        """How far each element may be away; None: every bit counts."""
        if array not in self.bounded[1]:
            return None
        size, depth, reach = (expected[name] for name in self.bounded[1][array])
        cut = max(self.cuts.values(), default=0.0)
        return tolerance(self.nest.array(array).dtype, size, depth, reach, exact=style == "whole", cut=cut)


def _with_bounds(arguments: dict[str, Any], names: dict[str, Names]) -> dict[str, Any]:
    """A copy, with the arrays that bounds of rounding are computed in."""
    return {**_copied(arguments), **at_first(names, arguments)}


def _copied(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
