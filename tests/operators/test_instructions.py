"""Instructions counted by counters in the assembly: the text with them, and counts that are known."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import polysched as ps
from benchmarks.operators.cases import Case, shape_of
from benchmarks.operators.instructions import executed_blocks, instructions, with_counters
from polysched.operators.examples import seidel_2d

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86-64 is counted alone")

LOOP = """\
f:
	.cfi_startproc
	testq	%rsi, %rsi
	jle	.L1
	xorl	%eax, %eax
	.p2align 4
.L3:
	vmovss	(%rdi,%rax,4), %xmm0
	call	sinf@PLT
	addq	$1, %rax
	jne	.L3
.L1:
	ret
	.section	.rodata
.LC0:
	.long	1065353216
"""


def test_a_block_begins_at_a_label_and_after_a_jump():
    text, blocks = with_counters(LOOP)
    mnemonics = [[line.split()[0] for line in block] for block in blocks]
    assert mnemonics == [["testq", "jle"], ["xorl"], ["vmovss", "call", "addq", "jne"], ["ret"]]
    assert text.startswith("""\
f:
	.cfi_startproc
	movq	%rax, polysched_saved(%rip)
	movq	polysched_counters+0(%rip), %rax
	leaq	1(%rax), %rax
	movq	%rax, polysched_counters+0(%rip)
	movq	polysched_saved(%rip), %rax
	testq	%rsi, %rsi
""")
    assert ".comm	polysched_counters,32,8" in text


def test_a_loop_runs_its_block_as_often_as_it_iterates():
    done = ps.optimize(seidel_2d, options=ps.Options(tile=False, wavefront=False))
    runs = [{"A": np.ones((30, 30)), "tsteps": tsteps} for tsteps in (1, 2, 4)]
    one, two, four = (instructions(done, arguments) for arguments in runs)
    assert four - two == 2 * (two - one)  # each sweep of all points costs the same
    hottest = max(executed_blocks(done, runs[0]), key=lambda block: block.total)
    assert "divsd" in hottest.text
    assert 28 * 28 // 8 <= hottest.executed <= 28 * 28  # unrolled or not


@pytest.mark.parametrize("op", ["conv2d_nchw", "image"])
def test_counting_changes_no_result(op):
    args = {
        "conv2d_nchw": {"batch": 1, "in_channel": 3, "in_size": 9, "num_filter": 4, "kernel": 3, "padding": 1},
        "image": {"fn": "affine_grid", "num_batch": 2, "target_shape": [4, 5]},
    }[op]
    case = Case(op, args)
    nest = case.function()
    given, done = case.inputs(nest), ps.optimize(nest, options=ps.Options(contract_floats=False))
    expected, out = (np.zeros(shape_of(nest, "out"), np.float32) for _ in range(2))
    done.program(**given, out=expected)
    assert instructions(done, {**given, "out": out}) > out.size
    assert np.array_equal(out, expected)
