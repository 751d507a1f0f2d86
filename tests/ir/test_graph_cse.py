import random

import pytest

from polysched.errors import Loc
from polysched.ir.dtypes import f32, f64
from polysched.ir.graph.cse import eliminate
from polysched.ir.graph.operations import Block, Builder, Graph, TensorType, Value
from polysched.ir.nodes import Var

SINGLE, DOUBLE = TensorType(f32, (Var("n"), 4)), TensorType(f64, (Var("n"), 4))
x, w = Value("x", DOUBLE), Value("w", DOUBLE)


def graph(builder: Builder, *results: Value) -> Graph:
    made = Graph("g", builder.block(*results))
    verify(made)
    return made


def one(builder: Builder, kind: str, *operands: Value, name: str = "", type: TensorType = SINGLE, **more) -> Value:
    """The only result of a new operation."""
    (value,) = builder.add(kind, *operands, types=(type,), names=(name,) if name else (), **more)
    return value


def merged(made: Graph) -> Graph:
    after = eliminate(made)
    verify(after)
    assert eliminate(after) == after
    return after


def verify(made: Graph) -> None:
    """Each value is defined once, before it is used, and used as what it is."""
    known = {value.name: value for value in made.body.arguments}
    for operation in made.body.operations:
        assert all(known[value.name] == value for value in operation.operands)
        assert known.keys().isdisjoint(value.name for value in operation.results)
        known |= {value.name: value for value in operation.results}
    assert all(known[value.name] == value for value in made.body.results)


def kinds(block: Block) -> list[str]:
    return [operation.kind for operation in block.operations]


def names(block: Block) -> list[str]:
    return [result.name for operation in block.operations for result in operation.results]


def test_C1_two_casts_are_one_and_keep_the_first_name():
    b = Builder(x)
    casts = [one(b, "Cast", x, name=f"Cast_{k}", to="f32") for k in (1, 2)]
    assert str(merged(graph(b, one(b, "Add", *casts)))) == (
        "graph g(%x: f64[n, 4]):\n"
        "    %Cast_1 = Cast(%x) {to = f32} : f32[n, 4]\n"
        "    %v0 = Add(%Cast_1, %Cast_1) : f32[n, 4]\n"
        "    yield %v0"
    )


def test_C2_what_becomes_equal_merges_in_the_same_pass():
    b = Builder(x, w)
    convolutions = [one(b, "Conv2d", x, one(b, "Transpose", w)) for _ in range(2)]
    after = merged(graph(b, *convolutions))
    assert kinds(after.body) == ["Transpose", "Conv2d"]
    assert after.body.results == (convolutions[0],) * 2


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
    assert eliminate(made) == made


def test_C4_places_in_the_source_are_not_compared():
    b = Builder(x)
    casts = [one(b, "Cast", x, loc=Loc("a.py", line, 1)) for line in (1, 2)]
    (cast,) = merged(graph(b, *casts)).body.operations
    assert cast.loc == Loc("a.py", 1, 1)


def test_C6_dead_operations_go():
    b = Builder(x, w)
    one(b, "Log", one(b, "Exp", x, name="dead_1"), name="dead_2")
    casts = [one(b, "Cast", x, name=name) for name in ("one", "two", "dead_3")]
    assert names(merged(graph(b, *casts[:2])).body) == ["one"]


# --- random graphs, run


def run(made: Graph) -> list[object]:
    """What the graph gives; values are texts."""
    values: dict[str, object] = {value.name: value.name for value in made.body.arguments}
    for operation in made.body.operations:
        given = [values[operand.name] for operand in operation.operands]
        value = (operation.kind, operation.attributes, *given)
        values.update(dict.fromkeys([result.name for result in operation.results], value))
    return [values[result.name] for result in made.body.results]


@pytest.mark.parametrize("seed", range(100))
def test_random_graphs_give_the_same(seed):
    rng = random.Random(seed)
    known = [Value("x", SINGLE)]
    b = Builder(*known)
    for _ in range(rng.randrange(1, 30)):
        operands = rng.choices(known, k=rng.randrange(1, 3))
        known.append(one(b, rng.choice("fg"), *operands, **rng.choice([{}, {"a": 1}])))
    made = graph(b, *rng.choices(known, k=2))
    after = merged(made)
    assert run(made) == run(after)
    computed = [(operation.kind, operation.attributes, operation.operands) for operation in after.body.operations]
    assert len(set(computed)) == len(computed)
