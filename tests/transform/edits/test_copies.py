from by_hand import blur

from polysched import Schedule
from polysched.ir.text import show
from polysched.support import isl
from polysched.transform.edits.values.copies import box, copies_of, in_box, iterator_names

NEEDED = isl.Map("[n] -> { [o] -> S0[i] : 0 <= o and 32o - 1 <= i <= 32o + 32 and 1 <= i < n - 1 }")


def test_a_copy_for_each_iteration_that_needs_it():
    scop = Schedule(blur).draft.scop
    copies = copies_of(scop.statement("S0"), NEEDED, "again", ("i_o",))
    assert copies.statement.iterators == ("i_o", "i")
    assert copies.origin.is_equal(isl.Map("{ again[o, i] -> S0[i] }").intersect_domain(copies.statement.domain))
    assert copies.arrival.is_equal(isl.Map("{ again[o, i] -> [o] }").intersect_domain(copies.statement.domain))
    assert [str(m) for m in copies.coordinates] == [str(isl.UnionMap.from_map(copies.arrival))]


def test_it_works_on_a_box():
    scop = Schedule(blur).draft.scop
    copies = copies_of(scop.statement("S0"), NEEDED, "again", ("i_o",))
    (write,) = copies.statement.writes
    small = box(copies.arrival.reverse().apply_range(write.relation), scop.context)
    boxed = in_box(copies.statement, "b", small, copies.arrival, "b_at")
    assert show(boxed.body).strip() == "b_at[i - (32 * i_o - 1)] = a[i - 1] + a[i] + a[i + 1]"
    (write,) = boxed.writes
    expected = isl.Map("{ again[o, i] -> b_at[i - 32o + 1] }").intersect_domain(boxed.domain)
    assert write.relation.is_equal(expected)
    assert boxed.reads == copies.statement.reads


def test_names_of_iterators():
    scop = Schedule(blur).draft.scop
    assert iterator_names(["i_o", "t+i", "n", "i", "max"], scop) == ("i_o", "c1", "n_2", "i", "c4")
    assert iterator_names(["i"], scop, scop.statements) == ("i_2",)
