"""Nests tiled by hand, as the plain nests."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

import random
from dataclasses import replace

import pytest

import polysched as ps
from polysched.config.options import Options
from polysched.ir.build import add, binary, const, floordiv, mul, sub, var
from polysched.ir.node import map_blocks, substitute, walk
from polysched.ir.nodes import Expr, For, Function, Stmt, Var
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.prelude.untile import untiled
from tests.nests import arguments_for, assert_same_outcome, canonical, random_nest


def plain(fn: ps.Nest | Function) -> str:
    """The body that is left; "as it was" where that is all."""
    function = fn if isinstance(fn, Function) else fn.function
    done = untiled(function)
    verify(done, "source")
    return "as it was" if done is function else "\n".join(map(show, done.body))


@ps.nest
def product(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for ii in range(0, n, 4):
        for jj in range(0, n, 4):
            for kk in range(0, n, 4):
                for i in range(ii, min(ii + 4, n)):
                    for j in range(jj, min(jj + 4, n)):
                        for k in range(kk, min(kk + 4, n)):
                            C[i, j] += A[i, k] * B[k, j]


PRODUCT = """\
for i in 0..n:
    for j in 0..n:
        for k in 0..n:
            C[i, j] = C[i, j] + A[i, k] * B[k, j]"""


def test_three_loops_of_six():
    assert plain(product) == PRODUCT
    done, by_hand = ps.optimize(product), ps.optimize(product, options=Options(scheduler="source"))
    assert [s.depth for s in done.scop.statements] == [3]
    assert [s.depth for s in by_hand.scop.statements] == [6]
    assert "equal to the interpreted nest" in str(done.verify(n=9))


@ps.nest
def counted(C: ps.f64["24", "24"], A: ps.f64["24", "24"]):
    for it in range(6):
        for jt in range(3):
            for ip in range(4):
                i = it * 4 + ip
                for jb in range(2):
                    for jp in range(4):
                        C[i, jt * 8 + jb * 4 + jp] = A[jp + 8 * jt + 4 * jb, i] + 1.0 * (i + 1 - 1)


def test_loops_that_count_inside_of_tiles():
    assert plain(counted) == """\
for ip in 0..24:
    for jp in 0..24:
        C[ip, jp] = A[jp, ip] + 1.0 * f64(ip + 1 - 1)"""


@ps.nest
def blocks(x: ps.f64["n"], n: ps.size):
    for it in range((n + 7) // 8):
        for k in range(3):  # noqa: B007
            for ip in range(8):
                if it * 8 + ip < n:
                    x[it * 8 + ip] += 1.0


def test_a_guard_for_the_last_tile():
    done = ps.optimize(blocks)
    assert [s.iterators for s in done.scop.statements] == [("k", "ip")]
    assert "equal to the interpreted nest" in str(done.verify(n=21))


@ps.nest
def triangle(x: ps.f64["n"], L: ps.f64["n", "n"], b: ps.f64["n"], n: ps.size):
    for ii in range(0, n, 8):
        for jj in range(0, ii + 1, 8):
            for i in range(ii, min(ii + 8, n)):
                for j in range(jj, min(jj + 8, i + 1)):
                    b[i] += L[i, j] * x[j]


def test_tiles_of_a_triangle():
    assert plain(triangle) == """\
for i in 0..n:
    for j in 0..i + 1:
        b[i] = b[i] + L[i, j] * x[j]"""


@ps.nest
def skewed(a: ps.f64["n + 1"], T: ps.size, n: ps.size):
    for ss in range(0, T + n, 4):
        for t in range(T):
            for s in range(max(ss, t + 1), min(ss + 4, t + n)):
                a[s - t] = 0.5 * (a[s - t - 1] + a[s - t + 1])


def test_tiles_of_a_skewed_stencil():
    assert plain(skewed) == """\
for t in 0..T:
    for s in 1..n:
        a[s] = 0.5 * (a[s - 1] + a[s + 1])"""


@ps.nest
def sums(out: ps.f64["n"], A: ps.f64["n", "n"], n: ps.size):
    for ii in range(0, n, 8):
        for i in range(ii, min(ii + 8, n)):
            s = 0.0
            for j in range(n):
                s += A[i, j]
            out[i] = s


def test_temporaries_of_an_element():
    assert plain(sums).startswith("for i in 0..n:\n    alloc s")
    assert plain(sums).endswith("out[i] = s[]")


@ps.nest
def shared(out: ps.f64["n", "m"], A: ps.f64["n"], n: ps.size, m: ps.size):
    """Each tile has a sum of its own, which goes on from element to element."""
    for ii in range(0, n, 8):
        s = 0.0
        for j in range(m):
            for i in range(ii, min(ii + 8, n)):
                s += A[i]
                out[i, j] = s


@ps.nest
def used(out: ps.f64["n"], n: ps.size):
    for ii in range(0, n, 8):
        for i in range(ii, min(ii + 8, n)):
            out[i] = 1.0 * (i - ii)


@ps.nest
def overlapping(out: ps.f64["n"], n: ps.size):
    for ii in range(0, n, 8):
        for i in range(ii, min(ii + 9, n)):
            out[i] += 1.0


@ps.nest
def with_gaps(out: ps.f64["n"], n: ps.size):
    for ii in range(0, n, 8):
        for i in range(ii, min(ii + 7, n)):
            out[i] += 1.0


@ps.nest
def in_order(a: ps.f64["n + 4"], b: ps.f64["n"], n: ps.size):
    """A tile reads what the one before it wrote, in another loop."""
    for ii in range(0, n, 4):
        for i in range(ii, min(ii + 4, n)):
            b[i] = a[i]
        for i in range(ii, min(ii + 4, n)):
            a[i + 4] = b[i] + 1.0


@ps.nest
def backwards(a: ps.f64["n + 1"], n: ps.size):
    """Tiles from the last to the first: what is read is never written before."""
    for ii in range(n - n % 4, -1, -4):
        for i in range(ii, min(ii + 4, n)):
            a[i + 1] = a[i] + 1.0


@ps.nest
def fused(out: ps.f64["n * 4"], a: ps.f64["n", "4"], n: ps.size):
    for i in range(n):
        for j in range(4):
            out[i * 4 + j] = a[i, j]


@ps.nest
def in_a_branch(a: ps.f64["n + 4"], b: ps.f64["n"], n: ps.size):
    """The branch is one statement, since it changes what it tests."""
    for k in range(2):
        if a[k + 1] > 0.0:
            for ii in range(0, n, 4):
                for i in range(ii, min(ii + 4, n)):
                    b[i] = a[i]
                for i in range(ii, min(ii + 4, n)):
                    a[i + 4] = b[i] + 1.0


AS_THEY_ARE = [in_a_branch, shared, used, overlapping, with_gaps, in_order, backwards, fused]


@pytest.mark.parametrize("fn", AS_THEY_ARE, ids=lambda fn: fn.name)
def test_what_is_left(fn):
    assert plain(fn) == "as it was"


def test_one_that_is_tiled_in_part():
    """What is illegal for a loop does not keep the others."""

    @ps.nest
    def part(a: ps.f64["n + 4", "n"], b: ps.f64["n", "n"], n: ps.size):
        for jj in range(0, n, 8):
            for ii in range(0, n, 4):
                for j in range(jj, min(jj + 8, n)):
                    for i in range(ii, min(ii + 4, n)):
                        b[i, j] = a[i, j]
                    for i in range(ii, min(ii + 4, n)):
                        a[i + 4, j] = b[i, j] + 1.0

    assert [line.strip() for line in plain(part).splitlines() if "for" in line] == [
        "for ii in 0..n by 4:",
        "for j in 0..n:",
        "for i in ii..min(ii + 4, n):",
        "for i in ii..min(ii + 4, n):",
    ]


@pytest.mark.parametrize(
    "options",
    [Options(tile=False), Options(scheduler="source"), Options(constraints=(ps.innermost("S", "j"),))],
    ids=str,
)
def test_who_asks_for_loops_gets_them(options):
    assert [s.depth for s in ps.optimize(product, options=options).scop.statements] == [6]


def test_c(tmp_path):
    (tmp_path / "tiled.c").write_text(C)
    (fn,) = ps.from_c(tmp_path / "tiled.c")
    assert plain(fn) == PRODUCT


C = """
#define min(a, b) ((a) < (b) ? (a) : (b))
void product(int n, double C[n][n], double A[n][n], double B[n][n])
{
#pragma scop
  for (int ii = 0; ii < n; ii += 32)
    for (int jj = 0; jj < n; jj += 32)
      for (int kk = 0; kk < n; kk += 32)
        for (int i = ii; i < min(ii + 32, n); i++)
          for (int j = jj; j < jj + 32 && j < n; j++)
            for (int k = kk; k <= min(kk + 31, n - 1); k++)
              C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""


@pytest.mark.parametrize("fn", canonical(), ids=lambda fn: fn.name)
def test_the_classics_are_not_tiled(fn):
    assert untiled(fn) is fn


@pytest.mark.parametrize("seed", range(60))
def test_tiled_nests_compute_the_same(seed):
    fn = _random_tiles(seed)
    verify(fn, "source")
    done = untiled(fn)
    for n in (0, 1, 5, 8):
        assert_same_outcome(fn, done, arguments_for(fn, random.Random(n), n))


def test_some_of_these_go_and_some_stay():
    some = [_random_tiles(seed) for seed in range(16)]
    assert 5 < sum(untiled(fn) is fn for fn in some) < 13


def _random_tiles(seed: int) -> Function:
    rng = random.Random(seed)
    fn = random_nest(rng, statements=2)
    return replace(fn, body=tuple(_tiled(stmt, rng) for stmt in fn.body))


def _tiled(stmt: Stmt, rng: random.Random) -> Stmt:
    """The statement with some loops in tiles of three, and with some loops over tiles before the loop around them."""
    stmt = map_blocks(stmt, lambda block: tuple(_tiled(each, rng) for each in block))
    if not isinstance(stmt, For) or stmt.step != 1 or rng.random() < 0.2:
        return stmt
    tile = var(2 * stmt.var)
    if rng.random() < 0.5:
        points = replace(stmt, lo=tile, hi=binary("min", add(tile, 3), stmt.hi))
        tiles = replace(stmt, var=tile.name, step=3)
    else:
        at, length = mul(tile, 3), sub(stmt.hi, stmt.lo)
        body = substitute(stmt.body, {stmt.var: add(stmt.lo, add(at, var(stmt.var)))})
        points = replace(stmt, lo=const(0), hi=binary("min", const(3), sub(length, at)), body=body)
        tiles = replace(stmt, var=tile.name, lo=const(0), hi=floordiv(add(length, 2), 3))
    match points.body:
        case (For() as inner,) if rng.random() < 0.7 and not _uses((inner.lo, inner.hi), stmt.var):
            points = replace(inner, body=(replace(points, body=inner.body),))
    return replace(tiles, body=(points,))


def _uses(bounds: tuple[Expr, ...], name: str) -> bool:
    return any(isinstance(node, Var) and node.name == name for node in walk(bounds))
