"""Instructions of the user's own: what they run, what is refused and why, and texts that are wrong."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import polysched as ps
from polysched import InputError, Options, Schedule, optimize
from polysched.check import instruction as making
from polysched.cli import main
from polysched.model.instructions.own import INSTRUCTIONS


@ps.nest
def tile4(y: ps.f64[4], A: ps.f64[4, 4], x: ps.f64[4]):
    for i in range(4):
        for k in range(4):
            y[i] += A[i, k] * x[k]


@ps.nest
def row8(c: ps.i32[8], a: ps.i32, b: ps.i32[8]):
    for j in range(8):
        c[j] += a * b[j]


@ps.nest
def dots4(c: ps.i32[2], a: ps.u8[4], b: ps.i8[8]):
    for j in range(2):
        for g in range(4):
            c[j] += ps.i32(a[g]) * ps.i32(b[4 * j + g])


TILE4 = "for (int i = 0; i < 4; i++) for (int k = 0; k < 4; k++) y[i * y_0] += A[i * A_0 + k * A_1] * x[k * x_0];"
ROW8 = "for (int j = 0; j < 8; j++) c[j] += a * b[j];"
DOTS4 = "for (int j = 0; j < 2; j++) for (int g = 0; g < 4; g++) c[j * c_0] += a[g * a_0] * b[(4 * j + g) * b_0];"
UNIT = {"c": (1,), "b": (1,)}


@pytest.fixture(scope="module")
def _made():
    made = ps.instruction(tile4, TILE4), ps.instruction(row8, ROW8, strides=UNIT), ps.instruction(dots4, DOTS4)
    return {each.name: each for each in made}


@pytest.fixture(autouse=True)
def _defined(_made):
    INSTRUCTIONS.update(_made)


@ps.nest
def matvec(y: ps.f64["n"], A: ps.f64["n", "m"], x: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            y[i] += A[i, k] * x[k]


@ps.nest
def turned(y: ps.f64["n"], A: ps.f64["m", "n"], x: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            y[i] = x[k] * A[k, i] + y[i]


@ps.nest
def below(y: ps.f64["n"], A: ps.f64["n", "n"], x: ps.f64["n"], n: ps.size):
    for i in range(n):
        for k in range(i + 1):
            y[i] += A[i, k] * x[k]


@ps.nest
def above(y: ps.f64["n"], A: ps.f64["n", "n"], x: ps.f64["n"], n: ps.size):
    for i in range(n):
        for k in range(i, n):
            y[i] += A[i, k] * x[k]


@ps.nest
def convolved(y: ps.f64["n"], w: ps.f64["m"], x: ps.f64["n + m"], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            y[i] += x[i + k] * w[k]


@ps.nest
def matmul(C: ps.i32["n", "m"], A: ps.i32["n", "d"], B: ps.i32["d", "m"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += A[i, k] * B[k, j]


@ps.nest
def bytes_(C: ps.i32["n", "m"], A: ps.u8["n", "4*d"], B: ps.i8["d", "m", 4], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                for g in range(4):
                    C[i, j] += ps.i32(B[k, j, g]) * ps.i32(A[i, 4 * k + g])


def tiles(nest: ps.Nest) -> Schedule:
    return Schedule(nest).tile("i", "k", sizes=(4, 4))


ROWS = Schedule(matmul).tile("j", sizes=(8,)).reorder("i", "j_o", "k", "j")


@pytest.mark.parametrize("nest", [matvec, turned, below, above, convolved], ids=lambda nest: nest.name)
def test_any_layout(nest):
    done = optimize(nest, schedule=tiles(nest).tensorize("i", "k", "tile4"))
    assert "polysched_tile4(&" in done.source.text and done.declined == ()
    done.verify()


def test_full_tiles_are_called_and_partial_ones_run_as_loops():
    text = optimize(matvec, schedule=tiles(matvec).tensorize("i", "k", "tile4")).source.text
    assert "if (n - c0 * 4 - 4 >= 0 && m - c1 * 4 - 4 >= 0) {" in text
    assert "polysched_tile4(&y[c0 * 4], &A[c0 * 4 * m + c1 * 4], &x[c1 * 4], 1, m, 1, 1);" in text
    assert "y[c2] += A[c2 * m + c3] * x[c3];" in text


def test_strides_are_those_of_the_array():
    text = optimize(turned, schedule=tiles(turned).tensorize("i", "k", "tile4")).source.text
    assert "&A[c1 * 4 * n + c0 * 4], &x[c1 * 4], 1, 1, n, 1);" in text


def test_a_scalar_is_what_stands_still_in_the_tile():
    done = optimize(matmul, schedule=ROWS.parallel("i").tensorize("j", "row8"))
    assert "polysched_row8(&C[c0 * m + c1 * 8], &B[c2 * m + c1 * 8], A[c0 * d + c2], 1, 1);" in done.source.text
    done.verify()


def test_an_operand_of_one_dimension_in_several_of_the_array():
    schedule = Schedule(bytes_).tile("j", sizes=(2,)).reorder("i", "j_o", "k", "j", "g").tensorize("j", "g", "dots4")
    done = optimize(bytes_, schedule=schedule)
    assert "polysched_dots4(&C[" in done.source.text
    done.verify()


def test_of_a_packed_copy_for_each_tile():
    """Subscripts may divide by the tile."""
    schedule = Schedule(matmul).tile("j", sizes=(8,)).reorder("j_o", "i", "k", "j").cache_read("B", "j_o")
    done = optimize(matmul, schedule=schedule.tensorize("j", "row8"))
    assert "polysched_row8(&C[c3 * m + c0 * 8], &B_c[c4 * 8], A[c3 * d + c4], 1, 1);" in done.source.text
    done.verify()


def test_around_it_is_what_it_was():
    """Temporaries, other statements, and index arithmetic that is left as it is."""

    @ps.nest
    def scaled(z: ps.f64["n"], A: ps.f64["n", "n"], x: ps.f64["n"], n: ps.size):
        t = np.empty((n,))
        for i in range(n):
            t[i] = 1.0
        for i in range(n):
            for k in range(n):
                t[i] += A[k, i] * x[k]
        for i in range(n):
            z[i] = t[i] * 2.0

    schedule = Schedule(scaled).tile("i_2", "k", sizes=(4, 4)).tensorize("i_2", "k", "tile4")
    for options in (Options(), Options(expressions="off")):
        done = optimize(scaled, schedule=schedule, options=options)
        assert "polysched_tile4(&t[" in done.source.text
        done.verify()


# --- scripts


def test_it_is_replayed_and_read_again():
    schedule = ROWS.tensorize("j", INSTRUCTIONS["row8"])
    assert '.tensorize("j", "row8")' in schedule.script
    scope = {"ps": ps, "matmul": matmul}
    exec(schedule.script, scope)
    again = [schedule.replay(matmul), Schedule.from_json(matmul, schedule.to_json()), scope["schedule"]]
    again.append(Schedule(matmul, schedule.tree))
    assert {str(each) for each in again} == {str(schedule)}
    again.append(Schedule.from_yaml(matmul, schedule.to_yaml()))
    assert len({optimize(matmul, schedule=each).source.text for each in again}) == 1


ELSEWHERE = """
import sys
import polysched as ps
@ps.nest
def matmul(C: ps.i32["n", "m"], A: ps.i32["n", "d"], B: ps.i32["d", "m"], n: ps.size, m: ps.size, d: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(d):
                C[i, j] += A[i, k] * B[k, j]
for read in (ps.Schedule.from_json, ps.Schedule.from_yaml):
    try:
        read(matmul, sys.argv[1 + (read is ps.Schedule.from_yaml)])
    except ps.InputError as refused:
        print(refused)
"""


def test_a_process_that_has_not_defined_it_says_so(tmp_path):
    schedule = ROWS.tensorize("j", "row8")
    file = tmp_path / "elsewhere.py"
    file.write_text(ELSEWHERE)
    command = [sys.executable, str(file), schedule.to_json(), schedule.to_yaml()]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "there is no instruction 'row8'\nhint: the instructions are: mma.m16n8k16.f16" in said
    what = "the schedule has loops for the instruction 'row8', which is not defined here"
    assert f"{what}\nhint: define it by ps.instruction first" in said


def test_one_that_was_defined_anew_is_told():
    schedule = ROWS.tensorize("j", "row8")
    ps.instruction(row8, ROW8 + " /* the same */", strides=UNIT)
    with pytest.raises(InputError, match="'row8', which was defined anew since\nhint: make the schedule again"):
        optimize(matmul, schedule=schedule)


# --- what is refused


@ps.nest
def floats(y: ps.f32["n"], A: ps.f32["n", "m"], x: ps.f32["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            y[i] += A[i, k] * x[k]


@ps.nest
def mixed(y: ps.f64["n"], A: ps.f32["n", "m"], x: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            y[i] += ps.f64(A[i, k]) * x[k]


@ps.nest
def largest(y: ps.f64["n"], A: ps.f64["n", "m"], x: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            y[i] = max(y[i], A[i, k] * x[k])


@ps.nest
def diagonal(y: ps.f64["n"], A: ps.f64["n", "n"], x: ps.f64["n", "m"], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            y[i] += A[i, i] * x[i, k]


@ps.nest
def gathered(y: ps.f64["n"], A: ps.f64["n", "m"], x: ps.f64["m"], p: ps.i64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            y[i] += A[i, k] * x[p[k]]


@ps.nest
def one_sum(y: ps.f64[1], A: ps.f64[4, 4], x: ps.f64[4]):
    for i in range(4):
        for k in range(4):
            y[0] += A[i, k] * x[k]


@ps.nest
def own_factor(y: ps.i32["2*n"], a: ps.i32, n: ps.size):
    for j in range(n):
        y[j] += a * y[j + n]


@ps.nest
def neighbor(y: ps.i32["n + 4"], a: ps.i32, n: ps.size):
    for j in range(n):
        y[j] += a * y[j + 4]


@ps.nest
def stepping(c: ps.i32["n"], b: ps.i32["2*n"], a: ps.i32, n: ps.size):
    for j in range(n):
        c[j] += a * b[2 * j]


@ps.nest
def two(y: ps.f64["n"], z: ps.f64["n"], A: ps.f64["n", "m"], x: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for k in range(m):
            y[i] += A[i, k] * x[k]
            z[i] += A[i, k]


PATTERN = "  tile4  y[i] = y[i] + A[i, k] * x[k]   for i in 0..4, k in 0..4\n  S      "


def octets(nest: ps.Nest) -> Schedule:
    return Schedule(nest).tile("j", sizes=(8,)).tensorize("j", "row8")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda: tiles(matvec).tensorize("k", "tile4"), "tile4 has 2 loops, and 1 are named"),
        (
            lambda: tiles(matvec).tensorize("k", "i", "tile4"),
            f"S is not what tile4 does: y[i] moves along 'i', and y[i] stands still along k\n{PATTERN}",
        ),
        (lambda: tiles(matvec).tensorize("i"), "tensorize is given loops, and then an instruction"),
        (lambda: tiles(matvec).tensorize("i", "k", "tile5"), "there is no instruction 'tile5'\nhint: the instructions"),
        (lambda: tiles(matvec).tensorize("i", "k", "mma.m16n8k16.f16"), "mma.m16n8k16.f16 runs 3 loops, not 2"),
        (
            lambda: Schedule(matvec).tile("i", "k", sizes=(4, 8)).tensorize("i", "k", "tile4"),
            "loop 'k' has 8 iterations, and k of tile4 has 4\nhint: tile it by 4",
        ),
        (
            lambda: Schedule(matvec).tile("i", sizes=(4,)).tensorize("i", "k", "tile4"),
            "loop 'k' has as many iterations as the sizes say, and k of tile4 has 4\nhint: tile it by 4",
        ),
        (
            lambda: Schedule(matvec).tile("i", "k", sizes=(2, 4)).tensorize("i", "k", "tile4"),
            "loop 'i' has 2 iterations, and i of tile4 has 4\nhint: take another one",
        ),
        (
            lambda: tiles(matvec).tensorize("i_o", "k_o", "tile4"),
            "there are loops or several statements inside of i_o, k_o\nhint: distribute them",
        ),
        (
            lambda: Schedule(two).tile("i", "k", sizes=(4, 4)).tensorize("i", "k", "tile4"),
            "there are loops or several statements inside of i, k\nhint: distribute them",
        ),
        (
            lambda: tiles(floats).tensorize("i", "k", "tile4"),
            "S is not what tile4 does: it computes in f32, and tile4 in f64\n"
            f"{PATTERN}y[i] = y[i] + A[i, k] * x[k]\nhint: an instruction for f32 fits",
        ),
        (
            lambda: tiles(mixed).tensorize("i", "k", "tile4"),
            "S is not what tile4 does: f64(A[i, k]) of f64 stands where A[i, k] of f64 does: another operation\n",
        ),
        (
            lambda: tiles(largest).tensorize("i", "k", "tile4"),
            "S is not what tile4 does: 'max' of f64 stands where '+' of f64 does: another operation\n"
            f"{PATTERN}y[i] = max(y[i], A[i, k] * x[k])",
        ),
        (
            lambda: tiles(diagonal).tensorize("i", "k", "tile4"),
            "S is not what tile4 does: x[i, k] moves along 'i', and x[k] stands still along i\n"
            f"{PATTERN}y[i] = y[i] + A[i, i] * x[i, k]",
        ),
        (
            lambda: tiles(gathered).tensorize("i", "k", "tile4"),
            f"S is not what tile4 does: x[p[k]] is not affine in i, k\n{PATTERN}y[i] = y[i] + A[i, k] * x[p[k]]",
        ),
        (
            lambda: Schedule(one_sum).tensorize("i", "k", "tile4"),
            "S is not what tile4 does: y[0] is one element in several iterations of the tile, where y[i] is several\n",
        ),
        (
            lambda: octets(stepping),
            "S is not what row8 does: b[2 * j] has the stride 2 along dimension 0 of b[j], not 1\n"
            "  row8  c[j] = c[j] + a * b[j]   for j in 0..8\n  S     c[j] = c[j] + a * b[2 * j]\n"
            "hint: b has the strides (1); transform_layout turns an array",
        ),
        (
            lambda: Schedule(matmul).tile("i", sizes=(8,)).reorder("i_o", "j", "k", "i").tensorize("i", "row8"),
            "S is not what row8 does: C[i, j] has the stride m along dimension 0 of c[j], not 1\n",
        ),
        (
            lambda: ROWS.reorder("i", "j_o", "j", "k").tile("k", sizes=(8,)).tensorize("k", "row8"),
            "S is not what row8 does: C[i, j] is one element in several iterations of the tile, where c[j] is",
        ),
        (
            lambda: octets(neighbor),
            "S reads y[j + 4] where the tile changes it, and row8 may read it at any time\n",
        ),
        (
            lambda: Schedule(matvec).reverse("i").tile("i", "k", sizes=(4, 4)).tensorize("i", "k", "tile4"),
            "loop 'i' counts no loop of S up\nhint: skew, shift and reverse other loops than these",
        ),
        (
            lambda: optimize(matmul, "cuda", schedule=ROWS.tensorize("j", "row8")),
            "the schedule has loops for row8, an instruction of yours for CPUs\nhint: the target is c",
        ),
        (
            lambda: tiles(matvec).tensorize("i", "k", "tile4").tile("k", sizes=(2,)),
            "tile(k, sizes=(2,)): the loops inside of 'i' are not those of tile4",
        ),
        (
            lambda: tiles(matvec).tensorize("i", "k", "tile4").unroll("k"),
            "unroll(k): the loops inside of 'i' are not those of tile4",
        ),
    ],
)
def test_what_is_refused(edit, message):
    with pytest.raises(InputError) as refused:
        edit()
    assert message in str(refused.value)


def test_the_other_half_is_no_overlap():
    optimize(own_factor, schedule=octets(own_factor)).verify()


def test_sums_on_threads_are_refused():
    """An instruction adds up in place."""
    schedule = Schedule(matvec, options=Options(reorder_reductions=True)).tile("i", "k", sizes=(4, 4))
    by_threads = schedule.reorder("k_o", "i_o", "i", "k")
    for edit in (
        lambda: by_threads.parallel("k_o").tensorize("i", "k", "tile4"),
        lambda: by_threads.tensorize("i", "k", "tile4").parallel("k_o"),
    ):
        with pytest.raises(InputError, match="loop 'k_o' adds up y on threads or lanes, which tile4 does not"):
            edit()


def test_a_file_in_c_keeps_its_own_loops(tmp_path, capsys):
    file, script = tmp_path / "a.c", tmp_path / "a.py"
    file.write_text(
        "void a(int n, double x[n], double y[n])\n{\n#pragma scop\n"
        "    for (int i = 0; i < n; i++)\n        y[i] += 2.0 * x[i];\n#pragma endscop\n}\n"
    )
    script.write_text(
        "@ps.nest\ndef one(y: ps.f64[4], x: ps.f64[4]):\n    for i in range(4):\n        y[i] += 2.0 * x[i]\n"
        "ps.instruction(one, 'for (int i = 0; i < 4; i++) y[i * y_0] += 2.0 * x[i * x_0];')\n"
        "schedule = ps.Schedule(a).tile('i', sizes=(4,)).tensorize('i', 'one')\n"
    )
    main(["opt", str(file), "-o", str(tmp_path / "b.c"), "--schedule", f"a={script}"])
    assert "polysched_one" not in (tmp_path / "b.c").read_text()


# --- definitions


@ps.nest
def sized(y: ps.f64["n"], n: ps.size):
    for i in range(n):
        y[i] += 1.0


@ps.nest
def twice(y: ps.f64[4]):
    for i in range(3):
        y[i] = y[i + 1]


@ps.nest
def counts(y: ps.i64[4]):
    for i in range(4):
        y[i] = i


@ps.nest
def backwards(y: ps.f64[4], x: ps.f64[4]):
    for i in range(4):
        y[i] = x[3 - i]


@ps.nest
def both_diagonal(y: ps.f64[4], x: ps.f64[4, 4]):
    for i in range(4):
        y[i] = x[i, i]


@ps.nest
def chosen(y: ps.f64[4], q: ps.i32, s: ps.f64):
    for i in range(4):
        y[i] = s if q > 0 else y[i]


@ps.nest
def with_gaps(y: ps.f64[4], x: ps.f64[8]):
    for i in range(4):
        y[i] = x[2 * i]


@ps.nest
def two_statements(y: ps.f64[4], x: ps.f64[4]):
    for i in range(4):
        y[i] = x[i]
        y[i] += 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ps.instruction(sized, ""), "'sized' has the size n, and an instruction has none"),
        (lambda: ps.instruction(twice, ""), "'twice' has y at two places"),
        (lambda: ps.instruction(counts, ""), "'counts' computes with a loop"),
        (lambda: ps.instruction(backwards, ""), "'backwards' has x[3 - i]"),
        (lambda: ps.instruction(both_diagonal, ""), "'both_diagonal' has x[i, i], where a subscript follows from"),
        (lambda: ps.instruction(chosen, ""), "'chosen' has a condition"),
        (lambda: ps.instruction(with_gaps, ""), "'with_gaps' uses 4 elements of x, which has more"),
        (lambda: ps.instruction(two_statements, ""), "'two_statements' is no loops around one statement"),
        (lambda: ps.instruction(tile4, "", strides={"B": (1,)}), "'tile4' has no array 'B' to have strides"),
        (lambda: ps.instruction(tile4, "", strides={"A": (1,)}), "A of 'tile4' has 2 strides, not 1"),
        (lambda: ps.instruction(tile4, "", flags=("-ffast-math",)), "'-ffast-math' is no flag of an instruction"),
        (lambda: ps.instruction(5, ""), "5 is not a nest"),
    ],
)
def test_definitions_that_are_refused(make, message):
    with pytest.raises(InputError) as refused:
        make()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("for (int j = 0; j < 7; j++) c[j * c_0] += a * b[j * b_0];", "for c[7], and its nest "),
        ("for (int j = 0; j < 8; j++) c[j * c_0] += a + b[j * b_0];", "for c[0], and its nest "),
        ("for (int j = 0; j < 9; j++) c[j * c_0] += a * b[j * b_0];", "changes memory beside the elements of c"),
        ("for (int j = 0; j < 8; j++) c[j] += a * b[j];", "with the strides c (4), b (4)"),
        ("for (int j = 0; j < 8; j++) c[j * c_0] += a * d[j];", "does not compile"),
        ("*(volatile int *)0 = 0;", "ends its process by SIGSEGV"),
        ("__builtin_trap();", "ends its process by SIG"),
    ],
)
def test_a_wrong_text_is_found(text, message):
    with pytest.raises(InputError) as refused:
        ps.instruction(row8, text)
    assert str(refused.value).startswith("the text of 'row8' ") and message in str(refused.value)


def test_a_text_without_an_end_is_found(monkeypatch):
    monkeypatch.setattr(making, "_SECONDS", 1.0)
    with pytest.raises(InputError, match="does not end within 1 s"):
        ps.instruction(row8, "volatile int go = 1; while (go) ;")


def test_what_was_wrong_is_not_defined():
    with pytest.raises(InputError):
        ps.instruction(two_statements, "")
    INSTRUCTIONS.pop("row8")
    with pytest.raises(InputError):
        ps.instruction(row8, "")
    assert "row8" not in INSTRUCTIONS
    ps.instruction(row8, "", check=False)
    assert "row8" in INSTRUCTIONS


def test_sums_of_floats_may_be_in_another_order():
    """Within twice the bound of sums in any order, and no more."""
    turned = TILE4.replace("int k = 0; k < 4; k++", "int k = 3; k >= 0; k--")
    ps.instruction(tile4, turned)
    optimize(matvec, schedule=tiles(matvec).tensorize("i", "k", "tile4")).verify()
    halves = turned.replace("+= A", "+= (float)A")
    with pytest.raises(InputError, match=r"gives .* for y\[0\], and its nest .* within .*e-1"):
        ps.instruction(tile4, halves)


def test_a_text_that_was_not_held_against_its_nest_is_found_by_verify():
    ps.instruction(row8, ROW8.replace("8", "7"), strides=UNIT, check=False)
    with pytest.raises(ps.VerificationError):
        optimize(matmul, schedule=ROWS.tensorize("j", "row8")).verify()


def test_it_prints_itself():
    assert str(INSTRUCTIONS["row8"]) == (
        "def row8(c: i32[8], a: i32, b: i32[8]):\n"
        "    for j in 0..8:\n"
        "        c[j] = c[j] + a * b[j]\n"
        "by\n"
        "    for (int j = 0; j < 8; j++) c[j] += a * b[j];\n"
        "where\n"
        "    c has strides (1)\n"
        "    b has strides (1)"
    )
