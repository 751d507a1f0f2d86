import pytest

from polysched.ir.build import sub, var
from polysched.ir.text import show
from polysched.support import isl
from polysched.transform.edits.values.copies import box

SIZES = isl.Set("[n] -> { : n >= 0 }")


@pytest.mark.parametrize(
    ("elements", "corner", "shape"),
    [
        ("[o] -> b[x] : 0 <= o and 32o - 1 <= x <= 32o + 32 and 1 <= x < n", ["(-1 + 32o)"], ["34"]),
        ("[o] -> b[x, y] : 4o <= x < 4o + 4 and 0 <= x, y < n", ["(4o)", "(0)"], ["4", "n"]),
        ("[i] -> b[x] : 0 <= x <= i < n", ["(0)"], ["n"]),
        ("[] -> b[x] : 2 <= x < n - 1", ["(2)"], ["max(n - 3, 0)"]),
        ("[i, j] -> b[i, j, x] : 0 <= i, j < n and j <= x <= j + 1", ["(j)"], ["2"]),  # one element along i and j
        ("[i] -> b[] : 0 <= i < n", [], []),
    ],
)
def test_boxes(elements, corner, shape):
    found = box(isl.Map(f"[n] -> {{ {elements} }}"), SIZES)
    assert [str(low).rpartition("[")[2].partition("]")[0] for low in found.corner] == corner
    assert [show(extent) for extent in found.shape] == shape


def test_a_subscript_in_the_box_and_its_relation_are_the_same():
    found = box(isl.Map("[n] -> { [o] -> b[x] : 0 <= o and 32o - 1 <= x <= 32o + 32 and 1 <= x < n }"), SIZES)
    arrival = isl.Map("{ S[i] -> [floor(i/32)] }")
    (subscript,) = found.element((sub(var("i"), 1),), arrival, ("i",))
    assert show(subscript) == "i - 1 - (32 * floordiv(i, 32) - 1)"
    relation = found.relation(isl.Map("[n] -> { S[i] -> b[i - 1] }"), arrival, "b_at")
    assert relation.is_equal(isl.Map("[n] -> { S[i] -> b_at[i - 32*floor(i/32)] }"))
