"""Who says which points are promising: a learned model where there is one, and else the hand-written cost model.

judge = Judge.of(database, task)      the shipped model, and what this database has taught it
judge.ratios(candidates)              how many times as fast as the default each is thought to be
judge.learn(measurements)             of the nest that is tuned, after each round
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from polysched.config.heuristics.tuning import FEW_EXAMPLES, MORE_TREES
from polysched.errors import ToolchainError
from polysched.opt.tuning.build import Candidate
from polysched.opt.tuning.learned.model import Example, Model, example_of, fitted, shipped
from polysched.opt.tuning.learned.vector import by_cost
from polysched.results.tuned.database import Measurement, Row
from polysched.results.tuned.task import Task


@dataclass
class Judge:
    """A model, and the examples of other nests that it has learned from beside the shipped ones; without a model, the
    cost model judges."""

    shipped: Model | None
    elsewhere: list[Example] = field(default_factory=list)
    model: Model | None = None
    missing: str = ""  # why there is no model

    def __post_init__(self) -> None:
        self.model = self.model or self.shipped

    @staticmethod
    def of(rows: Sequence[Row], task: Task) -> Judge:
        """The judge of a nest, of all that was measured on this machine."""
        alike = [row for row in rows if (row.task.machine, row.task.target) == (task.machine, task.target)]
        examples = [example_of(row.measurement) for row in alike if row.task != task]
        try:
            return Judge(shipped(), [each for each in examples if each])
        except ToolchainError as error:
            return Judge(None, missing=str(error).partition("\n")[0])

    def learn(self, measured: Sequence[Measurement]) -> None:
        """What was measured of the nest itself corrects what the model says, if it is enough to tell."""
        own = [each for each in map(example_of, measured) if each]
        examples = [*self.elsewhere, *own]
        if self.shipped and len(examples) >= FEW_EXAMPLES:
            self.model = fitted(examples, self.shipped, MORE_TREES)

    def ratios(self, candidates: Sequence[Candidate]) -> list[float | None]:
        """None where nothing is known."""
        if self.model is None:
            return [2.0 ** by_cost(each.features) if each.features else None for each in candidates]
        known = [each.features for each in candidates if each.features]
        found = iter(self.model.ratios(known))
        return [next(found) if each.features else None for each in candidates]
