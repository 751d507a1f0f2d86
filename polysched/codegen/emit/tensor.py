"""Tensor instructions in CUDA's words: a function for each, of fragments in registers.

    ldmatrix(&a[0], &A_0[row])        mma_m16n8k16_f16(&c[0], &a[0], &b[0])

The lanes of a warp are its block's first axis. Where a device has no such instruction, as the CPU on which kernels are
checked, lanes read each other's registers; sums are rounded by IEEE 754 then.
"""

from __future__ import annotations

from collections.abc import Iterable

from polysched.ir.dtypes import f16, f32, f64, i8, i32, u32
from polysched.ir.nodes import LDMATRIX
from polysched.model.instructions.instruction import Instruction
from polysched.model.instructions.mma import INSTRUCTIONS


def function_of(name: str) -> str:
    """What the function for an instruction is called."""
    return f"polysched_{name.replace('.', '_')}"


def definitions(names: Iterable[str]) -> list[str]:
    """The lines that define the functions for these instructions."""
    lines: list[str] = []
    for name in sorted(names):
        text = _product(INSTRUCTIONS[name]) if name in INSTRUCTIONS else _load(name)
        lines += [*([""] if lines else []), *text.splitlines()]
    return lines


def _load(name: str) -> str:
    is_turned = name == LDMATRIX[1]
    return _LOAD.format(
        function=function_of(name),
        trans=".trans" if is_turned else "",
        what="columns" if is_turned else "rows",
        fallback=_COLUMNS if is_turned else _ROWS,
    )


def _product(of: Instruction) -> str:
    left, right, sums = of.registers
    numbers = iter(range(sums + left + right))
    c, a, b = (", ".join(f"%{next(numbers)}" for _ in range(count)) for count in (sums, left, right))
    factors = ((name, k) for name, count in (("a", left), ("b", right)) for k in range(count))
    return _PRODUCT.format(
        function=function_of(of.name),
        shape=f"{of.rows} x {of.columns} sums of {of.terms} products",
        arch=10 * of.arch,
        opcode=of.opcode,
        operands=f"{{{c}}}, {{{a}}}, {{{b}}}, {{{c}}}",
        sum=_TYPES[of.sum],
        word=_TYPES[of.word],
        c=", ".join(f'"+{_SUMS[of.sum]}"(c[{k}])' for k in range(sums)),
        ab=", ".join(_WORDS[of.word].format(f"{name}[{k}]") for name, k in factors),
        fallback=_HALVES if of.factor == f16 else _by_terms(of),
    )


def _by_terms(of: Instruction) -> str:
    """Each term, from the lanes that have its factors: lane 4 * i + k has A[i, k], and B[k, i]."""
    left, right, sums = of.registers
    a, h = ("2 * s + h", "r >> 1") if left > right else ("s", "0")
    add = _ADD[of.factor].format(x=f"x[{h}]", y="y[r & 1]")
    return _TERMS.format(steps=right, left=left // right, a=a, sums=sums, word=_TYPES[of.word], add=add)


_TYPES = {f64: "double", f32: "float", i32: "int32_t", u32: "uint32_t"}
_SUMS = {f64: "d", f32: "f", i32: "r"}  # asm's constraints
_WORDS = {f64: '"d"({})', f32: '"r"(__float_as_uint({}))', u32: '"r"({})'}
_ADD = {
    f64: "c[r] = __fma_rn({x}, {y}, c[r]);",
    f32: "c[r] += __uint_as_float(__float_as_uint({x}) & ~0x1fffu) * __uint_as_float(__float_as_uint({y}) & ~0x1fffu);",
    i8: "for (int bit = 0; bit < 32; bit += 8)\n"
    "                    c[r] += (int8_t)({x} >> bit) * (int8_t)({y} >> bit);",
}
_LOAD = """\
/* Of 8 rows of 16 bytes each, four times: lane l tells row l % 8 of number l / 8, and gets 4 bytes of {what}. */
template <typename word> static __device__ __forceinline__ void {function}(word *to, const void *row)
{{
#if __CUDA_ARCH__ >= 750 && !defined(POLYSCHED_NO_PTX)
    uint32_t read[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%0, %1, %2, %3}}, [%4];"
                 : "=r"(read[0]), "=r"(read[1]), "=r"(read[2]), "=r"(read[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row)) : "memory");
    memcpy(to, read, sizeof read);
#else
    const int lane = (int)threadIdx.x & 31;
    for (int k = 0; k < 4; k++) {{
{fallback}    }}
#endif
}}
"""
_ROWS = """\
        const uint64_t from = __shfl_sync(~0u, (unsigned long long)row, 8 * k + (lane >> 2));
        to[k] = ((const word *)from)[lane & 3];
"""
_COLUMNS = """\
        const uint64_t even = __shfl_sync(~0u, (unsigned long long)row, 8 * k + (lane & 3) * 2);
        const uint64_t odd = __shfl_sync(~0u, (unsigned long long)row, 8 * k + (lane & 3) * 2 + 1);
        to[k] = ((const uint16_t *)even)[lane >> 2] | (uint32_t)((const uint16_t *)odd)[lane >> 2] << 16;
"""
_PRODUCT = """\
/* c += a * b of a warp: {shape}. */
static __device__ __forceinline__ void {function}({sum} *c, const {word} *a, const {word} *b)
{{
#if __CUDA_ARCH__ >= {arch} && !defined(POLYSCHED_NO_PTX)
    asm("{opcode} {operands};"
        : {c}
        : {ab});
#else
{fallback}#endif
}}
"""
_HALVES = """\
    const int row = (int)threadIdx.x & 28, column = ((int)threadIdx.x & 3) * 8;
    for (int k = 0; k < 4; k++) { /* four terms each */
        unsigned long long x[2], y[2];
        for (int h = 0; h < 2; h++) {
            x[h] = __shfl_sync(~0u, (unsigned long long)a[h + 2] << 32 | a[h], row + k);
            y[h] = __shfl_sync(~0u, (unsigned long long)b[1] << 32 | b[0], column + 4 * h + k);
        }
        for (int r = 0; r < 4; r++)
            for (int bit = 0; bit < 64; bit += 16)
                c[r] += __half2float(__ushort_as_half((uint16_t)(x[r >> 1] >> bit)))
                        * __half2float(__ushort_as_half((uint16_t)(y[r & 1] >> bit)));
    }
"""
_TERMS = """\
    const int row = (int)threadIdx.x & 28, column = ((int)threadIdx.x & 3) * 8;
    for (int s = 0; s < {steps}; s++)
        for (int k = 0; k < 4; k++) {{
            {word} x[{left}], y[2];
            for (int h = 0; h < {left}; h++)
                x[h] = __shfl_sync(~0u, a[{a}], row + k);
            for (int h = 0; h < 2; h++)
                y[h] = __shfl_sync(~0u, b[s], column + 4 * h + k);
            for (int r = 0; r < {sums}; r++)
                {add}
        }}
"""
