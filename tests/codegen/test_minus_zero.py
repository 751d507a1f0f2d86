"""gcc 12 takes 0.0 - x for -x where it sees that x is never -0.0: what is printed hides that."""

import numpy as np

import polysched as ps


@ps.nest
def differences(n: ps.size, i: ps.i32["n"], a: ps.f64["n"], b: ps.boolean["n"], out: ps.f64["n", 10]):
    for k in range(n):
        out[k, 0] = 0.0 - float(i[k])
        out[k, 1] = float(i[k]) - float(i[k]) - float(i[k])
        out[k, 2] = 0.0 - abs(a[k])
        out[k, 3] = 1.0 - float(i[k])
        out[k, 4] = -float(i[k]) + 0.0
        out[k, 5] = 0.0 - ps.f64(b[k])
        out[k, 6] = 0.0 - (0.0 if i[k] == 0 else 1.0)
        out[k, 7] = 0.0 - (float(i[k]) + 0.0)
        out[k, 8] = (0.0 if i[k] == 0 else 1.0) - float(i[k])
        out[k, 9] = 0.0 - (0.0 - abs(a[k]))


def test_the_differences_of_zeros_are_zeros_not_minus_zeros():
    i, a, b = np.array([0, 3, -3], np.int32), np.array([0.0, -2.0, -0.0]), np.array([False, True, False])
    out = np.empty((3, 10))
    done = ps.optimize(differences)
    done(i=i, a=a, b=b, out=out)
    assert not np.signbit(out[0]).any() and not np.signbit(out[2, 2])
    assert out.tolist() == [
        [0, 0, 0, 1, 0, 0, 0, 0, 0, 0],
        [-3, -3, -2, -2, -3, -1, -1, -3, -2, 2],
        [3, 3, 0, 4, 3, 0, -1, 3, 4, 0],
    ]
    assert "sub_f64(0.0, (double)i[c0])" in str(done.source) and "1.0 - (double)i[c0]" in str(done.source)
    done.verify()


def test_the_emulated_kernels_have_them_too():
    ps.optimize(differences, "cuda").verify()
