"""Schedules as a whole: where they start, what they remember, what they give."""

import json

import pytest
from by_hand import blur, matmul, stencil

from polysched import (
    IllegalSchedule,
    InputError,
    Options,
    Schedule,
    VerificationError,
    f64,
    from_yaml,
    i64,
    nest,
    optimize,
    size,
    to_yaml,
)
from polysched.model.tree.instances import renamed

HISTORY = """\
schedule = (
    ps.Schedule(stencil, options=ps.Options(tile=False))
    .assume("N >= 3")
    .skew("j", by="i")
    .tile("i", "j", sizes=(4, 8))
)"""


@nest
def wave(b: f64["N + 1", "N + 2"], N: size):
    for i in range(N):
        for j in range(N):
            b[i + 1, j + 1] = b[i + 1, j] + b[i, j + 1]


def edited() -> Schedule:
    start = Schedule(stencil, options=Options(tile=False))
    return start.assume("N >= 3").skew("j", by="i").tile("i", "j", sizes=(4, 8))


def test_the_history_is_python_that_makes_the_schedule_again():
    schedule = edited()
    assert str(schedule.history) == HISTORY
    names = {"ps": __import__("polysched"), "stencil": stencil}
    exec(HISTORY, names)
    again = names["schedule"]
    assert again.tree == schedule.tree and again.history == schedule.history


def test_json_keeps_the_history():
    text = edited().to_json()
    assert json.loads(text)["edits"][1] == ["skew", ["j"], {"by": "i"}]
    again = Schedule.from_json(stencil, text)
    assert again.tree == edited().tree and again.history == edited().history


def test_yaml_keeps_the_tree():
    again = Schedule.from_yaml(stencil, edited().to_yaml())
    assert again.tree.child == edited().tree.child
    assert str(again.history).startswith("schedule = ps.Schedule(stencil, ps.from_yaml(")


def test_edits_replayed_on_another_nest_are_checked_there():
    tiled = Schedule(wave).tile("i", "j", sizes=(2, 2))
    assert tiled.replay(wave).tree == tiled.tree
    with pytest.raises(IllegalSchedule, match="tile") as raised:
        tiled.replay(stencil)
    assert 'in edit 1 of the history: .tile("i", "j", sizes=(2, 2))' in raised.value.__notes__


def test_a_schedule_of_ppcg_is_loaded_and_checked():
    """As `ppcg --save-schedule-file` writes it, with statements of its own names."""
    text = """
    domain: "[n] -> { S_0[i] : 0 < i <= -2 + n; S_1[i] : 2 <= i <= -3 + n }"
    child:
      context: "[n] -> { [] : n >= 0 }"
      child:
        schedule: "[n] -> [{ S_0[i] -> [(i)]; S_1[i] -> [(1 + i)] }]"
        permutable: 1
        coincident: [ 0 ]
        child:
          sequence:
          - filter: "[n] -> { S_0[i] }"
          - filter: "[n] -> { S_1[i] }"
    """
    schedule = Schedule.from_yaml(blur, text, {"S_0": "S0", "S_1": "S1"})
    assert schedule.loops == ("i",)
    assert optimize(blur, schedule=schedule).verify()
    with pytest.raises(IllegalSchedule, match=r"the tree given: flow dependence on b: S0\[i=3\] must run before S1"):
        Schedule.from_yaml(blur, text.replace("1 + i", "i"), {"S_0": "S0", "S_1": "S1"})
    with pytest.raises(InputError, match="the tree has no statement T\nhint: it has: S_0, S_1"):
        renamed(from_yaml(text), {"T": "S0"})


def test_a_tree_with_names_of_another_nest_is_refused():
    with pytest.raises(InputError, match="the nest has no size N\nhint: its sizes are: n"):
        Schedule(blur, optimize(stencil).scheduled.tree)
    with pytest.raises(IllegalSchedule, match="the tree given: S0"):
        Schedule(blur, optimize(matmul).scheduled.tree)


def test_where_a_schedule_can_start():
    assert Schedule(stencil, "ilp").tree == optimize(stencil).scheduled.tree
    tree = optimize(matmul).scheduled.tree
    assert Schedule(matmul, from_yaml(to_yaml(tree))).tree == tree
    with pytest.raises(InputError, match="a schedule cannot start from 'pluto'\nhint: give 'source', 'ilp' or a tree"):
        Schedule(matmul, "pluto")
    with pytest.raises(InputError, match="a schedule that started from a tree fits its own nest alone"):
        Schedule(matmul, tree).replay(stencil)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: "),
        ("[]", "no history: it holds 'nest', 'start' and a list of 'edits'\nhint: write it with Schedule.to_json()"),
        ("[" * 100_000, "not JSON: "),
        ('{"nest": "f", "start": "pluto", "edits": []}', "a schedule cannot start from 'pluto'"),
        ('{"nest": "f", "start": "source", "edits": [["melt", [], {}]]}', "there is no edit 'melt'\nhint: the edits"),
        ('{"nest": "f", "start": "source", "edits": ["skew"]}', "an edit is [name, [arguments], {named ones}], not"),
        ('{"nest": "f", "start": "source", "edits": [["skew", ["j"], {}]]}', '.skew("j"): missing a required argument'),
        ('{"nest": "f", "start": "source", "edits": [["skew", ["j", 1], {}]]}', "'by' of skew is a string, not 1"),
        ('{"nest": "f", "start": "source", "edits": [], "options": {"speed": 9}}', "there is no option speed"),
        ('{"nest": "f", "start": "source", "edits": [], "options": [1]}', "options are a JSON object, not [1]"),
        ('{"nest": "f", "start": "source", "edits": [], "options": {"tile": 9}}', "option tile is 9, but is of"),
        ('{"nest": "f", "start": "source", "edits": [], "strategy": 1}', "what a strategy was given is not 1\nhint:"),
    ],
)
def test_json_that_is_no_history(text, message):
    with pytest.raises(InputError) as raised:
        Schedule.from_json(stencil, text)
    assert str(raised.value).startswith(message)


def test_a_schedule_is_followed_as_it_is_once_it_has_marks():
    by_hand = Schedule(matmul).reorder("i", "k", "j").parallel("i")
    done = optimize(matmul, schedule=by_hand)
    assert done.tree == by_hand.tree
    assert done.verify(n=7)


def test_the_walk_through_of_acceptance_b_by_hand():
    start = Schedule(stencil)
    with pytest.raises(IllegalSchedule) as raised:
        start.parallel("i")
    assert "S[i=0, j=1] must run before S[i=1, j=0]" in str(raised.value)
    start.parallel("j")  # every distance is (1, *): inside of i it is parallel
    skewed = start.skew("j", by="i")
    assert skewed.tree == optimize(stencil).scheduled.tree
    assert optimize(stencil, schedule=skewed.tile("i", "j", sizes=(8, 8))).verify()


def test_the_options_of_a_schedule_are_those_of_its_code():
    sums = Schedule(matmul, options=Options(reorder_reductions=True))
    assert optimize(matmul, schedule=sums).options.reorder_reductions
    with pytest.raises(InputError) as raised:
        optimize(matmul, schedule=sums, options=Options())
    assert str(raised.value) == (
        "the schedule was made with reorder_reductions=True\nhint: leave options out, which are then the schedule's"
    )


def test_a_schedule_of_another_nest_is_refused():
    with pytest.raises(InputError, match="the schedule is of another nest, 'wave'"):
        optimize(stencil, schedule=Schedule(wave))


def test_what_is_taken_on_trust_is_said():
    done = optimize(stencil, schedule=Schedule(stencil).independent("S", "S", "a").parallel("i"))
    assert done.rungs["taken on trust"] == "S and S are independent through a"
    assert done.explain().startswith("taken on trust: S and S are independent through a\n")


@nest
def permuted(b: f64["N"], x: i64["N"], N: size):
    for i in range(N):
        b[x[i]] = b[x[i]] + 1.0


def test_verification_names_what_it_rests_on():
    text = str(optimize(stencil, schedule=Schedule(stencil).assume("N <= 1").skew("j", by="i")).verify())
    assert text.startswith("legal for all sizes (0 dependences); equal to the interpreted nest for N=1")
    claimed = Schedule(permuted).independent(array="b").parallel("i")
    text = str(optimize(permuted, schedule=claimed).verify())
    trusted = "all statements are independent through b"
    assert text.startswith(f"legal for all sizes (0 dependences), if it is true that {trusted};")
    false = Schedule(wave).independent(array="b").tile("i", "j", sizes=(4, 4))
    message = r"not true that .* through b: S\[i=0, j=0\] writes b\[1, 1\], and S\[i=0, j=1\] reads it"
    with pytest.raises(VerificationError, match=message):
        optimize(wave, schedule=false).verify()


def test_sizes_to_verify_with_are_found_among_those_assumed():
    tiled = Schedule(matmul).assume("n >= 32 and n % 32 == 0").tile("i", "j", "k", sizes=(32, 32, 32))
    assert "n=32" in str(optimize(matmul, schedule=tiled).verify())


def test_tiles_by_hand_are_not_tiled_again():
    tiled = Schedule(matmul).tile("i", "j", "k", sizes=(32, 32, 32))
    text = str(optimize(matmul, schedule=tiled).tree)
    assert text.count("floor") == 3 and "parallel" in text


def test_what_data_decides_is_no_fact():
    @nest
    def hist(h: i64["m"], x: i64["n"], n: size, m: size):
        for i in range(n):
            h[x[i]] += 1

    @nest
    def clipped(a: f64["n"], n: size):
        for i in range(1, n):
            a[i] = a[i - 1] if a[i - 1] < 1.0 else 0.5

    with pytest.raises(IllegalSchedule, match=r"on h, if both touch the same element: .* may have to run before"):
        Schedule(hist).parallel("i")
    assert "flow on h, if both touch the same element, distance (1..)" in optimize(hist).explain()
    with pytest.raises(IllegalSchedule, match=r"flow dependence on a: S\[i=1\] must run before S\[i=2\]"):
        Schedule(clipped).parallel("i")
