"""Runs one thread of a kernel, to count the instructions that it takes at given sizes; no GPU is needed.

    counts = run_thread(report["gemm_k0"].assembly, [c, a, b, 64, 64, 64], block=(0, 0, 0), thread=(3, 1, 0),
                        blocks=(2, 2, 1), threads=(32, 8, 1))
    counts["integer"]                in all its iterations

Integers, predicates and constants are exact, whatever is loaded from memory is unknown, and so are floats: addresses
and loops do not depend on them. Where a branch does, the run stops with an error, unless one way is a slow path of
nvcc's, a call: the other is taken then. Instructions as in CUDA 11 to 13 for sm_75 to sm_90.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from polysched.counts.sass.counts import Counts, count
from polysched.counts.sass.execute.data import DATA
from polysched.counts.sass.execute.floats import FLOATS, unknown_float
from polysched.counts.sass.execute.integers import INTEGERS
from polysched.counts.sass.execute.operands import Known, Reader, Step, Thread, is_predicate, predicate, signed, word
from polysched.counts.sass.flow import JUMPS
from polysched.counts.sass.instructions import Instruction, kind
from polysched.counts.sass.parse import Assembly
from polysched.errors import BudgetExceeded, InputError

Triple = tuple[int, int, int]  # along x, y, z
_BYTES = 16  # of an instruction
_RULES = INTEGERS | DATA | FLOATS
_BASES = (0x160, 0x210)  # of parameters in constant bank 0: sm_70 to sm_89, sm_90


def run_thread(
    kernel: Assembly,
    arguments: Sequence[int | float],
    *,
    threads: Triple,
    blocks: Triple = (1, 1, 1),
    thread: Triple = (0, 0, 0),
    block: Triple = (0, 0, 0),
    limit: int = 5_000_000,
    observe: Callable[[Thread, Instruction], None] | None = None,
) -> Counts:
    """The instructions of thread `thread` of block `block`, in a launch of `blocks` of `threads` each. Those whose
    guard was false are counted too, since they are issued.

    `arguments` are the kernel's, pointers as any addresses. `observe` is shown each instruction before it runs.
    InputError where a branch depends on data, or an instruction cannot be interpreted; BudgetExceeded beyond `limit`.
    """
    state = Thread(special=_special(thread, block), constants=_constants(kernel, arguments, threads, blocks))
    program = {instruction.address: (instruction, _decoded(instruction, kernel)) for instruction in kernel.instructions}
    times = dict.fromkeys(program, 0)
    address: int | None = kernel.instructions[0].address
    while address is not None:
        if address not in program:
            raise InputError(f"{kernel.name} jumps to {address:#x}, where no instruction is")
        instruction, execute = program[address]
        times[address] += 1
        limit -= 1
        if limit < 0:
            raise BudgetExceeded(f"one thread of {kernel.name} takes more instructions than are allowed")
        if observe is not None:
            observe(state, instruction)
        address = execute(state)
    return count(kernel.instructions, list(times.values()))


def _decoded(instruction: Instruction, kernel: Assembly) -> Callable[[Thread], int | None]:
    """What it does to a thread, and the address that is next; None after the last."""
    guard = predicate(instruction.guard[1:] or "PT")
    if instruction.opcode in (*JUMPS, "CALL", "RET", "EXIT", "KILL"):
        return _jump(instruction, guard, kernel)
    step = cache(partial(decode, instruction))  # when it is first met: what is never reached may be anything

    def execute(thread: Thread) -> int:
        given = guard(thread)
        before = dict(thread.registers) if given is None else thread.registers
        if given != 0:
            step()(thread)
        for name, value in thread.registers.items() if given is None else ():
            if before.get(name, 0) != value:  # what was there, or the result
                thread.registers[name] = None
        return instruction.address + _BYTES

    return execute


def decode(instruction: Instruction) -> Step:
    """What it does to a thread, its guard left out; InputError if it cannot be interpreted."""
    opcode = instruction.opcode
    if opcode in _NOTHING or (kind(instruction) in ("reconverge", "barrier") and opcode not in _UNSUPPORTED):
        return lambda thread: None
    found = _RULES.get(opcode) or (_RULES.get(opcode[1:]) if opcode.startswith("U") else None)
    if found is None and kind(instruction) in ("fma", "float", "special", "convert"):
        found = unknown_float, None
    if found is not None:
        rule, modifiers = found
        if modifiers is None or set(modifiers.split()).issuperset(instruction.modifiers):
            return rule(instruction)
    raise InputError(f"'{instruction}' cannot be interpreted, line {instruction.line}")


_NOTHING = ("STG", "STS", "ST", "RED", "REDG", "LDGSTS", "CCTL", "BMOV")
_UNSUPPORTED = ("ELECT", "ENDCOLLECTIVE", "SYNCS")


def _jump(instruction: Instruction, guard: Reader, kernel: Assembly) -> Callable[[Thread], int | None]:
    behind = instruction.address + _BYTES
    conditions = [guard, *(predicate(text) for text in instruction.operands[:-1] if is_predicate(text))]
    target = _target(instruction, behind)
    divergent = instruction.opcode == "BRA" and "DIV" in instruction.modifiers

    def jump(thread: Thread) -> int | None:
        taken = [condition(thread) for condition in conditions]
        if divergent or 0 in taken:
            return behind
        if None in taken:
            return _fast_path(instruction, kernel, behind)
        return target(thread)

    return jump


def _target(instruction: Instruction, behind: int) -> Callable[[Thread], int | None]:
    match instruction.opcode:
        case "EXIT" | "KILL":
            return lambda thread: None
        case "RET":
            register, base = word(instruction.operands[0].split()[0]), 0
        case "BRX" | "BRXU" | "JMX" | "JMXU":
            name, _, offset = instruction.operands[0].partition(" ")
            register, base = word(name), behind + int(offset or "0", 16)
        case _:
            if len(instruction.targets) != 1:
                raise InputError(f"'{instruction}' cannot be interpreted, line {instruction.line}")
            return lambda thread: instruction.targets[0]

    def target(thread: Thread) -> int:
        value = register(thread)
        if value is None:
            raise _undecided(instruction)
        return base + signed(value)

    return target


def _fast_path(instruction: Instruction, kernel: Assembly, behind: int) -> int:
    """Where to go if it is not known: past a call of nvcc's for floats that are not ordinary."""
    slow = {address for name, address in kernel.routines.items() if re.search(r"_f(32|64)|slowpath", name)}
    if instruction.opcode == "BRA":
        target = instruction.targets[0]
        falls, jumps = (_calls(kernel, way, other, slow) for way, other in ((behind, target), (target, behind)))
        if falls != jumps:
            return target if falls else behind
    raise _undecided(instruction)


def _calls(kernel: Assembly, address: int, until: int, slow: set[int]) -> bool:
    """Whether one of the routines is called before the next jump, and before the other way."""
    for instruction in kernel.instructions:
        if instruction.address >= address:
            if instruction.opcode == "CALL":
                return slow.issuperset(instruction.targets)
            if instruction.address == until or instruction.opcode in (*JUMPS, "EXIT", "RET"):
                return False
    return False


def _undecided(instruction: Instruction) -> InputError:
    return InputError(f"'{instruction}', line {instruction.line}, depends on what is loaded from memory")


def _special(thread: Triple, block: Triple) -> dict[str, int]:
    names = {f"SR_TID.{axis}": at for axis, at in zip("XYZ", thread, strict=True)}
    names |= {f"SR_CTAID.{axis}": at for axis, at in zip("XYZ", block, strict=True)}
    return names | {"SR_LANEID": thread[0] % 32, "SR_CgaCtaId": 0, "SRZ": 0}


def _constants(
    kernel: Assembly, arguments: Sequence[int | float], threads: Triple, blocks: Triple
) -> dict[tuple[int, Known], Known]:
    """The constant banks as words: launch dimensions, parameters, what the compiler has put there."""
    if kernel.parameter_base not in _BASES:
        raise InputError(f"threads of {kernel.arch} cannot be run", hint="compile for sm_75 to sm_90")
    if len(arguments) != len(kernel.parameters):
        raise InputError(f"{kernel.name} takes {len(kernel.parameters)} arguments, not {len(arguments)}")
    constants: dict[tuple[int, Known], Known] = {}
    for bank, data in kernel.constants.items():
        if bank != 0:
            constants |= {(bank, k): number for k, number in _words(data)}
    for k, number in enumerate((*threads, *blocks)):
        constants[0, 4 * k] = number
    constants[0, 0x28] = 0xFFFD00  # where the stack of a thread begins
    for (offset, size), argument in zip(kernel.parameters, arguments, strict=True):
        start = kernel.parameter_base + offset
        constants |= {(0, start + k): number for k, number in _words(_bytes(argument, size))}
    return constants


def _words(data: bytes) -> Iterator[tuple[int, int]]:
    """Each with its place."""
    return ((k, int.from_bytes(data[k : k + 4], "little")) for k in range(0, len(data), 4))


def _bytes(argument: int | float, size: int) -> bytes:
    if isinstance(argument, float):
        return struct.pack("<d" if size == 8 else "<f", argument)
    return (argument % (1 << 8 * size)).to_bytes(size, "little")
