"""Launches of the kernels of public CUDA files: as their hosts do, at small sizes, with partial blocks if they can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cuda_files.launch import Launch, floats, integers, unsigned


def _reductions() -> list[Launch]:
    def one(kernel: str, grid: int, threads: int, n: int, numbers: Callable[..., np.ndarray] = floats) -> Launch:
        return Launch(
            file="reduction/reduction_kernel.cu",
            kernel=kernel,
            grid=grid,
            block=threads,
            shared=4 * threads,
            arguments=lambda: {"g_idata": numbers(n), "g_odata": numbers(grid), "n": n},
        )

    return [
        one("reduce0<float>", 4, 128, 500),
        one("reduce1<float>", 4, 128, 500),
        one("reduce2<float>", 4, 128, 500),
        one("reduce3<float>", 2, 128, 500),
        one("reduce4<float, 256>", 2, 256, 1000),
        one("reduce5<float, 512>", 2, 512, 2000),
        one("reduce6<float, 512, false>", 2, 512, 3000),
        one("reduce6<float, 512, true>", 2, 512, 4096),
        one("reduce7<float, 128, false>", 2, 128, 1000),
        one("reduce7<int, 128, true>", 2, 128, 1024, integers),
        one("cg_reduce<float>", 2, 128, 1000),
        one("multi_warp_cg_reduce<float, 128, 64>", 2, 128, 1000),
    ]


def _transposes() -> list[Launch]:
    def one(kernel: str, width: int, height: int) -> Launch:
        return Launch(
            file="transpose/transpose.cu",
            kernel=kernel,
            grid=(width // 32, height // 32),
            block=(32, 16),
            arguments=lambda: {
                "odata": floats(width * height),
                "idata": floats(width * height),
                "width": width,
                "height": height,
            },
        )

    names = ("Naive", "Coalesced", "NoBankConflicts", "Diagonal", "FineGrained", "CoarseGrained")
    kernels = ("copy", "copySharedMem", *(f"transpose{name}" for name in names))
    return [*(one(kernel, 64, 64) for kernel in kernels), one("transposeDiagonal", 64, 96)]


def _samples() -> list[Launch]:
    scan, histogram = "scan/scan.cu", "histogram/histogram{}.cu"
    shuffles, walsh = "shfl_scan/shfl_scan.cu", "fastWalshTransform/fastWalshTransform.cu"
    fence, separable = "threadFenceReduction/threadFenceReduction.cu", "convolutionSeparable/convolutionSeparable.cu"

    def merge(bins: int) -> Launch:
        return Launch(
            file=histogram.format(bins), kernel=f"mergeHistogram{bins}Kernel", grid=4, block=256,
            arguments=lambda: {
                "d_Histogram": unsigned(bins), "d_PartialHistograms": unsigned(300 * bins), "histogramCount": 300,
            },
        )  # fmt: skip

    def fenced(kernel: str, n: int) -> Launch:
        return Launch(
            file=fence, kernel=kernel, grid=3, block=128, shared=512,
            arguments=lambda: {"g_idata": floats(n), "g_odata": floats(3), "n": n},
        )  # fmt: skip

    def convolution(kernel: str, width: int, height: int, block: tuple[int, int]) -> Launch:
        return Launch(
            file=separable, kernel=kernel, grid=(2, 2), block=block,
            arguments=lambda: {
                "d_Dst": floats(width * height), "d_Src": floats(width * height),
                "imageW": width, "imageH": height, "pitch": width,
            },
        )  # fmt: skip

    return [
        Launch(
            file="matrixMul/matrixMul.cu", kernel="MatrixMulCUDA<16>", grid=(2, 3), block=(16, 16),
            arguments=lambda: {"A": floats(48, 64), "B": floats(64, 32), "C": floats(48, 32), "wA": 64, "wB": 32},
        ),
        Launch(
            file=scan, kernel="scanExclusiveShared", grid=2, block=256,
            arguments=lambda: {"d_Dst": unsigned(2048), "d_Src": unsigned(2048), "size": 1024},
        ),
        Launch(
            file=scan, kernel="scanExclusiveShared2", grid=1, block=256,
            arguments=lambda: {
                "d_Buf": unsigned(64), "d_Dst": unsigned(65536), "d_Src": unsigned(65536), "N": 64, "arrayLength": 64,
            },
        ),
        Launch(
            file=scan, kernel="uniformUpdate", grid=2, block=256,
            arguments=lambda: {"d_Data": unsigned(2048), "d_Buffer": unsigned(2)},
        ),
        Launch(
            file=histogram.format(64), kernel="histogram64Kernel", grid=2, block=64,
            arguments=lambda: {
                "d_PartialHistograms": unsigned(128), "d_Data": unsigned(1200, below=1 << 32), "dataCount": 300,
            },
        ),
        merge(64),
        Launch(
            file=histogram.format(256), kernel="histogram256Kernel", grid=2, block=192,
            arguments=lambda: {
                "d_PartialHistograms": unsigned(512), "d_Data": unsigned(1000, below=1 << 32), "dataCount": 1000,
            },
        ),
        merge(256),
        Launch(
            file=shuffles, kernel="shfl_scan_test", grid=2, block=256, shared=32,
            arguments=lambda: {"data": integers(512), "width": 32, "partial_sums": integers(2)},
        ),
        Launch(
            file=shuffles, kernel="uniform_add", grid=2, block=256,
            arguments=lambda: {"data": integers(512), "partial_sums": integers(2), "len": 512},
        ),
        Launch(
            file=shuffles, kernel="shfl_intimage_rows", grid=2, block=120,
            arguments=lambda: {"img": unsigned(960, below=1 << 32), "integral_image": unsigned(3840)},
        ),
        Launch(
            file=shuffles, kernel="shfl_vertical_shfl", grid=1, block=(32, 8),
            arguments=lambda: {"img": unsigned(1080 * 32), "width": 32, "height": 1080},
        ),
        fenced("reduceMultiPass<128, false>", 1000),
        fenced("reduceSinglePass<128, false>", 1000),
        Launch(
            file="scalarProd/scalarProd.cu", kernel="scalarProdGPU", grid=2, block=256,
            arguments=lambda: {
                "d_C": floats(4), "d_A": floats(4 * 1500), "d_B": floats(4 * 1500), "vectorN": 4, "elementN": 1500,
            },
        ),
        convolution("convolutionRowsKernel", 256, 8, (16, 4)),
        convolution("convolutionColumnsKernel", 32, 128, (16, 8)),
        Launch(
            file=walsh, kernel="fwtBatch1Kernel", grid=2, block=128, shared=2048,
            arguments=lambda: {"d_Output": floats(1024), "d_Input": floats(1024), "log2N": 9},
        ),
        Launch(
            file=walsh, kernel="fwtBatch2Kernel", grid=(2, 2), block=256,
            arguments=lambda: {"d_Output": floats(4096), "d_Input": floats(4096), "stride": 512},
        ),
        Launch(
            file=walsh, kernel="modulateKernel", grid=2, block=64,
            arguments=lambda: {"d_A": floats(500), "d_B": floats(500), "N": 500},
        ),
    ]  # fmt: skip


def _neighbours(n: int, step: int) -> np.ndarray:
    """The next index on one side, inside."""
    return np.clip(np.arange(n) + step, 0, n - 1).astype(np.int32)


def _speckles() -> list[Launch]:
    """srad_v1 on an image of 30 by 20."""
    rows, columns = 30, 20
    size = rows * columns

    def around() -> dict[str, Any]:
        sides = {"d_iN": _neighbours(rows, -1), "d_iS": _neighbours(rows, 1)}
        sides |= {"d_jE": _neighbours(columns, 1), "d_jW": _neighbours(columns, -1)}
        images = {name: floats(size) for name in ("d_dN", "d_dS", "d_dW", "d_dE", "d_c", "d_I")}
        return {"d_lambda": 0.5, "d_Nr": rows, "d_Nc": columns, "d_Ne": size, **sides, **images}

    def one(kernel: str, arguments: Callable[[], dict[str, Any]]) -> Launch:
        return Launch(file="srad_v1/main.cu", kernel=kernel, grid=2, block=512, arguments=arguments)

    def sums(n: int) -> Callable[[], dict[str, Any]]:
        return lambda: {"d_Ne": n, "d_no": n, "d_mul": 1, "d_sums": floats(n), "d_sums2": floats(n)}

    return [
        one("extract", lambda: {"d_Ne": size, "d_I": floats(size)}),
        one("prepare", lambda: {"d_Ne": size, "d_I": floats(size), "d_sums": floats(size), "d_sums2": floats(size)}),
        one("reduce", sums(600)),
        one("reduce", sums(1024)),
        one("srad", lambda: {**around(), "d_q0sqr": 0.5}),
        one("srad2", around),
        one("compress", lambda: {"d_Ne": size, "d_I": floats(size)}),
    ]


def _graph(nodes: int) -> dict[str, Any]:
    """Two edges a node; the first nodes are the frontier."""
    table = np.zeros(nodes, [("starting", np.int32), ("no_of_edges", np.int32)])
    table["starting"], table["no_of_edges"] = 2 * np.arange(nodes), 2
    visited = np.arange(nodes) < 40
    return {
        "g_graph_nodes": table,
        "g_graph_edges": integers(2 * nodes, below=nodes),
        "g_graph_mask": visited.copy(),
        "g_updating_graph_mask": np.zeros(nodes, bool),
        "g_graph_visited": visited,
        "g_cost": integers(nodes, below=1),
        "no_of_nodes": nodes,
    }


def _rodinia() -> list[Launch]:
    needle, lud, speckles = "nw/needle.cu", "lud/cuda/lud_kernel.cu", "srad_v2/srad.cu"
    network, gaussian, kmeans = "backprop/backprop_cuda.cu", "gaussian/gaussian.cu", "kmeans/kmeans_cuda.cu"

    def aligned(i: int) -> Callable[[], dict[str, Any]]:
        return lambda: {
            "referrence": integers(65, 65), "matrix_cuda": integers(65, 65),
            "cols": 65, "penalty": 10, "i": i, "block_width": 4,
        }  # fmt: skip

    def factored() -> dict[str, Any]:
        return {"m": floats(64, 64), "matrix_dim": 64, "offset": 16}

    def image() -> dict[str, Any]:
        images = {name: floats(32, 48) for name in ("E_C", "W_C", "N_C", "S_C", "J_cuda", "C_cuda")}
        return {**images, "cols": 48, "rows": 32, "q0sqr": 0.5}

    def heat() -> dict[str, Any]:
        grids = {name: floats(30, 30) for name in ("power", "temp_src", "temp_dst")}
        sizes = {"iteration": 2, "grid_cols": 30, "grid_rows": 30, "border_cols": 2, "border_rows": 2}
        return {**grids, **sizes, **dict.fromkeys(("Cap", "Rx", "Ry", "Rz", "step", "time_elapsed"), 0.5)}

    return [
        Launch(file="hotspot/hotspot.cu", kernel="calculate_temp", grid=(3, 3), block=(16, 16), arguments=heat),
        Launch(file=needle, kernel="needle_cuda_shared_1", grid=2, block=16, arguments=aligned(2)),
        Launch(file=needle, kernel="needle_cuda_shared_2", grid=2, block=16, arguments=aligned(2)),
        Launch(
            file="pathfinder/pathfinder.cu", kernel="dynproc_kernel", grid=2, block=256,
            arguments=lambda: {
                "iteration": 3, "gpuWall": integers(5 * 490), "gpuSrc": integers(490), "gpuResults": integers(490),
                "cols": 490, "rows": 6, "startStep": 1, "border": 3,
            },
        ),
        Launch(file=lud, kernel="lud_diagonal", grid=1, block=16, arguments=factored),
        Launch(file=lud, kernel="lud_perimeter", grid=2, block=32, arguments=factored),
        Launch(file=lud, kernel="lud_internal", grid=(2, 2), block=(16, 16), arguments=factored),
        *_speckles(),
        Launch(file=speckles, kernel="srad_cuda_1", grid=(3, 2), block=(16, 16), arguments=image),
        Launch(
            file=speckles, kernel="srad_cuda_2", grid=(3, 2), block=(16, 16),
            arguments=lambda: {**image(), "lambda": 0.5},
        ),
        Launch(
            file=network, kernel="bpnn_layerforward_CUDA", grid=(1, 2), block=(16, 16),
            arguments=lambda: {
                "input_cuda": floats(33), "output_hidden_cuda": floats(17), "input_hidden_cuda": floats(33, 17),
                "hidden_partial_sum": floats(32), "in": 32, "hid": 16,
            },
        ),
        Launch(
            file=network, kernel="bpnn_adjust_weights_cuda", grid=(1, 2), block=(16, 16),
            arguments=lambda: {
                "delta": floats(17), "hid": 16, "ly": floats(33), "in": 32, "w": floats(33, 17), "oldw": floats(33, 17),
            },
        ),
        Launch(file="bfs/bfs.cu", kernel="Kernel", grid=2, block=512, arguments=lambda: _graph(600)),
        Launch(
            file="bfs/bfs.cu", kernel="Kernel2", grid=2, block=512,
            arguments=lambda: {
                "g_graph_mask": np.zeros(600, bool), "g_updating_graph_mask": np.arange(600) % 3 == 0,
                "g_graph_visited": np.zeros(600, bool), "g_over": np.zeros(1, bool), "no_of_nodes": 600,
            },
        ),
        Launch(
            file=gaussian, kernel="Fan1", grid=2, block=32,
            arguments=lambda: {"m_cuda": floats(50, 50), "a_cuda": floats(50, 50), "Size": 50, "t": 3},
        ),
        Launch(
            file=gaussian, kernel="Fan2", grid=(13, 13), block=(4, 4),
            arguments=lambda: {
                "m_cuda": floats(50, 50), "a_cuda": floats(50, 50), "b_cuda": floats(50), "Size": 50, "j1": 47, "t": 3,
            },
        ),
        Launch(
            file=kmeans, kernel="invert_mapping", grid=2, block=256,
            arguments=lambda: {"input": floats(300, 4), "output": floats(4, 300), "npoints": 300, "nfeatures": 4},
        ),
        Launch(
            file=kmeans, kernel="kmeansPoint", grid=(2, 1), block=256,
            arguments=lambda: {
                "features": floats(4, 300), "nfeatures": 4, "npoints": 300, "nclusters": 5,
                "membership": integers(300), "clusters": floats(5, 4), "block_clusters": floats(40),
                "block_deltas": integers(2),
            },
        ),
    ]  # fmt: skip


LAUNCHES = (*_reductions(), *_transposes(), *_samples(), *_rodinia())
