"""polysched/counts/sass/execute: what a thread stores, and how many instructions it takes."""

from __future__ import annotations

import ctypes
import random
import shutil

import pytest

from polysched.counts.sass.counts import Counts
from polysched.counts.sass.execute.operands import Thread, addend, pair, predicate, signed, word
from polysched.counts.sass.execute.thread import decode, run_thread
from polysched.counts.sass.inspect import inspect
from polysched.counts.sass.instructions import Instruction, width
from polysched.counts.sass.parse import Assembly
from polysched.errors import BudgetExceeded, InputError
from polysched.runtime.toolchain import compile_shared

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile the CUDA texts with")

OUT = 0x7F00_0000_1000  # where results go


def stored(kernel: Assembly, arguments: list[int], **launch) -> tuple[dict[int, int | None], Counts]:
    """Words by address that the thread has stored in global memory, in its last store to each."""
    words: dict[int, int | None] = {}

    def observe(thread: Thread, instruction: Instruction) -> None:
        if instruction.opcode == "STG" and predicate(instruction.guard[1:] or "PT")(thread):
            place, value = instruction.operands
            inside = place[place.rindex("[") + 1 : -1]
            register, _, offset = inside.partition("+")
            base = pair(register.removesuffix(".64"))(thread)
            for k in range(width(instruction) // 32):
                number = int(value.removeprefix("R")) + k if value != "RZ" else None
                words[base + int(offset or "0", 16) + 4 * k] = 0 if number is None else word(f"R{number}")(thread)

    return words, run_thread(kernel, arguments, observe=observe, **launch)


PRODUCT = """\
__global__ void product(double *__restrict__ C, const double *__restrict__ A, const double *__restrict__ B, long n)
{
    const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) {
        double sum = 0;
        #pragma unroll 1
        for (long k = 0; k < i; k++)
            sum += A[i * n + k] * B[k * n + i];
        C[i] = sum;
    }
}
"""


@pytest.fixture(scope="module")
def product() -> Assembly:
    return inspect(PRODUCT, "product.cu")["product"].assembly


@pytest.mark.parametrize("block", [0, 2, 3])
def test_iterations_are_counted(product, block):
    i = block * 32 + 5
    arguments = [OUT, 1 << 40, 1 << 41, 100]
    launch = {"threads": (32, 1, 1), "blocks": (4, 1, 1), "block": (block, 0, 0), "thread": (5, 0, 0)}
    words, counts = stored(product, arguments, **launch)
    is_inside = i < 100
    assert counts["fma"] == (i if is_inside else 0)
    assert counts.accesses.get(("LDG", 64), 0) == (2 * i if is_inside else 0)
    assert words == ({OUT + 8 * i: None, OUT + 8 * i + 4: None} if is_inside else {})  # loaded data is not known


def test_a_limit(product):
    with pytest.raises(BudgetExceeded, match="one thread of product takes more instructions than are allowed"):
        run_thread(product, [0, 0, 0, 1 << 40], threads=(32, 1, 1), block=(1 << 20, 0, 0), limit=10_000)


def test_arguments_are_checked(product):
    with pytest.raises(InputError, match="product takes 4 arguments, not 1"):
        run_thread(product, [0], threads=(32, 1, 1))


def test_a_branch_on_data_is_refused():
    text = "__global__ void f(int *p)\n{\n    while (*(volatile int *)p)\n        p++;\n}\n"
    with pytest.raises(InputError, match=r"BRA .*, line 3, depends on what is loaded from memory"):
        run_thread(inspect(text, "f.cu")["f"].assembly, [0], threads=(1, 1, 1))


def test_divisions_of_floats_take_the_fast_path():
    text = "__global__ void f(double *p, long n) { for (long i = 0; i < n; i++) p[i] = sqrt(p[i] / p[i + n]); }\n"
    counts = run_thread(inspect(text, "f.cu")["f"].assembly, [0, 7], threads=(1, 1, 1))
    assert counts.calls == 0 and counts.accesses["STG", 64] == 7 and counts["special"] == 14


SWITCH = """\
__global__ void f(int *out, int n)
{
    switch (n) {
    case 0: out[0] = 5; break;
    case 1: out[1] = n * 7 + blockDim.y; break;
    case 2: out[2] = n ^ 9; break;
    case 3: out[3] = 11; out[5] = 2; break;
    case 4: out[4] = gridDim.z; break;
    case 5: out[5] = -n; break;
    default: out[6] = n;
    }
}
"""


def test_a_table_of_jumps():
    kernel = inspect(SWITCH, "f.cu")["f"].assembly
    expected = [{0: 5}, {1: 7 + 3}, {2: 11}, {3: 11, 5: 2}, {4: 6}, {5: 2**32 - 5}, {6: 6}]
    for n, words in enumerate(expected):
        assert stored(kernel, [OUT, n], threads=(2, 3, 1), blocks=(4, 5, 6))[0] == {
            OUT + 4 * place: value for place, value in words.items()
        }


def test_carries_of_negations():
    """-x is ~x + 1 in the sum: 0 - 0 does not borrow."""
    thread = Thread(registers={"R1": 0, "R2": 5})
    assert addend("-R1")(thread) == 1 << 32 and word("-R1")(thread) == 0
    assert addend("-R2")(thread) == 2**32 - 5 and addend("~R2")(thread) == 2**32 - 6
    thread.registers["R3"] = None
    assert word("-R3")(thread) is None and word("-0x2")(thread) == 2**32 - 2


@pytest.mark.parametrize("text", ["IMAD.FANCY R1, R2, R3, R4", "FROB R1, R2", "VIMNMX.S16X2 R1, R2, R3, PT"])
def test_what_is_not_known_is_refused(text):
    name, _, operands = text.partition(" ")
    opcode, *modifiers = name.split(".")
    with pytest.raises(InputError, match=rf"'{text}' cannot be interpreted, line 7"):
        decode(Instruction(0, "", opcode, tuple(modifiers), tuple(operands.split(", ")), (), 7))


def expression(choose: random.Random, depth: int) -> str:
    """C on a, b of 64 bits and c, u of 32, without undefined behaviour: sums and products are unsigned.

    Divisors of 16 bits are left out, which nvcc divides by in floats.
    """
    if depth == 0:
        return choose.choice(["a", "b", "(long)c", "(long)u", "i", f"({choose.randrange(-9, 10)}L)", "0x123456789L"])
    x, y = expression(choose, depth - 1), expression(choose, depth - 1)
    long_x, long_y, int_x, int_y = f"(unsigned long){x}", f"(unsigned long){y}", f"(unsigned){x}", f"(unsigned){y}"
    return choose.choice(
        [
            f"(long)({long_x} + {long_y})", f"(long)({long_x} - {long_y})", f"(long)({long_x} * {long_y})",
            f"(long)({long_x} * {choose.choice([3, 8, 24])})", f"(long)(-{long_x})", f"(~{x})",
            f"({x} / (({y} & 0xfffff) + 1))", f"({x} % (({y} & 0xfffff) + 1))",
            f"({x} / {choose.choice([3, 8, 7, 32])})", f"(long)({long_x} << ({y} & 63))", f"({x} >> ({y} & 63))",
            f"(long)({long_x} >> ({y} & 63))", f"({x} < {y} ? {x} : {y})", f"({x} > {y} ? {x} : {y})",
            f"({x} == {y} ? a : {x})", f"({x} > 0 ? ({x} < 99 ? {x} : 99) : 0)",
            f"({x} & {y})", f"({x} | {y})", f"({x} ^ {y})", f"({x} && {y} ? i : {y})",
            f"(long)(int){x}", f"(long){int_x}", f"(long)(int)({int_x} * {int_y})",
            f"(long)({int_x} / ({int_y} | 1u))", f"(long)({int_x} % ({int_y} | 1u))",
            f"(long)((int){x} < (int){y})", f"(long)({int_x} >= {int_y})", f"(long)((int){x} >> ({y} & 31))",
            f"(long)((int){x} / (((int){y} & 0xfffff) + 1))", f"(long)({long_x} / ({long_y} | 1ul))",
        ]
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_integers_against_a_compiler_for_the_cpu(seed):
    """Thirty random expressions, each at several values: loops and addresses are integers like these."""
    choose = random.Random(seed)
    expressions = [expression(choose, choose.choice((1, 2, 3))) for _ in range(30)]
    body = "".join(f"    out[{k}] = {text};\n" for k, text in enumerate(expressions))
    arguments = "long *out, long a, long b, int c, unsigned u"
    cuda = f"__global__ void f({arguments})\n{{\n    const long i = threadIdx.x;\n{body}}}\n"
    c = f"void f({arguments}, long i)\n{{\n{body}}}\n"
    kernel = inspect(cuda, "f.cu")["f"].assembly
    library = ctypes.CDLL(str(compile_shared(c, "f")))
    library.f.argtypes = [ctypes.c_void_p, *[ctypes.c_long] * 2, ctypes.c_int, ctypes.c_uint, ctypes.c_long]
    for _ in range(8):
        wide = [choose.choice([0, 1, -1, 7, choose.getrandbits(20), choose.getrandbits(64)]) for _ in range(2)]
        a, b = (signed(number % (1 << 64), 64) for number in wide)
        small, unsigned = signed(choose.getrandbits(32)), choose.getrandbits(choose.choice([4, 32]))
        i = choose.randrange(32)
        expected = (ctypes.c_long * len(expressions))()
        library.f(ctypes.addressof(expected), a, b, small, unsigned, i)
        words, _ = stored(kernel, [OUT, a, b, small, unsigned], threads=(32, 1, 1), thread=(i, 0, 0))
        for k, text in enumerate(expressions):
            low, high = words[OUT + 8 * k], words[OUT + 8 * k + 4]
            got = None if low is None or high is None else signed(high << 32 | low, 64)
            assert got == expected[k], f"{text} at a={a} b={b} c={small} u={unsigned} i={i}"
