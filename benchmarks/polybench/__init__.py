"""The 30 kernels of PolyBench/C 4.2.1 as nests, written from their definitions.

KERNELS["gemm"].nest                     the nest
KERNELS["gemm"].sizes["large"]["ni"]     its sizes in the data sets mini, small, medium and large
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.polybench import blas, datamining, kernels, medley, solvers, stencils
from benchmarks.polybench.sizes import SIZES
from polysched import Nest
from polysched.operators.examples import jacobi_2d, seidel_2d


@dataclass(frozen=True)
class Kernel:
    """A nest, and its sizes by name in each data set."""

    nest: Nest
    sizes: dict[str, dict[str, int]]


_NESTS: dict[str, Nest] = {
    "correlation": datamining.correlation,
    "covariance": datamining.covariance,
    "gemm": blas.gemm,
    "gemver": blas.gemver,
    "gesummv": blas.gesummv,
    "symm": blas.symm,
    "syr2k": blas.syr2k,
    "syrk": blas.syrk,
    "trmm": blas.trmm,
    "2mm": kernels.two_mm,
    "3mm": kernels.three_mm,
    "atax": kernels.atax,
    "bicg": kernels.bicg,
    "doitgen": kernels.doitgen,
    "mvt": kernels.mvt,
    "cholesky": solvers.cholesky,
    "durbin": solvers.durbin,
    "gramschmidt": solvers.gramschmidt,
    "lu": solvers.lu,
    "ludcmp": solvers.ludcmp,
    "trisolv": solvers.trisolv,
    "deriche": medley.deriche,
    "floyd-warshall": medley.floyd_warshall,
    "nussinov": medley.nussinov,
    "adi": stencils.adi,
    "fdtd-2d": stencils.fdtd_2d,
    "heat-3d": stencils.heat_3d,
    "jacobi-1d": stencils.jacobi_1d,
    "jacobi-2d": jacobi_2d,
    "seidel-2d": seidel_2d,
}

KERNELS: dict[str, Kernel] = {name: Kernel(nest, SIZES[name]) for name, nest in _NESTS.items()}


def small_odd_sizes(kernel: Kernel) -> dict[str, int]:
    """Sizes that differ and divide no tile, for an interpreter to get through."""
    return dict(zip(kernel.nest.function.sizes, (7, 11, 9, 5, 13), strict=False))
