"""Whether what the user claims is true of a run: the interpreter's log of accesses, held against the claims.

    a[i + 3] = a[i] + 1.0, said to be independent:     S0[i=0] writes a[3], and S0[i=3] reads it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polysched.deps.dependences import Claim
from polysched.ir.interp import Touch, interpret
from polysched.ir.node import walk
from polysched.model.scop import Scop, Statement

_DOES = {"read": "reads", "write": "writes"}


@dataclass(frozen=True)
class Conflict:
    """Two instances that touch the same element, one of which writes, though a claim says that none do."""

    claim: Claim
    text: str
    depends_on_data: bool  # with other data, it may be that they do not

    def __str__(self) -> str:
        return f"it is not true that {self.claim}: {self.text}"


def conflict(claims: tuple[Claim, ...], scop: Scop, arguments: Mapping[str, Any]) -> Conflict | None:
    """The first conflict with a claim when the nest of `scop` is interpreted, which changes the arrays."""
    log: list[Touch] = []
    interpret(scop.function, arguments, log)
    owners = {id(node): statement for statement in scop.statements for node in walk(statement.body)}
    seen: dict[tuple[str, tuple[int, ...]], list[tuple[Statement, Touch]]] = {}
    for touch in log:
        owner = owners.get(id(touch.statement))
        if owner is None or not any(_may_mean(claim, owner, touch.array) for claim in claims):
            continue
        earlier = seen.setdefault((touch.array, touch.index), [])
        for statement, other in earlier:
            claim = next((claim for claim in claims if claim.covers(statement.name, owner.name, touch.array)), None)
            if claim and "write" in (touch.kind, other.kind) and _instance(statement, other) != _instance(owner, touch):
                what = f"{_instance(statement, other)} {_DOES[other.kind]} {touch.array}{list(touch.index)}"
                text = f"{what}, and {_instance(owner, touch)} {_DOES[touch.kind]} it"
                return Conflict(claim, text, not (_is_exact(statement, touch.array) and _is_exact(owner, touch.array)))
        alike = sum(statement is owner and other.kind == touch.kind for statement, other in earlier)
        if alike < 2:  # two instances of each statement are enough to find a third in conflict with one of them
            earlier.append((owner, touch))
    return None


def _may_mean(claim: Claim, statement: Statement, array: str) -> bool:
    return claim.covers(statement.name, claim.sink, array) or claim.covers(claim.source, statement.name, array)


def _instance(statement: Statement, touch: Touch) -> str:
    return statement.instance(touch.iteration[: statement.depth])  # loops inside of a statement come last


def _is_exact(statement: Statement, array: str) -> bool:
    return all(access.must for access in statement.accesses if access.array == array)
