"""The macros of a block of C: what C has no operator for, and whether arrays are apart."""

from __future__ import annotations

# The parameters and the lines of each macro. Operands are pure: it does not matter how often one is computed. As in
# `helpers`, the smallest integer divided by -1 wraps.
MACROS = {
    "min": ("(a, b)", "(${wide}(b) < ${wide}(a) ? (b) : (a))"),
    "max": ("(a, b)", "(${wide}(b) > ${wide}(a) ? (b) : (a))"),
    "truncdiv": ("(a, b)", "((b) == -1 ? ($T)(0 - ($U)(a)) : ($T)((a) / (b)))"),
    "truncmod": ("(a, b)", "((b) == -1 ? 0 : ($T)((a) % (b)))"),
    "floordiv": (
        "(a, b)",
        "((b) == -1 ? ($T)(0 - ($U)(a)) :",
        "            ($T)((a) / (b) - ((a) % (b) != 0 && ((a) % (b) < 0) != ((b) < 0))))",
    ),
    "dot": ("(a, b)", "(($T)(($U)((short)(a) * (short)(b)) + ($U)(((a) >> 16) * ((b) >> 16))))"),
    "dot_bytes": (
        "(a, b)",
        "((unsigned char)(a) * (signed char)(b) + (unsigned char)((a) >> 8) * (signed char)((b) >> 8) +",
        " (unsigned char)((a) >> 16) * (signed char)((b) >> 16) +",
        " (unsigned char)((a) >> 24) * (signed char)((b) >> 24))",
    ),
    "floormod": (
        "(a, b)",
        "((b) == -1 ? 0 :",
        "            ($T)((a) % (b) + ((a) % (b) != 0 && ((a) % (b) < 0) != ((b) < 0) ? (b) : 0)))",
    ),
}
APART = (
    "(p, m, q, n)",
    "((__UINTPTR_TYPE__)((p) + (m)) <= (__UINTPTR_TYPE__)(q) ||",
    " (__UINTPTR_TYPE__)((q) + (n)) <= (__UINTPTR_TYPE__)(p))",
)
