"""Names and types in the C of a network: none is a keyword, a macro, or what the entry and the example call."""

from __future__ import annotations

import re

from polysched.ir.graph.operations import Value
from polysched.networks.built import Built

C_TYPES = {
    "f64": "double",
    "f32": "float",
    "f16": "_Float16",
    "bool": "_Bool",
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
}


class Names:
    """C names of the network, and of the parameters of its entry."""

    def __init__(self, net: Built):
        self.net = _c_name(net.name, {"example"})  # whose files are there as well
        taken = {f"{self.net}_run", *_TAKEN, *(each.source.entry for each in net.compiled.values())}
        self.inputs = {value.name: _c_name(value.name, taken) for value in net.plan.inputs}
        self.results = [_c_name(name, taken) for name, _ in net.plan.results]

    def parameters(self, net: Built) -> list[str]:
        given = [f"const {c_type(value)} *{self.inputs[value.name]}" for value in net.plan.inputs]
        made = [f"{c_type(value)} *{name}" for name, (_, value) in zip(self.results, net.plan.results, strict=True)]
        return ["const void *weights", "void *arena", *given, *made]


def _c_name(name: str, taken: set[str]) -> str:
    plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "x"
    plain = f"x{plain}" if plain[0].isdigit() or plain in _KEYWORDS else plain
    found = (
        plain if plain not in taken else next(f"{plain}_{k}" for k in range(2, 10**6) if f"{plain}_{k}" not in taken)
    )
    taken.add(found)
    return found


_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int long main
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while alignas alignof asm bool constexpr false nullptr static_assert thread_local true typeof""".split()  # noqa: SIM905
)
# What the entry and the example call, and names that are macros of the headers or of GCC.
_TAKEN = frozenset(
    """weights arena aligned aligned_alloc calloc memcpy fopen fread fclose fprintf printf file k main size_t FILE
    NULL EOF NAN INFINITY HUGE_VAL I errno stdin stdout stderr assert linux unix""".split()  # noqa: SIM905
) | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def c_type(value: Value) -> str:
    return C_TYPES[value.type.dtype.name]
