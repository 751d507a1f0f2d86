"""What an operator cannot have: the place, the construct, what to write instead."""

import pytest

from polysched.errors import InputError
from polysched.frontend.op.op import parse_op

HEAD = 'def f(a: ps.f32["n", 4], b: ps.f32["m"], i: ps.i32["n"], n: ps.size):'


@pytest.mark.parametrize(
    ("line", "column", "message", "hint"),
    [
        (
            "return a + b",
            12,
            "the shapes [n, 4] of 'a' and [m] of 'b' cannot be broadcast together",
            "4 and m are not known to be equal: write one size for both",
        ),
        (
            "return a[:, :3] + a",
            12,
            "the shapes [n, 3] of 'a[:, :3]' and [n, 4] of 'a' cannot be broadcast together",
            "3 and 4 differ, and neither is 1",
        ),
        (
            "a[:, 0] = b",
            5,
            "a value of shape [m] cannot be broadcast to 'a[:, 0]' of shape [n]",
            "each extent must be 1 or the same",
        ),
        (
            "return a @ b",
            12,
            "'a' of shape [n, 4] and 'b' of shape [m] cannot be multiplied as matrices",
            "the inner extents 4 and m must be equal",
        ),
        (
            "return np.concatenate([a, b])",
            12,
            "'a' of shape [n, 4] and 'b' of shape [m] cannot be concatenated",
            "their extents must be equal but for axis 0",
        ),
        (
            "while n: pass",
            5,
            "a while loop cannot be in an operator",
            "write for i in range(4), with a number of iterations that is known",
        ),
        (
            "for k in range(n): a[k] = 0",
            14,
            "the number of iterations, n, is not known",
            "write operations on whole arrays, as in np.cumsum(x), or a nest: @ps.nest",
        ),
        ("if a[0, 0] > 0: b = a", 8, "'a[0, 0] > 0' depends on data", "write np.where(cond, x, y)"),
        (
            "return a[a > 0]",
            12,
            "how many elements a mask chooses of 'a' depends on data",
            "write np.where(mask, x, 0) and reduce that",
        ),
        (
            "return np.linalg.svd(a)",
            12,
            "the function 'np.linalg.svd' is not supported in an operator",
            "factorize outside; np.linalg.norm is supported",
        ),
        (
            "i += 1.5",
            5,
            "the result is f64, and does not go into an array of i32 in place",
            "convert it, as in x = (x + y).astype(ps.i32)",
        ),
        (
            "return a[n - 3:]",
            12,
            "the sign of 'n - 3' is not known, and says which end of the array a bound counts from",
            "write max(n - 3, 0)",
        ),
        (
            "return a[0, 5]",
            12,
            "the index 5 is out of bounds of 'a', whose extent there is 4",
            "write an index from 0 to one less than the extent",
        ),
        ("return {1: 2}", 12, "a dict cannot be in an operator", "use a tuple"),
        (
            "return np.tril(a) + np.pad(a, 1, 'mean')",
            25,
            "pad has the modes 'constant', 'edge', 'reflect', 'symmetric' and 'wrap'",
            "the code raises this: pass what it can take",
        ),
        (
            "return np.argsort(b)",
            12,
            "the function 'np.argsort' is not supported in an operator",
            "write ranks, as in (x[None, :] < x[:, None]).sum(axis=1), or sort before the call",
        ),
        (
            "a[a > 0] = b",
            5,
            "which elements of an array go where a mask chooses of 'a' depends on data",
            "write x[...] = np.where(mask, new, x)",
        ),
        (
            "return a[:, [0, 4]]",
            12,
            "the index 4 is out of bounds of a dimension of extent 4",
            "write an index from 0 to one less than the extent",
        ),
        ("return a[b]", 12, "an array of f32 is no subscript", "subscripts are integers, slices, None and ..."),
        (
            "return i ** i",
            12,
            "a power of integers needs a number as its exponent",
            "write a product, or x.astype(ps.f64) ** y",
        ),
        ("return i ** -1", 12, "integers have no negative powers", "convert them first, as in x.astype(ps.f64) ** -1"),
        (
            "np.add(a, 1, out=i)",
            5,
            "the result is f32, and does not go into an array of i32 in place",
            "convert it, as in x = (x + y).astype(ps.i32)",
        ),
        (
            "return np.exp(a, where=a > 0)",
            12,
            "where= leaves the other elements unset",
            "write np.where(cond, x, y), or add out=y",
        ),
        (
            "return np.einsum('ij,jk', a)",
            12,
            "'ij,jk' names 2 operands, and there are 1",
            "separate the letters of one from those of the next by a comma",
        ),
        (
            "return np.sum(a, axes=0)",
            12,
            "'np.sum' is called with other arguments than it takes: got an unexpected keyword argument 'axes'",
            "it takes a, axis, keepdims, dtype, initial, where",
        ),
        (
            "return a.sort()",
            12,
            "an array has no method 'sort' in an operator",
            "write ranks, as in (x[None, :] < x[:, None]).sum(axis=1), or sort before the call",
        ),
        (
            "return np.where(a > 0)",
            12,
            "where a condition holds depends on data, and how often",
            "write np.where(cond, x, y)",
        ),
        (
            "return a.astype('f33')",
            12,
            "'f33' is no dtype",
            "dtypes are bool, f16, f32, f64, i16, i32, i64, i8, u16, u32, u64, u8, as in ps.f32 or np.float32",
        ),
        (
            "return np.sum",
            12,
            "'np.sum' is no value that an operator knows",
            "there are dtypes, functions to call, and np.pi, e, inf, nan, newaxis",
        ),
        (
            "return a if a[0, 0] > 0 else b",
            12,
            "the shape of this is [n, 4] or [m], as data decide",
            "give both the same shape",
        ),
        ("a.diagonal()[0] = 1", 5, "'a[0]' is a view that NumPy does not let anything change", "copy it first"),
        (
            "assert a.shape[1] == 3, 'three columns'",
            5,
            "the assertion does not hold: three columns",
            "pass what it asks for",
        ),
    ],
)
def test_refused(line, column, message, hint):
    with pytest.raises(InputError) as caught:
        parse_op(f"{HEAD}\n    {line}\n", "model.py")
    assert str(caught.value) == f"model.py:2:{column}: {message}\n      {line}\n  {' ' * (column - 1)}^\nhint: {hint}"


def test_the_declared_result_is_checked():
    with pytest.raises(InputError) as caught:
        parse_op('def f(a: ps.f32["n", 4]) -> ps.f32["n", 5]:\n    return a + 1', "model.py")
    said = str(caught.value)
    assert "the result 'out' is f32[n, 4], and declared as f32[n, 5]" in said
    assert said.endswith("\nhint: declare what is returned")
    with pytest.raises(InputError, match="\nhint: declare what is returned, or convert it with astype"):
        parse_op('def f(a: ps.f32["n", 4]) -> ps.f64["n", 4]:\n    return a + 1', "model.py")
