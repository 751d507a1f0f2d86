"""polysched/transform/analysis/products.py: sums of products, and the loops that are their rows, columns and terms."""

from __future__ import annotations

import random
import re

import nests
import numpy as np
import pytest

import polysched as ps
from polysched.config.machine import Machine
from polysched.errors import InputError
from polysched.frontend.python import parse_nest
from polysched.ir.text import show
from polysched.model.extract import extract
from polysched.model.tree.nodes import Domain, Tree
from polysched.model.tree.text import show_tree
from polysched.strategy.cpu import products
from polysched.transform.analysis.products import (
    SumOfProducts,
    kind_of,
    products_in,
    require_products,
    sum_of_products,
)
from tests.transform.scheduled import Scheduled, scheduled, written

CONVOLUTION = """def conv(out: f32[16, 9, 9], data: f32[4, 11, 11], weight: f32[16, 4, 3, 3]):
    for f in range(16):
        for y in range(9):
            for x in range(9):
                out[f, y, x] = 0.0
                for c in range(4):
                    for r in range(3):
                        for s in range(3):
                            out[f, y, x] += data[c, y + r, x + s] * weight[f, c, r, s]
"""


def of(text: str) -> Scheduled:
    return scheduled(parse_nest(text, "products.py"))


def found_in(arrays: str, loops: str, update: str) -> SumOfProducts | None:
    """In a nest over these loops, as in "i8 j9": i up to 8, j up to 9."""
    extents = {loop[0]: int(loop[1:]) for loop in loops.split()}
    lines = [f"def f({arrays}):"]
    lines += [f"{' ' * 4 * k}for {name} in range({extent}):" for k, (name, extent) in enumerate(extents.items(), 1)]
    fn = parse_nest("\n".join([*lines, " " * 4 * (len(extents) + 1) + update]), "products.py")
    (statement,) = extract(fn).statements
    return sum_of_products(extents, statement.body)


LOWERED = r"\bc\d+\b"  # a loop that no product has taken
_HEAD, _, SUMS = CONVOLUTION.partition("\n")
HEAD = _HEAD.replace("3]):", "3], b: f32[16], other: f32[16, 9, 9]):\n")
BIAS = """    for f in range(16):
        for y in range(9):
            for x in range(9):
                out[f, y, x] = max(out[f, y, x] + b[f], 0.0)
"""


def test_what_is_made_of_sums_goes_with_them_to_the_store():
    """Bias and what is above zero, each in loops of its own, which are in no tiles; C has one store for a tile."""
    fn = parse_nest(HEAD + SUMS + BIAS + BIAS.replace("b[f]", "out[f, y, x]"), "products.py")
    done = ps.optimize(fn, options=ps.Options(machine=Machine(cores=1), contract_floats=False))
    stores = [line for line in done.source.text.splitlines() if line.strip().startswith("out[")]
    assert stores and all("max_f32(" in line for line in stores)
    assert not re.search(LOWERED, done.source.text)
    arguments = nests.arguments_for(fn, random.Random(3), 0)
    expected = nests.outcome(fn, arguments)
    done(**arguments)
    np.testing.assert_array_equal(arguments["out"], expected["out"])


COPY = BIAS.replace("out[f, y, x] =", "other[f, y, x] =")


@pytest.mark.parametrize(
    ("nests_in_turn", "are_epilogues"),
    [
        ((SUMS, BIAS), True),
        ((SUMS, COPY), True),
        ((SUMS, COPY, BIAS), True),
        ((SUMS, COPY.replace("out[f, y, x] +", "out[f, x, y] +"), BIAS), False),
        ((SUMS, BIAS.replace("range(16)", "range(15)")), False),
        ((COPY, SUMS), False),
    ],
)
def test_which_loops_are_an_epilogue(nests_in_turn, are_epilogues):
    """Those behind the sums, without another use in between, that run once for each of them."""
    fn = parse_nest(HEAD + "".join(nests_in_turn), "products.py")
    text = ps.optimize(fn, options=ps.Options(machine=Machine(cores=1))).source.text
    assert (re.search(LOWERED, text) is None) == are_epilogues


def roles(found: SumOfProducts | None) -> str:
    if found is None:
        return "none"
    axes = {"batch": found.batch, "rows": found.rows, "columns": found.columns, "terms": found.terms}
    return ", ".join(f"{role} {' '.join(own.extents)}" for role, own in axes.items() if own.extents)


def test_a_convolution_is_a_sum_of_products():
    arrays = "out: f32[16, 9, 9], data: f32[4, 11, 11], weight: f32[16, 4, 3, 3]"
    update = "out[f, y, x] += data[c, y + r, x + s] * weight[f, c, r, s]"
    found = found_in(arrays, "f16 y9 x9 c4 r3 s3", update)
    assert roles(found) == "rows f, columns y x, terms c r s"
    assert found is not None
    assert (show(found.row), show(found.column)) == ("weight[f, c, r, s]", "data[c, y + r, x + s]")
    assert not found.row_first
    assert (found.columns.size, found.terms.size, found.updates) == (81, 36, 16 * 81 * 36)
    assert found.loops == ("f", "y", "x", "c", "r", "s")
    assert roles(found.turned()) == "rows y x, columns f, terms c r s"
    assert found.turned().turned() == found


SQUARES = "C: f64[9, 9], A: f64[9, 9], B: f64[9, 9], D: f64[9, 9, 9]"
ROLES = {
    "C[i, j] += A[i, k] * B[k, j]": "rows i, columns j, terms k",
    "C[i, j] += B[j, k] * A[k, i]": "rows i, columns j, terms k",
    "C[i, j] = C[i, j] + 2.0 * A[i, k] * B[k, j]": "rows i, columns j, terms k",
    "C[j, i] += A[i, k] * B[k, j]": "rows j, columns i, terms k",
    "D[i, j, k] += A[i, j] * B[i, k]": "batch i, rows j, columns k",
    "D[k, i, j] += A[i, k] * B[k, j]": "batch k, rows i, columns j",
    "D[i, k, j] += A[i, k] * B[k, j]": "batch k, rows i, columns j",
    "C[3, j] += A[i, k] * B[k, j]": "columns j, terms i k",
    "C[i, 3] += A[i, k] * B[k, j]": "none",  # nothing to put next to each other in registers
    "C[i, j] += A[i, j] * B[k, j]": "none",  # nor here: all columns are products of their own
    "C[i, i] += A[i, k] * B[k, j]": "none",
    "C[i, j + 0] += A[i, k] * B[k, j]": "none",
    "C[i, j] += C[i, k] * B[k, j]": "none",
    "C[i, j] += (A[i, k] if C[0, k] > 0.0 else 0.0) * B[k, j]": "none",
    "C[i, j] -= A[i, k] * B[k, j]": "none",
    "C[i, j] = A[i, k] * B[k, j]": "none",
    "C[i, j] = B[i, j] + A[i, k] * B[k, j]": "none",
    "C[i, j] = C[j, i] + A[i, k] * B[k, j]": "none",
    "C[i, j] += A[i, k] + B[k, j]": "none",
    "C[i, j] += A[0, k] * B[k, j]": "none",  # the same product for all i
    "C[i, j] += A[i, j] * B[j, i]": "none",
}


@pytest.mark.parametrize("update", ROLES)
def test_roles(update):
    assert roles(found_in(SQUARES, "i9 j9 k9", update)) == ROLES[update]


def test_columns_are_all_loops_of_their_side_if_the_last_are_few():
    """Batches of a convolution whose result has them behind its filters."""
    arrays = "out: f32[9, 9, 5, 8], data: f32[11, 11, 4, 8], weight: f32[3, 3, 4, 5]"
    update = "out[y, x, f, n] += data[y + r, x + s, c, n] * weight[r, s, c, f]"
    assert roles(found_in(arrays, "y9 x9 f5 n8 r3 s3 c4", update)) == "batch y x, rows f, columns n, terms r s c"
    assert roles(found_in(arrays, "y9 x9 f5 n7 r3 s3 c4", update)) == "rows f, columns y x n, terms r s c"


def test_subscripts_tell_roles_as_plain_as_they_get():
    assert roles(found_in(SQUARES, "i9 j9 k9", "C[i, j] += A[i - i, k] * B[k, j]")) == "none"
    assert roles(found_in(SQUARES, "i9 j9 k9", "C[i, j] += A[i, 0 * j + k] * B[k, j]")) == "rows i, columns j, terms k"


def test_a_result_without_dimensions_is_none():
    assert found_in("s: f64[()], A: f64[9]", "k9", "s[()] += A[k] * A[k]") is None


def kind(loops: str, update: str, *, dtype: str = "f32", reorder: bool = False) -> str | None:
    arrays = ", ".join(f"{name}: {dtype}[500, 500]" for name in "CAB")
    found = found_in(arrays, loops, update)
    assert found is not None
    return kind_of(found, reorder=reorder)


def test_products_that_are_large_enough_are_packed():
    update = "C[i, j] += A[i, k] * B[k, j]"
    assert kind("i16 j64 k16", update) == "packed"
    assert kind("i16 j64 k15", update) is None  # 15 360 updates
    assert kind("i4 j500 k500", update) == "packed"
    assert kind("i3 j500 k500", update) is None
    assert kind("i500 j7 k500", update) is None
    assert kind("i500 j500 k3", update) is None


def test_few_rows_are_dot_products_where_terms_lie_in_memory_and_may_change_places():
    update = "C[i, j] += A[i, k] * B[j, k]"
    assert kind("i3 j500 k500", update, reorder=True) == "dots"
    assert kind("i3 j500 k500", update) is None
    assert kind("i3 j500 k500", update, dtype="i32") == "dots"  # the same sum in any order
    assert kind("i3 j500 k500", "C[i, j] += A[i, k] * B[k, j]", reorder=True) is None
    assert kind("i3 j3 k500", update, reorder=True) is None
    assert kind("i3 j500 k63", update, reorder=True) is None
    assert kind("i4 j500 k500", update, reorder=True) == "packed"


def marked(nest: Scheduled) -> Tree:
    return written(nest, products)


def below_the_root(tree: Tree) -> str:
    assert isinstance(tree, Domain)
    return show_tree(tree.child.child)  # type: ignore[attr-defined]


def test_a_product_has_its_own_loops_under_its_mark():
    nest = of(CONVOLUTION)
    tree = marked(nest)
    assert below_the_root(tree) == """\
sequence
  filter: S0
    band: permutable
      [S0[f, y, x] -> f] coincident
      [S0[f, y, x] -> y] coincident
      [S0[f, y, x] -> x] coincident
  filter: S1
    mark: packed:S1
      band:
        [S1[f, y, x, c, r, s] -> f] coincident
        [S1[f, y, x, c, r, s] -> y] coincident
        [S1[f, y, x, c, r, s] -> x] coincident
        [S1[f, y, x, c, r, s] -> c]
        [S1[f, y, x, c, r, s] -> r]
        [S1[f, y, x, c, r, s] -> s]"""
    require_products(tree, nest.scop, reorder=False)
    nest.assert_holds(tree)


def test_terms_keep_the_order_of_the_source():
    nest = of("""def f(C: f32[40, 40], A: f32[40, 8, 8], B: f32[8, 8, 40]):
    for l in range(8):
        for j in range(40):
            for k in range(8):
                for i in range(40):
                    C[i, j] += A[i, k, l] * B[k, l, j]
""")
    assert below_the_root(marked(nest)) == """\
mark: packed:S
  band:
    [S[l, j, k, i] -> i] coincident
    [S[l, j, k, i] -> j] coincident
    [S[l, j, k, i] -> l]
    [S[l, j, k, i] -> k]"""


def product(*, ranges: tuple[str, str, str] = ("40", "40", "40"), update: str = "C[i, j] += A[i, k] * B[k, j]") -> str:
    return f"""def f(C: f32[60, 60], A: f32[60, 60], B: f32[60, 60], n: size):
    for i in range({ranges[0]}):
        for j in range({ranges[1]}):
            for k in range({ranges[2]}):
                {update}
"""


def test_boxes_of_constants_are_marked():
    nest = of(product())
    assert "mark: packed:S" in below_the_root(marked(nest))


OTHERS = {
    "sizes are not known": product(ranges=("n", "40", "40")).replace("60, 60", "n, 60"),
    "a triangle": product(ranges=("40", "i + 1", "40")),
    "from one": product(ranges=("1, 40", "40", "40")),
    "every second": product(ranges=("0, 40, 2", "40", "40")),
    "one row": product(ranges=("1", "40", "40")),
    "a loop that runs once": product(update="for b in range(1):\n                    C[i, j] += A[i, k + b] * B[k, j]"),
    "no terms": product(ranges=("40", "40", "0")),
    "small": product(ranges=("16", "16", "16")),
    "terms from the last": product(ranges=("40", "40", "39, -1, -1")),
    "time steps": product(update="for t in range(2):\n                    C[i, j] += A[i, k] * B[k, j]"),
    "another statement in the loops": product(update="C[i, j] += A[i, k] * B[k, j]\n                A[i, k] = B[k, k]"),
    "it needs itself": product(update="C[i, j] += C[j, k] * B[k, j]"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_bands_stay(name):
    nest = of(OTHERS[name])
    assert list(products_in(nest.tree, nest.scop, nest.deps)) == []


def test_terms_from_the_last_may_be_added_from_the_first_if_reductions_may_be_reordered():
    fn = parse_nest(OTHERS["terms from the last"], "products.py")
    done = ps.optimize(fn, options=ps.Options(reorder_reductions=True))
    assert "mark: packed:S" in show_tree(done.tree)


# --- marks that a user gives


def given(text: str = CONVOLUTION, **changed: str) -> tuple[Tree, Scheduled]:
    """The tree of a marked nest, with parts of its text as YAML replaced."""
    nest = of(text)
    yaml = ps.to_yaml(marked(nest))
    for old, new in changed.items():
        yaml = yaml.replace(old.replace("__", ":"), new)
    return ps.from_yaml(yaml), nest


def refusal(tree: Tree, nest: Scheduled, *, reorder: bool = False) -> str:
    with pytest.raises(InputError) as error:
        require_products(tree, nest.scop, reorder=reorder)
    return str(error.value)


def test_a_mark_is_refused_on_what_is_no_sum_of_products():
    tree, nest = given(packed__S1="packed:S0")
    assert refusal(tree, nest) == "mark 'packed:S0': S0 is no sum of products over a box"
    tree, nest = given(packed__S1="packed:S9")
    assert refusal(tree, nest) == "mark 'packed:S9': S9 is no sum of products over a box"


def test_a_mark_is_refused_above_other_loops():
    nest = of(CONVOLUTION)
    text = ps.to_yaml(marked(nest)).replace("[(c)]", "[(c + r)]")
    assert refusal(ps.from_yaml(text), nest) == (
        "mark 'packed:S1': the band below is not over f, y, x, c, r, s of S1, and no more"
    )


def test_a_product_is_one_by_hand_too():
    """Its loops stay in one band, in their order, and are left alone."""
    fn = parse_nest(product(), "products.py")
    done = ps.optimize(fn)
    schedule = ps.Schedule(fn, done.tree)
    assert schedule.tree == done.tree and "mark: packed:S" in str(schedule)
    assert ps.optimize(fn, schedule=schedule).source.text == done.source.text
    for loop in ("i", "k"):
        with pytest.raises(InputError) as error:
            schedule.tile(loop, sizes=(4,))
        assert str(error.value) == f"loop '{loop}' is marked product already\nhint: edit loops before they are marked"


def test_dot_products_are_refused_where_the_order_of_terms_matters():
    tree, nest = given(packed__S1="dots:S1")
    assert refusal(tree, nest) == (
        "mark 'dots:S1': dot products add the terms of S1 in another order\nhint: allow it by reorder_reductions=True"
    )
    require_products(tree, nest.scop, reorder=True)
