"""Launches of the kernels of llm.c: rows of a batch, attention, optimizers."""

from __future__ import annotations

from typing import Any

from benchmarks.cuda_files.launch import Launch, floats, integers, one


def _language_model() -> list[Launch]:
    rows, columns = 10, 80
    norm, soft = "layernorm_forward.cu", "softmax_forward.cu"

    def normed() -> dict[str, Any]:
        return {
            "out": floats(rows, columns),
            "inp": floats(rows, columns),
            "mean": floats(rows),
            "rstd": floats(rows),
            "weight": floats(columns),
            "bias": floats(columns),
            "N": rows,
            "C": columns,
        }

    def softened() -> dict[str, Any]:
        return {"out": floats(rows, columns), "inp": floats(rows, columns), "N": rows, "C": columns}

    def embedded() -> dict[str, Any]:
        return {
            "dwte": floats(50, 16),
            "dwpe": floats(12, 16),
            "dout": floats(2, 12, 16),
            "inp": integers(2, 12, below=50),
            "B": 2,
            "T": 12,
            "C": 16,
        }

    def stepped() -> dict[str, Any]:
        return {
            **{name: floats(300) for name in ("params_memory", "grads_memory", "m_memory", "v_memory")},
            "num_parameters": 300,
            "learning_rate": 0.1,
            "beta1": 0.9,
            "beta2": 0.99,
            "beta1_correction": 0.1,
            "beta2_correction": 0.1,
            "eps": 1e-8,
            "weight_decay": 0.01,
        }

    heads = {"B": 2, "T": 12, "C": 32, "NH": 2}
    return [
        one(norm, "layernorm_forward_kernel1", 1, 128, normed),
        *(one(norm, f"layernorm_forward_kernel{k}", 5, 64, normed) for k in (3, 4)),
        one(norm, "layernorm_forward_kernel5", rows, 64, normed),
        one(soft, "softmax_forward_kernel1", 1, 128, softened),
        one(soft, "softmax_forward_kernel2", rows, 64, softened, 256),
        one(soft, "softmax_forward_kernel3", rows, 32, softened, 128),
        one(soft, "softmax_forward_kernel4", rows, 64, softened, 16),
        one(soft, "softmax_forward_online_kernel1", 1, 128, softened),
        one(soft, "softmax_forward_online_kernel2", 5, 64, softened),
        one(soft, "softmax_forward_kernel7", rows, 64, softened, 512),
        one(soft, "softmax_forward_online_kernel8", 5, 64, softened),
        one(
            "attention_forward.cu",
            "attention_query_key_kernel1",
            5,
            128,
            lambda: {**heads, "preatt": floats(2, 2, 12, 12), "inp": floats(2, 12, 96)},
        ),
        one(
            "attention_forward.cu",
            "softmax_forward_kernel5",
            24,
            64,
            lambda: {"out": floats(48, 12), "inp": floats(48, 12), "inv_temperature": 0.5, "N": 4, "T": 12},
        ),
        one(
            "attention_forward.cu",
            "attention_forward_kernel2",
            (2, 2),
            4,
            shared=4 * (3 * 4 * 16 + 16),
            values=lambda: {
                **{it: floats(2, 2, 12, 16) for it in "QKVO"},
                "N": 12,
                "d": 16,
                "Tc": 3,
                "Tr": 3,
                "Bc": 4,
                "Br": 4,
                "softmax_scale": 0.25,
                "l": floats(2, 2, 12),
                "m": floats(2, 2, 12),
            },
        ),
        one(
            "attention_forward.cu",
            "scale_kernel",
            5,
            128,
            lambda: {"inp": floats(4, 12, 12), "scale": 0.5, "B": 2, "NH": 2, "T": 12},
        ),
        one("encoder_backward.cu", "encoder_backward_kernel1", 3, 128, embedded),
        one("encoder_backward.cu", "encoder_backward_kernel2", 1, 128, embedded),
        one("adamw.cu", "adamw_kernel1", 3, 128, stepped),
        one("adamw.cu", "adamw_kernel2", 3, 128, stepped),
        *(
            one(
                "global_norm.cu",
                f"norm_kernel{k}<float>",
                2,
                128,
                lambda: {"out": floats(2), "data": floats(600), "count": 600},
            )
            for k in (1, 2, 3)
        ),
        one(
            "crossentropy_softmax_backward.cu",
            "crossentropy_softmax_backward_kernel1",
            3,
            128,
            lambda: {
                "dlogits": floats(20, 15),
                "dlosses": floats(20),
                "probs": floats(20, 15),
                "targets": integers(20, below=15),
                "B": 4,
                "T": 5,
                "V": 15,
            },
        ),
        one(
            "classifier_fused.cu",
            "fused_classifier_kernel1",
            20,
            64,
            lambda: {
                "dlogits": floats(20, 48),
                "losses": floats(20),
                "logits": floats(20, 48),
                "dlosses": floats(20),
                "targets": integers(20, below=40),
                "B": 4,
                "T": 5,
                "V": 40,
                "P": 48,
            },
        ),
        one(
            "trimat_forward.cu",
            "trimul_global<matmul_tri_naive>",
            (1, 1, 4),
            (16, 16),
            lambda: {"out": floats(2, 2, 128, 128), "inp": floats(2, 128, 96), "T": 128, "C": 32, "NH": 2},
        ),
        one(
            "cuda/permute.cu",
            "permute_kernel",
            1,
            256,
            lambda: {
                "matrix": floats(2, 3, 4, 5),
                "out_matrix": floats(120),
                "dim1": 2,
                "dim2": 3,
                "dim3": 4,
                "dim4": 5,
            },
        ),
    ]


LANGUAGE_MODEL = _language_model()
