"""Directives for loops in a C file: left out for reading, at the same offsets; and what OpenMP does where.

    #pragma omp parallel for        ->      (blanks)
    for (i = 0; i < n; i++)                 for (i = 0; i < n; i++)

What a loop computes is what its text says without them. A compiler that obeys OpenMP runs what stands in a construct on
threads, or once for each of them, so that such loops are as they are meant to be.
"""

from __future__ import annotations

import re

from clang.cindex import CursorKind

from polysched.frontend.c.file.clang import Node

_WORDS = rb"omp|acc|unroll|simd|ivdep|GCC[ \t]+(?:ivdep|unroll|novector)|clang[ \t]+loop|scop|endscop"
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(?:" + _WORDS + rb")\b(?:\\\r?\n|[^\n])*", re.M)
_OPENMP = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+omp\b|\b_Pragma\b", re.M)
_ON_OTHER_LINES = re.compile(rb"[^\n]")

_CONSTRUCTS = frozenset(
    kind for kind in CursorKind.get_all_kinds() if kind.name.startswith("OMP_") and kind.name.endswith("_DIRECTIVE")
)


def blanked(data: bytes) -> bytes:
    """The file with spaces in place of directives for its loops."""
    return _DIRECTIVE.sub(lambda found: _ON_OTHER_LINES.sub(b" ", found[0]), data)


def has_openmp(data: bytes) -> bool:
    """May the file have a directive of OpenMP?"""
    return _OPENMP.search(data) is not None


def is_construct(node: Node) -> bool:
    """Is it a directive of OpenMP, with the statement that it is for?"""
    return node.kind in _CONSTRUCTS
