"""What a tuner has found, as a table and a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polysched.cost.prediction import duration
from polysched.opt.tuning.ratio import Ratio
from polysched.results.tuned.database import Measurement
from polysched.results.tuned.task import Task
from polysched.strategy.decision import Decision, Value
from polysched.support.brief import Brief


@dataclass(frozen=True)
class Difference:
    """A decision that the default and the best answer differently; None where it is not asked for."""

    key: str
    default: Value | None
    best: Value | None


@dataclass(frozen=True)
class Progress:
    """How far a search is."""

    trials: int  # of `of`
    of: int
    latest: Measurement
    best: float  # ratio of the best so far, which is to be measured again

    @property
    def said(self) -> str:
        """Of the latest one."""
        found = self.latest
        return f"{found.state} {f'{found.ratio:.2f}' if found.ratio is not None else found.note}"

    def __str__(self) -> str:
        return f"{self.trials}/{self.of}  best so far {self.best:.2f}  this one {self.said}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Tuning(Brief):
    """The result of a search; printed, a table, and the script of the best schedule."""

    name: str
    sizes: str
    default_milliseconds: float
    noise: Ratio | None  # of the default and itself, which is 1 but for noise; None if nothing was timed
    best: Measurement | None  # confirmed to be faster than the default; None if none was
    differences: tuple[Difference, ...]
    script: str  # the Python that makes the best schedule, or the default
    counts: Mapping[str, int]  # of points, by what became of them
    stopped: str = ""  # why it ended early
    is_interrupted: bool = False  # by a Ctrl-C
    task: Task  # what measurements are kept for
    objective: str = ""  # what ratios are of, if nothing was measured
    judge: str = ""  # why the cost model alone led the search, if no learned one did

    @property
    def ratio(self) -> float:
        """How many times as fast as the default the best is; 1 if that is the default."""
        return (self.best.ratio or 1.0) if self.best else 1.0

    def __str__(self) -> str:
        told = ", ".join(f"{count} {what}" for what, count in self.counts.items() if count)
        lines = [f"{self.name}{f' at {self.sizes}' if self.sizes else ''}: {told or 'nothing was tried'}"]
        lines += [each for each in (self.stopped, self.judge and f"led by the cost model: {self.judge}") if each]
        lines += self._objective()
        if self.best is None:
            lines.append("best     the default: no other schedule was confirmed to be faster")
            return "\n".join([*lines, "", self.script])
        lines.append(f"best     {self._told(self.best)}")
        rows = [(each.key, _shown(each.default), _shown(each.best)) for each in self.differences]
        rows.insert(0, ("decision", "default", "best"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += ["", *("  ".join(f"{text:{w}}" for text, w in zip(row, widths, strict=True)).rstrip() for row in rows)]
        return "\n".join([*lines, "", self.script])

    def _objective(self) -> list[str]:
        if self.noise is None:
            return [f"by       {self.objective}"]
        default = f"default  {duration(1e-3 * self.default_milliseconds)}"
        return [default, f"noise    {self.noise} times as fast as itself"]

    def _told(self, best: Measurement) -> str:
        if best.milliseconds is None:
            return f"{self.ratio:.2f} times as fast by {best.note}"
        interval = f"({best.low:.2f} to {best.high:.2f}, {best.pairs} pairs)"
        return f"{duration(1e-3 * best.milliseconds)}  {self.ratio:.2f} times as fast {interval}"


def differences(default: Sequence[Decision], best: Sequence[Decision]) -> tuple[Difference, ...]:
    """In the order in which they are asked for."""
    one, other = ({each.key: each.value for each in decisions} for decisions in (default, best))
    keys = dict.fromkeys((*other, *one))
    return tuple(Difference(key, one.get(key), other.get(key)) for key in keys if one.get(key) != other.get(key))


def _shown(value: Value | None) -> str:
    return "not asked" if value is None else repr(value)
