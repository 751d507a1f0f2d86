"""Launches of further files of the samples of NVIDIA."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.cuda_files.launch import Launch, floats, halves, integers, one, unsigned


def _filtered() -> dict[str, Any]:
    return {"dst": integers(500), "nres": integers(1, below=1), "src": integers(500), "n": 500}


def _samples() -> list[Launch]:
    merge, sort = "mergeSort/mergeSort.cu", "sortingNetworks/bitonicSort.cu"
    haar, buckets = "dwtHaar1D/dwtHaar1D.cu", "warpAggregatedAtomicsCG/warpAggregatedAtomicsCG.cu"
    copies, pairs = "globalToShmemAsyncCopy/globalToShmemAsyncCopy.cu", "fp16ScalarProduct/fp16ScalarProduct.cu"
    chunks = ("MatrixMulAsyncCopyMultiStageLargeChunk", "MatrixMulAsyncCopyLargeChunk", "MatrixMulNaiveLargeChunk")
    keys = ("d_DstKey", "d_DstVal", "d_SrcKey", "d_SrcVal")

    def matrices() -> dict[str, Any]:
        return {"A": floats(32, 64), "B": floats(64, 32), "C": floats(32, 32), "wA": 64, "wB": 32}

    def sorted_keys() -> dict[str, Any]:
        return {it: unsigned(2048, below=1000) for it in keys} | {"arrayLength": 1024}

    return [
        one(merge, "mergeSortSharedKernel<1>", 2, 512, sorted_keys),
        one(
            merge,
            "generateSampleRanksKernel<1>",
            1,
            256,
            lambda: {
                "d_RanksA": unsigned(64),
                "d_RanksB": unsigned(64),
                "stride": 1024,
                "N": 4096,
                "threadCount": 16,
                "d_SrcKey": np.sort(unsigned(4, 1024, below=10000)).ravel(),
            },
        ),
        one("mergeSort/bitonic.cu", "bitonicSortSharedKernel", 2, 512, lambda: {**sorted_keys(), "sortDir": 1}),
        one(sort, "bitonicSortShared", 2, 512, lambda: {**sorted_keys(), "dir": 1}),
        one(sort, "bitonicSortShared1", 2, 512, lambda: {it: unsigned(2048) for it in keys}),
        one(sort, "bitonicMergeGlobal", 2, 512, lambda: {**sorted_keys(), "size": 2048, "stride": 1024, "dir": 1}),
        one(sort, "bitonicMergeShared", 2, 512, lambda: {**sorted_keys(), "size": 2048, "dir": 1}),
        one(
            "binomialOptions/binomialOptions_kernel.cu",
            "binomialOptionsKernel",
            2,
            128,
            dict,
        ),
        one(
            "BlackScholes/BlackScholes.cu",
            "BlackScholesGPU",
            2,
            128,
            lambda: {
                **{f"d_{it}": floats(600) for it in ("CallResult", "PutResult", "StockPrice")},
                **{f"d_{it}": floats(600) for it in ("OptionStrike", "OptionYears")},
                "Riskfree": 0.02,
                "Volatility": 0.3,
                "optN": 300,
            },
        ),
        one(haar, "initValue", 2, 128, lambda: {"od": floats(256), "value": 1.5}),
        one(
            haar,
            "dwtHaar1D",
            2,
            128,
            shared=2048,
            values=lambda: {
                "id": floats(512),
                "od": floats(512),
                "approx_final": floats(2),
                "dlevels": 8,
                "slength_step_half": 256,
                "bdim": 128,
            },
        ),
        one(
            "SobolQRNG/sobol_gpu.cu",
            "sobolGPU_kernel",
            (2, 3),
            64,
            lambda: {
                "n_vectors": 1000,
                "n_dimensions": 3,
                "d_directions": unsigned(96, below=1 << 32),
                "d_output": floats(3000),
            },
        ),
        one(
            "nbody/bodysystemcuda.cu",
            "integrateBodies<float>",
            2,
            64,
            shared=1024,
            values=lambda: {
                "newPos": floats(512),
                "oldPos": floats(512),
                "vel": floats(512),
                "deviceOffset": 0,
                "deviceNumBodies": 128,
                "deltaTime": 0.1,
                "damping": 0.9,
                "numTiles": 2,
            },
        ),
        one(
            "reductionMultiBlockCG/reductionMultiBlockCG.cu",
            "reduceSinglePassMultiBlockCG",
            2,
            128,
            shared=1024,
            values=lambda: {"g_idata": floats(1000), "g_odata": floats(2), "n": 1000},
        ),
        one(
            "binaryPartitionCG/binaryPartitionCG.cu",
            "oddEvenCountAndSumCG",
            2,
            128,
            lambda: {"inputArr": integers(500), "numOfOdds": integers(1), "sumOfOddAndEvens": integers(2), "size": 500},
        ),
        one(buckets, "filter_arr", 2, 256, _filtered),
        one(
            buckets,
            "mapToBuckets",
            2,
            256,
            lambda: {
                "srcArr": integers(500),
                "indicesBuckets": integers(2500),
                "bucketCounters": 500 * np.arange(5, dtype=np.int32),
                "srcSize": 500,
                "numOfBuckets": 5,
            },
        ),
        *(one(copies, f"{name}<16>", (2, 2), (16, 16), matrices) for name in (*chunks, "MatrixMulNaive")),
        one(copies, "MatrixMulAsyncCopySingleStage<16>", (2, 2), (16, 16), matrices),
        *(
            one(
                pairs,
                f"scalarProductKernel_{kind}",
                2,
                128,
                lambda: {"a": halves(500, 2), "b": halves(500, 2), "results": floats(2), "size": 500},
            )
            for kind in ("intrinsics", "native")
        ),
        one(
            "dct8x8/dct8x8.cu",
            "CUDAkernel2DCT",
            (2, 2),
            (8, 4, 2),
            lambda: {"dst": floats(64, 64), "src": floats(64, 64), "ImgStride": 64},
        ),
        one(
            "dct8x8/dct8x8.cu",
            "CUDAkernelShortDCT",
            (2, 2),
            (8, 4, 4),
            lambda: {"SrcDst": integers(64, 64, dtype="int16"), "ImgStride": 64},
        ),
    ]


SAMPLES = _samples()
