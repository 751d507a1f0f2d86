"""polysched/model/tree/to_isl.py, text.py and yaml.py: trees as isl's, as text, and as YAML in and out."""

import random

import nests
import pytest

from polysched.errors import InputError
from polysched.model.extract import extract
from polysched.model.tree.nodes import (
    Band,
    Domain,
    Filter,
    Full,
    InOrder,
    Map,
    Member,
    Parallel,
    Unroll,
    marked_as,
    own_marks,
)
from polysched.model.tree.text import show_tree
from polysched.model.tree_yaml import from_yaml, to_yaml
from polysched.support import isl

DOMAIN = isl.UnionSet("[n] -> { S[i] : 0 <= i < n; T[i] : 0 <= i < n }")
LOOP = Member(isl.UnionMap("[n] -> { S[i] -> [(i)]; T[i] -> [(i + 1)] }"), coincident=True)
BOTH = InOrder((Filter(isl.UnionSet("[n] -> { S[i] }")), Filter(isl.UnionSet("[n] -> { T[i] }"))))
TREE = Domain(DOMAIN, marked_as(Band((LOOP,), True, BOTH), Parallel()))


def test_yaml_by_example():
    domain = isl.UnionSet("[n] -> { S[i] : 0 <= i < n }")
    loop = Member(isl.UnionMap("[n] -> { S[i] -> [(2i)] }"), coincident=True)
    tree = Domain(domain, marked_as(Band((loop,), True, InOrder((Filter(domain),))), Parallel()))
    assert to_yaml(tree) == (
        'domain: "[n] -> { S[i] : 0 <= i < n }"\n'
        "child:\n"
        '  mark: "parallel"\n'
        "  child:\n"
        '    schedule: "[n] -> [{ S[i] -> [(2i)] }]"\n'
        "    permutable: 1\n"
        "    coincident: [ 1 ]\n"
        "    child:\n"
        "      sequence:\n"
        '      - filter: "[n] -> { S[i] : 0 <= i < n }"\n'
    )


def test_text_by_example():
    assert show_tree(TREE) == (
        "domain: { S[i] : 0 <= i < n; T[i] : 0 <= i < n }\n"
        "  mark: parallel\n"
        "    band:\n"
        "      [S[i] -> i; T[i] -> 1 + i] coincident\n"
        "      sequence\n"
        "        filter: S\n"
        "        filter: T"
    )


def test_a_filter_shows_its_condition_where_it_lets_some_instances_pass():
    parts = (isl.UnionSet("[n] -> { S[i] : i < 3; T[i] }"), isl.UnionSet("[n] -> { S[i] : i >= 3 and n > 5 }"))
    tree = Domain(DOMAIN, InOrder(tuple(map(Filter, parts))))
    assert [line.strip() for line in show_tree(tree).splitlines()[2:]] == [
        "filter: T; S[i] : i <= 2",
        "filter: S[i] : n >= 6 and i >= 3",
    ]


@pytest.mark.parametrize("mark", [Map("block.x"), Map("thread.x", ("s", "t")), Unroll(), Full(8), Parallel()], ids=str)
def test_marks_survive(mark):
    assert own_marks(from_yaml(to_yaml(Domain(DOMAIN, marked_as(Band((LOOP,)), mark)))).child) == (mark,)


def test_a_loop_has_several_marks_in_their_order():
    band = marked_as(marked_as(Band((LOOP, LOOP)), Full(8)), Unroll())
    tree = Domain(DOMAIN, band)
    assert band.members[0].marks == (Full(8), Unroll()) and band.members[1].marks == ()
    assert [line.strip() for line in show_tree(tree).splitlines()[1:4]] == ["mark: full:8", "mark: unroll", "band:"]
    assert from_yaml(to_yaml(tree)) == tree


def test_a_loop_with_marks_begins_a_band():
    marked = marked_as(Band((LOOP,)), Unroll())
    with pytest.raises(AssertionError, match="begins a band"):
        Band((LOOP, *marked.members))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("domain: 3", "isl cannot read '3' as a UnionSet"),
        ("domain: [", "not YAML: "),
        ("filter: '{ S[i] }'", "a schedule tree starts with a 'domain'"),
        ("hello", "a node of a schedule tree has one of the keys domain, context, "),
        ("domain: '{ S[i] }'\nchildren: 1", "unknown key 'children' beside 'domain'"),
        ("domain: '{ S[i] }'\nchild: { set: [ { mark: wait } ] }", "the children of a 'set' are a list of "),
        (
            "domain: '{ S[i] }'\nchild: { schedule: '[{ S[i] -> [(i)] }]', coincident: [1, 0] }",
            "'coincident' needs one flag for each of the 1 members of the band, but is [1, 0]",
        ),
    ],
)
def test_what_is_no_tree_is_refused(text, message):
    with pytest.raises(InputError) as error:
        from_yaml(text)
    assert message in str(error.value)


def test_an_unknown_mark_is_refused():
    with pytest.raises(InputError, match="unknown mark 'simd'"):
        from_yaml(to_yaml(TREE).replace("parallel", "simd"))


@pytest.mark.parametrize("mark", ["packed:S", "dots:S"])
def test_a_mark_of_products_names_a_statement(mark):
    text = to_yaml(TREE).replace("parallel", mark)
    assert to_yaml(from_yaml(text)) == text
    with pytest.raises(InputError, match=f"unknown mark '{mark[:-2]}'"):
        from_yaml(text.replace(mark, mark[:-2]))


@pytest.mark.parametrize("seed", range(25))
def test_the_way_there_and_back_is_the_identity(seed):
    tree = extract(nests.random_nest(random.Random(seed))).tree
    assert from_yaml(to_yaml(tree)) == tree
