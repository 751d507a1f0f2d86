"""Runs one thread of a kernel, to count the instructions that it takes at given sizes; no GPU is needed.

    run = run_thread(report["gemm_k0"].assembly, [c, a, b, 64, 64, 64], block=(0, 0, 0), thread=(3, 1, 0),
                     blocks=(2, 2, 1), threads=(32, 8, 1))
    run.counts["integer"]            in all its iterations

What is loaded from memory is not known (`decode.py`). Where a branch depends on it, the run stops with an error,
unless one way is a slow path of nvcc's, a call: the other is taken then.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polysched.counts.sass.counts import Counts, count
from polysched.counts.sass.execute.decode import decode
from polysched.counts.sass.execute.operands import MASK, Known, Reader, Thread, is_predicate, predicate, signed, word
from polysched.counts.sass.flow import JUMPS
from polysched.counts.sass.instructions import Instruction
from polysched.counts.sass.parse import Assembly
from polysched.errors import BudgetExceeded, InputError

Triple = tuple[int, int, int]  # along x, y, z
_BASES = (0x160, 0x210)  # of parameters in constant bank 0: sm_70 to sm_89, sm_90


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one thread has executed; instructions whose guard was false are counted too, since they are issued."""

    times: tuple[int, ...]  # of each instruction of the kernel
    counts: Counts


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
) -> Run:
    """The instructions of thread `thread` of block `block`, in a launch of `blocks` of `threads` each.

    `arguments` are the kernel's, pointers as any addresses. `observe` is shown each instruction before it runs.
    InputError where a branch depends on data, or an instruction cannot be interpreted; BudgetExceeded beyond `limit`.
    """
    state = Thread(special=_special(thread, block), constants=_constants(kernel, arguments, threads, blocks))
    program = [_Decoded.of(position, kernel) for position in range(len(kernel.instructions))]
    at = {instruction.address: position for position, instruction in enumerate(kernel.instructions)}
    times = [0] * len(program)
    position: int | None = 0
    while position is not None:
        one = program[position]
        times[position] += 1
        limit -= 1
        if limit < 0:
            raise BudgetExceeded(f"one thread of {kernel.name} takes more instructions than are allowed")
        if observe is not None:
            observe(state, one.instruction)
        given = 1 if one.guard is None else one.guard(state)
        if one.jump is not None:
            address = one.jump(state, given)
            position = None if address is None else at.get(address)
            if position is None and address is not None:
                raise InputError(f"{kernel.name} jumps to {address:#x}, where no instruction is")
        else:
            _execute(one, state, given)
            position += 1
    return Run(times=tuple(times), counts=count(kernel.instructions, times))


@dataclass(frozen=True)
class _Decoded:
    """An instruction, ready to run."""

    instruction: Instruction
    guard: Reader | None
    step: Callable[[Thread], None] | None
    jump: Callable[[Thread, Known], int | None] | None  # the address that is next; None after the last

    @staticmethod
    def of(position: int, kernel: Assembly) -> _Decoded:
        instruction = kernel.instructions[position]
        guard = predicate(instruction.guard[1:]) if instruction.guard else None
        if instruction.opcode in (*JUMPS, "CALL", "RET", "EXIT", "KILL"):
            return _Decoded(instruction, guard, None, _jump(position, kernel))
        return _Decoded(instruction, guard, _lazily(instruction), None)


def _lazily(instruction: Instruction) -> Callable[[Thread], None]:
    """Decoded when it is first met, so that what is never reached may be anything."""
    step: Callable[[Thread], None] | None = None

    def run(thread: Thread) -> None:
        nonlocal step
        step = step or decode(instruction)
        step(thread)

    return run


def _execute(one: _Decoded, state: Thread, given: Known) -> None:
    assert one.step is not None
    if given:
        one.step(state)
    elif given is None:  # either what was there or the result: not known where they differ
        before = dict(state.registers)
        one.step(state)
        for name, value in state.registers.items():
            if before.get(name, 0) != value:
                state.registers[name] = None


def _jump(position: int, kernel: Assembly) -> Callable[[Thread, Known], int | None]:
    instruction = kernel.instructions[position]
    behind = instruction.address + 16
    conditions = [predicate(text) for text in instruction.operands[:-1] if is_predicate(text)]
    target = _target(instruction, behind)
    divergent = instruction.opcode == "BRA" and "DIV" in instruction.modifiers

    def jump(thread: Thread, given: Known) -> int | None:
        taken = [given, *(condition(thread) for condition in conditions)]
        if divergent or 0 in taken:
            return behind
        if None in taken:
            return _fast_path(position, kernel, behind)
        return target(thread)

    return jump


def _target(instruction: Instruction, behind: int) -> Callable[[Thread], int | None]:
    match instruction.opcode:
        case "EXIT" | "KILL":
            return lambda thread: None
        case "RET":
            return _known(word(instruction.operands[0].split()[0]), 0, instruction)
        case "BRX" | "BRXU" | "JMX" | "JMXU":
            register, _, offset = instruction.operands[0].partition(" ")
            return _known(word(register), behind + int(offset or "0", 16), instruction)
        case _:
            if len(instruction.targets) != 1:
                raise InputError(f"'{instruction}' cannot be interpreted, line {instruction.line}")
            return lambda thread: instruction.targets[0]


def _known(register: Reader, base: int, instruction: Instruction) -> Callable[[Thread], int | None]:
    def target(thread: Thread) -> int:
        value = register(thread)
        if value is None:
            raise _undecided(instruction)
        return base + signed(value)

    return target


def _fast_path(position: int, kernel: Assembly, behind: int) -> int:
    """Where to go if it is not known: past a call of nvcc's for floats that are not ordinary."""
    instruction = kernel.instructions[position]
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
) -> dict[tuple[int, int], Known]:
    """The constant banks as words: launch dimensions, parameters, what the compiler has put there."""
    if kernel.parameter_base not in _BASES:
        raise InputError(f"threads of {kernel.arch} cannot be run", hint="compile for sm_75 to sm_90")
    if len(arguments) != len(kernel.parameters):
        raise InputError(f"{kernel.name} takes {len(kernel.parameters)} arguments, not {len(arguments)}")
    constants: dict[tuple[int, int], Known] = {}
    for bank, data in kernel.constants.items():
        if bank != 0:
            padded = data + bytes(-len(data) % 4)
            constants |= {(bank, 4 * k): number for k, (number,) in enumerate(struct.iter_unpack("<I", padded))}
    for k, number in enumerate((*threads, *blocks)):
        constants[0, 4 * k] = number
    constants[0, 0x28] = 0xFFFD00  # where the stack of a thread begins
    for (offset, size), argument in zip(kernel.parameters, arguments, strict=True):
        bits = _bits(argument, size)
        for k in range(0, size, 4):
            constants[0, kernel.parameter_base + offset + k] = bits >> 8 * k & MASK
    return constants


def _bits(argument: int | float, size: int) -> int:
    if isinstance(argument, float):
        return int.from_bytes(struct.pack("<d" if size == 8 else "<f", argument), "little")
    return argument % (1 << 8 * size)
