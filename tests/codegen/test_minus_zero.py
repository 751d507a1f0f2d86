"""gcc 12 takes 0.0 - x for -x where x comes from an integer, or is an absolute value: what is printed is not so."""

import numpy as np

import polysched as ps


@ps.nest
def differences(n: ps.size, i: ps.i32["n"], a: ps.f64["n"], out: ps.f64["n", 4]):
    for k in range(n):
        out[k, 0] = 0.0 - float(i[k])
        out[k, 1] = float(i[k]) - float(i[k]) - float(i[k])
        out[k, 2] = 0.0 - abs(a[k])
        out[k, 3] = 1.0 - float(i[k])


def test_the_differences_of_zeros_are_zeros_not_minus_zeros():
    i, a = np.array([0, 3, -3], np.int32), np.array([0.0, -2.0, -0.0])
    out = np.empty((3, 4))
    done = ps.optimize(differences)
    done(i=i, a=a, out=out)
    assert not np.signbit(out[0, :3]).any() and not np.signbit(out[2, 2])
    assert out.tolist() == [[0, 0, 0, 1], [-3, -3, -2, -2], [3, 3, 0, 4]]
    assert "i[c0] == 0 ? 0.0 : -(double)i[c0]" in str(done.source)
    done.verify()


def test_the_emulated_kernels_have_them_too():
    ps.optimize(differences, "cuda").verify()
