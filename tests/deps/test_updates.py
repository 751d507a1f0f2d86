# ruff: noqa: F821 - the annotations of nests name sizes by texts
"""Updates of integers commute, across statements: random nests of them compute the same bits, backwards, too."""

import random
from itertools import product

import numpy as np
import pytest
from chains import assert_same_results
from nests import Operand, _cast, _Generator, arguments_for, loop, nest

import polysched as ps
from polysched.check.trials.orders import BACKWARDS, in_other_orders
from polysched.errors import IllegalSchedule, InputError
from polysched.ir import dtypes
from polysched.ir.build import binary, const, lift, load, store, var
from polysched.ir.interp import interpret
from polysched.ir.nodes import Array, Expr, Function, Load, Select, Stmt, Store

TYPES = [dtypes.i8, dtypes.i16, dtypes.i32, dtypes.i64, dtypes.u8, dtypes.u16, dtypes.u32, dtypes.u64]
OPERATORS = ["+", "-", "*", "min", "max", "&", "|", "^"]


class _Updates(_Generator):
    """Nests of which most statements update one array, by one operator or by several, and read it, too."""

    def __init__(self, rng: random.Random):
        super().__init__(rng, rng.choice((3, 4, 5)), rng.choice((2, 3)))
        self.left = rng.randint(2, self.left + 1)
        types = rng.sample(TYPES, 2)
        self.types = {name: (rng.choice(types), rng.choice((0, 1, 1, 2, 2))) for name in "ABC"[: rng.randint(1, 3)]}
        self.reach = {name: [(0, 0)] * rank for name, (_, rank) in self.types.items()}
        kinds = [[rng.choice(OPERATORS)], [rng.choice(OPERATORS)], ["+", "-"], ["min", "max"], OPERATORS]
        self.operators = rng.choice(kinds)

    def store(self, around: tuple[str, ...]) -> Stmt:
        self.left -= 1
        rng, name = self.rng, "A" if self.rng.random() < 0.6 else self.rng.choice(tuple(self.types))
        dtype, index = self.types[name][0], self.subscripts(name, around)
        value, kind = self.value(dtype, around), self.rng.random()
        target, op = Load(name, index, dtype), rng.choice(self.operators)
        if kind < 0.05:
            value = Select(binary(">", target, value), target, value)
        elif kind < 0.8:
            turned = op != "-" and rng.random() < 0.3
            value = binary(op, value, target) if turned else binary(op, target, value)
            value = binary(op, value, self.value(dtype, around)) if rng.random() < 0.2 else value
        return Store(name, index, value)

    def value(self, dtype: dtypes.DType, around: tuple[str, ...]) -> Expr:
        names = [*self.types]
        if self.rng.random() < 0.7:
            name = self.rng.choice(names)
            return _cast(Load(name, self.subscripts(name, around), self.types[name][0]), dtype)
        return const(self.rng.randint(1, 5), dtype)


def _same(one: dict[str, np.ndarray], other: dict[str, np.ndarray], what: str) -> None:
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=f"{name}, {what}", strict=True)


def _arrays(arguments: dict[str, Operand]) -> dict[str, np.ndarray]:
    return {name: value.copy() for name, value in arguments.items() if isinstance(value, np.ndarray)}


def _flat(kernel: Function, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    ranks = {array.name: len(array.shape) for array in kernel.arrays}
    return {name: value.reshape(-1) if ranks.get(name) else value for name, value in arrays.items()}


@pytest.mark.parametrize("dtype", [dtypes.i8, dtypes.u64, dtypes.f32], ids=str)
def test_only_one_operation_on_integers_commutes_with_itself(dtype):
    """Those of the first update in all iterations, then those of the second, where that gives the same bits."""
    for first, then in product(OPERATORS[: 5 if dtype.is_float else None], repeat=2):
        s, a = Array("s", dtype, (lift(1),)), Array("a", dtype, (var("n"),))
        updates = (store(s, (0,), binary(op, load(s, 0), load(a, var("i")))) for op in (first, then))
        done = ps.Schedule(nest("f", "n", [s, a], loop("i", 0, var("n"), *updates)))
        if not dtype.is_float and (first == then or {first, then} == {"+", "-"}):
            assert_same_results(done.distribute("i"), random.Random(1))
            assert_same_results(done.reverse("i"), random.Random(1))
        else:
            with pytest.raises(IllegalSchedule):
                done.distribute("i")


@ps.nest
def crossed(A: ps.i32["m", 64], B: ps.i32["m", 64], C: ps.i32["m", 64], m: ps.size):
    for r in range(m):
        for i in range(64):
            A[r, i] = max(A[r, i], B[r, i])
        for j in range(64):
            A[r, 63 - j] = max(A[r, 63 - j], C[r, j])


def test_threads_of_a_block_wait_between_updates_that_commute():
    done = ps.Schedule(crossed).bind("r", "block.x").bind("i", "thread.x").bind("j", "thread.x").map("cuda")
    kernel = ps.optimize(crossed, "cuda", schedule=done)
    assert kernel.source.text.count("__syncthreads();") == 1
    kernel.verify(m=3)


@ps.nest
def scores(a: ps.i32["n"], b: ps.i32["m"], H: ps.i32["n + 1", "m + 1"], best: ps.i32[1], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            H[i + 1, j + 1] = max(H[i, j] + a[i] * b[j], H[i, j + 1] - 1, H[i + 1, j] - 1, 0)
            best[0] = max(best[0], H[i + 1, j + 1])


def test_updates_that_commute_join_no_loops_that_are_parallel_without_them():
    assert "pragma omp parallel" in str(ps.optimize(scores).source)


@pytest.mark.parametrize("seed", range(12))
def test_random_updates_compute_the_same_bits(seed):
    """Backwards, too, where loops are said to be parallel or on lanes: two threads never update one element."""
    rng = random.Random(seed)
    options = ps.Options(reorder_reductions=rng.random() < 0.3, tile_sizes=rng.choice((None, (2, 3, 4), (3, 2, 2))))
    try:
        done = ps.optimize(_Updates(rng).function(), options=options)
    except InputError:  # an access that leaves its array
        return
    backwards, order = in_other_orders(done.kernel)
    for n in (0, 1, 4, 7):
        arguments = arguments_for(done.nest, rng, n)
        forth, back = _arrays(arguments), _arrays(arguments)
        sizes = {name: value for name, value in arguments.items() if name not in forth}
        interpret(done.nest, arguments)
        interpret(done.kernel, sizes | _flat(done.kernel, forth))
        interpret(backwards, sizes | _flat(backwards, back) | {order: BACKWARDS})
        _same(forth, arguments, f"n = {n}")
        _same(back, arguments, f"n = {n}, backwards")


@pytest.mark.parametrize("seed", range(40))
def test_whatever_order_is_legal_computes_the_same_bits(seed):
    rng = random.Random(seed)
    try:
        done = ps.Schedule(_Updates(rng).function())
    except InputError:
        return
    for name in done.loops:
        for edit in (ps.Schedule.distribute, ps.Schedule.reverse):
            try:
                done = edit(done, name)
            except (IllegalSchedule, InputError):
                continue
    assert_same_results(done, rng, (0, 1, 4, 7))
