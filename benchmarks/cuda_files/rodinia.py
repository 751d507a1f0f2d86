"""Launches of further files of Rodinia: cfd, particlefilter, lavaMD, streamcluster, b+tree, huffman and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.cuda_files.launch import Launch, doubles, floats, integers, one, unsigned


def _fluid() -> list[Launch]:
    """Rodinia's cfd: the number of elements is a multiple of 192."""
    file, n = "cfd/euler3d.cu", 384

    def state() -> dict[str, Any]:
        return {"nelr": n, "variables": floats(5 * n) + 1, "step_factors": floats(n)}

    return [
        one(file, "cuda_initialize_variables", 2, 192, lambda: {"nelr": n, "variables": floats(5 * n)}),
        one(file, "cuda_compute_step_factor", 2, 192, lambda: {**state(), "areas": floats(n)}),
        one(
            file,
            "cuda_compute_flux",
            2,
            192,
            lambda: {
                "nelr": n,
                "variables": floats(5 * n) + 1,
                "normals": floats(12 * n),
                "fluxes": floats(5 * n),
                "elements_surrounding_elements": integers(4 * n, below=n + 2) - 2,
            },
        ),
        one(
            file,
            "cuda_time_step",
            2,
            192,
            lambda: {**state(), "j": 1, "old_variables": floats(5 * n), "fluxes": floats(5 * n)},
        ),
    ]


def _particles() -> list[Launch]:
    file, n = "particlefilter/ex_particle_CUDA_float_seq.cu", 600
    names = ("arrayX", "arrayY", "xj", "yj", "CDF", "u", "weights")

    def state() -> dict[str, Any]:
        return {name: doubles(n) for name in names}

    def sums() -> dict[str, Any]:
        return {"partial_sums": doubles(2), "Nparticles": n}

    naive = "particlefilter/ex_particle_CUDA_naive_seq.cu"
    return [
        one(file, "find_index_kernel", 2, 512, lambda: {**state(), "Nparticles": n}),
        one(
            file,
            "normalize_weights_kernel",
            2,
            512,
            lambda: {**sums(), **{name: doubles(n) for name in ("weights", "CDF", "u")}, "seed": integers(n)},
        ),
        one(file, "sum_kernel", 2, 512, sums),
        one(
            file,
            "likelihood_kernel",
            2,
            512,
            lambda: {
                **state(),
                **sums(),
                "ind": integers(5 * n),
                "objxy": integers(10),
                "likelihood": doubles(n),
                "I": integers(6000, below=256, dtype="uint8"),
                "countOnes": 5,
                "max_size": 6000,
                "k": 1,
                "IszY": 20,
                "Nfr": 10,
                "seed": integers(n, below=1000),
            },
        ),
        one(naive, "kernel", 5, 128, lambda: {**{it: doubles(n) for it in names[:-1]}, "Nparticles": n}),
    ]


def _rodinia() -> list[Launch]:
    def boxes() -> dict[str, Any]:
        neighbours = [("x", "i4"), ("y", "i4"), ("z", "i4"), ("number", "i4"), ("offset", "i8")]
        near = np.dtype(neighbours, align=True)
        table = np.zeros(2, np.dtype([*neighbours, ("nn", "i4"), ("nei", near, 26)], align=True))
        table["offset"], table["nn"] = (0, 100), 1
        table["nei"]["number"][:, 0], table["nei"]["offset"][:, 0] = (1, 0), (100, 0)
        return {
            "d_par_gpu": {"alpha": 0.5},
            "d_box_gpu": table,
            "d_qv_gpu": doubles(200),
            "d_dim_gpu": {
                "cur_arg": 1,
                "arch_arg": 0,
                "cores_arg": 1,
                "boxes1d_arg": 1,
                "number_boxes": 2,
                "box_mem": 0,
                "space_elem": 200,
                "space_mem": 0,
                "space_mem2": 0,
            },
            "d_rv_gpu": doubles(800),
            "d_fv_gpu": doubles(800),
        }

    def points() -> dict[str, Any]:
        fields = [("weight", "f4"), ("coord", "i8"), ("assign", "i8"), ("cost", "f4")]
        table = np.zeros(300, np.dtype(fields, align=True))
        table["weight"], table["assign"], table["cost"] = 1, integers(300, below=4), floats(300)
        return {
            "num": 300,
            "dim": 3,
            "x": 7,
            "p": table,
            "K": 4,
            "stride": 5,
            "coord_d": floats(900),
            "work_mem_d": floats(1500),
            "center_table_d": integers(300, below=4),
            "switch_membership_d": np.zeros(300, bool),
        }

    def tree() -> dict[str, Any]:
        fields = [("location", "i4"), ("indices", "i4", 257), ("keys", "i4", 257), ("is_leaf", "?"), ("num_keys", "i4")]
        nodes = np.zeros(4, np.dtype(fields, align=True))
        nodes["keys"], nodes["indices"] = np.arange(257), integers(4, 257, below=4)
        return {
            "height": 2,
            "knodesD": nodes,
            "knodes_elem": 4,
            "recordsD": integers(4),
            "keysD": integers(6, below=256),
            "currKnodeD": integers(6, below=1, dtype="int64"),
            "offsetD": integers(6, below=1, dtype="int64"),
            "ansD": integers(6),
        }

    block = {"ce": 0.1, "cw": 0.1, "cn": 0.1, "cs": 0.1, "ct": 0.1, "cb": 0.1, "cc": 0.1}

    def volume() -> dict[str, Any]:
        return {"p": floats(64 * 8 * 5), "tIn": floats(64 * 8 * 5), "tOut": floats(64 * 8 * 5)}

    huffman = "huffman/main_test_cu.cu"
    return [
        one("lavaMD/kernel/kernel_gpu_cuda_wrapper.cu", "kernel_gpu_cuda", 2, 128, boxes),
        one("streamcluster/streamcluster_cuda.cu", "kernel_compute_cost", 2, 256, points),
        one("b+tree/kernel/kernel_gpu_cuda_wrapper.cu", "findK", 6, 256, tree),
        one(
            "nn/nn_cuda.cu",
            "euclid",
            (2, 2),
            64,
            lambda: {"d_locations": floats(400), "d_distances": floats(200), "numRecords": 200, "lat": 1.0, "lng": 2.0},
        ),
        one(
            "hotspot3D/3D.cu",
            "hotspotOpt1",
            (1, 2),
            (64, 4),
            lambda: {**volume(), **block, "sdc": 0.1, "nx": 64, "ny": 8, "nz": 5},
        ),
        one(
            huffman,
            "histo_kernel",
            2,
            256,
            lambda: {"buffer": integers(3000, below=256, dtype="uint8"), "size": 3000, "histo": unsigned(256)},
        ),
        one(
            huffman,
            "prescan<true, false>",
            2,
            256,
            shared=4 * 544,
            values=lambda: {
                "g_odata": unsigned(1024),
                "g_idata": unsigned(1024),
                "g_blockSums": unsigned(2),
                "n": 512,
                "blockIndex": 0,
                "baseIndex": 0,
            },
        ),
        one(
            huffman,
            "uniformAdd",
            2,
            256,
            lambda: {"g_data": unsigned(1024), "uniforms": unsigned(2), "n": 1024, "blockOffset": 0, "baseIndex": 0},
        ),
        one(
            huffman,
            "vlc_encode_kernel_sm64huff",
            2,
            256,
            shared=8192,
            values=lambda: {
                "data": unsigned(512, below=1 << 32),
                "gm_codewords": unsigned(256, below=16),
                "gm_codewordlens": unsigned(256, below=1) + 4,
                "cw32": unsigned(512),
                "cw32len": unsigned(512),
                "cw32idx": unsigned(512),
                "out": unsigned(512),
                "outidx": unsigned(2),
            },
        ),
        one(
            "dwt2d/dwt_cuda/fdwt53.cu",
            "dwt_cuda::fdwt53Kernel<64, 8>",
            (2, 2),
            64,
            lambda: {
                "input": integers(120 * 70, below=256),
                "output": integers(120 * 70),
                "sizeX": 120,
                "sizeY": 70,
                "winSteps": 5,
            },
        ),
        one(
            "dwt2d/components.cu",
            "c_CopySrcToComponents<int>",
            3,
            256,
            lambda: {
                **{name: integers(700) for name in ("d_r", "d_g", "d_b")},
                "pixels": 700,
                "d_src": integers(3 * 768, below=256, dtype="uint8"),
            },
        ),
    ]


RODINIA = (*_fluid(), *_particles(), *_rodinia())
