from __future__ import annotations

import random
from dataclasses import replace

import pytest

from polysched.deps.dataflow import dependences
from polysched.deps.dependences import Dependences
from polysched.deps.legality import Violation, first_violation, require_legal
from polysched.errors import IllegalSchedule, Loc
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.model.tree.nodes import (
    Band,
    Domain,
    Extension,
    Filter,
    InOrder,
    Leaf,
    Map,
    Member,
    Parallel,
    Set,
    Tree,
    Vector,
    children,
    marked_as,
    with_children,
)
from polysched.support import isl
from tests.deps.brute import pairs_of, times_at
from tests.nests import canonical, random_nest
from tests.scops import scop, stmt

stencil = scop(
    "[N] -> { : N >= 1 }",
    stmt(
        "{ S[i, j] : 0 <= i < N and 0 <= j < N }",
        writes="a[i + 1, j]",
        reads=["a[i, j - 1]", "a[i, j]", "a[i, j + 1]"],
    ),
)


def test_interchanging_the_stencil_names_the_smallest_pair_that_breaks():
    assert fault(tree("{ S[i, j] -> [j] }", "{ S[i, j] -> [i] }")) == (
        "flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)"
    )


def test_the_skewed_stencil_is_legal_and_permutable():
    assert fault(tree("{ S[i, j] -> [i] }", "{ S[i, j] -> [i + j] }", permutable=True)) is None


def test_the_stencil_as_written_is_legal_but_not_permutable():
    rows = ("{ S[i, j] -> [i] }", "{ S[i, j] -> [j] }")
    assert fault(tree(*rows)) is None
    assert fault(tree(*rows, permutable=True)) == (
        "flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0], "
        "but member 1 of their permutable band puts it later (N = 2)"
    )
    assert first_violation(tree(*rows, permutable=True), dependences(stencil), check_flags=False) is None


def test_a_band_of_tiles_may_keep_pairs_together():
    tile = Band((member("{ S[i, j] -> [floor(i / 2)] }"), member("{ S[i, j] -> [floor((i + j) / 2)] }")), True)
    point = Band((member("{ S[i, j] -> [i] }"), member("{ S[i, j] -> [i + j] }")), True)
    assert fault(Domain(stencil.domain, replace(tile, child=point))) is None
    assert "but nothing orders them (N = 2)" in fault(Domain(stencil.domain, tile))


def test_j_is_parallel_inside_i_but_not_in_one_band_with_it():
    i, j = member("{ S[i, j] -> [i] }"), replace(member("{ S[i, j] -> [j] }"), coincident=True)
    assert fault(Domain(stencil.domain, Band((i,), child=Band((j,))))) is None
    assert fault(Domain(stencil.domain, Band((i, j)))) == (
        "flow dependence on a: S[i=0, j=0] must run before S[i=1, j=1], "
        "but member 1 of their band, flagged coincident, separates them (N = 2)"
    )


@pytest.mark.parametrize(
    "mark, name", [(Parallel(), "parallel"), (Vector(), "vector"), (Map("thread.x"), "map:thread.x")]
)
def test_parallel_marks_speak_of_the_first_member_of_the_band_below(mark, name):
    i, j = member("{ S[i, j] -> [i] }"), member("{ S[i, j] -> [j] }")
    assert fault(Domain(stencil.domain, Band((i,), child=marked_as(Band((j,)), mark)))) is None
    lie = fault(Domain(stencil.domain, marked_as(Band((i, j)), mark)))
    assert f"but member 0 of their band, flagged {name}, separates them" in lie


pair = scop(
    "[n] -> { : }",
    stmt("{ S[i] : 0 <= i < n }", writes="a[i]"),
    stmt("{ T[i] : 0 <= i < n }", reads="a[i]"),
)
S, T = (isl.UnionSet(f"[n] -> {{ {name}[i] : 0 <= i < n }}") for name in "ST")



def on(axis: str, schedule: str, *child: Tree) -> Band:
    return marked_as(Band((member(schedule),), False, *child), Map(axis))


def test_a_loop_in_a_kernel_orders_its_threads_where_it_is_around_all_of_their_loops():
    """Each iteration of i reads what the thread beside has written in the one before, behind a barrier or not."""
    threads = on("thread.x", "{ S[i, j] -> [j] }")
    serial = Band((member("{ S[i, j] -> [i] }"),), child=threads)
    assert fault(Domain(stencil.domain, serial)) is None  # a launch for each i
    assert fault(Domain(stencil.domain, on("block.x", "{ S[i, j] -> [0] }", serial))) is None
    in_a_thread = on("thread.y", "{ S[i, j] -> [0] }", serial)
    assert fault(Domain(stencil.domain, on("block.x", "{ S[i, j] -> [0] }", in_a_thread))) == (
        "flow dependence on a: S[i=0, j=0] must run before S[i=1, j=1], "
        "but they are not on one thread: thread.x separates them in a kernel (N = 2)"
    )


def test_the_children_of_a_sequence_run_in_order():
    loop_s, loop_t = Band((member("{ S[i] -> [i] }"),)), Band((member("{ T[i] -> [i] }"),))
    assert fault(Domain(pair.domain, InOrder((Filter(S, loop_s), Filter(T, loop_t)))), pair) is None
    swapped = Domain(pair.domain, InOrder((Filter(T, loop_t), Filter(S, loop_s))))
    assert fault(swapped, pair) == "flow dependence on a: S[i=0] must run before T[i=0] (n = 1)"


def test_no_dependence_may_cross_between_the_children_of_a_set():
    assert fault(Domain(pair.domain, Set((Filter(S), Filter(T)))), pair) == (
        "flow dependence on a: S[i=0] must run before T[i=0], but the children of a set run in any order (n = 1)"
    )


def test_what_a_filter_separates_inside_of_one_statement_counts():
    even, odd = (isl.UnionSet(f"[n] -> {{ S[i] : i % 2 = {k} and 0 <= i < n }}") for k in (0, 1))
    chain = scop("[n] -> { : }", stmt("{ S[i] : 0 <= i < n }", writes="a[i]", reads="a[i - 1]"))
    loop = Band((member("{ S[i] -> [i] }"),))
    split = Domain(chain.domain, InOrder((Filter(even, loop), Filter(odd, loop))))
    assert fault(split, chain) == "flow dependence on a: S[i=1] must run before S[i=2] (n = 3)"


def test_an_instance_that_never_runs_is_a_fault():
    some = Domain(pair.domain, InOrder((Filter(S), Filter(isl.UnionSet("{ T[i] : i < 3 }")))))
    assert fault(some, pair) == "T[i=3] never runs (n = 4)"
    assert fault(Domain(S), pair) == "T[i=0] never runs (n = 1)"


def test_an_instance_that_runs_twice_is_a_fault():
    twice = Domain(pair.domain, InOrder((Filter(S), Filter(T), Filter(isl.UnionSet("{ T[2] }")))))
    assert fault(twice, pair) == "T[i=2] runs more than once (n = 3)"


def test_an_instance_that_the_nest_does_not_have_is_a_fault():
    more = isl.UnionSet("[n] -> { T[i] : 0 <= i <= n }")
    branches = InOrder((Filter(S), Filter(more)))
    assert fault(Domain(S.union(more), branches), pair) == "T[i=0] runs, but is no instance of the nest (n = 0)"


def test_a_statement_that_the_nest_does_not_have_is_a_fault():
    other = isl.UnionSet("{ copy[3] }")
    branches = InOrder((Filter(S), Filter(T), Filter(other)))
    domain = pair.domain.union(other)
    assert fault(Domain(domain, branches), pair) == "copy[3] runs, but is no instance of the nest (n = 0)"


def test_without_the_scop_the_dependences_tell_what_must_run():
    assert str(first_violation(Domain(S), dependences(pair))) == "T[0] never runs (n = 1)"


def test_reordered_reductions_may_run_backwards_but_not_in_parallel():
    total = scop("[n] -> { : }", stmt("{ S[i] : 0 <= i < n }", writes="s[]", reads=["s[]", "a[i]"], reduction="+"))
    free = dependences(total, reorder_reductions=True)
    down = Domain(total.domain, Band((member("{ S[i] -> [-i] }"),)))
    assert "S[i=0] must run before S[i=1]" in str(first_violation(down, dependences(total), total))
    assert first_violation(down, free, total) is None
    parallel = replace(down, child=marked_as(down.child, Parallel()))
    assert "flagged parallel, separates them" in str(first_violation(parallel, free, total))


def test_require_legal_gives_the_tree_back_or_raises_with_source_lines():
    assert require_legal(stencil.tree, dependences(stencil), stencil) is stencil.tree
    (statement,) = stencil.statements
    loc = Loc("nest.py", 5, 13, "            a[i + 1, j] = f(a[i, j])")
    located = replace(stencil, statements=(replace(statement, loc=loc),))
    with pytest.raises(IllegalSchedule) as caught:
        require_legal(tree("{ S[i, j] -> [-i] }", "{ S[i, j] -> [j] }"), dependences(located), located)
    assert str(caught.value) == (
        "flow dependence on a: S[i=0, j=0] must run before S[i=1, j=1] (N = 2)\n"
        "  nest.py:5:13: S\n"
        "                a[i + 1, j] = f(a[i, j])\n"
        "                ^"
    )


def test_without_the_scop_instances_have_no_iterator_names():
    backwards = tree("{ S[i, j] -> [-i] }", "{ S[i, j] -> [j] }")
    assert str(first_violation(backwards, dependences(stencil))).startswith(
        "flow dependence on a: S[0, 0] must run before S[1, 1]"
    )


def test_extensions_are_refused():
    with pytest.raises(ValueError, match="extensions add instances"):
        first_violation(Domain(S, Extension(isl.UnionMap("{ [] -> copy[] }"))), Dependences(()))


def member(schedule: str) -> Member:
    return Member(isl.UnionMap(schedule))


def tree(*schedules: str, permutable: bool = False) -> Domain:
    return Domain(stencil.domain, Band(tuple(map(member, schedules)), permutable))


def fault(of: Tree, nest: Scop = stencil) -> str | None:
    violation = first_violation(of, dependences(nest), nest)
    return None if violation is None else str(violation)


# --- against brute force


@pytest.mark.parametrize("nest", canonical(), ids=lambda fn: fn.name)
def test_source_order_is_legal(nest):
    model = extract(nest)
    assert first_violation(model.tree, dependences(model), model) is None


@pytest.mark.parametrize("seed", range(40))
def test_changed_trees_of_random_nests_are_judged_as_by_brute_force(seed):
    rng = random.Random(seed)
    model = extract(random_nest(rng))
    deps = dependences(model)
    for _ in range(3):
        changed = change(model.tree, rng)
        violation = first_violation(changed, deps, model, check_flags=False)
        if violation is None:
            assert not any(broken(changed, deps, {"n": n}) for n in range(5))
        else:
            assert_true_witness(violation, changed, deps)


def test_the_changes_of_trees_are_sometimes_legal_and_sometimes_not():
    verdicts = set()
    for seed in range(20):
        rng = random.Random(seed)
        model = extract(random_nest(rng))
        verdicts.add(first_violation(change(model.tree, rng), dependences(model), model) is None)
    assert verdicts == {True, False}


def change(node: Tree, rng: random.Random) -> Tree:
    """Some bands reversed, shifted, skewed or left out, some sequences shuffled."""
    below = tuple(change(child, rng) for child in children(node))
    node = with_children(node, below)
    if isinstance(node, InOrder) and rng.random() < 0.3:
        return rng.choice([InOrder, Set])(tuple(rng.sample(below, len(below))))
    if isinstance(node, Band) and rng.random() < 0.3:
        if rng.random() < 0.2:
            return node.child
        move = rng.choice(["-t", "2t + 1", "floor(t / 2)"])
        moved = tuple(Member(m.schedule.apply_range(isl.UnionMap(f"{{ [t] -> [{move}] }}"))) for m in node.members)
        return replace(node, members=moved)
    return node


def broken(of: Tree, deps: Dependences, sizes: dict[str, int]) -> set[tuple]:
    """The dependent instances of which the second does not run after the first."""
    times = {instance: time for time, instance in times_at(of, sizes)}
    ordered = Dependences(deps.ordered)  # others commute
    pairs = {((k[1], a), (k[2], b)) for k, found in pairs_of(ordered, sizes).items() for a, b in found}
    return {(source, sink) for source, sink in pairs if not times[source] < times[sink]}


def assert_true_witness(violation: Violation, of: Tree, deps: Dependences) -> None:
    assert violation.dependence in deps.pairs and violation.sink is not None
    d, source, sink = violation.dependence, violation.source, violation.sink
    assert (source.statement, sink.statement) == (d.source, d.sink)
    pairs = pairs_of(Dependences((d,)), violation.sizes)[d.kind, d.source, d.sink, d.array]
    assert (source.iteration, sink.iteration) in pairs
    ends = (source.statement, source.iteration), (sink.statement, sink.iteration)
    assert ends in broken(of, deps, violation.sizes) or "children of a set" in violation.reason


def test_an_unbounded_violation_still_has_a_witness():
    endless = scop("{ : }", stmt("{ S[i] }", writes="a[i + 1]", reads="a[i]"))
    down = Domain(endless.domain, Band((member("{ S[i] -> [-i] }"),)))
    violation = first_violation(down, dependences(endless), endless)
    assert violation.sink.iteration[0] == violation.source.iteration[0] + 1


def test_a_leaf_may_hold_independent_instances():
    free = scop("[n] -> { : }", stmt("{ S[i] : 0 <= i < n }", writes="a[i]"))
    assert fault(Domain(free.domain, Leaf()), free) is None
