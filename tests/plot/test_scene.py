"""polysched/plot/scene.py and what it puts together: panels, dots, arrows, tiles and lines as numbers."""

from __future__ import annotations

from collections import Counter

import pytest
from nests import gemm, stencil2

import polysched as ps
from polysched.errors import InputError
from polysched.frontend.python import parse_nest
from polysched.plot.draw import scenes, titled
from polysched.plot.hull import hull, outline
from polysched.plot.small import with_small_tiles

JACOBI = """\
def jacobi(a: f64[n], b: f64[n], steps: size, n: size):
    for t in range(steps):
        for i in range(1, n - 1):
            b[i] = a[i - 1] + a[i] + a[i + 1]
        for i in range(1, n - 1):
            a[i] = b[i]
"""
BLUR = """\
def blur(c: f64[n], b: f64[n], a: f64[n], n: size):
    for i in range(1, n - 1):
        b[i] = a[i - 1] + a[i] + a[i + 1]
    for i in range(2, n - 2):
        c[i] = b[i - 1] + b[i + 1]
"""


def scene_of(schedule, before=False, **options):
    draft = schedule.draft
    ((_, found),) = scenes(draft.scop, draft.dependences, titled(draft.scop.tree, schedule.tree, before), **options)
    return found


def test_one_statement_in_two_loops():
    found = scene_of(ps.Schedule(stencil2(margin=1)), sizes={"N": 3})
    (panel,) = found.panels
    assert (panel.title, panel.where, panel.axes, panel.rows) == ("S", "", ("i", "j"), ())
    assert sorted(dot.at for dot in panel.dots) == [(i, j) for i in range(3) for j in range(3)]
    assert found.summary == "9 instances in 3 steps, up to 3 at once"
    assert {dot.at[0]: dot.step for dot in panel.dots} == {0: 0, 1: 1, 2: 2}
    assert panel.tiles == ()


def test_arrows_are_the_dependences_at_these_sizes():
    found = scene_of(ps.Schedule(stencil2(margin=1)), sizes={"N": 3})
    ends = {(arrow.start.at, arrow.end.at) for arrow in found.arrows}
    expected = {((i, j), (i + 1, j + d)) for i in range(2) for j in range(3) for d in (-1, 0, 1) if 0 <= j + d < 3}
    assert ends == expected and {arrow.kind for arrow in found.arrows} == {"flow"}
    assert found.notes == ("drawn for N = 3",)


def test_of_many_arrows_there_is_one_for_each_distance():
    found = scene_of(ps.Schedule(stencil2(margin=1)), sizes={"N": 10})
    apart = [(b - a, d - c) for (a, c), (b, d) in ((arrow.start.at, arrow.end.at) for arrow in found.arrows)]
    assert sorted(apart) == [(1, -1), (1, 0), (1, 1)]
    assert found.notes == ("drawn for N = 10", "one arrow is drawn for each of 3 distances")


def test_lines_are_numbered_in_order_and_follow_the_schedule():
    (panel,) = scene_of(ps.Schedule(stencil2(margin=1)).skew("j", by="i"), sizes={"N": 3}).panels
    outer = [line for line in panel.lines if line.is_outer]
    inner = [line for line in panel.lines if not line.is_outer]
    assert [(line.label, line.loop, line.start[0], line.end[0]) for line in outer] == [
        (str(i), "i", float(i), float(i)) for i in range(3)
    ]
    assert [line.loop for line in inner] == ["i + j"] * 5
    assert all(line.start[0] + line.start[1] == pytest.approx(k) for k, line in enumerate(inner))


def test_tiles_hold_their_instances_and_are_numbered_by_wavefront():
    s = ps.Schedule(stencil2(margin=1)).skew("j", by="i").tile("i", "j", sizes=(2, 2))
    found = scene_of(s.wavefront("i_o", "j_o"), sizes={"N": 4})
    (panel,) = found.panels
    assert found.is_tiled and found.summary == "6 tiles in 5 steps, up to 2 at once"
    assert [tile.step for tile in sorted(panel.tiles, key=lambda tile: tile.step)] == [0, 1, 2, 2, 3, 4]
    assert sum(sum(_inside(dot.at, tile.corners) for tile in panel.tiles) for dot in panel.dots) == len(panel.dots)


def _inside(point, corners):
    def turn(a, b):
        return (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0])

    return all(turn(a, b) >= 0 for a, b in zip(corners, (*corners[1:], corners[0]), strict=True))


def test_statements_of_one_loop_share_a_panel_side_by_side():
    found = scene_of(ps.Schedule(parse_nest(JACOBI, "j.py")), sizes={"steps": 2, "n": 4})
    (panel,) = found.panels
    assert panel.title == "S0, S1" and panel.names == ["S0", "S1"]
    assert {dot.statement: dot.at for dot in panel.dots if dot.step == 0 and dot.at[1] < 1.5} == {
        "S0": (-0.25, 1.0)
    }


def test_three_loops_are_slices():
    found = scene_of(ps.Schedule(gemm()), sizes={"ni": 2, "nj": 3, "nk": 4})
    assert [(panel.title, panel.where, panel.axes, len(panel.dots)) for panel in found.panels] == [
        ("S0", "", ("i", "j"), 6),
        ("S1", "i = 0", ("j", "k"), 12),
        ("S1", "i = 1", ("j", "k"), 12),
    ]
    assert "dependences between panels are not drawn: S0 to S1" in found.notes


def test_one_loop_is_a_row():
    found = scene_of(ps.Schedule(parse_nest(BLUR, "b.py")), sizes={"n": 6})
    (panel,) = found.panels
    assert panel.rows == ("S0", "S1") and panel.axes == ("i", "")
    assert Counter(dot.at[1] for dot in panel.dots) == {0.0: 4, -1.0: 2}
    assert {(arrow.start.at, arrow.end.at) for arrow in found.arrows} == {
        ((1, 0), (2, -1)),
        ((3, 0), (2, -1)),
        ((2, 0), (3, -1)),
        ((4, 0), (3, -1)),
    }


def test_an_arrow_is_drawn_once_for_the_first_kind_there_is():
    found = scene_of(ps.Schedule(gemm()), statements=["S1"], sizes={"ni": 1, "nj": 1, "nk": 3})
    assert [(arrow.kind, arrow.start.at, arrow.end.at) for arrow in found.arrows] == [
        ("flow", (0, 0), (0, 1)),
        ("flow", (0, 1), (0, 2)),
    ]


def test_what_is_not_drawn_is_said():
    loops = "    for i in range(n):\n        for j in range(n):\n            "
    lines = "".join(f"{loops}a{k}[i, j] = 1.0\n" for k in range(10))
    arrays = "".join(f"a{k}: f64[n, n], " for k in range(10))
    found = scene_of(ps.Schedule(parse_nest(f"def many({arrays}n: size):\n{lines}", "many.py")))
    assert len(found.panels) == 8
    assert found.notes == ("drawn for n = 8", "not drawn: S8, S9")


SWEEP = """\
def sweep(a: f64[n, n], b: f64[n, n], steps: size, n: size):
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(n):
                b[i, j] = a[i - 1, j] + a[i + 1, j]
        for i in range(1, n - 1):
            for j in range(n):
                a[i, j] = b[i, j]
"""


def test_sizes_are_such_that_all_slices_are_drawn():
    found = scene_of(ps.Schedule(parse_nest(SWEEP, "sweep.py")))
    assert [panel.where for panel in found.panels] == ["t = 0", "t = 1", "t = 2", "t = 3"]
    assert found.notes[0] == "drawn for steps = 4, n = 6"


def test_slices_that_are_not_drawn_are_said():
    found = scene_of(ps.Schedule(parse_nest(SWEEP, "sweep.py")), sizes={"steps": 6, "n": 5})
    assert "S0, S1: t = 0, 1, 2, 3 of 6" in found.notes


def test_where_tiles_of_statements_overlap_dots_have_their_steps():
    done = ps.optimize(ps.from_c("benchmarks/polybench/c/jacobi-2d.c")[0])
    ((_, found),) = scenes(done.scop, done.dependences, {"after": done.tree})
    assert found.is_tiled and all(panel.tiles == () for panel in found.panels)
    assert not any(dot.is_inside for panel in found.panels for dot in panel.dots)
    assert found.notes[-1] == "tiles of S0, S1 overlap here: dots have the colors and, with room, numbers of steps"
    steps = {dot.step for panel in found.panels for dot in panel.dots}
    assert steps == set(range(found.steps))


def test_tiles_of_statements_in_turn_along_time_do_not_overlap():
    done = ps.optimize(ps.from_c("benchmarks/polybench/c/jacobi-1d.c")[0])
    ((_, found),) = scenes(done.scop, done.dependences, {"after": with_tiles(done)}, sizes={"tsteps": 8, "n": 10})
    (panel,) = found.panels
    assert len(panel.tiles) > 4 and all(dot.is_inside for dot in panel.dots)


def with_tiles(done):
    return with_small_tiles(done.tree, done.scop.statements)[0]


def test_a_statement_outside_of_tiles_has_a_step_of_its_own():
    found = scene_of(ps.Schedule(parse_nest(TWO, "two.py")).tile("i_2", "j_2", sizes=(2, 2)), sizes={"n": 4})
    seen = {(dot.statement, dot.step, dot.is_inside) for panel in found.panels for dot in panel.dots}
    assert seen == {*(("S0", step, False) for step in range(4)), ("S1", 4, True)}
    assert found.summary == "4 tiles in 1 step, up to 4 at once, and 16 instances outside of tiles"


TWO = """\
def two(a: f64[n, n], b: f64[n, n], n: size):
    for i in range(n):
        for j in range(n):
            a[0, j] += b[i, j]
    for i in range(n):
        for j in range(n):
            b[i, j] = 1.0
"""


def test_what_is_fixed_is_said_of_its_statements():
    text = "def deep(a: f64[n, n, n, n], b: f64[n], n: size):\n"
    for k, name in enumerate("ijkl"):
        text += "    " * (k + 1) + f"for {name} in range(n):\n"
    text += "                    a[i, j, k, l] = 1.0\n    for i in range(n):\n        b[i] = 1.0\n"
    found = scene_of(ps.Schedule(parse_nest(text, "deep.py")))
    assert "S0: only iterations with l = 1 are drawn" in found.notes


def test_tiles_that_are_drawn_smaller_are_said():
    s = ps.Schedule(stencil2(margin=1)).skew("j", by="i").tile("i", "j", sizes=(32, 64))
    assert "tiles are drawn 4 wide instead of 32, 64" in scene_of(s).notes


def test_a_statement_there_is_not():
    with pytest.raises(InputError) as error:
        scene_of(ps.Schedule(gemm()), statements=["S7"])
    assert str(error.value) == "'gemm' has no statement 'S7'\nhint: it has: S0, S1"


def test_before_is_source_order():
    s = ps.Schedule(stencil2(margin=1)).skew("j", by="i")
    (panel,) = scene_of(s, before=True, sizes={"N": 3}).panels
    assert {line.loop for line in panel.lines} == {"i", "j"}
    with pytest.raises(InputError) as error:
        titled(s.tree, s.tree, "after")
    assert str(error.value) == "before is True, False or 'both', not 'after'"


def test_a_hull_has_the_corners_alone():
    assert hull([(0, 0), (1, 0), (2, 0), (2, 2), (0, 2), (1, 1)]) == ((0, 0), (2, 0), (2, 2), (0, 2))
    assert len(outline([(0.0, 0.0)])) == 8
