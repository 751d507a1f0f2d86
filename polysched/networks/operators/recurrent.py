"""Recurrent layers: one array of all steps, in which an element is computed from those of the step before.

    S[t, g, b, k]       gate g of step t; the last of them is the state that the layer gives
    S[t, 0, b, k] = sigmoid(xw[t, b, k] + sum(R[k, j] * S[t - 1, last, b, j], axis=j))

The products of all steps' inputs with W come first, as one. The loop over t is carried, and not unrolled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from polysched.frontend import tensor as te
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.elements.pointwise import sigmoid
from polysched.networks.operators.table import operator

Value = Any


class _Layer:
    """What all three have in common: directions, sizes, the products with the inputs."""

    def __init__(
        self, node: Node, x: Array, w: Array, r: Array, b: Array | None, lengths: Array | None, usual: list[str]
    ):
        direction = node.choice("direction", "forward", "reverse", "bidirectional")
        self.batch_first = bool(node.get("layout", 0))
        self.node, self.x, self.w, self.r, self.b = node, self.turned(x), w, r, b
        self.steps, self.batch, self.inputs = self.x.shape
        self.hidden, self.directions = r.shape[2], r.shape[0]
        self.reverse = [direction == "reverse"] if direction != "bidirectional" else [False, True]
        self.number = partial(constant, dtype=x.dtype)
        self._require_plain(usual, lengths)

    def _require_plain(self, usual: list[str], lengths: Array | None) -> None:
        node = self.node
        wanted = usual * self.directions
        given = [str(each) for each in node.get("activations") or wanted]
        if given[: len(wanted)] != wanted:
            raise node.refusal(f"attribute activations is {given}", f"activations are {wanted}")
        if node.get("hidden_size", self.hidden) != self.hidden:
            raise node.refusal(f"attribute hidden_size is {node.get('hidden_size')}", f"weights have {self.hidden}")
        if lengths is not None and any(n != self.steps for n in node.integers(lengths, "sequence_lens")):
            raise node.refusal("sequences have several lengths", f"all have {self.steps} steps")

    def turned(self, x: Array) -> Array:
        """Steps, or directions, before the batch."""
        if not self.batch_first:
            return x
        return Array((x.shape[1], x.shape[0], *x.shape[2:]), x.dtype, lambda i: x[(i[1], i[0], *i[2:])])

    def inputs_product(self, d: int, biases: Callable[[Value], Value]) -> Array:
        """xw[t, b, k], of the steps in the order in which this direction takes them."""
        j = self.node.make.axis(self.inputs)

        def element(i: Index) -> Value:
            t = self.steps - 1 - i[0] if self.reverse[d] else i[0]
            return te.sum(self.x[(t, i[1], j)] * self.w[(d, i[2], j)], axis=j) + biases(i[2])

        return self.node.make.compute((self.steps, self.batch, self.w.shape[1]), self.x.dtype, element, inline=False)

    def bias(self, d: int, k: Value) -> Value:
        return self.number(0) if self.b is None else self.b[(d, k)]

    def before(self, own: Any, i: Index, slot: int, first: Array | None, d: int) -> Callable[[Value], Value]:
        """An element of a slot in the step before that of the index; of what is given `first`, or 0, in step 0."""
        t, _, batch, _ = i

        def of(j: Value) -> Value:
            initial = self.number(0) if first is None else self.turned(first)[(d, batch, j)]
            return te.select(t > 0, own[t - 1, slot, batch, j], initial)

        return of

    def hidden_sum(self, d: int, first: Value, state: Callable[[Value], Value], where: Value) -> Value:
        """The row of R times a state."""
        j = self.node.make.axis(self.hidden)
        return te.sum(self.r[(d, first, j)] * state(j), axis=j, where=where)

    def results(self, states: list[Array], slots: list[int]) -> tuple[Array, ...]:
        """All steps of the first slot, and the last step of each."""
        make, last = self.node.make, self.steps - 1

        def all_steps(i: Index) -> Value:
            def of(d: int) -> Value:
                t = last - i[0] if self.reverse[d] else i[0]
                return states[d][(t, slots[0], i[2], i[3])]

            return of(0) if self.directions == 1 else te.select(i[1] == 0, of(0), of(1))

        def end(slot: int) -> Callable[[Index], Value]:
            def of(i: Index) -> Value:
                both = [state[(last, slot, i[1], i[2])] for state in states]
                return both[0] if self.directions == 1 else te.select(i[0] == 0, both[0], both[1])

            return of

        if self.batch_first:
            shape, whole = (
                (self.batch, self.directions, self.hidden),
                (self.batch, self.steps, self.directions, self.hidden),
            )
            steps = make.compute(whole, self.x.dtype, lambda i: all_steps((i[1], i[2], i[0], i[3])))
            turn = lambda f: lambda i: f((i[1], i[0], i[2]))  # noqa: E731
            return steps, *(make.compute(shape, self.x.dtype, turn(end(slot))) for slot in slots)
        shape = (self.directions, self.batch, self.hidden)
        steps = make.compute((self.steps, *shape), self.x.dtype, all_steps)
        return steps, *(make.compute(shape, self.x.dtype, end(slot)) for slot in slots)


@operator("LSTM")
def lstm(
    node: Node,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    hidden: Array | None = None,
    cell: Array | None = None,
) -> tuple[Array, ...]:
    """Gates i, o, f, c; then the cell, f * cell + i * c, and the state, o * tanh(cell)."""
    layer = _Layer(node, x, w, r, b, lengths, ["Sigmoid", "Tanh", "Tanh"])
    if node.get("input_forget", 0):
        raise node.refusal("attribute input_forget is 1", "leave it out")
    size = layer.hidden

    def direction(d: int) -> Array:
        product = layer.inputs_product(d, lambda k: layer.bias(d, k) + layer.bias(d, k + 4 * size))

        def element(own: Any, i: Index) -> Value:
            t, g, batch, k = i
            is_gate, row = g < 4, g * size + k
            total = layer.hidden_sum(d, row, layer.before(own, i, 5, hidden, d), is_gate)
            total = te.select(is_gate, product[(t, batch, row)], layer.number(0)) + total
            gate = te.select(g == 3, te.tanh(total), sigmoid(total, layer.number))
            old_cell = layer.before(own, i, 4, cell, d)(k)
            new_cell = own[t, 2, batch, k] * old_cell + own[t, 0, batch, k] * own[t, 3, batch, k]
            state = own[t, 1, batch, k] * te.tanh(own[t, 4, batch, k])
            return te.select(is_gate, gate, te.select(g == 4, new_cell, state))

        return node.make.scan((layer.steps, 6, layer.batch, size), x.dtype, element)

    return layer.results([direction(d) for d in range(layer.directions)], [5, 4])


@operator("GRU")
def gru(
    node: Node,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    hidden: Array | None = None,
) -> tuple[Array, ...]:
    """Gates z, r; then the state, (1 - z) * tanh(...) + z * state."""
    layer = _Layer(node, x, w, r, b, lengths, ["Sigmoid", "Tanh"])
    size, reset_after = layer.hidden, bool(node.get("linear_before_reset", 0))

    def direction(d: int) -> Array:
        def biases(k: Value) -> Value:
            of_state = layer.bias(d, k + 3 * size)
            return layer.bias(d, k) + (te.select(k < 2 * size, of_state, layer.number(0)) if reset_after else of_state)

        product = layer.inputs_product(d, biases)

        def element(own: Any, i: Index) -> Value:
            t, g, batch, k = i
            is_gate, row = g < 2, g * size + k
            before = layer.before(own, i, 2, hidden, d)

            def reset(j: Value) -> Value:
                return own[t, 1, batch, j] * before(j)

            plain = layer.hidden_sum(d, row, before, True if reset_after else is_gate)
            gate = sigmoid(product[(t, batch, row)] + plain, layer.number)
            if reset_after:
                of_state = own[t, 1, batch, k] * (plain + layer.bias(d, 5 * size + k))
            else:
                of_state = layer.hidden_sum(d, row, reset, g == 2)
            new = te.tanh(product[(t, batch, row)] + of_state)
            z = own[t, 0, batch, k]
            return te.select(is_gate, gate, (layer.number(1) - z) * new + z * before(k))

        return node.make.scan((layer.steps, 3, layer.batch, size), x.dtype, element)

    return layer.results([direction(d) for d in range(layer.directions)], [2])


@operator("RNN")
def rnn(
    node: Node,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    hidden: Array | None = None,
) -> tuple[Array, ...]:
    layer = _Layer(node, x, w, r, b, lengths, ["Tanh"])
    size = layer.hidden

    def direction(d: int) -> Array:
        product = layer.inputs_product(d, lambda k: layer.bias(d, k) + layer.bias(d, k + size))

        def element(own: Any, i: Index) -> Value:
            t, _, batch, k = i
            of_state = layer.hidden_sum(d, k, layer.before(own, i, 0, hidden, d), True)
            return te.tanh(product[(t, batch, k)] + of_state)

        return node.make.scan((layer.steps, 1, layer.batch, size), x.dtype, element)

    return layer.results([direction(d) for d in range(layer.directions)], [0])
