# ruff: noqa: F821, UP037
"""Operators along rows are one kernel of a GPU: a block for each row, its threads along it."""

from __future__ import annotations

import random
import re

import pytest

import polysched as ps
from polysched.frontend.op.op import Op, parse_op
from polysched.frontend.python import parse_nest

FREE = ps.Options(reorder_reductions=True)


@ps.op
def softmax(x: ps.f32["n", "d"]) -> ps.f32["n", "d"]:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def test_a_softmax_is_one_kernel_with_a_version_for_rows_that_fit():
    done = ps.optimize(softmax, "cuda", options=FREE)
    assert (
        str(done.schedule.script)
        == """\
schedule = (
    ps.Schedule(softmax, "ilp", options=ps.Options(reorder_reductions=True))
    .fuse("i", "i_2", "i_3", "i_4", "i_5", "i_6", "i_7", "i_8", "i_9")
    .inline("e")
    .fuse("j", "j_2")
    .split_set("i", "d <= 6144")
    .cache_read("x", at="i", scope="shared")
    .cyclic("j_2", 256, names=("j_2_t",))
    .cyclic("j_3", 256, names=("j_3_t",))
    .online("j_3_t", "S7_2", scope="shared")
    .fuse("j_2_t", "j_3_t")
    .fuse("j_2", "j_3")
    .bind("i", "block.x")
    .bind("x1", "thread.x", threads=256)
    .bind("j", "thread.x", threads=256)
    .bind("j_4", "thread.x", threads=256)
    .bind("j_5", "thread.x", threads=256)
    .bind("i_2", "block.x")
    .bind("j_2_t", "thread.x")
    .bind("j_3_t_2", "thread.x")
    .bind("j_6", "thread.x", threads=256)
)"""
    )
    assert [kernel.block for kernel in done.source.kernels] == [(256, 1, 1)] * 2
    assert "polysched_malloc" not in done.source.text and "if (d <= 6144) {" in done.source.text
    for d in (1, 31, 300, 6145):
        done.verify(n=3, d=d)


def test_rows_of_several_arrays_share_the_room():
    op = parse_op(
        "import numpy as np\n"
        "def f(x: ps.f32['b', 'n', 'd'], r: ps.f32['b', 'n', 'd']) -> ps.f32['b', 'n', 'd']:\n"
        "    y = x + r\n"
        "    return y / np.sqrt(np.mean(y * y, axis=2, keepdims=True) + np.float32(1e-5))\n",
        "rows.py",
    )
    done = ps.optimize(op, "cuda", options=FREE)
    first, _ = done.source.device.split("f_k1_body")[:2]
    assert '"d <= 3072"' in done.schedule.script and "x_c[3072];" in first and "r_c[3072];" in first
    assert len(re.findall(r"\bx\[", first)) == 1
    done.verify(b=2, n=2, d=40)
    done.verify(b=1, n=2, d=3073)
    kept = ps.optimize(op, "cuda", schedule=done.schedule.decide("copy_rows.j", 0))
    assert len(kept.source.kernels) == 1


def test_its_script_says_the_same():
    done = ps.optimize(softmax, "cuda", options=FREE)
    assert ps.optimize(softmax, "cuda", schedule=done.schedule).source.text == done.source.text


def test_its_decisions():
    schedule = ps.optimize(softmax, "cuda", options=FREE).schedule
    values = {decision.key: decision.value for decision in schedule.decisions}
    first = {"fuse_rows.i": True, "inline.e": True, "join.j_2": True}
    assert values == {**first, "copy_rows.i": 6144, "threads.i": 256, "online.j_3": True}
    kept = schedule.decide("inline.e", False).decide("copy_rows.i", 0)
    stored = ps.optimize(softmax, "cuda", schedule=kept.decide("threads.i", 64))
    (kernel,) = stored.source.kernels
    assert kernel.block == (64, 1, 1) and "e[" in stored.source.device
    stored.verify(n=2, d=150)
    apart = ps.optimize(softmax, "cuda", schedule=schedule.decide("fuse_rows.i", False))
    assert len(apart.source.kernels) > 1


def rows_of(d: int, dtype: str = "f32"):
    return parse_op(
        "import numpy as np\n"
        f"def f(x: ps.{dtype}['n', {d}]) -> ps.{dtype}['n', {d}]:\n"
        "    c = x - np.mean(x, axis=1, keepdims=True)\n"
        "    return c / np.sum(c * c, axis=1, keepdims=True)\n",
        "rows.py",
    )


def test_a_row_that_fits_is_read_once():
    done = ps.optimize(rows_of(300), "cuda", options=FREE)
    assert '.cache_read("x", at="i", scope="shared")' in done.schedule.script
    assert len(re.findall(r"\bx\[", done.source.device)) == 1 and "x_c[300];" in done.source.device
    assert ps.optimize(done.nest, "cuda", schedule=done.schedule).source.text == done.source.text
    done.verify(n=3)
    kept = ps.optimize(done.nest, "cuda", schedule=done.schedule.decide("copy.x", False))
    assert len(re.findall(r"\bx\[", kept.source.device)) == 3


def test_a_row_that_does_not_fit_is_read_twice():
    done = ps.optimize(rows_of(12_000), "cuda", options=FREE)
    assert '.online("j_2_t", "S3", scope="shared")' in done.schedule.script
    assert len(re.findall(r"for \(.*\) \{\n.*\bx\[", done.source.device)) == 2
    done.verify(n=2)
    apart = ps.optimize(done.nest, "cuda", schedule=done.schedule.decide("online.j_2", False))
    assert len(re.findall(r"for \(.*\) \{\n.*\bx\[", apart.source.device)) == 3


@pytest.mark.parametrize(("d", "dtype", "fits"), [(10_240, "f32", True), (10_241, "f32", False), (5_121, "f64", False)])
def test_a_row_fits_where_shared_memory_has_room_for_it(d, dtype, fits):
    script = ps.optimize(rows_of(d, dtype), "cuda", options=FREE).schedule.script
    assert ("cache_read" in script) == fits


def test_a_row_that_is_written_is_not_copied():
    nest = parse_nest(
        "def scaled(x: ps.f32['n', 64], s: ps.f32['n'], n: ps.size):\n"
        "    for i in range(n):\n"
        "        s[i] = 0.0\n"
        "        for j in range(64):\n"
        "            s[i] += x[i, j]\n"
        "        for j in range(64):\n"
        "            x[i, j] = x[i, j] / s[i]\n",
        "rows.py",
    )
    done = ps.optimize(nest, "cuda", options=FREE)
    assert "cache_read" not in done.schedule.script
    done.verify(n=3)


def test_in_the_order_of_the_source_rows_stay_apart():
    assert len(ps.optimize(softmax, "cuda").source.kernels) > 1


def test_threads_follow_the_length_of_the_row():
    def threads(d: int) -> int:
        op = parse_op(
            "import numpy as np\n"
            f"def f(x: ps.f32['n', {d}]) -> ps.f32['n', {d}]:\n"
            "    c = x - np.mean(x, axis=1, keepdims=True)\n"
            "    return c / np.sum(c * c, axis=1, keepdims=True)\n",
            "rows.py",
        )
        (kernel,) = ps.optimize(op, "cuda", options=FREE).source.kernels
        return kernel.block[0]

    assert [threads(d) for d in (40, 256, 768, 2048, 40000)] == [32, 32, 128, 256, 1024]


def test_what_others_read_is_stored_as_well():
    op = parse_op(
        "import numpy as np\n"
        "def f(x: ps.f32['n', 'd'], w: ps.f32['d', 'm']) -> ps.f32['n', 'm']:\n"
        "    e = np.exp(x - np.max(x, axis=1, keepdims=True))\n"
        "    return (e / np.sum(e, axis=1, keepdims=True)) @ w\n",
        "rows.py",
    )
    done = ps.optimize(op, "cuda", options=FREE)
    assert "inline.e" not in {decision.key for decision in done.schedule.decisions}
    assert len(done.source.kernels) == 3  # two versions of the rows
    done.verify(n=3, d=40, m=5)


def test_sums_over_planes_that_share_a_column():
    op = parse_op(
        "import numpy as np\n"
        "def f(x: ps.f64['n', 'c', 's']) -> ps.f64['n', 'c', 's']:\n"
        "    y = x - np.mean(x, axis=(0, 2), keepdims=True)\n"
        "    return y / np.sqrt(np.mean(y * y, axis=(0, 2), keepdims=True) + 1e-5)\n",
        "planes.py",
    )
    done = ps.optimize(op, "cuda", options=FREE)
    assert len(done.source.kernels) == 1
    done.verify(n=3, c=2, s=70)


@ps.nest
def totals(s: ps.f64["n", 8], y: ps.f64["n", "d"], x: ps.f64["n", "d"], n: ps.size, d: ps.size):
    for i in range(n):
        for j in range(d):
            for k in range(8):
                s[i, k] += x[i, j]
        for m in range(d):
            y[i, m] = x[i, m] * s[i, 0]


def test_a_sum_that_has_no_parts_leaves_its_kernel_one_thread():
    by_hand = ps.Schedule(totals, options=FREE).bind("i", "block.x")
    by_hand = by_hand.bind("j", "thread.x", threads=32).bind("m", "thread.x", threads=32)
    done = ps.optimize(totals, "cuda", schedule=by_hand)
    (declined,) = done.declined
    assert "are parts of fixed elements" in str(declined) and done.source.kernels[0].block == (1, 1, 1)
    done.verify(n=3, d=40)


@ps.nest
def shared(y: ps.f64["n", "d"], x: ps.f64["n", "d"], n: ps.size, d: ps.size):
    for i in range(n):
        s = 2.0 * x[i, 0]
        for j in range(d):
            y[i, j] = s * x[i, j]


def test_what_the_threads_of_a_block_share_is_no_variable_of_one():
    """Declared in each of them, only the first one knew what it held."""
    by_hand = ps.Schedule(shared).bind("i", "block.x").bind("j", "thread.x", threads=32)
    done = ps.optimize(shared, "cuda", schedule=by_hand)
    assert "__shared__" in done.source.device
    done.verify(n=3, d=40)


def test_a_team_that_has_nothing_to_add_up_finishes_no_element():
    """isl finds k = 3 k_b + 2, by which it spells the subscript: the element of all threads of the block."""
    planes = parse_nest(
        "def planes(A: i32[n + 4], B: i64[1], n: size):\n"
        "    for i in range(n):\n"
        "        for j in range(n):\n"
        "            for k in range(-1, 3, 3):\n"
        "                A[k + 1] *= ps.i32(B[0])\n",
        "planes.py",
    )
    by_hand = ps.Schedule(planes, "ilp", options=FREE).tile("k", sizes=(128,), names=("k_b",))
    by_hand = by_hand.reorder("i", "k_b", "k", "j").bind("k_b", "block.x").bind("k", "thread.x").bind("j", "block.y")
    ps.optimize(planes, "cuda", schedule=by_hand).verify(n=3)


def test_a_subscript_that_several_blocks_have_is_no_sign_of_whose_it_is():
    half = parse_nest(
        "def half(y: f64[n], x: f64[n, d], n: size, d: size):\n"
        "    for k in range(n):\n"
        "        for j in range(d):\n"
        "            if k % 4 == 0 or k % 4 == 3:\n"
        "                y[k // 2] += x[k, j]\n",
        "half.py",
    )
    by_hand = ps.Schedule(half, options=FREE).bind("k", "block.x").bind("j", "thread.x")
    ps.optimize(half, "cuda", schedule=by_hand).verify(n=9, d=50)


CAUSAL = parse_nest(
    "def causal(y: f64[200, 200], x: f64[200, 200]):\n"
    "    for i in range(200):\n"
    "        m = 0.0\n"
    "        for j in range(i + 1):\n"
    "            m = max(m, x[i, j])\n"
    "        s = 0.0\n"
    "        for k in range(i + 1):\n"
    "            s += x[i, k] - m\n"
    "        for p in range(i + 1):\n"
    "            y[i, p] = (x[i, p] - m) / s\n",
    "causal.py",
)


@pytest.mark.parametrize("threads", [32, 256])
def test_rows_of_a_triangle(threads):
    """With 256 threads isl says p <= i, which bounds no thread by a constant."""
    schedule = ps.optimize(CAUSAL, "cuda", options=FREE).schedule
    ps.optimize(CAUSAL, "cuda", schedule=schedule.decide("threads.i", threads)).verify()


@pytest.mark.parametrize("fusion", ["smart", "max", "none"])
def test_a_statement_that_never_runs(fusion):
    op = parse_nest(
        "def f(A: f64[n + 4], n: size):\n"
        "    for i in range(2, n):\n"
        "        if i > n:\n"
        "            A[i] = 1.0\n"
        "        else:\n"
        "            A[i] = A[i] + 1.0\n",
        "never.py",
    )
    ps.optimize(op, "cuda", options=ps.Options(fusion=fusion)).verify(n=9)


@pytest.mark.parametrize("seed", range(20))
def test_random_rows_equal_the_interpreter_in_both_directions(seed):
    rng = random.Random(seed)
    op = random_rows(rng)
    done = ps.optimize(op, "cuda", options=ps.Options(reorder_reductions=True, fast_math=rng.random() < 0.3))
    if rng.random() < 0.6:
        decision = rng.choice(done.schedule.decisions)
        changed = done.schedule.decide(decision.key, rng.choice(decision.candidates))
        done = ps.optimize(op, "cuda", schedule=changed)
    done.verify(n=rng.randint(1, 4), d=rng.choice((1, 5, 33, 130)))


def random_rows(rng: random.Random) -> Op:
    """Up to three sums of rows, each followed by something element by element."""
    dtype = rng.choice(("f32", "f64"))
    lines, last, total = [], "x", ""
    for k in range(rng.randint(1, 3)):
        reduction = rng.choice(("sum", "max", "min", "mean"))
        lines.append(f"    m{k} = np.{reduction}({last}, axis=1, keepdims=True)")
        total = rng.choice([f"m{k}", total or f"m{k}"])
        value = rng.choice(("np.exp(-{0} * {0})", "{0} * 0.5", "({0} - {1})", "({0} + 1.0) * {1}", "np.abs({0} - {1})"))
        lines.append(f"    y{k} = " + value.format(rng.choice(("x", last)), total))
        last = f"y{k}"
    text = "\n".join([
        "import numpy as np",
        f"def f(x: ps.{dtype}['n', 'd'], g: ps.{dtype}['d']) -> ps.{dtype}['n', 'd']:",
        *lines,
        f"    return {last} * g" if rng.random() < 0.5 else f"    return {last} + g / (1.0 + np.abs({total}))",
    ])  # fmt: skip
    return parse_op(text, "rows.py")


def test_what_has_an_order_along_its_row_runs_on_one_thread():
    op = parse_op(
        "import numpy as np\n"
        "def f(x: ps.i64['n', 4], y: ps.i16['n', 4]):\n"
        "    return np.any(y, axis=1), np.max(x, axis=1)\n",
        "rows.py",
    )
    done = ps.optimize(op, "cuda", options=FREE)
    assert done.rungs["mapping"] == "mapped"
    done.verify()
