"""polysched/codegen/emit/launch/census.py: what a nest is made of, found once for the texts of all its kernels."""

import polysched as ps
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.emit.launch import census


@ps.nest
def two_kernels(a: ps.f64["n * m"], b: ps.f64["n"], k: ps.i64["n"], n: ps.size, m: ps.size, pad: ps.size):
    for i in range(n):
        for j in range(m):
            a[i * m + j] = ps.exp(b[i])
    for i in range(n):
        b[i] = b[i] + k[i] + pad


def test_names_are_told_apart_by_their_use():
    found = census.Census(two_kernels.function)
    assert found.called == {"exp"} and found.written >= {"a", "b"} and found.read >= {"b", "k", "pad"}
    assert "i" in found.counts and found.positive == {"n", "m"}


def test_it_is_taken_once_for_all_kernels(monkeypatch):
    kernel = ps.optimize(two_kernels, "cuda").kernel
    taken = []
    monkeypatch.setattr(census.Census, "__init__", counted(census.Census.__init__, taken))
    assert emit_cuda(kernel).text.count("__global__") >= 2
    assert len(taken) == 1


def counted(init, taken):
    def counting(self, fn):
        taken.append(fn)
        init(self, fn)

    return counting
