"""What has no dimensions is a number, or an array that can be changed: as NumPy, whichever way it is used then."""

import re

import numpy as np
import pytest
from op_programs import agree, run_nest, run_numpy

from polysched.errors import InputError
from polysched.frontend.op.op import parse_op

GIVEN = "def f(v: ps.f64[4], Y: ps.f64[4, 4], s: ps.f64):"
ARGUMENTS = {"v": np.array([1.5, -2, 3, 0.25]), "Y": np.arange(16.0).reshape(4, 4), "s": np.float64(2.5)}
MADE = """
s                               v.sum()                         np.sum(v, axis=0, initial=2)    v.argmax()
v.mean()                        v.std()                         np.max(v, initial=2)            np.sum(v[0], axis=())
v @ v                           np.inner(v, v)                  np.einsum('i,i', v, v)          np.tensordot(v, v, 1)
v[0]                            v[0, ...]                       Y[..., 1, 2]                    v[0, ...][()]
v[np.array(0)]                  v[np.array(0), ...]             [k for k in v][0]               np.take(v, 1)
s + 1                           +v[0, ...]                      np.sqrt(s)                      np.maximum(s, v[0, ...])
np.where(s > 0, s, 1)           np.select([s > 1], [s])         np.nan_to_num(v[0, ...])        np.round(v.argmax())
np.heaviside(s, 1)              np.logaddexp(s, 1)              np.nan_to_num(v.argmax())       np.clip(s, 0, 1)
s.astype(np.float32)            v[0, ...].astype(np.float32)    np.float64(v[0, ...])           np.float32(s)
s.copy()                        v[0, ...].copy()                np.copy(s)                      np.copy(2.0)
np.array(s)                     np.asarray(s)                   np.asarray(v[0, ...])           np.full((), 2.0)
np.zeros_like(s)                s.T                             v[0, ...].T                     np.reshape(s, ())
v[:1].reshape(())               v[:1].squeeze()                 np.squeeze(s)                   s[...]
np.expand_dims(s, ())           np.flip(v[0, ...])              np.roll(s, 1)                   np.pad(s, 1)
np.block(s)                     np.block(v[0, ...])             np.transpose(2.0)               np.finfo(v.dtype).eps
np.max(v, keepdims=True)[0]     np.add(s, 1, out=np.zeros(()))  np.sum(v[0], keepdims=True)     s > 1
"""
USES = [
    "y = x; y += 1",
    "y = x[...]; y += 1",
    "y = x[None, None]; y[-1] += 1",
    "y = np.expand_dims(x, 0); y += 1",
    "y = x.reshape(1, 1); y += 1",
    "y = np.atleast_1d(x); y += 1",
    "y = x.T; y += 1",
    "y = x[()]; y += 1",
    "y = np.asarray(x); y += 1",
    "y = x; y[...] = 1",
    "np.add(x, 1, out=x); y = x",
]


@pytest.mark.parametrize("made", re.split(r"\s\s+|\n", MADE.strip()))
def test_changed_as_in_numpy(made):
    for use in USES:
        if made == "s > 1":
            use = use.replace("+= 1", "^= True").replace("np.add(x, 1", "np.logical_xor(x, True")
        text = "\n    ".join([GIVEN, f"x = {made}", *use.split("; "), "return x, y"])
        try:
            run_numpy(text, ARGUMENTS)
        except TypeError:
            with pytest.raises(InputError, match="is a number, which NumPy does not let anything change"):
                agree(text, **ARGUMENTS)
        else:
            agree(text, **ARGUMENTS)


def test_a_number_from_outside_is_one():
    text = "def f(v: ps.f64[4]):\n    x = TWO\n    y = x\n    y += 1\n    return x * v, y * v"
    op = parse_op(text, "program.py", outside={"TWO": np.float64(2)})
    found = run_nest(op, {"v": ARGUMENTS["v"]}, {})
    assert [found[name].tolist() for name in op.results] == [(k * ARGUMENTS["v"]).tolist() for k in (2, 3)]


def test_an_array_from_outside_is_not_changed():
    text = "def f(v: ps.f64[4]):\n    y = TWO[...]\n    y += 1\n    return y * v"
    with pytest.raises(InputError, match="from outside"):
        parse_op(text, "program.py", outside={"TWO": np.array(2.0)})
