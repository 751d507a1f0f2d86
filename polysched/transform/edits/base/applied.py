"""Edits of a draft, one at a time or many: whether the order that many leave is legal is asked once.

    .fuse("i", "i_2", shift=0)         illegal
    .shift("S1", "i", 1)               legal again

    all_applied(draft, edits, options)         one check, of the last tree: no other order runs

Where that fails, prefixes of the edits are halved for one that is legal and is not with one edit more; this edit is
made again alone, and says what it breaks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from polysched.config.options import Options
from polysched.deps.arrivals import scoped_arrays
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError, PolyschedError
from polysched.support import isl
from polysched.support.trace import timed
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.edit import checked, require_small_factors
from polysched.transform.edits.base.registry import Edit
from polysched.transform.edits.base.same_values import shown, together

MORE = "allow more, as in Options(edit_seconds=60, isl_operations=10**9)"


def applied(draft: Draft, edit: Edit, options: Options) -> Draft:
    """The draft after the edit; IllegalSchedule if it is illegal, or if that is not decided in time."""
    with _in_time(edit, options):
        return timed(edit.name, edit.made, draft)


def all_applied(draft: Draft, edits: Sequence[Edit], options: Options, number: int = 1) -> Draft:
    """The draft after all edits, of which the first has this number: all are checked as one if several change values,
    else those in a row that only change the order of loops, or how they run. What raises names the edit."""
    kinds = Counter(edit.kind.legality for edit in edits)
    if kinds["values"] > 1 and not kinds["claim"]:
        with suppress(PolyschedError):  # of which edit it comes is told one by one
            return _as_one(draft, edits, options)
    batch = _Batch(draft, number, options)
    for k, edit in enumerate(edits, number):
        if not batch.add(edit):
            before = batch.checked()
            with _named(f"in edit {k} of the history: {edit}"):
                batch = _Batch(applied(before, edit, options), k + 1, options)
    return batch.checked()


def _as_one(draft: Draft, edits: Sequence[Edit], options: Options) -> Draft:
    """The draft after the edits, of which only what is left is shown to be right."""
    made = together(draft)
    for edit in edits:
        made = applied(made, edit, options)
    require_small_factors(made.nested, f"after {edits[-1]}")
    with _in_time(edits[-1], options):
        return timed("same values", shown, made, f"after {edits[-1]}")


class _Batch:
    """A legal draft, and what one edit more each makes of it, which waits to be checked."""

    def __init__(self, draft: Draft, number: int, options: Options):
        self.drafts, self.edits, self.number, self.options = [draft], list[Edit](), number, options

    def add(self, edit: Edit) -> bool:
        """One edit more; False if it cannot wait, or is refused, maybe for what an illegal one before it did."""
        before = self.drafts[-1]
        if edit.kind.legality not in ("order", "run"):
            return False
        if edit.kind.legality == "order" and scoped_arrays(before.nested):  # which orders are legal hangs on the order
            return False
        try:
            self.drafts.append(applied(replace(before, waits=True), edit, self.options))
        except PolyschedError:
            return False
        self.edits.append(edit)
        return True

    def checked(self) -> Draft:
        """The last draft, checked; what raises names an edit with which it begins to be illegal."""
        legal, illegal, last = 0, len(self.edits), self.drafts[0]
        try:
            return self._check(illegal) if self.edits else last
        except (IllegalSchedule, InputError) as error:
            refusal = error
        while illegal - legal > 1:
            middle = (legal + illegal) // 2
            try:
                legal, last = middle, self._check(middle)
            except (IllegalSchedule, InputError):
                illegal = middle
        edit, number = self.edits[legal], self.number + legal
        upto = f"legal up to edit {number - 1}, illegal from edit {number}" if number > 1 else "in edit 1"
        with _named(f"{upto} of the history: {edit}"):
            applied(last, edit, self.options)  # raises, with a witness and a hint
            raise refusal

    def _check(self, count: int) -> Draft:
        """The draft after so many of the edits."""
        with _in_time(self.edits[count - 1], self.options):
            what = f"after {self.edits[count - 1]}"
            return timed("legality", lambda tree: checked(self.drafts[0], tree, what), self.drafts[count].nested)


@contextmanager
def _in_time(edit: Edit, options: Options) -> Iterator[None]:
    """The budget of an edit, or of a check; IllegalSchedule if it is used up."""
    try:
        with isl.within(options.edit_seconds, options.isl_operations):
            yield
    except BudgetExceeded as error:
        message = f"{edit}: whether that is legal was not decided in time: {error}"
        raise IllegalSchedule(message, hint=f"edit in another order, or {MORE}") from error


@contextmanager
def _named(note: str) -> Iterator[None]:
    try:
        yield
    except PolyschedError as error:
        error.add_note(note)
        raise
