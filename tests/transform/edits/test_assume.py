import numpy as np
import pytest
from by_hand import blur, matmul, stencil

from polysched import InputError, LaunchError, Schedule, f64, i64, nest, optimize, size
from polysched.ir.interp import interpret


@nest
def scatter(a: f64["n"], at: i64["n"], b: f64["n"], n: size):
    for i in range(n):
        a[at[i]] = b[i]


def test_facts_about_sizes_simplify_and_are_checked_at_each_call():
    known = Schedule(matmul).assume("n >= 32 and n % 32 == 0")
    done = optimize(matmul, schedule=known.tile("i", "j", "k", sizes=(32, 32, 32)).parallel("i_o"))
    assert " < n ?" not in done.source.text and "min" not in done.source.text
    arrays = {name: np.ones((64, 64)) for name in "ABC"}
    done(**arrays)
    assert (arrays["C"] == 65).all()
    with pytest.raises(LaunchError, match="matmul cannot run with n = 33: it would leave its arrays, or what its sche"):
        done(**{name: np.ones((33, 33)) for name in "ABC"})


def test_a_second_fact_takes_nothing_of_the_first_back():
    """Edits in between are checked for the sizes known then: here a loop is peeled for odd n alone."""
    odd = Schedule(blur).assume("n % 2 == 1").peel("i", last=1)
    known = odd.assume("n <= 4 or n >= 7")
    assert known.draft.scop.context.is_subset(odd.draft.scop.context)
    done = optimize(blur, schedule=known)
    for n in (1, 3, 7, 9):
        arrays = {name: np.arange(n, dtype=float) for name in "abc"}
        expected = {name: value.copy() for name, value in arrays.items()}
        done(**arrays)
        interpret(blur.function, {**expected, "n": n})
        assert all((arrays[name] == expected[name]).all() for name in "abc")
    for n in (2, 5, 8):
        with pytest.raises(LaunchError, match=f"cannot run with n = {n}"):
            done(**{name: np.arange(n, dtype=float) for name in "abc"})


def test_facts_make_dependences_go():
    assert Schedule(stencil).assume("N <= 1").parallel("i").loops == ("i", "j")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("n > ", "formula:1:1: this is not Python: invalid syntax"),
        ("m > 1", "formula:1:1: 'm' is not known here\n  m > 1\n  ^\nhint: the names are: n"),
        ("n * n > 1", "'n * n > 1' is no affine condition: n * n\nhint: write affine conditions on"),
        ("n >= 1 } or {", "formula:1:8: this is not Python"),
        ("n < 0", "'n < 0' holds for no sizes that 'matmul' can run with: "),
    ],
)
def test_facts_that_cannot_be(facts, message):
    with pytest.raises(InputError) as raised:
        Schedule(matmul).assume(facts)
    assert str(raised.value).startswith(message)


def test_a_claim_is_taken_on_trust_and_stands_in_the_history():
    with pytest.raises(Exception, match="output dependence on a"):
        Schedule(scatter).parallel("i")
    claimed = Schedule(scatter).independent(array="a").parallel("i")
    assert str(claimed.history) == 'schedule = (\n    ps.Schedule(scatter)\n    .independent(array="a")\n' + (
        '    .parallel("i")\n)'
    )


def test_a_claim_about_nothing_is_refused():
    with pytest.raises(InputError) as raised:
        Schedule(stencil).independent("S", "T")
    assert str(raised.value) == (
        "no dependence between 'S' and 'T' on '*' is known\nhint: the dependences are: S -> S on a"
    )
