import pytest
from by_hand import blur, matmul, stencil
from edited import assert_holds, assert_same_results, on_random_nests

import polysched as ps
from polysched import IllegalSchedule, InputError, Schedule
from polysched.ir.nodes import Const, Var

TILED = Schedule(matmul).tile("i", "j", "k", sizes=(4, 8, 2))


def shape(schedule, name):
    return {array.name: array.shape for array in schedule.draft.scop.arrays}[name]


def test_what_a_block_reads_is_copied_first():
    cached = Schedule(blur).tile("i", sizes=(32,)).cache_read("a", at="i_o")
    assert str(cached) == """\
domain: { S0[i] : 0 < i <= -2 + n; S1[i] : 2 <= i <= -3 + n; load_a[i_o, a0] : n >= 3 and i_o >= 0 and \
32i_o <= -2 + n and a0 >= -1 + 32i_o and 0 <= a0 <= 32 + 32i_o and a0 < n }
  context: { : n >= 0 }
    sequence
      filter: S0, load_a
        band:
          i_o: [S0[i] -> floor((i)/32); load_a[i_o, a0] -> i_o] coincident
          mark: storage:a_c
            sequence
              filter: load_a
                band:
                  a0: [load_a[i_o, a0] -> a0] coincident
              filter: S0
                band:
                  i: [S0[i] -> i] coincident
      filter: S1
        band:
          i_2: [S1[i] -> i] coincident"""
    assert shape(cached, "a_c") == (Const(34),)
    assert_same_results(blur.function, cached)


def test_what_a_block_adds_up_is_copied_before_and_after():
    cached = TILED.cache_write("C", at="j_o")
    assert "\n".join(str(cached).splitlines()[5:]) == """\
      mark: storage:C_c
        sequence
          filter: load_C
            band: permutable
              C0: [load_C[i_o, j_o, C0, C1] -> C0] coincident
              C1: [load_C[i_o, j_o, C0, C1] -> C1] coincident
          filter: S
            band:
              k_o: [S[i, j, k] -> floor((k)/2)]
              band: permutable
                i: [S[i, j, k] -> i] coincident
                j: [S[i, j, k] -> j] coincident
                k: [S[i, j, k] -> k]
          filter: store_C
            band: permutable
              C0_2: [store_C[i_o, j_o, C0, C1] -> C0] coincident
              C1_2: [store_C[i_o, j_o, C0, C1] -> C1] coincident"""
    assert_same_results(matmul.function, cached)


def test_nothing_is_copied_before_where_all_is_written_anew():
    cached = Schedule(blur).cache_write("b", at=None)
    assert [s.name for s in cached.draft.scop.statements] == ["S0", "S1", "store_b"]
    assert_same_results(blur.function, cached)


def test_a_matrix_product_with_all_three_in_small_arrays():
    cached = TILED.cache_read("A", at="k_o").cache_read("B", at="k_o", name="rows").cache_write("C", at="j_o")
    assert (shape(cached, "A_c"), shape(cached, "rows")) == ((Const(4), Const(2)), (Const(2), Const(8)))
    assert "mark: storage:A_c,rows" in str(cached)
    done = ps.optimize(matmul, schedule=cached.parallel("i_o"))
    assert done.rungs["mapping"] == "mapped"
    done.verify()
    assert "C_c_0 += A_c[t16 + c11] * rows[" in done.source.text, "subscripts count from the block's corner"


def test_a_copy_of_a_copy():
    twice = TILED.cache_read("A", at="j_o").cache_read("A_c", at="k_o")
    assert (shape(twice, "A_c"), shape(twice, "A_c_c")) == ((Const(4), Var("n")), (Const(4), Const(2)))
    assert_same_results(matmul.function, twice)


def test_loops_around_may_still_be_edited():
    cached = TILED.cache_read("A", at="k_o").interchange("j_o", "k_o").reverse("i_o").tile("A0", sizes=(3,))
    assert_same_results(matmul.function, cached)


def test_the_row_that_an_iteration_reads_and_the_one_that_it_writes_may_differ():
    assert_holds(stencil.function, lambda s: s.cache_read("a", at="i"))
    assert_holds(stencil.function, lambda s: s.cache_write("a", at="i"))
    assert_holds(stencil.function, lambda s: s.skew("j", by="i").interchange("i", "j").cache_write("a", at="j"))


def test_a_copy_that_is_out_of_date_is_refused():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(stencil).cache_read("a", at=None)
    (place, *_) = [line for line in str(raised.value).splitlines() if "by_hand.py" in line]
    assert str(raised.value) == f"""\
cache_read(a, at=None): S[i=1, j=0] would get from a_c: a[1, 2] as it was before the nest, not what S[i=0, j=1] \
writes (N = 2)
{place}
                a[i + 1, j + 1] = a[i, j + 2] + a[i, j + 1] + a[i, j]
                ^
hint: cache_write('a', at=None) keeps what is written there, too"""


def test_iterations_share_an_array_in_global_memory():
    shared = TILED.cache_read("A", at="j_o", scope="global")
    assert "storage" not in str(shared)
    assert_same_results(matmul.function, shared)
    with pytest.raises(IllegalSchedule) as raised:
        shared.parallel("i_o")
    assert str(raised.value).splitlines()[0] == (
        "parallel(i_o): anti dependence on A_c: S[i=0, j=0, k=0] must run before load_A[i_o=1, j_o=0, A0=4, A1=0], "
        "but iterations of loop 'i_o' would run at the same time (n = 5)"
    )


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda s: s.cache_read("D", at="k_o"), "there is no array 'D'\nhint: the arrays are: C, A, B"),
        (lambda s: s.cache_read("A", at="z"), "there is no loop 'z'\nhint: the loops are: i_o, j_o, k_o, i, j, k"),
        (
            lambda s: s.cache_read("A", at="k", scope="gpu"),
            "there is no scope 'gpu'\nhint: the scopes are: private, local, shared, global",
        ),
        (
            lambda s: s.cache_read("A", at="k", name="A[0]"),
            "'A[0]' is no name for a new array\nhint: a name has letters, digits and _, as in 'i_o'",
        ),
        (lambda s: s.cache_read("A", at="k", name="B"), "the name 'B' is taken\nhint: another: 'B_2'"),
        (
            lambda s: s.cache_write("A", at="k_o"),
            "nothing in loop 'k_o' writes 'A'\nhint: cache_read('A', at='k_o') copies what it reads",
        ),
        (lambda s: Schedule(blur).cache_read("c", at="i"), "nothing in loop 'i' reads 'c'"),
    ],
)
def test_what_cannot_be_cached(edit, message):
    with pytest.raises(InputError) as raised:
        edit(TILED)
    assert str(raised.value) == message


@pytest.mark.parametrize("what", ["cache_read", "cache_write"])
def test_random_nests_compute_the_same(what):
    def edit(schedule, loop):
        return getattr(schedule, what)(schedule.draft.scop.arrays[0].name, at=loop)

    assert on_random_nests((3, 7, 8, 9, 12), edit) >= 12


def test_sums_in_any_order_stay_so_beside_a_copy():
    cached = Schedule(matmul, options=ps.Options(reorder_reductions=True)).cache_read("A", at="i")
    ps.optimize(matmul, schedule=cached.reverse("k")).verify()
    with pytest.raises(IllegalSchedule, match="must run before"):
        Schedule(matmul).cache_read("A", at="i").reverse("k")
    with pytest.raises(IllegalSchedule, match="would get from C_c"):  # sums in a small array are in order
        Schedule(matmul, options=ps.Options(reorder_reductions=True)).cache_write("C", at="i").reverse("k")
