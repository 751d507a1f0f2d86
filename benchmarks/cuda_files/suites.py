"""Launches of PolyBench-GPU, SHOC and Parboil."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.cuda_files.launch import Launch, floats, integers, one, unsigned


def _polybench() -> list[Launch]:
    """Their sizes are constants of theirs, so that arrays are large and grids small."""
    product, step = "GEMM/gemm.cu", "FDTD-2D/fdtd2d.cu"

    def fields() -> dict[str, Any]:
        return {it: floats(2049 * 2049) for it in ("ex", "ey", "hz")} | {"nx": 2048, "ny": 2048, "t": 1}

    def given() -> dict[str, Any]:
        return {"m": 2048, "n": 2048, "mean": floats(2049), "data": floats(2049 * 2049)}

    def matrices() -> dict[str, Any]:
        return {it: floats(2048 * 2048) for it in "arq"} | {"ni": 2048, "nj": 2048, "k": 2045}

    return [
        one(
            product,
            "gemm_kernel",
            (2, 2),
            (32, 8),
            lambda: {
                **{it: floats(512 * 512) for it in "abc"},
                **dict.fromkeys(("ni", "nj", "nk"), 512),
                "alpha": 1.5,
                "beta": 0.5,
            },
        ),
        one(step, "fdtd_step1_kernel", (2, 2), (32, 8), lambda: {**fields(), "_fict_": floats(500)}),
        one(step, "fdtd_step2_kernel", (2, 2), (32, 8), fields),
        one(step, "fdtd_step3_kernel", (2, 2), (32, 8), fields),
        one("CORR/correlation.cu", "mean_kernel", 2, 256, given),
        one("CORR/correlation.cu", "std_kernel", 2, 256, lambda: {**given(), "std": floats(2049)}),
        one("CORR/correlation.cu", "reduce_kernel", (2, 2), (32, 8), lambda: {**given(), "std": floats(2049)}),
        one(
            "2DCONV/2DConvolution.cu",
            "convolution2D_kernel",
            (2, 2),
            (32, 8),
            lambda: {"ni": 4096, "nj": 4096, "A": floats(4096 * 40), "B": floats(4096 * 40)},
        ),
        *(one("GRAMSCHM/gramschmidt.cu", f"gramschmidt_kernel{k}", 8, 256, matrices) for k in (1, 2, 3)),
        *(
            one("LU/lu.cu", f"lu_kernel{k}", grid, block, lambda: {"n": 2048, "A": floats(2048 * 2048), "k": 2000})
            for k, grid, block in ((1, 8, 256), (2, (64, 256), (32, 8)))
        ),
    ]


def _shoc() -> list[Launch]:
    scan, md, bfs = "scan/Scan.cu", "md/MD.cu", "bfs/bfs_kernel.cu"
    return [
        one(
            "level1/reduction/Reduction.cu",
            "reduce<float, 256>",
            2,
            256,
            shared=1024,
            values=lambda: {"g_idata": floats(2048), "g_odata": floats(2), "n": 2048},
        ),
        one(
            scan,
            "reduce<float, 256>",
            2,
            256,
            shared=1024,
            values=lambda: {"g_idata": floats(4096), "g_odata": floats(2), "n": 4096},
        ),
        one(
            scan,
            "scan_single_block<float, 256>",
            1,
            256,
            shared=4096,
            values=lambda: {"g_block_sums": floats(200), "n": 200},
        ),
        one(
            scan,
            "bottom_scan<float, float4, 256>",
            2,
            256,
            shared=4096,
            values=lambda: {"g_idata": floats(4096), "g_odata": floats(4096), "g_block_sums": floats(2), "n": 4096},
        ),
        one(
            "stencil2d/CUDAStencilKernel.cu",
            "StencilKernel<float>",
            (2, 2),
            (1, 64),
            shared=4 * 1000,
            values=lambda: {
                "data": floats(144 * 20),
                "newData": floats(144 * 20),
                "alignment": 16,
                "nStripItems": 8,
                "wCenter": 0.5,
                "wCardinal": 0.25,
                "wDiagonal": 0.125,
            },
        ),
        one(
            md,
            "compute_lj_force<float, float3, float4, false, texReader_sp>",
            2,
            128,
            lambda: {
                "force3": floats(768),
                "position": floats(1024),
                "neighCount": 6,
                "cutsq": 16.0,
                "lj1": 1.5,
                "lj2": 2.0,
                "neighList": integers(6 * 256, below=256),
                "inum": 256,
            },
        ),
        one(
            "triad/Triad.cu",
            "triad",
            2,
            128,
            lambda: {**{it: floats(256) for it in "ABC"}, "s": 1.5},
        ),
        one(
            bfs,
            "BFS_kernel_warp",
            2,
            128,
            lambda: {
                "levels": unsigned(100, below=1),
                "edgeArray": np.arange(0, 303, 3, dtype=np.uint32),
                "numVertices": 100,
                "edgeArrayAux": unsigned(303, below=100),
                "W_SZ": 32,
                "CHUNK_SZ": 32,
                "curr": 0,
                "flag": integers(1),
            },
        ),
        one("spmv/Spmv.cu", "zero<float>", 2, 128, lambda: {"a": floats(200), "size": 200}),
    ]


def _parboil() -> list[Launch]:
    stencil, q = "stencil/src/cuda/main.cu", "mri-q/src/cuda/main.cu"
    return [
        one(
            "sgemm/src/cuda/main.cu",
            "mysgemmNT",
            (2, 2),
            (16, 8),
            lambda: {
                "A": floats(256 * 32),
                "lda": 256,
                "B": floats(32 * 32),
                "ldb": 32,
                "C": floats(256 * 32),
                "ldc": 256,
                "k": 32,
                "alpha": 1.5,
                "beta": 0.5,
            },
        ),
        one(
            stencil,
            "block2D_hybrid_coarsen_x",
            (2, 4),
            (32, 4),
            shared=4 * 64 * 4 * 2,
            values=lambda: {
                "c0": 0.5,
                "c1": 0.25,
                "A0": floats(100 * 14 * 6),
                "Anext": floats(100 * 14 * 6),
                "nx": 100,
                "ny": 14,
                "nz": 6,
            },
        ),
        one(
            "spmv/src/cuda/main.cu",
            "spmv_jds",
            2,
            128,
            lambda: {
                "dst_vector": floats(200),
                "d_data": floats(800),
                "d_index": integers(800, below=200),
                "dim": 200,
                "d_perm": np.arange(200, dtype=np.int32),
                "x_vec": floats(200),
                "d_nzcnt": integers(200),
                "jds_ptr_int": (np.arange(5000) % 3 * 200).astype(np.int32),
                "sh_zcnt_int": integers(5000, below=1) + 3,
            },
        ),
        one(
            "tpacf/src/cuda/main.cu",
            "gen_hists",
            5,
            256,
            lambda: {
                "histograms": integers(5 * 20, dtype="uint64"),
                "NUM_SETS": 2,
                "NUM_ELEMENTS": 300,
                **{f"all_{axis}_data": floats(300 * 3) for axis in "xyz"},
                "dev_binb": np.linspace(1, 0, 21).astype(np.float32),
            },
        ),
        one(
            q,
            "ComputePhiMag_GPU",
            2,
            64,
            lambda: {**{it: floats(100) for it in ("phiR", "phiI", "phiMag")}, "numK": 100},
        ),
        one(
            q,
            "ComputeQ_GPU",
            2,
            256,
            lambda: {**{it: floats(512) for it in ("x", "y", "z", "Qr", "Qi")}, "numK": 200, "kGlobalIndex": 0},
        ),
    ]


SUITES = (*_polybench(), *_shoc(), *_parboil())
