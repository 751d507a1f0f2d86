"""Branches and loops of a file as plain nodes: a loop whose number of turns is known is written out.

    y, all = Loop(2, true, x) {v -> v * 2, v}    ->    v1 = x * 2; v2 = v1 * 2; y = v2; all = stack(x, v1)
    y = If(c) {a} else {b}                       ->    y = Where(c, a, b), or the one that a constant c chooses

Nothing that a branch computes has effects, so both may run; but for places outside and integers divided by zero, which
are errors in the one that is not chosen, too. What they store, and what a loop gathers, is nodes of the
standard, which the reader reads as it does those of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.ir.graph.operations import Value
from polysched.networks.array import shape_of
from polysched.networks.reading.schema import attributes_of, package

Entry = Value | np.ndarray
Scope = dict[str, Entry]
Read = Callable[[Iterable[Any], Scope], None]  # reads nodes, whose results go to the scope

_RESULT = "result"
_MOST_TURNS = 256  # of a loop that is written out


def branch(proto: Any, label: str, scope: Scope, read: Read) -> None:
    """If: the nodes of one branch, or of both and a choice."""
    attributes, condition = attributes_of(proto), scope[proto.input[0]]
    sides = ("then_branch", "else_branch")
    if isinstance(condition, np.ndarray):
        side = sides[0 if condition.reshape(-1)[0] else 1]
        for name, result in zip(proto.output, _body(attributes[side], scope, read, []), strict=True):
            scope[name] = result
        return
    then, other = (_body(attributes[side], scope, read, []) for side in sides)
    for name, one, two in zip(proto.output, then, other, strict=True):
        if _shape(one) != _shape(two):
            message = f"{label}: the branches give {_shape(one)} and {_shape(two)}, and the condition is no constant"
            raise InputError(message, hint="give the input that decides it as constants={...}")
        test = _node(read, "Reshape", condition, np.array([], np.int64))
        scope[name] = _node(read, "Where", test, one, two)


def loop(proto: Any, label: str, scope: Scope, read: Read) -> None:
    """Loop: turns as many as a constant says, or as long as what the body computes of constants is true."""
    body = attributes_of(proto)["body"]
    turns, condition, *state = [scope[name] if name else None for name in proto.input]
    stacked: list[list[Entry]] = [[] for _ in proto.output[len(state) :]]
    done = 0
    while _goes_on(label, done, turns, condition):
        given = [np.array(done, np.int64), np.array(True), *state]
        condition, *results = _body(body, scope, read, given)
        more = results[len(state) :]
        state[:] = results[: len(state)]
        for each, value in zip(stacked, more, strict=False):
            each.append(value)
        done += 1
    ends = [*state, *(_stacked(label, each, 0, read) for each in stacked)]
    scope.update({name: end for name, end in zip(proto.output, ends, strict=True) if name})


def _goes_on(label: str, done: int, turns: Entry | None, condition: Entry | None) -> bool:
    for what, entry in (("number of turns", turns), ("condition", condition)):
        if isinstance(entry, Value):
            hint = "give what it depends on as constants={...}"
            raise InputError(f"{label}: the {what} decides the shape and is no constant", hint=hint)
    if isinstance(condition, np.ndarray) and not condition.reshape(-1)[0]:
        return False
    if isinstance(turns, np.ndarray) and done >= int(turns.reshape(-1)[0]):
        return False
    if done >= _MOST_TURNS:
        raise InputError(f"{label}: a loop of more than {_MOST_TURNS} turns is not supported")
    return True


def scan(proto: Any, label: str, scope: Scope, read: Read, opset: int) -> None:
    """Scan: a turn for each element along an axis of what is scanned."""
    if opset < 9:
        raise InputError(f"{label}: version 8 of Scan is not supported", hint="convert the model to version 9")
    given, operands = attributes_of(proto), [scope[name] for name in proto.input]
    count = int(given["num_scan_inputs"])
    state, scanned = operands[: len(operands) - count], operands[len(operands) - count :]
    axes = [_axis(axis, each) for axis, each in zip(given.get("scan_input_axes", (0,) * count), scanned, strict=True)]
    backwards = given.get("scan_input_directions", (0,) * count)
    results = len(proto.output) - len(state)
    stacked: list[list[Entry]] = [[] for _ in range(results)]
    turns = _shape(scanned[0])[axes[0]]
    if turns > _MOST_TURNS:
        raise InputError(f"{label}: a scan of more than {_MOST_TURNS} turns is not supported, and this has {turns}")
    for turn in range(turns):
        parts = [
            _taken(each, axis, turns - 1 - turn if back else turn, read)
            for each, axis, back in zip(scanned, axes, backwards, strict=True)
        ]
        made = _body(given["body"], scope, read, [*state, *parts])
        state = made[: len(state)]
        for each, value in zip(stacked, made[len(state) :], strict=True):
            each.append(value)
    directions = given.get("scan_output_directions", (0,) * results)
    to = given.get("scan_output_axes", (0,) * results)
    ends = [
        _stacked(label, each[::-1] if back else each, axis, read)
        for each, axis, back in zip(stacked, to, directions, strict=True)
    ]
    scope.update({name: end for name, end in zip(proto.output, [*state, *ends], strict=True) if name})


def _body(graph: Any, scope: Scope, read: Read, given: Sequence[Entry | None]) -> list[Entry]:
    """The results of a graph in the file, given what its inputs are."""
    inner = {**scope, **{each.name: package().numpy_helper.to_array(each) for each in graph.initializer}}
    inner.update({each.name: entry for each, entry in zip(graph.input, given, strict=False) if entry is not None})
    read(graph.node, inner)
    return [inner[each.name] for each in graph.output]


def _stacked(label: str, parts: Sequence[Entry], axis: int, read: Read) -> Entry:
    """The parts, one behind the other along a new axis."""
    if not parts:
        raise InputError(f"{label}: a loop without turns has no results to stack", hint="give it one turn at least")
    shape = list(_shape(parts[0]))
    shape.insert(axis % (len(shape) + 1), 1)
    units = [_node(read, "Reshape", part, np.array(shape, np.int64)) for part in parts]
    return _node(read, "Concat", *units, axis=axis % len(_shape(units[0])))


def _taken(entry: Entry, axis: int, turn: int, read: Read) -> Entry:
    return _node(read, "Gather", entry, np.array(turn, np.int64), axis=axis)


def _node(read: Read, kind: str, *operands: Entry, **given: Any) -> Entry:
    """The result of a node of the standard."""
    scope: Scope = {f"operand {k}": operand for k, operand in enumerate(operands)}
    read([package().helper.make_node(kind, list(scope), [_RESULT], **given)], scope)
    return scope[_RESULT]


def _shape(entry: Entry) -> tuple[int, ...]:
    return entry.shape if isinstance(entry, np.ndarray) else shape_of(entry)


def _axis(axis: int, entry: Entry) -> int:
    return axis % len(_shape(entry))
