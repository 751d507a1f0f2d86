"""Numbers of judgement stand in polysched/config/heuristics, each with its reason; other numbers are reviewed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "polysched"
DECIDING = ["strategy", "transform", "codegen", "prelude", "solve", "operators", "ir/integers"]
DECIDING += ["schedule/automatic.py", "plan/mapped.py"]
LEAST = 4  # smaller numbers are arithmetic
BITS = {8, 16, 32, 64}  # beside the name of a width

# What numbers a file has, and what of.
REVIEWED = {
    "codegen/emit/gcc/dot_rows.py": ({64, 32, 4}, "bytes of vectors and of words"),
    "codegen/emit/foreign.py": ({105}, "width of lines"),
    "codegen/emit/helpers.py": ({64}, "bits of an index"),
    "codegen/emit/kernels.py": ({31}, "bits of a grid"),
    "codegen/emit/names.py": ({4, 8, 16}, "names of types of vectors"),
    "codegen/emit/printer.py": ({105, 8}, "width of lines; what gcc takes as a hint to unroll"),
    "codegen/emit/region.py": ({105}, "width of lines"),
    "codegen/emit/spelling.py": ({*range(4, 16), 31, 58, 64}, "precedences of C; bits of constants and indices"),
    "codegen/emit/gcc/stored_again.py": ({62}, "bits: an iteration that no loop reaches"),
    "codegen/emit/launch/sufficient.py": ({31}, "bits"),
    "codegen/emit/tensor.py": ({10}, "a compute capability in numbers of nvcc"),
    "codegen/gpu/staging_plan.py": ({4}, "elements that a bank conflict is kept away by"),
    "codegen/expr/cost.py": ({10}, "operations, relative to an addition: `costs` of a target"),
    "codegen/count.py": ({20_000}, "limit of work"),
    "codegen/lowered.py": ({14}, "size of a memory"),
    "ir/integers/bounds.py": ({6_000, 64}, "limit of work, bits"),
    "ir/integers/examples.py": ({400, 6400, 1000, 211, 7, 20, 40008, 12, 10, 5, 9, 4}, "examples"),
    "codegen/loops/inequalities.py": ({58, 20, 61}, "bits of positions that do not wrap"),
    "ir/integers/knowledge.py": ({28, 4, 12, 63, 8}, "limits of work, bits"),
    "ir/integers/linear.py": ({64}, "limit of work"),
    "codegen/loops/narrowed_loop.py": ({60}, "limit of work, bits"),
    "codegen/loops/ranges.py": ({20_000, 4, 6, 14, 5}, "limits of work; a slice of a word"),
    "codegen/expr/rank.py": ({14}, "size of a memory"),
    "codegen/expr/licm.py": ({14}, "size of a memory"),
    "codegen/emit/launch/census.py": ({14}, "size of a memory"),
    "plan/mapped.py": ({10.0}, "seconds"),
    "operators/examples.py": ({9.0}, "points of a stencil"),
    "operators/sampling.py": ({4}, "dimensions of images, sides of a box"),
    "operators/winograd.py": ({4}, "results of the larger tile"),
    "prelude/expand_arrays.py": ({5.0}, "seconds"),
    "prelude/integer_indices.py": ({4096, 31, 62}, "limit of work, bits"),
    "prelude/padding/zeros.py": ({65504.0, 3.4028234e38, 1.7976931348623157e308}, "greatest floats"),
    "solve/backends/highs.py": ({100}, "limit of a search"),
    "solve/layout.py": ({20, 32, 4, 1e6, 1e4, 10}, "what is searched; weights that order objectives"),
    "solve/record.py": ({1e3}, "milliseconds"),
    "transform/trees/tile.py": ({8}, "diamonds that are tried"),
    "transform/trees/profitability.py": ({1000}, "more loops than any nest has"),
    "transform/edits/base/edit.py": ({10, 2_000_000}, "limits of work"),
    "transform/edits/order/split_set.py": ({64}, "limit of work"),
    "transform/edits/values/producers.py": ({20_000}, "limit of work"),
    "transform/edits/order/distribute.py": ({32}, "an example in a hint"),
    "transform/edits/order/skew.py": ({4}, "shifts that are tried"),
    "transform/edits/values/storage.py": ({12}, "limit of work"),
    "transform/edits/values/time_tiles/halo.py": ({8}, "limit of work"),
    "transform/edits/values/time_tiles/parts.py": ({12}, "limit of work"),
    "transform/edits/run/unroll.py": ({64, 4}, "limit of a text; factors in a hint"),
    "transform/analysis/sizes.py": ({32}, "registers of AVX-512 and Arm"),
    "strategy/split_set.py": ({16}, "limit of work"),
}


def numbers(source: str) -> Iterator[tuple[int, float]]:
    """The numbers of a file with their lines, but for those beside a width."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float) and abs(node.value) >= LEAST:
            is_width = node.value in BITS and any(word in lines[node.lineno - 1] for word in ("bits", "bytes"))
            if not is_width:
                yield node.lineno, node.value


@pytest.mark.parametrize("room", DECIDING)
def test_no_number_of_judgement_is_elsewhere(room):
    found, place = [], PACKAGE / room
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        name = str(path.relative_to(PACKAGE))
        allowed = REVIEWED.get(name, (set(), ""))[0]
        found += [f"{name}:{line}: {n}" for line, n in numbers(path.read_text()) if n not in allowed]
    assert found == []


def test_what_was_reviewed_is_still_there():
    for name, (allowed, _) in REVIEWED.items():
        assert allowed <= {n for _, n in numbers((PACKAGE / name).read_text())}, name


def test_a_number_is_found():
    assert list(numbers("def f(n):\n    return n > 100 and n != 2")) == [(2, 100)]
    assert list(numbers("size = dtype.bits // 8")) == []
