"""polysched/counts/sass/occupancy.py, at limits that CUDA's occupancy calculator shows."""

from __future__ import annotations

import pytest

from polysched.counts.sass.occupancy import occupancy


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "limit"),
    [
        (256, 32, 0, 8, "warps"),
        (256, 33, 0, 6, "registers"),  # given by 8: 40 of each thread
        (256, 128, 0, 2, "registers"),
        (256, 255, 0, 1, "registers"),
        (32, 16, 0, 32, "blocks"),
        (1, 16, 0, 32, "blocks"),
        (128, 32, 48 << 10, 4, "shared memory"),
        (128, 32, 227 << 10, 1, "shared memory"),  # with the kilobyte of the driver, all there is
        (96, 128, 0, 5, "registers"),  # four warps for each part of the multiprocessor, three to a block
    ],
)
def test_limits_of_sm_90(threads, registers, shared, blocks, limit):
    held = occupancy("sm_90", threads=threads, registers=registers, shared=shared)
    assert (held.blocks, held.limit) == (blocks, limit)
    assert held.warps == blocks * -(-threads // 32)
    assert held.share == held.warps / 64


def test_other_gpus():
    assert occupancy("sm_86", threads=256, registers=32, shared=0).most_warps == 48
    assert occupancy("sm_90a", threads=256, registers=32, shared=0) == occupancy(
        "sm_90", threads=256, registers=32, shared=0
    )
    assert occupancy("sm_999", threads=256, registers=32, shared=0) is None


def test_a_block_that_does_not_fit():
    held = occupancy("sm_90", threads=1024, registers=128, shared=0)
    assert (held.blocks, held.share, held.limit) == (0, 0.0, "registers")
