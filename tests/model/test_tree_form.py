import numpy as np
import pytest
from by_hand import stencil

from polysched import InputError, Schedule, f64, from_yaml, nest, optimize, size

DOMAIN = "{domain: '[N] -> { S[i, j] : 0 <= i, j < N }', child: %s}"
LOOPS = "{schedule: '[N] -> [{ S[i, j] -> [(i)] }, { S[i, j] -> [(j)] }]'%s}"


@nest
def large(a: f64["N"], N: size):
    for i in range(N):
        if N >= 10:
            a[i] = 1.0


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (
            LOOPS % ", child: {domain: '{ T[i] }'}",
            "a schedule has no 'domain' node inside\nhint: the instances that run are those at its top",
        ),
        (
            "{extension: '{ [] -> T[] }'}",
            "a schedule has no 'extension' node inside\nhint: the instances that run are those at its top",
        ),
        (LOOPS % ", child: {mark: 'full:4'}", "the mark full is above a leaf, not above a loop"),
        (
            "{mark: parallel, child: {sequence: [{filter: '{ S[i, j] }', child: %s}]}}" % (LOOPS % ""),
            "the mark parallel is above a sequence, not above a loop",
        ),
        (
            "{mark: 'storage:a', child: %s}" % (LOOPS % ""),
            "a tree has no arrays of its own\nhint: edits such as cache_read add them",
        ),
        (
            (LOOPS % "").replace("[N]", "[N, M]").replace("(i)", "(i + M)"),
            "the nest has no size M\nhint: its sizes are: N",
        ),
    ],
)
def test_trees_that_are_no_schedules(inside, message):
    for use in (lambda tree: Schedule(stencil, tree), lambda tree: optimize(stencil, schedule=tree)):
        with pytest.raises(InputError) as raised:
            use(from_yaml(DOMAIN % inside))
        assert str(raised.value) == message


def test_what_a_tree_says_of_sizes_is_not_believed():
    """Else the condition of the nest, which is in its domain, would not be in the code."""
    text = """
    domain: "[N] -> { S[i] : 0 <= i < N and N >= 10 }"
    child:
      context: "[N] -> { [] : N >= 10 }"
      child:
        schedule: "[N] -> [{ S[i] -> [(i)] }]"
    """
    for schedule in (Schedule.from_yaml(large, text), from_yaml(text)):
        a = np.zeros(5)
        optimize(large, schedule=schedule)(a=a)
        assert not a.any()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["&a {domain: '{ S[i] }', child: *a}", "[" * 5000])
def test_yaml_without_an_end(text):
    with pytest.raises(InputError):
        from_yaml(text)
