"""A network as files: one C text with one entry, its weights, a header, a Makefile, and an example that runs.

net.c        all kernels, static, and   int net_run(const void *weights, void *arena, const float *x, float *y)
net.h        its declaration, and how many bytes weights and arena have
net.bin      the weights, each from a multiple of 64 bytes on
example.c    reads the weights, runs the network once on zeros, and prints the first results
Makefile     builds `example`
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np

from polysched.codegen.emit.source import Source
from polysched.errors import InputError
from polysched.ir.graph.operations import Value
from polysched.networks.built import Built
from polysched.networks.plan import bytes_of, elements
from polysched.runtime.aligned import LINE
from polysched.runtime.toolchain import c_flags

_C_TYPES = {
    "f64": "double",
    "f32": "float",
    "f16": "_Float16",
    "bool": "_Bool",
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
}


def save(net: Built, folder: Path) -> Path:
    """Writes the files, and gives the folder; InputError if one of them is there."""
    names = _Names(net)
    weights = _Weights.of(net)
    text = _program(net, names, weights)
    files = {
        f"{names.net}.c": text.encode(),
        f"{names.net}.h": _header(net, names, weights).encode(),
        f"{names.net}.bin": weights.content,
        "example.c": _example(net, names).encode(),
        "Makefile": _makefile(net, names, text).encode(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if there := [name for name in files if os.path.lexists(folder / name)]:
            hint = "name another folder; nothing is written over"
            raise InputError(f"'{folder / there[0]}' is there", hint=hint)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise InputError(f"'{folder}' cannot be written to: {error.strerror or error}") from None
    return folder


class _Names:
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
    return _C_TYPES[value.type.dtype.name]


@dataclass(frozen=True)
class _Weights:
    """The constants that kernels read, one after the other; equal ones once."""

    content: bytes
    offsets: Mapping[bytes, int]  # by content

    @classmethod
    def of(cls, net: Built) -> _Weights:
        offsets: dict[bytes, int] = {}
        content = bytearray()
        for array in _constants(net):
            data = array.tobytes()
            if data not in offsets:
                offsets[data] = len(content)
                content += data + bytes(-len(data) % LINE)
        return cls(bytes(content), offsets)


def _constants(net: Built) -> Iterator[np.ndarray]:
    for weights in net.weights:
        yield from weights.values()
    yield from (net.constants[root] for _, root in net.plan.copied if root in net.constants)


# --- the program


def _program(net: Built, names: _Names, weights: _Weights) -> str:
    """Helpers that several kernels have are there once; each kernel is a static function."""
    includes: dict[str, None] = {}
    helpers: dict[str, None] = {}
    kernels = []
    for name in dict.fromkeys(call.kernel for call in net.kernels.calls):
        source = net.compiled[name].source
        for part in _paragraphs(source):
            if source.prepare and part.startswith(f"void {source.prepare.entry}("):
                continue  # it has run: the file of weights has what it makes
            if part.startswith(f"void {source.entry}("):
                kernels.append(f"static {part}")
            elif "#include" in part:
                includes.update(dict.fromkeys(line for line in part.splitlines() if line.startswith("#include")))
            else:
                helpers[part] = None
    lines = [*_call_lines(net, names, weights), *_copy_lines(net, names, weights)]
    entry = [f"int {names.net}_run({', '.join(names.parameters(net))})", "{", *(f"    {line}" for line in lines)]
    own = {"#include <stdint.h>", "#include <string.h>"}
    head = "\n".join([*sorted({*includes, *own}), f'#include "{names.net}.h"'])
    body = "\n".join([*entry, "    return 0;", "}", ""])
    return "\n\n".join([f"/* {names.net}: generated by polysched */", head, *helpers, *kernels, body])


def _paragraphs(source: Source) -> list[str]:
    """What the text defines, one by one."""
    parts = re.split(r"\n\n+", source.text.strip())
    joined: list[str] = []
    for part in parts:  # a blank line inside of braces or of #if is none between definitions
        if joined and not _is_whole(joined[-1]):
            joined[-1] += f"\n\n{part}"
        else:
            joined.append(part)
    return joined


def _is_whole(text: str) -> bool:
    return text.count("{") == text.count("}") and len(re.findall(r"^#if", text, re.M)) == len(
        re.findall(r"^#endif", text, re.M)
    )


def _call_lines(net: Built, names: _Names, weights: _Weights) -> Iterator[str]:
    for call, own in zip(net.kernels.calls, net.weights, strict=True):
        source, nest = net.compiled[call.kernel].source, net.kernels.nests[call.kernel]
        prepared = source.prepare.arrays if source.prepare else ()
        types = {array.name: _C_TYPES[array.dtype.name] for array in (*nest.arrays, *prepared)}
        stored = {value.name for value in call.group.outputs}
        written = {name for name, what in call.arguments.items() if isinstance(what, str) and what in stored}
        places = []
        for parameter in source.parameters:
            const = "" if parameter in written else "const "
            what = own[parameter] if parameter in own else call.arguments[parameter]
            places.append(f"({const}{types[parameter]} *){_place(net, names, weights, what)}")
        yield f"{source.entry}({', '.join(places)});"


def _copy_lines(net: Built, names: _Names, weights: _Weights) -> Iterator[str]:
    for number, root in net.plan.copied:
        value = net.plan.results[number][1]
        yield f"memcpy({names.results[number]}, {_place(net, names, weights, root)}, {bytes_of(value)});"


def _place(net: Built, names: _Names, weights: _Weights, what: str | np.ndarray) -> str:
    """Where a buffer is, as C."""
    if isinstance(what, np.ndarray):
        return f"((const char *)weights + {weights.offsets[what.tobytes()]})"
    root = net.plan.root(what)
    if root in names.inputs:
        return names.inputs[root]
    if root in net.constants:
        return f"((const char *)weights + {weights.offsets[net.constants[root].tobytes()]})"
    if root in net.plan.direct:
        return names.results[net.plan.direct[root]]
    return f"((char *)arena + {net.plan.arena.offsets[root]})"


# --- the files around it


def _header(net: Built, names: _Names, weights: _Weights) -> str:
    shapes = [f"   {names.inputs[v.name]}: {v.type}" for v in net.plan.inputs]
    shapes += [f"   {name}: {value.type}" for name, (_, value) in zip(names.results, net.plan.results, strict=True)]
    return _HEADER.substitute(
        net=names.net,
        guard=names.net.upper(),
        shapes="\n".join(shapes),
        weights=len(weights.content),
        arena=net.plan.arena.bytes,
        parameters=", ".join(names.parameters(net)),
    )


_HEADER = Template("""\
#ifndef ${guard}_H
#define ${guard}_H
#include <stdint.h>

enum { ${guard}_WEIGHT_BYTES = $weights, ${guard}_ARENA_BYTES = $arena };

/* Runs the network; arrays are in C order. `weights` is what $net.bin holds, and `arena` memory that it may write to;
   both begin at a multiple of 64 bytes. Calls at the same time need an arena each. Gives 0.
$shapes */
int ${net}_run($parameters);
#endif
""")


def _example(net: Built, names: _Names) -> str:
    arrays = [(names.inputs[value.name], value) for value in net.plan.inputs]
    results = [(name, value) for name, (_, value) in zip(names.results, net.plan.results, strict=True)]
    declared = [f"    {c_type(v)} *{name} = calloc({elements(v)}, sizeof *{name});" for name, v in (*arrays, *results)]
    name, value = results[0]
    return _EXAMPLE.substitute(
        net=names.net,
        guard=names.net.upper(),
        declared="\n".join(declared),
        arguments=", ".join(["weights", "arena", *(each for each, _ in (*arrays, *results))]),
        count=min(10, elements(value)),
        result=name,
    )


_EXAMPLE = Template("""\
/* Runs $net once on zeros. */
#include <stdio.h>
#include <stdlib.h>

#include "$net.h"

static void *aligned(size_t size) { return aligned_alloc(64, (size / 64 + 1) * 64); }

int main(void)
{
    void *weights = aligned(${guard}_WEIGHT_BYTES), *arena = aligned(${guard}_ARENA_BYTES);
    FILE *file = fopen("$net.bin", "rb");
    if (!file || fread(weights, 1, ${guard}_WEIGHT_BYTES, file) != ${guard}_WEIGHT_BYTES) {
        fprintf(stderr, "$net.bin cannot be read\\n");
        return 1;
    }
    fclose(file);
$declared
    if (${net}_run($arguments)) return 1;
    for (int k = 0; k < $count; k++) printf("%g\\n", (double)$result[k]);
    return 0;
}
""")


def _makefile(net: Built, names: _Names, text: str) -> str:
    fast_math = all(each.options.fast_math for each in net.compiled.values())  # they are one file
    flags = c_flags(text, contract=net.options.contract_floats, fast_math=fast_math)
    extra = sorted({flag for each in net.compiled.values() for flag in each.source.flags})
    return _MAKEFILE.substitute(net=names.net, flags=" ".join([*flags, *extra]))


_MAKEFILE = Template("""\
CC ?= gcc
CFLAGS = $flags

example: example.o $net.o
\t$$(CC) $$(CFLAGS) -o $$@ $$^ -lm

$net.o: $net.c $net.h
example.o: example.c $net.h

clean:
\trm -f example example.o $net.o
.PHONY: clean
""")
