"""polysched/strategy/tensor_cores.py: products on tensor instructions by themselves, and what goes without them."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from tensor_products import LAYOUTS, check_product, nn, of_types, product, whole_numbers

import polysched as ps
from polysched.errors import VerificationError
from polysched.frontend.python import parse_nest
from polysched.model.instructions.instruction import Instruction

NAME = "mma.m16n8k16.f16"


def uses_tensor(done: ps.Compiled) -> bool:
    return "mma.sync" in done.source.text


def test_a_product_of_halves():
    done = ps.optimize(nn, "cuda")
    assert str(done.schedule.script) == """\
schedule = (
    ps.Schedule(nn, "ilp")
    .tile("j", sizes=(128,), names=("j_b",))
    .tile("i", sizes=(128,), names=("i_b",))
    .tile("j", sizes=(64,), names=("j_w",))
    .tile("i", sizes=(64,), names=("i_w",))
    .tile("k", sizes=(64,), names=("k_c",))
    .reorder("i_b", "j_b", "i_w", "j_w", "k_c", "k", "i", "j")
    .bind("j_b", "block.x")
    .bind("i_b", "block.y")
    .bind("j_w", "thread.y")
    .bind("i_w", "thread.z")
    .tensorize("i", "j", "k", "mma.m16n8k16.f16", stages=3)
)"""
    assert done.declined == () and done.fallbacks == {}
    again = ps.optimize(nn, "cuda", schedule=done.schedule)
    assert again.source.text == done.source.text


def test_its_decision_and_what_is_declined():
    """Each of them gives the text that the nest has without any tensor instruction."""
    schedule = ps.Schedule.auto(nn, "cuda")
    (decision,) = (each for each in schedule.decisions if each.key == "tensor.S")
    assert decision.value == NAME
    texts = {
        ps.optimize(nn, "cuda", schedule=each).source.text
        for each in (schedule.without("tensor.S"), schedule.decide("tensor.S", ""))
    }
    texts |= {
        ps.optimize(nn, "cuda", options=options).source.text
        for options in (ps.Options(tensor="off"), ps.Options(gpu=ps.Gpu(arch="sm_70")))
    }
    (text,) = texts
    assert "mma.sync" not in text and "__shared__" in text


def test_only_cuda_has_them():
    for target in ("hip", "opencl", "c"):
        assert "tensorize" not in ps.optimize(nn, target).schedule.script


# --- tiles


def fixed(n: int, m: int, d: int) -> ps.Compiled:
    fn = parse_nest(
        f"def product(C: f32[{n}, {m}], A: f16[{n}, {d}], B: f16[{d}, {m}]):\n"
        f"    for i in range({n}):\n"
        f"        for j in range({m}):\n"
        f"            for k in range({d}):\n"
        "                C[i, j] += f32(A[i, k]) * f32(B[k, j])\n",
        "product.py",
    )
    return ps.optimize(fn, "cuda")


@pytest.mark.parametrize(
    ("sizes", "block"),
    [
        ((4096, 4096, 4096), (128, 128)),
        ((512, 512, 512), (64, 64)),
        ((4096, 64, 512), (64, 64)),
    ],
    ids=["fills the GPU", "few", "narrow"],
)
def test_constant_extents_choose_tiles(sizes, block):
    script = fixed(*sizes).schedule.script
    assert f'.tile("i", sizes=({block[0]},), names=("i_b",))' in script
    assert f'.tile("j", sizes=({block[1]},), names=("j_b",))' in script


@pytest.mark.parametrize(
    ("terms", "chunk"),
    [(8, None), (24, None), (32, ""), (40, "32"), (64, ""), (72, "64")],
)
def test_few_terms_are_one_chunk(terms, chunk):
    """There is no loop over one chunk, and no tensor instruction for less than two."""
    script = fixed(96, 160, terms).schedule.script
    assert ("tensorize" in script) == (chunk is not None)
    if chunk is not None:
        assert (f'.tile("k", sizes=({chunk},)' in script) if chunk else '.tile("k"' not in script


@pytest.mark.slow
@pytest.mark.parametrize("terms", [32, 40, 64, 72])
def test_few_terms_are_added_up(terms):
    done = fixed(96, 160, terms)
    arguments = whole_numbers(done.nest)
    wanted = product("nn", **arguments)
    assert done.check(**arguments).findings == ()
    assert (arguments["C"] == wanted).all()


# --- what is around, and what is not taken


def parsed(*lines: str) -> ps.Compiled:
    return ps.optimize(parse_nest("\n".join([*lines, ""]), "around.py"), "cuda")


def around() -> ps.Compiled:
    return parsed(
        "def around(D: f32[n, m], C: f32[n, m], A: f16[n, d], B: f16[d, m], b: f32[m], n: size, m: size, d: size):",
        "    for i in range(n):",
        "        for j in range(m):",
        "            C[i, j] = b[j]",
        "    for i in range(n):",
        "        for j in range(m):",
        "            for k in range(d):",
        "                C[i, j] += f32(A[i, k]) * f32(B[k, j])",
        "    for i in range(n):",
        "        for j in range(m):",
        "            D[i, j] = max(C[i, j], 0.0)",
    )


def batched() -> ps.Compiled:
    return parsed(
        "def batched(C: f32[p, n, m], A: f16[p, n, d], B: f16[p, d, m], p: size, n: size, m: size, d: size):",
        "    for b in range(p):",
        "        for i in range(n):",
        "            for j in range(m):",
        "                for k in range(d):",
        "                    C[b, i, j] += f32(A[b, i, k]) * f32(B[b, k, j])",
    )


def convolution() -> ps.Compiled:
    return parsed(
        "def convolution(Y: f32[h, w, o], D: f16[h + 2, w + 2, c], W: f16[3, 3, c, o], h: size, w: size, c: size,",
        "                o: size):",
        "    for y in range(h):",
        "        for x in range(w):",
        "            for f in range(o):",
        "                for r in range(3):",
        "                    for s in range(3):",
        "                        for k in range(c):",
        "                            Y[y, x, f] += f32(D[y + r, x + s, k]) * f32(W[r, s, k, f])",
    )


def triangle() -> ps.Compiled:
    return parsed(
        "def triangle(C: f32[n, n], A: f16[n, d], n: size, d: size):",
        "    for i in range(n):",
        "        for j in range(i + 1):",
        "            for k in range(d):",
        "                C[i, j] += f32(A[i, k]) * f32(A[j, k])",
    )


AROUND = {
    "around": (around, {"n": 40, "m": 72, "d": 104}, {"n": 33, "m": 31, "d": 20}),
    "batched": (batched, {"p": 2, "n": 40, "m": 72, "d": 72}, {"p": 3, "n": 5, "m": 31, "d": 20}),
    "convolution": (convolution, {"h": 2, "w": 37, "c": 72, "o": 24}, {"h": 3, "w": 5, "c": 9, "o": 11}),
    "triangle": (triangle, {"n": 150, "d": 72}, {"n": 33, "d": 20}),
}


@pytest.mark.parametrize("name", AROUND)
def test_what_is_around_is_in_the_same_kernel(name):
    """One for arrays of whole lines, and one for others."""
    make, *_ = AROUND[name]
    done = make()
    assert uses_tensor(done) and len(done.source.kernels) == 2
    assert done.declined == () and done.fallbacks == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", AROUND)
def test_what_is_around_is_verified(name):
    make, *every = AROUND[name]
    done = make()
    for sizes in every:
        done.verify(**sizes)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout(layout):
    done = ps.optimize(LAYOUTS[layout], "cuda")
    assert uses_tensor(done)
    for sizes in ({"n": 136, "m": 72, "d": 200}, {"n": 33, "m": 31, "d": 77}):
        check_product(done, layout, **sizes)


def test_what_is_not_taken_is_multiplied_and_added_in_registers():
    """A has more terms than the loop."""
    done = parsed(
        "def part(C: f32[n, m], A: f16[n, 2*d], B: f16[2*d, m], n: size, m: size, d: size):",
        "    for i in range(n):",
        "        for j in range(m):",
        "            for k in range(d):",
        "                C[i, j] += f32(A[i, k]) * f32(B[k, j])",
    )
    assert not uses_tensor(done) and "__shared__" in done.source.text
    assert "tensor.S" not in {decision.key for decision in done.schedule.decisions}
    assert done.declined == () and done.fallbacks == {}


def test_doubles_are_left_as_they_are_where_fma_is_not_to_round():
    nest = "def f(C: f64[n, m], A: f64[n, d], B: f64[d, m], n: size, m: size, d: size):\n" + "\n".join([
        "    for i in range(n):",
        "        for j in range(m):",
        "            for k in range(d):",
        "                C[i, j] += A[i, k] * B[k, j]\n",
    ])  # fmt: skip
    fn = parse_nest(nest, "doubles.py")
    used = {
        options: [name for name in ("m16n8k8.f64", "m8n8k4.f64") if f'"mma.{name}"' in script]
        for options in (ps.Options(), ps.Options(gpu=ps.A100), ps.Options(contract_floats=False))
        if (script := ps.Schedule.auto(fn, "cuda", options=options).script)
    }
    assert list(used.values()) == [["m16n8k8.f64"], ["m8n8k4.f64"], []]


def test_floats_are_cut_when_that_is_asked():
    fn = of_types("nn", "f32", "f32")
    used = [uses_tensor(ps.optimize(fn, "cuda", options=ps.Options(tensor=how))) for how in ("off", "exact", "fast")]
    assert used == [False, False, True]


@pytest.mark.slow
def test_what_is_cut_is_verified():
    done = ps.optimize(of_types("nt", "f32", "f32"), "cuda", options=ps.Options(tensor="fast"))
    done.verify(n=6, m=8, d=20)
    with patch.object(Instruction, "cut", 0.0), pytest.raises(VerificationError, match="rounding makes a difference"):
        done.verify(n=6, m=8, d=20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "total", "how", "off"), [("f32", "f32", "fast", "0.301f"), ("i8", "i32", "exact", "0.30000004f")]
)
def test_statements_without_instructions_are_held_to_their_own_bounds(factor, total, how, off):
    """Beside floats that are cut a third of a percent is found, and beside bytes, which are exact, the last bit."""
    fn = parse_nest(
        f"def f(C: {total}[n, m], A: {factor}[n, d], B: {factor}[m, d], D: f32[n], E: f32[n],\n"
        "      n: size, m: size, d: size):\n"
        "    for i in range(n):\n"
        "        for j in range(m):\n"
        "            for k in range(d):\n"
        f"                C[i, j] += {total}(A[i, k]) * {total}(B[j, k])\n"
        "    for i in range(n):\n"
        "        D[i] = f32(0.3) * E[i]\n",
        "beside.py",
    )
    done = ps.optimize(fn, "cuda", options=ps.Options(tensor=how))
    assert uses_tensor(done)
    done.verify(n=6, m=8, d=64)
    source = replace(done.source, text=done.source.text.replace("0.3f", off))
    with pytest.raises(VerificationError, match=r"'D\[0\]' is"):
        replace(done, source=source).verify(n=6, m=8, d=64)


def test_bytes_need_terms_next_to_each_other():
    assert uses_tensor(ps.optimize(of_types("nt", "i8", "i32"), "cuda"))
    others = [ps.optimize(of_types(layout, "i8", "i32"), "cuda") for layout in ("nn", "tt")]
    assert [(uses_tensor(done), done.declined, done.fallbacks) for done in others] == [(False, (), {})] * 2


@pytest.mark.parametrize("free", [False, True])
def test_terms_around_another_sum_need_its_order_to_be_free(free):
    fn = parse_nest(
        "def f(Y: f32[w, o], D: f16['w + 2', c], W: f16[3, c, o], w: size, c: size, o: size):\n"
        "    for x in range(w):\n"
        "        for f in range(o):\n"
        "            for k in range(c):\n"
        "                for s in range(3):\n"
        "                    Y[x, f] += f32(D[x + s, k]) * f32(W[s, k, f])\n",
        "taps.py",
    )
    done = ps.optimize(fn, "cuda", options=ps.Options(reorder_reductions=free))
    assert uses_tensor(done) == free and done.fallbacks == {}
