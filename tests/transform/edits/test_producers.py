import pytest
from by_hand import blur

from polysched import InputError, Schedule, f64, nest, size
from polysched.support import isl
from polysched.transform.edits.values import producers as file
from polysched.transform.edits.values.producers import chains_of, producers_of, require_computed, without_statements


@nest
def pair(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n):
        t = a[i]
        b[i] = t
        c[i] = t + 1.0
    for i in range(n):
        a[i] = b[i]


def test_what_computes_an_array_and_the_nest_without():
    scop = Schedule(blur).draft.scop
    found = producers_of(scop, "b")
    assert [s.name for s in found] == ["S0"]
    left = without_statements(scop, found)
    assert [s.name for s in left.statements] == ["S1"]
    assert [array.name for array in left.arrays] == ["c", "a"]


def test_a_statement_of_two_arrays_computes_neither_alone():
    with pytest.raises(InputError) as raised:
        Schedule(pair).inline("b")
    assert str(raised.value) == "S0 writes c as well as b"


def test_what_is_read_has_been_computed():
    draft = Schedule(blur).draft
    require_computed(draft, "b", draft.scop.statement("S1"))
    with pytest.raises(InputError) as raised:
        require_computed(draft, "a", draft.scop.statement("S0"))
    assert str(raised.value) == "for n = 3, S0[i=1] reads a[0], which nothing has written by then"


def test_chains_of_pairs(monkeypatch):
    pairs = isl.UnionMap("[n] -> { S[k] -> S[k + 1] : 0 <= k < n; I[] -> S[0] }")
    chains = isl.UnionMap("[n] -> { S[k] -> S[l] : 0 <= k < l <= n; I[] -> S[l] : 0 <= l <= n }")
    assert chains.subtract(chains_of(pairs)).intersect_params(isl.Set("[n] -> { : n >= 1 }")).is_empty()
    monkeypatch.setattr(file, "OPERATIONS", 10)
    with pytest.raises(InputError) as raised:
        chains_of(pairs)
    assert str(raised.value) == "what the values are computed from, step by step, is not known"
