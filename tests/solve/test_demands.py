from __future__ import annotations

import random
from itertools import permutations

import pytest

from polysched.config.constraints import innermost, max_skew, order, outer_parallel, separate, together
from polysched.config.options import Options
from polysched.deps.dataflow import dependences
from polysched.deps.legality import first_violation
from polysched.errors import IllegalSchedule, InputError
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Context, Domain, Member, walk
from polysched.solve.scheduler import find_schedule
from polysched.support import isl
from tests import nests
from tests.scops import scop, stmt
from tests.solve.constrained import rows, scheduled
from tests.solve.test_scheduler import fdtd


def gemm() -> Scop:
    return extract(nests.gemm())


def stencil() -> Scop:
    return extract(nests.stencil2(margin=1))


def jacobi() -> Scop:
    return extract(nests.jacobi_1d())


def matmul() -> Scop:
    inside = "0 <= i < n and 0 <= j < n and 0 <= k < n"
    reads = ["C[i, j]", "A[i, k]", "B[k, j]"]
    return scop("[n] -> { : n >= 1 }", stmt(f"{{ S[i, j, k] : {inside} }}", writes="C[i, j]", reads=reads))


def blur() -> Scop:
    """As wide as it is long; T needs three neighbours of S."""
    return scop(
        "[N] -> { : N >= 3 }",
        stmt("{ S[i] : 0 <= i < N }", writes="b[i]", reads="a[i]"),
        stmt("{ T[i] : 1 <= i < N - 1 }", writes="c[i]", reads=["b[i - 1]", "b[i]", "b[i + 1]"]),
    )


def test_an_order_in_one_band():
    assert rows(scheduled(matmul(), order("S", "i", "k", "j"))) == [
        "band: permutable",
        "[S[i, j, k] -> i] coincident",
        "[S[i, j, k] -> k]",
        "[S[i, j, k] -> j] coincident",
    ]


def test_an_order_that_does_not_permute_is_one_of_several_bands():
    assert rows(scheduled(stencil(), order("S", "i", "j"))) == [
        "band:",
        "[S[i, j] -> i]",
        "band:",
        "[S[i, j] -> j] coincident",
    ]


def test_the_first_loops_alone_are_fixed():
    found = rows(scheduled(matmul(), order("S", "k")))
    assert found[1:] == ["[S[i, j, k] -> k]", "[S[i, j, k] -> i] coincident", "[S[i, j, k] -> j] coincident"]


def test_rows_are_sums_and_may_have_factors_left_open():
    skewed = ["band: permutable", "[S[i, j] -> i]", "[S[i, j] -> i + j]"]
    assert rows(scheduled(stencil(), order("S", "i", "i + j"))) == skewed
    assert rows(scheduled(stencil(), order("S", "_", "_*i + j"))) == skewed
    assert rows(scheduled(stencil(), order("S", "2i + j", "i")))[1:] == ["[S[i, j] -> 2i + j]", "[S[i, j] -> i]"]


def test_a_loop_that_any_may_be_leaves_room_for_the_next():
    found = rows(scheduled(matmul(), order("S", "_", "i")))
    assert found[1:3] == ["[S[i, j, k] -> j] coincident", "[S[i, j, k] -> i] coincident"]


def test_a_row_with_a_negative_factor():
    free = scop("[n] -> { : n >= 1 }", stmt("{ S[i, j] : 0 <= i < n and 0 <= j < n }", writes="a[i, j]"))
    for signed in (False, True):
        found = rows(scheduled(free, order("S", "i - j", "-j"), negative_coefficients=signed))
        assert found[1:] == ["[S[i, j] -> i - j] coincident", "[S[i, j] -> -j] coincident"]


def test_a_loop_that_counts_down_is_named_as_it_runs():
    sweep = extract(nests.reversed_sweep())
    assert rows(scheduled(sweep, order("S", "-i"))) == ["band:", "[S[i] -> -i]"]
    assert rows(scheduled(sweep, order("S", "-i"), negative_coefficients=True)) == ["band:", "[S[i] -> -i]"]


def test_what_runs_as_simd_is_skewed_by_the_loops_around_it_alone():
    assert rows(scheduled(stencil(), innermost("S", "j"))) == [
        "band: permutable",
        "[S[i, j] -> i]",
        "[S[i, j] -> i + j]",
    ]
    last = rows(scheduled(matmul(), innermost("S", "i")))[-1]
    assert last == "[S[i, j, k] -> i] coincident"


def test_loops_are_cut_apart_where_one_must_run_as_simd():
    """In jacobi's one band of t and 2t + i, S1 waits for S0 of a smaller i."""
    found = rows(scheduled(jacobi(), innermost("S*", "i")))
    assert found == [
        "band:",
        "[S0[t, i] -> t; S1[t, i] -> t]",
        "sequence",
        "filter: S0",
        "band:",
        "[S0[t, i] -> i] coincident",
        "filter: S1",
        "band:",
        "[S1[t, i] -> i] coincident",
    ]


def test_the_last_loop_is_not_around_those_of_deeper_statements():
    fused = scheduled(gemm(), together("S0", "S1", depth=1), innermost("S0", "j"))
    assert rows(fused)[:4] == ["band:", "[S0[i, j] -> i; S1[i, j, k] -> i] coincident", "sequence", "filter: S0"]


def test_parallel_where_skewing_makes_it_so():
    diagonal = scop(
        "[N] -> { : N >= 2 }",
        stmt("{ S[i, j] : 0 <= i < N and 0 <= j < N }", writes="a[i + 1, j + 1]", reads="a[i, j]"),
    )
    assert rows(scheduled(diagonal))[1:] == ["[S[i, j] -> i]", "[S[i, j] -> j]"]
    assert rows(scheduled(diagonal, outer_parallel()))[1] == "[S[i, j] -> -i + j] coincident"


def test_parallel_outside_costs_fusion():
    fused, apart = scheduled(blur(), fusion="max"), scheduled(blur(), outer_parallel("T"), fusion="max")
    assert len(rows(fused)) == 5 and rows(apart)[1::3] == ["filter: S", "filter: T"]


def test_no_skewing():
    assert rows(scheduled(stencil(), max_skew(0))) == ["band:", "[S[i, j] -> i]", "band:", "[S[i, j] -> j] coincident"]


def test_some_skewing():
    model = extract(nests.seidel_2d())
    assert "[S[t, i, j] -> 2t + i + j]" in rows(scheduled(model))
    factors = rows(scheduled(model, max_skew(1)))
    assert factors == ["band: permutable", "[S[t, i, j] -> t]", "[S[t, i, j] -> t + i]", "band:", "[S[t, i, j] -> j]"]
    assert rows(scheduled(model, max_skew(2))) == rows(scheduled(model))
    assert "2" not in "".join(rows(scheduled(model, max_skew(1), negative_coefficients=True)))


def test_fused_though_it_does_not_pay():
    assert len(rows(scheduled(blur()))) == 7
    assert rows(scheduled(blur(), together("S", "T"))) == [
        "band:",
        "[S[i] -> i; T[i] -> 1 + i]",
        "sequence",
        "filter: S",
        "filter: T",
    ]


def test_fused_without_a_dependence():
    model = scop(
        "[n] -> { : n >= 1 }",
        stmt("{ S[i] : 0 <= i < n }", writes="a[i]"),
        stmt("{ T[i] : 0 <= i < n }", writes="b[i]"),
    )
    assert rows(scheduled(model, together("*")))[:2] == ["band:", "[S[i] -> i; T[i] -> i] coincident"]
    assert rows(scheduled(model))[0] == "sequence"


def test_one_loop_after_the_other_is_not_fused():
    """All of S must run before M, and M before all of T: one loop of 2n iterations would be two."""
    model = scop(
        "[n] -> { : n >= 1 }",
        stmt("{ S[i] : 0 <= i < n }", writes="s[]", reads="s[]"),
        stmt("{ M[] }", writes="m[]", reads="s[]"),
        stmt("{ T[i] : 0 <= i < n }", writes="c[i]", reads="m[]"),
    )
    with pytest.raises(IllegalSchedule) as raised:
        scheduled(model, together("S", "T"))
    claim = 'together("S", "T") contradicts the dependences, for loop 1 of S and M and T:\n'
    assert str(raised.value).startswith(claim)


@pytest.mark.parametrize("signed", [False, True])
def test_no_shift_by_a_size_where_loops_must_be_together(signed):
    """S1 along k outside needs all of S0 before: as n + k, after the last i."""
    asked = (order("S1", "k", "i", "j"), order("S0", "i", "j"), together("S0", "S1"))
    with pytest.raises(IllegalSchedule) as raised:
        scheduled(gemm(), *asked, negative_coefficients=signed)
    both = " and ".join(map(str, asked)).replace(" and ", ", ", 1)
    assert str(raised.value) == (
        f"{both} together contradict the dependences, for loop 1 of S0 and S1:\n"
        "flow dependence on C: S0[i=1, j=0] must run before S1[i=1, j=0, k=0] (ni = 2, nj = 1, nk = 1)"
    )


def test_ranges_apart_are_not_together():
    model = scop(
        "[n] -> { : n >= 1 }",
        stmt("{ S[i] : 0 <= i < n }", writes="a[i]"),
        stmt("{ T[i] : n <= i < 2n }", writes="b[i]"),
    )
    with pytest.raises(IllegalSchedule) as raised:
        scheduled(model, together("S", "T"))
    apart = 'it does not meet together("S", "T")'
    assert str(raised.value) == (
        "no schedule that was found meets the constraints:\n"
        f"  pluto: {apart}: loop i of S and loop i of T run one after the other\n"
        f"  pluto per SCC: {apart}: loop i of S and loop i of T run one after the other\n"
        f"  source order with parallel loops found: {apart}\n"
        f"  source order: {apart}"
    )


@pytest.mark.parametrize("name", ["k", "i"])
def test_lanes_may_sum_up_where_sums_may_be_reordered(name):
    last = rows(scheduled(gemm(), innermost("S1", name), reorder_reductions=True))[-1]
    assert last == f"[S1[i, j, k] -> {name}]{' coincident' if name == 'i' else ''}"


def test_lanes_carry_nothing_but_sums():
    model = scop("[n] -> { : n >= 1 }", stmt("{ S[i] : 0 <= i < n }", writes="a[i + 1]", reads="a[i]"))
    with pytest.raises(IllegalSchedule):
        scheduled(model, innermost("S", "i"), reorder_reductions=True)


def test_fused_outside_alone():
    fused = rows(scheduled(gemm(), together("S*", depth=1), separate("S0", "S1", depth=1)))
    assert fused[:3] == ["band:", "[S0[i, j] -> i; S1[i, j, k] -> i] coincident", "sequence"]


def test_separate_though_fusion_pays():
    model = scop(
        "[n] -> { : n >= 1 }",
        stmt("{ S[i] : 0 <= i < n }", writes="a[i]"),
        stmt("{ T[i] : 0 <= i < n }", writes="b[i]", reads="a[i]"),
    )
    assert rows(scheduled(model))[0] == "band:"
    for fusion in ("smart", "max"):
        apart = rows(scheduled(model, separate("S", "T"), fusion=fusion))
        assert apart == [
            "sequence",
            "filter: S",
            "band:",
            "[S[i] -> i] coincident",
            "filter: T",
            "band:",
            "[T[i] -> i] coincident",
        ]


def test_three_fields_that_share_a_time_loop_alone():
    found = scheduled(fdtd(), separate("*", depth=1))
    bands = [node for node in walk(found.tree) if isinstance(node, Band)]
    assert [len(band.members) for band in bands] == [1, 2, 2, 2]


def test_three_fields_without_skewing():
    found = scheduled(fdtd(), max_skew(0), innermost("*", "j"))
    assert rows(found)[1] == "[E[t, i, j] -> t; F[t, i, j] -> t; H[t, i, j] -> t]"
    lasts = [line for line in rows(found) if line.endswith("-> j] coincident")]
    assert len(lasts) == 3


def test_the_rows_of_the_ilp_say_what_was_asked_for():
    first, second = scheduled(matmul(), order("S", "i", "k"), max_skew(2), outer_parallel()).solves[:2]
    assert first.written[:3] == ("C1 = 1", "C2 = 0", "C3 = 0")
    assert "C3 <= 0" in first.written and "C3 <= 0" not in second.written
    assert scheduled(stencil(), max_skew(1)).solves[0].written[:2] == ("C1 <= 1", "C2 <= 1")


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (
            order("T", "i"),
            'order("T", "i"): there is no statement \'T\'\nhint: the statements are: S0[i, j], S1[i, j, k]',
        ),
        (order("S0", "k"), 'order("S0", "k"): S0 has no loop \'k\'\nhint: its loops are: i, j'),
        (order("S*", "i", "j", "k"), 'order("S*", "i", "j", "k"): S0 has no loop \'k\'\nhint: its loops are: i, j'),
        (
            order("S0", "i", "j", "_"),
            'order("S0", "i", "j", "_"): S0 has only 2 of these 3 loops\nhint: its loops are: i, j',
        ),
        (
            order("S1", "i", "j", "i + j"),
            'order("S1", "i", "j", "i + j"): a loop is a combination of others\nhint: each must be a new direction',
        ),
        (innermost("S1", "t"), 'innermost("S1", "t"): S1 has no loop \'t\'\nhint: its loops are: i, j, k'),
        (separate("S1"), 'separate("S1") means one statement only: S1\nhint: the statements are: S0, S1'),
        (together("S0", "S0"), 'together("S0", "S0") means one statement only: S0\nhint: the statements are: S0, S1'),
        (
            together("S*", depth=7),
            'together("S*", depth=7): S0 has only 2 of these 7 loops\nhint: its loops are: i, j',
        ),
        (
            outer_parallel("S0", "U"),
            'outer_parallel("S0", "U"): there is no statement \'U\'\nhint: the statements are: S0[i, j], S1[i, j, k]',
        ),
    ],
)
def test_names_that_are_not_there(constraint, message):
    with pytest.raises(InputError) as raised:
        scheduled(gemm(), constraint)
    assert str(raised.value) == message


def test_nothing_to_share():
    model = scop(
        "[n] -> { : n >= 1 }", stmt("{ S[] }", writes="s[]"), stmt("{ T[i] : 0 <= i < n }", writes="b[i]", reads="s[]")
    )
    with pytest.raises(InputError) as raised:
        scheduled(model, together("S", "T"))
    assert str(raised.value) == 'together("S", "T"): S has no loop to have in common'


@pytest.mark.parametrize("seed", range(25))
def test_an_order_of_all_loops_is_refused_exactly_where_it_is_illegal(seed):
    model = extract(nests.random_nest(random.Random(seed), statements=1), check_bounds=False)
    statement, *others = model.statements
    deps = dependences(model)
    for loops in permutations(statement.iterators) if statement.depth and not others else ():
        tree = Domain(model.domain, Context(model.context, _nested(model, loops)))
        is_legal = first_violation(tree, deps, model, check_flags=False) is None
        try:
            found = find_schedule(model, deps, Options(constraints=(order(statement.name, *loops),)))
        except IllegalSchedule as error:
            assert not is_legal, f"{loops} was refused: {error}"
        else:
            assert is_legal and not found.in_source_order
            members = [m for node in walk(found.tree) if isinstance(node, Band) for m in node.members]
            assert [m.schedule for m in members] == [m.schedule for m in _members(model, loops)]


def _nested(model: Scop, loops: tuple[str, ...]) -> Band:
    first, *rest = _members(model, loops)
    inner = Band((first,))
    for member in rest:
        inner = _below(inner, member)
    return inner


def _below(band: Band, member: Member) -> Band:
    inner = _below(band.child, member) if isinstance(band.child, Band) else Band((member,))
    return Band(band.members, band.permutable, inner)


def _members(model: Scop, loops: tuple[str, ...]) -> list[Member]:
    (s,) = model.statements
    return [Member(isl.UnionMap(f"{{ {s.name}[{', '.join(s.iterators)}] -> [{loop}] }}")) for loop in loops]


@pytest.mark.parametrize("seed", range(20))
def test_random_constraints_are_met_or_refused(seed):
    rng = random.Random(seed)
    model = extract(nests.random_nest(rng), check_bounds=False)
    deep = [s for s in model.statements if s.depth]
    makers = [
        lambda s: order(s.name, rng.choice(s.iterators)),
        lambda s: innermost(s.name, rng.choice(s.iterators)),
        lambda s: outer_parallel(s.name),
        lambda s: max_skew(rng.randrange(3)),
        lambda s: separate(s.name, "*", depth=rng.randrange(2)) if len(deep) > 1 else max_skew(1),
        lambda s: together(s.name, rng.choice(deep).name, depth=rng.choice([None, 1])),
    ]
    asked = tuple(rng.choice(makers)(rng.choice(deep)) for _ in range(2))
    try:
        scheduled(model, *asked, fusion=rng.choice(["smart", "max", "none"]))
    except (IllegalSchedule, InputError) as error:
        assert any(str(c) in str(error) for c in asked)
