import random
from dataclasses import replace

import pytest

from polysched.errors import Loc
from polysched.ir.dtypes import f32, f64
from polysched.ir.graph.cse import eliminate, ignoring
from polysched.ir.graph.operations import PURE, Block, Builder, Effects, Graph, Region, TensorType, Value
from polysched.ir.nodes import Var
from tests.ir.graphs import OTHER, reads, verify, writes

SINGLE, DOUBLE, FLAG = TensorType(f32, (Var("n"), 4)), TensorType(f64, (Var("n"), 4)), TensorType(f64)
x, w, c = Value("x", DOUBLE), Value("w", DOUBLE), Value("c", FLAG)


def graph(builder: Builder, *results: Value) -> Graph:
    made = Graph("g", builder.block(*results))
    verify(made)
    return made


def one(builder: Builder, kind: str, *operands: Value, name: str = "", type: TensorType = SINGLE, **more) -> Value:
    """The only result of a new operation."""
    (value,) = builder.add(kind, *operands, types=(type,), names=(name,) if name else (), **more)
    return value


def merged(made: Graph, **options) -> Graph:
    after = eliminate(made, **options)
    verify(after.graph)
    assert eliminate(after.graph, **options).graph is after.graph
    return after.graph


def kinds(block: Block) -> list[str]:
    return [operation.kind for operation in block.operations]


def test_C1_two_casts_are_one_and_keep_the_first_name():
    b = Builder(x)
    casts = [one(b, "Cast", x, name=f"Cast_{k}", to="f32") for k in (1, 2)]
    made = graph(b, one(b, "Add", *casts))
    after = eliminate(made)
    assert str(after.graph) == (
        "graph g(%x: f64[n, 4]):\n"
        "    %Cast_1 = Cast(%x) {to = f32} : f32[n, 4]\n"
        "    %v0 = Add(%Cast_1, %Cast_1) : f32[n, 4]\n"
        "    yield %v0"
    )
    assert after.merged == (("Cast_2", "Cast_1"),) and after.removed == ()


def test_C2_what_becomes_equal_merges_in_the_same_pass():
    b = Builder(x, w)
    convolutions = [one(b, "Conv2d", x, one(b, "Transpose", w)) for _ in range(2)]
    after = eliminate(graph(b, *convolutions))
    assert kinds(after.graph.body) == ["Transpose", "Conv2d"]
    assert after.graph.body.results == (convolutions[0],) * 2
    assert len(after.merged) == 2


def test_C3_attributes_that_do_not_matter_stay_on_the_survivor():
    b = Builder(x)
    casts = [one(b, "Cast", x, to="f32", source=k) for k in (7, 8)]
    made = graph(b, *casts)
    assert eliminate(made).graph is made
    (cast,) = merged(made, key=ignoring("source")).body.operations
    assert dict(cast.attributes) == {"to": "f32", "source": 7}


@pytest.mark.parametrize("other", ["kind", "operands", "attributes", "type"])
def test_C4_equal_are_kind_operands_attributes_and_type(other):
    b = Builder(x, w)
    one(b, "Cast", x, to="f32", loc=Loc("a.py", 1, 1))
    first = b.operations[0].results[0]
    second = one(
        b,
        "Round" if other == "kind" else "Cast",
        w if other == "operands" else x,
        to="f64" if other == "attributes" else "f32",
        type=DOUBLE if other == "type" else SINGLE,
    )
    made = graph(b, first, second)
    assert eliminate(made).graph is made


def test_C4_places_in_the_source_are_not_compared():
    b = Builder(x)
    casts = [one(b, "Cast", x, loc=Loc("a.py", line, 1)) for line in (1, 2)]
    (cast,) = merged(graph(b, *casts)).body.operations
    assert cast.loc == Loc("a.py", 1, 1)


def branch(b: Builder, *kinds: str, effects: Effects = PURE) -> Region:
    inner = b.inner()
    results = [one(inner, kind, x, effects=effects) for kind in kinds]
    return Region((inner.block(*results[-1:]),))


def test_C5_a_value_of_one_branch_is_not_used_in_the_other():
    b = Builder(x, c)
    result = one(b, "If", c, regions=(branch(b, "Exp"), branch(b, "Exp")))
    made = graph(b, result, one(b, "Exp", x))
    assert eliminate(made).graph is made


def test_C5_an_inner_scope_sees_the_outer():
    b = Builder(x, c)
    outer = one(b, "Exp", x)
    result = one(b, "If", c, regions=(branch(b, "Exp"), branch(b, "Log", "Exp", "Log")))
    then, other = merged(graph(b, outer, result)).body.operations[-1].regions
    assert then.blocks == (Block((), (), (outer,)),)
    assert kinds(other.blocks[0]) == ["Log"]


def test_C6_dead_operations_go_first_and_are_counted_apart():
    b = Builder(x, w)
    one(b, "Log", one(b, "Exp", x, name="dead_1"), name="dead_2")
    casts = [one(b, "Cast", x, name=name) for name in ("one", "two", "dead_3")]
    after = eliminate(graph(b, *casts[:2]))
    assert after.removed == ("dead_1", "dead_2", "dead_3")
    assert after.merged == (("two", "one"),)
    assert kinds(after.graph.body) == ["Cast"]


def test_C6_dead_operations_go_from_regions_and_with_them():
    b = Builder(x, c)
    result = one(b, "If", c, regions=(branch(b, "Log", "Exp"), branch(b, "Exp")))
    one(b, "If", c, regions=(branch(b, "Log"), branch(b, "Exp")), name="dead")
    after = eliminate(graph(b, result))
    assert after.removed == ("v0", "dead")
    assert kinds(after.graph.body.operations[0].regions[0].blocks[0]) == ["Exp"]


def test_C6_writes_and_other_effects_are_not_dead():
    b = Builder(x)
    one(b, "Print", one(b, "Exp", x), effects=OTHER)
    one(b, "Assign", x, effects=writes("m"))
    one(b, "Loop", regions=(branch(b, "Assign", effects=writes("m")),))
    made = graph(b)
    assert eliminate(made).graph is made


@pytest.mark.parametrize(
    ("between", "loads"),
    [(PURE, 1), (writes("other"), 1), (writes("m"), 2), (OTHER, 2), (reads("m"), 1)],
    ids=["nothing", "other memory", "the same memory", "who knows what", "a read"],
)
def test_C7_loads_merge_up_to_a_write(between, loads):
    b = Builder(x)
    first = one(b, "Load", x, effects=reads("m"))
    middle = one(b, "Work", x, effects=between)
    after = merged(graph(b, first, middle, one(b, "Load", x, effects=reads("m"))))
    assert kinds(after.body).count("Load") == loads


def test_C7_loads_merge_in_one_block_only():
    b = Builder(x, c)
    first = one(b, "Load", x, effects=reads("m"))
    result = one(b, "If", c, regions=[branch(b, "Load", effects=reads("m"))])
    made = graph(b, first, result)
    assert eliminate(made).graph is made


def test_C7_a_write_in_a_region_is_a_write():
    b = Builder(x, c)
    first = one(b, "Load", x, effects=reads("m"))
    one(b, "If", c, regions=[branch(b, "Assign", effects=writes("m"))])
    made = graph(b, first, one(b, "Load", x, effects=reads("m")))
    assert eliminate(made).graph is made


def test_C8_in_a_region_of_several_blocks_only_values_from_outside_are_replaced():
    b = Builder(x, c)
    first, second = (one(b, "Exp", x, name=name) for name in ("one", "two"))
    entry, body = b.inner(), b.inner()
    start = [one(entry, "Log", second, name=f"log_{k}") for k in (1, 2)]
    one(body, "Exp", x, name="again")
    region = Region((entry.block(successors=(1,)), body.block(start[1], successors=())))
    made = graph(b, first, one(b, "Flow", regions=[region]))
    after = merged(made).body.operations[-1].regions[0]
    assert [kinds(block) for block in after.blocks] == [["Log", "Log"], ["Exp"]]
    assert {operation.operands for operation in after.blocks[0].operations} == {(first,)}
    untouched = graph(Builder(first), *(first,))
    assert eliminate(untouched).graph is untouched


@pytest.mark.parametrize("effects", [OTHER, writes("m"), Effects(reads("m").reads, writes("state").writes)], ids=str)
def test_C9_random_and_stateful_operations_never_merge(effects):
    b = Builder(x)
    made = graph(b, *(one(b, "Random", x, effects=effects) for _ in range(2)))
    assert eliminate(made).graph is made


def test_C10_nothing_to_do_gives_the_same_object():
    b = Builder(x, c)
    result = one(b, "If", c, regions=(branch(b, "Exp"), branch(b, "Log")))
    made = graph(b, one(b, "Add", result, one(b, "Cos", x)))
    after = eliminate(made)
    assert after.graph is made and after.merged == after.removed == ()


# --- random graphs, run


def run(made: Graph, seed: int) -> tuple[object, ...]:
    """What the graph gives and what happened on the way: values are texts, memory counts its writes."""
    memory: dict[str, int] = {}
    happened: list[object] = []

    def block(old: Block, values: dict[str, object]) -> list[object]:
        for operation in old.operations:
            given = [values[operand.name] for operand in operation.operands]
            effects = operation.effects
            value = (operation.kind, operation.attributes, *given, *(memory.get(m, 0) for m in sorted(effects.reads)))
            for m in sorted(effects.writes):
                memory[m] = memory.get(m, 0) + 1
                happened.append((m, value))
            if effects.other:
                value = (*value, len(happened))
                happened.append(value)
            if operation.regions:
                taken = operation.regions[(len(str(given[0])) + seed) % len(operation.regions)]
                value = ("If", *block(taken.blocks[0], dict(values)))
            values.update(dict.fromkeys([result.name for result in operation.results], value))
        return [values[result.name] for result in old.results]

    return (*block(made.body, {v.name: v.name for v in made.body.arguments}), *happened)


def random_block(rng: random.Random, b: Builder, known: list[Value], depth: int) -> Block:
    known = list(known)
    for _ in range(rng.randrange(1, 9)):
        operands = rng.choices(known, k=rng.randrange(1, 3))
        effects = rng.choice([PURE] * 6 + [reads("m"), reads("m"), reads("k"), writes("m"), OTHER])
        if depth and rng.random() < 0.25:
            regions = [Region((random_block(rng, b.inner(), known, depth - 1),)) for _ in range(2)]
            known.append(one(b, "If", operands[0], regions=regions))
        else:
            known.append(one(b, rng.choice("fg"), *operands, effects=effects, **rng.choice([{}, {"a": 1}])))
    return b.block(rng.choice(known))


@pytest.mark.parametrize("seed", range(100))
def test_random_graphs_give_the_same_and_do_the_same(seed):
    rng = random.Random(seed)
    small = replace(x, type=SINGLE)
    made = Graph("g", random_block(rng, Builder(small), [small], depth=2))
    verify(made)
    after = eliminate(made)
    verify(after.graph)
    assert eliminate(after.graph).graph is after.graph
    for way in (0, 1):
        assert run(made, way) == run(after.graph, way)
    assert operations(made.body) - operations(after.graph.body) >= len(after.merged) + len(after.removed)


def operations(block: Block) -> int:
    regions = (region for operation in block.operations for region in operation.regions)
    return len(block.operations) + sum(operations(inner) for region in regions for inner in region.blocks)


# --- the graph itself


def test_the_text_of_a_graph_with_regions_and_effects():
    b = Builder(x, c)
    entry, exit = b.inner(), b.inner(Value("y", SINGLE))
    region = Region((entry.block(one(entry, "Exp", x), successors=(1,)), exit.block(exit.arguments[0])))
    one(b, "Load", x, effects=reads("m"), at=3)
    assert str(graph(b, one(b, "Flow", c, regions=[region]))) == (
        "graph g(%x: f64[n, 4], %c: f64[]):\n"
        "    %v1 = Load(%x) {at = 3} : f32[n, 4]  # reads m\n"
        "    %v2 = Flow(%c) : f32[n, 4]\n"
        "        block 0:\n"
        "            %v0 = Exp(%x) : f32[n, 4]\n"
        "            yield %v0 to block 1\n"
        "        block 1(%y: f32[n, 4]):\n"
        "            yield %y\n"
        "    yield %v2"
    )


def test_the_verifier_says_what_is_wrong():
    b = Builder(x)
    exp = one(b, "Exp", x)
    with pytest.raises(AssertionError, match="g: yield uses %w, which is not defined for certain here"):
        verify(Graph("g", b.block(w)))
    with pytest.raises(AssertionError, match=r"yield uses %v0 as f64\[n, 4\], but it is f32\[n, 4\]"):
        verify(Graph("g", b.block(replace(exp, type=DOUBLE))))
    b.operations *= 2
    with pytest.raises(AssertionError, match="g: %v0 is defined twice"):
        verify(Graph("g", b.block()))
    inner = Builder(x)
    one(inner, "Flow", regions=[Region((Block(successors=(3,)),))])
    with pytest.raises(AssertionError, match="block 0 goes to block 3, but the last is 0"):
        verify(Graph("g", inner.block()))


def test_a_value_reaches_the_blocks_that_its_own_dominates():
    def flow(user: int) -> Graph:
        """A diamond: block 0 goes to 1 and 2, these go to 3; block 1 defines a value, another one uses it."""
        b = Builder(x)
        blocks = [b.inner() for _ in range(4)]
        value = one(blocks[1], "Exp", x)
        one(blocks[user], "Log", value)
        ways = [(1, 2), (3,), (3,), ()]
        one(b, "Flow", regions=[Region(tuple(k.block(successors=way) for k, way in zip(blocks, ways, strict=True)))])
        return Graph("g", b.block())

    verify(flow(1))
    for user in (0, 2, 3):
        with pytest.raises(AssertionError, match="Log uses %v0, which is not defined for certain here"):
            verify(flow(user))
