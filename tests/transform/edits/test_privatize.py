import pytest
from edited import assert_same_results, on_random_nests

import polysched as ps
from polysched import IllegalSchedule, InputError, Schedule


@ps.nest
def rows(a: ps.f64["n", "m"], t: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            t[j] = a[i, j] * 2.0
        for j in range(m):
            a[i, j] = t[m - 1 - j]


@ps.nest
def sums(a: ps.f64["n", "m"], t: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        for j in range(m):
            t[j] = t[j] + a[i, j]
        for j in range(m):
            a[i, j] = t[m - 1 - j]


def test_each_iteration_has_its_own_and_the_last_copies_back():
    own = Schedule(rows).privatize("t", at="i")
    assert str(own) == """\
domain: { S0[i, j] : 0 <= i < n and 0 <= j < m; S1[i, j] : 0 <= i < n and 0 <= j < m; store_t[i = -1 + n, t0] : \
n > 0 and 0 <= t0 < m }
  context: { : n >= 0 and m >= 0 }
    band:
      i: [S0[i, j] -> i; S1[i, j] -> i; store_t[i, t0] -> i] coincident
      mark: storage:t_p
        sequence
          filter: S0
            band:
              j: [S0[i, j] -> j] coincident
          filter: S1
            band:
              j_2: [S1[i, j] -> j] coincident
          filter: store_t
            band:
              t0: [store_t[i, t0] -> t0] coincident"""
    assert_same_results(rows.function, own)


def test_then_iterations_are_parallel():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(rows).parallel("i")
    assert str(raised.value).splitlines()[0] == (
        "parallel(i): output dependence on t: S0[i=0, j=0] must run before S0[i=1, j=0], "
        "but iterations of loop 'i' would run at the same time (n = 2, m = 1)"
    )
    done = ps.optimize(rows, schedule=Schedule(rows).privatize("t", at="i").parallel("i"))
    done.verify()
    inside = done.source.text.partition("#pragma omp parallel for")[2]
    assert ": malloc(" in inside and "free(t_p);" in inside


def test_values_that_cross_are_refused():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(sums).privatize("t", at="i")
    text = str(raised.value).splitlines()
    assert text[0] == (
        "privatize(t, at=i): flow dependence on t: S0[i=0, j=0] must run before S0[i=1, j=0], in another iteration of "
        "loop 'i' (n = 2, m = 1)"
    )
    assert text[2].strip() == "t[j] = t[j] + a[i, j]"


def test_what_is_only_read_is_not_privatized():
    with pytest.raises(InputError) as raised:
        Schedule(rows).privatize("a", at="j")
    assert str(raised.value) == "nothing in loop 'j' writes 'a'\nhint: an array that is only read needs no copies"


def test_random_nests_compute_the_same():
    assert on_random_nests((3, 6, 7, 11), lambda s, loop: s.privatize(s.draft.scop.arrays[0].name, loop)) >= 4
