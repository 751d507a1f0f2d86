"""polysched/prelude: the edits of a nest before it is modelled, each by name, and replayed without a target."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from chains import with_temporary
from nests import arguments_for, assert_same_outcome

import polysched as ps
from benchmarks.operators.cases import read
from benchmarks.polybench import KERNELS
from polysched.config.target import TARGETS
from polysched.deps.dataflow import dependences
from polysched.errors import InputError
from polysched.frontend.python import parse_nest
from polysched.ir.node import rewrite
from polysched.ir.nodes import Alloc, Function, Load, Store
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.model.extract import extract
from polysched.prelude.choose import prelude
from polysched.prelude.edit import Edited, NestEdit
from polysched.prelude.edits import NEST_EDITS, applied, edits_as_data, edits_of

NESTS: dict[str, Callable[[], Function]] = {case.op: case.function for case in reversed(read())}
NESTS |= {name: lambda kernel=kernel: kernel.nest.function for name, kernel in KERNELS.items()}


def chosen(fn: Function, target: ps.Target = "c", **options: object) -> Edited:
    def model(nest):
        scop = extract(nest)
        return scop, dependences(scop)

    return prelude(fn, TARGETS[target], ps.Options(**options), model)


def padded(sums: int = 1) -> Function:
    """Windows of padded data, of one column; so many sums."""
    a, b = ps.placeholder((9, 1), ps.f32, "a"), ps.placeholder((3,), ps.f32, "b")

    def summed(k):
        r = ps.reduce_axis(3, f"r{k}")

        def element(i):
            at = i + r - 1
            return ps.sum(ps.select((at >= 0) & (at < 9), a[at, 0], 0) * b[r], axis=r)

        return ps.compute((9,), element, f"out{k}")

    return ps.function("padded", [a, b], [summed(k) for k in range(sums)])


def test_edits_are_named_and_say_all_that_a_replay_needs():
    written = json.dumps(edits_as_data(chosen(padded()).edits))
    assert written == (
        '[["units", [], {}, ""], '
        '["zeros", ["a"], {"how": "padded copy"}, "so that all sums have as many terms"]]'
    )
    assert str(applied(padded(), edits_of(json.loads(written)))) == """\
def padded(a: f32[9], b: f32[3], out0: f32[9]):
    alloc a_0: private f32[11]
    for x0 in 0..11:
        a_0[x0] = x0 >= 1 && x0 <= 9 ? a[x0 - 1] : 0.0f32
    for i in 0..9:
        out0[i] = 0.0f32
        for r0 in 0..3:
            out0[i] = out0[i] + a_0[i + r0] * b[r0]"""


# --- replayed


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("name", NESTS)
def test_a_replay_gives_the_nest_that_was_chosen(name, target):
    fn = NESTS[name]()
    found = chosen(fn, target)
    again = edits_of(json.loads(json.dumps(edits_as_data(found.edits))))
    assert again == found.edits
    assert applied(fn, again) == found.function


REPLAY = """
import json, pickle, sys
from polysched.prelude.edits import applied, edits_of
for name, fn, edits, expected in pickle.load(sys.stdin.buffer):
    assert applied(fn, edits_of(json.loads(edits))) == expected, name
print("all")
"""


def test_a_fresh_process_gives_the_same_nests():
    found = []
    for name in ("doitgen", "deriche", "reduce", "conv2d_nchw", "conv1d", "conv2d_nhwc_winograd"):
        fn = NESTS[name]()
        for target in ("c", "cuda"):
            new, edits = chosen(fn, target)
            found.append((name, fn, json.dumps(edits_as_data(edits)), new))
    assert sum(fn != new for _, fn, _, new in found) > 4
    done = subprocess.run(
        [sys.executable, "-c", REPLAY], input=pickle.dumps(found), capture_output=True, cwd=Path(__file__).parents[2]
    )
    assert (done.stdout, done.stderr) == (b"all\n", b"")


@pytest.mark.parametrize(
    ("name", "target"),
    [("doitgen", "cuda"), ("symm", "c"), ("conv2d_nchw", "c"), ("conv2d_nchw", "cuda"), ("conv1d", "c")],
)
def test_what_was_scheduled_is_the_replay(name, target):
    done = ps.optimize(NESTS[name](), target)
    assert done.prelude
    assert done.scop.function == applied(done.nest, done.prelude)
    assert f"edited first: {', '.join(map(str, done.prelude))}" == done.explain().splitlines()[0]


def test_a_schedule_by_hand_has_the_edits_that_it_starts_with():
    schedule = ps.Schedule(padded()).tile("i", sizes=(4,))
    assert ps.optimize(padded(), schedule=schedule).prelude == ()
    fn = NESTS["gramschmidt"]()
    done = ps.optimize(fn, schedule=ps.Schedule(fn).tile("k", sizes=(4,)))
    assert done.prelude == (NestEdit("expand", ("norm",)),)
    assert done.scop.function == applied(fn, done.prelude)


PARTS = {  # what each of the edits is for, with a constant of two to five
    "expand": """
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += a[i, j]
        v[i] = s * {}.0
""",
    "in_place": """
    for i in range(n):
        s = {}.0
        for j in range(n):
            s += a[i, j]
        w[i] = s
""",
    "write_out": """
    for i in range(n):
        s = 0.0
        for d in range({}):
            s += u[i + d]
        v[i] = s * s
""",
    "untile": """
    for t in range(0, n, {0}):
        for j in range(n):
            for i in range(t, min(t + {0}, n)):
                a[j, i] += v[i]
""",
    "structure": """
    for k in range(n * n):
        a[k // n, k % n] *= {}.0
""",
    "zeros": """
    for i in range(n):
        for d in range({}):
            w[i] += (v[i + d - 1] if i + d >= 1 and i + d < n + 1 else 0.0) * u[d]
""",
    "unpad": """
    for i in range(n + 8):
        p[i] = -{}.0
    for i in range(n):
        p[i + 3] = v[i]
    for i in range(n):
        for d in range(3):
            w[i] = max(w[i], p[i + d])
""",
    "units": """
    for k in range(1):
        v[k] = v[k] * {}.0
""",
    "expand_arrays": """
    for i in range(n):
        for j in range(n):
            r[j] = a[i, j] * {}.0
        for j in range(n):
            a[i, j] = r[n - j - 1]
""",
}
HEAD = "def f(a: f64[n, n], p: f64[n + 8], r: f64[n], u: f64[n + 5], v: f64[n], w: f64[n], n: size):"


def of_parts(seed: int) -> Function:
    """Two or three of these parts, with `p` of the nest's own."""
    rng = random.Random(seed)
    names = rng.sample(sorted(PARTS), rng.choice([2, 3]))
    text = HEAD + "".join(PARTS[name].format(rng.randint(2, 5)) for name in names)
    return with_temporary(parse_nest(text, "parts.py"), "p")


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("seed", range(40))
def test_nests_of_random_parts_compute_the_same_after_their_edits(seed, target):
    fn = of_parts(seed)
    found = chosen(fn, target)
    assert applied(fn, edits_of(json.loads(json.dumps(edits_as_data(found.edits))))) == found.function
    verify(found.function, "source")
    for size in (1, 2, 7):
        assert_same_outcome(fn, found.function, arguments_for(fn, random.Random(seed), size))


def test_those_have_edits_of_all_kinds():
    found = [chosen(of_parts(seed), target).edits for seed in range(40) for target in ("c", "cuda")]
    assert {edit.name for edits in found for edit in edits} == {*NEST_EDITS} - {"integer_indices"}


# --- edits without anybody who chooses


TWO_SUMS = """
def f(a: f64[n, n], o: f64[n, 2], n: size):
    for i in range(n):
        s = 0.0
        for k in range(n):
            s += a[i, k]
        o[i, 0] = s * s
    for i in range(n):
        s = 1.0
        for k in range(n):
            s *= a[i, k]
        o[i, 1] = s * s
"""


def test_the_second_of_a_name_is_told_from_the_first():
    fn = parse_nest(TWO_SUMS, "two.py")

    def alike(node):
        is_other = isinstance(node, Load | Store) and node.array == "s_2"
        if isinstance(node, Alloc) and node.array.name == "s_2":
            return replace(node, array=replace(node.array, name="s"))
        return replace(node, array="s") if is_other else None

    fn = rewrite(fn, alike)
    assert chosen(fn).edits == (NestEdit("expand", ("s", "s.2")),)
    lines = show(applied(fn, [NestEdit("expand", ("s.2",))])).splitlines()
    assert [line.strip() for line in lines if "alloc" in line] == [
        "alloc s: private f64[]",
        "alloc s: private f64[max(n - 1 + 1, 0)]",
    ]


def test_each_sum_has_its_own_lowering():
    fn = padded(2)
    assert chosen(fn).edits == (edit("units"), edit("zeros", "a", how="padded copy"))
    assert applied(fn, [edit("zeros", "a", how="guard")]) is fn
    second = applied(fn, edits_of(json.loads('[["zeros", ["a"], {"how": ["guard", "padded copy"]}, ""]]')))
    assert [line.strip() for line in show(second).splitlines() if "+" in line and "out" in line] == [
        "out0[i] = out0[i] + (i + r0 - 1 >= 0 && i + r0 - 1 < 9 ? a[i + r0 - 1, 0] : 0.0f32) * b[r0]",
        "out1[i] = out1[i] + a_0[i + r1, 0] * b[r1]",
    ]


def test_every_way_of_zeros_keeps_every_value():
    fn = padded()
    for how in ({"how": "guard"}, {"how": "padded copy"}, {"how": "domain cut", "fast_math": True}):
        new = applied(fn, [NestEdit("zeros", ("a",), tuple(how.items()))])
        assert_same_outcome(fn, new, arguments_for(fn, random.Random(1), 0))


def edit(name: str, *args: object, **kwargs: object) -> NestEdit:
    return NestEdit(name, args, tuple(kwargs.items()))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (edit("skew", "i"), "there is no edit 'skew' of a nest\nhint: the edits are: untile, unpad, write_out"),
        (edit("units", "a"), r'units("a"): too many positional arguments'),
        (edit("zeros", "a"), "zeros(\"a\"): missing a required argument: 'how'"),
        (edit("zeros", "a", how=3), "'how' of zeros is a string or a sequence of strings, not 3"),
        (edit("zeros", "a", how="zero"), "zeros(how='zero'): how is one of 'domain cut', 'padded copy', 'guard'"),
        (edit("zeros", "b", how="guard"), "there is no sum of products with zeros around 'b'\nhint: they are part"),
        (edit("zeros", "a", how=("guard", "guard")), "the sums of products with zeros around 'a' are 1, not 2"),
        (edit("zeros", "a", how="domain cut"), "a sum with 'a' may differ without products with zeros"),
        (edit("expand", "s"), "'s' cannot have an element for each iteration around"),
        (edit("write_out", "s"), "no constant loops in the life of 's' can be written out"),
        (edit("unpad", "a", how="stored once"), "'a' is no padded copy"),
        (edit("unpad", "a", how="away"), "unpad(how='away'): how is one of 'read in place', 'stored once'"),
        (edit("expand_arrays", "out0"), "'out0' cannot have a copy for each iteration of the loops around"),
        (edit("expand_arrays", "x"), "'x' cannot have a copy for each iteration of the loops around"),
    ],
    ids=str,
)
def test_an_edit_that_does_not_fit_is_refused(wrong, message):
    with pytest.raises(InputError) as raised:
        applied(padded(), [edit("units"), wrong])
    assert str(raised.value).startswith(message)
    assert raised.value.__notes__ == [f"in edit 2 of the nest: {wrong}"]


@pytest.mark.parametrize(
    "text",
    ["{}", "[3]", '[["units"]]', '[["units", [], [], ""]]', '[["units", {}, {}, ""]]', '[["units", [], {}, 1]]'],
)
def test_json_that_is_no_list_of_edits_is_refused(text):
    with pytest.raises(InputError, match=r"list|an edit of a nest is"):
        edits_of(json.loads(text))


def test_without_arguments_an_edit_may_do_nothing():
    fn = parse_nest("def f(a: f64[n], n: size):\n    for i in range(n):\n        a[i] = 0.0", "zero.py")
    plain = [name for name in NEST_EDITS if name not in ("unpad", "zeros")]
    assert applied(fn, map(NestEdit, plain)) is fn
    assert chosen(fn) == (fn, ())


# --- schedules without edits


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("name", ["conv2d_nchw", "doitgen", "conv1d"])
def test_a_schedule_without_edits_is_only_its_start(name, target):
    fn = NESTS[name]()
    automatic, unedited = ps.optimize(fn, target), ps.optimize(fn, target, schedule=ps.Schedule(fn, "ilp"))
    assert unedited.source.text == automatic.source.text
    assert (unedited.prelude, unedited.rungs) == (automatic.prelude, automatic.rungs)


def test_one_from_source_order_keeps_that():
    fn = padded()
    unedited = ps.optimize(fn, schedule=ps.Schedule(fn))
    assert unedited.source.text == ps.optimize(fn, options=ps.Options(scheduler="source")).source.text
    assert [edit.name for edit in unedited.prelude] == ["units", "zeros"]


def test_its_options_are_those_of_the_schedule():
    fn = padded()
    schedule = ps.Schedule(fn, "ilp", options=ps.Options(fast_math=True, parallel=False))
    assert ps.optimize(fn, schedule=schedule).options == schedule.history.options
    assert ps.optimize(fn, schedule=schedule, options=ps.Options()).options == ps.Options()


def test_one_of_another_nest_is_refused():
    with pytest.raises(InputError, match="the schedule is of another nest, 'padded'"):
        ps.optimize(replace(padded(), name="other"), schedule=ps.Schedule(padded(), "ilp"))


def test_one_from_a_tree_keeps_to_it():
    schedule = ps.Schedule(padded())
    done = ps.optimize(padded(), schedule=ps.Schedule(padded(), schedule.tree))
    assert done.scheduled.rung == "given"
    assert done.prelude == ()
