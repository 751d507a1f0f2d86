"""How many instructions a C text executes, exactly, on a machine whose counters cannot be read.

    .L4:                                    .L4:
        vmovups (%rdi,%rax), %zmm0              (count block 1)
        addq    $64, %rax            ->         vmovups (%rdi,%rax), %zmm0
        cmpq    %rsi, %rax                      addq    $64, %rax
        jne     .L4                             cmpq    %rsi, %rax
                                                jne     .L4

The assembly that the C compiler makes gets a counter at the start of each basic block, one that changes no flag, and
runs once, on one thread: instructions of a block, times how often it ran. Only the text itself is counted: not the
libraries that it calls, as for expf, nor padding before a loop; a repeated string instruction is one. For x86-64.
"""

from __future__ import annotations

import ctypes
import platform
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polysched as ps
from polysched.errors import ToolchainError
from polysched.runtime.cpu import CpuProgram, c_function, open_library
from polysched.runtime.toolchain import c_flags, find_compiler

_LABEL = re.compile(r"[\w.$]+:")
_INSTRUCTION = re.compile(r"\t([a-z]\w*)")
_ENDS = re.compile(r"(notrack )?(j|ret|rep ret|repz ret)")  # a block; what is called comes back
_COUNT = """\
	movq	%rax, polysched_saved(%rip)
	movq	polysched_counters+{at}(%rip), %rax
	leaq	1(%rax), %rax
	movq	%rax, polysched_counters+{at}(%rip)
	movq	polysched_saved(%rip), %rax
"""
_COUNTERS = """
	.text
	.globl	polysched_counts
	.type	polysched_counts, @function
polysched_counts:
	leaq	polysched_counters(%rip), %rax
	ret
	.local	polysched_saved
	.comm	polysched_saved,8,8
	.local	polysched_counters
	.comm	polysched_counters,{size},8
"""


@dataclass(frozen=True)
class Block:
    """Instructions of the assembly of which none runs without the others."""

    text: str
    instructions: int
    executed: int  # how often the block ran

    @property
    def total(self) -> int:
        return self.instructions * self.executed


def instructions(done: ps.Compiled, arguments: Mapping[str, Any]) -> int:
    """The instructions that the program executes on these arguments; ToolchainError where they cannot be counted."""
    return sum(block.total for block in executed_blocks(done, arguments))


def executed_blocks(done: ps.Compiled, arguments: Mapping[str, Any]) -> list[Block]:
    """The basic blocks of the program in order of its assembly, and how often each runs on these arguments."""
    if platform.machine() not in ("x86_64", "AMD64"):
        raise ToolchainError(f"instructions are counted on x86-64, and this is {platform.machine()}")
    text, blocks = with_counters(assembly(done))
    with tempfile.TemporaryDirectory(prefix="polysched-") as folder:
        counted, built = Path(folder, "counted.s"), Path(folder, "counted.so")
        counted.write_text(text)
        _compile("-shared", "-fopenmp", str(counted), "-o", str(built), "-lm")
        library = open_library(str(built))
    program = CpuProgram(done.nest, library, c_function(library, done.source, done.nest), threads=1)
    program(**arguments)
    library.polysched_counts.restype = ctypes.POINTER(ctypes.c_uint64 * max(len(blocks), 1))
    counters = library.polysched_counts().contents
    return [Block("\n".join(lines), len(lines), counters[k]) for k, lines in enumerate(blocks)]


def assembly(done: ps.Compiled) -> str:
    """What the C compiler makes of the program: equal where programs are, whatever their texts."""
    with tempfile.TemporaryDirectory(prefix="polysched-") as folder:
        source, compiled = Path(folder, "program.c"), Path(folder, "program.s")
        source.write_text(done.source.text)
        _compile("-S", *c_flags(done.source.text), "-fPIC", str(source), "-o", str(compiled))
        return compiled.read_text()


def with_counters(text: str) -> tuple[str, list[list[str]]]:
    """The assembly with a counter for each basic block, and the instructions of each block."""
    lines, blocks = list[str](), list[list[str]]()
    for line, begins in _marked(text):
        if begins:
            lines.append(_COUNT.format(at=8 * len(blocks)).rstrip("\n"))
            blocks.append([])
        if _INSTRUCTION.match(line):
            blocks[-1].append(line)
        lines.append(line)
    return "\n".join(lines) + "\n" + _COUNTERS.format(size=8 * max(len(blocks), 1)), blocks


def _marked(text: str) -> Iterator[tuple[str, bool]]:
    """The lines, and of each whether it is the first instruction of a block."""
    is_new = True
    for line in text.splitlines():
        is_instruction = _INSTRUCTION.match(line) is not None
        yield line, is_instruction and is_new
        if is_instruction:
            is_new = _ENDS.match(line.strip()) is not None
        elif _LABEL.match(line):
            is_new = True


def _compile(*options: str) -> None:
    command = [*find_compiler().command, *options]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if run.returncode != 0:
        raise ToolchainError(f"the compiler failed: {' '.join(command)}\n{run.stderr.strip()}")
